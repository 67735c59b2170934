"""Reads release files: strict, with one sentence for whatever is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import msgspec

from encoders.models.related import RelatedDataSets
from recon.io.files.opening import (
    BOM,
    content_start,
    current,
    metered_step,
    parsed_json,
)
from recon.readers.formats.release.parts import to_condition, to_domain, to_models, to_related, to_rows
from recon.readers.formats.release.schema import AdversaryPart, ReleasePart, ScalarOrTest, ViewPart, json_schema
from solvers.foundation.errors import ReleaseError

__all__ = ["ReleasePart", "converted", "parse", "strict_json"]
__all__ += ["to_condition", "to_domain", "to_models", "to_related", "to_rows"]
DECODER = msgspec.json.Decoder(ReleasePart)
ENCODER = msgspec.json.Encoder()
ESCAPED = re.compile(rb"\\u(?:003a|d)", re.IGNORECASE)  # a colon, or half of a surrogate pair
STEP = re.compile(r"\.([^.\[\]]+)|\[(\.\.\.|\d+)\]")
UNKNOWN = re.compile("Object contains unknown field `(.*)`", re.DOTALL)
LACKING = re.compile("Object missing required field `(.*)`")
WANTED = re.compile(r"Expected `([^`]*)`( (?:>=|<=|of length) [^,]*)?")
WORDS = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text", "array": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip
LITERAL = {"recon", "kind", "law", "neighbours", "standing", "resample", "suppressed"}  # keys with listed values
LITERAL |= {"loss", "scores", "rounded", "stages", "splitter"}


def related_of(found: Any) -> RelatedDataSets:
    """Return related data sets given as in a release file, with `fewest` where nobody said who left or came."""
    if not isinstance(found, dict) or not {"datasets"} <= found.keys() <= {"datasets", "relations", "fewest"}:
        raise ReleaseError("relations are an object with 'datasets', and 'relations' where there are some")
    given = {key: value for key, value in found.items() if key != "fewest"}
    part = converted({"recon": 1, "domain": {"attributes": []}, **given}, ReleasePart)
    related = to_related(part)
    assert related is not None
    return replace(related, stated=True, fewest=found.get("fewest") is True)


def parse(data: bytes, file: str) -> ReleasePart:
    """Return the validated parts of a release file, its values not yet checked against each other."""
    head = content_start(data[:1024])
    if not head:
        raise ReleaseError("the file is empty", file=file)
    if not head.startswith(b"{"):
        raise ReleaseError(f"is not a release file: it starts with {head[:12]!r}, not with '{{'", file=file)
    parsed_json(data)
    try:
        found = DECODER.decode(data.removeprefix(BOM))
        if _no_key_twice(data, found):
            current().check()
            return found
    except (msgspec.DecodeError, RecursionError):
        pass  # and say what is wrong, or take what only json takes (1e999)
    return _parse_slowly(data, file)


def _no_key_twice(data: bytes, found: ReleasePart) -> bool:
    """Return True if no object of the text names a key twice and no character is half of one; False: perhaps.

    What was read is written again without what stands at its default. A key that stood twice is written once, so that
    colons are missing then; none can be added, unless one was written as an escape.
    """
    return ESCAPED.search(data) is None and ENCODER.encode(found).count(b":") == data.count(b":")


def _parse_slowly(data: bytes, file: str) -> ReleasePart:
    """Return the parts of a release file, one sentence for what is wrong; five times slower than the decoder."""
    try:
        found = _json_object(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ReleaseError(f"is not UTF-8 text (byte {error.start})", file=file) from None
    except ReleaseError as error:
        raise error.at(file=file) from None
    if "recon_adversary" in found:
        message = "is what an adversary knows, not a release: give it with --adversary, beside the released files"
        raise ReleaseError(message, file=file)
    if "recon" not in found or found["recon"] is True:
        keys = ", ".join(f'"{key[:20]}"' for key in [*found][:3])
        other = f", and no model that is read has its keys ({keys})" if keys and "domain" not in found else ""
        raise ReleaseError(f'is not a release file: the key "recon" is missing (it must be 1){other}', file=file)
    part: ReleasePart = converted(found, ReleasePart, file)
    return part


def parse_adversary(data: bytes, file: str) -> AdversaryPart:
    """Return the validated parts of an adversary's file; `ReleaseError` for anything else, a release too."""
    try:
        text = data.decode("utf-8-sig")
        if not text.lstrip().startswith("{"):
            raise ReleaseError('is not what an adversary knows: a JSON object with "recon_adversary": 1')
        found = strict_json(text)
    except UnicodeDecodeError as error:
        raise ReleaseError(f"is not UTF-8 text (byte {error.start})", file=file) from None
    except ReleaseError as error:
        raise error.at(file=file) from None
    if "recon_adversary" not in found:
        what = "a release file" if "recon" in found else "not what an adversary knows"
        message = f'is {what}: the key "recon_adversary" is missing (it must be 1; recon schema adversary)'
        raise ReleaseError(message, file=file)
    part: AdversaryPart = converted(found, AdversaryPart, file)
    return part


