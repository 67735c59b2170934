"""How far two data sets that agree with the tables can lie apart, smallest area by smallest area: the width.

The width of an area with n people is 100 · max L1(H, H') / (2 n) over pairs of data sets, over the cells that the
tables of smallest areas tell apart: 0 is "the only one". It depends on the tables alone. `alone`: by the area's own
tables; `coupled`: with all tables of its top area. Lower bounds are two data sets, upper bounds whole multipliers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recon.queries.tables.tables import Tables
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.pieces import completed_with
from solvers.tables.solving import Designs, solved
from solvers.tables.widths import area_widths

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("top", "area", "people", "alone_low", "alone_high", "coupled_low", "coupled_high", "by_multipliers")
SHARES = (10, 25, 50, 60, 75, 80, 85, 90, 95, 100)  # percentiles
SIZES = (1, 10, 50, 100, 250, 500, 1000)


@dataclass(frozen=True)
class Variability:
    """Widths of all smallest areas with people: `lines` as `COLUMNS`; widths are in percent, None where n is open."""

    lines: tuple[tuple[Any, ...], ...]
    not_solved: tuple[str, ...]
    assumptions: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one line per smallest area."""
        import pandas as pd

        return pd.DataFrame(list(self.lines), columns=list(COLUMNS))

    @property
    def status(self) -> str:
        """Return "exact" where every coupled width is, "unknown" where areas were left out, else "bounds"."""
        if self.not_solved:
            return "unknown"
        return "exact" if all(line[5] is not None and line[5] == line[6] for line in self.lines) else "bounds"

    def summary(self) -> dict[str, Any]:
        """Return areas, people, how many widths are 0 and exact, by size, and percentiles over areas and people."""
        people = np.array([line[2] for line in self.lines], np.int64)
        out: dict[str, Any] = {"areas": len(people), "people": int(people.sum()), "not_solved": len(self.not_solved)}
        for name, k in (("alone", 3), ("coupled", 5)):
            low, high = (np.array([np.nan if x[i] is None else x[i] for x in self.lines], float) for i in (k, k + 1))
            part: dict[str, Any] = {"exact": int((low == high).sum()), "zero": int((high == 0).sum()),
                    "people_zero": int(people[high == 0].sum()), "not_zero": int((low > 0).sum())}  # fmt: skip
            part["by_size"] = [_size(i, people, high) for i in range(len(SIZES))]
            part["percentiles_of_areas"] = _percentiles(high, np.ones(len(people)))
            part["percentiles_of_people"] = _percentiles(high, people)
            out[name] = part
        return out


def _size(i: int, people: NDArray[np.int64], high: NDArray[np.float64]) -> dict[str, Any]:
    below = SIZES[i + 1] if i + 1 < len(SIZES) else None
    mine = (people >= SIZES[i]) & (people < (below or np.inf))
    return {
        "people_least": SIZES[i],
        "people_below": below,
        "areas": int(mine.sum()),
        "zero": int((high[mine] == 0).sum()),
    }


def _percentiles(high: NDArray[np.float64], weight: NDArray[Any]) -> dict[str, float | None]:
    """Return upper bounds of the percentiles: of what is proved at most; an open width counts as 100."""
    if not len(high):
        return {str(s): None for s in SHARES}
    values = np.where(np.isnan(high), 100.0, high)
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) / weight.sum()
    return {str(s): round(float(values[order][np.searchsorted(reached, s / 100 - 1e-12)]), 4) for s in SHARES}


