"""Reads the document of an audit again: its version, then every key that a format shows.

Holds a document against another policy: its facts anew, and each remedy by the figures that it has of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from recon.io.console.guarding import suggestion
from recon.io.files.opening import read_whole
from recon.readers.formats.release.reading import strict_json
from recon.release.policies.assessing import AS_PUBLISHED, assess
from recon.release.policies.rules import RULES
from recon.report.consistency import refuse_contradictions
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
