"""Bounds on a statistic of the training rows over all worlds: a count, a share, a mean, a correlation.

The extremes of a ratio are found by Dinkelbach's iteration in whole numbers (Dinkelbach, "On nonlinear fractional
programming", Management Science 13, 1967); a correlation from the joint distribution of the sums it is made of.

Figures made of sums over a group of rows, and their distribution over worlds.

Whether a bound says more than the domain and the number of rows do by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.encode.encoder import EncodedRelease, encode
from encoders.encode.known import asking
from encoders.kinds.question import class_numbers
from encoders.models.models import GroupQuestion, PublishedFigure, Table
from recon.queries.answers.counting import convention_of, decide
from recon.queries.bounds.disclosure import numbers_within
from recon.queries.bounds.placed import BoundAnswer, Later, nearer, places, same_mean
from recon.readers.frames.selections import as_condition, data_of, of_rows, select_conditions
from recon.readers.frames.world import World, wrap
from recon.readers.loading.adversary import Knows
from recon.readers.loading.loading import Released
from recon.readers.loading.settled import asked_release
from solvers.engines.chain import ask
from solvers.engines.figures.system import LARGEST_SUM, SystemFigures
from solvers.foundation.errors import (
    ContradictionError,
    EmptyConfidenceSet,
    EngineError,
    Inconclusive,
    ReleaseError,
    TooLarge,
    Unsupported,
)
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import ExtremeAnswer, JointAnswer, WorldsAnswer
from solvers.statements.questions.query import Attain, Convention, Extreme, Joint

Ask = Callable[[EncodedRelease, Condition, "tuple[str, ...] | None", "str | None", Limits], "BoundAnswer"]


def _informative(
    release: EncodedRelease, where: Condition, names: tuple[str, ...], found: BoundAnswer, ask: Ask
) -> bool | None:
    """Return whether bounds say more than the same question asked of the domain and the number of rows alone.

    None where that was not found out: of correlations that are bounded at all, and within the stage "domain alone".
    """
    if found.min is None or found.max is None:
        return True
    if len(names) == 2:
        return False if (found.min, found.max) == (-1.0, 1.0) else None
    try:
        known = ask(_rows_alone(release), where, names or None, "ordered", Limits().stage("domain alone"))
    except (Inconclusive, Unsupported, ContradictionError):
        return None
    if known.min is None or known.max is None:
        return None
    return found.min > known.min or found.max < known.max


def _rows_alone(release: EncodedRelease) -> EncodedRelease:
    """Return a release of the same domain that only says how many rows there are."""
    rows = release.declared if release.declared is not None and release.declared.high is not None else release.rows
    everybody = Table((PublishedFigure((), None, rows.low, rows.high),), "the number of rows")
    return encode(release.domain, [everybody], rows)


def _distribution_of(found: JointAnswer, value: Callable[[Ints], float | None]) -> dict[float, float]:
    """Return value -> share among the worlds that have one, ascending."""
    out: dict[float, float] = {}
    for sums, share in zip(found.values, found.shares.tolist(), strict=True):
        if (v := value(sums)) is not None:
            out[v] = out.get(v, 0.0) + share
    whole = math.fsum(out.values())
    return {v: out[v] / whole for v in sorted(out)} if whole else {}


def _correlation(sums: Ints) -> float | None:
    """Return Pearson's correlation from (n, Σa, Σb, Σa², Σb², Σab), None where a variance is 0."""
    n, a, b, aa, bb, ab = (int(x) for x in sums)
    left, right = n * aa - a * a, n * bb - b * b
    return (n * ab - a * b) / math.sqrt(left * right) if left > 0 and right > 0 else None


Ints = NDArray[np.int64]
DECLARE = "declare a domain (--domain)"
MAX_PAIRS = 4_000_000  # pairs of margins looked at for an outer interval of a correlation


