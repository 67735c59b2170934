"""Who becomes certain or impossible, and how likely everybody is, for whoever knows how the model was chosen.

Impossible and certain are decided in whole numbers (`solvers.greedy.marginals`): rows of one leaf and class are
exchangeable and columns independent, so that a row with all values exists in some world if each column has a filling
with one such row there, and in every world if the least rows of every column cannot avoid each other. Probabilities
(shares of worlds, `assigned`) are rigorous intervals (`solvers.greedy.marginals`).

Worlds drawn from those in which the learner could have chosen the model, exactly uniform where that is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import MISSING
from encoders.encode.encoder import EncodedRelease
from encoders.models.learner_facts import Learner
from recon.learner_rule.chosen_model import OPTIMAL
from recon.learner_rule.counting import STAYS, ChosenModel, asked_learner, assumed, chosen_of
from recon.queries.answers.counting import convention_of
from recon.queries.answers.exact import Profiles, as_frame, certify_exact
from recon.queries.questions.questions import check_world_memory, iterate_samples
from recon.readers.frames.describe import column_like, named_like
from recon.readers.frames.out_of_domain import answered
from recon.readers.frames.selections import profile_ranges
from recon.readers.frames.world import World, wrap
from recon.readers.loading.loading import Released, single_release_of
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.greedy.marginals import ColumnMarginal, StateMarginals, StateSupports, expected_rows, some_row
from solvers.greedy.sampling import Sampler
from solvers.statements.questions.query import Convention
from solvers.statements.release import RowWorld as SolverWorld

EXACT = "exactly uniform over the worlds in which the learner could have chosen this tree"


def sample(
    release: Released,
    k: int = 100,
    seed: int = 0,
    learner: str = "auto",
    convention: str | None = None,
    limits: Limits | None = None,
) -> Iterator[World]:
    """Yield k worlds drawn independently and uniformly from those in which the learner could have chosen the model.

    Of one tree over independent binary columns (`learner` "greedy" or "auto"): each world's note says whether the draw
    is exactly uniform, else how far from it at most (total variation). The rule does not look at the order of rows, so
    `assigned` and `ordered` are the same worlds. "midpoints": uniform over the worlds with the facts of the thresholds,
    where an engine draws these. Raises `Unsupported` for other models and for `multiset`, `ContradictionError` where
    the rule leaves no world, `Inconclusive` between two worlds.
    """
    limits = limits or Limits()
    release = single_release_of(release, limits)
    if k < 0:
        raise ReleaseError(f"cannot draw {k} worlds")
    known = asked_learner(release, learner)
    if learner == "midpoints":
        from recon.learner_rule.facts import with_facts

        return iterate_samples(with_facts(release, known, limits), k, seed, convention, limits)
    try:
        chosen = chosen_of(release, known)
    except Unsupported as error:
        raise Unsupported(f"{error}; {STAYS}") from None
    if chosen.tree is None or chosen.rule is None:
        raise Unsupported("worlds under the learner's rule are drawn for trees, not for rule lists")
    if convention_of(release, convention) == "multiset":
        raise Unsupported(
            "under the learner's rule worlds are drawn uniformly as assigned or ordered, not as multisets"
        )
    check_world_memory(release, limits)
    sampler = Sampler.of(chosen.tree, len(chosen.columns), chosen.rule, limits)
    return _worlds_of(chosen, sampler, k, seed, limits)


def _worlds_of(chosen: ChosenModel, sampler: Sampler, k: int, seed: int, limits: Limits) -> Iterator[World]:
    """Yield worlds as they are drawn, rows in a random order."""
    note = EXACT if sampler.exact else f"uniform up to {sampler.variation:.2g} (total variation), else {EXACT}"
    rng = np.random.default_rng(seed)
    for i in range(k):
        limits.report(f"{i:,} of {k:,} worlds")
        limits.check(f"worlds were drawn ({i:,} of {k:,})")
        yield wrap(chosen.release, _with_labels(chosen, sampler, sampler.world(rng), rng, note))


def _with_labels(
    chosen: ChosenModel, sampler: Sampler, bits: NDArray[np.bool_], rng: np.random.Generator, note: str
) -> SolverWorld:
    """Return (rows, columns) bits as a world, with the labels of their rows."""
    labels = np.array(_classes_of(chosen.release), dtype=np.int64)[sampler.class_of_row]
    rows = np.column_stack([bits.astype(np.int64), labels])[rng.permutation(len(labels))]
    return SolverWorld(rows, np.ones(len(rows), dtype=np.int64), note=note)


def _classes_of(release: EncodedRelease) -> list[int]:
    """Return the positions of the label's values that the two classes of the chosen tree stand for.

    Classes without rows are left out, but two stay.
    """
    (model,), label = release.models, release.domain.label
    assert label is not None
    table = model.nodes.leaf_counts  # type: ignore[union-attr]  # a tree: others have been refused
    totals = table.values.reshape(len(table), -1).sum(axis=0)
    some = np.flatnonzero(totals > 0).tolist()
    return sorted([*some, *[i for i in range(len(totals)) if i not in some][: max(0, 2 - len(some))]])


OF_INEQUALITIES = (
    "verdicts by the inequalities have no certificate here: each was proved of the release together with what no model "
    "of the class does better, which the release file does not hold"
)
NO_CERTIFICATE = (
    "verdicts by the learner's rule alone have no certificate: they were derived in whole numbers, but no claim of a "
    "certificate can say how gains are compared"
)
LISTED = 40_000  # states of a column whose sets are listed for least and most rows: about 400 rows
INFERRED = (
    "profile", "value", "probability", "probability_low", "probability_high", "certain", "impossible", "min_count",
    "max_count",
)  # fmt: skip
Bounds = tuple[float, float]


@dataclass(frozen=True)
class RuleProfile:
    """Values (0, 1) asked for by column, and the classes of the chosen tree that are (of each whether)."""

    values: tuple[tuple[int, int], ...]
    among: tuple[bool, bool]

    def asking(self, column: int, value: int) -> RuleProfile | None:
        """Return the profile with one more value, None where it has the other one."""
        known = dict(self.values)
        return (
            replace(self, values=tuple({**known, column: value}.items())) if known.get(column, value) == value else None
        )


@dataclass(frozen=True)
class RowVerdict:
    """What is known of the rows that fit a profile: bounds over all worlds under the rule.

    `low`, `high`: rows (`sharp`: both are attained); `certain` None where it was not decided. `some`: the probability
    that there is one, `expected` the mean number.
    """

    low: int = 0
    high: int = 0
    sharp: bool = True
    certain: bool | None = False
    some: Bounds = (0.0, 0.0)
    expected: Bounds = (0.0, 0.0)

    @property
    def verdict(self) -> str:
        """Return certain, possible, impossible or unknown."""
        if self.high == 0:
            return "impossible"
        return "unknown" if self.certain is None else "certain" if self.certain else "possible"


@dataclass(eq=False)
class RowQuestions:
    """Answers about single rows of a chosen tree under its learner's rule; what profiles share is worked out once."""

    chosen: ChosenModel
    limits: Limits
    supports: StateSupports = field(init=False)
    marginals: StateMarginals = field(init=False)

    def __post_init__(self) -> None:
        tree, rule = self.chosen.tree, self.chosen.rule
        assert tree is not None
        assert rule is not None
        self.tree = tree
        self.large = int(np.prod(tree.counts[0] + 1)) > LISTED
        self.supports = StateSupports(tree, rule, self.limits)
        self.marginals = StateMarginals(tree, rule, self.limits)

    def leaves(self, profile: RuleProfile) -> list[tuple[int, list[tuple[int, int]]]]:
        """Return the leaves that a profile may be in, each with the values asked for that its path leaves open."""
        known, out = dict(profile.values), list[tuple[int, list[tuple[int, int]]]]()
        stack: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
        while stack:
            node, seen = stack.pop()
            column = int(self.tree.column[node])
            if column < 0:
                out.append((node, [(c, v) for c, v in profile.values if c not in seen]))
                continue
            sides = {0: int(self.tree.otherwise[node]), 1: int(self.tree.then[node])}
            stack += [(child, seen | {column}) for side, child in sides.items() if known.get(column, side) == side]
        return out

    def cell(self, leaf: int, asked: Sequence[tuple[int, int]], k: int) -> tuple[int, int]:
        """Return the least and most rows of a leaf and class with all values asked for; both are attained."""
        n = int(self.tree.counts[leaf, k])
        low = high = n
        for column, value in asked:
            ones = np.flatnonzero(self.supports.leaves(column)[leaf].any(axis=1 - k))
            least, most = (int(ones[0]), int(ones[-1])) if value else (n - int(ones[-1]), n - int(ones[0]))
            low, high = max(0, low + least - n), min(high, most)
        return low, high

    def quickly(self, leaf: int, asked: Sequence[tuple[int, int]], k: int) -> tuple[int, int] | None:
        """Return bounds on the rows of a leaf and class with all values, where many states make them dear otherwise.

        None where there are few states, or what is needed was not found: that such a row occurs in some world, and that
        it is missing in some.
        """
        counts = int(self.tree.counts[leaf, 0]), int(self.tree.counts[leaf, 1])
        if not self.large or not asked:
            return None
        found = [self.marginals.leaves(column)[leaf].seen(counts, k)[:: 1 if value else -1] for column, value in asked]
        return (0, counts[k]) if all(one for one, _ in found) and any(other for _, other in found) else None

    def row(self, profile: RuleProfile, likely: bool = True) -> RowVerdict:
        """Return what is known of the rows that fit a profile; `likely`: with probabilities."""
        cells = [
            (leaf, asked, k)
            for (leaf, asked), k in product(self.leaves(profile), (0, 1))
            if profile.among[k] and self.tree.counts[leaf, k]
        ]
        rough = [self.quickly(*cell) for cell in cells]
        found = [self.cell(*cell) if one is None else one for cell, one in zip(cells, rough, strict=True)]
        low, high = sum(one for one, _ in found), sum(one for _, one in found)
        some, expected = self.likely(profile) if likely and high else ((0.0, 0.0), (0.0, 0.0))
        certain: bool | None = low > 0
        several = not certain and len(cells) > 1 and high > 0
        if several and not (likely and some[1] < 1.0) and not self.avoided(cells):
            certain = None
        some = (1.0, 1.0) if certain else some
        expected = max(expected[0], float(low)), min(expected[1], float(high))
        return RowVerdict(low, high, len(cells) == 1 and rough == [None], certain, some, expected)

    def avoided(self, cells: Sequence[tuple[int, Sequence[tuple[int, int]], int]]) -> bool:
        """Return whether some column asked for in every cell has a filling without the value in all of them."""
        shared = set.intersection(*(set(asked) for _, asked, _ in cells))
        for column, value in shared:
            held: dict[int, NDArray[np.bool_]] = {}
            for leaf, _, k in cells:
                states = held.get(leaf, np.ones(tuple(self.tree.counts[leaf] + 1), dtype=bool))
                n = int(self.tree.counts[leaf, k])
                wanted = np.arange(n + 1) == (0 if value else n)
                held[leaf] = states & (wanted[:, None] if k == 0 else wanted[None, :])
            if self.supports.fits(column, held):
                return True
        return False

    def likely(self, profile: RuleProfile) -> tuple[Bounds, Bounds]:
        """Return bounds on the probability that a row fits, and on the expected number of those that do."""
        least, most, expected = 0.0, 0.0, [0.0, 0.0]
        for leaf, asked in self.leaves(profile):
            counts = int(self.tree.counts[leaf, 0]), int(self.tree.counts[leaf, 1])
            states = [ColumnMarginal(self.marginals.leaves(column)[leaf], value) for column, value in asked]
            low, high = some_row(counts, states, profile.among)
            least, most = max(least, low), most + high
            for one, wanted in zip(expected_rows(counts, states), profile.among, strict=True):
                expected[0] += wanted * one[0]
                expected[1] += wanted * one[1] * (1 + 2.0**-50)
        return (least, min(1.0, most)), (expected[0], expected[1])


