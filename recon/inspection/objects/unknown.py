"""What nothing understands: bytes inside of objects, and what classes hold of which no rule knows what it is.

Bytes are opened where their kind is known (models of CatBoost, XGBoost and LightGBM, pickles, archives, compressed
ones); all others are told with their number. An inspection never says "nothing" of what it could not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from recon.inspection.findings.findings import Finding, not_understood
from recon.inspection.objects.generic import LISTED
from recon.inspection.objects.traversal import Place, is_sparse
from recon.stored.objects.raw import Name
from recon.stored.objects.things import Thing

DEEPEST = 3  # files inside files
MAX_OPENED = 1_000  # of one file; the others are told with their bytes
MIN_SHARE = 1 << 20  # bytes that one of them may unpack to
SHORT = 200  # characters of a text that is a setting
NUMBER = 8  # bytes that a number of a list counts for
# Classes whose reader or rules say what is in them, and small ones of Python that hold a value each.
_READ = (*LISTED, "catboost.", "corels.", "pydl85.", "pystreed.", "dl85.", "skranger.")
_VALUES = ("datetime.", "_datetime.", "decimal.", "fractions.", "uuid.", "pathlib.", "re.", "builtins.", "copyreg.",
           "_codecs.", "operator.", "zoneinfo.", "random.", "logging.", "math.", "itertools.", "_operator.",
           "xml.dom.", "types.")  # fmt: skip
_PLAIN = (type(None), bool, int, float, complex, str, bytes, Name)

# bytes, their path, memory, depth -> findings
LookInside = Callable[[bytes, str, int, int], list[Finding]]


def is_rule_list(root: Any) -> bool:
    """Return whether an object is nothing but a rule list that CORELS saved, which its reader reads whole."""
    if not isinstance(root, dict) or not {"f", "r"} <= set(root) <= {"f", "r", "p"} or not isinstance(root["r"], list):
        return False
    known = {"antecedents", "prediction", "train_labels"}
    texts = root["f"] if isinstance(root["f"], list) else []
    return all(isinstance(r, dict) and set(r) <= known for r in root["r"]) and all(isinstance(t, str) for t in texts)


def unknown_findings(places: Sequence[Place], look_inside: LookInside, memory: int, depth: int = 0) -> list[Finding]:
    """Return what the bytes at some places hold, and what is not understood: per class, with its number of bytes.

    `look_inside` finds what bytes at a path give away, within so much memory and so many files deep.
    """
    found: list[Finding] = []
    groups: dict[str, list[tuple[Place, int]]] = {}
    blobs: dict[int, tuple[str, bytes | bytearray]] = {}
    for place in places:
        for shown, raw in _blobs(place):
            if id(raw) not in blobs:
                blobs[id(raw)] = (place.path + shown, raw)
        size = _unread(place)
        if size:
            groups.setdefault(_class(place), []).append((place, size))
    share = max(MIN_SHARE, memory // max(1, min(len(blobs), MAX_OPENED)))  # all of them together keep the budget
    for number, (path, raw) in enumerate(blobs.values()):
        found += look_inside(bytes(raw), path, min(memory, share), depth if number < MAX_OPENED else DEEPEST)
    for kind, held in groups.items():
        total = sum(size for _, size in held)
        names = ", ".join(dict.fromkeys(p.path or "(the object)" for p, _ in held[:3]))
        more = f" and {len(held) - 3:,} more" if len(held) > 3 else ""
        values = "1 value" if len(held) == 1 else f"{len(held):,} values"
        found.append(not_understood(f"{names}{more}", total, f"{values} of {kind}"))
    return found


def _blobs(place: Place) -> Iterator[tuple[str, bytes | bytearray]]:
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
    elif isinstance(value, Thing) and not value.kind.startswith(("numpy.", *_VALUES)):
        inner = [(f".(argument {k})", v) for k, v in enumerate((*value.args, *value.kwargs.values()))]
        inner.append((".(state)", value.state))
    yield from ((shown, v) for shown, v in inner if isinstance(v, (bytes, bytearray)))


def _class(place: Place) -> str:
    """Return whose value a place is."""
    return "plain values" if place.owner is None else place.owner.kind


def _unread(place: Place) -> int:
    """Return how many bytes a place holds of which no rule knows what they are; bytes are told by themselves."""
    owner, value = place.owner, place.value
    if owner is not None and owner.kind.startswith((*_READ, *_VALUES)):
        return 0
    if is_sparse(value):
        return sum(int(v.nbytes) for v in value.attributes.values() if isinstance(v, np.ndarray))
    if isinstance(value, Thing):
        if value.kind.startswith((*_READ, *_VALUES, "collections.")):
            return 0
        return sum(_size(v) for v in (*value.args, *value.kwargs.values()))
    return _size(value)


def _size(value: Any) -> int:
    """Return the bytes of an array, of a list of plain values or of a long text; 0 for settings."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return int(value.nbytes)
    if isinstance(value, str):
        return len(value) if len(value) > SHORT and not value.startswith("tree\n") else 0
    if isinstance(value, (dict, list, tuple, set, frozenset, np.ndarray)):
        parts = value.values() if isinstance(value, dict) else value
        parts = parts.reshape(-1).tolist() if isinstance(parts, np.ndarray) else list(parts)
        # The walk goes into what does not hold plain values only: long texts are then places of their own.
        deep = isinstance(value, np.ndarray) or not all(isinstance(p, _PLAIN) for p in parts)
        return sum(_plain(p) for p in parts if not (deep and isinstance(p, str) and len(p) > SHORT))
    return 0


def _plain(value: Any) -> int:
    """Return the bytes that one plain value of a list or dict counts for."""
    if isinstance(value, str):
        return len(value)
    return NUMBER if isinstance(value, (int, float, complex)) and not isinstance(value, bool) else 0
