"""What leaf values reveal, in words and as JSON: the lines that a report opens with, and the table of remedies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recon.queries.leaf_values.determined import Determined

if TYPE_CHECKING:
    import pandas as pd

ADVICE = (
    "remedy: round leaf values before publishing, leave out what predictions do not need (counts, inner values, "
    "gains), publish fewer trees, or draw a part of the rows for every tree (subsample); recon audit --remedies works "
    "out what roundings and fewer trees leave"
)


def _opening(found: Determined) -> str:
    """Return the one line on what a boosted model gives back."""
    if found.status == "failed":
        return (
            f"{found.name}: its leaf values are not those of training on these rows, each counted once: {found.failed}"
        )
    if not found.known:
        return f"{found.name}: nothing is proved about single rows from its leaf values ({found.trees:,} trees)"
    label = "all of them with their label" if found.with_label == found.rows else f"with label: {found.with_label:,}"
    label = f"{label} of {found.rows:,}" if found.with_label < found.rows else label
    return f"this boosted model determines {found.known:,} of {found.rows:,} rows ({label})"


def _lines_of(found: Determined, truth: Mapping[str, Any] | None) -> list[str]:
    """Return the lines on one model: what it gives back, what that rests on, and the true rows beside it."""
    lines = [_opening(found)]
    if found.status == "failed":
        return [
            *lines,
            "leaf values, and classes worked out from them, are left out of everything below: sizes are used",
        ]
    if found.known:
        open_values = found.with_label - found.whole
        cells = f"every value is known of {found.whole:,} of them"
        lines.append(cells if not open_values else f"{cells}, of {open_values:,} in which leaf of every tree they are")
    if found.surplus:
        lines.append(
            f"{found.surplus:,} published figures were left over to check that no row was weighted, drawn or added: "
            f"all of them hold (using at most {found.worst:.2f} of what rounding allows)"
        )
    elif found.known:
        lines.append("no published figure was left over to check that no row was weighted, drawn or added")
    if truth is not None:
        lines += _truth_lines(found, truth)
    return lines


def _truth_lines(found: Determined, truth: Mapping[str, Any]) -> list[str]:
    """Return the lines on the true rows: known rows that are true, and what is right without the model."""
    lines = []
    if truth["right"] is not None:
        lines.append(f"of the {found.with_label:,} rows known with label, true rows: {truth['right']:,}")
    chance = [("rows drawn from the true marginals", truth["marginals"]), (truth["other_is"], truth["other"])]
    said = [f"{name}: {100 * share:.1f} % of the true rows" for name, share in chance if share is not None]
    return [*lines, *([f"without the model, right by chance: {'; '.join(said)}"] if said else [])]


def audit_lines(
    found: Sequence[Determined], truths: Sequence[Mapping[str, Any] | None], table: pd.DataFrame | None
) -> list[str]:
    """Return the lines with which a report on boosted models opens; [] where none says anything of classes."""
    lines = [line for one, truth in zip(found, truths, strict=True) for line in _lines_of(one, truth)]
    if table is not None:
        return [*lines, *_remedy_lines(table)]
    return [*lines, ADVICE] if any(one.known for one in found) else lines


def _remedy_lines(table: pd.DataFrame) -> list[str]:
    """Return one line per remedy: how many rows and labels are still proved."""
    lines = ["published otherwise (proved in the time given; sizes of leaves are published in all of these):"]
    for one in table.to_dict("records"):
        more = {"unknown": " (nothing was proved in time)", "failed": " (its figures contradict each other)"}
        left = f"{one['rows_known']:,} of {one['rows']:,} rows, {one['labels_known']:,} with label"
        lines.append(f"  {one['remedy']}: {left}{more.get(one['status'], '')}")
    return lines


def audit_json(
    found: Sequence[Determined], truths: Sequence[Mapping[str, Any] | None], table: pd.DataFrame | None
) -> dict[str, Any]:
    """Return what leaf values reveal as an object ready for JSON: `models`, and `remedies` where they were asked."""
    import pandas as pd

    models = [
        {"summary": _opening(one), **asdict(one), **({} if truth is None else {"truth": dict(truth)})}
        for one, truth in zip(found, truths, strict=True)
    ]
    if table is None:
        return {"models": models}
    records = [{k: None if pd.isna(v) else v for k, v in one.items()} for one in table.to_dict("records")]
    return {"models": models, "remedies": records}
