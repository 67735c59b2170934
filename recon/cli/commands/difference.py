"""`recon difference`: who left between two versions of a model, who came, and what both say of those who stayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import (
    CommonOptions,
    DomainFile,
    LabelName,
    declared_domain,
    finish,
    with_options,
)
from recon.io.console.output import print_json, print_lines, records

if TYPE_CHECKING:
    from recon.queries.versions.difference import Difference, RowsOfType
    from solvers.foundation.limits import Limits

VERDICT = (
    "profile", "verdict", "min_count", "max_count", "probability", "probability_before", "expected_count", "confidence",
    "certificate", "reason", "box", "box_rows",
)  # fmt: skip
KNOWN = ("attribute", "values", "min_count")
LEAST = 0.005  # of the possible data sets: what is smaller is not shown as 0 %
SHOWN = 10  # candidates printed with their values

Before = Annotated[str, typer.Argument(metavar="BEFORE", help="The earlier version.")]
After = Annotated[str, typer.Argument(metavar="AFTER", help="The later version.")]
Removed = Annotated[int | None, typer.Option("--removed", min=0, help="How many rows left between the two.")]
Added = Annotated[int | None, typer.Option("--added", min=0, help="How many rows came between the two.")]
Proofs = Annotated[bool, typer.Option("--certificates/--no-certificates", help="Prove what is certain or impossible.")]
Asked = Annotated[str | None, typer.Option("--profiles", help="People who are asked about: whether they left.")]


@with_options()
def difference(
    asked: CommonOptions, before: Before, after: After, removed: Removed = None, added: Added = None,
    profiles: Asked = None, domain: DomainFile = None, label: LabelName = None, certificates: Proofs = True,
) -> None:  # fmt: skip
    """Say who left between two versions of a model, who came, and what both reveal of those who stayed."""
    from recon.queries.versions.difference import difference as run
    from recon.readers.frames.selections import read_table

    with asked.working() as limits:
        declared = declared_domain(domain, label, limits)
        people = None if profiles is None else read_table(profiles, limits)
        found = run(before, after, removed, added, people, declared, limits, certificates=certificates)
        document = _json_of(found, limits, certificates) if asked.json else None
    if document is not None:
        print_json(document)
    else:
        print_lines(*found.sentences())
        for group in (found.removed, found.added):
            print_lines(*_candidates(group))
        if found.profiles is not None:
            lines = zip(found.profiles["profile"], found.profiles["verdict"], strict=True)
            print_lines("", *(f"profile {i}: that this person left is {verdict}" for i, verdict in lines))
        print_lines("assuming: " + "; ".join(found.assumptions))
    finish("exact" if found.removed.exact and found.kept.exact else "bounds")


def _candidates(group: RowsOfType) -> list[str]:
    """Return the rows that those who left or came can be, at most so many, or what is known of their attributes."""
    names = [name for name in group.rows.columns if name not in VERDICT]
    out = []
    if not len(group.rows) or len(group.rows) > SHOWN:
        alike = group.attributes
        if len(alike):
            alike = alike[(alike["min_count"] > 0) & (alike["values"] != "any")]
        for name, words, low in zip(*(alike[key] for key in KNOWN), strict=True) if len(alike) else ():
            out.append(
                f"  at least {low:,} of those who {group.word}: {words if name in words else f'{name}: {words}'}"
            )
    for _, line in group.rows.head(SHOWN).iterrows():
        row = ", ".join(f"{name} = {line[name]}" for name in names)
        if line["verdict"] == "certain":
            how = " (certified)" if line["certificate"] is not None else ""
        else:
            share = line["probability"]
            how = f", in {'less than 1%' if share < LEAST else f'{share:.0%}'} of the possible data sets"
        out.append(f"  {line['verdict']} ({group.word}): {row}{how}")
    if len(group.rows) > SHOWN:
        out.append(f"  ... and {len(group.rows) - SHOWN:,} more (--json)")
    return out


def _json_of(found: Difference, limits: Limits, proofs: bool) -> dict[str, Any]:
    """Return the difference as an object for JSON, with proofs of what it says of each row."""
    out: dict[str, Any] = {"kind": "difference", "before": found.names[0], "after": found.names[1]}
    for key, group in (("removed", found.removed), ("added", found.added), ("kept", found.kept)):
        number = group.number
        rows = number.low if number.exact else {"at_least": number.low, "at_most": number.high}
        out[key] = {"rows": rows, "identified": group.certain, "profiles_left": group.possible, "exact": group.exact}
        if key != "kept":
            out[key]["profiles"] = _proved_lines(found, group.rows, key, limits, proofs)
            named = group.attributes.rename(columns={"min_count": "least", "max_count": "most"})
            out[key]["attributes"] = records(named)
    out |= {"alone": found.alone, "bits": found.bits, "sentences": found.sentences()}
    if found.profiles is not None and found.asked is not None:
        lines = found.profiles.join(found.asked.set_axis(found.profiles.index))
        lines.attrs.update(found.asked.attrs)  # where the cells come from: those of CSV files are texts
        out["profiles"] = _proved_lines(found, lines, "removed", limits, proofs)
    return out | {"assumptions": list(found.assumptions)}


def _proved_lines(found: Difference, lines: Any, of: str, limits: Limits, proofs: bool) -> list[dict[str, Any]]:
    """Return verdicts as `recon certify --json` prints them: of rows that left or came, with proofs of all counts."""
    from recon.queries.certificates.certificate_format import sharing_steps
    from recon.queries.certificates.issuing import profiles_json
    from recon.queries.questions.line_proofs import line_proofs
    from recon.readers.frames.selections import with_rows_of

    if not len(lines):
        return []
    people = with_rows_of(found.release, lines.drop(columns=[name for name in VERDICT if name in lines]), of)
    more = line_proofs(found.release, people, lines, limits) if proofs else [[] for _ in range(len(lines))]
    every = iter(sharing_steps([*lines["certificate"], *(one for line in more for one in line)]))
    certificates = [next(every) for _ in range(len(lines))]
    figures = records(lines[[name for name in VERDICT if name in lines and name != "certificate"]])
    return [
        {**figure, "profile_values": who, "certificate": one, "proofs": [next(every) for _ in rest]}
        for figure, who, one, rest in zip(
            figures, profiles_json(found.release, people), certificates, more, strict=True
        )
    ]
