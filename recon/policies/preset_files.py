"""The presets as files: their names, their texts."""

from __future__ import annotations

from pathlib import Path

from solvers.foundation.errors import PolicyError
from solvers.foundation.escaping import named

FOLDER = Path(__file__).parent / "presets"
PREFIX = "preset:"  # how a policy names one in `extends`


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def preset_bytes(name: str) -> bytes:
    """Return the file of a preset; `PolicyError` where there is none of this name."""
    if name not in preset_names():
        raise PolicyError(f"there is no preset {named(name)}: choose {' or '.join(preset_names())}")
    return (FOLDER / f"{name}.toml").read_bytes()
