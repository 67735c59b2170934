"""The fewest merges against brute force: every pruning of small random trees, figures from rows listed one by one."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Test
from encoders.encode.encoder import EncodedRelease, encode
from encoders.models.models import Forest, Noise, PublishedFigure, Rule, RuleList, RuleSet, Table, Tree
from encoders.models.nodes import ModelNode, Support
from recon.release.remediation import merging as search
from recon.release.remediation.merging import merge_leaves
from recon.release.remediation.pruning import NoMerging, pruned
from recon.release.remediation.thresholds import Demands, combined_outcome, demands_of, figures_of, outcomes
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.release import RowCount

VALUES = (3, 2, 3)  # of the attributes a, b, c
CLASSES = 2
DOMAIN = Domain(
    tuple(Categorical(name, tuple(range(n))) for name, n in zip("abc", VALUES, strict=True)),
    label=Categorical("y", tuple(range(CLASSES))),
)
POINTS = list(itertools.product(*map(range, VALUES)))
Row = tuple[tuple[int, ...], int]
ONE_LEAF = {"smallest_group", "smallest_cell", "least_bits_left"}


def grown(rng: random.Random, rows: Sequence[Row], depth: int, by_class: bool = True) -> Tree:
    """Return a random tree that counts rows; some of its leaves may be empty, or no raw row may fit them."""
    nodes: list[ModelNode] = []

    def grow(held: list[Row], left: int) -> int:
        at = len(nodes)
        counts = tuple(sum(y == k for _, y in held) for k in range(CLASSES))
        nodes.append(ModelNode(Support(counts) if by_class else Support(None, sum(counts))))
        if left and rng.random() < 0.85:
            k = rng.randrange(3)
            value = rng.randrange(VALUES[k])
            condition = (("abc"[k], Test((value,))),)
            then = grow([r for r in held if r[0][k] == value], left - 1)
            otherwise = grow([r for r in held if r[0][k] != value], left - 1)
            nodes[at] = ModelNode(Support(), condition, then, otherwise)
        return at

    grow(list(rows), depth)
    return Tree(tuple(nodes))


def some_rows(rng: random.Random, n: int) -> list[Row]:
    """Return random rows, some values much commoner than others."""
    return [(tuple(min(rng.randrange(v), rng.randrange(v)) for v in VALUES), rng.randrange(CLASSES)) for _ in range(n)]


def all_prunings(tree: Tree, v: int = 0) -> Iterator[list[int]]:
    """Yield every set of inner nodes that may become leaves."""
    node = tree.nodes[v]
    if node.condition is None:
        yield []
        return
    yield [v]
    for a, b in itertools.product(list(all_prunings(tree, node.then)), list(all_prunings(tree, node.otherwise))):
        yield a + b


def by_hand(tree: Tree, at: Sequence[int], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of a pruning from all raw points and all rows, each sent down the tree."""

    def leaf(point: Sequence[int]) -> int:
        v = 0
        while (node := tree.nodes[v]).condition is not None and v not in at:
            ((name, test),) = node.condition
            assert test.values is not None
            v = node.then if point["abc".index(name)] in test.values else node.otherwise
        return v

    fits: dict[int, int] = {}
    counts: dict[int, list[int]] = {}
    for point in POINTS:
        fits[leaf(point)] = fits.get(leaf(point), 0) + 1
    for point, y in rows:
        counts.setdefault(leaf(point), [0] * CLASSES)[y] += 1
    cells = [(c, fits[v]) for v, one in counts.items() for c in one if c]
    bits = math.log2(math.prod(math.comb(s + c - 1, c) for c, s in cells))
    return {
        "smallest_group": min(map(sum, counts.values())),
        "smallest_cell": min(c for c, _ in cells),
        "least_bits_left": min(math.log2(s) for _, s in cells),
        "class_disclosure": sum(sum(one) for one in counts.values() if sum(c > 0 for c in one) == 1),
        "most_pinned": sum(c for c, s in cells if s == 1),
        "mean_bits_left": bits / len(rows),
    }


