"""What kind of counts a published model has: per class, sizes, shares, labels, with noise or without."""

from __future__ import annotations

from encoders.models.models import AnyModel, Boosting, CountKind, Forest, Table, Tree
from encoders.models.nodes import CountTable

MEANING: dict[CountKind, str] = {
    "exact": "training rows per class",
    "bag": "drawn rows per class of a resample, one training row may count several times",
    "distinct": "how many different training rows a resample holds",
    "ratio": "shares of classes, the number of rows behind them unknown",
    "size": "training rows, whatever their class",
    "label": "only which class is the commonest",
    "noisy": "counts with noise",
}


def kinds_of(model: AnyModel) -> tuple[CountKind, ...]:
    """Return the kinds of a model's counts: as its reader declared them, else by what is in it."""
    if model.noise is not None:
        return ("noisy",)
    if model.origin is not None and model.origin.format:
        return model.origin.counts
    if isinstance(model, Forest) and model.resampled:
        return ("bag", "distinct") if model.bootstrap else ("distinct",)
    if isinstance(model, Table):
        return ("exact",)
    tables = counts_of(model)
    found: list[CountKind] = []
    if any(t.by_class.any() for t in tables):
        found.append("exact")
    if any((t.published & ~t.by_class).any() for t in tables):
        found.append("size")
    return tuple(found)


def counts_of(model: AnyModel) -> list[CountTable]:
    """Return what the leaves of every tree or the rules of a model publish."""
    if isinstance(model, Table):
        return []
    if isinstance(model, (Tree, Forest, Boosting)):
        return [tree.nodes.leaf_counts for tree in ((model,) if isinstance(model, Tree) else model.trees)]
    return [CountTable.of([rule.support for rule in model.rules])]
