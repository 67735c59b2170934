"""Published values, closed formulas and extreme sizes."""

from __future__ import annotations

import json
import math
import random
import time
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid, Test, View
from encoders.encode.encoder import encode
from encoders.models.models import PublishedFigure, Rule, RuleList, Table, Tree
from encoders.models.nodes import ModelNode, Support
from solvers.foundation import exact
from solvers.statements.release import RowCount

BIT = (0, 1)
LABEL = Categorical("y", BIT)


def bits(d, label=True):
    return Domain(tuple(Categorical(f"b{k}", BIT) for k in range(d)), LABEL if label else None)


def leaf(*counts):
    return ModelNode(Support(counts))


def single_leaf(domain, *counts, plain=None):
    return encode(domain, [Tree((ModelNode(Support(counts or None, plain)),))])


TABLE_II = Domain((Grid.between("a1", 10, 15), Categorical("a2", BIT), Categorical("a3", (1, 2, 3))), LABEL)


def table_ii():
    nodes = (
        ModelNode(Support(), (("a3", Test(high=1)),), 1, 2),
        leaf(0, 1),
        ModelNode(Support(), (("a1", Test(high=11)),), 3, 4),
        leaf(0, 1),
        leaf(2, 0),
    )
    return encode(TABLE_II, [Tree(nodes)])


def test_table_ii():
    release = table_ii()
    assert recon.count(release).value == 24_576
    m = recon.measure(release)
    assert m.uninformed_bits == pytest.approx(4 * math.log2(36), abs=1e-12)
    assert m.dist == pytest.approx(0.7355877747, abs=5e-11)
    assert m.dist_g == pytest.approx(0.7052792109, abs=5e-11)
    shown = recon.table(release)
    assert shown["a1"].tolist() == ["any", "10..11", "12..15", "12..15"]
    assert shown["a3"].tolist() == ["{1}", "{2, 3}", "{2, 3}", "{2, 3}"]
    assert (shown["joint"] == "").all()


def test_rule_list_1():
    rules = (
        Rule((("b0", Test(values=(1,))), ("b1", Test(values=(1,)))), Support((0, 2))),
        Rule((("b2", Test(values=(1,))),), Support((2, 0))),
        Rule((), Support((0, 1))),
    )
    release = encode(bits(3), [RuleList(rules)])
    m = recon.measure(release)
    assert recon.count(release).value == 108
    assert m.dist is None
    # An early note prints 0.4503258336; log2(108)/15 is 0.45032583348 (the last printed digit is off).
    assert m.dist_g == pytest.approx(math.log2(108) / 15, abs=1e-14)
    assert m.dist_g == pytest.approx(0.4503258336, abs=2e-10)
    assert [int(s) for s in m.exposure["worlds_per_row"][::2]] == [2, 3, 3]
    expected = 2 * (math.log2(2) - math.log2(2)) + 2 * (math.log2(4) - math.log2(3)) + math.log2(8) - math.log2(3)
    assert m.bits_due_to_order == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("known", "worlds", "dist_g"), [(("a1", 1), 3, 0.6131471928), (("a2", 1), 2, 0.3868528072)])
def test_tables_vi_and_vii(known, worlds, dist_g):
    domain = Domain((Categorical("a1", BIT), Categorical("a2", (1, 2, 3))))
    nodes = (
        ModelNode(Support(), ((known[0], Test(values=(known[1],))),), 1, 2),
        ModelNode(Support(count=1)),
        ModelNode(Support(count=0)),
    )
    release = encode(domain, [Tree(nodes)])
    m = recon.measure(release)
    assert recon.count(release).value == worlds
    assert m.dist == pytest.approx(0.5, abs=1e-12)
    assert m.dist_g == pytest.approx(dist_g, abs=5e-11)
    as_table = recon.measure(
        encode(domain, [Table((PublishedFigure((nodes[0].condition[0],), count=1),))], RowCount(1, 1))
    )
    assert (as_table.convention, as_table.dist) == ("ordered", pytest.approx(0.5, abs=1e-12))
    assert as_table.dist_g == pytest.approx(dist_g, abs=5e-11)