def meets(found: dict[str, Any], policy: dict[str, Any]) -> bool:
    """Return whether figures meet a policy, by hand."""
    for name, wanted in policy.items():
        threshold = 0 if wanted == "forbidden" else wanted
        least = name in {*ONE_LEAF, "mean_bits_left"}
        if not (found[name] >= threshold - 1e-12 if least else found[name] <= threshold):
            return False
    return True


def fewest(tree: Tree, rows: Sequence[Row], policy: dict[str, Any]) -> int | None:
    """Return the fewest merges over all prunings, None where none meets the policy."""
    whole = len(tree.nodes.leaves)
    best = None
    for at in all_prunings(tree):
        if meets(by_hand(tree, at, rows), policy):
            merges = whole - len(pruned(tree, at)[0].nodes.leaves)
            best = merges if best is None else min(best, merges)
    return best


POLICY = st.fixed_dictionaries(
    {},
    optional={
        "smallest_group": st.integers(1, 8),
        "smallest_cell": st.integers(1, 4),
        "least_bits_left": st.sampled_from([1.0, 1.5, 2.0, math.log2(3), 3.0]),
        "class_disclosure": st.sampled_from(["forbidden", 1, 3, 6]),
        "most_pinned": st.integers(0, 4),
        "mean_bits_left": st.sampled_from([0.5, 1.0, 1.5, 2.0]),
    },
)


def check_fewest(seed: int, n: int, policy: dict[str, Any], depth: int) -> None:
    """Check merges against brute force; the result meets the policy by hand and by its own figures."""
    rng = random.Random(seed)
    rows = some_rows(rng, n)
    tree = grown(rng, rows, depth)
    best = fewest(tree, rows, policy)
    release = encode(DOMAIN, [tree])
    if best is None:
        with pytest.raises(NoMerging, match="no merging meets the policy"):
            merge_leaves(release, policy)
        return
    found = merge_leaves(release, policy)
    assert (found.merges, found.exact) == (best, True)
    assert len(tree.nodes.leaves) - len(found.release.models[0].nodes.leaves) == best  # type: ignore[union-attr]
    assert meets(by_hand(tree, found.collapsed[0], rows), policy)
    assert combined_outcome(outcomes(found.after, demands_of(policy))) == "met"


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), n=st.integers(1, 24), policy=POLICY)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_pruning_with_fewer_merges_meets_the_policy(seed: int, n: int, policy: dict[str, Any]) -> None:
    """The number of merges is that of brute force over all prunings."""
    check_fewest(seed, n, policy, 3)


