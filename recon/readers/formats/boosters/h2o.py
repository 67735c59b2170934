"""H2O MOJO: a zip of random forests (`drf`) or boosted trees (`gbm`), with the rows of both sides of every split.

`model.ini` has columns and classes, `domains` the categories, `experimental/modelDetails.json` the settings, and
`trees/tKK_NNN.bin` tree NNN of class KK in depth-first order. Beside it stands `_aux.bin`: of every split the rows of
both sides and the mean of what the tree was fitted to, in single precision. A forest is fitted to 1 for its class, 0
for the others; the first boosted trees to what these are more than the share that all rows start from. So rows per
class follow, exactly. Rows are drawn without replacement for every tree (`sample_rate`: .632 of a forest). The first
split of a tree is chosen by all rows, drawn or not, and it is their number that stands there.

A value below the threshold goes left, compared in double precision, or a category that is not listed.

Source: H2O 3.44 and 3.46; h2o-genmodel/src/main/java/hex/genmodel/algos/tree/{SharedTreeMojoModel,NaSplitDir}.java,
h2o-algos/src/main/java/hex/tree/{DTree,ScoreBuildHistogram2,Sample}.java.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import AnyAttribute, Categorical, Test, Value
from encoders.models.models import (
    AnyModel,
    CountKind,
    Forest,
    Provenance,
    PublishedFigure,
    Table,
    Tree,
    UnusedPublication,
)
from encoders.models.nodes import Support
from recon.io.files.archives import archive_files, archive_names
from recon.io.files.opening import current
from recon.readers.formats.boosters.shared import (
    LATER,
    BoosterSplit,
    BoosterTree,
    integer_in,
    split_of,
    sums,
    values_of,
)
from recon.readers.formats.drafts.binding import Feature
from recon.readers.formats.drafts.drafts import Draft
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

FORMAT = "H2O MOJO"
SETTINGS = "model.ini"
DETAILS = "experimental/modelDetails.json"
ONCE = "every tree saw every row once (sample_rate=1)"
DRAWN = (
    "rows were drawn without replacement for every tree (sample_rate), so that its leaves have least numbers; its "
    "first split counts all rows"
)
TRAINED = "numbers of rows are those of the training (update_tree_weights was not called)"
BINNED = (
    "rows are on that side of a split on which the bins of its histogram counted them; where these may end elsewhere "
    "(thresholds at whole or decimal numbers but 0.5), two leaves are counted together"
)
SINGLE, DIGITS = 2.0**-23, 3  # relative: of single precision; of decimals that values may be
EVEN_BINS = {"AUTO", "UniformAdaptive", "UniformRobust"}  # of others splits lie elsewhere than between bins
RESIDUALS = "they are of residuals that are no shares of rows (an offset, or another distribution), and are not read"
NUMBERS = UnusedPublication(
    "means of the label in every node", "they are in single precision, and are not read", labels=True
)
METRICS = UnusedPublication("measures of its predictions, importances, history", "they are not read", about="rows")
MAX_NODES = 10_000_000
EXACT_ROWS = 1 << 24  # from here on single precision leaves whole numbers out
PRECISION = 2.0**-21  # relative: of a sum and a mean in single precision
NO_COLUMN = 0xFFFF
NOT_MISSING = 1  # every value goes left, missing ones right
TO_LEFT = {2, 4}  # missing values go left
SAW_MISSING = {1, 2, 3}  # and some training row had none
_AUX = np.dtype(
    [
        ("node", "<i4"),
        ("below", "<i4"),
        ("rows", "<f4", 2),
        ("mean", "<f4", 2),
        ("error", "<f4", 2),
        ("sides", "<i4", 2),
    ]
)


def looks_like_mojo(data: bytes) -> bool:
    """Return whether bytes are an archive that H2O made of a model."""
    return SETTINGS in archive_names(data)


_TREE = re.compile(r"trees/t(\d{2,9})_(\d{3,9})\.bin")
# What is read of `model.ini`; of the settings of a fit, their names and what they were.
_READ_KEYS = {
    "algo", "mojo_version", "endianness", "n_features", "n_columns", "n_trees", "n_trees_per_class", "distribution",
    "init_f", "escape_domain_values",
}  # fmt: skip


def unread_parts(data: bytes) -> dict[str, int]:
    """Return how many bytes of an archive its reader does not look at, by file; of all trees together."""
    files = archive_files(data)
    lines = files[SETTINGS].decode("utf-8", "replace").partition("[columns]")[0].split("\n")
    left = {key: len(line) for line in lines if " = " in line and (key := line.partition(" = ")[0]) not in _READ_KEYS}
    named = ", ".join([*list(left)[:4], *(["..."] if len(left) > 4 else [])])
    out = {f"{SETTINGS} ({named})": sum(left.values())} if left else {}
    kept = _fitted_with(files)
    nodes = sum(len(one) // _AUX.itemsize for name, one in files.items() if name.endswith("_aux.bin"))
    if nodes:
        out["trees/*.bin (values of leaves)"] = 4 * nodes
        out["trees/*_aux.bin (squared errors, sizes of branches)"] = 12 * nodes
    for name, content in files.items():
        if name == DETAILS:
            out[f"{DETAILS} (all but the values of parameters)"] = len(content) - len(json.dumps(kept))
        elif name != SETTINGS and not re.fullmatch(r"domains/d\d+\.txt|trees/t\d+_\d+(_aux)?\.bin", name):
            out[name] = len(content)
    return out


@dataclass(frozen=True)
class MojoSettings:
    """What `model.ini` says: its keys, the columns in order, the categories of some of them by number; `set` by fits.

    `set` is what the model was fitted with, by name.
    """

    info: Mapping[str, str]
    columns: tuple[str, ...]
    domains: Mapping[int, tuple[Value, ...]]
    set: Mapping[str, Any]

    @property
    def classes(self) -> tuple[Value, ...]:
        """Return the classes of the label, none of a label that is a number."""
        return self.domains.get(len(self.columns) - 1, ())

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> MojoSettings:
        """Return the settings of an archive; `ReleaseError` naming the file that is broken."""
        parts: dict[str, list[str]] = {}
        part = parts.setdefault("", [])
        for line in files[SETTINGS].decode("utf-8", "replace").split("\n"):
            if re.fullmatch(r"\[(info|columns|domains)\]", line):
                part = parts.setdefault(line, [])
            elif line:
                part.append(line)
        info = {key: value for key, _, value in (line.partition(" = ") for line in parts.get("[info]", []))}
        columns = tuple(parts.get("[columns]", []))
        if not columns or str(len(columns)) != info.get("n_columns") or len(set(columns)) < len(columns):
            raise ReleaseError(f"does not name {info.get('n_columns', 'its')[:20]} different columns", place=SETTINGS)
        domains = dict[int, tuple[Value, ...]]()
        for line in parts.get("[domains]", []):
            found = re.fullmatch(r"(\d{1,9}): (\d{1,9}) (d\d+\.txt)", line)
            listed = files.get(f"domains/{found[3]}", b"") if found else b""
            texts = listed.decode("utf-8", "replace").removesuffix("\n").split("\n")
            if not found or len(texts) != int(found[2]) or int(found[1]) >= len(columns):
                raise ReleaseError(f"has no categories as in {line[:40]!r}", place=SETTINGS)
            plain = [re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], text) for text in texts]
            domains[int(found[1])] = values_of(plain if info.get("escape_domain_values") == "true" else texts)
        return cls(info, columns, domains, _fitted_with(files))

    def whole(self, key: str) -> int:
        """Return a number of the model; `ReleaseError` where it has none."""
        found = self.info.get(key, "")
        if not re.fullmatch(r"[1-9]\d{0,8}", found):
            raise ReleaseError(f"has {found[:20]!r} as {key}", place=SETTINGS)
        return int(found)

    @property
    def drawn(self) -> bool:
        """Return whether rows were drawn for every tree."""
        return self.set.get("sample_rate") != 1 or self.set.get("sample_rate_per_class") is not None

    @property
    def boosted(self) -> bool:
        """Return whether trees go on from those before them."""
        return self.info.get("algo") == "gbm"

    def refuse(self) -> None:
        """Raise `Unsupported` for what is no model of rows that weigh 1, each once, over the columns themselves."""
        kind = self.info.get("algo", "")
        if kind not in {"drf", "gbm"}:
            raise Unsupported(
                f"an H2O MOJO of {kind[:40]!r} is not read: of 'drf' and 'gbm' it is; recon does not say what else of "
                "the rows it stores"
            )
        if not re.fullmatch(r"1\.[2-9]\d*", self.info.get("mojo_version", "")) or not self.set:
            raise Unsupported(
                f"an H2O MOJO of version {self.info.get('mojo_version', '')[:20]} does not say how it was fitted "
                f"({DETAILS}): fit and save it with H2O 3.44"
            )
        if self.info.get("endianness") != "LITTLE_ENDIAN":
            raise Unsupported("an H2O MOJO of a big-endian machine is not read: save it on another")
        if self.set.get("weights_column") is not None or self.set.get("balance_classes"):
            raise Unsupported(
                "rows were weighted or repeated (weights_column, balance_classes): sums of weights are no counts of "
                "rows; fit it without"
            )
        if self.set.get("checkpoint") is not None:
            raise Unsupported(
                "its training was continued (checkpoint), on which rows it does not say: fit it in one training"
            )
        if self.set.get("histogram_type") not in EVEN_BINS:
            how = str(self.set.get("histogram_type"))[:40]
            raise Unsupported(
                f"its splits send rows elsewhere than its counts say (histogram_type {how}): fit it with "
                "histogram_type='UniformAdaptive', the default"
            )
        if self.set.get("categorical_encoding") not in {"AUTO", "Enum"}:
            how = str(self.set.get("categorical_encoding"))[:40]
            raise Unsupported(
                f"its columns were made of others (categorical_encoding {how}): fit it with categorical_encoding='enum'"
            )


def _fitted_with(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the settings of the training by name, none where the archive does not have them."""
    try:
        found = json.loads(files[DETAILS])["parameters"] if DETAILS in files else []
        return {str(one["name"]): one.get("actual_value") for one in found}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ReleaseError("is not what H2O writes of a model", place=DETAILS) from None


