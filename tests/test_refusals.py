"""Every refusal of the trusted kernel, by a forgery made by hand for its own message; and what it must accept.

`test_no_refusal_is_without_a_forgery` reads the kernel's source: each `raise` of it is reached by a forgery below.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import removal_forgeries

from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements, check_world, live_cells
from solvers.kernel.checker import CellReplay, Verifier
from solvers.kernel.claims import (
    AlignmentReplays,
    AtLeast,
    AtMost,
    NoWorld,
    OnlyWorld,
    Possible,
    RegionProof,
    Sum,
    Witness,
)
from solvers.kernel.located import replayed
from solvers.kernel.proof_format import proof_from, proof_json
from solvers.kernel.removals import RemainingDomains
from solvers.kernel.rup import check as check_clauses
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Choice, Partition, Release, RowCount, Statement

KERNEL = (proof_from, check_world, check_clauses, Verifier, live_cells, NumberedStatements, RemainingDomains, replayed)


def tree(boxes, counts, name="tree"):
    """Return a partition of boxes with counts (low, high)."""
    number = np.arange(len(boxes), dtype=np.int32)
    low, high = (np.array(ends, dtype=np.int64) for ends in zip(*counts, strict=True))
    names = tuple(f"leaf {i}" for i in number)
    return Partition(name, Boxes.of(boxes), False, number, np.full(len(boxes), ANY_LABEL), low, high, names)


def box(**masks):
    """Return a box of attributes a, b by their masks."""
    return Box.of((("ab".index(name)), mask) for name, mask in masks.items())


LEAVES = (box(a=1), box(a=2)), (box(b=1), box(b=2), box(b=4))
SUMMED = Statement.sum(Region(Box()), 2, 9, "the sum of b", of=1, coefs=(0, 1, 2))
LOOSE = (
    Statement.count(Region(box(b=1)), 1, UNBOUNDED, "some b = 0"),
    Statement.count(Region(box(b=3)), 1, UNBOUNDED, "some b < 2"),
    SUMMED,
)
EITHER = Choice(
    (
        (Statement.count(Region(box(a=1, b=1)), 1, 1, "a first row"),),
        (Statement.count(Region(box(a=1, b=1)), 0, 0, "no first row"),),
    ),
    "a choice",
)
DOMAIN = RowSpace((Attribute("a", (1, 1)), Attribute("b", (1, 1, 2))))
# Statements 0, 1 | 2, 3, 4 | 5, 6, 7 | 8, 9 | 10 the number of rows. Two rows have b = 0, one has b = 2, one a = 0.
RELEASE = Release(
    DOMAIN,
    RowCount(3, 3),
    (tree(LEAVES[0], [(1, 1), (2, 2)]), tree(LEAVES[1], [(2, 2), (0, 0), (1, 1)]), LOOSE, EITHER),
)
WORLD = Witness(((0, 0), (1, 0), (1, 2)), (1, 1, 1))
OPEN = replace(RELEASE, blocks=(RELEASE.blocks[0],), rows=RowCount(0, None))


@functools.cache
def verifier():
    """Return the checker of the release; made where it is asked for, so that a mutant of it is noticed."""
    return Verifier(RELEASE)


def verified(claim, proof, release=RELEASE, limits=None):
    """Check a proof, given as an object or as JSON."""
    checker = verifier() if release is RELEASE and limits is None else Verifier(release, limits)
    checker.verify(claim, proof_from(proof) if isinstance(proof, dict) else proof)


def over(blocks, cells=(), sums=(), **tree):
    """Return a proof over cells as JSON; its kind is what its tree makes it."""
    tree = {"steps": [], **tree}
    kind = "branching" if "cases" in tree else "farkas" if sums else "propagation"
    listed = [{"over": d, "multipliers": [list(p) for p in pairs]} for d, pairs in sums]
    return {"kind": kind, "blocks": list(blocks), "cells": [list(c) for c in cells], "sums": listed, "tree": tree}


# ---------------------------------------------------------------- what is accepted

ONE = {"steps": [[0, "<=", 1, 0]]}  # cell 0 holds at most what statement 0 counts
ACCEPTED = {
    "regions cover": (AtMost(box(a=1, b=3), 1), RegionProof((0,))),
    "regions of two trees cover": (AtMost(Box(), 4), RegionProof((0, 2, 3, 4))),
    "loose regions cover": (AtMost(box(a=1), 10), RegionProof((0, 4))),
    "a region is inside": (AtLeast(box(a=2), 2), RegionProof((1,))),
    "regions of one tree are disjoint": (AtLeast(box(b=5), 3), RegionProof((2, 4))),
    "one loose region": (AtLeast(box(b=3), 1), RegionProof((6,))),
    "nothing is at least nothing": (AtLeast(box(b=3), 0), RegionProof(())),
    "a step": (AtMost(box(a=1), 1), over([0], [(0, 0)], steps=[[0, "<=", 1, 0]])),
    "a step up": (AtLeast(box(a=2), 2), over([0], [(0, 0), (1, 0)], steps=[[0, "<=", 1, 0], [1, ">=", 2, 10]])),
    "a sum": (AtMost(box(a=1, b=1), 1), over([0], sums=[(1, [(0, 1)])], sum=0)),
    "half a sum": (AtMost(box(a=1, b=1), 1), over([0, 1], sums=[(2, [(0, 1), (2, 1)])], sum=0)),
    "a sum from below": (AtLeast(box(b=1), 2), over([1], sums=[(1, [(2, -1)])], sum=0)),
    "a step by a sum": (
        AtMost(box(a=1), 1),
        over([0], [(0, 0)], sums=[(1, [(0, 1)])], steps=[[0, "<=", 1, -1]]),
    ),
    "a step up by a sum": (
        AtLeast(box(a=2), 2),
        over([0], [(1, 0)], sums=[(1, [(1, -1)])], steps=[[0, ">=", 2, -1]]),
    ),
    "a branch": (
        AtMost(box(a=1), 1),
        over([0], [(0, 0)], branch=[0, 1], cases=[{"steps": []}, {"steps": [[0, "<=", 1, 0]]}]),
    ),
    "a branch at no row": (
        AtMost(box(a=1), 1),
        over([0], [(0, 0)], branch=[0, 0], cases=[{"steps": []}, {"steps": [[0, "<=", 1, 0]]}]),
    ),
    "a branch at all rows": (
        AtMost(box(a=1), 1),
        over([0], [(0, 0)], branch=[0, 3], cases=[{"steps": [[0, "<=", 1, 0]]}, {"steps": []}]),
    ),
    "cases": (
        AtMost(box(a=1, b=1), 1),
        over([3], [(0, 0)], choice=3, cases=[{"steps": [[0, "<=", 1, 8]]}, {"steps": [[0, "<=", 0, 9]]}]),
    ),
    "a world": (Possible(box(a=1, b=1)), WORLD),
    "a world with a row exchanged": (
        Possible(box(a=2, b=4)),
        Witness(((0, 0), (1, 0), (1, 2)), (1, 1, 1), (2, (1, 2))),
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_holds_is_accepted(name):
    claim, proof = ACCEPTED[name]
    verified(claim, proof)
    read = proof_from(proof) if isinstance(proof, dict) else proof
    assert proof_from(proof_json(read)) == read
    verified(claim, proof_json(read))


PAIR = RowSpace((Attribute("a", (1, 1)),))
EXACT = Release(PAIR, RowCount(3, 3), (tree(LEAVES[0], [(1, 1), (2, 2)]),))
ONLY = OnlyWorld(((0,), (1,)), (1, 2))
FIXED = [[0, "<=", 1, 0], [0, ">=", 1, 0], [1, "<=", 2, 1], [1, ">=", 2, 1]]
ALONE = over([0], [(0,), (1,)], steps=FIXED)


def test_an_only_world_is_accepted():
    verified(ONLY, ALONE, EXACT)
    # Where no row is left in one case, nothing need be fixed there.
    left = {"steps": [[0, ">=", 1, 0]]}
    verified(ONLY, over([0], [(0,), (1,)], branch=[0, 0], cases=[left, {"steps": FIXED}]), EXACT)


def test_a_contradiction_is_accepted():
    twice = replace(EXACT, blocks=(EXACT.blocks[0], tree(LEAVES[0], [(2, 2), (1, 1)])))
    for claim in (NoWorld(), AtMost(Box(), 0), AtLeast(Box(), 9)):
        verified(claim, over([0, 1], [(0,)], steps=[[0, "<=", 1, 0], [0, ">=", 2, 2]]), twice)
        verified(claim, over([0, 1], sums=[(1, [(0, 1), (2, -1)])], sum=0), twice) if claim == NoWorld() else None
    verified(NoWorld(), {"kind": "drat", "blocks": [0, 1], "lines": ["0"]}, replace(twice, rows=RowCount(4, 4)))
    empty = replace(EXACT, impossible=(box(a=1),))
    verified(NoWorld(), RegionProof((0,)), empty)


# ---------------------------------------------------------------- forgeries

Forgery = Callable[[], object]


class Late(Limits):
    """Limits whose time is up at the n-th look."""

    looks = 2

    def expired(self) -> bool:
        object.__setattr__(self, "looks", self.looks - 1)
        return self.looks < 0


def read(**changes):
    """Read a proof with something changed in it; None leaves a key out."""
    made = over([0], [(0, 0)], sums=[(1, [(0, 1)])], sum=0) | changes
    return lambda: proof_from({key: value for key, value in made.items() if value is not None})


def claimed(claim, proof, release=RELEASE, limits=None):
    return lambda: verified(claim, proof, release, limits)


def deep(levels):
    node = {"steps": []}
    for _ in range(levels):
        node = {"steps": [], "branch": [0, 0], "cases": [node, {"steps": []}]}
    return node


def replayed(limits, steps=0):
    """Replay many steps under limits, the cells walked before."""
    proof = proof_from(over([0], [(0, 0)], steps=[[0, "<=", 1, 0]] * steps))
    return lambda: CellReplay(verifier().facts, verifier().live((0,)), proof, limits()).check(AtMost(box(a=1), 1))


def by_leaf_values(steps=(), models=1):
    """Read a proof by the leaf values of so many models, one in the other."""
    proof = {"kind": "regions", "statements": []}
    for _ in range(models):
        proof = {"kind": "leaf_values", "model": 0, "steps": list(steps), "last": proof}
    return lambda: proof_from(proof)


READING: dict[str, tuple[str, Forgery]] = {
    "no step of leaf values": (r"proof.steps\[0\] is not a step that begins with", by_leaf_values([["formed", 1]])),
    "a step of leaf values cut short": (
        r"proof.steps\[0\] is not a step that begins with",
        by_leaf_values([["refined"]]),
    ),
    "too many boosted models": ("proof.last is of more than 20 boosted models", by_leaf_values(models=21)),
    "another kind": ("proof.kind is 'rat': this version reads", read(kind="rat")),
    "no kind": ("proof has no 'kind'", read(kind=None)),
    "no object": ("proof has no 'kind'", lambda: proof_from([])),
    "kind of another proof": ("'propagation', but the proof is one by farkas", read(kind="propagation")),
    "a tree without cases": ("'branching', but the proof is one by farkas", read(kind="branching")),
    "sums without sums": ("'farkas', but the proof is one by propagation", read(sums=[], tree={"steps": []})),
    "a key more": (r"proof has \[.*'x'.*\] instead of", read(x=1)),
    "a key less": (r"proof has \[.*\] instead of", read(cells=None)),
    "regions and more": (r"proof has", lambda: proof_from({"kind": "regions", "statements": [], "x": 1})),
    "clauses and more": (r"proof has", lambda: proof_from({"kind": "drat", "blocks": [], "lines": [], "x": 1})),
    "a world and more": (r"proof has", lambda: proof_from(proof_json(WORLD) | {"x": 1})),
    "a sum that is none": (r"proof.sums\[0\] has list instead of", read(sums=[[]])),
    "a sum and more": (r"proof.sums\[0\] has", read(sums=[{"over": 1, "multipliers": [], "x": 1}])),
    "over nothing": (r"proof.sums\[0\].over is 0, not a positive", read(sums=[{"over": 0, "multipliers": []}])),
    "a statement twice in a sum": (
        r"proof.sums\[0\].multipliers names a statement twice",
        read(sums=[{"over": 1, "multipliers": [[0, 1], [0, 1]]}]),
    ),
    "three numbers": ("has 3 numbers instead of two", read(sums=[{"over": 1, "multipliers": [[0, 1, 2]]}])),
    "no list": ("proof.blocks is not a list", read(blocks={})),
    "truth for a number": (r"proof.blocks\[1\] is True, not a whole number", read(blocks=[0, True])),
    "a text for a number": (r"proof.blocks\[0\] is '0', not a whole number", read(blocks=["0"])),
    "a number for a text": (
        r"proof.lines\[0\] is 0, not a text",
        lambda: proof_from({"kind": "drat", "blocks": [], "lines": [0]}),
    ),
    "a single number in place of a row": (
        "proof.instead is not a pair",
        lambda: proof_from(proof_json(WORLD) | {"instead": [0]}),
    ),
    "a number in place of a pair": (
        "proof.instead is not a pair",
        lambda: proof_from(proof_json(WORLD) | {"instead": 7}),
    ),
    "cases that are none": (
        "proof.tree.cases is not a list",
        read(kind="branching", tree={"steps": [], "branch": [0, 0], "cases": {}}),
    ),
    "no cases": ("proof.tree has no 'cases'", read(tree={"steps": [], "branch": [0, 0]})),
    "three cases": (
        "proof.tree branches into 3 cases instead of two",
        read(tree={"steps": [], "branch": [0, 0], "cases": [{"steps": []}] * 3}),
    ),
    "a sum and a branch": (
        "proof.tree has",
        read(tree={"steps": [], "sum": 0, "branch": [0, 0], "cases": [{"steps": []}] * 2}),
    ),
    "a branch and a choice": (
        "proof.tree has",
        read(tree={"steps": [], "choice": 0, "branch": [0, 0], "cases": [{"steps": []}] * 2}),
    ),
    "an end that is none": ("proof.tree has", read(tree={"steps": [], "end": 0})),
    "a branch and more": (
        "proof.tree has",
        read(tree={"steps": [], "branch": [0, 0], "cases": [{"steps": []}] * 2, "x": 1}),
    ),
    "cases too deep": ("has more than 200 cases below each other", read(tree=deep(201))),
    "a step that is none": (r"proof.tree.steps\[0\] is not a step", read(tree={"steps": [7]})),
    "a step of three": (r"is not a step", read(tree={"steps": [[0, "<=", 1]]})),
    "a step to no side": (r"is not a step", read(tree={"steps": [[0, "<", 1, 0]]})),
    "a step by a text": (r"steps\[0\]\[3\] is '0', not", read(tree={"steps": [[0, "<=", 1, "0"]]})),
}

DATASETS: dict[str, tuple[str, Forgery]] = {
    "regions for what is possible": (
        "a world proves what is possible; nothing else",
        claimed(Possible(Box()), RegionProof((0,))),
    ),
    "a world for what must be": ("and it proves nothing else", claimed(AtLeast(box(a=1), 1), WORLD)),
    "no row of the claim": ("no row of the world is one that the claim", claimed(Possible(box(a=1, b=4)), WORLD)),
    "no row to exchange": (
        "the world has no row 3 to exchange",
        claimed(Possible(Box()), replace(WORLD, instead=(3, (0, 0)))),
    ),
    "a row before the first": ("no row -1 to", claimed(Possible(Box()), replace(WORLD, instead=(-1, (0, 0))))),
    "another row": (
        "some statement tells the row that is exchanged",
        claimed(Possible(box(a=1, b=4)), replace(WORLD, instead=(2, (0, 2)))),
    ),
    "an impossible row in its place": (
        "no row can have the parts",
        claimed(Possible(Box()), replace(WORLD, instead=(2, (1, 2))), replace(RELEASE, impossible=(box(a=2, b=4),))),
    ),
    "more was published": (
        "not all that was published is stated exactly",
        claimed(Possible(box(a=1)), WORLD, replace(RELEASE, loosened=("something",))),
    ),
    "only bounds are stated": (
        "the sum of b: only bounds on what was published",
        claimed(Possible(box(a=1)), WORLD, replace(RELEASE, blocks=((replace(SUMMED, coarse=True),),))),
    ),
    "rows without times": ("how often each of its rows", claimed(Possible(Box()), replace(WORLD, times=(1, 2)))),
    "a row that does not occur": (
        "how often each of its rows",
        claimed(Possible(Box()), Witness(((0, 0), (1, 0), (1, 2), (0, 2)), (1, 1, 1, 0))),
    ),
    "a row twice": (
        "the world lists a row twice",
        claimed(Possible(Box()), Witness(((0, 0), (1, 0), (1, 0)), (1, 1, 1))),
    ),
    "rows beyond 64 bits": (
        "more rows than can be added",
        claimed(Possible(Box()), replace(WORLD, times=(1, 1, 1 << 61))),
    ),
    "too many rows": (
        "the world has 2 where tree, leaf 0 says otherwise",
        claimed(Possible(Box()), replace(WORLD, times=(2, 1, 1))),
    ),
    "too few rows": ("the world has 0 where", claimed(Possible(Box()), Witness(((1, 0), (1, 2)), (2, 1)))),
    "no alternative": (
        "the world does not meet a choice",
        claimed(
            Possible(Box()),
            Witness(((0, 0),), (3,)),
            Release(DOMAIN, RowCount(3, 3), (EITHER,)),
        ),
    ),
    "two alternatives": (
        "the world does not meet a choice",
        claimed(
            Possible(Box()),
            Witness(((0, 0),), (3,)),
            Release(DOMAIN, RowCount(3, 3), (Choice(((LOOSE[0],), (LOOSE[1],)), "a choice"),)),
        ),
    ),
    "another number of rows": (
        "the world has 2 where the number of rows says",
        claimed(Possible(Box()), Witness(((0,), (1,)), (1, 1)), replace(EXACT, blocks=())),
    ),
    "a part that does not exist": (
        "a row has a part that does not exist",
        claimed(Possible(Box()), Witness(((0, 3),), (3,))),
    ),
    "a part before the first": ("a row has a part that does not", claimed(Possible(Box()), Witness(((0, -1),), (3,)))),
    "an attribute too few": ("a row has not the 2 attributes", claimed(Possible(Box()), Witness(((0,),), (3,)))),
    "an impossible row": (
        r"no row can have the parts \[0, 0\]: it is impossible",
        claimed(Possible(Box()), WORLD, replace(RELEASE, impossible=(box(a=1),))),
    ),
}

REGIONS: dict[str, tuple[str, Forgery]] = {
    "removals of two files": (
        "removals for rows of two files prove which of them are the same, nothing else$",
        lambda: verifier().verify(AtMost(box(a=1), 9), AlignmentReplays(())),
    ),
    "unbounded rows": ("the number of rows is unbounded", claimed(AtMost(box(a=1), 1), RegionProof((0,)), OPEN)),
    "a statement twice": ("the proof names a statement twice", claimed(AtLeast(box(a=2), 4), RegionProof((1, 1)))),
    "the number of rows": ("there is no statement 10 in a block", claimed(AtMost(Box(), 3), RegionProof((10,)))),
    "a statement before the first": ("there is no statement -1", claimed(AtMost(Box(), 3), RegionProof((-1,)))),
    "a sum of values": ("statement 7 is not a count that holds", claimed(AtLeast(Box(), 2), RegionProof((7,)))),
    "a statement of a choice": (
        "statement 8 is not a count that holds",
        claimed(AtLeast(box(a=1, b=1), 1), RegionProof((8,))),
    ),
    "rows not covered": ("do not cover the rows of the claim", claimed(AtMost(Box(), 1), RegionProof((0,)))),
    "a minus not covered": (
        "do not cover the rows",
        claimed(
            AtMost(box(a=1), 2),
            RegionProof((0,)),
            replace(RELEASE, blocks=((Statement.count(Region(box(a=1), (box(b=1),)), 0, 2, "without"),),)),
        ),
    ),
    "counts above the claim": (
        "count up to 1 rows, the claim says at most 0",
        claimed(AtMost(box(a=1), 0), RegionProof((0,))),
    ),
    "no bound above": ("count up to", claimed(AtMost(box(b=1), UNBOUNDED + 9), RegionProof((5,)))),
    "regions for an only world": (
        "regions alone do not prove that a world is the only one",
        claimed(ONLY, RegionProof((0,)), EXACT),
    ),
    "regions of two models": (
        "the regions of different models may hold the same rows",
        claimed(AtLeast(Box(), 4), RegionProof((1, 2))),
    ),
    "regions of a model and beside it": (
        "the regions of different models",
        claimed(AtLeast(Box(), 2), RegionProof((0, 5))),
    ),
    "overlapping regions": (
        "regions outside a partition may hold the same rows",
        claimed(AtLeast(box(b=3), 2), RegionProof((5, 6))),
    ),
    "a region beyond": (
        "the region of tree, leaf 1 is not inside",
        claimed(AtLeast(box(a=2, b=1), 2), RegionProof((1,))),
    ),
    "a minus that leaves rows beyond": (
        "is not inside that of the claim",
        claimed(
            AtLeast(box(b=1), 1),
            RegionProof((0,)),
            replace(RELEASE, blocks=((Statement.count(Region(Box(), (box(b=2),)), 1, 9, "some"),),)),
        ),
    ),
    "counts below the claim": (
        "count at least 2 rows, the claim needs 3",
        claimed(AtLeast(box(a=2), 3), RegionProof((1,))),
    ),
    "rows that can be": ("is not inside that of the claim", claimed(NoWorld(), RegionProof((0,)))),
    "no rows needed": (
        "count at least 0 rows, the claim needs 1",
        claimed(
            NoWorld(),
            RegionProof((0,)),
            replace(EXACT, impossible=(box(a=1),), blocks=(tree(LEAVES[0], [(0, 9), (2, 2)]),)),
        ),
    ),
}

HALF = Sum(1, ((0, 1),))
CELLS: dict[str, tuple[str, Forgery]] = {
    "a block twice": ("the proof names a block twice", claimed(NoWorld(), over([0, 0]))),
    "no such block": ("there is no block 4", claimed(NoWorld(), over([4]))),
    "a block before the first": ("there is no block -1", claimed(NoWorld(), over([-1]))),
    "a row that cannot be": (r"no row can have the parts \[0, 1\]", claimed(NoWorld(), over([1], [(0, 1)]))),
    "a cell twice": ("the proof names a cell twice", claimed(NoWorld(), over([0], [(0, 0), (0, 2)]))),
    "a row exchanged": (
        "a row of the world can be exchanged",
        claimed(OnlyWorld(WORLD.parts, WORLD.times), over([0, 1, 3])),
    ),
    "a continuous row": (
        "a row of the world can be exchanged",
        claimed(ONLY, ALONE, replace(EXACT, domain=replace(PAIR, relative=True))),
    ),
    "an only world that is none": ("the world has 2 where", claimed(replace(ONLY, times=(2, 1)), ALONE, EXACT)),
    "room for another world": ("leaves room for another world", claimed(ONLY, over([0], steps=[]), EXACT)),
    "room above": ("leaves room", claimed(ONLY, over([0], [(0,), (1,)], steps=FIXED[1:]), EXACT)),
    "room below": ("leaves room", claimed(ONLY, over([0], [(0,), (1,)], steps=FIXED[:3]), EXACT)),
    "an only world by a sum": ("the proof shows", claimed(ONLY, over([0], sums=[(1, [])], sum=0), EXACT)),
    "a branch below": (
        "a branch at -1 rows leaves nothing to distinguish",
        claimed(AtMost(box(a=1), 1), over([0], [(0, 0)], branch=[0, -1], cases=[{"steps": []}, ONE])),
    ),
    "a branch above": (
        "a branch at 4 rows leaves nothing",
        claimed(AtMost(box(a=1), 1), over([0], [(0, 0)], branch=[0, 4], cases=[ONE, {"steps": []}])),
    ),
    "one side of a branch": (
        "the proof shows at most 3, the claim needs",
        claimed(AtMost(box(a=1), 2), over([0], [(0, 0)], branch=[0, 1], cases=[{"steps": []}, {"steps": []}])),
    ),
    "the other side of a branch": (
        "the proof shows",
        claimed(AtMost(box(a=1), 0), over([0], [(0, 0)], branch=[0, 1], cases=[{"steps": []}, ONE])),
    ),
    "bounds of another side": (
        "the proof shows at most 3, the claim needs",
        claimed(
            AtMost(box(a=1), 1),
            over([0], [(0, 0)], branch=[0, 2], cases=[ONE, {"steps": [], "sum": 0}], sums=[(1, [])]),
        ),
    ),
    "a case left out": (
        "the cases of block 3 are not all there",
        claimed(NoWorld(), over([3], [(0, 0)], choice=3, cases=[{"steps": []}])),
    ),
    "a choice of another proof": (
        "the cases of block 3 are not all there",
        claimed(NoWorld(), over([0], choice=3, cases=[{"steps": []}] * 2)),
    ),
    "no choice": ("block 0 is no choice", claimed(NoWorld(), over([0], choice=0, cases=[{"steps": []}] * 2))),
    "a choice beyond": ("block 9 is no choice", claimed(NoWorld(), over([0], choice=9, cases=[]))),
    "a choice before the first": ("block -1 is no choice", claimed(NoWorld(), over([0], choice=-1, cases=[]))),
    "a case for all cases": (
        "statement 8 is not one that this proof may use",
        claimed(
            AtMost(box(a=1, b=1), 1),
            over([3], [(0, 0)], choice=3, cases=[{"steps": [[0, "<=", 1, 8]]}, {"steps": [[0, "<=", 1, 8]]}]),
        ),
    ),
    "nothing shown": ("the proof shows at most 3, the claim needs", claimed(AtMost(box(a=1), 1), over([0]))),
    "no sum": ("there is no sum 0 in the proof", claimed(NoWorld(), over([0], sum=0))),
    "a sum before the first": (
        "there is no sum -1",
        claimed(NoWorld(), over([0], sums=[(1, [])], sum=-1)),
    ),
    "a sum beyond by a step": (
        "there is no sum 1",
        claimed(NoWorld(), over([0], [(0, 0)], sums=[(1, [])], steps=[[0, "<=", 1, -2]])),
    ),
    "a sum of another block": (
        "statement 2 is in none of the blocks",
        claimed(NoWorld(), over([0], sums=[(1, [(2, 1)])], sum=0)),
    ),
    "a sum of no statement": ("statement 11 is in none", claimed(NoWorld(), over([0], sums=[(1, [(11, 1)])], sum=0))),
    "a sum of a statement before": (
        "statement -1 is in none",
        claimed(NoWorld(), over([0], sums=[(1, [(-1, 1)])], sum=0)),
    ),
    "a multiplier of 0": (
        "statement 0 says nothing that its multiplier 0 could use",
        claimed(NoWorld(), over([0], sums=[(1, [(0, 0)])], sum=0)),
    ),
    "a multiplier of no bound": (
        "statement 5 says nothing that its multiplier 1",
        claimed(NoWorld(), over([2], sums=[(1, [(5, 1)])], sum=0)),
    ),
    "a multiplier of a choice": (
        "statement 8 says nothing that its multiplier -1",
        claimed(NoWorld(), over([3], sums=[(1, [(8, -1)])], sum=0)),
    ),
    "no such cell": (
        "there is no cell 1 in the proof",
        claimed(NoWorld(), over([0], [(0, 0)], steps=[[1, "<=", 1, 0]])),
    ),
    "a cell before the first": (
        "there is no cell -1",
        claimed(NoWorld(), over([0], [(0, 0)], steps=[[-1, "<=", 1, 0]])),
    ),
    "a branch on no cell": (
        "there is no cell 2",
        claimed(NoWorld(), over([0], [(0, 0)], branch=[2, 0], cases=[ONE, ONE])),
    ),
    "a step too far": (
        "step 0 says <= 0, but its reason implies 1",
        claimed(AtMost(box(a=1), 0), over([0], [(0, 0)], steps=[[0, "<=", 0, 0]])),
    ),
    "a step not far enough": (
        "step 0 says >= 0, but its reason implies 1",
        claimed(NoWorld(), over([0], [(0, 0)], steps=[[0, ">=", 0, 0]])),
    ),
    "a step beside its reason": (
        "step 0 says <= 2, but its reason implies nothing",
        claimed(NoWorld(), over([0], [(0, 0)], steps=[[0, "<=", 2, 1]])),
    ),
    "a step by no bound": (
        "but its reason implies nothing",
        claimed(NoWorld(), over([2], [(0, 0)], steps=[[0, "<=", UNBOUNDED, 5]])),
    ),
    "a step by another block": (
        "statement 2 is not one that this proof may use",
        claimed(NoWorld(), over([0], [(0, 0)], steps=[[0, "<=", 2, 2]])),
    ),
    "a step by a choice": (
        "statement 9 is not one that this proof may use",
        claimed(AtMost(box(a=1, b=1), 0), over([3], [(0, 0)], steps=[[0, "<=", 0, 9]])),
    ),
    "a step by no statement": (
        "statement 11 is not one",
        claimed(NoWorld(), over([0], [(0, 0)], steps=[[0, "<=", 2, 11]])),
    ),
}

LIMITS: dict[str, tuple[str, Forgery]] = {
    "too many pieces": (
        "more than 0 pieces .--memory",
        lambda: live_cells(NumberedStatements(RELEASE, Limits(memory=1)), (0,)),
    ),
    "time is up": (
        "not verified: the time was up",
        lambda: live_cells(NumberedStatements(RELEASE, Limits(seconds=0.0)), (0,)),
    ),
    "too many cells": ("more than 1 pieces$", lambda: live_cells(NumberedStatements(RELEASE), (0, 1), maximum=1)),
    "time is up at a node": ("not verified: the time was up", replayed(lambda: Limits(seconds=0.0))),
    "time is up at a step": ("not verified: the time was up", replayed(Late, 600)),
    "clauses without time": (
        "not verified: ",
        claimed(AtMost(box(a=1), 1), {"kind": "drat", "blocks": [0], "lines": ["0"]}, RELEASE, Limits(seconds=0.0)),
    ),
}

SQUARE = [(1, 2), (-1, 2), (1, -2), (-1, -2)]
CLAUSES: dict[str, tuple[str, Forgery]] = {
    "clauses for an only world": (
        "clauses do not prove that a world is the only one",
        claimed(ONLY, {"kind": "drat", "blocks": [0], "lines": ["0"]}, EXACT),
    ),
    "clauses of a block twice": (
        "the proof names a block twice, or one that does not exist",
        claimed(NoWorld(), {"kind": "drat", "blocks": [0, 0], "lines": ["0"]}),
    ),
    "clauses of no block": (
        "or one that does not exist",
        claimed(NoWorld(), {"kind": "drat", "blocks": [4], "lines": ["0"]}),
    ),
    "clauses of a block before": (
        "or one that does",
        claimed(NoWorld(), {"kind": "drat", "blocks": [-1], "lines": ["0"]}),
    ),
    "clauses for too much": (
        "line 1: does not follow",
        claimed(AtMost(box(a=1), 0), {"kind": "drat", "blocks": [0], "lines": ["0"]}, EXACT),
    ),
    "clauses for too few": (
        "line 1: does not follow",
        claimed(AtLeast(box(a=1), 2), {"kind": "drat", "blocks": [0], "lines": ["0"]}, EXACT),
    ),
    "a literal 0": ("the formula has a literal 0", lambda: check_clauses([(1, 0)], ["0"])),
    "no end": ("line 1: the proof ends without the empty clause", lambda: check_clauses(SQUARE, ["2 0"])),
    "an empty clause deleted": ("line 1: the proof ends", lambda: check_clauses(SQUARE, ["d 0"])),
    "no proof": ("line 0: the proof ends without", lambda: check_clauses(SQUARE, [])),
    "half a line": ("line 2: not a clause ending in 0: '2'", lambda: check_clauses(SQUARE, ["2 0", "2"])),
    "a literal beyond": ("line 1: a literal beyond the 2 variables", lambda: check_clauses(SQUARE, ["3 0", "0"])),
    "what does not follow": (
        "line 1: does not follow by unit propagation: 2",
        lambda: check_clauses(SQUARE[1:], ["2 0", "0"]),
    ),
    "nothing but the empty clause": ("unit propagation: the empty clause", lambda: check_clauses(SQUARE, ["0"])),
    "no time for clauses": (
        r"line \d+: not verified: the time limit is over",
        lambda: check_clauses(SQUARE, ["1 2 0"] * 40 + ["2 0", "0"], Limits(seconds=0)),
    ),
}

LIMITS |= removal_forgeries.LIMITED
FORGERIES = {**READING, **DATASETS, **REGIONS, **CELLS, **LIMITS, **CLAUSES, **removal_forgeries.FORGERIES}


def raised(forgery: Forgery) -> tuple[CertificateError, list[tuple[str, int]]]:
    """Return the refusal of a forgery, and the lines of the program that it went through."""
    with pytest.raises(CertificateError) as caught:
        forgery()
    return caught.value, [(e.frame.code.raw.co_filename, e.lineno + 1) for e in caught.traceback]


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused_by_its_own_message(name):
    message, forgery = FORGERIES[name]
    error, _ = raised(forgery)
    assert re.search(message, str(error)), error
    assert isinstance(error, NotVerified) == (name in LIMITS)


def unreached(functions: Sequence[object], forgeries: Iterable[Forgery]) -> list[str]:
    """Return each `raise CertificateError` in the modules of some functions that no forgery reaches."""
    reached = {place for forgery in forgeries for place in raised(forgery)[1]}
    missing = []
    for one in functions:
        path = Path(inspect.getsourcefile(sys.modules[one.__module__]) or "")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and re.search("CertificateError|NotVerified", ast.unparse(node)):
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                if not reached & {(str(path), line) for line in lines}:
                    missing.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    return missing


def test_no_refusal_is_without_a_forgery():
    """Each place of the kernel that refuses is reached by a forgery: adding one means to write down what it catches."""
    assert not unreached(KERNEL, [forgery for _, forgery in FORGERIES.values()])
