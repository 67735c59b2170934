"""Trees as arrays against trees node by node: views, boxes of leaves, files and back, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.domain.domain import AttributeCuts, Domain
from encoders.domain.values import Categorical, Continuous, Grid, Test, View, exact
from encoders.encode.encoder import encode
from encoders.models.models import Forest, Tree
from encoders.models.nodes import CountTable, ModelNode, Nodes, Support
from recon.readers.formats.release.parts import to_domain, to_models
from recon.readers.formats.release.reading import parse
from recon.readers.formats.release.writing import dump, release_json
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import Box
from solvers.statements.release import ANY_LABEL

DOMAIN = Domain(
    (
        Categorical("city", ("A", "B", "C")),
        Grid.between("age", 0, 200, 1),
        Continuous("weight"),
        Continuous("height", Fraction(0), Fraction(21, 10)),
        Categorical("gap", (1, 2, 3), missing=True),
        Continuous("score", Fraction(0), Fraction(1), missing=True),
    ),
    Categorical("y", ("no", "yes")),
    {"old": View("age", Test(low=65))},
)
NUMBERS = st.floats(-50, 50, allow_nan=False) | st.integers(-50, 50)
TESTS = st.one_of(
    st.tuples(st.just("city"), st.sampled_from([Test(values=("A",)), Test(values=("A", "C"))])),
    st.tuples(st.just("old"), st.sampled_from([Test(values=(1,)), Test(high=0.5)])),
    st.tuples(st.just("age"), st.builds(Test, high=st.integers(0, 199), high_open=st.booleans())),
    st.tuples(st.just("weight"), st.builds(Test, high=NUMBERS, high_open=st.booleans())),
    st.tuples(st.just("weight"), st.builds(Test, low=NUMBERS, low_open=st.booleans())),
    st.tuples(st.just("height"), st.builds(Test, high=st.floats(0.25, 2), high_open=st.just(True))),
    st.tuples(st.just("height"), st.builds(Test, low=st.just(0.5), high=st.floats(1, 2), high_open=st.just(True))),
    st.tuples(st.just("gap"), st.builds(Test, high=st.integers(1, 2), missing=st.booleans())),
    st.tuples(st.just("score"), st.builds(Test, low=st.floats(0.25, 0.75), missing=st.booleans())),
).map(lambda pair: (pair,))
COUNTS = st.tuples(st.integers(0, 9), st.integers(0, 9))
LEAVES = st.builds(Support, counts=COUNTS) | st.builds(Support, count=st.integers(0, 9))


@st.composite
def trees(draw, most=12):
    """Return the nodes of a random tree, numbered at random (the root first), counts in its leaves."""
    children: dict[int, tuple[int, int]] = {}
    leaves = [0]
    for _ in range(draw(st.integers(0, most))):
        at = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        children[at] = (1 + 2 * len(children), 2 + 2 * len(children))
        leaves += children[at]
    size = 1 + 2 * len(children)
    place = [0, *(1 + i for i in draw(st.permutations(range(size - 1))))]
    nodes: list[ModelNode] = [ModelNode(Support())] * size
    for i in range(size):
        name = draw(st.sampled_from([None, None, f"node {i}"]))
        if i in children:
            then, otherwise = (place[child] for child in children[i])
            nodes[place[i]] = ModelNode(Support(), draw(TESTS), then, otherwise, name)
        else:
            nodes[place[i]] = ModelNode(draw(LEAVES), name=name)
    return tuple(nodes)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(trees())
def test_nodes_are_read_as_they_were_given(nodes):
    arrays = Nodes.of(nodes)
    assert arrays == nodes
    assert nodes == arrays
    assert hash(arrays) == hash(nodes)
    assert list(arrays) == [arrays[i] for i in range(len(nodes))] == list(nodes)
    assert arrays[-1] == nodes[-1]
    assert arrays[1:3] == nodes[1:3]
    assert len(set(arrays.conditions)) == len(arrays.conditions)
    assert Tree(nodes) == Tree(list(nodes)) == Tree(arrays)
    assert [s for s, n in zip(arrays.counts, nodes, strict=True) if n.condition is None] == list(arrays.leaf_counts)
    assert arrays.leaf_counts.totals.tolist() == [n.support.total for n in nodes if n.condition is None]
    with pytest.raises(IndexError):
        arrays[len(nodes)]


def walked(nodes, cut):
    """Return per leaf in file order its box, by walking from the root: the definition."""
    boxes, stack = {}, [(0, Box())]
    while stack:
        i, box = stack.pop()
        node = nodes[i]
        if node.condition is None:
            named = [(k, m) for k, m in box.literals if m != (1 << len(cut.cuts[k].sizes)) - 1]
            boxes[i] = Box(tuple(named))
            continue
        ((k, ranges),) = DOMAIN.resolve(node.condition).items()
        mask = cut.cuts[k].mask(ranges)
        full = (1 << len(cut.cuts[k].sizes)) - 1
        stack += [(node.then, box & Box(((k, mask),))), (node.otherwise, box & Box(((k, full & ~mask),)))]
    return [boxes[i] for i in sorted(boxes)]


def encoded(*forest):
    rows = {sum(n.support.total or 0 for n in nodes) for nodes in forest}
    return encode(DOMAIN, [Tree(nodes) for nodes in forest]) if len(rows) == 1 else None


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(trees())
def test_leaves_are_the_boxes_of_their_paths(nodes):
    release = encoded(nodes)
    (block,) = release.statements.blocks
    assert [Box(tuple(p for p in box.literals)) for box in block.boxes] == walked(nodes, release.cut)
    leaves = [(i, n) for i, n in enumerate(nodes) if n.condition is None]
    assert list(block.names) == [n.name or f"leaf {i}" for i, n in leaves]
    wanted = [
        (j, label, count)
        for j, (_, n) in enumerate(leaves)
        for label, count in (enumerate(n.support.counts) if n.support.counts else [(ANY_LABEL, n.support.count)])
    ]
    found = zip(block.region.tolist(), block.label.tolist(), block.low.tolist(), strict=True)
    assert list(found) == wanted
    assert block.low.tolist() == block.high.tolist()


@pytest.mark.slow
@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 500), min_size=65, max_size=90, unique=True), st.booleans())
def test_leaves_of_many_thresholds_are_the_boxes_of_their_paths(numbers, bounded):
    """More than 64 parts: boxes are runs of parts, of floats that stay floats until they are cut."""
    nodes = []
    for i, x in enumerate(numbers):
        test = Test(high=x / 300 if bounded else x / 7)
        nodes += [ModelNode(Support(), (("height" if bounded else "weight", test),), 2 * i + 1, 2 * i + 2)]
        nodes += [ModelNode(Support((i, 1)))]
    nodes.append(ModelNode(Support((3, 0))))
    release = encoded(tuple(nodes))
    assert list(release.statements.blocks[0].boxes) == walked(nodes, release.cut)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, derandomize=True)
@given(trees(), trees())
def test_trees_are_written_and_read_back(first, second):
    forest = Forest((Tree(first, "tree 0"), Tree(second, "tree 1")))
    part = parse(dump(release_json(DOMAIN, [forest], None)).encode(), "")
    assert to_domain(part.domain) == DOMAIN
    (found,) = to_models(part)
    assert found == forest
    assert found.trees[0].nodes.conditions is found.trees[1].nodes.conditions  # one table, one object per condition


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(NUMBERS, st.integers(0, 1)), max_size=20), st.sets(st.tuples(NUMBERS, st.integers(0, 1))))
def test_thresholds_are_cut_as_their_positions_are(pairs, others):
    """As floats where only thresholds cut the attribute, as fractions beside other positions."""
    positions = {(exact(x), side) for x, side in pairs}
    numbers = np.array([complex(x, side) for x, side in pairs], dtype=np.complex128)
    for attribute in (Continuous("x"), Continuous("x", Fraction(-20), Fraction(41, 2))):
        low, high = attribute.span
        for more in (set(), {(exact(x), side) for x, side in others}):
            cuts, wanted = (
                AttributeCuts.at(attribute, set(more), numbers),
                AttributeCuts.at(attribute, positions | more),
            )
            assert cuts == wanted
            inside = np.array([low <= (exact(z.real), int(z.imag)) <= high for z in numbers.tolist()], dtype=bool)
            found = cuts.starting_at(numbers[inside]).tolist()
            assert found == [wanted.edges.index((exact(z.real), int(z.imag))) for z in numbers[inside].tolist()]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_number_that_is_written(x):
    assert exact(x) == Fraction(repr(x))


def test_numbers_beyond_64_bits_and_fractions_are_kept():
    supports = [Support((2**70, 1)), Support(None, Fraction(1, 3)), Support(), Support((), None, 2**80)]
    assert list(CountTable.of(supports)) == supports
    nodes = (ModelNode(Support(), (("city", Test(values=("A",))),), 2**70, -(2**65)), ModelNode(Support((1, 0))))
    assert Nodes.of(nodes) == nodes
    with pytest.raises(ReleaseError, match=f"there is no node {2**70}"):
        encode(DOMAIN, [Tree(nodes)])
    with pytest.raises(ReleaseError, match=r"the count 1\.18e\+21 is not between 0 and 2\^53"):
        encode(DOMAIN, [Tree((ModelNode(Support((2**70, 1))),))])


LEAF = '{"counts": [1, 2]}'
TEXT = (
    '{"recon": 1, "domain": {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}'
    ', "columns": {"c": {"attribute": "a", "in": [1]}}}, "models": [{"kind": "tree", "nodes": '
    '[{"if": {"a": 1}, "then": 1, "else": 2}, {"counts": [1, 2]}, {"counts": [3, 4]}]}]}'
)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (LEAF, '{"counts": [1, 2], "counts": [1, 2]}', "the key 'counts' stands twice"),
        ('{"a": 1}', '{"a": 1, "a": 1}', "the key 'a' stands twice"),
        # A colon that is written as an escape must not stand in for the one that a doubled key loses.
        (LEAF, '{"counts": [1, 2], "name": "\\u003A", "counts": [1, 2]}', "the key 'counts' stands twice"),
        (LEAF, '{"counts": [1, 2], "counts": [1, 2], "name": "\\ud800"}', "the key 'counts' stands twice"),
        (LEAF, '{"counts": [1, 2], "name": "\\ud800"}', "half of a surrogate pair"),
        (LEAF, '{"counts": [1, NaN]}', "the number NaN is not finite"),
        (
            LEAF,
            '{"counts": [1, 1e999]}',
            r"models\[0\]\.nodes\[1\]\.counts\[1\]: the count inf is not a number of "
            r"rows",
        ),
        (LEAF, '{"counts": [1, 2.5]}', r"models\[0\]\.nodes\[1\]\.counts\[1\]: the count 2.5 is not a number of rows"),
        (LEAF, '{"counts": [1, true]}', r"models\[0\]\.nodes\[1\]\.counts\[1\]: .* but it is True"),
        (LEAF, '{"counts": [1, 2], "count": 3}', r"models\[0\]\.nodes\[1\]: give 'counts' or 'count', not both"),
        (LEAF, '{"counts": [1, 2], "distinct": -1}', r"models\[0\]\.nodes\[1\]\.distinct: .* but it is -1"),
        (LEAF, '{"counts": [1, 2], "then": 3}', r"models\[0\]\.nodes\[1\]: a node with 'then' or 'else' needs 'if'"),
        ('"then": 1, ', "", r"models\[0\]\.nodes\[0\]: an inner node needs 'then' and 'else'"),
        ('{"a": 1}', '{"b": 0, "a": {"in": [[]]}}', r"models\[0\]\.nodes\[0\]\.if\.a\.in\[0\]: .* but it is \[\]"),
        ('{"a": 1}', '{"a": {"in": []}}', r"if\.a\.in: It must be a list of length >= 1, but it is \[\]"),
        ('"in": [1]', '"in": 1', r"domain\.columns\.c\.in: .* but it is 1"),
        ('"recon": 1', '"recon": 1.0', "recon: It must be 1, but it is 1.0"),
        ('"recon": 1', '"recon": 2', "recon: It must be 1, but it is 2"),
        (
            '"kind": "tree"',
            '"kind": "treee"',
            r"models\[0\]\.kind: It must be 'tree', .* 'table' or 'tables', but it is",
        ),
        ('"kind": "tree"', '"kind": 3', r"models\[0\]\.kind: It must be 'tree', .* 'table' or 'tables', but it is 3"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old, new, words):
    assert old in TEXT
    with pytest.raises(ReleaseError, match=words) as refused:
        to_models(parse(TEXT.replace(old, new, 1).encode(), "file.json"))
    assert "\n" not in str(refused.value)


def test_what_the_decoder_does_not_take_at_once_is_taken_all_the_same():
    wanted = to_models(parse(TEXT.encode(), ""))
    spelt = TEXT.replace(LEAF, '{"counts": [1, 2.0], "name": null, "then": null}', 1)  # defaults, written out
    escaped = TEXT.replace('"counts": [1, 2]', '"co\\u0075nts": [1, 2]', 1).replace('"kind"', '"name": null, "kind"')
    for text in (spelt, escaped, "\ufeff" + TEXT):
        assert to_models(parse(text.encode(), "")) == wanted


def test_every_part_of_the_published_schema_refuses_unknown_keys():
    from recon.readers.formats.release.schema import json_schema

    schema = json_schema()
    for name, part in {**schema["$defs"], "release": schema}.items():
        assert part["additionalProperties"] is False, name
    kinds = [schema["$defs"][one["$ref"].split("/")[-1]] for one in schema["properties"]["models"]["items"]["anyOf"]]
    named = {"tree", "rule_list", "rule_set", "forest", "table", "tables", "boosting"}
    assert {k["properties"]["kind"]["enum"][0] for k in kinds} == named
    assert all("kind" in k["required"] for k in kinds)
    assert schema["$defs"]["NodePart"]["properties"].keys() >= {"if", "then", "else", "counts", "count", "distinct"}
    assert json.dumps(schema)