@dataclass(frozen=True, eq=False)
class QuestionCells:
    """A release cut for a question: which cells lie in the group, and the numbers of each cell per attribute."""

    release: EncodedRelease
    system: SystemFigures
    inside: NDArray[np.bool_]
    scales: tuple[int, ...]
    least: tuple[Ints, ...]
    greatest: tuple[Ints, ...]

    @property
    def sharp(self) -> bool:
        """Return whether every cell of the group has one number per attribute."""
        return all((a[self.inside] == b[self.inside]).all() for a, b in zip(self.least, self.greatest, strict=True))


def _question_cells(release: EncodedRelease, where: Condition, of: tuple[str, ...], limits: Limits) -> QuestionCells:
    """Return the release cut for a question. Raises `Unsupported` for too many cells."""
    cut = asking(release, GroupQuestion(where, of))
    given = release.statements
    bags = cut.statements.bags if given.bags else ()  # their boxes over the parts of this cut
    boosted = cut.statements.boosted if given.boosted else ()
    cut = replace(cut, statements=replace(cut.statements, loosened=given.loosened, bags=bags, boosted=boosted))
    system = SystemFigures.of(cut.statements, limits)
    dense = system.last(1 + len(of))
    scales, minimum, greatest = [], [], []
    for i, name in enumerate(of, start=1):
        scale, ranges = class_numbers(cut.cut, name)
        if max((abs(v) for pair in ranges for v in pair), default=0) >= LARGEST_SUM:
            raise Unsupported(f"the numbers of '{name}' in whole units exceed 2^59")
        table = np.array([(0, 0), *ranges], dtype=np.int64)
        scales.append(scale)
        minimum.append(table[dense[i], 0])
        greatest.append(table[dense[i], 1])
    return QuestionCells(cut, system, dense[0] > 0, tuple(scales), tuple(minimum), tuple(greatest))


def bound(
    release: Released,
    where: dict[str, Any] | Condition,
    of: str | tuple[str, ...] | list[str] | None = None,
    convention: str | None = None,
    limits: Limits | None = None,
    adversary: Knows | None = None,
) -> BoundAnswer:
    """Return min, max and expectation over worlds of a statistic of the rows that meet a condition.

    `where` is a condition as in the release file. `of` None: their number; a numeric attribute or column: its mean (of
    a binary column: a share); two of them: the Pearson correlation. The expectation is over worlds that have the
    statistic, equally likely in the convention. Where time or size limits end the search, the bounds known by then, at
    worst the ends of what the attribute can be; `trail` says why. `adversary`: see `count`. Raises `ReleaseError` for a
    condition or a name that the domain does not have, `ContradictionError` where no world is left.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.bound(release, {"old": 1})
    <BoundAnswer: 0 to 4, 2 expected, exact (assigned)>
    """
    release = asked_release(release, adversary, limits)
    condition = as_condition(where)
    if (data := data_of(release)) is not None:  # there is a population, and nobody asks about all of it
        condition = (*condition, *as_condition(of_rows(release, data)))
    found = _bound_only(release, condition, of, convention, limits)
    names = () if of is None else (of,) if isinstance(of, str) else tuple(of)
    return replace(found, informative=_informative(release, condition, names, found, _bound_only))


def _bound_only(
    release: EncodedRelease,
    where: Condition,
    of: str | tuple[str, ...] | list[str] | None,
    convention: str | None,
    limits: Limits | None,
) -> BoundAnswer:
    """Return the bounds; see `bound`."""
    names = () if of is None else (of,) if isinstance(of, str) else tuple(of)
    if len(names) > 2:
        raise ReleaseError(f"'of' names {len(names)} attributes: give one for a mean, two for a correlation")
    statements = release.statements
    if kept := statements.unstated if names else statements.loosened:  # extremes over too many worlds are outer bounds
        everything = replace(statements, loosened=())
        everything = replace(everything, bags=(), boosted=()) if names else everything
        located = places(release, limits) if len(names) == 1 else None
        settled = None if located is None else same_mean(release, where, names[0], located, limits)
        if settled is not None:
            return replace(settled, convention=convention_of(release, convention), assumptions=release.assumptions)
        found = _bound_only(replace(release, statements=everything), where, of, convention, limits)
        found = found if located is None else nearer(release, where, names[0], found, located)
        return replace(found, status="bounds", expectation=None, trail=(*found.trail, *kept), _more=None)
    chosen, condition = convention_of(release, convention), where
    limits = limits or Limits()
    if not names:
        return _count_bound(release, condition, chosen, limits)
    if chosen == "assigned":
        chosen = "ordered"  # worlds of one partition: the same datasets, in the same proportions
    try:
        question = _question_cells(release, condition, names, limits)
        return (
            _mean_bound(question, chosen, limits) if len(names) == 1 else _correlation_bound(question, chosen, limits)
        )
    except (Inconclusive, TooLarge) as error:
        if release.rows.high is None or isinstance(error, EmptyConfidenceSet):
            raise
        low, high = (-1.0, 1.0) if len(names) == 2 else _value_range(release, condition, names[0])
        assumed, trail = release.assumptions, tuple(str(error).split("; "))
        return BoundAnswer("bounds", trail=trail, min=low, max=high, convention=chosen, assumptions=assumed)


