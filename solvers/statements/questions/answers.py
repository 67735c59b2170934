"""Answers to questions: each says how good it is and who gave it.

What an answer over too many worlds is worth (`Answer.relaxed`): `Release.unstated` says what was published and not
stated. The worlds of such statements are the true ones and others. No row, or some row, in all of them: so it is in the
true ones; numbers are outer bounds; a world, or a share of worlds, proves nothing. Where there is none, there is none.

What several engines say about one question, as one answer: the best of all proved bounds, verdicts of any of them.

Every bound is proved by itself, so the greatest lower and the least upper one hold together.

What an engine is: one way to answer questions, and the refusals that several engines share.
"""

from __future__ import annotations

import importlib.util
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.displayed import Displayed, DisplayFacts
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported, installing
from solvers.foundation.exact import Factor, log2_product, product
from solvers.foundation.limits import Limits
from solvers.foundation.plots import count_facts, count_frame, count_plot
from solvers.statements.boxes import Box, Boxes
from solvers.statements.questions.query import Convention, Count, Decide, Extreme, Query, Selections
from solvers.statements.release import Loose, Partition, Release, RowWorld

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes

HASHED = "hashed"  # meant to be exact, proved by nobody: the weakest of the house's tags for such a figure

Status = Literal["exact", "bounds", "unsat", "unknown"]


@dataclass(frozen=True)
class Answer:
    """What every answer carries: status, guarantee, engine, seconds and the refusals on the way (`trail`)."""

    status: Status
    guarantee: str = field(default="proved", kw_only=True)
    engine: str = field(default="", kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)
    trail: tuple[str, ...] = field(default=(), kw_only=True)
    conflict: tuple[str, ...] = field(default=(), kw_only=True)

    def at(self, selections: NDArray[np.intp]) -> Self:
        """Return the answer for these of the selections that it is about, in this order."""
        return self

    def relaxed(self, release: Release, query: Query) -> Answer:
        """Return what the answer, found over the worlds of a loosened release, proves about the true ones.

        Raises `Unsupported` for worlds, and shares of worlds, that were asked for themselves, and of a kind of answer
        that does not say what it is worth.
        """
        unused = "; ".join(release.unstated)
        raise Unsupported(
            f"what a {type(self).__name__} is worth where something published is not used ({unused}) is not known: its "
            f"class has no method 'relaxed'"
        )


def refuted(query: Query, conflict: tuple[str, ...] = ()) -> Answer:
    """Return that there is no world."""
    if isinstance(query, Count):
        return CountAnswer("unsat", convention=query.convention, conflict=conflict)
    return Answer("unsat", conflict=conflict)


def unnamed(release: Release) -> str:
    """Return why no world is given, what may be asked, and what to do."""
    return f"{no_world_reason(release)}; ask for counts, bounds or verdicts, or take that out{how(release)}"


def no_world_reason(release: Release) -> str:
    """Return why no world of a loosened release is given: which of the statements' datasets are worlds is not known."""
    unused = "; ".join(release.unstated)
    return f"no single dataset can be named: not all that fit are possible worlds, as something is not used ({unused})"


def how(release: Release) -> str:
    """Return how to take what is not used out of a file, where a command does."""
    bags = any("multiplicities" in line for line in release.unstated)
    return " (recon convert FILE --without-bags --out release.json)" if bags else " of the file"