@pytest.mark.long
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), policy=POLICY)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_pruning_of_deeper_trees_with_fewer_merges_meets_the_policy(
    seed: int, n: int, policy: dict[str, Any]
) -> None:
    """The same over up to 677 prunings per tree."""
    check_fewest(seed, n, policy, 4)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_figures_are_those_of_the_rows_and_of_the_audit(seed: int, n: int) -> None:
    """Figures of a tree, pruned anywhere, are those by hand, and what `measure` says of it."""
    rng = random.Random(seed)
    rows = some_rows(rng, n)
    tree = grown(rng, rows, 4)
    at = rng.choice(list(all_prunings(tree)))
    release = encode(DOMAIN, [pruned(tree, at)[0]])
    facts, expected = figures_of(release, Limits(), Demands()), by_hand(tree, at, rows)
    assert facts["smallest_group"] == [expected["smallest_group"]] * 2
    assert facts["smallest_cell"] == [expected["smallest_cell"]] * 2
    assert facts["class_disclosure"]["rows"] == [expected["class_disclosure"]] * 2
    assert facts["pinned"] == [expected["most_pinned"]] * 2
    assert facts["least_bits_left"] == pytest.approx([expected["least_bits_left"]] * 2)
    assert facts["bits_left_per_person"] == pytest.approx([expected["mean_bits_left"]] * 2)
    measured = recon.measure(release, "multiset")
    assert measured.determined_rows == facts["pinned"][0]
    assert measured.entropy_bits == pytest.approx(facts["bits_left_per_person"][0] * n)
    assert min(measured.exposure["bits_left"][measured.exposure["rows"] > 0]) == facts["least_bits_left"][0]


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), n=st.integers(2, 24), policy=POLICY)
@settings(max_examples=60, deadline=None)
def test_a_rule_list_loses_the_shortest_run_of_last_rules(seed: int, n: int, policy: dict[str, Any]) -> None:
    """Of all prefixes of a rule list the longest that meets the policy is found."""
    rng = random.Random(seed)
    left, rules = some_rows(rng, n), []
    for _ in range(rng.randrange(5)):
        k = rng.randrange(3)
        value = rng.randrange(VALUES[k])
        caught = [r for r in left if r[0][k] == value]
        left = [r for r in left if r[0][k] != value]
        rules.append(
            Rule((("abc"[k], Test((value,))),), Support(tuple(sum(y == c for _, y in caught) for c in (0, 1))))
        )
    rules.append(Rule((), Support(tuple(sum(y == c for _, y in left) for c in (0, 1)))))

    def shorter(j: int) -> RuleList:
        rest = [r.support.counts for r in rules[j:]]
        return RuleList((*rules[:j], Rule((), Support(tuple(map(sum, zip(*rest, strict=True)))))))  # type: ignore[arg-type]

    demands = demands_of(policy)
    good = [
        j
        for j in range(len(rules))
        if combined_outcome(outcomes(figures_of(encode(DOMAIN, [shorter(j)]), Limits(), demands), demands)) == "met"
    ]
    release = encode(DOMAIN, [RuleList(tuple(rules))])
    if not good:
        with pytest.raises(NoMerging):
            merge_leaves(release, policy)
        return
    found = merge_leaves(release, policy)
    assert found.merges == len(rules) - 1 - max(good)
    assert "prefixes" in found.how


def test_merged_counts_are_sums_and_tests_that_nobody_asks_any_more_are_gone() -> None:
    """A merged leaf counts what was below it; the thresholds below are in no table of the model any more."""
    rng = random.Random(5)
    rows = some_rows(rng, 20)
    tree = grown(rng, rows, 4)
    root, kept = pruned(tree, [0])
    assert root.nodes[0].support.counts == tuple(sum(y == k for _, y in rows) for k in range(CLASSES))
    assert (len(root.nodes), root.nodes.conditions, kept.tolist()) == (1, (), [0])


def test_leaves_of_which_one_counts_no_classes_become_one_that_counts_rows() -> None:
    """Where one leaf says only how many rows it has, the merged one does not say more."""
    nodes = (ModelNode(Support(), (("b", Test((0,))),), 1, 2), ModelNode(Support((2, 1))), ModelNode(Support(None, 4)))
    found = merge_leaves(encode(DOMAIN, [Tree(nodes)]), {"smallest_group": 5})
    assert found.release.models[0].nodes[0].support == Support(None, 7)


def test_what_one_leaf_violates_is_named() -> None:
    """Where even one leaf for everybody violates the policy, the rule is named, with what to do."""
    tree = grown(random.Random(1), some_rows(random.Random(1), 9), 3)
    with pytest.raises(NoMerging, match=r"rows of the smallest group: at least 10 wanted \(smallest_group\)"):
        merge_leaves(encode(DOMAIN, [tree]), {"smallest_group": 10})
    with pytest.raises(NoMerging, match="mean_bits_left"):
        merge_leaves(encode(DOMAIN, [tree]), {"mean_bits_left": 50})


def test_what_is_not_merged_is_refused_by_name() -> None:
    """Tables, rule sets, several models and noisy counts say what to do instead."""
    rows = some_rows(random.Random(2), 9)
    tree = grown(random.Random(2), rows, 2)
    table = Table((PublishedFigure((("a", Test((0,))),), count=3),), "t")
    for models, words in (
        ([table], "leave out its small groups"),
        ([RuleSet((Rule((("a", Test((0,))),), Support(None, 3)),))], "leave out its small groups"),
        ([tree, table], "give one file"),
        ([replace(tree, noise=Noise(NoiseLaw("discrete_laplace", 1)))], "then add noise"),
    ):
        with pytest.raises(Unsupported, match=words):
            merge_leaves(encode(DOMAIN, models, RowCount(9, 9) if len(models) == 1 else None), {"smallest_group": 2})


