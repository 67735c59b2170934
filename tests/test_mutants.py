"""The table of what is mutated is true: modules, functions, tests and explanations that are there."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import mutants
import pytest
from mutants import ROOMS, TARGETS, explained, keyed, path_of, targets, why

mutants_of = functools.cache(mutants.mutants_of)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.module)
def test_what_is_mutated_is_there(target):
    tree = ast.parse(path_of(target.module).read_text(encoding="utf-8"))
    known = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(target.functions) <= known
    assert all((Path(__file__).parent / name).exists() for name in target.tests)
    assert mutants_of(target)


@pytest.mark.slow
def test_each_explanation_is_of_some_mutant():
    """An explanation of code that is gone would hide the next survivor."""
    reasons = explained()
    named = {pattern.partition(": ")[0] for pattern in reasons}
    every = {name: [m for t in targets() if t.module == name for m in mutants_of(t)] for name in named}
    unused = [
        pattern
        for pattern, reason in reasons.items()
        if not any(why(m, {pattern: reason}) for m in every.get(pattern.partition(": ")[0], ()))
    ]
    assert not unused
    assert all(reasons.values())


def test_every_module_of_a_room_has_its_guards_in_the_table():
    """A reader, a kind or a rule that is added is mutated without being listed; what a room is tested by is there."""
    modules = {target.module for target in targets()}
    for room, tests in ROOMS.items():
        assert any(module.startswith(room) for module in modules), room
        assert all((Path(__file__).parent / name).exists() for name in tests), room
    named = {target.module for target in TARGETS}
    assert len(modules) == len(named) + sum(t.guards for t in targets() if t.module not in named)


def test_guards_are_what_refuses_and_what_it_depends_on(tmp_path, monkeypatch):
    """A check is left out where its own lines run alone: whatever does not come there sees no difference."""
    source = """
def f(x, y):
    if x > 1 and y:
        raise ValueError("no")
    if y:
        x += 1
    if x == 3:
        return None
    return x if x < 7 else None
"""
    (tmp_path / "m.py").write_text(source)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    found = mutants.mutants_of(mutants.Target("m", (), guards=True))
    assert [(m.rank, m.line, m.end, m.after) for m in found if m.rank == 0] == [
        (0, 4, 4, "if False: pass"), (0, 8, 8, "if False: pass"), (0, 9, 9, "x"), (0, 9, 9, "None"),
    ]  # fmt: skip
    assert sorted(m.after for m in found if m.rank == 1) == ["x != 3", "x <= 7", "x > 1", "x >= 1", "y"]
    assert len(keyed(found)) == len(found)
