"""What a model of a release says, in lines: whether its solutions are the worlds, and what each stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator

from encoders.encode.encoder import EncodedRelease
from solvers.foundation.exact import level_text
from solvers.proofs.export.integer_program import IntegerProgram
from solvers.proofs.export.world_rows import WorldRows

OUTER = "outer: every world is a solution, not conversely"
CONVENTIONS = {
    "ordered": "a world is a sequence of rows, label included",
    "multiset": "a world is a dataset without an order; rows are sorted by their values, label included",
    "assigned": "the leaf or rule of every row is known, as in the papers, and its label where classes are counted",
}


def title(release: EncodedRelease, to: str) -> tuple[str, ...]:
    """Return the first lines: what this is and of which release."""
    name = os.path.basename(release.file) or "a release in memory"
    text = f"recon export --to {to}: {name}, sha256 {release.sha256 or 'not known'}"
    return text, *(f"assuming: {one}" for one in release.assumptions)


def _outer(unstated: tuple[str, ...]) -> Iterator[str]:
    """Yield that solutions may be no worlds, and what was published that they need not meet."""
    yield OUTER
    yield from (f"left out: {line}" for line in unstated)


def _about_level(release: EncodedRelease) -> Iterator[str]:
    """Yield at which confidence the statements of noisy counts hold."""
    if not release.certain:
        yield f"noisy counts stand in their joint intervals at confidence {level_text(release.confidence)}"


def about_cells(release: EncodedRelease, program: IntegerProgram, *, relaxed: bool = False) -> Iterator[str]:
    """Yield what the integer program is, what was left out of it, and where it says less than the release."""
    yield (
        f"c0..c{program.cells - 1}: the number of rows in each of {program.cells} live cells, 0 to {program.maximum}; "
        "cells on which all statements agree are one; nothing is presolved"
        if program.cells
        else "there is no live cell"
    )
    yield (
        "left out: cells that a statement of 0 rows empties, or that bound propagation over trees and rule lists "
        "empties while the cells are derived (in every solution they are 0)"
    )
    if program.left_out:
        yield f"left out: {program.left_out} statements that every histogram of {program.maximum} rows or fewer meets"
    if program.selectors:
        yield "yi_a is 1 where alternative a of choice i holds: exactly one does, and which follows from the cells"
        yield "MPS, OPB and linear programs state what an alternative says, s of the map, by big-M: as s_low and s_high"
    yield from _about_level(release)
    if program.system.coarse:
        yield (
            "coarse: statements on sums were loosened, because an attribute has too many values to cut at each: every "
            "world is a solution, but a solution need not be a world; infeasible still means that there is no world"
        )
    if relaxed or program.unstated:
        yield from _outer((*(["that rows are whole numbers"] if relaxed else []), *program.unstated))
    if relaxed or program.unstated or program.system.coarse:
        return
    yield "solutions are the histograms over the cells that agree with the release, one to one"
    if not release.statements.domain.relative:
        yield (
            "a solution stands for n! prod(s_c^z_c / z_c!) ordered worlds and prod(C(s_c + z_c - 1, z_c)) multisets, "
            "s_c the raw rows of cell c in the map, z_c its number of rows, n the number of rows"
        )


def about_rows(release: EncodedRelease, rows: WorldRows) -> Iterator[str]:
    """Yield what models row by row say."""
    if rows.bags is not None:
        yield "rows stand by their position in the training file; the multiplicities of the bags are constants"
    yield from _about_level(release)
    if rows.unstated:
        yield from _outer(rows.unstated)
    else:
        text = f"the number of solutions is the number of worlds in the convention '{rows.convention}'"
        yield f"{text} ({CONVENTIONS[rows.convention]})"
    if not release.rows.exact:
        yield "the number of rows is open: solutions of every possible number of rows are counted together"