def certify(
    release: Released,
    profiles: Profiles,
    learner: str = "auto",
    limits: Limits | None = None,
    label: str | None = None,
) -> pd.DataFrame:
    """Return one line per profile: its verdict for whoever knows the learner's rule, beside that without it.

    Columns: profile, verdict certain | possible | impossible | unknown | outside, verdict_without (without the rule),
    by_rule (whether the rule alone decides), min_count and max_count (rows over all worlds under the rule; attained
    where the profile names the leaf and the class and there are a few hundred rows; else bounds), probability (share of
    the worlds, `assigned`, with such a row: the middle of its bounds), probability_low, probability_high,
    probability_without, expected_count, expected_without, confidence, certificate (of verdicts that hold without the
    rule; others have none, which `attrs["notes"]` says), reason. One scikit-learn tree over independent binary columns;
    "midpoints": the verdicts of a release with the facts of its thresholds, of any tree or forest, which is what "auto"
    does of these. "optimal": verdicts where no model of the class makes fewer errors, with a column rests_on; worlds
    are not weighed, the probability of a possible row is NaN. Raises `Unsupported` for other models.
    """
    limits = limits or Limits()
    release = single_release_of(release, limits)
    known = asked_learner(release, learner)
    frame, notes = named_like(as_frame(profiles), release.domain, label)
    if known.name in OPTIMAL:
        out = answered(release, frame, lambda inside: _certify_optimal(release, inside, known, limits))
        out.attrs["notes"] = [*notes, *out.attrs.get("notes", ())]
        return out
    rows = None if learner == "midpoints" else _rows_of(release, known, learner, limits)
    if rows is None:
        out = answered(release, frame, lambda inside: _certify_facts(release, inside, known, limits))
    else:
        out = answered(release, frame, lambda inside: _certify_rows(rows, inside, limits))
    out.attrs["notes"] = [*notes, *out.attrs.get("notes", ())]
    return out


