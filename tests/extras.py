"""What tests share: packages of the extras (skipped where missing, an error with CI=true), and batches of checks."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

import pytest

WHEELS = {  # where a package can be installed at all; everywhere, where it is not named
    "pyganak": sys.platform in {"linux", "darwin"},
    "py_d4": sys.platform in {"linux", "win32"},
    "pyapproxmc": sys.platform in {"linux", "win32"} and sys.version_info < (3, 13),
}


def batches(usual: int, more: int) -> list[Any]:
    """Return the numbers of batches that always run, and of more that run with the slow checks."""
    slow = [pytest.param(i, marks=pytest.mark.slow) for i in range(usual, usual + more)]
    return [*range(usual), *slow]


def extra(name: str) -> ModuleType:
    """Return an optional package; skips where it has no wheel (pyganak brings a pyapproxmc that counts wrong)."""
    if not WHEELS.get(name, True):
        pytest.skip(f"{name} has no wheel for this Python or system")
    demanded = os.environ.get("CI") == "true" and WHEELS.get(name, True)
    return importlib.import_module(name) if demanded else pytest.importorskip(name)
