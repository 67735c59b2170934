"""R objects out of .rds files: a small reader of R's serialization format, versions 2 and 3, binary and ASCII.

The format is that of R's src/main/serialize.c (described in "R Internals", section 1.8). Nothing is evaluated: code and
environments are data here. Lengths are checked against what is left of the file, nesting against a limit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recon.io.files.opening import budget_within, current
from recon.readers.stored.pickled.stored_files import beginning, compression, decompress
from solvers.foundation.errors import ReleaseError

DEEPEST = 150  # objects inside each other; long lists are not deep
MAX_OBJECTS = 5_000_000  # objects
_EACH = 250  # bytes charged for an object: itself, its attributes and its place
_LINE = 60  # bytes charged for a line of the ASCII form
_NOTHING = {254, 253, 252, 251, 250, 242, 241}  # NULL, the global and base environments, and such
_PAIRS = {2, 3, 5, 6, 17, 239, 240}  # pairlists, closures, promises, calls, dots
_CODE_PAIRS = {2, 6, 239, 240, 244}
_SEVERAL = (b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n")  # how .RData files begin: a pairlist of named objects
_ESCAPES = {"n": "\n", "t": "\t", "v": "\v", "b": "\b", "r": "\r", "f": "\f", "a": "\a"}


@dataclass
class RObject:
    """An R object: its kind ("integer", "double", "list", "environment", "call", ...), values and attributes.

    Atomic vectors have arrays or lists of texts (NA: None) as values, lists have objects, pairlists and environments
    pairs of a name and an object.
    """

    kind: str
    values: Any
    attributes: dict[str, RObject] = field(default_factory=dict)

    @property
    def classes(self) -> list[str]:
        """Return the object's S3 classes."""
        found = self.attributes.get("class")
        return [v for v in found.values if v] if found is not None and found.kind == "character" else []

    @property
    def parts(self) -> list[tuple[str, RObject]]:
        """Return the named parts of a list, pairlist or environment."""
        if self.kind == "list":
            names = self.attributes.get("names")
            notes = names.values if names is not None and names.kind == "character" else []
            return [(str(notes[i] or "") if i < len(notes) else "", v) for i, v in enumerate(self.values)]
        return (
            list(self.values)
            if self.kind in {"pairlist", "environment", "call", "closure", "promise", "code", "pointer"}
            else []
        )


def is_rds(data: bytes) -> bool:
    """Return whether the content, after decompression, begins as R's serialization does."""
    packed = compression(data)
    if packed in {"lz4", "old"}:
        return False
    head = data[:32] if packed is None else beginning(data, packed)[:32]
    head = head[5:] if head[:5] in _SEVERAL else head
    return (head[:2] == b"X\n" and head[2:5] == b"\0\0\0") or re.match(rb"A\r?\n[23]\r?\n\d+\r?\n", head) is not None


_LONGEST_ENCODING = 40  # characters
_LONGEST_NAME = 64  # characters of the only object of a workspace: longer ones may hold something else


def read_rds(data: bytes, memory: int = 1 << 30) -> RObject:
    """Return the object in an .rds file, or the only one in an .RData file (of several the pairlist of all).

    Raises `ReleaseError` where it is broken, too large or too deep.
    """
    with budget_within(memory):
        return _unserialized(data, memory)


def _unserialized(data: bytes, memory: int) -> RObject:
    packed = compression(data)
    content = data if packed is None else decompress(data, packed, memory)
    workspace = content[:5] in _SEVERAL
    content = content[5:] if workspace else content
    source: _Binary = _Binary(content) if content[:1] == b"X" else _Text(content)
    try:
        version = source.integer()
        source.integer(), source.integer()
        if version not in {2, 3}:
            raise ReleaseError(f"version {version} of R's serialization is not read: saveRDS(m, version = 2)")
        if version == 3:
            size = source.integer()
            if size > _LONGEST_ENCODING:
                raise ReleaseError(f"the name of its encoding has {size:,} characters: no encoding of R has")
            source.text(size)
        found = _RdsReader(source).item(0)
        if source.rest():
            raise ReleaseError(f"{source.rest():,} bytes follow the R object: they would be a second, unread content")
        named = found.parts if workspace and found.kind == "pairlist" else []
        return named[0][1] if len(named) == 1 and len(named[0][0]) <= _LONGEST_NAME else found
    except RecursionError:
        raise ReleaseError("the R object is nested too deeply") from None
    except ReleaseError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise ReleaseError(f"the R object is broken ({error})") from None


