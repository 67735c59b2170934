"""Every regular expression of the sources takes linear time on long lines, in the ways in which it is used."""

from __future__ import annotations

import ast
import contextlib
import importlib
import itertools
import re
import time
from pathlib import Path
from re import _parser

import pytest

from recon.readers.formats.tables.dialects import dialects

ROOT = Path(__file__).parents[1]
WAYS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "split", "subn")
OF_PANDAS = {"contains": "search", "match": "match", "fullmatch": "fullmatch", "count": "findall", "extract": "search",
             "replace": "sub", "split": "split", "findall": "findall", "extractall": "finditer"}  # fmt: skip
LETTERS = " a0.-_([{,\"'=:\\|<>&\t\nAé;/)]}#%+*~^$@!?"
REPEATED = (" ", "0", "a", "(", "a ", "0 ", "0,")  # on every expression, whatever it says
MANY = 60  # repetitions from which on an expression is asked with more
LENGTH = 8_000  # letters of a line
LITTLE = 0.002  # seconds of the processor for twice as many: the quickest of quadratic ones take 0.1 s
GROWTH = 8  # times as long on a line four times as long: linear ones take 4 times, quadratic ones 16 times as long
# Expressions that are no text of the sources, but made while something is read: what they are, and how they are used.
MADE = {
    "recon.queries.answers.counting": lambda m: [(pattern, "search") for pattern, _ in m.MEANINGS],
    "recon.readers.formats.detection": lambda m: [(one.like, "match") for one in m.FOREIGN if one.like],
    "recon.readers.inspection.ledger.lines": lambda m: [
        (one, "sub") for one in (*m._ROWS.values(), m._IMPURITY, m._SPLITS)
    ],
    "recon.readers.inspection.documents.leftovers": lambda m: [
        *((form, "fullmatch") for form in strings_of(m.LINES)), (m._of_learners().pattern, "fullmatch"),
        ("|".join(f"'{name}'" for name in ("a", "aa", "a0")), "sub"),
    ],
    "encoders.domain.bands": lambda m: [(pattern.pattern, "fullmatch") for pattern, _ in m._FORMS],
    "recon.readers.formats.tables.cells": lambda m: [
        *((pattern.pattern, "fullmatch") for pattern, _ in m._RANGES),
        (rf"(?:{m._NUMBER})(?:[.,]\d+)?\s?%?", "fullmatch"),
    ],
    "recon.readers.formats.tables.counted": lambda m: [
        *((one["where"], "search") for one in m.dialects().words["range"]), (r"\bnil\b", "search"),
        (r"(?:^|[\s;,(\"'])x[\"']?\s*(?:=|:|\bis\b|\bmeans\b)\s*(.+)", "search"),
    ],
    "recon.readers.formats.tables.dialects": lambda m: [
        (text, way) for name, table in m.dialects().words.items() if isinstance(table, dict)
        for key, text in table.items() if isinstance(text, str)
        for way in ("fullmatch", *(["search"] if (name, key) in searched() else []))
    ],
    "recon.readers.formats.tables.layout": lambda m: [
        (m.dialects().words["said"]["by"], "search"), (r"(?:\(number\)|%)$|^%\s+(?:of\s+)?", "sub"),
    ],
    "recon.readers.formats.tables.column_roles": lambda m: [
        *((one["column"], "fullmatch") for one in dialects().words["named"]), (m.YEAR, "fullmatch"),
    ],
    "recon.readers.formats.printed.printed_trees": lambda m: [(form, "fullmatch") for form, _ in m.KINDS_OF_VALUES],
    "recon.readers.formats.printed.console_tables": lambda m: [("(?m)" + one[0], "search") for one in m.REFUSED],
    "recon.readers.formats.tables.sections": lambda m: [
        *((one, "fullmatch") for one in (m.YEAR, m.YEAR_NAMES, m.SEX_NAMES)),
    ],
}  # fmt: skip


def searched():
    """Return (table, key) of the patterns of `dialects.toml` that are searched for: `found("said", "by", ...)`."""
    found = set()
    for path in (ROOT / "recon").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'\.found\(\s*"(\w+)",\s*"(\w+)"', text))
        assert len(re.findall(r"\.found\(", text)) == len(re.findall(r'\.found\(\s*"\w+",\s*"\w+"', text)), path
    return found


def strings_of(values):
    """Return all expressions that stand in containers, as text."""
    found = []
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, re.Pattern):
            found.append(value.pattern)
        elif isinstance(value, (dict, list, tuple)):
            found += strings_of(value)
    return found


