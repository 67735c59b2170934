"""How far two data sets that agree with the tables can lie apart, smallest area by smallest area: the width.

The width of an area with n people is 100 · max L1(H, H') / (2 n) over pairs of data sets, over the cells that the
tables of smallest areas tell apart: 0 is "the only one". It depends on the tables alone. `alone`: by the area's own
tables; `coupled`: with all tables of its top area. Lower bounds are two data sets, upper bounds whole multipliers.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, log2
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from recon.queries.tables.kept import MAX_LINES, AreaLines, AreaResults
from recon.queries.tables.proofs import Checker
from recon.queries.tables.schemas import People, counts_of, histogram_cells, inside_one, labels, people_in, told_apart
from recon.queries.tables.tables import NO_NOISE, Tables
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.pieces import completed_with
from solvers.statements.noise.laws import LawName, NoiseLaw, per_statement
from solvers.statements.noise.sampling import Randomness
from solvers.tables.atoms import Ints, Top
from solvers.tables.solving import Designs, solve_area, solve_area_within
from solvers.tables.widths import Widths

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("top", "area", "people", "alone_low", "alone_high", "coupled_low", "coupled_high", "by_multipliers")
RADII = ("radius_alone_low", "radius_alone_high", "radius_low", "radius_high")
RELAXED = ("relaxed_low", "relaxed_high")
COUNTED = ("certain", "log2_data_sets_low", "log2_data_sets_high")
SHARES = (10, 25, 50, 60, 75, 80, 85, 90, 95, 100)  # percentiles
SIZES = (1, 10, 50, 100, 250, 500, 1000)
FOUND = "found"  # in place of people: the data set that the solver finds


@dataclass(frozen=True)
class Variability:
    """Distances in all smallest areas with people: `lines` as `columns`; in percent, None where n is open.

    `proofs`: certificates of widths (`recon verify`), where they were asked for.
    """

    lines: Sequence[tuple[Any, ...]]
    not_solved: tuple[str, ...]
    assumptions: tuple[str, ...]
    columns: tuple[str, ...] = COLUMNS
    schema: tuple[str, ...] | None = None
    proofs: tuple[dict[str, Any], ...] = ()
    coupled: bool = True  # else all tables were not asked: their figures are those of the areas' own

    def to_frame(self) -> pd.DataFrame:
        """Return one line per smallest area."""
        import pandas as pd

        return pd.DataFrame(list(self.lines), columns=list(self.columns))

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the same in frames of at most `MAX_LINES` lines: one at least."""
        import pandas as pd

        lines, some = iter(self.lines), True
        while some:
            piece = list(itertools.islice(lines, MAX_LINES))
            yield pd.DataFrame(piece, columns=list(self.columns))
            some = len(piece) == MAX_LINES

    def records(self) -> list[dict[str, Any]]:
        """Return the same for JSON, by the names of the columns."""
        return [dict(zip(self.columns, line, strict=True)) for line in self.lines]

    @property
    def status(self) -> str:
        """Return "exact" where every coupled width is, "unknown" where areas were left out, else "bounds"."""
        if self.not_solved:
            return "unknown"
        return "exact" if all(line[5] is not None and line[5] == line[6] for line in self.lines) else "bounds"

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return what the lines bound: alone and coupled (widths), radii and the relaxed radius where asked for."""
        return tuple(name[:-5] for name in self.columns if name.endswith("_high") and name not in COUNTED)

    def summary(self) -> dict[str, Any]:
        """Return areas, people, how many widths are 0 and exact, by size, and percentiles over areas and people."""
        people = areas = sure = exact = 0
        kinds = {name: _KindOfDistance(self.columns.index(f"{name}_low")) for name in self.kinds}
        certain = self.columns.index("certain") if "certain" in self.columns else None
        lines = iter(self.lines)
        while piece := list(itertools.islice(lines, MAX_LINES)):
            n = np.array([line[2] for line in piece], np.int64)
            areas, people = areas + len(piece), people + int(n.sum())
            for one in kinds.values():
                one.add(piece, n)
            if certain is not None:
                sure += sum(line[certain] for line in piece)
                exact += sum(line[certain + 1] == line[certain + 2] for line in piece)
        out: dict[str, Any] = {"areas": areas, "people": people, "not_solved": len(self.not_solved)}
        if certain is not None:
            out |= {"people_certain": sure, "data_sets_exact": exact}
        return out | {name: one.summary() for name, one in kinds.items()}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the smallest areas, by size, in which there is one data set only."""
        from solvers.foundation.plots import standing_bars

        sizes = [s for s in self.summary()["coupled"]["by_size"] if s["areas"]]
        shares = [100 * s["zero"] / s["areas"] for s in sizes]
        title = "Areas with one data set only, by size (all tables)"
        return standing_bars([_size_text(s) for s in sizes], shares, title, "people in the area", "% of areas", ax)


