"""What is shown of an encoded release: its facts in a line and a table, its models as a frame, its groups as a plot.

Nothing is counted for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.models.models import AnyModel, kind_words
from solvers.foundation.displayed import LINES, DisplayFacts, many, short
from solvers.foundation.plots import standing_bars
from solvers.statements.release import Choice, Loose, Partition, Release, RowCount

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes


SMALL = 10  # rows: the minimum cell of official statistics


def _rows_words(rows: RowCount) -> str:
    """Return a number of rows in words."""
    if rows.exact:
        return many(rows.low, "row")
    return f"{rows.low:,} to {rows.high:,} rows" if rows.high is not None else f"at least {many(rows.low, 'row')}"


def _model_words(model: AnyModel) -> str:
    """Return the kind and size of a model in a few words."""
    return f"{kind_words(model)} of {many(model.size(), model.unit)}"


def _noise_words(model: AnyModel) -> str:
    """Return the law of a model's noise, "" without."""
    return "" if model.noise is None else model.noise.law.name.replace("_", " ")


def release_facts(
    domain: Domain, models: Sequence[AnyModel], statements: Release, confidence: float, files: Iterable[str], sha: str
) -> DisplayFacts:
    """Return what is shown of a release. Cost: linear in models, not in their trees."""
    first = [_model_words(model) for model in models[:2]] + ([f"{len(models) - 2:,} more"] if len(models) > 2 else [])
    label = "no label" if domain.label is None else f"label {short(domain.label.name)}"
    noisy = bool(statements.observed)
    line = (
        f"{' and '.join(first)}, {_rows_words(statements.rows)}, {many(len(domain.attributes), 'attribute')}, {label}"
    )
    pairs = [
        ("file", ", ".join(files)), ("SHA-256", sha), ("rows", _rows_words(statements.rows)),
        ("attributes", len(domain.attributes)), ("continuous attributes", len(domain.continuous) or None),
        ("domain", domain.origin), ("counts", "noisy" if noisy else "without noise"),
        ("confidence", confidence if noisy else None),
    ]  # fmt: skip
    return DisplayFacts(
        f"{line}{', noisy counts' if noisy else ''}", pairs, ("model", "what", "noise"),
        lambda: [(model.name, _model_words(model), _noise_words(model)) for model in models[:LINES]], len(models),
        statements.assumptions, "to_frame(), plot()",
    )  # fmt: skip


def models_frame(models: Sequence[AnyModel]) -> pd.DataFrame:
    """Return one line per model: name, kind, trees, parts (nodes, rules or figures), noise, format, counts."""
    import pandas as pd

    lines = []
    for model in models:
        trees = model.members()
        parts = sum(tree.size() for tree in trees) or model.size()
        origin = model.origin
        form, counts = ("", "") if origin is None else (origin.format, ", ".join(origin.counts))
        lines.append((model.name, model.kind, len(trees), parts, _noise_words(model), form, counts))
    return pd.DataFrame(lines, columns=["name", "kind", "trees", "parts", "noise", "format", "counts"])


def group_sizes(statements: Release) -> NDArray[np.int64]:
    """Return the least number of rows of every published group: leaves and rules of all classes, figures that count."""
    found = []
    for block in statements.blocks:
        if isinstance(block, Partition):
            sizes = np.zeros(len(block.boxes), dtype=np.int64)
            np.add.at(sizes, block.region, np.maximum(block.low, 0))
            found.append(sizes)
        elif isinstance(block, Loose | Choice):
            found.append(np.array([max(s.low, 0) for s in block.members if s.region is not None], dtype=np.int64))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def groups_plot(statements: Release, ax: Axes | None = None) -> Axes:
    """Return axes with how many published groups have 0, 1, ... rows at least, `SMALL` and more together."""
    times = np.bincount(np.minimum(group_sizes(statements), SMALL), minlength=SMALL + 1)
    names = [*map(str, range(SMALL)), f"{SMALL}+"]
    return standing_bars(
        names, times.tolist(), "Published groups by their rows", "rows in a group, at least", "groups", ax
    )
