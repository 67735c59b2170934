"""`recon queries`: whose secret bit follows from counts of subsets of known people, each with a bound on its noise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import CommonOptions, Out, with_options
from recon.io.console.output import DONE, INCONCLUSIVE, VIOLATED, print_json, print_lines, records, write_table

if TYPE_CHECKING:
    from recon.queries.query_answers import QueryAnswers

QueryFile = Annotated[
    list[str], typer.Argument(metavar="FILE", help="A line per person, a 0/1 column per query (.csv, .parquet, .json).")
]
NoiseBound = Annotated[
    str | None, typer.Option("--within", help="Every answer is off by at most this, where the file does not say it.")
]
SHOWN = 20  # claims printed one by one


@with_options(without={"max_cells": 1})
def queries(asked: CommonOptions, files: QueryFile, within: NoiseBound = None, out: Out = None) -> None:
    """Find the secret bits of known people that fit noisy counts of them, and prove whose can be no other."""
    from recon.io.files.opening import budget_within
    from recon.queries.query_answers import QueryAnswers, secret_bits

    if len(files) != 1:
        raise typer.BadParameter("give one file of queries: its answers are about the same people")
    with asked.working() as limits:
        with budget_within(limits=limits):
            found = QueryAnswers.read(files[0], within)
        answer = secret_bits(found, limits)
    head = answer.attrs
    if asked.json:
        print_json(
            {"recon_queries": 1, "file": found.file, "sha256": found.sha256, "within": within, "status": head["status"],
             "fits": head["fits"], "unique": head["unique"], "certain": head["certain"], "people": records(answer),
             "assumptions": head["assumptions"], "notes": head["notes"]}, out, private=True,
        )  # fmt: skip
    else:
        kinds = ["" if c is None else "certified (multipliers)" for c in answer["certificate"]]
        write_table(answer.assign(certificate=kinds), out, private=True)
    many = f"the bits of {head['certain']:,} of {len(answer):,} people are certain"
    print_lines(*head["notes"], many, "assuming: " + "; ".join(head["assumptions"]), file=sys.stderr)
    raise typer.Exit(DONE if head["fits"] and not answer["left"].isna().any() else INCONCLUSIVE)


def verify_queries(data: Any, files: list[str] | None, json: bool) -> None:
    """Re-check the certificates of a result of `recon queries`, and end."""
    from recon.queries.query_answers import QueryAnswers, verify_bits

    if not files or len(files) != 1:
        raise typer.BadParameter("give the file of queries that the result is about: recon verify RESULT FILE")
    asked: QueryAnswers = QueryAnswers.read(files[0], data.get("within"))
    found = verify_bits(data, asked)
    wrong = [one for one in found if one[1]]
    if json:
        print_json({"verified": len(found) - len(wrong), "rejected": [{"claim": c, "reason": e} for c, e in wrong]})
    else:
        print_lines(*(f"certified (multipliers): {claim}" for claim, error in found[:SHOWN] if not error))
        print_lines(*(f"REJECTED: {claim}: {error}" for claim, error in wrong[:SHOWN]))
        print_lines(f"{len(found) - len(wrong):,} of {len(found):,} certificates verified against {asked.file}")
    raise typer.Exit(VIOLATED if wrong else DONE if found else INCONCLUSIVE)
