"""Texts of findings that are data.

`texts/NAME.toml` says of an experiment what its tables and figures show and in which sentences its results are told:
templates of `str.format`, in which a break of lines is a space.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources

import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure
from recon.experiments.experiment import ResultTable


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