def flags_of(call):
    """Return the flags that a call of `re` is given."""
    given = [k.value for k in call.keywords if k.arg == "flags"]
    given += [
        a
        for a in call.args
        if isinstance(a, (ast.Attribute, ast.BinOp)) and re.match(r"re\.|.*\| re\.", ast.unparse(a))
    ]
    return eval(ast.unparse(given[0]), {"re": re}) if given else 0


def text_of(node, known):
    """Return the text that a node stands for: a literal, or a constant of the module; None for what is made."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and isinstance(known.get(node.id), (str, bytes)):
        return known[node.id]
    if isinstance(node, (ast.JoinedStr, ast.BinOp)):
        try:
            return eval(ast.unparse(node), dict(known))
        except NameError:
            return None
    return None


def sources():
    """Yield the name, the tree and the objects of every module."""
    for path in itertools.chain(*((ROOT / package).rglob("*.py") for package in ("recon", "encoders", "solvers"))):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\bre\b|\.str\.|sep=|_PATTERN|[A-Z]\.(?:match|search|fullmatch|sub|split|find)", text):
            continue
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not module.endswith("__main__"):
            yield module, ast.parse(text), vars(importlib.import_module(module))


def of_call(node, known):
    """Return (text or None, flags, way) of a call of `re`, of pandas' texts, or with separators; None for others."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    of, name = ast.unparse(node.func.value), node.func.attr
    if of == "re" and name in (*WAYS, "compile"):
        return text_of(node.args[0], known), flags_of(node), name
    if of.endswith(".str") and name in OF_PANDAS and node.args and (text := text_of(node.args[0], known)) is not None:
        return text, 0, OF_PANDAS[name]
    for given in node.keywords:
        if given.arg == "sep" and "read_" in name and len(text := text_of(given.value, known) or "") > 1:
            return text, 0, "split"
    return None


def patterns():
    """Return [name, expression, ways it is used] of all expressions, and the modules in which some are made."""
    found, made = [], set()
    for module, tree, known in sources():
        used = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in WAYS and ast.unparse(node.value) != "re":
                used.setdefault(ast.unparse(node.value), set()).add(node.attr)
        other = set().union(
            *(ways for name, ways in used.items() if not isinstance(known.get(name), re.Pattern)), set()
        )
        for name, value in known.items():
            if isinstance(value, re.Pattern) and name in used:
                found.append((f"{module}.{name}", value, used[name]))
            elif isinstance(value, (tuple, list, dict)) and getattr(value, "__module__", module) == module:
                inside = value.values() if isinstance(value, dict) else value
                held = [x for one in inside for x in (one if isinstance(one, (tuple, list)) else [one])]
                found += [(f"{module}.{name}", x, other) for x in held if isinstance(x, re.Pattern)]
        names = {node.value: ast.unparse(node.targets[0]) for node in ast.walk(tree) if isinstance(node, ast.Assign)}
        for node in ast.walk(tree):
            if (call := of_call(node, known)) is None:
                continue
            text, flags, way = call
            if way == "compile" and (name := names.get(node)) in used:
                own = used[name]
            else:
                own = other if way == "compile" else {way}
            if text is None:
                made.add(module)
            elif way != "compile" or any(node in ast.walk(f) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)):
                found.append((f"{module}:{node.lineno}", re.compile(text, flags), own))
    for module, of in MADE.items():
        for text, way in of(importlib.import_module(module)):
            with contextlib.suppress(re.error):
                found.append((module, re.compile(text, re.MULTILINE), {way}))
    return found, made


def seconds(pattern, way, text):
    """Return the least seconds of the processor of some runs, of one where that is little."""
    least = float("inf")
    for _ in range(4):
        begun = time.process_time()
        found = getattr(pattern, way)(*([text[:0], text] if way.startswith("sub") else [text]))
        if way == "finditer":
            sum(1 for _ in found)
        least = min(least, time.process_time() - begun)
        if least < LITTLE:
            break
    return least


def fits(sort, argument, letter):
    """Return whether a letter is one of those that a part of a parsed expression stands for."""
    if sort == "IN":
        some = [one for one in argument if str(one[0]) != "NEGATE"]
        return any(fits(str(of), what, letter) for of, what in some) == (len(some) == len(argument))
    if sort == "RANGE":
        return argument[0] <= ord(letter) <= argument[1]
    if sort == "CATEGORY":
        name = str(argument).removeprefix("CATEGORY_")
        like = {"DIGIT": letter.isdigit(), "SPACE": letter.isspace(), "WORD": letter.isalnum() or letter == "_"}
        return like[name.removeprefix("NOT_")] != name.startswith("NOT_")
    return sort == "ANY" or (sort == "LITERAL") == (ord(letter) == argument)


