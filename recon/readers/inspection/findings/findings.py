"""Findings of an inspection, as frozen values: what their five levels mean, and how grave counts and leaf values are.

Refusals of an inspection: they name the file, and values that no library writes end in a sentence, not a trace.

Counts are graded by what they allow, not by what they look like. Those of groups that are large, of one tree or table,
are exact statistics: "medium". A group of fewer than 10 rows (the usual minimum of a published cell) is about single
rows, and several trees of the same rows cut their groups into ever smaller ones, up to all rows (the README's example:
30 trees give back all of 300 rows): "high". Where the size of the smallest group was not worked out, "high" too: what
was not shown to be harmless is not called so.

What leaf values of boosted models hold: sums over training rows, rated by their digits and number.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import EngineError, Inconclusive, ReconError, ReleaseError, Unsupported

if TYPE_CHECKING:
    from encoders.models.models import AnyModel
    from recon.readers.formats.drafts.drafts import Draft


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Let refusals inside name the file ("": none); unforeseen values of a file raise `ReleaseError`."""
    before = f"{file}: " if file else ""
    try:
        yield
    except ReleaseError as error:
        raise error.at(file=file) from None
    except (EngineError, Unsupported, Inconclusive) as error:
        raise type(error)(f"{before}{error}") from None
    except ReconError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        # What no reader thought of: somebody wrote values into the file that no library writes there.
        message = f"holds values that no such file has ({type(error).__name__}: {error})"
        raise ReleaseError(message, file=file) from error


PADDING = "padding"
_CLEAR = "set them to 0 (recon inspect --strip): nothing reads them"
SAVE_THE_FITTED = "save the model that was fitted, not a copy of it: there they are 0"
_TAKE_OUT = "look at what it holds, and take it out before saving if predictions do not need it"


Level = Literal["critical", "high", "unknown", "medium", "info"]

LEVELS: dict[Level, str] = {
    "critical": "training data: values or labels of training rows are stored in the file",
    "high": (
        "rows: something about single training rows, by their position in the training file or because counts single "
        "them out (a group of fewer than 10 rows, several models of the same rows)"
    ),
    "unknown": "not understood: what no reader and no rule knows; training rows may be in it",
    "medium": "exact statistics: sums, extremes, distinct values or counts of the training set, without noise",
    "info": "worth knowing: it says little about the training set by itself",
}
ORDER = {level: rank for rank, level in enumerate(LEVELS)}
EXAMPLES = 3  # values shown of an array: enough to recognise it, never the data
LONGEST = 40  # characters shown of a text


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that the file stores outright.

    `path` is where it is, from the object in the file ("steps[1][1]._fit_X"); the same thing at several places is one
    finding whose path has `*` for the numbers that differ, and `places` counts them. `rule` is its short name, `what`
    its class, shape and type, `follows` what can be concluded from it, `remove` what to do about it, `removable`
    whether `--strip` does so. `values` are a few examples. Of counts, `smallest` is the smallest published group (None:
    not worked out) and `models` the number of trees, lists or tables (0: no counts); see
    `recon.readers.inspection.findings.findings`. `entries`: the length of what is stored, of rows their number (None:
    it has none). `beside`: counts of another model than the one that the file's reader takes counts from, and `fewest`
    the rows of its smallest group, whatever their class. `stated`: figures of single columns that the reader states.
    """

    level: Level
    rule: str
    path: str
    what: str
    follows: str
    remove: str
    removable: bool = False
    values: tuple[Any, ...] = ()
    places: int = 1
    smallest: int | None = None
    models: int = 0
    entries: int | None = None
    beside: bool = False
    fewest: int | None = None
    stated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {
            **dataclasses.asdict(self),
            "means": LEVELS[self.level],
            "values": [plain_value(v) for v in self.values],
        }


def plain_value(value: Any) -> Any:
    """Return a value that JSON holds: numbers and short texts; infinities and NaN as text."""
    value = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 1 << 53 else str(value)
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def merge_findings(findings: list[Finding]) -> list[Finding]:
    """Return the findings, the worst first, the same thing at several places as one; linear in their number."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in findings:
        key = (one.level, one.rule, without_numbers(one.path), f"{one.removable}, {one.beside}")
        groups.setdefault(key, []).append(one)
    found = [same[0] if len(same) == 1 else _merged_finding(same) for same in groups.values()]
    return sorted(found, key=lambda f: ORDER[f.level])


