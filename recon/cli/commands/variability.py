"""`recon variability`: how far data sets that agree with published tables can lie apart, area by area.

With `--order` the tables by what they give away.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recon.cli.session import finish
from recon.io.console.options import Cluster, Json, LogJson, Memory, Out, Quiet, Seconds, Workers, within_machine
from recon.io.console.output import print_json, print_lines, records, working, write_table

TableFiles = Annotated[list[str], typer.Argument(metavar="FILE...", help="Release files with tables of areas.")]
LeftOut = Annotated[
    str | None, typer.Option("--without", help="Tables left out, with commas (P8,P10): both and the difference.")
]
Alone = Annotated[bool, typer.Option("--alone", help="By the smallest areas' own tables only, which is faster.")]
Store = Annotated[
    str | None,
    typer.Option("--store", help="File for every area as it is done: a run that was stopped goes on from it."),
]


OverSchema = Annotated[
    str | None,
    typer.Option(
        "--schema", help="Attributes that histograms are over, with commas; age:5/18/65: bins that begin at 5, 18, 65."
    ),
]
By = Annotated[str | None, typer.Option("--by", help="'area': a line for every smallest area.")]
Around = Annotated[
    str | None,
    typer.Option("--around", help="Table of everybody: the radius from these people; 'found': from a data set found."),
]
Relaxed = Annotated[bool, typer.Option("--relaxed", help="Beside them the relaxation of Abowd et al. (4.9, 4.10).")]
Counted = Annotated[
    bool, typer.Option("--count", help="Beside them people certain, and how many data sets the own tables leave.")
]
Order = Annotated[
    bool, typer.Option("--order", help="In place of widths: the tables, from the one that gives away least on.")
]
Proofs = Annotated[bool, typer.Option("--proofs", help="With --json: certificates of widths, for recon verify.")]


def variability(
    files: TableFiles, schema: OverSchema = None, by: By = None, around: Around = None, relaxed: Relaxed = False,
    without: LeftOut = None, alone: Alone = False, count: Counted = False, proofs: Proofs = False,
    order: Order = False, store: Store = None, out: Out = None, seconds: Seconds = None, memory: Memory = "1G",
    workers: Workers = 1, dask: Cluster = None, json: Json = False, quiet: Quiet = False, log_json: LogJson = False,
) -> None:  # fmt: skip
    """Say per smallest area how different two data sets with the same tables can be; 0: it is the only one."""
    from recon.queries.tables.reading import opened_tables
    from recon.queries.tables.variability import FOUND, difference, lines_of
    from recon.queries.tables.variability import variability as run
    from solvers.foundation.errors import Unsupported

    if order:
        _order(files, schema, seconds, memory, json, quiet, log_json)
        return
    if by not in {None, "area"}:
        raise typer.BadParameter(f"--by is 'area', not '{by}'")
    with working(seconds, memory, 1, quiet, log_json) as whole:
        limits = within_machine(whole, workers, dask)
        tables = opened_tables(files)
        if tables is None:
            raise Unsupported(
                f"{files[0]}: holds no tables of areas (kind 'tables'): variability is asked of them alone"
            )
        names = None if schema is None else [name.strip() for name in schema.split(",") if name.strip()]
        people: Any = around
        if around not in {None, FOUND}:
            from recon.readers.frames.selections import read_table

            people = read_table(around, limits)
        asked = {
            "schema": names,
            "around": people,
            "relaxed": relaxed,
            "coupled": not alone,
            "proofs": proofs,
            "count": count,
        }
        found = run(tables, store=store, limits=limits, **asked)
        left_out = [] if without is None else [name.strip() for name in without.split(",")]
        beside = None
        if left_out:
            kept = None if store is None else f"{store}.without"
            beside = run(tables, without=left_out, store=kept, limits=limits, **asked)
    summary: dict[str, Any] = {"kind": "variability", "status": found.status, "schema": names,
                               "all_tables": found.summary(), "assumptions": list(found.assumptions)}  # fmt: skip
    if beside is not None:
        summary |= {"without": left_out, "without_them": beside.summary(),
                    "areas_without": records(beside.to_frame())}  # fmt: skip
    if out is not None:
        write_table(found.to_frame(), out, private=True)
    if json:
        more = {"certificates": [*found.proofs, *(beside.proofs if beside else ())]} if proofs else {}
        print_json(summary | {"areas": records(found.to_frame())} | more)
    else:
        print_lines(*lines_of(found, "all tables", by == "area"))
        if beside is not None:
            print_lines(*lines_of(beside, f"without {', '.join(left_out)}", by == "area"), *difference(found, beside))
        print_lines("assuming: " + "; ".join(found.assumptions))
    finish(found.status if beside is None or beside.status == "exact" else beside.status)


def _order(
    files: list[str], schema: str | None, seconds: Any, memory: str, json: bool, quiet: bool, log_json: bool
) -> None:
    """Print the tables in the order in which they are left out, and what that changes."""
    from recon.queries.tables.reading import opened_tables
    from recon.queries.tables.variability import order_of
    from solvers.foundation.errors import Unsupported

    with working(seconds, memory, 1, quiet, log_json) as limits:
        tables = opened_tables(files)
        if tables is None:
            raise Unsupported(f"{files[0]}: holds no tables of areas (kind 'tables')")
        names = None if schema is None else [name.strip() for name in schema.split(",") if name.strip()]
        found = list(order_of(tables, names, limits))
        whole = len(found) + 1 >= len({c.table for c in tables.cells if c.table})
    status = "exact" if whole else "unknown"
    if json:
        keys = ("table", "certain_with", "certain_without")
        print_json({"kind": "order", "status": status, "tables": [dict(zip(keys, x, strict=True)) for x in found]})
    else:
        print_lines(
            "tables left out one after the other, the one first that gives away least; people certain, at least:"
        )
        print_lines(*(f"  {name:<20} {before:>10,} -> {after:,}" for name, before, after in found))
        print_lines(*([] if whole else ["  NOT COMPLETE, the time was up"]))
    finish(status)