def _value_range(release: EncodedRelease, where: Condition, name: str) -> tuple[float | None, float | None]:
    """Return the least and greatest number that an attribute or column can have among rows that meet a condition.

    None where it has no value there.
    """
    values = numbers_within(release.domain, where, name)
    minimum, greatest = values.extremes()
    return (float(values.number(minimum[0])), float(values.number(greatest[0]))) if minimum else (None, None)


def _count_bound(release: EncodedRelease, where: Condition, convention: Convention, limits: Limits) -> BoundAnswer:
    """Return the bounds on the number of rows."""
    found = decide(release, select_conditions(release, [where]), convention, limits)
    if release.rows.high is None:  # there is no greatest number
        raise Inconclusive("; ".join(found.trail))
    mean = float(found.expected[0])
    known = not release.domain.continuous and not np.isnan(mean)
    counting = convention if convention != "assigned" else "ordered"

    def attained(greatest: bool) -> World:
        question = _question_cells(release, where, (), limits)
        found = _extreme(question, question.inside.astype(np.int64), greatest, limits)
        return wrap(release, _known_world(found))

    def distribution() -> dict[float, float]:
        question = _question_cells(release, where, (), limits)
        if names := question.release.cut.unsized:
            raise Unsupported(f"'{names[0]}' has no end, so that no region has a share of what could be: {DECLARE}")
        sums = question.inside.astype(np.int64)[None]
        spread = ask(question.release.statements, Joint(sums, counting), JointAnswer, limits)
        return dict(zip(spread.values[:, 0].tolist(), spread.shares.tolist(), strict=True))

    settled = found.status == "exact" or found.low[0] == found.high[0]  # one number in every world, however many worlds
    return BoundAnswer(
        "exact" if settled and not found.open[0] else "bounds",
        engine=found.engine,
        seconds=found.seconds,
        trail=found.trail,
        min=int(found.low[0]),
        max=int(found.high[0]),
        expectation=mean if known else None,
        convention=convention,
        assumptions=release.assumptions,
        _more=Later(attained, distribution),
    )


def _extreme(question: QuestionCells, coefs: Ints, greatest: bool, limits: Limits) -> ExtremeAnswer:
    """Return the extreme of a sum over the cells."""
    return ask(question.release.statements, Extreme(coefs, greatest), ExtremeAnswer, limits)


def _known_world(found: ExtremeAnswer) -> Any:
    """Return the world of an extreme; `Unsupported` where there is none to show."""
    if found.histogram is None:
        raise Unsupported("no world is known that attains it")
    if found.world is None:
        raise Unsupported("a continuous attribute has no 'resolution': there are no discrete worlds")
    return found.world


@dataclass(frozen=True)
class ExtremeMean:
    """The extreme mean: an outer bound (the value itself where `exact`), and the last sum that was extreme."""

    value: Fraction | None
    exact: bool
    coefs: Ints | None
    engine: str
    why: str = ""