def converted(found: Any, kind: Any, file: str = "") -> Any:
    """Return parsed JSON as a part of the schema; `ReleaseError` naming place and value where it is none."""
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise _explain(error, found, file) from None
    except RecursionError:
        raise ReleaseError("is nested too deeply to be a release file", file=file) from None


def strict_json(text: str) -> Any:
    """Return parsed JSON; `ReleaseError` for doubled keys, NaN, and whatever else other readers take silently."""
    parsed_json(text)
    return _json_object(text)


def _json_object(text: str) -> Any:
    """Return parsed JSON as `strict_json`, its memory already taken from the budget."""
    try:
        found = json.loads(text, object_pairs_hook=no_doubles, parse_constant=_no_constant)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise ReleaseError(message) from None
    except RecursionError:
        raise ReleaseError("is nested too deeply to be a release file") from None
    except UnicodeEncodeError:
        raise ReleaseError("holds half of a surrogate pair, which is not a character") from None
    except ReleaseError:
        raise
    except ValueError as error:
        raise ReleaseError(f"holds a number that cannot be read ({error})") from None
    return found


def no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object; `ReleaseError` when a key stands twice."""
    out = metered_step(dict(pairs))
    if len(out) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ReleaseError(f"the key '{key}' stands twice in one object")
            seen.add(key)
    return out


def _no_constant(text: str) -> NoReturn:
    """Refuse NaN and Infinity."""
    raise ReleaseError(f"the number {text} is not finite")


def _explain(error: msgspec.ValidationError, root: Any, file: str) -> ReleaseError:
    """Return a validation error as one sentence with place and value."""
    text, _, path = str(error).partition(" - at `$")
    place, value, scalar_or_test = _found_at(root, STEP.findall(path.rstrip("`")))
    if named := UNKNOWN.fullmatch(text):
        return ReleaseError("unknown key", place=_key_place(place, named[1]), file=file)
    if named := LACKING.fullmatch(text):
        if named[1] == "kind":
            message = "has no 'kind': give tree, rule_list, rule_set, forest, boosting, table or tables"
            return ReleaseError(message, place=place, file=file)
        return ReleaseError("is missing", place=_key_place(place, named[1]), file=file)
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    if scalar_or_test and text.startswith("Expected `bool | int | float | str | object`"):
        said = 'It must be a value, or a test such as {"in": [1, 2]} or {"at_most": 3}'
    elif not scalar_or_test and place.rpartition(".")[2] in LITERAL:
        said = "It must be " + _allowed_values(place)
    elif wanted := WANTED.match(text):
        said = "It must be " + " or ".join(WORDS.get(word, word) for word in wanted[1].split(" | ")) + (wanted[2] or "")
    else:
        said = "It must be " + _allowed_values(place)
    return ReleaseError(f"{said}, but it is {shown}", place=place, file=file)


def _allowed_values(place: str) -> str:
    """Return the values that the schema lists for the key at a place, in words; msgspec does not say which."""
    name = place.rpartition(".")[2].partition("[")[0]
    schema = json_schema()
    parts = [schema, *schema["$defs"].values()]
    found = [repr(v) for part in parts for v in _schema_values(part.get("properties", {}).get(name, {}))]
    *first, last = dict.fromkeys(found) or ["another value"]
    return f"{', '.join(first)} or {last}" if first else last


def _schema_values(kind: dict[str, Any]) -> list[Any]:
    """Return the values that a JSON Schema lists, its alternatives and items included."""
    inner = [*kind.get("anyOf", ()), kind.get("items") or {}]
    return [v for v in kind.get("enum", ()) if v is not None] + [v for one in inner if one for v in _schema_values(one)]


def _found_at(root: Any, steps: Sequence[tuple[str, str]]) -> tuple[str, Any, bool]:
    """Return a place, the value there, and whether it is an entry of a condition; msgspec does not say which entry."""
    place, value, entry = "", root, False
    for name, index in steps:
        entry = index == "..."
        if index and not entry:
            place, value = f"{place}[{index}]", value[int(index)]
            continue
        kind: Any = ViewPart if place.endswith("columns") else ScalarOrTest
        kind = list[str] if place.endswith("].schema") else kind
        key = next(k for k, one in value.items() if not _fits(one, kind)) if entry else name
        place, value = _key_place(place, key), value[key]
    return place, value, entry


def _fits(value: Any, kind: Any) -> bool:
    """Return True if a value is of a kind of the schema."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _key_place(place: str, name: str) -> str:
    """Return the place of a key of an object."""
    return f"{place}.{name}" if place else name
