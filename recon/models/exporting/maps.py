"""The map beside an exported file: what every variable and constraint means, as JSON.

Source: docs/mathematics.md, "Cells and histograms"; docs/own-solver.md, "Files, and a solution back".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from encoders.encode.encoder import EncodedRelease
from encoders.parts.cut_domain import CutDomain
from recon.io.files.opening import read_whole
from recon.models.boxes import boxes_json, dumped, number, values_json
from recon.models.mapping import Mapping
from recon.readers.formats.release.writing import attribute_json, release_json
from recon.readers.frames.true_rows import between
from solvers.foundation.errors import ReleaseError
from solvers.proofs.export.clauses import EXISTS, NOT_A_PART, ClauseBit, ClauseForm
from solvers.proofs.export.formats import opb_variables
from solvers.proofs.export.integer_program import Constraint, IntegerProgram

TOLD = ("release", "meaning")  # keys of a map that do not say what variables are


def map_lines(mapping: Mapping, to: str, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the map of a model that is written in a format, line by line."""
    if isinstance(mapping.form, ClauseForm):
        return clause_map(mapping.release, mapping.form, about)
    assert isinstance(mapping.form, IntegerProgram)
    return cell_map(mapping.release, mapping.form, to, about)


def read_map(path: str) -> dict[str, Any]:
    """Return a map; `ReleaseError` where the file is none."""
    data = read_whole(path)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ReleaseError("is no map of an export: it is not JSON", file=path) from None
    if not isinstance(found, dict) or found.get("recon_map") != 1:
        raise ReleaseError('is no map of an export: the key "recon_map" is missing (it must be 1)', file=path)
    return found


def demand_same(mapping: Mapping, found: dict[str, Any], to: str, path: str) -> None:
    """Raise `ReleaseError` where a map is that of another release than the mapping's."""
    own = json.loads("".join(map_lines(mapping, to, ())))
    if {k: v for k, v in own.items() if k not in TOLD} != {k: v for k, v in found.items() if k not in TOLD}:
        origin = found.get("release")
        name = origin.get("name") if isinstance(origin, dict) else None
        of = f"'{name}'" if name else "a release in memory"
        raise ReleaseError(f"is the map of another release ({of}), or was written with other options", file=path)


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


def clause_map(release: EncodedRelease, form: ClauseForm, about: tuple[str, ...]) -> Iterator[str]:
    """Yield the map of clauses: what the bits of every row mean, and the release itself, to check rows against."""
    lowered = form.lowered
    yield from head(release, "dimacs", about)
    yield f' "convention": {dumped(form.rows.convention)},\n'
    document = release_json(release.domain, release.models, release.declared)
    yield f' "document": {dumped(document)},\n "variables": {lowered.variables},\n "bits": ['
    for i, bit in enumerate(lowered.bits):
        yield ("," if i else "") + "\n  " + dumped(bit_json(release.cut, bit))
    yield "\n ]}\n"


def bit_json(cut: CutDomain, bit: ClauseBit) -> dict[str, Any]:
    """Return what a variable of a row says: that the row exists, or has these values, or how far along in them."""
    out: dict[str, Any] = {"variable": bit.variable, "row": bit.row + 1}
    if bit.attribute == EXISTS:
        return out
    out["attribute"] = cut.cuts[bit.attribute].attribute.name
    if bit.part == NOT_A_PART:
        return out | {"further": str(1 << bit.offset)}
    return out | {"part": bit.part, "values": values_json(cut, bit.attribute, 1 << bit.part)}
