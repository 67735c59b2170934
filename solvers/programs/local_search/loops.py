"""The inner loops of local search: rows walked, moves tried, kept or dropped. Whole numbers only.

Compiled where numba is installed (`solvers.programs.local_search.compiled`); plain lists serve as well as arrays.
Every function here is compiled: it calls those above it, makes no arrays, and takes and gives whole numbers.

Source: Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220, 1983; Marsaglia, "Xorshift
RNGs", Journal of Statistical Software 8(14), 2003 (the generator, 128 bits in four words of 32).

The inner loop of the search for likely worlds: rows moved, statements broken only on the way. Whole numbers only.

Compiled like `solvers.programs.local_search.loops`, by the same rules.

Source: Metropolis et al., "Equation of state calculations by fast computing machines", J. Chem. Phys. 21, 1953.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from solvers.programs.local_search.problem import SearchTables

WORD = 0xFFFFFFFF
DRAWN, KEPT = 16, 4  # rows looked at for a deficient statement, and rows tried
REPAIRS = 60  # percent of moves that fill a deficient statement
NEAREST = 75  # percent of clips that take the nearest part
STEP = 3
SEEN = 16  # rows looked at where there are too many
FAR = 1000
SURPLUS = 40  # percent of repairs that take rows from where there are too many


class LoopState(NamedTuple):
    """Where the search stands: rows (rows x attributes,), the region of each (rows x counters,), statements' counts.

    lacking: statements below their least count, the first `numbers[0]` of them; place (statements,): where each stands
    there, -1: not. numbers: how many lack, the cost, moves tried. dice: four words of the generator. trial, found:
    rows tried and their regions. far, near: rows that were drawn. differs: attributes that a trial changes. limit: by
    how much a move is worse -> below which of 2^32 numbers it is taken.
    """

    rows: Any
    region: Any
    count: Any
    lacking: Any
    place: Any
    numbers: Any
    dice: Any
    trial: Any
    found: Any
    far: Any
    near: Any
    differs: Any
    limit: Any


def _draw(dice: Any) -> Any:
    """Return the next of the generator's numbers below 2^32."""
    t = dice[0]
    t = t ^ ((t << 11) & WORD)
    t = t ^ (t >> 8)
    w = dice[3]
    dice[0] = dice[1]
    dice[1] = dice[2]
    dice[2] = w
    w = (w ^ (w >> 19)) ^ t
    dice[3] = w
    return w


def _drawn_below(dice: Any, total: int) -> Any:
    """Return a number below `total`, uniform but for 2^-32."""
    return (_draw(dice) * total) >> 32


def _region_of_row(p: SearchTables, t: int, row: Any, start: int) -> Any:
    """Return the region of counter t that holds the row whose parts begin at `start`."""
    i = p.root[t]
    while i >= 0:
        part = row[start + p.attribute[i]]
        cut = p.cut[i]
        if cut >= 0:
            i = p.yes[i] if part <= cut else p.no[i]
        else:
            i = p.yes[i] if p.table[part - 1 - cut] == 1 else p.no[i]
    return -1 - i


def _label_of(p: SearchTables, row: Any, start: int) -> Any:
    """Return the label of the row whose parts begin at `start`, 0 without one."""
    return row[start + p.sizes[3]] if p.sizes[3] >= 0 else 0


def _change_count(p: SearchTables, s: LoopState, statement: int, more: int) -> Any:
    """Change the count of a statement by 1 or -1; return by how much the cost grows."""
    x = s.count[statement]
    y = x + more
    s.count[statement] = y
    low, high = p.low[statement], p.high[statement]
    if x < low and y >= low:  # no longer lacking: the last one takes its place
        last = s.numbers[0] - 1
        other, at = s.lacking[last], s.place[statement]
        s.lacking[at] = other
        s.place[other] = at
        s.place[statement] = -1
        s.numbers[0] = last
    elif x >= low and y < low:
        at = s.numbers[0]
        s.lacking[at] = statement
        s.place[statement] = at
        s.numbers[0] = at + 1
    before = low - x if x < low else (x - high if x > high else 0)
    after = low - y if y < low else (y - high if y > high else 0)
    return after - before


