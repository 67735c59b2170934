"""Bytes inside of objects: files inside of files.

They are opened where their kind is known (models of CatBoost, XGBoost and LightGBM, pickles, archives, compressed
ones); all others are told with their number. An inspection never says "nothing" of what it could not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from recon.readers.inspection.findings.findings import Finding
from recon.readers.inspection.objects.entries import LONGEST_NAME, explained
from recon.readers.inspection.objects.traversal import GraphPlace
from recon.readers.stored.pickled.pickles import Thing

MOST_COLUMNS = 1 << 32  # above what numbers of columns and rows are
DEEPEST = 3  # files inside files
MAX_OPENED = 1_000  # of one file; the others are told with their bytes
MIN_SHARE = 1 << 20  # bytes that one of them may unpack to
# bytes, their path, memory, depth -> findings
LookInside = Callable[[bytes, str, int, int], list[Finding]]


def is_rule_list(root: Any) -> bool:
    """Return whether an object is nothing but a rule list that CORELS saved, which its reader reads whole."""
    if not isinstance(root, dict) or not {"f", "r"} <= set(root) <= {"f", "r", "p"} or not isinstance(root["r"], list):
        return False
    known = {"antecedents", "prediction", "train_labels"}
    texts = root["f"] if isinstance(root["f"], list) else []
    held = [one for rule in root["r"] if isinstance(rule, dict) for one in rule.values()]
    numbers = [one for value in held for one in (value if isinstance(value, list) else [value])]
    return (
        all(isinstance(rule, dict) and set(rule) <= known for rule in root["r"])
        and all(isinstance(one, (bool, int)) and abs(one) < MOST_COLUMNS for one in numbers)
        and all(isinstance(t, str) and len(t) <= LONGEST_NAME for t in texts)
    )


def blob_findings(places: Sequence[GraphPlace], look_inside: LookInside, memory: int, depth: int = 0) -> list[Finding]:
    """Return what the bytes at some places hold; `look_inside` finds what bytes at a path give away.

    All of them together stay within so much memory, and so many files deep.
    """
    found: list[Finding] = []
    blobs = blobs_of(places)
    share = max(MIN_SHARE, memory // max(1, min(len(blobs), MAX_OPENED)))  # all of them together keep the budget
    for number, (path, raw) in enumerate(blobs):
        found += look_inside(raw, path, min(memory, share), depth if number < MAX_OPENED else DEEPEST)
    return found


def blobs_of(places: Sequence[GraphPlace]) -> list[tuple[str, bytes]]:
    """Return the path and content of the bytes at some places that nothing explains, each once."""
    blobs: dict[int, tuple[str, bytes]] = {}
    for place in places:
        for shown, raw in _blobs(place):
            if id(raw) not in blobs and len(raw) > explained(place):
                blobs[id(raw)] = (place.path + shown, bytes(raw))
    return list(blobs.values())


def _blobs(place: GraphPlace) -> Iterator[tuple[str, bytes | bytearray]]:
    """Yield the bytes (and the model texts of LightGBM) that a place holds, each with what follows its path."""
    value = place.value
    inner: list[tuple[str, Any]] = []
    if isinstance(value, str) and value.startswith("tree\n") and "feature_infos=" in value:
        inner = [("", value.encode())]
    elif isinstance(value, (bytes, bytearray)):
        inner = [("", value)]
    elif isinstance(value, dict):
        inner = [(f"[{k!r}]"[:60], v) for k, v in value.items()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = [(f"[{k}]", v) for k, v in enumerate(value)]
    elif isinstance(value, np.ndarray) and value.dtype == object:
        inner = [(f".flat[{k}]", v) for k, v in enumerate(value.reshape(-1).tolist())]
    elif isinstance(value, Thing) and not value.kind.startswith("numpy."):
        inner = [(f".(argument {k})", v) for k, v in enumerate((*value.args, *value.kwargs.values()))]
        inner.append((".(state)", value.state))
    yield from ((shown, v) for shown, v in inner if isinstance(v, (bytes, bytearray)))
