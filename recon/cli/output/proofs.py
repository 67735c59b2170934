"""Certificates and estimates as commands print them."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from encoders.encode.encoder import EncodedRelease
    from solvers.foundation.limits import Limits
    from solvers.questions.answers import CountAnswer


def stored_certificates(found: list[Any], folder: str | None, out: str | None, kind: str = "certificate") -> list[Any]:
    """Return certificates, equal steps once; or, with a folder, what names the files into which they were written.

    Files are named as seen from the folder of the result, `out`.
    """
    from recon.certificates.certificate_format import sharing_steps
    from recon.certificates.issuing import stored

    if folder is None:
        return sharing_steps(found)
    return [
        None if c is None else stored(c, folder, f"{kind}-{i:05}-{c['seal'][:8]}", os.path.dirname(out or ""))
        for i, c in enumerate(found)
    ]


def estimates_json(
    release: EncodedRelease, names: list[str], digits: int, limits: Limits, proved: CountAnswer
) -> list[dict[str, Any]]:
    """Return what outside model counters say about the number of `ordered` worlds; nobody proved their figures.

    A count that should be exact and lies outside `proved` bounds of the same convention is not shown.
    """
    from recon.report.wording.headline import LOG2_10
    from solvers.engines.chain import estimates
    from solvers.foundation.exact import decimal
    from solvers.questions.answers import HASHED

    out = []
    for found in estimates(release.statements, "ordered", limits, names):
        value, note = found.value, found.note
        log2 = math.log2(value) if value else None
        low, high = proved.bounds
        if log2 is not None and proved.convention == "ordered" and found.guarantee == HASHED:
            near = 1e-9 * (1.0 + abs(log2))
            if not low - near <= log2 <= high + near:
                value, note = None, f"counted 2^{log2:.6f}, outside the proved bounds 2^{low:.6f} to 2^{high:.6f}"
        short = value is not None and value.bit_length() / LOG2_10 <= digits
        stated: dict[str, Any] = {
            "engine": found.engine,
            "worlds": decimal(value) if short and value is not None else None,
        }
        stated |= {
            "log2_worlds": None if value is None else log2,
            "guarantee": found.guarantee,
            "convention": "ordered",
        }
        out.append(stated | {"seconds": round(found.seconds, 6), "note": note})
    return out


def estimate_lines(estimates: list[dict[str, Any]]) -> list[str]:
    """Return what model counters say, one line each."""
    out = []
    for stated in estimates:
        figure = stated["worlds"] or (f"2^{stated['log2_worlds']:,.2f}" if stated["log2_worlds"] is not None else None)
        text = f"counts {figure} ordered worlds, {stated['guarantee']}, not proved"
        out.append(f"{stated['engine']} {text if figure is not None else 'says nothing: ' + stated['note']}")
    return out
