"""Policy files: what each key may be, as structs and in words (docs/policy.md); the files of the presets."""

from __future__ import annotations

import difflib
import math
import tomllib
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from recon.release.policies.rules import RULES
from solvers.foundation.errors import PolicyError
from solvers.foundation.escaping import named

T = TypeVar("T")
FOLDER = Path(__file__).parent / "presets"
PREFIX = "preset:"  # how a policy names a preset in `extends`
LONGEST = 1 << 20  # bytes of a policy file


class Sourced(Struct, Generic[T], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A threshold with where it comes from: a document, its section and page."""

    value: T
    source: Annotated[str, Meta(min_length=1)]


Counted = Literal["inconclusive", "violation"]
TEXT = Annotated[str, Meta(min_length=1)]
ABOUT = {
    "name": (TEXT, "a text that is not empty"),
    "note": (str, "a text"),
    "extends": (str | list[str], 'a path relative to this file, "preset:NAME", or a list of these'),
}  # keys that are no thresholds
THRESHOLDS = {key: (one.values.type, one.values.words) for key, one in RULES.items()} | {
    "inconclusive": (Counted, '"inconclusive" or "violation"')
}
WORDS = {key: words for key, (_, words) in (ABOUT | THRESHOLDS).items()}  # what is allowed, by key
PolicyPart: Any = msgspec.defstruct(
    "PolicyPart",
    [
        *((key, type_ | None, None) for key, (type_, _) in ABOUT.items()),
        *((key, type_ | Sourced[type_] | None, None) for key, (type_, _) in THRESHOLDS.items()),  # type: ignore[valid-type]
    ],
    frozen=True, kw_only=True, forbid_unknown_fields=True, module=__name__,
    namespace={"__doc__": "A policy file: thresholds that a release has to meet; unknown keys are refused."},
)  # fmt: skip


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file, as TOML readers give it."""
    found = msgspec.json.schema(PolicyPart)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "recon policy", **found}


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def preset_bytes(name: str) -> bytes:
    """Return the file of a preset; `PolicyError` where there is none of this name."""
    if name not in preset_names():
        raise PolicyError(f"there is no preset {named(name)}: choose {' or '.join(preset_names())}")
    return (FOLDER / f"{name}.toml").read_bytes()


def parsed(data: bytes, file: str) -> Any:
    """Return the validated parts of a policy file; `PolicyError` names file, key, value and what is allowed."""
    where = named(file)
    if len(data) > LONGEST:
        raise PolicyError(f"{where}: has {len(data):,} bytes, no policy is longer than {LONGEST:,}")
    try:
        found = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PolicyError(f"{where}: is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{where}: is not TOML: {named(error)}") from None
    except RecursionError:
        raise PolicyError(f"{where}: is nested too deeply to be a policy") from None
    except ValueError as error:  # a whole number of more than 4,300 digits
        raise PolicyError(f"{where}: holds a number that cannot be read ({named(error)})") from None
    return checked(found, where)


def checked(found: dict[str, Any], where: str) -> Any:
    """Return parsed TOML as the parts of a policy; `PolicyError` in one sentence where it is none."""
    for key, value in found.items():
        if key not in WORDS:
            raise PolicyError(unknown(key, where))
        inner = value.get("value") if isinstance(value, dict) else value
        if isinstance(inner, float) and not math.isfinite(inner):
            raise PolicyError(wrong(key, value, where))
        try:
            msgspec.convert({key: value}, PolicyPart)
        except msgspec.ValidationError:
            raise PolicyError(wrong(key, value, where)) from None
    return msgspec.convert(found, PolicyPart)


def unknown(key: str, where: str) -> str:
    """Return the sentence on a key that no policy has."""
    near = difflib.get_close_matches(key, WORDS, 1)
    hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(WORDS)}"
    return f"{where}: there is no key {named(key)}: {hint}"


def wrong(key: str, value: Any, where: str) -> str:
    """Return the sentence on a value that its key does not take."""
    allowed = WORDS[key]
    if not isinstance(value, dict) or key in ABOUT:
        return f"{where}: {key} is {as_written(value)}; allowed is {allowed}"
    if strangers := [one for one in value if one not in {"value", "source"}]:
        return f"{where}: {key} has the key {named(strangers[0])}; a threshold has value and source, nothing else"
    if "value" not in value:
        return f'{where}: {key} has no value; write {key} = {{value = ..., source = "..."}}, the value {allowed}'
    source = value.get("source")
    if source is None:
        return f"{where}: {key} has no source; write {key} = {as_written(value['value'])} where there is none"
    if not isinstance(source, str) or not source:
        return f"{where}: {key}.source is {as_written(source)}; allowed is a text that is not empty"
    return f"{where}: {key}.value is {as_written(value['value'])}; allowed is {allowed}"


def as_written(value: Any) -> str:
    """Return a value about as TOML writes it, at most 60 characters of it."""
    return named(str(value).lower() if isinstance(value, bool) else repr(value), 60)
