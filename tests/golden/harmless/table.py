"""Makes recon/readers/inspection/ledger/attributes.json from the fits of `fits.py`: what attributes hold.

    python tests/golden/harmless/table.py FITS [grow]

`grow`: what is in the table stays, and the fits of other versions are added to it.

Per class and attribute: whether both fits of every variant have the same bytes there ("same"), the most bytes it had,
the shapes it had in terms of rows n, columns d and classes k, the texts that stood there where they were the same (long
ones by their SHA-256), and of which kinds the values in it were (`recon.readers.inspection.ledger.entries.letter_of`).
"""

from __future__ import annotations

import json
import pickle
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from recon.readers.inspection.ledger.entries import _PARTS, class_key, parts_of, told_text
from recon.readers.inspection.objects.entries import _held_attributes
from recon.readers.inspection.objects.traversal import traverse
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored

ROWS, COLUMNS, CLASSES = 61, 7, 3
OUT = Path(__file__).parents[3] / "recon" / "readers" / "inspection" / "ledger" / "attributes.json"
OTHERS = ("imodels", "lightgbm", "xgboost", "catboost", "pydl8.5", "pystreed", "corels")  # golden files, one by one


def shape_of_parts(value):
    """Return the shape of an array or the length of a list, dict or set; None of a plain value."""
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    return (len(value),) if isinstance(value, _PARTS) else None


def form(value):
    """Return the bytes of a value, objects in it by their class."""
    if isinstance(value, Thing):
        return f"<{class_key(value)}>"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict | list | tuple | set | frozenset | np.ndarray):
        parts = parts_of(value)
        return (
            type(value).__name__,
            *(sorted(map(repr, map(form, parts))) if isinstance(value, set | frozenset) else map(form, parts)),
        )
    return repr(value)


def attributes(data):
    """Return class -> attribute -> what objects of a pickle hold there."""
    found = defaultdict(lambda: defaultdict(list))
    places = list(traverse(open_stored(data).root))
    parts = defaultdict(list)
    for place in places:
        parts[id(place.owner), place.attribute].append(place.value)
    for held in _held_attributes(places):
        if held.first.owner is not None:
            values = parts[id(held.first.owner), held.first.attribute]
            found[class_key(held.first.owner)][held.first.attribute].append((held, values))
    return found


def symbols(shape):
    """Return a shape in terms of rows, columns and classes."""
    return [{ROWS: "n", COLUMNS: "d", CLASSES: "k"}.get(s, s) for s in shape]


class Table:
    def __init__(self, known=None):
        self.found = defaultdict(dict)
        self.names = set(known["names"]) if known else set()
        for kind, held in known["classes"].items() if known else ():
            for name, (same, size, shapes, texts, forms) in held.items():
                self.found[kind][name] = {"same": same, "size": size, "shapes": set(map(json.dumps, shapes)),
                                          "texts": set(texts), "forms": set(forms)}  # fmt: skip

    def add(self, a, b=None):
        """Add two fits on different rows, or a file by itself."""
        one, other = attributes(a), attributes(a if b is None else b)
        for kind, attributes_of in one.items():
            for name, values in attributes_of.items():
                others = other.get(kind, {}).get(name, [])
                new = {"same": 2 if b is None else 1, "size": 0, "shapes": set(), "texts": set(),
                       "forms": set()}  # fmt: skip
                entry = self.found[kind].setdefault(name, new)
                same = {repr([form(v) for v in vs]) for _, vs in values} == {
                    repr([form(v) for v in vs]) for _, vs in others
                }
                if b is not None:
                    entry["same"] = int(same and entry["same"] > 0)
                for held, parts in [*values, *others]:
                    entry["size"] = max(entry["size"], held.bytes)
                    entry["forms"] |= held.forms
                    shapes = [s for s in map(shape_of_parts, parts) if s is not None]
                    entry["shapes"] |= {json.dumps(symbols(s)) for s in shapes}
                    if same:
                        entry["texts"] |= set(map(told_text, held.texts))
                    for value in parts:
                        self.names |= {str(p) for p in [value, *parts_of(value)] if isinstance(p, Name)}

    def add_forms(self, data):
        """Add of which kinds values are in a model that was fitted otherwise than all of those fits."""
        for kind, held_in in attributes(data).items():
            for name, values in held_in.items():
                if name in self.found.get(kind, {}):
                    self.found[kind][name]["forms"].update(*(held.forms for held, _ in values))


def pairs(file):
    """Yield the pairs of pickles in a file."""
    with file.open("rb") as opened:
        while True:
            try:
                yield pickle.load(opened)
            except (EOFError, pickle.UnpicklingError):  # its process may have been stopped in the middle
                return


def main():
    known = json.loads(OUT.read_text(encoding="utf-8")) if "grow" in sys.argv[2:] else None
    table = Table(known)
    for file in sorted(Path(sys.argv[1]).glob("*/*.pickles")):
        for a, b in pairs(file):
            table.add(a, b)
        print(file, len(table.found), flush=True)
    golden = OUT.parents[3] / "tests" / "golden" / "models"
    for library in () if known else OTHERS:
        for file in sorted(golden.glob(f"{library}*/*.pkl")):
            table.add(file.read_bytes())
    for file in sorted(golden.glob("sklearn-*/*.pkl")):
        table.add_forms(file.read_bytes())
    out = {
        kind: {
            name: [
                int(e["same"]),
                e["size"],
                sorted(map(json.loads, e["shapes"]), key=str)[:12],
                sorted(e["texts"])[:40],
                sorted(e["forms"]),
            ]
            for name, e in sorted(held.items())
        }
        for kind, held in sorted(table.found.items())
    }
    OUT.write_text(json.dumps({"names": sorted(table.names), "classes": out}, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