@dataclass(frozen=True, repr=False)
class CountAnswer(Displayed, Answer):
    """The number of worlds, as bounds on its log2 and, where exact, as a product of powers.

    `per_rows` maps each possible number of rows to its factors (one entry where the number is known); the count
    is their sum. `relative` marks domains with a continuous attribute, where no number of worlds exists.
    `estimate` is a number of worlds that nobody proved; `guarantee` says how good it is, the bounds do not use it.
    `attained`: a world is known where no number of worlds exists, so that nothing is left open.
    """

    convention: Convention = "ordered"
    bounds: tuple[float, float] = (-math.inf, math.inf)
    per_rows: Callable[[], dict[int, list[Factor]]] | None = None
    log2_per_rows: dict[int, float] = field(default_factory=dict)
    relative: bool = False
    estimate: int | None = None
    attained: bool = False

    @classmethod
    def of_rows(cls, convention: Convention, rows: int, factors: list[Factor], relative: bool = False) -> CountAnswer:
        """Return the exact number of worlds of one number of rows, from its factors."""
        bits = log2_product(factors)
        return cls("exact", convention=convention, bounds=(bits, bits), per_rows=lambda: {rows: factors},
                   log2_per_rows={rows: bits}, relative=relative)  # fmt: skip

    @cached_property
    def factors(self) -> list[Factor]:
        """Return the count as (base, exponent) pairs; `[(count, 1)]` where the number of rows is open."""
        if self.status == "unsat":
            return [(0, 1)]
        if self.per_rows is None or self.relative:
            return []
        every = self.per_rows()
        return next(iter(every.values())) if len(every) == 1 else [(sum(map(product, every.values())), 1)]

    @cached_property
    def value(self) -> int | None:
        """Return the number of worlds, None where only bounds are known. May have millions of digits."""
        if self.status == "unsat":
            return 0
        if self.status != "exact" or self.relative:
            return None
        return product(self.factors)

    @property
    def log2(self) -> float | None:
        """Return log2 of the count, None where it is not exact or there is no world."""
        return self.bounds[0] if self.status == "exact" and not self.relative else None

    def _facts(self) -> DisplayFacts:
        return count_facts(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the answer as one line, so that answers can be put below each other.

        Columns: convention, status, log2 (None where not exact), log2_lower, log2_upper, guarantee, engine, seconds.
        """
        return count_frame(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with log2 of the number of worlds or bounds on it; per number of rows where that is open.

        Raises `Unsupported` without matplotlib, and where there is no number of worlds to draw.
        """
        return count_plot(self, ax)

    def relaxed(self, release: Release, query: Query) -> CountAnswer:
        """Return the number of worlds as an upper bound: a true release has one at least, an impossible one none."""
        none = self.bounds[1] == -math.inf
        return CountAnswer(
            "unsat" if none else self.status,
            convention=self.convention,
            bounds=(-math.inf if none or self.relative else 0.0, self.bounds[1]),
            relative=self.relative,
            engine=self.engine,
            seconds=self.seconds,
            trail=self.trail,
        )

    def log2_value(self) -> float:
        """Return log2 of the factors, computed anew (a check on `log2`)."""
        return log2_product(self.factors)


@dataclass(frozen=True, slots=True)
class BoxMultipliers:
    """What proves a bound on the rows in a box: whole multipliers of statements (by number) over a common scale."""

    of: Mapping[int, int]
    scale: int


Side = tuple[Box, bool]  # a box of parts, and whether the rows in it are bounded from above


@dataclass(frozen=True)
class DecideAnswer(Answer):
    """Per selection (arrays of length q): bounds on the number of rows, and shares of worlds.

    `probability` and `before` are shares of worlds in [0, 1], after and before the release; `expected` is the
    mean number of rows, `expected_before` that before the release; `open` marks selections for which even
    "can, or must, a row be there" is not settled. NaN where a size is only known between bounds. `multipliers` prove
    bounds on the boxes of selections (`Selections.boxes`) where the engine has such proofs.
    """

    low: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    high: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    probability: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    before: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    expected: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    expected_before: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    open: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    multipliers: Mapping[Side, BoxMultipliers] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        before: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
        status: Status = "bounds",
        **known: Any,
    ) -> DecideAnswer:
        """Return the answer with these bounds on the numbers of rows; `before`: shares and means before the release.

        What is not `known` beside them is what the bounds alone settle: a row in every world, or in none, else open.
        """
        unknown = np.full(len(low), np.nan)
        share, mean = before or (unknown, unknown)
        settled = {"probability": settled_share(low, high), "expected": unknown, "open": (low <= 0) & (high > 0)}
        return cls(status, low=low, high=high, before=share, expected_before=mean, **{**settled, **known})

    def at(self, selections: NDArray[np.intp]) -> Self:
        """Return the answer for these of the selections, in this order (each may stand several times)."""
        every = selections.reshape(-1)
        names = ("low", "high", "probability", "before", "expected", "expected_before", "open")
        return replace(self, **{name: getattr(self, name)[every] for name in names})

    def relaxed(self, release: Release, query: Query) -> DecideAnswer:
        """Return bounds on numbers of rows; a row that some of the worlds have is neither possible nor impossible."""
        unsettled = (self.low <= 0) & (self.high > 0)
        return replace(
            self,
            open=self.open | unsettled,
            probability=settled_share(self.low, self.high),
            expected=np.where(self.low == self.high, self.low.astype(np.float64), np.nan),
        )


