"""Random linear figures of a release file that given rows meet: coefficients, products, unions of conditions."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import oracle

NUMBERS = (2, -1, -3, "1/3", "-2/7", 0.5, "37/100", "-1.25", 0, "123456789/1000000", 1e-3)


def plain(value: Any) -> Any:
    """Return a value as it stands in a file."""
    return float(value) if isinstance(value, Fraction) else value


def condition(rng: random.Random, space: oracle._Space) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, values in space.values.items():
        if rng.random() < 0.35:
            one = rng.random() < 0.6
            chosen = [plain(v) for v in (rng.sample(values, 1 if one else rng.randint(1, len(values))))]
            out[name] = chosen[0] if one else {"in": chosen}
    return out


def _term(rng: random.Random, space: oracle._Space, numeric: list[str]) -> dict[str, Any]:
    term: dict[str, Any] = {}
    kind = rng.random()
    if kind < 0.5:
        term["where"] = condition(rng, space)
    elif kind < 0.75:
        term["any"] = [condition(rng, space) for _ in range(rng.randint(1, 3))]
    kind = rng.random() if numeric else 1
    if kind < 0.35:
        term["of"] = rng.choice(numeric)
    elif kind < 0.65:
        term["of"] = [rng.choice(numeric) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.7:
        term["times"] = rng.choice(NUMBERS)
    return term


def linear_figure(rng: random.Random, space: oracle._Space, truth: list[Any], wrong: bool = False) -> dict[str, Any]:
    """Draw a linear statement that the rows meet; where `wrong`, one that they surely do not."""
    numeric = [name for name, values in space.values.items() if all(map(oracle._is_number, values))]
    said: dict[str, Any] = {"linear": [_term(rng, space, numeric) for _ in range(rng.randint(1, 3))]}
    weights = oracle.linear_weights(space, said)
    total = sum((weights[space.number[row]] for row in truth), Fraction(0))
    kind, off = rng.random(), Fraction(rng.randint(0, 4), 4)
    if wrong:
        return said | {"value": str(total + Fraction(1, 3))}
    if kind < 0.4:
        return said | {"value": str(total)}
    if kind < 0.55:
        return said | {"value": str(total + off / 4), "within": rng.choice(["1/1", 1.25, 1])}
    if kind < 0.7:
        return said | {"at_least": str(total - off), "at_most": str(total + 1)}
    return said | ({"at_least": str(total - off)} if kind < 0.85 else {"at_most": str(total + off)})
