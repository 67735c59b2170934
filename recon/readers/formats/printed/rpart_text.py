"""Reads R's rpart trees: what `print(m)` writes, and JSON of the fitted object `m` (it has more than print shows).

In R, with the package jsonlite (full digits, all levels, counts whatever the priors and losses):

    jsonlite::write_json(list(frame = m$frame, node = as.integer(row.names(m$frame)), splits = m$splits,
      cuts = sprintf("%.17g", m$splits[, "index"]), csplit = m$csplit, xlevels = attr(m, "xlevels"),
      ylevels = attr(m, "ylevels"), label = all.vars(m$terms)[1], method = m$method, na = length(m$na.action)),
      "tree.json", digits = NA, dataframe = "columns")

Printed, node k has the children 2k and 2k+1 and says n, loss, class, shares: `5) Start< 14.5 33 6 absent (0.82 0.18)`.
Shares times n are counts where the digits leave one whole number and the loss agrees; with priors, a loss matrix or
weights they do not, and only the sizes are read. Never share the object itself: it holds every row's leaf and class.
R's package `tree` prints the same table with a deviance for the loss, five digits of the shares, "<" and ">".

Source: rpart 4.1 (print.rpart, labels.rpart, rpart.class) and its vignette "longintro" (Therneau, Atkinson, 2022);
tree 1.0 (print.tree, labels.tree).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.domain.values import Categorical, Test, Value
from encoders.models.models import Provenance
from encoders.parts.base import MAX_ROWS
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.printed_trees import (
    MIDPOINTS,
    NO_MISSING,
    NUMBER,
    LeafCounts,
    PrintedBranch,
    PrintedDraft,
    column_names,
    draft_of,
    number,
    slack_of,
    unit,
    values_of,
)
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.exact import exact_number

FORMAT = "R rpart, printed text"
JSON = "R rpart, JSON"
TREE = "R tree, printed text"
HEADER = re.compile(r"^node\), split, n, (loss|deviance), yval(, \(yprob\))?\s*$", re.MULTILINE)
ROWS = re.compile(r"^n= ?(\d{1,16})(?: \((\d{1,16}) observations? deleted due to missing(?:ness)?\))?", re.MULTILINE)
LINE = re.compile(r"(\d{1,16})\) (.*\S)")
SHARES = re.compile(r"(.*\S) \(([-+0-9.eE ]+)\)")
NUMERIC = re.compile(r"(.+)(<|>=| >) ?(\S+)")
FACTOR = re.compile(r"([^=:]+)(?:=|: )(.*)")
TREE_DIGITS = 6  # of thresholds, which tree prints by "%g"
MANY_CLASSES = 5  # from so many on, print.rpart shows two digits of the shares
UNWEIGHTED = "every training row had weight 1"
LEVELS = "where no domain is declared, categorical attributes have the levels that the file names and no others"
SIZES = (
    "shares and losses are not those of counts (priors, a loss matrix or weights): only the sizes of leaves are read"
    " (the JSON form has the counts, see recon.readers.formats.printed.rpart_text)"
)


@dataclass(frozen=True, slots=True)
class RpartLine:
    """One printed node: number, split, rows, loss or deviance, class, shares, whether it is a leaf."""

    node: int
    split: str
    n: int
    loss: str
    name: str
    shares: tuple[str, ...]
    leaf: bool
    place: str


def looks_like_rpart(head: str) -> bool:
    """Return whether a text holds the header of a printed rpart tree."""
    return HEADER.search(head) is not None


def read_rpart(text: str) -> Draft:
    """Return what `print(m)` wrote. Cost: linear in the text.

    Raises `ReleaseError` naming the line for what is no such text, `Unsupported` where rows stopped at inner nodes.
    """
    header = HEADER.search(text)
    if header is None:
        raise ReleaseError("the text has no line 'node), split, n, loss, yval, (yprob)'")
    rows = _rows_of(text, header)
    place = {row.node: i for i, row in enumerate(rows)}
    _check_shape(rows, place)
    form = TREE if header[1] == "deviance" and (header[2] or any(" > " in row.split for row in rows)) else FORMAT
    counts, names = _counts_of(rows, place, form) if header[2] else (None, ())
    digits = _digits_of(rows) if form == FORMAT else TREE_DIGITS
    nodes: list[PrintedBranch] = []
    thresholds: list[tuple[str, float, Fraction]] = []
    for i, row in enumerate(rows):
        if row.leaf:
            classes = () if counts is None else tuple(enumerate(counts[i]))
            nodes.append(PrintedBranch(LeafCounts((row.n, row.n), classes)))
            continue
        then, otherwise = place[2 * row.node], place[2 * row.node + 1]
        feature, test, other = _split_of(rows[then], rows[otherwise])
        nodes.append(PrintedBranch(LeafCounts(), feature, test, other, then, otherwise))
        for x in (test.low, test.high):
            if isinstance(x, float):
                thresholds.append((feature, x, _last_digit(x, digits)))
    found = _finish(nodes, names, form, "label", {})
    notes = [SIZES] if header[2] and counts is None else []
    if None in found.names:
        notes.append("the text does not name every class: a domain whose label has one value more names the other")
    left_out = ROWS.search(text)
    notes += _dropped(int(left_out[2] or 0) if left_out is not None else 0, rows[0].n)
    return replace(found, slack=slack_of(thresholds), reader_notes=tuple(notes), finer="print(fit, digits = 15)")


def _dropped(rows: int, n: int) -> list[str]:
    """Return what to say of rows that were left out because values were missing."""
    return [f"{rows:,} rows with missing values were left out: everything is about the other {n:,}"] if rows else []


def _finish(
    nodes: Sequence[PrintedBranch],
    names: Sequence[Value | None],
    form: str,
    label: str,
    levels: Mapping[str, Sequence[str]],
) -> PrintedDraft:
    """Return the draft of the nodes; levels of categorical attributes as hints, those that tests name included."""
    seen: dict[str, dict[str, None]] = {name: dict.fromkeys(values) for name, values in levels.items()}
    for n in nodes:
        if n.feature is not None and n.test.values is not None:
            both = (*n.test.values, *(n.other.values or ()))
            seen.setdefault(n.feature, {}).update(dict.fromkeys(str(v) for v in both))
    used = {n.feature for n in nodes}
    hints = {name: Categorical(name, tuple(values)) for name, values in seen.items() if values and name in used}
    notes = (UNWEIGHTED, NO_MISSING, *((MIDPOINTS,) if form != JSON else ()), *((LEVELS,) if hints else ()))
    origin = Provenance(form, ("exact",) if names else ("size",), notes)
    return replace(draft_of(nodes, names, origin, label=label, ordered=False), hints=hints)


def _rows_of(text: str, header: re.Match[str]) -> list[RpartLine]:
    """Return the printed nodes; `ReleaseError` naming the line that is none."""
    rows: list[RpartLine] = []
    first = text[: header.end()].count("\n") + 1
    for at, raw in enumerate(text[header.end() :].splitlines()):
        content, place = raw.strip(), f"line {first + at}"
        if not content or content == "* denotes terminal node":
            continue
        leaf = content.endswith("*")
        found = LINE.fullmatch(content.rstrip("* ") if leaf else content)
        if found is None:
            raise ReleaseError(f"'{content[:60]}' is not a node of a printed tree", place=place)
        shares: tuple[str, ...] = ()
        rest = found[2]
        if header[2]:
            parts = SHARES.fullmatch(rest)
            if parts is None:
                raise ReleaseError(f"'{content[:60]}' has no shares of classes", place=place)
            rest, shares = parts[1], tuple(parts[2].split())
        words = rest.split(" ")
        # n and loss are the last two numbers in a row that still leave a class: split texts may hold numbers too.
        spots = [k for k in range(1, len(words) - 1) if words[k].isdecimal() and len(words[k]) < 17]
        rows.append(_row_of(int(found[1]), words, spots, shares, leaf, place))
        if rows and len(rows[-1].shares) != len(rows[0].shares):
            raise ReleaseError(f"has {len(shares)} shares, the root {len(rows[0].shares)}", place=place)
    if not rows:
        raise ReleaseError("the text holds no nodes")
    return rows


def _row_of(
    node: int, words: Sequence[str], spots: Sequence[int], shares: tuple[str, ...], leaf: bool, place: str
) -> RpartLine:
    """Return a node from its words; n stands where a whole number, a number and a class follow each other."""
    if any(not NUMBER.fullmatch(s) or not 0 <= exact_number(s) <= 1 for s in shares) or len(shares) == 1:
        raise ReleaseError("the shares of classes are not numbers from 0 to 1", place=place)
    for k in reversed(spots):
        after = [w for w in words[k + 1 :] if w]
        if len(after) > 1 and NUMBER.fullmatch(after[0]) and math.isfinite(float(after[0])):
            start = words.index(after[0], k + 1) + 1
            return RpartLine(
                node, " ".join(words[:k]), int(words[k]), after[0], " ".join(words[start:]).strip(), shares, leaf, place
            )
    raise ReleaseError("has no numbers of rows and loss before its class", place=place)


def _check_shape(rows: Sequence[RpartLine], place: Mapping[int, int]) -> None:
    """Refuse nodes that make no tree, and rows that stop at an inner node."""
    if len(place) != len(rows) or rows[0].node != 1:
        raise ReleaseError("a node stands twice, or the first one is not the root", place=rows[0].place)
    for row in rows:
        children = [place[c] for c in (2 * row.node, 2 * row.node + 1) if c in place]
        if len(children) != (0 if row.leaf else 2) or (row.node > 1 and row.node // 2 not in place):
            raise ReleaseError(f"node {row.node} and those below or above it make no tree", place=row.place)
        below = row.n if row.leaf else sum(rows[c].n for c in children)
        _check_sum(row.node, row.n, below)


def _check_sum(node: int, n: int, below: int) -> None:
    """Refuse a node whose children have other rows than it has."""
    if below > n:
        raise ReleaseError(f"has {n} rows, its children {below}", place=f"node {node}")
    if below < n:
        raise Unsupported(f"{n - below} rows stop at node {node} (missing values, usesurrogate below 2): not read")


def _split_of(then: RpartLine, otherwise: RpartLine) -> tuple[str, Test, Test]:
    """Return the feature and the tests of two siblings, as their labels say."""
    a, b = NUMERIC.fullmatch(then.split), NUMERIC.fullmatch(otherwise.split)
    if a and b and (a[1].strip(), a[3]) == (b[1].strip(), b[3]) and {a[2], b[2]} in ({"<", ">="}, {"<", " >"}):
        x = number(a[3], then.place)
        below, above = Test(high=x, high_open=True), Test(low=x)
        return (a[1].strip(), below, above) if a[2] == "<" else (a[1].strip(), above, below)
    a, b = FACTOR.fullmatch(then.split), FACTOR.fullmatch(otherwise.split)
    if not a or not b or a[1] != b[1]:
        raise ReleaseError(f"'{then.split[:40]}' and '{otherwise.split[:40]}' are no split", place=then.place)
    left, right = tuple(a[2].split(",")), tuple(b[2].split(","))
    if set(left) & set(right) or "" in left or "" in right:
        raise ReleaseError(f"the levels of '{a[1][:40]}' do not part", place=then.place)
    return a[1], Test(values=left), Test(values=right)


def _significant(text: str) -> int:
    """Return how many digits of a printed number say something, zeros at its end left out."""
    return len(re.sub(r"[eE].*|[-+.]", "", text).strip("0"))


def _digits_of(rows: Sequence[RpartLine]) -> int:
    """Return how many significant digits print used, or fewer: what the numbers show."""
    found = [_significant(row.loss) for row in rows]
    found += [_significant(m[3]) for row in rows if (m := NUMERIC.fullmatch(row.split)) and NUMBER.fullmatch(m[3])]
    if 0 < len(rows[0].shares) < MANY_CLASSES:
        # All shares have the decimals that the smallest needs; it shows no more than the digits asked for.
        small = min((s for row in rows for s in row.shares if 0 < exact_number(s) < 1), key=exact_number, default="0")
        mantissa = re.sub(r"[eE].*", "", small)
        found.append(len(mantissa.replace(".", "").lstrip("0")))
    return max(1, *found)


def _last_digit(x: float, digits: int) -> Fraction:
    """Return one unit of the last of so many significant digits of a number."""
    return Fraction(0) if x == 0 else Fraction(10) ** (math.floor(math.log10(abs(x))) + 1 - digits)


Between = tuple[int, int]


def _counts_of(
    rows: Sequence[RpartLine], place: Mapping[int, int], form: str
) -> tuple[list[tuple[Between, ...]] | None, tuple[Value | None, ...]]:
    """Return between which numbers the rows of each class lie per node, and the classes' names; None: no counts."""
    digits, width = _digits_of(rows), len(rows[0].shares)
    found: list[tuple[Between, ...]] = []
    for row in rows:
        within = [_share_interval(s, row.n, width if form == FORMAT else 0) for s in row.shares]
        if form == TREE:
            found.append(tuple(within))
            continue
        top = max(range(width), key=lambda k: exact_number(row.shares[k]))
        loss = _loss_interval(row.loss, digits)
        for k in (top, 1 - top) if width == 2 else (top,):
            low, high = (row.n - loss[1], row.n - loss[0]) if k == top else loss
            within[k] = max(within[k][0], low), min(within[k][1], high)
        if any(low > high for low, high in within):
            return None, ()
        found.append(tuple(within))
    for i, row in enumerate(rows):
        parts = [] if row.leaf else [found[place[2 * row.node]], found[place[2 * row.node + 1]]]
        low, high = sum(a for a, _ in found[i]), sum(b for _, b in found[i])
        if not low <= row.n <= high or (parts and not all(map(_adds, found[i], *parts))):
            return None, ()
    names = column_names((([exact_number(s) for s in row.shares], row.name) for row in rows), width, ties=False)
    return found, names


