"""Proofs by leaf values: exact gradients, the kernel's replay, a second checker, forgeries, certificates of files.

`plain_leaf_values` was written from docs/certificates.md; `boosted_worlds` makes releases whose truth is known.
"""

from __future__ import annotations

import copy
import json
import random
import re
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from boosted_worlds import LAWS, BoostedWorld, computed, forms_for, proved, times_of, with_ends
from plain_leaf_values import Checker, Model, Rejected, plain

import recon
from recon.queries.certificates.certificate_format import sharing_steps
from recon.queries.certificates.issuing import all_of_it
from recon.queries.certificates.verifying import verify
from recon.readers.loading.settled import strengthened_release
from solvers.engines.chain import _with_block
from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import (
    AtLeast,
    AtMost,
    Form,
    LeafValues,
    NoWorld,
    OnlyWorld,
    Possible,
    Refined,
    RegionProof,
    Witness,
)
from solvers.kernel.leaf_values.replay import LeafValueReplay, _limbs, _products, replayed
from solvers.kernel.proof_format import proof_from, proof_json
from solvers.proofs.certificates.certifier import _root_proofs
from solvers.proofs.certificates.leaf_steps import StepWalk, TracedReplay
from solvers.statements.boxes import Box, Boxes
from solvers.statements.gradients.boosted import Gradients, rows_at
from solvers.statements.gradients.enclosed import BITS, WORK, _exp_of_minus, _nearest, add_step, contribution
from solvers.statements.questions.answers import StrengthenedAnswer
from solvers.statements.release import ANY_LABEL, UNBOUNDED, AddedBlocks, Loose, Partition, Region, RowCount, Statement

GOLDEN = Path(__file__).parent / "golden"


# ---------------------------------------------------------------- gradients


def test_exp_is_enclosed():
    rng = random.Random(1)
    with localcontext() as context:
        context.prec = 120
        for _ in range(150):
            x = rng.choice([rng.uniform(0, 3), rng.uniform(0, 90), rng.uniform(0, 4000), rng.random() * 2.0**-70])
            n = int(Fraction(x) * 2**WORK)
            low, high, s = _exp_of_minus(n)
            true = (-Decimal(n) / Decimal(2) ** WORK).exp()
            assert Decimal(low) / Decimal(2) ** s <= true <= Decimal(high) / Decimal(2) ** s
            assert high - low <= low >> 165
    assert _exp_of_minus(0) == (1 << WORK, 1 << WORK, WORK)
    low, high, s = _exp_of_minus(10_000 << WORK)
    assert low == 0 < high
    assert s > 5_000


@pytest.mark.parametrize("law", LAWS)
def test_contributions_agree_with_a_second_way_and_hold_doubles(law):
    rng = np.random.default_rng(3)
    scores, classes = (1, 2) if law.loss == "log_loss" else (3, 3)
    model = Model(type("M", (), {"gradients": law, "start": (), "base": (), "trees": ()}))
    for _ in range(25):
        f = tuple(float(np.float32(x)) for x in rng.normal(scale=4, size=scores))
        of = int(rng.integers(scores))
        found = contribution(law, f, of, classes, False)
        floats = rows_at(law, np.array([f]), of, classes, False)
        for k in range(classes):
            g, h = model.row(f, of, False, k)
            for mine, other in ((found.gradient[k], g), (found.hessian, h)):
                assert mine[0] <= other[0] * 2**BITS  # decimals are nearer than 2^-BITS
                assert other[1] * 2**BITS <= mine[1]
                assert mine[1] - mine[0] <= (other[1] - other[0]) * 2**BITS + 4
            near = computed(law, f, of, k)
            assert found.gradient[k][0] / 2**BITS - 1e-15 <= near[0] <= found.gradient[k][1] / 2**BITS + 1e-15
            assert Fraction(floats.gradient.low[0, k]) <= Fraction(found.gradient[k][0], 2**BITS)
            assert Fraction(found.gradient[k][1], 2**BITS) <= Fraction(floats.gradient.high[0, k])
        assert Fraction(floats.hessian.low[0]) <= Fraction(found.hessian[0], 2**BITS)
        assert Fraction(found.hessian[1], 2**BITS) <= Fraction(floats.hessian.high[0])


