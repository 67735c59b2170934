"""Tables of one-way counts by county, as statistics offices publish them: every county is a component of its own."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path


def margins(path: Path, people: Sequence[int], values: Mapping[str, Sequence[str]]) -> Path:
    """Write the margins of so many random people per county, whose attributes have these values, as a release file."""
    dice, names = random.Random(5), [f"county {k}" for k in range(len(people))]
    rows = [
        (c, *map(dice.choice, values.values())) for c, number in zip(names, people, strict=True) for _ in range(number)
    ]
    statements = [
        {"where": {"county": c, name: v}, "count": sum(row[0] == c and row[k] == v for row in rows)}
        for c, (k, name) in product(names, enumerate(values, 1))
        for v in values[name]
    ]
    attributes = [{"name": name, "values": list(v)} for name, v in {"county": names, **values}.items()]
    model = {"kind": "table", "name": "margins by county", "statements": statements}
    domain = {"attributes": attributes, "source": "declared"}
    path.write_text(json.dumps({"recon": 1, "domain": domain, "rows": len(rows), "models": [model]}), encoding="utf-8")
    return path