def test_the_clock_is_looked_at() -> None:
    """Without time left the search ends with a refusal."""
    tree = grown(random.Random(3), some_rows(random.Random(3), 20), 4)
    with pytest.raises(Inconclusive):
        merge_leaves(encode(DOMAIN, [tree]), {"mean_bits_left": 1.0}, Limits(seconds=0))


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_each_tree_of_a_forest_is_merged_as_little_as_it_must(seed: int, k: int) -> None:
    """The merges of a forest are the sum of those of its trees, by brute force, unless its trees together tell more."""
    rng = random.Random(seed)
    rows = some_rows(rng, 12)
    trees = [replace(grown(rng, rows, 3), name=f"tree {i}") for i in range(2)]
    policy = {"smallest_group": k, "class_disclosure": "forbidden"}
    best = [fewest(tree, rows, policy) for tree in trees]
    release = encode(DOMAIN, [Forest(tuple(trees))])
    if None in best:
        with pytest.raises(NoMerging):
            merge_leaves(release, policy)
        return
    found = merge_leaves(release, policy)
    if found.exact:
        assert found.merges == sum(best)  # type: ignore[arg-type]
        assert "each is merged alone" in found.how
    else:  # a class or a small group follows from several trees, each of which would meet the policy alone
        assert found.merges > sum(best)  # type: ignore[arg-type]
    assert (
        combined_outcome(outcomes(figures_of(found.release, Limits(), demands_of(policy)), demands_of(policy))) == "met"
    )


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_a_forest_meets_rules_about_everybody_greedily(seed: int) -> None:
    """What the trees together give away is measured together; the result meets the policy and is called greedy."""
    rng = random.Random(seed)
    rows = some_rows(rng, 8)
    trees = [replace(grown(rng, rows, 3), name=f"tree {i}") for i in range(2)]
    release = encode(DOMAIN, [Forest(tuple(trees))])
    policy = {"most_pinned": 0, "mean_bits_left": 1.5}
    roots = encode(DOMAIN, [Forest(tuple(pruned(t, [0] if len(t.nodes) > 1 else [])[0] for t in trees))])
    possible = combined_outcome(outcomes(figures_of(roots, Limits(), demands_of(policy)), demands_of(policy))) == "met"
    if not possible:
        with pytest.raises(NoMerging):
            merge_leaves(release, policy)
        return
    found = merge_leaves(release, policy)
    again = recon.measure(found.release, "multiset")
    assert again.determined_rows == 0
    assert again.entropy_bits is not None
    assert again.entropy_bits / 8 >= 1.5
    assert found.exact is (found.merges == 0)
    assert ("greedy" in found.how) is (found.merges > 0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_search_that_is_ended_says_what_it_knows(by_hand: bool) -> None:
    """Six further merges of two trees: 0, 1, 2, 4, then 3 are measured; what is known is said, or is the result."""
    policy = {"mean_bits_left": 1.5}
    release = next(r for r in map(_two_trees, range(200)) if _measured(r, policy)[:5] == [0, 1, 2, 4, 3])
    whole = merge_leaves(release, policy)
    for ended, known in ((0, "while 0"), (1, "with 0"), (2, "with 1 further"), (4, "with 2 further")):
        with pytest.raises(Inconclusive, match=known) as refused:
            merge_leaves(release, policy, _ended_at(ended, by_hand))
        assert ("not seen to be met" in str(refused.value)) is (ended > 0)
        assert str(refused.value).startswith("stopped" if by_hand else "the time was up")
    if by_hand:
        with pytest.raises(Inconclusive, match=r"with 2 further merges .* not seen to be met, with 4 it is"):
            merge_leaves(release, policy, _ended_at(3, by_hand))
        return
    found = merge_leaves(release, policy, _ended_at(3, by_hand))
    assert "the time was up" in found.how
    assert "with 2 further merges" in found.how
    assert "fewer than 4 may do" in found.how
    assert not found.exact
    assert found.merges >= whole.merges
    assert combined_outcome(outcomes(found.after, demands_of(policy))) == "met"


def _two_trees(seed: int) -> EncodedRelease:
    rng = random.Random(seed)
    rows = some_rows(rng, 8)
    return encode(DOMAIN, [Forest(tuple(replace(grown(rng, rows, 3), name=f"tree {i}") for i in range(2)))])


def _measured(release: EncodedRelease, policy: dict[str, float]) -> list[int]:
    """Return the numbers of further merges that are measured, in order."""
    seen: list[str] = []
    with suppress(NoMerging):
        merge_leaves(release, policy, Limits(progress=seen.append))
    return [int(text.split()[0]) for text in seen if "further merges" in text]


def _ended_at(merges: int, by_hand: bool) -> Limits:
    """Return limits that end when so many further merges are to be measured: by Ctrl-C, or as the work is used up."""

    def hear(text: str) -> None:
        if text.startswith(f"{merges} further"):
            if by_hand:
                limits.stop.set()
            else:
                limits.meter.used = math.inf

    limits = Limits(seconds=1e6, progress=hear)
    return limits


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_a_tree_too_large_for_the_exact_search_is_merged_greedily(seed: int) -> None:
    """Beyond its limit the search says so; what comes out meets the policy by hand and is called greedy."""
    rng = random.Random(seed)
    rows = some_rows(rng, 16)
    tree = grown(rng, rows, 3)
    policy = {"mean_bits_left": 1.5, "most_pinned": 1, "smallest_group": 2}
    best = fewest(tree, rows, policy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "MAX_PAIRS", 1)
        if best is None:
            with pytest.raises(NoMerging):
                merge_leaves(encode(DOMAIN, [tree]), policy)
            return
        found = merge_leaves(encode(DOMAIN, [tree]), policy)
    assert meets(by_hand(tree, found.collapsed[0], rows), policy)
    assert found.merges >= best
    greedy = found.how.startswith("greedy")
    assert greedy or found.merges == best
    assert found.exact is (not greedy or found.merges == 0)


def test_demands_are_read_from_values_and_tables() -> None:
    """An entry of a policy may be a value, or a table with a value."""
    policy = {"smallest_group": {"value": 10, "source": "x"}, "class_disclosure": "allowed", "most_pinned": 0}
    assert demands_of(policy) == Demands(smallest_group=10, most_pinned=0)
    assert demands_of({"class_disclosure": "forbidden"}).class_disclosure == 0


def test_figures_of_an_empty_release_meet_what_asks_of_people() -> None:
    """Nobody is in it: nobody is exposed."""
    release: EncodedRelease = encode(DOMAIN, [Tree((ModelNode(Support((0, 0))),))])
    facts = figures_of(release, Limits(), Demands())
    demands = Demands(smallest_group=5, most_pinned=0, mean_bits_left=3.0)
    assert combined_outcome(outcomes(facts, demands)) == "met"


def test_groups_of_resamples_are_not_passed_over() -> None:
    """A tree of one leaf tells its size, the other tree's leaves hold at least the rows that it drew of them."""
    leaf = ModelNode(Support((7, 5), None, 9))
    split = (
        ModelNode(Support(), (("b", Test((0,))),), 1, 2),
        ModelNode(Support((2, 1), None, 2)),
        ModelNode(Support((4, 5), None, 8)),
    )
    forest = Forest((Tree((leaf,), "one"), Tree(split, "two")), bootstrap=True)  # type: ignore[arg-type]
    release = encode(DOMAIN, [forest], RowCount(12, 12))
    facts = figures_of(release, Limits(seconds=10), Demands())
    assert facts["smallest_group"] == [2, 2]  # so few different rows were drawn of a leaf: a published count
    assert combined_outcome(outcomes(facts, Demands(smallest_group=3))) == "violated"
    found = merge_leaves(release, {"smallest_group": 3}, Limits(seconds=20))
    assert (found.merges, found.exact, found.how.startswith("greedy")) == (1, False, True)
    assert found.release.models[0].trees[1].nodes[0].support == Support((6, 6), None, 10)  # type: ignore[union-attr]