def enter(p: SearchTables, s: LoopState) -> None:
    """Put all rows where they belong: regions, counts, what lacks, the cost."""
    counters, width, labels, n = p.sizes[0], p.sizes[1], p.sizes[2], p.sizes[5]
    cost = 0
    s.numbers[0] = 0
    for statement in range(len(p.low)):
        s.count[statement] = 0
        s.place[statement] = -1
        if p.low[statement] > 0:
            s.lacking[s.numbers[0]] = statement
            s.place[statement] = s.numbers[0]
            s.numbers[0] += 1
            cost += p.low[statement]
    for row in range(n):
        label = _label_of(p, s.rows, row * width)
        for t in range(counters):
            region = _region_of_row(p, t, s.rows, row * width)
            s.region[row * counters + t] = region
            cost += _change_count(p, s, p.statement[region * labels + label], 1)
    s.numbers[1] = cost


def _cost_change(p: SearchTables, s: LoopState, row: int, c: int, columns: int) -> Any:
    """Return by how much the cost grows if a row becomes trial c; its regions are written to `found`.

    The trial changes the first so many attributes of `differs`.
    """
    counters, width, labels = p.sizes[0], p.sizes[1], p.sizes[2]
    at, new = row * width, c * width
    before, after = _label_of(p, s.rows, at), _label_of(p, s.trial, new)
    grown = 0
    for t in range(counters):
        old = s.region[row * counters + t]
        region = old
        for d in range(columns):
            k = s.differs[d]
            part, stay = s.trial[new + k], (old * width + k) * 2
            if part < p.stay[stay] or part > p.stay[stay + 1]:
                region = _region_of_row(p, t, s.trial, new)
                break
        s.found[c * counters + t] = region
        left, joined = p.statement[old * labels + before], p.statement[region * labels + after]
        if left != joined:
            x, y = s.count[left], s.count[joined]
            if x > p.high[left]:
                grown -= 1
            elif x <= p.low[left]:
                grown += 1
            if y < p.low[joined]:
                grown -= 1
            elif y >= p.high[joined]:
                grown += 1
    return grown


def _move(p: SearchTables, s: LoopState, row: int, c: int) -> None:
    """Let a row become trial c."""
    counters, width, labels = p.sizes[0], p.sizes[1], p.sizes[2]
    at, new = row * width, c * width
    before, after = _label_of(p, s.rows, at), _label_of(p, s.trial, new)
    for t in range(counters):
        old, region = s.region[row * counters + t], s.found[c * counters + t]
        left, joined = p.statement[old * labels + before], p.statement[region * labels + after]
        s.region[row * counters + t] = region
        if left != joined:
            s.numbers[1] += _change_count(p, s, left, -1) + _change_count(p, s, joined, 1)
    for k in range(width):
        s.rows[at + k] = s.trial[new + k]


def _is_allowed(p: SearchTables, literal: int, part: int) -> Any:
    if part < p.least[literal] or part > p.most[literal]:
        return False
    return p.among[literal] < 0 or p.table[p.among[literal] + part] == 1


def _nearest(p: SearchTables, literal: int, part: int) -> Any:
    """Return the part that a literal allows next to the given one."""
    least, most = p.least[literal], p.most[literal]
    part = least if part < least else (most if part > most else part)
    if p.among[literal] < 0:
        return part
    at = p.among[literal]
    for off in range(most - least + 1):
        if part - off >= least and p.table[at + part - off] == 1:
            return part - off
        if part + off <= most and p.table[at + part + off] == 1:
            return part + off
    return part


