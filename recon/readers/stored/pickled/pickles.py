"""A machine for the language of pickle that builds nothing: classes become `Name`, objects become `Thing`.

It knows every opcode of protocols 0 to 5 (the opcodes are described in the standard library's pickletools) and calls
nothing that a file names. What a file could do is therefore to be large, deep or shared: opcodes, bytes of memory and
keys are bounded, and no opcode recurses. Files of Python 2 are read with their 8-bit strings as Latin-1.

Objects of a stored file that were never built, with their attributes resolved: arrays, numbers, mappings.
"""

from __future__ import annotations

import codecs
import pickle
import struct
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from recon.io.files.opening import current, size_text
from recon.readers.stored.objects.arrays import reachable_ids, resolve, weight
from recon.readers.stored.objects.raw import How, Keys, Name, RawThing, check_call, vetted, would_run
from solvers.foundation.errors import ReleaseError


class Thing(RawThing):
    """An object that was never built; `get` and `attributes` give resolved values.

    A value that is replaced in `state` is seen by both.
    """

    __slots__ = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """Return all attributes, resolved like `get` does."""
        return {name: self.get(name) for name in self.fields() if isinstance(name, str)}

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute: arrays as ndarrays (read-only), numpy scalars as Python numbers, mappings as dicts.

        Resolved once and kept as long as the raw value stays the same. Raises `ReleaseError` for a broken array.
        """
        fields = self.fields()
        if name not in fields:
            return default
        raw = fields[name]
        if self._resolved is None:
            self._resolved = {}
        known = self._resolved.get(name)
        if known is None or known[0] is not raw:
            known = self._resolved[name] = (raw, resolve(raw))
        return known[1]


MAX_OPCODES = 10_000_000
_CONTAINER = 350  # bytes charged for a list, dict, set or mark: what one takes with a few parts in it
_THING = 500  # bytes charged for an object that is not built
_IN_MEMO = 150  # bytes charged for a place in the memo, and for a small tuple
LOOK = (1 << 13) - 1  # opcodes between looks at the running budget
_LONGEST_FLOAT = 25  # characters of a float as text
_LONGEST_LINE = 5_000  # bytes of a number or name as text; reading a number takes quadratic time
_BROKEN = (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, struct.error, SyntaxError)


class PickleBudget:
    """What a pickle may still use of the command's running budget (told in large pieces): bytes, rough; and opcodes."""

    def __init__(self, memory: int, opcodes: int = MAX_OPCODES) -> None:
        self.above = current()
        self.limit = self.memory = self.told = min(memory, self.above.left)
        self.opcodes = opcodes

    def spend(self, size: int) -> None:
        """Take `size` bytes; raise `ReleaseError` where they are not there."""
        self.memory -= size
        if self.memory < 0:
            raise ReleaseError(f"the file asks for more than the {size_text(self.limit)} of memory allowed (--memory)")

    def settle(self) -> None:
        """Take from the running budget what was spent since the last time, and look at the clock."""
        spent, self.told = self.told - self.memory, self.memory
        self.above.bytes(spent)
        self.above.check()


