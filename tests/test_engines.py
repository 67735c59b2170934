"""The contract of engines: every engine, every golden release, every question, against brute force.

An engine refuses with a reason, or what it says is true: exact answers equal the oracle's, bounds contain them,
worlds are datasets of the oracle. Releases too large for the oracle are compared engine with engine.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import os
import random
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import oracle
import pandas as pd
import position_oracle
import pytest
from extras import WHEELS, encoded, some
from weights import weight

import solvers.engines
from recon.queries.answers.exact import select_with
from recon.readers.frames.selections import select_frame
from solvers.cells.system import system_of
from solvers.engines import chain
from solvers.engines.chain import strengthened
from solvers.engines.counters import ModelCounter
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs import cell_model as enumeration
from solvers.statements.questions import answers, query
from solvers.statements.questions.answers import relaxed_answer
from solvers.statements.release import Choice, Partition

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(path.stem for path in FOLDER.glob("*.json"))
SETTLED = " with what leaf values prove"  # the same file, asked about as `solvers.engines.chain` strengthens it
GOLDEN = [*FILES, *(name + SETTLED for name in FILES if name.startswith("boosted"))]
HUGE = [name for name in GOLDEN if name.startswith("huge")]
SMALL = [name for name in GOLDEN if name not in HUGE]
MODULES = [module for module, _ in solvers.engines.ENGINES]
BY_CELLS = {"histogram", "cpsat", "lp"}  # engines that cannot do without the cells of a release
CONVENTIONS = ("assigned", "ordered", "multiset")
PROFILES = 6
DRAWN = 12
REFUSALS = (Unsupported, Inconclusive)

QUESTIONS = (
    *(f"{kind} {convention}" for kind in ("count", "decide", "sample") for convention in CONVENTIONS),
    *(f"joint {convention}" for convention in CONVENTIONS[1:]),
    *("per cell", "leave one out", "share", "enumerate", "most likely", "extreme least", "extreme greatest", "attain"),
    "locate", "settle",
)  # fmt: skip


# ---------------------------------------------------------------- a golden release and the truth about it


def close(a, b):
    a, b = float(a), float(b)
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def nan(value):
    return math.nan if value is None else float(value)


@dataclass(eq=False)
class Case:
    """A release, the questions asked about it, and what brute force says; nothing is computed before it is needed."""

    name: str
    release: dict
    expected: dict = field(default_factory=dict)

    @cached_property
    def encoded(self):
        return self.fresh()

    def fresh(self):
        """Return the release with nothing worked out about it yet."""
        found = encoded(self.release)
        return replace(found, statements=strengthened(found.statements)) if self.name.endswith(SETTLED) else found

    @property
    def huge(self):
        return self.name in HUGE

    @cached_property
    def system(self):
        return system_of(self.encoded.statements, Limits())

    @cached_property
    def positions(self):
        """Every dataset by position where bags are known, else None."""
        known = any("multiplicities" in model for model in self.release["models"])
        return position_oracle.worlds(self.release) if known else None

    @cached_property
    def datasets(self):
        """Every dataset as a sorted tuple of rows."""
        if self.positions is not None:
            return set(map(self.rows_by_position, self.positions.listed.tolist()))
        return {tuple(sorted(d, key=repr)) for d in oracle.datasets(self.release)}

    def rows_by_position(self, world):
        """Return a dataset by position, numbers of rows, as a sorted tuple of rows."""
        return tuple(sorted((self.positions.rows[k] for k in world), key=repr))

    @property
    def one_partition(self):
        blocks = self.encoded.statements.blocks
        if self.positions is not None:
            return False
        return len(blocks) == 1 and isinstance(blocks[0], Partition)

    @cached_property
    def profiles(self):
        """Partial and full profiles, some over columns; where there is one, a row of every, and a row of no dataset."""
        rng, domain = random.Random(self.name), self.encoded.domain
        names = [a.name for a in domain.all]
        out = [{}]
        seen = sorted({row for d in self.datasets for row in d}, key=repr) if not self.huge else []
        while len(out) < PROFILES:
            row = rng.choice(seen) if seen and rng.random() < 0.6 else None
            values = row or [a.value(rng.randrange(a.span[1])) for a in domain.all]
            kept = {n: v for n, v in zip(names, values, strict=True) if len(out) == 1 or rng.random() < 0.6}
            profile = {n: plain(v) for n, v in kept.items()}
            if domain.columns and rng.random() < 0.3:
                name = rng.choice(sorted(domain.columns))
                space = oracle._Space(self.release)
                profile = {name: space.value_at(name, tuple(map(oracle.canonical, values)))}
            out.append(profile)
        if not self.huge:
            every = [r for r in seen if all(r in d for d in self.datasets)]
            never = [r for r in oracle.rows(self.release) if r not in seen]
            out += [dict(zip(names, map(plain, r), strict=True)) for r in every[:1] + never[:1]]
        return out

    @cached_property
    def sensitive(self):
        """The attribute asked about in `ShareQuery` and `LeaveOneOut`, and two of its values."""
        attribute = self.encoded.domain.all[-1]
        held = {plain(row[-1]) for d in self.datasets for row in d} if not self.huge else set()
        values = [plain(oracle.canonical(attribute.value(i))) for i in range(attribute.span[1])]
        return attribute.name, sorted(values, key=lambda v: v not in held)[:2]

    @cached_property
    def sums(self):
        """Random whole coefficients (3, cells)."""
        dice = np.random.default_rng(sum(map(ord, self.name)))
        return dice.integers(-2, 4, size=(3, len(self.system.sizes)))

    @cached_property
    def target(self):
        """Values that the last two sums take together in some dataset (0, 0 where there is none)."""
        if self.huge:
            return chain.answer(self.encoded.statements, query.Joint(self.sums[1:], "ordered")).values[0]
        one = sorted(self.datasets, key=repr)[:1]
        return self.sums[1:] @ self.histogram(one[0]) if one else np.zeros(2, dtype=np.int64)

    def frame(self):
        return pd.DataFrame(self.profiles, dtype=object)

    def query(self, question):
        """Return a question as the engines take it."""
        kind, _, how = question.partition(" ")
        if question == "leave one out":
            return query.LeaveOneOut(*self.shared()[::2])
        if question == "share":
            return query.ShareQuery(*self.shared())
        if kind == "extreme":
            return query.Extreme(self.sums[0], how == "greatest")
        if kind == "joint":
            return query.Joint(self.sums[1:], how)
        made = {
            "count": lambda: query.Count(how),
            "decide": lambda: query.Decide(select_frame(self.encoded, self.frame()), how),
            "sample": lambda: query.Sample(DRAWN, 7, how),
            "per cell": query.PerCell,
            "attain": lambda: query.Attain(self.sums[1:], self.target),
            "enumerate": query.Enumerate,
            "most likely": query.MostLikely,
            "locate": query.Locate,
            "settle": query.LeafLabelCounts,
        }
        return made[question if question in made else kind]()

    def shared(self):
        """Selections (inner, other, outer): every profile without the sensitive attribute, for two of its values."""
        name, values = self.sensitive
        profiles = [{n: v for n, v in p.items() if n != name} for p in self.profiles]
        attribute = self.encoded.domain.all[-1]
        every = [plain(oracle.canonical(attribute.value(i))) for i in range(attribute.span[1])]
        frame = pd.DataFrame(profiles, dtype=object)
        parts = []
        for value in values:
            inner = select_with(self.encoded, frame, name, [value])
            other = select_with(self.encoded, frame, name, [v for v in every if v != value])
            parts.append((inner, other, select_frame(self.encoded, frame)))
        return tuple(joined([p[i] for p in parts]) for i in range(3))

    def cell_of(self, row):
        """Return the cell of a row by walking the boxes; None where the system says that no row can be."""
        at = parts_of(self.encoded.statements.domain, self.index[row])
        boxes = self.system.boxes
        held = [i for i, box in enumerate(boxes) if all(mask >> at[k] & 1 for k, mask in box.literals)]
        assert len(held) <= 1, "pieces overlap"
        return int(self.system.cell[held[0]]) if held else None

    @cached_property
    def index(self):
        """Raw value indices of every row of the domain."""
        decode = [{oracle.canonical(a.value(i)): i for i in range(a.span[1])} for a in self.encoded.domain.all]
        return {row: tuple(d[v] for d, v in zip(decode, row, strict=True)) for row in oracle.rows(self.release)}

    @cached_property
    def cells(self):
        """The cell of every possible row."""
        return {row: self.cell_of(row) for row in oracle.rows(self.release)}

    def histogram(self, dataset):
        """Return how many rows of a dataset each cell holds."""
        z = np.zeros(len(self.system.sizes), dtype=np.int64)
        for row in dataset:
            assert self.cells[row] is not None, "a dataset has a row where the system has no cell"
            z[self.cells[row]] += 1
        return z

    def shares(self, convention):
        """Return (dataset, share of worlds); every possible number of rows is equally likely. Remembered."""
        if ("shares", convention) not in self.expected:
            self.expected["shares", convention] = self.weighed(convention)
        return self.expected["shares", convention]

    def weighed(self, convention):
        if self.positions is not None:
            every = self.positions.listed if convention == "ordered" else self.positions.unordered
            return [(self.rows_by_position(world), Fraction(1, len(every))) for world in every.tolist()]
        by_rows = {n: w for n, w in oracle.worlds(self.release, convention).items() if w}
        out = []
        for weighted in by_rows.values():
            whole = sum(w for _, w in weighted) * len(by_rows)
            out += [(d, Fraction(w, whole)) for d, w in weighted]
        return out

    def signature(self, row):
        """Return what every statement counts of a row, by evaluating its region: rows that count alike are one cell."""
        statements = self.encoded.statements
        at = parts_of(statements.domain, self.index[row])
        return tuple(weight(s, at) for s in statements.statements())


def plain(value):
    return float(value) if isinstance(value, Fraction) else value


def joined(selections):
    """Return selections one after the other; their tables of part sizes are united."""
    codes, tables = [], []
    width = selections[0].codes.shape[1]
    for k in range(width):
        known = {}
        for s in selections:
            for sizes in s.sizes[k]:
                known.setdefault(sizes, len(known))
        tables.append(known)
    for s in selections:
        new = np.zeros_like(s.codes)
        for k in range(width):
            new[:, k] = np.array([tables[k][sizes] for sizes in s.sizes[k]], dtype=np.int32)[s.codes[:, k]]
        codes.append(new)
    return query.Selections(np.concatenate(codes), tuple(tuple(t) for t in tables))


def parts_of(domain, indices):
    """Return the part of every raw value index: parts hold consecutive values."""
    out = []
    for attribute, i in zip(domain.attributes, indices, strict=True):
        assert 0 <= i < attribute.total
        edges, total = [], 0
        for size in attribute.sizes:
            total += size
            edges.append(total)
        out.append(bisect_right(edges, i))
    return out


def met(release, rows):
    """Tell whether rows (given by raw value indices) meet every statement of a release, evaluated one by one."""
    every = [parts_of(release.domain, row) for row in rows]

    def holds(s):
        return s.low <= sum(weight(s, at) for at in every) <= s.high

    if not release.rows.low <= len(rows) <= release.rows.high:
        return False
    for box in release.impossible:
        if any(all(mask >> at[k] & 1 for k, mask in box.literals) for at in every):
            return False
    for block in release.blocks:
        if isinstance(block, Partition):
            if not all(holds(block.statement(s, release.domain)) for s in range(len(block))):
                return False
        elif isinstance(block, Choice):
            if sum(all(map(holds, alternative)) for alternative in block.alternatives) != 1:
                return False
        elif not all(map(holds, block)):
            return False
    return True


@cache
def case(name):
    return Case(name, json.loads((FOLDER / f"{name.removesuffix(SETTLED)}.json").read_text()))


def truth(one, question):
    """Return what brute force says; None where there is no world. Remembered."""
    if question not in one.expected:
        kind, _, how = question.partition(" ")
        maker = TRUTHS.get(question) or TRUTHS[kind]
        one.expected[question] = maker(one, how) if one.datasets else None
    return one.expected[question]


def true_count(one, convention):
    if one.positions is not None:
        return {one.positions.n: one.positions.count(convention)}
    found = oracle.count(one.release, convention)
    numbers = oracle.row_numbers(one.release)
    by_rows = found if isinstance(found, dict) else {numbers[0]: found}
    return {n: c for n, c in by_rows.items() if c}


def true_decide(one, convention):
    """Return (least, most, share of worlds, the same before, mean, mean before) per profile."""
    space, pairs, out = oracle._Space(one.release), one.shares(convention), []
    numbers = sorted({len(d) for d, _ in pairs})
    for profile in one.profiles:
        wanted = {n: oracle.canonical(v) for n, v in profile.items()}
        inside = {r for r in oracle.rows(one.release) if all(space.value_at(n, r) == v for n, v in wanted.items())}
        counted = [(sum(r in inside for r in d), p) for d, p in pairs]
        before = [before_release(one, convention, n, inside) for n in numbers]
        out.append(
            (
                min(k for k, _ in counted),
                max(k for k, _ in counted),
                sum(p for k, p in counted if k),
                sum(share for share, _ in before) / len(numbers),
                sum(k * p for k, p in counted),
                sum(mean for _, mean in before) / len(numbers),
            )
        )
    return out


def before_release(one, convention, n, inside):
    """Return the share of n rows with one inside, and their mean number, when only n (and labels) are known."""
    possible = oracle.rows(one.release)
    if convention == "multiset":
        most = math.comb(len(possible) + n - 1, n)
        absent = Fraction(math.comb(len(possible) - len(inside) + n - 1, n), most) if n else Fraction(1)
        return 1 - absent, Fraction(n * len(inside), len(possible))
    pools = [possible] * n
    if convention == "assigned":
        pools = oracle._row_choices(one.release, n, inside=False)
    shares = [Fraction(sum(r in inside for r in pool), len(pool)) for pool in pools]
    return 1 - math.prod((1 - share for share in shares), start=Fraction(1)), sum(shares, Fraction(0))


def true_share(one, _):
    name, values = one.sensitive
    if one.positions is not None:
        return shares_by_position(one, name, values)
    out = []
    for value in values:
        for profile in one.profiles:
            q = {n: v for n, v in profile.items() if n != name}
            line = oracle.attribute(one.release, q, name, "ordered")[oracle.canonical(value)]
            out.append((nan(line["lower"]), nan(line["upper"])))
    return out


def shares_by_position(one, name, values):
    """Return the least and greatest share of a value among the rows of a profile, over the worlds that have one."""
    out = []
    for value in values:
        for profile in one.profiles:
            q = {n: v for n, v in profile.items() if n != name}
            outer, inner = one.positions.numbers(q), one.positions.numbers({**q, name: value})
            found = [i / o for i, o in zip(inner.tolist(), outer.tolist(), strict=True) if o]
            out.append((min(found, default=math.nan), max(found, default=math.nan)))
    return out


def true_locate(one, _):
    """Return, per position and attribute, the parts that its row has in some dataset."""
    domain, found = one.encoded.statements.domain, one.positions
    every = [[parts_of(domain, one.index[row]) for row in found.rows_at(i)] for i in range(found.n)]
    return [[{row[k] for row in rows} for k in range(len(domain.attributes))] for rows in every]


def true_leave_one_out(one, _):
    """The row left out is uniform among the rows (q, v) of all worlds; its cell is known, the row itself is not."""
    space, (name, values) = oracle._Space(one.release), one.sensitive
    possible = oracle.rows(one.release)
    cell = {row: one.signature(row) for row in possible}
    pairs, out = one.shares("ordered"), []
    for value in values:
        for profile in one.profiles:
            q = {n: oracle.canonical(v) for n, v in profile.items() if n != name}
            outer = {r for r in possible if all(space.value_at(n, r) == v for n, v in q.items())}
            inner = {r for r in outer if space.value_at(name, r) == oracle.canonical(value)}
            out.append(left_out(pairs, cell, inner, outer))
    return out


def left_out(pairs, cell, inner, outer):
    own, rest, hits = Counter(), Counter(), Counter()
    whole = math.lcm(*(p.denominator for _, p in pairs))  # whole numbers are much faster than fractions
    for d, p in pairs:
        w = int(p * whole)
        all_of, outside, inside = (Counter(cell[r] for r in d if r in part) for part in (cell, outer, inner))
        for c, z in all_of.items():
            own[c] += w * inside[c]
            rest[c] += w * (z * outside.total() - outside[c])
            hits[c] += w * (z * inside.total() - inside[c])
    counted = [c for c in own if own[c] and rest[c]]
    total, seen = sum(Fraction(own[c] * hits[c], rest[c]) for c in counted), sum(own[c] for c in counted)
    return float(total / seen) if seen else math.nan


def true_per_cell(one, _):
    every = [one.histogram(d) for d in one.datasets]
    return np.min(every, axis=0), np.max(every, axis=0)


def true_extreme(one, how):
    values = [int(one.sums[0] @ one.histogram(d)) for d in one.datasets]
    return max(values) if how == "greatest" else min(values)


def true_joint(one, convention):
    out = Counter()
    for d, p in one.shares(convention):
        out[tuple((one.sums[1:] @ one.histogram(d)).tolist())] += p
    return dict(out)


TRUTHS = {
    "count": true_count,
    "decide": true_decide,
    "share": true_share,
    "leave one out": true_leave_one_out,
    "per cell": true_per_cell,
    "extreme": true_extreme,
    "joint": true_joint,
    "locate": true_locate,
    "settle": lambda one, _: one.datasets,
    "attain": lambda one, _: one.datasets,
    "enumerate": lambda one, _: one.datasets,
    "sample": lambda one, _: one.datasets,
    "most likely": lambda one, _: one.datasets,
}


# ---------------------------------------------------------------- is an answer consistent with the truth?


def consistent(one, question, found):
    """Check an answer against the truth."""
    kind, _, how = question.partition(" ")
    expected = None if one.huge else truth(one, question)
    if kind == "enumerate" and isinstance(found, answers.WorldsAnswer):
        return check_enumerate(one, found)
    if expected is None and not one.huge:
        assert found.status in {"unsat", "unknown", "bounds"}, "an exact answer where there is no world"
        return None
    assert found.status != "unsat", "refuted although there is a world"
    assert found.status in {"exact", "bounds", "unknown"}
    if found.status == "unknown":
        assert any(found.trail), "unknown without a reason"
        return None
    if kind in {"sample", "most"}:
        return (check_sample if kind == "sample" else check_most_likely)(one, found)
    if kind in {"attain", "settle"}:
        return (check_attain if kind == "attain" else check_settle)(one, found)
    if kind == "extreme":
        check_extreme_world(one, found, how == "greatest")
    return None if one.huge else CHECKS.get(question, CHECKS.get(kind))(found, expected)


def check_count(found, expected):
    log2 = math.log2(sum(expected.values()))
    low, high = found.bounds
    assert low <= log2 + 1e-9
    assert high >= log2 - 1e-9
    if found.status == "exact":
        assert found.value == sum(expected.values())
        assert close(found.log2, log2)
        assert close(found.log2_value(), log2)
        assert found.log2_per_rows.keys() == expected.keys()
        assert all(close(found.log2_per_rows[n], math.log2(c)) for n, c in expected.items())
    else:
        assert found.value is None


def check_decide(found, expected):
    assert len(found.low) == len(expected)
    fields = ("probability", "before", "expected", "expected_before")
    for i, (low, high, share, before, mean, mean_before) in enumerate(expected):
        assert found.low[i] <= low <= high <= found.high[i]
        if found.status == "exact":
            assert (found.low[i], found.high[i]) == (low, high)
            assert not found.open[i]
        if not found.open[i]:
            assert (found.low[i] > 0) == (low > 0), "certain"
            assert (found.high[i] == 0) == (high == 0), "impossible"
        for name, want in zip(fields, (share, before, mean, mean_before), strict=True):
            value = getattr(found, name)[i]
            assert close(value, want) or (found.status != "exact" and math.isnan(value)), (name, i, value, want)


def check_share(found, expected):
    assert len(found.lower) == len(found.upper) == len(expected)
    for low, high, (want_low, want_high) in zip(found.lower, found.upper, expected, strict=True):
        if found.status == "exact":
            assert close(low, want_low)
            assert close(high, want_high)
        elif not math.isnan(want_low):
            assert math.isnan(low) or low <= want_low + 1e-9
            assert math.isnan(high) or high >= want_high - 1e-9
            assert math.isnan(low) == math.isnan(high)


def check_leave_one_out(found, expected):
    assert len(found.share) == len(expected)
    for value, want in zip(found.share, expected, strict=True):
        assert close(value, want) or (found.status != "exact" and math.isnan(value)), (value, want)


def check_per_cell(found, expected):
    least, most = expected
    assert (found.minimum <= least).all()
    assert (found.maximum >= most).all()
    if found.status == "exact":
        assert (found.minimum == least).all()
        assert (found.maximum == most).all()


def check_extreme(found, expected):
    low, high = found.bounds
    assert (low, high) != (None, None)
    assert low is None or low <= expected
    assert high is None or expected <= high
    if found.status == "exact":
        assert low == expected == high


def check_joint(found, expected):
    assert found.status == "exact", "there are no bounds on a distribution"
    values = list(map(tuple, found.values.tolist()))
    assert len(set(values)) == len(values)
    assert set(values) == {v for v, p in expected.items() if p}
    for value, share in zip(values, found.shares, strict=True):
        assert close(share, expected[value])


def check_locate(found, expected):
    assert found.start.shape == found.end.shape == (len(expected), len(expected[0]))
    for i, row in enumerate(expected):
        for k, parts in enumerate(row):
            assert found.start[i, k] <= min(parts) <= max(parts) < found.end[i, k]
            assert k not in found.sets or all(found.sets[k][i, p] for p in parts)
    assert (found.status == "exact") == (found.leaves_proved == 1.0)
    assert 0.0 <= found.leaves_proved <= 1.0


CHECKS = {
    "locate": check_locate,
    "count": check_count,
    "decide": check_decide,
    "share": check_share,
    "leave one out": check_leave_one_out,
    "per cell": check_per_cell,
    "extreme": check_extreme,
    "joint": check_joint,
}


def rows_of(one, world):
    """Return the rows of a world as the oracle writes them, after checking it statement by statement."""
    assert (world.times > 0).all()
    indices = [tuple(map(int, r)) for r in np.repeat(world.values, world.times, axis=0).tolist()]
    assert met(one.encoded.statements, indices), "the world breaks a statement"
    rows = written(one, world)
    assert one.huge or rows in one.datasets, "the world is no dataset of the oracle"
    return rows


def written(one, world):
    """Return the rows of a world as the oracle writes them."""
    attributes = one.encoded.domain.all
    rows = [
        tuple(oracle.canonical(a.value(int(i))) for a, i in zip(attributes, r, strict=True))
        for r, times in zip(world.values.tolist(), world.times.tolist(), strict=True)
        for _ in range(times)
    ]
    return tuple(sorted(rows, key=repr))


def check_enumerate(one, found):
    seen, refusal = [], None
    try:
        for world in found.worlds:
            seen.append(rows_of(one, world))
            if one.huge and len(seen) == 50:
                break
    except REFUSALS as error:
        refusal = str(error)
    assert refusal != "", "a refusal without a reason"
    assert refusal or one.huge or set(seen) == one.datasets
    assert len(set(seen)) == len(seen), "a dataset twice"


def check_sample(one, found):
    drawn = [rows_of(one, world) for world in found.worlds]
    assert len(drawn) == DRAWN


def check_attain(one, found):
    (world,) = found.worlds
    rows = rows_of(one, world)
    if not one.huge:
        assert (one.sums[1:] @ one.histogram(rows) == one.target).all()


def check_settle(one, found):
    """Every dataset has as many rows per cell and label as is said, and none outside of the cells."""
    domain = one.encoded.statements.domain
    assert not found.failed, "an honest file is told to contradict what it assumes"
    assert (found.low <= found.high).all()
    assert (found.status == "exact") == bool((found.low == found.high).all())
    for rows in one.datasets:
        times = np.zeros_like(found.low)
        for row in rows:
            at = parts_of(domain, one.index[row])
            cells = [i for i in range(len(found.boxes)) if all(m >> at[k] & 1 for k, m in found.boxes[i].literals)]
            assert len(cells) == 1, "a row of a dataset is in no cell, or in two"
            times[cells[0], at[domain.label]] += 1
        assert (found.low <= times).all()
        assert (times <= found.high).all()


def heaviness(rows):
    return math.factorial(len(rows)) // math.prod(math.factorial(c) for c in Counter(rows).values())


def check_most_likely(one, found):
    (world,) = found.worlds
    rows = rows_of(one, world)
    if one.huge:
        return
    if world.unique is not None:
        assert world.unique == (len(one.datasets) == 1)
    if not world.note:
        most = max(map(len, one.datasets))
        assert heaviness(rows) == max(heaviness(d) for d in one.datasets if len(d) == most)


def check_extreme_world(one, found, greatest):
    inner = found.bounds[0] if greatest else found.bounds[1]
    if found.histogram is not None:
        assert one.system.satisfied(found.histogram)
        assert int(one.sums[0] @ found.histogram) == inner
    if found.world is not None:
        rows = rows_of(one, found.world)
        if not one.huge:
            assert int(one.sums[0] @ one.histogram(rows)) == inner
    if found.status == "exact":
        assert found.bounds[0] == found.bounds[1]
        assert found.histogram is not None


# ---------------------------------------------------------------- asking


@cache
def engine_of(module):
    return solvers.engines.chain.load_engine(dict(solvers.engines.ENGINES)[module])


def present(module):
    """Return an engine whose packages are installed; without them the test is skipped, in CI it fails."""
    engine = engine_of(module)
    if not all(WHEELS.get(name, True) for name in engine.needs):
        pytest.skip(f"{engine.name} has no wheel for this Python or system")
    reason = engine.missing()
    if reason is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return engine


def sensible(one, question):
    """Tell whether a question has a meaning: `assigned` is defined for one tree or rule list only."""
    if question == "settle":
        return not one.name.endswith(SETTLED)
    return not question.endswith("assigned") or one.one_partition


def asked(engine, one, question, release=None, limits=None):
    """Return the answer of one engine, or its reason for giving none."""
    what = one.query(question)
    statements = (release or one.encoded).statements
    if not isinstance(what, engine.answers):
        return f"{engine.name} does not answer {type(what).__name__}"
    if (reason := chain.refusal(engine, statements, what)) is not None:
        assert reason.strip()
        return reason
    try:
        found = engine.answer(statements, what, limits or Limits())
        outer = statements.bags and not engine.uses_bags
        return relaxed_answer(statements, what, found) if outer or chain._unused_parts(statements, what) else found
    except REFUSALS as error:
        reason = str(error)
    assert reason.strip()
    return reason


def cramped(module, one):
    """Return a release and limits: engines for too many cells find them so from the first cell on."""
    return (one.fresh(), Limits(cells=1)) if module == "columns" else (None, None)


def sensible_questions(one):
    return [q for q in QUESTIONS if sensible(one, q)]


@pytest.mark.sampled(14, 20)
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("name", some(GOLDEN))
def test_an_engine_refuses_or_is_right(name, module):
    engine, one = present(module), case(name)
    release, limits = cramped(module, one)
    for question in sensible_questions(one):
        found = asked(engine, one, question, release, limits)
        if not isinstance(found, str):
            try:
                consistent(one, question, found)
            except AssertionError as error:
                raise AssertionError(f"{engine.name}, {name}, {question}: {error}") from error


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(set(MODULES) - {"draws", "likeliest"}))
def test_every_engine_is_exercised(module):
    """An engine that refuses every golden release, or one of its kinds of question on all of them, is untested.

    Golden releases are exact; `likeliest`, for noisy ones, has tests/test_likeliest.py. None is of trees on unknown
    bags; `draws` has tests/test_draws.py. None has real targets: `Targets` has tests/test_targets.py.
    """
    engine = present(module)
    answered = set()
    for name in GOLDEN:
        one = case(name)
        release, limits = cramped(module, one)
        for question in sensible_questions(one):
            kind = type(one.query(question))
            if kind in answered:
                continue
            found = asked(engine, one, question, release, limits)
            if not isinstance(found, str) and found.status != "unknown":
                answered.add(kind)
    assert answered, f"{engine.name} answers nothing on any golden release"
    named = set(engine.answers) - {query.Targets}
    assert answered == named, f"never answered: {named - answered}"


def test_every_question_is_asked():
    asked_for = {type(case(GOLDEN[0]).query(q)) for q in QUESTIONS}
    defined = {one for one in vars(query).values() if isinstance(one, type) and issubclass(one, query.Query)}
    assert asked_for | {query.Targets} == defined - {query.Query}
    assert set(query.QUERIES) < defined


def test_every_engine_is_found():
    found = list(chain.engines())
    files = Path(solvers.engines.__file__).parent.glob("*.py")
    assert {
        p.stem for p in files if re.search(r"^class \w+\((?:Engine|ModelCounter)\)", p.read_text("utf-8"), re.M)
    } == {entry.partition(".")[0] for _, entry in solvers.engines.ENGINES}
    assert [e.name for e in found] == MODULES
    assert all(e.about and e.answers for e in found)


@pytest.mark.sampled(2, 13)
@pytest.mark.parametrize("name", GOLDEN)
def test_the_chain_names_its_engine(name):
    one, found_engines = case(name), list(chain.engines())
    names = [e.name for e in found_engines]
    for question in sensible_questions(one):
        what = one.query(question)
        able = [e for e in found_engines if isinstance(what, e.answers)]
        bags = one.encoded.statements.bags  # engines that use them come first
        able = [e.name for e in sorted(able, key=lambda e: bool(bags) and not e.uses_bags)]
        reasons = ()
        try:
            found = chain.answer(one.encoded.statements, what)
        except Unsupported as error:
            reasons = error.reasons
        if reasons:
            assert [reason.partition(":")[0] for reason in reasons] == able
            continue
        assert found.engine in names
        assert found.seconds >= 0
        refused = able[: able.index(found.engine)]
        assert [line.partition(":")[0] for line in found.trail[: len(refused)]] == refused
        assert all(line.partition(":")[2].strip() for line in found.trail[: len(refused)])
        consistent(one, question, found)


# ---------------------------------------------------------------- releases too large for brute force


def agree(question, exact, other):
    """Check an answer against an exact one of another engine."""
    kind = question.partition(" ")[0]
    if kind == "count":
        low, high = other.bounds
        assert low - 1e-6 <= exact.log2 <= high + 1e-6
        if other.status == "exact":
            assert other.value == exact.value
            assert close(other.log2, exact.log2)
    elif kind == "decide":
        fields = (exact.low, exact.high, exact.probability, exact.before, exact.expected, exact.expected_before)
        check_decide(other, list(zip(*fields, strict=True)))
    elif kind == "share":
        check_share(other, list(zip(exact.lower, exact.upper, strict=True)))
    elif kind == "leave":
        check_leave_one_out(other, list(exact.share))
    elif kind == "per":
        check_per_cell(other, (exact.minimum, exact.maximum))
    elif kind == "extreme":
        check_extreme(other, exact.bounds[0])
    elif kind == "joint":
        check_joint(other, dict(zip(map(tuple, exact.values.tolist()), exact.shares, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_engines_agree_where_sizes_exceed_64_bits(name):
    one = case(name)
    assert one.encoded.statements.domain.size > 1 << 64
    compared = 0
    for question in sensible_questions(one):
        answers = [asked(present(module), one, question) for module in MODULES]
        answers = [a for a in answers if not isinstance(a, str) and a.status in {"exact", "bounds"}]
        exact = [a for a in answers if a.status == "exact"]
        for other in answers if exact else []:
            agree(question, exact[0], other)
            compared += other is not exact[0]
    assert compared >= 10


def test_a_count_of_more_than_64_bits_by_hand():
    """Leaves of 30,000 · 2, 10^20 - 29,999 and as many rows; orders of 7 rows in cells of 2, 1, 1, 1, 2."""
    rest = 10**20 + 1 - 30_000
    assigned = 60_000**3 * rest**4
    orders = math.factorial(7) // (2 * 2)
    one = case("huge_tree")
    for convention, expected in (("assigned", assigned), ("ordered", assigned * orders)):
        assert chain.answer(one.encoded.statements, query.Count(convention)).value == expected
    pairs = 60_000 * 60_001 // 2 * 60_000 * rest * rest * (rest * (rest + 1) // 2)
    found = chain.answer(one.encoded.statements, query.Count("multiset"))
    assert found.value == pairs
    assert close(found.log2, math.log2(pairs))


# ---------------------------------------------------------------- CP-SAT one solve at a time


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["forest_3", "join", "no_rows", "odd_cycle", "table_statistics", "rule_set_open"])
@pytest.mark.parametrize("way", ["nothing listed", "listed by cells"])
def test_cpsat_is_right_where_histograms_are_not_listed(name, way, monkeypatch):
    """Single solves, bounds and worlds found; and the listing over cells where the one row by row is preferred."""
    monkeypatch.setattr(enumeration, "MAX_ROWS", -1)
    if way == "nothing listed":
        monkeypatch.setattr(enumeration, "MAX_LISTED", -1)
        monkeypatch.setattr(enumeration, "MAX_FREE", -1)
    engine, one = present("cpsat"), case(name)
    fresh = encoded(one.release)
    for question in sensible_questions(one):
        found = asked(engine, one, question, fresh)
        if not isinstance(found, str):
            consistent(one, question, found)


# ---------------------------------------------------------------- packages, limits


@pytest.mark.parametrize("module", MODULES)
def test_missing_packages_are_named(module, monkeypatch):
    engine, release = engine_of(module), case("tree_classes").encoded.statements  # encoders are looked for as well
    question = query.Count("ordered") if query.Count in engine.answers else query.MostLikely()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    reason = engine.missing()
    if not engine.needs:
        assert reason is None
        return
    assert engine.needs[0] in reason
    assert "pip install " in reason
    monkeypatch.setattr(chain, "engines", lambda: [engine])
    with pytest.raises(Unsupported, match=r"pip install .* in the folder of recon's source"):
        chain.answer(release, question)
    assert [status for _, _, status in chain.iter_statuses()] == [reason]


@pytest.mark.parametrize("module", MODULES)
def test_in_ci_a_missing_engine_is_red(module, monkeypatch):
    monkeypatch.setattr(type(engine_of(module)), "missing", classmethod(lambda cls: "gone: pip install it"))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="gone"):
        present(module)
    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception):
        present(module)


LIMITED = ("forest_3", "huge_range", "join", "list_contradiction", "list_interval", "no_rows", "odd_cycle")
LIMITED += ("rule_set_open", "table_statistics", "tree_classes", "unique")
FEW = ("join", "list_contradiction", "list_interval", "unique")


def stopped():
    limits = Limits()
    limits.stop.set()
    return limits


TIGHT = {
    "no time": lambda: Limits(seconds=0),
    "no time once the cells are known": lambda: Limits(seconds=0),
    "stopped": stopped,
    "stopped once the cells are known": stopped,
    "one cell": lambda: Limits(cells=1),
    "one megabyte": lambda: Limits(memory=1 << 20),
    "no memory": lambda: Limits(memory=0),
}


@pytest.mark.sampled(6, 20)
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("tight", TIGHT)
@pytest.mark.parametrize("half", some((0, 1)))
def test_limits_end_in_an_honest_answer(half, tight, module):
    """Nothing but a refusal or a true answer comes out of a limit, whatever was known before."""
    engine = present(module)
    processes = isinstance(engine, ModelCounter) or module == "sat"  # one for every question
    for name in (FEW if processes else LIMITED)[half::2]:
        one = case(name)
        fresh = encoded(one.release)
        for question in sensible_questions(one):
            if tight.startswith(("no time", "stopped")):
                fresh = encoded(one.release)
            if tight.endswith("known"):
                system_of(fresh.statements, Limits())
            found = asked(engine, one, question, fresh, TIGHT[tight]())
            if not isinstance(found, str):
                try:
                    consistent(one, question, found)
                except AssertionError as error:
                    raise AssertionError(f"{engine.name}, {name}, {question}, {tight}: {error}") from error


@pytest.mark.sampled(6)
@pytest.mark.parametrize("module", sorted(BY_CELLS))
@pytest.mark.parametrize("name", ["join", "list_interval", "huge_range"])
def test_too_many_cells_name_the_option(name, module):
    one, engine = case(name), present(module)
    assert len(one.system.words) > 1
    for question in sensible_questions(one):
        what = one.query(question)
        fresh = encoded(one.release).statements
        if isinstance(what, engine.answers) and engine.refuses(fresh, what) is None:
            with pytest.raises(Unsupported, match="--max-cells"):
                engine.answer(fresh, what, Limits(cells=1))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("module", some(MODULES))
@pytest.mark.parametrize("tight", ["no time", "stopped", "one megabyte"])
def test_a_limit_met_once_is_forgotten(tight, module):
    """Asked again without the limit, an engine answers as it would have at first."""
    engine = present(module)
    names = ("join", "list_interval", "table_statistics")
    for name in names[:1] if isinstance(engine, ModelCounter) else names:  # a process for every question
        one, fresh = case(name), encoded(case(name).release)
        for question in sensible_questions(one):
            if question.startswith(("count", "joint", "per")):
                asked(engine, one, question, fresh, TIGHT[tight]())
                system_of(fresh.statements, Limits())
                asked(engine, one, question, fresh, TIGHT[tight]())
                later, expected = asked(engine, one, question, fresh), asked(engine, one, question)
                assert isinstance(later, str) == isinstance(expected, str), (name, question, later)
                if not isinstance(later, str):
                    assert later.status == expected.status, (name, question)


# ---------------------------------------------------------------- draws

DRAWS = 150


@pytest.mark.sampled(1, 1)
@pytest.mark.parametrize("module", ["closed_form", "histogram", "cpsat"])
def test_samples_are_uniform(module):
    """Pearson's χ² over all datasets of the golden releases; one in a million would exceed the bound."""
    engine, statistic, freedom = present(module), 0.0, 0
    for name in SMALL:
        one = case(name)
        if not 1 < len(one.datasets) < 300:
            continue
        if one.positions is not None and not engine.uses_bags:  # it draws from more worlds, and says so
            continue
        for convention in ("ordered", "multiset"):
            what = replace(one.query(f"sample {convention}"), k=DRAWS)
            if engine.refuses(one.encoded.statements, what) is not None:
                continue
            found = engine.answer(one.encoded.statements, what, Limits())
            if found.status != "exact":
                continue
            shares = Counter()
            for dataset, share in one.shares(convention):
                shares[tuple(sorted(dataset, key=repr))] += float(share)
            seen = Counter(written(one, world) for world in found.worlds)
            statistic += sum((seen[d] - DRAWS * p) ** 2 / (DRAWS * p) for d, p in shares.items())
            freedom += len(shares) - 1
    assert freedom
    assert statistic < freedom + 5 * math.sqrt(2 * freedom) + 20
