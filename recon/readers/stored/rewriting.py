"""Stored graphs written again: as a pickle that the real library loads, or a skops archive with parts left out.

Nothing is imported: names are written exactly as they stood, objects as the calls that stood in the file. The opcodes
and the order of an object's parts (call, items, pairs, state) are those of Python's own pickler.
"""

from __future__ import annotations

import io
import json
import math
import pickle as op
import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError

Path = Sequence[str | int]
_LEFT_OUT = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null", "is_json": True}
_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg", "exceptions": "builtins"}
_ATOMS = (type(None), bool, int, float)


def write_pickle(root: Any, protocol: int) -> bytes:
    """Return the graph as a pickle of the protocol (2 to 5; files of protocols 0 and 1 are written as 2).

    Every object is written as the call that stood in the file it came from, shared objects once. ndarrays and numpy
    scalars that the caller put in are written as numpy would write them. Raises `ReleaseError` for anything else.
    """
    if not 0 <= protocol <= 5:
        raise ReleaseError(f"protocol {protocol} of pickle is not written: give one from 0 to 5")
    return _Writer(max(2, protocol)).run(root)


class _Writer:
    """Writes without recursion: a stack of iterators over what is still to be written, each yielding bytes or values.

    A value that is met inside itself is expanded again until the list, dict or object in between stands in the memo;
    the outer one then finds itself there and is replaced, as Python's own pickler does it.
    """

    def __init__(self, protocol: int) -> None:
        self.protocol = protocol
        self.out = bytearray()
        self.memo: dict[int, int] = {}
        self.made: dict[int, Thing] = {}  # of arrays and scalars that are no Things
        self.kept: list[Any] = []  # so that no id is used twice

    def run(self, root: Any) -> bytes:
        self.out += op.PROTO + bytes([self.protocol])
        stack: list[Iterator[Any]] = [iter([_Value(root)])]
        while stack:
            part = next(stack[-1], None)
            if part is None:
                stack.pop()
            elif isinstance(part, bytes):
                self.out += part
            else:
                follow = self.value(part.value)
                if follow is not None:
                    stack.append(follow)
        return bytes(self.out + op.STOP)

    def value(self, value: Any) -> Iterator[Any] | None:
        """Write a value that has no parts, or return the iterator over the parts of one that has."""
        if isinstance(value, _ATOMS) and not isinstance(value, np.generic):
            self.out += _atom(value)
            return None
        if isinstance(value, (np.ndarray, np.generic, np.dtype)):
            if id(value) not in self.made:
                self.made[id(value)] = _thing_of(value)
                self.kept.append(value)
            value = self.made[id(value)]
        if id(value) in self.memo:
            self.out += self.get(value)
            return None
        if isinstance(value, str):
            self.out += _text(value, self.protocol) + self.put(value)
            return None
        for kind, parts in _PARTS:
            if isinstance(value, kind):
                return parts(self, value)
        raise ReleaseError(f"a {type(value).__name__} cannot be written into a pickle")

    def put(self, value: Any) -> bytes:
        """Return the opcode that puts the top of the stack into the memo, as that of `value`."""
        index = self.memo[id(value)] = len(self.memo)
        self.kept.append(value)
        if self.protocol >= 4:
            return op.MEMOIZE
        return op.BINPUT + bytes([index]) if index < 256 else op.LONG_BINPUT + struct.pack("<I", index)

    def get(self, value: Any) -> bytes:
        """Return the opcode that pushes what the memo has."""
        index = self.memo[id(value)]
        return op.BINGET + bytes([index]) if index < 256 else op.LONG_BINGET + struct.pack("<I", index)

    def closed(self, value: Any, close: bytes) -> bytes:
        """Return what closes a value whose parts were written first: its opcode, or the value met inside itself."""
        if id(value) not in self.memo:
            return close + self.put(value)
        return close + op.POP + self.get(value)  # it holds itself: what was built twice is dropped

    def name(self, name: Name) -> Iterator[Any]:
        if self.protocol >= 4:
            yield _text(self.module(name), 4) + _text(name.name, 4) + op.STACK_GLOBAL + self.put(name)
        else:
            yield op.GLOBAL + f"{self.module(name)}\n{name.name}\n".encode() + self.put(name)

    def module(self, name: Name) -> str:
        """Return the name's module; Python 2's are understood up to protocol 2 only."""
        return name.module if self.protocol < 3 else _RENAMED.get(name.module, name.module)

    def bytes_(self, value: bytes | bytearray) -> Iterator[Any]:
        if isinstance(value, bytearray):
            if self.protocol >= 5:
                yield op.BYTEARRAY8 + struct.pack("<Q", len(value)) + bytes(value) + self.put(value)
            else:
                yield from self.call(value, self.builtin("bytearray"), (bytes(value),))
        elif self.protocol < 3:  # there are no bytes: the call that Python writes
            yield from self.call(value, Name("_codecs", "encode"), (value.decode("latin1"), "latin1"))
        else:
            large = len(value) > 0xFFFFFFFF
            head = (
                op.BINBYTES8 + struct.pack("<Q", len(value)) if large else op.BINBYTES + struct.pack("<I", len(value))
            )
            yield head + value
            yield self.put(value)

    def builtin(self, name: str) -> Name:
        return Name("__builtin__" if self.protocol < 3 else "builtins", name)

    def call(self, value: Any, function: Name, args: tuple[Any, ...]) -> Iterator[Any]:
        self.kept.append(args)
        yield _Value(function)
        yield _Value(args)
        yield self.closed(value, op.REDUCE)

    def tuple_(self, value: tuple[Any, ...]) -> Iterator[Any]:
        if not value:
            yield op.EMPTY_TUPLE
            return
        yield op.MARK
        yield from map(_Value, value)
        yield self.closed(value, op.TUPLE)

    def list_(self, value: list[Any]) -> Iterator[Any]:
        yield op.EMPTY_LIST + self.put(value)
        yield from self.items(value)

    def dict_(self, value: dict[Any, Any]) -> Iterator[Any]:
        yield op.EMPTY_DICT + self.put(value)
        yield from self.pairs(value)

    def set_(self, value: set[Any] | frozenset[Any]) -> Iterator[Any]:
        if self.protocol < 4:
            yield from self.call(value, self.builtin(type(value).__name__), (list(value),))
        elif isinstance(value, set):
            yield op.EMPTY_SET + self.put(value) + op.MARK
            yield from map(_Value, value)
            yield op.ADDITEMS
        else:
            yield op.MARK
            yield from map(_Value, value)
            yield self.closed(value, op.FROZENSET)

    def items(self, items: Sequence[Any]) -> Iterator[Any]:
        if items:
            yield op.MARK
            yield from map(_Value, items)
            yield op.APPENDS

    def pairs(self, pairs: dict[Any, Any]) -> Iterator[Any]:
        if pairs:
            yield op.MARK
            for key, part in pairs.items():
                yield _Value(key)
                yield _Value(part)
            yield op.SETITEMS

    def thing(self, thing: Thing) -> Iterator[Any]:
        if thing.how in {"inst", "obj"}:
            yield op.MARK
            if thing.how == "obj":
                yield _Value(thing.callable)
            yield from map(_Value, thing.args)
            named = op.INST + f"{self.module(thing.callable)}\n{thing.callable.name}\n".encode()
            yield self.closed(thing, op.OBJ if thing.how == "obj" else named)
        else:
            yield _Value(thing.callable)
            yield _Value(thing.args)
            if thing.how == "newobj_ex":
                yield _Value(thing.kwargs)
            yield self.closed(thing, {"reduce": op.REDUCE, "newobj": op.NEWOBJ, "newobj_ex": op.NEWOBJ_EX}[thing.how])
        yield from self.items(thing.items)
        yield from self.pairs(thing.pairs)
        if thing.built or thing.state is not None:
            yield _Value(thing.state)
            yield op.BUILD


