"""XGBoost models as published trees: JSON and UBJSON of `save_model`, pickles, `dump_model(with_stats=True)`.

A node's cover is the sum of its rows' hessians. In the first round all rows have the same one, so that covers are
sizes, and a node's weight w = -G / (H + lambda) tells how many of its rows are of the class (Chen, Guestrin,
"XGBoost", KDD 2016, eq. 5). All of it is float32. Later covers mix rows of different hessians and give no counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from encoders.domain.values import Value
from encoders.models.models import (
    AnyModel,
    Boosting,
    CountKind,
    Forest,
    Provenance,
    PublishedFigure,
    Table,
    Tree,
    UnusedPublication,
)
from encoders.models.nodes import Support
from recon.readers.formats.boosters.shared import label_name, refuse, sums
from recon.readers.formats.boosters.xgboost.counts import Cover, ObjectiveStart, class_counts, sizes, starting_shares
from recon.readers.formats.boosters.xgboost.directions import DirectedDraft, FirstTreeCounts
from recon.readers.formats.boosters.xgboost.file import (
    StoredXGBoostTree,
    XGBoostFile,
    dump_booster,
    json_booster,
    part,
    real,
)
from recon.readers.formats.boosters.xgboost.seen import all_rows_seen, same_rows
from recon.readers.formats.boosters.xgboost.sums import (
    MADE,
    XGBoostRates,
    gradients,
    rates_of,
    start,
    tree_sums,
    unusable,
)
from recon.readers.formats.drafts.copies import CHANCE, copies_note, divided
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.drafts.facts import Feature
from recon.readers.stored.binary.ubjson import read_ubjson
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

NOT_STATED = (
    "XGBoost's subsample was 1 (figures of the file agree with that, where there are any) and no row was weighted (the "
    "file does not say): every cover is a whole number of rows"
)
NOT_WEIGHTED = (
    "no row was weighted (the file does not say; rows of weight 0 do not count): every cover is a whole number of rows"
)
HALF = "base_score was 0.5 (a dump does not say; every cover is a multiple of a quarter, as it must be then)"
LOWER_BOUNDS = "the trees saw samples of the rows: a leaf's count is a least number of training rows"
NOT_TOLD = (
    "no figure of the file tells that the trees saw all rows (subsample below 1 leaves no trace in it): a leaf's count "
    "is a least number of training rows"
)
FIGURES = "its leaf values, weights and covers"
SIZES = "they are not worked with beyond how many rows there are in the leaves"
SAME_ROWS = "all trees were fitted on the same rows (no continued training)"
UNPROVED = "the XGBoost dump does not prove what its covers count: save it with save_model('model.json')"
LATER = "covers of later rounds are sums of different hessians: only the first round says how many rows a leaf has"


def looks_like_xgboost_dump(found: Any) -> bool:
    """Return whether a parsed JSON value is what `Booster.dump_model(dump_format="json")` writes."""
    return isinstance(found, list) and bool(found) and isinstance(found[0], dict) and "nodeid" in found[0]


def looks_like_xgboost_ubj(head: bytes) -> bool:
    """Return whether a file begins like a model in UBJSON, XGBoost's default format."""
    return head[:1] == b"{" and b"learner" in head[:64] and not head[1:].lstrip().startswith(b'"')


def read_xgboost_ubj(
    data: bytes, memory: int, classes: Sequence[Value] | None = None, marker: float | None = None
) -> Draft:
    """Return what a model in UBJSON says: that of `save_model`, or what a pickle holds (its settings stand beside it).

    See `read_xgboost`. `memory`: bytes that what is read may take. `marker`: what the model takes for missing.
    """
    found = read_ubjson(data, memory)
    if isinstance(found, dict) and isinstance(found.get("Model"), dict):
        draws = subsampled(found.get("Config"))
        return to_draft(json_booster(found["Model"], "XGBoost, UBJSON of a pickle"), classes, (), draws, marker)
    return to_draft(json_booster(found, "XGBoost, save_model UBJSON"), classes, ())


def subsampled(config: Any) -> bool | None:
    """Return whether the settings of a pickled booster say that every tree saw a sample of the rows, None: unsaid."""
    try:
        trained = part(config, "learner", "gradient_booster", "tree_train_param")
        return real(trained.get("subsample"), "subsample") < 1
    except ReleaseError:
        return None


def read_xgboost(found: Any, classes: Sequence[Value] | None = None) -> Draft:
    """Return what a saved model says; `classes` are the label's values in the order of the codes 0, 1, ...

    Raises `ReleaseError` naming the tree and key, `Unsupported` for objectives whose covers are no sizes.
    """
    return to_draft(json_booster(found), classes, ())


