"""Stored objects with one thing in them changed, and the sentence by which the reader refuses each."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from recon.readers.formats.detection import draft_of_object
from recon.readers.stored.binary.rds import RObject
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import ReconError

GONE = object()  # what stands for an attribute, a key or an item that is taken out


def named(value: Any) -> str:
    """Return what a case is called: the same in every process, so without the addresses of functions."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def root_of(model: Any) -> Any:
    """Return what the pickle of a model holds, as it is read without building it."""
    stored = open_stored(pickle.dumps(model))
    assert stored is not None
    return stored.root


def put(holder: Any, at: list[str], value: Any) -> Any:
    """Return an object with what stands at a path (attributes, keys, numbers of items) replaced; Things in place.

    A `value` that can be called is given what stood there.
    """
    if not at:
        return value(holder) if callable(value) else value
    key: Any = int(at[0]) if at[0].lstrip("-").isdigit() else at[0]
    if isinstance(holder, Thing):
        fields = dict(holder.fields())
        fields[key] = put(holder.get(key), at[1:], value)
        holder.state = {name: one for name, one in fields.items() if one is not GONE}
        return holder
    if isinstance(holder, np.ndarray):
        made = holder.copy()
        made[key] = put(holder[key], at[1:], value)
        return made
    if isinstance(holder, dict):
        made = {**holder, key: put(holder.get(key), at[1:], value)}
        return {name: one for name, one in made.items() if one is not GONE}
    items = list(holder)
    items[key] = put(items[key], at[1:], value)
    return type(holder)(one for one in items if one is not GONE)


def changed(root: Any, changes: dict[str, Any]) -> Any:
    """Return an object with what stands at some paths replaced, in this order."""
    for path, value in changes.items():
        root = put(root, path.split("."), value)
    return root


def in_r(value: RObject, at: list[str], new: Any) -> Any:
    """Return an R object with what stands at a path (names of parts, "@" of attributes, numbers) replaced."""
    if not at:
        return new(value) if callable(new) else new
    if at[0].startswith("@"):
        held = value.attributes or {}
        inner = in_r(held.get(at[0][1:]), at[1:], new)
        return RObject(value.kind, value.values, {**held, at[0][1:]: inner})
    names = [str(v) for v in (value.attributes or {}).get("names", RObject("character", [])).values]
    items = list(value.values)
    place = int(at[0]) if at[0].isdigit() else names.index(at[0])
    items[place] = in_r(items[place], at[1:], new)
    made = np.array(items) if isinstance(value.values, np.ndarray) else items
    return RObject(value.kind, made, value.attributes)


def sentence_of(read: Callable[..., Any], *given: Any) -> str:
    """Return by which sentence a reader refuses what it is given, "" where it reads it."""
    try:
        read(*given)
    except ReconError as error:
        return str(error)
    return ""


def refusal(model: Any, changes: dict[str, Any]) -> str:
    """Return by which sentence the pickle of a model with these changes is refused, "" where it is read."""
    return sentence_of(draft_of_object, changed(root_of(model), changes), "pickle")
