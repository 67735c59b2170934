"""Two versions of one model: who left between them, who came, and what both say of those who stayed.

Before minus after is the one who left: each model counts the rows of its version, rows are of the types "before only",
"after only" and both, and every cell of the two models together belongs to one type. Who left is in a cell of the first
type that can hold a row; a cell of a single row that must hold one is a person, with all values.

Source: Dinur, Nissim, "Revealing information while preserving privacy", PODS 2003 (differencing); Chen et al., "When
machine unlearning jeopardizes privacy", CCS 2021 (who left, guessed from the outputs of two models).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, product
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease, reassembled
from encoders.encode.typed_rows import TypedRows, column_of
from encoders.models.related import DataSet, RelatedDataSets, number_words
from recon.queries.answers.counting import count, decide
from recon.queries.answers.exact import Profiles, as_frame
from recon.queries.questions.questions import certify
from recon.readers.frames.describe import condition_text
from recon.readers.frames.selections import CAME, LEFT, STAYED, of_rows
from recon.readers.frames.world import wrap
from recon.readers.loading.loading import Released, load, release_of, versions
from recon.readers.loading.settled import strengthened_release
from solvers.engines.chain import ask, no_closed_form
from solvers.engines.figures.partition import PartitionFigures
from solvers.engines.figures.system import SystemFigures
from solvers.foundation.displayed import Displayed, DisplayFacts, many
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Clock, Limits
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import PerCellAnswer
from solvers.statements.questions.query import PerCell, Selections
from solvers.statements.release import RowCount, RowWorld

LISTED = 1_000  # candidates listed with their values; more are counted only
BEFORE, AFTER = "before", "after"
NO_PAIR = "no data sets that are related in this way fit both models"


@dataclass(frozen=True, eq=False)
class RowsOfType:
    """What is proved of the rows of one type: those who left, came or stayed.

    `number` of them; `certain`: how many of them are known with every value, in every possible world (at least, where
    `exact` is False); `possible`: how many different rows they can be (at most; None: of any number); `fewest`: at
    least and at most how many different rows are needed so that one of them surely is one of these (None: no number
    is; of a single row as many as are possible). `rows`: these,
    where they are at most 1,000, as `recon.certify` says of each: its values, verdict, min_count, max_count,
    probability, certificate. `attributes`: per attribute and group of values min_count and max_count among them.
    """

    word: str
    number: RowCount
    certain: int
    possible: int | None
    rows: pd.DataFrame
    attributes: pd.DataFrame
    exact: bool = True
    fewest: tuple[int, int | None] = (1, None)

    @property
    def sure(self) -> int:
        """Return how many attributes have one value that all of these rows have."""
        if not self.number.exact or not self.number.low or not len(self.attributes):
            return 0
        lines = self.attributes
        alike = lines["single"] & (lines["min_count"] == self.number.low)
        return int(alike.sum())


@dataclass(frozen=True, eq=False)
class _Versions:
    """Two versions together and each alone, for what each says alone: twice the work of the answer, done when asked.

    `both`: the bits that both leave. `clock`: the limits of the question, which last as long as it left of them.
    """

    joined: EncodedRelease
    each: tuple[EncodedRelease, EncodedRelease]
    both: float | None
    clock: Clock

    def alone(self) -> dict[str, dict[str, Any]]:
        """Return what each version by itself says: people known with all values, and the bits left."""
        return {key: self._figures(one) for key, one in zip((BEFORE, AFTER), self.each, strict=True)}

    def _figures(self, release: EncodedRelease) -> dict[str, Any]:
        limits = self.clock.limits
        release = strengthened_release(release, limits)
        counted = count(release, "multiset", limits)
        try:
            cells = _TypedCells.of(release, limits)
        except (Unsupported, Inconclusive):
            return {"identified": 0, "exact": False, "bits": counted.log2}
        single = np.array(cells.figures.sizes, dtype=object) == 1
        pinned = 0 if release.domain.continuous else int(cells.minimum[single.astype(bool)].sum())
        return {"identified": pinned, "exact": cells.exact, "bits": counted.log2}

    def bits(self, left: RowsOfType, later: str) -> dict[str, float | None]:
        """Return the bits left before and after the model of a later data set.

        Where one row left, also of who left and of the others.
        """
        joined, earlier, limits = self.joined, self.each[0], self.clock.limits
        out: dict[str, float | None] = dict.fromkeys(("before", "both", "removed", "kept_before", "kept_both"))
        out["both"], one = self.both, left.number == RowCount(1, 1)
        if joined.domain.continuous or joined.typed is None:
            return out
        two = len(joined.typed.related.datasets) == len(self.each) and joined.typed.rows == earlier.rows
        if one and two and (shares := _one_row(earlier, limits)) is not None:
            alone = count(earlier, "multiset", limits).log2
            assert alone is not None
            out["before"] = before = alone + shares[0]
            out["kept_before"] = before - shares[1]
        elif not earlier.statements.boosted:  # of which the leaf values would be worked out once more
            out["before"] = count(earlier_release(joined, later), "multiset", limits).log2
        if one and len(left.rows) and self.both is not None and left.exact:
            out["removed"] = entropy = _entropy(left.rows["probability"])
            out["kept_both"] = self.both - entropy
        return out


@dataclass(frozen=True, repr=False, eq=False)
class Difference(Displayed):
    """What two versions say together about the rows `removed`, `added` and `kept`, and what each says alone.

    `rows`, `certain`, `possible`, `attributes` are those of `removed`. `alone` (before, after): the people whom one
    model alone fully reveals (`identified`), and its bits left. `bits`: `before`, left by the earlier model when the
    relation is known; `both`, left by both; `removed`, of who left; `kept_before` and `kept_both`, of the others given
    who left. None where a figure is not exact, was not asked for, or is of the earlier one of boosted models. `alone`
    and `bits` are worked out when they are asked for, in the time that the answer left, which can take twice as long as
    the answer. `profiles`: the answers of `recon.certify` about the rows that left (None: nobody was asked about);
    `asked` are these people. `release` answers every further question (`of="removed"`).

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> domain, learner = recon.Domain.from_frame(rows, "ill"), recon.GreedyRuleListClassifier
    >>> before, after = (learner().fit(some[["smoker", "old"]], some["ill"]) for some in (rows, rows.drop(index=2)))
    >>> found = recon.difference(before, after, domain=domain)
    >>> found.certain, found.possible
    (1, 1)
    >>> found.rows[["smoker", "old", "ill", "verdict"]]
       smoker  old  ill  verdict
    0       1    0    0  certain
    """

    removed: RowsOfType
    added: RowsOfType
    kept: RowsOfType
    release: EncodedRelease = field(repr=False)
    versions: _Versions = field(repr=False)
    profiles: pd.DataFrame | None = None
    asked: pd.DataFrame | None = field(default=None, repr=False)
    names: tuple[str, str] = (BEFORE, AFTER)

    @property
    def rows(self) -> pd.DataFrame:
        """Return the rows that those who left can be, with the verdict of each."""
        return self.removed.rows

    @property
    def certain(self) -> int:
        """Return how many of those who left are known with every value."""
        return self.removed.certain

    @property
    def possible(self) -> int | None:
        """Return how many different rows those who left can be."""
        return self.removed.possible

    @property
    def attributes(self) -> pd.DataFrame:
        """Return what is known of every attribute of those who left."""
        return self.removed.attributes

    @cached_property
    def alone(self) -> dict[str, dict[str, Any]]:
        """Return what each of the two versions says by itself."""
        return self.versions.alone()

    @cached_property
    def bits(self) -> dict[str, float | None]:
        """Return the bits that are left before and after the later model."""
        return self.versions.bits(self.removed, self.names[1])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what all of it assumes, the relation among it."""
        return self.release.assumptions

    def sentences(self) -> list[str]:
        """Return what was found, in words."""
        out = [line for group in (self.removed, self.added) for line in _lines_of(group)]
        known = [
            f"{self.names[i]} alone: {self.alone[key]['identified']:,} of its rows"
            for i, key in enumerate((BEFORE, AFTER))
        ]
        least = "" if self.kept.exact else "at least "
        out.append(
            f"Both models together fully reveal {least}{self.kept.certain:,} of the {number_words(self.kept.number)} "
            f"in both versions ({'; '.join(known)})."
        )
        first, second = self.bits["before"], self.bits["both"]
        if first is not None and second is not None:
            out.append(
                f"Given how the versions are related, {self.names[0]} leaves {first:,.1f} bits about all rows, and "
                f"both models together leave {second:,.1f}."
            )
        first, second = self.bits["kept_before"], self.bits["kept_both"]
        if first is not None and second is not None:
            out.append(
                f"Given who left, both models together leave {second:,.1f} bits about those who stayed, and the "
                f"earlier one alone {first:,.1f}."
            )
        if self.removed.number != RowCount(0, 0) != self.added.number:
            out.append(
                "Who changed counts as one who left and another who came; where the two are alike in all values, the "
                "same pair of versions is counted more than once."
            )
        return out

    def _facts(self) -> DisplayFacts:
        groups = [group for group in (self.removed, self.added) if group.number != RowCount(0, 0)]
        line = "; ".join(_short(group) for group in groups) or "nobody left or came"
        both = self.versions.both
        pairs = [] if both is None else [("bits both leave", both)]
        return DisplayFacts(line, pairs, notes=self.assumptions, more="rows, attributes, sentences()")