def settled_share(
    low: NDArray[np.int64], high: NDArray[np.int64], share: NDArray[np.float64] | float = np.nan
) -> NDArray[np.float64]:
    """Return the share of worlds with a row: 1 and 0 where bounds on the number of rows say so, `share` elsewhere."""
    return np.where(low > 0, 1.0, np.where(high <= 0, 0.0, share))


def each_once(selections: Selections, decide: Callable[[Selections], DecideAnswer]) -> DecideAnswer:
    """Return the answer for every selection where equal ones are decided once."""
    distinct, back = selections.distinct()
    return decide(distinct).at(back)


@dataclass(frozen=True)
class LeaveOneOutAnswer(Answer):
    """Per pair of selections, the share of `inner` among `outer` without the person's own row; NaN if undefined."""

    share: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def relaxed(self, release: Release, query: Query) -> LeaveOneOutAnswer:
        """Return no share."""
        return replace(self, share=np.full(len(self.share), np.nan))


@dataclass(frozen=True)
class ShareAnswer(Answer):
    """Per selection the least and greatest share over the worlds where `outer` has a row; NaN if there is none."""

    lower: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    upper: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def relaxed(self, release: Release, query: Query) -> ShareAnswer:
        """Return the bounds: they hold in more worlds than the true ones."""
        return self


@dataclass(frozen=True)
class WorldsAnswer(Answer):
    """Worlds, lazily (`Enumerate`) or drawn (`Sample`, `MostLikely`)."""

    worlds: Iterator[RowWorld] = field(default_factory=lambda: iter(()))

    def relaxed(self, release: Release, query: Query) -> Answer:
        """Refuse: which of the worlds are true ones is not known."""
        raise Unsupported(unnamed(release))


@dataclass(frozen=True)
class ExtremeAnswer(Answer):
    """Rigorous bounds on an extreme, equal where exact; a histogram and a world of the inner one (None: none known).

    A bound is None where nobody found one.
    """

    bounds: tuple[int | None, int | None] = (None, None)
    histogram: NDArray[np.int64] | None = None
    world: RowWorld | None = None

    def outer(self, greatest: bool) -> int:
        """Return the bound that no world exceeds; every engine gives that one. Raises `Inconclusive` without it."""
        found = self.bounds[1] if greatest else self.bounds[0]
        if found is None:
            raise Inconclusive("no bound was found within the limits")
        return found

    def relaxed(self, release: Release, query: Query) -> ExtremeAnswer:
        """Return the outer end of an extreme; what no row can exceed stands at its inner end."""
        if not isinstance(query, Extreme):
            raise Unsupported(unnamed(release))
        far = query.coefs.min(initial=0) if query.greatest else query.coefs.max(initial=0)
        inner = int(far) * (release.rows.high or 0)
        ends = (inner, self.bounds[1]) if query.greatest else (self.bounds[0], inner)
        return replace(self, bounds=ends, histogram=None, world=None)


@dataclass(frozen=True, eq=False)
class JointAnswer(Answer):
    """The values (k, m) that the sums take together, and the share of worlds (k,) with each."""

    values: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    shares: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def relaxed(self, release: Release, query: Query) -> Answer:
        """Refuse: shares of worlds prove nothing about the true ones."""
        raise Unsupported(unnamed(release))


