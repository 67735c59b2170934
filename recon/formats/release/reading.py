"""Reads release files: strict, with one sentence for whatever is wrong."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn

from pydantic import ValidationError

from recon.files.budget import parsed_json, told
from recon.files.opening import read_whole
from recon.formats.release.parts import to_condition, to_domain, to_models, to_rows
from recon.formats.release.schema import ReleasePart
from solvers.foundation.errors import ReleaseError

__all__ = ["ReleasePart", "explain", "parse", "read_bytes", "strict_json"]
__all__ += ["to_condition", "to_domain", "to_models", "to_rows"]
UNKNOWN_KEY = {"extra_forbidden", "unexpected_keyword_argument"}  # of models, and of dataclasses


def read_bytes(path: str) -> tuple[bytes, str]:
    """Return a file's bytes and their SHA-256; see `recon.files.opening.read_whole` for refusals."""
    data = read_whole(path)
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
    try:
        return ReleasePart.model_validate(found)
    except ValidationError as error:
        raise explain(error, file) from None


def strict_json(text: str) -> Any:
    """Return parsed JSON; `ReleaseError` for doubled keys, NaN, and whatever else other readers take silently."""
    parsed_json(text)
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


def no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object; `ReleaseError` when a key stands twice."""
    out = told(dict(pairs))
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
    first = max(every, key=lambda e: (len(e["loc"]), e["type"] in UNKNOWN_KEY))
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
    if first["type"] in UNKNOWN_KEY:
        return ReleaseError("unknown key", place=place, file=file)
    if first["type"] == "missing":
        return ReleaseError("is missing", place=place, file=file)
    if first["type"] == "union_tag_not_found":
        return ReleaseError("has no 'kind': give tree, rule_list, rule_set, forest or table", place=place, file=file)
    value = repr(first["input"])
    shown = value if len(value) <= 60 else value[:57] + "..."
    said = first["msg"]
    if "instance of" in said:
        said = "It must be an object"
    elif first["loc"] and first["loc"][-1] in {"bool", "TestPart"}:
        said = 'It must be a value, or a test such as {"in": [1, 2]} or {"at_most": 3}'
    return ReleaseError(f"{said}, but it is {shown}", place=place, file=file)
