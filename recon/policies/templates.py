"""Policies as text: what `recon policy --init` writes, and a policy printed with the source of every threshold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from recon.policies.policy import Policy
from recon.policies.presets import preset, presets
from recon.policies.schema import PREFIX, RULES, WORDS
from recon.policies.wording import TITLES
from solvers.foundation.escaping import named

DEFAULT = "minimum-cell-10"  # the most usual rule, by statistics offices and trusted research environments
EXAMPLES: dict[str, Any] = {
    "smallest_group": 10,
    "smallest_cell": 10,
    "most_pinned": 0,
    "least_bits_left": 5.0,
    "mean_bits_left": 10.0,
    "class_disclosure": "forbidden",
    "target_disclosure": "forbidden",
    "kinds_of_counts": ["exact", "size", "noisy"],
    "stored": "medium",
    "profiles": ["certain"],
}  # what the template shows, commented out
HELP = {
    "smallest_group": "rows of the smallest group (leaf, rule, table cell) that is not empty, at least",
    "smallest_cell": "rows of one class in a group, where it has any, at least",
    "most_pinned": "people whose every attribute is certain, at most",
    "least_bits_left": "bits left about the most exposed person, at least",
    "mean_bits_left": "bits left per person on average, at least",
    "class_disclosure": "rows in groups of one class only, at most",
    "target_disclosure": "rows whose numeric target is published exactly, at most",
    "kinds_of_counts": "kinds of counts that may be published",
    "stored": "the gravest level that data stored in the file may have",
    "profiles": "verdicts that no given profile may have",
}


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
    for key in RULES:
        lines += ["", f"# {HELP[key]}: {WORDS[key]}", f"# {key} = {toml(EXAMPLES[key])}"]
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
        yield f"{TITLES[one.key]}: {one.key} = {named(toml(one.value))}"
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