def without_numbers(path: str) -> str:
    """Return a path with `*` in place of its numbers, steps from node to node of linked trees left out."""
    return _INDEX.sub("[*]", _LINKS.sub("", path))


_INDEX = re.compile(r"\[\d+\]")
# Steps from node to node of linked trees (imodels' FIGS, scikit-learn's Birch): all nodes are one finding.
_LINKS = re.compile(
    r"(?:\.(?:left_temp|right_temp|left|right|next_leaf_|prev_leaf_|(?:subclusters_\[\d+\]\.)?child_))+"
)


def _merged_finding(same: list[Finding]) -> Finding:
    """Return one finding for several that differ in numbers only; `*` stands where the paths differ."""
    paths = [_LINKS.sub("", one.path) for one in same]
    indexes = [_INDEX.findall(path) for path in paths]
    parts = _INDEX.split(paths[0])
    path = parts[0]
    for number, rest in enumerate(parts[1:]):
        seen = {one[number] for one in indexes}
        path += (seen.pop() if len(seen) == 1 else "[*]") + rest
    first = same[0]
    what = first.what if all(one.what == first.what for one in same) else f"{first.what}, and so on"
    if first.rule == "not-understood":  # the bytes of all of them, not of the first
        size = sum(int(one.what.partition(" ")[0].replace(",", "")) for one in same)
        what = f"{size:,} bytes in {len(same):,} places not understood"
    notes = {one.follows for one in same}
    follows = first.follows if len(notes) == 1 else f"{first.follows} (the first of {len(same):,} such places)"
    sizes = [one.smallest for one in same if one.smallest is not None]
    fewest = min((one.fewest for one in same if one.fewest is not None), default=None)
    return dataclasses.replace(
        first, path=path, what=what, follows=follows, places=sum(one.places for one in same),
        smallest=min(sizes, default=None), models=sum(one.models for one in same), fewest=fewest,
    )  # fmt: skip


def padding_finding(path: str, size: int, removable: bool) -> Finding:
    """Return the finding that bytes between the fields of records are not 0."""
    return Finding(
        "unknown", PADDING, path, f"{size:,} bytes between the fields of records are not 0",
        "the memory of the program that made the copy (copy.deepcopy, numpy's copies of records): whatever stood there "
        "before; values of training rows have been seen in such bytes", _CLEAR if removable else SAVE_THE_FITTED,
        removable,
    )  # fmt: skip


def not_understood(path: str, size: int, what: str, why: str = "") -> Finding:
    """Return the finding that so many bytes are not understood."""
    text = f"{size:,} bytes{f' of {what}' if what else ''} not understood"
    follows = "no reader and no rule knows what this holds: it may be training data" + (f" ({why})" if why else "")
    return Finding("unknown", "not-understood", path or "(the object)", text, follows, _TAKE_OUT)


RULE = "leaf-values"
BOOSTERS = ("GradientBoosting", "LightGBM", "LGBM", "XGB", "CatBoost", "Booster")
DOUBLE, SINGLE = 53.0, 24.0  # bits that a number holds at most
MAX_DECIMALS = 17  # decimals of a double
FEW_DECIMALS = 3  # decimals that say little, as long as trees are few
_REMEDY = (
    "round them before publishing, leave out what predictions do not need (counts, inner values, gains), or publish "
    "fewer trees: recon audit --remedies says what is revealed then"
)


