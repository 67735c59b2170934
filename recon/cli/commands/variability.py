"""`recon variability`: how far data sets that agree with published tables can lie apart, area by area.

With `--order` the tables by what they give away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import (
    CommonOptions,
    Confidence,
    Out,
    Seed,
    finish,
    with_options,
)
from recon.io.console.output import print_json, print_lines, write_tables

if TYPE_CHECKING:
    from recon.queries.tables.tables import Tables

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
Noise = Annotated[
    str | None,
    typer.Option(
        "--noise",
        help="LAW:SCALE, e.g. discrete_gaussian:2, tried on the counts of the tables of --without; else of all.",
    ),
]
Order = Annotated[
    bool, typer.Option("--order", help="In place of widths: the tables, from the one that reveals least on.")
]
Proofs = Annotated[bool, typer.Option("--proofs", help="With --json: certificates of widths, for recon verify.")]


@with_options("workers", "dask", without={"max_cells": 1})
def variability(
    asked: CommonOptions, files: TableFiles, schema: OverSchema = None, by: By = None, around: Around = None,
    relaxed: Relaxed = False, without: LeftOut = None, alone: Alone = False, count: Counted = False,
    proofs: Proofs = False, order: Order = False, noise: Noise = None, confidence: Confidence = 0.95, seed: Seed = 0,
    store: Store = None, out: Out = None,
) -> None:  # fmt: skip
    """Bound, for each smallest area, how far two data sets with the same tables can differ; 0: there is only one."""
    from recon.queries.tables.variability import FOUND, LEFT_OUT, NOISY, TriedNoise, difference, lines_of
    from recon.queries.tables.variability import variability as run

    if order:
        further = {"--by": by, "--around": around, "--relaxed": relaxed, "--without": without, "--alone": alone,
                   "--count": count, "--proofs": proofs, "--noise": noise, "--store": store, "--out": out}  # fmt: skip
        if given := [name for name, value in further.items() if value]:
            raise typer.BadParameter(f"--order is about tables, {given[0]} about widths: run recon variability twice")
        _order(files, schema, asked)
        return
    if by not in {None, "area"}:
        raise typer.BadParameter(f"--by is 'area', not '{by}'")
    if proofs and not asked.json:
        raise typer.BadParameter("--proofs adds certificates to the JSON: give --json, too")
    with asked.working() as whole:
        limits = asked.within_machine(whole)
        tables, names = _tables_of(files), _names(schema)
        people: Any = around
        if around not in {None, FOUND}:
            from recon.readers.frames.selections import read_table

            people = read_table(around, limits)
        left_out = [] if without is None else [name.strip() for name in without.split(",")]
        tried = None if noise is None else TriedNoise.parse(noise, left_out, confidence, seed)
        about: dict[str, Any] = {"schema": names, "around": people, "coupled": not alone, "limits": limits}
        more: dict[str, Any] = {"relaxed": relaxed, "proofs": proofs, "count": count}
        found = run(tables, store=store, **about, **more)
        beside = noisy = None
        if tried is not None:
            noisy = run(tables, noise=tried, store=None if store is None else f"{store}.noise", **about)
        if left_out:
            kept = None if store is None else f"{store}.without"
            beside = run(tables, without=left_out, store=kept, **about, **more)
    summary: dict[str, Any] = {"kind": "variability", "status": found.status, "schema": names,
                               "all_tables": found.summary(), "assumptions": list(found.assumptions)}  # fmt: skip
    if beside is not None:
        summary |= {"without": left_out, "without_them": beside.summary()}
    if noisy is not None:
        summary |= {"noise": noise, "confidence": confidence, "seed": seed, "with_noise": noisy.summary()}
    if out is not None:
        write_tables(found.frames(), out, private=True)
    if asked.json:
        proved = {"certificates": [*found.proofs, *(beside.proofs if beside else ())]} if proofs else {}
        summary |= {} if beside is None else {"areas_without": beside.records()}
        summary |= {} if noisy is None else {"areas_with_noise": noisy.records()}
        print_json(summary | {"areas": found.records()} | proved)
    else:
        for line in lines_of(found, "all tables", by == "area"):
            print_lines(line)
        for other, title, ways in ((noisy, f"noise {noise} on {', '.join(left_out) or 'all tables'}", NOISY),
                                   (beside, f"without {', '.join(left_out)}", LEFT_OUT)):  # fmt: skip
            if other is not None:
                print_lines(*lines_of(other, title, by == "area"), *difference(found, other, ways))
        print_lines("assuming: " + "; ".join(found.assumptions))
        print_lines(*([] if noisy is None else ["with noise, assuming: " + noisy.assumptions[-1]]))
    finish(next((one.status for one in (beside, noisy, found) if one is not None and one.status != "exact"), "exact"))


def _tables_of(files: list[str]) -> Tables:
    """Return the tables of areas in the files; `Unsupported` where they hold none."""
    from recon.queries.tables.reading import opened_tables
    from solvers.foundation.errors import Unsupported

    tables = opened_tables(files)
    if tables is None:
        raise Unsupported(f"{files[0]}: holds no tables of areas (kind 'tables'): variability is asked of them alone")
    return tables


def _names(schema: str | None) -> list[str] | None:
    """Return the names of a schema, None without one."""
    return None if schema is None else [name.strip() for name in schema.split(",") if name.strip()]


def _order(files: list[str], schema: str | None, asked: CommonOptions) -> None:
    """Print the tables in the order in which they are left out, and what that changes."""
    from recon.queries.tables.variability import order_of
    from solvers.foundation.errors import ReleaseError

    with asked.working() as limits:
        tables = _tables_of(files)
        named = {c.table for c in tables.cells if c.table}
        if len(named) < 2:
            raise ReleaseError("fewer than two tables are named (key 'table' of cells): there is no order of them",
                               file=files[0])  # fmt: skip
        found = list(order_of(tables, _names(schema), limits))
        whole = len(found) + 1 >= len(named)
    status = "exact" if whole else "unknown"
    if asked.json:
        keys = ("table", "certain_with", "certain_without")
        print_json({"kind": "order", "status": status, "tables": [dict(zip(keys, x, strict=True)) for x in found]})
    else:
        print_lines("tables left out one after the other, first the one that reveals least; people certain, at least:")
        print_lines(*(f"  {name:<20} {before:>10,} -> {after:,}" for name, before, after in found))
        print_lines(*([] if whole else ["  NOT COMPLETE, the time was up"]))
    finish(status)