def test_extreme_scores_have_gradients_and_odd_laws_none():
    found = contribution(Gradients("log_loss"), (-1e300,), 0, 2, False)
    assert found.gradient[0][0] == 0
    assert found.gradient[1][0] == -(1 << BITS)
    assert contribution(Gradients("softmax"), (1e300, -1e300), 1, 2, True).gradient[0][0] == 0
    curve = contribution(Gradients("log_loss", score_error=1.0), (0.0,), 0, 2, False).hessian
    assert curve[1] == 1 << BITS - 2
    flipped = contribution(Gradients("log_loss", scale=-2.0), (0.75,), 0, 2, False)
    assert flipped.gradient[0][1] < 0 < flipped.hessian[0]
    for law, scores in (
        (Gradients("squared_error"), (0.0,)),
        (Gradients("log_loss", relative=1.0), (0.0,)),
        (Gradients("log_loss", absolute=-1.0), (0.0,)),
        (Gradients("log_loss", scale=1e308, rounded="float32"), (0.0,)),
        (Gradients("log_loss"), (float("nan"),)),
    ):
        with pytest.raises(ValueError, match=r"classes|mean anything|beyond"):
            contribution(law, scores, 0, 2, False)


def test_rounding_is_ieee():
    rng = np.random.default_rng(5)
    numbers = [
        *rng.normal(size=200),
        *(rng.normal(size=50) * 1e-42),
        *(rng.normal(size=20) * 1e-310),
        0.0,
        1 + 2.0**-24,
    ]
    for x in map(float, numbers):
        n, d = x.as_integer_ratio()
        for precision, kind in (("float32", np.float32), ("float64", np.float64)):
            m, e = _nearest(n, d.bit_length() - 1, precision)
            assert Fraction(m) / Fraction(2) ** e == Fraction(float(kind(x)))
    for a, b in rng.normal(size=(100, 2)).tolist():
        assert add_step(a, b, "float64") == a + b
        small = float(np.float32(a)), float(np.float32(b))
        assert add_step(*small, "float32") == float(np.float32(small[0]) + np.float32(small[1]))


def test_products_of_long_numbers_are_exact():
    rng = random.Random(2)
    weights = np.array([[rng.randrange(-(2**90), 2**90) for _ in range(7)] for _ in range(3)], dtype=object)
    values = np.array([rng.randrange(-(2**140), 2**140) for _ in range(14)], dtype=object)
    row, col = np.repeat(np.arange(7), 2), np.tile([0, 4], 7)
    dense = np.zeros((7, 5), dtype=object)
    dense[row, col] = values
    assert (_products(weights, (row, col, values), (7, 5)) == weights.dot(dense)).all()
    assert _limbs(np.array([0, -5], dtype=object), 16).tolist() == [[0.0], [-5.0]]


# ---------------------------------------------------------------- two checkers


def steps_of(proof):
    return proof_json(proof)["steps"]


def base_of(world, domain):
    """Return a first-match list that says how many rows have every value of x0, and nobody is elsewhere."""
    counts = [sum(row[0] == v for row in world.rows) for v in range(2)]
    boxes = Boxes.of([Box(((0, 1 << v),)) for v in range(2)] + [Box()])
    numbers, labels = np.arange(3, dtype=np.int32), np.full(3, ANY_LABEL, dtype=np.int32)
    ends = np.array([*counts, 0])
    return Partition("list", boxes, True, numbers, labels, ends, ends, ("a", "b", "else"), ())


