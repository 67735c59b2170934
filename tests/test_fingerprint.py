"""What a certificate is bound to: whatever a release says changes its fingerprint, and old ones stay what they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import recon
from solvers.kernel.cells import NumberedStatements
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.release import ANY_LABEL, Choice, Loose, Partition, Release, RowCount, Statement

LEFT, RIGHT = Box(((0, 1),)), Box(((0, 2),))
TREE = Partition(
    "tree", Boxes.of([LEFT, RIGHT]), False, np.array([0, 1], np.int32), np.array([ANY_LABEL] * 2, np.int32),
    np.array([3, 2]), np.array([4, 2]), ("left", "right"), ("no", "yes"),
)  # fmt: skip
ONE = Statement.count(Region(LEFT, (Box(((1, 1),)),)), 1, 2, "a table")
SUM = Statement.sum(Region(RIGHT), 3, 9, "a total", of=1, coefs=(0, 5))
CHOICE = Choice(((ONE,), (SUM, replace(ONE, low=0))), "a median")
RELEASE = Release(
    RowSpace((Attribute("a", (1, 2)), Attribute("y", (1, 1))), 1), RowCount(5, 6), (TREE, Loose((ONE, SUM)), CHOICE),
    (Box(((0, 1), (1, 2))),),
)  # fmt: skip


def block(b, **changes):
    blocks = list(RELEASE.blocks)
    blocks[b] = replace(blocks[b], **changes)
    return replace(RELEASE, blocks=tuple(blocks))


def tree(**changes):
    return block(0, **changes)


def loose(i, **changes):
    members = [ONE, SUM]
    members[i] = replace(members[i], **changes)
    return replace(RELEASE, blocks=(TREE, Loose(tuple(members)), CHOICE))


def summand(i, **changes):
    return loose(i, summands=(replace((ONE, SUM)[i].summands[0], **changes),))


OTHERS = {
    "a name of the domain": replace(RELEASE, domain=replace(RELEASE.domain, attributes=(
        Attribute("b", (1, 2)), RELEASE.domain.attributes[1]))),
    "sizes": replace(RELEASE, domain=replace(RELEASE.domain, attributes=(
        Attribute("a", (2, 1)), RELEASE.domain.attributes[1]))),
    "the label": replace(RELEASE, domain=replace(RELEASE.domain, label=None)),
    "least rows": replace(RELEASE, rows=RowCount(4, 6)),
    "most rows": replace(RELEASE, rows=RowCount(5, 7)),
    "open rows": replace(RELEASE, rows=RowCount(5)),
    "impossible rows": replace(RELEASE, impossible=()),
    "fewer impossible rows": replace(RELEASE, impossible=(Box(((0, 1), (1, 1))),)),
    "kind": tree(kind="rule_list"),
    "first match": tree(first_match=True),
    "boxes": tree(boxes=Boxes.of([RIGHT, LEFT])),
    "another attribute": tree(boxes=Boxes.of([Box(((1, 1),)), Box(((1, 2),))])),
    "regions": tree(region=np.array([1, 0], np.int32)),
    "labels of statements": tree(label=np.array([0, 1], np.int32)),
    "low": tree(low=np.array([2, 2])),
    "high": tree(high=np.array([4, 3])),
    "low and high exchanged": tree(low=np.array([4, 2]), high=np.array([3, 2])),
    "names": tree(names=("left", "rights")),
    "names of labels": tree(labels=("no", "yes?")),
    "a loose box": summand(0, region=Region(RIGHT, (Box(((1, 1),)),))),
    "what is taken out of it": summand(0, region=Region(LEFT)),
    "its least": loose(0, low=0),
    "its most": loose(0, high=3),
    "its source": loose(0, source="another table"),
    "what is summed": summand(1, factors=((0, (0, 5)),)),
    "its coefficients": summand(1, factors=((1, (0, 6)),)),
    "how often": summand(1, times=2),
    "how often a row counts": summand(0, times=3),
    "one more factor": summand(1, factors=((1, (0, 5)), (0, (1, 2)))),
    "one more summand": loose(1, summands=(*SUM.summands, *ONE.summands)),
    "the same twice": loose(1, summands=SUM.summands * 2),
    "coarse": loose(1, coarse=True),
    "one statement less": replace(RELEASE, blocks=(TREE, Loose((ONE,)), CHOICE)),
    "their order": replace(RELEASE, blocks=(TREE, Loose((SUM, ONE)), CHOICE)),
    "two blocks for one": replace(RELEASE, blocks=(TREE, Loose((ONE,)), Loose((SUM,)), CHOICE)),
    "no choice": replace(RELEASE, blocks=(TREE, Loose((ONE, SUM)))),
    "a choice that is none": replace(RELEASE, blocks=(TREE, Loose((ONE, SUM)), Loose(CHOICE.members))),
    "other alternatives": replace(RELEASE, blocks=(
        TREE, Loose((ONE, SUM)), Choice(((ONE, SUM), (replace(ONE, low=0),)), "a median"))),
    "the order of blocks": replace(RELEASE, blocks=(Loose((ONE, SUM)), TREE, CHOICE)),
    "nothing": replace(RELEASE, blocks=()),
}  # fmt: skip


def test_all_that_is_said_is_in_the_fingerprint():
    found = {
        "as it is": NumberedStatements(RELEASE).fingerprint,
        **{name: NumberedStatements(r).fingerprint for name, r in OTHERS.items()},
    }
    by_print: dict[str, list[str]] = {}
    for name, one in found.items():
        by_print.setdefault(one, []).append(name)
    assert not [names for names in by_print.values() if len(names) > 1]
    assert NumberedStatements(replace(RELEASE)).fingerprint == found["as it is"]


@pytest.mark.parametrize(
    ("file", "start"),
    [
        ("compas_tree", "a3b094f2b4fea6c5a8969393"),
        ("compas_forest", "bcd85fa7b7c66d2caf1fa524"),
        ("census_block", "f168a95c900e8a27bd3f6c60"),
    ],
)
def test_certificates_in_the_wild_stay_bound(file, start):
    release = recon.load(f"examples/releases/{file}.json")
    assert NumberedStatements(release.statements).fingerprint.startswith(start)
