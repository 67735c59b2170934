"""The ledger: what stands at every path of a file, with one status each, and what it keeps checks from being met.

The statuses: "used" (statements carry it), "implied" (computed from used figures, and it came out), "assumed" (it says
more to who knows the learner's rule only), "harmless" (a rule for this class and attribute, with a bound on its size),
"unused" (about training rows, and no statement carries it) and "unknown" (not understood). There is no status for a
class, a library or a kind of value.

How much a value of a stored graph can hold: its bytes, its texts, its form; objects in it are values by themselves.

What a value counts for is the most that somebody could write there, not what an honest file needs: a number eight
bytes, a long integer its bytes, a text its characters in UTF-8, a name its own, keys as values; a truth value by itself
holds nothing worth naming, in a list or dict (labels of rows may be one) a byte.

What is known of an attribute of a class stands in a table made from fits, or in a decision by hand. `attributes.json`
is made by tests/golden/harmless/table.py: which attributes of which class have the same bytes whatever the rows are,
how many, and in which shapes. `decided.txt` has a line per decision on what differs: what it is about, the classes,
the attributes, the most bytes per number of it that is harmless, and the reason; or which class of the table some
classes of other libraries extend.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from recon.readers.inspection.findings.findings import About, Finding, Level, not_understood, padding_finding
from recon.readers.stored.objects.arrays import extra_bytes, is_scalar
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing

OPTION = 40  # letters of a text that is an option
NUMBER = 8  # bytes that a float, and an integer up to them, counts for
_PARTS = (dict, list, tuple, set, frozenset)


def size_of(value: Any) -> int:
    """Return the bytes of a value, keys of dicts included; objects and names in it count nothing.

    A value that stands in several places counts once. Iterative, linear in what there is.
    """
    if not has_parts(value):
        return _plain_bytes(value)
    return sum(map(size_in_list, _plain_parts(value)))


def size_in_list(value: Any) -> int:
    """Return the bytes that a plain value counts for where others stand beside it: at least one."""
    if isinstance(value, Name):
        return len(str(value))
    return 0 if isinstance(value, Thing) and not is_scalar(value) else max(1, _plain_bytes(value))


def _plain_parts(value: Any) -> Iterator[Any]:
    """Yield the values in a value, at any depth, that hold no others; those of shared parts once."""
    stack, met = [value], set[int]()
    while stack:
        one = stack.pop()
        if not has_parts(one):
            yield one
        elif id(one) not in met:
            met.add(id(one))
            stack.extend(parts_of(one))


def has_parts(value: Any) -> bool:
    """Return whether a value is a list, dict, set or array of objects: other values stand in it."""
    return isinstance(value, _PARTS) or (isinstance(value, np.ndarray) and value.dtype == object)


def parts_of(value: Any) -> list[Any]:
    """Return the values in a list, dict (its keys too), set or array of objects; [] of everything else."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1)) if value.dtype == object else []
    return list(value) if isinstance(value, _PARTS) else []


