"""Our own modules as syntax trees, read once in a process."""

from __future__ import annotations

import ast
import functools
import gc
from pathlib import Path

from solvers.foundation.limits import collector_paused

ROOT = Path(__file__).parents[1]
PACKAGES = ("recon", "encoders", "solvers")
SOURCES = sorted(p for folder in PACKAGES for p in (ROOT / folder).rglob("*.py"))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """Return a module of ours, parsed; the garbage collector, which took half of the time, never looks at it."""
    with collector_paused():
        found = ast.parse(path.read_text(encoding="utf-8"))
        gc.freeze()
    return found


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return everything that stands in a module of ours."""
    return tuple(ast.walk(tree_of(path)))
