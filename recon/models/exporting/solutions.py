"""Solutions as solvers print them: JSON, lines "v ...", lines of a name and a value, numbers of true literals."""

from __future__ import annotations

import json
import re
from typing import Any

from recon.io.files.opening import read_whole
from recon.models.mapping import Mapping
from solvers.foundation.errors import ReleaseError
from solvers.proofs.export.formats import opb_variables
from solvers.proofs.export.integer_program import IntegerProgram

LITERAL = re.compile(r"-?x?[0-9]+")
OTHER = ("c", "s", "o")  # first words of lines that hold no values: comments, status, objective
NEEDED = 'give JSON (names and values, or literals), lines "v ..." or lines of a name and a value'


def read_solution(path: str, mapping: Mapping, to: str) -> dict[Any, Any]:
    """Return the values of variables by name that a file says.

    JSON: an object, or a list of literals; text: lines "v 1 -2 3 0" of SAT solvers (x1 -x2 in those of OPB), or lines
    of a name and a value, of which only those behind "# Columns" count where HiGHS wrote them. Raises `ReleaseError`.
    """
    text = read_whole(path).decode("utf-8", errors="replace")
    if text.lstrip()[:1] in ("{", "["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise ReleaseError(f"is no solution: it is not JSON; {NEEDED}", file=path) from None
        if isinstance(found, list):
            return _literals(found, to, path)
        values = {k: v for k, v in found.items() if isinstance(v, int | float)}
        if len(values) < len(found):
            raise ReleaseError("is no solution: a value is no number", file=path)
        return values
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if any(words[0] in ("v", "V") for words in lines):
        return _literals([x for words in lines if words[0] in ("v", "V") for x in words[1:]], to, path)
    if all(LITERAL.fullmatch(x) for words in lines for x in words) and to in ("dimacs", "opb") and lines:
        return _literals([x for words in lines for x in words], to, path)
    return _named_values(lines, mapping, path)


def _literals(found: list[Any], to: str, path: str) -> dict[str, int]:
    """Return literals as values of variables x1, x2, ...; a 0 ends them."""
    out = {}
    for x in found:
        word = str(x)
        if to not in ("dimacs", "opb") or isinstance(x, bool) or not LITERAL.fullmatch(word):
            raise ReleaseError(f"is no solution: '{word[:40]}' is no literal of a file of format {to}", file=path)
        name = word.lstrip("-").removeprefix("x")
        if name.strip("0"):
            out[f"x{int(name)}"] = int(not word.startswith("-"))
    return out


def _named_values(lines: list[list[str]], mapping: Mapping, path: str) -> dict[str, float]:
    """Return the values of lines of a name and a value."""
    if start := [i for i, words in enumerate(lines) if words[:2] == ["#", "Columns"]]:
        behind = lines[start[0] + 1 :]
        lines = behind[: next((i for i, words in enumerate(behind) if words[0] == "#"), len(behind))]
    out: dict[str, float] = {}
    for words in lines:
        if words[0] in OTHER or words[0].startswith("#"):
            continue
        try:
            name, value = words
            out[name] = int(value) if value.lstrip("-").isdecimal() else float(value)
        except ValueError:
            text = " ".join(words)[:60]
            raise ReleaseError(f"is no solution: the line '{text}' is no name and value; {NEEDED}", file=path) from None
    if not out and mapping.projection:
        raise ReleaseError(f"is no solution: it names no variable; {NEEDED}", file=path)
    return out


def from_digits(program: IntegerProgram, solution: dict[Any, Any]) -> dict[Any, Any]:
    """Return the rows of cells and the selectors of a solution of an OPB file, whose variables are binary digits."""
    left, out = dict(solution), {}
    for i, name in enumerate(program.names):
        digits = [(weight, f"x{x}") for weight, x in opb_variables(program, i)]
        values = [(weight, left.pop(x, 0)) for weight, x in digits]
        if wrong := [x for _, x in values if x not in (0, 1)]:
            raise ReleaseError(f"the solution gives a binary digit the value {wrong[0]}")
        out[name] = sum(int(weight * x) for weight, x in values)
    if left:
        raise ReleaseError(f"the solution names '{str(next(iter(left)))[:40]}', which is no variable of the map")
    return out
