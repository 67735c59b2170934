"""Irreducible conflicts against brute force over all datasets, by the statements' own regions and by the oracle."""

from __future__ import annotations

import copy
import json
import random
import re
import time
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import oracle
import oracle_coupled
import pytest
import weights
from extras import batches, extra
from scipy.optimize import LinearConstraint, milp

from encoders.encode.encoder import encode
from recon.readers.formats.release.parts import to_domain, to_models, to_rows
from recon.readers.formats.release.reading import parse
from solvers.foundation.errors import ContradictionError, ReleaseError
from solvers.foundation.limits import Limits
from solvers.programs.quickxplain import UNPROVEN, conflict_of
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.release import UNBOUNDED, Choice, Partition, Release, RowCount, Statement

BATCHES = batches(2, 13)
SIDES = ("at least", "at most")
MAX_ROWS = 7  # the brute force looks at no larger dataset; without the number of rows a world may need more


def encoded(release):
    part = parse(json.dumps(release).encode(), "memory")
    return encode(to_domain(part.domain), to_models(part), to_rows(part)).statements


# ---------------------------------------------------------------- brute force over a release's own regions


def said_as_one(release):
    """Return published statements by source: alternatives, each a list of statements."""
    out = {}
    for block in release.blocks:
        if isinstance(block, Choice):
            out[block.name] = [[*every] for every in block.alternatives]
            continue
        views = (
            [block.statement(s, release.domain) for s in range(len(block))] if isinstance(block, Partition) else block
        )
        for s in views:
            # A mean also says that the group is not empty; those two are one figure.
            key = re.sub(r" \(a (mean|median) was published.*", "", s.source)
            key = next((k for k in out if k == key or k.startswith(key + " (")), key) if key != s.source else s.source
            earlier = next((k for k in out if s.source.startswith(k + " (") and k != s.source), None)
            if earlier is not None:
                out[s.source] = out.pop(earlier)
                key = s.source
            out.setdefault(key, [[]])[0].append(s)
    return out


class Brute:
    """All datasets of up to MAX_ROWS rows as multisets of parts; which of them each statement allows."""

    def __init__(self, release, most=None):
        domain = release.domain
        rows = list(product(*(range(len(a.sizes)) for a in domain.attributes)))
        self.rows = [r for r in rows if not any(Region(b).holds(r) for b in release.impossible)]
        self.low, self.high = release.rows.low, release.rows.high
        self.allowed = {}
        self.statements = said_as_one(release)
        most = most or min(MAX_ROWS, max(5, 0 if self.high is None else self.high + 2))
        while sum(number(len(self.rows), n) for n in range(most + 1)) > 10_000 and most > (self.high or 0):
            most -= 1
        self.most = most
        parts = [np.zeros((1, len(self.rows)), dtype=np.int64)]
        for n in range(1, most + 1):
            sets = np.array(list(combinations_with_replacement(range(len(self.rows)), n)), dtype=np.int64)
            z = np.zeros((len(sets), len(self.rows)), dtype=np.int64)
            for column in sets.T if len(sets) else ():
                np.add.at(z, (np.arange(len(z)), column), 1)
            parts.append(z)
        self.z = np.concatenate(parts)
        self.n = self.z.sum(axis=1)

    def allows(self, source):
        """Return which datasets meet a published statement."""
        if source not in self.allowed:
            fits = np.zeros(len(self.z), dtype=bool)
            for alternative in self.statements[source]:
                fits |= np.logical_and.reduce([self.meets(s) for s in alternative])
            self.allowed[source] = fits
        return self.allowed[source]

    def weights(self, s):
        """Return how often each raw row counts in a statement."""
        return np.array([weights.weight(s, r) for r in self.rows], dtype=np.int64)

    def meets(self, s):
        total = self.z @ self.weights(s)
        return (total >= s.low) & (total <= s.high)

    def has_world(self, sources, lines=()):
        """Tell whether some dataset meets all of these; of a count with a line only the side that the line names."""
        fits = np.ones(len(self.z), dtype=bool)
        for source in sources:
            at_least, at_most = (any(x.startswith(f"{source}: {side}") for x in lines) for side in SIDES)
            if at_least or at_most:
                rows = source == "the number of rows"
                s = None if rows else self.statements[source][0][-1]
                low, high = (self.low, self.high) if rows else (s.low, s.high)
                n = self.n if rows else self.z @ self.weights(s)
                fits &= n >= low if at_least else n <= high
            elif source == "the number of rows":
                fits &= (self.n >= self.low) & (self.n <= (self.most if self.high is None else self.high))
            else:
                fits &= self.allows(source)
        return bool(fits.any()) or ("the number of rows" not in sources and not lines and self.has_large_world(sources))

    def has_large_world(self, sources):
        """Tell whether some dataset of any number of rows meets all of these: an integer program over raw rows."""
        for alternatives in product(*(self.statements[s] for s in sources)):
            stated = [s for every in alternatives for s in every]
            if not self.rows or not stated:
                continue
            matrix = np.stack([self.weights(s) for s in stated]).astype(float)
            low = [-np.inf if s.low == -UNBOUNDED else s.low for s in stated]
            high = [np.inf if s.high == UNBOUNDED else s.high for s in stated]
            found = milp(
                np.ones(len(self.rows)),
                integrality=np.ones(len(self.rows)),
                constraints=LinearConstraint(matrix, low, high),
            )
            if found.status == 0:
                return True
        return False


