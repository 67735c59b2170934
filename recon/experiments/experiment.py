"""What an experiment is: independent points, what one of them gives, and the tables and figures of all."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from recon.experiments.drawing import PanelFigure
from solvers.foundation.limits import Limits

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


@dataclass(frozen=True)
class Experiment:
    """An experiment by name.

    `points(size)` lists its points (cheap, no data read), `run(point, frame, limits)` returns one point's rows, whoever
    calls it (`frame`: without columns where the point reads no data), `findings(results)` draws all that is there:
    `results` has one line per row with the point's dataset and parameters as further columns, and may be incomplete.
    `version` goes up whenever rows mean something else; what was stored before is then run anew. `needs`: packages
    beside the core's and the extra that brings them. `figures`: by the name of a figure, the values of parameters that
    the points it is drawn of have.
    """

    name: str
    about: str
    source: str
    points: Callable[[Size], list[Point]]
    run: RunOf
    findings: Callable[[pd.DataFrame], ExperimentFindings]
    version: int = 1
    needs: Mapping[str, str] = field(default_factory=dict)  # package -> extra
    figures: Mapping[str, Mapping[str, Sequence[Scalar]]] = field(default_factory=dict)

    def figure_names(self, asked: Sequence[str]) -> list[str]:
        """Return the figures asked for: `3a` and `3` (all of it) stand for `figure-3a` ...; `KeyError` for no such."""
        found = []
        for name in asked:
            same = [one for one in self.figures if name in (one, one.removeprefix("figure-"))]
            same = same or [one for one in self.figures if one.startswith(f"figure-{name}")]
            if not same:
                raise KeyError(name)
            found += same
        return list(dict.fromkeys(found))

    def selected(
        self, points: Sequence[Point], figures: Sequence[str], datasets: Sequence[str], only: str
    ) -> list[Point]:
        """Return the points that some figures are drawn of (none: all), of some data sets (none: all of them).

        `only`: a word that some parameter's value contains.
        """
        return [
            point for point in points
            if (not figures or any(_of_figure(point, self.figures[name]) for name in figures))
            and (not datasets or point.dataset in datasets)
            and (not only or any(only in str(value) for value in point.parameters.values()))
        ]  # fmt: skip


def _of_figure(point: Point, values: Mapping[str, Sequence[Scalar]]) -> bool:
    """Return whether a point has the parameters that a figure's points have."""
    return all(name in point.parameters and point.parameters[name] in some for name, some in values.items())


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


def experiment(name: str) -> Experiment:
    """Return the experiment of that name; `KeyError` for an unknown one."""
    return of_module(NAMES[name])


def of_module(module: str) -> Experiment:
    """Return the experiment that a module holds."""
    found: Experiment = importlib.import_module(module).EXPERIMENT
    return found
