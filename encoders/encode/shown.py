"""How a release shows itself: its models, who is counted, and how small its groups are; nothing is counted for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.models.models import AnyModel, Boosting, Forest, RuleList, RuleSet, Tree
from solvers.foundation.display.displayed import LINES, DisplayFacts, many, short
from solvers.foundation.display.plots import standing_bars
from solvers.statements.release import Choice, Loose, Partition, Release, RowCount

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.display.plots import Axes

SMALL = 10  # rows: the minimum cell of official statistics


def rows_words(rows: RowCount) -> str:
    """Return a number of rows in words."""
    if rows.exact:
        return many(rows.low, "row")
    return f"{rows.low:,} to {rows.high:,} rows" if rows.high is not None else f"at least {many(rows.low, 'row')}"


def model_words(model: AnyModel) -> str:
    """Return the kind and size of a model in a few words."""
    kind = model.kind.replace("_", " ")
    if isinstance(model, Forest | Boosting):
        return f"{kind} of {many(len(model.trees), 'tree')}"
    if isinstance(model, Tree):
        return f"{kind} of {many(len(model.nodes), 'node')}"
    if isinstance(model, RuleList | RuleSet):
        return f"{kind} of {many(len(model.rules), 'rule')}"
    return f"{kind} of {many(len(model.statements), 'figure')}"


def noise_words(model: AnyModel) -> str:
    """Return the law of a model's noise, "" without."""
    return "" if model.noise is None else model.noise.law.name.replace("_", " ")


def release_facts(
    domain: Domain, models: Sequence[AnyModel], statements: Release, confidence: float, files: Iterable[str], sha: str
) -> DisplayFacts:
    """Return what is shown of a release. Cost: linear in models, not in their trees."""
    first = [model_words(model) for model in models[:2]] + ([f"{len(models) - 2:,} more"] if len(models) > 2 else [])
    label = "no label" if domain.label is None else f"label {short(domain.label.name)}"
    noisy = bool(statements.observed)
    line = f"{' and '.join(first)}, {rows_words(statements.rows)}, {many(len(domain.attributes), 'attribute')}, {label}"
    pairs = [
        ("file", ", ".join(files)), ("SHA-256", sha), ("rows", rows_words(statements.rows)),
        ("attributes", len(domain.attributes)), ("continuous attributes", len(domain.continuous) or None),
        ("domain", domain.origin), ("counts", "noisy" if noisy else "without noise"),
        ("confidence", confidence if noisy else None),
    ]  # fmt: skip
    return DisplayFacts(
        f"{line}{', noisy counts' if noisy else ''}", pairs, ("model", "what", "noise"),
        lambda: [(model.name, model_words(model), noise_words(model)) for model in models[:LINES]], len(models),
        statements.assumptions, "to_frame(), plot()",
    )  # fmt: skip


def models_frame(models: Sequence[AnyModel]) -> pd.DataFrame:
    """Return one line per model: name, kind, trees, parts (nodes, rules or figures), noise, format, counts."""
    import pandas as pd

    lines = []
    for model in models:
        trees = model.trees if isinstance(model, Forest | Boosting) else (model,) if isinstance(model, Tree) else ()
        parts = sum(len(tree.nodes) for tree in trees) or size(model)
        origin = model.origin
        form, counts = ("", "") if origin is None else (origin.format, ", ".join(origin.counts))
        lines.append((model.name, model.kind, len(trees), parts, noise_words(model), form, counts))
    return pd.DataFrame(lines, columns=["name", "kind", "trees", "parts", "noise", "format", "counts"])


def size(model: AnyModel) -> int:
    """Return the number of rules or figures of a model without trees."""
    if isinstance(model, RuleList | RuleSet):
        return len(model.rules)
    return 0 if isinstance(model, Tree | Forest | Boosting) else len(model.statements)


def group_sizes(statements: Release) -> NDArray[np.int64]:
    """Return the least number of rows of every published group: leaves and rules of all classes, figures that count."""
    found = []
    for block in statements.blocks:
        if isinstance(block, Partition):
            sizes = np.zeros(len(block.boxes), dtype=np.int64)
            np.add.at(sizes, block.region, np.maximum(block.low, 0))
            found.append(sizes)
        elif isinstance(block, Loose | Choice):
            found.append(np.array([max(s.low, 0) for s in block.members if s.of is None], dtype=np.int64))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def groups_plot(statements: Release, ax: Axes | None = None) -> Axes:
    """Return axes with how many published groups have 0, 1, ... rows at least, `SMALL` and more together."""
    times = np.bincount(np.minimum(group_sizes(statements), SMALL), minlength=SMALL + 1)
    names = [*map(str, range(SMALL)), f"{SMALL}+"]
    return standing_bars(
        names, times.tolist(), "Published groups by their rows", "rows in a group, at least", "groups", ax
    )
