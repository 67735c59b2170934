"""Files of itemsets and rules as the libraries write them, mined by plain set counting that shares no code with recon.

The forms are those of mlxtend 0.25 (`to_csv`, `to_json`), arules 1.7 (`write`), Spark 4 (JSON lines) and SPMF 2.6.
"""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd


def frequent(frame: pd.DataFrame, least: int, longest: int | None = None) -> dict[frozenset[str], int]:
    """Return the count of every set of columns that at least so many rows have, by length."""
    bits = {name: frame[name].to_numpy(dtype=bool) for name in frame.columns}
    level = {frozenset([n]): b for n, b in bits.items() if b.sum() >= least}
    out: dict[frozenset[str], int] = {}
    while level and (longest is None or len(next(iter(level))) <= longest):
        out |= {items: int(b.sum()) for items, b in level.items()}
        grown = {a | b for a, b in combinations(level, 2) if len(a | b) == len(a) + 1}
        level = {
            items: found
            for items in sorted(grown, key=sorted)
            if all(items - {i} in level for i in items)
            and (found := np.logical_and.reduce([bits[i] for i in items])).sum() >= least
        }
    return out


def frozen(items: frozenset[str]) -> str:
    """Return a set as Python writes it."""
    return "frozenset({" + ", ".join(map(repr, sorted(items))) + "})"


def mlxtend_csv(sets: dict[frozenset[str], int], rows: int, index: bool = True) -> str:
    """Return what `apriori(...).to_csv()` writes."""
    lines = pd.DataFrame({"support": [n / rows for n in sets.values()], "itemsets": [frozen(s) for s in sets]})
    return lines.to_csv(index=index)


def arules(sets: dict[frozenset[str], int], rows: int) -> str:
    """Return what `write(itemsets, "file")` of arules writes: blanks between, no name for the names of the rows."""
    lines = ['"items" "support" "count"']
    for i, (items, n) in enumerate(sets.items(), 1):
        lines.append(f'"{i}" "{{{",".join(sorted(items))}}}" {n / rows:.15g} {n}')
    return "\n".join(lines) + "\n"


def spark(sets: dict[frozenset[str], int], rows: int) -> str:
    """Return the JSON lines of `freqItemsets` of Spark's FPGrowthModel, in any order."""
    return "\n".join(json.dumps({"items": sorted(s), "freq": n}) for s, n in reversed(sets.items())) + "\n"


def spmf(sets: dict[frozenset[str], int], rows: int) -> str:
    """Return SPMF's text."""
    return "".join(f"{' '.join(sorted(s))} #SUP: {n}\n" for s, n in sets.items())


def rules(sets: dict[frozenset[str], int], rows: int, confidence: float = 0.5) -> pd.DataFrame:
    """Return mlxtend's table of rules."""
    out = []
    for items, n in sets.items():
        for size in range(1, len(items)):
            for left in map(frozenset, combinations(sorted(items), size)):
                right = items - left
                s, a, c = n / rows, sets[left] / rows, sets[right] / rows
                if s / a < confidence:
                    continue
                conviction = float("inf") if s == a else (1 - c) / (1 - s / a)
                out.append((frozen(left), frozen(right), a, c, s, s / a, s / a / c, 1.0, s - a * c, conviction))
    names = ["antecedents", "consequents", "antecedent support", "consequent support", "support", "confidence", "lift"]
    return pd.DataFrame(out, columns=[*names, "representativity", "leverage", "conviction"])
