"""The commands on noise: `recon posterior`, `recon denoise`, `recon sweep`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from recon.cli.session import (
    Out,
    ReleaseOptions,
    ReleaseOut,
    known_epsilons,
    with_options,
)
from recon.io.console.output import INCONCLUSIVE, print_json, print_lines, records, write_table, write_text

PriorName = Annotated[str, typer.Option("--prior", help="counts or worlds: what is thought before the release.")]


def _known_prior(name: str) -> Any:
    """Return the prior; wrong usage for an unknown one."""
    if name not in {"counts", "worlds"}:
        raise typer.BadParameter(f"there is no prior '{name}': choose counts or worlds")
    return name


@with_options("rows", "seed")
def posterior(
    asked: ReleaseOptions, prior: PriorName = "counts",
    draws: Annotated[int, typer.Option("--draws", min=4, help="Draws, where the posterior is sampled.")] = 2_000,
    out: Out = None,
) -> None:  # fmt: skip
    """Infer the true counts from noisy ones: exactly for one tree or rule list, otherwise by sampling."""
    from recon.queries.noisy.likely_worlds import sampled
    from recon.queries.noisy.posterior import posterior as run
    from recon.queries.noisy.posterior import single
    from recon.report.wording.headline import assumption_lines, posterior_json, posterior_lines

    chosen = _known_prior(prior)
    with asked.opened(settle=False) as (release, limits):
        if release.noisy and not single(release):
            _show_sampled(sampled(release, draws, asked.seed, limits), asked.json, out)
            return
        found = run(release, chosen, limits)
    if asked.json:
        counts = records(found.counts)
        print_json(posterior_json(found) | {"counts": counts, "assumptions": _law_alone(release.assumptions)}, out)
        return
    write_table(found.counts, out)
    for line in (*posterior_lines(found), "assuming: " + "; ".join(_law_alone(assumption_lines(release)))):
        print_lines(line, file=sys.stderr)


def _law_alone(assumptions: Iterable[str]) -> list[str]:
    """Return what a posterior or a most likely dataset assumes: the noise's law, and no interval at any confidence."""
    from encoders.encode.encoder import INTERVALS

    return [text for text in assumptions if not text.startswith(INTERVALS)]


def _show_sampled(found: Any, json: bool, out: str | None) -> None:
    """Print a sampled posterior with its diagnostics."""
    from recon.queries.noisy.posterior import PRIORS

    prior = f"worlds: {PRIORS['worlds']}"
    header = {"posterior_prior": prior, "sampled": True, "trusted": found.trusted, "note": found.note}
    header |= {name: value if math.isfinite(value := getattr(found, name)) else None for name in ("rhat", "ess")}
    if json:
        print_json(
            header | {"counts": records(found.counts), "assumptions": _law_alone(found.release.assumptions)}, out
        )
        return
    write_table(found.counts, out)
    print_lines(f"sampled, prior {prior}", file=sys.stderr)
    verdict = "no reason against the sample" if found.trusted else "do NOT trust these figures: ask for more draws"
    print_lines(
        f"split R-hat {found.rhat:.3f}, effective draws {found.ess:.0f}: {verdict}; {found.note}", file=sys.stderr
    )


@with_options("rows", "confidence")
def denoise(asked: ReleaseOptions, out: ReleaseOut = None) -> None:
    """Write consistent counts: whole numbers that add up and make the published noise most likely.

    With --json the release file stands under "release", beside its log-likelihood, the bound on it and the gap.
    """
    from recon.queries.noisy.denoising import denoise as run
    from recon.readers.formats.release.writing import dump, not_covered, release_json
    from solvers.statements.release import RowCount

    with asked.opened(settle=False) as (release, limits):
        found = run(release, limits)
    written = release_json(found.domain, found.models, RowCount(found.rows, found.rows))
    figures = found.found.figures() | {"rows": found.rows, "noise_taken_out": found.moved}
    if asked.json:
        print_json(figures | {"assumptions": _law_alone(release.assumptions), "release": written}, out)
    else:
        write_text(dump(written), out)
    best = "proved to be the most likely" if found.found.proved else "not proved to be the most likely"
    print_lines(
        f"counts of {found.rows:,} rows, {best}; the noise taken out is {found.moved:,.4g} in all", file=sys.stderr
    )
    print_lines(found.found.describe("dataset"), file=sys.stderr)
    print_lines(*not_covered(release.domain), file=sys.stderr)
    print_lines("these are most likely counts, not the true ones: never audit them as exact", file=sys.stderr)