def _rows_of(release: EncodedRelease, known: Learner, learner: str, limits: Limits) -> RowQuestions | None:
    """Return what answers about the rows of a tree; None where facts of thresholds are all that stays.

    Raises `Unsupported` where the rule was asked for by name.
    """
    try:
        chosen_of(release, known)
    except Unsupported:
        if learner == "auto":
            return None
    return RowQuestions(_chosen_tree_of(release, known), limits)


def _chosen_tree_of(release: EncodedRelease, known: Learner) -> ChosenModel:
    """Return the tree of a release as its learner chose it; `Unsupported` for other models."""
    try:
        chosen = chosen_of(release, known)
    except Unsupported as error:
        raise Unsupported(f"{error}; {STAYS}") from None
    if chosen.tree is None:
        raise Unsupported("verdicts under the learner's rule are given for trees, not for rule lists")
    return chosen


def _certify_rows(rows: RowQuestions, frame: pd.DataFrame, limits: Limits) -> pd.DataFrame:
    """Return the verdicts under a tree's rule; see `certify`."""
    release = rows.chosen.release
    base = certify_exact(release, frame, "assigned", limits, None)
    found, late = list[RowVerdict](), 0
    for i, profile in enumerate(_profiles_of(release, frame)):
        try:
            found.append(rows.row(profile))
        except Inconclusive:
            late += 1
            low, high = int(base["min_count"].iloc[i]), int(base["max_count"].iloc[i])
            found.append(RowVerdict(low, high, False, True if low else None, (0.0, 1.0), (float(low), float(high))))
    out = _verdicts_beside(base, found)
    notes = [NO_CERTIFICATE] if out["by_rule"].any() else []
    notes += [f"{late:,} profiles were not decided under the rule: the time was up"] if late else []
    out.attrs.update(
        assumptions=list(assumed(rows.chosen, False)), convention="assigned", notes=[*base.attrs["notes"], *notes]
    )
    return out


