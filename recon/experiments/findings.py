"""What findings are made of: lines chosen and averaged, series and panels of them, and texts that are data.

`texts/NAME.toml` says of an experiment what its tables and figures show and in which sentences its results are told:
templates of `str.format`, in which a break of lines is a space.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings, ResultTable

Line = dict[str, Any]


class Texts:
    """The texts of an experiment, with values that all of them may name."""

    def __init__(self, name: str, **values: object) -> None:
        self.name, self.values = name, values

    @cached_property
    def _parts(self) -> dict[str, dict[str, str]]:
        file = resources.files("recon.experiments") / "texts" / f"{self.name}.toml"
        return tomllib.loads(file.read_text(encoding="utf-8"))

    def _filled(self, part: str, name: str, values: Mapping[str, object]) -> str:
        return " ".join(self._parts[part][name].split()).format_map({**self.values, **values})

    def table(self, name: str, frame: pd.DataFrame, /, **values: object) -> ResultTable:
        """Return a table with what it shows; `KeyError` where there is no text of its name."""
        return ResultTable(name, frame, self._filled("tables", name, values))

    def figure(self, name: str, panels: Sequence[Panel], /, about: str = "", **values: object) -> PanelFigure:
        """Return a figure with what it shows (of a text of another name: `about`); `KeyError` where there is none."""
        return PanelFigure(name, self._filled("figures", about or name, values), panels)

    def say(self, name: str, /, **values: object) -> str:
        """Return a sentence with its values; `KeyError` where there is no sentence of that name."""
        return self._filled("sentences", name, values)


def joined_findings(*found: ExperimentFindings) -> ExperimentFindings:
    """Return findings as one, without tables that have no lines and figures that have no panels."""
    return ExperimentFindings(
        [table for one in found for table in one.tables if len(table.frame)],
        [figure for one in found for figure in one.figures if figure.panels],
        [sentence for one in found for sentence in one.sentences],
    )


def of_questions(
    results: pd.DataFrame, questions: Mapping[str, Callable[[pd.DataFrame], ExperimentFindings]],
    perhaps: Sequence[str] | None = None,
) -> ExperimentFindings:  # fmt: skip
    """Return the findings of all questions that have results (column `question`).

    `perhaps`: columns that are kept without a value, where the others without one go: they only cost time.
    """
    found = []
    for question, of in questions.items():
        some = where(results, question=question).reset_index(drop=True)
        if len(some):
            kept = slice(None) if perhaps is None else some.notna().any() | some.columns.isin(perhaps)
            found.append(of(some.loc[:, kept]))
    return joined_findings(*found)


def where(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the lines with these values: of columns by name one value, one of a tuple, or None for a missing one.

    A frame without lines is returned as it is: it may lack the columns.
    """
    if not len(frame):
        return frame
    keep = np.ones(len(frame), dtype=bool)
    for name, value in values.items():
        column = frame[name]
        met = column.isin(value) if isinstance(value, tuple) else column.isna() if value is None else column == value
        keep &= met.to_numpy(dtype=bool)
    return frame[keep]


def with_columns(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return a frame that has these columns, empty where it had none."""
    return frame.reindex(columns=[*frame.columns, *(name for name in names if name not in frame)])


def records(frame: pd.DataFrame) -> list[Line]:
    """Return the lines of a frame."""
    return [{str(name): value for name, value in line.items()} for line in frame.to_dict("records")]


def averages(
    frame: pd.DataFrame, keys: Sequence[str], how: Mapping[str, str | Sequence[Any]], sort: bool = False
) -> pd.DataFrame:
    """Return a line per group with its columns in the order of `how`: name -> aggregate, or (column, aggregate).

    Groups are those of the keys, missing values among them, in the order in which they come or sorted.
    """
    named = {name: (name, one) if isinstance(one, str) else tuple(one) for name, one in how.items()}
    return frame.groupby(list(keys), as_index=False, dropna=False, sort=sort).agg(**named)


def by_title(
    frame: pd.DataFrame, titles: Mapping[Any, str], key: str = "dataset"
) -> Iterator[tuple[Any, str, pd.DataFrame]]:
    """Yield every value of a column that has lines, in the order of `titles`: the value, its title and its lines."""
    for name, title in titles.items():
        if len(part := where(frame, **{key: name})):
            yield name, title, part


def series(
    label: object, part: pd.DataFrame, x: str, y: str, band: tuple[str, str] | None = None, hollow: Any = None,
    style: Any = "line", like: str = "",
) -> PlotLine:  # fmt: skip
    """Return columns of lines as a series; `band`: columns around y; `hollow`: which points are hollow."""
    low, high = (None, None) if band is None else (part[name].tolist() for name in band)
    shown = None if hollow is None else [bool(one) for one in hollow]
    return PlotLine(str(label), part[x].tolist(), part[y].tolist(), low, high, shown, style, like)


def level(label: str, x: Sequence[float], y: float, like: str = "") -> PlotLine:
    """Return one value over places or ends of an axis, as a reference."""
    return PlotLine(label, x, [y] * len(x), style="dashed", like=like)


def diagonal(label: str, ends: Sequence[float]) -> PlotLine:
    """Return where both axes have the same value, as a reference."""
    return PlotLine(label, ends, ends, style="dashed")