@dataclass(frozen=True)
class MojoTree:
    """A tree as it was read, of a class and with its number: per node rows and means as the split above has them.

    `split`: rows of a node as its own split has them, -1 of a leaf. Bins say what `rows` are, and tests what `split`
    is: of a test whose bins may end elsewhere (`loose`) the sides count what is tested again alone.
    """

    place: str
    of: int
    number: int
    grown: BoosterTree
    rows: NDArray[np.int64]
    mean: NDArray[np.float64]
    split: NDArray[np.int64]
    loose: frozenset[int]

    def settled(self, told: Sequence[int], drawn: bool) -> list[int]:
        """Return the rows of every leaf (or those of a class), `told` by the splits above them, from what is below.

        `drawn`: the rows of the root are not those of its branches; a leaf beside a loose first split has then 0 or
        more. Raises `ReleaseError` where splits contradict each other.
        """
        out, held = list(told), self._own(told)
        for i, (left, right) in enumerate(self.grown.children):
            if left == -1:
                continue
            top = drawn and not i
            for one, other in ((left, right), (right, left)):
                if held[one] >= 0 and not top:
                    if held[one] != told[one] and i not in self.loose:
                        self._refuse(one, told[one], held[one])
                    if held[other] < 0:
                        out[other] = held[i] - held[one]
                elif held[one] > told[one] and i not in self.loose:
                    self._refuse(one, told[one], held[one])
                elif top and held[one] < 0 and i in self.loose:
                    out[one] = 0
            if held[left] >= 0 and held[right] >= 0 and not top and held[left] + held[right] != held[i]:
                self._refuse(i, held[i], held[left] + held[right])
        if min(out) < 0:
            self._refuse(out.index(min(out)), min(out), 0)
        return out

    def _own(self, told: Sequence[int]) -> list[int]:
        """Return what the two sides of every split have together, -1 for a leaf."""
        return [told[a] + told[b] if a >= 0 else -1 for a, b in self.grown.children]

    def _refuse(self, node: int, above: int, below: int) -> NoReturn:
        raise ReleaseError(f"node {node} has {above:,} rows, and {below:,} in its two branches", place=self.place)

    def counts(self, share: float) -> list[int] | None:
        """Return the rows of the class in every node but the root, None where means (and a share) are none of rows."""
        found = [0]
        try:
            for n, mean in zip(self.rows[1:].tolist(), self.mean[1:].tolist(), strict=True):
                one = integer_in(n * (mean + share), n * PRECISION + 1e-6)
                if one is None or not 0 <= one <= n:
                    return None
                found.append(one)
        except ArithmeticError:
            return None
        return found

    def merged(
        self, rows: Sequence[int], counts: Sequence[int] | None
    ) -> tuple[BoosterTree, list[int], list[int] | None]:
        """Return the tree without loose splits into two leaves, and its figures by node (of inner nodes no matter)."""
        out, kept, todo, links = BoosterTree(), list[int](), [(0, -1, 0)], self.grown.children
        while todo:
            i, parent, side = todo.pop()
            here = len(kept)
            kept.append(i)
            if parent >= 0:
                out.link(parent, side, here)
            left, right = links[i]
            ends = left < 0 or (i in self.loose and links[left][0] < 0 and links[right][0] < 0)
            out.splits.append(None if ends else self.grown.splits[i])
            out.children.append((-1, -1))
            todo += [] if ends else [(right, here, 1), (left, here, 0)]
        return out, self._shown(rows, kept), None if counts is None else self._shown(counts, kept)

    def _shown(self, told: Sequence[int], kept: Sequence[int]) -> list[int]:
        """Return the figures of some nodes, of two leaves that were merged what both have."""
        own = self._own(told)
        return [own[i] if own[i] >= 0 else told[i] for i in kept]