def _distance_outside(p: SearchTables, s: LoopState, statement: int, row: int) -> Any:
    """Return in how many attributes a row is outside a statement's box; FAR with a label that cannot change."""
    width, found = p.sizes[1], 0
    for literal in range(p.begin[statement], p.begin[statement + 1]):
        k = p.of[literal]
        if not _is_allowed(p, literal, s.rows[row * width + k]):
            found += FAR if k == p.sizes[3] and p.sizes[4] == 0 else 1
    return found


def _keep(s: LoopState, kept: int, row: int, off: int) -> Any:
    """Note a row in `near` if it is among the KEPT nearest; return how many are noted."""
    if kept == KEPT and off >= s.far[kept - 1]:
        return kept
    at = kept if kept < KEPT else KEPT - 1
    while at > 0 and s.far[at - 1] > off:
        s.far[at] = s.far[at - 1]
        s.near[at] = s.near[at - 1]
        at -= 1
    s.far[at] = off
    s.near[at] = row
    return kept + 1 if kept < KEPT else kept


def _drawn_rows(p: SearchTables, s: LoopState, statement: int, first: int, total: int) -> Any:
    """Draw rows, and keep those with the fewest attributes outside a statement's box in `near`; return how many."""
    kept = 0
    for _ in range(DRAWN):
        row = first + _drawn_below(s.dice, total)
        off = _distance_outside(p, s, statement, row)
        if 0 < off < FAR:
            kept = _keep(s, kept, row, off)
    return kept


def _overfull(p: SearchTables, s: LoopState, statement: int, first: int, total: int) -> Any:
    """Keep the nearest rows of those where the statement's own counter has too many; return how many."""
    counters, width, labels = p.sizes[0], p.sizes[1], p.sizes[2]
    t = p.counter[statement]
    kept, seen, start = 0, 0, _drawn_below(s.dice, total)
    for step in range(total):
        at = start + step
        row = first + (at if at < total else at - total)
        now = p.statement[s.region[row * counters + t] * labels + _label_of(p, s.rows, row * width)]
        if s.count[now] > p.high[now]:
            off = _distance_outside(p, s, statement, row)
            if off < FAR:
                kept = _keep(s, kept, row, off)
                seen += 1
                if seen == SEEN:
                    break
    return kept


def _repair(p: SearchTables, s: LoopState) -> Any:
    """Try rows in a statement that lacks some; return (how many trials, the best of them, its row, its cost)."""
    width = p.sizes[1]
    statement = s.lacking[_drawn_below(s.dice, s.numbers[0])]
    first, total = p.first[statement], p.end[statement] - p.first[statement]
    begin, end = p.begin[statement], p.begin[statement + 1]
    if total == 0:
        return 0, 0, 0
    if _drawn_below(s.dice, 100) < SURPLUS:
        kept = _overfull(p, s, statement, first, total)
    else:
        kept = _drawn_rows(p, s, statement, first, total)
    best, least = -1, 0
    for c in range(kept):
        row = s.near[c]
        for k in range(width):
            s.trial[c * width + k] = s.rows[row * width + k]
        columns = 0
        for literal in range(begin, end):
            k = p.of[literal]
            part = s.trial[c * width + k]
            if not _is_allowed(p, literal, part):
                if _drawn_below(s.dice, 100) >= NEAREST:
                    part = p.least[literal] + _drawn_below(s.dice, p.most[literal] - p.least[literal] + 1)
                s.trial[c * width + k] = _nearest(p, literal, part)
                s.differs[columns] = k
                columns += 1
        grown = _cost_change(p, s, row, c, columns)
        if best < 0 or grown < least:
            best, least = c, grown
    return (kept, best, least) if kept else (0, 0, 0)


