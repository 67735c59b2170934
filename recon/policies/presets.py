"""Presets: policies of offices and regulators, ready to extend, with their sources cited."""

from __future__ import annotations

from recon.policies.policy import Policy, read_policy
from recon.policies.schema import PREFIX, preset_names


def preset(name: str) -> Policy:
    """Return the preset of this name; `PolicyError` where there is none."""
    return read_policy(PREFIX + name)


def presets() -> tuple[Policy, ...]:
    """Return all presets, in the alphabetical order of their names."""
    return tuple(map(preset, preset_names()))