def _plain_bytes(value: Any) -> int:
    """Return the bytes that one plain value counts for."""
    if value is None or isinstance(value, (bool, Name)):
        return 0
    if isinstance(value, Thing):
        if not is_scalar(value):
            return 0
        return max(NUMBER, *(len(one) for one in value.args if isinstance(one, (str, bytes)))) + extra_bytes(value)
    if isinstance(value, int):
        return max(NUMBER, (value.bit_length() + 7) // 8)
    if isinstance(value, (float, np.floating, np.integer)):
        return NUMBER
    if isinstance(value, complex):
        return 2 * NUMBER
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, slice):
        return sum(map(_plain_bytes, (value.start, value.stop, value.step)))
    return NUMBER


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts and names in a value, keys included, of arrays of text the different ones."""
    for one in _plain_parts(value):
        if isinstance(one, (str, Name)):
            yield str(one)
        elif isinstance(one, np.ndarray) and one.dtype.kind in "US":
            yield from map(str, np.unique(one).tolist())


def is_small(value: Any) -> bool:
    """Return whether a value holds up to eight bytes: a truth value, None, a number, a short text; or nothing.

    Values in a list, dict or set that hold others are looked at when a walk of the graph comes to them.
    """
    if value is None or isinstance(value, (bool, float)):
        return True
    if isinstance(value, (str, bytes)):
        return size_of(value) <= NUMBER
    if isinstance(value, _PARTS):
        return not any(size_in_list(one) for one in parts_of(value) if not has_parts(one))
    return isinstance(value, int) and value.bit_length() <= 8 * NUMBER


def is_complex(value: Any) -> bool:
    """Return whether a value is a complex number, or an array or list of some: no fit has any."""
    kind = value.dtype.kind if isinstance(value, np.ndarray) else ""
    return kind == "c" or isinstance(value, complex) or any(isinstance(part, complex) for part in parts_of(value))


def letter_of(value: Any) -> str:
    """Return of which kind a value is: "." what holds no other value (or nothing), a letter of all others.

    l lists, d dicts, s sets, b bytes, o objects; arrays: a of numbers, t of texts, r of records, u of objects.
    """
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        return "r" if value.dtype.names else {"O": "u", "U": "t", "S": "t", "V": "r"}.get(kind, "a")
    if isinstance(value, (bytes, bytearray)):
        return "b"
    if isinstance(value, Thing):
        return "." if is_scalar(value) else "o"
    if not isinstance(value, _PARTS) or not value:
        return "."
    return "l" if isinstance(value, (list, tuple)) else "d" if isinstance(value, dict) else "s"


def entries_in(value: Any) -> int:
    """Return how many entries a list, dict, set or array has, 0 of all others."""
    return value.size if isinstance(value, np.ndarray) else len(value) if isinstance(value, _PARTS) else 0


Status = Literal["used", "implied", "assumed", "harmless", "unused", "unknown"]

# Kinds of figures: numbers of rows, rows per class, what leaves add to scores, bags by position, and single columns'.
FigureKind = Literal["counts", "classes", "values", "bags", "columns"]


@dataclass(frozen=True, slots=True)
class Use:
    """What statements carry of one kind of figure, in words ("" nothing), and what they leave out, with the reasons."""

    carried: str
    left: tuple[str, ...] = ()


STATUSES: dict[Status, str] = {
    "used": "statements carry it: the audit evaluates it",
    "implied": "a function of used figures, checked by computing it",
    "assumed": "says more only to anyone who knows the learner's rule or arithmetic",
    "harmless": "the same whatever the rows are, or bounded in size and known not to be about them",
    "unused": "about the training rows, and no statement carries it",
    "unknown": "not understood: it may be anything",
}
# Small values (a number, a truth value, a text of up to eight bytes) and their bytes that are not understood and change
# no check: so many of a file.
SMALL, ALL = 8, 64


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What stands at one path, or at `places` paths that differ in numbers only (`[*]`): its status, and why.

    `bytes`: the most that all of it can hold. `level`: how grave it is, None where it is no finding. `about`: what it
    says something about. `small`: each value is a number or less. `why`: the rule, the statements or the reason.
    """

    path: str
    status: Status
    what: str
    bytes: int
    level: Level | None = None
    about: About = ""
    why: str = ""
    places: int = 1
    small: bool = False
    figures: str = ""
    more: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class FileLedger:
    """The entries of a file, each place in one of them."""

    entries: tuple[LedgerEntry, ...] = ()

    def by_statements(self, uses: Mapping[FigureKind, Use], why: str = "no reader states the figures") -> FileLedger:
        """Return the ledger with "used" only where statements carry the figures of a kind, with their numbers.

        All others are "unused", with the reason: what the reader left out, or `why`.
        """
        return FileLedger(
            tuple(_figures_entry(one, uses, why) if one.status == "used" else one for one in self.entries)
        )

    def unknown(self) -> tuple[LedgerEntry, ...]:
        """Return what is not understood, without small values while they are no more than eight and 64 bytes."""
        found = [one for one in self.entries if one.status == "unknown"]
        small = [one for one in found if one.small]
        few = sum(one.places for one in small) <= SMALL and sum(one.bytes for one in small) <= ALL
        return tuple(one for one in found if not (few and one.small))

    def findings(self) -> list[Finding]:
        """Return a finding for every entry that is not understood, or unused and told by no rule of its own.

        All small values that are not understood are one finding.
        """
        unknown = self.unknown()
        small = [one for one in unknown if one.small]
        found = [not_understood(one.path, one.bytes, one.what) for one in unknown
                 if one.why not in _CLEARED and (not one.small or len(small) == 1)]  # fmt: skip
        found += [padding_finding(one.path, one.bytes, _CLEARED[one.why]) for one in unknown if one.why in _CLEARED]
        if len(small) > 1:
            names = ", ".join(one.path for one in small[1:_SHOWN]) + (", ..." if len(small) > _SHOWN else "")
            what = f"{sum(one.places for one in small):,} values of up to {NUMBER} bytes (with {names})"
            found.append(not_understood(small[0].path, sum(one.bytes for one in small), what))
        found += [
            Finding(one.level, f"ledger-{one.about or 'entry'}", one.path, one.what, one.why, _LOOK)
            for one in self.entries
            if one.status == "unused" and one.level is not None
        ]
        return found

    def to_text(self) -> list[str]:
        """Return all entries for people, one line each, and how many bytes each status has."""
        sizes: Counter[str] = Counter()
        for one in self.entries:
            sizes[one.status] += one.bytes
        lines = [f"{name}: {sizes[name]:,} bytes: {STATUSES[name]}" for name in STATUSES if sizes[name]]
        for one in self.entries:
            places = f" at {one.places:,} places" if one.places > 1 else ""
            why = "".join(f"{mark} {text}" for mark, text in ((":", one.why), (";", one.more)) if text)
            lines.append(f"  {one.status:8} {one.path or '(the object)'}{places}, {one.what}, {one.bytes:,} bytes{why}")
        return lines


