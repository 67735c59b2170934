"""`recon positions`: what is proved about the row at every position of the training file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recon.cli.session import (
    BUDGET,
    Certificates,
    KnownByPosition,
    Out,
    ReleaseOptions,
    declared_domain,
    finish,
    suffix,
    with_options,
)
from recon.io.console.output import print_json, print_lines, write_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from encoders.encode.encoder import EncodedRelease
    from recon.queries.located.placed_rows import PlacedRows
    from recon.queries.versions.difference import Difference
    from recon.queries.versions.positions import AlignedRows
    from solvers.foundation.limits import Limits

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

Removed = Annotated[
    int | None, typer.Option("--removed", min=0, help="With BEFORE AFTER: how many rows left between them.")
]
Added = Annotated[
    int | None, typer.Option("--added", min=0, help="With BEFORE AFTER: how many rows came between them.")
]


@with_options("rows", "adversary", "label", "confidence", seconds=BUDGET)
def positions(
    asked: ReleaseOptions, learner: Learner = "none", ranges: RangesFile = None, truth: TrueRows = None,
    known: KnownByPosition = None, which: WhichColumns = False, removed: Removed = None, added: Added = None,
    out: Out = None, certificates: Certificates = None,
) -> None:  # fmt: skip
    """Print, row by row of the training file, what is proved: label, values, intervals.

    Two forests of different numbers of rows are two versions, BEFORE AFTER: which row left, and what both say of all.
    """
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
    from recon.readers.frames.describe import table_like
    from recon.readers.loading.known_positions import with_known_positions
    from recon.report.stored_report import limits_json, limits_line

    if learner not in LEARNERS:
        raise typer.BadParameter(f"there is no learner '{learner}': choose {' or '.join(LEARNERS)}")
    beside_them = (truth, known, asked.adversary, which, asked.rows, ranges, learner, asked.independent)
    alone = beside_them == (None, None, None, False, None, None, "none", False) and len(asked.files) == 2
    if (removed, added) != (None, None) and not alone:
        raise typer.BadParameter("--removed and --added compare two versions, BEFORE AFTER, with nothing beside")
    with asked.working() as limits:
        as_read = None if (removed, added) != (None, None) else _of_the_same_rows(asked, limits, alone)
        if as_read is None:
            two = _two_versions(asked, removed, added, limits)
            finish(_printed_versions(two, limits, asked.json, out, certificates))
            return
        release = asked.beside(as_read, limits) or as_read
        if known is not None and release.beside is not None:
            raise typer.BadParameter("rows are known by position from --known and from --adversary: give them in one")
        release = release if known is None else with_known_positions(release, known, asked.label)
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


def _of_the_same_rows(asked: ReleaseOptions, limits: Limits, alone: bool) -> EncodedRelease | None:
    """Return the release that all files make, None where two of them are of different numbers of rows."""
    from solvers.foundation.errors import ContradictionError

    try:
        return asked.release(limits)
    except ContradictionError:
        if not alone or "-" in asked.files:
            raise
        return None


def _two_versions(
    asked: ReleaseOptions, removed: int | None, added: int | None, limits: Limits
) -> AlignedRows | Difference:
    """Return what two versions say of every row."""
    from recon.queries.versions.positions import aligned_rows

    declared = declared_domain(asked.domain, asked.label)
    before, after = asked.files
    return aligned_rows(before, after, removed, added, declared, limits)


def _printed_versions(
    found: AlignedRows | Difference, limits: Limits, json: bool, out: str | None, certificates: str | None
) -> str:
    """Print what two versions say of every row, or of rows without an order; return the status."""
    from recon.cli.output.printing import stored_certificates
    from recon.queries.certificates.certificate_format import certified_lines
    from recon.queries.located.positions import frame_as_text, position_json, without_infinity
    from recon.queries.versions.difference import Difference
    from recon.queries.versions.positions import OTHERWISE
    from recon.report.stored_report import limits_json, limits_line

    placed = not isinstance(found, Difference)
    head: dict[str, Any] = {
        "kind": "positions", "aligned": placed, "sentences": found.sentences(),
        "notes": [] if placed else [OTHERWISE], "assumptions": list(found.assumptions), "limits": limits_json(limits),
    }  # fmt: skip
    if json and isinstance(found, Difference):
        print_json(head, out, private=True)
    elif json and not isinstance(found, Difference):
        (proved,) = stored_certificates([found.certificate(limits)], certificates, out)
        head |= found.figures() | {"certificate": proved}
        print_json(head | position_json(found.to_frame()), out, private=True)
    else:
        proof = found.certificate(limits) if certificates and not isinstance(found, Difference) else None
        stored_certificates([proof], certificates, out)
        print_lines(*head["notes"], *found.sentences(), "assuming: " + "; ".join(found.assumptions))
        print_lines(*certified_lines(proof))
        print_lines(limits_line(limits), file=sys.stderr)
        if out is not None and not isinstance(found, Difference):
            frame = found.to_frame()
            write_table(without_infinity(frame) if suffix(out) == ".json" else frame_as_text(frame), out, private=True)
    if isinstance(found, Difference):
        return "exact" if found.removed.exact and found.kept.exact else "bounds"
    return "exact" if found.found.complete else "unknown"


def _summary(found: PlacedRows, beside: Mapping[str, Any] | None) -> list[str]:
    """Return what is printed for people: what is revealed, the first positions, the truth beside it, assumptions."""
    from recon.queries.located.positions import position_lines, truth_position_lines
    from recon.report.wording.headline import assumption_lines

    assumed = [*found.assumes, *found.assumed(assumption_lines(found.release))]
    truth = [] if beside is None else truth_position_lines(beside)
    return [*position_lines(found), *truth, "assuming: " + "; ".join(assumed)]
