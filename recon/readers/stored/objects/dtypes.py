"""numpy's dtypes out of a stored graph: built from their validated codes, never from the file's own objects.

A pickled dtype is `dtype(code, False, True)` with the state (version, byte order, subarray, names, fields, size,
alignment, flags[, metadata of dates]): see arraydescr_reduce in numpy/_core/src/multiarray/descriptor.c.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from recon.readers.stored.objects.raw import RawThing
from solvers.foundation.errors import ReleaseError

_DTYPE_CODE = re.compile(r"[biufcUSVMmO]\d{0,9}|\?")
_UNITS = frozenset({"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as"})
_MAX_FIELDS = 10_000  # of a structured dtype, nested ones counted each time they occur
_DEEPEST = 4  # structured dtypes inside structured dtypes: numpy compares them recursively


def is_dtype(thing: object) -> bool:
    """Return whether the value is a dtype of numpy that was not built."""
    return isinstance(thing, RawThing) and thing.callable.name == "dtype" and str(thing.callable) == "numpy.dtype"


def raw_bytes(value: Any) -> bytes | None:
    """Return the bytes a value stands for in pickles of any protocol, None where it stands for none."""
    if isinstance(value, RawThing) and not value.built and value.how == "reduce":
        args, what = value.args, str(value.callable)
        if what == "_codecs.encode" and len(args) == 2 and isinstance(args[0], str) and args[1] == "latin1":
            value = args[0]
        elif what in {"builtins.bytes", "__builtin__.bytes", "builtins.bytearray", "__builtin__.bytearray"}:
            value = args[0] if args else b""
            if isinstance(value, RawThing):  # one level: bytearray(encode(text, "latin1"))
                return raw_bytes(value) if str(value.callable) == "_codecs.encode" else None
    if isinstance(value, str):  # Python 2, and protocols that have no bytes
        try:
            return value.encode("latin1")
        except UnicodeEncodeError:
            return None
    return bytes(value) if isinstance(value, (bytes, bytearray)) else None


def to_dtype(value: Any) -> np.dtype[Any] | None:
    """Return a dtype out of what stands in a file; None where it is of a kind that is not read (it stays a Thing)."""
    known: dict[int, tuple[np.dtype[Any] | None, int]] = {}
    try:
        found: np.dtype[Any] | None = _dtype(value, 0, known)[0]
        return found
    except ReleaseError:
        raise
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ReleaseError(f"a dtype is broken ({reason(error)})") from None


def _dtype(value: Any, depth: int, known: dict[int, tuple[np.dtype[Any] | None, int]]) -> tuple[Any, int]:
    """Return the dtype and the number of its fields; each RawThing is read once however often it is shared."""
    if isinstance(value, np.dtype):
        return value, 1
    if not is_dtype(value) or not value.args or depth > _DEEPEST:
        return None, 0
    if id(value) in known:
        return known[id(value)]
    known[id(value)] = (None, 0)  # a dtype inside itself is none
    code, state = value.args[0], value.state
    if isinstance(code, bytes):
        code = code.decode("latin1")
    if not isinstance(code, str) or _DTYPE_CODE.fullmatch(code) is None:
        return None, 0
    found: tuple[np.dtype[Any] | None, int] = (np.dtype(code), 1)
    if isinstance(state, tuple) and len(state) >= 5:
        order = state[1]
        if state[2] is not None or state[4] is not None:
            found = _structured(state, depth, known) if code[0] == "V" else (None, 0)
        elif code[0] in "Mm":
            found = (_date(code, state), 1)
        if found[0] is not None and isinstance(order, str) and order in {"<", ">"} and state[4] is None:
            found = (found[0].newbyteorder("<" if order == "<" else ">"), found[1])
    known[id(value)] = found
    return found


def _structured(state: tuple[Any, ...], depth: int, known: dict[int, Any]) -> tuple[Any, int]:
    if state[2] is not None:
        base, shape = state[2] if isinstance(state[2], tuple) and len(state[2]) == 2 else (None, None)
        inner, count = _dtype(base, depth + 1, known)
        lengths = (shape,) if isinstance(shape, int) else shape
        if inner is None or math.prod(lengths_of(lengths)) * inner.itemsize > 1 << 31:
            return None, 0
        return np.dtype((inner, lengths_of(lengths))), count
    names, fields = state[3], state[4]
    if not isinstance(names, tuple) or not isinstance(fields, dict) or len(state) < 6 or len(names) > _MAX_FIELDS:
        return None, 0
    formats, offsets, total = [], [], 0
    for name in names:
        field = fields.get(name) if isinstance(name, str) else None
        inner, count = _dtype(field[0], depth + 1, known) if isinstance(field, tuple) and len(field) >= 2 else (None, 0)
        total += count
        if inner is None or inner.hasobject or field is None or not isinstance(field[1], int):
            return None, 0
        if total > _MAX_FIELDS:
            raise ReleaseError(f"a dtype has more than {_MAX_FIELDS:,} fields")
        formats.append(inner)
        offsets.append(field[1])
    layout = {"names": list(names), "formats": formats, "offsets": offsets, "itemsize": state[5]}
    return np.dtype(layout), total  # type: ignore[call-overload]  # the stubs know no such mapping with a variable size


def _date(code: str, state: tuple[Any, ...]) -> np.dtype[Any] | None:
    """Return datetime64 or timedelta64 with the unit that the metadata name."""
    unit = state[8][1] if len(state) > 8 and isinstance(state[8], tuple) and len(state[8]) == 2 else None
    if not isinstance(unit, tuple) or len(unit) < 2 or not isinstance(unit[1], int) or not 0 < unit[1] < 10**6:
        return None
    base = raw_bytes(unit[0])
    text = "" if base is None else base.decode("latin1")
    return np.dtype(f"{code[0]}8[{unit[1]}{text}]") if text in _UNITS else None


def lengths_of(shape: Any) -> tuple[int, ...]:
    """Return the shape; raise `ReleaseError` where it is none."""
    if not isinstance(shape, tuple) or len(shape) > 32:
        raise ReleaseError("the shape of an array is not a tuple of lengths")
    if any(type(length) is not int or not 0 <= length < 1 << 62 for length in shape):
        raise ReleaseError("the shape of an array is not a tuple of lengths")
    return shape


def reason(error: BaseException) -> str:
    """Return the first line of what another library said, shortened."""
    return str(error).partition("\n")[0][:120] or type(error).__name__