def _size_text(size: dict[str, Any]) -> str:
    most = size["people_below"]
    return f"{size['people_least']:,}{'+' if most is None else f'-{most - 1:,}'}"


@dataclass
class _KindOfDistance:
    """One kind of distance over all areas, added up: `at` is the column of its lower bound."""

    at: int
    exact: int = 0
    not_zero: int = 0
    may_differ: float = 0.0
    areas: Ints = field(default_factory=lambda: np.zeros(len(SIZES), np.int64))
    zero: Ints = field(default_factory=lambda: np.zeros(len(SIZES), np.int64))
    highs: dict[float, Ints] = field(default_factory=dict)  # upper bound -> areas and people

    def add(self, lines: list[Any], people: Ints) -> None:
        """Add lines of areas with so many people."""
        low, high = (np.array([np.nan if x[i] is None else x[i] for x in lines], float) for i in (self.at, self.at + 1))
        self.exact += int((low == high).sum())
        self.not_zero += int((low > 0).sum())
        self.may_differ += float(np.nansum(people * high))
        size = np.searchsorted(SIZES, people, side="right") - 1
        self.areas += np.bincount(size[size >= 0], minlength=len(SIZES))
        self.zero += np.bincount(size[(size >= 0) & (high == 0)], minlength=len(SIZES))
        seen, of = np.unique(np.where(np.isnan(high), np.inf, high), return_inverse=True)
        told = np.stack([np.bincount(of), np.bincount(of, people).astype(np.int64)], axis=1)
        for value, both in zip(seen.tolist(), told, strict=True):
            self.highs[value] = self.highs.get(value, 0) + both

    def summary(self) -> dict[str, Any]:
        """Return how many are exact and 0, by size, and percentiles over areas and people."""
        zero = self.highs.get(0.0, (0, 0))
        ends = [*SIZES[1:], None]
        return {
            "exact": self.exact, "zero": int(zero[0]), "people_zero": int(zero[1]), "not_zero": self.not_zero,
            "people_may_differ": round(self.may_differ / 100, 2),
            "by_size": [{"people_least": least, "people_below": below, "areas": n, "zero": z} for least, below, n, z
                        in zip(SIZES, ends, self.areas.tolist(), self.zero.tolist(), strict=True)],
            "percentiles_of_areas": self._percentiles(0), "percentiles_of_people": self._percentiles(1),
        }  # fmt: skip

    def _percentiles(self, by: int) -> dict[str, float | None]:
        """Return upper bounds of the percentiles: of what is proved at most; an open width counts as 100."""
        if not self.highs:
            return {str(s): None for s in SHARES}
        values = np.array([100.0 if x == np.inf else x for x in self.highs])
        weight = np.array([both[by] for both in self.highs.values()])
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weight[order]) / weight.sum()
        return {str(s): round(float(values[order][np.searchsorted(reached, s / 100 - 1e-12)]), 4) for s in SHARES}


@dataclass(frozen=True, eq=False)
class _AreaQuestion:
    """What is asked of every top area."""

    tables: Tables
    cells: Ints | None
    schema: tuple[str, ...] | None
    without: tuple[str, ...]
    people: People | None
    around: bool
    coupled: bool
    relaxed: bool
    proofs: bool
    count: bool
    noise: TriedNoise | None


