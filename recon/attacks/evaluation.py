"""How good a membership guess is: the rates that papers print, and those without which they say nothing.

Means over folds with intervals, and the folds of rows themselves.

Rows that are the same: whether one was trained on is then no question about the row alone.

Ranks of several treatments over data sets: Friedman's test, Nemenyi's, and a critical-difference diagram's data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recon.queries.inputs import Bits, Floats, Ints
from solvers.foundation.errors import ReleaseError, Unsupported, installing


@dataclass(frozen=True, eq=False)
class Ranking:
    """Treatments by mean rank (1: best) over `blocks` of the same conditions.

    `statistic`, `p`: Friedman's test that all are alike; `critical_difference`: of mean ranks, at level `alpha`;
    `groups`: the largest sets of neighbours that are not significantly apart, best first (one of a single treatment is
    left out); `pairs`: Nemenyi's p for each pair; `left_out`: blocks where a treatment has no value.
    """

    treatments: tuple[str, ...]
    ranks: tuple[float, ...]
    blocks: int
    statistic: float
    p: float
    alpha: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]
    pairs: pd.DataFrame
    left_out: int = 0

    def sentence(self) -> str:
        """Return it in words."""
        order = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(self.treatments, self.ranks, strict=True))
        differ = "differ" if self.p < self.alpha else "do not differ"
        alike = "; ".join(" and ".join(group) for group in self.groups)
        return (
            f"mean ranks over {self.blocks} conditions: {order}; by Friedman's test they {differ} "
            f"(p = {self.p:.2g}), the critical difference is {self.critical_difference:.2f}; not apart: "
            f"{alike or 'none'}"
        )


def critical_difference(table: pd.DataFrame, alpha: float = 0.05, greater_is_better: bool = True) -> Ranking:
    """Return the ranking of a table's columns (treatments) over its lines (blocks), ties at their mean rank.

    Lines with a gap are left out and counted. Raises `ReleaseError` for fewer than three treatments or two complete
    lines, `Unsupported` without scikit-posthocs.
    Source: Demšar 2006, section 3.2.2 (Friedman's test, Nemenyi's critical difference q sqrt(k(k+1) / 6N)).
    """
    try:
        from scikit_posthocs import posthoc_nemenyi_friedman
    except ImportError:
        raise Unsupported(f"ranks over data sets need scikit-posthocs: {installing('attacks')}") from None
    from scipy.stats import studentized_range

    whole = table.dropna()
    blocks, k = whole.shape
    if k < 3 or blocks < 2:
        raise ReleaseError(f"ranks need three treatments and two conditions with all of them: there are {k}, {blocks}")
    values = whole.to_numpy(dtype=np.float64) * (-1 if greater_is_better else 1)
    ranks, statistic, p = _friedman(values)
    apart = float(studentized_range.ppf(1 - alpha, k, np.inf)) * float(np.sqrt(k * (k + 1) / (12 * blocks)))
    order = np.argsort(ranks, kind="stable")
    names = [str(whole.columns[i]) for i in order]
    found = posthoc_nemenyi_friedman(values)
    pairs = pd.DataFrame(found.to_numpy()[np.ix_(order, order)], index=names, columns=names)
    placed = [float(ranks[i]) for i in order]
    return Ranking(tuple(names), tuple(placed), blocks, statistic, p, alpha, apart, _neighbours(names, placed, apart),
                   pairs, len(table) - blocks)  # fmt: skip


def _friedman(values: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return mean ranks (k,) of values (blocks, k), the smallest 1, Friedman's statistic with ties, and its p.

    Where every block is one tie, the statistic is 0 and p is 1.
    """
    from scipy.stats import friedmanchisquare, rankdata

    ranked = rankdata(values, axis=1)
    ranks = ranked.mean(axis=0)
    if np.ptp(values, axis=1).max() == 0:
        return ranks, 0.0, 1.0
    found = friedmanchisquare(*values.T)
    return ranks, float(found.statistic), float(found.pvalue)