def number(size, n):
    return oracle_coupled._multisets(size, n) if size else int(n == 0)


def sources_of(lines, statements):
    """Return which published statements the lines name."""
    found = set()
    for line in lines:
        names = [s for s in statements if line == s or line.startswith(s + ": ")]
        if not names:  # that a group is not empty
            names = [s for s in statements if s.startswith(line.partition(" (a m")[0] + " (")]
        found.add(max(names, key=len) if names else "the number of rows")
    return found


def check(release, most=None):
    """Check a conflict: no world, and one as soon as any statement is left out. Returns its lines."""
    lines = conflict_of(release, Limits())
    assert lines, release
    assert UNPROVEN not in lines
    brute = Brute(release, most)
    sources = sources_of(lines, brute.statements)
    assert not brute.has_world(sources), lines
    assert not brute.has_world(sources, lines), lines
    for source in sources:
        assert brute.has_world(sources - {source}), (lines, source)
    return lines


# ---------------------------------------------------------------- hand-made cases


AGE = Attribute("age", (1, 1, 1, 1))
SEX = Attribute("sex", (1, 1))
LABEL = Attribute("y", (1, 1))
DOMAIN = RowSpace((AGE, SEX, LABEL), label=2)
AGES = RowSpace((AGE,))
YOUNG, OLD = Box(((0, 0b0011),)), Box(((0, 0b1100),))
WOMEN, MEN = Box(((1, 0b01),)), Box(((1, 0b10),))


def tree(name, boxes, counts):
    """Return a partition with counts per class, or one for any class where a count is a number."""
    region, label, low = [], [], []
    for j, held in enumerate(counts):
        for c, k in enumerate(held if isinstance(held, tuple) else (held,)):
            region.append(j)
            label.append(c if isinstance(held, tuple) else -1)
            low.append(k)
    at = np.array(low, dtype=np.int64)
    return Partition(
        name,
        Boxes.of(boxes),
        False,
        np.array(region, dtype=np.int32),
        np.array(label, dtype=np.int32),
        at,
        at.copy(),
        tuple(f"leaf {j}" for j in range(len(boxes))),
        ("no", "yes"),
    )


def count(box, low, high, source="table, statement 0 (count)"):
    return Statement.count(Region(box), low, high, source)


def test_two_trees():
    blocks = tree("tree 0", (YOUNG, OLD), ((2, 1), (1, 1))), tree("tree 1", (WOMEN, MEN), ((4, 0), (0, 1)))
    lines = check(Release(DOMAIN, RowCount(5, 5), blocks))
    assert set(lines) in (
        {
            "tree 0, leaf 0, class no: at most 2 rows",
            "tree 0, leaf 1, class no: at most 1 row",
            "tree 1, leaf 0, class no: at least 4 rows",
        },
        {
            "tree 0, leaf 0, class yes: at least 1 row",
            "tree 0, leaf 1, class yes: at least 1 row",
            "tree 1, leaf 0, class yes: 0 rows",
            "tree 1, leaf 1, class yes: at most 1 row",
        },
    )


def test_table_against_a_tree():
    blocks = tree("tree", (YOUNG, OLD), (1, 2)), (count(Box(), 4, 4),)
    lines = check(Release(DOMAIN, RowCount(0, None), blocks))
    assert set(lines) == {
        "tree, leaf 0: at most 1 row",
        "tree, leaf 1: at most 2 rows",
        "table, statement 0 (count): at least 4 rows",
    }


