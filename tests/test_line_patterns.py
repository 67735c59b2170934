"""Every regular expression of the sources takes linear time on long lines, in the ways in which it is used."""

import ast
import importlib
import itertools
import re
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
WAYS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "split", "subn")
REPEATED = (
    *" a0.-_([{,\"'=:\\|<&\t\nAé",
    *("1,", "a ", "0 ", "a=", "a:", "(0", "- ", '"a', "a,", "x 1", "1.", "<= ", " <", "= ", "[0"),
)
BEGINNINGS = ("", "a=", "(d)dp1\n")
LENGTH = 2_000  # letters of a line
SECONDS = 0.01  # of the processor for such a line: 5 µs a letter, where linear ones take 0.02; quadratic ones 0.03 s


def patterns():
    """Yield the name, the expression and the ways it is used, of every expression that is compiled or given as text."""
    used = {}
    for path in itertools.chain(*((ROOT / package).rglob("*.py") for package in ("recon", "encoders", "solvers"))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        imported = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Attribute) and node.attr in WAYS and isinstance(node.value, ast.Name)):
                continue
            if node.value.id != "re":
                used.setdefault(imported.get(node.value.id, (module, node.value.id)), set()).add(node.attr)
        for node in ast.walk(tree):
            called = node.func if isinstance(node, ast.Call) else None
            own = isinstance(called, ast.Attribute) and ast.unparse(called.value) == "re" and called.attr in WAYS
            if own and isinstance(node.args[0], ast.Constant):
                yield f"{module}:{node.lineno}", re.compile(node.args[0].value), {called.attr}
    for (module, name), ways in sorted(used.items()):
        if module is not None and module.partition(".")[0] in ("recon", "encoders", "solvers"):
            found = getattr(importlib.import_module(module), name, None)
            if isinstance(found, re.Pattern):
                yield f"{module}.{name}", found, ways


def seconds(pattern, way, text):
    """Return the least seconds of the processor of three runs, of one where that is little."""
    least = float("inf")
    for _ in range(3):
        begun = time.process_time()
        found = getattr(pattern, way)(*([text[:0], text] if way.startswith("sub") else [text]))
        if way == "finditer":
            sum(1 for _ in found)
        least = min(least, time.process_time() - begun)
        if least < SECONDS:
            break
    return least


def slow_line(pattern, ways):
    """Return way, beginning and repeated letters of a line on which a pattern takes long, None where there is none."""
    for way, begun, more in itertools.product(sorted(ways), BEGINNINGS, REPEATED):
        text = begun + more * (LENGTH // len(more)) + "\x00"
        if seconds(pattern, way, text.encode() if isinstance(pattern.pattern, bytes) else text) >= SECONDS:
            return way, begun, more
    return None


def test_long_lines_take_linear_time():
    every = list(patterns())
    assert len(every) > 100
    assert {name: slow for name, pattern, ways in every if (slow := slow_line(pattern, ways)) is not None} == {}


def test_quadratic_expressions_are_noticed():
    assert slow_line(re.compile(r"(.*?)(\d+)"), {"fullmatch"}) is not None
