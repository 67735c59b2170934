"""Objects of a stored file that were never built: what would be called, with what, and the state it would get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from solvers.foundation.errors import ReleaseError

How = Literal["newobj", "newobj_ex", "reduce", "inst", "obj"]

# Functions that build an object of the class in their first argument: the class is what a reader asks for.
_BUILDERS = frozenset({"_reconstructor", "__newobj__", "__newobj_ex__", "_reconstruct", "_mareconstruct", "newObj"})


@dataclass(frozen=True, slots=True)
class Name:
    """A global that a file names: a class or a function, exactly as it stands there and never imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class RawThing:
    """An object that was never built: the class or function, how it would be called, and what it would be given.

    `state` is what `__setstate__` would get (pickle's BUILD; several are merged where they are dicts), `items` what
    would be appended and `pairs` what would be set by key. All of it is raw: arrays are such objects themselves.
    """

    __slots__ = ("_items", "_pairs", "_resolved", "args", "built", "callable", "how", "kwargs", "state")

    def __init__(
        self,
        callable: Name,
        how: How,
        args: tuple[Any, ...] = (),
        kwargs: dict[Any, Any] | None = None,
        state: Any = None,
        pairs: dict[Any, Any] | None = None,
    ) -> None:
        self.callable, self.how, self.args = callable, how, args
        self.kwargs: dict[Any, Any] = {} if kwargs is None else kwargs
        self.state: Any = state
        self.built = state is not None
        self._items: list[Any] | None = None
        self._pairs = pairs
        self._resolved: dict[str, tuple[Any, Any]] | None = None

    @property
    def items(self) -> list[Any]:
        """Return what would be appended to the object (a list that may be changed)."""
        if self._items is None:
            self._items = []
        return self._items

    @property
    def pairs(self) -> dict[Any, Any]:
        """Return what would be set in the object by key (a dict that may be changed)."""
        if self._pairs is None:
            self._pairs = {}
        return self._pairs

    def build(self, state: Any) -> None:
        """Record a state; dicts are merged, the later one wins, anything else replaces what stood there."""
        if self.built and isinstance(self.state, dict) and isinstance(state, dict):
            state = {**self.state, **state}
        self.state, self.built = state, True

    @property
    def kind(self) -> str:
        """Return the class in full, such as "sklearn.tree._classes.DecisionTreeClassifier", or the function."""
        name, first = self.callable.name, self.args[0] if self.args else None
        if isinstance(first, Name) and (name in _BUILDERS or name.startswith("__pyx_unpickle_")):
            return str(first)
        return str(self.callable)

    @property
    def class_name(self) -> str:
        """Return the last part of `kind`, such as "DecisionTreeClassifier"."""
        return self.kind.rpartition(".")[2]

    def fields(self) -> dict[Any, Any]:
        """Return the raw attributes: the state's dict, slots included (empty where the state is no dict)."""
        if isinstance(self.state, dict):
            return self.state
        if isinstance(self.state, tuple) and len(self.state) == 2 and isinstance(self.state[1], dict):
            plain, slots = self.state
            if plain is None or isinstance(plain, dict):
                return {**(plain or {}), **slots}
        return {}

    def is_bare(self) -> bool:
        """Return whether nothing would be appended, set by key or given by keyword."""
        return not (self._items or self._pairs or self.kwargs)

    def has(self, name: str) -> bool:
        """Return whether the state has the attribute."""
        return name in self.fields()

    def __repr__(self) -> str:
        return f"<{self.kind}, not built>"


class Keys:
    """Checks what may become a key of a dict or a member of a set, so that no file can make hashing expensive.

    Text and small numbers are hashed safely; tuples and long integers can be made to collide by the thousand (numbers
    are hashed without a secret), long ones are hashed and compared again and again. One object per file.
    """

    _LONGEST = 10_000  # characters; longer keys are compared in full at each clash
    _WIDEST = 32  # parts of a tuple
    _MAX = 16  # different keys of one hash value

    def __init__(self) -> None:
        self._same: dict[int, set[Any]] = {}

    def check(self, key: Any) -> None:
        """Raise `ReleaseError` for a key that no honest file has."""
        kind = type(key)
        if kind is str or kind is bytes:
            if len(key) > self._LONGEST:
                raise ReleaseError(f"a key has {len(key):,} characters")
        elif kind is int:
            if not -(1 << 60) < key < 1 << 60:
                self._count(key)
        elif kind is tuple or kind is frozenset:
            if len(key) > self._WIDEST or not all(self._is_short(part) for part in key):
                raise ReleaseError("a key is not a number, text or a short flat tuple of these")
            self._count(key)
        elif not (key is None or kind is bool or kind is float or kind is Name or issubclass(kind, RawThing)):
            raise ReleaseError(f"a key is a {kind.__name__}, not a number, text or a short flat tuple of these")

    def _is_short(self, part: Any) -> bool:
        if isinstance(part, (str, bytes)):
            return len(part) <= self._LONGEST
        if isinstance(part, int):
            return part.bit_length() <= 256
        return part is None or isinstance(part, (float, Name, RawThing))

    def _count(self, key: Any) -> None:
        if isinstance(key, int) and key.bit_length() > 4_096:
            raise ReleaseError("a key is a number of more than 4,096 bits")
        clash = self._same.setdefault(hash(key), set())
        clash.add(key)
        if len(clash) > self._MAX:
            raise ReleaseError(f"more than {self._MAX} keys have the same hash value: the file was made to hang")
