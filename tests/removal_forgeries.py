"""Forgeries of proofs by removals, one for each refusal of the modules that replay them; and what they must accept.

Three positions, two trees on known bags. Tree 0 asks for a: position 0 once (a = 0, class 0), position 1 twice (a = 1,
class 1). Tree 1 asks for b: position 1 once (b < 2, class 1), position 2 twice (b = 2, class 0). Values 0, 1 | 2, 3.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solvers.foundation.limits import Limits
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import AtLeast, AtMost, NoWorld, OnlyWorld, RegionProof, RowLocation
from solvers.kernel.proof_format import proof_from
from solvers.statements.boxes import Attribute, Box, Boxes, RowSpace
from solvers.statements.release import ANY_LABEL, UNPUBLISHED, BagCounts, Partition, Release, RowCount, TreeBags


def box(**masks):
    """Return a box of attributes a, b and the label y by their masks."""
    return Box.of(("aby".index(name), mask) for name, mask in masks.items())


def counts(boxes, labels, weights, distinct):
    """Return a tree with one count per leaf."""
    region = np.arange(len(boxes), dtype=np.int32)
    numbers = (np.array(x, dtype=np.int64) for x in (weights, distinct))
    names = tuple(f"leaf {j}" for j in range(len(boxes)))
    return BagCounts("tree", Boxes.of(boxes), region, np.array(labels, dtype=np.int32), *numbers, names, ("no", "yes"))


LEAVES = (box(a=1), box(a=2)), (box(b=3), box(b=4))
TREES = counts(LEAVES[0], [0, 1], [1, 2], [1, 1]), counts(LEAVES[1], [1, 0], [1, 2], [1, 1])
PLAIN = counts(LEAVES[0], [ANY_LABEL] * 2, [1, 2], [1, 1])
TIMES = np.array([[1, 2, 0], [0, 1, 2]], dtype=np.int32)
DOMAIN = RowSpace((Attribute("a", (1, 1)), Attribute("b", (1, 1, 1)), Attribute("y", (1, 1))), label=2)
BAGGED = Release(DOMAIN, RowCount(3, 3), (), bags=(TreeBags("forest", TIMES, TREES),))
UNLABELLED = replace(BAGGED, bags=(TreeBags("forest", TIMES, (PLAIN, TREES[1])),))


def exact(boxes, weights):
    """Return a tree that counts all rows."""
    region, number = np.arange(len(boxes), dtype=np.int32), np.array(weights, dtype=np.int64)
    names = tuple(f"leaf {j}" for j in range(len(boxes)))
    return Partition("tree", Boxes.of(boxes), False, region, np.full(len(boxes), ANY_LABEL), number, number, names)


SLOTS = replace(BAGGED, bags=(), blocks=(exact(LEAVES[0], [1, 2]), exact(LEAVES[1], [2, 1])))
NOBODY = counts(LEAVES[1], [1, 0], [0, 3], [UNPUBLISHED] * 2)
LOOSE = replace(BAGGED, bags=(TreeBags("forest", TIMES, (TREES[0], counts(LEAVES[1], [1, 0], [2, 2], [1, 1]))),))
# A tree that counts position 0 three times where it can be, and one that says it is of the other class.
TORN = replace(
    BAGGED,
    rows=RowCount(1, 1),
    bags=(TreeBags("forest", np.array([[3], [3]], dtype=np.int32), (NOBODY, counts((Box(),), [1], [3], [1]))),),
)
# Position 0 counts twice where a single row is.
ONE = counts((Box(),), [1], [1], [1])
EMPTY = replace(BAGGED, rows=RowCount(2, 2), bags=(TreeBags("forest", np.array([[2, 1]], dtype=np.int32), (ONE,)),))
SAME_LEAF = replace(
    counts((Box(),), [0], [1], [2]),
    region=np.array([0, 0], dtype=np.int32),
    label=np.array([0, 2], dtype=np.int32),
    count=np.array([1, 1], dtype=np.int64),
)
# Two positions in one leaf, one of the first class and one of the third.
CLASSES = replace(
    BAGGED,
    domain=replace(DOMAIN, attributes=(*DOMAIN.attributes[:2], Attribute("y", (1, 1, 1)))),
    rows=RowCount(2, 2),
    bags=(TreeBags("forest", np.array([[1, 1]], dtype=np.int32), (SAME_LEAF,)),),
)


def removals(*steps):
    """Return a proof by removals as JSON."""
    return {"kind": "removals", "steps": list(steps)}


def claimed(claim, proof, release=BAGGED, limits=None):
    """Return a forgery: a proof that is checked where it is called."""
    return lambda: Verifier(release, limits).verify(claim, proof_from(proof) if isinstance(proof, dict) else proof)


COUNTED, REVISED = ["counted", 1], ["revised", 1]
HERE = RowLocation((0, 1), (box(a=1, y=1), box(a=2, b=3, y=2)))
FREE = ["labelled", [0], [0], 1, []]
ALL = ["labelled", [0], [0], 2, [[0, 0, False, -1], [0, 1, False, 1]]]  # position 0 in class 1: 1 too many there
ACCEPTED = {
    "positions": (HERE, removals(COUNTED, REVISED)),
    "positions that need no step": (RowLocation((2,), (box(b=4, y=1),)), removals()),
    "filled": (HERE, removals(["filled", 0, 2, [1]], COUNTED, REVISED)),
    "needed": (HERE, removals(["needed", 0, 1, [0]], REVISED)),
    "labelled": (RowLocation((0,), (box(a=1, y=1),)), removals(ALL)),
    "labelled, once each": (
        RowLocation((0,), (box(y=1),)),
        removals(["labelled", [0], [0], 2, [[0, 0, True, -1], [0, 1, True, 1]]]),
    ),
    "assumed": (HERE, removals(["assumed", 0, 1, [COUNTED]], REVISED)),
    "nothing to assume": (RowLocation((1,), (box(a=2),)), removals(["assumed", 1, 0, []])),
    "at most": (AtMost(box(a=1), 2), removals(COUNTED, REVISED)),
    "at most nobody": (AtMost(box(a=1, y=2), 1), removals(COUNTED, REVISED)),
    "at most by what is left": (AtMost(box(b=4, y=2), 1), removals(COUNTED, REVISED)),
    "at least": (AtLeast(box(a=1, y=1), 1), removals(COUNTED)),
    "at least two": (AtLeast(box(b=7), 3), removals()),
}
OF_SLOTS = {
    "at most of slots": (AtMost(box(a=1), 1), removals()),
    "at least of slots": (AtLeast(box(a=2), 2), removals()),
}
OF_CLASSES = {
    "labels that are no run": (RowLocation((0, 1), (box(y=5), box(y=5))), removals()),
    "nobody of a label between": (AtMost(box(y=2), 0), removals()),
}
OF_NOTHING = {
    "no world at the start": (NoWorld(), removals()),
    "steps behind no world": (NoWorld(), removals(["revised", 9])),
}
OF_NO_WORLD = {
    "no world": (NoWorld(), removals(["revised", 0])),
    "anything of no world": (AtMost(Box(), 0), removals(["revised", 0], ["revised", 9])),
    "positions of no world": (RowLocation((0,), (box(a=1),)), removals(["revised", 0])),
}


def deep(levels):
    """Return assumptions below each other."""
    step = REVISED
    for _ in range(levels):
        step = ["assumed", 0, 1, [step]]
    return removals(step)


FORGERIES = {
    "an only world": (
        "do not prove that a world is the only one",
        claimed(OnlyWorld(((0, 0, 0), (1, 0, 0), (1, 2, 0)), (1, 1, 1)), removals(), SLOTS),
    ),
    "positions by regions": ("where positions are is proved by removals", claimed(HERE, RegionProof(()))),
    "no step": ("is not a step that begins with revised, counted,", claimed(HERE, removals(["removed", 1]))),
    "an empty step": (r"proof.steps\[1\] is not a step", claimed(HERE, removals(COUNTED, []))),
    "a step that is not a list": (r"proof.steps\[0\] is not a step", claimed(HERE, removals("revised"))),
    "a step called by a list": (r"proof.steps\[0\] is not a step", claimed(HERE, removals([[], 1]))),
    "half a step": ("has all of its parts", claimed(HERE, removals(["filled", 0, 2]))),
    "a step with more": ("has all of its parts", claimed(HERE, removals(["revised", 1, 2]))),
    "no row in a step": (r"proof.steps\[0\]\[1\] is True, not a whole", claimed(HERE, removals(["revised", True]))),
    "half a weight": (r"\[4\]\[0\] is no weight", claimed(HERE, removals(["labelled", [0], [0], 1, [[0, 0, 1]]]))),
    "a weight of what": ("is no weight", claimed(HERE, removals(["labelled", [0], [0], 1, [[0, 0, 0, 1]]]))),
    "a weight that is none": (r"\[4\]\[0\] is no weight", claimed(HERE, removals(["labelled", [0], [0], 1, [7]]))),
    "assumptions too deep": ("has more than 20 assumptions below each other", claimed(HERE, deep(21))),
    "no rows distinguished": (
        "the rows of this release cannot be distinguished",
        claimed(HERE, removals(), replace(BAGGED, bags=())),
    ),
    "other rows than the bags": (
        "the bags are of 3 rows",
        claimed(HERE, removals(), replace(BAGGED, rows=RowCount(4, 4))),
    ),
    "rows not known": ("the bags are of 3 rows", claimed(HERE, removals(), replace(BAGGED, rows=RowCount(3, 4)))),
    "fewer rows": ("the bags are of 3 rows", claimed(HERE, removals(), replace(BAGGED, rows=RowCount(2, 3)))),
    "slots of another number": (
        "does not count all rows",
        claimed(NoWorld(), removals(), replace(SLOTS, rows=RowCount(4, 4))),
    ),
    "positions of slots": ("the rows of this release have no positions", claimed(HERE, removals(), SLOTS)),
    "a position without a place": (
        "does not give each of its positions a place",
        claimed(RowLocation((0, 1), (box(a=1),)), removals()),
    ),
    "no such position": ("each of its positions a place", claimed(RowLocation((3,), (box(a=1),)), removals())),
    "a position before the first": ("each of its positions", claimed(RowLocation((-1,), (box(a=1),)), removals())),
    "elsewhere": (
        "the row at position 0 is where it is said",
        claimed(RowLocation((0,), (box(a=1),)), removals(REVISED)),
    ),
    "another place": ("at position 1 is where", claimed(RowLocation((0, 1), (box(a=1), box(a=1))), removals(COUNTED))),
    "another class": ("at position 1 is where", claimed(RowLocation((1,), (box(y=1),)), removals(COUNTED, REVISED))),
    "more rows": (
        "leaves 2 rows in the box, the claim needs at most 1",
        claimed(AtMost(box(a=1), 1), removals(COUNTED)),
    ),
    "more before a step": ("leaves 3 rows in the box", claimed(AtMost(box(b=4), 2), removals(COUNTED))),
    "fewer rows inside": ("puts 0 rows into the box, the claim needs 1", claimed(AtLeast(box(a=1), 1), removals())),
    "a world": ("leaves every row some value", claimed(NoWorld(), removals(COUNTED, REVISED))),
    "no such row": ("there is no row 3", claimed(HERE, removals(["revised", 3]))),
    "a row before the first": ("there is no row -1", claimed(HERE, removals(["revised", -1]))),
    "a row of many digits": ("a number of 3,322 bits", claimed(HERE, removals(["revised", 10**1000 - 1]))),
    "no row to assume": ("there is no row 5", claimed(HERE, removals(["assumed", 5, 1, []]))),
    "no row to label": ("there is no row 5", claimed(HERE, removals(["labelled", [5], [0], 1, []]))),
    "no such value": ("there is no value 4", claimed(HERE, removals(["counted", 4]))),
    "a value before the first": ("there is no value -1", claimed(HERE, removals(["counted", -1]))),
    "no value to assume": ("there is no value 4", claimed(HERE, removals(["assumed", 0, 4, []]))),
    "no such tree": ("there is no tree 2", claimed(HERE, removals(["filled", 2, 1, []]))),
    "a tree before the first": ("there is no tree -1", claimed(HERE, removals(["needed", -1, 1, []]))),
    "values of another tree": ("tree 0 does not have the values", claimed(HERE, removals(["filled", 0, 2, [1, 2]]))),
    "a value twice": ("or one stands twice", claimed(HERE, removals(["needed", 0, 1, [0, 0]]))),
    "times of no row": ("tree 0 counts no row 3 times", claimed(HERE, removals(["filled", 0, 3, [1]]))),
    "rows not seen": ("tree 0 counts no row 0 times", claimed(HERE, removals(["filled", 0, 0, [1]]))),
    "not filled": (
        "0 rows do not fill the values of tree 0, which take up to 1",
        claimed(HERE, removals(["filled", 0, 1, [0]])),
    ),
    "not needed": (
        "1 rows can use the values of tree 1, which need no more than 0",
        claimed(HERE, removals(["needed", 1, 1, [3]]), LOOSE),
    ),
    "a row labelled twice": (
        "does not give each of its rows one label",
        claimed(HERE, removals(["labelled", [0, 0], [0, 0], 1, []])),
    ),
    "a row without a label": (
        "does not give each of its rows one label",
        claimed(HERE, removals(["labelled", [0, 1], [0], 1, []])),
    ),
    "divided by nothing": ("divides by no positive number", claimed(HERE, removals(["labelled", [0], [0], 0, []]))),
    "no such label": ("names a label that does not exist", claimed(HERE, removals(["labelled", [0], [2], 1, []]))),
    "a label before the first": (
        "names a label that does not",
        claimed(HERE, removals(["labelled", [0], [-1], 1, []])),
    ),
    "other labels": ("leave room for other labels", claimed(HERE, removals(FREE))),
    "a total of no tree": (
        "there is no class 0 of a tree 2",
        claimed(HERE, removals(["labelled", [0], [0], 1, [[2, 0, False, 1]]])),
    ),
    "a total of a tree before": (
        "of a tree -1",
        claimed(HERE, removals(["labelled", [0], [0], 1, [[-1, 0, False, 1]]])),
    ),
    "a total of no class": (
        "there is no class 2 of",
        claimed(HERE, removals(["labelled", [0], [0], 1, [[0, 2, False, 1]]])),
    ),
    "a total of a class before": (
        "no class -1 of",
        claimed(HERE, removals(["labelled", [0], [0], 1, [[0, -1, False, 1]]])),
    ),
    "a total of plain counts": (
        "tree 0 does not count by classes",
        claimed(HERE, removals(["labelled", [0], [0], 1, [[0, 0, False, 1]]]), UNLABELLED),
    ),
    "no contradiction": (
        "that row 0 has value 1 does not lead to a contradiction",
        claimed(HERE, removals(["assumed", 0, 1, [REVISED]])),
    ),
    "an assumption that is true": (
        "that row 0 has value 0 does not lead",
        claimed(HERE, removals(["assumed", 0, 0, [COUNTED, REVISED]])),
    ),
}
LIMITED = {
    "removals without time": (
        "not verified: the time was up",
        claimed(HERE, removals(COUNTED), BAGGED, Limits(seconds=0.0)),
    ),
    "removals without memory": (
        "take more memory than allowed",
        claimed(HERE, removals(COUNTED), BAGGED, Limits(memory=1)),
    ),
}