def test_number_of_rows():
    blocks = (count(YOUNG, 2, 3), count(OLD, 3, 4, "table, statement 1 (count)"))
    lines = check(Release(AGES, RowCount(4, 4), (blocks,)))
    assert lines == (
        "the number of rows: at most 4",
        "table, statement 0 (count): at least 2 rows",
        "table, statement 1 (count): at least 3 rows",
    )
    lines = check(Release(AGES, RowCount(8, None), (blocks,)), most=9)
    assert lines == (
        "the number of rows: at least 8",
        "table, statement 0 (count): at most 3 rows",
        "table, statement 1 (count): at most 4 rows",
    )


def test_an_interval_with_both_sides_at_once():
    halves = Statement.sum(Region(Box()), 3, 3, "table, statement 0 (total of age)", of=0, coefs=(0, 2, 4, 6))
    assert check(Release(DOMAIN, RowCount(0, 5), ((halves,),))) == ("table, statement 0 (total of age)",)


def test_mean_outside_the_range():
    release = {
        "recon": 1,
        "domain": {"attributes": [{"name": "age", "min": 1, "max": 4}, {"name": "sex", "values": ["f", "m"]}]},
        "rows": 4,
        "models": [
            {
                "kind": "table",
                "statements": [
                    {"where": {"age": {"at_least": 3}}, "count": 3},
                    {"mean": {"of": "age", "value": 2, "within": 0.1}},
                    {"where": {"sex": "f"}, "count": 2},
                ],
            }
        ],
    }
    lines = check(encoded(release))
    assert [re.sub(r" \(.*?\)", "", line) for line in lines] == [
        "the number of rows: at most 4",
        "table, statement 0: at least 3 rows",
        "table, statement 1",
    ]


def test_median_is_one_statement():
    release = {
        "recon": 1,
        "domain": {"attributes": [{"name": "age", "min": 1, "max": 4}, {"name": "sex", "values": ["f", "m"]}]},
        "rows": 4,
        "models": [
            {
                "kind": "table",
                "statements": [
                    {"where": {"age": {"at_least": 3}}, "count": 3},
                    {"median": {"of": "age", "value": 2.5}},
                    {"where": {"sex": "f"}, "count": 2},
                ],
            }
        ],
    }
    lines = check(encoded(release))
    assert len(lines) == 3
    assert any("median of age" in line for line in lines)
    assert not any("statement 2" in line for line in lines)


def test_impossible_boxes_are_given():
    impossible = (Box(((0, 0b0001), (1, 0b01))),)
    blocks = (count(Box(((0, 0b0001),)), 2, 2), count(MEN, 1, 1, "table, statement 1 (count)"))
    lines = check(Release(DOMAIN, RowCount(5, 5), (blocks,), impossible))
    assert lines == ("table, statement 0 (count): at least 2 rows", "table, statement 1 (count): at most 1 row")


def test_one_statement_alone():
    nobody = (Box(((0, 0b0011),)),)
    lines = check(Release(DOMAIN, RowCount(3, 3), (tree("tree", (YOUNG, OLD), ((1, 0), (1, 1))),), nobody))
    assert lines == ("tree, leaf 0, class no: at least 1 row",)


def test_rule_list_rules_take_what_is_left():
    rules = tree("rule list", (YOUNG, WOMEN, Box()), (1, 2, 0))
    rules = Partition(*(getattr(rules, f) for f in ("kind", "boxes")), True, *(
        getattr(rules, f) for f in ("region", "label", "low", "high", "names", "labels")
    ))  # fmt: skip
    lines = check(Release(DOMAIN, RowCount(3, 3), (rules, (count(OLD, 1, 1),))))
    assert set(lines) == {"rule list, leaf 1: at least 2 rows", "table, statement 0 (count): at most 1 row"}


def test_parity_needs_more_than_propagation():
    pairs = [((0, 0b0011), "a"), ((0, 0b0110), "b"), ((0, 0b0101), "c")]
    stated = tuple(count(Box((literal,)), 1, 1, f"table, statement {name}") for literal, name in pairs)
    lines = check(Release(DOMAIN, RowCount(0, None), (stated,)))
    assert lines == tuple(f"table, statement {name}: 1 row" for name in "abc") or len(lines) == 3


def test_no_conflict_where_there_is_a_world():
    release = Release(DOMAIN, RowCount(5, 5), (tree("tree", (YOUNG, OLD), ((2, 1), (1, 1))),))
    assert conflict_of(release, Limits()) == ()


