"""Reads release files: strict, with one sentence for whatever is wrong."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from encoders.domain import Condition, Domain, View
from encoders.encoder import MOST_ROWS, EncodedRelease, encode
from encoders.models import AnyModel, Node, Rule, RuleList, Support, Tree
from encoders.values import AnyAttribute, Continuous, Grid, Listed, Test, exact
from recon.formats.schema import (
    AttributePart,
    ConditionPart,
    DomainPart,
    NodePart,
    ReleasePart,
    RuleListPart,
    RulePart,
    SupportPart,
    TestPart,
    TreePart,
)
from solvers.errors import ReleaseError
from solvers.release import Rows


def read_release(path: str, domain: Domain | None = None) -> EncodedRelease:
    """Return the encoded release in a file ("-": standard input); `domain` replaces the file's own.

    Raises `ReleaseError` naming file, place and value. Cost: linear in the size of the file.
    """
    data, sha256 = read_bytes(path)
    part = parse(data, path)
    try:
        declared = domain if domain is not None else to_domain(part.domain)
        found = encode(declared, to_models(part), to_rows(part), file=path)
    except ReleaseError as error:
        raise error.at(file=path) from None
    return EncodedRelease(found.domain, found.models, found.cut, found.statements, path, sha256)


def read_domain(path: str) -> Domain:
    """Return the domain of a release file or of a file that holds only a domain."""
    data, _ = read_bytes(path)
    part = parse(data, path)
    try:
        return to_domain(part.domain)
    except ReleaseError as error:
        raise error.at(file=path) from None


def read_bytes(path: str) -> tuple[bytes, str]:
    """Return a file's bytes and their SHA-256; `ReleaseError` when it cannot be read."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error.strerror}", file=path) from None
    return data, hashlib.sha256(data).hexdigest()


def parse(data: bytes, file: str) -> ReleasePart:
    """Return the validated parts of a release file, its values not yet checked against each other."""
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head:
        raise ReleaseError("the file is empty", file=file)
    if not head.startswith(b"{"):
        raise ReleaseError(f"is no release file: it starts with {head[:12]!r}, not with '{{'", file=file)
    try:
        found = strict_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ReleaseError(f"is not UTF-8 text (byte {error.start})", file=file) from None
    except ReleaseError as error:
        raise error.at(file=file) from None
    if "recon" not in found or found["recon"] is True:
        raise ReleaseError('is no release file: the key "recon" is missing (it must be 1)', file=file)
    for i, model in enumerate(models if isinstance(models := found.get("models"), list) else []):
        check_built(model, f"models[{i}]", file)
    try:
        return ReleasePart.model_validate(found)
    except ValidationError as error:
        raise explain(error, file) from None


def strict_json(text: str) -> Any:
    """Return parsed JSON; `ReleaseError` for doubled keys, NaN, and whatever else other readers take silently."""
    try:
        found = json.loads(text, object_pairs_hook=no_doubles, parse_constant=no_constant)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise ReleaseError(message) from None
    except RecursionError:
        raise ReleaseError("is nested too deeply to be a release file") from None
    except UnicodeEncodeError:
        raise ReleaseError("holds half of a surrogate pair, which is no character") from None
    except ReleaseError:
        raise
    except ValueError as error:
        raise ReleaseError(f"holds a number that cannot be read ({error})") from None
    return found


def check_built(model: object, place: str, file: str) -> None:
    """Refuse by name what the contract knows and this version does not read."""
    if not isinstance(model, dict):
        return
    if (kind := model.get("kind")) in {"rule_set", "forest", "table"}:
        raise ReleaseError(f"models of kind '{kind}' are not read by this version", place=place, file=file)
    if model.get("noise") is not None:
        raise ReleaseError("noisy counts are not read by this version", place=f"{place}.noise", file=file)


