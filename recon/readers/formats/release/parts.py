"""Validated parts of a release file turned into the domain and the published models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from msgspec import UNSET

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Test, View, exact
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import (
    AnyModel,
    Forest,
    Noise,
    Provenance,
    Published,
    PublishedFigure,
    Rule,
    RuleList,
    RuleSet,
    Statistic,
    StatisticKind,
    Table,
    Tree,
    UnusedPublication,
)
from encoders.models.nodes import LEAF, CountTable, Nodes, Support, as_integers
from encoders.models.related import DataSet, RelatedDataSets
from encoders.parts.base import MAX_ROWS, count_text
from recon.readers.formats.release.schema import (
    AnyModelPart,
    AttributePart,
    BoostingPart,
    ConditionPart,
    DomainPart,
    ForestPart,
    LinearPart,
    NodePart,
    ReleasePart,
    RowsPart,
    RuleListPart,
    RulePart,
    RuleSetPart,
    StatementPart,
    StatisticPart,
    SupportPart,
    TablesPart,
    TestPart,
    TreePart,
    to_learner,
)
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.exact import exact_number
from solvers.statements.release import RowCount

MAX_EXACT_DIGITS = 100  # of the coefficients and bounds of linear figures, as fractions
NOT_SAID = UnusedPublication(
    "figures of the model that it was converted from",
    "a release file without 'unused' does not say which were left out: convert the model again (recon convert)",
)
OF_TABLES = ("recon audit", "recon certify", "recon count", "recon variability", "recon verify")
SINGLE = ("scikit-learn", "XGBoost")  # formats of models that compare 32-bit numbers


def _to_test(part: TestPart, place: str) -> Test:
    """Return a test; `ReleaseError` for no key, or two that do not make a range."""
    given = {
        name: value
        for name in ("is_in", "at_most", "below", "at_least", "above", "equals")
        if (value := getattr(part, name, None)) is not None
    }
    names = [{"is_in": "in"}.get(n, n) for n in given]
    if part.missing is not None:
        if given or part.or_missing:
            raise ReleaseError("'missing' stands alone in a test: beside others give 'or_missing'", place=place)
        return Test(missing=part.missing)
    if not given:
        keys = "'in', 'at_most', 'below', 'at_least', 'above' or 'missing'"
        raise ReleaseError(f"the test is empty: give {keys}", place=place)
    for value in given.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, float) and not math.isfinite(one):
                raise ReleaseError(f"the number {one} is not finite", place=place)
    alone = {"is_in", "equals"} & given.keys()
    upper, lower = {"at_most", "below"} & given.keys(), {"at_least", "above"} & given.keys()
    if (alone and len(given) > 1) or len(upper) > 1 or len(lower) > 1:
        raise ReleaseError(f"the keys {', '.join(names)} do not make one range", place=place)
    if alone:
        values = tuple(part.is_in) if part.is_in is not None else (given["equals"],)
        return Test(values=values, missing=part.or_missing)
    return Test(
        low=part.at_least if part.at_least is not None else part.above,
        high=part.at_most if part.at_most is not None else part.below,
        low_open=part.above is not None,
        high_open=part.below is not None,
        missing=part.or_missing,
    )


def to_condition(part: ConditionPart, place: str) -> Condition:
    """Return a condition: every test with its attribute or column."""
    return tuple(
        (name, _to_test(test, f"{place}.{name}") if isinstance(test, TestPart) else Test(values=(test,)))
        for name, test in part.items()
    )


def _to_attribute(part: AttributePart, place: str) -> AnyAttribute:
    """Return an attribute; `ReleaseError` unless it has values, or min and max."""
    try:
        if part.values is not None:
            if part.min is not None or part.max is not None or part.resolution is not UNSET:
                raise ReleaseError(f"attribute '{part.name}' has 'values' and a range: give one of them")
            for value in part.values:
                if isinstance(value, float) and not math.isfinite(value):
                    raise ReleaseError(f"attribute '{part.name}': the value {value} is not finite")
            return Categorical(part.name, tuple(part.values), missing=part.missing)
        resolution = 1 if part.resolution is UNSET else part.resolution
        for number in (part.min, part.max, resolution):
            if isinstance(number, float) and not math.isfinite(number):
                raise ReleaseError(f"attribute '{part.name}': the number {number} is not finite")
        if resolution is None:
            ends = (None if end is None else exact(end) for end in (part.min, part.max))
            return Continuous(part.name, *ends, missing=part.missing)
        if part.min is None or part.max is None:
            open_end = 'only beside "resolution": null may one be left out'
            raise ReleaseError(f"attribute '{part.name}' needs 'values', or 'min' and 'max' ({open_end})")
        return Grid.between(part.name, part.min, part.max, resolution, part.missing)
    except ReleaseError as error:
        raise error.at(place=place) from None


def to_domain(part: DomainPart) -> Domain:
    """Return the declared domain."""
    columns = {
        name: View(view.attribute, _to_test(view, f"domain.columns.{name}")) for name, view in part.columns.items()
    }
    try:
        return Domain(
            tuple(_to_attribute(a, f"domain.attributes[{i}]") for i, a in enumerate(part.attributes)),
            None if part.label is None else _to_attribute(part.label, "domain.label"),
            columns,
            tuple(to_condition(c, f"domain.impossible[{i}]") for i, c in enumerate(part.impossible)),
            part.source,
            tuple(part.notes),
            tuple(part.order),
        )
    except ReleaseError as error:
        raise error.at(place="domain") from None


Read = Callable[[float, str], Published]


def _to_support(part: SupportPart, place: str, read: Read) -> Support:
    """Return the published counts; `ReleaseError` when both kinds are given, or `read` refuses one."""
    if part.counts is not None and part.count is not None:
        raise ReleaseError("give 'counts' or 'count', not both", place=place)
    counts = None if part.counts is None else enumerate(part.counts)
    return Support(
        None if counts is None else tuple(read(c, f"{place}.counts[{i}]") for i, c in counts),
        None if part.count is None else read(part.count, f"{place}.count"),
        part.distinct if isinstance(part, NodePart) else None,
    )


def _to_count(value: float, place: str) -> int:
    """Return a number of rows (3.0 is 3); `ReleaseError` for a negative or fractional one."""
    if (isinstance(value, float) and not math.isfinite(value)) or value < 0 or value != int(value):
        raise ReleaseError(f"the count {count_text(value)} is not a number of rows", place=place)
    return int(value)


@dataclass(frozen=True, eq=False)
class SharedConditions:
    """The conditions of the trees of one model: equal ones of a file become one."""

    codes: dict[tuple[tuple[str, Any], ...], int] = field(default_factory=dict)
    listed: dict[Condition, int] = field(default_factory=dict)

    def code(self, part: ConditionPart, place: str, node: int) -> int:
        """Return the number of the condition of a node, a new one where it was not met before."""
        key = tuple(part.items())
        found = self.codes.get(key)
        if found is None:
            condition = to_condition(part, f"{place}.nodes[{node}].if")
            found = self.codes[key] = self.listed.setdefault(condition, len(self.listed))
        return found


def _to_nodes(parts: Sequence[NodePart], place: str, known: SharedConditions, read: Read) -> Nodes:
    """Return the nodes of a tree, its conditions in what is `known` so far; see `to_trees`."""
    for k, part in enumerate(parts):
        if (part.condition is None) != (part.then is None) or (part.then is None) != (part.otherwise is None):
            _refuse_half(part, f"{place}.nodes[{k}]")
    conditions = (p.condition for p in parts)
    codes = [LEAF if c is None else known.code(c, place, k) for k, c in enumerate(conditions)]
    links = [child for p in parts for child in ((-1, -1) if p.then is None else (p.then, p.otherwise))]
    names = tuple(p.name for p in parts)
    return Nodes(
        (),
        np.array(codes, dtype=np.int64),
        as_integers(links).reshape(-1, 2),
        _to_counts(parts, place, read),
        names if any(name is not None for name in names) else (),
    )


def _to_trees(parts: Mapping[str, Sequence[NodePart]], read: Read) -> list[Nodes]:
    """Return the nodes of trees, given by the places they stand at; their conditions stand in one table."""
    known = SharedConditions()
    found = [_to_nodes(nodes, place, known, read) for place, nodes in parts.items()]
    table = tuple(known.listed)
    return [replace(nodes, conditions=table) for nodes in found]


def _refuse_half(part: NodePart, place: str) -> NoReturn:
    """Raise `ReleaseError` for half an inner node."""
    if part.condition is None:
        raise ReleaseError("a node with 'then' or 'else' needs 'if'", place=place)
    raise ReleaseError("an inner node needs 'then' and 'else'", place=place)


def _to_counts(parts: Sequence[NodePart], place: str, read: Read) -> CountTable:
    """Return what nodes publish; `ReleaseError` when both kinds are given, or `read` refuses one."""
    figures = [p.counts if p.counts is not None else () if p.count is None else (p.count,) for p in parts]
    by_class = np.array([p.counts is not None for p in parts], dtype=bool)
    table = CountTable.of_figures(figures, by_class, [p.distinct for p in parts])
    plain = read is _to_count and table.values.dtype == np.int64 and table.values.min(initial=0) >= 0
    if plain and all(p.counts is None or p.count is None for p in parts):
        return table
    return CountTable.of([_to_support(p, f"{place}.nodes[{k}]", read) for k, p in enumerate(parts)])


def _to_rules(part: RuleListPart | RuleSetPart, place: str, read: Read) -> tuple[Rule, ...]:
    return tuple(_to_rule(rule, f"{place}.rules[{k}]", read) for k, rule in enumerate(part.rules))


def _to_rule(part: RulePart, place: str, read: Read) -> Rule:
    return Rule(to_condition(part.condition, f"{place}.if"), _to_support(part, place, read), part.name)


def _to_forest(part: ForestPart, name: str, place: str, read: Read) -> Forest:
    """Return a forest; `ReleaseError` for multiplicities that are no table of whole numbers."""
    nodes = _to_trees({f"{place}.trees[{t}]": tree.nodes for t, tree in enumerate(part.trees)}, read)
    pairs = enumerate(zip(part.trees, nodes, strict=True))
    trees = [Tree(found, tree.name or f"tree {t}") for t, (tree, found) in pairs]
    bags: Any = part.multiplicities  # a list of lists: the forest makes an array of it
    try:
        return Forest(
            tuple(trees),
            name,
            bootstrap=part.bootstrap or part.resample == "with",
            multiplicities=bags,
            subsample=part.resample == "without",
            labels=None if part.labels is None else tuple(part.labels),
        )
    except ReleaseError as error:
        raise error.at(place=f"{place}.multiplicities") from None


def to_exact(value: float | str, place: str) -> Fraction:
    """Return a number as it is written, or in text ("37/100"); `ReleaseError` where it is none, or too long."""
    try:
        if isinstance(value, float) and not math.isfinite(value):
            raise ReleaseError(f"{value!r} is not a finite number")
        found = exact_number(value) if isinstance(value, str) else exact(value)
        if max(abs(found.numerator), found.denominator) >= 10**MAX_EXACT_DIGITS:
            raise ReleaseError(f"a number of more than {MAX_EXACT_DIGITS} digits is given")
    except ReleaseError as error:
        raise error.at(place=place) from None
    return found


def _to_term(part: LinearPart, place: str) -> LinearTerm:
    """Return one term of a linear figure; `ReleaseError` for `where` beside `any`, and for an empty list."""
    if part.where is not None and part.any is not None:
        raise ReleaseError("give 'where' or 'any', not both", place=place)
    of = (part.of,) if isinstance(part.of, str) else tuple(part.of or ())
    if part.of == []:
        raise ReleaseError("the list is empty: leave 'of' out to count rows", place=f"{place}.of")
    wheres = [(part.where or {}, f"{place}.where")] if part.any is None else []
    wheres += [(one, f"{place}.any[{i}]") for i, one in enumerate(part.any or ())]
    return LinearTerm(tuple(to_condition(*one) for one in wheres), of, to_exact(part.times, f"{place}.times"))


def _to_linear(part: StatementPart, place: str) -> LinearFigure | None:
    """Return the linear figure of a statement, None where it has none; `ReleaseError` for numbers of no other kind."""
    numbers = {word: getattr(part, word) for word in ("at_least", "at_most", "value", "within")}
    if part.linear is None:
        for word, given in numbers.items():
            if word in ("value", "within") and given is not None:
                raise ReleaseError(f"'{word}' is not taken beside 'linear', or in a mean, total or median", place=place)
            if given is not None and not isinstance(given, int):
                raise ReleaseError(f"{given!r} is not a whole number", place=f"{place}.{word}")
        return None
    terms = tuple(_to_term(one, f"{place}.linear[{i}]") for i, one in enumerate(part.linear))
    low, high, value, within = (
        None if given is None else to_exact(given, f"{place}.{word}") for word, given in numbers.items()
    )
    return LinearFigure(terms, low, high, value, within or Fraction(0))


def _to_figure(part: StatementPart, place: str, read: Read) -> PublishedFigure:
    """Return a published figure, its numbers as written; `ReleaseError` for two statistics and for no counts."""
    linear = _to_linear(part, place)
    kinds: tuple[tuple[StatisticKind, StatisticPart | None], ...] = (
        ("mean", part.mean),
        ("total", part.total),
        ("median", part.median),
    )
    given = [Statistic(kind, one.of, one.value, one.within) for kind, one in kinds if one is not None]
    if len(given) > 1:
        raise ReleaseError(f"give one of {', '.join(repr(s.kind) for s in given)}, not several", place=place)
    low, high = (x if linear is None and isinstance(x, int) else None for x in (part.at_least, part.at_most))
    for word, bound in (("at_least", low), ("at_most", high)):
        if bound is not None:
            _to_count(bound, f"{place}.{word}")
    return PublishedFigure(
        to_condition(part.where, f"{place}.where"),
        None if part.count is None else read(part.count, f"{place}.count"),
        low,
        high,
        given[0] if given else None,
        part.suppressed,
        part.name,
        linear=linear,
    )


def to_figure(part: StatementPart, place: str) -> PublishedFigure:
    """Return a figure with exact counts that stands outside of a model; see `_to_figure`."""
    return _to_figure(part, place, _to_count)


def to_models(release: ReleasePart, first: int = 0, several: bool | None = None) -> list[AnyModel]:
    """Return the published models; those without a name are numbered from `first` where there are several."""
    numbered = len(release.models) > 1 if several is None else several
    return [
        to_model(part, f"models[{i}]", f" {first + i}" if numbered else "") for i, part in enumerate(release.models)
    ]


def to_model(part: AnyModelPart, place: str, number: str) -> AnyModel:
    """Return a published model, by default named after its kind and number, and where it was read from."""
    found, given = _to_bare_model(part, place, number), getattr(part, "learner", None)
    found = found if part.dataset is None else replace(found, dataset=part.dataset)
    learner = None if given is None else to_learner(given, part.kind, f"{place}.learner")
    unused = tuple(part.unused or ())
    if part.read_from is None:
        kept = learner is not None or unused
        return replace(found, origin=Provenance("", (), learner=learner, unused=unused)) if kept else found
    source = part.read_from
    single = source.format.startswith(SINGLE) and "HistGradient" not in source.format  # that one compares doubles
    unused = (NOT_SAID,) if part.unused is None else unused
    origin = Provenance(source.format, tuple(source.counts), tuple(source.notes), single, learner, unused)
    return replace(found, origin=origin)


def _to_bare_model(part: AnyModelPart, place: str, number: str) -> AnyModel:
    """Return a published model, by default named after its kind and number."""
    from recon.readers.formats.release.writing import figure, to_boosting, to_noise

    if isinstance(part, TablesPart):
        raise Unsupported(f"{place}: tables of areas are asked about by {', '.join(OF_TABLES)} (recon.Tables)")
    name = part.name or part.kind.replace("_", " ") + number
    noise: Noise | None = None
    read: Read = _to_count
    if part.noise is not None:
        noise, read = to_noise(part.noise, f"{place}.noise"), figure
    if isinstance(part, TreePart):
        return Tree(_to_trees({place: part.nodes}, read)[0], name, noise)
    if isinstance(part, RuleListPart):
        return RuleList(_to_rules(part, place, read), name, noise)
    if isinstance(part, RuleSetPart):
        return RuleSet(_to_rules(part, place, read), name, noise)
    if isinstance(part, BoostingPart):
        nodes = _to_trees({f"{place}.trees[{t}]": tree.nodes for t, tree in enumerate(part.trees)}, read)
        return replace(to_boosting(part, nodes, name, place), noise=noise)
    if isinstance(part, ForestPart):
        return replace(_to_forest(part, name, place, read), noise=noise)
    figures = (_to_figure(f, f"{place}.statements[{k}]", read) for k, f in enumerate(part.statements))
    return Table(tuple(figures), name, noise, complete=part.complete)


def to_related(release: ReleasePart) -> RelatedDataSets | None:
    """Return the related data sets of a file, None where it has none; `ReleaseError` for what cannot hold."""
    if release.datasets is None:
        if release.relations:
            raise ReleaseError("relations are between data sets: declare these in 'datasets'", place="relations")
        return None
    datasets = []
    for i, one in enumerate(release.datasets):
        rows, removed, added = (
            to_row_count(getattr(one, key), f"datasets[{i}].{key}") for key in ("rows", "removed", "added")
        )
        union = tuple(one.union or ())
        datasets.append(DataSet(one.name, rows, one.origin, removed, added, union, one.within, one.without))
    disjoint, parts = [], []
    for i, relation in enumerate(release.relations):
        if relation.disjoint is not None and relation.parts is None and relation.of is None:
            disjoint.append(tuple(relation.disjoint))
        elif relation.disjoint is None and relation.parts is not None and relation.of is not None:
            parts.append((tuple(relation.parts), relation.of))
        else:
            raise ReleaseError("a relation has 'disjoint' alone, or 'parts' and 'of'", place=f"relations[{i}]")
    return RelatedDataSets(tuple(datasets), tuple(disjoint), tuple(parts))


def to_rows(release: ReleasePart) -> RowCount | None:
    """Return the declared number of rows, None where it follows from the models."""
    return to_row_count(release.rows, "rows")


def to_row_count(given: int | RowsPart | None, place: str) -> RowCount | None:
    """Return a number of rows, None where none is given; `ReleaseError` for one that cannot be."""
    if given is None:
        return None
    for number in (given,) if isinstance(given, int) else (given.at_least, given.at_most):
        if number is not None and number > MAX_ROWS:
            raise ReleaseError("more than 2^53 rows are not counted", place=place)
    if isinstance(given, int):
        if given < 0:
            raise ReleaseError(f"the number of rows {given} is negative", place=place)
        return RowCount(given, given)
    low, high = given.at_least, given.at_most
    if high is not None and high < low:
        raise ReleaseError(f"at_most {high} is below at_least {low}", place=place)
    return RowCount(low, high)