def _short(group: RowsOfType) -> str:
    possible = "any row" if group.possible is None else many(group.possible, "row")
    verb = "is" if group.possible == 1 or group.possible is None else "are"
    known = f"{group.certain:,} known with all values"
    return f"{number_words(group.number)} {group.word}: {known}, {possible} {verb} possible"


def _lines_of(group: RowsOfType) -> list[str]:
    """Return what is known of those who left or came, in words; nothing where nobody did."""
    if group.number == RowCount(0, 0):
        return []
    people = number_words(group.number).replace("rows", "people").replace("row", "person")
    one, everybody = group.number == RowCount(1, 1), group.number == RowCount(group.certain, group.certain)
    who = f"the person who {group.word}" if one else f"the {people} who {group.word}"
    if everybody:
        return [f"The two models identify {who}, with all values."]
    least, most = ("", "") if group.exact else ("at least ", "at most ")
    some = f"{least}{group.certain:,} of {who}, with all values"
    line = f"The two models {f'identify {some}' if group.certain else f'do not identify {who}'}"
    if group.possible is None:
        return [f"{line}; the number of profiles of the others is not bounded."]
    return [f"{line}: {most}{many(group.possible, 'profile')} {'fit the others' if group.certain else 'fit'}."]


def difference(
    before: Released,
    after: Released,
    removed: int | None = None,
    added: int | None = None,
    profiles: Profiles | None = None,
    domain: Any = None,
    limits: Limits | None = None,
    names: tuple[str, str] | None = None,
    certificates: bool = True,
) -> Difference:
    """Return who left between two versions of a model, who came, and what both say of those who stayed.

    `before` and `after`: files, fitted models or releases of one domain (`domain` replaces that of files and is needed
    for models in memory). `removed`, `added`: how many rows left and came; one that is left out follows from the other
    and the numbers of rows; with neither, the fewest changes are assumed, which every answer says. `profiles`: people
    asked about, whether they left. `names`: of the two data sets, in answers. `certificates`: whether proofs are made
    too (of boosted models they take far longer than the answer). Raises what `recon.load` raises, `ContradictionError`
    where no data sets of these numbers fit both models. Cost: that of `recon.count` of both models together, and of
    either alone.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> domain, learner = recon.Domain.from_frame(rows, "ill"), recon.GreedyRuleListClassifier
    >>> before, after = (learner().fit(some[["smoker", "old"]], some["ill"]) for some in (rows, rows.drop(index=2)))
    >>> recon.difference(before, after, removed=1, domain=domain)
    <Difference: 1 row left: 1 known with all values, 1 row is possible>
    """
    limits = limits or Limits()
    called = names or names_of(before, after)
    first, second = (version_release(one, domain, limits) for one in (before, after))
    relation = relation_between(first, second, called, removed, added)
    joined = joined_versions(before, after, (first, second), relation, domain, limits)
    return of_release(joined, (first, second), profiles, limits, certificates=certificates)


