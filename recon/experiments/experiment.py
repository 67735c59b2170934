"""What an experiment is: independent points, what one of them gives, and the tables and figures of all."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from recon.experiments.drawing import PanelFigure
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    from recon.experiments.declaration import Declaration

Size = Literal["full", "quick"]
Scalar = str | int | float | bool | None
Row = dict[str, Scalar]  # one line of results; every point of an experiment may give several
RunOf = Callable[["Point", pd.DataFrame, Limits], list[Row]]


@dataclass(frozen=True)
class Point:
    """One independent piece of an experiment: its parameters, all that its results depend on beside the data.

    `dataset`: the name of the data it reads ("" for none). `cost`: expected seconds, dear points are begun first;
    it is no part of what the point is.
    """

    dataset: str
    parameters: Mapping[str, Scalar]
    cost: float = 1.0

    def key(self, experiment: str, version: int) -> str:
        """Return the name under which its results are stored: a hash of experiment, version, data and parameters."""
        text = json.dumps([experiment, version, self.dataset, dict(self.parameters)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def __getitem__(self, name: str) -> Any:
        """Return a parameter."""
        return self.parameters[name]

    def __str__(self) -> str:
        named = [f"{name} {value}" for name, value in self.parameters.items()]
        return ", ".join([self.dataset, *named] if self.dataset else named)


@dataclass(frozen=True)
class ResultTable:
    """A table of results: `name` becomes the name of its files, `about` says what a line is and in which units."""

    name: str
    frame: pd.DataFrame
    about: str


@dataclass(frozen=True)
class ExperimentFindings:
    """What an experiment's results say: tables, figures, and sentences (each compares a figure with the paper's)."""

    tables: Sequence[ResultTable] = ()
    figures: Sequence[PanelFigure] = ()
    sentences: Sequence[str] = ()


NAMES: dict[str, str] = {  # experiment -> module that holds its EXPERIMENT
    "ferry2024": "recon.experiments.ferry2024",
    "ly2024": "recon.experiments.ly2024",
    "belardo2018": "recon.experiments.belardo2018",
    "draft2024": "recon.experiments.draft2024",
    "draftdp2025": "recon.experiments.draftdp2025",
    "beyond": "recon.experiments.beyond",
    "reveal": "recon.experiments.reveal",
    "correlation": "recon.experiments.correlation",
    "joint": "recon.experiments.joint.experiment",
    "learner_rule": "recon.experiments.learner_rule",
}


def experiment(name: str) -> Declaration:
    """Return the experiment of that name; `KeyError` for an unknown one."""
    return of_module(NAMES[name])


def of_module(module: str) -> Declaration:
    """Return the experiment that a module holds."""
    found: Declaration = importlib.import_module(module).EXPERIMENT
    return found