@dataclass(frozen=True, eq=False)
class PerCellAnswer(Answer):
    """The least and greatest number of rows (cells,) over all worlds; outer bounds where `status` is "bounds"."""

    minimum: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    maximum: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def relaxed(self, release: Release, query: Query) -> PerCellAnswer:
        """Return the bounds: they hold in more worlds than the true ones."""
        return self


@dataclass(frozen=True, eq=False)
class LocatedAnswer(Answer):
    """What is proved about the row at every position: in every world it lies here. "exact" where every leaf is known.

    `start`, `end` (rows, attributes) int64: the first part of an attribute that is left and the one behind the last,
    label included; `sets[attribute]` (rows, parts): the parts left where that says more. `leaves_proved`: the share of
    (row, tree that drew it) whose leaf is known. `complete`: nothing more follows by propagation (else time was up).
    `steps`: how many removals prove it. `drawn`, `leaves` (rows,): how many trees drew a row, and of how many of them
    its leaf is known; empty where nobody counted.
    """

    start: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    end: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    sets: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    leaves_proved: float = 0.0
    complete: bool = False
    steps: int = 0
    drawn: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    leaves: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class StrengthenedAnswer(Answer):
    """Bounds on the rows per cell and label, (cells, labels) int64; "exact" where all of them are known.

    `boxes` are the cells that can hold rows (of the attributes, without the label); outside of them is nobody. `steps`
    prove it (`solvers.kernel.claims.LeafValues`), each made when it is asked for. `surplus`: how many figures were left
    over and hold, `worst`: the part of its interval that the farthest of them uses. `failed`: which assumption the
    figures contradict ("": none); then nothing is said of any cell, and the status is "unknown". `total_low`,
    `total_high` (cells,): bounds on the rows per cell whatever their label; by default the sums of those per label.
    """

    boxes: Boxes | None = None
    low: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    high: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    steps: Sequence[Any] = ()
    surplus: int = 0
    worst: float = 0.0
    failed: str = ""
    total_low: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    total_high: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        """Fill in the totals that are not given."""
        for name, ends in (("total_low", self.low), ("total_high", self.high)):
            if len(getattr(self, name)) != len(ends):
                object.__setattr__(self, name, ends.sum(axis=1))


@dataclass(frozen=True, eq=False)
class TargetsAnswer(Answer):
    """Rigorous bounds `low`, `high` (cells,) on the sum of the targets of every cell's rows; status "bounds".

    Cell i is region `region[i]` of block `block` of the release, box `boxes[i]`, and has `rows[i]` rows (>= 1). Bounds
    on sums of one row are bounds on this person's target. `surplus`: how many figures are left over to check with,
    `worst`: the root of the mean square of what figures and bounds use of their intervals (at most 1). `failed`: what
    the figures contradict ("": nothing); then all bounds are infinite, and the status is "unknown".
    """

    boxes: Boxes | None = None
    block: int = -1
    region: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    low: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    high: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    surplus: int = 0
    worst: float = 0.0
    failed: str = ""


NEAR = 1e-9  # relative: bounds on log2 that cross by less differ by rounding


def left_open(query: Query, answer: Answer) -> Query | None:
    """Return what of a question an answer leaves to be asked of other engines, None where it settles it.

    Open are questions without any answer, a count without a known world, an extreme without a bound at one of its
    ends, and the selections whose verdict is open.
    """
    if answer.status == "unknown":
        return query
    if isinstance(answer, CountAnswer) and answer.status == "bounds" and answer.estimate is None:
        return query if answer.bounds[0] == -np.inf and not answer.attained else None
    if isinstance(answer, ExtremeAnswer) and None in answer.bounds:
        return query
    if isinstance(answer, DecideAnswer) and isinstance(query, Decide) and answer.open.any():
        return replace(query, selections=Selections(query.selections.codes[answer.open], query.selections.sizes))
    return None


