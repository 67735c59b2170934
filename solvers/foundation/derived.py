"""What was worked out about one object, kept with it: every room keeps its own results, under a class of its own.

A part is made empty when it is first asked for, typed by its class, and no room can name another room's part without
importing it. What is kept must follow from the object alone (and from limits, where it says so), so that no answer
depends on what was asked before. An object that is made from another one (`dataclasses.replace`) starts with nothing.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


class Derived:
    """The parts kept with one object, at most one of each class."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: dict[type, object] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __reduce__(self) -> tuple[type[Derived], tuple[()]]:
        """Copy and pickle as one without parts: they are worked out anew, and some (locks, solvers) cannot travel."""
        return Derived, ()

    def __contains__(self, kind: type) -> bool:
        return kind in self._parts

    def part(self, kind: type[T]) -> T:
        """Return the part of this class, `kind()` where it was not asked for before."""
        found = self._parts.get(kind)
        if not isinstance(found, kind):
            found = self._parts[kind] = kind()
        return found