def test_time_is_up():
    release = Release(DOMAIN, RowCount(4, 4), ((count(YOUNG, 2, 3), count(OLD, 3, 4, "table, statement 1 (count)")),))
    assert conflict_of(release, Limits(seconds=0)) == ()


# ---------------------------------------------------------------- random releases


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_random_conflicts_are_irreducible(batch):
    rng = random.Random(f"conflict {batch}")
    done = 0
    while done < 20:
        try:
            release = encoded(oracle_coupled.contradictory(rng))
        except (ReleaseError, ContradictionError):
            continue  # counts that differ from `rows` or from each other are refused when read
        done += 1
        check(release)


def kept(release, wanted):
    """Return the release with only the wanted figures of its tables and rule sets, and `rows` or not."""
    out = copy.deepcopy(release)
    for m, model in enumerate(out["models"]):
        key = "statements" if model["kind"] == "table" else "rules"
        model[key] = [part for i, part in enumerate(model[key]) if (m, i) in wanted]
    out["models"] = [m for m in out["models"] if m.get("statements") or m.get("rules")]
    if "rows" not in wanted:
        out["rows"] = {"at_least": 0, "at_most": 4}
    return out


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_random_tables_against_the_oracle(batch):
    rng = random.Random(f"conflict of tables {batch}")
    done = 0
    while done < 10:
        release = oracle_coupled.contradictory(rng, ["table", "rule_set"])
        # How a median reads depends on whether its number is odd, which is another statement.
        if any("median" in s or "name" in s for m in release["models"] for s in m.get("statements", m.get("rules"))):
            continue
        if any("counts" in rule for m in release["models"] for rule in m.get("rules", [])):
            continue
        for m, model in enumerate(release["models"]):
            model["name"] = f"model {m}"
        try:
            statements = encoded(release)
        except (ReleaseError, ContradictionError):
            continue
        size = len(oracle.rows(release))
        if size > 16:
            continue
        done += 1
        lines = conflict_of(statements, Limits())
        if statements.rows.exact:
            release["rows"] = statements.rows.low  # where a table counts everybody
        wanted = {"rows" if line.startswith("the number") else named(line) for line in lines}
        assert not oracle.datasets(kept(release, wanted)), (release, lines)
        for one in wanted - {"rows"} if "rows" in wanted else ():  # else a world may need more rows than are listed
            assert oracle.datasets(kept(release, wanted - {one})), (release, lines, one)


def named(line):
    found = re.match(r"model (\d+), (?:statement|rule) (\d+)", line)
    return int(found[1]), int(found[2])


# ---------------------------------------------------------------- a forest


@pytest.mark.slow
def test_real_forest_with_one_row_moved(data, capsys):
    pytest.importorskip("pandas")
    ensemble = extra("sklearn.ensemble")
    import pandas as pd

    import recon
    from recon.readers.loading.loading import models_of

    frame = pd.read_csv(data("compas14.csv.gz"))
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label)
    frame = frame.head(2_000)
    forest = ensemble.RandomForestClassifier(n_estimators=20, bootstrap=False, random_state=0)
    forest.fit(frame.drop(columns=label), frame[label])
    models = []
    for i, fitted in enumerate(forest.estimators_):
        fitted.feature_names_in_, fitted.classes_ = forest.feature_names_in_, forest.classes_
        models.append(replace(models_of(fitted, domain)[0], name=f"tree {i}"))
    release = encode(domain, models).statements
    assert conflict_of(release, Limits()) == ()
    rng = np.random.default_rng(7)
    for b in (3, 11):
        block = release.blocks[b]
        low, high = block.low.copy(), block.high.copy()
        s, t = int(rng.choice(np.flatnonzero(low > 0))), int(rng.integers(len(low)))
        for change in (low, high):
            change[s] -= 1
            change[t] += 1
        if s == t:
            continue
        changed = Partition(
            block.kind, block.boxes, False, block.region, block.label, low, high, block.names, block.labels
        )
        blocks = (*release.blocks[:b], changed, *release.blocks[b + 1 :])
        begun = time.perf_counter()
        lines = conflict_of(Release(release.domain, release.rows, blocks, release.impossible), Limits())
        with capsys.disabled():
            print(f"\nconflict of {sum(map(len, blocks)):,} statements: {time.perf_counter() - begun:.2f} s, {lines}")
        assert lines
        assert UNPROVEN not in lines
        assert any(line.startswith(f"{block.kind}, ") for line in lines)