def leaf_value_findings(draft: Draft, rows: int | None) -> list[Finding]:
    """Return one finding on a boosted model's leaf values; none where the reader reads none as statements.

    High where they hold a bit or more per training row (a label is one), medium where less, or their number is not
    known, info for a single tree with few digits.
    """
    values = [v for v in _values_of(draft) if v.size]
    if not values:
        return []
    every = np.concatenate(values)
    digits, each = _decimals(every), _bits(every)
    total = each * every.size
    level: Level = "medium"
    if len(values) == 1 and digits <= FEW_DECIMALS:
        level = "info"
    elif rows and total >= rows:
        level = "high"
    per_row = "" if not rows else f", {total / rows:,.1f} per training row"
    shown = f"{digits} decimals" if digits < MAX_DECIMALS else "all digits of a number"
    what = f"{every.size:,} leaf values of {len(values):,} trees, {shown}"
    follows = (
        "each is a quotient of two sums over the training rows of its leaf, whose terms follow from the other trees: "
        f"together they hold about {total:,.0f} bits{per_row}; recon audit works out which rows they determine"
    )
    return [Finding(level, RULE, "(leaf values)", what, follows, _REMEDY, values=tuple(every[:3].tolist()))]


def _values_of(draft: Draft) -> list[NDArray[np.float64]]:
    """Return the leaf values of every tree, as stored; [] where they are no statements on the rows."""
    from encoders.models.models import boosted_of
    from recon.readers.formats.sklearn.pipelines.pipeline import PipelineDraft

    if isinstance(draft, PipelineDraft) and draft.inner is not None:
        return _values_of(draft.inner)
    said = getattr(draft, "values", None)  # of scikit-learn: the trees hold what the file holds
    if said is not None and hasattr(draft, "trees"):
        return [np.asarray(t.arrays.value, dtype=float)[t.arrays.leaf, 0] for t in draft.trees]
    return [np.asarray(s.step, dtype=float) for m in boosted_of(draft.models) for s in m.sums]


def _decimals(values: NDArray[np.float64]) -> int:
    """Return how many decimals half of the values need at least, 17 for all that a double has."""
    for k in range(MAX_DECIMALS):
        if np.mean(np.round(values, k) == values) >= 0.5:
            return k
    return MAX_DECIMALS


def _bits(values: NDArray[np.float64]) -> float:
    """Return how many bits a value holds at most, by its decimals and its precision."""
    digits = _decimals(values)
    cap = SINGLE if bool((values == values.astype(np.float32)).all()) else DOUBLE
    if digits == MAX_DECIMALS:
        return cap
    reach = float(np.abs(values).max(initial=0.0))
    return min(cap, math.log2(2 * reach * 10.0**digits + 1))


def boosted(names: Sequence[str]) -> bool:
    """Return whether a class or format among the names is a boosted model's."""
    return any(booster in name for name in names for booster in BOOSTERS)


SMALL = 10  # rows: the usual minimum of a published group
# Rules whose findings are counts of training rows per leaf, rule, cell or category.
COUNTING = frozenset([
    "counts", "shares", "leaf-counts", "leaf-hessians", "tree", "histogram-tree", "figs-counts", "rule-counts",
    "r-frame", "published-counts", "contingency", "regression-sums",
])  # fmt: skip
_NO_COUNTS = frozenset({"noisy-counts", "document-counts"})  # noise, and words of texts
RUN_AUDIT = "run recon audit: this can be everything"

# Rules whose findings are rows, with all or one of their values; other critical ones are labels.
ROWS = frozenset([
    "neighbours", "neighbours-tree", "support-vectors", "gaussian-process", "kernel-rows", "kernel-sample", "figs-data",
    "label-propagation", "raw-data", "core-rows", "exemplars", "quantiles", "table", "one-per-row", "instances",
    "verification-rows", "subclusters", "subcluster-nodes", "centres", "isotonic", "input-example", "r-model", "r-data",
    "r-x", "r-qr", "r-SV", "r-trainingData", "r-learn", "rpart-x", "rpart-model",
])  # fmt: skip

# What a finding says something about that no statement carries: rows (anything), labels, sizes of groups, or columns.
About = Literal["", "rows", "labels", "sizes", "columns"]
GRAVE: tuple[Level, ...] = ("critical", "high")
# Rules whose figures other figures stand for: counts, what follows from seeds, leaf values, and names.
_EVALUATED = frozenset({"bag-seeds", "bags", "leaf-values", "label-values", "index", "noisy-counts"})
_OF_LABELS = frozenset({"search", "losses", "class-shares", "encodings", "ledger-labels"})


