"""What kind of counts a published model has: per class, sizes, shares, labels, with noise or without."""

from __future__ import annotations

from encoders.models.models import AnyModel, CountKind, Forest, Support, Table, Tree

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
    if model.origin is not None:
        return model.origin.counts
    if isinstance(model, Forest) and model.resampled:
        return ("bag", "distinct") if model.bootstrap else ("distinct",)
    if isinstance(model, Table):
        return ("exact",)
    supports = supports_of(model)
    found: list[CountKind] = []
    if any(s.counts is not None for s in supports):
        found.append("exact")
    if any(s.count is not None for s in supports):
        found.append("size")
    return tuple(found)


def supports_of(model: AnyModel) -> list[Support]:
    """Return what the leaves or rules of a model publish."""
    if isinstance(model, Table):
        return []
    if isinstance(model, Forest):
        return [node.support for tree in model.trees for node in tree.nodes if node.condition is None]
    if isinstance(model, Tree):
        return [node.support for node in model.nodes if node.condition is None]
    return [rule.support for rule in model.rules]
