"""Forests, rule sets, tables and joins against brute force over every dataset: all conventions, all questions."""

from __future__ import annotations

import functools
import gc
import math
import random
import statistics
import weakref
from collections import Counter

import oracle
import oracle_coupled
import pytest
from extras import batches, encoded
from test_against_oracle import canonical_rows, names, random_profile, weight

import recon
from solvers.cells import system
from solvers.foundation.errors import ContradictionError

BATCHES, TWICE = batches(2, 10), batches(2, 18)
PER_BATCH = 50
CONVENTIONS = ("ordered", "multiset")


def releases(test, batch, number=PER_BATCH):
    """Yield random releases that are not one tree or rule list, others for every test."""
    rng = random.Random(f"{test} {batch}")
    found = 0
    while found < number:
        release, truth = oracle_coupled.random_coupled(rng)
        if len(release["models"]) > 1 or release["models"][0]["kind"] in {"forest", "rule_set", "table"}:
            found += 1
            yield rng, release, truth


def close(a, b):
    return (a is None and b is None) or math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-9)


def total(figure):
    return sum(figure.values()) if isinstance(figure, dict) else figure


@pytest.mark.slow
@pytest.mark.parametrize("batch", TWICE)
def test_count_and_measures(batch):
    for _, release, truth in releases("count", batch):
        got = encoded(release)
        for convention in CONVENTIONS:
            answer = recon.count(got, convention)
            expected = oracle.count(release, convention)
            assert answer.value == total(expected), release
            assert answer.status == "exact"
            assert close(answer.log2, math.log2(total(expected)))
            if isinstance(expected, dict):
                logs = {n: math.log2(c) for n, c in expected.items() if c}
                assert answer.log2_per_rows.keys() == logs.keys()
                assert all(close(answer.log2_per_rows[n], x) for n, x in logs.items())
                continue
            measures = recon.measure(got, convention)
            assert close(measures.entropy_bits, oracle.entropy_bits(release, convention))
            assert close(measures.uninformed_bits, oracle.uninformed_bits(release, convention))
            assert close(measures.dist_g, oracle.dist_g(release, convention))
            certain = sum(c for c in Counter(canonical_rows_in_all(release)).values())
            assert measures.determined_rows <= certain <= len(truth)


def canonical_rows_in_all(release):
    """Return the rows, with multiplicity, that every dataset has."""
    every = [Counter(d) for d in oracle.datasets(release)]
    common = every[0]
    for d in every[1:]:
        common = common & d
    return list(common.elements())


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_worlds_are_all_the_datasets_once(batch):
    for _, release, _ in releases("worlds", batch):
        got = encoded(release)
        decode = [[oracle.canonical(a.value(i)) for i in range(a.span[1])] for a in got.domain.all]
        listed = [
            tuple(sorted((tuple(d[i] for d, i in zip(decode, r, strict=True)) for r in w.indices().tolist()), key=repr))
            for w in recon.worlds(got, limit=None)
        ]
        expected = {tuple(sorted(d, key=repr)) for d in oracle.datasets(release)}
        assert len(set(listed)) == len(listed)
        assert set(listed) == expected
        guess = recon.reconstruct(got)
        rows = canonical_rows(guess.to_frame())
        assert rows in expected
        assert guess.unique == (len(expected) == 1)
        most = max(len(d) for d in expected)
        assert weight(rows) == max(weight(d) for d in expected if len(d) == most)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", TWICE)