@dataclass(frozen=True)
class TriedNoise:
    """Noise of a law tried on the counts of some tables (none named: of all), drawn by a seed.

    Of every count is known in which interval it lies; those of one top area hold together with the confidence.
    """

    law: NoiseLaw
    tables: tuple[str, ...] = ()
    confidence: float = 0.95
    seed: int = 0

    @classmethod
    def parse(cls, text: str, tables: Sequence[str] = (), confidence: float = 0.95, seed: int = 0) -> TriedNoise:
        """Return the noise that a text says: LAW:SCALE, or truncated_laplace:SCALE:BOUND; else `ReleaseError`."""
        name, *numbers = text.split(":")
        try:
            scale, bound = ([Fraction(x) for x in numbers] + [None])[: max(2, len(numbers))]
            law = NoiseLaw(cast("LawName", name), cast("Fraction", scale), bound)
        except ReleaseError as error:
            raise error.at(place="noise") from None
        except (TypeError, ValueError, ZeroDivisionError):
            raise ReleaseError(
                f"'{text}' is no noise: write LAW:SCALE, e.g. discrete_gaussian:2", place="noise"
            ) from None
        return cls(law, tuple(tables), confidence, seed)

    def assumed(self, told: Sequence[str]) -> tuple[str, ...]:
        """Return what an answer with this noise assumes, from what one without it does."""
        whom = f"the tables {', '.join(self.tables)}" if self.tables else "all tables"
        rest = (x for x in told if x != NO_NOISE)
        return (*rest, f"every count of {whom} lies in the interval that is known of it (those of one top area do so "
                       f"together with probability {self.confidence:.4g}; noise beyond is drawn again)")  # fmt: skip

    def intervals(self, top: Top, noisy: Ints) -> tuple[Ints, Ints]:
        """Return between what every count of the cells `noisy` lies, -1 where none is known: as the values of `top`.

        Noise beyond the joint radius is drawn again: what is known is then true.
        """
        known = np.argwhere(top.values[:, noisy] >= 0)
        low, high = np.full_like(top.values, -1), np.full_like(top.values, -1)
        radius = self.law.radius(per_statement(1 - Fraction(str(self.confidence)), max(1, len(known))))
        draw = Randomness(self.seed << 32 | zlib.crc32(top.names[0].encode())).sampler(self.law)
        ends = np.empty((len(known), 2), np.int64)
        for i in range(len(known)):
            noise = draw()
            while abs(noise) > radius:
                noise = draw()
            ends[i] = ceil(noise - radius), floor(noise + radius)
        at = known[:, 0], noisy[known[:, 1]]
        low[at], high[at] = np.maximum(0, top.values[at] + ends[:, 0]), top.values[at] + ends[:, 1]
        return low, high


def variability(
    tables: Tables, *, schema: Sequence[str] | None = None, around: Any = None, relaxed: bool = False,
    without: Sequence[str] = (), coupled: bool = True, proofs: bool = False, count: bool = False,
    noise: TriedNoise | None = None, store: str | None = None, limits: Limits | None = None,
) -> Variability:  # fmt: skip
    """Return the widths of all smallest areas that have people.

    `schema`: attributes that histograms are over (`recon.queries.tables.schemas`; None: all that the areas' tables
    distinguish). `around`: a frame of everybody, for the radius from that data set ("found": from one that the solver
    finds). `relaxed`: beside them the relaxation of Abowd et al. `without`: tables left out; histograms stay over what
    they distinguish. `noise`: tried on tables (`TriedNoise`): the widths are in percent of the people that the tables
    have, above 100 where noise leaves their number open, too. `coupled` False: the areas' own tables alone. `proofs`:
    with certificates. `count`: of each area the people who are the same in every data set (by all tables, at least),
    and log2 of how many data sets its own tables leave, over all that they distinguish. `store`: a file to which every
    top area is written once it is done, and from which a run that was stopped goes on. Processes as `limits.workers`
    says. Raises `ContradictionError` where nothing fits, `ReleaseError` for a store of other tables, people that do not
    agree with the tables, a schema of other names, `Unsupported` where it is finer than the tables. Cost: a linear and
    an integer program per open area, 10 to 20 ms each; a search with all tables ends after so much work with bounds.

    >>> import pandas as pd
    >>> import recon
    >>> lines = [("all", "", ""), ("man", "M", ""), ("woman", "F", ""), ("young", "", "0-64"), ("old", "", "65+")]
    >>> cells = pd.DataFrame(lines, columns=["cell", "sex", "age"])
    >>> values = pd.DataFrame({"area": "here", "cell": [x[0] for x in lines], "value": [4, 2, 2, 2, 2]})
    >>> tables = recon.Tables(values, cells)
    >>> recon.variability(tables).to_frame().coupled_high.tolist()
    [100.0]
    >>> recon.variability(tables, schema=["sex"]).to_frame().coupled_high.tolist()
    [0.0]
    """
    limits = limits or Limits()
    if noise is not None and (without or relaxed or proofs or count):
        raise Unsupported("noise is tried on widths and radii of all tables: without tables left out, the relaxation, "
                          "certificates and numbers of data sets")  # fmt: skip
    noisy = () if noise is None else noise.tables or tuple(dict.fromkeys(c.table for c in tables.cells))
    chosen = tables.without_counts(without or noisy, noisy=noise is not None)
    named = None if schema is None else tuple(schema)
    cells = None if named is None else histogram_cells(chosen, named)
    center = isinstance(around, str) and around == FOUND
    people = None if around is None or center else people_in(chosen, around)
    columns = (*COLUMNS, *(RADII if around is not None else ()), *(RELAXED if relaxed else ()),
               *(COUNTED if count else ()))  # fmt: skip
    told = None if people is None else [zlib.crc32(x.tobytes()) for x in people[1:]]
    head = {"recon_variability": 2, "release": list(tables.hashes), "without": sorted(without), "coupled": coupled,
            "schema": None if named is None else [*named], "around": FOUND if center else told, "relaxed": relaxed,
            "proofs": proofs, "count": count, "areas": len(tables.top_names)}  # fmt: skip
    head |= {} if noise is None else {"noise": [str(noise.law), *noisy, str(noise.confidence), noise.seed]}
    results = AreaResults(store, head, chosen.counts.tops)
    todo = results.missing
    asked = _AreaQuestion(chosen.uncounted(), cells, named, tuple(without), people, around is not None, coupled,
                          relaxed, proofs, count, noise)  # fmt: skip
    pieces = _TopPieces(chosen, None if noise is None else tables, todo)
    for i, found in completed_with(asked, _top_area_lines, pieces, limits, what="areas", alone=1.5):
        results.add(int(todo[i]), found)
    left = tuple(chosen.top_names[k] for k in results.missing.tolist())
    proved = tuple(one for found in results for one in found["proofs"]) if proofs else ()
    assumed = chosen.assumptions if noise is None else noise.assumed(chosen.assumptions)
    return Variability(AreaLines.of(results), left, assumed, columns, named, proved, coupled)


