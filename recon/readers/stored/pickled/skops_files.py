"""skops files: a zip archive with schema.json (a tree of nodes) and one .npy file per array; read without skops.

The nodes are those of skops/io (0.9 to 0.16, protocols 0 to 2). Each becomes what a pickle of the same model would
give: lists and dicts, `Name` for classes and functions, `Thing` for objects, ndarrays for arrays.
"""

from __future__ import annotations

import ast
import io
import json
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from recon.io.files.opening import current, parsed_json, size_text
from recon.readers.stored.objects.arrays import reason, shaped
from recon.readers.stored.objects.raw import How, Keys, Name, check_call, vetted
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError

SCHEMA = "schema.json"
LATEST = 2  # protocol
_DEEPEST = 100  # nodes inside nodes
_NODE = 1_000  # bytes charged for a node: the object that is not built, its name and state
_MEMBER = 2_000  # bytes charged for reading a member, beside its content: decoder, header and array
_SCHEMA_SHARE = 16  # parsed, a schema takes up to this many times its bytes
_WRITTEN = 60  # minutes in which an archive is written
_RIGHTS = frozenset(mode << 16 for mode in (0, 0o600, 0o644, 0o664, 0o100600, 0o100644, 0o100664))
_EXTRA = 32  # bytes of fields that zip programs add to a member: sizes of large ones, times
_ZIP_ERRORS = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, struct.error, OSError, EOFError, zlib.error, ValueError,
    OverflowError, IndexError, KeyError,
)  # fmt: skip
_DESCR = re.compile(r"[<>|=]?[biufcUSVMm]\d{0,9}(\[\d{0,6}\w{1,2}\])?")
_HEADER = re.compile(rb"(?:[^\s#]| (?! ))*\}")  # its text, without the spaces behind it
Node = dict[str, Any]


class Archive:
    """The members of a zip archive, stored or deflated, each read in full and at most `memory` bytes in all.

    What is read counts each time that it is read: an archive may name one member ten thousand times.
    """

    def __init__(self, data: bytes, memory: int) -> None:
        try:
            self.file = zipfile.ZipFile(io.BytesIO(data))
        except _ZIP_ERRORS as error:
            raise ReleaseError(f"the zip archive is broken ({reason(error)})") from None
        infos = self.file.infolist()
        self.left = self.memory = memory
        self.infos = {info.filename: info for info in infos}
        if len(self.infos) < len(infos):
            raise ReleaseError("the zip archive names a member twice")
        if sum(info.file_size for info in infos) > memory:
            raise ReleaseError(f"the zip archive holds more than the {size_text(memory)} allowed (--memory)")

    def read(self, name: object) -> bytes:
        """Return the bytes of a member."""
        info = self.infos.get(name) if isinstance(name, str) else None
        if info is None:
            raise ReleaseError(f"the archive has no member {str(name)[:80]!r}")
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1:
            raise ReleaseError(
                f"member {info.filename[:80]!r} is encrypted or compressed by another method than deflate"
            )
        self.left -= info.file_size + _MEMBER
        if self.left < 0:
            raise ReleaseError(
                f"the archive's schema asks for members again and again: more than the {size_text(self.memory)} "
                f"allowed "
                "(--memory)"
            )
        current().entries(1, "the archive", info.file_size + _MEMBER)
        try:
            with self.file.open(info) as member:
                found = member.read(info.file_size + 1)
        except _ZIP_ERRORS as error:
            raise ReleaseError(f"member {info.filename[:80]!r} is broken ({reason(error)})") from None
        if len(found) != info.file_size:
            raise ReleaseError(f"member {info.filename[:80]!r} is cut short")
        return found