def _figures_entry(one: LedgerEntry, uses: Mapping[FigureKind, Use], why: str) -> LedgerEntry:
    """Return an entry of figures with the statements that carry them, as unused where there are none."""
    use = uses.get(cast("FigureKind", one.figures or "counts"))
    if use is not None and use.carried:
        return replace(one, why=use.carried)
    reason = "; ".join(use.left) if use is not None and use.left else why if use is None else "no statement carries it"
    subjects: dict[str, About] = {"values": "labels", "columns": "columns"}
    return replace(one, status="unused", about=subjects.get(one.figures, "sizes"), why=reason)


_SHOWN = 6  # names of small values
# Bytes between the fields of records that are not 0, which a copy cannot, or can have as zeros.
BETWEEN = ("bytes between the fields of records in a list or dict", "bytes between the fields of records")
_CLEARED = dict(zip(BETWEEN, (False, True), strict=True))
_LOOK = "look at what it holds; leave it out where predictions do not need it"


_HERE = Path(__file__).parent
COLUMNS, CLASSES = 7, 3  # of the fits that the table was made from
_ANY_WIDTH = frozenset(["d", "k", "n", *range(COLUMNS)])  # columns of all of them: kernels and few columns among them
# What the state of a generator of numpy is made of.
STATE = frozenset([
    "bit_generator", "state", "key", "pos", "has_gauss", "gauss", "inc", "has_uint32", "uinteger", "entropy",
    "spawn_key", "pool_size", "pool", "counter", "n_children_spawned", "buffer", "buffer_pos", "seed_seq",
])  # fmt: skip
_ALIKE = str.maketrans("atu", "lll")  # letters of forms: arrays of numbers, texts and objects may be lists, too
EXTENDS = "extends"  # a line of classes that extend one of the table: its attributes, and their own
EVERY = "*"  # classes of a decision: all that have the attribute in the table


