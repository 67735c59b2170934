"""The posterior of noisy counts against every dataset, every count vector, and plain convolutions without windows."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.noisy.posteriors.convolution import PASS_BYTES, LawWindow, WindowChain, _correlate
from solvers.noisy.posteriors.posterior import Term, _posterior

PRIORS = ("counts", "worlds")


def examples(number):
    return settings(max_examples=number, derandomize=True)


# ---------------------------------------------------------------- laws of the tests' own


def laplace(published, scale):
    return lambda c: -np.abs(c - published) / scale


def gaussian(published, sigma):
    return lambda c: -((c - published) ** 2) / (2 * sigma**2)


def truncated(published, scale, bound):
    return lambda c: np.where(np.abs(c - published) <= bound, -np.abs(c - published) / scale, -np.inf)


def flat(c):
    return np.zeros(len(c))


@st.composite
def terms_of(draw, most, sizes, cells=4):
    out = []
    for _ in range(draw(st.integers(1, cells))):
        size, published = draw(sizes), draw(st.floats(-3, most + 3))
        scale = draw(st.sampled_from([0.3, 1.0, 4.0]))
        kind = draw(st.sampled_from(["laplace", "gaussian", "truncated", "interval", "laplace between"]))
        low = draw(st.integers(0, 1)) if kind in {"interval", "laplace between"} and size else 0
        high = draw(st.one_of(st.none(), st.integers(low, most))) if low or kind == "interval" else None
        law = {
            "laplace": laplace(published, scale),
            "gaussian": gaussian(published, scale),
            "truncated": truncated(published, scale, draw(st.floats(1, most + 3))),
            "interval": flat,
            "laplace between": laplace(published, scale),
        }[kind]
        out.append(Term(law, size, low, high))
    return out


@st.composite
def cases(draw, most, **kind):
    high = draw(st.integers(0, most))
    rows = draw(st.sampled_from([(high, high), (max(0, high - 2), high), (0, high)]))
    return draw(terms_of(most, **kind)), rows, draw(st.sampled_from(PRIORS))


def likelihood(term, count):
    if count < term.low or (term.high is not None and count > term.high) or (count and not term.size):
        return 0.0
    return math.exp(float(term.log_likelihood(np.array([count]))[0]))


# ---------------------------------------------------------------- brute force


def vectors(n, cells):
    """Yield every count vector over so many cells."""
    if cells == 0:
        if n == 0:
            yield ()
        return
    for first in range(n + 1):
        yield from ((first, *rest) for rest in vectors(n - first, cells - 1))


def held(terms):
    return [s for s, t in enumerate(terms) if t.size]


def every_vector(terms, rows, prior, informed=True):
    """Return count vector -> probability, from the definitions of the two priors."""
    filled, total, weight = held(terms), sum(t.size for t in terms), {}
    for n in range(rows[0], rows[1] + 1):
        for short in vectors(n, len(filled)):
            c = [0] * len(terms)
            for s, k in zip(filled, short, strict=True):
                c[s] = k
            if prior == "counts":
                p = Fraction(1, math.comb(n + len(filled) - 1, n) if filled else 1)
            else:
                p = Fraction(math.factorial(n), max(1, total) ** n)
                for k, t in zip(c, terms, strict=True):
                    p = p * Fraction(t.size) ** k / math.factorial(k)
            known = math.prod(likelihood(t, k) for t, k in zip(terms, c, strict=True)) if informed else 1.0
            weight[tuple(c)] = float(p) * known
    z = math.fsum(weight.values())
    return {c: w / z for c, w in weight.items()} if z > 0 else None


def every_dataset(terms, rows, prior, informed=True):
    """Return dataset (a sequence of (cell, row)) -> probability, weighed one by one by prior and likelihood."""
    space = [(s, r) for s, t in enumerate(terms) for r in range(t.size)]
    filled, weight = held(terms), {}
    for n in range(rows[0], rows[1] + 1):
        for data in itertools.product(space, repeat=n):
            c = Counter(s for s, _ in data)
            known = math.prod(likelihood(t, c[s]) for s, t in enumerate(terms)) if informed else 1.0
            if prior == "worlds":
                p = 1 / len(space) ** n if n else 1.0
            else:
                ways = math.factorial(n) * math.prod(terms[s].size ** k for s, k in c.items())
                ways //= math.prod(map(math.factorial, c.values()))
                p = 1 / (math.comb(n + len(filled) - 1, n) if filled else 1) / ways
            weight[data] = p * known
    z = math.fsum(weight.values())
    return {d: w / z for d, w in weight.items()} if z > 0 else None


def bits(law):
    return -math.fsum(p * math.log2(p) for p in law.values() if p > 0)


def close(found, truth, within=1e-9):
    assert np.allclose(found, truth, rtol=1e-9, atol=within), (found, truth)


def check_against(found, law, terms):
    """Hold the figures about counts against count vector -> probability."""
    for s in range(len(terms)):
        marginal, rest = defaultdict(float), 1.0
        for c, p in law.items():
            marginal[c[s]] += p
        for i, p in enumerate(found.marginals[s].tolist()):
            close(p, marginal[int(found.low[s]) + i])
            rest -= p
        assert abs(rest) <= found.remainder + 1e-12
        close(found.expected[s], math.fsum(c[s] * p for c, p in law.items()))
    rows = defaultdict(float)
    for c, p in law.items():
        rows[sum(c)] += p
    for n, p in rows.items():
        close(found.rows_distribution.get(n, 0.0), p)
    assert law[tuple(found.likely.tolist())] >= max(law.values()) * (1 - 1e-9)
    close(found.entropy_counts_bits, bits(law), 1e-8)
    inside = math.fsum(
        p * math.fsum(k * math.log2(t.size) for k, t in zip(c, terms, strict=True) if k) for c, p in law.items()
    )
    close(found.entropy_assigned_bits, inside, 1e-8)
    close(found.entropy("assigned"), bits(law) + inside, 1e-8)


@pytest.mark.slow
@examples(120)
@given(cases(4, sizes=st.integers(0, 2), cells=3), st.randoms())
def test_every_dataset_of_a_tiny_row_space(case, chance):
    terms, rows, prior = case
    law = every_dataset(terms, rows, prior)
    if law is None:
        with pytest.raises(ContradictionError):
            _posterior(terms, rows, prior)
        return
    found = _posterior(terms, rows, prior)
    assert found.remainder < 1e-10
    of_counts = defaultdict(float)
    for data, p in law.items():
        c = Counter(s for s, _ in data)
        of_counts[tuple(c[s] for s in range(len(terms)))] += p
    check_against(found, of_counts, terms)
    close(found.entropy("ordered"), bits(law), 1e-8)
    before = every_dataset(terms, rows if held(terms) else (0, 0), prior, informed=False)
    close(found.prior_entropy("ordered"), bits(before), 1e-8)
    close(found.bits_removed(), bits(before) - bits(law), 1e-8)
    profiles, shares = [], []
    for _ in range(4):
        inside = [(s, r) for s, t in enumerate(terms) for r in range(t.size) if chance.random() < 0.4]
        profiles.append(inside)
        c = Counter(s for s, _ in inside)
        shares.append([c[s] / t.size if t.size else 0.0 for s, t in enumerate(terms)])
    table = np.array(shares).reshape(4, len(terms))
    for i, inside in enumerate(profiles):
        for chosen, absent, mean in (
            (law, found.absent(table), found.expected_rows(table)),
            (before, found.absent_before(table), found.expected_before(table)),
        ):
            close(absent[i], math.fsum(p for data, p in chosen.items() if not set(data) & set(inside)))
            close(mean[i], math.fsum(p * sum(row in inside for row in data) for data, p in chosen.items()))


@pytest.mark.slow
@examples(150)
@given(cases(9, sizes=st.sampled_from([0, 1, 3, 10**30])))
def test_every_count_vector(case):
    terms, rows, prior = case
    law = every_vector(terms, rows, prior)
    assume(law is not None)
    found = _posterior(terms, rows, prior)
    check_against(found, law, terms)
    worlds = math.fsum(
        p * (math.log2(math.factorial(sum(c))) - sum(math.log2(math.factorial(k)) for k in c)) for c, p in law.items()
    )
    close(found.entropy_rows_bits - found.entropy_assigned_bits, worlds, 1e-8)
    before = every_vector(terms, rows if held(terms) else (0, 0), prior, informed=False)
    inside = math.fsum(
        p * math.fsum(k * math.log2(t.size) for k, t in zip(c, terms, strict=True) if k) for c, p in before.items()
    )
    close(found.prior_entropy("assigned"), bits(before) + inside, 1e-8)
    shares = np.random.default_rng(rows[1]).choice([0.0, 0.0, 0.3, 1.0], (6, len(terms)))
    for x, after, prior_absent in zip(shares, found.absent(shares), found.absent_before(shares), strict=True):
        close(after, math.fsum(p * math.prod((1 - x) ** np.array(c)) for c, p in law.items()))
        close(prior_absent, math.fsum(p * math.prod((1 - x) ** np.array(c)) for c, p in before.items()))
    low, high = found.interval(0.8)
    for s in range(len(terms)):
        below = math.fsum(p for c, p in law.items() if c[s] < low[s])
        above = math.fsum(p for c, p in law.items() if c[s] > high[s])
        assert max(below, above) <= 0.1 + 1e-9
        assert below + math.fsum(p for c, p in law.items() if c[s] == low[s]) >= 0.1 - 1e-9
        assert above + math.fsum(p for c, p in law.items() if c[s] == high[s]) >= 0.1 - 1e-9


# ---------------------------------------------------------------- windows against full ranges


def exactly(published, n):
    """Return the marginals for weights 2^-|c - published| and n rows, in whole numbers over the full range."""
    top = max(max(abs(y), abs(n - y)) for y in published)
    weights = [[1 << (top - abs(c - y)) for c in range(n + 1)] for y in published]

    def joined(a, b):
        packed = 64 + (n + 2).bit_length() + max(x.bit_length() for x in a) + max(x.bit_length() for x in b)
        one = sum(x << (packed * i) for i, x in enumerate(a)) * sum(x << (packed * i) for i, x in enumerate(b))
        return [one >> (packed * i) & ((1 << packed) - 1) for i in range(n + 1)]

    unit = [1] + [0] * n
    before, after = [unit], [unit]
    for w in weights:
        before.append(joined(before[-1], w))
    for w in reversed(weights):
        after.append(joined(after[-1], w))
    out = []
    for s, w in enumerate(weights):
        rest = joined(before[s], after[len(weights) - s - 1])
        mine = [w[c] * rest[n - c] for c in range(n + 1)]
        out.append([float(Fraction(x, sum(mine))) for x in mine])
    return out


@pytest.mark.sampled(1, 6)
@pytest.mark.parametrize("off", [0, 3, -40, 120])
@pytest.mark.parametrize("precision", [1e-2, 1e-6, 1e-12])
def test_windows_against_whole_numbers(off, precision):
    published = [40, 71, 0, 13, -4, 180 - off]
    n = 300
    found = _posterior([Term(laplace(y, 1 / math.log(2)), 7) for y in published], (n, n), precision=precision)
    assert found.remainder <= precision + 1e-11
    left_out = 0.0
    for s, truth in enumerate(exactly(published, n)):
        seen = np.zeros(n + 1)
        seen[found.low[s] : found.low[s] + len(found.marginals[s])] = found.marginals[s]
        assert np.abs(seen - truth).sum() / 2 <= found.remainder  # total variation
        left_out = max(left_out, np.abs(seen - truth).max())
    if precision == 1e-2:
        assert left_out > 1e-9  # the windows do leave something out: the bound above says something
        assert max(map(len, found.marginals)) < n


def in_full(terms, rows, prior):
    """Return the marginals and P(n), in logs over the full range, O(J n²): what no window was cut from."""
    n, filled, every = rows[1], len(terms), sum(t.size for t in terms)
    c = np.arange(n + 1)
    logs = [t.log_likelihood(c) for t in terms]
    if prior == "worlds":
        logs = [x + c * math.log(t.size / every) - gammaln(c + 1.0) for x, t in zip(logs, terms, strict=True)]
    ends = gammaln(c + 1.0) - (0 if prior == "worlds" else gammaln(c + filled + 0.0) - gammaln(filled))
    ends[: rows[0]] = -np.inf

    def joined(a, b):
        return np.array([np.logaddexp.reduce(a[: k + 1] + b[k::-1]) for k in range(n + 1)])

    def law(x):
        return np.exp(x - np.logaddexp.reduce(x))

    out = []
    for s, mine in enumerate(logs):
        rest = np.where(c == 0, 0.0, -np.inf)
        for t, other in enumerate(logs):
            rest = joined(rest, other) if t != s else rest
        out.append(law(np.array([mine[k] + np.logaddexp.reduce(rest[: n + 1 - k] + ends[k:]) for k in range(n + 1)])))
    return out, law(joined(rest, logs[-1]) + ends)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("rows", [(260, 260), (0, 260), (200, 230)])
@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
def test_windows_against_full_ranges(prior, rows, spread):
    terms = [Term(laplace(90.5, spread), 40), Term(gaussian(30, spread), 3), Term(laplace(120, 2 * spread), 50)]
    found = _posterior(terms, rows, prior)
    marginals, of_rows = in_full(terms, rows, prior)
    assert found.remainder < 1e-8
    for s, truth in enumerate(marginals):
        seen = np.zeros(rows[1] + 1)
        seen[found.low[s] : found.low[s] + len(found.marginals[s])] = found.marginals[s]
        assert np.abs(seen - truth).max() <= found.remainder + 1e-10
    for n, p in found.rows_distribution.items():
        assert abs(p - of_rows[n]) <= found.remainder + 1e-10
    if prior == "worlds" and rows == (0, 260):
        assert len(found.parts) > 1 or spread == 1.0  # one tilt does not do for all numbers of rows
    x = np.array([[0.01, 0.0, 0.02], [0.0, 0.3, 0.0]])
    counts = np.arange(rows[1] + 1)
    assert abs(found.absent(x)[1] - (0.7**counts) @ marginals[1]) <= found.remainder + 1e-10
    tilted = [
        Term(lambda c, t=t, r=r: t.log_likelihood(c) + c * math.log1p(-r), t.size)
        for t, r in zip(terms, x[0], strict=True)
    ]
    ratio = _posterior(tilted, rows, prior).parts, found.parts
    total = [np.logaddexp.reduce([p.log_total for p in parts]) for parts in ratio]
    assert found.absent(x)[0] == pytest.approx(math.exp(total[0] - total[1]), rel=1e-8)


@pytest.mark.slow
@examples(60)
@given(st.integers(0, 10**9), st.sampled_from(PRIORS))
def test_the_remainder_bounds_what_coarse_windows_leave_out(seed, prior):
    rng = np.random.default_rng(seed)
    cells, n = int(rng.integers(2, 9)), int(rng.integers(1, 2_000))
    terms = [
        Term(
            [laplace, gaussian][int(rng.integers(2))](n / cells + rng.normal(0, 40), float(rng.choice([0.5, 5, 50]))),
            int(rng.choice([1, 10, 10**20])),
        )
        for _ in range(cells)
    ]
    rows = (max(0, n - int(rng.choice([0, 3, 500]))), n)
    coarse = _posterior(terms, rows, prior, precision=float(rng.choice([0.3, 1e-3])))
    fine = _posterior(terms, rows, prior, precision=1e-13)
    assert coarse.remainder >= 0
    assert fine.remainder < 1e-8
    for s in range(cells):
        seen = np.zeros(n + 1)
        seen[coarse.low[s] : coarse.low[s] + len(coarse.marginals[s])] += coarse.marginals[s]
        seen[fine.low[s] : fine.low[s] + len(fine.marginals[s])] -= fine.marginals[s]
        assert np.abs(seen).sum() / 2 <= coarse.remainder + fine.remainder
    shares = rng.choice([0.0, 0.01, 0.5], (3, cells))
    assert (np.abs(coarse.absent(shares) - fine.absent(shares)) <= coarse.remainder + fine.remainder).all()
    assert coarse.likely.sum() in range(rows[0], rows[1] + 1)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("spread", [8.0, 400.0])
def test_several_tilts_are_one_posterior(prior, spread):
    high = 220
    terms = [Term(laplace(60.5, spread), 40), Term(flat, 30, 2, 2), Term(gaussian(90, spread), 3)]
    found = _posterior(terms, (2, high), prior)
    assert (len(found.parts) > 1) == (prior == "worlds")
    a, b = np.meshgrid(np.arange(high - 1), np.arange(high - 1), indexing="ij")
    n = a + b + 2
    logs = terms[0].log_likelihood(a) + terms[2].log_likelihood(b) + gammaln(n + 1.0)
    if prior == "counts":
        logs -= gammaln(n + 3.0) - gammaln(3.0)
    else:
        logs += a * math.log(40 / 73) + b * math.log(3 / 73) + 2 * math.log(30 / 73)
        logs -= gammaln(a + 1.0) + gammaln(b + 1.0) + gammaln(3.0)
    logs[n > high] = -np.inf
    law = np.exp(logs - np.logaddexp.reduce(logs, axis=None))
    some = law > 0
    assert found.entropy_counts_bits == pytest.approx(-float(law[some] @ np.log2(law[some])), rel=1e-9)
    close(found.expected, [float((law * a).sum()), 2.0, float((law * b).sum())], 1e-7)
    rows = np.bincount(n.ravel(), law.ravel(), minlength=high + 1)
    close([found.rows_distribution.get(k, 0.0) for k in range(high + 1)], rows[: high + 1], found.remainder + 1e-12)
    assert logs[found.likely[0], found.likely[2]] == pytest.approx(logs.max(), abs=1e-9)
    for x in ([0.01, 0.0, 0.02], [0.02, 0.1, 0.0], [0.0, 0.3, 0.0]):
        truth = float((law * (1 - x[0]) ** a * (1 - x[2]) ** b).sum()) * (1 - x[1]) ** 2
        assert found.absent(np.array([x]))[0] == pytest.approx(truth, abs=1e-9)


@examples(40)
@given(st.integers(0, 10**9), st.sampled_from([1e-1, 1e-2, 1e-4]))
def test_cut_partial_sums_are_paid_for(seed, spare):
    rng = np.random.default_rng(seed)
    laws = [np.diff(np.tanh(np.linspace(-3, rng.uniform(1, 3), int(rng.integers(3, 30))))) for _ in range(5)]
    laws = [law / law.sum() for law in laws]
    truth = np.ones(1)
    for law in laws:
        truth = np.convolve(truth, law)
    end = int(rng.choice(len(truth), p=truth / truth.sum()))
    chain = WindowChain([LawWindow(0, law, 0.0, 0.0, 0, 0.0) for law in laws], end, np.ones(1))
    chain.run_forward(spare, Limits())
    assert chain.total * (1 - 1e-12) <= truth[end] <= (chain.total + chain.lost) * (1 + 1e-12)
    if spare == 1e-1:
        assert chain.total < truth[end]  # something was cut


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("off", [500, -500, 20_000])
def test_counts_that_are_far_from_the_number_of_rows(off):
    cells, each = 16, 50 if off > 0 else 2_000
    n = cells * each + off
    found = _posterior([Term(laplace(each, 1.0), 5)] * cells, (n, n))
    assert found.remainder < 1e-8
    c = np.arange(n + 1)
    sign = 1 if off > 0 else -1  # the same tilt for all leaves the posterior as it is, and no number overflows
    powers = {1: np.exp(sign * (c - each) - np.abs(c - each))}
    for k in (2, 4, 8):
        half = powers[k // 2]
        powers[k] = _correlate(np.concatenate([np.zeros(n), half]), half[::-1])
    rest = powers[1]
    for k in (2, 4, 8):
        rest = _correlate(np.concatenate([np.zeros(n), rest]), powers[k][::-1])
    truth = powers[1] * rest[::-1]
    truth /= truth.sum()
    seen = np.zeros(n + 1)
    seen[found.low[0] : found.low[0] + len(found.marginals[0])] = found.marginals[0]
    assert np.abs(seen - truth).max() <= found.remainder + 1e-12
    close(found.expected, np.full(cells, n / cells), 1e-6)
    # every split of the shift has the same likelihood: the deviation is that of a uniform composition, not of the noise
    deviation = math.sqrt(float(seen @ (c - n / cells) ** 2))
    assert deviation == pytest.approx(abs(off) / cells, rel=0.15)
    assert found.likely.sum() == n
    gone = np.abs(found.likely - each).sum()
    assert gone == abs(off)


@pytest.mark.slow
def test_a_thousand_cells_agree_with_powers_of_one():
    cells, n = 512, 6_000
    found = _posterior([Term(laplace(10.25, 1.5), 9)] * cells, (n, n))
    c = np.arange(n + 1)
    law = np.exp(-np.abs(c - 10.25) / 1.5)[:200]
    law /= law.sum()
    power = {0: law}
    for k in range(9):
        power[k + 1] = np.convolve(power[k], power[k])[: n + 1]
    rest = np.ones(1)
    for k in range(9):  # 511 = 1 + 2 + ... + 256
        rest = np.convolve(rest, power[k])[: n + 1]
    truth = law * rest[n - np.arange(200)]
    truth /= truth.sum()
    for s in (0, 255, 511):
        seen = np.zeros(200)
        seen[found.low[s] : found.low[s] + len(found.marginals[s])] = found.marginals[s]
        assert np.abs(seen - truth).max() <= found.remainder + 1e-12
    assert found.remainder < 1e-9


@pytest.mark.slow
@examples(60)
@given(st.integers(1, 900), st.integers(1, 900), st.integers(0, 10**6))
def test_products_of_matrices_convolve(out, short, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random(out + short - 1), rng.random(short)
    assert np.allclose(_correlate(a, b), np.correlate(a, b, "valid"), rtol=1e-13)


# ---------------------------------------------------------------- what differential privacy promises


@pytest.mark.slow
@examples(40)
@given(st.data(), st.sampled_from([0.1, 0.5, 1.0, 3.0]))
def test_odds_of_a_named_row_move_by_at_most_twice_epsilon(data, epsilon):
    sizes = data.draw(st.lists(st.integers(1, 2), min_size=2, max_size=3))
    n = data.draw(st.integers(1, 4))
    published = [data.draw(st.floats(-5, 10)) for _ in sizes]
    terms = [Term(laplace(y, 1 / epsilon), size) for y, size in zip(published, sizes, strict=True)]
    law = every_dataset(terms, (n, n), "worlds")
    found = _posterior(terms, (n, n), "worlds")
    named = defaultdict(float)
    for rows, p in law.items():
        named[rows[0]] += p
    odds = found.expected / n / np.array(sizes)
    for (s, _), (t, _) in itertools.permutations(named, 2):
        assert odds[s] / odds[t] <= math.exp(2 * epsilon) * (1 + 1e-9)
    for (s, _), p in named.items():
        close(odds[s], p)


@pytest.mark.slow
@examples(40)
@given(st.integers(0, 10**9), st.sampled_from([0.01, 0.1, 1.0]))
def test_odds_of_a_named_row_in_many_cells(seed, epsilon):
    rng = np.random.default_rng(seed)
    sizes = [int(10 ** rng.uniform(0, 12)) for _ in range(6)]
    n = int(rng.integers(1, 5_000))
    terms = [Term(laplace(rng.uniform(-50, n), 1 / epsilon), size) for size in sizes]
    found = _posterior(terms, (n, n), "worlds")
    odds = found.expected / n / np.array(sizes, dtype=float)
    assert odds.max() / odds.min() <= math.exp(2 * epsilon) * (1 + 1e-6)


# ---------------------------------------------------------------- edges and refusals


@pytest.mark.parametrize("prior", PRIORS)
def test_a_prior_of_many_rows_is_paid_for_before_it_is_made(prior):
    """The number of rows stands in a file: its laws take gigabytes, and seconds for every profile."""
    few = _posterior([Term(laplace(3.2, 1.0), 2), Term(laplace(4.1, 1.0), 3)], (7, 7), prior)
    many, shares = replace(few, rows=(90_000_000, 90_000_000)), np.array([[0.5, 0.0], [0.5, 0.25]])
    for asked in (many.prior_entropy, partial(many.absent_before, shares)):
        with pytest.raises(Inconclusive, match="the prior of 90,000,000 rows needs more memory than allowed"):
            asked(limits=Limits(memory=1 << 30))
        with pytest.raises(Inconclusive, match="the prior of 90,000,000 rows needs more time than is left"):
            asked(limits=Limits(seconds=0.5, memory=1 << 40))
    limits = Limits()
    assert few.prior_entropy(limits=limits) > 0
    assert few.absent_before(shares, limits).tolist() == pytest.approx(few.absent_before(shares).tolist())
    assert limits.meter.used > 0


@pytest.mark.parametrize("prior", PRIORS)
def test_edges(prior):
    one = _posterior([Term(laplace(3.2, 1.0), 10**400)], (7, 7), prior)
    assert one.expected.tolist() == [7.0]
    assert one.likely.tolist() == [7]
    assert one.entropy_counts_bits == 0.0
    assert one.entropy() == pytest.approx(7 * 400 * math.log2(10))
    assert one.prior_entropy() == pytest.approx(one.entropy())
    none = _posterior([Term(laplace(3.2, 1.0), 5), Term(laplace(-1, 1.0), 0)], (0, 0), prior)
    assert none.likely.tolist() == [0, 0]
    assert none.absent(np.array([[1.0, 0.0]])).tolist() == [1.0]
    assert none.absent_before(np.array([[1.0, 0.0]])).tolist() == [1.0]
    empty = _posterior([Term(flat, 0)], (0, 3), prior)
    assert empty.rows_distribution == {0: 1.0}
    assert empty.prior_entropy() == 0.0
    sure = _posterior([Term(flat, 5, 2, 2), Term(flat, 4)], (6, 6), prior)
    assert sure.expected.tolist() == [2.0, 4.0]
    both = sure.absent(np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]))
    assert both.tolist() == pytest.approx([0.5**6, 0.0, 1.0])
    giant = _posterior([Term(laplace(4, 1.0), 10**400), Term(laplace(3, 1.0), 1)], (7, 7), prior)
    assert giant.expected.sum() == pytest.approx(7)
    assert giant.expected[0] == pytest.approx(7 if prior == "worlds" else 4, abs=0.5)


def test_a_narrow_support_is_found_wherever_it_lies():
    n = 3_000_000
    found = _posterior([Term(truncated(1_234_567.5, 1.0, 2), 9), Term(flat, 9)], (n, n))
    assert found.low[0] == 1_234_566
    assert len(found.marginals[0]) == 4
    weights = np.exp(-np.array([1.5, 0.5, 0.5, 1.5]))
    close(found.marginals[0], weights / weights.sum())
    assert found.low[1] == n - 1_234_569


def test_contradictions_name_the_cell_or_the_sums():
    with pytest.raises(ContradictionError, match="cell 1") as told:
        _posterior([Term(flat, 3), Term(truncated(-9, 1.0, 2), 3)], (5, 5))
    assert told.value.conflict == ("cell 1",)
    with pytest.raises(ContradictionError, match="8 to 9 rows together, not 2 to 7"):
        _posterior([Term(flat, 3, 4, 4), Term(flat, 3, 4, 5)], (2, 7))
    with pytest.raises(ContradictionError, match="cell 0"):
        _posterior([Term(flat, 0, 1), Term(flat, 3)], (5, 5))


def test_partial_sums_are_charged_before_they_are_made(monkeypatch):
    made, advance = [], WindowChain.advance

    def heard(self, before, s, values, first, last):
        made.append(last - first + 1)
        return advance(self, before, s, values, first, last)

    monkeypatch.setattr(WindowChain, "advance", heard)
    terms = [Term(laplace(30, 4.0), 4)] * 3
    _posterior(terms, (90, 90))
    whole = made[:]
    made.clear()
    with pytest.raises(Inconclusive, match="more memory"):
        _posterior(terms, (90, 90), limits=Limits(memory=PASS_BYTES * (whole[0] + whole[1])))
    assert made == whole[:1]


def test_refusals():
    good = [Term(laplace(3, 1.0), 4), Term(laplace(2, 1.0), 4)]
    for terms, rows, precision in (([], (1, 1), 0.1), (good, (2, 1), 0.1), (good, (-1, 1), 0.1), (good, (1, 1), 0.0)):
        with pytest.raises(ReleaseError):
            _posterior(terms, rows, precision=precision)
    with pytest.raises(ReleaseError):
        _posterior([Term(flat, -1)], (1, 1))
    found = _posterior(good, (5, 5))
    for shares in (np.zeros((2, 3)), np.full((1, 2), 1.5), np.full((1, 2), np.nan), np.zeros(2)):
        with pytest.raises(ReleaseError):
            found.absent(shares)
    with pytest.raises(ReleaseError):
        found.interval(1.0)
    with pytest.raises(Unsupported, match="cell 0 is not a number"):
        _posterior([Term(lambda c: np.full(len(c), np.nan), 3), good[0]], (5, 5))
    with pytest.raises(Unsupported, match="not concave"):
        _posterior([Term(lambda c: -np.sqrt(np.abs(c - 500.0)), 3), good[0]], (1000, 1000))
    with pytest.raises(Inconclusive, match="time"):
        _posterior(good, (5, 5), limits=Limits(seconds=0.0))
    with pytest.raises(Inconclusive, match="memory"):
        _posterior(good, (5, 5), limits=Limits(memory=10))


def test_ten_thousand_profiles_before_and_after():
    rng = np.random.default_rng(3)
    n = 4_000
    terms = [Term(laplace(y, 2.0), 1_000) for y in rng.multinomial(n, [0.125] * 8)]
    found = _posterior(terms, (n, n))
    shares = np.zeros((10_000, 8))
    shares[np.arange(10_000), rng.integers(0, 8, 10_000)] = rng.integers(1, 1_001, 10_000) / 1_000
    absent = found.absent(shares)
    for i in range(0, 10_000, 997):
        s = int(np.argmax(shares[i]))
        counts = found.low[s] + np.arange(len(found.marginals[s]))
        assert absent[i] == pytest.approx(
            float((1 - shares[i, s]) ** counts.astype(float) @ found.marginals[s]), rel=1e-9
        )
    some = shares[:50]
    k = np.arange(n + 1)
    law = np.exp(gammaln(n - k + 7.0) - gammaln(n - k + 1.0) - gammaln(7.0) - math.log(math.comb(n + 7, 7)))
    for x, before in zip(some.max(axis=1), found.absent_before(some), strict=True):
        assert before == pytest.approx(float((1 - x) ** k.astype(float) @ law), rel=1e-8)