def _read_npy(data: bytes) -> np.ndarray[Any, Any]:
    """Return the array in the bytes of a .npy file (numpy/lib/format.py); never objects, never more than is there."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12 or data[6] not in {1, 2, 3}:
        raise ReleaseError("an array is not in numpy's .npy format")
    size, begin = (
        (int.from_bytes(data[8:10], "little"), 10) if data[6] == 1 else (int.from_bytes(data[8:12], "little"), 12)
    )
    if size > 20_000 or begin + size > len(data):
        raise ReleaseError("the header of an array is broken")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            header = ast.literal_eval(data[begin : begin + size].decode("utf-8" if data[6] == 3 else "latin1").strip())
            descr, fortran, shape = header["descr"], header["fortran_order"], header["shape"]
            _check_descr(descr, 0)
            dtype = np.lib.format.descr_to_dtype(descr)
    except ReleaseError:
        raise
    except (ValueError, TypeError, KeyError, SyntaxError, OverflowError, MemoryError, RecursionError) as error:
        raise ReleaseError(f"the header of an array is broken ({reason(error)})") from None
    found = shaped(data, dtype, shape, bool(fortran), begin + size)
    written = data[begin : begin + size].rstrip(b"\n").rstrip(b" ")
    if len(header) != 3 or begin + size + found.nbytes != len(data) or _HEADER.fullmatch(written) is None:
        raise ReleaseError("an array has more in its header, or behind its end, than an array has")
    return found


def _check_descr(descr: Any, depth: int) -> None:
    """Refuse descriptions of types with objects in them, or too deep for numpy's recursion."""
    if isinstance(descr, str):
        if _DESCR.fullmatch(descr) is None:
            raise ReleaseError(f"an array has the type {descr[:40]!r}, which is not read")
        return
    if isinstance(descr, tuple) and len(descr) == 2:
        _check_descr(descr[0], depth + 1)
        return
    if not isinstance(descr, list) or depth > 4 or len(descr) > 1_000:
        raise ReleaseError("an array has a type that is not read")
    for field in descr:
        if not isinstance(field, tuple) or not 2 <= len(field) <= 3:
            raise ReleaseError("an array has a type that is not read")
        _check_descr(field[1], depth + 1)


def load_schema(archive: Archive, memory: int) -> Node:
    """Return the parsed schema after checking size and protocol."""
    raw = archive.read(SCHEMA)
    if len(raw) > memory // _SCHEMA_SHARE:
        raise ReleaseError(f"{SCHEMA} holds more than {memory // _SCHEMA_SHARE:,} bytes")
    schema = _json(raw)
    protocol = schema.get("protocol") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or type(protocol) is not int or not 0 <= protocol <= LATEST:
        raise ReleaseError(f"{SCHEMA} has the protocol {protocol!r:.40}, known are 0 to {LATEST}")
    return schema


