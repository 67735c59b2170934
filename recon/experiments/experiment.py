"""Experiments as data: what `papers/NAME.toml` declares, and the one engine that makes findings of it.

`[experiment]`: what is run again, where it is from, and what it needs; `by`: the parameter whose values are parts of
the experiment that are run and shown apart; `frames`: those of sentences, without lines where no results have any.
`[values]`: constants and names that all texts may use. `[points.NAME]`: parameters of points, see `Declaration.points`.
`[published.NAME]`: figures of others, as CSV. `[frames.NAME]`: lines that follow from others, see `Declaration.frame`.
`[tables.NAME]`: what a table shows. `[figures.NAME]`: panels per facet (columns of the frame of that
name, or of `frame`), each with layers: lines per label, of columns x and y. `sentences`: a template of Jinja whose
lines that begin with "- " begin a sentence.
Templates of labels, titles and texts are `str.format`'s.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from string import Formatter
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure, PlotLine
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


Line = dict[str, Any]
Spec = dict[str, Any]
Frames = Mapping[str, Any]  # lines by name; panels of a figure by its name; else values that sentences name
FramesOf = Callable[[pd.DataFrame], Frames]
AGGREGATES: dict[str, Callable[[pd.Series], object]] = {  # beside those that pandas has by name
    "standard_error": lambda values: values.std(ddof=1) / np.sqrt(len(values)),
    "deviation": lambda values: values.std(ddof=0),
    "commonest": lambda values: values.value_counts(normalize=True).max(),
    "joined": lambda values: " and ".join(map(str, sorted(set(values)))),
    "one_mean": lambda values: float(values.mean()),  # grouped means differ in the last digit from those of one sum
}
SHARED = ("x", "y", "x_scale", "y_scale", "unit")  # of a panel, as drawing has them
LIMITS_OF_SPACE = ((re.compile(r"(?<!\s)\s+([,;)]|[.:](?=\s|$))"), r"\1"), (re.compile(r"\(\s+"), "("))


class Declaration:
    """What is declared of an experiment (in `papers/`, or in a text), with values that all of its texts may name."""

    def __init__(self, name: str, text: str = "", /, **values: object) -> None:
        text = text or (resources.files("recon.experiments") / "papers" / f"{name}.toml").read_text(encoding="utf-8")
        self.name, self._parts = name, tomllib.loads(text)
        told = self._parts.get("experiment", {})
        self.about, self.source = told.get("about", ""), " ".join(told.get("source", "").split())
        self.version: int = told.get("version", 1)  # goes up whenever rows mean something else: all is run anew
        self.needs: dict[str, str] = told.get("needs", {})  # packages beside the core's, and the extra that has them
        self._by = told.get("by", "")
        self.values: dict[str, Any] = {**self._parts.get("values", {}), **values}
        for key, value in self.values.items():
            self.values[key] = " ".join(value.split()) if isinstance(value, str) else value

    def __getitem__(self, name: str) -> Any:
        """Return a value."""
        return self.values[name]

    def experiment(self, run: RunOf | Mapping[str, RunOf], frames: FramesOf | Mapping[str, FramesOf] | None = None
                   ) -> Self:  # fmt: skip
        """Return the experiment with what one point gives, and the frames of all results beside those declared.

        Both may be by the part of the experiment ("": of results without one), see `by`; declared frames may be `of`
        "all" results, or of those of a part: "all.PART".
        """
        self._run, self._frames_of = run, frames or {}
        return self

    def run(self, point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
        """Return one point's rows, whoever asks (`frame`: without columns where the point reads no data)."""
        run = self._run if callable(self._run) else self._run[str(point.parameters.get(self._by, ""))]
        return run(point, frame, limits)

    def findings(self, results: pd.DataFrame) -> ExperimentFindings:
        """Return all that is there drawn: a line per row with the point's dataset and parameters as further columns.

        They may be incomplete.
        """
        found: dict[str, Any] = {"all": results}
        if self._by:
            parts = results[self._by].fillna("") if self._by in results else pd.Series("", results.index)
            found |= {f"all.{name}": results[parts == name].reset_index(drop=True) for name in parts.unique()}
        if callable(self._frames_of):
            return self.shown({**found, **self._frames_of(results)})
        for name, of in self._frames_of.items():
            found |= of(found[f"all.{name}"]) if f"all.{name}" in found else {}
        return self.shown(found)

    @cached_property
    def figures(self) -> dict[str, dict[str, tuple[Scalar, ...]]]:
        """Return by the name of a figure the values of parameters that the points it is drawn of have."""
        return {
            name: {key: tuple(None if pd.isna(one) else one for one in some) for key, some in spec["points"].items()}
            for name, spec in self._inherited("figures").items() if "points" in spec
        }  # fmt: skip

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

        def drawn(point: Point, values: Mapping[str, Sequence[Scalar]]) -> bool:
            return all(name in point.parameters and point.parameters[name] in some for name, some in values.items())

        return [
            point for point in points
            if (not figures or any(drawn(point, self.figures[name]) for name in figures))
            and (not datasets or point.dataset in datasets)
            and (not only or any(only in str(value) for value in point.parameters.values()))
        ]  # fmt: skip

    def points(self, size: Size) -> list[Point]:
        """Return the points of a size: of each `[points.NAME]`, in order, every combination, its last key fastest.

        A list stands for each of its values, a table in it for all its keys, `nan` for None. A text that begins with
        "=" is a formula of Jinja over values, the keys before it and `quick`; a parameter that it leaves undefined is
        none. Keys that begin with "_" are no parameters and are kept whole. `quick`, `full`: keys that have other
        values in that size; `false`: nothing in it. `cost`: expected seconds (1); with `runs`, of one of so many seeds,
        `chunk` of them to a point.
        """
        found: list[Point] = []
        for spec in self._inherited("points").values():
            kept = {key: value for key, value in spec.items() if key not in ("quick", "full", "like")}
            if (other := spec.get(size, {})) is not False:
                for one in _combinations([*{**kept, **other}.items()], {**self.values, "quick": size == "quick"}, {}):
                    found += _points_of(one)
        return found

    def published(self, name: str) -> pd.DataFrame:
        """Return figures of others; a text that is empty stands for none, in other columns for a missing number."""
        text = self._parts["published"][name]
        return pd.read_csv(io.StringIO(text), skipinitialspace=True, dtype=str, keep_default_na=False).apply(_numbers)

    def frame(self, name: str, frame: pd.DataFrame, known: Frames | None = None) -> pd.DataFrame:
        """Return what is declared to follow from lines, step by step in the order in which it is declared.

        `with`: columns that they may lack; `types`: columns that are made "int" or "float"; `where`: a condition;
        `once`, `last`: that line of every key. `by`, `values`: a line per group, `sorted` or in the order in which
        they come, missing keys among them, with what lines "names: [column] aggregate" say (pandas', those of
        `AGGREGATES`, and values that are functions); of no lines none. `columns`: formulas of columns, `texts`: of
        Jinja, line by line; `per`: "keys: column aggregate" of all lines with the same keys. `join`: further columns
        out of another `frame` (`published.NAME`: figures of others) by the columns `on`. `named`: lines whose key has
        a name, in the order of the names, "key names" or "key names title" for each; `sort`; `keep`: columns, see
        `_kept`; `spread`: a line per `index` and a column for every value of `columns`, of `values`.
        """
        spec = self._inherited("frames")[name]
        if not len(frame):
            return (
                pd.DataFrame(columns=[*spec["by"], *dict(_aggregates(spec["values"], {}))]) if "by" in spec else frame
            )
        for step, said in spec.items():
            if step == "with":
                frame = with_columns(frame, *said.split())
            elif step == "types":
                frame = frame.astype({column: kind for kind, names in said.items() for column in names.split()})
            elif step in ("once", "last"):
                frame = frame.drop_duplicates(said, keep="first" if step == "once" else "last")
            elif step == "values":
                wanted = dict(_aggregates(said, self.values))
                groups = with_columns(frame, *(column for column, _ in wanted.values())).groupby(
                    spec["by"], as_index=False, dropna=False, sort=spec.get("sorted", False)
                )
                frame = groups.agg(**wanted)
            elif step in (made := {"columns": self._worked_out, "texts": self._per_line, "per": _per_group}):
                for column, formula in said.items():
                    frame = frame.assign(**{column: made[step](frame, formula) if len(frame) else None})
            elif step == "join":
                other, how_joined = self._lines_of(said["frame"], known or {}), said.get("how", "left")
                if not len(frame) or (how_joined == "inner" and not len(other)):
                    return pd.DataFrame()
                some = with_columns(frame, *other.columns)
                frame = frame.merge(other, on=said["on"], how=how_joined) if len(other) else some
                if not len(frame):
                    return pd.DataFrame()
            elif step == "named":
                for key, names, *title in map(str.split, said):
                    frame = named_lines(frame, self.values[names], key, *title)
            elif step == "keep":
                frame = self._kept(frame, said)
            elif step == "spread":
                frame = frame.pivot_table(**said, sort=False).reset_index()
            elif step in ("where", "sort"):
                frame = self._part({step: said}, frame)
        return frame.reset_index(drop=True)

    def _lines_of(self, name: str, known: Frames) -> pd.DataFrame:
        """Return the lines that are known by a name, or were published."""
        kind, _, text = name.partition(".")
        found: pd.DataFrame = self.published(text) if text and kind == "published" else known.get(name, pd.DataFrame())
        return found

    def _worked_out(self, frame: pd.DataFrame, formula: str) -> Any:
        """Return what a formula of columns and values gives."""
        return frame.eval(formula, engine="python", local_dict=self.values)

    def _per_line(self, frame: pd.DataFrame, formula: str) -> list[Any]:
        """Return what a formula of Jinja gives for every line."""
        return [_formula(formula)({**self.values, **line}) for line in records(frame)]

    def shown(self, frames: Frames) -> ExperimentFindings:
        """Return the tables that have lines, the figures that have panels, and the sentences."""
        known = {**dict.fromkeys(self._parts.get("experiment", {}).get("frames", ()), pd.DataFrame()), **frames}
        for name, spec in self._inherited("frames").items():
            if name not in frames and "of" in spec:
                some = [
                    self._lines_of(of, known) for of in ([spec["of"]] if isinstance(spec["of"], str) else spec["of"])
                ]
                known[name] = self.frame(name, some[0] if len(some) == 1 else pd.concat(some), known)
        tables = [
            ResultTable(name, frame, self._filled(spec["about"], spec))
            for name, spec in self._parts.get("tables", {}).items()
            if len(frame := self._shown(spec, known.get(spec.get("frame", name), pd.DataFrame()))) or "always" in spec
        ]  # fmt: skip
        figures = [
            PanelFigure(name, self._filled(spec["about"], spec), shown)
            for name, spec in self._inherited("figures").items()
            if (shown := list(self._panels(spec, known.get(spec.get("frame", name), pd.DataFrame()), known)))
        ]  # fmt: skip
        return ExperimentFindings(tables, figures, self.sentences(known))

    def _inherited(self, kind: str) -> dict[str, Spec]:
        """Return what is declared; one that is `like` another has what that one has and does not say otherwise."""
        found: dict[str, Spec] = {}
        for name, spec in self._parts.get(kind, {}).items():
            found[name] = {**found.get(spec.get("like", ""), {}), **spec}
        return found

    def _filled(self, text: str, values: Mapping[str, object]) -> str:
        return " ".join(text.split()).format_map({**self.values, **values})

    def sentences(self, known: Mapping[str, Any]) -> list[str]:
        """Return the sentences that the results allow."""
        from jinja2 import Environment, StrictUndefined

        template = Environment(undefined=StrictUndefined, lstrip_blocks=True)
        template.filters.update({"f": format, "each": _joined_texts, "lines": records, "where": where, "at": _first})
        template.globals.update({"grouped": _groups, "int": int, "float": float, "len": len})
        text = template.from_string(self._parts.get("sentences", "")).render({**self.values, **known})
        return [_in_one_line(part) for part in re.split(r"(?m)^[ \t]*- ", text)[1:]]

    def _shown(self, spec: Spec, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the lines and columns of a table; `names`: by column the value that names its keys."""
        frame = self._part(spec, frame)
        if not len(frame):
            return frame
        titles = {one: frame[one].map(self.values[names]) for one, names in spec.get("names", {}).items()}
        frame = frame.assign(**{one: named.fillna(frame[one]) for one, named in titles.items()})
        if "columns" not in spec:
            return frame.reset_index(drop=True) if titles else frame
        return self._kept(frame, spec["columns"])

    def _kept(self, frame: pd.DataFrame, columns: str) -> pd.DataFrame:
        """Return columns of lines: "name", or "name=as it is called then"; a "name?" without values is left out."""
        names = (one.partition("=") for one in self._filled(columns, {}).split())
        named = {
            one.rstrip("?"): shown or one.rstrip("?")
            for one, _, shown in names if one[-1] != "?" or (one[:-1] in frame and frame[one[:-1]].notna().any())
        }  # fmt: skip
        return with_columns(frame, *named)[list(named)].rename(columns=named).reset_index(drop=True)

    def _panels(self, spec: Spec, frame: Any, frames: Frames) -> Iterator[Panel]:
        """Yield the panels of a figure, all those of one facet together; or those that are made already."""
        if isinstance(frame, list):
            yield from frame
            return
        frame, facet = self._part(spec, frame), spec.get("facet", [])
        for _, part in _groups(frame, facet):
            first = {**self.values, **spec, **records(part.head(1))[0]}
            for plot in spec.get("panels", [spec]):
                by = [*facet, *plot.get("by", [])]
                lines = [line for values, some in _groups(part, by) for layer in plot["layers"]
                         for line in self._lines(layer, some, dict(zip(by, values, strict=True)), frames)]  # fmt: skip
                if any(line.style != "dashed" or line.like for line in lines):
                    shared = {name: plot[name] for name in SHARED if name in plot}
                    shared = {name: one.format_map(first) if isinstance(one, str) else one
                              for name, one in shared.items()}  # fmt: skip
                    names = {float(at): text for at, text in plot.get("names", {}).items()}
                    yield Panel(plot.get("title", spec.get("title", "")).format_map(first), lines=lines, names=names,
                                **shared)  # fmt: skip

    def _part(self, spec: Spec, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the lines of a frame that are asked for, sorted if so ("-name": the greatest first)."""
        if len(frame) and "where" in spec:
            frame = frame.query(spec["where"], local_dict=self.values)
        if len(frame) and "sort" in spec:
            keys = [spec["sort"]] if isinstance(spec["sort"], str) else spec["sort"]
            up = [not key.startswith("-") for key in keys]
            frame = frame.sort_values([key.removeprefix("-") for key in keys], ascending=up, kind="stable")
        return frame

    def _lines(self, layer: Spec, part: pd.DataFrame, facet: Mapping[str, Any], frames: Frames) -> Iterator[PlotLine]:
        """Yield the lines of a layer, one per label; a `level` or `diagonal` is one dashed line over `over`."""
        if "frame" in layer:
            part = frames.get(layer["frame"], pd.DataFrame())
            part = where(part, **facet)
        part = self._part(layer, part)
        for _, some in _groups(
            part, [name for _, name, _, _ in Formatter().parse(layer["label"]) if name and name not in self.values]
        ):
            first = {**self.values, **records(some.head(1))[0]}
            label, like = (layer.get(word, "").format_map(first) for word in ("label", "like"))
            if "over" in layer:
                yield from _reference(label, layer, some, like)
            elif some[layer["y"]].notna().any():
                low, high = (_values(some, name) for name in layer.get("band", ("", "")))
                hollow = [bool(one) for one in some[layer["hollow"]]] if "hollow" in layer else None
                x, y = some[layer["x"]].tolist(), some[layer["y"]].tolist()
                style: Any = layer.get("style", "line").format_map(first)
                yield PlotLine(label, x, y, low, high, hollow, style, like)


@cache
def _formula(text: str) -> Callable[..., Any]:
    """Return what works a formula out, of values by name."""
    from jinja2 import Environment

    return Environment().compile_expression(text.removeprefix("="), undefined_to_none=False)


def _combinations(left: list[tuple[str, Any]], known: Mapping[str, Any], made: Line) -> Iterator[Line]:
    """Yield every combination of the keys that are left, after what is `made`; see `Declaration.points`."""
    if not left:
        yield made
        return
    (key, value), *rest = left
    if isinstance(value, str) and value.startswith("="):
        value = _formula(value)({**known, **made})
    several = isinstance(value, list | range) and not key.startswith("_")
    for one in value if several else [value]:
        if several and isinstance(one, dict):
            yield from _combinations([*one.items(), *rest], known, made)
        else:
            missing = isinstance(one, float) and math.isnan(one)
            yield from _combinations(rest, known, {**made, key: None if missing else one})


def _points_of(made: Line) -> list[Point]:
    """Return the point of a combination, or the points of its chunks of seeds."""
    from jinja2 import Undefined

    own = {"dataset", "cost", "runs", "chunk"}
    named = {k: v for k, v in made.items() if not (k in own or k.startswith("_") or isinstance(v, Undefined))}
    if "runs" in made:
        runs, chunk = made["runs"], made["chunk"]
        seeds = [(first, min(chunk, runs - first)) for first in range(0, runs, chunk)]
        return [
            Point(made.get("dataset", ""), {**named, "first_seed": a, "seeds": n}, n * made["cost"]) for a, n in seeds
        ]
    return [Point(made.get("dataset", ""), named, made.get("cost", 1.0))]


def _values(part: pd.DataFrame, formula: str) -> list[float] | None:
    """Return a column, or what follows from columns; None where it has no value."""
    found: Any = part.eval(formula, engine="python") if formula else None
    return found.tolist() if found is not None and found.notna().any() else None


def _reference(label: str, layer: Spec, part: pd.DataFrame, like: str) -> Iterator[PlotLine]:
    """Yield a dashed line: one value, if it is there, over places, or both axes the same.

    `over`: numbers, or a column or several: their ends, or with `each` all values. `level`: a number, a column (its
    first value), or a column and an aggregate of it.
    """
    over = layer["over"]
    if isinstance(over, str) or isinstance(over[0], str):
        some: Any = part[over]
        over = (
            sorted(some.unique().tolist())
            if "each" in layer
            else [float(some.to_numpy().min()), float(some.to_numpy().max())]
        )
    value = layer.get("level")
    if isinstance(value, str):
        column, _, aggregate = value.partition(" ")
        value = float(part[column].agg(aggregate) if aggregate else part[column].iloc[0])
    if value is None or not math.isnan(value):
        hollow = [bool(part[layer["hollow"]].iloc[0])] * len(over) if "hollow" in layer else None
        y = over if value is None else [value] * len(over)
        yield PlotLine(label, over, y, hollow=hollow, style="dashed", like=like)


def _numbers(column: pd.Series) -> pd.Series:
    """Return a column of texts as numbers where all that are not empty are numbers, missing where they are empty."""
    try:
        found = [float(text) if text else math.nan for text in column]
    except ValueError:
        return column
    whole = all(re.fullmatch(r"-?\d+", text) for text in column)
    return pd.Series([int(one) for one in found] if whole else found) if any(column) else column


def _aggregates(text: str, how: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield name, column and aggregate of lines "names: [column] aggregate"."""
    for line in text.strip().splitlines():
        names, _, said = line.partition(":")
        *column, aggregate = said.split()
        for name in names.split():
            yield (
                name,
                (
                    column[0] if column else name,
                    how[aggregate] if callable(how.get(aggregate)) else AGGREGATES.get(aggregate, aggregate),
                ),
            )


def _per_group(frame: pd.DataFrame, said: str) -> pd.Series:
    """Return an aggregate of a column over all lines with the same keys: "keys: column aggregate"."""
    keys, _, how = said.partition(":")
    column, aggregate = how.split()
    named: Any = AGGREGATES.get(aggregate, aggregate)
    found: pd.Series = frame.groupby(keys.split())[column].transform(named)
    return found


def _groups(frame: pd.DataFrame, by: str | Sequence[str], sort: bool = False
            ) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:  # fmt: skip
    """Yield keys and lines of every group, in the order in which they come or sorted; all lines without keys."""
    keys = [by] if isinstance(by, str) else list(by)
    if not len(frame):
        return
    if not keys:
        yield (), frame
        return
    yield from frame.groupby(keys, sort=sort, dropna=False)


def _joined_texts(frame: pd.DataFrame | Sequence[Line], template: str, between: str = "; ") -> str:
    """Return lines as texts of a template, joined."""
    lines = records(frame) if isinstance(frame, pd.DataFrame) else frame
    return between.join(template.format_map(line) for line in lines)


def _first(frame: pd.DataFrame, **values: Any) -> Line | None:
    """Return the first line with these values, None where there is none."""
    found = where(frame, **values)
    return records(found.head(1))[0] if len(found) else None


def _in_one_line(text: str) -> str:
    """Return a text in one line, without space before what closes and behind what opens."""
    for pattern, kept in LIMITS_OF_SPACE:
        text = pattern.sub(kept, text)
    return " ".join(text.split())


def where(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the lines with these values: of columns by name one value, one of a tuple, or None for a missing one.

    A frame without lines is returned as it is: it may lack the columns.
    """
    if not len(frame):
        return frame
    keep = np.ones(len(frame), dtype=bool)
    for name, value in values.items():
        column, several = frame[name], isinstance(value, tuple)
        met = column.isin(value) if several else column.isna() if pd.isna(value) else column == value
        keep &= met.to_numpy(dtype=bool)
    return frame[keep]


def named_lines(
    frame: pd.DataFrame, names: Mapping[Any, Any] | Sequence[Any], key: str = "dataset", title: str = "title"
) -> pd.DataFrame:
    """Return the lines whose key has a name, in the order of the names and with them in a column (of a mapping)."""
    titled = isinstance(names, Mapping)
    if not len(frame):
        return frame.assign(**{title: None}) if titled else frame
    some = frame[frame[key].isin(list(names))]
    place = some[key].map({name: k for k, name in enumerate(names)}).to_numpy()
    some = some.assign(**{title: some[key].map(dict(names))}) if titled else some
    return some.iloc[np.argsort(place, kind="stable")]


def with_columns(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return a frame that has these columns too, without values where it had none of that name."""
    return frame.reindex(columns=list(dict.fromkeys([*frame.columns, *names])))


def records(frame: pd.DataFrame) -> list[Line]:
    """Return the lines of a frame."""
    return [{str(name): value for name, value in line.items()} for line in frame.to_dict("records")]


NAMES: dict[str, str] = {  # experiment -> module that holds its EXPERIMENT
    "ferry2024": "recon.experiments.ferry2024",
    "ly2024": "recon.experiments.ly2024",
    "belardo2018": "recon.experiments.belardo2018",
    "draft2024": "recon.experiments.draft2024",
    "draftdp2025": "recon.experiments.draftdp2025",
    "beyond": "recon.experiments.beyond",
    "reveal": "recon.experiments.reveal",
    "correlation": "recon.experiments.correlation",
    "joint": "recon.experiments.joint",
    "learner_rule": "recon.experiments.learner_rule",
}


def experiment(name: str) -> Declaration:
    """Return the experiment of that name; `KeyError` for an unknown one."""
    return of_module(NAMES[name])


def of_module(module: str) -> Declaration:
    """Return the experiment that a module holds."""
    found: Declaration = importlib.import_module(module).EXPERIMENT
    return found
