"""Writes release files: what `release_file` reads back, with a line per attribute, node and rule.

A `boosting` model of a release file: its gradients, steps and sums turned into doubles, and back.

A number stands for the double nearest to it; what is written is the shortest decimal of each double, so that whatever
was written is read back bit for bit.

The `noise` of a model in a release file turned into a law, and back.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from msgspec import to_builtins

from encoders.domain.domain import AS_BITS, Condition, Domain
from encoders.domain.values import TRAINING_DATA, AnyAttribute, Categorical, Continuous, Test, View, plain_number
from encoders.encode.typed_rows import domain_without_types
from encoders.models.ledger import PrivacyLedger, PrivacyStep
from encoders.models.linear_figures import LinearFigure
from encoders.models.models import (
    AnyModel,
    Boosting,
    Forest,
    Noise,
    Provenance,
    PublishedFigure,
    PublishedModel,
    RuleList,
    RuleSet,
    Table,
    Tree,
    TreeSums,
    UnusedPublication,
    unsupported,
)
from encoders.models.nodes import ModelNode, Nodes, Support
from encoders.models.related import RelatedDataSets
from recon.readers.formats.release.schema import (
    BoostedNodePart,
    BoostedTreePart,
    BoostingPart,
    LedgerPart,
    NoisePart,
    SumPart,
    learner_json,
)
from solvers.foundation.displayed import json_shown
from solvers.foundation.errors import ReleaseError
from solvers.foundation.exact import short_number
from solvers.statements.gradients.boosted import Gradients
from solvers.statements.noise.laws import NoiseLaw, scale_of, truncation_of
from solvers.statements.release import RowCount

GAUSSIAN = {"gaussian", "discrete_gaussian"}


def to_noise(part: NoisePart, place: str) -> Noise:
    """Return the law of a model's noise; `ReleaseError` for a missing or impossible number, or another law."""
    if part.decided is not None:
        message = f"the draws also decided {part.decided!r}, so the law of the published counts is another one"
        raise ReleaseError(f"{message}: release fresh draws", place=f"{place}.decided")
    if part.adjusted:
        message = "counts adjusted to add up no longer carry independent noise: give the counts before that"
        raise ReleaseError(message, place=f"{place}.adjusted")
    ledger = None if part.ledger is None else _to_ledger(part.ledger, f"{place}.ledger")
    budget = {name: getattr(part, name) for name in ("epsilon", "delta", "sensitivity", "neighbours")}
    given = {name: value for name, value in budget.items() if value is not None}
    try:
        if part.scale is not None:
            if given:
                raise ReleaseError(f"give 'scale' or {', '.join(map(repr, given))}, not both")
            bound = None if part.bound is None else _number(part.bound, "bound")
            law = NoiseLaw(part.law, _number(part.scale, "scale"), bound, part.rounded, part.clamped)
            return Noise(law, ledger=ledger)
        return replace(_from_budget(part), ledger=ledger)
    except ReleaseError as error:
        raise error.at(place=place) from None


def _to_ledger(part: LedgerPart, place: str) -> PrivacyLedger:
    """Return the ledger of a file; `ReleaseError` where its totals are not those of its entries."""
    entries = (
        PrivacyStep(e.step, e.mechanism, float(e.epsilon), float(e.delta), e.standing, e.why) for e in part.entries
    )
    found = PrivacyLedger(part.neighbours, tuple(part.assumes), tuple(entries))
    for name in ("epsilon", "delta"):
        stated, total = float(getattr(part, name)), float(getattr(found, name))
        if not math.isclose(stated, total, rel_tol=1e-9, abs_tol=1e-15):
            raise ReleaseError(f"the entries spend {name} {total:g} in all, not {stated:g}", place=f"{place}.{name}")
    if part.standing != found.standing:
        message = f"the worst entry is '{found.standing}', so the whole is not '{part.standing}'"
        raise ReleaseError(message, place=f"{place}.standing")
    return found


