"""What a certificate claims, and the forms a proof can take: data that anybody can write down, read and re-check.

A proof over cells is a tree in the manner of VIPR: every node moves bounds on the number of rows in cells, each by
one statement or by one weighted sum of statements, and ends in a weighted sum that settles the claim, or in two
nodes (at most v rows in a cell, at least v + 1), or in one node per alternative of a choice.

Source: Cheung, Gleixner, Steffy, "Verifying integer programming results", IPCO 2017 (trees of derived bounds);
Farkas, 1902 (weighted sums); Wetzler, Heule, Hunt, "DRAT-trim", SAT 2014 (clausal proofs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from solvers.foundation.errors import CertificateError
from solvers.foundation.escaping import named
from solvers.statements.boxes import Box

T = TypeVar("T")
SHOWN = 20  # keys that a message names
LONG = 200  # bits of a number that a message spells out
MAX_DEPTH = 200  # branches below each other; far below what Python can follow


@dataclass(frozen=True, slots=True)
class AtMost:
    """In every possible world at most `rows` rows lie in the box."""

    box: Box
    rows: int


@dataclass(frozen=True, slots=True)
class AtLeast:
    """In every possible world at least `rows` rows lie in the box."""

    box: Box
    rows: int


@dataclass(frozen=True, slots=True)
class NoWorld:
    """The statements contradict each other."""


@dataclass(frozen=True, slots=True)
class OnlyWorld:
    """Row `parts[i]` (a part per attribute) occurs `times[i]` times, and no other dataset is a possible world."""

    parts: tuple[tuple[int, ...], ...]
    times: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """In every possible world the row at position `rows[i]` of the training file lies in `boxes[i]`."""

    rows: tuple[int, ...]
    boxes: tuple[Box, ...]


Claim = AtMost | AtLeast | NoWorld | OnlyWorld  # about every possible world


@dataclass(frozen=True, slots=True)
class Possible:
    """In some possible world a row lies in the box."""

    box: Box


AnyClaim = Claim | Possible


@dataclass(frozen=True, slots=True)
class Regions:
    """The regions of these statements settle the claim by themselves.

    At most: they cover the box, and their counts add up to no more. At least: they are disjoint regions of one
    partition inside the box, and their counts add up to no less.
    """

    statements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """The weighted sum of statements Σ (y / over) * statement, with (statement, y) pairs; y may be negative."""

    over: int
    multipliers: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A new bound on the rows in a cell: by statement `reason`, or, negative, by sum -1 - `reason`."""

    cell: int
    upper: bool
    value: int
    reason: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Two cases: at most `value` rows in a cell, and at least `value` + 1."""

    cell: int
    value: int
    below: Node
    above: Node


@dataclass(frozen=True, slots=True)
class Cases:
    """One case per alternative of a choice, the block of that number."""

    block: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """Steps, then how the claim follows: from the bounds alone (`end` None), a sum's number, or cases."""

    steps: tuple[Step, ...] = ()
    end: int | Branch | Cases | None = None


@dataclass(frozen=True, slots=True)
class OverCells:
    """A proof over the cells into which the regions of `blocks` cut the row space; `cells` has a row of each named."""

    blocks: tuple[int, ...]
    cells: tuple[tuple[int, ...], ...]
    sums: tuple[Sum, ...]
    tree: Node

    @property
    def kind(self) -> str:
        """Return "propagation", "farkas" (some weighted sum is used) or "branching"."""
        if isinstance(self.tree.end, Branch | Cases):
            return "branching"
        return "farkas" if self.sums else "propagation"


