"""A release in a file that other solvers read, with the map back: what every variable and constraint means.

Whoever doubts an answer asks a solver of his own: `export` writes the integer program over the cells (MPS, OPB,
CP-SAT) or the clauses row by row (DIMACS), `back` turns a solution into rows and says which statements it meets.

Source: docs/mathematics.md, "Cells and histograms".
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease, encode
from encoders.parts.cut_domain import CutDomain
from recon.exporting.boxes import boxes_json, dumped, number, values_json
from recon.exporting.graphs import interaction_graph
from recon.files.opening import read_whole
from recon.files.pieces import write_all
from recon.formats.release.parts import to_domain, to_models, to_rows
from recon.formats.release.reading import parse
from recon.formats.release.writing import attribute_json, release_json
from recon.frames.true_rows import TrueRows, between
from recon.frames.world import World
from recon.loading.asking import Released, release_of
from solvers.display.displayed import Displayed, Facts, many
from solvers.export.clauses import EXISTS, NO_PART, ClauseBit, ClauseForm, clauses_of, rows_of
from solvers.export.formats import cpsat_bytes, dimacs_lines, encoded, mps_lines, opb_lines, opb_variables
from solvers.export.integer_program import Constraint, IntegerProgram
from solvers.foundation.errors import EngineError, ReleaseError
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, Statement
from solvers.statements.release import World as SolverWorld

FORMATS = ("mps", "opb", "cpsat", "dimacs")
GRAPH = "graphml"
UNITS = {False: ("variables", "constraints"), True: ("nodes", "edges")}  # of what is written; is it a graph?
TEXT = (".pbtxt", ".txt")
WHOLE = 1e-5  # a value so near a whole number is that number: solvers in floating point are not nearer
Value = int | float | bool
Line = tuple[str, str, int | None, int | None, int, bool]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the file and its map (None where there is none), how large, and what to know about it.

    Of a graph, `variables` are its nodes and `constraints` its edges.
    """

    path: str
    map: str | None
    variables: int
    constraints: int
    about: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Restored(Displayed):
    """A solution read back: its rows, the rows per cell (empty for dimacs), and every statement as it is met.

    `rows` has one line per row, a column per attribute and the label. `statements` has the columns name, source,
    at_least, at_most (None: open), found and met; of a choice, `found` is how many of its alternatives hold.
    """

    rows: pd.DataFrame
    histogram: dict[str, int]
    statements: pd.DataFrame

    def _facts(self) -> Facts:
        line = f"{many(len(self.rows), 'row')}, {many(len(self.statements), 'statement')}"
        return Facts(
            line, [("statements not met", int((~self.statements["met"]).sum()))], more="rows, statements, histogram"
        )

    @property
    def met(self) -> bool:
        """Return whether every statement is met, the number of rows included."""
        return bool(self.statements["met"].all())


def export(release: Released, to: str, out: str, limits: Limits | None = None, nodes: str = "attributes") -> Exported:
    """Write a release for other programs: `to` is mps, opb, cpsat, dimacs or graphml, `out` a path or - for stdout.

    Beside a file stands `OUT.map.json`, but for graphml, which says itself what it shows: the interaction graph of the
    `nodes`, attributes or cells. A name ending in .gz is compressed; CP-SAT models are binary, or text where the name
    ends in .pbtxt or .txt, and need a file. The same release gives the same bytes. Raises `ReleaseError` for an unknown
    format or an unwritable path, `Unsupported` where the format cannot hold the release (`TooLarge`: --max-cells,
    --memory), `Inconclusive` when time is up; then nothing is written. Cost: linear in the entries.
    """
    release = release_of(release, limits)
    limits = limits or Limits()
    if to not in (*FORMATS, GRAPH):
        raise ReleaseError(f"there is no format '{to}': choose {', '.join((*FORMATS, GRAPH))}")
    if out == "-" and to == "cpsat":
        raise ReleaseError("a CP-SAT model is not printed: give a file that ends in .pb or .pbtxt")
    if to == GRAPH:
        drawn = interaction_graph(release, nodes, title(release, to), limits)
        size, about = (drawn.graph.number_of_nodes(), drawn.graph.number_of_edges()), drawn.about
        body, beside_it = encoded(drawn.lines()), None
    elif to == "dimacs":
        lowered = clauses_of(release.statements, limits)
        size = lowered.variables, len(lowered.clauses)
        about = (*title(release, to), *about_clauses(release), beside(out))
        body, beside_it = encoded(dimacs_lines(lowered, about)), encoded(clause_map(release, lowered, about))
    else:
        program = IntegerProgram.of(release.statements, limits)
        size = len(program.names), program.number
        about = (*title(release, to), *about_cells(release, program), beside(out))
        body, beside_it = program_bytes(program, to, out, about), encoded(cell_map(release, program, to, about))
    limits.report(f"writing {size[0]:,} {UNITS[to == GRAPH][0]}, {size[1]:,} {UNITS[to == GRAPH][1]} to {out}")
    if out == "-":
        sys.stdout.writelines(line.decode() for line in body)
        return Exported(out, None, *size, about)
    beside_file = {} if beside_it is None else {f"{out}.map.json": beside_it}
    write_all({out: body, **beside_file}, limits)
    return Exported(out, next(iter(beside_file), None), *size, about)


