"""What four attackers can prove about the correlations of columns that a released model tests.

Each knows what the one before knows, and more; every interval holds the true correlation for certain (the noisy ones at
their confidence):

- "positive definite": the correlation of either column with the label, nothing else. Source: Cretu, Guepin, de
  Montjoye, "Dataset correlation inference attacks against machine learning models", 2021: a correlation matrix is
  positive semidefinite, so that rho lies in rho1 rho2 -+ sqrt((1 - rho1^2)(1 - rho2^2)).
- "exact discrete": the tables of either column with the label, as counts. With both margins known the correlation is
  linear in the number of rows where both columns are 1, which per label lies in Fréchet's bounds.
- "noise epsilon=E": also counts of the released model under discrete Laplace noise, read as joint intervals.
- "worlds": also the released counts themselves: the least and greatest number of such rows over all possible worlds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import equals
from encoders.encode.encoder import CONFIDENCE, EncodedRelease, confidence_level, encode
from encoders.models.models import Noise, PublishedFigure, Table
from recon.attacks.correlation.intervals import pair_interval
from recon.queries.black_box import BinaryView, labels_of, named_view, rows_of, views_of
from recon.queries.measures.sweeping import exact_counts, with_noise
from recon.readers.frames.selections import select_conditions
from recon.readers.frames.world import violations
from solvers.engines.figures.system import selection_bounds
from solvers.foundation.displayed import LINES, Displayed, DisplayFacts, many
from solvers.foundation.errors import ContradictionError, EngineError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits, ended
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.noise.sampling import Randomness

DEFINITE, DISCRETE, WORLDS = "positive definite", "exact discrete", "worlds"
ROUNDING = 1e-12  # outwards, of the one interval that is not made of whole numbers
TOGETHER = 12  # columns whose tables are known all at once; of more, those of the two columns asked about
KNOWS = {
    DEFINITE: "the correlation of either column with the label",
    DISCRETE: "the counts of either column with the label",
    WORLDS: "these counts of {columns} with the label, and the released counts",
}
BY_NOISE = "these counts of {columns} with the label, and the released counts under discrete Laplace noise"
Bits = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Correlations(Displayed):
    """Intervals for correlations of pairs of columns, one line of `frame` per pair and attacker.

    Columns: first, second, attacker, low, high, width, truth, holds (whether the truth lies within), confidence (1: for
    certain), status ("exact": both ends are attained, "bounds": outer ones, "empty": no dataset fits the noisy counts
    at the confidence, what the tables say is left) and engine. `knows`: what each attacker knows; `notes`: what was
    left out and why.
    """

    frame: pd.DataFrame
    knows: Mapping[str, str]
    views: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def _facts(self) -> DisplayFacts:
        columns = [str(name) for name in self.frame.columns]
        sizes = many(len(self.frame), "interval"), many(len(self.views), "column"), many(len(self.knows), "attacker")
        lines = self.frame.head(LINES).to_numpy(dtype=object).tolist
        return DisplayFacts(
            ", ".join(sizes), list(self.knows.items()), columns, lines, len(self.frame), self.notes, "frame"
        )


@dataclass(frozen=True, eq=False)
class KnownRecords:
    """True rows as the attackers know them: (rows, views) bits and (rows,) label numbers of so many classes."""

    views: tuple[BinaryView, ...]
    bits: Bits
    label: Ints
    classes: int

    @property
    def with_label(self) -> Ints:
        """Return (classes, views) how many rows of each label have each view."""
        return np.stack([self.bits[self.label == c].sum(axis=0) for c in range(self.classes)]).astype(np.int64)

    @property
    def sizes(self) -> Ints:
        """Return (classes,) how many rows have each label."""
        return np.bincount(self.label, minlength=self.classes).astype(np.int64)

    def of(self, views: Sequence[int]) -> KnownRecords:
        """Return what is known of some of the views."""
        return KnownRecords(tuple(self.views[i] for i in views), self.bits[:, list(views)], self.label, self.classes)


@dataclass(frozen=True, eq=False)
class CorrelationBounds:
    """Least and greatest number of rows where both columns of each pair are 1; `status` as in `Correlations`."""

    low: Ints
    high: Ints
    status: NDArray[np.object_]
    engine: str = ""


def correlations(
    release: EncodedRelease,
    data: pd.DataFrame,
    pairs: Sequence[tuple[str, str]] | None = None,
    epsilons: Sequence[float] = (10.0, 1.0, 0.1),
    confidence: float = float(CONFIDENCE),
    seed: int = 0,
    limits: Limits | None = None,
) -> Correlations:
    """Return what four attackers prove about correlations of the columns that a model tests.

    `data`: the training rows, label included: what the attackers know is counted in them, and the truth. `pairs`: names
    of columns, of the model's or any binary ones of the domain (None: all pairs of the model's). A test on an attribute
    that is not binary is the 0/1 view of that test ("age <= 40"). `epsilons`: of discrete Laplace noise of scale 1 / E
    on every count (neighbours: one row added or removed), drawn with `seed`; joint intervals at `confidence`. Left out,
    with a note, where the release is no single tree or rule list with exact counts; noisy counts of the release itself
    are read at the confidence and then make the attacker "worlds". An attacker who finds the noise impossible at the
    confidence falls back on what else is known (status "empty"). Out of time, what is known without the model is left
    ("bounds", and a note).

    Raises `ReleaseError` for data that are not the rows of the release, without a label, with a column that is constant
    (it has no correlation), for fewer than two columns, for a bad epsilon; `Unsupported` for a label of other than two
    values, boosted models, and known columns. Cost: one question per attacker over at most 2^(columns + 1) cells where
    there are at most 12 columns, else one per pair.
    """
    limits = limits or Limits()
    level = confidence_level(confidence)
    known, asked = _what_is_known(release, data, pairs, epsilons)
    a, b = (np.array(side, dtype=np.int64) for side in zip(*asked, strict=True))
    joint = (known.bits[:, a] & known.bits[:, b]).sum(axis=0).astype(np.int64)
    truth = _pearson(known, a, b, joint)
    discrete = _frechet(known, a, b)
    together = len(known.views) <= TOGETHER
    lines = [_definite(known, a, b, truth), _as_lines(known, (a, b), discrete, joint, DISCRETE, 1.0)]
    notes: list[str] = []
    try:
        noisy = list(noisy_releases(release, epsilons, level, seed))
    except Unsupported as error:
        noisy, notes = [], [f"no noise was added: {error}"]
    read = release.at_confidence(level)  # first, so that the time is theirs where it is short
    worlds = _over_worlds(read, known, asked, discrete, together, limits)
    for epsilon, private in noisy:
        found = _over_worlds(private, known, asked, discrete, together, limits)
        lines.append(_as_lines(known, (a, b), found, joint, f"noise epsilon={epsilon:g}", private.confidence))
    lines.append(_as_lines(known, (a, b), worlds, joint, WORLDS, read.confidence))
    if limits.expired():
        notes.append(f"{ended(limits)}: intervals of status 'bounds' are wider than they need be")
    frame = pd.concat(lines)
    names = [view.name for view in known.views]
    frame.insert(0, "first", [names[i] for i in a.tolist()] * len(lines))
    frame.insert(1, "second", [names[i] for i in b.tolist()] * len(lines))
    frame.insert(6, "truth", np.tile(truth, len(lines)))
    columns = "all columns" if together else "the two columns"
    knows = {name: text.format(columns=columns) for name, text in KNOWS.items()}
    knows |= {f"noise epsilon={e:g}": BY_NOISE.format(columns=columns) for e, _ in noisy}
    order = frame["attacker"].unique().tolist()
    return Correlations(frame.reset_index(drop=True), {n: knows[n] for n in order}, tuple(names), tuple(notes))


def _what_is_known(
    release: EncodedRelease, data: pd.DataFrame, pairs: Sequence[tuple[str, str]] | None, epsilons: Sequence[float]
) -> tuple[KnownRecords, list[tuple[int, int]]]:
    """Return the true rows as attackers know them and the pairs of views asked about; see `correlations`."""
    if release.known is not None:
        raise Unsupported("an attacker who knows the columns of everybody knows their correlations")
    if wrong := [e for e in epsilons if not (math.isfinite(e) and e > 0)]:
        raise ReleaseError(f"epsilon must be above 0 and finite, not {wrong[0]}")
    label = labels_of(release, data)
    own = release.domain.label
    classes = 0 if own is None else own.span[1]
    if classes != 2:
        raise Unsupported(f"the label has {classes} values: correlations with it are those of a label of two")
    views = views_of(release)
    if pairs is not None:
        chosen = [tuple(named_view(release, views, name) for name in pair) for pair in pairs]
        further = {view.name: view for pair in chosen for view in pair if view not in views}
        views = [*views, *further.values()]
        if twice := next((first.name for first, second in chosen if first == second), None):
            raise ReleaseError(f"a correlation is one of two columns, not of '{twice}' with itself")
        asked = [(views.index(first), views.index(second)) for first, second in chosen]
    else:
        asked = list(combinations(range(len(views)), 2))
    if not asked:
        raise ReleaseError(f"a correlation is one of two columns; the model tests {len(views)}")
    if not release.noisy and (broken := violations(release, data)):
        raise ReleaseError(f"the data are not the rows that the release is about: {broken[0]}")
    known = KnownRecords(tuple(views), rows_of(release, data, views), label, classes)
    held, rows = known.bits.sum(axis=0), len(label)
    for k in sorted({k for pair in asked for k in pair}):
        if held[k] in (0, rows):
            raise ReleaseError(f"'{views[k].name}' is {int(held[k] > 0)} in all {rows:,} rows: it has no correlation")
    if len(set(label.tolist())) < 2:
        raise ReleaseError("all rows have the same label: nothing has a correlation with it")
    return known, asked


def _pearson(known: KnownRecords, a: Ints, b: Ints, joint: Ints) -> NDArray[np.float64]:
    """Return the correlations of pairs of 0/1 columns from the numbers of rows where both are 1."""
    n, held = len(known.label), known.bits.sum(axis=0).astype(np.int64)
    first, second = held[a].tolist(), held[b].tolist()
    return np.array([
        (n * k - i * j) / math.sqrt(i * (n - i) * j * (n - j))
        for i, j, k in zip(first, second, joint.tolist(), strict=True)
    ])  # fmt: skip


def _definite(known: KnownRecords, a: Ints, b: Ints, truth: NDArray[np.float64]) -> pd.DataFrame:
    """Return the lines of the attacker who knows correlations with the label only, rounded outwards."""
    n, held, ones = len(known.label), known.bits.sum(axis=0).tolist(), int(known.sizes[1])
    rho = np.array([
        (n * k - i * ones) / math.sqrt(i * (n - i) * ones * (n - ones)) if 0 < i < n else 0.0
        for i, k in zip(held, known.with_label[1].tolist(), strict=True)
    ]).clip(-1.0, 1.0)  # fmt: skip
    low, high = pair_interval(rho[a], rho[b])
    low, high = np.maximum(low - ROUNDING, -1.0), np.minimum(high + ROUNDING, 1.0)
    return pd.DataFrame({
        "attacker": DEFINITE, "low": low, "high": high, "width": high - low, "holds": (low <= truth) & (truth <= high),
        "confidence": 1.0, "status": "exact", "engine": "",
    })  # fmt: skip


def _frechet(known: KnownRecords, a: Ints, b: Ints) -> CorrelationBounds:
    """Return the bounds on rows where both are 1 that the tables with the label give: Fréchet's, summed over labels."""
    held, sizes = known.with_label, known.sizes[:, None]
    low = np.maximum(held[:, a] + held[:, b] - sizes, 0).sum(axis=0)
    high = np.minimum(held[:, a], held[:, b]).sum(axis=0)
    return CorrelationBounds(low, high, np.full(len(a), "exact", dtype=object))