@dataclass(frozen=True, slots=True)
class Drat:
    """Clauses that follow one from the other by unit propagation, the last one empty.

    They start from our own lowering of `blocks` and of the claim's negation to clauses (`solvers.clauses.lowering`).
    """

    blocks: tuple[int, ...]
    lines: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Witness:
    """A possible world: row `parts[i]` (a part per attribute) occurs `times[i]` times.

    `instead` (i, parts): one of the rows `parts[i]` is that row, which every statement weighs alike.
    """

    parts: tuple[tuple[int, ...], ...] = field(repr=False)
    times: tuple[int, ...] = field(repr=False)
    instead: tuple[int, tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Revised:
    """Every value of row `row` that misses all the values left of some other tree that saw the row is removed.

    Repeated until nothing changes; then also every value that misses, in some attribute, what the others leave of it.
    """

    row: int


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of rows of each multiplicity in value `value` is bounded anew, which removes or fixes rows."""

    value: int


@dataclass(frozen=True, slots=True)
class Hall:
    """Rows that tree `tree` counts `times` times each, and some of its values, which they fill.

    `full`: as many of them as the values take at most have no other value left, so that no other row may use these.
    Not `full`: no more of them can use the values than these take at least, so that they have no other value.
    """

    tree: int
    times: int
    full: bool
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Row `rows[i]` has label `labels[i]`: weighted sums of the trees' class totals leave less than one exception.

    `weights` has (tree, label, distinct, y): y / over times what the tree counts of the class, by multiplicity or
    (`distinct`) each row of its bag once.
    """

    rows: tuple[int, ...]
    labels: tuple[int, ...]
    over: int
    weights: tuple[tuple[int, int, bool, int], ...]


@dataclass(frozen=True, slots=True)
class Assumed:
    """Row `row` in value `value` leads by these steps to a row without values, so that the value is removed."""

    row: int
    value: int
    steps: tuple[Removal, ...]


Removal = Revised | Counted | Hall | Labelled | Assumed


@dataclass(frozen=True, slots=True)
class Removals:
    """Values removed step by step from rows told apart by bags (`solvers.statements.row_problem`), in this order."""

    steps: tuple[Removal, ...] = field(repr=False)


Proof = Regions | OverCells | Drat
AnyProof = Proof | Witness


def proof_json(proof: AnyProof) -> dict[str, Any]:
    """Return a proof as JSON."""
    if isinstance(proof, Regions):
        return {"kind": "regions", "statements": list(proof.statements)}
    if isinstance(proof, Drat):
        return {"kind": "drat", "blocks": list(proof.blocks), "lines": list(proof.lines)}
    if isinstance(proof, Witness):
        out = {"kind": "world", "rows": [list(parts) for parts in proof.parts], "times": list(proof.times)}
        return out | ({} if proof.instead is None else {"instead": [proof.instead[0], list(proof.instead[1])]})
    return {
        "kind": proof.kind,
        "blocks": list(proof.blocks),
        "cells": [list(parts) for parts in proof.cells],
        "sums": [{"over": s.over, "multipliers": [list(pair) for pair in s.multipliers]} for s in proof.sums],
        "tree": node_json(proof.tree),
    }


def node_json(node: Node) -> dict[str, Any]:
    """Return a node as JSON: steps as [cell, "<=" or ">=", value, reason]."""
    out: dict[str, Any] = {"steps": [[s.cell, "<=" if s.upper else ">=", s.value, s.reason] for s in node.steps]}
    if isinstance(node.end, Branch):
        out["branch"] = [node.end.cell, node.end.value]
        out["cases"] = [node_json(node.end.below), node_json(node.end.above)]
    elif isinstance(node.end, Cases):
        out["choice"] = node.end.block
        out["cases"] = [node_json(n) for n in node.end.nodes]
    elif node.end is not None:
        out["sum"] = node.end
    return out


def proof_from(data: Any) -> AnyProof:
    """Return the proof in a JSON object; raises `CertificateError` naming what is malformed."""
    kind = entry(data, "kind", "proof")
    if kind == "regions":
        keys(data, {"kind", "statements"}, "proof")
        return Regions(whole_numbers(data["statements"], "proof.statements"))
    if kind == "drat":
        keys(data, {"kind", "blocks", "lines"}, "proof")
        lines = every(data["lines"], text, "proof.lines")
        return Drat(whole_numbers(data["blocks"], "proof.blocks"), lines)
    if kind == "world":
        return witness_from(data)
    if kind not in ("propagation", "farkas", "branching"):
        known = "regions, propagation, farkas, branching, drat and world"
        raise CertificateError(f"proof.kind is {quoted(kind)}: this version reads {known}")
    keys(data, {"kind", "blocks", "cells", "sums", "tree"}, "proof")
    found = OverCells(
        whole_numbers(data["blocks"], "proof.blocks"),
        every(data["cells"], whole_numbers, "proof.cells"),
        every(data["sums"], sum_from, "proof.sums"),
        node_from(data["tree"], "proof.tree", 0),
    )
    if found.kind != kind:
        raise CertificateError(f"proof.kind is {quoted(kind)}, but the proof is one by {found.kind}")
    return found


def witness_from(data: Any) -> Witness:
    """Return a world that is a proof."""
    known = {"kind", "rows", "times"} | ({"instead"} & set(data))
    keys(data, known, "proof")
    parts, times = every(data["rows"], whole_numbers, "proof.rows"), whole_numbers(data["times"], "proof.times")
    if "instead" not in data:
        return Witness(parts, times)
    instead = data["instead"]
    if not isinstance(instead, list) or len(instead) != 2:
        raise CertificateError("proof.instead is no pair of a row's number and its parts")
    return Witness(
        parts, times, (number(instead[0], "proof.instead[0]"), whole_numbers(instead[1], "proof.instead[1]"))
    )


def sum_from(data: Any, place: str) -> Sum:
    """Return a weighted sum."""
    keys(data, {"over", "multipliers"}, place)
    pairs = every(data["multipliers"], pair, f"{place}.multipliers")
    over = number(data["over"], f"{place}.over")
    if over < 1:
        raise CertificateError(f"{place}.over is {over}, not a positive whole number")
    if len({s for s, _ in pairs}) != len(pairs):
        raise CertificateError(f"{place}.multipliers names a statement twice")
    return Sum(over, pairs)


def node_from(data: Any, place: str, depth: int) -> Node:
    """Return a node and all below it."""
    if depth > MAX_DEPTH:
        raise CertificateError(f"{place} has more than {MAX_DEPTH} cases below each other")
    steps = every(entry(data, "steps", place), step, f"{place}.steps")
    if "sum" in data:
        keys(data, {"steps", "sum"}, place)
        return Node(steps, number(data["sum"], f"{place}.sum"))
    if "branch" not in data and "choice" not in data:
        keys(data, {"steps"}, place)
        return Node(steps)
    cases = entry(data, "cases", place)
    if not isinstance(cases, list):
        raise CertificateError(f"{place}.cases is no list")
    nodes = tuple(node_from(n, f"{place}.cases[{i}]", depth + 1) for i, n in enumerate(cases))
    if "choice" in data:
        keys(data, {"steps", "choice", "cases"}, place)
        return Node(steps, Cases(number(data["choice"], f"{place}.choice"), nodes))
    keys(data, {"steps", "branch", "cases"}, place)
    cell, value = pair(data["branch"], f"{place}.branch")
    if len(nodes) != 2:
        raise CertificateError(f"{place} branches into {len(nodes)} cases instead of two")
    return Node(steps, Branch(cell, value, nodes[0], nodes[1]))


def step(data: Any, place: str) -> Step:
    """Return a step of [cell, "<=" or ">=", value, reason]."""
    if not isinstance(data, list) or len(data) != 4 or data[1] not in ("<=", ">="):
        raise CertificateError(f'{place} is no step [cell, "<=" or ">=", value, reason]')
    cell, value, reason = (number(data[i], f"{place}[{i}]") for i in (0, 2, 3))
    return Step(cell, data[1] == "<=", value, reason)


def entry(data: Any, key: str, place: str) -> Any:
    """Return the value of a key that must be there."""
    if not isinstance(data, dict) or key not in data:
        raise CertificateError(f"{place} has no '{key}'")
    return data[key]


def keys(data: Any, known: set[str], place: str) -> None:
    """Refuse an object with other keys than the known ones."""
    if not isinstance(data, dict) or set(data) != known:
        found = [named(key) for key in sorted(data)[:SHOWN]] if isinstance(data, dict) else type(data).__name__
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


def pair(data: Any, place: str) -> tuple[int, int]:
    """Return two whole numbers."""
    found = whole_numbers(data, place)
    if len(found) != 2:
        raise CertificateError(f"{place} has {len(found)} numbers instead of two")
    return found[0], found[1]


def whole_numbers(data: Any, place: str) -> tuple[int, ...]:
    """Return a list of whole numbers."""
    if isinstance(data, list) and all(type(x) is int for x in data):
        return tuple(data)
    return every(data, number, place)


def every(data: Any, read: Callable[[Any, str], T], place: str) -> tuple[T, ...]:
    """Return a list, each item read."""
    if not isinstance(data, list):
        raise CertificateError(f"{place} is no list")
    return tuple(read(item, f"{place}[{i}]") for i, item in enumerate(data))


def printable(value: Any) -> str:
    """Return a value for a message; of very long numbers only how long, because Python refuses to print them."""
    if isinstance(value, int) and value.bit_length() >= LONG:
        return f"a number of {value.bit_length():,} bits"
    try:
        return str(value)
    except (ValueError, RecursionError):  # such numbers inside it, or too deep
        return f"a {type(value).__name__} that is too long to print"


def quoted(value: Any) -> str:
    """Return a value of a file for a message, texts in quotes, hidden characters escaped and the rest cut."""
    return named(repr(value) if isinstance(value, str) else printable(value))