def _stray(p: SearchTables, s: LoopState, row: int) -> Any:
    """Try another part of one attribute of a row; return by how much the cost grows."""
    width = p.sizes[1]
    for k in range(width):
        s.trial[k] = s.rows[row * width + k]
    k = p.moved[_drawn_below(s.dice, len(p.moved))]
    part = s.trial[k]
    if _drawn_below(s.dice, 2) == 0:
        step = 1 + _drawn_below(s.dice, STEP)
        part = part + step if _drawn_below(s.dice, 2) == 0 else part - step
        part = 0 if part < 0 else (p.parts[k] - 1 if part >= p.parts[k] else part)
    else:
        part = _drawn_below(s.dice, p.parts[k])
    if part == s.trial[k]:
        return 1 << 30
    s.trial[k] = part
    s.differs[0] = k
    return _cost_change(p, s, row, 0, 1)


def anneal(p: SearchTables, s: LoopState, iterations: int) -> Any:
    """Try so many moves, at one temperature, until the cost is 0; return the least cost on the way."""
    least = s.numbers[1]
    for _ in range(iterations):
        if s.numbers[1] == 0:
            break
        s.numbers[2] += 1
        c = 0
        if s.numbers[0] > 0 and _drawn_below(s.dice, 100) < REPAIRS:
            kept, c, grown = _repair(p, s)
            if kept == 0:
                continue
            row = s.near[c]
        else:
            row = _drawn_below(s.dice, p.sizes[5])
            grown = _stray(p, s, row)
        if grown <= 0 or (grown < len(s.limit) and _draw(s.dice) < s.limit[grown]):
            _move(p, s, row, c)
            least = s.numbers[1] if s.numbers[1] < least else least
    return least


LACKING = 4 << 20  # what a row that a statement lacks, or has too many, costs on the way: 4 nats
MAX_MOVE_ROWS = 8  # rows by which no move makes it worse
SHIFT = 20  # of the generator's 32 bits, 12 choose one of the bars


class LeafWorths(NamedTuple):
    """What rows in leaves are worth: `value` has what each figure is worth, in units of 2^-20 nats.

    cell, stride (regions x labels,): where the figure stands that a row counts in (-1: none), and how far it goes on.
    """

    cell: Any
    stride: Any
    value: Any


class Climb(NamedTuple):
    """Where the climb stands: at (cells,): where the figure of each cell stands in `value`; worth: of all, moves taken.

    bar (4096,): by how much the worth must grow at least, one drawn per move.
    """

    at: Any
    worth: Any
    bar: Any


def _shifted(d: LeafWorths, c: Climb, slot: int, more: int) -> Any:
    """Count a row more or less in what counts it; return by how much the worth grows."""
    cell = d.cell[slot]
    if cell < 0:
        return 0
    old = c.at[cell]
    new = old + more * d.stride[slot]
    c.at[cell] = new
    return d.value[new] - d.value[old]


def sway(p: SearchTables, d: LeafWorths, s: LoopState, c: Climb, iterations: int) -> None:
    """Try so many moves at one temperature, and count what is worth more, less `LACKING` by row off."""
    counters, width, labels, n = p.sizes[0], p.sizes[1], p.sizes[2], p.sizes[5]
    for _ in range(iterations):
        row = _drawn_below(s.dice, n)
        lacking = _stray(p, s, row)
        if lacking > MAX_MOVE_ROWS:
            continue
        before, after = _label_of(p, s.rows, row * width), _label_of(p, s.trial, 0)
        grown = -lacking * LACKING
        for t in range(counters):
            left, joined = s.region[row * counters + t] * labels + before, s.found[t] * labels + after
            if left != joined:
                grown += _shifted(d, c, left, -1)
                grown += _shifted(d, c, joined, 1)
        if grown >= c.bar[_draw(s.dice) >> SHIFT]:
            _move(p, s, row, 0)
            c.worth[0] += grown + lacking * LACKING
            c.worth[1] += 1
            continue
        for t in range(counters):
            left, joined = s.region[row * counters + t] * labels + before, s.found[t] * labels + after
            if left != joined:
                _shifted(d, c, left, 1)
                _shifted(d, c, joined, -1)
