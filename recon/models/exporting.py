"""A release in a file that other solvers read, with the map back: what every variable and constraint means.

Whoever doubts an answer asks another solver: `export` writes the integer program over the cells (MPS, OPB,
CP-SAT) or the clauses row by row (DIMACS), `restored` turns a solution of the file into rows.

Source: docs/mathematics.md, "Cells and histograms"; docs/own-solver.md.

Solutions as solvers print them: JSON, lines "v ...", lines of a name and a value, numbers of true literals.

The map beside an exported file: what every variable and constraint means, as JSON.

Source: docs/mathematics.md, "Cells and histograms"; docs/own-solver.md, "Files, and a solution back".

The models that exist inside, handed out: CP-SAT by cells or by rows, clauses, the linear relaxation, the graph.

Source: Ferry et al., SaTML 2024 and ICML 2024 (x[row, attribute], clauses, relaxations); docs/own-solver.md.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from encoders.parts.base import CutDomain
from recon.io.files.opening import budget_within, current, parsed_json, read_whole
from recon.io.files.writing import write_all
from recon.models.graphs import boxes_json, dumped, interaction_graph, number, values_json
from recon.models.mapping import Mapping, about_cells, about_rows, title
from recon.queries.answers.counting import convention_of
from recon.queries.noisy.denoising import certain_release
from recon.readers.formats.release.writing import attribute_json, release_json
from recon.readers.frames.world import World, between
from recon.readers.loading.loading import Released, release_of
from recon.readers.loading.settled import strengthened_release
from solvers.foundation.errors import ReleaseError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.proofs.export.formats import (
    as_utf8,
    clause_comments,
    cpsat_bytes,
    cpsat_model,
    dimacs_lines,
    highs_model,
    mps_lines,
    opb_lines,
    opb_variables,
)
from solvers.proofs.export.integer_program import Constraint, IntegerProgram, row_sizes
from solvers.proofs.export.world_rows import EXISTS, NOT_A_PART, ClauseBit, ClauseForm
from solvers.statements.gradients.linear_sums import with_stated_sums
from solvers.statements.observations import observations
from solvers.statements.release import Release

if TYPE_CHECKING:
    import highspy
    from networkx import Graph
    from ortools.sat.python import cp_model
    from pysat.formula import CNF


def cpsat(
    release: Released, by: str = "cells", convention: str | None = None, limits: Limits | None = None
) -> tuple[cp_model.CpModel, Mapping]:
    """Return a CP-SAT model whose solutions are the possible worlds, and what they mean.

    By "cells" a solution is a histogram, and `Mapping.weight` says for how many worlds it stands in each convention. By
    "rows" x[row, attribute] is the number of a value (0: the first of the domain), and the number of solutions is the
    number of worlds in the convention (by default as `recon.count` has it): `multiset` sorts rows, `assigned` fixes
    them to their leaves. Raises `ReleaseError` for another `by`, `Unsupported` where the model cannot be stated
    (`TooLarge`, with its size, before it is built), `Inconclusive` when time is up. Cost: linear in the entries; by
    rows, rows times regions.
    """
    release, limits = _with_settled_partition(release, limits), limits or Limits()
    if by not in ("cells", "rows"):
        raise ReleaseError(f"there is no model by '{by}': choose cells or rows")
    chosen = None if by == "cells" and convention is None else convention_of(release, convention)
    if by == "cells":
        mapping = mapping_of(release, "cpsat", None, limits)
        assert isinstance(mapping.form, IntegerProgram)
        return cpsat_model(mapping.form, mapping.about), mapping
    from solvers.proofs.export.integer_program import RowProgram

    rows = RowProgram(release.statements, chosen or "ordered", limits)
    mapping = Mapping(release, rows, (*title(release, "cpsat by rows"), *about_rows(release, rows.worlds)))
    rows.model.proto.name = "\n".join(mapping.about)
    if wrong := rows.model.validate():
        raise Unsupported(f"CP-SAT refuses the model: {wrong.splitlines()[0]}")
    return rows.model, mapping


def cnf(release: Released, convention: str = "ordered", limits: Limits | None = None) -> tuple[CNF, Mapping]:
    """Return clauses as a CNF of python-sat, one model per world of the convention, and what they mean.

    `Mapping.projection` names the variables that a model is determined by; all others are functions of them, so that
    counts with and without projection agree. Each is in some clause: SAT solvers leave others out of their models. The
    CNF's comments say the same to counters that read files. Raises `Unsupported` where rows cannot be written out
    (`TooLarge`, with the size, before they are). Cost: rows times boxes.
    """
    from pysat.formula import CNF

    release, limits = _with_settled_partition(release, limits), limits or Limits()
    mapping = mapping_of(release, "dimacs", convention, limits)
    form = mapping.form
    assert isinstance(form, ClauseForm)
    made = CNF()
    made.nv, made.clauses = form.lowered.variables, [list(clause) for clause in form.lowered.clauses]
    made.comments = [line.rstrip("\n") for line in clause_comments(form.lowered, mapping.about)]
    return made, mapping


def lp(release: Released, noise: str = "intervals", limits: Limits | None = None) -> tuple[highspy.Highs, Mapping]:
    """Return the linear relaxation over cells as a HiGHS model, and what its variables mean.

    Noisy counts stand in their joint "intervals", or, with "slacks", anywhere at a cost: each has one column for what
    was published above its count and one for what was below, and least is their sum over the scale of the noise (of
    Laplace noise the negative log-likelihood but for a constant). Exact releases have no costs: set some and maximise.
    Raises `ReleaseError` for another `noise`, `Unsupported` and `Inconclusive` as `cpsat`.
    """
    release, limits = _with_settled_partition(release, limits), limits or Limits()
    if noise not in ("intervals", "slacks"):
        raise ReleaseError(f"noise is not modelled by '{noise}': choose intervals or slacks")
    if noise == "slacks":
        if not release.noisy:
            raise ReleaseError("no count of the release carries noise: there are no slacks")
        release = replace(release, statements=certain_release(release, limits))
    release = _with_sums(release, limits)
    program = IntegerProgram.of(release.statements, limits)
    seen = observations(release.statements) if noise == "slacks" else ()
    about = (*title(release, "lp"), *about_cells(release, program, relaxed=True))
    model = highs_model(program, about, seen)
    return model, Mapping(
        release,
        program,
        about,
        relaxed=True,
        further=tuple(f"n{o.statement}_{side}" for o in seen for side in ("over", "under")),
    )


def graph(release: Released, nodes: str = "attributes", limits: Limits | None = None) -> Graph[str]:
    """Return the interaction graph of the attributes or of the cells of a release; its `about` says what is drawn.

    It is that of what was published: what leaf values prove beside is not in it. Raises `ReleaseError` for other
    nodes, `TooLarge` where the graph does not fit, `ContradictionError` where no cell is left.
    """
    release, limits = release_of(release, limits), limits or Limits()
    return interaction_graph(release, nodes, title(release, "graphml"), limits).graph


def mapping_of(release: EncodedRelease, to: str, convention: str | None, limits: Limits) -> Mapping:
    """Return what the variables of an exported file mean: clauses of a convention for dimacs, else a program of cells.

    Raises `Unsupported` and `Inconclusive` as `cpsat` and `cnf`.
    """
    try:
        if to == "dimacs":
            form = ClauseForm.of(release.statements, convention_of(release, convention or "ordered"), limits)
            return Mapping(release, form, (*title(release, to), *about_rows(release, form.rows)))
        release = _with_sums(release, limits)
        program = IntegerProgram.of(release.statements, limits)
        return Mapping(release, program, (*title(release, to), *about_cells(release, program)))
    except TooLarge as error:
        raise TooLarge(f"{error}{_row_models(release.statements, to)}") from None


def _row_models(release: Release, to: str) -> str:
    """Return how large the models row by row are, which need no cells, as the end of a refusal."""
    if release.rows.high is None or release.coarse:
        return ""
    if release.domain.relative:
        return "; row by row no cells are needed, but a declared domain is (--domain)"
    clauses, literals = (f"{size / (1 << 30):,.1f} GB" for size in row_sizes(release))
    other = "" if to == "dimacs" else f"--to dimacs takes at most about {clauses} (--memory), "
    return f"; row by row {other}recon.models.cpsat(release, by='rows') about {literals}"


def _with_settled_partition(release: Released, limits: Limits | None) -> EncodedRelease:
    """Return the release with what its leaf values prove: the settled partition is one of its statements."""
    return strengthened_release(release_of(release, limits), limits)


def _with_sums(release: EncodedRelease, limits: Limits) -> EncodedRelease:
    """Return the release with the sums of gradients that nothing was proved from as statements, where these are few."""
    if not release.statements.boosted or release.noisy:
        return release
    return replace(release, statements=with_stated_sums(release.statements, limits))


TOLD = ("release", "meaning")  # keys of a map that do not say what variables are


def _map_lines(mapping: Mapping, to: str, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the map of a model that is written in a format, line by line."""
    if isinstance(mapping.form, ClauseForm):
        return _clause_map(mapping.release, mapping.form, about)
    assert isinstance(mapping.form, IntegerProgram)
    return _cell_map(mapping.release, mapping.form, to, about)