def _from_budget(part: NoisePart) -> Noise:
    """Return the law that ε, δ and the sensitivity make; every number that matters must be given."""
    truncated = part.law == "truncated_laplace"
    if part.bound is not None:
        raise ReleaseError("'bound' belongs to 'scale': with 'epsilon' it follows from δ")
    needed = ["epsilon", "sensitivity", "neighbours", *(["delta"] if truncated or part.law in GAUSSIAN else [])]
    missing = [name for name in needed if getattr(part, name) is None]
    if missing:
        raise ReleaseError(f"{' and '.join(map(repr, missing))} missing: give them, or the 'scale' of the noise")
    epsilon, sensitivity = _number(part.epsilon, "epsilon"), _number(part.sensitivity, "sensitivity")
    delta = _number(part.delta or 0, "delta")
    for name, value in (("epsilon", epsilon), ("sensitivity", sensitivity)):
        if value <= 0:
            raise ReleaseError(f"{name} must be above 0, not {short_number(value)}")
    if (truncated or part.law in GAUSSIAN) and not 0 < delta < 1:
        raise ReleaseError(f"delta must be between 0 and 1 for {part.law} noise, not {short_number(delta)}")
    if delta and not truncated and part.law not in GAUSSIAN:
        raise ReleaseError(f"{part.law} noise has delta 0, not {short_number(delta)}")
    scale = scale_of(part.law, epsilon, delta, sensitivity)
    bound = truncation_of(epsilon, delta, sensitivity) if truncated else None
    law = NoiseLaw(part.law, scale, bound, part.rounded, part.clamped)
    return Noise(law, epsilon, delta, sensitivity, part.neighbours)


def _number(value: float | None, name: str) -> Fraction:
    """Return a JSON number exactly as it is written (0.1 is 1/10)."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise ReleaseError(f"{name} must be a finite number, not {value}")
    _double(value, "")  # a whole number has no end in JSON
    return Fraction(repr(value))


def figure(value: float, place: str) -> Fraction | int:
    """Return a noisy count exactly as it is written; `ReleaseError` where it is not finite or beyond 2^53."""
    if abs(value) > 1 << 53 or not math.isfinite(value):  # a whole number has no end in JSON
        raise ReleaseError(f"the noisy count {value!r} is not between -2^53 and 2^53", place=place)
    exact = Fraction(repr(value))
    return exact.numerator if exact.denominator == 1 else exact


def noise_json(noise: Noise) -> dict[str, Any]:
    """Return the noise as it stands in a file."""
    law = noise.law
    out: dict[str, Any] = {"law": law.name}
    if noise.epsilon is None:
        out["scale"] = plain_number(law.scale)
        if law.bound is not None:
            out["bound"] = plain_number(law.bound)
    else:
        out["epsilon"] = plain_number(noise.epsilon)
        if noise.delta:
            out["delta"] = plain_number(noise.delta)
        if noise.sensitivity is not None:
            out["sensitivity"] = plain_number(noise.sensitivity)
        out["neighbours"] = noise.neighbours
    for name in ("rounded", "clamped"):
        if getattr(law, name):
            out[name] = True
    return out if noise.ledger is None else {**out, "ledger": noise.ledger.to_json()}


OWN = ("value", "weight")  # sums that have a key of their own, at most one of each per node
FACTORS = ("gradient", "hessian", "square")


def _double(number: float, place: str) -> float:
    """Return the double nearest to a number of the file; `ReleaseError` where it is not finite."""
    try:
        found = float(number)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        shown = str(number)
        shown = shown if len(shown) <= 24 else shown[:21] + "..."
        raise ReleaseError(f"the number {shown} is beyond the range of doubles", place=place)
    return found


def to_boosting(part: BoostingPart, nodes: Sequence[Nodes], name: str, place: str) -> Boosting:
    """Return a boosted model whose trees have the given nodes; `ReleaseError` naming what does not fit."""
    trees = tuple(Tree(n, t.name or f"tree {i}") for i, (n, t) in enumerate(zip(nodes, part.trees, strict=True)))
    sums = tuple(_to_sums(tree, f"{place}.trees[{i}]") for i, tree in enumerate(part.trees))
    start = tuple(_double(x, f"{place}.start[{i}]") for i, x in enumerate(part.start))
    base = start if part.base is None else tuple(_double(x, f"{place}.base[{i}]") for i, x in enumerate(part.base))
    return Boosting(trees, sums, _to_gradients(part, f"{place}.gradients"), start, base, tuple(part.labels), name)


def _to_gradients(part: BoostingPart, place: str) -> Gradients:
    """Return how the library computes gradients."""
    given = part.gradients
    names = [f.name for f in fields(Gradients)]
    numbers = {
        n: _double(getattr(given, n), f"{place}.{n}") for n in names if n not in ("loss", "scores", "rounded", "stages")
    }
    for name in ("scale", "factor"):
        if numbers[name] <= 0:
            raise ReleaseError(f"{name} must be above 0, not {numbers[name]:g}", place=f"{place}.{name}")
    return Gradients(given.loss, given.scores, given.rounded, **numbers, stages=given.stages)


def _to_sums(tree: BoostedTreePart, place: str) -> TreeSums:
    """Return what a tree publishes beside counts; a node's value comes first, then its weight, then its other sums."""
    steps: list[float] = []
    found: list[tuple[int, str, tuple[float, ...]]] = []
    for k, node in enumerate(tree.nodes):
        at = f"{place}.nodes[{k}]"
        if (node.step is None) == (node.condition is None):
            message = "an inner node has no 'step'" if node.condition is not None else "a leaf needs a 'step'"
            raise ReleaseError(message, place=at)
        if node.step is not None:
            steps.append(_double(node.step, f"{at}.step"))
        for what, one, where in _published(node):
            found.append((k, what, _figure(one, f"{at}.{where}")))
    table = np.array([f for _, _, f in found], dtype=np.float64).reshape(-1, len(FACTORS) + 2)
    gradient, hessian, square, low, high = table.T.copy()
    nodes = np.array([k for k, _, _ in found], dtype=np.int64)
    whats = tuple(what for _, what, _ in found)
    return TreeSums(
        tree.round, tree.of, np.array(steps, dtype=np.float64), nodes, gradient, hessian, square, low, high, whats
    )