def variability(
    tables: Tables, *, without: Sequence[str] = (), coupled: bool = True, store: str | None = None,
    limits: Limits | None = None,
) -> Variability:  # fmt: skip
    """Return the widths of all smallest areas that have people.

    `without`: tables left out. `coupled` False: the areas' own tables alone. `store`: a file to which every top area is
    written once it is done, and from which a run that was stopped goes on. Processes as `limits.workers` says.
    Raises `ContradictionError` where nothing fits, `ReleaseError` for a store of other tables. Cost: a linear and an
    integer program per open area, 10 to 20 ms each; a search with all tables ends after seconds with bounds.

    >>> import pandas as pd
    >>> import recon
    >>> lines = [("all", "", ""), ("man", "M", ""), ("woman", "F", ""), ("young", "", "0-64"), ("old", "", "65+")]
    >>> cells = pd.DataFrame(lines, columns=["cell", "sex", "age"])
    >>> values = pd.DataFrame({"area": "here", "cell": [x[0] for x in lines], "value": [4, 2, 2, 2, 2]})
    >>> recon.variability(recon.Tables(values, cells)).to_frame().coupled_high.tolist()
    [100.0]
    """
    limits = limits or Limits()
    chosen = tables.without(without)
    done: dict[int, list[list[Any]]] = {}
    head = {"recon_variability": 1, "release": list(tables.hashes), "without": sorted(without), "coupled": coupled,
            "areas": len(tables.top_names)}  # fmt: skip
    if store is not None:
        done = _stored(store, head)
    todo = [k for k in range(len(chosen.top_names)) if k not in done]
    for i, lines in completed_with(chosen, _one, [(k, coupled) for k in todo], limits, what="areas", alone=1.5):
        done[todo[i]] = lines
        if store is not None:
            _append(store, {"top": todo[i], "lines": lines})
    every = tuple(tuple(line) for k in sorted(done) for line in done[k])
    left = tuple(name for k, name in enumerate(chosen.top_names) if k not in done)
    return Variability(every, left, chosen.assumptions)


def _one(tables: Tables, piece: tuple[int, bool], limits: Limits) -> list[list[Any]]:
    k, coupled = piece
    if "designs" not in tables.derived:
        tables.derived["designs"] = Designs(tables.system)
    one = solved(tables.derived["designs"], tables.top(k))
    names = one.live.top.names
    out = []
    for w in area_widths(one, coupled):
        n = w.people
        ends = [None if n is None else round(100 * d / (2 * n), 6) for d in (*w.alone, *w.coupled)]
        out.append([names[0], names[w.leaf], w.least if n is None else n, *ends, w.by_multipliers])
    return out


def _stored(path: str, head: dict[str, Any]) -> dict[int, list[list[Any]]]:
    """Return what a store holds; a last line that was not written to its end is cut off."""
    if not os.path.exists(path):
        _append(path, head)
        return {}
    from recon.io.files.opening import read_whole

    data = read_whole(path)
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    other = ReleaseError("is no store of widths: give another file", file=path)
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
        done = {int(line["top"]): line["lines"] for line in lines[1:]}
    except (ValueError, KeyError, TypeError):
        raise other from None
    if not lines:
        _append(path, head)
    elif lines[0] != head:
        raise ReleaseError("it stores the widths of other tables or options: give another file", file=path)
    return done


def _append(path: str, line: dict[str, Any]) -> None:
    from recon.io.files.writing import appended

    appended(path, json.dumps(line) + "\n")


def lines_of(found: Variability, title: str) -> Iterator[str]:
    """Yield what is printed for people."""
    told = found.summary()
    yield f"{title}: {told['areas']:,} smallest areas with people, {told['people']:,} people"
    for name in ("alone", "coupled"):
        part, n = told[name], max(1, told["areas"])
        zero = f"{part['zero']:,} areas ({100 * part['zero'] / n:.1f} %) with {part['people_zero']:,} people"
        yield f"  {name}: width 0 (the only data set) in {zero}; exact in {part['exact']:,}"
        ends = ("+" if s["people_below"] is None else f"-{s['people_below'] - 1:,}" for s in part["by_size"])
        sizes = [(s, f"{s['people_least']:,}{end}") for s, end in zip(part["by_size"], ends, strict=True) if s["areas"]]
        shares = (f"{t} {100 * s['zero'] / s['areas']:.1f} %" for s, t in sizes)
        yield f"    width 0 by people: {', '.join(shares)}"
        yield "    at most, percentiles of areas: " + ", ".join(
            f"{k}th {v:.1f} %" for k, v in part["percentiles_of_areas"].items() if v is not None
        )
    if found.not_solved:
        yield f"  NOT SOLVED, the time was up: {len(found.not_solved):,} areas, from '{found.not_solved[0]}' on"