class _Value:
    """A value that is still to be written (bytes among the parts are opcodes)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


_PARTS: tuple[tuple[Any, Callable[[_Writer, Any], Iterator[Any]]], ...] = (
    (Thing, _Writer.thing),
    (Name, _Writer.name),
    (tuple, _Writer.tuple_),
    (list, _Writer.list_),
    (dict, _Writer.dict_),
    ((bytes, bytearray), _Writer.bytes_),
    ((set, frozenset), _Writer.set_),
)


def _atom(value: float | None) -> bytes:
    """Return the opcode of a number, a truth value or None."""
    if value is None:
        return op.NONE
    if isinstance(value, bool):
        return op.NEWTRUE if value else op.NEWFALSE
    if isinstance(value, float):
        return op.BINFLOAT + struct.pack(">d", value)
    if -(1 << 31) <= value < 1 << 31:
        return op.BININT + struct.pack("<i", value)
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return (op.LONG1 + bytes([len(raw)]) if len(raw) < 256 else op.LONG4 + struct.pack("<i", len(raw))) + raw


def _text(text: str, protocol: int) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) < 256 and protocol >= 4:
        return op.SHORT_BINUNICODE + bytes([len(raw)]) + raw
    large = len(raw) > 0xFFFFFFFF
    return (
        op.BINUNICODE8 + struct.pack("<Q", len(raw)) if large else op.BINUNICODE + struct.pack("<I", len(raw))
    ) + raw


def _thing_of(value: Any) -> Thing:
    """Return an array, scalar or dtype as the call that numpy's own pickles have (a name that numpy 1 and 2 know)."""
    module = "numpy.core.multiarray"
    if isinstance(value, np.dtype):
        rebuilt: Any = value.__reduce__()
        return Thing(Name("numpy", "dtype"), "reduce", rebuilt[1], state=rebuilt[2])
    if value.dtype.hasobject:
        raise ReleaseError("an array of objects cannot be written into a pickle")
    if isinstance(value, np.generic):
        return Thing(Name(module, "scalar"), "reduce", (value.dtype, value.tobytes()))
    fortran = value.flags.f_contiguous and not value.flags.c_contiguous
    state = (1, value.shape, value.dtype, fortran, value.tobytes("F" if fortran else "C"))
    return Thing(Name(module, "_reconstruct"), "reduce", (Name("numpy", "ndarray"), (0,), b"b"), state=state)