@pytest.mark.parametrize("table", [False, True])
def test_dist_of_rows_in_no_known_order_is_that_of_their_marginals(table):
    """Def. 2 over all sequences of three rows that agree with the counts, listed one by one."""
    domain = Domain((Categorical("a1", BIT), Categorical("a2", (1, 2, 3)), Categorical("a3", BIT)))
    first, second = (("a1", Test(values=(1,))),), (("a2", Test(high=1)), ("a3", Test(values=(0,))))
    if table:
        release = encode(domain, [Table((PublishedFigure(first, count=1), PublishedFigure(second, count=2),
                                         PublishedFigure(first + second, count=0)))], RowCount(3, 3))  # fmt: skip
    else:
        release = encode(domain, [RuleList((Rule(first, Support(count=1)), Rule(second, Support(count=2)),
                                            Rule((), Support(count=0))))])  # fmt: skip
    rows = list(product(BIT, (1, 2, 3), BIT))
    held = [
        world for world in product(rows, repeat=3)
        if sum(a == 1 for a, _, _ in world) == 1 and sum((b, c) == (1, 0) and not a for a, b, c in world) == 2
        and (not table or not any(a and (b, c) == (1, 0) for a, b, c in world))
    ]  # fmt: skip
    found = recon.measure(release, "ordered")
    assert found.counted.value == len(held)
    shares = []
    for k, values in enumerate((BIT, (1, 2, 3), BIT)):
        marginal = [Fraction(sum(world[0][k] == v for world in held), len(held)) for v in values]
        shares.append(-sum(float(p) * math.log2(p) for p in marginal if p) / math.log2(len(values)))
    assert found.dist == pytest.approx(sum(shares) / 3, abs=1e-12)
    assert recon.measure(release, "multiset").dist is None


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(2, 40), st.integers(0, 2**32))
def test_dist_g_of_a_tree_over_bits_is_one_minus_mean_depth_over_d(d, seed):
    rng = random.Random(seed)
    nodes, depth_rows, stack, total = [], 0, [(0, frozenset())], 0
    nodes.append(None)
    while stack:
        i, used = stack.pop()
        if len(used) == d or rng.random() < 0.25 or len(nodes) > 200:
            counts = (rng.randrange(9), rng.randrange(1, 9))
            nodes[i], total = leaf(*counts), total + sum(counts)
            depth_rows += sum(counts) * len(used)
            continue
        k = rng.choice([k for k in range(d) if k not in used])
        nodes[i] = ModelNode(Support(), ((f"b{k}", Test(high=0.5)),), len(nodes), len(nodes) + 1)
        stack += [(len(nodes), used | {k}), (len(nodes) + 1, used | {k})]
        nodes += [None, None]
    m = recon.measure(encode(bits(d), [Tree(tuple(nodes))]))
    assert m.dist_g == pytest.approx(1 - depth_rows / total / d, abs=1e-12)
    assert m.dist == pytest.approx(m.dist_g, abs=1e-12)


@pytest.mark.parametrize("d", [10, 64, 65, 1_000, 5_000])
def test_width_one_list_captures_powers_of_two(d):
    length = 9
    rules = tuple(Rule(((f"b{j}", Test(values=(1,))),), Support((1, 1))) for j in range(length))
    m = recon.measure(encode(bits(d), [RuleList((*rules, Rule((), Support((1, 1)))))]))
    sizes = m.exposure["worlds_per_row"][::2].tolist()
    assert sizes == [2 ** (d - j) for j in range(1, length + 1)] + [2 ** (d - length)]
    assert m.dist is not None


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(1, 2000), st.integers(1, 70), st.sampled_from(["assigned", "ordered", "multiset"]))
def test_a_release_that_says_nothing_has_dist_g_one(n, d, convention):
    release = single_leaf(bits(d), plain=n)
    assert recon.measure(release, convention).dist_g == pytest.approx(1, abs=1e-13)
    assert recon.measure(single_leaf(bits(d), n, 0)).dist_g == 1