def no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object; `ReleaseError` when a key stands twice."""
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ReleaseError(f"the key '{key}' stands twice in one object")
            seen.add(key)
    return out


def no_constant(text: str) -> NoReturn:
    """Refuse NaN and Infinity."""
    raise ReleaseError(f"the number {text} is not finite")


def explain(error: ValidationError, file: str) -> ReleaseError:
    """Return the first validation error as one sentence with place and value."""
    every = error.errors()
    # A union reports each member it tried: the deepest place is the one the user meant.
    first = max(every, key=lambda e: (len(e["loc"]), e["type"] == "extra_forbidden"))
    tags = {"tree", "rule_list", "rule_set", "forest", "table"}
    steps = [
        s
        for s in first["loc"]
        if not (isinstance(s, str) and (s in tags or s.endswith("Part") or s.startswith("function-")))
    ]
    if first["loc"] and first["loc"][-1] in {"bool", "int", "float", "str"}:
        steps = steps[:-1]
    place = ""
    for step in steps:
        place += f"[{step}]" if isinstance(step, int) else (f".{step}" if place else str(step))
    if first["type"] == "extra_forbidden":
        return ReleaseError("unknown key", place=place, file=file)
    if first["type"] == "missing":
        return ReleaseError("is missing", place=place, file=file)
    if first["type"] == "union_tag_not_found":
        return ReleaseError("has no 'kind': give tree or rule_list", place=place, file=file)
    value = repr(first["input"])
    shown = value if len(value) <= 60 else value[:57] + "..."
    said = first["msg"]
    if "instance of" in said:
        said = "It must be an object"
    elif first["loc"] and first["loc"][-1] in {"bool", "TestPart"}:
        said = 'It must be a value, or a test such as {"in": [1, 2]} or {"at_most": 3}'
    return ReleaseError(f"{said}, but it is {shown}", place=place, file=file)


def to_test(part: TestPart, place: str) -> Test:
    """Return a test; `ReleaseError` for no key, or two that do not make a range."""
    given = {
        name: value
        for name in ("is_in", "at_most", "below", "at_least", "above", "equals")
        if (value := getattr(part, name, None)) is not None
    }
    names = [{"is_in": "in"}.get(n, n) for n in given]
    if not given:
        raise ReleaseError("the test is empty: give 'in', 'at_most', 'below', 'at_least' or 'above'", place=place)
    for value in given.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, float) and not math.isfinite(one):
                raise ReleaseError(f"the number {one} is not finite", place=place)
    alone = {"is_in", "equals"} & given.keys()
    upper, lower = {"at_most", "below"} & given.keys(), {"at_least", "above"} & given.keys()
    if (alone and len(given) > 1) or len(upper) > 1 or len(lower) > 1:
        raise ReleaseError(f"the keys {', '.join(names)} do not make one range", place=place)
    if alone:
        return Test(values=tuple(part.is_in) if part.is_in is not None else (given["equals"],))
    return Test(
        low=part.at_least if part.at_least is not None else part.above,
        high=part.at_most if part.at_most is not None else part.below,
        low_open=part.above is not None,
        high_open=part.below is not None,
    )


def to_condition(part: ConditionPart, place: str) -> Condition:
    """Return a condition: every test with its attribute or column."""
    return tuple(
        (name, to_test(test, f"{place}.{name}") if isinstance(test, TestPart) else Test(values=(test,)))
        for name, test in part.items()
    )


def to_attribute(part: AttributePart, place: str) -> AnyAttribute:
    """Return an attribute; `ReleaseError` unless it has values, or min and max."""
    try:
        if part.values is not None:
            if part.min is not None or part.max is not None or "resolution" in part.model_fields_set:
                raise ReleaseError(f"attribute '{part.name}' has 'values' and a range: give one of them")
            for value in part.values:
                if isinstance(value, float) and not math.isfinite(value):
                    raise ReleaseError(f"attribute '{part.name}': the value {value} is not finite")
            return Listed(part.name, tuple(part.values))
        if part.min is None or part.max is None:
            raise ReleaseError(f"attribute '{part.name}' needs 'values', or 'min' and 'max'")
        for number in (part.min, part.max, part.resolution or 0):
            if isinstance(number, float) and not math.isfinite(number):
                raise ReleaseError(f"attribute '{part.name}': the number {number} is not finite")
        if part.resolution is None:
            return Continuous(part.name, exact(part.min), exact(part.max))
        return Grid.between(part.name, part.min, part.max, part.resolution)
    except ReleaseError as error:
        raise error.at(place=place) from None


def to_domain(part: DomainPart) -> Domain:
    """Return the declared domain."""
    columns = {
        name: View(view.attribute, to_test(view, f"domain.columns.{name}")) for name, view in part.columns.items()
    }
    try:
        return Domain(
            tuple(to_attribute(a, f"domain.attributes[{i}]") for i, a in enumerate(part.attributes)),
            None if part.label is None else to_attribute(part.label, "domain.label"),
            columns,
            tuple(to_condition(c, f"domain.impossible[{i}]") for i, c in enumerate(part.impossible)),
            part.source,
            tuple(part.notes),
        )
    except ReleaseError as error:
        raise error.at(place="domain") from None


def to_support(part: SupportPart, place: str) -> Support:
    """Return the published counts; `ReleaseError` when both kinds are given, or one is no number of rows."""
    if part.counts is not None and part.count is not None:
        raise ReleaseError("give 'counts' or 'count', not both", place=place)
    if part.distinct is not None:
        raise ReleaseError("numbers of distinct rows are not read by this version", place=f"{place}.distinct")
    counts = None if part.counts is None else enumerate(part.counts)
    return Support(
        None if counts is None else tuple(to_count(c, f"{place}.counts[{i}]") for i, c in counts),
        None if part.count is None else to_count(part.count, f"{place}.count"),
    )


def to_count(value: float, place: str) -> int:
    """Return a number of rows (3.0 is 3); `ReleaseError` for a negative or fractional one."""
    if (isinstance(value, float) and not math.isfinite(value)) or value < 0 or value != int(value):
        raise ReleaseError(f"the count {value:.12g} is no number of rows", place=place)
    return int(value)


def to_node(part: NodePart, place: str) -> Node:
    """Return a node; `ReleaseError` for half an inner node."""
    support = to_support(part, place)
    if part.condition is None:
        if part.then is not None or part.otherwise is not None:
            raise ReleaseError("a node with 'then' or 'else' needs 'if'", place=place)
        return Node(support, name=part.name)
    if part.then is None or part.otherwise is None:
        raise ReleaseError("an inner node needs 'then' and 'else'", place=place)
    return Node(support, to_condition(part.condition, f"{place}.if"), part.then, part.otherwise, part.name)


def to_rule(part: RulePart, place: str) -> Rule:
    """Return a rule."""
    return Rule(to_condition(part.condition, f"{place}.if"), to_support(part, place), part.name)


def to_models(release: ReleasePart) -> list[AnyModel]:
    """Return the published models."""
    models: list[AnyModel] = []
    several = len(release.models) > 1
    for i, part in enumerate(release.models):
        place = f"models[{i}]"
        if part.noise is not None:
            raise ReleaseError("noisy counts are not read by this version", place=f"{place}.noise")
        if part.dataset is not None:
            raise ReleaseError("models of several datasets are not read by this version", place=f"{place}.dataset")
        if isinstance(part, TreePart):
            name = part.name or (f"tree {i}" if several else "tree")
            models.append(Tree(tuple(to_node(n, f"{place}.nodes[{k}]") for k, n in enumerate(part.nodes)), name))
        elif not isinstance(part, RuleListPart):
            raise ReleaseError(f"models of kind '{part.kind}' are not read by this version", place=place)
        else:
            name = part.name or (f"rule list {i}" if several else "rule list")
            models.append(RuleList(tuple(to_rule(r, f"{place}.rules[{k}]") for k, r in enumerate(part.rules)), name))
    return models


def to_rows(release: ReleasePart) -> Rows | None:
    """Return the declared number of rows, None where it follows from the models."""
    if release.rows is None:
        return None
    for number in (release.rows,) if isinstance(release.rows, int) else (release.rows.at_least, release.rows.at_most):
        if number is not None and number > MOST_ROWS:
            raise ReleaseError("more than 2^53 rows are not counted", place="rows")
    if isinstance(release.rows, int):
        if release.rows < 0:
            raise ReleaseError(f"the number of rows {release.rows} is negative", place="rows")
        return Rows(release.rows, release.rows)
    low, high = release.rows.at_least, release.rows.at_most
    if high is not None and high < low:
        raise ReleaseError(f"at_most {high} is below at_least {low}", place="rows")
    return Rows(low, high)