def read_mojo(data: bytes) -> Draft:
    """Return what an H2O MOJO publishes. Cost: linear in nodes.

    Raises `ReleaseError` naming the file that is broken, `Unsupported` for other models, weights and continued trees.
    """
    files = archive_files(data)
    settings = MojoSettings.of(files)
    settings.refuse()
    reader = _MojoTrees(settings)
    trees = list[MojoTree]()
    stored = {(int(found[1]), int(found[2])) for name in files if (found := _TREE.fullmatch(name))}
    held = sorted({of for of, _ in stored if of < settings.whole("n_trees_per_class")})  # a class without rows has none
    if len(stored) != len(held) * settings.whole("n_trees"):
        raise ReleaseError(
            f"has {settings.info['n_trees']} as n_trees, the archive {len(stored):,} trees of {len(held):,} classes",
            place=SETTINGS,
        )
    for number in range(settings.whole("n_trees")):
        for of in held:
            name = f"trees/t{of:02}_{number:03}"
            if f"{name}.bin" not in files:
                raise ReleaseError("is not in the archive", place=f"{name}.bin")
            tree = reader.tree(files[f"{name}.bin"], files.get(f"{name}_aux.bin", b""), of, number, name)
            if tree is not None:
                trees.append(tree)
    if not trees:
        raise Unsupported("no tree of the H2O MOJO has a split: it says nothing about its rows")
    rows = int(trees[0].split[0])
    for tree in trees:
        if tree.split[0] != rows:
            raise ReleaseError(f"counts {tree.split[0]:,} rows, the first tree {rows:,}", place=tree.place)
    return _draft(settings, reader, trees, rows)