def program_bytes(program: IntegerProgram, to: str, out: str, about: Sequence[str]) -> Iterator[bytes]:
    """Return an integer program in a format, piece by piece."""
    if to == "cpsat":
        return cpsat_bytes(program, about, text=out.removesuffix(".gz").endswith(TEXT))
    return encoded((mps_lines if to == "mps" else opb_lines)(program, about))


def title(release: EncodedRelease, to: str) -> tuple[str, ...]:
    """Return the first lines of the header: what this is and of which release."""
    name = os.path.basename(release.file) or "a release in memory"
    text = f"recon export --to {to}: {name}, sha256 {release.sha256 or 'not known'}"
    return text, *(f"assuming: {one}" for one in release.assumptions)


def beside(out: str) -> str:
    """Return the header's line on the map."""
    if out == "-":
        return "without a map: it is written beside files only"
    return "the map, what variables and constraints mean, stands beside this file: its name and .map.json"


def about_cells(release: EncodedRelease, program: IntegerProgram) -> Iterator[str]:
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
        yield "MPS and OPB state what an alternative says, s of the map, by big-M: as s_low and s_high"
    if program.system.coarse:
        yield (
            "coarse: statements on sums were loosened, because an attribute has too many values to cut at each: every "
            "world is a solution, but a solution need not be a world; infeasible still means that there is no world"
        )
        return
    yield "solutions are the histograms over the cells that agree with the release, one to one"
    if not release.statements.domain.relative:
        yield (
            "a solution stands for n! prod(s_c^z_c / z_c!) ordered worlds and prod(C(s_c + z_c - 1, z_c)) multisets, "
            "s_c the raw rows of cell c in the map, z_c its number of rows, n the number of rows"
        )


def about_clauses(release: EncodedRelease) -> Iterator[str]:
    """Yield what the clauses say."""
    yield "the number of models is the number of worlds in the convention 'ordered' (sequences of rows, label included)"
    if not release.rows.exact:
        yield "the number of rows is open: models of every possible number of rows are counted together"