@dataclass(frozen=True)
class _TopPieces(Sequence[tuple[Top, Top | None]]):
    """Top areas as pieces of work: what is known of each, made when it is its turn; with noise beside it the counts."""

    tables: Tables
    whole: Tables | None
    chosen: Ints

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, i: Any) -> Any:
        k = int(self.chosen[i])
        return self.tables.top(k), None if self.whole is None else self.whole.top(k)


def _top_area_lines(asked: _AreaQuestion, piece: tuple[Top, Top | None], limits: Limits) -> dict[str, Any]:
    """Return the lines of the smallest areas in a top area, and the certificates of their widths."""
    tables = asked.tables
    if "designs" not in tables.derived:
        tables.derived["designs"] = Designs(tables.system)
    designs, within, exact = tables.derived["designs"], None, None
    top, whole = piece
    if asked.noise is None or whole is None:
        one = solve_area(designs, top)
    else:
        exact = solve_area(designs, whole)
        within = solve_area_within(designs, top, *asked.noise.intervals(exact.live.top, tables.silent))
        one = within.one
    names = one.live.top.names
    label = labels(tables, one.live, asked.cells, asked.schema or ())
    people = None if asked.people is None else counts_of(tables, one.live, asked.people)
    widths = Widths(one, label, people, asked.coupled, asked.relaxed, asked.around, asked.proofs,
                    within)  # fmt: skip
    checker = Checker(tables, asked.without, asked.schema)
    if asked.proofs:
        checker.adopted(one, label)
    out, proved = [], list[dict[str, Any]]()
    for w in widths:
        n = w.people
        if exact is not None:  # noise may leave it open whether anybody is there
            least, most = (int(x[w.leaf]) for x in exact.people_of)
            n = least if least == most else None
            if not most:
                continue
        parts = (w.alone.bounds, w.coupled.bounds, *(p for p in (w.radius_alone, w.radius) if p is not None))
        ends = [None if n is None else round(100 * d / (2 * n), 6) for part in parts for d in part]
        line = [names[0], names[w.leaf], w.least if n is None else n, *ends[:4], w.coupled.by_multipliers, *ends[4:]]
        if w.relaxed is not None:
            line += [None if n is None else round(100 * d / (2 * n), 6) for d in w.relaxed]
        if asked.count:
            line += [int(one.low[one.live.leaf == w.leaf].sum()), *map(log2, widths.data_sets.get(w.leaf, (1, 1)))]
        out.append(line)
        if asked.proofs:
            kinds = [(w.alone, True), (w.coupled, False)] if asked.coupled else [(w.alone, True)]
            proved += [p for way, own in kinds if (p := checker.certificate(names[0], w, way, own)) is not None]
    return {"lines": out, "proofs": proved}