def _as_lines(
    known: KnownRecords, pair: tuple[Ints, Ints], found: CorrelationBounds, joint: Ints, name: str, level: float
) -> pd.DataFrame:
    """Return an attacker's lines from the bounds on rows where both columns are 1."""
    low, high = (_pearson(known, *pair, ends) for ends in (found.low, found.high))
    return pd.DataFrame({
        "attacker": name, "low": low, "high": high, "width": high - low,
        "holds": (found.low <= joint) & (joint <= found.high),
        "confidence": level, "status": found.status, "engine": found.engine,
    })  # fmt: skip


def noisy_releases(
    release: EncodedRelease, epsilons: Sequence[float], level: Fraction, seed: int
) -> Iterator[tuple[float, EncodedRelease]]:
    """Yield each epsilon (the largest first) with the release whose counts carry such noise; see `exact_counts`."""
    if not epsilons:
        return
    _, truth = exact_counts(release)
    dice = Randomness(seed)
    for epsilon in sorted(set(map(float, epsilons)), reverse=True):
        exact = Fraction(repr(epsilon))
        noise = Noise(NoiseLaw("discrete_laplace", 1 / exact), exact, Fraction(0), Fraction(1), "add_remove")
        noisy = [int(c) + dice.discrete_laplace(noise.law.scale) for c in truth]
        yield epsilon, with_noise(release, noisy, noise).at_confidence(level)