def of_release(
    joined: EncodedRelease,
    alone: Sequence[EncodedRelease],
    profiles: Profiles | None,
    limits: Limits,
    later: str = "",
    certificates: bool = True,
) -> Difference:
    """Return the difference between a data set and the one that it is made from; see `difference`.

    `later`: its name, where several are made from others; all that the release says of these is used. `alone`: the
    earlier and the later one by themselves.
    """
    datasets = () if joined.related is None else joined.related.datasets
    pairs = [one for one in datasets if one.origin is not None and later in ("", one.name)]
    if len(pairs) != 1:
        raise Unsupported("a difference is of two data sets, the second made 'from' the first")
    names = str(pairs[0].origin), pairs[0].name
    settled = strengthened_release(joined, limits)
    try:
        cells, counted = _TypedCells.of(settled, limits), count(settled, "multiset", limits)
    except ContradictionError as error:
        raise ContradictionError(NO_PAIR, error.conflict) from None
    if counted.status == "unsat":
        raise ContradictionError(NO_PAIR, counted.conflict)
    types = {"left": LEFT, "came": CAME, "stayed": STAYED}
    suffix = f":{later}" if later else ""
    groups = {of: _group(settled, cells, word, of + suffix, limits, certificates) for word, of in types.items()}
    people = None if profiles is None else as_frame(profiles)
    asked = None if people is None else certify(settled, people, "multiset", limits, certificates, of=LEFT + suffix)
    left = replace(limits, started=limits.meter.now(), seconds=limits.clock_left() if limits.clocked else None)
    held = _Versions(joined, (alone[0], alone[1]), counted.log2, Clock(left))
    return Difference(groups[LEFT], groups[CAME], groups[STAYED], settled, held, asked, people, names)


