"""The engine against brute force over every dataset of random tiny releases: all conventions, all questions."""

from __future__ import annotations

import math
import random
from collections import Counter

import oracle
import pytest
from extras import batches, encoded

import recon

BATCHES = batches(2, 14)
PER_BATCH = 75
CONVENTIONS = ("assigned", "ordered", "multiset")


def releases(test, batch, **options):
    """Yield random releases, others for every test: 6,000 in all."""
    rng = random.Random(f"{test} {batch}")
    for _ in range(PER_BATCH):
        yield rng, *oracle.random_release(rng, **options)


def close(a, b):
    return (a is None and b is None) or math.isclose(float(a), float(b), rel_tol=1e-11, abs_tol=1e-11)


def canonical_rows(frame):
    return tuple(sorted((tuple(oracle.canonical(v) for v in row) for row in frame.itertuples(index=False)), key=repr))


def rows_of(world):
    """Return the rows of a world by the indices of their values, in one order."""
    return tuple(sorted(map(tuple, world.indices().tolist())))


def written(got, indices):
    """Return rows given by the indices of their values as the oracle writes them."""
    every = got.domain.all
    rows = (tuple(oracle.canonical(a.value(i)) for a, i in zip(every, row, strict=True)) for row in indices)
    return tuple(sorted(rows, key=repr))


def names(release):
    domain = release["domain"]
    return [a["name"] for a in domain["attributes"]] + ([domain["label"]["name"]] if domain.get("label") else [])


def random_profile(rng, release, truth, full=False):
    rows = oracle.rows(release)
    row = rng.choice(truth) if truth and rng.random() < 0.5 else rng.choice(rows)
    kept = {n: v for n, v in zip(names(release), row, strict=True) if full or rng.random() < 0.6}
    return {n: float(v) if getattr(v, "denominator", 1) != 1 else v for n, v in kept.items()}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_count_and_measures(batch):
    for _, release, _ in releases("count_and_measures", batch, label_boxes=batch % 4 == 0):
        got = encoded(release)
        for convention in CONVENTIONS:
            answer = recon.count(got, convention)
            expected = oracle.count(release, convention)
            assert answer.value == expected
            assert answer.status == "exact"
            assert close(answer.log2, math.log2(expected))
            assert close(answer.log2_value(), math.log2(expected))
            measures = recon.measure(got, convention)
            assert close(measures.entropy_bits, oracle.entropy_bits(release, convention))
            assert close(measures.uninformed_bits, oracle.uninformed_bits(release, convention))
            assert close(measures.dist_g, oracle.dist_g(release, convention))
        assert close(recon.measure(got, "assigned").dist, oracle.dist(release))


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_worlds_are_all_the_datasets_once(batch):
    for _, release, _ in releases("worlds_are_all_the_datasets_once", batch, label_boxes=batch % 4 == 0):
        got = encoded(release)
        listed = [written(got, rows_of(w)) for w in recon.worlds(got, limit=None)]
        expected = [tuple(sorted(d, key=repr)) for d in oracle.datasets(release)]
        assert len(set(listed)) == len(listed)
        assert set(listed) == set(expected)
        guess = recon.reconstruct(got)
        assert canonical_rows(guess.to_frame()) in set(expected)
        assert guess.unique == (len(expected) == 1)


def weight(rows):
    return math.factorial(len(rows)) // math.prod(math.factorial(c) for c in Counter(rows).values())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(4))