def head(release: EncodedRelease, to: str, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the first keys of a map, a line each, each with a comma behind."""
    origin = {"name": os.path.basename(release.file), "sha256": release.sha256}
    ends = {"at_least": release.rows.low, "at_most": release.rows.high}
    yield f'{{"recon_map": 1,\n "format": {dumped(to)},\n "release": {dumped(origin)},\n "rows": {dumped(ends)},\n'
    yield f' "meaning": {dumped(list(about))},\n'
    yield f' "attributes": {dumped([attribute_json(a) for a in release.domain.all])},\n'


def cell_map(release: EncodedRelease, program: IntegerProgram, to: str, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the map of an integer program: cells as boxes of declared values, then constraints with their sources."""
    system, box_json = program.system, boxes_json(release.cut)
    terms = "a constraint: at_least <= sum of coefs (1 where there are none) times the rows of cells <= at_most"
    yield from head(release, to, (*about, terms))
    yield ' "cells": ['
    for c in range(program.cells):
        one: dict[str, Any] = {"variable": program.names[c], "at_most": number(program.maximum)}
        if to == "opb":
            one["digits"] = [f"x{x}" for _, x in opb_variables(program, c)]
        one["raw_rows"] = None if system.release.domain.relative else str(system.sizes[c])
        one["boxes"] = [box_json(system.boxes[i]) for i in system.pieces[c]]
        yield ("," if c else "") + "\n  " + dumped(one)
    yield '\n ],\n "choices": ['
    for i, (source, columns) in enumerate(zip(program.choice_sources, program.selectors, strict=True)):
        names = [program.names[y] if to != "opb" else f"x{opb_variables(program, y)[0][1]}" for y in columns]
        yield ("," if i else "") + "\n  " + dumped({"name": f"choice{i}", "source": source, "selectors": names})
    yield f'\n ],\n "left_out": {program.left_out},\n "constraints": ['
    sources = list(program.sources())
    place = {y: (i, a) for i, columns in enumerate(program.selectors) for a, y in enumerate(columns)}
    for i, constraint in enumerate(c for c in program.constraints() if not c.name.startswith("choice")):
        s = constraint.statement
        entry = constraint_json(constraint, "the number of rows" if s is None else sources[s])
        low, high = (constraint.low, constraint.high) if s is None else (system.linear.low[s], system.linear.high[s])
        entry["figure"] = between(int(low or 0), int(high or 0))
        if constraint.selector is not None:
            entry["choice"], entry["alternative"] = place[constraint.selector]
        yield ("," if i else "") + "\n  " + dumped(entry)
    yield "\n ]}\n"


def constraint_json(one: Constraint, source: str) -> dict[str, Any]:
    """Return a constraint over cells as the map writes it; coefficients that are all 1 are left out."""
    out: dict[str, Any] = {"name": one.name, "source": source}
    for key, side in (("at_least", one.low), ("at_most", one.high)):
        if side is not None:
            out[key] = number(side)
    out["cells"] = list(one.columns)
    if any(a != 1 for a in one.coefs):
        out["coefs"] = [number(a) for a in one.coefs]
    return out


def clause_map(release: EncodedRelease, lowered: ClauseForm, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the map of clauses: what the bits of every row mean, and the release itself, to check rows against."""
    yield from head(release, "dimacs", about)
    document = release_json(release.domain, release.models, release.declared)
    yield f' "document": {dumped(document)},\n "variables": {lowered.variables},\n "bits": ['
    for i, bit in enumerate(lowered.bits):
        yield ("," if i else "") + "\n  " + dumped(bit_json(release.cut, bit))
    yield "\n ]}\n"


def bit_json(cut: CutDomain, bit: ClauseBit) -> dict[str, Any]:
    """Return what a variable of a row says: that the row exists, or has these values, or how far along in them."""
    out: dict[str, Any] = {"variable": bit.variable, "row": bit.row + 1}
    if bit.attribute < 0:
        return out
    out["attribute"] = cut.cuts[bit.attribute].attribute.name
    if bit.part < 0:
        return out | {"further": str(1 << bit.offset)}
    return out | {"part": bit.part, "values": values_json(cut, bit.attribute, 1 << bit.part)}


def back(map_path: str, solution: Mapping[Any, Value]) -> Restored:
    """Return what a solution of an exported problem means: rows, and every statement with whether it is met.

    `solution` maps variables to values, by name (c0, x1; selectors and variables that are 0 may be missing) or, for
    dimacs, by number. A row of a cell is the first of its raw rows, any other would do as well; dimacs names rows in
    full. The model file is not needed. Raises `ReleaseError` for no map, an unknown variable, and values that are no
    whole numbers in range; a solution that breaks statements is no error, see `Restored.met`.
    """
    data = read_whole(map_path)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ReleaseError("is no map of an export: it is not JSON", file=map_path) from None
    if not isinstance(found, dict) or found.get("recon_map") != 1:
        raise ReleaseError('is no map of an export: the key "recon_map" is missing (it must be 1)', file=map_path)
    return clauses_back(found, solution, map_path) if found["format"] == "dimacs" else cells_back(found, solution)


def whole(name: object, value: Value, maximum: int) -> int:
    """Return a variable's value as a whole number between 0 and `maximum`."""
    if not math.isfinite(value) or abs(value - round(value)) > WHOLE or not 0 <= round(value) <= maximum:
        raise ReleaseError(f"the solution gives {name} the value {value}, no whole number from 0 to {maximum}")
    return round(value)


def cells_back(found: dict[str, Any], solution: Mapping[Any, Value]) -> Restored:
    """Return what a solution of an integer program means."""
    left = {str(name): value for name, value in solution.items()}
    z = []
    for cell in found["cells"]:
        maximum = int(cell["at_most"])
        if "digits" in cell:
            value: Value = sum(whole(x, left.pop(x, 0), 1) << b for b, x in enumerate(cell["digits"]))
        else:
            value = left.pop(cell["variable"], 0)
        z.append(whole(cell["variable"], value, maximum))
    for choice in found["choices"]:
        for name in choice["selectors"]:
            whole(name, left.pop(name, 0), 1)
    if left:
        raise ReleaseError(f"the solution names '{next(iter(left))}', which is no variable of the map")
    names = [a["name"] for a in found["attributes"]]
    free = {a["name"]: first(a["values"] if "values" in a else [{"at_least": a["min"]}]) for a in found["attributes"]}
    held = [(c, n) for c, n in zip(found["cells"], z, strict=True) if n]
    lines = [[first(c["boxes"][0].get(name, [free[name]])) for name in names] for c, _ in held]
    columns = {name: pd.Series([line[k] for line in lines]) for k, name in enumerate(names)}
    times = np.array([n for _, n in held], dtype=np.int64)
    rows = pd.DataFrame(columns).iloc[np.repeat(np.arange(len(held)), times)].reset_index(drop=True)
    histogram = {c["variable"]: n for c, n in zip(found["cells"], z, strict=True)}
    return Restored(rows, histogram, statements_of(found, z))


def first(values: list[Any]) -> Any:
    """Return a value that passes the first of the tests of a box, the least where there is one."""
    test = values[0]
    if not isinstance(test, dict):
        return test
    if "at_least" in test or "missing" in test:
        return test.get("at_least", math.nan)
    return test["at_most"] if "at_most" in test else (test["above"] + test["below"]) / 2


def statements_of(found: dict[str, Any], z: list[int]) -> pd.DataFrame:
    """Return every statement of a map with the sum that the cells give it."""
    out: list[Line] = []
    holding = [[True] * len(choice["selectors"]) for choice in found["choices"]]
    for one in found["constraints"]:
        coefs = map(int, one["coefs"]) if "coefs" in one else [1] * len(one["cells"])
        total = sum(a * z[c] for c, a in zip(one["cells"], coefs, strict=True))
        low, high = (int(one[key]) if key in one else None for key in ("at_least", "at_most"))
        met = (low is None or total >= low) and (high is None or total <= high)
        if "choice" in one:
            holding[one["choice"]][one["alternative"]] &= met
        else:
            out.append((one["name"], one["source"], low, high, total, met))
    for choice, held in zip(found["choices"], holding, strict=True):
        out.append((choice["name"], choice["source"], 1, 1, sum(held), sum(held) == 1))
    return table(out)


def table(lines: list[Line]) -> pd.DataFrame:
    """Return statements as a frame; whole numbers stay whole beside open sides."""
    names = ("name", "source", "at_least", "at_most", "found", "met")
    kinds = {"at_least": object, "at_most": object, "found": object, "met": bool}
    return pd.DataFrame(lines, columns=list(names)).astype(kinds)


def clauses_back(found: dict[str, Any], solution: Mapping[Any, Value], map_path: str) -> Restored:
    """Return what a model of the clauses means: its rows, checked against the release that the map holds."""
    part = parse(dumped(found["document"]).encode(), map_path)
    release = encode(to_domain(part.domain), to_models(part), to_rows(part), file=map_path)
    model = []
    for name, value in solution.items():
        digits = str(name).removeprefix("x")
        if not digits.isdecimal() or not 1 <= int(digits) <= found["variables"]:
            raise ReleaseError(f"the solution names '{name}', which is no variable of the map")
        if whole(name, value, 1):
            model.append(int(digits))
    bits = tuple(bit_of(release, line, map_path) for line in found["bits"])
    try:
        values = rows_of(release.statements, found["variables"], bits, model)
    except EngineError as error:
        raise ReleaseError(f"the solution is {error}") from None
    if (values >= np.array([a.total for a in release.cut.solver.attributes], dtype=object)).any():
        raise ReleaseError("the solution is no model: a row has a value beyond the last of its attribute")
    frame = World(release.domain, SolverWorld(values, np.ones(len(values), dtype=np.int64))).to_frame()
    return Restored(frame, {}, statements_in(release, frame))


def statements_in(release: EncodedRelease, frame: pd.DataFrame) -> pd.DataFrame:
    """Return every statement of a release with the sum that the rows of a frame give it."""
    true, inner = TrueRows.of(release, frame), release.statements
    maximum = UNBOUNDED if inner.rows.high is None else inner.rows.high
    statements = [Statement(Region(Box()), inner.rows.low, maximum, "the number of rows")]
    statements += [Statement(Region(box), 0, 0, f"domain.impossible[{i}]") for i, box in enumerate(inner.impossible)]
    choices = inner.choices.values()
    for b, block in enumerate(inner.blocks):
        if b not in inner.choices:
            statements += [block.statement(s, inner.domain) for s in range(len(block))]
    out: list[Line] = []
    for i, s in enumerate(statements):
        low, high = None if s.low <= -UNBOUNDED else s.low, None if s.high >= UNBOUNDED else s.high
        out.append((f"s{i}", s.source, low, high, true.total(s), true.holds(s)))
    for i, choice in enumerate(choices):
        held = sum(all(map(true.holds, alternative)) for alternative in choice.alternatives)
        out.append((f"choice{i}", choice.name, 1, 1, held, held == 1))
    return table(out)


def bit_of(release: EncodedRelease, line: dict[str, Any], map_path: str) -> ClauseBit:
    """Return a variable of a row as a map writes it; `ReleaseError` where the release is not cut as it was."""
    k = release.domain.place[line["attribute"]] if "attribute" in line else EXISTS
    further = int(line["further"]).bit_length() - 1 if "further" in line else 0
    bit = ClauseBit(line["variable"], line["row"] - 1, k, line.get("part", NO_PART), further)
    if k != EXISTS and (bit.part >= len(release.cut.cuts[k].sizes) or bit_json(release.cut, bit) != line):
        raise ReleaseError("does not fit this version of recon, which cuts attributes elsewhere", file=map_path)
    return bit
