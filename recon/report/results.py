"""Reads the document of an audit again: its version, then every key that a format shows.

Holds a document against another policy: its facts anew, and each remedy by the figures that it has of it.

Whether the figures of a stored result can be true together: what cannot was changed, and is refused.

Nothing is computed anew from the release. Every relation stands in one of the tables below; a figure is an interval,
and two figures contradict an order only where no values inside of them obey it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recon.io.console.guarding import suggestion
from recon.io.files.opening import read_whole
from recon.readers.formats.release.reading import strict_json
from recon.release.policies.assessing import AS_PUBLISHED, assess, check_threshold
from recon.release.policies.checks import all_of
from recon.release.policies.facts import FIGURES, FactTable
from recon.release.policies.policy import Policy, Threshold
from recon.release.policies.rules import RULES
from recon.report.document.schema import VERSION, Document
from solvers.foundation.displayed import quote
from solvers.foundation.errors import ReleaseError, Unsupported

if TYPE_CHECKING:
    from recon.release.policies.policy import Policy

SAME_COUNTS = ("merge", "depth")  # remedies after which counts are of the kinds that they were
NOT_KEPT = "the result of the audit does not hold this figure of a remedy: audit again with --policy and --remedies"


def reassessed(document: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Return the document with the assessment by this policy, and with its outcome of every remedy.

    Of a remedy the document has some figures only: it meets the policy where these prove it, and is "inconclusive"
    where the policy asks for another one. What an earlier policy said of it counts for nothing.
    """
    facts, remedies = document["facts"], document.get("remedies")
    if remedies is not None:
        remedies = [one | {"outcome": _outcome_of(one, facts, policy)} for one in remedies]
    found = assess(facts, policy, remedies)
    return dict(document) | {"assessment": found.to_json(), "remedies": remedies}


def _outcome_of(remedy: Mapping[str, Any], facts: Mapping[str, Any], policy: Policy) -> str:
    """Return what a policy says of a remedy: "met", "violated" or "inconclusive"."""
    if remedy.get("kind") == AS_PUBLISHED:
        return assess(facts, policy).outcome
    columns = {one.fact: one.column for one in RULES.values() if one.column}
    figures: dict[str, Any] = {key: remedy.get(column) for key, column in columns.items()}
    figures["class_disclosure"] = figures["class_disclosure"] and {"rows": figures["class_disclosure"]}
    figures |= {
        "status": remedy.get("status") or "unknown",
        "confidence": facts.get("confidence"),
        "rows": facts.get("rows"),
        "kinds_of_counts": facts.get("kinds_of_counts") if remedy.get("kind") in SAME_COUNTS else None,
        "not_known": {one.fact: NOT_KEPT for one in RULES.values() if not one.column},
        "not_applicable": {
            key: why for key, why in (facts.get("not_applicable") or {}).items() if figures.get(key) is None
        },
    }
    return assess(figures, policy).outcome


READ = "Figures read, not recomputed: "
STEP = re.compile(r"\.([^.\[\]]+)|\[(\.\.\.|\d+)\]")
WANTED = re.compile(r"Expected `([^`]*)`(?:, got `[^`]*`)?( (?:>=|<=|of length) [^,]*)?")
LACKING = re.compile("Object missing required field `(.*)`")
WORDS = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text", "array": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip


def read_document(path: str) -> dict[str, Any]:
    """Return the document of a file ("-": standard input) as parsed JSON, validated; nothing in it is changed.

    Raises `ReleaseError` naming file, place and value for what is no document, or has figures that cannot be true
    together, and `Unsupported` for a document of
    another version, saying how to make it anew.
    """
    try:
        found = strict_json(read_whole(path).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ReleaseError(f"is not UTF-8 text (byte {error.start})", file=path) from None
    except ReleaseError as error:
        message = error.message.replace("to be a release file", "to be the result of an audit")
        raise ReleaseError(message, place=error.place, file=error.file or path) from None
    document = _checked_document(found, path)
    refuse_contradictions(document, path)
    return document


def as_read(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document whose title says first, in every format, that its figures are those of a file."""
    title = str(document["title"])
    return dict(document) | {"title": title if title.startswith(READ) else f"{READ}{title}"}


def filled(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with every key that it may leave out, as the schema says; formats look for all of them."""
    found: dict[str, Any] = _over(msgspec.to_builtins(msgspec.convert(document, Document)), document)
    return found


def _over(defaults: Any, own: Any) -> Any:
    """Return what a document says, over what the schema says of keys that it leaves out."""
    if isinstance(own, dict) and isinstance(defaults, dict):
        return defaults | {key: _over(defaults.get(key), value) for key, value in own.items()}
    if isinstance(own, list) and isinstance(defaults, list | tuple) and len(own) == len(defaults):
        return [_over(*both) for both in zip(defaults, own, strict=True)]
    return own


def _checked_document(found: Any, file: str = "") -> dict[str, Any]:
    """Return parsed JSON if it is a document of this version; see `read_document` for what is raised."""
    how = "make it with recon audit FILE --json --out result.json"
    if not isinstance(found, dict):
        raise ReleaseError(f"is not a result of an audit: it is not a JSON object; {how}", file=file)
    if "audit" not in found:
        other = "a release file" if "recon" in found else "something else"
        message = f'is not a result of an audit but {other}: the key "audit" is missing; {how}'
        raise ReleaseError(message, file=file)
    version = found["audit"]
    if version == 1 and version is not True:
        raise Unsupported(
            f"{file}: is the result of an older recon (audit: 1), which has no facts to report on: audit the file "
            f"again, with {suggestion('audit', [_audited_file(found)], {'--json': None, '--out': 'result.json'})}"
        )
    if version != VERSION or version is True:
        raise Unsupported(
            f"{file}: audit: this recon reads version {VERSION} of the result, not {quote(repr(version), 60)}: "
            "use the recon that wrote it, or audit the file again"
        )
    try:
        msgspec.convert(found, Document)
    except msgspec.ValidationError as error:
        raise _explained(error, found, file) from None
    except RecursionError:
        raise ReleaseError("is nested too deeply to be the result of an audit", file=file) from None
    return found


def _audited_file(found: dict[str, Any]) -> str:
    """Return the file that an older result is about, FILE where it does not say."""
    name = found.get("file")
    return quote(name) if isinstance(name, str) and name else "FILE"


def _explained(error: msgspec.ValidationError, root: Any, file: str) -> ReleaseError:
    """Return a validation error as one sentence with place and value."""
    text, _, path = str(error).partition(" - at `$")
    place, value = _found_at(root, STEP.findall(path.rstrip("`")))
    if lacking := LACKING.fullmatch(text):
        return ReleaseError("is missing", place=f"{place}.{lacking[1]}".lstrip("."), file=file)
    said = text
    if wanted := WANTED.match(text):
        said = "it must be " + " or ".join(WORDS.get(word, word) for word in wanted[1].split(" | ")) + (wanted[2] or "")
    elif text.startswith("Invalid enum value"):
        said = "it must be one of the values that recon schema report lists"
    return ReleaseError(f"{said}, but it is {quote(repr(value), 60)}", place=place, file=file)


def _found_at(root: Any, steps: list[tuple[str, str]]) -> tuple[str, Any]:
    """Return a place as people write it, and the value there; it ends where the path does not say which entry."""
    place, value = "", root
    for name, index in steps:
        if index == "..." or (index and not isinstance(value, list)) or (name and not isinstance(value, dict)):
            break
        if index and int(index) >= len(value):
            break
        if name and name not in value:
            break
        place, value = (f"{place}[{index}]", value[int(index)]) if index else (f"{place}.{name}", value[name])
    return place.lstrip("."), value


NOT_BOTH = "which cannot both be true"
ROUNDING = 1e-6  # relative, of figures that are sums of logarithms
ROWS, GROUP, CELL = "facts.rows", "facts.smallest_group", "facts.smallest_cell"
BITS, BEFORE = "facts.bits_left_per_person", "facts.bits_before_per_person"
# The first is never more than the second; [*]: of every one in a list.
ORDERS = (
    *((f"facts.{key}", ROWS) for key, shape in FIGURES.items() if shape.people and key != "rows"),
    (BITS, BEFORE), ("log2_lower", "log2_worlds"), ("log2_worlds", "log2_upper"), ("log2_lower", "log2_upper"),
    ("entropy_bits", "uninformed_bits"), ("without_row_order.bits_left", "without_row_order.bits_before"),
    ("determined_rows", "facts.pinned"), ("exposed[*].rows", ROWS), ("facts.groups[*].rows", ROWS),
    ("facts.cells[*].rows", ROWS), ("facts.class_disclosure.groups[*].rows", "facts.class_disclosure.rows"),
    (GROUP, "facts.groups[*].rows"), (CELL, "facts.cells[*].rows"),
    ("attribute_bits[*].bits_revealed", "attribute_bits[*].bits_before"),
    ("exposed_mean.bits_left", "exposed_mean.bits_before"), ("facts.least_bits_left", "exposed_mean.bits_left"),
    ("attribute_bits[*].forced_rows", ROWS), ("forced.rows[*].rows", ROWS), ("forced.values[*].rows", ROWS),
    *((f"adds.after.{key}", f"adds.{part}.{key}")
      for part in ("before", "alone") for key in ("log2_datasets", "bits_left_per_person")),
    *((f"adds.{part}.pinned", "adds.after.pinned") for part in ("before", "alone")),
)  # fmt: skip
# Two keys of one figure.
SAME = (
    (ROWS, "audited.rows"), (ROWS, "rows"), ("log2_datasets", "without_row_order.log2_datasets"),
    ("remedies[0].pinned", "facts.pinned"), ("remedies[0].bits_left_per_person", BITS),
    ("remedies[0].least_bits_left", "facts.least_bits_left"), ("remedies[0].smallest_group", GROUP),
    ("remedies[0].class_disclosed_rows", "facts.class_disclosure"),
    ("without_row_order.bits_left per row", BITS), ("without_row_order.bits_before per row", BEFORE),
)  # fmt: skip
# A list, and how many there are in all.
LISTED = (
    ("facts.groups", "facts.groups_in_all"), ("facts.cells", "facts.cells_in_all"), ("exposed", "exposed_in_all"),
    ("facts.class_disclosure.groups", "facts.class_disclosure.groups_in_all"), ("forced.rows", "forced.rows_in_all"),
    ("forced.values", "forced.values_in_all"),
)  # fmt: skip
FILLED = (GROUP, CELL)  # of groups that surely have a row
VERDICTS = {
    "met": {"release"},
    "inconclusive": {"not assessed"},
    "violated": {"release with changes", "do not release"},
}
DOTTED_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\*|\d+)\]")