def test_reconstruct_gives_the_heaviest_histogram(batch):
    for _, release, _ in releases("reconstruct_gives_the_heaviest_histogram", batch):
        heaviest = max(weight(d) for d in oracle.datasets(release))
        assert weight(canonical_rows(recon.reconstruct(encoded(release)).to_frame())) == heaviest


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_certify(batch):
    for rng, release, truth in releases("certify", batch, label_boxes=batch % 4 == 0):
        got = encoded(release)
        profiles = [random_profile(rng, release, truth, full=i == 0) for i in range(3)]
        for convention in CONVENTIONS:
            lines = recon.certify(got, profiles, convention).to_dict("records")
            for profile, line in zip(profiles, lines, strict=True):
                expected = oracle.membership(release, profile, convention)
                assert line["verdict"] == expected["verdict"], (release, profile, convention)
                assert line["min_count"] == expected["min_count"]
                assert line["max_count"] == expected["max_count"]
                assert close(line["probability"], expected["probability"])
                assert close(line["expected_count"], expected["expected_count"])
                assert close(line["probability_before"], expected["probability_before"]), (release, profile, convention)


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_bound(batch):
    for rng, release, truth in releases("bound", batch):
        got = encoded(release)
        where = random_profile(rng, release, truth)
        for convention in CONVENTIONS:
            answer = recon.bound(got, where, convention=convention)
            expected = oracle.bound(release, where, convention)
            assert (answer.min, answer.max) == (expected["min"], expected["max"])
            assert close(answer.expectation, expected["expectation"])


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", BATCHES)
def test_attribute(batch):
    for rng, release, truth in releases("attribute", batch, label_boxes=batch % 4 == 0):
        got = encoded(release)
        columns = release["domain"].get("columns", {})
        sensitive = rng.choice([*names(release), *columns])
        profile = random_profile(rng, release, truth)
        profile.pop(sensitive, None)
        profile.pop(columns.get(sensitive, {}).get("attribute"), None)  # refused: it says the sensitive column
        lines = {c: recon.attribute(got, [profile], sensitive, c).to_dict("records") for c in CONVENTIONS}
        for convention, found in lines.items():
            expected = oracle.attribute(release, profile, sensitive, convention)
            for line in found:
                want = expected[oracle.canonical(line["value"])]
                for ours, theirs in (("probability", "probability"), ("lower", "lower"), ("upper", "upper")):
                    value = None if math.isnan(line[ours]) else line[ours]
                    assert close(value, want[theirs]), (release, profile, sensitive, convention, ours)
                assert (line["min_count"], line["max_count"]) == (want["min_count"], want["max_count"])
                assert line["certain"] == want["certain"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(4))
def test_rows_in_an_interval(batch):
    """Counts per number of rows are summed; probabilities put a uniform prior on it."""
    done = 0
    for rng, release, truth in releases("interval", batch):
        model = release["models"][0]
        if model["kind"] != "rule_list" or (model["rules"] and not model["rules"][-1]["if"]):
            if model["kind"] != "rule_list" or len(model["rules"]) < 2:
                continue
            model["rules"].pop()
        n, known = len(truth), sum(sum(r.get("counts") or [r.get("count", 0)]) for r in model["rules"])
        release["rows"] = {"at_least": max(1, n - 1), "at_most": n + 1}
        if known > n + 1 or len(oracle.rows(release)) ** (n + 1) > 20_000:
            continue
        per_n = {k: v for k, v in oracle.count(release, "ordered").items() if v}
        if len(per_n) < 2:
            continue
        got, done = encoded(release), done + 1
        for convention in CONVENTIONS:
            per_n = {k: v for k, v in oracle.count(release, convention).items() if v}
            assert recon.count(got, convention).value == sum(per_n.values())
            bits = sum(math.log2(v) for v in per_n.values()) / len(per_n) + math.log2(len(per_n))
            assert close(recon.measure(got, convention).entropy_bits, bits)
            profile = random_profile(rng, release, truth)
            line = recon.certify(got, [profile], convention).iloc[0]
            expected = oracle.membership(release, profile, convention)
            assert line["verdict"] == expected["verdict"]
            for ours in ("probability", "expected_count", "probability_before"):
                assert close(line[ours], expected[ours]), (release, profile, convention, ours)
    assert done >= 3


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_samples_are_uniform(convention):
    rng = random.Random(7)
    tested = 0
    while tested < 7:
        release, _ = oracle.random_release(rng)
        datasets = oracle.datasets(release)
        if not 2 <= len(datasets) <= 40:
            continue
        tested += 1
        share = {tuple(sorted(d, key=repr)): 0.0 for d in datasets}
        found = oracle.worlds(release, convention)
        for per_n in found.values():
            for world, w in per_n:
                share[tuple(sorted(world, key=repr))] += float(w)
        total = sum(share.values())
        k, got = 2000, encoded(release)
        drawn = recon.sample(got, k, seed=1, convention=convention)
        assert {canonical_rows(w.to_frame()) for w in drawn[:20]} == {written(got, rows_of(w)) for w in drawn[:20]}
        seen = Counter()
        for indices, times in Counter(map(rows_of, drawn)).items():
            seen[written(got, indices)] += times
        assert set(seen) <= set(share)
        chi2 = sum((seen[d] - k * p / total) ** 2 / (k * p / total) for d, p in share.items())
        freedom = len(share) - 1
        assert chi2 < freedom + 5 * math.sqrt(2 * freedom) + 10  # about 1e-6 by chance