def about(one: Finding) -> About:
    """Return what a finding says something about that no statement carries."""
    if is_counting(one.rule) or one.rule in _EVALUATED:
        return ""
    if one.level == "unknown" or one.level in GRAVE:
        return "rows"
    if one.rule in _OF_LABELS:
        return "labels"
    if one.rule == "ledger-sizes":
        return "sizes"
    return "columns" if one.level == "medium" or one.rule == "ledger-columns" else ""


def graded(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, the worst first, with counts as grave as all counts of the file together make them."""
    models = sum(one.models for one in findings if is_counting(one.rule))
    return merge_findings([_graded(one, models) for one in findings])


def is_counting(rule: str) -> bool:
    """Return whether a rule's findings are counts of training rows ("bag-distinct-counts" of a release file, ...)."""
    return rule in COUNTING or (rule.endswith("-counts") and rule not in _NO_COUNTS)


def _graded(one: Finding, models: int) -> Finding:
    """Return a finding on counts with its level and why; others as they are."""
    if not is_counting(one.rule) or one.level != "medium":
        return one
    if one.smallest is not None and one.smallest < SMALL:
        rows = "1 row" if one.smallest == 1 else f"{one.smallest:,} rows"
        return replace(one, level="high", follows=f"{one.follows}; the smallest published count is {rows}: {RUN_AUDIT}")
    if models > 1:
        text = f"{models:,} trees, lists or tables are about the same rows, which together can single rows out"
        return replace(one, level="high", follows=f"{one.follows}; {text}: {RUN_AUDIT}")
    if one.smallest is None:
        text = "how small the smallest group is was not worked out"
        return replace(one, level="high", follows=f"{one.follows}; {text}: {RUN_AUDIT}")
    return one


def least_positive(values: Iterable[Any] | np.ndarray[Any, Any]) -> int | None:
    """Return the smallest number above zero (1 for what rounds to 0), None where there is none."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        above = values[(values > 1e-9) & np.isfinite(values)]
        return max(1, round(float(above.min()))) if above.size else None
    values = values.reshape(-1).tolist() if isinstance(values, np.ndarray) else values
    plain = (v.item() if isinstance(v, np.number) else v for v in values)
    found = [v for v in plain if isinstance(v, (int, float)) and 1e-9 < v < math.inf]
    return max(1, round(min(found))) if found else None


def of_object(rule: str, path: str, owner: Thing, value: Any) -> tuple[int | None, int]:
    """Return the smallest published group of an object that a rule names, and how many models it is."""
    if rule == "tree":
        return _tree(owner, value), 1
    if rule == "histogram-tree":
        names = value.dtype.names if isinstance(value, np.ndarray) else None
        if names and {"count", "is_leaf"} <= set(names):
            return least_positive(value["count"][value["is_leaf"] != 0]), 1
        return None, 1
    if rule == "figs-counts":
        root = path.endswith("].value_sklearn")  # `trees_[0].value_sklearn`, not `trees_[0].left.value_sklearn`
        return (least_positive(value) if isinstance(value, np.ndarray) else None), int(root)
    if rule == "contingency":
        if owner.class_name not in {"BernoulliNB", "CategoricalNB"}:  # sums of a column are not numbers of rows
            value = owner.get("class_count_")
        tables = [value] if isinstance(value, np.ndarray) else value if isinstance(value, list) else []
        arrays = [t for t in tables if isinstance(t, np.ndarray) and t.dtype.kind in "iuf"]
        sizes = [least_positive(t) for t in arrays]
        return min((s for s in sizes if s is not None), default=None), 1
    return None, 0


def rows_of_tree(nodes: Any) -> int | None:
    """Return the fewest rows of a leaf of a scikit-learn tree."""
    names = nodes.dtype.names if isinstance(nodes, np.ndarray) else None
    if names is None or not {"left_child", "n_node_samples"} <= set(names) or not len(nodes):
        return None
    return least_positive(nodes["n_node_samples"][nodes["left_child"] == -1])


def _tree(owner: Thing, nodes: Any) -> int | None:
    """Return the fewest rows of a leaf of a scikit-learn tree, of one class where classes are counted."""
    from recon.readers.stored.objects.arrays import resolve

    rows = rows_of_tree(nodes)
    if rows is None:
        return None
    names, leaf = nodes.dtype.names, nodes["left_child"] == -1
    values = resolve(owner.fields().get("values"))
    if not isinstance(values, np.ndarray) or values.ndim != 3 or len(values) != len(nodes):
        return rows
    if values.shape[1:] == (1, 1) or values.dtype.kind != "f" or not np.isfinite(values).all() or (values < 0).any():
        return rows
    sums = values[leaf].sum(axis=2, keepdims=True)
    shares = values[leaf] / np.where(sums > 0, sums, 1)
    drawn = nodes["weighted_n_node_samples"] if "weighted_n_node_samples" in names else nodes["n_node_samples"]
    size = drawn if np.all(drawn == np.rint(drawn)) else nodes["n_node_samples"]  # else rows were weighted
    of_class = least_positive(shares * size[leaf][:, None, None])
    return rows if of_class is None else min(rows, of_class)


def with_sizes(findings: Sequence[Finding], draft: Draft | None) -> list[Finding]:
    """Return the findings with the smallest group and number of models that the file's reader gives, where open."""
    missing = [f for f in findings if is_counting(f.rule) and f.smallest is None]
    if draft is None or not missing:
        return list(findings)
    smallest, models = of_draft(draft)
    alone = not any(f.models for f in findings if is_counting(f.rule))
    out = []
    for one in findings:
        open_one = is_counting(one.rule) and one.smallest is None
        out.append(replace(one, smallest=smallest, models=models if alone else one.models) if open_one else one)
        alone = alone and not open_one
    return out


def of_draft(draft: Draft) -> tuple[int | None, int]:
    """Return the smallest published group of what a reader read, and how many trees, lists and tables it is."""
    from recon.readers.formats.sklearn.pipelines.pipeline import PipelineDraft, SeveralDraft
    from recon.readers.formats.sklearn.trees.draft import TreesDraft

    if isinstance(draft, SeveralDraft):
        found = [of_draft(part) for part in draft.parts]
        return min((s for s, _ in found if s is not None), default=None), sum(m for _, m in found)
    if isinstance(draft, PipelineDraft) and draft.inner is not None:
        return of_draft(draft.inner)
    if isinstance(draft, TreesDraft):
        sizes = [least_positive(t.arrays.rows[t.arrays.leaf].tolist()) for t in draft.trees]
        return min((s for s in sizes if s is not None), default=None), len(draft.trees)
    return of_models(draft.models)


def of_models(models: Sequence[AnyModel]) -> tuple[int | None, int]:
    """Return the smallest published group of models, and how many trees, lists and tables they are."""
    count = sum(len(m.members()) or 1 for m in models)
    return least_positive(n for m in models for n in _counts(m)), count


def _counts(model: AnyModel) -> Iterator[int]:
    """Yield every count that a model publishes: at least so many rows, where it is no exact number."""
    from encoders.models.nodes import UNPUBLISHED

    for figure in model.figures():
        for value in (figure.count, figure.low, figure.high):
            if isinstance(value, int):
                yield value
                break
    for table in model.count_tables():
        yield from (n for n in table.values.tolist() if isinstance(n, int))
        yield from (n for n in table.different[~table.by_class].tolist() if n != UNPUBLISHED)


Claim = str | tuple[Level, str] | None


MIDWAY = "; thresholds of best splits lie halfway between two training values"  # of a tree whose splits are not random


def tree(owner: Thing, value: Any) -> Claim:
    """Return how many leaves with how many rows a tree of scikit-learn publishes."""
    names = value.dtype.names if isinstance(value, np.ndarray) else None
    if names is None or not {"left_child", "n_node_samples"} <= set(names) or not len(value):
        return None
    leaves = value[value["left_child"] == -1]["n_node_samples"]
    if not len(leaves):
        return None
    return (
        f"the training rows of {len(leaves):,} leaves (the smallest has {int(leaves.min()):,}), per class or as mean "
        f"and spread of the target: recon count and recon audit work out what follows{MIDWAY}"
    )