@with_options("seed")
def sweep(
    asked: ReleaseOptions,
    epsilon: Annotated[str, typer.Option("--epsilon", help="Privacy budgets, with commas.")] = "0.1,0.5,1,2,5,10",
    draws: Annotated[int, typer.Option("--draws", min=20, help="Draws of the noise per epsilon.")] = 20,
    neighbours: Annotated[str, typer.Option("--neighbours", help="add_remove or replace.")] = "add_remove",
    prior: PriorName = "counts", out: Out = None,
) -> None:  # fmt: skip
    """Try noise on an exact tree or rule list: accuracy and bits for several epsilons, over many draws."""
    from recon.queries.measures.sweeping import sweep as run

    chosen, budgets = _known_prior(prior), known_epsilons(epsilon)
    if neighbours not in {"add_remove", "replace"}:
        raise typer.BadParameter(f"neighbours are add_remove or replace, not '{neighbours}'")
    relation: Any = neighbours
    with asked.opened(settle=False) as (release, limits):
        found = run(release, budgets, draws, asked.seed, relation, chosen, limits)
    if asked.json:
        lines = records(found)
        lines[-1]["epsilon"] = None  # no noise: JSON has no infinity
        print_json({"sweep": lines, **found.attrs}, out)
    elif out is not None:
        write_table(found, out)
    else:
        print_lines(*_sweep_lines(found))
    if found.attrs["stopped"]:
        print_lines(f"recon: {found.attrs['stopped']}: what was drawn by then is printed", file=sys.stderr)
        raise typer.Exit(INCONCLUSIVE)


def _sweep_lines(found: Any) -> list[str]:
    """Return the sweep for people: medians, and the 10 % and 90 % quantiles in brackets."""
    names = {
        "accuracy": "accuracy", "bits_removed_per_row": "bits removed per row", "said": "cells said",
        "said_right": "of them right", "nearest": "rows to nearest", "typical": "to typical",
    }  # fmt: skip
    lines = ["epsilon  " + "".join(f"{text:>25}" for text in names.values()) + "   empty sets"]
    for line in found.to_dict("records"):
        cells = [
            "-" if math.isnan(line[f"{n}_q50"])
            else f"{line[f'{n}_q50']:.4g} [{line[f'{n}_q10']:.4g}, {line[f'{n}_q90']:.4g}]"
            for n in names
        ]  # fmt: skip
        name = "exact" if math.isinf(line["epsilon"]) else f"{line['epsilon']:g}"
        lines.append(f"{name:<9}" + "".join(f"{c:>25}" for c in cells) + f"{line['empty_sets']:>8} of {line['draws']}")
    alone = found.attrs["bits_removed_by_the_prior_alone"]
    lines.append(
        "medians over the draws [10 %, 90 %]; cells said: (leaf or rule, class) held occupied or empty with posterior "
        "probability 0.95; nearest: rows to change to a world inside the joint 95 % intervals; typical: the same on "
        f"average over the posterior (prior {found.attrs['prior']}); accuracy: of noisy majority classes, training "
        "rows; bits removed: of n log2 S, rows in order, as `count --convention ordered` says of the exact release; "
        f"the prior alone, without any count, takes {'not known' if alone is None else f'{alone:.4g}'} of them"
    )
    return lines