class _Binary:
    """Numbers and texts in R's binary (XDR) form."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 2

    def take(self, size: int) -> bytes:
        if size < 0 or size > len(self.data) - self.at:
            raise ReleaseError(f"byte {self.at:,}: the R object is cut short")
        current().bytes(2 * size, "the R object")
        self.at += size
        return self.data[self.at - size : self.at]

    def rest(self) -> int:
        """Return how many bytes are left."""
        return len(self.data) - self.at

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def integers(self, size: int) -> Any:
        return np.frombuffer(self.take(4 * size), ">i4").astype(np.int32)

    def doubles(self, size: int) -> Any:
        return np.frombuffer(self.take(8 * size), ">f8").astype(np.float64)

    def raw(self, size: int) -> bytes:
        return self.take(size)

    def text(self, size: int) -> str:
        return self.take(size).decode("utf-8", "replace")


class _Text(_Binary):
    """The same in R's ASCII form: one number or text a line."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        current().bytes(2 * len(data) + _LINE * data.count(b"\n"), "the R object")
        self.lines = data.decode("latin1").split("\n")
        self.at = 1

    def rest(self) -> int:
        """Return how many bytes are left, blank lines aside."""
        return sum(len(line.strip()) for line in self.lines[self.at :])

    def line(self) -> str:
        if self.at >= len(self.lines):
            raise ReleaseError(f"line {self.at:,}: the R object is cut short")
        self.at += 1
        return self.lines[self.at - 1].strip("\r")

    def number(self) -> float:
        text = self.line().strip()
        try:
            return float({"NA": "nan", "NaN": "nan"}.get(text, text))
        except ValueError:
            raise ReleaseError(f"line {self.at:,}: {text[:40]!r} is not a number") from None

    def integer(self) -> int:
        value = self.number()
        if math.isnan(value):
            return -(1 << 31)
        if abs(value) > 1 << 53 or value != int(value):
            raise ReleaseError(f"line {self.at:,}: {value} is not a whole number")
        return int(value)

    def left(self, size: int) -> int:
        if not 0 <= size <= len(self.lines) - self.at:
            raise ReleaseError(f"line {self.at:,}: the R object is cut short")
        return size

    def integers(self, size: int) -> Any:
        return np.array([self.integer() for _ in range(self.left(size))], dtype=np.int64)

    def doubles(self, size: int) -> Any:
        return np.array([self.number() for _ in range(self.left(size))], dtype=float)

    def raw(self, size: int) -> bytes:
        try:
            return bytes(int(self.line(), 16) for _ in range(self.left(size)))
        except ValueError:
            raise ReleaseError(f"line {self.at:,}: no byte in hexadecimal digits") from None

    def text(self, size: int) -> str:
        text = self.line()
        plain = re.sub(r"\\([0-7]{1,3}|.)", self._unescaped, text)
        return plain.encode("latin1", "replace").decode("utf-8", "replace")

    @staticmethod
    def _unescaped(found: re.Match[str]) -> str:
        code = found.group(1)
        return chr(int(code, 8) & 255) if code[0] in "01234567" else _ESCAPES.get(code, code)