def write_skops(data: bytes, edits: Sequence[Path], memory: int = 1 << 30) -> bytes:
    """Return the skops archive with the values at the paths replaced by None and their arrays left out.

    A path leads from the root: an attribute's name, a dict's key or a list's place at each step, such as
    ("steps", 1, 1, "_sample_weight"). Arrays that other nodes refer to stay, as do all other members.
    Raises `ReleaseError` where a path leads nowhere.
    """
    from recon.readers.stored.pickled.skops_files import SCHEMA, Archive, load_schema

    archive = Archive(data, memory)
    schema = load_schema(archive, memory)
    before = _files(schema)
    for path in edits:
        _leave_out(schema, path)
    gone = before - _files(schema)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as written:
        for info in archive.file.infolist():
            if info.filename in gone:
                continue
            content = archive.read(info.filename)
            if info.filename == SCHEMA:
                content = json.dumps(schema, indent=2).encode()
            written.writestr(zipfile.ZipInfo(info.filename, info.date_time), content, info.compress_type)
    return made.getvalue()


def _files(schema: Any) -> set[str]:
    """Return the members that the nodes refer to."""
    found, stack = set(), [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if isinstance(node.get("file"), str):
                found.add(node["file"])
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return found


def _leave_out(schema: Any, path: Path) -> None:
    if not path:
        raise ReleaseError("an empty path names the whole model, which cannot be left out")
    holder: Any = None
    node, key = schema, None
    for step in path:
        holder = node.get("content") if isinstance(node, dict) else None
        while isinstance(holder, dict) and "__loader__" in holder and isinstance(holder.get("content"), (dict, list)):
            holder = holder["content"]  # an object's attributes are a node of their own
        key = str(step) if isinstance(holder, dict) else step
        inside = key in holder if isinstance(holder, dict) else isinstance(holder, list) and key in range(len(holder))
        if not inside:
            raise ReleaseError(f"the path {'/'.join(map(str, path))} leads nowhere at {str(step)!r}")
        node = holder[key]
    holder[key] = dict(_LEFT_OUT)


def _same(a: Any, b: Any) -> bool:
    """Return whether two graphs are equal in structure, arrays and numbers bit for bit, and share the same objects.

    Numbers and texts are compared by value; lists, dicts, sets and objects must be shared alike. Iterative.
    """
    pairs: list[tuple[Any, Any]] = [(a, b)]
    there: dict[int, int] = {}
    back: dict[int, int] = {}
    tuples: set[tuple[int, int]] = set()
    while pairs:
        x, y = pairs.pop()
        if type(x) is not type(y):
            return False
        if isinstance(x, (list, dict, set, Thing)):
            if id(x) in there or id(y) in back:
                if there.get(id(x)) != id(y) or back.get(id(y)) != id(x):
                    return False
                continue
            there[id(x)], back[id(y)] = id(y), id(x)
        elif isinstance(x, tuple):
            if (id(x), id(y)) in tuples:
                continue
            tuples.add((id(x), id(y)))
        parts = _parts(x), _parts(y)
        if parts[0] is None or parts[1] is None:
            if not _equal(x, y):
                return False
        elif len(parts[0]) != len(parts[1]):
            return False
        else:
            pairs.extend(zip(parts[0], parts[1], strict=True))
    return True


def _parts(value: Any) -> list[Any] | None:
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, Thing):
        what = [value.callable, value.how, value.args, value.kwargs, value.built, value.state]
        return [*what, value.items, value.pairs]
    return None


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, float):
        return struct.pack(">d", x) == struct.pack(">d", y) or (math.isnan(x) and math.isnan(y))
    if isinstance(x, (np.ndarray, np.generic)):
        return bool(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes())
    if isinstance(x, (set, frozenset)):
        from recon.readers.stored.objects.arrays import resolve

        return bool(resolve(x) == resolve(y))
    return bool(x == y)