def _over_worlds(
    release: EncodedRelease,
    known: KnownRecords,
    asked: Sequence[tuple[int, int]],
    outer: CorrelationBounds,
    together: bool,
    limits: Limits,
) -> CorrelationBounds:
    """Return the bounds on rows where both columns are 1 over all worlds of the release and the tables with the label.

    `outer`: what the tables alone say, and what is left where no world fits the noisy counts at the confidence. Never
    wider than that.
    """
    if together:
        return _world_bounds(release, known, asked, outer, limits)
    parts = []
    for i, (first, second) in enumerate(asked):
        one = CorrelationBounds(outer.low[i : i + 1], outer.high[i : i + 1], outer.status[i : i + 1])
        parts.append(_world_bounds(release, known.of([first, second]), [(0, 1)], one, limits))
    low, high = (np.concatenate([getattr(p, name) for p in parts]) for name in ("low", "high"))
    return CorrelationBounds(low, high, np.concatenate([p.status for p in parts]), parts[0].engine)


def _world_bounds(
    release: EncodedRelease,
    known: KnownRecords,
    asked: Sequence[tuple[int, int]],
    outer: CorrelationBounds,
    limits: Limits,
) -> CorrelationBounds:
    """Return the bounds over all worlds of the release joined with the tables of the given views; see `over_worlds`.

    From both sides (`selection_bounds`), "exact" where they meet. With too many cells, or without time, what was known
    before is left.
    """
    low, high, status = outer.low.copy(), outer.high.copy(), np.full(len(asked), "bounds", dtype=object)
    if limits.expired():
        return CorrelationBounds(low, high, status)
    level = release.statements.confidence or CONFIDENCE
    joined = encode(release.domain, [*release.models, _tables(release, known)], release.declared, confidence=level)
    wanted = [(*known.views[i].condition, *known.views[j].condition) for i, j in asked]
    try:
        found = selection_bounds(joined.statements, select_conditions(joined, wanted), limits)
        for i, (least, most, attained) in enumerate(found):
            low[i], high[i] = max(low[i], least), min(high[i], most)
            status[i] = "exact" if attained or low[i] == high[i] else "bounds"
    except ContradictionError:
        return _impossible(release, outer)
    except (Unsupported, Inconclusive):
        pass  # what was known before is left
    return CorrelationBounds(low, high, status)


def _impossible(release: EncodedRelease, outer: CorrelationBounds) -> CorrelationBounds:
    """Return what is left where no dataset fits: of noisy counts what was known before.

    Raises `EngineError` for exact ones: the true rows fit them.
    """
    if not release.noisy:
        raise EngineError("no dataset fits a release that the true rows fit")
    return replace(outer, status=np.full(len(outer.low), "empty", dtype=object))


def _tables(release: EncodedRelease, known: KnownRecords) -> Table:
    """Return the table that says how many rows have each label, and how many of them each view."""
    label = release.domain.label
    assert label is not None  # checked where the data were read
    figures = [PublishedFigure((), count=len(known.label))]
    for c, size in enumerate(known.sizes.tolist()):
        of_label = ((label.name, equals(label.value_at(c))),)
        figures.append(PublishedFigure(of_label, count=size))
        for view, count in zip(known.views, known.with_label[c].tolist(), strict=True):
            figures.append(PublishedFigure((*view.condition, *of_label), count=count))
    return Table(tuple(figures), "tables with the label")


__all__ = ["Correlations", "correlations"]