def worlds():
    for seed in range(12):
        law = LAWS[seed % len(LAWS)]
        small = {} if law.loss == "log_loss" else {"rounds": 1 + seed % 2, "sizes": (2, 3)}
        world = BoostedWorld(seed, law, rows=9, base=base_of if seed % 3 == 0 else None, **small)
        if seed % 4 == 1:
            world.release = replace(world.release, impossible=impossible(world))
        trees = len(world.boosted.trees)
        yield world, [[trees], [1, trees], [max(1, trees // 2), trees]][seed % 3]


def impossible(world):
    """Return a box that no true row lies in, if there is one of two values."""
    seen = {row[:2] for row in world.rows}
    return tuple(Box(((0, 1 << a), (1, 1 << b))) for a in range(2) for b in range(3) if (a, b) not in seen)


CASES = list(worlds())


@pytest.mark.sampled(1, 7)
@pytest.mark.parametrize("i", range(len(CASES)))
def test_both_checkers_accept_what_is_true_and_know_the_same(i):
    world, stages = CASES[i]
    proof, made = proved(world, stages)
    again = replayed(NumberedStatements(world.release), proof_from(proof_json(proof)), Limits())
    truth = times_of(world, again)
    assert (again.lower <= truth).all()
    assert (truth <= again.upper).all()
    assert np.array_equal(again.upper, made.upper)
    checker = Checker(plain(world.release), 0)
    checker.run(steps_of(proof))
    assert checker.bounds() == (again.lower.tolist(), again.upper.tolist())
    assert checker.truth(world.rows, world.y).tolist() == truth.tolist()


def mutated(rng, steps):
    """Return steps with one number moved, a pair left out, a step left out, repeated or moved."""
    steps = copy.deepcopy(steps)
    i = rng.randrange(len(steps))
    one, kind = steps[i], rng.randrange(7)
    if kind == 0:
        del steps[i]
    elif kind == 1:
        steps.insert(rng.randrange(len(steps) + 1), copy.deepcopy(one))
    elif one[0] == "refined":
        one[1] += rng.choice([-1, 1])
    elif kind == 2:
        one[rng.choice([4, 5])] += rng.choice([-1, 1])
    elif kind == 3 and one[3]:
        rng.choice(one[3])[1] *= -1
    elif kind == 4 and one[3]:
        rng.choice(one[3])[0] += rng.choice([-1, 1])
    elif kind == 5 and one[3]:
        del one[3][rng.randrange(len(one[3]))]
    else:
        one[4] = one[5] = rng.randrange(3)
    return steps


@pytest.mark.slow
def test_mutated_proofs_show_nothing_false_and_both_checkers_say_so():
    rng, accepted, refused = random.Random(4), 0, 0
    for world, stages in CASES[:5]:
        proof, _ = proved(world, stages, rounds=1)
        facts, data = NumberedStatements(world.release), plain(world.release)
        for _ in range(5):
            steps = mutated(rng, steps_of(proof))
            other = Checker(data, 0)
            try:
                other.run(steps)
            except Rejected:
                other = None
            try:
                found = replayed(
                    facts,
                    LeafValues(
                        0,
                        proof_from(
                            {
                                "kind": "leaf_values",
                                "model": 0,
                                "steps": steps,
                                "last": {"kind": "regions", "statements": []},
                            }
                        ).steps,
                        RegionProof(()),
                    ),
                    Limits(),
                )
            except CertificateError:
                refused += 1
                assert other is None
                continue
            accepted += 1
            assert other is not None
            assert other.bounds() == (found.lower.tolist(), found.upper.tolist())
            truth = other.truth(world.rows, world.y)
            assert (found.lower <= truth).all()
            assert (truth <= found.upper).all()
    assert min(accepted, refused) > 4


# ---------------------------------------------------------------- forgeries


WORLD, _ = CASES[1]
FORM = Form(((0, 1),), 1, ((0, 1),), 0, 9)


def refused(release, steps, model=0, limits=None):
    with pytest.raises(CertificateError) as error:
        replayed(NumberedStatements(release), LeafValues(model, tuple(steps), RegionProof(())), limits or Limits())
    return str(error.value)


def boosted_with(world, **changes):
    trees = tuple(
        replace(tree, **{k: np.full_like(getattr(tree, k), v) for k, v in changes.items()})
        for tree in world.boosted.trees
    )
    return replace(world.release, boosted=(replace(world.boosted, trees=trees),))


def test_forged_steps_are_refused_by_name():
    release, trees = WORLD.release, len(WORLD.boosted.trees)
    statements = sum(map(len, release.blocks)) + 1
    figure = Form(((0, 1),), 1, ((statements, 1),), 0, 9)
    cut = Refined(trees)
    odd = [
        ([cut], 7, "no boosted model 7"),
        ([Refined(trees + 1)], 0, "step 0 cuts the cells by"),
        ([cut, Refined(trees)], 0, "step 1 cuts the cells by"),
        ([FORM], 0, "statement 0 is of no partition that cut the cells"),
        ([figure], 0, "figure 0 is of a tree that has not cut the cells yet"),
        ([cut, replace(FORM, terms=())], 0, "step 1 is about no column"),
        ([cut, replace(FORM, terms=((0, 1), (0, 1)))], 0, "names one twice"),
        ([cut, replace(FORM, terms=((0, 0),))], 0, "weighs it by 0"),
        ([cut, replace(FORM, terms=((-1, 1),))], 0, "a column that does not exist"),
        ([cut, replace(FORM, multipliers=((0, 1), (0, 1)))], 0, "names a source twice"),
        ([cut, replace(FORM, multipliers=((10**6, 1),))], 0, "one that is not known yet"),
        ([cut, replace(FORM, over=0)], 0, "divides by none"),
        ([cut, replace(FORM, multipliers=((0, 1 << 2000),))], 0, "a number that is too long"),
        ([cut, replace(FORM, low=10, high=11)], 0, "step 1 says 10 to 11, its sum shows"),
        ([cut, replace(FORM, multipliers=(), high=0)], 0, "its sum shows 0 to 9"),
    ]
    for steps, model, said in odd:
        assert said in refused(release, steps, model), said
    assert "not verified: the time was up" in refused(release, [cut], limits=Limits(0.0))
    late = LeafValueReplay(NumberedStatements(release), 0, Limits())
    late.run([cut])
    late.limits = Limits(0.0)
    with pytest.raises(NotVerified, match="the time was up"):
        late.combined([FORM])


def test_odd_models_are_refused_by_name():
    release, trees, law = WORLD.release, len(WORLD.boosted.trees), WORLD.boosted.gradients
    statements = sum(map(len, release.blocks)) + 1
    figure = Form(((0, 1),), 1, ((statements + 8, 1),), 0, 9)
    steps = [Refined(trees), figure]
    model = WORLD.boosted
    loose = (Loose((Statement.count(Region(Box()), 0, 9, "x"),)),)
    for changed, said in (
        (boosted_with(WORLD, low=-np.inf), "has an end that is not a number"),
        (boosted_with(WORLD, gradient=np.nan), "weighs gradients by what is not a number"),
        (boosted_with(WORLD, step=np.inf), "gradients cannot be worked out"),
        (replace(release, boosted=(replace(model, labels=(0, 0)),)), "the labels of the model"),
        (replace(release, boosted=(replace(model, labels=(0, 7)),)), "the labels of the model"),
        (replace(release, boosted=(replace(model, labels=()),)), "say nothing about rows"),
        (replace(release, boosted=(replace(model, gradients=Gradients("squared_error")),)), "classes"),
        (replace(release, boosted=(replace(model, gradients=replace(law, relative=2.0)),)), "mean anything"),
        (replace(release, blocks=(loose[0], *release.blocks[1:])), "a tree of the model is not a partition"),
    ):
        if said == "gradients cannot be worked out":
            late = replace(figure, multipliers=((statements + len(model.trees[0]) * 2, 1),))
            assert said in refused(changed, [Refined(trees), late])
        else:
            assert said in refused(changed, steps), said
    wide = CASES[2][0]  # whose gradients are intervals, not numbers
    first = sum(map(len, wide.release.blocks)) + 1
    for y in (1 << 1000, 1):
        huge = replace(FORM, multipliers=((first, y), (first + 2, y)))
        changed = boosted_with(wide, hessian=1e308, gradient=1e308)
        assert "too large to be added up" in refused(changed, [Refined(len(wide.boosted.trees)), huge])
    far = replace(FORM, multipliers=((first, 1 << 1000), (first + 2, 1)))
    assert "too large to be added up" in refused(wide.release, [Refined(len(wide.boosted.trees)), far])
    endless = replace(release.blocks[0], high=np.full_like(release.blocks[0].high, UNBOUNDED))
    assert "statement 0 has no two ends" in refused(
        replace(release, blocks=(endless, *release.blocks[1:])), [Refined(trees), FORM]
    )
    single = replace(WORLD.release, rows=RowCount(0, None))
    with pytest.raises(CertificateError, match="number of rows is unbounded"):
        Verifier(single).verify(NoWorld(), LeafValues(0, (), RegionProof(())))
    world = CASES[3][0]
    steep = replace(
        world.boosted, trees=tuple(replace(t, step=np.full_like(t.step, 3e38)) for t in world.boosted.trees)
    )
    assert "the scores are not numbers" in refused(replace(world.release, boosted=(steep,)), [Refined(3)])


def test_malformed_steps_are_refused_by_place():
    good = {"kind": "leaf_values", "model": 0, "steps": [["refined", 1]], "last": {"kind": "regions", "statements": []}}
    assert proof_json(proof_from(good)) == good
    form = ["form", [[0, 1]], 1, [[0, 1]], 0, 1]
    for place, value, said in (
        ("steps", [["cut", 1]], "proof.steps[0] is not a step"),
        ("steps", [["refined"]], "has all of its parts"),
        ("steps", [[[], 1]], "proof.steps[0] is not a step"),
        ("steps", [["refined", 1.5]], "proof.steps[0][1] is 1.5"),
        ("steps", [[*form[:1], [[0]], *form[2:]]], "proof.steps[0][1][0] has 1 numbers"),
        ("steps", [[*form[:3], [[0, True]], *form[4:]]], "proof.steps[0][3][0][1]"),
        ("steps", [[*form[:5], "1"]], "proof.steps[0][5] is "),
        ("steps", 3, "proof.steps is not a list"),
        ("model", None, "proof.model is None"),
        ("last", 1, "proof has no 'kind'"),
        ("other", 1, "proof has"),
    ):
        with pytest.raises(CertificateError, match=re.escape(said)):
            proof_from({**good, place: value})
    deep = good
    for _ in range(25):
        deep = {**good, "last": deep}
    with pytest.raises(CertificateError, match="more than 20 boosted models"):
        proof_from(deep)


# ---------------------------------------------------------------- claims


def known_world(seed=2, rows=6):
    """Return a world whose rows leaf values determine, its proof and what is left: few rows, many trees."""
    for s in range(seed, seed + 40):
        world = BoostedWorld(s, LAWS[0], rows=rows, sizes=(2, 2), rounds=6)
        proof, left = proved(world, rounds=3)
        if (left.lower == left.upper).all():
            return world, proof, left
    raise AssertionError("no world was determined")


KNOWN = known_world()


def test_claims_over_what_is_left():
    world, proof, left = KNOWN
    verifier = Verifier(world.release)
    parts = sorted({(*row, y) for row, y in zip(world.rows, world.y, strict=True)})
    times = tuple(sum((*row, y) == p for row, y in zip(world.rows, world.y, strict=True)) for p in parts)
    block = len(world.release.blocks)
    inner = Verifier(replace(left.release(), boosted=()))
    for row, n in zip(parts, times, strict=True):
        box = Box(tuple((k, 1 << v) for k, v in enumerate(row)))
        found = _root_proofs(
            verifier,
            [settled_of(world, proof)],
            {AtLeast(box, n): RegionProof(()), AtMost(box, n): RegionProof(())},
            Limits(),
        )
        for claim, one in found.items():
            assert isinstance(one, LeafValues)
            verifier.verify(claim, one)
            false = replace(claim, rows=n + 1 if isinstance(claim, AtLeast) else n - 1)
            with pytest.raises(CertificateError):
                verifier.verify(false, one)
        witness = Witness(tuple(parts), times)
        verifier.verify(Possible(box), LeafValues(0, proof.steps, witness))
        with pytest.raises(CertificateError, match="not all that was published"):
            verifier.verify(Possible(box), witness)
        with pytest.raises(CertificateError, match="not all that was published"):
            verifier.verify(Possible(box), LeafValues(0, proof.steps[:1], witness))
    assert inner.facts.release.blocks[block].kind == "leaf values"
    with pytest.raises(CertificateError):
        verifier.verify(NoWorld(), proof)
    with pytest.raises(CertificateError):
        verifier.verify(OnlyWorld(tuple(parts), tuple(t + 1 for t in times)), proof)


def settled_of(world, proof):
    return AddedBlocks(world.release, 0, proof.steps, 0, 0.0)


def test_figures_out_of_reach_leave_the_model_in():
    world, _, left = KNOWN
    assert left.fixed()
    shifted = boosted_with(world)
    trees = shifted.boosted[0].trees
    trees = (*trees[:-1], replace(trees[-1], low=trees[-1].low + 5, high=trees[-1].high + 5))
    other = LeafValueReplay(
        NumberedStatements(replace(shifted, boosted=(replace(world.boosted, trees=trees),))), 0, Limits()
    )
    other.run([Refined(len(trees))])
    other.lower, other.upper = left.lower.copy(), left.upper.copy()
    assert not other.fixed()


def test_trimmed_steps_prove_the_same_with_less():
    for world, stages in CASES[:3]:
        proof, left = proved(world, stages)
        facts = NumberedStatements(world.release)
        traced = TracedReplay(facts, 0, proof.steps, Limits())
        assert np.array_equal(traced.lower, left.lower)
        every = traced.now.behind(np.arange(len(left.lower)))
        kept = StepWalk(traced).back(every)
        again = replayed(facts, LeafValues(0, kept, RegionProof(())), Limits())
        assert np.array_equal(again.lower, left.lower)
        assert np.array_equal(again.upper, left.upper)
        assert len(json.dumps(steps_of(LeafValues(0, kept, RegionProof(()))))) < len(json.dumps(steps_of(proof)))


def test_what_sources_determine_directly_rests_on_no_other_step():
    world, proof, left = KNOWN
    facts = NumberedStatements(world.release)
    for j in np.flatnonzero(left.lower > 0).tolist():
        traced = TracedReplay(facts, 0, proof.steps, Limits())
        assert traced.basis is not None
        kept = StepWalk(traced).back(traced.now.behind(np.array([j])))
        assert len(kept) <= 2
        again = replayed(facts, LeafValues(0, kept, RegionProof(())), Limits())
        assert again.lower[j] == left.lower[j]
    assert TracedReplay(facts, 0, proof.steps, Limits(memory=10**3)).basis is None  # a matrix of all sources
    silent = boosted_with(world, gradient=0.0, hessian=0.0, square=0.0)  # counts alone say nothing of labels
    assert TracedReplay(NumberedStatements(silent), 0, proof.steps[:1], Limits()).basis is None


def test_totals_are_a_second_block():
    for seed, law in ((5, LAWS[0]), (6, LAWS[4])):
        world = BoostedWorld(seed, law, rows=9)
        replay, labels = LeafValueReplay(NumberedStatements(world.release), 0, Limits()), len(world.boosted.labels)
        replay.run([Refined(1)])
        counts = world.release.blocks[0].low
        first = Form(tuple((k, 1) for k in range(labels)), 1, ((0, 1),), int(counts[0]), int(counts[0]))
        steps = [Refined(1), first]
        replay.run([first])
        for more in (None, Refined(2), Refined(len(world.boosted.trees))):
            if more is not None:
                replay.run([more])
                steps.append(more)
            least, most, by_low, _ = replay.totals()
            checker = Checker(plain(world.release), 0)
            checker.run(steps_of(LeafValues(0, tuple(steps), RegionProof(()))))
            assert (least.tolist(), most.tolist()) == checker.totals()
            truth = times_of(world, replay).reshape(-1, labels).sum(axis=1)
            assert ((least <= truth) & (truth <= most)).all()
            assert bool((by_low >= 0).any()) == (bool((replay.ancestor[1] == 0).sum() == 1) and counts[0] > 0)
    world = BoostedWorld(5, LAWS[0], rows=9)
    replay = LeafValueReplay(NumberedStatements(world.release), 0, Limits())
    steps = [Refined(1)]
    steps += [Form(((2 * c, 1), (2 * c + 1, 1)), 1, ((c, 1),), int(n), int(n)) for c, n in enumerate(counts_of(world))]
    replay.run(steps)
    release, proof = replay.release(), LeafValues(0, tuple(steps), RegionProof(()))
    assert [b.kind for b in release.blocks[len(world.release.blocks) :]] == ["leaf values", "leaf values, rows"]
    alive = replay.alive
    low, high = (x.reshape(-1, 2)[alive] for x in (replay.lower, replay.upper))
    least, most = (x[alive] for x in replay.totals()[:2])
    boxes = Boxes.of(replay.cutter.boxes(replay.cells.kept(alive)))
    answered = StrengthenedAnswer(
        "bounds", boxes=boxes, low=low, high=high, steps=steps, total_low=least, total_high=most
    )
    assert (
        NumberedStatements(_with_block(world.release, 0, answered)).fingerprint
        == NumberedStatements(release).fingerprint
    )
    plainly = StrengthenedAnswer("bounds", boxes=boxes, low=low, high=high)
    assert np.array_equal(plainly.total_high, high.sum(axis=1))
    verifier = Verifier(world.release)
    for box, n in zip(boxes, most.tolist(), strict=True):
        claims = {AtMost(box, n): RegionProof(()), AtLeast(box, n): RegionProof(())}
        for claim, one in _root_proofs(verifier, [settled_of(world, proof)], claims, Limits()).items():
            assert isinstance(one, LeafValues)
            assert len(one.steps) == 2
            verifier.verify(claim, one)
            with pytest.raises(CertificateError):
                verifier.verify(replace(claim, rows=n - 1 if isinstance(claim, AtMost) else n + 1), one)
    late = LeafValueReplay(NumberedStatements(world.release), 0, Limits())
    late.run(steps)
    late.limits = Limits(0.0)
    with pytest.raises(NotVerified, match="the time was up"):
        late.totals()


def counts_of(world):
    return world.release.blocks[0].low.tolist()


def test_facts_outlive_cuts():
    world = BoostedWorld(5, LAWS[0], rows=9)
    replay = LeafValueReplay(NumberedStatements(world.release), 0, Limits())
    replay.run([Refined(1)])
    pair = with_ends(replay, [replace(forms_for(replay, [0])[0], terms=((0, 1), (1, 1)))])
    pair += with_ends(replay, forms_for(replay, [0]))
    replay.run(pair)
    replay.run([Refined(3)])
    first = len(replay.facts) + len(replay.figures) + 2  # the whole space and its two labels were cut first
    parts = replay.ancestor[1] == 0
    assert replay.row(first).columns.tolist() == np.flatnonzero(np.repeat(parts, 2)).tolist()
    assert set(replay.row(first + 1).columns.tolist()) < set(replay.row(first).columns.tolist())
    assert replay.ends(first) != replay.ends(first + 1)
    assert len(replay.known) == 2 + 2 + 2 * (replay.ancestor[1].max() + 1)


def test_two_models_one_inside_the_other():
    first, second = BoostedWorld(1, LAWS[0], rows=5, sizes=(2, 2), rounds=4), None
    second = copy.copy(first)
    blocks = len(first.release.blocks)
    moved = tuple(replace(tree, block=tree.block + blocks) for tree in first.boosted.trees)
    both = replace(
        first.release,
        blocks=(*first.release.blocks, *first.release.blocks),
        boosted=(first.boosted, replace(first.boosted, trees=moved)),
    )
    second.release = both
    proof, left = proved(second)
    third = copy.copy(first)
    third.release = left.release()
    last, inner = proved(third, model=1)
    assert inner.cutter.base == (2 * blocks,)
    row, y = first.rows[0], first.y[0]
    box = Box(tuple((k, 1 << v) for k, v in enumerate((*row, y))))
    settled = [AddedBlocks(both, 0, proof.steps, 0, 0.0), AddedBlocks(left.release(), 1, last.steps, 0, 0.0)]
    n = sum((*r, v) == (*row, y) for r, v in zip(first.rows, first.y, strict=True))
    most = max(n, int(inner.upper.max()))
    verifier = Verifier(both)
    found = _root_proofs(verifier, settled, {AtMost(box, most): RegionProof(())}, Limits())
    nested = found[AtMost(box, most)]
    assert isinstance(nested, LeafValues)
    assert isinstance(nested.last, LeafValues)
    assert (nested.model, nested.last.model) == (0, 1)
    assert proof_from(proof_json(nested)) == nested


# ---------------------------------------------------------------- files


@pytest.fixture(scope="module")
def softmax():
    release = recon.load(GOLDEN / "boosted_softmax.json")
    return release, all_of_it(strengthened_release(release), Limits(20))


def test_a_file_is_certified_and_verified(softmax):
    release, certificate = softmax
    assert certificate["proof"]["kind"] == "leaf_values"
    assert not verify(certificate, release).checked[0].error
    assert any("leaf values" in line for line in certificate["assumptions"])


def test_changed_figures_are_another_release(softmax):
    release, certificate = softmax
    statements = release.statements
    tree = statements.boosted[0].trees[0]
    high = tree.high.copy()
    high[0] = np.nextafter(high[0], np.inf)
    other = replace(statements.boosted[0], trees=(replace(tree, high=high), *statements.boosted[0].trees[1:]))
    assert (
        NumberedStatements(replace(statements, boosted=(other,))).fingerprint
        != NumberedStatements(statements).fingerprint
    )
    assert certificate["statements_sha256"] == NumberedStatements(statements).fingerprint


def test_shared_steps_are_read_from_the_certificate_that_holds_them(softmax):
    release, certificate = softmax
    both = sharing_steps([certificate, certificate])
    assert "shared" in both[1]["proof"]
    assert both[1]["seal"] == certificate["seal"]
    assert not any(c.error for c in verify(json.loads(json.dumps(both)), release).checked)
    alone = verify(json.loads(json.dumps(both[1])), release).checked[0]
    assert "which this result does not hold" in alone.error
    broken = json.loads(json.dumps(both))
    broken[0]["proof"]["steps"][1][5] += 1
    assert all(c.error for c in verify(broken, release).checked)
