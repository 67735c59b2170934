"""How the values of a text are written: spaces and digits that no value shows, and where rows may be hidden.

A library writes spaces in one way: what deviates from its own way is counted. Digits beyond those of a double, and
zeros that change nothing, too. All of it is linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain

MAX_SPELLING_BYTES, MAX_NUMBER_BYTES = 64, 8  # bytes in all, and of one number, that change no check
DIGITS, WHOLE = 18, 39  # of a double, of a whole number (of 128 bits, as generators of random numbers have)
_SHORT = 20  # characters of numbers that are not looked at
_NUMBERS = re.compile(rb"(?<![\w.])[\d.]{20,}")
_POWERS = re.compile(rb"[eE](?<=[\d.][eE])[+-]?(?:0*\d{4,}|000+\d*)")
_DIGITS = bytes(ord({"e": "e", "E": "e", "+": "-", "-": "-"}.get(chr(c), "0" if chr(c) in "0123456789." else " "))
                for c in range(256))  # fmt: skip
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_FIRST = re.compile(rb"(?!\xef|\xbb|\xbf)\S")
_MARKS = re.compile(rb"[\[\]{}]|\s+|(?<=[,:])(?=\S)")
_TAG = re.compile(rb"<(/?)([^<>]*?)(/?)>(\s*)")
_USUAL = re.compile(rb" {0,2}| ?(?:\r?\n){1,3}(?: {0,400}|\t{0,100})")
_INSIDE = re.compile(rb"\s+")
_STRICT = ("LightGBM", "XGBoost", "tree as text")
_BARS = re.compile(rb"\|([ \t]+)(?=\|)")
_SPACES = re.compile(
    rb"(?<=[^\s|])(?:[ \t]{2,}|\t)(?=\S)|(?<![ \t])[ \t]+(?=\r?\n|\Z)|(?<=\n)(?: +\t|\t+ )[ \t]*(?=\S)"
)


def odd_spelling(data: bytes, kind: str = "") -> int:
    """Return the bytes of spaces and digits in a text that no value needs, 0 up to 64 of them, and of binary files.

    `kind`: a table has as many spaces as its cells.
    """
    first = _FIRST.search(data)
    if first is None or b"\0" in data[:4_096] or kind.startswith("table"):
        return 0
    head = first.group()
    spaces = _json_spaces if head in {b"{", b"["} else _xml_spaces if head == b"<" else None
    numbers = [size for size in _digits_beyond(data) if size]
    odd = _line_spaces(data, kind.startswith(_STRICT)) if spaces is None else spaces(data)
    odd += sum(numbers)
    return odd if odd > MAX_SPELLING_BYTES or max(numbers, default=0) > MAX_NUMBER_BYTES else 0


def _digits_beyond(data: bytes) -> Iterator[int]:
    """Yield how many digits long numbers in a text have beyond those that doubles have."""
    shapes = data.translate(_DIGITS)  # in which long numbers and powers are looked for, a hundred times as fast
    long = _NUMBERS.finditer(data) if b"0" * _SHORT in shapes else iter(())
    powers = _POWERS.finditer(data) if b"e000" in shapes or b"e-000" in shapes else iter(())
    for found in chain(long, powers):
        text = found.group()
        if text[:1] in b"eE":
            yield max(0, len(text.lstrip(b"eE+-")) - 3)
            continue
        shown = text.replace(b".", b"").lstrip(b"0")
        zeros = max(0, len(text) - len(text.lstrip(b"0")) - 1)
        yield zeros + max(0, len(shown.rstrip(b"0")) - DIGITS if b"." in text else len(shown) - WHOLE)


def _json_spaces(data: bytes) -> int:
    """Return the bytes of spaces in JSON that deviate from the way in which all of it is written."""
    if len(data.translate(None, b" \t\r\n")) == len(data):
        return 0
    bare = _STRING.sub(b'""', data)
    spaces = len(bare) - len(b"".join(bare.split()))
    rows, pairs = bare.count(b", "), bare.count(b": ")
    usual = rows in {0, bare.count(b",")} and pairs in {0, bare.count(b":")} and rows + pairs == spaces
    return 0 if usual else _deviating(_json_runs(bare))


def _json_runs(bare: bytes) -> Iterator[tuple[tuple[object, ...], bytes]]:
    """Yield where every run of spaces stands (neighbours, dicts and lists around it), and the run."""
    within = [(b"", 0, 0)]
    for found in _MARKS.finditer(bare):
        mark = found.group()
        if mark in {b"[", b"{"}:
            _, dicts, lists = within[-1]
            within.append((mark, dicts + (mark == b"{"), lists + (mark == b"[")))
        elif mark in {b"]", b"}"}:
            if len(within) > 1:
                within.pop()
        else:
            before, after = bare[found.start() - 1 : found.start()], bare[found.end() : found.end() + 1]
            near = (before if before in b"[]{},:" else b"v", after if after in b'[]{},:"' else b"v")
            yield (*near, *within[-1]), mark


def _deviating(runs: Iterator[tuple[tuple[object, ...], bytes]]) -> int:
    """Return the bytes of runs that nobody writes, and one for each that is not the commonest at its kind of place."""
    of = defaultdict[tuple[object, ...], Counter[bytes]](Counter)
    for place, run in runs:
        of[place][run] += 1
    odd = 0
    for kinds in of.values():
        usual = [run for run, _ in kinds.most_common() if _USUAL.fullmatch(run)]
        odd += sum(kinds[run] for run in usual[1:])
        odd += sum(len(run) * times for run, times in kinds.items() if run not in usual)
    return odd


def _xml_spaces(data: bytes) -> int:
    """Return the bytes of spaces between and inside of tags that deviate from the way in which all of it is written."""
    bare = _STRING.sub(b'""', data)

    def runs() -> Iterator[tuple[tuple[object, ...], bytes]]:
        depth = 0
        for found in _TAG.finditer(bare):
            ends, name, closed, behind = found.groups()
            if name[:1] not in b"?!":
                depth += -1 if ends else 0 if closed else 1
            after = bare[found.end() : found.end() + 2]
            if after[:1] in {b"<", b""}:
                yield (depth, after == b"</", bool(ends or closed)), behind
            for one in _INSIDE.finditer(name):
                yield ("inside",), one.group()

    return _deviating(runs())


def _line_spaces(data: bytes, strict: bool = False) -> int:
    """Return the bytes of spaces in lines of text that no line needs: behind lines, several, in empty lines.

    `strict`: a library writes none of these, others one or two behind a line or in it.
    """
    several = any(one in data for one in (b"  ", b"\t", b" \n", b" \r")) or data[-1:] == b" "
    odd = Counter(found.group() for found in _SPACES.finditer(data)) if several else Counter[bytes]()
    few = set() if strict else {b" ", b"  "}
    usual = {run for run in odd if run in few or (run == b"   " and odd[run] > 1)}
    bars = Counter(_BARS.findall(data)).values()  # of levels in front of a node
    empty = sum(len(run) - 3 for run in re.findall(rb"\n(?:[ \t]*\r?\n){3,}", data))
    return (
        sum(len(run) * times for run, times in odd.items() if run not in usual)
        + empty
        + sum(bars)
        - max(bars, default=0)
    )
