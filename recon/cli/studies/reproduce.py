"""`recon reproduce`: the experiments of the papers, resumable, on one machine or many."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recon.console.exit_codes import INCONCLUSIVE
from recon.console.options import Cluster, Json, LogJson, Memory, Quiet, Seconds, Workers, within_machine
from recon.console.output import print_json, print_lines, working

if TYPE_CHECKING:
    from recon.experiments.running import Outcome

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which one; without a name they are listed.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few points of it, in minutes.")]
Folder = Annotated[str | None, typer.Option("--out", help="Folder of its results; by default reproduced/NAME.")]
DataFolder = Annotated[str | None, typer.Option("--data", help="Folder of the papers' data; else RECON_DATA.")]


def reproduce(
    name: Name = None, quick: Quick = False, out: Folder = None, data: DataFolder = None, workers: Workers = 1,
    dask: Cluster = None, seconds: Seconds = None, memory: Memory = "4G", json: Json = False, quiet: Quiet = False,
    log_json: LogJson = False,
) -> None:  # fmt: skip
    """Run a paper's experiments on real data: tables, figures and every run stored; stopped, it goes on from there."""
    from recon.experiments.experiment import NAMES, Size, experiment
    from recon.experiments.running import reproduce as run
    from recon.experiments.running import state

    if name is None:
        print_lines(*(f"{one:12} {experiment(one).about}" for one in NAMES))
        return
    if name not in NAMES:
        raise typer.BadParameter(f"there is no experiment '{name}': choose one of {', '.join(NAMES)}")
    with working(seconds, memory, 200_000, quiet, log_json) as limits:
        size: Size = "quick" if quick else "full"
        outcome = run(name, out or f"reproduced/{name}", size, data, within_machine(limits, workers, dask))
    if json:
        print_json(as_json(name, outcome))
    else:
        print_lines(*outcome.findings.sentences)
        print_lines(state(outcome), f"tables and figures: {outcome.folder}", file=sys.stderr)
    if not outcome.complete:
        raise SystemExit(INCONCLUSIVE)


def as_json(name: str, outcome: Outcome) -> dict[str, object]:
    """Return what was done as one object."""
    return {
        "experiment": name, "folder": outcome.folder, "stored_before": outcome.before, "stored_now": outcome.now,
        "left": outcome.left, "failed": [list(one) for one in outcome.failed], "seconds": outcome.seconds,
        "sentences": list(outcome.findings.sentences),
        "tables": [t.name for t in outcome.findings.tables], "figures": [f.name for f in outcome.findings.figures],
    }  # fmt: skip
