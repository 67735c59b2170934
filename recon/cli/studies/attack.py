"""`recon attack`: what is guessed and what is proved about training rows, by an attacker with data of the same kind."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import (
    FindingsOut,
    ReleaseOptions,
    finish,
    known_epsilons,
    suffix,
    with_options,
)
from recon.io.console.guarding import GuardedTyper
from recon.io.console.output import print_lines, write_text

if TYPE_CHECKING:
    from solvers.foundation.limits import Limits


def _known_level(level: float) -> float:
    """Return the confidence; wrong usage outside (0, 1)."""
    if not 0 < level < 1:
        raise typer.BadParameter(f"the confidence must lie between 0 and 1, not {level:g}")
    return level


TrainingRows = Annotated[str | None, typer.Option("--data", help="The training rows (.csv, .parquet).")]
OtherRows = Annotated[
    str | None, typer.Option("--others", help="Rows of the same population that were not trained on.")
]
MemberColumn = Annotated[
    str | None, typer.Option("--member", help="Instead of --others: the 0/1 column of --data that says who was.")
]
Attack = Annotated[str, typer.Option("--attack", help="mia, label-only, aloa, several with commas, or all.")]
Shadow = Annotated[str, typer.Option("--shadow", help="Shadow data: random, statistical, noise, or all.")]
Folds = Annotated[int, typer.Option("--folds", min=1, help="Ask about each of so many parts once; 1: half the others.")]
Asked = Annotated[int, typer.Option("--limit", min=1, help="Ask about so many rows of each side at most.")]
Level = Annotated[
    float,
    typer.Option("--confidence", help="Confidence of intervals around rates and noisy counts.", callback=_known_level),
]

Pairs = Annotated[list[str] | None, typer.Option("--pair", help="Two columns, a,b; may be repeated. Else all pairs.")]
Epsilons = Annotated[str, typer.Option("--epsilon", help="Epsilons of noise on the counts, with commas; '' for none.")]

attack_app = GuardedTyper(help="Attack a released model, and say beside it what is proved.", no_args_is_help=True,
                      rich_markup_mode=None)  # fmt: skip


@attack_app.callback()
def attack() -> None:
    """Attack a released model: what statistical attacks guess, and beside it what is proved."""


@attack_app.command("membership")
@with_options("rows", "label", "seed")
def membership(
    asked: ReleaseOptions, data: TrainingRows = None, others: OtherRows = None, member: MemberColumn = None,
    attacks: Attack = "all", shadow: Shadow = "all", folds: Folds = 1, limit: Asked = 2_000, confidence: Level = 0.95,
    out: FindingsOut = None,
) -> None:  # fmt: skip
    """Guess whose rows were trained on, and show beside each guess what is proved about the same rows."""
    from recon.attacks.attacking.membership import KINDS, NAMES, attack_membership
    from recon.report.membership_report import MembershipReport

    named, kinds = _known_names(attacks, NAMES, "--attack"), _known_names(shadow, KINDS, "--shadow")
    with asked.opened(confidence=confidence) as (release, limits):
        mine, theirs = (_table(path, limits) for path in (data, others))
        found = attack_membership(
            release, mine, theirs, member=member, label=asked.label, attacks=named, shadow=kinds, folds=folds,
            limit=limit, seed=asked.seed, confidence=confidence, limits=limits,
        )  # fmt: skip
    _write_report(MembershipReport(found), asked.json, out)


@attack_app.command("correlation")
@with_options("rows", "label", "seed")
def correlation(
    asked: ReleaseOptions, data: TrainingRows = None, pairs: Pairs = None, epsilon: Epsilons = "10,1,0.1",
    confidence: Level = 0.95, out: FindingsOut = None,
) -> None:  # fmt: skip
    """Bound the correlations of columns for attackers who know labels, tables, released counts or noisy ones."""
    from recon.attacks.attacking.linear import attack_correlation, read_linear
    from recon.io.console.output import ended_at_once
    from recon.report.correlation_report import CorrelationReport

    named, levels = _pairs_of(pairs), known_epsilons(epsilon) if epsilon.strip() else []
    with asked.working() as limits:
        with ended_at_once():
            linear = read_linear(asked.files[0], limits) if len(asked.files) == 1 else None
        model = linear or asked.release(limits, confidence=confidence)
        limits.report("correlations are bounded")
        found = attack_correlation(model, _table(data, limits), named, levels, label=asked.label, confidence=confidence,
                                   seed=asked.seed, limits=limits)  # fmt: skip
        ended = limits.expired()
    _write_report(CorrelationReport(model, found, confidence, asked.seed, ended), asked.json, out)


def _pairs_of(texts: list[str] | None) -> list[tuple[str, str]] | None:
    """Return the pairs of columns asked about, None for all; wrong usage for anything but two names and a comma."""
    if not texts:
        return None
    out = []
    for text in texts:
        first, comma, second = text.partition(",")
        if not comma or not first.strip() or not second.strip():
            raise typer.BadParameter(f"--pair is two columns with a comma, not '{text}'")
        out.append((first.strip(), second.strip()))
    return out


def _table(path: str | None, limits: Limits) -> Any:
    """Return a table of rows, None without a path."""
    from recon.readers.frames.selections import read_table

    return None if path is None else read_table(path, limits)


def _known_names(text: str, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Return the names in an option, in the known order; wrong usage for one that there is not."""
    named = [part.strip() for part in text.split(",")]
    if named == ["all"]:
        return known
    for name in named:
        if name not in known:
            raise typer.BadParameter(f"{option} is {', '.join(known)} or all, not '{name}'")
    return tuple(name for name in known if name in named)


def _write_report(report: Any, json: bool, out: str | None) -> None:
    """Write a report and end with the exit code of its status."""
    write_text(report.written_as(".json" if json else suffix(out)), out, private=True)
    if report.status != "exact":
        print_lines("recon: limits ended the work: what is there so far was written", file=sys.stderr)
    finish(report.status)