def _verdicts_beside(base: pd.DataFrame, found: Sequence[RowVerdict]) -> pd.DataFrame:
    """Return the verdicts under the rule beside those without it."""
    verdict = pd.Series([one.verdict for one in found], dtype=object)
    without = base["verdict"]
    settled = without.isin(["certain", "impossible"])  # fewer worlds cannot undo what holds in all
    verdict = without.where(settled, verdict)
    figures = {
        "profile": base["profile"],
        "verdict": verdict,
        "verdict_without": without,
        "by_rule": ~settled & verdict.isin(["certain", "impossible"]),
        "min_count": [max(one.low, b) for one, b in zip(found, base["min_count"].tolist(), strict=True)],
        "max_count": [min(one.high, b) for one, b in zip(found, base["max_count"].tolist(), strict=True)],
        "probability": [sum(one.some) / 2 for one in found],
        "probability_low": [one.some[0] for one in found],
        "probability_high": [one.some[1] for one in found],
        "probability_without": base["probability"],
        "expected_count": [sum(one.expected) / 2 for one in found],
        "expected_without": base["expected_count"],
        "confidence": base["confidence"],
        "certificate": base["certificate"].where(settled, None),
    }
    return pd.DataFrame(figures)


def _certify_facts(release: EncodedRelease, frame: pd.DataFrame, known: Learner, limits: Limits) -> pd.DataFrame:
    """Return the verdicts with the facts of the thresholds as further statements, beside those without."""
    from recon.learner_rule.facts import with_facts

    under = with_facts(release, known, limits)
    convention: Convention = "ordered"
    base = certify_exact(release, frame, convention, limits, False)
    found = certify_exact(under, frame, convention, limits, None)
    out = found.assign(probability_without=base["probability"])
    out.insert(2, "verdict_without", base["verdict"])
    out.insert(3, "by_rule", out["verdict"].isin(["certain", "impossible"]) & (out["verdict"] != base["verdict"]))
    out.attrs.update(found.attrs)
    return out