class FigureBounds(NamedTuple):
    """A figure: its key with the numbers of its lists, and the least and the greatest that it can be."""

    place: str
    low: float
    high: float


def refuse_contradictions(document: Mapping[str, Any], file: str) -> None:
    """Refuse with `ReleaseError` a document with figures that cannot be true together, naming both and their values."""
    for text in _contradictions(document):
        raise ReleaseError(f"{text}: the result was changed, or is not of one audit; audit the file again", file=file)


def _contradictions(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words what cannot be true together."""
    for key, shape in FIGURES.items():
        for one in _figures(document, f"facts.{key}"):
            if one.low > one.high or one.high < shape.least:
                yield f"{one.place} is {_figure_text(one)}, which nothing is"
    for less, more in (*ORDERS, *SAME, *((b, a) for a, b in SAME)):
        for first, second in _pairs(document, less, more):
            if first.low > second.high + ROUNDING * max(1.0, abs(second.high)):
                yield f"{first.place} is {_figure_text(first)} and {second.place} is {_figure_text(second)}, {NOT_BOTH}"
    for name, number in LISTED:
        found, in_all = _values(document, name), _values(document, number)
        if found and in_all and in_all[0][1] is not None and len(found[0][1]) > in_all[0][1]:
            yield f"{name} lists {len(found[0][1]):,} and {number} is {in_all[0][1]:,}, {NOT_BOTH}"
    yield from _of_the_pinned(document)
    yield from _of_the_policy(document)


def _of_the_pinned(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what contradicts that people are pinned down: nothing is left about them."""
    for pinned in _figures(document, "facts.pinned"):
        everybody = next(_figures(document, ROWS), None)
        for key, least in (("facts.least_bits_left", 1.0), (BITS, math.inf if everybody is None else everybody.high)):
            for left in _figures(document, key):
                if pinned.low >= max(1.0, least) and left.low > ROUNDING:
                    yield (
                        f"{pinned.place} is {_figure_text(pinned)} and {left.place} is {_figure_text(left)}, "
                        f"{NOT_BOTH}: "
                        "no bit is left about a person who is fully known"
                    )


def _of_the_policy(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an assessment says that does not follow from the facts beside it."""
    told = document.get("assessment")
    if told is None:
        return
    facts = FactTable.of_json(document["facts"])
    said = [one["outcome"] for one in told.get("checks") or ()]
    for i, one in enumerate(told.get("checks") or ()):
        place, rule = f"assessment.checks[{i}].outcome", RULES.get(one["rule"])
        if rule is None:
            continue
        try:
            value = msgspec.convert(one.get("threshold"), rule.values.type)
        except msgspec.ValidationError:
            yield f"assessment.checks[{i}].threshold is {quote(repr(one.get('threshold')), 60)}, which no threshold is"
            continue
        threshold = Threshold(rule.key, value, "", "")
        follows = check_threshold(facts, threshold, Policy("", (threshold,))).outcome
        if one["outcome"] not in {follows, "violated" if follows == "inconclusive" else follows}:
            yield f"{place} is '{one['outcome']}', and from the facts follows '{follows}'"
    outcome = all_of(said)
    if not said or told["outcome"] != outcome:
        why = f"from its checks follows '{outcome}'" if said else "it has no checks"
        yield f"assessment.outcome is '{told['outcome']}', and {why}"
    if told["verdict"] not in VERDICTS[told["outcome"]]:
        yield f"assessment.verdict is '{told['verdict']}' and assessment.outcome is '{told['outcome']}'"


def _pairs(document: Mapping[str, Any], less: str, more: str) -> Iterator[tuple[FigureBounds, FigureBounds]]:
    """Yield two figures that have an order: of one list those of the same entry, else every one with every one."""
    first, second = list(_figures(document, less)), list(_figures(document, more))
    if "[*]" in less and "[*]" in more:
        by_entry = {one.place.rpartition("]")[0]: one for one in second}
        yield from ((one, by_entry[at]) for one in first if (at := one.place.rpartition("]")[0]) in by_entry)
        return
    if less in FILLED and "[*]" in more:
        second = [one for one in second if one.low > 0]
    yield from ((a, b) for a in first for b in second)


def _figures(document: Mapping[str, Any], path: str) -> Iterator[FigureBounds]:
    """Yield the figures at a path; "... per row": divided by the number of rows, where that is known."""
    path, per, _ = path.partition(" per row")
    rows = document.get("rows")
    if (per and not rows) or (path.startswith("remedies") and document.get("adds")):  # they are of the new one alone
        return
    for place, value in _values(document, path):
        found = _figure_range(value)
        if found is not None:
            share = float(_or_infinite(rows)) if per and rows else 1.0
            yield FigureBounds(place + per, found[0] / share, found[1] / share)


def _figure_range(value: Any) -> tuple[float, float] | None:
    """Return the least and the greatest of a figure as it stands in the document, None where it is not a number."""
    if isinstance(value, Mapping):
        return _figure_range(value.get("rows"))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (_or_infinite(value),) * 2
    if isinstance(value, list | tuple) and len(value) == 2 and any(one is not None for one in value):
        low, high = value
        return -math.inf if low is None else _or_infinite(low), math.inf if high is None else _or_infinite(high)
    return None


def _or_infinite(value: float) -> float:
    """Return a number, or the infinite one that stands for a whole number that no float holds."""
    if abs(value) <= sys.float_info.max:
        return value
    return math.inf if value > 0 else -math.inf


def _values(document: Any, path: str) -> list[tuple[str, Any]]:
    """Return what stands at a path, with the places; nothing where the document has none."""
    found: list[tuple[str, Any]] = [("", document)]
    for name, index in DOTTED_STEP.findall(path):
        after: list[tuple[str, Any]] = []
        for place, value in found:
            if name and isinstance(value, Mapping) and name in value:
                after.append((f"{place}.{name}".lstrip("."), value[name]))
            elif index and isinstance(value, list):
                after += [(f"{place}[{i}]", one) for i, one in enumerate(value) if index in {"*", str(i)}]
        found = after
    return found


def _figure_text(found: FigureBounds) -> str:
    """Return a figure in words."""
    low, high = (f"{one:.10g}" for one in found[1:])
    if found.low == found.high:
        return low
    if math.isinf(found.high) or math.isinf(found.low):
        return f"at least {low}" if math.isinf(found.high) else f"at most {high}"
    return f"{low} to {high}"
