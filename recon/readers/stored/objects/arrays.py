"""Arrays, numpy scalars and mappings out of a stored graph: validated, read from their bytes, nothing unpickled.

The layout of numpy's pickles: `_reconstruct(ndarray, (0,), b"b")` with the state (version, shape, dtype, Fortran order,
bytes or list of objects), `_frombuffer(buffer, dtype, shape, order)`, `scalar(dtype, bytes)`: see array_reduce and
array_setstate in numpy/_core/src/multiarray/methods.c.

numpy's dtypes out of a stored graph: built from their validated codes, never from the file's own objects.

A pickled dtype is `dtype(code, False, True)` with the state (version, byte order, subarray, names, fields, size,
alignment, flags[, metadata of dates]): see arraydescr_reduce in numpy/_core/src/multiarray/descriptor.c.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from recon.readers.stored.objects.raw import Keys, Name, RawThing
from solvers.foundation.errors import ReleaseError

_DTYPE_CODE = re.compile(r"[biufcUSVMmO]\d{0,9}|\?")
_UNITS = frozenset({"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as"})
_MAX_FIELDS = 10_000  # of a structured dtype, nested ones counted each time they occur
_DEEPEST = 4  # structured dtypes inside structured dtypes: numpy compares them recursively


def _is_dtype(thing: object) -> bool:
    """Return whether the value is a dtype of numpy that was not built."""
    return isinstance(thing, RawThing) and thing.callable.name == "dtype" and str(thing.callable) == "numpy.dtype"


def _raw_bytes(value: Any) -> bytes | None:
    """Return the bytes a value stands for in pickles of any protocol, None where it stands for none."""
    if isinstance(value, RawThing) and not value.built and value.how == "reduce":
        args, what = value.args, str(value.callable)
        if what == "_codecs.encode" and len(args) == 2 and isinstance(args[0], str) and args[1] == "latin1":
            value = args[0]
        elif what in {"builtins.bytes", "__builtin__.bytes", "builtins.bytearray", "__builtin__.bytearray"}:
            value = args[0] if args else b""
            if isinstance(value, RawThing):  # one level: bytearray(encode(text, "latin1"))
                return _raw_bytes(value) if str(value.callable) == "_codecs.encode" else None
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
    if not _is_dtype(value) or not value.args or depth > _DEEPEST:
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
        if inner is None or math.prod(_lengths_of(lengths)) * inner.itemsize > 1 << 31:
            return None, 0
        return np.dtype((inner, _lengths_of(lengths))), count
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
        if not 0 <= field[1] <= state[5] - inner.itemsize:  # numpy's own check overflows: it would read outside
            raise ReleaseError(f"a dtype of {state[5]:,} bytes has a field of {inner.itemsize:,} at byte {field[1]:,}")
        offsets.append(field[1])
    layout = {"names": list(names), "formats": formats, "offsets": offsets, "itemsize": state[5]}
    return np.dtype(layout), total  # type: ignore[call-overload]  # the stubs know no such mapping with a variable size


def _date(code: str, state: tuple[Any, ...]) -> np.dtype[Any] | None:
    """Return datetime64 or timedelta64 with the unit that the metadata name."""
    unit = state[8][1] if len(state) > 8 and isinstance(state[8], tuple) and len(state[8]) == 2 else None
    if not isinstance(unit, tuple) or len(unit) < 2 or not isinstance(unit[1], int) or not 0 < unit[1] < 10**6:
        return None
    base = _raw_bytes(unit[0])
    text = "" if base is None else base.decode("latin1")
    return np.dtype(f"{code[0]}8[{unit[1]}{text}]") if text in _UNITS else None


def _lengths_of(shape: Any) -> tuple[int, ...]:
    """Return the shape; raise `ReleaseError` where it is none."""
    if not isinstance(shape, tuple) or len(shape) > 32:
        raise ReleaseError("the shape of an array is not a tuple of lengths")
    if any(type(length) is not int or not 0 <= length < 1 << 62 for length in shape):
        raise ReleaseError("the shape of an array is not a tuple of lengths")
    return shape


def reason(error: BaseException) -> str:
    """Return the first line of what another library said, shortened."""
    return str(error).partition("\n")[0][:120] or type(error).__name__


# Exactly these types: numpy derives some of its scalars from them.
_LEAVES = frozenset({type(None), bool, int, float, complex, str, bytes, bytearray, Name})
_KEYS = (type(None), int, float, str, bytes, tuple, frozenset, Name, RawThing)
_MAPPINGS = frozenset({"collections.OrderedDict", "collections.defaultdict", "collections.Counter"})
_PLAIN = frozenset({"set", "frozenset", "complex", "slice", "bytearray", "bytes"})
_FEW, _SHORT = 16, 32  # fields of a record, and characters of their names, that honest files have at most
_PLAIN_ARRAYS = frozenset({"ndarray", "memmap", "matrix"})


def _is_array(thing: RawThing) -> bool:
    """Return whether the Thing is an array of numpy (of no other subclass than matrix and memmap)."""
    name = thing.callable.name
    if thing.how != "reduce" or thing.callable.module.partition(".")[0] != "numpy":
        return False
    if name == "_frombuffer":
        return len(thing.args) == 4
    owner = thing.args[0] if name == "_reconstruct" and thing.args else None
    state = thing.state
    plain = isinstance(owner, Name) and owner.module.startswith("numpy") and owner.name in _PLAIN_ARRAYS
    return plain and isinstance(state, tuple) and len(state) >= 4


def shaped(data: Any, dtype: np.dtype[Any], shape: Any, fortran: bool, offset: int = 0) -> np.ndarray[Any, Any]:
    """Return the array whose bytes begin at `offset` of `data`: no copy, read-only where the data are bytes.

    Raises `ReleaseError` unless shape and item size ask for bytes that are there.
    """
    lengths = _lengths_of(shape)
    count = math.prod(lengths)
    if dtype.hasobject or count * dtype.itemsize > len(data) - offset:
        raise ReleaseError(
            f"an array of shape {shape!s:.80} and type {dtype!s:.80} needs {count * dtype.itemsize:,} bytes, "
            f"{len(data) - offset:,} are there"
        )
    try:
        if count == 0 or dtype.itemsize == 0:
            if count > 1_000_000:
                raise ReleaseError(f"an array of shape {shape!s:.80} holds items of no bytes")
            found = np.zeros(lengths, dtype)
        else:
            found = np.frombuffer(data, dtype, count, offset).reshape(lengths, order="F" if fortran else "C")
        if dtype.kind == "U" and found.nbytes:
            codes = np.frombuffer(data, np.dtype("u4").newbyteorder(dtype.byteorder), found.nbytes // 4, offset)
            if codes.max() > 0x10FFFF:
                raise ReleaseError(f"an array of shape {shape!s:.80} holds characters that do not exist")
    except ReleaseError:
        raise
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ReleaseError(f"an array of shape {shape!s:.80} is broken ({reason(error)})") from None
    found.flags.writeable = False
    return found


def _native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.isnative:
        return array
    array = array.astype(array.dtype.newbyteorder("="))
    array.flags.writeable = False
    return array


def _from_thing(thing: RawThing) -> Any:
    """Return the array of numbers or text (objects: an empty one to be filled), or the Thing where it is none."""
    if thing.callable.name == "_frombuffer":
        data, code, shape, order = thing.args
        fortran = order == "F"
    else:
        _, shape, code, fortran, data = thing.state[-5:] if len(thing.state) >= 5 else (1, *thing.state)
    dtype = to_dtype(code)
    if dtype is None:
        return thing
    if dtype.hasobject:
        if dtype.kind != "O" or not isinstance(data, list):
            return thing
        if math.prod(_lengths_of(shape)) != len(data):
            raise ReleaseError(f"an array of shape {shape!s:.80} holds {len(data):,} objects")
        return np.empty(shape, object)
    content = _raw_bytes(data)
    if content is None:
        return thing
    array = shaped(content, dtype, shape, fortran)
    if array.nbytes != len(content):
        raise ReleaseError(f"an array of shape {shape!s:.80} and type {dtype!s:.80} has {len(content):,} bytes")
    return _native(array)


def _scalar(thing: RawThing) -> Any:
    """Return the Python number or text of a numpy scalar, or the Thing where it is none."""
    if not 1 <= len(thing.args) <= 2:
        return thing
    dtype, content = to_dtype(thing.args[0]), _raw_bytes(thing.args[1]) if len(thing.args) == 2 else b""
    if dtype is None or content is None or dtype.kind not in "biufcUS":
        return thing
    if len(content) != dtype.itemsize:
        raise ReleaseError(f"a numpy scalar of type {dtype!s:.80} has {len(content):,} bytes")
    return _plain_number(shaped(content, dtype, (), False)[()])


def _plain_number(value: Any) -> Any:
    """Return the Python number or text of a numpy scalar (long doubles lose what a double does not hold)."""
    if value.dtype.kind == "f":
        return float(value)
    if value.dtype.kind == "c":
        return complex(value)
    return value.item() if value.dtype.kind in "biuUS" else value


def _children(node: Any) -> list[Any]:
    """Return what must be resolved along with a node; nothing for a Thing that stays one."""
    if isinstance(node, (list, tuple, set, frozenset)):
        return list(node)
    if isinstance(node, dict):
        return [*node.keys(), *node.values()]
    if not isinstance(node, RawThing):
        return []
    if _is_array(node):
        content = node.state[-1] if isinstance(node.state, tuple) else None
        return list(content) if isinstance(content, list) else []
    what = str(node.callable)
    if what in _MAPPINGS:
        return [*node.args, *node.pairs.keys(), *node.pairs.values()]
    return list(node.args) if _is_plain(node) or is_scalar(node) else []


def _is_plain(thing: RawThing) -> bool:
    module, name = thing.callable.module, thing.callable.name
    known = (module in {"builtins", "__builtin__"} and name in _PLAIN) or str(thing.callable) == "_codecs.encode"
    return known and thing.how == "reduce" and not thing.built


def is_scalar(thing: RawThing) -> bool:
    """Return whether an object that was not built is a number of numpy."""
    return thing.callable.name == "scalar" and thing.callable.module.startswith("numpy.") and thing.how == "reduce"


def resolve(value: Any) -> Any:
    """Return the value with arrays, numpy scalars and standard containers in place of the Things that describe them.

    Lists, dicts, sets and tuples are copied, shared ones once; other Things stay as they are and are not entered.
    Raises `ReleaseError` for a broken array. Iterative: neither depth nor sharing costs more than the size.
    """
    return value if type(value) in _LEAVES else _Resolver().run(value)


class _Resolver:
    def __init__(self) -> None:
        self.done: dict[int, Any] = {}
        self.keys = Keys()

    def run(self, value: Any) -> Any:
        begun: set[int] = set()
        filled: list[Any] = []
        stack: list[tuple[Any, bool]] = [(value, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                self.done[id(node)] = self.made(node)
            elif id(node) not in begun:
                begun.add(id(node))
                early = _empty(node)
                if early is None:
                    stack.append((node, True))
                else:
                    self.done[id(node)] = early
                    filled.append(node)
                stack.extend((child, False) for child in _children(node) if type(child) not in _LEAVES)
        for node in filled:
            self.fill(node)
        return self.done[id(value)]

    def of(self, node: Any) -> Any:
        return node if type(node) in _LEAVES else self.done.get(id(node), node)

    def made(self, node: Any) -> Any:
        """Return what stands for a node whose parts are all resolved."""
        if isinstance(node, tuple):
            return tuple(self.of(part) for part in node)
        if isinstance(node, (set, frozenset)):
            parts = [self.of(part) for part in node]
            return type(node)(parts) if self.are_keys(parts) else node
        if isinstance(node, np.ndarray):
            return _native(node)
        if isinstance(node, np.generic):
            return _plain_number(node)
        if not isinstance(node, RawThing):
            return node
        found: Any = node
        if _is_array(node):
            found = _from_thing(node)
        elif is_scalar(node):
            dtype = to_dtype(node.args[0]) if len(node.args) == 2 else None
            found = self.of(node.args[1]) if dtype is not None and dtype.kind == "O" else _scalar(node)
        elif _is_dtype(node):
            found = to_dtype(node)
        elif _is_plain(node):
            found = self.builtin(node, [self.of(part) for part in node.args])
        return node if found is None else found

    def builtin(self, thing: RawThing, args: list[Any]) -> Any:
        """Return a set, slice, complex number or bytes that an early protocol wrote as a call; None if it is none."""
        name = thing.callable.name
        if name in {"set", "frozenset"} and len(args) <= 1:
            members = thing.args[0] if args else []  # the list itself is filled later
            parts = [self.of(part) for part in members] if isinstance(members, (list, tuple)) else [[]]
            if not self.are_keys(parts):
                return None
            return set(parts) if name == "set" else frozenset(parts)
        if name == "complex" and 1 <= len(args) <= 2 and all(isinstance(part, float) for part in args):
            return complex(*args)
        if name == "slice":
            return slice(*args) if 1 <= len(args) <= 3 else None
        return _raw_bytes(thing)

    def are_keys(self, parts: list[Any]) -> bool:
        if not all(isinstance(part, _KEYS) for part in parts):
            return False  # a member became a list or a complex number
        for part in parts:
            self.keys.check(part)
        return True

    def fill(self, node: Any) -> None:
        """Put the resolved parts into the container that was made for the node."""
        target = self.done[id(node)]
        if isinstance(node, list):
            target.extend(self.of(part) for part in node)
        elif isinstance(node, dict):
            self.set_all(target, node.items())
        elif isinstance(target, np.ndarray):
            flat = target.reshape(-1)  # objects are listed in C order, whatever the order in memory was
            for place, part in enumerate(node.state[-1]):
                flat[place] = self.of(part)
            target.flags.writeable = False
        elif isinstance(target, dict):
            given = node.args[0] if node.args else None
            if isinstance(given, dict):
                self.set_all(target, given.items())
            elif isinstance(given, list):  # Python 2's OrderedDict: a list of pairs
                self.set_all(target, [pair for pair in given if isinstance(pair, (list, tuple)) and len(pair) == 2])
            self.set_all(target, node.pairs.items())

    def set_all(self, target: dict[Any, Any], pairs: Iterable[Any]) -> None:
        for raw, value in pairs:
            key = self.of(raw)
            key = key if isinstance(key, _KEYS) else raw
            self.keys.check(key)
            target[key] = self.of(value)


def _empty(node: Any) -> Any:
    """Return the empty container of a node that may hold itself, None for the others."""
    if isinstance(node, list):
        return []
    if isinstance(node, dict):
        return {}
    if isinstance(node, RawThing):
        if str(node.callable) in _MAPPINGS:
            return {}
        if _is_array(node) and _children(node):
            return _from_thing(node)
    return None


def extra_bytes(thing: RawThing) -> int:
    """Return how many bytes the file has for what `resolve` replaces beside the value itself: 0 of honest files.

    Items appended to an array, keywords, a state of a scalar, notes and titles in its dtype: all of it is counted.
    """
    args, bare = thing.args, thing.is_bare()
    dtype: Any = None
    if _is_array(thing) and thing.callable.name == "_frombuffer":
        bare, dtype = bare and not thing.built, args[1]
    elif _is_array(thing):
        bare = bare and len(args) == 3 and args[1] == (0,) and _raw_bytes(args[2]) == b"b" and len(thing.state) <= 5
        dtype = thing.state[2] if len(thing.state) == 5 else thing.state[1]
    elif is_scalar(thing):
        bare, dtype = bare and not thing.built, args[0] if args else None
    elif _is_dtype(thing):
        dtype = thing
    else:
        bare = bare and not thing.built
    return (0 if bare else weight(thing)) + _dtype_extra(dtype)


def _dtype_extra(dtype: Any) -> int:
    """Return the bytes of notes, titles, and of many or long names of fields in a dtype that was not built."""
    if not isinstance(dtype, RawThing) or not _is_dtype(dtype):
        return 0
    state = dtype.state if isinstance(dtype.state, tuple) else ()
    total = 0 if dtype.is_bare() and len(dtype.args) <= 3 else weight(dtype)
    total += weight(dtype.state) if not isinstance(dtype.state, tuple) else 0  # a dict that was put in its place
    if len(state) > 8 and not (isinstance(dtype.args[0], str) and dtype.args[0][:1] in {"M", "m"}):
        total += weight(state[8:])
    names, fields = (state[3], state[4]) if len(state) > 4 else (None, None)
    if isinstance(names, tuple) and isinstance(fields, dict):
        if (
            len(names) > _FEW
            or len(fields) > len(names)
            or any(not isinstance(n, str) or len(n) > _SHORT for n in names)
        ):
            total += weight(list(fields))
        for field in fields.values():
            if isinstance(field, tuple) and field:
                total += _dtype_extra(field[0]) + weight(field[2:])
    return total


def padding_bytes(array: np.ndarray[Any, Any]) -> int:
    """Return how many bytes between the fields of records are not 0."""
    names = array.dtype.names
    if not names or not array.size:
        return 0
    used = np.zeros(array.dtype.itemsize, dtype=bool)
    for name in names:
        inner, offset = array.dtype.fields[name][:2]
        used[offset : offset + inner.itemsize] = True
    if used.all():
        return 0
    raw = np.ascontiguousarray(array).view(np.uint8).reshape(-1, array.dtype.itemsize)
    return int(np.count_nonzero(raw[:, ~used]))


def without_padding(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array whose bytes between the fields of records are 0; any other as it is."""
    if not padding_bytes(array):
        return array
    out = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names or ():
        out[name] = array[name]
    return out