def letters(sort, argument):
    """Return some of the letters that a part of a parsed expression stands for."""
    if sort == "LITERAL":
        return [chr(argument)]
    of_ranges = [chr(low) for kind, of in argument if str(kind) == "RANGE" for low in of] if sort == "IN" else []
    of_ranges += [chr(of) for kind, of in argument if str(kind) == "LITERAL"] if sort == "IN" else []
    return [one for one in dict.fromkeys((*LETTERS, *of_ranges)) if fits(sort, argument, one)] or ["a"]


def least(parts):
    """Return a short text that a parsed expression stands for."""
    text = ""
    for sort, argument in ((str(sort), argument) for sort, argument in parts):
        if sort in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
            text += letters(sort, argument)[0]
        elif sort == "SUBPATTERN":
            text += least(argument[-1])
        elif sort == "BRANCH":
            text += least(argument[1][0])
        elif sort.endswith("REPEAT"):
            text += least(argument[2]) * argument[0]
    return text


def repeats(parts, before=""):
    """Yield (beginning, text) of lines on which a parsed expression repeats something: the text stands there often."""
    for k, (sort, argument) in enumerate((str(sort), argument) for sort, argument in parts):
        if sort.endswith("REPEAT"):
            low, high, inside = argument
            if high >= MANY:
                bodies = [least(inside)]
                if len(inside) == 1 and str(inside[0][0]) in {"IN", "ANY", "NOT_LITERAL"}:
                    bodies = letters(str(inside[0][0]), inside[0][1])[:3]
                for body in bodies:
                    yield from ((before, body), ("", before + body), (before + body, least(parts[k + 1 :]) or body))
            yield from repeats(inside, before)
            before += least(inside) * max(1, low) if high < MANY or low else ""
        elif sort == "SUBPATTERN":
            yield from repeats(argument[-1], before)
            before += least(argument[-1])
        elif sort == "BRANCH":
            for one in argument[1]:
                yield from repeats(one, before)
            before += least(argument[1][0])
        elif sort in {"ASSERT", "ASSERT_NOT"}:
            yield from repeats(argument[1], before)
        else:
            before += least([(sort, argument)])


def lines_of(pattern):
    """Return (beginning, repeated text) of the lines that an expression is tried on."""
    text = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    parts = _parser.parse(text, pattern.flags & re.VERBOSE)
    every = [*(("", one) for one in REPEATED), ("", least(parts)), *repeats(parts)]
    return [one for one in dict.fromkeys(every) if one[1]]


def slow_line(pattern, ways):
    """Return way, beginning and repeated letters of lines on which the time grows faster than they do, else None."""
    for way, (begun, more) in itertools.product(sorted(ways), lines_of(pattern)):

        def line(letters, begun=begun, more=more):
            text = begun + more * (letters // len(more)) + "\x00"
            return text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text

        for letters in (LENGTH // 8, 2 * LENGTH):  # what is cubic, or worse, is seen on the shorter one
            taken = seconds(pattern, way, line(letters))
            if taken >= LITTLE and taken >= GROWTH * seconds(pattern, way, line(letters // 4)):
                return way, begun, more
    return None


@pytest.mark.slow
def test_long_lines_take_linear_time():
    every, made = patterns()
    assert len(every) > 150
    assert made == set(MADE)
    slow = {}
    for name, pattern, ways in every:
        if (found := slow_line(pattern, ways)) is not None:
            slow[f"{name} {pattern.pattern!r}"] = found
    assert slow == {}


@pytest.mark.parametrize(
    ("expression", "way"),
    [
        (r"(.*?)(\d+)", "fullmatch"),
        (r"[a-z]+\d", "search"),
        (r"\s+$", "sub"),
        (r"value\s*=\s*\[[^\]]*\]", "sub"),
        (r"a=\s*,?\s*b", "match"),
    ],
)
def test_quadratic_expressions_are_noticed(expression, way):
    assert slow_line(re.compile(expression), {way}) is not None


def test_expressions_are_found_wherever_they_stand():
    source = """
re.match("a", x), re.search(NAMED, x, re.MULTILINE), frame.str.contains("b"),
pd.read_csv(x, sep=r"\\s+"), re.sub(x, "", y)
"""
    calls = [of_call(node, {"NAMED": "c"}) for node in ast.walk(ast.parse(source))]
    assert [call for call in calls if call] == [
        ("a", 0, "match"), ("c", re.MULTILINE, "search"), ("b", 0, "search"), (r"\s+", 0, "split"), (None, 0, "sub"),
    ]  # fmt: skip