def who_left(joined: EncodedRelease, limits: Limits, later: str = "") -> RowsOfType:
    """Return what is known of those who left between a data set and the one that it is made from; see `of_release`."""
    settled = strengthened_release(joined, limits)
    of = f"{LEFT}:{later}" if later else LEFT
    return _group(settled, _TypedCells.of(settled, limits), "left", of, limits, False)


def names_of(before: Released, after: Released) -> tuple[str, str]:
    """Return what two versions are called: their files without folder and ending, where these differ."""
    paths = [os.fspath(one) if isinstance(one, str | os.PathLike) else "" for one in (before, after)]
    found = [os.path.basename(path).partition(".")[0] for path in paths]
    return (found[0], found[1]) if all(found) and found[0] != found[1] else (BEFORE, AFTER)


def version_release(one: Released, domain: Any, limits: Limits) -> EncodedRelease:
    """Return one version by itself."""
    if isinstance(one, EncodedRelease):
        return one
    if isinstance(one, str | os.PathLike):
        return load(one, domain=domain, limits=limits)
    if domain is None:
        return release_of(one, limits)
    from recon.readers.loading.loading import encode

    return encode(one, domain)


def joined_versions(
    before: Released, after: Released, each: Sequence[EncodedRelease], relation: RelatedDataSets, domain: Any,
    limits: Limits,
) -> EncodedRelease:  # fmt: skip
    """Return two versions as one release of related data sets: of their files, where both are, as `verify` reads it."""
    paths = [os.fspath(one) for one in (before, after) if isinstance(one, str | os.PathLike)]
    if len(paths) < len(each):
        return versions(each, relation, limits)
    return load(*paths, domain=domain, related=relation, limits=limits)


def relation_between(
    first: EncodedRelease, second: EncodedRelease, names: tuple[str, str], removed: int | None, added: int | None
) -> RelatedDataSets:
    """Return how two versions are related; `ReleaseError` where the numbers of rows leave that open."""
    for given, word in ((removed, "left"), (added, "came")):
        if given is not None and given < 0:
            raise ReleaseError(f"{given} rows cannot have {word}")
    n, m = first.rows, second.rows
    note = False
    if removed is None and added is None:
        if not (known := n.exact and m.exact) or n.low == m.low:
            what = f"both are of {n.low:,} rows" if known else "a number of rows is not published"
            raise ReleaseError(f"{what}: say how many rows left (--removed) and came (--added)")
        removed, added, note = max(0, n.low - m.low), max(0, m.low - n.low), True
    removed, added = with_the_other(n, m, names, removed, added)
    left, came = (None if k is None else RowCount(k, k) for k in (removed, added))
    return RelatedDataSets(
        (DataSet(names[0]), DataSet(names[1], origin=names[0], removed=left, added=came)), stated=True, fewest=note
    )


