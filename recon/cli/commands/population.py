"""`recon population`: how many rows of the data and people of the population fit each profile, and both risks."""

from __future__ import annotations

import sys
from typing import Any

from recon.cli.session import Out, ProfileFile, ReleaseOptions, finish, with_options
from recon.io.console.output import print_json, print_lines, records, write_table

COUNTS = ("sample_min", "sample_max", "population_min", "population_max")


@with_options("rows", "adversary", "label")
def population(asked: ReleaseOptions, profiles: ProfileFile, out: Out = None) -> None:
    """Bound how many people of a population fit each profile, and the prosecutor, journalist and marketer risk."""
    import typer

    from recon.queries.versions.population import population as run
    from recon.readers.frames.describe import table_like

    if asked.adversary is None:
        raise typer.BadParameter("--adversary is missing: a file that says what is known of the population")
    with asked.opened() as (release, limits):
        people = table_like(release, profiles, asked.label)
        found = run(release, asked.adversary, people, limits, asked.label, asked.json)
    head: dict[Any, Any] = found.attrs
    if asked.json:
        lines = records(found.drop(columns=[*COUNTS, "proofs"]))
        for line, proofs, counts in zip(lines, found["proofs"], found[list(COUNTS)].to_dict("records"), strict=True):
            line |= {
                of: {"profile_values": values, "min_count": counts[f"{of}_min"], "max_count": counts[f"{of}_max"],
                     "proofs": made} for of, (values, made) in proofs.items()
            }  # fmt: skip
        keys = ("marketer", "status", "assumptions", "notes")
        print_json({"profiles": lines} | {key: head[key] for key in keys}, out, private=True)
    else:
        write_table(found, out, private=True)
    if head["marketer"] is not None:
        least, most = head["marketer"]
        print_lines(f"mean of 1/F over these rows of the data: {least:.4g} to {most:.4g}", file=sys.stderr)
    print_lines(*head["notes"], "assuming: " + "; ".join(head["assumptions"]), file=sys.stderr)
    finish(head["status"])
