"""Policies as text: what `recon policy --init` writes, and a policy printed with the source of every threshold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from recon.release.policies.policy import Policy, preset, presets
from recon.release.policies.rules import RULES
from recon.release.policies.schema import PREFIX, WORDS
from solvers.foundation.escaping import named

DEFAULT = "minimum-cell-10"  # the most usual rule, by statistics offices and trusted research environments


def init_text(name: str | None = None) -> str:
    """Return a new policy file that extends a preset (None: minimum-cell-10), every other key explained."""
    chosen = preset(name or DEFAULT)
    lines = [
        "# What a released model has to meet. Check this file: recon policy FILE",
        "# Audit a model against it: recon audit MODEL --policy FILE",
        'name = "our policy"',
        f"extends = {json.dumps(PREFIX + chosen.name)}  # or a path, or a list; what stands below overrides it",
        "",
        f"# From {PREFIX}{chosen.name}:",
        *(f"#   {one.key} = {toml(one.value)}  ({named(one.source, 1000)})" for one in chosen.thresholds),
        "",
        '# Every threshold may say where it comes from: key = {value = 10, source = "document, section, page"}',
        "# Take the # away from what shall hold.",
    ]
    for key, one in RULES.items():
        lines += ["", f"# {one.help}: {one.values.words}", f"# {key} = {toml(one.example)}"]
    lines += [
        "",
        f"# what an open answer means: {WORDS['inconclusive']}",
        '# inconclusive = "violation"',
    ]
    return "\n".join(lines) + "\n"


def policy_lines(policy: Policy) -> Iterator[str]:
    """Yield a policy for people: every threshold with its source and the file that set it."""
    yield f"Policy {named(policy.name)}"
    yield f"  SHA-256 {policy.sha256}"
    if policy.extends:
        yield f"  extends {', '.join(map(named, policy.extends))}"
    if policy.note:
        yield f"  {named(' '.join(policy.note.split()), 1000)}"
    for one in policy.thresholds:
        yield f"{RULES[one.key].title}: {one.key} = {named(toml(one.value))}"
        yield f"  source: {named(one.source, 1000) if one.source else 'none given'}"
        yield f"  set in {named(one.set_in)}"
    if policy.inconclusive == "violation":
        yield "An open answer counts as a violation."
    else:
        yield "An open answer is no violation and no release: the verdict is then 'not assessed', exit code 4."
    unset = [key for key in RULES if policy.threshold(key) is None]
    if unset:
        yield f"Not checked: {', '.join(unset)}"


def preset_lines() -> Iterator[str]:
    """Yield the presets: name, thresholds with their sources, note."""
    for one in presets():
        yield f"{PREFIX}{one.name}"
        for threshold in one.thresholds:
            yield f"  {threshold.key} = {toml(threshold.value)}: {named(threshold.source, 1000)}"
        yield f"  {named(' '.join(one.note.split()), 1000)}"


def toml(value: Any) -> str:
    """Return a threshold's value as TOML writes it."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)