def with_the_other(
    n: RowCount, m: RowCount, names: tuple[str, str], removed: int | None, added: int | None
) -> tuple[int | None, int | None]:
    """Return how many rows left and came between n and m rows, where one of both is said; `ReleaseError` below 0."""
    if n.exact and m.exact:
        if removed is None and added is not None:
            removed = n.low - m.low + added
        elif added is None and removed is not None:
            added = m.low - n.low + removed
    for number, word in ((removed, "left"), (added, "came")):
        if number is not None and number < 0:
            other = f"{many(removed or 0, 'row')} left" if word == "came" else f"{many(added or 0, 'row')} came"
            raise ReleaseError(
                f"{names[0]} has {n.low:,} rows and {names[1]} {m.low:,}: that does not fit that {other} "
                "(--removed, --added)"
            )
    return removed, added


def earlier_release(release: EncodedRelease, later: str) -> EncodedRelease:
    """Return the release without the models of a later data set: what the others say when the relation is known."""
    return reassembled(release, models=tuple(model for model in release.models if model.dataset != later))


@dataclass(frozen=True, eq=False)
class _TypedCells:
    """The live cells of a release with at least and at most how many rows, each with its boxes."""

    figures: SystemFigures
    minimum: Any
    maximum: Any
    exact: bool

    @classmethod
    def of(cls, release: EncodedRelease, limits: Limits) -> _TypedCells:
        statements = release.statements
        figures = SystemFigures.of(statements, limits)
        found = ask(statements, PerCell(), PerCellAnswer, limits)
        known = found.status == "exact" or bool((found.minimum == found.maximum).all())
        return cls(figures, found.minimum, found.maximum, known)

    def held(self) -> list[int]:
        """Return the cells that some world has a row in."""
        return np.flatnonzero(self.maximum).tolist()

    def boxes(self, cells: Sequence[int]) -> list[list[Box]]:
        """Return all boxes of some cells."""
        return [shown for shown, _ in self.figures.boxes(cells, 1 << 30)]


def _types(release: EncodedRelease, of: str) -> tuple[TypedRows, int]:
    """Return the types of a release's rows, and those that are meant, as bits."""
    typed = release.typed
    assert typed is not None
    mask, name = typed.related.everybody, release.domain.attributes[typed.attribute].name
    for column, inside in of_rows(release, of).items():
        here = next(typed.related.within(n) for n in typed.related.number if column_of(name, n) == column)
        mask &= here if inside else ~here
    return typed, mask