def _draft(settings: MojoSettings, reader: _MojoTrees, trees: list[MojoTree], rows: int) -> Draft:
    """Return the draft of trees of so many rows."""
    said = _MojoStatements(settings)
    models = said.models(trees)
    names, classes, unused = settings.columns[: settings.whole("n_features")], settings.classes, [METRICS]
    if not classes:
        unused.append(NUMBERS)
    elif not said.proved:
        unused.append(UnusedPublication("means in every node", RESIDUALS, labels=True))
    elif said.proved < len(trees):
        unused.append(LATER)
    sized = settings.drawn or said.proved < len(trees) or len(classes) > 2
    kinds: list[CountKind] = ["exact"] if said.proved else []
    kinds += ["size"] if sized and not (said.proved and settings.drawn) else []
    kinds += ["distinct"] if settings.drawn else []
    hints: dict[str, AnyAttribute] = {
        name: Categorical(name, settings.domains[k], missing=name in reader.gaps)
        for k, name in enumerate(names)
        if len(settings.domains.get(k, ())) > 1
    }
    return Draft(
        Provenance(
            f"{FORMAT} of {settings.info['algo']}",
            tuple(kinds),
            (DRAWN if settings.drawn else ONCE, TRAINED, BINNED),
            unused=tuple(unused),
        ),
        tuple(Feature(name, name) for name in names),
        models,
        classes if said.proved else None,
        settings.columns[-1],
        rows=RowCount(rows, rows),
        hints=hints,
        gaps=frozenset(reader.gaps),
    )