class Machine:
    """One pickle inside `data`, from `start`; `run` returns its root and leaves `at` behind its last byte."""

    table: ClassVar[list[Callable[[Machine], None]]] = []

    def __init__(self, data: bytes, budget: PickleBudget, start: int = 0) -> None:
        self.data, self.at, self.budget = data, start, budget
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.names: dict[tuple[Any, Any], Name] = {}
        self.keys = Keys()
        self.protocol = 0
        self.done = False
        self.lost: list[Any] = []  # what was taken off the stack, or replaced
        self.odd = 0  # bytes of arguments that no pickler writes so
        self.framed = 0  # where the last frame ends

    def run(self) -> Any:
        """Return the root of the pickle; raise `ReleaseError` where it is broken, too large or would run code."""
        data, table, limit = self.data, self.table, self.budget.opcodes
        begun = self.at
        try:
            for count in range(limit):
                if not count & LOOK:
                    self.budget.settle()
                begun = self.at
                code = data[begun]
                self.at = begun + 1
                table[code](self)
                if self.done:
                    self.budget.settle()
                    self.budget.opcodes -= count  # of a pickle inside a pickle: both count
                    root = self.stack.pop()
                    self.odd += _unreached_bytes(self.lost, root)
                    return root
            raise ReleaseError(f"the pickle has more than {MAX_OPCODES:,} opcodes")
        except ReleaseError as error:
            raise error.at(place=error.place or f"byte {begun:,}") from None
        except _BROKEN as error:
            raise self.broken(begun, error) from None
        except (MemoryError, RecursionError):
            raise ReleaseError("the pickle asks for more memory than there is", place=f"byte {begun:,}") from None

    def broken(self, begun: int, error: BaseException) -> ReleaseError:
        """Return what is wrong with the opcode at `begun`."""
        place = f"byte {begun:,}"
        if begun >= len(self.data):
            return ReleaseError("the pickle ends before its end is marked: the file is cut short", place=place)
        if isinstance(error, IndexError):
            return ReleaseError("the pickle is broken: an opcode lacks its argument", place=place)
        return ReleaseError(f"the pickle is broken ({str(error)[:100]})", place=place)

    # what opcodes share
    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        begun = self.at
        if size < 0 or size > len(self.data) - begun:
            raise ReleaseError(f"{size:,} bytes should follow, {len(self.data) - begun:,} are there")
        self.at = begun + size
        return self.data[begun : self.at]

    def number(self, size: int) -> int:
        """Return the next unsigned little-endian number of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def line(self) -> bytes:
        """Return the text up to the end of the line, without it."""
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise ReleaseError("a line of text should follow, the file ends before its end")
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def short_line(self) -> bytes:
        """Return a line that is no string: a number or a name."""
        found = self.line()
        if len(found) > _LONGEST_LINE:
            raise ReleaseError(f"a number or name of {len(found):,} characters")
        return found

    def push_large(self, value: str | bytes | bytearray | int) -> None:
        """Push a value that has a size, and pay for it."""
        self.budget.spend(value.__sizeof__() + 8)
        self.stack.append(value)

    def push_new(self, value: Any) -> None:
        """Push an empty container, and pay for it."""
        self.budget.spend(_CONTAINER)
        self.stack.append(value)

    def pop_mark(self) -> list[Any]:
        """Return what was pushed since the last mark."""
        items = self.stack
        self.stack = self.marked.pop()
        return items

    def name(self, module: Any, name: Any) -> Name:
        """Return the name, one object for each however often it is named."""
        known = self.names.get((module, name)) if isinstance(module, str) and isinstance(name, str) else None
        if known is None:
            self.budget.spend(200)
            known = self.names[module, name] = vetted(module, name)
        return known

    def push_thing(self, function: Any, how: How, args: Any, kwargs: Any = None) -> None:
        """Push the object that would be made by calling `function`."""
        if not isinstance(function, Name):
            raise ReleaseError("the pickle calls something that is not a named class or function: it is refused")
        if not isinstance(args, tuple) or not (kwargs is None or isinstance(kwargs, dict)):
            raise ReleaseError(f"the arguments of {function} are no tuple")
        if how == "reduce":
            check_call(function, args)
        elif function.name in {"getattr", "type"}:
            raise would_run(str(function))
        self.budget.spend(_THING)
        self.stack.append(Thing(function, how, args, kwargs))

    def remember(self, index: int) -> None:
        """Put the top of the stack into the memo."""
        if not 0 <= index < 1 << 32:
            raise ReleaseError(f"the memo has no place {index}")
        self.budget.spend(_IN_MEMO)
        if index not in {len(self.memo), len(self.memo) + 1}:  # picklers number from 0 or 1 on
            self.odd += 4
        self.memo[index] = self.stack[-1]

    def recall(self, index: int) -> None:
        """Push what is in the memo."""
        if index not in self.memo:
            raise ReleaseError(f"the memo has nothing at {index}")
        self.stack.append(self.memo[index])

    def fill(self, items: list[Any]) -> None:
        """Append to the list or object on top of the stack."""
        target = self.stack[-1]
        self.budget.spend(10 * len(items))
        if isinstance(target, Thing):
            target = target.items
        if type(target) is not list:
            raise ReleaseError("the pickle is broken: something is appended to what is not a list")
        target.extend(items)

    def set_pairs(self, items: list[Any]) -> None:
        """Set keys and values in the dict or object on top of the stack."""
        self.insert(self.stack[-1], items)

    def insert(self, target: Any, items: list[Any]) -> None:
        """Set keys and values, in turn in `items`, in a dict or object."""
        if isinstance(target, Thing):
            target = target.pairs
        if type(target) is not dict or len(items) % 2:
            raise ReleaseError("the pickle is broken: a key is set in what is not a dict")
        self.budget.spend(50 * len(items))
        check = self.keys.check
        for i in range(0, len(items), 2):
            check(items[i])
            if items[i] in target:
                self.lost.append(target[items[i]])
            target[items[i]] = items[i + 1]

    def members(self, items: list[Any]) -> list[Any]:
        """Return the items after checking that they may be members of a set."""
        self.budget.spend(70 * len(items))
        for item in items:
            self.keys.check(item)
        return items

    # opcodes with a body of their own
    def build(self) -> None:
        """Record the state that stands on the stack in the object below it."""
        state = self.stack.pop()
        target = self.stack[-1]
        if not isinstance(target, Thing):
            raise ReleaseError("the pickle gives a state to what is not an object: it is refused")
        if target.built and isinstance(target.state, dict):
            self.budget.spend(100 * len(target.state))
        if target.built:
            self.lost.append(target.state)
        target.build(state)

    def add_members(self) -> None:
        """Add to the set on top of the stack."""
        items = self.members(self.pop_mark())
        if type(self.stack[-1]) is not set:
            raise ReleaseError("the pickle is broken: a member is added to what is not a set")
        self.stack[-1].update(items)

    def frame(self) -> None:
        """Check the length of a frame; frames matter to readers of streams only."""
        size = self.number(8)
        self.odd += 8 if self.at < self.framed else 0  # frames do not stand inside each other
        self.framed = self.at + size
        if size > len(self.data) - self.at:
            raise ReleaseError(f"a frame of {size:,} bytes should follow, {len(self.data) - self.at:,} are there")

    def set_protocol(self) -> None:
        """Read the protocol's number."""
        self.odd += 2 if self.protocol else 0
        self.protocol = self.number(1)
        if self.protocol > pickle.HIGHEST_PROTOCOL:
            raise ReleaseError(f"protocol {self.protocol} of pickle is not known")

    def integer_text(self) -> None:
        """Push a number written as text; 00 and 01 are truth values."""
        text = self.short_line()
        value = text == b"01" if text in {b"00", b"01"} else int(text, 0)
        self.odd += max(0, len(text) - len(str(value)) - 1)
        self.stack.append(value)

    def float_text(self) -> None:
        """Push a number written as text; digits that no such number needs are told."""
        text = self.short_line()
        self.odd += max(0, len(text) - _LONGEST_FLOAT)
        self.stack.append(float(text))

    def string_text(self) -> None:
        """Push a quoted string of Python 2."""
        text = self.line().strip()
        if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in {b"'", b'"'}:
            raise ReleaseError("the pickle is broken: a string lacks its quotes")
        text = text[1:-1]
        if b"\\" in text:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # newer Pythons complain about escapes that older ones wrote
                text = codecs.escape_decode(text)[0]
        self.push_large(text.decode("latin1"))

    def pop(self) -> None:
        """Drop the top of the stack, or the mark where nothing stands above it."""
        if self.stack:
            self.lost.append(self.stack.pop())
        else:
            self.pop_marked()

    def pop_marked(self) -> None:
        """Drop what stands above the mark."""
        self.lost.extend(self.pop_mark())

    def mark(self) -> None:
        """Begin a new stack above this one."""
        self.budget.spend(_CONTAINER)
        self.marked.append(self.stack)
        self.stack = []

    def instance(self) -> None:
        """Push an object of a class that is named in the text (Python 2)."""
        module, name = self.short_line().decode("utf-8"), self.short_line().decode("utf-8")
        named = self.name(module, name)
        self.push_thing(named, "inst", tuple(self.pop_mark()))

    def marked_object(self) -> None:
        """Push an object of the class that stands above the mark (Python 2)."""
        function, *args = self.pop_mark()
        self.push_thing(function, "obj", tuple(args))

    def new_object_with_keywords(self) -> None:
        """Push what `__new__` would give, with keywords."""
        keywords, args = self.stack.pop(), self.stack.pop()
        self.push_thing(self.stack.pop(), "newobj_ex", args, keywords)

    def call(self, how: How) -> None:
        """Push what a class or function would give for the arguments on the stack."""
        args = self.stack.pop()
        self.push_thing(self.stack.pop(), how, args)

    def name_of_line(self) -> None:
        """Push a name that is written as two lines."""
        module, name = self.short_line().decode("utf-8"), self.short_line().decode("utf-8")
        self.stack.append(self.name(module, name))

    def name_of_stack(self) -> None:
        """Push a name whose two parts stand on the stack."""
        name = self.stack.pop()
        self.stack.append(self.name(self.stack.pop(), name))

    def tuple_of(self, size: int) -> None:
        """Push a tuple of the last `size` values."""
        if len(self.stack) < size:
            raise IndexError
        self.budget.spend(_IN_MEMO)
        self.stack[-size:] = [tuple(self.stack[-size:])]

    def tuple_of_mark(self) -> None:
        """Push a tuple of what stands above the mark."""
        items = self.pop_mark()
        self.budget.spend(48 + 8 * len(items))
        self.stack.append(tuple(items))

    def dict_of_mark(self) -> None:
        """Push a dict of what stands above the mark."""
        made: dict[Any, Any] = {}
        self.insert(made, self.pop_mark())
        self.push_new(made)

    def set_one(self) -> None:
        """Set one key."""
        value = self.stack.pop()
        key = self.stack.pop()
        self.set_pairs([key, value])

    def stop(self) -> None:
        """End the pickle."""
        if self.marked or len(self.stack) != 1:
            raise ReleaseError("the pickle is broken: it ends with more or less than one value")
        self.done = True


