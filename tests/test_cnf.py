"""The CNF of a release against brute force: its models are the ordered worlds, one each, auxiliaries included."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracle
import oracle_coupled
import pytest
import weights
from extras import batches, encoded, extra
from test_engines import met

import recon
from solvers.cells.clauses import gates as totals
from solvers.cells.clauses.gates import FALSE, TRUE, Clauses, clauses_needed
from solvers.cells.clauses.lowering import lower
from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Box, Region, RowSpace
from solvers.statements.release import UNBOUNDED, Choice, Loose, Release, RowCount, Statement

ROOT = Path(__file__).parents[1]
BATCHES = batches(2, 3)
PER_BATCH = 48
MOST = 800  # models listed per release


def models(clauses, variables, most=10**9):
    """Yield every assignment of 1..variables that meets the clauses, as a tuple of literals."""
    extra("pysat")
    from pysat.solvers import Solver

    with Solver(name="glucose4", bootstrap_with=[*clauses, *([v, -v] for v in range(1, variables + 1))]) as solver:
        while solver.solve():
            model = solver.get_model()
            assert list(map(abs, model)) == list(range(1, variables + 1))
            yield tuple(model)
            most -= 1
            assert most, "more models than worlds"
            solver.add_clause([-x for x in model])


def drawn(name, batch):
    """Yield (release, number of ordered worlds) of random releases, every kind of model among them."""
    rng, found = random.Random(f"{name} {batch}"), 0
    while found < PER_BATCH:
        kind = rng.random()
        if kind < 0.2:
            release, _ = oracle.random_release(rng, label_boxes=True)
        elif kind < 0.35:
            release = oracle_coupled.contradictory(rng)
        else:
            release, _ = oracle_coupled.random_coupled(rng, ("table",) if kind < 0.5 else None)
            while kind > 0.85 and not isinstance(release.get("rows"), dict):
                release, _ = oracle_coupled.random_coupled(rng)
        worlds = oracle.count(release, "ordered")
        worlds = sum(worlds.values()) if isinstance(worlds, dict) else worlds
        if worlds > MOST:
            continue
        try:
            got = encoded(release)
        except (recon.ReleaseError, recon.ContradictionError):
            continue  # refused when read
        found += 1
        yield release, got, worlds


def kinds(statements):
    """Name what a release is made of, to see that the random ones leave nothing out."""
    if statements.impossible:
        yield "impossible boxes"
    if not statements.rows.exact:
        yield "open number of rows"
    for block in statements.blocks:
        if isinstance(block, Choice):
            yield "choice"
        elif isinstance(block, Loose):
            yield from ("sum" for s in block if len(set(weights.coefs(s)) - {0}) > 1)
            yield from ("negative" for s in block if min(weights.coefs(s), default=0) < 0)
        else:
            yield "rule list" if block.first_match else "tree"


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_models_are_the_ordered_worlds(batch):
    covered = set()
    for release, got, worlds in drawn("models", batch):
        statements = got.statements
        lowered, seen = lower(statements, Limits()), set()
        for model in models(lowered.clauses, lowered.variables, MOST + 1):
            rows = tuple(map(tuple, lowered.decode(model).tolist()))
            assert met(statements, rows), release
            assert rows not in seen, "two assignments of the auxiliaries of one world"
            seen.add(rows)
        assert len(seen) == worlds, release
        assert recon.count(got, "ordered").value == worlds
        covered.update(kinds(statements))
    assert covered >= {"impossible boxes", "open number of rows", "choice", "sum", "negative", "rule list", "tree"}


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(2))
def test_parts_alone_and_sorted_rows_are_satisfiable_where_a_world_exists(batch):
    for release, got, worlds in drawn("parts", batch):
        for sorted_rows in (False, True):
            lowered = lower(got.statements, Limits(), raw=False, sorted_rows=sorted_rows)
            one = next(models(lowered.clauses, lowered.variables), None)
            assert (one is not None) == (worlds > 0), release
            if one is not None:
                parts = [list(map(max, row, itertools.repeat(0))) for row in lowered.decode(one).tolist()]
                starts = [np.concatenate([[0], np.cumsum(a.sizes)]) for a in got.statements.domain.attributes]
                assert met(got.statements, [[s[p] for s, p in zip(starts, r, strict=True)] for r in parts]), release
                named = [[row[k] for k in lowered.named] for row in parts]
                assert not sorted_rows or named == sorted(named)


def test_sorted_rows_leave_every_dataset_of_parts_once():
    domain = RowSpace((Attribute("a", (1, 1, 1)), Attribute("b", (1,) * 8), Attribute("c", (2, 1))))
    for rows, number in ((RowCount(2, 2), 48 * 49 // 2), (RowCount(0, 2), 1 + 48 + 48 * 49 // 2)):
        every = tuple(Statement.count(Region(Box(((k, 1),))), 0, 2, "free") for k in range(3))
        lowered = lower(Release(domain, rows, (every,)), Limits(), raw=False, sorted_rows=True)
        found = {tuple(map(tuple, lowered.decode(m).tolist())) for m in models(lowered.clauses, lowered.variables)}
        assert len(found) == number
        assert all(list(rows) == sorted(rows) for rows in found)


# ---------------------------------------------------------------- totals


def truth_of(made, inputs, literals):
    """Return, per assignment of the inputs, whether all the literals hold; each has exactly one model."""
    out = {}
    for model in models(made.clauses, made.variables):
        true = set(model)
        key = tuple(x in true for x in inputs)
        assert key not in out, "an auxiliary is free"
        out[key] = all(x in true for x in literals)
    assert len(out) == 2 ** len(inputs)
    return out


@pytest.mark.parametrize("unary", [True, False])
def test_counts(unary, monkeypatch):
    if not unary:
        monkeypatch.setattr(totals, "MAX_UNARY", -1)
    for n in range(6):
        for low, high in itertools.combinations_with_replacement(range(-1, n + 2), 2):
            for more in ((), (TRUE, FALSE)):
                made = Clauses(Limits())
                inputs = [made.fresh() for _ in range(n)]
                signed = [x if i % 3 else -x for i, x in enumerate(inputs)]
                held = truth_of(made, inputs, made.counted([*signed, *more], low, high))
                for key, value in held.items():
                    total = sum(b if i % 3 else not b for i, b in enumerate(key)) + bool(more)
                    assert value == (low <= total <= high)


def test_weighted_sums_and_repeated_literals():
    rng = random.Random(3)
    for _ in range(60):
        made = Clauses(Limits())
        inputs = [made.fresh() for _ in range(rng.randint(0, 5))]
        pool = [*inputs, *(-x for x in inputs), TRUE, FALSE]
        terms = [(rng.choice(pool), rng.choice([0, 1, 1, 2, 3, 7, 2**70])) for _ in range(rng.randint(0, 7))]
        most = sum(w for _, w in terms)
        low, high = sorted(rng.randint(-1, most + 1) for _ in range(2))
        low, high = rng.choice([(low, high), (-UNBOUNDED, high), (low, max(most, UNBOUNDED))])
        for key, value in truth_of(made, inputs, made.summed(terms, low, high)).items():
            true = {x if b else -x for x, b in zip(inputs, key, strict=True)} | {TRUE}
            assert value == (low <= sum(w for x, w in terms if x in true) <= high)


@pytest.mark.parametrize("size", range(9))
def test_groups_of_which_one_holds(size):
    for absent in (False, True):
        made = Clauses(Limits())
        when = made.fresh() if absent else TRUE
        group = [made.fresh() for _ in range(size)]
        made.one_of(group, when)
        found = [sum(x in set(m) for x in group) for m in models(made.clauses, made.variables)]
        assert sorted(found) == [0] * absent + [1] * size


# ---------------------------------------------------------------- sizes, limits, determinism


def huge(sizes=(3, 10**20), low=1, high=1):
    domain = RowSpace((Attribute("x", sizes), Attribute("free", (5,))))
    return Release(domain, RowCount(low, high), ((Statement.count(Region(Box(((0, 1),))), 0, 1, "few"),),))


def test_values_beyond_64_bits_take_few_bits_and_are_decoded_exactly():
    lowered = lower(huge(low=0), Limits())
    assert len(lowered.clauses) < 5_000
    places = {b.offset: b.variable for b in lowered.bits if b.attribute == 0 and b.part == -1}
    part = {b.part: b.variable for b in lowered.bits if b.attribute == 0 and b.part != -1}
    assert sorted(places) == list(range(67))
    for value, fits in ((0, True), (10**20 - 1, True), (10**20, False), (2**66, True), (2**67 - 1, False)):
        given = [part[1], *(v if value >> j & 1 else -v for j, v in places.items())]
        found = next(models([*lowered.clauses, *([x] for x in given)], lowered.variables), None)
        assert (found is not None) == fits
        if fits:
            assert lowered.decode(found)[0, 0] == 3 + value
    small = lower(huge((3, 6), 0), Limits())
    assert sum(1 for _ in models(small.clauses, small.variables)) == 1 + 9 * 5
    lines = list(small.comments())
    assert any("row 1 exists" in x for x in lines)
    assert any("row 1, x in part 1 (values 3..8)" in x for x in lines)
    assert any("x is 4 values further in its part" in x for x in lines)
    assert len(lines) == 1 + len(small.projection())


def test_what_cannot_be_written_out_is_refused():
    with pytest.raises(Unsupported, match="unbounded"):
        lower(huge(high=None), Limits())
    relative = Release(RowSpace(huge().domain.attributes, relative=True), RowCount(1, 1), ())
    with pytest.raises(Unsupported, match="resolution"):
        lower(relative, Limits())
    assert lower(relative, Limits(), raw=False).rows == ((),)
    rough = Release(
        huge().domain, RowCount(1, 1), ((Statement.sum(Region(Box()), 0, 9, "sum", of=0, coefs=(0, 9), coarse=True),),)
    )
    with pytest.raises(Unsupported, match="too many values"):
        lower(rough, Limits())
    assert lower(rough, Limits(), raw=False).variables > 1
    many = huge(low=2_000, high=2_000)
    with pytest.raises(TooLarge, match=r"about [\d,]+ clauses, .* \(--memory\)"):
        lower(many, Limits(memory=1 << 20))
    stopped = Limits()
    stopped.stop.set()
    with pytest.raises(Inconclusive, match="time was up"):
        lower(huge(), stopped)
    lowered = lower(huge(), Limits())
    parts = [b.variable for b in lowered.bits if b.attribute == 0 and b.part != -1]
    for wrong, said in ((parts, "two parts"), ([], "no part")):
        with pytest.raises(EngineError, match=said):
            lowered.decode(wrong)


def test_the_estimate_is_of_the_right_size():
    rng = random.Random(11)
    for _ in range(40):
        release, _ = oracle_coupled.random_coupled(rng)
        statements = encoded(release).statements
        lowered = lower(statements, Limits())
        assert len(lowered.clauses) <= 60 + 4 * clauses_needed(statements, raw=True)


FINGERPRINT = """
import hashlib, json, sys
sys.path[:0] = [{root!r}]
from encoders.encode.encoder import encode
from recon.readers.formats.release.reading import parse, to_domain, to_models, to_rows
from solvers.cells.clauses.lowering import lower
from solvers.foundation.limits import Limits
part = parse(open({path!r}, 'rb').read(), 'memory')
got = encode(to_domain(part.domain), to_models(part), to_rows(part)).statements
made = [lower(got, Limits(), raw=raw, sorted_rows=not raw) for raw in (True, False)]
print(hashlib.sha256(json.dumps([m.clauses for m in made]).encode()).hexdigest())
print(sorted({{m.split('.')[0] for m in sys.modules}} & {{'pysat', 'ortools', 'highspy', 'oxidd'}}))
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["table_statistics", "join", "list_interval"])
def test_the_same_release_gives_the_same_clauses_and_loads_no_solver(name):
    path = ROOT / "tests" / "golden" / f"{name}.json"
    out = set()
    for seed in "12":
        code = FINGERPRINT.format(root=str(ROOT), path=str(path))
        environment = {"PYTHONHASHSEED": seed, "PATH": ""}
        out.add(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
            ).stdout
        )
    (said,) = out
    assert said.splitlines()[1] == "[]"
    here = encoded(json.loads(path.read_text())).statements
    assert lower(here, Limits()).clauses == lower(here, Limits(memory=1 << 40)).clauses


def test_the_modules_of_the_formula_import_no_solver():
    code = (
        "import sys, solvers.cells.clauses.lowering, solvers.kernel.rup\n"
        "print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not {"pysat", "ortools", "highspy", "oxidd", "scipy", "pandas"} & set(json.loads(out.replace("'", '"')))
