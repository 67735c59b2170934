"""Every value that stands in a graph of stored objects, each once, with the path a user would write to reach it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recon.io.files.budget import current
from recon.readers.stored.objects.arrays import extra_bytes, is_scalar, resolve
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.objects.things import Thing
from solvers.foundation.errors import ReleaseError

_LONG = 400  # steps of a path that are shown
MAX_VALUES = 5_000_000  # values; a forest of 1,000 trees has about 30,000
DEEPEST = 100_000  # values inside values; honest chains (the leaves of Birch) have thousands
_PLACE = 300  # bytes charged for a value: its place and what is looked up about it
_SCALARS = (type(None), bool, int, float, complex, str, bytes, Name)
_MAPPINGS = frozenset({"OrderedDict", "defaultdict", "Counter"})
_SPARSE = ("csr_", "csc_", "coo_", "bsr_", "dia_", "dok_", "lil_")


@dataclass(frozen=True, slots=True)
class GraphPlace:
    """One value of the graph, and the way to it: the place above, the step from there, and how that is written.

    `owner` is the nearest object above it and `attribute` the attribute of it that leads here; `nested`: the value is
    not that attribute itself but stands inside it. Lists, tuples and dicts of plain values are one value. `holder` is
    the dict that a value with a key stands in. `extra`: bytes that the file has for the value beside what it is.
    """

    above: GraphPlace | None
    step: tuple[str | int, ...]
    shown: str
    owner: Thing | None
    attribute: str
    value: Any
    nested: bool = False
    holder: dict[Any, Any] | None = None
    depth: int = 0
    extra: int = 0

    @property
    def path(self) -> str:
        """Return the path as a user would write it; the middle of one with more than 400 steps is left out."""
        way = self.way
        shown = [place.shown for place in way]
        if len(shown) > _LONG:
            shown = [*shown[: _LONG // 2], ".(...)", *shown[-_LONG // 2 :]]
        return "".join(shown).removeprefix(".")

    @property
    def steps(self) -> tuple[str | int, ...]:
        """Return the path as attribute names, keys and positions."""
        return tuple(step for place in self.way for step in place.step)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of an array or sparse matrix, the length of a list; () for everything else."""
        return shape_of(self.value)

    @property
    def way(self) -> list[GraphPlace]:
        """Return the places from the root to this one."""
        found, place = [], self
        while True:
            found.append(place)
            if place.above is None:
                return found[::-1]
            place = place.above


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an array or sparse matrix, the length of a list or tuple; () for everything else."""
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return (len(value),)
    if is_sparse(value):
        shape = value.get("_shape", value.get("shape"))
        return tuple(s for s in shape if isinstance(s, int)) if isinstance(shape, tuple) else ()
    return ()


def entries_of(value: Any) -> int | None:
    """Return the length of an array, matrix or list, and of the rows in a search tree; None for everything else."""
    shape = shape_of(value)
    if not shape and isinstance(value, Thing) and isinstance(value.state, tuple) and value.state:
        shape = shape_of(resolve(value.state[0]))  # BallTree, KDTree: the rows come first
    return shape[0] if shape else None


def is_sparse(value: Any) -> bool:
    """Return whether the value is a sparse matrix or array of scipy."""
    return isinstance(value, Thing) and value.kind.startswith("scipy.sparse.") and value.class_name.startswith(_SPARSE)


def described(value: Any) -> str:
    """Return what a value is in a few words: its class, shape and type."""
    if isinstance(value, np.ndarray):
        shape = " x ".join(f"{s:,}" for s in value.shape) or "1"
        return f"{value.dtype.name if value.dtype.names is None else 'record'} array of {shape}"
    if is_sparse(value):
        return f"{value.class_name} of " + " x ".join(f"{s:,}" for s in shape_of(value))
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"{type(value).__name__} of {len(value):,}"
    if isinstance(value, Thing):
        return value.class_name
    return f"number {value}" if isinstance(value, (int, float)) else type(value).__name__


def traverse(root: Any) -> Iterator[GraphPlace]:
    """Yield every value below (and with) the root at each path that leads to it; what is inside it at the first only.

    Iterative, linear in the graph's references. Raises `ReleaseError` for broken arrays and for graphs of more than
    5,000,000 values, or 100,000 inside each other.
    """
    budget = current()
    known: dict[int, Any] = {}  # what stands for a Thing, by the Thing's id
    entered: set[int] = set()
    stack = [GraphPlace(None, (), "", None, "", root)]
    yielded = 0
    while stack:
        place = stack.pop()
        raw = place.value
        if isinstance(raw, Thing):
            if id(raw) not in known:
                known[id(raw)] = _seen_as(raw)
            if known[id(raw)] is not raw:
                place = replace(place, value=known[id(raw)], extra=extra_bytes(raw))
        yielded += 1
        if yielded > MAX_VALUES or len(stack) > MAX_VALUES:
            raise ReleaseError(f"the file holds more than {MAX_VALUES:,} values")
        if place.depth > DEEPEST:
            raise ReleaseError(f"the file holds more than {DEEPEST:,} values inside each other")
        budget.entries(1, "what the file holds", _PLACE)
        yield place
        if not isinstance(raw, _SCALARS) and id(raw) not in entered:
            entered.add(id(raw))
            stack.extend(reversed(_below(place)))


def things_of(places: list[GraphPlace]) -> list[Thing]:
    """Return the objects among the places, each once."""
    return list({id(p.value): p.value for p in places if isinstance(p.value, Thing)}.values())


def _seen_as(value: Thing) -> Any:
    """Return arrays and numpy scalars in place of the Things that describe them; other Things as they are."""
    if value.class_name in _MAPPINGS:
        return value
    library = value.callable.module.partition(".")[0]
    return (
        resolve(value)
        if value.how == "reduce" and library in {"numpy", "builtins", "__builtin__", "_codecs"}
        else value
    )


def _below(place: GraphPlace) -> list[GraphPlace]:
    """Return the values right below one."""
    value = place.value
    if isinstance(value, Thing):
        return [] if is_sparse(value) else _parts(place, value)
    inner: list[tuple[str, tuple[str | int, ...], Any]] = []
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            places = (tuple(int(i) for i in np.unravel_index(k, value.shape)) for k in range(value.size))
            inner = [("".join(f"[{i}]" for i in at), at, value[at]) for at in places]
    elif isinstance(value, dict):
        inner = [(f"[{_key(k)}]", (k,), v) for k, v in value.items()]
    elif isinstance(value, (list, tuple)):
        inner = [(f"[{i}]", (i,), v) for i, v in enumerate(value)]
    holder = value if isinstance(value, dict) else None
    seeded = holder is not None and any(isinstance(k, str) and k.endswith("random_state") for k in holder)
    if all(_is_plain(v) for _, _, v in inner) and not seeded:
        return []
    return [_inside(place, shown, step, v, place.owner, place.attribute, holder) for shown, step, v in inner]


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number or text, numpy's among them."""
    return isinstance(value, _SCALARS) or (isinstance(value, Thing) and is_scalar(value))