def _group(
    release: EncodedRelease, cells: _TypedCells, word: str, of: str, limits: Limits, certificates: bool
) -> RowsOfType:
    """Return what is known of the rows of some types."""
    space, (typed, mask) = release.statements.domain, _types(release, of)
    number, held, several = typed.between(mask), cells.held(), max(1, mask.bit_count())
    certain, boxes, sizes, sure = 0, list[Box](), list[int](), list[int]()
    for c, pieces in zip(held, cells.boxes(held), strict=True):
        inside = [both for box in pieces if not (both := box & Box(((typed.attribute, mask),))).empty]
        size = sum(box.size(space) for box in inside)
        boxes += [] if of.startswith(STAYED) else inside
        sizes += [size] if size else []
        if size and size == cells.figures.sizes[c] and cells.minimum[c]:
            sure.append(size)
            certain += int(cells.minimum[c]) if size == 1 else 0
    possible: int | None = sum(sizes)
    exact = cells.exact and several == 1
    if release.domain.continuous:
        certain, possible, listed = 0, None, False
    else:
        listed = sum(sizes) <= LISTED
    rows, attributes = _row_verdicts(release, boxes, of, listed, limits, certificates)
    if several > 1 and listed and len(rows):  # alike rows of several types are one profile
        certain, possible, exact = int(rows["min_count"].sum()), len(rows), cells.exact
    most = [*sure, *([possible] if number.low and possible is not None else [])]
    alone = number == RowCount(1, 1) and exact and bool(possible)  # who left can be each of them
    least = possible if alone and possible is not None else max(1, min(sizes, default=0) // several)
    fewest = (1, None) if possible is None else (least, max(least, min(most)) if most else None)
    return RowsOfType(word, number, certain, possible, rows, attributes, exact, fewest)


def _row_verdicts(
    release: EncodedRelease, boxes: Sequence[Box], of: str, listed: bool, limits: Limits, certificates: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows in some boxes with their verdicts, if they are few, and what is known of every attribute."""
    if of.startswith(STAYED) or not boxes:
        return pd.DataFrame(), pd.DataFrame()
    if not listed:
        return pd.DataFrame(), _attributes(release, of, limits)
    rows = _row_frame(release, boxes)
    found = certify(release, rows, "multiset", limits, certificates, of=of)
    order = ["min_count", "probability"]
    out = pd.concat([rows, found.drop(columns="profile")], axis=1).sort_values(order, ascending=False, kind="stable")
    out.attrs.update(found.attrs)
    return out.reset_index(drop=True), _attributes(release, of, limits)


def _row_frame(release: EncodedRelease, boxes: Sequence[Box]) -> pd.DataFrame:
    """Return the rows in some boxes, a column per attribute but the type."""
    cuts, every = release.cut.cuts, list[tuple[int, ...]]()
    starts = [[0, *accumulate(c.sizes)] for c in cuts]
    for box in boxes:
        masks = dict(box.literals)
        sides = []
        for k, edges in enumerate(starts):
            parts = (p for p in range(len(edges) - 1) if masks.get(k, -1) >> p & 1)
            sides.append([i for p in parts for i in range(edges[p], edges[p + 1])])
        every += product(*sides)
    values: Any = np.array(every, dtype=object if any(e[-1] >> 62 for e in starts) else np.int64)
    world = RowWorld(values.reshape(len(every), len(cuts)), np.ones(len(every), dtype=np.int64))
    frame = wrap(release, world).to_frame()
    return frame.drop(columns=release.domain.attributes[-1].name).drop_duplicates(ignore_index=True)


def _attributes(release: EncodedRelease, of: str, limits: Limits) -> pd.DataFrame:
    """Return a line per attribute and part of its values that some of these rows can have, with least and most rows."""
    typed, mask = _types(release, of)
    space, sizes, lines = release.statements.domain, list[tuple[tuple[int, ...], ...]](), list[tuple[int, int]]()
    for k, attribute in enumerate(space.attributes):
        full = attribute.sizes
        if k == typed.attribute:
            sizes.append((full, tuple(z if mask >> p & 1 else 0 for p, z in enumerate(full))))
            continue
        alone = (tuple(z if p == q else 0 for q, z in enumerate(full)) for p in range(len(full)))
        sizes.append((full, *alone))
        lines += [(k, p) for p in range(len(full))]
    codes = np.zeros((len(lines), len(space.attributes)), dtype=np.int32)
    codes[:, typed.attribute] = 1
    for i, (k, p) in enumerate(lines):
        codes[i, k] = p + 1
    found = decide(release, Selections(codes, tuple(sizes)), "multiset", limits)
    out = []
    for (k, p), low, high in zip(lines, found.low.tolist(), found.high.tolist(), strict=True):
        if high:
            single = space.attributes[k].sizes[p] == 1 and not isinstance(release.domain.all[k], Continuous)
            words = condition_text(release.cut, Box(((k, 1 << p),))) if len(space.attributes[k].sizes) > 1 else "any"
            out.append((space.attributes[k].name, words, low, high, single))
    return pd.DataFrame(out, columns=["attribute", "values", "min_count", "max_count", "single"])


def _one_row(release: EncodedRelease, limits: Limits) -> tuple[float, float] | None:
    """Return how many bits more are open where one row of a partition is set apart, and the bits of that row.

    A cell of s raw rows with n rows has M(s, n) = C(s + n - 1, n) multisets, and M(s, n - 1) s where one of them is set
    apart: s n / (s + n - 1) times as many. None of what is not a partition of exact counts.
    """
    statements = release.statements
    if no_closed_form(statements) is not None or statements.unstated:
        return None
    found = PartitionFigures.of(statements, limits)
    cells = [found.cell(c) for c in range(len(found.sizes))]
    if any(cell.size is None or cell.minimum != cell.maximum for cell in cells):
        return None
    held = [(cell.size, cell.minimum) for cell in cells if cell.size and cell.minimum]
    weights = [size * n / (size + n - 1) for size, n in held]
    whole = math.fsum(weights)
    shares = ((size, weight / whole) for (size, _), weight in zip(held, weights, strict=True))
    return math.log2(whole), math.fsum(-share * math.log2(share / size) for size, share in shares)


def _entropy(shares: Iterable[float]) -> float:
    """Return the entropy of shares that add up to 1, or what some of them are of it, in bits."""
    some = [float(x) for x in shares if x > 0]
    return max(0.0, -math.fsum(x * math.log2(x) for x in some))
