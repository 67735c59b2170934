"""`recon positions`: what is proved about the row at every position of the training file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recon.cli.session import ReleaseOptions, finish
from recon.io.console.options import (
    BUDGET,
    Certificates,
    KnownByPosition,
    Out,
    suffix,
    with_options,
)
from recon.io.console.output import print_json, print_lines, write_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from recon.queries.located.placed_rows import PlacedRows

Learner = Annotated[
    str, typer.Option("--learner", help="What to assume of the learner: none, or midpoints (best splits lie halfway).")
]
RangesFile = Annotated[
    str | None,
    typer.Option(
        "--ranges", help="Table of attribute, min, max of the training rows; or attained: those of the domain."
    ),
]
TrueRows = Annotated[
    str | None, typer.Option("--truth", help="The training rows in the order fit got them, to compare with.")
]
WhichColumns = Annotated[
    bool, typer.Option("--which-columns", help="Which few columns of --truth, known of everybody, open the labels.")
]


@with_options("rows", "label", "confidence", seconds=BUDGET)
def positions(
    asked: ReleaseOptions, learner: Learner = "none", ranges: RangesFile = None, truth: TrueRows = None,
    known: KnownByPosition = None, which: WhichColumns = False, out: Out = None, certificates: Certificates = None,
) -> None:  # fmt: skip
    """Give back, row by row of the training file, what is proved: label, values, intervals."""
    from recon.cli.output.printing import stored_certificates
    from recon.queries.certificates.certificate_format import certified_lines
    from recon.queries.certificates.issuing import position_certificate
    from recon.queries.located.against_truth import compared
    from recon.queries.located.placed_rows import attributes
    from recon.queries.located.positions import (
        LEARNERS,
        frame_as_text,
        position_json,
        position_results,
        without_infinity,
    )
    from recon.queries.questions.which_columns import which_columns
    from recon.readers.frames.naming import table_like
    from recon.readers.loading.known_positions import with_known_positions
    from recon.report.document.metadata import limits_json, limits_line

    if learner not in LEARNERS:
        raise typer.BadParameter(f"there is no learner '{learner}': choose {' or '.join(LEARNERS)}")
    with asked.opened() as (as_read, limits):
        release = as_read if known is None else with_known_positions(as_read, known, asked.label)
        real = table_like(release, truth, asked.label)
        if which and real is None:
            raise typer.BadParameter("--which-columns needs the training rows: --truth FILE")
        found = position_results(release, learner, ranges, limits)
        opens = which_columns(release, real, limits) if which and real is not None else None
        beside = None if real is None else compared(found, real)
        proved = position_certificate(release, limits) if asked.json or certificates else None
    frame = found.to_frame()
    frame.attrs.update(attributes(found) | ({} if beside is None else {"truth": beside}))
    (frame.attrs["certificate"],) = stored_certificates([proved], certificates, out)
    if opens is not None:
        frame.attrs["which_columns"] = [one.to_dict() for one in opens]
    if asked.json:
        print_json(position_json(frame) | {"limits": limits_json(limits)}, out, private=True)
    else:
        proof = certified_lines(proved) if certificates else []
        print_lines(*_summary(found, beside), *map(str, opens or ()), *proof)
        print_lines(limits_line(limits), file=sys.stderr)
        if out is not None:
            write_table(without_infinity(frame) if suffix(out) == ".json" else frame_as_text(frame), out, private=True)
    finish("unknown" if not found.complete or found.status == "unknown" else "exact")


def _summary(found: PlacedRows, beside: Mapping[str, Any] | None) -> list[str]:
    """Return what is printed for people: what is given back, the first positions, the truth beside it, assumptions."""
    from recon.queries.located.positions import position_lines, truth_position_lines
    from recon.report.wording.headline import assumption_lines

    assumed = [*found.assumes, *found.assumed(assumption_lines(found.release))]
    truth = [] if beside is None else truth_position_lines(beside)
    return [*position_lines(found), *truth, "assuming: " + "; ".join(assumed)]