def _neighbours(names: list[str], ranks: list[float], apart: float) -> tuple[tuple[str, ...], ...]:
    """Return the largest runs of treatments, in the order of their ranks, whose ends are less than `apart` apart."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(j for j in range(first, len(ranks)) if ranks[j] - ranks[first] < apart)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(tuple(names[a : b + 1]) for a, b in found)


DELTAS = ("precision", "recall", "f1", "accuracy")  # what REVEAL compares


@dataclass(frozen=True)
class Evaluation:
    """What a membership guess is worth on `members` training rows and `others` that were not trained on.

    `precision`, `recall`, `f1`, `accuracy`, `fpr` (false positive rate): of the decisions; `advantage` = recall - fpr,
    0 for every guess that does not depend on membership (Yeom et al. 2018). `precision` is NaN where nobody is called a
    member; `f1` is then 0. Of the scores: `auc`, the probability that a member scores higher than another row (ties:
    1/2), with its interval by DeLong; `tpr_at_001`, `tpr_at_01`: the true positive rate at a false positive rate of at
    most 0.1 % and 1 %, with Clopper-Pearson intervals. `others` below 1,000 (100): no false positive is then allowed.
    """

    precision: float
    recall: float
    f1: float
    accuracy: float
    fpr: float
    advantage: float
    auc: float
    auc_low: float
    auc_high: float
    tpr_at_001: float
    tpr_at_001_low: float
    tpr_at_001_high: float
    tpr_at_01: float
    tpr_at_01_low: float
    tpr_at_01_high: float
    members: int
    others: int

    def row(self) -> dict[str, float | int]:
        """Return the figures by name, as a line of a table."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def called(self) -> float:
        """Return the share of all rows that are called members."""
        return (self.recall * self.members + self.fpr * self.others) / (self.members + self.others)


def evaluated(scores: Floats, decided: Bits, member: Bits, confidence: float = 0.95) -> Evaluation:
    """Return what scores (rows,) and decisions (rows,) are worth where `member` (rows,) is the truth.

    A higher score speaks for membership; scores may be infinite. Raises `ReleaseError` for lengths that differ, scores
    that are not numbers, and rows that are all members or all others. Cost: sorting the rows.
    Source: Carlini, Chien, Nasr, Song, Terzis, Tramèr 2022, section III (rates at low false positive rates).
    """
    scores = np.asarray(scores, dtype=np.float64)
    decided, member = np.asarray(decided, dtype=bool), np.asarray(member, dtype=bool)
    _check_lengths(scores, decided, member)
    inside, outside = scores[member], scores[~member]
    hits, alarms = int(decided[member].sum()), int(decided[~member].sum())
    members, others = len(inside), len(outside)
    recall, fpr = hits / members, alarms / others
    precision = hits / (hits + alarms) if hits + alarms else float("nan")
    auc, auc_low, auc_high = _area(inside, outside, confidence)
    strict, loose = (_above(inside, outside, most) for most in (0.001, 0.01))
    return Evaluation(
        precision, recall, _harmonic(precision, recall), (hits + others - alarms) / len(member), fpr, recall - fpr,
        auc, auc_low, auc_high, strict / members, *clopper_pearson(strict, members, confidence),
        loose / members, *clopper_pearson(loose, members, confidence), members, others,
    )  # fmt: skip


def _check_lengths(scores: Floats, decided: Bits, member: Bits) -> None:
    """Raise `ReleaseError` where scores, decisions and truth do not belong together."""
    if not len(scores) == len(decided) == len(member):
        raise ReleaseError(f"{len(scores)} scores, {len(decided)} decisions and the truth of {len(member)} rows")
    if np.isnan(scores).any():
        raise ReleaseError(f"the score of row {int(np.flatnonzero(np.isnan(scores))[0])} is not a number")
    if member.all() or not member.any():
        whom = "a member" if len(member) and member.all() else "a row outside the training set"
        missing = "row outside the training set" if len(member) and member.all() else "member"
        raise ReleaseError(f"each of the {len(member)} rows is {whom}: without any {missing} no attack can be judged")


def always_in(member: Bits) -> Evaluation:
    """Return what calling every row a member is worth: recall 1, precision the share of members, advantage 0."""
    return evaluated(np.zeros(len(member)), np.ones(len(member), dtype=bool), member)


def _deltas(explainer: Evaluation, black_box: Evaluation) -> dict[str, float]:
    """Return REVEAL's deltas, explainer minus black box: of precision, recall, F1 and accuracy.

    Source: Naretto, Monreale, Giannotti 2025, Algorithm 1 (whose line 3 leaves out F1, which it then returns).
    """
    return {name: getattr(explainer, name) - getattr(black_box, name) for name in DELTAS}


def _harmonic(precision: float, recall: float) -> float:
    """Return F1 = 2PR / (P + R), 0 where nobody is found."""
    return 2 * precision * recall / (precision + recall) if recall > 0 and precision > 0 else 0.0


def balanced(member: Bits, rng: np.random.Generator) -> Ints:
    """Return the numbers, ascending, of as many members as others: of the larger half as many are drawn."""
    inside, outside = np.flatnonzero(member), np.flatnonzero(~np.asarray(member, dtype=bool))
    size = min(len(inside), len(outside))
    drawn = [rng.choice(half, size, replace=False) if len(half) > size else half for half in (inside, outside)]
    found: Ints = np.sort(np.concatenate(drawn)).astype(np.int64)
    return found


