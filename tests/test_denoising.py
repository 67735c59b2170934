"""Consistent counts: the relaxation's proved bound, rounding, moves of rows and the direct optimum, by brute force."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from extras import batches
from hypothesis import given, settings
from hypothesis import strategies as st
from test_likeliest import LAWS, by_a, by_b, every, noisy_release, overlapping, private_forest, rules, solved
from test_noisy_commands import EXACT, LAPLACE, NOISY, tree, write  # noqa: F401 - fixtures

import recon
from solvers.foundation.limits import Limits
from solvers.noisy.likelihood import maximum as denoised
from solvers.noisy.likelihood.maximum import greatest
from solvers.noisy.likelihood.most_likely import _shape_of, gains_of, most_likely_of
from solvers.programs.concave import fractional
from solvers.programs.concave import terms as multipliers
from solvers.programs.concave.fractional import relax
from solvers.programs.concave.local_search import ConcaveSearch, StartHistogram, improved
from solvers.programs.concave.separable import shares_of
from solvers.programs.concave.terms import (
    ConcaveTerm,
    Gains,
    binding,
    conjugates,
    gain_bound,
    proved_anywhere,
    rounded_histogram,
)
from solvers.statements.boxes import Box, Region
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.observations import Observation
from solvers.statements.release import RowCount, Statement

MAKERS = [by_a, by_b, rules, overlapping]
LONG = Limits(seconds=1e6)  # from now on, when tests are collected


def some_release(seed, most=3):
    """Return a random release of trees, rule lists, rule sets; noisy ones of any law beside exact ones."""
    rng = random.Random(f"denoising {seed}")
    blocks = [make() for make in rng.sample(MAKERS, rng.randint(1, most))]
    laws = [rng.choice(LAWS), *(rng.choice([None, *LAWS]) for _ in blocks[1:])]
    return noisy_release(rng, blocks, laws)[0]


def one_noisy(seed):
    """Return a random release of one noisy tree or rule list, rows known or in an interval."""
    rng = random.Random(f"one {seed}")
    rows = rng.choice([None, RowCount(2, 2), RowCount(0, 5), RowCount(3, 6)])
    return noisy_release(rng, [rng.choice([by_a, by_b, rules])()], [LAWS[seed % len(LAWS)]], rows)[0]


def prepared(release):
    system, seen, _ = solved(release)
    return system, Gains(gains_of(system, seen)), max(total for _, total, _ in every(release))


@pytest.mark.slow
@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 10**6), st.lists(st.floats(-3, 3), min_size=24, max_size=24))
def test_any_multipliers_prove_a_bound(seed, multipliers):
    system, gains, best = prepared(some_release(seed))
    stated = binding(system)
    stated[gains.statement] = False
    others = np.flatnonzero(stated)
    given_multipliers = np.resize(np.array(multipliers), len(gains) + len(others))
    on_gains, on_others = given_multipliers[: len(gains)], given_multipliers[len(gains) :]
    assert gain_bound(system, gains, on_gains, others, on_others) >= best - 1e-12 * abs(best)


@pytest.mark.slow
@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 10**6))
def test_the_relaxation_is_never_below_the_best_and_what_is_proved_is_the_best(seed):
    release = some_release(seed)
    system, gains, best = prepared(release)
    found = relax(system, gains, LONG)
    assert found.bound >= best - 1e-12 * abs(best)
    assert found.value >= best - 1e-6
    assert found.bound == pytest.approx(found.value, abs=1e-5) or found.bound < found.value  # moved to a grid
    whole = greatest(system, gains.each, LONG)
    assert whole.log_likelihood <= best + 1e-9
    assert whole.bound >= best - 1e-12 * abs(best)
    assert whole.proved
    assert whole.log_likelihood == pytest.approx(best, abs=1.1e-4)
    assert system.satisfied(whole.histogram)


@pytest.mark.slow
def test_the_bound_is_sharp_where_the_program_is_whole():
    """Otherwise a bound that says nothing would pass."""
    sharp = 0
    for seed in range(30):
        system, gains, best = prepared(some_release(seed))
        sharp += relax(system, gains, LONG).bound <= best + 1e-6
    assert sharp >= 15


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", [NoiseLaw("gaussian", Fraction(10**4)), NoiseLaw("discrete_gaussian", Fraction(10**4))])
def test_what_floats_blur_is_added_to_the_bound(law):
    """Far from the figure a gain is 10^15 nats and its floats are rough; the exact maximum is known by hand."""
    published = 10**6

    def value(counts):
        return law.log_likelihood(Fraction(published), counts)

    top = float(value(np.array([published]))[0])
    gains = Gains([ConcaveTerm(0, value, 0, 10**12, published, top)] * 200)
    wanted = np.linspace(1e11, 9.99e11, 200).round()
    y = -(wanted - published) / 1e8
    counts, best, slack = conjugates(gains, y)
    said = np.array([Fraction(float(f)) - Fraction(float(m)) * int(k) for f, m, k in zip(best, y, counts, strict=True)])
    exact = [
        max(-(Fraction(c - published) ** 2) / (2 * 10**8) - Fraction(float(m)) * c for c in around(published, float(m)))
        for m in y
    ]
    assert sum(said) + Fraction(slack) >= sum(exact)
    assert any(a < b for a, b in zip(said, exact, strict=True))  # without the slack some would be too low


def around(published, slope):
    """Return the whole counts beside the maximum of -(c - p)² / 2σ² - slope c, σ = 10^4."""
    at = math.floor(published - Fraction(slope) * 10**8)
    return [c for c in range(at - 1, at + 3) if 0 <= c <= 10**12]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("law", LAWS)
def test_gains_looked_up_together_are_the_gains(law):
    rng = random.Random(f"{law}")
    for _ in range(10):
        release = noisy_release(rng, [by_a(), by_b()], [law, law])[0]
        system, seen, _ = solved(release)
        some = gains_of(system, seen)
        gains = Gains(some)
        for i, g in enumerate(some):
            counts = np.arange(g.low, g.high + 1)
            alone = g.value(counts) - g.top
            assert gains.values(np.full(len(counts), i), counts) == pytest.approx(alone, abs=1e-12)
        outside = np.array([g.high + 1 for g in some])
        assert (gains.values(np.arange(len(some)), outside) == -np.inf).all()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", batches(18, 18))
def test_one_noisy_partition_is_solved_directly(seed, monkeypatch):
    monkeypatch.setattr(denoised, "relax", None)  # nothing else is asked
    system, gains, best = prepared(one_noisy(seed))
    assert shares_of(system, gains) is not None
    found = greatest(system, gains.each, LONG)
    assert found.proved
    assert found.log_likelihood == pytest.approx(best, abs=1e-9)
    assert system.satisfied(found.histogram)


def wide_tree(leaves, law, rows, seed=0):
    """Return a noisy tree over one attribute with so many leaves, whose counts sum to more than the rows."""
    dice = np.random.default_rng(seed)
    noise = {"law": law, "scale": 2.0}
    nodes, n = [], leaves
    for i in range(n - 1):
        nodes += [{"if": {"a": {"below": i + 1}}, "then": 2 * i + 1, "else": 2 * i + 2}]
        nodes += [{"count": int(rows / n + dice.integers(-5, 9))}]
    nodes += [{"count": int(rows / n)}]
    domain = {"attributes": [{"name": "a", "min": 0, "max": n - 1}]}
    return {"recon": 1, "domain": domain, "rows": rows, "models": [{"kind": "tree", "noise": noise, "nodes": nodes}]}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("law", ["discrete_laplace", "discrete_gaussian", "laplace"])
@pytest.mark.parametrize("limit", [20_000, 10])
def test_a_wide_noisy_tree_is_solved_directly(law, limit, write, monkeypatch):  # noqa: F811
    """Row by row, and by a multiplier: both are proved, so both are the optimum."""
    monkeypatch.setattr(denoised, "relax", None)
    monkeypatch.setattr("solvers.programs.concave.separable.ONE_BY_ONE", limit)
    found = recon.denoise(recon.load(write(json.dumps(wide_tree(150, law, 3_000)))), LONG)
    assert found.found.proved
    assert found.rows == 3_000


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", batches(10, 10))
def test_rounding_keeps_the_number_of_rows_and_the_bounds(seed):
    system, gains, _ = prepared(some_release(seed))
    found = relax(system, gains, LONG)
    z = rounded_histogram(system, found.rows, lambda z: 0.0)
    if z is None:
        return
    assert (z >= system.bounds.lower).all()
    assert (z <= system.bounds.upper).all()
    assert abs(int(z.sum()) - found.rows.sum()) < 1 + 1e-6
    assert system.release.rows.low <= z.sum() <= system.release.rows.high
    assert (np.abs(z - found.rows) <= 1 + 1e-6).mean() > 0.6


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", batches(6, 6))
def test_moves_keep_their_books(seed):
    """Counts, values and worths that are kept up to date are those computed anew, and worth is what a move brings."""
    release = some_release(seed)
    system, gains, best = prepared(release)
    z = rounded_histogram(system, relax(system, gains, LONG).rows, lambda z: 0.0)
    search = ConcaveSearch(system, gains, StartHistogram(z, np.zeros(len(z))))
    for a in np.flatnonzero(search.rows > search.lower).tolist():
        worth = search.worth(a)
        for b in np.flatnonzero(np.isfinite(worth)).tolist():
            if b != a and search.rows[a] > search.lower[a]:
                before, said = search.score, float(search.worth(a)[b])
                if not np.isfinite(said):
                    continue
                search.move(a, b, said)
                kept = (search.counts.copy(), search.more.copy(), search.less.copy(), search.score)
                search.refresh()
                now = (search.counts, search.more, search.less, search.score)
                for x, y in zip(kept, now, strict=True):
                    assert x == pytest.approx(y, abs=1e-9)
                assert search.score - before == pytest.approx(said, abs=1e-9)
    found = improved(system, gains, StartHistogram(z, np.zeros(len(z))), LONG, steps=500)
    if found is not None:
        assert system.satisfied(found[0])
        assert found[1] <= best + 1e-9
        assert found[1] == pytest.approx(gains.total(system.linear.sums(found[0])), abs=1e-9)


def test_the_truth_is_below_the_bound_and_what_is_found_above_it(data):
    """A medium private forest, by steps and not by the clock: without CP-SAT it is at least as likely as the truth."""
    law = NoiseLaw("discrete_laplace", Fraction(2))
    release, truth = private_forest(data("compas14.csv.gz"), law, RowCount(100, 100), np.random.default_rng(5))
    system, seen, _ = solved(release)
    behind = sum(float(o.law.log_likelihood(o.published, np.array([c]))[0]) for o, c in zip(seen, truth, strict=True))
    gains = gains_of(system, seen)
    found = greatest(system, gains, LONG, steps=4_000, exact=False)
    assert behind <= found.bound
    assert behind <= found.log_likelihood <= found.bound
    rounded_only = greatest(system, gains, LONG, steps=0, exact=False)
    assert rounded_only.log_likelihood <= found.log_likelihood
    again = greatest(system, gains, LONG, steps=4_000, exact=False)
    assert (again.histogram == found.histogram).all()


def test_columns_that_are_generated_give_the_same_bound(data, monkeypatch):
    law = NoiseLaw("discrete_laplace", Fraction(2))
    release, _ = private_forest(data("compas14.csv.gz"), law, RowCount(100, 100), np.random.default_rng(5))
    system, seen, _ = solved(release)
    gains = Gains(gains_of(system, seen))
    every_cell = relax(system, gains, LONG)
    monkeypatch.setattr(fractional, "MAX_FIRST_ENTRIES", 0)
    monkeypatch.setattr(fractional, "FIRST", 1)
    monkeypatch.setattr(fractional, "EACH_ROUND", 40)
    by_columns = relax(system, gains, LONG)
    assert by_columns.bound == pytest.approx(every_cell.bound, abs=1e-6)
    assert by_columns.value == pytest.approx(every_cell.value, abs=1e-6)


def test_there_is_a_histogram_even_without_any_time(data):
    """Where any rows will do there is one, and its bound holds."""
    law = NoiseLaw("discrete_laplace", Fraction(2))
    release, truth = private_forest(data("compas14.csv.gz"), law, RowCount(100, 100), np.random.default_rng(5))
    system, seen, _ = solved(release)
    behind = sum(float(o.law.log_likelihood(o.published, np.array([c]))[0]) for o, c in zip(seen, truth, strict=True))
    stopped = Limits()
    stopped.stop.set()
    for limits in (Limits(seconds=0), stopped):
        found = greatest(system, gains_of(system, seen), limits)
        assert system.satisfied(found.histogram)
        assert math.isnan(found.relaxed)
        assert found.bound >= behind
        assert not found.proved


@pytest.mark.slow
def test_an_unknown_number_of_rows_lets_rows_come_and_go():
    release = noisy_release(random.Random(3), [by_a(), by_b()], [LAWS[1], LAWS[1]], RowCount(0, 6), 4)[0]
    system, gains, best = prepared(release)
    none = np.zeros(len(system.sizes), dtype=np.int64)
    found = improved(system, gains, StartHistogram(none, np.zeros(len(none))), LONG, steps=3_000)
    assert found is not None
    assert found[1] == pytest.approx(best, abs=1e-9)


def test_denoise_says_how_good_it_is(write, run):  # noqa: F811
    two = json.loads(json.dumps(NOISY))
    two["models"] *= 2
    path = write(two)
    found = run("denoise", path, "--json")
    said = json.loads(found.stdout)
    assert said["log_likelihood"] <= said["log_likelihood_bound"] + 1e-9
    assert said["gap"] == pytest.approx(said["log_likelihood_bound"] - said["log_likelihood"])
    assert said["proved"] is True
    assert said["release"]["rows"] == said["rows"] == 100
    assert f"log-likelihood {said['log_likelihood']:.4f} nats" in found.stderr
    assert json.loads(run("denoise", path).stdout) == said["release"]
    world = json.loads(run("reconstruct", path, "--json").stdout)
    assert world["log_likelihood"] == pytest.approx(said["log_likelihood"])
    assert {"log_likelihood_bound", "gap", "proved"} <= set(world)
    assert "log_likelihood" not in json.loads(run("reconstruct", write(EXACT, "exact.json"), "--json").stdout)


def test_an_open_gap_is_said():
    found = denoised.Likeliest(np.zeros(1, dtype=np.int64), -105.0, -100.0, False, math.nan)
    assert found.describe("world").endswith("at most -100.0000 for any world (gap 5.0000, 5.00%)")
    assert found.figures()["gap"] == 5.0
    assert "proved" in replace(found, proved=True).describe("world")
    assert LAPLACE["law"] in tree([[1, 1], [1, 1], [1, 1]])["models"][0]["noise"]["law"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(10))
def test_with_too_many_cells_rows_are_searched(seed):
    """What is found is a dataset of the release, and its bound holds for every dataset, also of rows not looked at."""
    release = some_release(seed)
    system, seen, _ = solved(release)
    best = max(total for _, total, _ in every(release))
    few = replace(release)
    assert not few.derived
    found_system, found = most_likely_of(few, seen, Limits(seconds=600, cells=1))
    assert found_system is not system
    assert found_system.satisfied(found.histogram)
    assert found.bound >= best - 1e-12 * abs(best)
    assert found.log_likelihood <= best + 1e-9
    counts = system.linear.sums(projected(system, found_system, found.histogram))
    assert (counts == found_system.linear.sums(found.histogram)[: len(counts)]).all()


def projected(system, few, histogram):
    """Return the histogram over all cells of one over single rows."""
    z = np.zeros(len(system.sizes), dtype=np.int64)
    for box, times in zip(few.boxes, histogram.tolist(), strict=True):
        (at,) = [c for c, other in zip(system.cell.tolist(), system.boxes, strict=True) if meets(box, other)]
        z[at] += times
    return z


def meets(box, other):
    held = dict(other.literals)
    return all(mask & held.get(k, mask) for k, mask in box.literals)


@pytest.mark.slow
def test_bounds_of_some_rows_hold_for_all():
    """Any multipliers: a row counts in one leaf of a tree."""
    dice = np.random.default_rng(1)
    for seed in range(20):
        system, gains, best = prepared(some_release(seed))
        assert proved_anywhere(system, gains, dice.uniform(-2, 2, len(gains))) >= best - 1e-12 * abs(best)


def test_denoise_and_reconstruct_with_too_many_cells(write, run):  # noqa: F811
    two = json.loads(json.dumps(NOISY))
    two["models"] *= 2
    said = json.loads(run("denoise", write(two), "--json", "--max-cells", 1).stdout)
    assert said["release"]["rows"] == 100
    assert said["log_likelihood"] <= said["log_likelihood_bound"]
    world = json.loads(run("reconstruct", write(two), "--json", "--max-cells", 1).stdout)
    assert len(world["rows"]) == 100
    assert world["log_likelihood"] == pytest.approx(said["log_likelihood"])


def test_the_slack_is_in_the_bound(monkeypatch):
    system, gains, _ = prepared(one_noisy(2))
    none = np.zeros(0, dtype=np.int64), np.zeros(0)
    before = gain_bound(system, gains, np.zeros(len(gains)), *none)
    monkeypatch.setattr(multipliers, "conjugates", lambda g, y: (*conjugates(g, y)[:2], 5.0))
    assert gain_bound(system, gains, np.zeros(len(gains)), *none) == pytest.approx(before + 5.0, abs=1e-6)


@pytest.mark.slow
def test_bounds_of_some_rows_hold_for_all_rule_sets():
    """The multipliers of the relaxation are as sharp as any: what overlapping counts are worth may not be left out."""
    rng = random.Random(8)
    for i in range(20):
        release = noisy_release(rng, [overlapping()], [LAWS[i % 4]], RowCount(3, 4), 4)[0]
        system, gains, best = prepared(release)
        found = relax(system, gains, LONG)
        assert proved_anywhere(system, gains, np.maximum(0, found.worth[gains.statement])) >= best - 1e-12 * abs(best)


def test_the_direct_optimum_is_believed_with_its_proof_only(monkeypatch):
    system, gains, best = prepared(one_noisy(1))
    rows = system.release.rows.high

    def bad(system, gains, shares):
        worst = min(
            (unit(system, c, rows) for c in range(len(system.sizes))), key=lambda z: gains.total(system.linear.sums(z))
        )
        return worst, 0.0

    monkeypatch.setattr(denoised, "separable", bad)
    found = greatest(system, gains.each, LONG)
    assert found.proved
    assert found.log_likelihood == pytest.approx(best, abs=1.1e-4)


def unit(system, cell, rows):
    z = np.zeros(len(system.sizes), dtype=np.int64)
    z[cell] = rows
    return z


def test_figures_that_were_clamped_or_not_share_their_shape():
    """Above 0 clamping changes nothing, so that both are looked up in one call; a clamped 0 has its own function."""
    law, figure = NoiseLaw("gaussian", Fraction(3, 2)), Fraction(13, 4)
    figures = [(True, figure), (False, figure), (True, figure + 2), (False, -figure)]
    alike = [_shape_of(Observation(0, replace(law, clamped=c), published, "x")) for c, published in figures]
    assert alike[0] == alike[1]
    assert (alike[2]["shape"], alike[2]["shift"]) == (alike[0]["shape"], alike[0]["shift"] + 2)
    assert alike[3]["shape"] == (*alike[0]["shape"][:1], Fraction(3, 4))
    zeros = [_shape_of(Observation(0, replace(law, clamped=c), Fraction(0), "x"))["shape"] for c in (True, False)]
    assert zeros[0] != zeros[1]


@pytest.mark.slow
def test_moves_find_their_way_into_the_support_of_bounded_noise():
    """From rows all in one cell, outside what the noise can have been."""
    rng, outside = random.Random(4), 0
    for i in range(4):
        release = noisy_release(rng, [by_a(), by_b()], [LAWS[4 if i % 2 else 7]] * 2, RowCount(6, 6), 6)[0]
        system, gains, best = prepared(release)
        start = unit(system, i % len(system.sizes), 6)
        outside += gains.total(system.linear.sums(start)) == -math.inf
        found = improved(system, gains, StartHistogram(start, np.zeros(len(start))), LONG, steps=2_000)
        assert found is not None
        assert found[1] >= best - 3
    assert outside >= 2


def test_moves_keep_totals():
    """Rows are exchanged only between cells that other statements, such as a total, count alike."""
    total = Statement.sum(Region(Box.of(((0, 3),))), 2, 2, "the total of b", of=1, coefs=(0, 3))
    rng = random.Random(5)
    release = noisy_release(rng, [by_a(), by_b()], [LAWS[1], LAWS[1]], RowCount(4, 4), 4)[0]
    release = replace(
        release, blocks=(*release.blocks, (replace(total, low=6, high=6),)), observed=(*release.observed, None)
    )
    system, seen, _ = solved(release)
    gains = Gains(gains_of(system, seen))
    at = len(system.linear) - 1 if system.total is None else system.total - 1
    weights = np.zeros(len(system.sizes), dtype=np.int64)
    span = slice(int(system.linear.start[at]), int(system.linear.start[at + 1]))
    weights[system.linear.col[span]] = system.linear.coef[span]
    assert set(weights.tolist()) == {0, 3}
    z = np.zeros(len(weights), dtype=np.int64)
    z[np.flatnonzero(weights == 3)[0]] = z[np.flatnonzero(weights == 0)[0]] = 2
    assert system.satisfied(z)
    search = ConcaveSearch(system, gains, StartHistogram(z, np.zeros(len(z))))
    for _ in range(20):
        search.anneal(30, 5.0, 1.0, LONG, math.inf)
        assert search.score <= search.best_score
        assert system.satisfied(search.histogram(search.rows))
    assert greatest(system, gains.each, LONG).proved


@pytest.mark.slow
def test_branch_and_bound_starts_from_what_is_known_and_is_checked(monkeypatch):
    """It finds the best of tiny programs, and nothing worse than it was given is taken."""
    better = 0
    for seed in range(24):
        system, gains, best = prepared(some_release(seed))
        found = relax(system, gains, LONG)
        start = rounded_histogram(system, system.bounds.lower.astype(float), lambda z: 0.0)
        if start is None or not system.satisfied(start) or gains.total(system.linear.sums(start)) == -math.inf:
            continue
        z, value = denoised._by_branches(system, gains, found, start, LONG)
        assert system.satisfied(z)
        assert value == pytest.approx(best, abs=1e-6) or system.choices
        better += value > gains.total(system.linear.sums(start)) + 1e-6
        worse = np.zeros_like(z)
        monkeypatch.setattr(fractional.ConcaveMaster, "whole", lambda self, start, limits, to=worse: to)
        assert denoised._by_branches(system, gains, found, z, LONG)[1] == value
        monkeypatch.undo()
    assert better >= 1