def read_xgboost_dump(found: Any, classes: Sequence[Value] | None = None) -> Draft:
    """Return what a dump with statistics says: it names neither objective nor base_score nor learning rate.

    Sizes of the first tree, where its covers are multiples of a quarter (base_score 0.5); see `read_xgboost`.
    """
    return to_draft(dump_booster(found), classes, (HALF,))


def to_draft(
    booster: XGBoostFile,
    classes: Sequence[Value] | None,
    assumed: tuple[str, ...],
    draws: bool | None = None,
    marker: float | None = None,
) -> Draft:
    """Return the statements of a booster in its own terms; `draws`: whether its trees saw samples (None: unsaid).

    `marker`: the value that the model takes for missing beside NaN, where the file names it.
    """
    begin = starting_shares(booster)
    shares = begin.shares
    first = booster.trees if begin.every else booster.trees[: max(1, len(shares)) * booster.parallel]
    first = first[:1] if booster.dump else first
    trees = [(t, tree) for t, tree in enumerate(first) if len(tree.grown.splits) > 1]
    if not trees:
        raise Unsupported("no tree of the first round has a split: the XGBoost model says nothing about its rows")
    labels, label = label_values(begin, classes), label_name(booster.names)
    covers = [cover_of(t, tree, begin, booster) for t, tree in trees]
    kept = same_rows(booster, trees, covers) if begin.every else len(trees)
    trees, covers = trees[:kept], covers[:kept]
    seen = True if draws is False and booster.parallel == 1 else all_rows_seen(booster, begin, trees, covers)
    minimum = booster.parallel > 1 or draws is True or seen is not True
    if booster.dump and minimum:
        raise Unsupported(UNPROVED)
    least, copies = without_copies(trees, covers, labels)
    drawn, minimum = minimum, minimum or bool(copies)
    models, kinds, remarks, counted = statements(trees, covers, label, labels, least if minimum else None, drawn)
    if booster.dump and "exact" not in kinds:
        raise Unsupported(UNPROVED)
    rows = max(int(n[0]) for n in least)
    told = (NOT_TOLD if seen is None else LOWER_BOUNDS,) if drawn else ()
    notes = (*assumed, copies or (NOT_STATED if draws is None and not drawn else NOT_WEIGHTED), *told)
    if begin.every and len(booster.trees) > 1:
        notes = (*notes, SAME_ROWS)
    if kept < len(first):
        remarks += [f"from tree {kept} on the leaf values belong to other rows, or to drawn ones: those are left out"]
    if len(booster.trees) > len(first) and shares and not booster.dump:
        found = "the trees may have seen samples of the rows" if minimum else later(booster, covers[0])
        if isinstance(found, XGBoostRates):
            models, notes = (boosting(booster, models[0], found, rows),), (*notes, MADE, found.note, SAME_ROWS)
        else:
            remarks += [LATER, found]
    return DirectedDraft(
        Provenance(booster.form, kinds, notes, unused=unused_figures(booster, models, kinds, minimum, remarks)),
        tuple(Feature(name, name) for name in booster.names),
        models,
        labels if "exact" in kinds or isinstance(models[0], Boosting) else None,
        label,
        rows=RowCount(rows, None if drawn else max(int(cover.rows[0]) for cover in covers)),
        hints=booster.hints,
        named=booster.named,
        single=True,
        reader_notes=tuple(remarks),
        every=tuple(tree.grown for tree in booster.trees),
        counted=tuple(counted),
        drawn=drawn,
        marker=marker,
    )


def unused_figures(
    booster: XGBoostFile, models: Sequence[AnyModel], kinds: Sequence[CountKind], minimum: bool, remarks: Sequence[str]
) -> tuple[UnusedPublication, ...]:
    """Return that figures of a booster are not used; nothing where all of them are, or one tree gives its classes."""
    alone = len(booster.trees) == 1 and not minimum
    if isinstance(models[0], Boosting) or (alone and tuple(kinds) == ("exact",)):
        return ()
    return (UnusedPublication(FIGURES, remarks[-1] if remarks else SIZES, labels=alone),)


def later(booster: XGBoostFile, cover: Cover) -> XGBoostRates | str:
    """Return learning rate and lambda, with which all trees' figures are used, or why they are not."""
    return unusable(booster) or rates_of(booster.trees[0], cover)


def boosting(booster: XGBoostFile, first: AnyModel, rates: XGBoostRates, rows: int) -> Boosting:
    """Return all trees with what their figures say; `first`: the first one, which counts rows."""
    assert booster.base is not None
    assert isinstance(first, Tree)
    nothing = Support()
    later = (tree.grown.tree([nothing] * len(tree.grown.splits), f"tree {t}") for t, tree in enumerate(booster.trees))
    said = tuple(tree_sums(tree, t, rates, rows) for t, tree in enumerate(booster.trees))
    score = (start(booster.base[0]),)
    return Boosting((first, *list(later)[1:]), said, gradients(), score, score, (0, 1))


