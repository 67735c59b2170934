"""The table of what is mutated is true: modules, functions, tests and explanations that are there."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import mutants
import pytest
from mutants import TARGETS, explained, path_of, why

mutants_of = functools.cache(mutants.mutants_of)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.module)
def test_what_is_mutated_is_there(target):
    tree = ast.parse(path_of(target.module).read_text(encoding="utf-8"))
    known = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(target.functions) <= known
    assert all((Path(__file__).parent / name).exists() for name in target.tests)
    assert mutants_of(target)


def test_each_explanation_is_of_some_mutant():
    """An explanation of code that is gone would hide the next survivor."""
    every = [m for t in TARGETS for m in mutants_of(t)]
    reasons = explained()
    unused = [pattern for pattern, reason in reasons.items() if not any(why(m, {pattern: reason}) for m in every)]
    assert not unused
    assert all(reasons.values())