class _RdsReader:
    """Reads items; symbols, environments and namespaces are numbered for later references."""

    def __init__(self, source: _Binary) -> None:
        self.source = source
        self.known: list[RObject] = []
        self.met = 0
        self.budget = current()

    def item(self, depth: int) -> RObject:
        """Return the next item."""
        flags = self.source.integer()
        kind = flags & 255
        self.met += 1
        self.budget.entries(1, "the R object", _EACH)
        if depth > DEEPEST or self.met > MAX_OBJECTS:
            raise ReleaseError(f"the R object has more than {DEEPEST} levels or {MAX_OBJECTS:,} parts")
        if kind in _NOTHING:
            return RObject("nothing", None)
        if kind in _PAIRS:
            return self.pairs(flags, depth)
        if kind == 255:
            number = flags >> 8 or self.source.integer()
            if not 1 <= number <= len(self.known):
                raise ReleaseError(f"a reference to object {number:,} of {len(self.known):,}")
            return RObject("reference", self.known[number - 1])
        if kind in {1, 4, 22, 23, 247, 248, 249}:
            return self.remembered(kind, depth)
        if kind == 238:
            return self.compact(depth)
        if kind == 21:
            self.source.integer()
            return self.code(depth)
        found = self.vector(kind, flags, depth)
        if flags & 0x200:
            found.attributes = dict(self.item(depth + 1).parts)
        return found

    def vector(self, kind: int, flags: int, depth: int) -> RObject:
        """Return an atomic vector, list, text or built-in function, without its attributes."""
        source = self.source
        if kind == 25:
            return RObject("S4", None)
        size = source.integer()
        if kind == 9:
            return RObject("text", None if size == -1 else source.text(size))
        if size == -1:
            size = (source.integer() << 32) + (source.integer() & 0xFFFFFFFF)
        if kind in {7, 8}:
            return RObject("builtin", source.text(size))
        if kind in {10, 13}:
            return RObject("integer" if kind == 13 else "logical", source.integers(size))
        if kind == 14:
            return RObject("double", source.doubles(size))
        if kind == 15:
            return RObject("complex", source.doubles(2 * size))
        if kind == 24:
            return RObject("raw", source.raw(size))
        if kind not in {16, 19, 20} or size < 0:
            raise ReleaseError(f"the R object has a part of the unknown type {kind}")
        inner = []
        for _ in range(size):
            inner.append(self.item(depth + 1))
        return RObject("character", [t.values for t in inner]) if kind == 16 else RObject("list", inner)

    def pairs(self, flags: int, depth: int) -> RObject:
        """Return a pairlist, call or closure; the tail of a list is followed, not entered."""
        kind = {3: "closure", 5: "promise", 6: "call", 240: "call"}.get(flags & 255, "pairlist")
        attributes: dict[str, RObject] = {}
        found: list[tuple[str, RObject]] = []
        while True:
            if flags & 0x200 or flags & 255 in {239, 240}:
                held = dict(self.item(depth + 1).parts)
                if attributes and held:
                    found.append(("(attributes)", RObject("pairlist", list(held.items()))))
                attributes = attributes or held
            tag = self.item(depth + 1) if flags & 0x400 else None
            if (flags & 255 == 3 and tag is not None) or (
                flags & 255 == 5 and tag is not None
            ):  # a closure: environment, arguments, body
                found.append(("(environment)", tag))
            name = _symbol(tag)
            found.append((name, self.item(depth + 1)))
            self.met += 1
            self.budget.entries(1, "the R object", _EACH)
            if self.met > MAX_OBJECTS:
                raise ReleaseError(f"the R object has more than {MAX_OBJECTS:,} parts")
            if kind == "closure":
                found.append(("(body)", self.item(depth + 1)))
                break
            flags = self.source.integer()
            if flags & 255 not in _PAIRS - {3}:
                if flags & 255 not in _NOTHING:
                    self.put_back()
                    found.append(("", self.item(depth + 1)))
                break
        return RObject(kind, found, attributes)

    def put_back(self) -> None:
        """Undo the reading of one integer."""
        self.source.at -= 1 if isinstance(self.source, _Text) else 4

    def remembered(self, kind: int, depth: int) -> RObject:
        """Return a symbol, environment, pointer or namespace, numbered for references."""
        found = RObject("symbol", "")
        if kind == 1:
            found.values = self.item(depth + 1).values
            self.known.append(found)
            return found
        if kind in {247, 248, 249}:
            found.kind = "namespace"
            self.source.integer()
            found.values = [self.item(depth + 1).values for _ in range(max(0, self.source.integer()))]
            self.known.append(found)
            return found
        self.known.append(found)
        if kind == 4:
            found.kind = "environment"
            self.source.integer()
            above, frame, table, held = (self.item(depth + 1) for _ in range(4))
            found.values = [("(enclosing)", above), *frame.parts]
            noted = [one.attributes for one in (frame, table) if one.attributes]
            found.values += [("(attributes)", RObject("pairlist", list(one.items()))) for one in noted]
            found.values += [("(table)", table)] if table.kind not in {"list", "nothing"} else []
            found.values += [pair for bucket in table.values or [] if table.kind == "list" for pair in bucket.parts]
            found.attributes = dict(held.parts)
        elif kind == 22:
            found.kind = "pointer"
            found.values = [("", self.item(depth + 1)), ("", self.item(depth + 1))]
        return found

    def compact(self, depth: int) -> RObject:
        """Return a vector stored in a shorter form (ALTREP): a sequence, texts of numbers, a wrapped vector."""
        info, state, held = (self.item(depth + 1) for _ in range(3))
        name = info.values[0][1] if info.kind == "pairlist" and info.values else info
        name = name.values if name.kind == "reference" else name
        what, attributes = str(name.values), dict(held.parts)
        if what.startswith("compact_") and state.kind == "double" and len(state.values) == 3:
            size, first, step = state.values
            if not 0 <= size <= MAX_OBJECTS:
                raise ReleaseError(f"a sequence of {size:g} numbers")
            self.budget.bytes(8 * int(size), "the R object")
            self.met += int(size)  # so that a few bytes cannot ask for all the memory, again and again
            kind = "integer" if "int" in what else "double"
            return RObject(kind, first + step * np.arange(int(size)), attributes)
        inner = [part for _, part in state.parts]
        if inner:
            if what == "deferred_string":
                self.budget.bytes(80 * np.size(inner[0].values), "the R object")
                return RObject("character", [str(v) for v in np.asarray(inner[0].values).tolist()], attributes)
            return RObject(inner[0].kind, inner[0].values, {**inner[0].attributes, **attributes})
        return RObject("unknown", None, attributes)

    def code(self, depth: int) -> RObject:
        """Read over compiled code; its constants may hold references that are numbered."""
        parts = [("(instructions)", self.item(depth + 1))]
        for _ in range(max(0, self.source.integer())):
            kind = self.source.integer()
            if kind == 21:
                parts.append(("", self.code(depth + 1)))
            elif kind in _CODE_PAIRS or kind == 243:
                parts.append(("", self.code_pairs(kind, depth + 1)))
            else:
                parts.append(("", self.item(depth + 1)))
        return RObject("code", parts)

    def code_pairs(self, kind: int, depth: int) -> RObject:
        """Read over a call inside compiled code."""
        if depth > DEEPEST:
            raise ReleaseError(f"the R object has more than {DEEPEST} levels")
        if kind == 243:
            self.source.integer()
            return RObject("call", [])
        if kind not in _CODE_PAIRS:
            return self.item(depth + 1)
        found = []
        while True:
            if kind == 244:
                self.source.integer()
                kind = self.source.integer()
            if kind in {239, 240}:
                found.append(("(attributes)", self.item(depth + 1)))
            tag = self.item(depth + 1)
            found.append((_symbol(tag), self.code_pairs(self.source.integer(), depth + 1)))
            kind = self.source.integer()
            if kind not in _CODE_PAIRS:
                break
        found.append(("", self.code_pairs(kind, depth + 1)))
        return RObject("call", found)


def _symbol(tag: RObject | None) -> str:
    if tag is None:
        return ""
    name = tag.values if tag.kind == "reference" else tag
    return str(name.values) if isinstance(name, RObject) and name.kind == "symbol" else ""