def _extreme_mean(question: QuestionCells, values: Ints, greatest: bool, limits: Limits) -> ExtremeMean:
    """Return the least (greatest) mean of values over the rows of the group, over worlds where it has a row.

    Where the time is up, the best outer bound so far: no farther than the least (greatest) value of a cell.
    """
    sign, inside, rows = (1 if greatest else -1), question.inside, question.release.rows.high or 1
    top = int(np.abs(values[inside]).max(initial=0)) + 1
    if 2 * top * rows * rows * max(1, len(values)) >= LARGEST_SUM:
        raise Unsupported("sums of the values asked about times rows may exceed 2^59")
    nearer = min if greatest else max
    held = values[inside & (question.system.upper > 0)]
    outermost = Fraction(int(held.max() if greatest else held.min())) if len(held) else Fraction(sign * top)
    share, best, engine = Fraction(-sign * top), None, ""
    while True:
        if limits.expired():
            return ExtremeMean(outermost, False, best, engine, "the time was up while a mean was bounded")
        p, d = share.numerator, share.denominator
        coefs = np.where(inside, d * values - p, 0).astype(np.int64)
        try:
            found = _extreme(question, coefs, greatest, limits)
        except Inconclusive as error:
            return ExtremeMean(outermost, False, best, engine, str(error))
        engine = found.engine
        inner, outer = found.bounds[0 if greatest else 1], found.outer(greatest)
        if inner == 0 and outer == 0:
            return ExtremeMean(share if best is not None else None, True, best, engine)
        # The group's sum of v - t exceeds 0 by at most `outer`, so its mean exceeds t by no more than that.
        outermost = nearer(outermost, share + Fraction(outer, d))
        if inner == 0 or found.status != "exact":
            return ExtremeMean(outermost, False, coefs, engine, "; ".join(found.trail))
        better = Fraction(*_attained_sums(question, found, values))
        if best is not None and sign * (better - share) <= 0:
            raise EngineError("a mean that should be more extreme is not")
        share, best = better, coefs


def _attained_sums(question: QuestionCells, found: ExtremeAnswer, values: Ints) -> tuple[int, int]:
    """Return (sum of values, rows) of the group in the world of an extreme."""
    if found.histogram is None:
        raise Unsupported("the extreme has no world to continue from")
    z = found.histogram
    return int(values[question.inside] @ z[question.inside]), int(z[question.inside].sum())


