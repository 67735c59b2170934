"""Sizes of a box minus boxes against brute force, closed forms and statistics."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.regions import captures as capture_counts
from solvers.statements.regions import captures as sizes
from solvers.statements.regions.captures import Captures, captures, minus_size
from solvers.statements.regions.diagram import Diagram, below
from solvers.statements.regions.variable_order import estimate, good_order

Sizes = list[list[int]]


def inside(box: Box, parts: tuple[int, ...]) -> bool:
    return all(mask >> parts[a] & 1 for a, mask in box.literals)


def brute(part_sizes: Sizes, boxes: list[Box]) -> list[int]:
    """Walk over every tuple of parts: the oracle, sharing nothing with the code under test."""
    found = [0] * len(boxes)
    for parts in itertools.product(*(range(len(s)) for s in part_sizes)):
        for j, box in enumerate(boxes):
            if inside(box, parts):
                found[j] += math.prod(part_sizes[a][p] for a, p in enumerate(parts))
                break
    return found


@st.composite
def problems(draw: st.DrawFn, most: int = 9) -> tuple[Sizes, list[Box]]:
    weights = st.sampled_from([0, 1, 1, 1, 2, 3, 4, 7, 10**12])
    part_sizes = draw(st.lists(st.lists(weights, min_size=1, max_size=4), min_size=1, max_size=5))
    boxes = []
    for _ in range(draw(st.integers(0, most))):
        named = draw(st.lists(st.integers(0, len(part_sizes) - 1), max_size=3, unique=True))
        boxes.append(Box.of((a, draw(st.integers(0, (1 << len(part_sizes[a])) - 1))) for a in named))
    if boxes and draw(st.booleans()):
        boxes.append(draw(st.sampled_from(boxes)))
    if draw(st.booleans()):
        boxes.append(Box())
    return part_sizes, boxes


@pytest.fixture(params=["usual", "split", "bdd", "no diagram", "no time"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    chosen: str = request.param
    if chosen == "split":
        monkeypatch.setattr(capture_counts, "SPLIT_TERMS", 1 << 60)
    if chosen not in ("usual", "split"):
        monkeypatch.setattr(capture_counts, "SPLIT_TERMS", 0)
    return chosen


def limits(way: str) -> Limits:
    return Limits(seconds=0 if way == "no time" else None, memory=0 if way == "no diagram" else 1 << 28)


def each_way(way: str, found: Captures, truth: list[int]) -> None:
    assert all(low <= t <= high for low, t, high in zip(found.lower, truth, found.upper, strict=True))
    if way in ("usual", "split", "bdd"):
        assert list(found.lower) == truth == list(found.upper)
        assert found.exact
        assert found.note == ""
        assert found.method in ("product", "split", "bdd")
        if way != "usual":
            assert found.method in ("product", way)
    elif not found.exact:
        assert found.method == "bounds"
        assert "limit at box" in found.note


def run_each(way: str, check: object) -> None:
    settings(max_examples=100)(check)()  # type: ignore[operator]


@pytest.mark.sampled(1)
def test_captures_against_brute_force(way: str) -> None:
    @given(problems())
    def check(problem: tuple[Sizes, list[Box]]) -> None:
        part_sizes, boxes = problem
        each_way(way, captures(part_sizes, boxes, limits(way)), brute(part_sizes, boxes))

    run_each(way, check)


@pytest.mark.sampled(1)
def test_minus_size_against_brute_force(way: str) -> None:
    @given(problems(), st.data())
    def check(problem: tuple[Sizes, list[Box]], data: st.DataObject) -> None:
        part_sizes, minus = problem
        box = Box.of((a, data.draw(st.integers(0, (1 << len(s)) - 1))) for a, s in enumerate(part_sizes[:2]))
        truth = brute(part_sizes, [*minus, box])[-1]
        low, high = minus_size(part_sizes, box, minus, limits(way))
        assert low <= truth <= high
        if way in ("usual", "split", "bdd"):
            assert low == truth == high

    run_each(way, check)


@pytest.mark.sampled(1)
def test_within_against_brute_force(way: str) -> None:
    @given(problems(), st.data())
    def check(problem: tuple[Sizes, list[Box]], data: st.DataObject) -> None:
        part_sizes, boxes = problem
        found = captures(part_sizes, boxes, limits(way))
        for _ in range(3):
            named = data.draw(st.lists(st.integers(0, len(part_sizes) - 1), max_size=3, unique=True))
            smaller = {a: [data.draw(st.integers(0, min(s, 12)) | st.just(s)) for s in part_sizes[a]] for a in named}
            truth = brute([smaller.get(a, s) for a, s in enumerate(part_sizes)], boxes)
            low, high = found.within(smaller)
            assert all(x <= t <= y for x, t, y in zip(low, truth, high, strict=True))
            if found.exact:
                assert list(low) == truth == list(high)

    run_each(way, check)


@pytest.mark.slow
def test_within_when_the_diagrams_were_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_counts, "SPLIT_TERMS", 0)

    @given(problems(), st.data())
    def check(problem: tuple[Sizes, list[Box]], data: st.DataObject) -> None:
        part_sizes, boxes = problem
        found = captures(part_sizes, boxes)
        found._counts.kept.clear()
        smaller = {0: [data.draw(st.integers(0, s)) for s in part_sizes[0]]}
        truth = tuple(brute([smaller[0], *part_sizes[1:]], boxes))
        assert found.within(smaller) == (truth, truth)

    run_each("bdd", check)


@pytest.mark.sampled(1)
def test_boxes_are_disjoint_and_cover_the_region(way: str) -> None:
    @given(problems())
    def check(problem: tuple[Sizes, list[Box]]) -> None:
        part_sizes, boxes = problem
        found = captures(part_sizes, boxes, limits(way))
        rows = [
            (p, math.prod(part_sizes[a][q] for a, q in enumerate(p)))
            for p in itertools.product(*(range(len(s)) for s in part_sizes))
        ]
        rows = [(p, w) for p, w in rows if w]
        first = {p: next((j for j, b in enumerate(boxes) if inside(b, p)), -1) for p, _ in rows}
        for j in range(len(boxes)):
            pieces = list(found.boxes(j))
            for p, _ in rows:
                assert sum(inside(b, p) for b in pieces) == (first[p] == j)
            assert all(any(inside(b, p) for p, _ in rows) for b in pieces)

    run_each(way, check)


def test_captures_and_rest_fill_the_space() -> None:
    rng = np.random.default_rng(5)
    part_sizes = [[int(x) for x in rng.integers(1, 9, size=int(rng.integers(2, 5)))] for _ in range(30)]
    boxes = []
    for _ in range(25):
        named = rng.choice(30, size=3, replace=False)
        boxes.append(Box.of((int(a), int(rng.integers(1, (1 << len(part_sizes[a])) - 1))) for a in named))
    found = captures(part_sizes, [*boxes, Box()])
    assert found.exact
    assert sum(found.lower) == math.prod(sum(s) for s in part_sizes)
    low, high = minus_size(part_sizes, Box(), boxes)
    assert low == high == found.lower[-1]


@pytest.mark.parametrize("d", [1, 2, 64, 65, 1000, 5000])
def test_width_one_list_is_a_product(d: int) -> None:
    started = time.process_time()
    found = captures([[1, 1]] * d, [Box(((a, 2),)) for a in range(d)])
    assert found.method == "product"
    assert list(found.lower) == [1 << (d - 1 - j) for j in range(d)]
    assert found.exact
    assert time.process_time() - started < 60


def test_huge_parts_and_wide_masks() -> None:
    big = 10**12
    part_sizes = [[big, big], [big] * 100, [1, 1], [3]]
    boxes = [Box(((0, 1), (1, (1 << 70) - 1))), Box(((1, 1 << 99 | 1), (2, 1))), Box()]
    found = captures(part_sizes, boxes)
    first = big * 70 * big * 6
    second = (2 * big - 0) * big * 3 + big * big * 3  # part 99 freely, part 0 only outside the first box
    assert found.lower[:2] == (first, second)
    assert sum(found.lower) == 2 * big * 100 * big * 6
    assert found.exact


def test_pairs_make_a_closed_form() -> None:
    # d disjoint pairs: rule j captures 4^(d-1-j) · 3^j rows.
    d = 200
    found = captures([[1, 1]] * (2 * d), [Box(((2 * j, 2), (2 * j + 1, 2))) for j in range(d)])
    assert list(found.lower) == [4 ** (d - 1 - j) * 3**j for j in range(d)]
    assert found.exact


def tree(depth: int, features: int, parts: int, rng: np.random.Generator) -> list[Box]:
    """Return the leaves of a random tree that splits every node at a random threshold."""
    leaves: list[Box] = []
    stack: list[tuple[int, dict[int, tuple[int, int]]]] = [(0, {})]
    while stack:
        level, ranges = stack.pop()
        a = int(rng.integers(0, features))
        low, high = ranges.get(a, (0, parts))
        if level == depth or high - low < 2:
            leaves.append(Box.of((k, (1 << h) - (1 << x)) for k, (x, h) in ranges.items()))
            continue
        at = int(rng.integers(low + 1, high))
        stack.append((level + 1, ranges | {a: (low, at)}))
        stack.append((level + 1, ranges | {a: (at, high)}))
    return leaves


@pytest.mark.slow
def test_tree_with_thousands_of_leaves_is_instant() -> None:
    rng = np.random.default_rng(2)
    leaves = tree(12, 14, 200, rng)
    assert len(leaves) > 1500
    started = time.process_time()
    found = captures([[3] * 200] * 14, leaves)
    assert time.process_time() - started < 30
    assert found.method == "product"
    assert sum(found.lower) == 600**14
    assert [found.lower[j] for j in range(50)] == [
        math.prod(3 * mask.bit_count() for _, mask in leaf.literals) * 600 ** (14 - len(leaf.literals))
        for leaf in leaves[:50]
    ]


def random_list(d: int, rules: int, width: int, seed: int) -> list[Box]:
    rng = np.random.default_rng(seed)
    return [
        Box.of((int(a), 1 << int(rng.integers(0, 2))) for a in rng.choice(d, size=width, replace=False))
        for _ in range(rules)
    ]


@pytest.mark.slow
def test_bounds_contain_the_exact_figures_on_a_larger_list() -> None:
    part_sizes, boxes = [[1, 1]] * 60, random_list(60, 40, 3, 1)
    exact = captures(part_sizes, boxes)
    assert exact.exact
    for few in (Limits(memory=0), Limits(seconds=0), Limits(memory=300_000)):
        found = captures(part_sizes, boxes, few)
        assert all(a <= b <= c for a, b, c in zip(found.lower, exact.lower, found.upper, strict=True))
        assert all(low > 0 for low in found.lower)
        low, high = found.within({3: [1, 0], 7: [0, 1]})
        truth, _ = exact.within({3: [1, 0], 7: [0, 1]})
        assert all(a <= b <= c for a, b, c in zip(low, truth, high, strict=True))


@pytest.mark.slow
def test_limits_are_met_and_bounds_are_near() -> None:
    boxes = random_list(120, 120, 4, 3)
    started = time.process_time()
    found = captures([[1, 1]] * 120, boxes, Limits(seconds=1, memory=1 << 26))
    assert time.process_time() - started < 30
    assert not found.exact
    assert found.method == "bounds"
    assert all(0 < a <= b for a, b in zip(found.lower, found.upper, strict=True))
    assert max(b.bit_length() - a.bit_length() for a, b in zip(found.lower, found.upper, strict=True)) < 30


@pytest.mark.slow
def test_one_region_stops_in_time_too() -> None:
    started = time.process_time()
    low, high = minus_size([[1, 1]] * 600, Box(), random_list(600, 300, 4, 2), Limits(seconds=1, memory=1 << 26))
    assert time.process_time() - started < 30
    assert 0 < low < high < 1 << 600


def test_within_of_one_row_is_the_first_box_that_holds_it() -> None:
    d, boxes = 24, [*random_list(24, 18, 2, 0), Box()]
    found = captures([[1, 1]] * d, boxes)
    rng = np.random.default_rng(0)
    for _ in range(50):
        row = tuple(int(b) for b in rng.integers(0, 2, size=d))
        low, high = found.within({a: [1 - b, b] for a, b in enumerate(row)})
        expected = next(j for j, box in enumerate(boxes) if inside(box, row))
        assert low == high == tuple(int(j == expected) for j in range(len(boxes)))


def chi_square(found: Captures, j: int, part_sizes: Sizes, boxes: list[Box], draws: int = 20_000) -> None:
    rows = found.sample(j, draws, np.random.default_rng(11))
    assert rows.shape == (draws, len(part_sizes))
    assert rows.dtype == np.int32
    seen = Counter(map(tuple, rows.tolist()))
    expected = {}
    for p in itertools.product(*(range(len(s)) for s in part_sizes)):
        w = math.prod(part_sizes[a][q] for a, q in enumerate(p))
        if w and next((h for h, b in enumerate(boxes) if inside(b, p)), -1) == j:
            expected[p] = w
    assert set(seen) <= set(expected)
    total = sum(expected.values())
    statistic = sum((seen[p] - draws * w / total) ** 2 / (draws * w / total) for p, w in expected.items())
    free = len(expected) - 1
    assert statistic < free + 5 * math.sqrt(2 * free) + 5


@pytest.mark.sampled(1)
@pytest.mark.parametrize("walk", [False, True])
def test_sample_is_uniform(walk: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "ACCEPTANCE", 0 if walk else 10**9)
    part_sizes = [[1, 2, 0, 3], [1, 1], [2, 5, 1], [1, 3], [4]]
    boxes = [
        Box(((1, 2),)),
        Box(((0, 0b1010), (2, 0b011))),
        Box(((2, 0b110), (3, 0b10))),
        Box(((0, 0b1011), (3, 0b11))),
    ]
    found = captures(part_sizes, boxes)
    for j in range(4):
        if found.lower[j]:
            chi_square(found, j, part_sizes, boxes)


def test_sample_walks_where_rejection_would_not_end() -> None:
    # Region 20 holds one row in 3^20/4^20 of its box; drawing it by rejection would take 300 tries a row.
    boxes = [Box(((2 * j, 2), (2 * j + 1, 2))) for j in range(20)]
    part_sizes = [[1, 3]] * 40 + [[10**12, 10**13]]
    found = captures(part_sizes, [*boxes, Box()])
    rows = found.sample(20, 300, np.random.default_rng(3))
    assert not any(inside(b, tuple(row)) for b in boxes for row in rows.tolist())
    # One pair holds (0,0), (0,1), (1,0) with weights 1, 3, 3: its first attribute is 1 in 3 of 7.
    assert abs(float(rows[:, :40].mean()) - 3 / 7) < 0.02
    assert abs(float(rows[:, 40].mean()) - 10 / 11) < 0.06


def test_sample_with_sizes_beyond_64_bits() -> None:
    part_sizes = [[1 << 80, 3 << 80], [1, 1]]
    found = captures(part_sizes, [Box(((0, 1), (1, 1))), Box()])
    assert found.lower == (1 << 80, 7 << 80)
    chi_square(found, 1, part_sizes, [Box(((0, 1), (1, 1))), Box()], 4000)


def test_sample_refuses_an_empty_region() -> None:
    found = captures([[1, 1], [0, 1]], [Box(((0, 1),)), Box(((0, 1), (1, 2))), Box(((1, 1),)), Box()])
    for j in (1, 2):
        with pytest.raises(ValueError, match=f"region {j} is empty"):
            found.sample(j, 1, np.random.default_rng(0))
    assert found.sample(3, 5, np.random.default_rng(0)).tolist() == [[1, 1]] * 5
    assert found.sample(3, 0, np.random.default_rng(0)).shape == (0, 2)


def test_sample_says_when_no_diagram_fits() -> None:
    boxes = [Box(((2 * j, 2), (2 * j + 1, 2))) for j in range(40)]
    found = captures([[1, 1]] * 80, [*boxes, Box()], Limits(memory=0))
    with pytest.raises(Inconclusive, match="region 40"):
        found.sample(40, 1, np.random.default_rng(0))


@pytest.mark.slow
def test_boxes_of_a_long_list_come_lazily() -> None:
    boxes = random_list(400, 300, 3, 4)
    found = captures([[1, 1]] * 400, [*boxes, Box()], Limits(seconds=0))
    some = list(itertools.islice(found.boxes(300), 50))
    assert len(some) == 50
    for x, y in itertools.combinations(some, 2):
        assert (x & y).empty
    assert all((x & b).empty for x in some for b in boxes)


def test_void_spaces() -> None:
    boxes = [Box(((0, 1), (1, 1))), Box(((0, 1), (2, 1))), Box()]
    found = captures([[1, 1], [1, 1], [1, 1], [0]], boxes)
    assert found.lower == found.upper == (0, 0, 0)
    assert list(found.boxes(2)) == []
    assert captures([], [Box(), Box()]).lower == (1, 0)
    assert captures([[1, 2]], []).lower == ()
    assert minus_size([[1, 2]], Box(((0, 2),)), []) == (2, 2)


def test_good_order_keeps_a_chain_narrow() -> None:
    n = 60
    shuffled = np.random.default_rng(1).permutation(n).tolist()
    edges = [[shuffled[i], shuffled[i + 1]] for i in range(n - 1)]
    order = good_order(n, edges)
    assert sorted(order) == list(range(n))
    assert estimate(order, edges) < 16 * n
    assert good_order(n, edges) == order


@given(st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=4, unique=True), max_size=12))
def test_good_order_is_a_permutation(edges: list[list[int]]) -> None:
    assert sorted(good_order(12, edges)) == list(range(12))


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.data())
def test_comparators_count_raw_values(weights: list[int], data: st.DataObject) -> None:
    diagram = Diagram({0: weights}, [0], 1 << 12)
    mask = data.draw(st.integers(0, (1 << len(weights)) - 1))
    assert diagram.count(diagram.valid) == sum(weights)
    assert diagram.count(diagram.mask(0, mask) & diagram.valid) == sum(
        w for g, w in enumerate(weights) if mask >> g & 1
    )


def test_below_is_uniform_beyond_64_bits() -> None:
    n, rng = 3 << 70, np.random.default_rng(8)
    thirds = Counter(below(n, rng) // (1 << 70) for _ in range(6000))
    assert set(thirds) == {0, 1, 2}
    assert all(abs(c - 2000) < 200 for c in thirds.values())
    assert below(1, rng) == 0


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says how much a process maps")
def test_a_diagram_has_room_for_its_thread():
    """A command limits the addresses of its process; a manager whose thread finds none would end the process."""
    code = (
        "import resource\nfrom solvers.foundation.native import _statm\nfrom "
        "solvers.statements.regions.diagram import Diagram\n"
        "hard = resource.getrlimit(resource.RLIMIT_AS)[1]\n"
        "resource.setrlimit(resource.RLIMIT_AS, (_statm()[0] + (1 << 29), hard))\n"
        "print([Diagram({0: [1, 1]}, [0], 1 << 12).bits for _ in range(4)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[1, 1, 1, 1]\n"), done.stderr
