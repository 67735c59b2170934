"""Packages of the extras: skipped with the reason where they are missing, an error with CI=true."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest


def extra(name: str) -> ModuleType:
    """Return an optional package."""
    return importlib.import_module(name) if os.environ.get("CI") == "true" else pytest.importorskip(name)