def test_rules_that_no_row_can_match():
    never = (("b0", Test(values=(1,))), ("b1", Test(values=(0,))))
    rules = (
        Rule((("b0", Test(values=(1,))),), Support((1, 1))),
        Rule(never, Support((0, 0))),
        Rule((), Support((1, 0))),
    )
    answer = recon.count(encode(bits(3), [RuleList(rules)]))
    assert answer.value == 4**3
    everything = (
        Rule((("b0", Test(values=(1,))),), Support((1, 1))),
        Rule((("b0", Test(values=(0,))),), Support((2, 0))),
    )
    covered = encode(bits(3), [RuleList((*everything, Rule((), Support((0, 0)))))])
    assert recon.count(covered).value == 4**4
    broken = encode(bits(3), [RuleList((*everything, Rule((), Support((0, 1)))))])
    answer = recon.count(broken)
    assert (answer.status, answer.value, answer.conflict) == (
        "unsat",
        0,
        ("rule list, default rule, class 1: 1 rows, but no row can be there",),
    )
    with pytest.raises(recon.ContradictionError, match="no possible world"):
        recon.certify(broken, [{"b0": 1}])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("convention", ["assigned", "ordered", "multiset"])
def test_a_leaf_with_a_million_rows(convention):
    n = 10**6
    release = single_leaf(bits(20), n - 7, 7)
    answer = recon.count(release, convention)
    size = 2**20
    if convention == "assigned":
        assert answer.factors == [(size, n - 7), (size, 7)]
        assert answer.log2 == 20.0 * n
    elif convention == "ordered":
        expected = Fraction(math.comb(n, 7))
        assert answer.log2 == pytest.approx(20 * n + math.log2(expected), rel=1e-15)
        assert answer.value == size**n * math.comb(n, 7)
    else:
        small = math.log2(math.comb(size + 6, 7))
        stirling = (math.lgamma(size + n - 7) - math.lgamma(size) - math.lgamma(n - 6)) / math.log(2)
        assert answer.log2 == pytest.approx(small + stirling, rel=1e-9)
    assert answer.log2_value() == pytest.approx(answer.log2, rel=1e-13)


def test_log2_of_small_answers_does_not_cancel():
    assert exact.log2_multinomial([10**6 - 1, 1]) == pytest.approx(math.log2(10**6), rel=1e-15)
    assert exact.log2_multisets(2, 10**6) == pytest.approx(math.log2(10**6 + 1), rel=1e-12)
    assert exact.log2_multisets(10**6, 1) == pytest.approx(math.log2(10**6), rel=1e-15)
    assert exact.log2_multisets(2**5000, 3) == pytest.approx(15000 - math.log2(6), rel=1e-15)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=6), st.integers(1, 80), st.integers(0, 60))
def test_factors_are_exact(counts, size, count):
    n = sum(counts)
    expected = math.factorial(n) // math.prod(map(math.factorial, counts))
    assert exact.product(exact.multinomial_factors(counts)) == expected
    assert exact.log2_multinomial(counts) == pytest.approx(math.log2(expected), rel=1e-14, abs=1e-15)
    choose = math.comb(size + count - 1, count)
    assert exact.product(exact.multiset_factors(size, count)) == choose
    assert exact.product(exact.multiset_factors(size + 10**9, count)) == math.comb(size + 10**9 + count - 1, count)
    assert exact.log2_multisets(size, count) == pytest.approx(math.log2(choose), rel=1e-13, abs=1e-13)


def test_integers_with_a_trillion_values():
    domain = Domain((Grid.between("income", 0, 10**12 - 1), Categorical("b", BIT)), LABEL)
    nodes = (ModelNode(Support(), (("income", Test(high=999_999.5)),), 1, 2), leaf(3, 0), leaf(0, 2))
    release = encode(domain, [Tree(nodes)])
    assert recon.count(release).value == (2 * 10**6) ** 3 * (2 * (10**12 - 10**6)) ** 2
    lines = recon.certify(release, [{"income": 999_999, "b": 1, "y": 0}, {"income": 10**6, "y": 0}])
    assert lines["verdict"].tolist() == ["possible", "impossible"]
    assert lines["expected_count"][0] == pytest.approx(3 / (2 * 10**6), rel=1e-12)
    world = recon.sample(release, 1)[0].to_frame()
    assert (world["income"][world["y"] == 0] < 10**6).all()
    rules = (Rule((("income", Test(high=5)), ("b", Test(values=(1,)))), Support((1, 0))), Rule((), Support((0, 1))))
    listed = encode(domain, [RuleList(rules)])
    assert recon.count(listed).value == 6 * (2 * 10**12 - 6)