def combined(answer: Answer, other: Answer) -> Answer:
    """Return one answer for two about the same question; of selections `other` is about those that `answer` left open.

    Raises `EngineError` where their bounds exclude each other.
    """
    if answer.status == "unknown" or (other.status in {"unsat", "exact"} and not isinstance(other, DecideAnswer)):
        return other
    if isinstance(answer, CountAnswer) and isinstance(other, CountAnswer):
        return _best_count(answer, other)
    if isinstance(answer, ExtremeAnswer) and isinstance(other, ExtremeAnswer):
        return _best_extreme(answer, other)
    if isinstance(answer, ShareAnswer) and isinstance(other, ShareAnswer):
        return _shared(answer, other)
    if isinstance(answer, DecideAnswer) and isinstance(other, DecideAnswer):
        return _decided(answer, other)
    return other if other.status == "unsat" else answer


def _best_count(answer: CountAnswer, other: CountAnswer) -> CountAnswer:
    """Return the best bounds on a number of worlds, and the estimate of either."""
    low, high = max(answer.bounds[0], other.bounds[0]), min(answer.bounds[1], other.bounds[1])
    if low > high + NEAR * (1.0 + abs(high)):
        raise EngineError(f"log2 of the number of worlds is at least {low} and at most {high}")
    estimate = answer if answer.estimate is not None else other
    bounds = low, max(low, high)
    attained = answer.attained or other.attained
    return replace(answer, bounds=bounds, estimate=estimate.estimate, guarantee=estimate.guarantee, attained=attained)


def _shared(answer: ShareAnswer, other: ShareAnswer) -> ShareAnswer:
    """Return the best bounds on shares; undefined where either knows that no world has one."""
    lower, upper = np.maximum(answer.lower, other.lower), np.minimum(answer.upper, other.upper)
    return replace(answer, lower=lower, upper=upper)


def _best_extreme(answer: ExtremeAnswer, other: ExtremeAnswer) -> ExtremeAnswer:
    """Return the best bounds on an extreme, with the world of the answer that has one."""
    lows, highs = ([x for x in ends if x is not None] for ends in zip(answer.bounds, other.bounds, strict=True))
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        raise EngineError(f"an extreme is at least {low} and at most {high}")
    world = answer if answer.histogram is not None else other
    status: Status = "exact" if low is not None and low == high and world.histogram is not None else "bounds"
    return replace(answer, status=status, bounds=(low, high), histogram=world.histogram, world=world.world)


def _decided(answer: DecideAnswer, other: DecideAnswer, at: NDArray[np.intp] | None = None) -> DecideAnswer:
    """Return the best bounds on the rows of every selection, and the verdicts of both.

    `other` is about the selections `at` of `answer` (None: those that it left open).
    """
    at = np.flatnonzero(answer.open) if at is None else at
    low, high, unsettled = answer.low.copy(), answer.high.copy(), answer.open.copy()
    probability, expected = answer.probability.copy(), answer.expected.copy()
    low[at], high[at] = np.maximum(low[at], other.low), np.minimum(high[at], other.high)
    if (low > high).any():
        raise EngineError("engines' bounds on the rows of a selection exclude each other")
    unsettled[at] &= other.open & (low[at] <= 0) & (high[at] > 0)
    share = settled_share(low[at], high[at], other.probability)
    probability[at], expected[at] = share, np.where(np.isnan(expected[at]), other.expected, expected[at])
    multipliers = {**answer.multipliers, **other.multipliers}
    return replace(
        answer, low=low, high=high, open=unsettled, probability=probability, expected=expected, multipliers=multipliers
    )


def left_to_others(query: Query, answer: Answer) -> Query | None:
    """Return what other engines may still add to an answer about bags that they do not use; None: nothing.

    Of selections those whose number of rows is not known.
    """
    if answer.status == "unknown":
        return query
    if answer.status in {"unsat", "exact"} or not isinstance(answer, CountAnswer | DecideAnswer | ShareAnswer):
        return None
    if isinstance(answer, DecideAnswer) and isinstance(query, Decide):
        at = _unequal(answer)
        return (
            replace(query, selections=Selections(query.selections.codes[at], query.selections.sizes))
            if len(at)
            else None
        )
    return query


