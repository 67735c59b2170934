"""`recon variability`: how far two data sets that agree with published tables can lie apart, area by area."""

from __future__ import annotations

from typing import Annotated

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


def variability(
    files: TableFiles, without: LeftOut = None, alone: Alone = False, store: Store = None, out: Out = None,
    seconds: Seconds = None, memory: Memory = "1G", workers: Workers = 1, dask: Cluster = None, json: Json = False,
    quiet: Quiet = False, log_json: LogJson = False,
) -> None:  # fmt: skip
    """Say per smallest area how different two data sets with the same tables can be; 0: it is the only one."""
    from recon.queries.tables.reading import opened_tables
    from recon.queries.tables.variability import lines_of
    from recon.queries.tables.variability import variability as run
    from solvers.foundation.errors import Unsupported

    with working(seconds, memory, 1, quiet, log_json) as whole:
        limits = within_machine(whole, workers, dask)
        tables = opened_tables(files)
        if tables is None:
            raise Unsupported(
                f"{files[0]}: holds no tables of areas (kind 'tables'): variability is asked of them alone"
            )
        found = run(tables, coupled=not alone, store=store, limits=limits)
        left_out = [] if without is None else [name.strip() for name in without.split(",")]
        beside = None
        if left_out:
            kept = None if store is None else f"{store}.without"
            beside = run(tables, without=left_out, coupled=not alone, store=kept, limits=limits)
    summary = {"kind": "variability", "status": found.status, "all_tables": found.summary(),
               "assumptions": list(found.assumptions)}  # fmt: skip
    if beside is not None:
        summary |= {"without": left_out, "without_them": beside.summary()}
    if out is not None:
        write_table(found.to_frame(), out, private=True)
    if json:
        print_json(summary | {"areas": records(found.to_frame())})
    else:
        print_lines(*lines_of(found, "all tables"))
        if beside is not None:
            print_lines(*lines_of(beside, f"without {', '.join(left_out)}"))
        print_lines("assuming: " + "; ".join(found.assumptions))
    finish(found.status if beside is None or beside.status == "exact" else beside.status)