def _published(node: BoostedNodePart) -> Iterator[tuple[str, SumPart, str]]:
    """Yield what each sum of a node is, the sum, and where in the node it stands."""
    for key in OWN:
        one: SumPart | None = getattr(node, key)
        if one is not None:
            yield key, one, key
    for i, named in enumerate(node.sums):
        yield named.what, named, f"sums[{i}]"


def _figure(one: SumPart, place: str) -> tuple[float, ...]:
    """Return a sum's factors and the ends of its interval; `ReleaseError` for an empty one, and for no factors."""
    keys = (*FACTORS, "at_least", "at_most")
    found = tuple(_double(getattr(one, key), f"{place}.{key}") for key in keys)
    if not any(found[: len(FACTORS)]):
        raise ReleaseError("gives none of 'gradient', 'hessian' and 'square', so that it says nothing", place=place)
    if found[-2] > found[-1]:
        raise ReleaseError(f"the interval from {found[-2]!r} to {found[-1]!r} is empty", place=place)
    return found


def _boosting_json(model: Boosting, nodes: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return what stands in a file of a boosted model; `nodes`: those of each tree, with their counts."""
    out: dict[str, Any] = {"gradients": _gradients_json(model.gradients), "start": list(model.start)}
    if model.base != model.start:
        out["base"] = list(model.base)
    if model.labels:
        out["labels"] = list(model.labels)
    out["trees"] = [
        {"name": tree.name, "round": sums.round, "of": sums.of, "nodes": _with_sums(tree, sums, one)}
        for tree, sums, one in zip(model.trees, model.sums, nodes, strict=True)
    ]
    return out


def _gradients_json(law: Gradients) -> dict[str, Any]:
    """Return how gradients are computed as it stands in a file: the loss, and what is not at its default."""
    return {f.name: value for f in fields(law) if (value := getattr(law, f.name)) != f.default}


def _with_sums(tree: Tree, sums: TreeSums, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the nodes of a tree with steps and sums."""
    steps = dict(zip(tree.nodes.leaves.tolist(), sums.step.tolist(), strict=True))
    columns = [getattr(sums, key).tolist() for key in (*FACTORS, "low", "high")]
    figures: dict[int, list[tuple[str, dict[str, float]]]] = defaultdict(list)
    for node, what, *numbers in zip(sums.node.tolist(), sums.what, *columns, strict=True):
        factors = {key: x for key, x in zip(FACTORS, numbers, strict=False) if x}
        figures[node].append((what, {**factors, "at_least": numbers[-2], "at_most": numbers[-1]}))
    out = []
    for k, node in enumerate(nodes):
        more: dict[str, Any] = {"step": steps[k]} if k in steps else {}
        for what, one in figures[k]:
            if what in OWN and what not in more:
                more[what] = one
            else:
                more.setdefault("sums", []).append({"what": what, **one})
        out.append({**node, **more})
    return out


NOT_COVERED = "the domain was read off data: the values, ranges and groups that it lists are not covered by the noise"
NOT_HELD = "a release file does not hold them"
LEFT_OUT = "the domain's notes are left out: they may count rows, which no noise covers"


def publishable(domain: Domain) -> Domain:
    """Return a domain as it may stand beside noisy counts, or beside what was made of them.

    Notes on a domain that was read off rows count them exactly, which no noise covers: they are left out, also where
    somebody has declared that domain since.
    """
    kept = tuple(note for note in domain.notes if note == AS_BITS)
    return domain if kept == domain.notes else replace(domain, notes=kept)


def not_covered(domain: Domain) -> list[str]:
    """Return what to tell who writes this domain beside noisy counts."""
    notes = [NOT_COVERED] if domain.source == TRAINING_DATA else []
    return notes if publishable(domain) is domain else [*notes, LEFT_OUT]


def test_json(test: Test) -> Any:
    """Return a test as it stands in a file."""
    if test.bare:
        return {"missing": test.missing}
    if test.values is not None and len(test.values) == 1 and not test.missing:
        return test.values[0]
    out: dict[str, Any] = {} if test.values is None else {"in": list(test.values)}
    if test.low is not None:
        out["above" if test.low_open else "at_least"] = test.low
    if test.high is not None:
        out["below" if test.high_open else "at_most"] = test.high
    return out | ({"or_missing": True} if test.missing else {})


def _condition_json(condition: Condition) -> dict[str, Any]:
    """Return a condition as it stands in a file, which cannot hold two tests of one attribute: `ReleaseError`."""
    if len({name for name, _ in condition}) < len(condition):
        raise ReleaseError(f"two tests of one attribute cannot be written: {', '.join(n for n, _ in condition)}")
    return {name: test_json(test) for name, test in condition}


def attribute_json(attribute: AnyAttribute) -> dict[str, Any]:
    """Return an attribute as it stands in a file."""
    gaps = {"missing": True} if attribute.missing else {}
    if isinstance(attribute, Categorical):
        return {"name": attribute.name, "values": list(attribute.values), **gaps}
    ends = {"min": attribute.minimum, "max": attribute.maximum}
    out: dict[str, Any] = {"name": attribute.name, **{k: plain_number(x) for k, x in ends.items() if x is not None}}
    if isinstance(attribute, Continuous):
        out["resolution"] = None
    elif attribute.step != 1:
        out["resolution"] = plain_number(attribute.step)
    return out | gaps


def domain_json(domain: Domain) -> dict[str, Any]:
    """Return a domain as it stands in a file."""
    out: dict[str, Any] = {"attributes": [attribute_json(a) for a in domain.attributes]}
    if domain.label is not None:
        out["label"] = attribute_json(domain.label)
    if domain.columns:
        out["columns"] = {name: _view_json(view) for name, view in domain.columns.items()}
    if domain.impossible:
        out["impossible"] = [_condition_json(c) for c in domain.impossible]
    out["source"] = domain.source
    if domain.order:
        out["order"] = list(domain.order)
    if domain.notes:
        out["notes"] = list(domain.notes)
    return out


def _view_json(view: View) -> dict[str, Any]:
    """Return a binary column as it stands in a file; one value is written as a list of one."""
    test = test_json(view.test)
    return {"attribute": view.attribute, **(test if isinstance(test, dict) else {"in": [test]})}


def _support_json(support: Support, name: str | None) -> dict[str, Any]:
    """Return the counts (and name) of a node or rule as they stand in a file."""
    out: dict[str, Any] = {} if name is None else {"name": name}
    if support.counts is not None:
        out["counts"] = [plain_number(c) for c in support.counts]
    elif support.count is not None:
        out["count"] = plain_number(support.count)
    return out if support.distinct is None else {**out, "distinct": support.distinct}


def _nodes_json(nodes: Sequence[ModelNode]) -> list[dict[str, Any]]:
    """Return the nodes of a tree as they stand in a file."""
    out = []
    for node in nodes:
        inner: dict[str, Any] = {}
        if node.condition is not None:
            inner = {"if": _condition_json(node.condition), "then": node.then, "else": node.otherwise}
        out.append({**inner, **_support_json(node.support, node.name)})
    return out


def _figure_json(figure: PublishedFigure) -> dict[str, Any]:
    """Return a published figure as it stands in a file."""
    out: dict[str, Any] = {} if figure.name is None else {"name": figure.name}
    if figure.linear is not None:
        return out | _linear_json(figure.linear)
    out["where"] = _condition_json(figure.condition)
    if figure.suppressed is not None:
        out["suppressed"] = figure.suppressed
    count = None if figure.count is None else plain_number(figure.count)
    for key, value in (("count", count), ("at_least", figure.low), ("at_most", figure.high)):
        if value is not None:
            out[key] = value
    if figure.statistic is not None:
        one = figure.statistic
        out[one.kind] = {"of": one.of, "value": one.value} | ({"within": one.within} if one.within else {})
    return out


def _exact_json(number: Fraction) -> int | str:
    """Return a number of a linear figure as it stands in a file: whole, or a fraction as text."""
    return number.numerator if number.denominator == 1 else str(number)


def _linear_json(linear: LinearFigure) -> dict[str, Any]:
    """Return a linear figure as it stands in a file."""
    terms = []
    for term in linear.terms:
        one: dict[str, Any] = {}
        if len(term.conditions) != 1:
            one["any"] = [_condition_json(c) for c in term.conditions]
        elif term.conditions[0]:
            one["where"] = _condition_json(term.conditions[0])
        if term.of:
            one["of"] = term.of[0] if len(term.of) == 1 else list(term.of)
        terms.append(one | ({} if term.times == 1 else {"times": _exact_json(term.times)}))
    numbers = {"at_least": linear.low, "at_most": linear.high, "value": linear.value, "within": linear.within or None}
    return {"linear": terms, **{word: _exact_json(number) for word, number in numbers.items() if number is not None}}


def left_out(origin: Provenance) -> list[UnusedPublication]:
    """Return what a release file says that it leaves out: what no statement carries, and figures of single columns."""
    sources = dict.fromkeys(one.source for one in origin.columns)
    return [
        *origin.unused,
        *(UnusedPublication(f"figures of single columns ({s})", NOT_HELD, about="columns") for s in sources),
    ]


def _model_json(model: AnyModel) -> dict[str, Any]:
    """Return a model as it stands in a file."""
    out: dict[str, Any] = {"kind": model.kind, "name": model.name}
    out |= {"dataset": model.dataset} if model.dataset else {}
    if model.origin is not None:
        found = model.origin
        if found.format:
            out["read_from"] = {"format": found.format, "counts": list(found.counts), "notes": list(found.notes)}
        if found.format or found.unused:
            out["unused"] = to_builtins(left_out(found))
        if found.learner is not None and model.mergeable:
            out["learner"] = learner_json(found.learner)
    if model.noise is not None:
        out["noise"] = noise_json(model.noise)
    return {**out, **_own_json(model)}


@singledispatch
def _own_json(model: PublishedModel) -> dict[str, Any]:
    """Return the keys that models of one kind alone have in a file."""
    raise unsupported(model, "no release file holds such models")


@_own_json.register
def _(model: Tree) -> dict[str, Any]:
    return {"nodes": _nodes_json(model.nodes)}


@_own_json.register
def _(model: RuleList | RuleSet) -> dict[str, Any]:
    return {"rules": [{"if": _condition_json(r.condition), **_support_json(r.support, r.name)} for r in model.rules]}


@_own_json.register
def _(model: Forest) -> dict[str, Any]:
    out: dict[str, Any] = {"bootstrap": True} if model.bootstrap else {}
    out |= {"resample": "without"} if model.subsample and not model.bootstrap else {}
    out["trees"] = [{"name": t.name, "nodes": _nodes_json(t.nodes)} for t in model.trees]
    out |= {} if model.labels is None else {"labels": list(model.labels)}
    return out if model.multiplicities is None else {**out, "multiplicities": model.multiplicities.tolist()}


@_own_json.register
def _(model: Boosting) -> dict[str, Any]:
    return _boosting_json(model, [_nodes_json(t.nodes) for t in model.trees])


@_own_json.register
def _(model: Table) -> dict[str, Any]:
    return {**({"complete": True} if model.complete else {}), "statements": [_figure_json(f) for f in model.statements]}


def alone(model: AnyModel) -> AnyModel:
    """Return a model as a release file alone publishes it: without figures of the model file that nothing states."""
    return model if model.origin is None else replace(model, origin=replace(model.origin, unused=()))


def release_json(
    domain: Domain, models: Sequence[AnyModel], rows: RowCount | None, related: RelatedDataSets | None = None
) -> dict[str, Any]:
    """Return a whole release file as an object ready for `json.dumps`; `domain` has the types of `related` ones."""
    out: dict[str, Any] = {"recon": 1, "domain": domain_json(domain_without_types(domain, related))}
    if related is not None:
        out |= related.to_json()
    elif rows is not None and rows.exact:
        out["rows"] = rows.low
    elif rows is not None and (rows.low or rows.high is not None):
        out["rows"] = {"at_least": rows.low} | ({} if rows.high is None else {"at_most": rows.high})
    return out | {"models": [_model_json(m) for m in models]}


def dump(release: Mapping[str, Any]) -> str:
    """Return the file's text: one line per attribute, node and rule, so that people can read and diff it."""
    lines = json.dumps(release, ensure_ascii=False, allow_nan=False)
    pieces = [f'"recon": {release["recon"]}', '"domain": ' + _block(release["domain"], "  ")]
    for key in ("rows", "datasets", "relations"):
        if key in release:
            pieces.append(f'"{key}": ' + json.dumps(release[key], ensure_ascii=False))
    if release.get("models"):
        models = ",\n  ".join(_block(m, "    ") for m in release["models"])
        pieces.append(f'"models": [\n  {models}]')
    text = "{" + ",\n ".join(pieces) + "}\n"
    if json.loads(text) != json.loads(lines):
        raise ReleaseError("the release cannot be written so that it reads back the same")
    return json_shown(text)


def _block(part: Mapping[str, Any], indent: str) -> str:
    """Return an object with each entry of its lists and mappings on a line of its own."""
    pieces = []
    for key, value in part.items():
        if isinstance(value, list) and value and isinstance(value[0], (dict, str, list)):
            inner = f",\n{indent} ".join(_entry(v, f"{indent}  ") for v in value)
            pieces.append(f"{json.dumps(key)}: [\n{indent} {inner}]")
        elif isinstance(value, dict) and key == "columns":
            inner = f",\n{indent} ".join(
                f"{json.dumps(k, ensure_ascii=False)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()
            )
            pieces.append(f"{json.dumps(key)}: {{\n{indent} {inner}}}")
        elif isinstance(value, dict) and {"ledger", "entries"} & set(value):
            pieces.append(f"{json.dumps(key)}: {_block(value, indent + '  ')}")
        else:
            pieces.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}")
    return "{" + f",\n{indent}".join(pieces) + "}"


def _entry(part: Any, indent: str) -> str:
    """Return an entry of a list on one line; a tree of a forest with a line per node."""
    if isinstance(part, dict) and "nodes" in part:
        return _block(part, indent)
    return json.dumps(part, ensure_ascii=False, allow_nan=False)