def reachable_ids(value: Any) -> set[int]:
    """Return the ids of everything in a raw value. Iterative."""
    met: set[int] = set()
    weight(value, met)
    return met


def weight(value: Any, met: set[int] | None = None, empty: int = 0) -> int:
    """Return the bytes of everything in a raw value, objects and their names too, each once; not what was `met`.

    `empty`: what a list, dict or set counts for that holds nothing: a sign, where many stand. Iterative. The ids of
    what was gone through are added to `met`.
    """
    total, stack = 0, [value]
    met = set() if met is None else met
    while stack:
        one = stack.pop()
        if one is None or isinstance(one, (bool, float, complex)):
            total += 8 if isinstance(one, (float, complex)) else 1
            continue
        if isinstance(one, (list, dict, tuple, set, frozenset)) and not one:
            total += empty
            continue
        if id(one) in met:
            continue
        met.add(id(one))
        if isinstance(one, (str, bytes, bytearray)):
            total += len(one)
        elif isinstance(one, int):
            total += max(8, (one.bit_length() + 7) // 8)
        elif isinstance(one, np.ndarray):
            total += int(one.nbytes)
        elif isinstance(one, Name):
            total += len(str(one))
        elif isinstance(one, RawThing):
            stack += [*one.args, *one.kwargs, *one.kwargs.values(), one.state]
            stack += () if one.is_bare() else (one.items, one.pairs)
        elif isinstance(one, dict):
            stack += [*one, *one.values()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            stack += one
    return total