def test_certify(batch):
    for rng, release, truth in releases("certify", batch):
        got = encoded(release)
        profiles = [random_profile(rng, release, truth, full=i == 0) for i in range(3)]
        for convention in CONVENTIONS:
            lines = recon.certify(got, profiles, convention).to_dict("records")
            for profile, line in zip(profiles, lines, strict=True):
                expected = oracle.membership(release, profile, convention)
                assert line["verdict"] == expected["verdict"], (release, profile, convention)
                assert line["min_count"] == expected["min_count"]
                assert line["max_count"] == expected["max_count"]
                assert close(line["probability"], expected["probability"]), (release, profile, convention)
                assert close(line["expected_count"], expected["expected_count"]), (release, profile, convention)
                assert close(line["probability_before"], expected["probability_before"]), (release, profile, convention)


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_attribute(batch):
    for rng, release, truth in releases("attribute", batch, 25):
        got = encoded(release)
        profile = random_profile(rng, release, truth)
        sensitive = rng.choice(names(release))
        profile.pop(sensitive, None)
        for convention in CONVENTIONS:
            expected = oracle.attribute(release, profile, sensitive, convention)
            for line in recon.attribute(got, [profile], sensitive, convention).to_dict("records"):
                want = expected[oracle.canonical(line["value"])]
                for key in ("probability", "lower", "upper"):
                    value = None if math.isnan(line[key]) else line[key]
                    assert close(value, want[key]), (release, profile, sensitive, convention, key)
                assert (line["min_count"], line["max_count"]) == (want["min_count"], want["max_count"])
                assert line["certain"] == want["certain"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_contradictions_have_no_world(batch):
    rng = random.Random(f"contradiction {batch}")
    for _ in range(20):
        release = oracle_coupled.contradictory(rng)
        try:
            got = encoded(release)
        except (recon.ReleaseError, ContradictionError):
            continue  # counts that differ from `rows` or from each other are refused when read
        assert recon.count(got, "ordered").status == "unsat", release
        with pytest.raises(ContradictionError):
            recon.certify(got, [{}])


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_samples_are_uniform(convention):
    """Pearson's χ² over all worlds of twelve releases; one in a million would exceed the bound."""
    statistic = freedom = 0.0
    for _, release, _ in releases("sample", 0, 12):
        if isinstance(oracle.count(release, convention), dict):
            continue
        shares = Counter()
        for worlds in oracle.worlds(release, convention).values():
            for world, times in worlds:
                shares[tuple(sorted(world, key=repr))] += times
        drawn = recon.sample(encoded(release), 300, seed=7, convention=convention)
        seen = Counter(canonical_rows(w.to_frame()) for w in drawn)
        assert set(seen) <= set(shares)
        whole = sum(shares.values())
        statistic += sum((seen[w] - 300 * t / whole) ** 2 / (300 * t / whole) for w, t in shares.items())
        freedom += len(shares) - 1
    assert statistic < freedom + 5 * math.sqrt(2 * freedom) + 20


def test_a_release_takes_its_cells_and_graphs_with_it():
    _, release, _ = next(releases("memory", 0, 1))
    got = encoded(release)
    recon.count(got)
    recon.certify(got, [{}])
    kept = weakref.ref(got.statements)
    del got
    gc.collect()
    assert kept() is None


def numeric_names(release):
    found = [n for n in names(release) if all(map(oracle._is_number, oracle._Space(release).values_of(n)))]
    return found + list(release["domain"].get("columns", {}))


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", BATCHES)
def test_bound(batch):
    """Counts, means and correlations: extremes, expectation, distribution, and worlds that attain the extremes."""
    for rng, release, truth in releases("bound", batch, 25):
        got = encoded(release)
        where = random_profile(rng, release, truth)
        numeric = numeric_names(release)
        asked = [None, *rng.sample(numeric, min(2, len(numeric)))]
        if len(numeric) > 1:
            asked.append(tuple(rng.sample(numeric, 2)))
        for convention in CONVENTIONS:
            for of in asked:
                found = recon.bound(got, where, of, convention)
                want = oracle.bound(release, where, convention, of=of)
                at = (release, where, of, convention)
                assert found.status == "exact", at
                assert close(found.min, want["min"]), at
                assert close(found.max, want["max"]), at
                assert close(found.expectation, want["expectation"]), at
                if of is None:
                    shares = oracle.distribution(release, where, convention)
                    spread = found.distribution()
                    assert spread.keys() == {k for k, s in shares.items() if s}, at
                    assert all(close(spread[k], s) for k, s in shares.items() if s), at
                if found.min is not None:
                    for greatest, value in ((False, found.min), (True, found.max)):
                        rows = found.attained(greatest).to_frame()
                        assert close(statistic(release, rows, where, of), value), at


def statistic(release, frame, where, of):
    """Return the statistic of the rows of a frame that meet a condition, by the oracle's reading of conditions."""
    space = oracle._Space(release)
    rows = [tuple(map(oracle.canonical, r)) for r in frame.itertuples(index=False)]
    group = [r for r in rows if space.holds(where, r)]
    if of is None:
        return len(group)
    if isinstance(of, str):
        return sum(space.value_at(of, r) for r in group) / len(group)
    return statistics.correlation(*([float(space.value_at(name, r)) for r in group] for name in of))


@pytest.mark.slow
def test_sums_of_too_many_values_are_bounded_and_never_counted():
    """Income has 100,001 values: verdicts follow from the least and greatest value of each part."""
    income = {"name": "income", "min": 0, "max": 100_000}
    figures = [
        {"where": {"sex": "F"}, "count": 3},
        {"where": {"sex": "F"}, "mean": {"of": "income", "value": 20_000}},
        {"where": {"income": {"at_least": 50_000}}, "count": 1},
        {"where": {"sex": "M"}, "total": {"of": "income", "value": 40_000}},
    ]
    domain = {"attributes": [income, {"name": "sex", "values": ["F", "M"]}]}
    release = {"recon": 1, "domain": domain, "rows": 5, "models": [{"kind": "table", "statements": figures}]}
    got = encoded(release)
    rich = recon.bound(got, {"sex": "F", "income": {"at_least": 50_000}})
    assert (rich.min, rich.max) == (1, 1)
    lines = recon.certify(got, [{"sex": "F", "income": 60_000}, {"sex": "M", "income": 60_000}])
    assert lines["verdict"].tolist() == ["unknown", "impossible"]
    assert recon.count(got).status == "bounds"
    with pytest.raises(recon.Unsupported, match="too many values to cut"):
        recon.reconstruct(got)
    figures[3]["total"]["value"] = 200_001
    assert recon.count(encoded(release)).status == "unsat"


def table_release(attribute, rows, *figures, label=None):
    domain = {"attributes": [attribute]} | ({"label": label} if label else {})
    return {"recon": 1, "domain": domain, "rows": rows, "models": [{"kind": "table", "statements": list(figures)}]}


def test_large_numbers_are_refused_and_never_wrap_around():
    x = {"name": "x", "values": [0, 1, 2 * 10**18]}
    most = {"where": {"x": 2 * 10**18}, "at_least": 1, "at_most": 7}
    with pytest.raises(recon.Unsupported, match="exceed 2\\^59"):
        recon.bound(encoded(table_release(x, 8, most)), {}, "x")
    first = 576460752303423489
    near = {"name": "x", "values": [first, first + 1, first + 2]}
    total = {"total": {"of": "x", "value": 1152921504606846978, "within": 2}}
    release = table_release(near, 2, total)
    found = recon.count(encoded(release))
    assert oracle.count(release, "ordered") == 6
    assert (found.status, found.value) == ("exact", 6)  # column by column, in whole numbers of any size


def test_a_correlation_is_that_of_shifted_and_scaled_values():
    x = {"name": "x", "values": [0, 0.5, 0.9876543]}
    figures = [{"where": {"x": v, "y": y}, "count": 1} for v, y in ((0.9876543, 1), (0.5, 1), (0, 0), (0.5, 0))]
    release = table_release(x, 4, *figures, label={"name": "y", "values": [0, 1]})
    found, want = recon.bound(encoded(release), {}, ("x", "y")), oracle.bound(release, {}, "ordered", of=("x", "y"))
    assert close(found.min, want["min"])
    assert close(found.expectation, want["expectation"])


def test_time_that_ends_inside_propagation_hides_no_contradiction(monkeypatch):
    figures = [{"where": {"x": v}, "count": 2} for v in (0, 1)]
    got = encoded(table_release({"name": "x", "values": [0, 1]}, 3, *figures))
    late = functools.partial(system.propagate, expired=lambda: True)
    monkeypatch.setattr(system, "propagate", lambda linear, low, high, _: late(linear, low, high))
    assert recon.count(got).status == "unsat"


def test_leave_one_out_follows_the_convention():
    """Brute force over all datasets: a row that is (q, v) is taken out, worlds weigh as the convention says."""
    domain = {"attributes": [{"name": "a", "values": [0, 1, 2]}, {"name": "s", "values": [0, 1]}]}
    figures = [
        {"where": {"a": 1}, "at_least": 1, "at_most": 3},
        {"where": {"s": 1}, "at_least": 1, "at_most": 3},
        {"where": {"a": 1, "s": 1}, "count": 1},
    ]
    release = {"recon": 1, "domain": domain, "rows": 4, "models": [{"kind": "table", "statements": figures}]}
    got = encoded(release)
    for convention, expected in (("ordered", (0.25, 0.375)), ("multiset", (2 / 9, 1 / 3))):
        lines = recon.attribute(got, [{"a": 1}, {"a": 0}], "s", convention).set_index(["profile", "value"])
        assert lines.loc[(0, 0), "leave_one_out"] == pytest.approx(expected[0])
        assert lines.loc[(1, 1), "leave_one_out"] == pytest.approx(expected[1])
