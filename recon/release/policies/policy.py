"""A policy: thresholds, each with its source and the file that set it; read from TOML, with what it extends.

Policies as text: what `recon policy --init` writes, and a policy printed with the source of every threshold.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from recon.io.files.opening import read_whole
from recon.release.policies.rules import PREFIX, RULES, WORDS, Sourced, parse_policy, preset_bytes, preset_names
from solvers.foundation.displayed import quote
from solvers.foundation.errors import PolicyError, ReleaseError

MOST_FILES = 100  # that one policy may extend, directly or not


@dataclass(frozen=True)
class Threshold:
    """One threshold: its key and value, where it comes from ("" if the file does not say), and which file set it."""

    key: str
    value: Any
    source: str
    set_in: str


@dataclass(frozen=True)
class Policy:
    """A policy with all that it extends worked in; a key without a threshold is not checked.

    `thresholds` in the order of the checks. `extends`: the files and presets behind it, the nearest last. `sha256`: of
    name, note, thresholds and sources, whatever files they stood in. Every key of a policy file is an attribute too:
    its bare value, None where it is not set (`policy.smallest_group`).
    """

    name: str
    thresholds: tuple[Threshold, ...]
    inconclusive: str = "inconclusive"
    file: str | None = None
    extends: tuple[str, ...] = ()
    note: str = ""
    sha256: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Work out the hash where it was not given."""
        if not self.sha256:
            object.__setattr__(self, "sha256", hashlib.sha256(_canonical(self)).hexdigest())

    def threshold(self, key: str) -> Threshold | None:
        """Return the threshold of a key, None where it is not set."""
        return next((one for one in self.thresholds if one.key == key), None)

    def value(self, key: str) -> Any:
        """Return the value of a key, None where it is not set."""
        found = self.threshold(key)
        return None if found is None else found.value

    @property
    def values(self) -> dict[str, Any]:
        """Return the value of every threshold by its key."""
        return {one.key: one.value for one in self.thresholds}

    def __getattr__(self, key: str) -> Any:
        """Return the value of a threshold by its key."""
        if key in RULES:
            return self.value(key)
        raise AttributeError(f"a policy has no {key}")

    def to_json(self) -> dict[str, Any]:
        """Return which policy this is: name, file, sha256, extends."""
        return {"name": self.name, "file": self.file, "sha256": self.sha256, "extends": list(self.extends)}


def _canonical(policy: Policy) -> bytes:
    """Return what a policy says as JSON with sorted keys: the text that is hashed."""
    said = {
        "name": policy.name,
        "note": policy.note,
        "inconclusive": policy.inconclusive,
        "thresholds": {one.key: {"value": one.value, "source": one.source} for one in policy.thresholds},
    }
    return json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def read_policy(path: str) -> Policy:
    """Return the policy in a TOML file, with what it extends; "preset:NAME" is a preset.

    Later entries of `extends` override earlier ones, the file itself overrides all of them, each threshold together
    with its source. Raises `PolicyError` in one sentence: the file is missing or malformed, has an unknown key or a
    wrong value, extends itself, or sets no threshold.
    """
    return _resolved(path, PolicyReading({}, {}))


def _preset(name: str) -> Policy:
    """Return a preset by its name; `PolicyError` where there is none of this name."""
    return read_policy(PREFIX + name)


def presets() -> tuple[Policy, ...]:
    """Return all presets, in alphabetical order."""
    return tuple(_preset(name) for name in preset_names())


@dataclass(frozen=True)
class PolicyLayer:
    """What one file says with all behind it: thresholds by key, what an inconclusive answer means, the files."""

    part: Any
    thresholds: Mapping[str, Threshold]
    inconclusive: Threshold | None
    behind: tuple[str, ...]


@dataclass(frozen=True)
class PolicyReading:
    """The files read so far, by their real place, and the paths of those being read: the way to the present one."""

    done: dict[str, PolicyLayer]
    way: dict[str, str]


def _resolved(path: str, reading: PolicyReading) -> Policy:
    """Return the policy in a file or preset."""
    layer = _layer_of(path, reading)
    if not layer.thresholds:
        raise PolicyError(
            f"{quote(path)}: sets no threshold, so every release would pass: set one of {', '.join(RULES)}"
        )
    stem = path.removeprefix(PREFIX) if path.startswith(PREFIX) else os.path.splitext(os.path.basename(path))[0]
    return Policy(
        name=layer.part.name or stem,
        thresholds=tuple(layer.thresholds[key] for key in RULES if key in layer.thresholds),
        inconclusive=layer.inconclusive.value if layer.inconclusive else "inconclusive",
        file=path,
        extends=layer.behind,
        note=layer.part.note or "",
    )


