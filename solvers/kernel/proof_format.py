"""Proofs as JSON, written and read: whatever is malformed is refused, in one sentence that names its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from solvers.foundation.displayed import quote
from solvers.foundation.errors import CertificateError
from solvers.kernel.claims import (
    AlignmentReplays,
    AnyProof,
    BoundStep,
    Cases,
    CaseSplit,
    CountRevision,
    Drat,
    Form,
    Hall,
    Labelled,
    LeafValues,
    OverCells,
    ProofStep,
    Refined,
    RegionProof,
    Removal,
    Removals,
    Revised,
    Sum,
    ValueRemoval,
    Witness,
)

T = TypeVar("T")
SHOWN = 20  # keys that a message names
MAX_SPELLED_BITS = 200  # bits of a number that a message spells out
MAX_DEPTH = 200  # branches below each other; far below what Python can follow
MAX_ASSUMED = 20  # assumptions below each other
LENGTHS = {"revised": 2, "counted": 2, "filled": 4, "needed": 4, "labelled": 5, "assumed": 4}  # steps, and their parts
FORMS = {"refined": 2, "form": 6}  # steps of leaf values, and their parts
MAX_MODELS = 20  # boosted models one after the other


def proof_json(proof: AnyProof) -> dict[str, Any]:
    """Return a proof as JSON."""
    if isinstance(proof, RegionProof):
        return {"kind": "regions", "statements": list(proof.statements)}
    if isinstance(proof, Drat):
        return {"kind": "drat", "blocks": list(proof.blocks), "lines": list(proof.lines)}
    if isinstance(proof, Witness):
        out = {"kind": "world", "rows": [list(parts) for parts in proof.parts], "times": list(proof.times)}
        return out | ({} if proof.instead is None else {"instead": [proof.instead[0], list(proof.instead[1])]})
    if isinstance(proof, Removals):
        return {"kind": "removals", "steps": steps_json(proof)}
    if isinstance(proof, AlignmentReplays):
        return {"kind": "alignment", "replays": [steps_json(one) for one in proof.replays]}
    if isinstance(proof, LeafValues):
        last = proof_json(proof.last)
        return {"kind": "leaf_values", "model": proof.model, "steps": steps_json(proof), "last": last}
    return {
        "kind": proof.kind,
        "blocks": list(proof.blocks),
        "cells": [list(parts) for parts in proof.cells],
        "sums": [{"over": s.over, "multipliers": [list(pair) for pair in s.multipliers]} for s in proof.sums],
        "tree": _node_json(proof.tree),
    }


def steps_json(proof: Removals | LeafValues) -> list[Any]:
    """Return the steps of a proof as JSON."""
    if isinstance(proof, Removals):
        return [_removal_json(one) for one in proof.steps]
    return [_leaf_json(one) for one in proof.steps]


def _node_json(node: ProofStep) -> dict[str, Any]:
    """Return a node as JSON: steps as [cell, "<=" or ">=", value, reason]."""
    out: dict[str, Any] = {"steps": [[s.cell, "<=" if s.upper else ">=", s.value, s.reason] for s in node.steps]}
    if isinstance(node.end, CaseSplit):
        out["branch"] = [node.end.cell, node.end.value]
        out["cases"] = [_node_json(node.end.below), _node_json(node.end.above)]
    elif isinstance(node.end, Cases):
        out["choice"] = node.end.block
        out["cases"] = [_node_json(n) for n in node.end.nodes]
    elif node.end is not None:
        out["sum"] = node.end
    return out


def _removal_json(step: Removal) -> list[Any]:
    """Return a removal as JSON: a list that begins with what it does."""
    if isinstance(step, Revised):
        return ["revised", step.row]
    if isinstance(step, CountRevision):
        return ["counted", step.value]
    if isinstance(step, Hall):
        return ["filled" if step.full else "needed", step.tree, step.times, list(step.values)]
    if isinstance(step, Labelled):
        return ["labelled", list(step.rows), list(step.labels), step.over, [list(one) for one in step.weights]]
    return ["assumed", step.row, step.value, [_removal_json(one) for one in step.steps]]


def _leaf_json(step: Refined | Form) -> list[Any]:
    """Return a step of a proof by leaf values as JSON: a list that begins with what it does."""
    if isinstance(step, Refined):
        return ["refined", step.trees]
    terms, multipliers = [list(one) for one in step.terms], [list(one) for one in step.multipliers]
    return ["form", terms, step.over, multipliers, step.low, step.high]


def proof_from(data: Any, depth: int = 0) -> AnyProof:
    """Return the proof in a JSON object; raises `CertificateError` naming what is malformed."""
    kind = entry(data, "kind", "proof")
    if kind == "regions":
        keys(data, {"kind", "statements"}, "proof")
        return RegionProof(_whole_numbers(data["statements"], "proof.statements"))
    if kind == "drat":
        keys(data, {"kind", "blocks", "lines"}, "proof")
        lines = _list_of(data["lines"], text, "proof.lines")
        return Drat(_whole_numbers(data["blocks"], "proof.blocks"), lines)
    if kind == "world":
        return _witness_from(data)
    if kind == "removals":
        keys(data, {"kind", "steps"}, "proof")
        return _removals(data["steps"], "proof.steps")
    if kind == "alignment":
        keys(data, {"kind", "replays"}, "proof")
        return AlignmentReplays(_list_of(data["replays"], _removals, "proof.replays"))
    if kind == "leaf_values":
        keys(data, {"kind", "model", "steps", "last"}, "proof")
        if depth >= MAX_MODELS:
            raise CertificateError(f"proof.last is of more than {MAX_MODELS} boosted models")
        steps = leaf_steps(data["steps"])
        return LeafValues(number(data["model"], "proof.model"), steps, proof_from(data["last"], depth + 1))
    if kind not in ("propagation", "farkas", "branching"):
        known = "regions, propagation, farkas, branching, drat, removals, alignment, leaf_values and world"
        raise CertificateError(f"proof.kind is {quoted(kind)}: this version reads {known}")
    keys(data, {"kind", "blocks", "cells", "sums", "tree"}, "proof")
    found = OverCells(
        _whole_numbers(data["blocks"], "proof.blocks"),
        _list_of(data["cells"], _whole_numbers, "proof.cells"),
        _list_of(data["sums"], _sum_from, "proof.sums"),
        _node_from(data["tree"], "proof.tree", 0),
    )
    if found.kind != kind:
        raise CertificateError(f"proof.kind is {quoted(kind)}, but the proof is one by {found.kind}")
    return found


def _witness_from(data: Any) -> Witness:
    """Return a world that is a proof."""
    known = {"kind", "rows", "times"} | ({"instead"} & set(data))
    keys(data, known, "proof")
    parts, times = _list_of(data["rows"], _whole_numbers, "proof.rows"), _whole_numbers(data["times"], "proof.times")
    if "instead" not in data:
        return Witness(parts, times)
    instead = data["instead"]
    if not isinstance(instead, list) or len(instead) != 2:
        raise CertificateError("proof.instead is not a pair of a row's number and its parts")
    return Witness(
        parts, times, (number(instead[0], "proof.instead[0]"), _whole_numbers(instead[1], "proof.instead[1]"))
    )


def _sum_from(data: Any, place: str) -> Sum:
    """Return a weighted sum."""
    keys(data, {"over", "multipliers"}, place)
    pairs = _list_of(data["multipliers"], _pair, f"{place}.multipliers")
    over = number(data["over"], f"{place}.over")
    if over < 1:
        raise CertificateError(f"{place}.over is {over}, not a positive whole number")
    if len({s for s, _ in pairs}) != len(pairs):
        raise CertificateError(f"{place}.multipliers names a statement twice")
    return Sum(over, pairs)


def _node_from(data: Any, place: str, depth: int) -> ProofStep:
    """Return a node and all below it."""
    if depth > MAX_DEPTH:
        raise CertificateError(f"{place} has more than {MAX_DEPTH} cases below each other")
    steps = _list_of(entry(data, "steps", place), _step, f"{place}.steps")
    if "sum" in data:
        keys(data, {"steps", "sum"}, place)
        return ProofStep(steps, number(data["sum"], f"{place}.sum"))
    if "branch" not in data and "choice" not in data:
        keys(data, {"steps"}, place)
        return ProofStep(steps)
    cases = entry(data, "cases", place)
    if not isinstance(cases, list):
        raise CertificateError(f"{place}.cases is not a list")
    nodes = tuple(_node_from(n, f"{place}.cases[{i}]", depth + 1) for i, n in enumerate(cases))
    if "choice" in data:
        keys(data, {"steps", "choice", "cases"}, place)
        return ProofStep(steps, Cases(number(data["choice"], f"{place}.choice"), nodes))
    keys(data, {"steps", "branch", "cases"}, place)
    cell, value = _pair(data["branch"], f"{place}.branch")
    if len(nodes) != 2:
        raise CertificateError(f"{place} branches into {len(nodes)} cases instead of two")
    return ProofStep(steps, CaseSplit(cell, value, nodes[0], nodes[1]))


def _step(data: Any, place: str) -> BoundStep:
    """Return a step of [cell, "<=" or ">=", value, reason]."""
    if not isinstance(data, list) or len(data) != 4 or data[1] not in ("<=", ">="):
        raise CertificateError(f'{place} is not a step [cell, "<=" or ">=", value, reason]')
    cell, value, reason = (number(data[i], f"{place}[{i}]") for i in (0, 2, 3))
    return BoundStep(cell, data[1] == "<=", value, reason)


def _removals(data: Any, place: str) -> Removals:
    return Removals(_list_of(data, _removal, place))


def _removal(data: Any, place: str, depth: int = 0) -> Removal:
    """Return a removal, and those below an assumption."""
    if not isinstance(data, list) or not data or LENGTHS.get(data[0] if isinstance(data[0], str) else "") != len(data):
        raise CertificateError(f"{place} is not a step that begins with {', '.join(LENGTHS)} and has all of its parts")
    if data[0] == "revised":
        return Revised(number(data[1], f"{place}[1]"))
    if data[0] == "counted":
        return CountRevision(number(data[1], f"{place}[1]"))
    if data[0] in ("filled", "needed"):
        tree, times = number(data[1], f"{place}[1]"), number(data[2], f"{place}[2]")
        return Hall(tree, times, data[0] == "filled", _whole_numbers(data[3], f"{place}[3]"))
    if data[0] == "labelled":
        rows, labels = _whole_numbers(data[1], f"{place}[1]"), _whole_numbers(data[2], f"{place}[2]")
        return Labelled(rows, labels, number(data[3], f"{place}[3]"), _list_of(data[4], _weighed, f"{place}[4]"))
    if depth >= MAX_ASSUMED:
        raise CertificateError(f"{place} has more than {MAX_ASSUMED} assumptions below each other")
    row, value = number(data[1], f"{place}[1]"), number(data[2], f"{place}[2]")
    return ValueRemoval(row, value, _list_of(data[3], lambda one, at: _removal(one, at, depth + 1), f"{place}[3]"))


def leaf_steps(data: Any) -> tuple[Refined | Form, ...]:
    """Return the steps of a proof by leaf values."""
    return _list_of(data, _leaf_step, "proof.steps")


def _leaf_step(data: Any, place: str) -> Refined | Form:
    """Return a step of a proof by leaf values."""
    if not isinstance(data, list) or not data or FORMS.get(data[0] if isinstance(data[0], str) else "") != len(data):
        raise CertificateError(f"{place} is not a step that begins with {' or '.join(FORMS)} and has all of its parts")
    if data[0] == "refined":
        return Refined(number(data[1], f"{place}[1]"))
    terms, multipliers = (_list_of(data[i], _pair, f"{place}[{i}]") for i in (1, 3))
    over, low, high = (number(data[i], f"{place}[{i}]") for i in (2, 4, 5))
    return Form(terms, over, multipliers, low, high)


def _weighed(data: Any, place: str) -> tuple[int, int, bool, int]:
    """Return a weighted class total [tree, label, each row once, weight]."""
    if not isinstance(data, list) or len(data) != 4 or not isinstance(data[2], bool):
        raise CertificateError(f"{place} is no weight [tree, label, each row once, weight]")
    tree, label, y = (number(data[i], f"{place}[{i}]") for i in (0, 1, 3))
    return tree, label, data[2], y


def entry(data: Any, key: str, place: str) -> Any:
    """Return the value of a key that must be there."""
    if not isinstance(data, dict) or key not in data:
        raise CertificateError(f"{place} has no '{key}'")
    return data[key]


def keys(data: Any, known: set[str], place: str) -> None:
    """Refuse an object with other keys than the known ones."""
    if not isinstance(data, dict) or set(data) != known:
        found = [quote(key) for key in sorted(data)[:SHOWN]] if isinstance(data, dict) else type(data).__name__
        raise CertificateError(f"{place} has {found} instead of {sorted(known)}")


def number(data: Any, place: str) -> int:
    """Return a whole number."""
    if isinstance(data, bool) or not isinstance(data, int):
        raise CertificateError(f"{place} is {quoted(data)}, not a whole number")
    return data


def text(data: Any, place: str) -> str:
    """Return a text."""
    if not isinstance(data, str):
        raise CertificateError(f"{place} is {quoted(data)}, not a text")
    return data


def _pair(data: Any, place: str) -> tuple[int, int]:
    """Return two whole numbers."""
    found = _whole_numbers(data, place)
    if len(found) != 2:
        raise CertificateError(f"{place} has {len(found)} numbers instead of two")
    return found[0], found[1]


def _whole_numbers(data: Any, place: str) -> tuple[int, ...]:
    """Return a list of whole numbers."""
    if isinstance(data, list) and all(type(x) is int for x in data):
        return tuple(data)
    return _list_of(data, number, place)


def _list_of(data: Any, read: Callable[[Any, str], T], place: str) -> tuple[T, ...]:
    """Return a list, each item read."""
    if not isinstance(data, list):
        raise CertificateError(f"{place} is not a list")
    return tuple(read(item, f"{place}[{i}]") for i, item in enumerate(data))


def printable(value: Any) -> str:
    """Return a value for a message; of very long numbers only how long, because Python refuses to print them."""
    if isinstance(value, int) and value.bit_length() >= MAX_SPELLED_BITS:
        return f"a number of {value.bit_length():,} bits"
    try:
        return str(value)
    except (ValueError, RecursionError):  # such numbers inside it, or too deep
        return f"a {type(value).__name__} that is too long to print"


def quoted(value: Any) -> str:
    """Return a value of a file for a message, texts in quotes, hidden characters escaped and the rest cut."""
    return quote(repr(value) if isinstance(value, str) else printable(value))