def _adds(whole: tuple[int, int], left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Return whether two counts may sum to a third, each known as an interval."""
    return left[0] + right[0] <= whole[1] and left[1] + right[1] >= whole[0]


def _share_interval(text: str, n: int, width: int) -> tuple[int, int]:
    """Return between which whole numbers a printed share times n lies."""
    share = exact_number(text)
    off = unit(text) / 2 if width < MANY_CLASSES else _last_digit(float(share), 2) / 2
    off += Fraction(1, 10**14)
    return max(0, math.ceil(n * (share - off))), min(n, math.floor(n * (share + off)))


def _loss_interval(text: str, digits: int) -> tuple[int, int]:
    """Return between which whole numbers a printed loss lies; an empty interval where it is none."""
    loss = exact_number(text)
    off = unit(text) / 2 if loss < 10**digits else _last_digit(float(loss), digits) / 2
    off = min(off, Fraction(1, 4)) if loss < 10**digits else off
    return math.ceil(loss - off), math.floor(loss + off)


def read_rpart_json(obj: object) -> Draft:
    """Return what the JSON of a fitted rpart object says (the module's first lines have the command).

    Raises `ReleaseError` naming the place of what is no such object, `Unsupported` where rows stopped at inner nodes.
    """
    top = _mapping(obj, "the file")
    frame = {key: _sequence(values, f"frame.{key}") for key, values in _mapping(top.get("frame"), "frame").items()}
    numbers = [_integer(v, f"node[{i}]") for i, v in enumerate(_sequence(top.get("node"), "node"))]
    names = [str(v) for v in frame.get("var", ())]
    keys = ("var", "n", "ncompete", "nsurrogate")
    if not numbers or any(len(frame.get(key, ())) != len(numbers) for key in keys):
        raise ReleaseError(f"needs one of {', '.join(keys)} for each of the {len(numbers)} nodes", place="frame")
    sizes, others, more = ([_integer(v, f"frame.{k}[{i}]") for i, v in enumerate(frame[k])] for k in keys[1:])
    each = zip(numbers, names, sizes, strict=True)
    rows = [RpartLine(k, "", n, "", "", (), name == "<leaf>", f"node[{i}]") for i, (k, name, n) in enumerate(each)]
    place = {row.node: i for i, row in enumerate(rows)}
    _check_shape(rows, place)
    levels = {str(k): _texts(v, f"xlevels.{k}") for k, v in _mapping(top.get("xlevels", {}), "xlevels").items()}
    classes = (
        _texts(top["ylevels"], "ylevels") if top.get("ylevels") and top.get("method") in ("class", ["class"]) else []
    )
    counts = _frame_counts(frame, sizes, len(classes)) if classes else None
    nodes: list[PrintedBranch] = []
    thresholds: list[tuple[str, float, Fraction]] = []
    splits, at = _split_table(top), 0
    for i, row in enumerate(rows):
        if row.leaf:
            found = () if counts is None else tuple((k, (c, c)) for k, c in enumerate(counts[i]))
            nodes.append(PrintedBranch(LeafCounts((row.n, row.n), found)))
            continue
        test, other = _stored_split(top, splits, at, levels.get(names[i]))
        nodes.append(PrintedBranch(LeafCounts(), names[i], test, other, place[2 * row.node], place[2 * row.node + 1]))
        thresholds += [(names[i], x, _last_digit(x, 15)) for x in (test.low, test.high) if isinstance(x, float)]
        at += 1 + others[i] + more[i]
    values = values_of(classes)
    label = _sequence(top.get("label", "label"), "label")
    ordered = tuple(values[c] for c in classes) if counts is not None else ()
    draft = _finish(nodes, ordered, JSON, str(label[0]) if label else "label", levels)
    notes = ["the counts are of weighted rows: only the sizes of leaves are read"] if classes and counts is None else []
    if left_out := _sequence(top.get("na", 0), "na")[:1]:
        notes += _dropped(_integer(left_out[0], "na"), sizes[0])
    return replace(draft, slack=None if "cuts" in top else slack_of(thresholds), reader_notes=tuple(notes))


def _mapping(value: object, place: str) -> Mapping[str, object]:
    """Return a JSON object; `ReleaseError` for anything else."""
    if not isinstance(value, dict):
        raise ReleaseError("is not an object", place=place)
    return value


def _sequence(value: object, place: str) -> list[object]:
    """Return a JSON list, a single value as a list of one (jsonlite's auto_unbox), an empty object as an empty list."""
    if value == {}:
        return []
    if isinstance(value, (dict, type(None))):
        raise ReleaseError("is not a list", place=place)
    return value if isinstance(value, list) else [value]


def _texts(value: object, place: str) -> list[str]:
    """Return a list of different texts."""
    found = _sequence(value, place)
    if not all(isinstance(v, str) for v in found) or len(set(map(str, found))) < len(found):
        raise ReleaseError("are no different texts", place=place)
    return [str(v) for v in found]


def _integer(value: object, place: str) -> int:
    """Return a whole number from 0 to 2^53."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_ROWS or value % 1:
        raise ReleaseError(f"{str(value)[:40]} is not a whole number", place=place)
    return int(value)


def _frame_counts(frame: Mapping[str, list[object]], sizes: Sequence[int], width: int) -> list[list[int]] | None:
    """Return the rows per class and node, None where they are of weighted rows.

    A row of yval2 is the class, the counts, the shares and the node's probability.
    """
    table, weights = frame.get("yval2", []), frame.get("wt", list(sizes))
    if not len(table) == len(weights) == len(sizes):
        raise ReleaseError(f"has {len(table)} rows for {len(sizes)} nodes", place="frame.yval2")
    out: list[list[int]] = []
    for i, line in enumerate(table):
        found = _sequence(line, f"frame.yval2[{i}]")
        counts = [v for v in found[1 : width + 1] if isinstance(v, (int, float)) and 0 <= v <= MAX_ROWS]
        if len(found) != 2 * width + 2 or len(counts) != width:
            raise ReleaseError(f"has no counts of {width} classes", place=f"frame.yval2[{i}]")
        if weights[i] != sizes[i] or sum(counts) != sizes[i] or any(c % 1 for c in counts):
            return None
        out.append([int(c) for c in counts])
    return out


def _split_table(top: Mapping[str, object]) -> tuple[list[object], list[object] | None]:
    """Return the table of splits (count, ncat, improve, index), and their thresholds as text where they are given."""
    table = [] if top.get("splits") is None else _sequence(top["splits"], "splits")  # of a root alone there are none
    return table, _sequence(top["cuts"], "cuts") if "cuts" in top else None


def _stored_split(
    top: Mapping[str, object],
    splits: tuple[list[object], list[object] | None],
    at: int,
    levels: Sequence[str] | None,
) -> tuple[Test, Test]:
    """Return the tests of both sides of the split in row `at`; that number is the file's own, as large as it likes."""
    (table, cuts), place = splits, f"splits[{at}]"
    line = _sequence(table[at], place) if at < len(table) else []
    cut = None if len(line) < 4 else line[3] if cuts is None else cuts[at] if at < len(cuts) else {}
    if len(line) < 4 or line[1] is None or isinstance(cut, (dict, list)):
        raise ReleaseError("the frame has more splits than are listed", place=place)
    x, kind = number(str(cut), place), number(str(line[1]), place)
    if abs(kind) == 1 and levels is None:
        below, above = Test(high=x, high_open=True), Test(low=x)
        return (below, above) if kind < 0 else (above, below)
    if levels is None:
        raise ReleaseError("is a split on levels, which xlevels does not list", place=place)
    if abs(kind) == 1:  # an ordered factor: its levels are numbered from 1
        sides: list[object] = [1 if (k < x) == (kind < 0) else 3 for k in range(1, len(levels) + 1)]
    else:
        rows = _sequence(top.get("csplit"), "csplit")
        if not 1 <= x <= len(rows) or x % 1:
            raise ReleaseError(f"csplit has no row {x:g}", place=place)
        sides = _sequence(rows[int(x) - 1], f"csplit[{int(x) - 1}]")
    left, right = (tuple(v for v, s in zip(levels, sides, strict=False) if s == side) for side in (1, 3))
    if not left or not right:
        raise ReleaseError("sends all levels to one side", place=place)
    return Test(values=left), Test(values=right)
