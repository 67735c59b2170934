"""The same question answered for nobody, for an adversary, and the difference, as users read it.

The columns (keys) of the answer for nobody keep their names; those for the adversary end in `_adversary`, and of
numbers the difference, adversary less nobody, stands in `_difference`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

ADVERSARY, DIFFERENCE = "_adversary", "_difference"
VERDICTS = ("verdict", "min_count", "max_count", "probability", "expected_count", "certificate")
SHARES = ("probability", "lower", "upper", "certain", "min_count", "max_count", "leave_one_out")
COUNTED = (
    "status", "worlds", "log2_worlds", "log2_lower", "log2_upper", "datasets", "uninformed_bits", "entropy_bits",
    "bits_removed_per_row", "dist_g", "determined_rows", "smallest_region", "conflict", "certificate",
)  # fmt: skip
BOUNDED = ("min", "max", "expectation", "status", "engine")


def compared_frame(nobody: pd.DataFrame, adversary: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the answer for nobody with the adversary's columns and the differences behind it, line by line."""
    out = nobody.copy()
    out.attrs.update(nobody.attrs)
    for name in names:
        if name not in adversary:
            continue
        theirs = adversary[name].reset_index(drop=True)
        out[name + ADVERSARY] = theirs
        if name in nobody and pd.api.types.is_numeric_dtype(theirs.dtype) and theirs.dtype != bool:
            out[name + DIFFERENCE] = theirs - nobody[name].reset_index(drop=True)
    for extra in ("person_probability",):  # what only an adversary with a list of people can be told
        if extra in adversary:
            out[extra + ADVERSARY] = adversary[extra].reset_index(drop=True)
    notes = [*nobody.attrs.get("notes", ()), *(f"adversary: {n}" for n in adversary.attrs.get("notes", ()))]
    out.attrs["notes"] = list(dict.fromkeys(notes))
    out.attrs["assumptions_adversary"] = list(adversary.attrs.get("assumptions", ()))
    return out


def compared_object(nobody: Mapping[str, Any], adversary: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the answer for nobody with the adversary's keys and the differences behind it."""
    out = dict(nobody)
    for name in names:
        if name not in adversary and name not in nobody:
            continue
        theirs: Any = adversary.get(name)
        ours: Any = nobody.get(name)
        out[name + ADVERSARY] = theirs
        if _is_number(theirs) and _is_number(ours):
            out[name + DIFFERENCE] = theirs - ours
    out["assumptions" + ADVERSARY] = list(adversary.get("assumptions", ()))
    return out


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def split_answers(data: Any) -> tuple[Any, Any]:
    """Return a result as two: the answers for nobody, and those for the adversary under the same keys.

    The second is None where the result has none. Keys that both share (which profile, its values) stand in both.
    """
    if isinstance(data, list):
        pairs = [split_answers(one) for one in data]
        return [a for a, _ in pairs], [b for _, b in pairs] if any(b is not None for _, b in pairs) else None
    if not isinstance(data, dict) or "recon_certificate" in data:
        return data, None
    theirs = {key.removesuffix(ADVERSARY): value for key, value in data.items() if key.endswith(ADVERSARY)}
    nobody = {k: v for k, v in data.items() if not k.endswith((ADVERSARY, DIFFERENCE))}
    if theirs:
        return nobody, {key: data[key] for key in ("profile", "profile_values", "confidence") if key in data} | theirs
    parts = {key: split_answers(value) for key, value in nobody.items()}
    found = {key: b for key, (_, b) in parts.items() if b is not None}
    return {key: a for key, (a, _) in parts.items()}, found or None