@dataclass
class _MojoStatements:
    """What trees state; `proved`: of how many the rows per class are known."""

    settings: MojoSettings
    proved: int = 0

    def models(self, trees: Sequence[MojoTree]) -> tuple[AnyModel, ...]:
        """Return the trees, of drawn rows also first splits of all rows, and rows of one class of several."""
        drawn = self.settings.drawn
        figures, grown, first = list[PublishedFigure](), list[Tree](), dict[object, Tree]()
        for tree in trees:
            told = self._class_rows(tree)
            self.proved += told is not None
            counts = None if told is None else tree.settled(told, drawn)
            shown, rows, counts = tree.merged(tree.settled(tree.rows.tolist(), drawn), counts)
            grown.append(self._tree(tree, shown, rows, counts))
            figures += self._of_class(tree, shown, counts, drawn)
            if not drawn or 0 in tree.loose:
                continue
            top = BoosterTree([tree.grown.splits[0], None, None], [(1, 2), (-1, -1), (-1, -1)])
            sides = tree.grown.children[0]
            rows = [0, *(int(tree.rows[i]) for i in sides)]
            counts = None if told is None else [0, *(told[i] for i in sides)]
            figures += self._of_class(tree, top, counts, False)
            first.setdefault((top.splits[0], *rows, *(counts or ())), self._tree(tree, top, rows, counts))
        made: list[AnyModel] = [Forest(tuple(grown), "trees", subsample=drawn)]
        if len(grown) == 1 and not drawn:
            made = [grown[0]]
        if first:
            made.append(Forest(tuple(first.values()), "first splits"))
        return (*made, Table(tuple(dict.fromkeys(figures)), "classes")) if figures else tuple(made)

    def _class_rows(self, tree: MojoTree) -> list[int] | None:
        """Return the rows of the tree's class in every node, None where they do not follow."""
        classes, told = self.settings.classes, self.settings.info
        if not classes:
            return None
        if not self.settings.boosted:
            found = tree.counts(0.0)
            if found is None:
                raise ReleaseError("has means that are no shares of rows", place=f"{tree.place}_aux.bin")
            return found
        if tree.number or self.settings.set.get("offset_column") is not None:
            return None
        if told.get("distribution") == "multinomial":
            return tree.counts(1 / len(classes))
        try:
            share = 1 / (1 + math.exp(-float(told.get("init_f", ""))))
        except (ValueError, OverflowError):
            share = math.nan
        if math.isnan(share):
            raise ReleaseError(f"has {told.get('init_f', '')[:20]!r} as init_f, of which no share of rows follows: "
                               "save the model again", place=SETTINGS)  # fmt: skip
        return tree.counts(share) if told.get("distribution") == "bernoulli" else None

    def _tree(self, tree: MojoTree, grown: BoosterTree, rows: Sequence[int], counts: Sequence[int] | None) -> Tree:
        """Return the published tree, with the classes of every node where there are two and one is counted."""
        sizes = sums(grown, {i: rows[i] for i in grown.leaves})
        supports = [Support(count=n) for n in sizes]
        if counts is not None and len(self.settings.classes) == 2:
            held = sums(grown, {i: counts[i] for i in grown.leaves})
            pairs = zip(sizes, held, strict=True)
            second = self.settings.boosted or tree.of == 1
            supports = [Support((n - k, k) if second else (k, n - k)) for n, k in pairs]
        return grown.tree(supports, tree.place)

    def _of_class(
        self, tree: MojoTree, grown: BoosterTree, counts: Sequence[int] | None, least: bool
    ) -> Iterator[PublishedFigure]:
        """Yield of several classes how many rows of its class the leaves of a tree have, of drawn ones at least."""
        classes = self.settings.classes
        if counts is None or len(classes) < 3:
            return
        for one in grown.of_class(counts, self.settings.columns[-1], classes[tree.of], tree.place):
            yield replace(one, count=None, low=int(one.count or 0), drawn=True) if least else one