def _unequal(answer: DecideAnswer) -> NDArray[np.intp]:
    """Return the selections whose number of rows is not known."""
    return np.flatnonzero(answer.low < answer.high)


def combine_answers(query: Query, whole: Answer, outer: Answer) -> Answer:
    """Return one answer for one from engines that use the bags and what others prove of `left_to_others`.

    The guarantee and the status are those of bounds; what was said on the way stands one after the other.
    """
    if outer.status == "unknown" or whole.status in {"unsat", "exact"}:
        return replace(whole, trail=(*whole.trail, *outer.trail))
    trail = (*whole.trail, *outer.trail)
    if isinstance(whole, DecideAnswer) and isinstance(outer, DecideAnswer):
        return replace(_decided(whole, outer, _unequal(whole)), trail=trail)
    return replace(combined(whole, outer), trail=trail)


def relaxed_answer(release: Release, query: Query, found: Answer, unstated: tuple[str, ...] | None = None) -> Answer:
    """Return what an engine's answer proves about the worlds of a loosened release (`Answer.relaxed`).

    `unstated`: what the engine does not use (None: all that the release's blocks leave out). Raises `Unsupported` for
    worlds, and shares of worlds, that were asked for themselves.
    """
    unstated = release.unstated if unstated is None else unstated
    if found.status in {"unsat", "unknown"}:
        return found
    if isinstance(found, LocatedAnswer):  # what holds in more worlds holds in the true ones
        return found
    return replace(found, status="bounds", trail=(*found.trail, *unstated)).relaxed(release, query)


def unanswered(query: Query, engine: str) -> Unsupported:
    """Return the refusal of a kind of question that an engine does not know, which it names."""
    return Unsupported(f"a question of the kind {type(query).__name__} is not answered by {engine}")


COARSE = "an attribute whose values are summed has too many values to cut at each: worlds are bounded, not built"

FEW_CELLS = "the cells are few enough for engines that know them all"


class Engine(ABC):
    """One way to answer questions. Capabilities are data on the class; a refusal always carries its reason."""

    name: ClassVar[str]
    answers: ClassVar[tuple[type, ...]]  # the kinds of question
    needs: ClassVar[tuple[str, ...]] = ()  # importable packages
    extra: ClassVar[str] = "solvers"  # the extra that installs them
    about: ClassVar[str] = ""
    cells: ClassVar[Literal["few", "many", "any"]] = "any"  # few: it lists all cells; many: only where nobody can
    coarse: ClassVar[bool] = True  # answers where statements on sums were relaxed too, and propagation refutes nothing

    uses_leaf_values: ClassVar[bool] = False  # its worlds agree with leaf values (`Release.boosted`), not blocks alone
    uses_bags: ClassVar[bool] = False  # its worlds agree with bags that are known (`Release.bags`), not blocks alone

    @abstractmethod
    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why this engine does not answer, or None."""

    @abstractmethod
    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the answer; limits end in a status, not in an exception."""

    @classmethod
    def missing(cls) -> str | None:
        """Return which package is not installed and how to get it, or None."""
        for package in cls.needs:
            if importlib.util.find_spec(package) is None:
                return f"{package} is not installed: {installing(cls.extra)}"
        return None


def no_coupling(release: Release, query: Query) -> str | None:
    """Return why no engine over cells of several blocks answers, None where they may."""
    if release.rows.high is None:
        return "the number of rows is unbounded"
    if getattr(query, "convention", None) == "assigned":
        return "'assigned' worlds need one partition with exact counts"
    if release.domain.relative and query.lists_worlds:
        return "a continuous attribute has no 'resolution': there are no discrete worlds"
    return None


def not_searched(release: Release) -> str | None:
    """Return why no search over rows evaluates all that a release says, None where it can."""
    if release.loosened:
        return no_world_reason(release)
    if any(not isinstance(block, Partition | Loose) for block in release.blocks):
        return "statements of which only one holds are not searched for"
    if any(statement.region is None for block in release.loose.values() for statement in block):
        return "sums of values are not searched for"
    return None