def _certify_optimal(release: EncodedRelease, frame: pd.DataFrame, known: Learner, limits: Limits) -> pd.DataFrame:
    """Return the verdicts where no model of the class makes fewer errors, beside those of the counts alone."""
    from recon.learner_rule.optimal.verdicts import INEQUALITIES, certify_under_optimal

    found = certify_under_optimal(release, frame, known, limits)
    base = certify_exact(release, frame, "ordered", limits, None)
    certain, never = (found["verdict"].eq(one).to_numpy() for one in ("certain", "impossible"))
    by_rule = found["rests_on"].eq(INEQUALITIES)
    low, high = certain.astype(float), 1.0 - never  # nothing is drawn: which worlds are likely is not asked
    out = base.assign(
        verdict=found["verdict"],
        min_count=np.maximum(base["min_count"].to_numpy(), certain),
        max_count=np.where(never, 0, base["max_count"].to_numpy()),
        probability=np.where(certain | never, low, math.nan),
        certificate=base["certificate"].where(~by_rule, None),
        rests_on=found["rests_on"],
    )
    out.insert(2, "verdict_without", found["without_rule"])
    out.insert(3, "by_rule", by_rule)
    out.insert(7, "probability_low", low)
    out.insert(8, "probability_high", high)
    notes = [OF_INEQUALITIES] if bool(by_rule.any()) else []
    out.attrs.update(assumptions=found.attrs["assumptions"], convention="ordered", notes=notes)
    return out