class _MojoTrees:
    """Reader of trees from bytes; `gaps`: the columns of which some training rows had no value."""

    def __init__(self, settings: MojoSettings) -> None:
        self.settings, self.features = settings, settings.whole("n_features")
        self.gaps, self.loose = set[str](), set[int]()
        self.at, self.data = 0, b""
        told = settings.set.get("nbins_cats")
        self.bins = told if isinstance(told, int) else 0

    def tree(self, data: bytes, aux: bytes, of: int, number: int, place: str) -> MojoTree | None:
        """Return a tree, None for one without a split."""
        self.at, self.data, self.loose = 0, data, set()
        try:
            grown = self._grown()
        except (struct.error, IndexError):
            raise ReleaseError("is no tree, or was cut off", place=f"{place}.bin") from None
        except ReleaseError as error:
            raise ReleaseError(error.message, place=f"{place}.bin") from None
        if self.at != len(data):
            raise ReleaseError("goes on behind its last node", place=f"{place}.bin")
        inner = [i for i, split in enumerate(grown.splits) if split is not None]
        if len(aux) != len(inner) * _AUX.itemsize:
            raise ReleaseError(f"has not the rows of {len(inner):,} splits", place=f"{place}_aux.bin")
        if not inner:
            return None
        held = np.frombuffer(aux, dtype=_AUX)
        told = held["rows"].astype(np.float64)
        if (told != np.rint(told)).any() or not 0 <= told.min() <= told.max() < EXACT_ROWS:
            raise ReleaseError("has numbers of rows that are not whole, or beyond 16,777,215", place=f"{place}_aux.bin")
        if not np.isfinite(held["mean"]).all():
            raise ReleaseError("has means that are no numbers", place=f"{place}_aux.bin")
        rows, split, mean = np.full(len(grown.splits), -1), np.full(len(grown.splits), -1), np.zeros(len(grown.splits))
        name = {0: int(held["node"][0])}
        for record, whole, i in zip(held, told.astype(np.int64), inner, strict=True):
            sides = list(grown.children[i])
            if name[i] != record["node"]:
                raise ReleaseError(f"has the rows of node {record['node']} for {name[i]}", place=f"{place}_aux.bin")
            rows[sides], mean[sides], split[i] = whole, record["mean"], whole.sum()
            name |= dict(zip(sides, record["sides"].tolist(), strict=True))
        rows[0] = split[0]
        return MojoTree(place, of, number, grown, rows, mean, split, frozenset(self.loose))

    def _grown(self) -> BoosterTree:
        """Return the tests of a tree, nodes depth first."""
        out = BoosterTree()
        todo = [(-1, 0, False)]
        while todo:
            parent, side, leaf = todo.pop()
            here = len(out.splits)
            if parent >= 0:
                out.link(parent, side, here)
            out.children.append((-1, -1))
            if here >= MAX_NODES:
                raise ReleaseError("has too many nodes")
            if not leaf:
                kind, column = self._take("<BH")
                leaf = column == NO_COLUMN
            if leaf:
                self._take("<f")
                out.splits.append(None)
                continue
            out.splits.append(self._split(kind, column, here))
            if not kind & 48:
                self.at += 1 + (kind & 3)  # how many bytes the left branch has
            todo += [(here, 1, bool(kind & 192)), (here, 0, bool(kind & 48))]
        current().entries(len(out.splits))
        return out

    def _take(self, form: str) -> tuple[Any, ...]:
        """Return the next numbers."""
        found = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return found

    def _split(self, kind: int, column: int, node: int) -> BoosterSplit:
        """Return the test of a split."""
        (way,) = self._take("<B")
        if column >= self.features or not 0 < way < 6:
            raise ReleaseError(f"tests column {column} of {self.features}, or sends missing values nowhere")
        name, values, missing = self.settings.columns[column], self.settings.domains.get(column), way in TO_LEFT
        if way in SAW_MISSING:
            self.gaps.add(name)
        if way == NOT_MISSING:
            return BoosterSplit(name, Test(), Test(missing=True))
        if not kind & 12:
            (end,) = self._take("<f")
            if not math.isfinite(end):
                raise ReleaseError(f"has no threshold of '{name[:60]}'")
            if values is None:
                if end != 0.5 and any(abs(round(end, k) - end) <= abs(end) * SINGLE for k in range(DIGITS + 1)):
                    self.loose.add(node)
                return split_of(name, Test(high=end, high_open=True, missing=missing), True)
            right = {k for k in range(len(values)) if k >= end}
        else:
            first, many = self._take("<HI") if kind & 12 == 12 else (0, 32)
            size = (many + 7) // 8
            bits = int.from_bytes(self.data[self.at : self.at + size], "little")
            self.at += size
            known = range(first, first + many)
            right = {k for k in range(len(values or ())) if (bits >> k - first & 1 if k in known else not missing)}
        if len(values or ()) > self.bins:
            self.loose.add(node)
        if not values:
            raise ReleaseError(f"'{name[:60]}' has no categories")
        sides = [tuple(v for k, v in enumerate(values) if (k in right) is kept) for kept in (False, True)]
        return BoosterSplit(name, Test(values=sides[0], missing=missing), Test(values=sides[1], missing=not missing))