def _read_map(path: str) -> dict[str, Any]:
    """Return a map; `ReleaseError` where the file is none."""
    data = read_whole(path)
    parsed_json(data, "the map")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ReleaseError("is not a map of an export: it is not JSON", file=path) from None
    if not isinstance(found, dict) or found.get("recon_map") != 1:
        raise ReleaseError('is not a map of an export: the key "recon_map" is missing (it must be 1)', file=path)
    return found


def _demand_same(mapping: Mapping, found: dict[str, Any], to: str, path: str) -> None:
    """Raise `ReleaseError` where a map is that of another release than the mapping's."""
    lines, what = [], "the map of the release"
    for line in _map_lines(mapping, to, ()):
        current().bytes(len(line), what)
        lines.append(line)
    parsed_json(text := "".join(lines), what)
    own = json.loads(text)
    if {k: v for k, v in own.items() if k not in TOLD} != {k: v for k, v in found.items() if k not in TOLD}:
        origin = found.get("release")
        name = origin.get("name") if isinstance(origin, dict) else None
        of = f"'{name}'" if name else "a release in memory"
        raise ReleaseError(f"is the map of another release ({of}), or was written with other options", file=path)


def _head(release: EncodedRelease, to: str, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the first keys of a map, a line each, each with a comma behind."""
    origin = {"name": os.path.basename(release.file), "sha256": release.sha256}
    ends = {"at_least": release.rows.low, "at_most": release.rows.high}
    yield f'{{"recon_map": 1,\n "format": {dumped(to)},\n "release": {dumped(origin)},\n "rows": {dumped(ends)},\n'
    yield f' "meaning": {dumped(list(about))},\n'
    yield f' "attributes": {dumped([attribute_json(a) for a in release.domain.all])},\n'


def _cell_map(release: EncodedRelease, program: IntegerProgram, to: str, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the map of an integer program: cells as boxes of declared values, then constraints with their sources."""
    system, box_json = program.system, boxes_json(release.cut)
    terms = "a constraint: at_least <= sum of coefs (1 where there are none) times the rows of cells <= at_most"
    yield from _head(release, to, (*about, terms))
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
    source_of = program.sources()
    place = {y: (i, a) for i, columns in enumerate(program.selectors) for a, y in enumerate(columns)}
    for i, constraint in enumerate(c for c in program.constraints() if not c.name.startswith("choice")):
        s = constraint.statement
        entry = _constraint_json(constraint, "the number of rows" if s is None else source_of(s))
        low, high = (constraint.low, constraint.high) if s is None else (system.linear.low[s], system.linear.high[s])
        entry["figure"] = between(int(low or 0), int(high or 0))
        if constraint.selector is not None:
            entry["choice"], entry["alternative"] = place[constraint.selector]
        yield ("," if i else "") + "\n  " + dumped(entry)
    yield "\n ]}\n"


def _constraint_json(one: Constraint, source: str) -> dict[str, Any]:
    """Return a constraint over cells as the map writes it; coefficients that are all 1 are left out."""
    out: dict[str, Any] = {"name": one.name, "source": source}
    for key, side in (("at_least", one.low), ("at_most", one.high)):
        if side is not None:
            out[key] = number(side)
    out["cells"] = list(one.columns)
    if any(a != 1 for a in one.coefs):
        out["coefs"] = [number(a) for a in one.coefs]
    return out


def _clause_map(release: EncodedRelease, form: ClauseForm, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the map of clauses: what the bits of every row mean, and the release itself, to check rows against."""
    lowered = form.lowered
    yield from _head(release, "dimacs", about)
    yield f' "convention": {dumped(form.rows.convention)},\n'
    document = release_json(release.domain, release.models, release.declared, release.related)
    yield f' "document": {dumped(document)},\n "variables": {lowered.variables},\n "bits": ['
    for i, bit in enumerate(lowered.bits):
        yield ("," if i else "") + "\n  " + dumped(_bit_json(release.cut, bit))
    yield "\n ]}\n"


def _bit_json(cut: CutDomain, bit: ClauseBit) -> dict[str, Any]:
    """Return what a variable of a row says: that the row exists, or has these values, or how far along in them."""
    out: dict[str, Any] = {"variable": bit.variable, "row": bit.row + 1}
    if bit.attribute == EXISTS:
        return out
    out["attribute"] = cut.cuts[bit.attribute].attribute.name
    if bit.part == NOT_A_PART:
        return out | {"further": str(1 << bit.offset)}
    return out | {"part": bit.part, "values": values_json(cut, bit.attribute, 1 << bit.part)}


LITERAL = re.compile(r"-?x?[0-9]+")
WORD_BYTES = 250  # of a word of a solution: itself, its place in a line, and the value of a variable
OTHER = ("c", "s", "o")  # first words of lines that hold no values: comments, status, objective
NEEDED = 'give JSON (names and values, or literals), lines "v ..." or lines of a name and a value'


def _read_solution(path: str, mapping: Mapping, to: str) -> dict[Any, Any]:
    """Return the values of variables by name that a file says.

    JSON: an object, or a list of literals; text: lines "v 1 -2 3 0" of SAT solvers (x1 -x2 in those of OPB), or lines
    of a name and a value, of which only those behind "# Columns" count where HiGHS wrote them. Raises `ReleaseError`.
    """
    text = read_whole(path).decode("utf-8", errors="replace")
    parsed_json(text, "the solution")
    current().bytes(WORD_BYTES * sum(map(text.count, (" ", "\t", "\n"))), "the solution")
    if text.lstrip()[:1] in ("{", "["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise ReleaseError(f"is not a solution: it is not JSON; {NEEDED}", file=path) from None
        if isinstance(found, list):
            return _literals(found, to, path)
        values = {k: v for k, v in found.items() if isinstance(v, int | float)}
        if len(values) < len(found):
            raise ReleaseError("is not a solution: a value is not a number", file=path)
        return values
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if any(words[0] in ("v", "V") for words in lines):
        return _literals([x for words in lines if words[0] in ("v", "V") for x in words[1:]], to, path)
    if all(LITERAL.fullmatch(x) for words in lines for x in words) and to in ("dimacs", "opb") and lines:
        return _literals([x for words in lines for x in words], to, path)
    return _named_values(lines, mapping, path)


def _literals(found: list[Any], to: str, path: str) -> dict[str, int]:
    """Return literals as values of variables x1, x2, ...; a 0 ends them."""
    out = {}
    for x in found:
        word = str(x)
        if to not in ("dimacs", "opb") or isinstance(x, bool) or not LITERAL.fullmatch(word):
            raise ReleaseError(f"is not a solution: '{word[:40]}' is not a literal of a file of format {to}", file=path)
        name = word.lstrip("-").removeprefix("x")
        if name.strip("0"):
            out[f"x{int(name)}"] = int(not word.startswith("-"))
    return out


def _named_values(lines: list[list[str]], mapping: Mapping, path: str) -> dict[str, float]:
    """Return the values of lines of a name and a value."""
    if start := [i for i, words in enumerate(lines) if words[:2] == ["#", "Columns"]]:
        behind = lines[start[0] + 1 :]
        lines = behind[: next((i for i, words in enumerate(behind) if words[0] == "#"), len(behind))]
    out: dict[str, float] = {}
    for words in lines:
        if words[0] in OTHER or words[0].startswith("#"):
            continue
        try:
            name, value = words
            out[name] = int(value) if value.lstrip("-").isdecimal() else float(value)
        except ValueError:
            text = " ".join(words)[:60]
            raise ReleaseError(
                f"is not a solution: the line '{text}' is not a name and value; {NEEDED}", file=path
            ) from None
    if not out and mapping.projection:
        raise ReleaseError(f"is not a solution: it names no variable; {NEEDED}", file=path)
    return out


def _from_digits(program: IntegerProgram, solution: dict[Any, Any]) -> dict[Any, Any]:
    """Return the rows of cells and the selectors of a solution of an OPB file, whose variables are binary digits."""
    left, out = dict(solution), {}
    for i, name in enumerate(program.names):
        digits = [(weight, f"x{x}") for weight, x in opb_variables(program, i)]
        values = [(weight, left.pop(x, 0)) for weight, x in digits]
        if wrong := [x for _, x in values if x not in (0, 1)]:
            raise ReleaseError(f"the solution gives a binary digit the value {wrong[0]}")
        out[name] = sum(int(weight * x) for weight, x in values)
    if left:
        raise ReleaseError(f"the solution names '{str(next(iter(left)))[:40]}', which is not a variable of the map")
    return out


FORMATS = ("mps", "opb", "cpsat", "dimacs")
GRAPH = "graphml"
UNITS = {False: ("variables", "constraints"), True: ("nodes", "edges")}  # of what is written; is it a graph?
TEXT = (".pbtxt", ".txt")


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


def export(
    release: Released,
    to: str,
    out: str,
    limits: Limits | None = None,
    nodes: str = "attributes",
    convention: str | None = None,
) -> Exported:
    """Write a release for other programs and return what was written.

    `to` is mps, opb, cpsat, dimacs or graphml, `out` a path or - for stdout.

    `OUT.map.json` is written beside the file, except for graphml, which describes itself: the interaction graph of the
    `nodes`, attributes or cells. A name ending in .gz is compressed; CP-SAT models are binary, or text where the name
    ends in .pbtxt or .txt, and need a file. `convention`: of dimacs, `ordered` unless said otherwise. What leaf values
    prove is stated too. The same release gives the same bytes. Raises `ReleaseError` for an unknown format or an
    unwritable path, `Unsupported` where the format cannot hold the release (`TooLarge`: --max-cells, --memory),
    `Inconclusive` when time is up; then nothing is written. Cost: linear in the entries.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = recon.export(release, "mps", f"{folder}/release.mps")
    >>> found.variables, found.constraints
    (3, 4)
    """
    limits = limits or Limits()
    release = release_of(release, limits)
    if to not in (*FORMATS, GRAPH):
        raise ReleaseError(f"there is no format '{to}': choose {', '.join((*FORMATS, GRAPH))}")
    if out == "-" and to == "cpsat":
        raise ReleaseError("a CP-SAT model is not printed: give a file that ends in .pb or .pbtxt")
    if convention is not None and to != "dimacs":
        raise ReleaseError(f"a file of format '{to}' is the same in every convention: leave 'convention' out")
    if to == GRAPH:
        drawn = interaction_graph(release, nodes, title(release, to), limits)
        size, about = (drawn.graph.number_of_nodes(), drawn.graph.number_of_edges()), drawn.about
        body, beside_it = as_utf8(drawn.lines()), None
    else:
        mapping = mapping_of(strengthened_release(release, limits), to, convention, limits)
        about = (*mapping.about, _map_line(out))
        if isinstance(mapping.form, ClauseForm):
            lowered = mapping.form.lowered
            size, body = (lowered.variables, len(lowered.clauses)), as_utf8(dimacs_lines(lowered, about))
        else:
            assert isinstance(mapping.form, IntegerProgram)
            size = len(mapping.form.names), mapping.form.number
            body = _program_bytes(mapping.form, to, out, about)
        beside_it = as_utf8(_map_lines(mapping, to, about))
    limits.report(f"writing {size[0]:,} {UNITS[to == GRAPH][0]}, {size[1]:,} {UNITS[to == GRAPH][1]} to {out}")
    if out == "-":
        sys.stdout.writelines(line.decode() for line in body)
        return Exported(out, None, *size, about)
    beside_file = {} if beside_it is None else {f"{out}.map.json": beside_it}
    write_all({out: body, **beside_file}, limits)
    return Exported(out, next(iter(beside_file), None), *size, about)


def restored(release: Released, map_path: str, solution_path: str, limits: Limits | None = None) -> World:
    """Return the rows that a solution of an exported file stands for.

    The solution is a file of what solvers print (docs/own-solver.md). Raises `ReleaseError` where
    the map is none or that of another release, and where the solution is none or breaks a statement, which it names.
    """
    limits = limits or Limits()
    release = strengthened_release(release_of(release, limits), limits)
    with budget_within(limits=limits):
        return _restored(release, map_path, solution_path, limits)


def _restored(release: EncodedRelease, map_path: str, solution_path: str, limits: Limits) -> World:
    """Return the rows of a solution; see `restored`."""
    found = _read_map(map_path)
    to, convention = found.get("format"), found.get("convention")
    if to not in FORMATS or not isinstance(convention, str | None):
        raise ReleaseError(f"is not a map of an export: its format is {to!r}", file=map_path)
    mapping = mapping_of(release, to, convention, limits)
    _demand_same(mapping, found, to, map_path)
    solution = _read_solution(solution_path, mapping, to)
    if to == "opb":
        assert isinstance(mapping.form, IntegerProgram)
        solution = _from_digits(mapping.form, solution)
    try:
        return mapping.world(solution)
    except ReleaseError as error:
        raise error.at(file=solution_path) from None


def _program_bytes(program: IntegerProgram, to: str, out: str, about: Sequence[str]) -> Iterator[bytes]:
    """Return an integer program in a format, piece by piece."""
    if to == "cpsat":
        return cpsat_bytes(program, about, text=out.removesuffix(".gz").endswith(TEXT))
    return as_utf8((mps_lines if to == "mps" else opb_lines)(program, about))


def _map_line(out: str) -> str:
    """Return the header's line on the map."""
    if out == "-":
        return "without a map: it is written beside files only"
    return "the map, what variables and constraints mean, is beside this file: its name and .map.json"