def _refuse(what: str) -> Callable[[Machine], None]:
    def opcode(machine: Machine) -> None:
        raise ReleaseError(what)

    return opcode


def _text(encoding: str, size: int) -> Callable[[Machine], None]:
    def opcode(machine: Machine) -> None:
        raw = machine.take(machine.number(size))
        machine.push_large(raw.decode(encoding, "surrogatepass" if encoding == "utf-8" else "strict"))

    return opcode


def _signed_text(machine: Machine) -> None:
    machine.push_large(machine.take(struct.unpack("<i", machine.take(4))[0]).decode("latin1"))


def _long(size: int) -> Callable[[Machine], None]:
    def opcode(machine: Machine) -> None:
        length = machine.number(size)
        machine.push_large(int.from_bytes(machine.take(length), "little", signed=True))

    return opcode


def _table() -> dict[bytes, Callable[[Machine], None]]:
    outside = _refuse("the pickle refers to objects outside of it (persistent id, buffer): it is refused")
    extension = _refuse("the pickle uses the registry of extensions, whose meaning is not in the file: it is refused")
    p = pickle
    return {
        p.PROTO: Machine.set_protocol, p.FRAME: Machine.frame, p.STOP: Machine.stop, p.MARK: Machine.mark,
        p.POP: Machine.pop, p.POP_MARK: Machine.pop_marked, p.DUP: lambda m: m.stack.append(m.stack[-1]),
        p.NONE: lambda m: m.stack.append(None), p.NEWTRUE: lambda m: m.stack.append(True),
        p.NEWFALSE: lambda m: m.stack.append(False), p.INT: Machine.integer_text,
        p.LONG: lambda m: m.stack.append(int(m.short_line().rstrip(b"L"), 0)),
        p.BININT: lambda m: m.stack.append(struct.unpack("<i", m.take(4))[0]),
        p.BININT1: lambda m: m.stack.append(m.number(1)), p.BININT2: lambda m: m.stack.append(m.number(2)),
        p.LONG1: _long(1), p.LONG4: _long(4), p.FLOAT: Machine.float_text,
        p.BINFLOAT: lambda m: m.stack.append(struct.unpack(">d", m.take(8))[0]),
        p.STRING: Machine.string_text, p.BINSTRING: _signed_text, p.SHORT_BINSTRING: _text("latin1", 1),
        p.UNICODE: lambda m: m.push_large(str(m.line(), "raw-unicode-escape")),
        p.BINUNICODE: _text("utf-8", 4), p.SHORT_BINUNICODE: _text("utf-8", 1), p.BINUNICODE8: _text("utf-8", 8),
        p.BINBYTES: lambda m: m.push_large(m.take(m.number(4))),
        p.BINBYTES8: lambda m: m.push_large(m.take(m.number(8))),
        p.SHORT_BINBYTES: lambda m: m.push_large(m.take(m.number(1))),
        p.BYTEARRAY8: lambda m: m.push_large(bytearray(m.take(m.number(8)))),
        p.NEXT_BUFFER: outside, p.PERSID: outside, p.BINPERSID: outside,
        p.READONLY_BUFFER: outside, p.EXT1: extension, p.EXT2: extension, p.EXT4: extension,
        p.EMPTY_LIST: lambda m: m.push_new([]), p.EMPTY_DICT: lambda m: m.push_new({}),
        p.EMPTY_SET: lambda m: m.push_new(set()), p.EMPTY_TUPLE: lambda m: m.stack.append(()),
        p.LIST: lambda m: m.push_new(m.pop_mark()), p.DICT: Machine.dict_of_mark,
        p.TUPLE: Machine.tuple_of_mark, p.TUPLE1: lambda m: m.tuple_of(1), p.TUPLE2: lambda m: m.tuple_of(2),
        p.TUPLE3: lambda m: m.tuple_of(3), p.FROZENSET: lambda m: m.push_new(frozenset(m.members(m.pop_mark()))),
        p.APPEND: lambda m: m.fill([m.stack.pop()]), p.APPENDS: lambda m: m.fill(m.pop_mark()),
        p.SETITEM: Machine.set_one, p.SETITEMS: lambda m: m.set_pairs(m.pop_mark()), p.ADDITEMS: Machine.add_members,
        p.GLOBAL: Machine.name_of_line, p.STACK_GLOBAL: Machine.name_of_stack, p.REDUCE: lambda m: m.call("reduce"),
        p.NEWOBJ: lambda m: m.call("newobj"), p.NEWOBJ_EX: Machine.new_object_with_keywords,
        p.INST: Machine.instance, p.OBJ: Machine.marked_object, p.BUILD: lambda m: m.build(),
        p.GET: lambda m: m.recall(int(m.short_line())), p.BINGET: lambda m: m.recall(m.number(1)),
        p.LONG_BINGET: lambda m: m.recall(m.number(4)), p.PUT: lambda m: m.remember(int(m.short_line())),
        p.BINPUT: lambda m: m.remember(m.number(1)), p.LONG_BINPUT: lambda m: m.remember(m.number(4)),
        p.MEMOIZE: lambda m: m.remember(len(m.memo)),
    }  # fmt: skip


_UNKNOWN = _refuse("the pickle is broken: no opcode begins here")
_KNOWN = _table()
Machine.table = [_KNOWN.get(bytes([code]), _UNKNOWN) for code in range(256)]


def _unreached_bytes(lost: list[Any], root: Any) -> int:
    """Return the bytes of what was dropped while a pickle was read and does not stand in its root; linear."""
    return weight(lost, reachable_ids(root), 1) if lost else 0


def check_end(data: bytes, end: int) -> None:
    """Raise `ReleaseError` where bytes follow the end of a pickle: they would be a second, unread content."""
    if end != len(data):
        raise ReleaseError(f"{len(data) - end:,} bytes follow the end of the pickle", place=f"byte {end:,}")
