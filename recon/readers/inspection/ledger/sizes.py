"""How much a value of a stored graph can hold: its bytes, its texts, its form; objects in it are values by themselves.

What a value counts for is the most that somebody could write there, not what an honest file needs: a number eight
bytes, a long integer its bytes, a text its characters in UTF-8, a name its own, keys as values; a truth value by itself
holds nothing worth naming, in a list or dict (labels of rows may be one) a byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from recon.readers.stored.objects.arrays import extra_bytes, is_scalar
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.objects.things import Thing

NUMBER = 8  # bytes that a float, and an integer up to them, counts for
_PARTS = (dict, list, tuple, set, frozenset)


def size_of(value: Any) -> int:
    """Return the bytes of a value, keys of dicts included; objects and names in it count nothing.

    A value that stands in several places counts once. Iterative, linear in what there is.
    """
    if not has_parts(value):
        return _plain(value)
    return sum(map(size_in_list, _plain_parts(value)))


def size_in_list(value: Any) -> int:
    """Return the bytes that a plain value counts for where others stand beside it: at least one."""
    if isinstance(value, Name):
        return len(str(value))
    return 0 if isinstance(value, Thing) and not is_scalar(value) else max(1, _plain(value))


def _plain_parts(value: Any) -> Iterator[Any]:
    """Yield the values in a value, at any depth, that hold no others; those of shared parts once."""
    stack, met = [value], set[int]()
    while stack:
        one = stack.pop()
        if not has_parts(one):
            yield one
        elif id(one) not in met:
            met.add(id(one))
            stack.extend(parts_of(one))


def has_parts(value: Any) -> bool:
    """Return whether a value is a list, dict, set or array of objects: other values stand in it."""
    return isinstance(value, _PARTS) or (isinstance(value, np.ndarray) and value.dtype == object)


def parts_of(value: Any) -> list[Any]:
    """Return the values in a list, dict (its keys too), set or array of objects; [] of everything else."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1)) if value.dtype == object else []
    return list(value) if isinstance(value, _PARTS) else []


def _plain(value: Any) -> int:
    """Return the bytes that one plain value counts for."""
    if value is None or isinstance(value, (bool, Name)):
        return 0
    if isinstance(value, Thing):
        if not is_scalar(value):
            return 0
        return max(NUMBER, *(len(one) for one in value.args if isinstance(one, (str, bytes)))) + extra_bytes(value)
    if isinstance(value, int):
        return max(NUMBER, (value.bit_length() + 7) // 8)
    if isinstance(value, (float, np.floating, np.integer)):
        return NUMBER
    if isinstance(value, complex):
        return 2 * NUMBER
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, slice):
        return sum(map(_plain, (value.start, value.stop, value.step)))
    return NUMBER


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts and names in a value, keys included, of arrays of text the different ones."""
    for one in _plain_parts(value):
        if isinstance(one, (str, Name)):
            yield str(one)
        elif isinstance(one, np.ndarray) and one.dtype.kind in "US":
            yield from map(str, np.unique(one).tolist())


def is_small(value: Any) -> bool:
    """Return whether a value holds up to eight bytes: a truth value, None, a number, a short text; or nothing.

    Values in a list, dict or set that hold others are looked at when a walk of the graph comes to them.
    """
    if value is None or isinstance(value, (bool, float)):
        return True
    if isinstance(value, (str, bytes)):
        return size_of(value) <= NUMBER
    if isinstance(value, _PARTS):
        return not any(size_in_list(one) for one in parts_of(value) if not has_parts(one))
    return isinstance(value, int) and value.bit_length() <= 8 * NUMBER


def letter_of(value: Any) -> str:
    """Return of which kind a value is: "." what holds no other value (or nothing), a letter of all others.

    l lists, d dicts, s sets, b bytes, o objects; arrays: a of numbers, t of texts, r of records, u of objects.
    """
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        return "r" if value.dtype.names else {"O": "u", "U": "t", "S": "t", "V": "r"}.get(kind, "a")
    if isinstance(value, (bytes, bytearray)):
        return "b"
    if isinstance(value, Thing):
        return "." if is_scalar(value) else "o"
    if not isinstance(value, _PARTS) or not value:
        return "."
    return "l" if isinstance(value, (list, tuple)) else "d" if isinstance(value, dict) else "s"


def entries_in(value: Any) -> int:
    """Return how many entries a list, dict, set or array has, 0 of all others."""
    return value.size if isinstance(value, np.ndarray) else len(value) if isinstance(value, _PARTS) else 0


def shape_of_parts(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array or the length of a list, dict or set; None of a plain value."""
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    return (len(value),) if isinstance(value, _PARTS) else None