def _json(text: bytes | str) -> Any:
    parsed_json(text, SCHEMA)
    try:
        return json.loads(text, parse_int=_integer, object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ReleaseError(f"{SCHEMA} is broken ({reason(error)})") from None


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def odd_bytes(data: bytes) -> int:
    """Return the bytes of a zip archive that are no member, no header of one and no directory; notes of members."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        total = len(data) - 22 - len(archive.comment)
        notes, first = 0, next(iter(archive.infolist()))
        for info in archive.infolist():
            name = len(info.filename.encode("utf-8"))
            head = data[info.header_offset : info.header_offset + 30]
            extra = int.from_bytes(head[28:30], "little")
            behind = 0
            if info.flag_bits & 8:  # sizes stand behind the member, mostly with a mark
                at = info.header_offset + 30 + name + extra + info.compress_size
                behind = 16 if data[at : at + 4] == b"PK\x07\x08" else 12
            total -= 30 + name + extra + info.compress_size + behind + 46 + name + len(info.extra) + len(info.comment)
            notes += 4 * (abs(_minutes(info) - _minutes(first)) > _WRITTEN) + 4 * (info.external_attr not in _RIGHTS)
            notes += max(0, extra - _EXTRA) + max(0, len(info.extra) - _EXTRA) + len(info.comment)
    return abs(total) + notes


def _minutes(info: zipfile.ZipInfo) -> int:
    """Return about when a member was written, in minutes."""
    year, month, day, hour, minute, _ = info.date_time
    return (((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute


def _integer(text: str) -> int:
    if len(text) > 5_000:  # reading a number takes quadratic time
        raise ValueError(f"a number of {len(text):,} digits")
    return int(text)


def read_skops(data: bytes, memory: int) -> tuple[Any] | None:
    """Return the root of a skops file in a tuple; None for a zip archive without a schema."""
    archive = Archive(data, memory)
    if SCHEMA not in archive.infos:
        return None
    return (Reader(archive, memory).value(load_schema(archive, memory), 0),)


class Reader:
    """Turns nodes into values; a node that was met before under the same `__id__` is the same object."""

    loaders: ClassVar[dict[str, Callable[[Reader, Node, int], Any]]] = {}

    def __init__(self, archive: Archive, memory: int) -> None:
        self.archive, self.memory, self.budget = archive, memory, current()
        self.known: dict[Any, Any] = {}
        self.names: dict[tuple[Any, Any], Name] = {}
        self.keys = Keys()

    def value(self, node: Any, depth: int) -> Any:
        """Return what a node describes; raise `ReleaseError` where it is broken or names what runs code."""
        self.budget.entries(1, SCHEMA, _NODE)
        if depth > _DEEPEST:
            raise ReleaseError(f"{SCHEMA} is nested deeper than {_DEEPEST} nodes")
        if not isinstance(node, dict) or not isinstance(node.get("__loader__"), str):
            raise ReleaseError(f"{SCHEMA} has a node without a loader")
        key = node.get("__id__")
        if key is not None and type(key) is not int:
            raise ReleaseError(f"{SCHEMA} has a node whose __id__ is not a number")
        if key is not None and key in self.known:
            return self.known[key]
        if node["__loader__"] == "CachedNode":
            raise ReleaseError(f"{SCHEMA} refers to a node {key} that does not come before it")
        loader = self.loaders.get(node["__loader__"], Reader.unknown)
        try:
            found = loader(self, node, depth + 1)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ReleaseError(f"a {node['__loader__'][:40]} is broken ({reason(error)})") from None
        if key is not None:
            self.known[key] = found
        return found

    def name(self, node: Node) -> Name:
        """Return the class or function that a node names."""
        module, name = node.get("__module__"), node.get("__class__")
        known = self.names.get((module, name)) if isinstance(module, str) and isinstance(name, str) else None
        if known is None:
            known = self.names[module, name] = vetted(module, name)
        return known

    def thing(self, node: Node, how: How, args: tuple[Any, ...] = (), state: Any = None) -> Thing:
        """Return the object of a node."""
        named = self.name(node)
        if how == "reduce":
            check_call(named, args)
        return Thing(named, how, args, state=state)

    def list_of(self, nodes: Any, depth: int) -> list[Any]:
        """Return the values of a list of nodes."""
        if not isinstance(nodes, list):
            raise ReleaseError(f"{SCHEMA} has something else where a list of nodes should stand")
        return [self.value(node, depth) for node in nodes]

    def unknown(self, node: Node, depth: int) -> Any:
        """Return what stands in a node of an unknown loader as the state of an object."""
        return self.thing(node, "newobj", state={k: v for k, v in node.items() if not k.startswith("__")})

    def json_value(self, node: Node, depth: int) -> Any:
        """Return a plain value that is written as JSON inside the JSON."""
        self.name(node)
        if not isinstance(node["content"], str):
            raise ReleaseError("a JsonNode is not text")
        return _json(node["content"])

    def mapping(self, node: Node, depth: int) -> Any:
        """Return a dict with its keys' types put back, or the object of another mapping class."""
        content, types = node["content"], self.list_of(node["key_types"]["content"], depth)
        if not isinstance(content, dict) or len(types) != len(content):
            raise ReleaseError("a DictNode has another number of keys than of their types")
        pairs = {}
        for (text, part), kind in zip(content.items(), types, strict=True):
            key = _key(text, kind)
            self.keys.check(key)
            pairs[key] = self.value(part, depth)
        named = self.name(node)
        return pairs if str(named) == "builtins.dict" else Thing(named, "reduce", pairs=pairs)

    def default_dict(self, node: Node, depth: int) -> Any:
        """Return a defaultdict, its factory only named."""
        thing = self.thing(node, "reduce", (self.value(node["content"]["default_factory"], depth),))
        thing.pairs.update(self.value(node["content"]["main"], depth))
        return thing

    def sequence(self, node: Node, depth: int) -> Any:
        """Return a list, tuple or set, or the object of a class derived from one."""
        parts, named = self.list_of(node["content"], depth), self.name(node)
        if str(named) == "builtins.list":
            return parts
        if str(named) == "builtins.tuple":
            return tuple(parts)
        if node["__loader__"] == "SetNode":
            for part in parts:
                self.keys.check(part)
            if named.module == "builtins":
                return set(parts)
        if node["__loader__"] == "TupleNode":
            return Thing(named, "newobj", tuple(parts))
        thing = Thing(named, "newobj")
        thing.items.extend(parts)
        return thing

    def named(self, node: Node, depth: int) -> Any:
        """Return a class or function (protocol 0 writes a function's name into the content)."""
        content = node.get("content")
        if isinstance(content, dict) and "function" in content:
            return vetted(content.get("module_path"), content["function"])
        return self.name(node)

    def partial(self, node: Node, depth: int) -> Any:
        """Return a functools.partial."""
        parts = tuple(self.value(node["content"][key], depth) for key in ("func", "args", "kwds", "namespace"))
        return self.thing(node, "reduce", (parts[0],), parts)

    def slice(self, node: Node, depth: int) -> Any:
        """Return a slice as the call that makes it."""
        parts = tuple(node["content"][key] for key in ("start", "stop", "step"))
        if not all(part is None or isinstance(part, (int, float, str)) for part in parts):
            raise ReleaseError("a SliceNode has something else than numbers")
        return self.thing(node, "reduce", parts)

    def object(self, node: Node, depth: int) -> Any:
        """Return an object with its attributes."""
        content = node.get("content")
        return self.thing(node, "newobj", state=None if content is None else self.value(content, depth))

    def constructed(self, node: Node, depth: int) -> Any:
        """Return an object that is made by calling its class."""
        return self.thing(node, "reduce", _tuple(self.value(node["content"], depth)))

    def reduced(self, node: Node, depth: int) -> Any:
        """Return an object that is made by a call and a state, such as the Tree of scikit-learn."""
        args = _tuple(self.value(node["__reduce__"]["args"], depth))
        return self.thing(node, "reduce", args, self.value(node["content"], depth))

    def method(self, node: Node, depth: int) -> Any:
        """Return a bound method as the getattr that a pickle has."""
        self.name(node)
        call = (self.value(node["content"]["obj"], depth), node["content"]["func"])
        check_call(Name("builtins", "getattr"), call)
        return Thing(Name("builtins", "getattr"), "reduce", call)

    def operator(self, node: Node, depth: int) -> Any:
        """Return an itemgetter, attrgetter or methodcaller."""
        return self.thing(node, "reduce", _tuple(self.value(node["attrs"], depth)))

    def bytes(self, node: Node, depth: int) -> Any:
        """Return the bytes of a member."""
        content = self.archive.read(node["file"])
        return bytearray(content) if node["__loader__"] == "BytearrayNode" else content

    def array(self, node: Node, depth: int) -> Any:
        """Return an array, a numpy scalar, or the Thing of an array of objects."""
        named = self.name(node)
        if node["type"] == "json":
            return _objects(self.list_of(node["content"], depth), _tuple(self.value(node["shape"], depth)))
        found = _read_npy(self.archive.read(node["file"]))
        return found[()] if found.ndim == 0 and named.name != "ndarray" else found

    def dtype(self, node: Node, depth: int) -> Any:
        """Return a dtype, which is written as that of an empty array."""
        return np.dtype(self.value(node["content"], depth).dtype)

    def sparse(self, node: Node, depth: int) -> Any:
        """Return a sparse matrix as an object with its arrays as attributes."""
        inner = Archive(self.archive.read(node["file"]), self.memory)
        arrays: Node = {name.removesuffix(".npy"): _read_npy(inner.read(name)) for name in inner.infos}
        if "shape" in arrays:
            arrays["_shape"] = tuple(int(part) for part in arrays.pop("shape"))
        return self.thing(node, "newobj", state=arrays)

    def with_parts(self, node: Node, depth: int) -> Any:
        """Return an object whose content is one node, or several under names (generators, masked arrays)."""
        content = node["content"]
        if "__loader__" in content:
            return self.thing(node, "newobj", state=self.value(content, depth))
        plain = {
            k: self.value(v, depth) if isinstance(v, dict) and "__loader__" in v else v for k, v in content.items()
        }
        return self.thing(node, "newobj", state=plain)


Reader.loaders = {
    "JsonNode": Reader.json_value, "DictNode": Reader.mapping, "DefaultDictNode": Reader.default_dict,
    "ListNode": Reader.sequence, "SetNode": Reader.sequence, "TupleNode": Reader.sequence,
    "FunctionNode": Reader.named, "TypeNode": Reader.named, "PartialNode": Reader.partial, "SliceNode": Reader.slice,
    "ObjectNode": Reader.object, "ConstructorFromReduceNode": Reader.constructed, "TreeNode": Reader.reduced,
    "LossNode": Reader.reduced, "ReduceNode": Reader.reduced, "QuantileForestNode": Reader.reduced,
    "MethodNode": Reader.method, "OperatorFuncNode": Reader.operator, "BytesNode": Reader.bytes,
    "BytearrayNode": Reader.bytes, "NdArrayNode": Reader.array, "DTypeNode": Reader.dtype,
    "SparseMatrixNode": Reader.sparse, "MaskedArrayNode": Reader.with_parts, "RandomStateNode": Reader.with_parts,
    "RandomGeneratorNode": Reader.with_parts, "_DictWithDeprecatedKeysNode": Reader.with_parts,
}  # fmt: skip


def _tuple(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        raise ReleaseError("something else stands where a tuple of arguments should stand")
    return value


def _key(text: str, kind: Any) -> Any:
    """Return a key of a dict, which JSON holds as text, as a value of its type."""
    name = kind.name if isinstance(kind, Name) else ""
    try:
        if name in {"bool", "bool_"}:
            return {"true": True, "True": True, "false": False, "False": False}[text]
        if name == "NoneType":
            return None
        if name.startswith(("int", "uint", "long", "short")):
            return int(text)
        return float(text) if name.startswith(("float", "double", "half")) else text
    except (ValueError, KeyError):
        raise ReleaseError(f"{text[:80]!r} is not a key of type {name}") from None


def _objects(items: list[Any], shape: tuple[Any, ...]) -> Thing:
    """Return an array of objects as numpy's pickles describe it; items of more than one dimension are nested lists."""
    for _ in shape[1:]:
        if not all(isinstance(item, list) for item in items):
            raise ReleaseError("an array of objects has another shape than its content")
        items = [part for item in items for part in item]
    dtype = Thing(Name("numpy", "dtype"), "reduce", ("O8", False, True), state=(3, "|", None, None, None, -1, -1, 63))
    made = (Name("numpy", "ndarray"), (0,), b"b")
    return Thing(Name("numpy.core.multiarray", "_reconstruct"), "reduce", made, state=(1, shape, dtype, False, items))