def _area(inside: Floats, outside: Floats, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the AUC of members' scores against others', ties 1/2, and the ends of its interval (within 0 and 1).

    Where all pairs are ordered alike the interval is the point: DeLong's variance is 0 there.
    Source: DeLong, DeLong, Clarke-Pearson 1988 (variance from placements). Cost: sorting.
    """
    from scipy.special import ndtri

    low, high = np.sort(outside), np.sort(inside)
    of_members = (np.searchsorted(low, inside, "left") + np.searchsorted(low, inside, "right")) / (2 * len(low))
    of_others = 1 - (np.searchsorted(high, outside, "left") + np.searchsorted(high, outside, "right")) / (2 * len(high))
    auc = float(of_members.mean())
    variance = sum(float(np.var(v, ddof=1)) / len(v) if len(v) > 1 else 0.25 for v in (of_members, of_others))
    reach = float(ndtri(0.5 + confidence / 2)) * variance**0.5
    return auc, max(0.0, auc - reach), min(1.0, auc + reach)


def _above(inside: Floats, outside: Floats, most: float) -> int:
    """Return how many members lie above the lowest threshold that at most a share `most` of the others exceeds.

    The threshold is an other row's score and depends on no member's, so that an interval for a binomial share holds.
    Where `most` times the others is below 1, no other row may exceed it.
    """
    allowed = int(np.floor(most * len(outside) + 1e-9))
    if allowed >= len(outside):
        return len(inside)
    threshold = np.sort(outside)[len(outside) - 1 - allowed]
    return int((inside > threshold).sum())


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a share of which k of n were seen: it holds the truth at least so often.

    Raises `ReleaseError` where 0 <= k <= n, n > 0 does not hold. Source: Clopper and Pearson 1934.
    """
    from scipy.special import betaincinv

    if not 0 <= k <= n or n < 1:
        raise ReleaseError(f"{k} of {n} is not a share")
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def curve(scores: Floats, member: Bits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the false and true positive rates at every threshold, from (0, 0) to (1, 1), ties taken together."""
    order = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")
    inside, placed = np.asarray(member, dtype=bool)[order], np.asarray(scores)[order]
    ends = np.flatnonzero(np.append(placed[1:] != placed[:-1], True))
    hits, alarms = np.cumsum(inside)[ends], np.cumsum(~inside)[ends]
    start = np.zeros(1)
    return np.concatenate([start, alarms / max(1, (~inside).sum())]), np.concatenate([start, hits / inside.sum()])


def meaning(name: str, explainer: Evaluation, black_box: Evaluation) -> str:
    """Return in a sentence what an explainer's delta of recall means beside its false positives and its AUC."""
    recall, fpr = _deltas(explainer, black_box)["recall"], explainer.fpr - black_box.fpr
    text = (
        f"{name}: delta recall {recall:+.2f} with delta FPR {fpr:+.2f}, AUC {_auc_text(explainer)}, advantage "
        f"{explainer.advantage:+.3f}"
    )
    return f"{text}: {verdict(explainer, recall, fpr)}"


def verdict(of: Evaluation, recall: float, fpr: float) -> str:
    """Return what follows from a gain of recall, the gain of false positives beside it, and the AUC."""
    blind = of.auc_low <= 0.5 <= of.auc_high
    tells = (
        "its scores do not tell members from others"
        if blind
        else f"its scores tell members from others {'hardly' if abs(of.auc - 0.5) < 0.05 else 'to a degree'}"
        f"{', the wrong way round' if of.auc < 0.5 else ''}"
    )
    if of.called >= 0.9:
        return f"it calls nearly everybody a member ({of.called:.0%} of the rows), and {tells}; recall says nothing"
    if of.called <= 0.1:
        return f"it calls hardly anybody a member ({of.called:.0%} of the rows), and {tells}; recall says nothing"
    if abs(recall) >= 0.05 and abs(recall - fpr) < abs(recall) / 2:
        more = "more" if recall > 0 else "fewer"
        return f"it calls {more} rows members, inside and outside alike, and {tells}; recall alone says nothing"
    return tells


def _auc_text(of: Evaluation | Mapping[str, float]) -> str:
    """Return an AUC with its interval as text."""
    row = of.row() if isinstance(of, Evaluation) else of
    return f"{row['auc']:.3f} ({row['auc_low']:.3f} to {row['auc_high']:.3f})"


@dataclass(frozen=True)
class FoldMean:
    """A mean over folds and the ends of its t-interval; of one fold the ends are NaN, of none all three."""

    mean: float
    low: float
    high: float
    folds: int

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if self.folds < 2 else f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


def fold_mean(values: Sequence[float], confidence: float = 0.95) -> FoldMean:
    """Return the mean of a figure's values over folds with Student's interval; what is not a number is left out.

    Folds share training rows, so their values are not independent: the interval is somewhat too narrow (Bengio and
    Grandvalet 2004: no unbiased estimator exists). It is not cut at 0 or 1.
    """
    from scipy.special import stdtrit

    found = np.array([v for v in values if np.isfinite(v)], dtype=np.float64)
    n = len(found)
    if n < 2:
        return FoldMean(float(found.mean()) if n else float("nan"), float("nan"), float("nan"), n)
    mean = float(found.mean())
    reach = float(stdtrit(n - 1, 0.5 + confidence / 2) * found.std(ddof=1) / np.sqrt(n))
    return FoldMean(mean, mean - reach, mean + reach, n)


def averaged(folds: Sequence[Evaluation], confidence: float = 0.95) -> dict[str, FoldMean]:
    """Return every figure of several folds' evaluations: mean and interval."""
    rows = [fold.row() for fold in folds]
    return {name: fold_mean([row[name] for row in rows], confidence) for name in (rows[0] if rows else {})}


def folded(rows: int, folds: int, rng: np.random.Generator) -> list[Ints]:
    """Return the row numbers of each of `folds` test parts: disjoint, all rows, sizes that differ by one at most.

    Raises `ReleaseError` for fewer than two folds or fewer rows than folds.
    """
    if folds < 2 or rows < folds:
        raise ReleaseError(f"{rows} rows cannot be cut into {folds} folds")
    return [np.sort(part).astype(np.int64) for part in np.array_split(rng.permutation(rows), folds)]


@dataclass(frozen=True)
class Duplicates:
    """How far membership is a property of rows, label included.

    `rows`: all; `distinct`: different ones; `members_both`, `others_both`: rows inside and outside whose like is on
    the other side too. `best_auc`, `best_advantage`: what an attacker reaches on these very rows who knows how often
    each distinct row is inside and outside: no score that depends on the row alone is better.
    """

    rows: int
    distinct: int
    members_both: int
    others_both: int
    best_auc: float
    best_advantage: float

    def sentence(self) -> str:
        """Return it in words."""
        both = self.members_both + self.others_both
        if not both:
            return f"All {self.rows:,} rows ({self.distinct:,} distinct) are either inside or outside, none is both."
        return (
            f"Only {self.distinct:,} of {self.rows:,} rows are distinct; {both:,} ({both / self.rows:.0%}) are the "
            f"same as a row on the other side, so no attack on rows has an AUC above {self.best_auc:.3f} or an "
            f"advantage above {self.best_advantage:.3f} here."
        )


def _copy_counts(number: Ints, member: Bits) -> tuple[Ints, Ints]:
    """Return (distinct rows,) how often each is inside and outside; `number` (rows,): which distinct row each is."""
    member = np.asarray(member, dtype=bool)
    _, at = np.unique(number, return_inverse=True)
    size = int(at.max()) + 1 if len(at) else 0
    inside: Ints = np.bincount(at[member], minlength=size).astype(np.int64)
    outside: Ints = np.bincount(at[~member], minlength=size).astype(np.int64)
    return inside, outside


def unique_rows(number: Ints) -> Bits:
    """Return (rows,) which rows have no like among all rows, inside or outside: their membership is well defined.

    Where rows are put inside at random, these are a fair test set: a row's being inside says nothing about it. Dropping
    only the rows that are on both sides (`both_sides`) is not: a row with k copies is more often wholly inside than
    wholly outside where more rows are inside, so that the members left have more copies, which a model tells.
    """
    _, at, copies = np.unique(number, return_inverse=True, return_counts=True)
    found: Bits = (copies == 1)[at.reshape(-1)]
    return found


def both_sides(number: Ints, member: Bits) -> Bits:
    """Return (rows,) whose like is both inside and outside; see `once` for what to test on."""
    inside, outside = _copy_counts(number, member)
    _, at = np.unique(number, return_inverse=True)
    found: Bits = ((inside > 0) & (outside > 0))[at]
    return found


def duplicates(number: Ints, member: Bits) -> Duplicates:
    """Return how many rows are on both sides, and what that leaves to the best attack. Cost: sorting the rows.

    Source of the best scores: Neyman and Pearson 1933, by the share of a distinct row's copies that is inside.
    """
    member = np.asarray(member, dtype=bool)
    inside, outside = _copy_counts(number, member)
    both = (inside > 0) & (outside > 0)
    members, others = int(inside.sum()), int(outside.sum())
    auc, advantage = 0.5, 0.0
    if members and others:
        _, at = np.unique(number, return_inverse=True)
        ratio = (inside / (inside + outside))[at]
        auc = _area(ratio[member], ratio[~member])[0]
        advantage = float(np.maximum(0, inside / members - outside / others).sum())
    return Duplicates(len(member), len(inside), int(inside[both].sum()), int(outside[both].sum()), auc, advantage)