def label_values(begin: ObjectiveStart, classes: Sequence[Value] | None) -> tuple[Value, ...]:
    """Return the label's values in the order of its codes, () where the model is no classifier."""
    size = max(2, len(begin.shares)) if begin.classes else 0
    if classes is not None and size and len(classes) != size:
        raise refuse(f"{len(classes)} classes are given for a model of {size}", "classes")
    return tuple(range(size)) if classes is None or not size else tuple(classes)


def cover_of(t: int, tree: StoredXGBoostTree, begin: ObjectiveStart, booster: XGBoostFile) -> Cover:
    """Return the figures of one tree with its sizes; `Unsupported` where its covers are no numbers of rows."""
    share = begin.shares[tree.group] if begin.shares and tree.group < len(begin.shares) else None
    found = sizes(tree, share, begin.factor)
    if found is None:
        ask = "save the model with save_model('model.json')" if booster.dump else "rows were weighted"
        raise Unsupported(f"the covers of tree {t} are no whole numbers of rows with equal hessians: {ask}")
    return found


Answer = tuple[tuple[AnyModel, ...], tuple[CountKind, ...], list[str], list[FirstTreeCounts]]


def without_copies(
    trees: Sequence[tuple[int, StoredXGBoostTree]], covers: Sequence[Cover], labels: tuple[Value, ...]
) -> tuple[list[list[int]], str]:
    """Return how many rows the nodes have at least, and why that is fewer than their covers ("": it is not)."""
    binary = len(labels) == 2 and len({tree.group for _, tree in trees}) == 1
    leaves: list[list[int]] = []
    for (_, tree), cover in zip(trees, covers, strict=True):
        ones = class_counts(tree, cover) if binary else None
        rows = cover.rows.tolist()
        leaves += [[rows[i]] if ones is None else [rows[i] - ones[i], ones[i]] for i in tree.grown.leaves]
    if len({len(leaf) for leaf in leaves}) > 1:
        leaves = [[sum(leaf)] for leaf in leaves]
    divisors, fewer = divided(leaves, CHANCE)
    if max(divisors) == 1:
        return [cover.rows.tolist() for cover in covers], ""
    out, found = [], iter(fewer)
    for _, tree in trees:
        out.append(sums(tree.grown, {i: next(found) for i in tree.grown.leaves}))
    return out, copies_note(divisors, labels if len(divisors) == len(labels) else ())


def statements(
    trees: Sequence[tuple[int, StoredXGBoostTree]],
    covers: Sequence[Cover],
    label: str,
    labels: tuple[Value, ...],
    least: Sequence[Sequence[int]] | None,
    drawn: bool,
) -> Answer:
    """Return the trees of the first round (of every round where covers are sizes) with what is proved of them.

    `least`: rows that their nodes have at least, where they may have seen samples of the rows, or copies.
    """
    grown: list[Any] = []
    figures: list[PublishedFigure] = []
    counted: list[FirstTreeCounts] = []
    binary, unproved = len(labels) == 2 and len({tree.group for _, tree in trees}) == 1, False
    for i, ((t, tree), cover) in enumerate(zip(trees, covers, strict=True)):
        if least is not None:
            most = None if drawn else tuple(cover.rows.tolist())
            figures += tree.grown.at_least(least[i], f"tree {t}", most)
            counted.append(FirstTreeCounts(f"tree {t}", tree.grown, tuple(least[i]), most=most))
            continue
        counts = class_counts(tree, cover) if labels else None
        unproved |= counts is None
        of = [Support(count=n) for n in cover.rows.tolist()]
        value = labels[1 if binary else tree.group] if labels else 1
        ones = None if counts is None else tuple(counts)
        counted.append(FirstTreeCounts(f"tree {t}", tree.grown, tuple(cover.rows.tolist()), ones, value))
        if counts is not None and binary:
            of = [Support((n - k, k)) for n, k in zip(cover.rows.tolist(), counts, strict=True)]
        elif counts is not None:
            figures += tree.grown.of_class(counts, label, labels[tree.group], f"tree {t}")
        grown.append(tree.grown.tree(of, f"tree {t}"))
    if least is not None:
        return (Table(tuple(figures), "leaves"),), ("size",), ["only least numbers of rows are stated"], counted
    models: tuple[AnyModel, ...] = (grown[0],) if len(grown) == 1 else (Forest(tuple(grown)),)
    notes = ["counts per class are not proved by the leaf values: only sizes are stated"] if unproved and labels else []
    if figures:
        return (*models, Table(tuple(figures), "classes")), ("exact", "size"), notes, counted
    return models, ("size",) if unproved else ("exact",), notes, counted