@dataclass(frozen=True, slots=True)
class AttributeRecord:
    """What the fits of the table had at an attribute: the same bytes or not, how many at most, shapes, texts, forms.

    `same` is None where files were looked at one by one: then numbers and short texts are all that is known. `forms`:
    letters of the kinds of values on the way to each value in it (`sizes.letter_of`), "." left out.
    """

    same: bool | None
    size: int
    shapes: tuple[tuple[int | str, ...], ...]
    texts: frozenset[str]
    forms: frozenset[str]

    def per_row(self) -> bool:
        """Return whether it had one entry per training row, not only per column where there are as many of these."""
        shapes = set(self.shapes)
        return any("n" in one and tuple("d" if n == "n" else n for n in one) not in shapes for one in shapes)

    def per_column(self) -> bool:
        """Return whether every list or array that it had has one entry per column, whatever their number."""
        flat = {shape[0] for shape in self.shapes if len(shape) == 1}
        return flat == {"d"} or ("d" in flat and self.same is not None and flat <= _ANY_WIDTH)

    def per_class(self) -> bool:
        """Return whether every list or array that it had has one entry per class."""
        flat = {shape[0] for shape in self.shapes if len(shape) == 1}
        return "k" in flat and self.same is not None and flat <= {"k", 1, 2}

    def has_form(self, forms: Collection[str]) -> bool:
        """Return whether fits had values of all these kinds inside each other; lists and arrays are alike."""
        mine = {one.translate(_ALIKE) for one in self.forms}
        return all(one.translate(_ALIKE) in mine for one in forms)

    def bound(self, columns: int, classes: int, members: int) -> int:
        """Return the most bytes that are harmless for so many columns and classes: those of the fits, in proportion."""
        if self.same is None:
            return NUMBER
        letters = {letter for shape in self.shapes for letter in shape}
        grown = max(1.0, columns / COLUMNS) if "d" in letters else 1.0
        grown *= max(1.0, classes / CLASSES) if "k" in letters else 1.0
        return int(max(NUMBER, self.size) * grown)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision by hand: what an attribute is about, and why.

    "": harmless, "listed": a finding that keeps no check from an answer, both up to `most` bytes ("8dk": times the
    columns and classes; m: members of an ensemble; f: flat, no list stands inside; p: pairs of numbers may).
    """

    about: About | Literal["listed"]
    most: str
    why: str

    def bound(self, columns: int, classes: int, members: int) -> int:
        """Return the most bytes that are harmless for so many columns (d), classes (k) and members (m)."""
        number = int(self.most.rstrip("dkmfp") or 0)
        for letter, size in (("d", columns), ("k", classes), ("m", members)):
            number *= size if letter in self.most else 1
        return number


def told_text(text: str) -> str:
    """Return a text as the table has it: a long one (above `OPTION` letters) by its SHA-256."""
    return text if len(text) <= OPTION else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def class_key(thing: Thing) -> str:
    """Return the library and the class of an object, "sklearn.Pipeline": modules move between versions."""
    kind = thing.kind
    return f"{kind.partition('.')[0]}.{kind.rpartition('.')[2]}"


def attribute_record(kind: str, attribute: str) -> AttributeRecord | None:
    """Return what the table has on an attribute of a class, None where no version of the class has it."""
    entry = _table()["classes"].get(kind, {}).get(attribute)
    if entry is None:
        entry = _table()["classes"].get(base_of(kind), {}).get(attribute)
    if entry is None:
        return None
    same, size, shapes, texts, forms = entry
    return AttributeRecord(
        {0: False, 1: True}.get(same), size, tuple(map(tuple, shapes)), frozenset(texts), frozenset(forms)
    )


def decided(kind: str, attribute: str) -> Decision | None:
    """Return the decision by hand on an attribute of a class, None where there is none."""
    found = _decisions()
    every = attribute_record(kind, attribute) is not None or attribute.startswith("(") or attribute in STATE
    every = every or not (is_known_class(kind) or kind.startswith("numpy."))
    one = found.get((kind, attribute)) or (found.get((kind, EVERY)) if every else None)
    one = one or found.get((base_of(kind), attribute))
    if one is None and is_known_class(kind):
        one = found.get((f"{base_of(kind).partition('.')[0]}.{EVERY}", attribute))
    if one is not None:
        return one
    return found.get((EVERY, attribute)) if attribute_record(kind, attribute) is not None else None


def is_known_class(kind: str) -> bool:
    """Return whether the table has a class, or the one that it extends."""
    return base_of(kind) in _table()["classes"]


def base_of(kind: str) -> str:
    """Return the class of the table that a class of another library extends (decided by hand), else the class."""
    return _bases().get(kind, kind)


@cache
def names() -> frozenset[str]:
    """Return the names of functions and classes that fits have as values."""
    return frozenset(_table()["names"])


@cache
def places_of_objects() -> frozenset[str]:
    """Return the attributes in which fits of any class have objects."""
    classes = _table()["classes"].values()
    return frozenset(name for one in classes for name, (*_, forms) in one.items() if any("o" in f for f in forms))


@cache
def libraries() -> frozenset[str]:
    """Return the libraries of which classes are in the table or decided."""
    return frozenset(
        kind.partition(".")[0] for kind in (*_table()["classes"], *_bases(), *(k for k, _ in _decisions()))
    )


@cache
def _table() -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", json.loads((_HERE / "attributes.json").read_text(encoding="utf-8")))


@cache
def _bases() -> dict[str, str]:
    """Return class -> class that it extends, of the lines `extends | classes | class | | reason`."""
    return {kind: base for about, classes, base, *_ in _lines() if about == EXTENDS for kind in classes.split()}


def _lines() -> Iterator[list[str]]:
    """Yield the five parts of every line of `decided.txt`."""
    for line in (_HERE / "decided.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield [part.strip() for part in line.split("|", 4)]


@cache
def _decisions() -> dict[tuple[str, str], Decision]:
    """Return (class, attribute) -> decision of the lines `about | classes | attributes | most bytes | reason`."""
    found: dict[tuple[str, str], Decision] = {}
    for about, classes, attributes, most, why in _lines():
        if about == EXTENDS:
            continue
        one = Decision(cast("About", "" if about == "harmless" else about), most, why)
        for kind in classes.split():
            for attribute in attributes.split():
                found.setdefault((kind, attribute.replace("(argument_", "(argument ")), one)
    return found


Floats = NDArray[np.float64]


NEAR = 1e-4  # relative: sums of float32, printed with six digits and more


FAR = 2e-2  # beyond which numbers of rows contradict each other


EXACT = 1e-6  # of doubles


SUM = "the sum of its children, which it is"


MEAN = "the mean of its children by their weights, which it is"


IMPURITY = "a function of the rows of every class, which it is"


CONTRADICTION = "numbers of rows of nodes are not the sums of their children's"


@dataclass(frozen=True, eq=False)
class TreeShape:
    """A tree: the children of every inner node, nodes by number."""

    inner: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, left: Any, right: Any) -> TreeShape:
        """Return the tree of two arrays of children, below 0 at leaves (or both 0); `ValueError` for no tree."""
        lefts, rights = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        inner = np.flatnonzero((lefts >= 0) & (rights >= 0) & (lefts != rights))
        size = len(lefts)
        if size and (max(lefts.max(), rights.max()) >= size or len(rights) != size):
            raise ValueError("children that are no nodes")
        return cls(inner, lefts[inner], rights[inner], size)

    def leaf(self) -> NDArray[np.bool_]:
        """Return which nodes are leaves."""
        found = np.ones(self.size, dtype=bool)
        found[self.inner] = False
        return found

    def rate(self, sums: Floats) -> float:
        """Return by which rate leaves are smaller than inner nodes: 1, or what a node over two leaves gives."""
        leaf = self.leaf()
        over = np.flatnonzero(leaf[self.left] & leaf[self.right] & (sums[self.inner] != 0))
        if not len(over):
            return 1.0
        at = over[np.abs(sums[self.inner][over]).argmax()]
        found = float((sums[self.left[at]] + sums[self.right[at]]) / sums[self.inner[at]])
        return found if 0 < found <= 1 else 1.0

    def off(self, figures: Floats) -> float:
        """Return by how much, relative to the root, a figure of inner nodes is not the sum of its children."""
        if not len(self.inner):
            return 0.0
        gap = np.abs(figures[self.inner] - figures[self.left] - figures[self.right])
        return float((gap / np.maximum(np.abs(figures[self.inner]), 1e-12)).max())


def _entropy(shares: Floats) -> Floats:
    """Return the entropy of shares of classes, in bits."""
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    found: Floats = -(shares * logs).sum(axis=-1)
    return found


def impurity(shares: Floats, criterion: Any) -> Floats | None:
    """Return the impurity of shares of classes, None for a criterion that is not known."""
    if criterion == "gini":
        found: Floats = 1.0 - (shares**2).sum(axis=-1)
        return found
    return _entropy(shares) if criterion in {"entropy", "log_loss"} else None


def of_sklearn(nodes: Any, values: Any, criterion: Any, kept: bool, whole: bool) -> dict[str, str]:
    """Return field of a tree of scikit-learn ("values" too) -> why it is implied; `CONTRADICTION` where counts are off.

    `kept`: values stand as the fit put them there: neither boosting nor monotonic constraints have changed them. Not
    `whole`: nothing but contradictions.
    """
    names = nodes.dtype.names or ()
    if not {"left_child", "right_child", "n_node_samples"} <= set(names) or not len(nodes):
        return {}
    shape = TreeShape.of(nodes["left_child"], nodes["right_child"])
    rows = nodes["n_node_samples"].astype(float)
    if shape.off(rows) > FAR:
        return {"n_node_samples": CONTRADICTION}
    if not whole:
        return {}
    weight = nodes["weighted_n_node_samples"].astype(float) if "weighted_n_node_samples" in names else rows
    found = {}
    if np.array_equal(weight, rows):
        found["weighted_n_node_samples"] = "the number of rows, which it is"
    elif shape.off(weight) <= EXACT:
        found["weighted_n_node_samples"] = SUM
    if not kept or not isinstance(values, np.ndarray) or values.ndim != 3 or len(values) != len(nodes):
        return found
    given = nodes["impurity"].astype(float) if "impurity" in names else None
    if values.shape[2] > 1:
        totals = values.sum(axis=2, keepdims=True)
        shares = values / np.where(totals > 0, totals, 1.0)
        made = impurity(shares, criterion)
        if given is not None and made is not None and np.allclose(made.mean(axis=1), given, rtol=0, atol=EXACT):
            found["impurity"] = IMPURITY
        return found
    mean = values[:, 0, 0]
    if given is not None and criterion in {"squared_error", "friedman_mse", "mse"}:
        parent, children = shape.inner, (shape.left, shape.right)
        squares = weight * (given + mean**2)
        made = squares[children[0]] + squares[children[1]]
        if np.allclose(made, squares[parent], rtol=EXACT, atol=EXACT * float(np.abs(squares).max(initial=0.0))):
            found["impurity"] = "of inner nodes what the means and spreads of its leaves give, which it is"
    return found
