"""`recon labels`: whose label, or target, is what, where everybody's features are known."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import (
    Out,
    ReleaseOptions,
    finish,
    with_options,
)
from recon.io.console.output import print_json, print_lines, records, write_table

if TYPE_CHECKING:
    import pandas as pd

EverybodysFeatures = Annotated[
    str | None,
    typer.Option("--known-columns", help="Everybody's features (.csv, .parquet); labels left out or empty."),
]
TrueLabels = Annotated[
    str | None, typer.Option("--truth", help="The true rows, in the order of the known ones, to compare with.")
]
Within = Annotated[
    tuple[float, float] | None,
    typer.Option("--targets-within", help="Regression: every target lies between these two numbers."),
]


@with_options("rows", "adversary", "label", "confidence")
def labels(
    asked: ReleaseOptions, known: EverybodysFeatures = None, truth: TrueLabels = None, within: Within = None,
    out: Out = None,
) -> None:  # fmt: skip
    """Infer the label (of a regression: the target) of everybody whose features are known."""
    from recon.queries.questions.labels import beside_truth, is_regression, target_truth, targets
    from recon.queries.questions.labels import labels as run
    from recon.readers.frames.selections import read_table
    from recon.report.wording.headline import assumption_lines

    if known is None and asked.adversary is None:
        raise typer.BadParameter("--known-columns is missing: a table of everybody's features")
    with asked.opened_beside(known=known) as (release, limits):
        number = is_regression(release)
        if within is not None and not number:
            raise typer.BadParameter("--targets-within is for models of a number, this one has classes")
        found = targets(release, within, limits) if number else run(release, limits)
        true = None if truth is None else read_table(truth)
        beside = None if true is None else (target_truth if number else beside_truth)(release, found, true, asked.label)
    if asked.json:
        said = {key: found.attrs[key] for key in ("status", "assumptions", "notes")}
        print_json({"rows": records(found), **said, **({} if beside is None else {"truth": beside})}, out, private=True)
    else:
        write_table(found, out, private=True)
    lines = [*_target_lines(found), *_truth_lines(beside)] if number else [*_label_lines(found), *_truth_lines(beside)]
    print_lines(*found.attrs["notes"], *lines, file=sys.stderr)
    print_lines("assuming: " + "; ".join(assumption_lines(release)), file=sys.stderr)
    finish(found.attrs["status"])


def _label_lines(found: pd.DataFrame) -> list[str]:
    """Return how many labels are certain."""
    how = found.attrs
    given = f", {how['given']:,} are given" if how["given"] else ""
    return [f"the label '{how['label']}' of {how['certain']:,} of {len(found) - how['given']:,} rows is certain{given}"]


def _target_lines(found: pd.DataFrame) -> list[str]:
    """Return how many targets are bounded, and how closely."""
    how = found.attrs
    near = "" if how["widest"] is None else f", to {how['widest']:.3g} or better"
    return [f"the targets of {how['bounded']:,} of {len(found):,} rows are bounded{near}"]


def _truth_lines(beside: dict[str, Any] | None) -> list[str]:
    """Return what the true rows say of it."""
    if beside is None:
        return []
    if "inside" in beside:
        return [f"true targets: {beside['inside']:,} inside their bounds, {beside['outside']:,} outside"]
    lines = [f"true labels: {beside['right']:,} of the certain ones are right, {beside['wrong']:,} wrong"]
    if beside["possible"] or beside["excluded"]:
        lines.append(f"of the open ones {beside['possible']:,} are possible, {beside['excluded']:,} excluded")
    return [*lines, f"the commonest label for everybody would be right for {beside['commonest']:,}"]