def order_of(
    tables: Tables, schema: Sequence[str] | None = None, limits: Limits | None = None
) -> Iterator[tuple[str, int, int]]:
    """Yield the tables from the one that gives away least on: its name, people certain with it and without it.

    Greedy: of those that are left the one is left out that leaves most people certain, whose cell of the histogram
    follows from counts one after the other (a bound from below on people certain). The last one stays. Ends early
    where the time is up. Cost: a quarter of a second per top area and pair of tables as those of the 2010 census.
    """
    limits, out = limits or Limits(), list[str]()
    names = list(dict.fromkeys(c.table for c in tables.cells if c.table))
    cells = told_apart(tables) if schema is None else histogram_cells(tables, schema)
    before = _certain(tables, cells)
    while len(names) > 1:
        best, kept = "", -1
        for name in names:
            if limits.late():
                return
            limits.report(f"tables: {len(out)} of {len(out) + len(names)} left out")
            after = _certain(tables.without([*out, name]), cells)
            if after > kept:
                best, kept = name, after
        yield best, before, kept
        before = kept
        out.append(best)
        names.remove(best)


def _certain(tables: Tables, cells: Ints) -> int:
    """Return how many people have a cell of the histogram that follows from the counts, at least."""
    designs, total = Designs(tables.system), 0
    for top in tables.tops():
        try:
            one = solve_area(designs, top)
        except Inconclusive:  # nothing bounds how many people there are
            continue
        total += int(one.low[inside_one(one.live, cells)].sum())
    return total


def lines_of(found: Variability, title: str, by_area: bool = False) -> Iterator[str]:
    """Yield what is printed for people."""
    told = found.summary()
    over = "all that the tables of the smallest areas distinguish" if found.schema is None else ", ".join(found.schema)
    yield f"{title}: {told['areas']:,} smallest areas with people, {told['people']:,} people; over {over}"
    if "people_certain" in told:
        yield (
            f"  people who are the same in every data set: at least {told['people_certain']:,}; "
            f"number of data sets by own tables exact in {told['data_sets_exact']:,} areas"
        )
    kinds = _kinds_shown(found)
    for name in kinds:
        part, n = told[name], max(1, told["areas"])
        zero = f"{part['zero']:,} areas ({100 * part['zero'] / n:.1f} %) with {part['people_zero']:,} people"
        yield f"  {NAMES[name]}: 0 (the only data set) in {zero}; exact in {part['exact']:,}"
        sizes = [s for s in part["by_size"] if s["areas"]]
        shares = (f"{_size_text(s)} {100 * s['zero'] / s['areas']:.1f} %" for s in sizes)
        yield f"    0 by people: {', '.join(shares)}"
        for of in ("areas", "people"):
            shown = ((k, v) for k, v in part[f"percentiles_of_{of}"].items() if v is not None)
            yield f"    at most, percentiles of {of}: " + ", ".join(f"{k}th {v:.1f} %" for k, v in shown)
    if by_area:
        yield f"  {'area':<30} {'people':>8}" + "".join(f"{name:>20}" for name in kinds)
        for line in found.lines:
            ends = [(line[i], line[i + 1]) for i in (found.columns.index(f"{name}_low") for name in kinds)]
            yield f"  {line[1]:<30} {line[2]:>8,}" + "".join(f"{_ends_text(*pair):>20}" for pair in ends)
    if found.not_solved:
        yield f"  NOT SOLVED, the time was up: {len(found.not_solved):,} areas, from '{found.not_solved[0]}' on"


def _kinds_shown(found: Variability) -> list[str]:
    return [name for name in found.kinds if found.coupled or name not in {"coupled", "radius"}]


LEFT_OUT, NOISY = ("without them", "with them"), ("with noise", "without noise")


def difference(found: Variability, less: Variability, ways: tuple[str, str] = LEFT_OUT) -> Iterator[str]:
    """Yield what tables left out, or noise on them, change, for people: areas and people with one data set only."""
    told, other = found.summary(), less.summary()
    for name in _kinds_shown(less):
        one, two, n = told[name], other[name], max(1, told["areas"])
        shares = (f"{100 * x['zero'] / n:.1f} % of the areas" for x in (two, one))
        more = f"{one['people_zero'] - two['people_zero']:,} more people are in areas with one data set only"
        yield f"  {NAMES[name]}: 0 in {next(shares)} {ways[0]}, in {next(shares)} {ways[1]}; {more}"
        may = (f"{100 * x['people_may_differ'] / max(1, told['people']):.1f} %" for x in (two, one))
        yield f"    people who may differ at most: {next(may)} {ways[0]}, {next(may)} {ways[1]}"


NAMES = {
    "alone": "width, own tables alone",
    "coupled": "width, all tables",
    "radius_alone": "radius, own tables alone",
    "radius": "radius, all tables",
    "relaxed": "radius, relaxed (Abowd et al. 4.10)",
}


def _ends_text(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "people unknown"
    return f"{high:.2f} %" if low == high else f"{low:.2f} to {high:.2f} %"
