"""Profiles that no row of the domain can be: they get a line that says why, and the others their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.readers.frames.selections import Odd, doubt, odd_cells, odd_lines
from solvers.foundation.displayed import escape_text


def answered(
    release: EncodedRelease, frame: pd.DataFrame, answer: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    """Return the answers on all profiles, one or several lines each, with a column `reason`.

    `answer` is asked about the profiles inside the domain only. The others have a line with the verdict `outside`
    (where there are verdicts), no figures, and in `reason` what is wrong; `reason` is None for all others.
    `attrs["notes"]` lists the odd cells. Raises `ReleaseError` for unknown columns.
    """
    odd = odd_cells(release, frame)
    rows = sorted({one.row for one in odd})
    kept = np.setdiff1d(np.arange(len(frame)), rows)
    inside = frame
    if rows:
        inside = frame.iloc[kept]
        inside.attrs.update(frame.attrs)
    found = answer(inside)
    found["reason"] = pd.Series([None] * len(found), index=found.index, dtype=object)
    if not rows:
        return found
    place = dict(enumerate(kept.tolist()))
    found["profile"] = [place[i] for i in found["profile"].tolist()]
    out = _joined_frames(found, _blank(found, rows, odd, doubt(release.domain)))
    out.attrs.update(found.attrs)
    file = frame.attrs.get("file", "") or "the profiles"
    head = f"{len(rows):,} of {len(frame):,} profiles lie outside the domain ({file}):"
    out.attrs["notes"] = [*found.attrs.get("notes", ()), head, *(f"  {line}" for line in odd_lines(odd))]
    out.attrs["outside"] = len(rows)
    return out


def _blank(found: pd.DataFrame, rows: Sequence[int], odd: Sequence[Odd], doubtful: str) -> pd.DataFrame:
    """Return the lines of profiles outside the domain, in the columns of the answers."""
    why: dict[int, list[str]] = {}
    for one in odd:
        why.setdefault(one.row, []).append(escape_text(f"{one.column}: {one.why}" if one.column else one.why))
    lines: list[dict[str, Any]] = [{"profile": row, "reason": "; ".join(why[row]) + doubtful} for row in rows]
    out = pd.DataFrame(lines)
    if "verdict" in found:
        out["verdict"] = "outside"
    return out


def _joined_frames(found: pd.DataFrame, outside: pd.DataFrame) -> pd.DataFrame:
    """Return both in the order of the profiles; empty figures are missing ones, whole numbers stay whole."""
    columns, both = list(found.columns), [*found.to_dict("records"), *outside.to_dict("records")]
    both.sort(key=lambda line: line["profile"])
    out: dict[str, pd.Series[Any]] = {}
    for name in columns:
        cells = [line.get(name) for line in both]
        kind: Any = found[name].dtype if name != "profile" else np.dtype(np.int64)  # of no answers it is no integer
        if pd.api.types.is_bool_dtype(kind):
            kind = "boolean"
        elif pd.api.types.is_integer_dtype(kind) and name != "profile":
            kind = "Int64"
        out[name] = pd.Series(cells, dtype=kind)
    return pd.DataFrame(out)