def test_thresholds_of_several_kinds_on_one_attribute():
    domain = Domain(
        (Categorical("size", ("S", "M", "L", "XL")), Grid.between("t", 0, 1, 0.1)),
        LABEL,
        {"big": View("size", Test(low="L"))},
    )
    nodes = (
        ModelNode(Support(), (("size", Test(high="M")),), 1, 2),
        leaf(1, 0),
        ModelNode(Support(), (("big", Test(high=0.5)),), 3, 4),
        leaf(0, 0),
        ModelNode(Support(), (("t", Test(low=0.25, high=0.7, high_open=True)),), 5, 6),
        leaf(1, 0),
        leaf(0, 1),
    )
    release = encode(domain, [Tree(nodes)])
    assert recon.measure(release).exposure["worlds_per_row"][::2].tolist() == [22, 0, 8, 14]


def test_continuous_attributes_give_relative_figures_only():
    domain = Domain((Continuous("bmi", Fraction(10), Fraction(60)),), LABEL)
    nodes = (ModelNode(Support(), (("bmi", Test(high=22.5)),), 1, 2), leaf(4, 0), leaf(0, 4))
    release = encode(domain, [Tree(nodes)])
    m = recon.measure(release)
    assert (m.counted.value, m.entropy_bits, m.dist_g) == (None, None, None)
    assert m.bits_removed_per_row == pytest.approx((math.log2(4) + math.log2(4 / 3)) / 2)
    lines = recon.certify(release, [{"bmi": 22.5, "y": 1}, {"bmi": 22.5, "y": 0}, {"bmi": 30.01}])
    assert lines["verdict"].tolist() == ["impossible", "possible", "possible"]
    assert lines["probability"].isna().all()
    rows = recon.reconstruct(release).to_frame()
    assert sorted(zip(rows["bmi"] <= 22.5, rows["y"], strict=True)) == [(False, 1)] * 4 + [(True, 0)] * 4
    for ask in (recon.sample, lambda r: next(recon.worlds(r))):
        with pytest.raises(recon.Unsupported, match="resolution"):
            ask(release)


def test_rows_in_an_interval_are_summed_and_mixed():
    rules = (Rule((("b0", Test(values=(1,))),), Support((1, 0))),)
    release = encode(bits(2), [RuleList(rules)], RowCount(2, 4))
    # The default rule holds n - 1 rows of 4 raw rows (2 x label).
    assert recon.count(release).value == sum(2 * 4 ** (n - 1) for n in (2, 3, 4))
    assert recon.count(release, "ordered").value == sum(n * 2 * 4 ** (n - 1) for n in (2, 3, 4))
    assert recon.count(release, "multiset").value == sum(2 * math.comb(4 + n - 2, n - 1) for n in (2, 3, 4))
    line = recon.certify(release, [{"b0": 0, "b1": 0, "y": 0}]).iloc[0]
    assert (line["verdict"], line["min_count"], line["max_count"]) == ("possible", 0, 3)
    assert line["probability"] == pytest.approx(sum(1 - 0.75 ** (n - 1) for n in (2, 3, 4)) / 3)
    assert {w.rows for w in recon.sample(release, 60)} == {2, 3, 4}
    listed = list(recon.worlds(release, None))
    assert len(listed) == recon.count(release, "multiset").value


def test_a_tree_with_48842_rows_is_counted_and_certified_quickly():
    """Not a benchmark (see tests/bench): only that nothing is quadratic in rows."""
    nodes = (ModelNode(Support(), (("b0", Test(high=0.5)),), 1, 2), leaf(20_000, 4_421), leaf(20_000, 4_421))
    begun = time.process_time()
    release = encode(bits(20), [Tree(nodes)])
    assert recon.count(release).log2 == 48_842 * 19
    assert time.process_time() - begun < 30


