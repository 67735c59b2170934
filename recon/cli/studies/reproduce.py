"""`recon reproduce`: the experiments of the papers, resumable, on one machine or many."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recon.cli.session import (
    CommonOptions,
    with_options,
)
from recon.io.console.output import INCONCLUSIVE, print_json, print_lines

if TYPE_CHECKING:
    from recon.experiments.experiment import Point
    from recon.experiments.running import RunOutcome

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which one; without a name they are listed.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few points of it, in minutes.")]
Folder = Annotated[str | None, typer.Option("--out", help="Folder of its results; by default reproduced/NAME.")]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        help="Folder of the papers' data (else RECON_DATA), or a "
        "data set by its name's beginning, e.g. compas: only its points.",
    ),
]
Figures = Annotated[
    list[str] | None, typer.Option("--figure", help="Only this figure, e.g. 3a, and the points that it is drawn of.")
]
Only = Annotated[str, typer.Option("--only", help="Only points one of whose parameters contains this, e.g. greedy.")]


@with_options("workers", "dask", without={"max_cells": 200_000}, memory="4G")
def reproduce(
    asked: CommonOptions, name: Name = None, quick: Quick = False, out: Folder = None, data: Data = None,
    figure: Figures = None, only: Only = "",
) -> None:  # fmt: skip
    """Run a paper's experiments on real data: tables, figures, every run stored; a stopped run is resumed."""
    from recon.experiments.experiment import NAMES, Size, experiment
    from recon.experiments.running import reproduce as run
    from recon.experiments.running import state

    if name is None:
        print_lines(*(f"{one:12} {experiment(one).about}" for one in NAMES))
        return
    if name not in NAMES:
        raise typer.BadParameter(f"there is no experiment '{name}': choose one of {', '.join(NAMES)}")
    with asked.working() as limits:
        size: Size = "quick" if quick else "full"
        of = experiment(name)
        try:
            figures = of.figure_names(figure or ())
        except KeyError as error:
            known = ", ".join(of.figures)
            raise typer.BadParameter(f"{name} has no figure {error}: choose one of {known}") from None
        folder, datasets = _where(data or (), of.points(size))
        points = of.selected(of.points(size), figures, datasets, only)
        if not points:
            raise typer.BadParameter(f"no point of {name} is left by --figure, --data and --only")
        within = asked.within_machine(limits)
        outcome = run(name, out or f"reproduced/{name}", size, folder, within, points, figures)
    if asked.json:
        print_json(_as_json(name, outcome))
    else:
        print_lines(*outcome.findings.sentences)
        print_lines(state(outcome), f"tables and figures: {outcome.folder}", file=sys.stderr)
    if not outcome.complete:
        raise SystemExit(INCONCLUSIVE)


def _where(given: Sequence[str], points: Sequence[Point]) -> tuple[str | None, list[str]]:
    """Return the folder among the values of `--data` (None: none), and the data sets that the others name.

    A value that is no folder names all data sets that begin with it; where there is none, it is a folder all the same,
    in which nothing will be found.
    """
    folder, datasets = None, []
    for one in given:
        named = [] if Path(one).is_dir() else sorted({p.dataset for p in points if p.dataset.startswith(one)} - {""})
        datasets += named
        folder = folder if named else one
    return folder, datasets


def _as_json(name: str, outcome: RunOutcome) -> dict[str, object]:
    """Return what was done as one object."""
    return {
        "experiment": name, "folder": outcome.folder, "stored_before": outcome.before, "stored_now": outcome.now,
        "left": outcome.left, "failed": [list(one) for one in outcome.failed], "seconds": outcome.seconds,
        "sentences": list(outcome.findings.sentences),
        "tables": [t.name for t in outcome.findings.tables], "figures": [f.name for f in outcome.findings.figures],
    }  # fmt: skip
