"""Coupled noisy releases against brute force over every histogram of a tiny domain, for every noise law."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from extras import some

import recon
from solvers.cells.system import system_of
from solvers.engines.cells import LikeliestEngine
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.limits import Limits
from solvers.noisy.likelihood.most_likely import least_confidence, least_noise, likeliest
from solvers.noisy.posteriors.gibbs import scannable
from solvers.noisy.posteriors.markov_chain import _diagnose, run_chains
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.observations import observations
from solvers.statements.questions.query import MostLikely
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Observed, Partition, Release, RowCount, Statement

DOMAIN = RowSpace((Attribute("a", (1, 2)), Attribute("b", (1, 1)), Attribute("label", (1, 1))), label=2)
PARTS = list(itertools.product((0, 1), repeat=3))
SIZES = [math.prod(a.sizes[p] for a, p in zip(DOMAIN.attributes, parts, strict=True)) for parts in PARTS]
LAWS = [
    NoiseLaw("laplace", Fraction(3, 2)),
    NoiseLaw("discrete_laplace", Fraction(2)),
    NoiseLaw("gaussian", Fraction(1)),
    NoiseLaw("discrete_gaussian", Fraction(5, 4)),
    NoiseLaw("truncated_laplace", Fraction(2), bound=Fraction(5, 2)),
    NoiseLaw("laplace", Fraction(1), rounded=True),
    NoiseLaw("gaussian", Fraction(3, 2), rounded=True, clamped=True),
    NoiseLaw("truncated_laplace", Fraction(1), bound=Fraction(2), rounded=True),
    NoiseLaw("discrete_laplace", Fraction(1), clamped=True),
]


def partition(kind, boxes, first_match, classes):
    """Return a partition without counts, per class or not."""
    regions = range(len(boxes))
    at = [(j, k) for j in regions for k in (range(2) if classes else (ANY_LABEL,))]
    region, label = (np.array(x, dtype=np.int32) for x in zip(*at, strict=True))
    low = np.zeros(len(at), dtype=np.int64)
    names = tuple(f"region {j}" for j in regions)
    made = Boxes.of([Box.of(b) for b in boxes])
    return Partition(kind, made, first_match, region, label, low, low + UNBOUNDED, names, ("no", "yes"))


def by_a(classes=True):
    return partition("tree a", [((0, 1),), ((0, 2),)], False, classes)


def by_b(classes=True):
    return partition("tree b", [((1, 1),), ((1, 2),)], False, classes)


def rules(classes=False):
    return partition("list", [((0, 2), (1, 2)), ((2, 2),), ()], True, classes)


def overlapping():
    boxes = [((0, 2),), ((0, 2), (1, 2)), ((1, 2), (2, 2))]
    return tuple(Statement.count(Region(Box.of(b)), 0, UNBOUNDED, f"rule {i}") for i, b in enumerate(boxes))


def views(block):
    return [block.statement(s, DOMAIN) for s in range(len(block))] if isinstance(block, Partition) else list(block)


def counts_of(block, z):
    """Count the rows of a histogram over PARTS in every statement, row by row."""
    return [sum(k for parts, k in zip(PARTS, z, strict=True) if s.region.holds(parts)) for s in views(block)]


@functools.cache
def score(law, number, count):
    return float(law.log_likelihood(number, np.array([count]))[0])


def published(rng, law, count):
    """Return a number that the law can publish for a count."""
    for _ in range(1000):
        whole = law.discrete or law.rounded
        noise = Fraction(rng.randint(-3, 3)) if whole else Fraction(rng.randint(-14, 14), 4)
        number = max(Fraction(0), count + noise) if law.clamped else count + noise
        if score(law, number, count) > -math.inf:
            return number
    raise AssertionError(law)


def exact(block, counts):
    if isinstance(block, Partition):
        figures = np.array(counts, dtype=np.int64)
        return replace(block, low=figures, high=figures)
    return tuple(replace(s, low=c, high=c) for s, c in zip(block, counts, strict=True))


def noisy_release(rng, blocks, laws, rows=None, n=None):
    """Return a release of blocks (law None: exact) made from random rows, which are returned as a histogram."""
    n = rng.choice([1, 2, 3, 4]) if n is None else n
    z = [0] * len(PARTS)
    for _ in range(n):
        z[rng.randrange(len(PARTS))] += 1
    made, seen = [], []
    for block, law in zip(blocks, laws, strict=True):
        counts = counts_of(block, z)
        made.append(exact(block, counts) if law is None else block)
        seen.append(None if law is None else Observed(law, tuple(published(rng, law, c) for c in counts)))
    rows = rows or (RowCount(n, n) if rng.random() < 0.6 else RowCount(max(0, n - 1), n + 1))
    return Release(DOMAIN, rows, tuple(made), observed=tuple(seen), confidence=Fraction(1)), z


def every(release):
    """Yield (histogram, log-likelihood, counts by block) of every histogram that the exact statements allow."""
    laws = [seen and seen.law for seen in release.observed]
    for n in range(release.rows.low, release.rows.high + 1):
        for rows in itertools.combinations_with_replacement(range(len(PARTS)), n):
            held = Counter(rows)
            z = tuple(held[c] for c in range(len(PARTS)))
            counts = [counts_of(block, z) for block in release.blocks]
            total, fits = 0.0, True
            for block, law, seen, here in zip(release.blocks, laws, release.observed, counts, strict=True):
                if law is None:
                    fits &= all(s.low <= c <= s.high for s, c in zip(views(block), here, strict=True))
                else:
                    pairs = zip(seen.published, here, strict=True)
                    total += sum(score(law, p, c) for p, c in pairs)
            if fits and total > -math.inf:
                yield z, total, counts


def random_releases(test, number):
    rng = random.Random(test)
    makers = [by_a, by_b, rules, overlapping]
    for i in range(number):
        blocks = [make() for make in rng.sample(makers, rng.choice([1, 2, 2, 3]))]
        laws = [LAWS[i % len(LAWS)], *(rng.choice([None, *LAWS]) for _ in blocks[1:])]
        yield noisy_release(rng, blocks, laws)


def solved(release):
    return system_of(release, Limits()), observations(release), Limits(seconds=600)


@pytest.mark.slow
def test_most_likely_is_the_best_of_all_histograms():
    for release, _ in random_releases("most likely", 45):
        system, seen, limits = solved(release)
        found = likeliest(system, seen, limits)
        best = max(total for _, total, _ in every(release))
        assert found.log_likelihood == pytest.approx(best, abs=1e-9)
        assert found.proved
        assert best - 1e-9 <= found.bound <= best + 1.1e-4
        assert found.relaxed >= best - 1e-6
        assert system.satisfied(found.histogram)
        assert counts_in(system, system.linear.sums(found.histogram)) in [
            flat(release, c) for _, _, c in every(release)
        ]


def flat(release, counts):
    """Return the counts in the order of the statements."""
    return [c for block in counts for c in block]


def counts_in(system, counts):
    return [c for s, c in enumerate(counts.tolist()) if s != system.total]


@pytest.mark.slow
def test_least_noise_is_the_least_of_all_histograms():
    for release, _ in random_releases("noise", 18):
        if any(seen and seen.law.bounded for seen in release.observed):
            continue
        z, noise = least_noise(*solved(release))
        assert noise == min(spent(release, counts) for _, _, counts in every(release))
        assert system_of(release, Limits()).satisfied(z)


def spent(release, counts):
    figures = [(s.published, here) for s, here in zip(release.observed, counts, strict=True) if s]
    pairs = [pair for numbers, here in figures for pair in zip(numbers, here, strict=True)]
    return sum(abs(number - c) for number, c in pairs)


@functools.cache
def tail(law, needed):
    return law.tail(needed)[1]


def least_tail(release, counts):
    """Return the least probability of noise as large as some figure needs."""
    out = Fraction(1)
    for seen, here in zip(release.observed, counts, strict=True):
        for number, c in zip(seen.published, here, strict=True) if seen else ():
            needed = max(Fraction(0), abs(number - c) - (Fraction(1, 2) if seen.law.rounded else 0))
            out = min(out, tail(seen.law, needed - 1 if seen.law.discrete else needed))
    return out


@pytest.mark.slow
def test_the_nearest_level_is_the_best_of_all_histograms():
    clashing = 0
    for release, _ in random_releases("level", 18):
        system, seen, limits = solved(release)
        found = least_confidence(system, seen, limits)
        best = max(least_tail(release, counts) for _, _, counts in every(release))
        assert found.tail == pytest.approx(float(best), rel=1e-5)
        assert found.proved
        expected = 0.0 if best >= 1 else (1 - float(best)) ** len(seen)
        assert found.confidence == pytest.approx(expected, abs=1e-5)
        assert system.satisfied(found.histogram)
        assert bool(found.conflict) == (best < 1)
        clashing += len(found.conflict) > 1
    assert clashing


def posterior(release):
    """Return the probability of every vector of counts: n uniform, rows uniform, given the exact statements."""
    weights = Counter()
    for z, total, counts in every(release):
        ways = math.factorial(sum(z)) * math.prod(s**k / math.factorial(k) for s, k in zip(SIZES, z, strict=True))
        weights[tuple(flat(release, counts))] += math.exp(total) * ways / sum(SIZES) ** sum(z)
    whole = sum(weights.values())
    return {counts: w / whole for counts, w in weights.items()}


WALKS = {
    "two trees": (lambda: [by_a(), by_b()], [1, 3], RowCount(3, 3), True),
    "rows open": (lambda: [by_a(), by_b(False)], [0, 2], RowCount(1, 4), True),
    "noise and an exact rule list": (lambda: [by_a(), rules()], [1, None], RowCount(3, 3), False),
    "two exact partitions": (lambda: [by_a(False), by_b(False), rules(True)], [None, None, 0], RowCount(4, 4), False),
    "overlapping rules": (lambda: [overlapping(), by_b(False)], [5, None], RowCount(3, 3), False),
    "only overlapping rules": (lambda: [overlapping()], [6], RowCount(2, 4), True),
    "exact overlapping rules": (lambda: [overlapping(), by_a()], [None, 2], RowCount(4, 4), False),
    "exact overlapping rules, pairs": (lambda: [overlapping(), by_b()], [None, 1], RowCount(4, 4), False),
    "exact overlapping rules, more rows": (lambda: [overlapping(), by_b()], [None, 3], RowCount(5, 5), False),
    "bounded noise": (lambda: [by_a(), by_b()], [4, 7], RowCount(3, 3), False),
}


@pytest.mark.sampled(0, 2)
@pytest.mark.parametrize("case", some(WALKS))
def test_the_walk_draws_from_the_posterior(case):
    make, laws, rows, connected = WALKS[case]
    release, _ = noisy_release(
        random.Random(case), make(), [None if i is None else LAWS[i] for i in laws], rows, rows.high
    )
    system, seen, limits = solved(release)
    found = run_chains(system, seen, 6000, 7, limits, thin=15)
    assert len(found.histograms) == 6000
    assert found.connected is connected
    expected = posterior(release)
    drawn = Counter(tuple(counts_in(system, c)) for c in found.counts)
    assert set(drawn) <= set(expected)
    assert sum(abs(drawn[c] / 6000 - p) for c, p in expected.items()) / 2 < 0.03 + 0.5 * math.sqrt(len(expected) / 6000)
    assert found.rhat < 1.05
    assert found.ess > 500
    assert 0 < found.acceptance <= 1
    low, high = found.credible(0.9).T
    inside = (found.counts >= low) & (found.counts <= high)
    assert (inside.mean(axis=0) >= 0.9 - 1e-9).all()
    if scannable(system, seen):
        assert connected
        scanned = run_chains(system, seen, 3000, 7, limits)
        drawn = Counter(tuple(counts_in(system, c)) for c in scanned.counts)
        assert set(drawn) <= set(expected)
        away = sum(abs(drawn[c] / len(scanned.counts) - p) for c, p in expected.items()) / 2
        assert away < 0.03 + 0.5 * math.sqrt(len(expected) / 3000)
        assert scanned.rhat < 1.05
        assert scanned.ess > 500
    assert (
        run_chains(system, seen, 40, 7, limits).histograms == run_chains(system, seen, 40, 7, limits).histograms
    ).all()


def test_diagnostics_see_chains_that_disagree():
    dice = np.random.default_rng(1)
    rhat, ess = _diagnose(dice.normal(size=(4, 1000, 3)))
    assert rhat < 1.01
    assert 3000 < ess < 5500
    slow = np.cumsum(dice.normal(size=(4, 1000, 1)), axis=1)
    assert _diagnose(slow)[1] < 100
    apart = dice.normal(size=(4, 1000, 1)) + np.arange(4)[:, None, None]
    assert _diagnose(apart)[0] > 1.2


@pytest.mark.slow
def test_the_engine_gives_the_most_likely_world():
    for release, _ in random_releases("engine", 6):
        engine = LikeliestEngine()
        assert engine.refuses(release, MostLikely()) is None
        (world,) = engine.answer(release, MostLikely(), Limits(seconds=600)).worlds
        z = Counter(value_parts(row) for row in np.repeat(world.values, world.times, axis=0).tolist())
        counts = [counts_of(block, [z[p] for p in PARTS]) for block in release.blocks]
        best = max(every(release), key=lambda e: e[1])
        scores = {tuple(flat(release, c)): total for _, total, c in every(release)}
        assert scores[tuple(flat(release, counts))] == pytest.approx(best[1], abs=1e-9)
        assert "proved optimal" in world.note
        plain = replace(release, observed=())
        assert engine.refuses(plain, MostLikely()) == "no noisy counts"


def value_parts(row):
    """Return the parts of raw value indices."""
    return tuple(int(value >= a.sizes[0]) for value, a in zip(row, DOMAIN.attributes, strict=True))


def test_what_cannot_be():
    law = NoiseLaw("truncated_laplace", Fraction(1), bound=Fraction(1))
    apart = [Observed(law, (Fraction(0), Fraction(9))), Observed(law, (Fraction(1), Fraction(1)))]
    release = Release(
        DOMAIN, RowCount(0, 20), (by_a(False), by_b(False)), observed=tuple(apart), confidence=Fraction(1)
    )
    system, seen, limits = solved(release)
    with pytest.raises(ContradictionError):
        likeliest(system, seen, limits)
    answer = LikeliestEngine().answer(release, MostLikely(), limits)
    assert answer.status == "unsat"
    beyond = replace(release, observed=(Observed(law, (Fraction(-3), Fraction(9))), None))
    with pytest.raises(ContradictionError) as caught:
        likeliest(*solved(beyond))
    assert caught.value.conflict == ("tree a, region 0",)
    endless = replace(release, rows=RowCount(0, None))
    with pytest.raises(Unsupported, match="unbounded"):
        likeliest(*solved(endless))
    assert LikeliestEngine().refuses(endless, MostLikely()) is not None


def private_forest(path, law, rows, dice):
    """Return a release of a forest on COMPAS with noisy counts, and the exact counts behind it."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    frame = pd.read_csv(path)
    label = frame.columns[-1]
    chosen = frame.sample(100, random_state=0).reset_index(drop=True)
    forest = ensemble.RandomForestClassifier(5, max_depth=3, bootstrap=False, random_state=0)
    domain = recon.Domain.from_frame(frame, label=label)
    found = recon.encode(forest.fit(chosen.drop(columns=label), chosen[label]), domain).statements
    blocks, seen = [], []
    for block in found.blocks:
        keep = 1 - math.exp(-1 / float(law.scale))
        noise = dice.geometric(keep, len(block)) - dice.geometric(keep, len(block))
        seen.append(Observed(law, tuple(Fraction(c) for c in (block.low + noise).tolist())))
        zero = np.zeros(len(block), dtype=np.int64)
        blocks.append(replace(block, low=zero, high=zero + UNBOUNDED))
    truth = [c for block in found.blocks for c in block.low.tolist()]
    release = replace(found, rows=rows, blocks=tuple(blocks), observed=tuple(seen), confidence=Fraction(1))
    return release, truth


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rows", [RowCount(100, 100), RowCount(0, 1000)])
@pytest.mark.parametrize("law", [NoiseLaw("discrete_laplace", Fraction(5)), NoiseLaw("discrete_gaussian", Fraction(5))])
def test_a_private_forest_is_solved_to_the_optimum(data, law, rows):
    release, truth = private_forest(data("compas14.csv.gz"), law, rows, np.random.default_rng(3))
    system, seen, limits = solved(release)
    found = likeliest(system, seen, limits)
    assert found.proved
    assert found.bound <= found.relaxed + 1e-4
    behind = sum(score(o.law, o.published, c) for o, c in zip(seen, truth, strict=True))
    assert found.log_likelihood >= behind - 1e-9
    counts, total = system.linear.sums(found.histogram), sum(found.histogram)
    blocks = np.cumsum([len(block) for block in release.blocks])[:-1]
    sums = [int(part.sum()) for part in np.split(counts[: len(truth)], blocks)]
    assert sums == [total] * 5