def test_json_output_has_the_keys_of_the_contract(tmp_path):
    from recon.report.wording.headline import count_json

    found = count_json(table_ii(), recon.measure(table_ii()))
    keys = [
        "convention",
        "status",
        "guarantee",
        "worlds",
        "log2_worlds",
        "log2_lower",
        "log2_upper",
        "rows",
        "uninformed_bits",
        "entropy_bits",
        "bits_removed_per_row",
        "dist_g",
        "dist_g_mentioned",
        "dist",
        "regions",
        "assumptions",
        "engine",
        "seconds",
        "trail",
    ]
    assert set(keys) <= found.keys()
    assert found["worlds"] == "24576"
    assert [(r["name"], r["rows"], r["worlds_per_row"]) for r in found["regions"]] == [
        ("leaf 1", 1, "12"),
        ("leaf 3", 1, "8"),
        ("leaf 4", 2, "16"),
    ]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_long_counts_are_printed_past_pythons_limit():
    from recon.report.wording.headline import decimal, worlds_text

    answer = recon.count(single_leaf(bits(64), 1000, 0))
    assert worlds_text(answer) is None
    text = worlds_text(answer, 30_000)
    assert len(text) == 19_266
    assert text.startswith(decimal(2**64000 // 10**19_246)[:20])
    assert int(text[:4000]) == 2**64000 // 10 ** (19_266 - 4000)


def test_a_short_range_of_a_continuous_attribute_is_never_certain():
    domain = Domain((Continuous("x", Fraction(0), Fraction(2)),), LABEL)
    release = encode(domain, [Tree((ModelNode(Support(), (("x", Test(high=1)),), 1, 2), leaf(3, 0), leaf(0, 2)))])
    line = recon.certify(release, [{"x": 0.5}]).iloc[0]
    assert (line["verdict"], line["min_count"], line["max_count"]) == ("possible", 0, 3)
    answer = recon.bound(release, {"x": {"below": 0.25}})
    assert (answer.min, answer.max) == (0, 3)
    whole = recon.bound(release, {"x": {"at_most": 1}})
    assert (whole.min, whole.max) == (3, 3)
    point = (
        ModelNode(Support(), (("x", Test(high=1, high_open=True)),), 1, 2),
        leaf(3, 0),
        ModelNode(Support(), (("x", Test(high=1)),), 3, 4),
        leaf(0, 2),
        leaf(0, 0),
    )
    with pytest.raises(recon.ReleaseError, match="resolution"):
        encode(domain, [Tree(point)])


def test_a_row_space_that_is_empty_holds_no_rows():
    nothing = Domain((Categorical("a", BIT),), LABEL, impossible=((("a", Test(values=(0, 1))),),))
    release = single_leaf(nothing, 0, 0)
    for convention in ("assigned", "ordered", "multiset"):
        assert recon.measure(release, convention).counted.value == 1
        assert recon.certify(release, [{"a": 1}], convention)["verdict"][0] == "impossible"
        assert recon.bound(release, {"a": 1}, convention=convention).max == 0


def test_dist_g_mentioned_leaves_a_label_out_that_nobody_names():
    def over_age(*more, label):
        attributes = (Grid.between("age", 0, 9), *more)
        nodes = (
            ModelNode(Support(), (("age", Test(high=2)),), 1, 2),
            ModelNode(Support(count=3)),
            ModelNode(Support(count=2)),
        )
        return recon.measure(encode(Domain(attributes, label), [Tree(nodes)])).dist_g_mentioned

    assert over_age(label=None) == pytest.approx(over_age(Categorical("b", BIT), label=LABEL), abs=1e-14)


def test_values_are_not_rounded_on_the_way_in():
    import pandas as pd

    release = table_ii()
    for frame in (pd.DataFrame({"a1": [10.7]}), [{"a1": 10.7}], pd.DataFrame({"a1": ["10"]})):
        found = recon.certify(release, frame)
        assert found["verdict"].tolist() == ["outside"]
        assert "row 1, column 'a1'" in " ".join(found.attrs["notes"])
    with pytest.raises(recon.ReleaseError, match="one value per column"):
        recon.certify(release, [{"a1": {"below": 12}}])
    with pytest.raises(recon.ReleaseError, match="DataFrame"):
        recon.certify(release, "profiles.csv")
    nullable = pd.DataFrame({"a1": pd.array([11, None], dtype="Int64")})
    assert recon.certify(release, nullable)["max_count"].tolist() == [2, 4]
    assert recon.certify(release, {"a1": 11.0})["max_count"].tolist() == [2]
    assert recon.certify(release, [{"a1": 10**400}])["verdict"].tolist() == ["outside"]


def test_what_some_world_lacks_is_never_said_to_be_in_all_of_them():
    """1 - (1/2)^200 rounds to 1: the share of a profile that is merely possible stays below it."""
    domain = recon.Domain((Categorical("a", (0, 1)),), None, {})
    release = encode(domain, [RuleList((Rule((), Support(count=200)),))])
    found = recon.certify(release, [{"a": 1}])
    assert found["verdict"].tolist() == ["possible"]
    assert 0.999 < found["probability"].iloc[0] < 1.0