def _mean_bound(question: QuestionCells, convention: Convention, limits: Limits) -> BoundAnswer:
    """Return the bounds on a mean; outer ones where cells hold ranges of values."""
    release, scale = question.release, question.scales[0]
    base, unit = _base_and_unit(question, question.least[0], question.greatest[0])
    minimum, greatest = ((v - base) // unit for v in (question.least[0], question.greatest[0]))
    low = _extreme_mean(question, minimum, False, limits)
    high = _extreme_mean(question, greatest, True, limits)
    sums = np.stack([question.inside.astype(np.int64), np.where(question.inside, minimum, 0)])

    def value(mean: Fraction) -> float:
        return float((base + unit * mean) / scale)

    def spread() -> dict[float, float]:
        found = ask(release.statements, Joint(sums, convention), JointAnswer, limits)
        return _distribution_of(found, lambda v: value(Fraction(int(v[1]), int(v[0]))) if v[0] else None)

    def attained(greatest: bool) -> World:
        one = high if greatest else low
        if one.coefs is None:
            raise Unsupported("in no world has the group a row" if one.exact else "no world was found in time")
        return wrap(release, _known_world(_extreme(question, one.coefs, greatest, limits)))

    answer = BoundAnswer(
        "exact" if low.exact and high.exact and question.sharp else "bounds",
        engine=high.engine,
        min=None if low.value is None else value(low.value),
        max=None if high.value is None else value(high.value),
        convention=convention,
        assumptions=release.assumptions,
        trail=tuple(dict.fromkeys(one.why for one in (low, high) if one.why)),
        _more=Later(attained, spread),
    )
    return _with_expectation(answer) if question.sharp else answer


def _with_expectation(answer: BoundAnswer) -> BoundAnswer:
    """Return the answer with its expectation, where worlds can be counted."""
    try:
        shares = answer.distribution()
    except (Unsupported, Inconclusive) as error:
        return replace(answer, trail=(*answer.trail, str(error)))
    return replace(answer, expectation=math.fsum(v * s for v, s in shares.items()) if shares else None)


def _base_and_unit(question: QuestionCells, *values: Ints) -> tuple[int, int]:
    """Return (base, unit): the least number of the group, and the greatest common divisor of the distances to it."""
    held = [int(v) for one in values for v in one[question.inside]]
    base = min(held, default=0)
    return base, math.gcd(*(v - base for v in held)) or 1


def _shifted(question: QuestionCells, values: Ints) -> Ints:
    """Return the numbers of the group moved to 0, 1, ... in their common unit, which leaves a correlation as it is."""
    base, unit = _base_and_unit(question, values)
    return np.where(question.inside, (values - base) // unit, 0).astype(np.int64)


def _correlation_bound(question: QuestionCells, convention: Convention, limits: Limits) -> BoundAnswer:
    """Return the bounds on a correlation: exact from the joint distribution of its sums, else an outer interval."""
    release = question.release
    if not question.sharp:
        raise Unsupported("an attribute has more than 2,000 values: its correlation is not bounded")
    a, b = (_shifted(question, v) for v in question.least)
    far = max(int(a.max(initial=0)), int(b.max(initial=0)))
    if far * far * (release.rows.high or 1) * max(1, len(a)) >= LARGEST_SUM:
        raise Unsupported("sums of squares of the values asked about may exceed 2^59")
    sums = np.stack([question.inside.astype(np.int64), a, b, a * a, b * b, a * b])
    try:
        found = ask(release.statements, Joint(sums, convention), JointAnswer, limits)
    except (Unsupported, Inconclusive) as error:
        low, high = _outer_correlation(question, sums, limits)
        return BoundAnswer(
            "bounds", min=low, max=high, convention=convention, assumptions=release.assumptions, trail=(str(error),)
        )
    shares = _distribution_of(found, _correlation)

    def attained(greatest: bool) -> World:
        known = [(value, v) for v in found.values if (value := _correlation(v)) is not None]
        if not known:
            raise Unsupported("in no world has the group a correlation")
        _, at = (max if greatest else min)(known, key=lambda pair: pair[0])
        worlds = ask(release.statements, Attain(sums, at), WorldsAnswer, limits).worlds
        return wrap(release, next(worlds))

    return BoundAnswer(
        "exact",
        engine=found.engine,
        seconds=found.seconds,
        trail=found.trail,
        min=min(shares, default=None),
        max=max(shares, default=None),
        expectation=math.fsum(v * s for v, s in shares.items()) if shares else None,
        convention=convention,
        assumptions=release.assumptions,
        _more=Later(attained, lambda: shares),
    )


def _outer_correlation(question: QuestionCells, sums: Ints, limits: Limits) -> tuple[float, float]:
    """Return an interval that holds the correlation of two binary columns in every world ([-1, 1] for others).

    From bounds on the group, on both margins and on the joint count: for every pair of margins the joint count lies
    between max(its bound, a + b - n) and min(its bound, a, b).
    """
    binary = bool((sums[1:3] <= 1).all())
    if not binary:
        return -1.0, 1.0
    low = [_extreme(question, sums[i], False, limits).outer(False) for i in (0, 1, 2, 5)]
    high = [_extreme(question, sums[i], True, limits).outer(True) for i in (0, 1, 2, 5)]
    if low[0] != high[0] or (high[1] - low[1] + 1) * (high[2] - low[2] + 1) > MAX_PAIRS:
        return -1.0, 1.0
    n = low[0]
    a = np.arange(low[1], high[1] + 1, dtype=np.float64)[:, None]
    b = np.arange(low[2], high[2] + 1, dtype=np.float64)[None]
    spread = np.sqrt(np.maximum(a * (n - a) * b * (n - b), 0.0))
    maximum, minimum = np.minimum(np.minimum(a, b), high[3]), np.maximum(np.maximum(a + b - n, 0), low[3])
    possible = (spread > 0) & (minimum <= maximum)
    if not possible.any():
        return -1.0, 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = [(n * joint - a * b) / spread for joint in (minimum, maximum)]
    return max(-1.0, float(ends[0][possible].min())), min(1.0, float(ends[1][possible].max()))