def _inside(
    place: GraphPlace, shown: str, step: tuple[str | int, ...], value: Any, owner: Thing | None, attribute: str,
    holder: dict[Any, Any] | None = None,
) -> GraphPlace:  # fmt: skip
    return GraphPlace(place, step, shown, owner, attribute, value, True, holder, place.depth + 1)


def _parts(place: GraphPlace, thing: Thing) -> list[GraphPlace]:
    """Return the attributes and items of a Thing, and what it would be called with where that says anything."""
    masked = thing.class_name == "MaskedArray" and place.owner is not None  # an array: what it stands in says of what

    def part(name: str, value: Any) -> GraphPlace:
        if masked:
            return _inside(place, f".{name}", (name,), value, place.owner, place.attribute)
        return GraphPlace(place, (name,), f".{name}", thing, name, value, depth=place.depth + 1)

    found = [part(str(k), v) for k, v in thing.fields().items()]
    if not found and thing.state is not None:
        found.append(part("(state)", thing.state))
    found += [_inside(place, f"[{i}]", (i,), v, thing, "") for i, v in enumerate(thing.items)]
    found += [
        replace(_inside(place, f"[{_key(k)}]", (k,), v, thing, k if isinstance(k, str) else ""), nested=False)
        for k, v in thing.pairs.items()
    ]
    given = [v for v in (*thing.args, *thing.kwargs.values()) if not isinstance(v, _SCALARS)]
    return found + [part(f"(argument {i})", v) for i, v in enumerate(given)]


def _key(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 40 else text[:37] + "..."