def _layer_of(path: str, reading: PolicyReading) -> PolicyLayer:
    """Return what a file or preset says with all that it extends."""
    place = path if path.startswith(PREFIX) else os.path.realpath(path)
    if place in reading.done:
        return reading.done[place]
    if place in reading.way:
        between = [*reading.way.values()][[*reading.way].index(place) :]
        circle = " -> ".join(map(quote, [*between, path]))
        raise PolicyError(f"{quote(path)}: extends itself: {circle}")
    if len(reading.done) + len(reading.way) > MOST_FILES:
        raise PolicyError(f"{quote(next(iter(reading.way.values())))}: extends more than {MOST_FILES} files")
    part = parse_policy(_text_of(path), path)
    thresholds: dict[str, Threshold] = {}
    inconclusive, behind = None, list[str]()
    reading.way[place] = path
    for one in [part.extends] if isinstance(part.extends, str) else part.extends or []:
        layer = _layer_of(_base_path(path, one), reading)
        thresholds |= layer.thresholds
        inconclusive = layer.inconclusive or inconclusive
        behind += [*layer.behind, _base_path(path, one)]
    del reading.way[place]
    thresholds |= {key: own for key in RULES if (own := _threshold_of(part, key, path)) is not None}
    inconclusive = _threshold_of(part, "inconclusive", path) or inconclusive
    found = PolicyLayer(part, thresholds, inconclusive, tuple(dict.fromkeys(behind)))
    reading.done[place] = found
    return found


def _threshold_of(part: Any, key: str, path: str) -> Threshold | None:
    """Return the threshold that a file itself sets for a key."""
    table, _, name = key.rpartition(".")
    held = getattr(part, table) if table else part
    found = None if held is None else getattr(held, name)
    if found is None:
        return None
    value, source = (found.value, found.source) if isinstance(found, Sourced) else (found, "")
    return Threshold(key, tuple(value) if isinstance(value, list) else value, source, path)


def _base_path(path: str, other: str) -> str:
    """Return the place of what a file extends: a preset, or a path relative to the file."""
    if other.startswith(PREFIX) or path.startswith(PREFIX):
        return other
    return os.path.normpath(os.path.join(os.path.dirname(path), other))


def _text_of(path: str) -> bytes:
    """Return the bytes of a policy file or preset; `PolicyError` where it cannot be read."""
    if path.startswith(PREFIX):
        return preset_bytes(path.removeprefix(PREFIX))
    if path in {"", "-"}:
        raise PolicyError("a policy is a file: give its path, or preset:NAME")
    try:
        return read_whole(path)
    except ReleaseError as error:
        if os.path.lexists(path):
            raise PolicyError(f"{quote(path)}: {error.message}") from None
        step = "`recon policy --list` lists presets, `recon policy --init` writes a file"
        if path in preset_names():
            step = f"the preset of that name is {PREFIX}{path}"
        raise PolicyError(f"{quote(path)}: {error.message}; {step}") from None


DEFAULT = "minimum-cell-10"  # the most usual rule, by statistics offices and trusted research environments


def init_text(name: str | None = None) -> str:
    """Return a new policy file that extends a preset (None: minimum-cell-10), every other key explained."""
    chosen = _preset(name or DEFAULT)
    lines = [
        "# What a released model has to meet. Check this file: recon policy FILE",
        "# Audit a model against it: recon audit MODEL --policy FILE",
        'name = "our policy"',
        f"extends = {json.dumps(PREFIX + chosen.name)}  # or a path, or a list; what is set below overrides it",
        "",
        f"# From {PREFIX}{chosen.name}:",
        *(f"#   {one.key} = {_toml(one.value)}  ({quote(one.source, 1000)})" for one in chosen.thresholds),
        "",
        '# Every threshold may say where it comes from: key = {value = 10, source = "document, section, page"}',
        "# Remove the # from the thresholds that you want.",
    ]
    for key, one in RULES.items():
        lines += ["", f"# {one.help}: {one.values.words}", f"# {key} = {_toml(one.example)}"]
    lines += [
        "",
        f"# what an open answer means: {WORDS['inconclusive']}",
        '# inconclusive = "violation"',
    ]
    return "\n".join(lines) + "\n"


def policy_lines(policy: Policy) -> Iterator[str]:
    """Yield a policy for people: every threshold with its source and the file that set it."""
    yield f"Policy {quote(policy.name)}"
    yield f"  SHA-256 {policy.sha256}"
    if policy.extends:
        yield f"  extends {', '.join(map(quote, policy.extends))}"
    if policy.note:
        yield f"  {quote(' '.join(policy.note.split()), 1000)}"
    for one in policy.thresholds:
        yield f"{RULES[one.key].title}: {one.key} = {quote(_toml(one.value))}"
        yield f"  source: {quote(one.source, 1000) if one.source else 'none given'}"
        yield f"  set in {quote(one.set_in)}"
    if policy.inconclusive == "violation":
        yield "An open answer counts as a violation."
    else:
        yield "An open answer is neither a violation nor a release: the verdict is then 'not assessed', exit code 4."
    unset = [key for key in RULES if policy.threshold(key) is None]
    if unset:
        yield f"Not checked: {', '.join(unset)}"


def preset_lines() -> Iterator[str]:
    """Yield the presets: name, thresholds with their sources, note."""
    for one in presets():
        yield f"{PREFIX}{one.name}"
        for threshold in one.thresholds:
            yield f"  {threshold.key} = {_toml(threshold.value)}: {quote(threshold.source, 1000)}"
        yield f"  {quote(' '.join(one.note.split()), 1000)}"


def _toml(value: Any) -> str:
    """Return a threshold's value as TOML writes it."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)