def _profiles_of(release: EncodedRelease, frame: pd.DataFrame) -> list[RuleProfile]:
    """Return profiles as values by column and classes of the chosen tree."""
    columns, classes = len(release.domain.attributes), _classes_of(release)
    values: list[dict[int, int]] = [{} for _ in range(len(frame))]
    among = [(True, True)] * len(frame)
    for k, (back, every) in profile_ranges(release, frame).items():
        for i, code in enumerate(back.tolist()):
            allowed = {p for start, end in every[code] for p in range(start, end)}
            if k == columns:
                among[i] = (classes[0] in allowed, classes[1] in allowed)
            elif len(allowed) == 1:
                values[i][k] = allowed.pop()
    return [RuleProfile(tuple(v.items()), a) for v, a in zip(values, among, strict=True)]


def attribute(
    release: Released,
    profiles: Profiles,
    sensitive: str,
    learner: str = "auto",
    limits: Limits | None = None,
    label: str | None = None,
) -> pd.DataFrame:
    """Return what follows for a sensitive column of people known to be in the data, under the learner's rule.

    One line per profile q and value v: probability E[#(q,v)] / E[#q] over the worlds under the rule (middle of its
    bounds) and without it, certain (no world under the rule has q with another value, and some has q with v),
    impossible, min_count and max_count of (q, v). The sensitive column is one of the columns or the label. Raises
    `ReleaseError` for another one, and where profiles name it.
    """
    from recon.queries.questions.questions import attribute as without

    limits = limits or Limits()
    release = single_release_of(release, limits)
    known = asked_learner(release, learner)
    rows = RowQuestions(_chosen_tree_of(release, known), limits)
    frame, _ = named_like(as_frame(profiles), release.domain, label)
    name = column_like(sensitive, release.domain, label)
    base = without(release, frame, name, "assigned", limits)
    k = release.domain.place.get(name)
    if k is None:
        raise ReleaseError(f"the sensitive column '{sensitive}' is none of the learner's columns")
    lines = []
    inside = base[base["value"].notna()] if "reason" not in base else base[base["reason"].isna()]
    kept = sorted(set(inside["profile"].tolist()))
    asked = _profiles_of(release, frame.iloc[kept])
    values = [
        MISSING if v is None else v for v in map(release.domain.all[k].value, range(release.domain.all[k].span[1]))
    ]
    for number, profile in zip(kept, asked, strict=True):
        parts = [
            rows.row(one, likely=True) if one is not None else RowVerdict()
            for one in _split_profile(release, profile, k)
        ]
        means = [one.expected for one in parts]
        for i, (value, one) in enumerate(zip(values, parts, strict=True)):
            others = sum(m[0] for j, m in enumerate(means) if j != i), sum(m[1] for j, m in enumerate(means) if j != i)
            low = one.expected[0] / (one.expected[0] + others[1]) if one.expected[0] > 0 else 0.0
            high = one.expected[1] / (one.expected[1] + others[0]) if one.expected[1] > 0 else 0.0
            sure = one.high > 0 and all(other.high == 0 for j, other in enumerate(parts) if j != i)
            lines.append((number, value, (low + high) / 2, low, high, sure, one.high == 0, one.low, one.high))
    out = pd.DataFrame(lines, columns=list(INFERRED))
    before = base.rename(columns={"probability": "probability_without", "certain": "certain_without"})
    out = out.merge(
        before[["profile", "value", "probability_without", "certain_without"]], "left", ["profile", "value"]
    )
    out.attrs |= dict(base.attrs)
    out.attrs.update(assumptions=list(assumed(rows.chosen, False)))
    return out


def _split_profile(release: EncodedRelease, profile: RuleProfile, k: int) -> list[RuleProfile | None]:
    """Return a profile with every value of a column, or of the label, in turn."""
    if k < len(release.domain.attributes):
        return [profile.asking(k, value) for value in (0, 1)]
    classes = _classes_of(release)
    every = range(release.domain.all[k].span[1])
    one = {c: tuple(profile.among[i] and i == j for i in (0, 1)) for j, c in enumerate(classes)}
    return [replace(profile, among=(one[c][0], one[c][1])) if c in one else None for c in every]
