"""Exports read back by other means: every solution of every format against brute force over all datasets."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import highspy
import numpy as np
import oracle
import oracle_coupled
import pandas as pd
import pytest
from extras import encoded, extra
from ortools.sat import cp_model_pb2
from ortools.sat.python import cp_model
from test_against_oracle import random_profile

import recon
from recon.models.exporting import FORMATS, export, restored
from recon.readers.frames.world import violations
from solvers.cells.system import system_of
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import Choice

ENDINGS = {"mps": ".mps", "opb": ".opb", "cpsat": ".pb", "dimacs": ".cnf"}
OVER_CELLS = ("mps", "opb", "cpsat")
INFINITE = 1 << 60


# ---------------------------------------------------------------- readers that share nothing with the writers


class Every(cp_model.CpSolverSolutionCallback):
    def __init__(self, variables):
        super().__init__()
        self.variables, self.found = variables, []

    def on_solution_callback(self):
        self.found.append({name: self.value(x) for name, x in self.variables.items()})


def solutions(model, variables):
    """Return every solution of a CP-SAT model, none of them twice unless variables that are not named differ."""
    assert model.validate() == ""
    solver, seen = cp_model.CpSolver(), Every(variables)
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    status = solver.solve(model, seen)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return seen.found


def solutions_of(upper, rows):
    """Return every solution of rows (coefficients by name, low, high), each variable 0..upper[name]."""
    model = cp_model.CpModel()
    variables = {name: model.new_int_var(0, most, name) for name, most in upper.items()}
    for terms, low, high in rows:
        total = cp_model.LinearExpr.weighted_sum([variables[x] for x in terms], list(terms.values()))
        model.add_linear_expression_in_domain(total, cp_model.Domain(low, high))
    return solutions(model, variables)


def read_mps(text):
    """Return (upper, rows) of free MPS: kinds, ranges and bounds as the format defines them."""
    section, kinds, terms, right, ranges, upper = "", {}, {}, {}, {}, {}
    for line in text.splitlines():
        if line.startswith("*"):
            continue
        words = line.split()
        if not line.startswith(" "):
            section = words[0]
        elif section == "ROWS":
            kinds[words[1]] = words[0]
            terms[words[1]] = {}
        elif section == "COLUMNS" and "'MARKER'" not in words:
            terms[words[1]][words[0]] = int(words[2])
            upper.setdefault(words[0], None)
        elif section == "RHS":
            right[words[1]] = int(words[2])
        elif section == "RANGES":
            ranges[words[1]] = int(words[2])
        elif section == "BOUNDS":
            assert words[0] in ("UP", "FX")
            upper[words[2]] = int(words[3])
    rows = []
    for name, kind in kinds.items():
        if kind != "N":
            low = -INFINITE if kind == "L" else right[name]
            high = INFINITE if kind == "G" and name not in ranges else right[name] + ranges.get(name, 0)
            rows.append((terms[name], low, high))
    return upper, rows


def read_opb(text):
    """Return (upper, rows) of a pseudo-Boolean file in the competition's format."""
    head = re.match(r"\* #variable= (\d+) #constraint= (\d+)\n", text)
    upper = {f"x{i + 1}": 1 for i in range(int(head[1]))}
    rows = []
    for line in text.splitlines():
        if not line.startswith("*"):
            found = re.fullmatch(r"((?:[+-]\d+ x\d+ )+)(>=|=) (-?\d+) ;", line)
            words = found[1].split()
            terms = dict(zip(words[1::2], map(int, words[::2]), strict=True))
            assert len(terms) == len(words) // 2
            rows.append((terms, int(found[3]), int(found[3]) if found[2] == "=" else INFINITE))
    assert len(rows) == int(head[2])
    return upper, rows


def read_cpsat(path):
    proto = cp_model_pb2.CpModelProto()
    proto.ParseFromString(Path(path).read_bytes())
    model = cp_model.CpModel()
    model.proto.parse_text_format(str(proto))
    return model, {v.name: model.get_int_var_from_proto_index(i) for i, v in enumerate(proto.variables)}


def read_dimacs(text):
    variables, clauses, shown, ind = 0, [], [], []
    for line in text.splitlines():
        words = line.split()
        if line.startswith("c p show"):
            shown += words[3:-1]
        elif line.startswith("c ind"):
            ind += words[2:-1]
        elif line.startswith("p cnf"):
            variables, number = int(words[2]), int(words[3])
        elif not line.startswith("c"):
            assert words[-1] == "0"
            clauses.append([int(x) for x in words[:-1]])
    assert len(clauses) == number
    assert shown == ind
    assert all(1 <= abs(x) <= variables for clause in clauses for x in clause)
    return variables, clauses, [int(x) for x in shown]


def read(to, path):
    """Return every solution of an exported file over cells."""
    if to == "cpsat":
        return solutions(*read_cpsat(path))
    text = Path(path).read_text()
    return solutions_of(*(read_mps if to == "mps" else read_opb)(text))


def passes(test, value):
    """Tell whether a value passes a test of the map."""
    if not isinstance(test, dict):
        return oracle.canonical(test) == value
    compare = {
        "at_least": lambda a: value >= a,
        "at_most": lambda a: value <= a,
        "above": lambda a: value > a,
        "below": lambda a: value < a,
    }
    return all(compare[key](oracle.canonical(end)) for key, end in test.items())


def cell_of(found, row):
    """Return the cell of the map that a raw row is in, None where it was left out; never two."""
    values = {a["name"]: v for a, v in zip(found["attributes"], row, strict=True)}
    hits = [
        i
        for i, cell in enumerate(found["cells"])
        for box in cell["boxes"]
        if all(any(passes(test, values[name]) for test in tests) for name, tests in box.items())
    ]
    assert len(hits) <= 1
    return hits[0] if hits else None


def cells_of(release, found):
    """Return raw row -> cell for the whole row space, checked against the sizes of the map."""
    where = {row: cell_of(found, row) for row in oracle.rows(release)}
    held = Counter(c for c in where.values() if c is not None)
    assert [str(held[i]) for i in range(len(found["cells"]))] == [c["raw_rows"] for c in found["cells"]]
    return where


def histogram(found, solution):
    """Return the histogram of a solution by the map."""
    if found["format"] != "opb":
        return tuple(solution[c["variable"]] for c in found["cells"])
    return tuple(sum(solution[x] << b for b, x in enumerate(c["digits"])) for c in found["cells"])


def exported(got, to, folder, name="release"):
    """Return (path, map) of an export."""
    done = export(got, to, str(folder / f"{name}{ENDINGS[to]}"))
    return done.path, json.loads(Path(done.map).read_text())


def releases(test, number):
    """Yield random releases; every third has a choice (the median of an even number of rows)."""
    rng = random.Random(f"export {test}")
    for i in range(number):
        while True:
            release, truth = oracle_coupled.random_coupled(rng, ["table", "tree"] if i % 3 == 0 else None)
            got = encoded(release)
            if i % 3 or any(isinstance(block, Choice) for block in got.statements.blocks):
                break
        yield rng, release, truth, got


def table_release(attribute, rows, *figures, **more):
    domain = {"attributes": [attribute], **more}
    return {"recon": 1, "domain": domain, "rows": rows, "models": [{"kind": "table", "statements": list(figures)}]}


# ---------------------------------------------------------------- all solutions are all histograms


@pytest.mark.slow
def test_solutions_are_the_histograms_one_to_one(tmp_path):
    choices = opened = 0
    for _, release, _, got in releases("histograms", 24):
        expected = None
        for to in OVER_CELLS:
            path, found = exported(got, to, tmp_path)
            if expected is None:
                where = cells_of(release, found)
                tally = [Counter(where[row] for row in rows) for rows in oracle.datasets(release)]
                assert all(None not in one for one in tally), release  # no world has a row in a cell left out
                expected = {tuple(one[c] for c in range(len(found["cells"]))) for one in tally}
                choices += bool(found["choices"])
                opened += not got.rows.exact
            listed = [histogram(found, one) for one in read(to, path)]
            assert len(listed) == len(set(listed)), (to, release)
            assert set(listed) == expected, (to, release)
        by_rows = Counter()
        for z in expected:
            ways = math.prod(int(c["raw_rows"]) ** k for c, k in zip(found["cells"], z, strict=True))
            by_rows[sum(z)] += math.factorial(sum(z)) * ways // math.prod(map(math.factorial, z))
        count = oracle.count(release, "ordered")
        assert by_rows == Counter(count if isinstance(count, dict) else {got.rows.low: count}), release
    assert choices >= 8
    assert opened > 3


@pytest.mark.slow
def test_contradictions_stay_infeasible(tmp_path):
    rng, seen = random.Random("export contradictions"), 0
    while seen < 20:
        release = oracle_coupled.contradictory(rng)
        try:
            got = encoded(release)
        except (ReleaseError, ContradictionError):
            continue  # refused when read
        seen += 1
        for to in OVER_CELLS:
            path, _ = exported(got, to, tmp_path)
            assert read(to, path) == [], (to, release)
        assert status_of(highs_of(tmp_path / "release.mps")) == "infeasible", release


# ---------------------------------------------------------------- HiGHS


def highs_of(path):
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    return solver


def status_of(solver):
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kModelEmpty:  # no column: feasible, if no row asks for anything
        lp = solver.getLp()
        met = all(a <= 0 <= b for a, b in zip(lp.row_lower_, lp.row_upper_, strict=True))
        return "optimal" if met else "infeasible"
    return {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
    }[status]


@pytest.mark.slow
def test_highs_reads_what_was_written_and_agrees_on_extremes(tmp_path):
    wide = 0
    for rng, release, truth, got in releases("highs", 60):
        path, found = exported(got, "mps", tmp_path)
        solver, (upper, rows) = highs_of(path), read_mps(Path(path).read_text())
        lp = solver.getLp()
        assert list(lp.col_upper_) == list(upper.values())
        assert all(lp.col_upper_[c] == got.rows.high for c in range(len(found["cells"])))
        assert list(lp.col_lower_) == [0] * len(upper)
        assert all(kind == highspy.HighsVarType.kInteger for kind in lp.integrality_)
        assert [max(x, -INFINITE) for x in lp.row_lower_] == [low for _, low, _ in rows]
        assert [min(x, INFINITE) for x in lp.row_upper_] == [high for _, _, high in rows]
        if not found["cells"]:
            assert status_of(solver) == "optimal"
            continue
        profile = random_profile(rng, release, truth)
        where, space = cells_of(release, found), oracle._Space(release)
        inside, outside = set(), set()
        for row, c in where.items():
            (inside if space.holds(profile, row) else outside).add(c)
        line = recon.bound(got, profile)
        ends = []
        for cells, sense in ((inside - outside, highspy.ObjSense.kMinimize), (inside, highspy.ObjSense.kMaximize)):
            for c in range(len(found["cells"])):
                solver.changeColCost(c, float(c in cells))
            solver.changeObjectiveSense(sense)
            assert status_of(solver) == "optimal", release
            ends.append(round(solver.getInfo().objective_function_value))
        assert ends == [line.min, line.max], (release, profile)
        wide += ends[0] < ends[1]
    assert wide > 10


# ---------------------------------------------------------------- clauses


@pytest.mark.slow
def test_models_of_the_clauses_are_the_ordered_worlds(tmp_path):
    pysat = extra("pysat.solvers")
    seen = 0
    for _, release, _, got in releases("clauses", 80):
        expected = oracle.count(release, "ordered")
        number = sum(expected.values()) if isinstance(expected, dict) else expected
        if number > 200 or seen == 30:
            continue
        seen += 1
        path, found = exported(got, "dimacs", tmp_path)
        variables, clauses, shown = read_dimacs(Path(path).read_text())
        assert found["variables"] == variables
        assert sorted(bit["variable"] for bit in found["bits"]) == sorted(shown)
        with pysat.Solver("cadical153", bootstrap_with=clauses) as solver:
            for x in range(1, variables + 1):  # a twin each, so that variables in no clause are seen too
                solver.add_clause([x, -x - variables])
                solver.add_clause([-x, x + variables])
            models = []
            while solver.solve() and len(models) <= number:
                models.append(solver.get_model()[:variables])
                solver.add_clause([-x for x in models[-1]])  # auxiliaries too: each is a function of the rows
        assert len(models) == number, release
        worlds = set()
        for model in models[:2]:
            rows = [tuple(map(oracle.canonical, row)) for row in back(got, path, model).itertuples(index=False)]
            worlds.add(tuple(rows))
            assert tuple(sorted(rows, key=repr)) in {tuple(sorted(d, key=repr)) for d in oracle.datasets(release)}
        assert len(worlds) == min(2, number)
    assert seen == 30


def test_contradictory_clauses_have_no_model(tmp_path):
    pysat = extra("pysat.solvers")
    rng, seen = random.Random("export contradictory clauses"), 0
    while seen < 20:
        try:
            got = encoded(oracle_coupled.contradictory(rng))
        except (ReleaseError, ContradictionError):
            continue
        seen += 1
        path, _ = exported(got, "dimacs", tmp_path)
        with pysat.Solver("cadical153", bootstrap_with=read_dimacs(Path(path).read_text())[1]) as solver:
            assert not solver.solve()


# ---------------------------------------------------------------- back


def back(got, path, solution):
    """Return the rows of a solution of an exported file, written down as JSON."""
    Path(f"{path}.solution").write_text(json.dumps(solution))
    return restored(got, f"{path}.map.json", f"{path}.solution").to_frame()


@pytest.mark.slow
def test_solutions_come_back_as_worlds_and_wrong_ones_are_told(tmp_path):
    wrong = 0
    for rng, _, _, got in releases("back", 75):
        to = rng.choice(OVER_CELLS)
        path, found = exported(got, to, tmp_path)
        solution = rng.choice(read(to, path))
        frame = back(got, path, solution if to == "opb" else {x: float(v) + 1e-9 for x, v in solution.items()})
        assert violations(got, frame) == []
        assert list(frame.columns) == [a["name"] for a in found["attributes"]]
        rows = [tuple(map(oracle.canonical, row)) for row in frame.itertuples(index=False)]
        held = Counter(cell_of(found, row) for row in rows)
        assert tuple(held[i] for i in range(len(found["cells"]))) == histogram(found, solution)
        if to == "opb" or not found["cells"]:
            continue
        other = {c["variable"]: 0 for c in found["cells"]}
        for _ in range(len(rows)):
            other[rng.choice(list(other))] += 1
        right = any(histogram(found, one) == tuple(other.values()) for one in read(to, path))
        if right:
            assert len(back(got, path, other)) == len(rows)
        else:
            with pytest.raises(ReleaseError, match="the solution is none of this model"):
                back(got, path, other)
        wrong += not right
    assert wrong > 20


def test_back_says_which_statement_is_broken_and_refuses_nonsense(tmp_path):
    release = table_release({"name": "x", "values": [0, 1]}, 3, {"where": {"x": 1}, "count": 2})
    got = encoded(release)
    path, found = exported(got, "mps", tmp_path)
    one = next(c["variable"] for c in found["cells"] if c["boxes"] == [{"x": [1]}])
    zero = next(c["variable"] for c in found["cells"] if c["variable"] != one)
    assert back(got, path, {one: 2, zero: 1})["x"].value_counts().to_dict() == {1: 2, 0: 1}
    for solution, said in (
        ({"c9": 1}, "not a variable"), ({one: 1.5}, "whole"), ({one: -1}, "no whole number"),
        ({one: 4}, "none of this"), ({one: 3}, "1.: 2 as released, 3 in"), ({}, "none of this"),
        ([1, 2], "not a literal"), ({one: "2"}, "not a number"),
    ):  # fmt: skip
        with pytest.raises(ReleaseError, match=said):
            back(got, path, solution)
    where, nothing = f"{path}.map.json", str(tmp_path / "nothing")
    with pytest.raises(ReleaseError, match="cannot be read"):
        restored(got, nothing, f"{path}.solution")
    with pytest.raises(ReleaseError, match="cannot be read"):
        restored(got, where, nothing)
    with pytest.raises(ReleaseError, match="not a map"):
        restored(got, path, f"{path}.solution")
    other = encoded(table_release({"name": "x", "values": [0, 1]}, 3, {"where": {"x": 1}, "count": 1}))
    with pytest.raises(ReleaseError, match="the map of another release"):
        back(other, path, {one: 2, zero: 1})
    path, found = exported(got, "dimacs", tmp_path)
    ones = {b["variable"]: 1 for b in found["bits"] if b.get("values") == [1]}
    with pytest.raises(ReleaseError, match=r"x = 1.*: 2 rows released, 3 in the"):
        back(got, path, ones)
    with pytest.raises(ReleaseError, match="no part of some attribute"):
        back(got, path, {})
    with pytest.raises(ReleaseError, match="not a variable"):
        back(got, path, {"9999999": 1})


def test_solutions_are_read_as_solvers_print_them(tmp_path):
    """HiGHS's own file; lines of SAT and pseudo-Boolean solvers, and what is none of these."""
    got = encoded(table_release({"name": "x", "values": [0, 1]}, 3, {"where": {"x": 1}, "count": 2}))
    for to in FORMATS:
        path, _ = exported(got, to, tmp_path)
        where, out = f"{path}.map.json", tmp_path / "printed"
        if to == "mps":
            solver = highs_of(path)
            solver.run()
            solver.writeSolution(str(out), 0)
        elif to == "cpsat":
            out.write_text("".join(f"{x} {v}\n" for x, v in read(to, path)[0].items()))
        elif to == "opb":
            words = (x if v else f"-{x}" for x, v in read(to, path)[0].items())
            out.write_text(f"c by a solver\ns SATISFIABLE\nv {' '.join(words)} \n")
        else:
            _, clauses, _ = read_dimacs(Path(path).read_text())
            with extra("pysat.solvers").Solver("cadical153", bootstrap_with=clauses) as solver:
                assert solver.solve()
                out.write_text(f"s SATISFIABLE\nv {' '.join(map(str, solver.get_model()))} 0\n")
        assert sorted(restored(got, where, str(out)).to_frame()["x"]) == [0, 1, 1], to
        for text in ("", "nothing at all\n", "[1, true]", "{", "v 1 y 0", "c0 many"):
            out.write_text(text)
            with pytest.raises(ReleaseError):
                restored(got, where, str(out))


def test_alternatives_follow_from_the_cells(tmp_path):
    """The median of four values 0, 1, 2 is 1: both middle ones are 1, or they are 0 and 2."""
    got = encoded(table_release({"name": "x", "values": [0, 1, 2]}, 4, {"median": {"of": "x", "value": 1}}))
    path, found = exported(got, "mps", tmp_path)
    names = {c["boxes"][0]["x"][0]: c["variable"] for c in found["cells"]}
    for values, held in (((0, 1, 1, 2), 1), ((0, 0, 2, 2), 1), ((0, 0, 1, 2), 0), ((1, 2, 2, 2), 0)):
        solution = Counter(names[v] for v in values)
        if held:
            assert sorted(back(got, path, solution)["x"]) == list(values)
            with pytest.raises(ReleaseError, match="alternatives"):
                back(got, path, {**solution, "y0_0": 1, "y0_1": 1})
        else:
            with pytest.raises(ReleaseError, match="exactly one alternative"):
                back(got, path, solution)


# ---------------------------------------------------------------- files


def same_release():
    rng = random.Random("export bytes")
    while True:
        release, _ = oracle_coupled.random_coupled(rng, ["table", "forest"])
        got = encoded(release)
        if got.statements.blocks and len(system_of(got.statements, Limits()).choices) > 0:
            return got


def digests(folder):
    """Return the SHA-256 of every file of every format."""
    got = same_release()
    for to in FORMATS:
        export(got, to, str(folder / f"a{ENDINGS[to]}"))
        export(got, to, str(folder / f"a{ENDINGS[to]}.gz"))
    export(got, "cpsat", str(folder / "a.pbtxt"))
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


@pytest.mark.slow
def test_the_same_release_gives_the_same_bytes(tmp_path):
    (tmp_path / "here").mkdir()
    here = digests(tmp_path / "here")
    assert len(here) == 18
    code = (
        "import json, sys, time; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "import test_export as t\nprint(json.dumps(t.digests(Path(sys.argv[2]))))"
    )
    (tmp_path / "there").mkdir()
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path / "there")]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert json.loads(out) == here
    for to in FORMATS:
        plain = tmp_path / "here" / f"a{ENDINGS[to]}"
        assert gzip.decompress(Path(f"{plain}.gz").read_bytes()) == plain.read_bytes()
    proto = cp_model_pb2.CpModelProto()
    proto.ParseFromString((tmp_path / "here" / "a.pb").read_bytes())
    assert (tmp_path / "here" / "a.pbtxt").read_text() == str(proto)
    assert "nothing is presolved" in proto.name


def test_standard_output(tmp_path, capsys):
    got = same_release()
    for to in ("mps", "opb", "dimacs"):
        path, _ = exported(got, to, tmp_path)
        capsys.readouterr()
        assert export(got, to, "-").map is None
        told = capsys.readouterr().out.splitlines()
        written = Path(path).read_text().splitlines()
        assert len(told) == len(written)
        assert [a for a, b in zip(told, written, strict=True) if a != b] == [told[0][0] + " " + export_without_map()]
    with pytest.raises(ReleaseError, match="pbtxt"):
        export(got, "cpsat", "-")


def export_without_map():
    return "without a map: it is written beside files only"


def test_refusals_leave_nothing_behind(tmp_path):
    got = encoded(table_release({"name": "x", "values": [0, 1]}, 3, {"where": {"x": 1}, "count": 2}))
    out = str(tmp_path / "out.mps")
    with pytest.raises(ReleaseError, match="no format 'lp': choose mps, opb, cpsat, dimacs"):
        export(got, "lp", out)
    with pytest.raises(ReleaseError, match="cannot be written"):
        export(got, "mps", str(tmp_path / "no" / "folder.mps"))
    with pytest.raises(ReleaseError, match="not a regular file"):
        export(got, "mps", str(tmp_path))
    with pytest.raises(ReleaseError, match="not a regular file"):
        export(got, "mps", os.devnull)
    opened = encoded(table_release({"name": "x", "values": [0, 1]}, {"at_least": 3}, {"where": {"x": 1}, "count": 2}))
    for to in FORMATS:
        with pytest.raises(Unsupported, match="unbounded"):
            export(opened, to, out)
    figures = [{"where": {"x": v}, "at_most": 5} for v in range(50)]
    many = encoded(table_release({"name": "x", "min": 0, "max": 99}, 30, *figures))
    with pytest.raises(TooLarge, match="--max-cells"):
        export(many, "mps", out, Limits(cells=10))
    with pytest.raises(TooLarge, match="--memory"):
        export(many, "dimacs", out, Limits(memory=1 << 16))
    system_of(got.statements, Limits())
    assert list(tmp_path.iterdir()) == []
    Path(out).write_text("old")
    with pytest.raises(Inconclusive, match="time was up"):
        export(got, "mps", out, Limits(seconds=0))
    assert [p.name for p in tmp_path.iterdir()] == ["out.mps"]
    assert Path(out).read_text() == "old"


def test_a_continuous_attribute_is_exported_over_cells_only(tmp_path):
    x = {"name": "x", "min": 0, "max": 10, "resolution": None}
    figures = [{"where": {"x": {"above": 2.5}}, "count": 2}, {"where": {"x": {"at_most": 7}}, "count": 3}]
    got = encoded(table_release(x, 4, *figures))
    for to in OVER_CELLS:
        path, found = exported(got, to, tmp_path)
        assert all(c["raw_rows"] is None for c in found["cells"])
        boxes = [c["boxes"] for c in found["cells"]]
        assert [{"x": [{"above": 2.5, "at_most": 7}]}] in boxes
        (solution,) = read(to, path)
        x = back(got, path, solution)["x"]
        assert sorted((x > 2.5) * 1 + (x > 7)) == [0, 0, 1, 2]
    with pytest.raises(Unsupported, match="resolution"):
        exported(got, "dimacs", tmp_path)


def test_loosened_statements_are_named(tmp_path):
    income = {"name": "income", "min": 0, "max": 100_000}
    got = encoded(table_release(income, 5, {"mean": {"of": "income", "value": 20_000}}))
    path, found = exported(got, "opb", tmp_path)
    assert any(line.startswith("coarse: ") for line in found["meaning"])
    assert "* coarse: " in Path(path).read_text()
    assert read("opb", path)
    with pytest.raises(Unsupported):
        exported(got, "dimacs", tmp_path)


def test_large_numbers_are_written_in_full(tmp_path):
    x = {"name": "x", "values": [0, 1, 3 * 10**16]}
    release = table_release(x, 3, {"total": {"of": "x", "value": 6 * 10**16 + 1}})
    got = encoded(release)
    for to in OVER_CELLS:
        path, found = exported(got, to, tmp_path)
        (solution,) = read(to, path)
        assert sorted(back(got, path, solution)["x"]) == [1, 3 * 10**16, 3 * 10**16]
        assert str(6 * 10**16 + 1) in [c.get("at_most") for c in found["constraints"]]
    assert "beyond 2^53" in (tmp_path / "release.mps").read_text()
    most = encoded(table_release({"name": "x", "values": [0, 1]}, 1 << 53, {"where": {"x": 1}, "count": (1 << 53) - 7}))
    for to in OVER_CELLS:
        path, found = exported(most, to, tmp_path)
        (solution,) = read(to, path)
        assert sorted(histogram(found, solution)) == [7, (1 << 53) - 7]
    with pytest.raises(Unsupported):
        exported(most, "dimacs", tmp_path)


def test_names_with_line_ends_stay_in_their_comment(tmp_path):
    x = {"name": "x\n+1 x1 >= 9 ;\nc", "values": ["a\nROWS", "b"]}
    release = table_release(x, 3, {"name": "n\r\n1 2 0", "where": {x["name"]: "b"}, "count": 2})
    got = encoded(release)
    for to in OVER_CELLS:
        path, _ = exported(got, to, tmp_path)
        (solution,) = read(to, path)
        assert set(back(got, path, solution)[x["name"]]) == set(x["values"])
    path, _ = exported(got, "dimacs", tmp_path)
    assert len(read_dimacs(Path(path).read_text())[1]) > 3


# ---------------------------------------------------------------- a real size


def forest(rows, trees):
    sklearn = extra("sklearn.ensemble")
    draw = np.random.default_rng(5)
    people = pd.DataFrame({f"a{k}": draw.integers(0, 3 + k % 4, 400) for k in range(6)})
    frame = people.iloc[draw.integers(0, 400, rows)].reset_index(drop=True)  # people are alike, as they are
    frame["y"] = (frame["a2"] + frame["a3"] + draw.integers(0, 5, rows) > 6).astype(int)
    model = sklearn.RandomForestClassifier(trees, bootstrap=False, random_state=0)
    model.fit(frame.drop(columns="y"), frame["y"])
    return frame, recon.encode(model, recon.Domain.from_frame(frame, label="y"))


def true_histogram(found, frame):
    """Return how many rows of a frame each cell of the map holds."""
    z = np.zeros(len(found["cells"]), dtype=np.int64)
    left = np.ones(len(frame), dtype=bool)
    for c, cell in enumerate(found["cells"]):
        for box in cell["boxes"]:
            inside = np.ones(len(frame), dtype=bool)
            for name, tests in box.items():
                values = [
                    v for t in tests for v in (range(t["at_least"], t["at_most"] + 1) if isinstance(t, dict) else [t])
                ]
                inside &= np.isin(frame[name].to_numpy(), values)
            z[c] += inside.sum()
            left &= ~inside
    assert not left.any()
    return z


@pytest.mark.slow
def test_a_forest_of_2000_rows_and_20_trees(tmp_path):
    frame, got = forest(2_000, 20)
    sizes = {}
    for to in OVER_CELLS:
        begun = time.perf_counter()
        path, found = exported(got, to, tmp_path)
        print(f"{to}: {time.perf_counter() - begun:.2f} s, {os.path.getsize(path):,} bytes, ", end="")
        print(
            f"{len(found['cells']):,} cells, {len(found['constraints']):,} constraints, {found['left_out']:,} left out"
        )
        sizes[to] = len(found["constraints"])
    assert len(set(sizes.values())) == 1
    z = true_histogram(found, frame)
    assert z.sum() == 2_000
    lp = highs_of(tmp_path / "release.mps").getLp()
    activity = np.zeros(lp.num_row_)
    start, index, value = lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_
    for c in range(lp.num_col_):
        span = slice(start[c], start[c + 1])
        activity[index[span]] += z[c] * np.array(value[span])
    assert (activity >= np.array(lp.row_lower_)).all()
    assert (activity <= np.array(lp.row_upper_)).all()
    assert lp.num_row_ == sizes["mps"]
    assert len(back(got, tmp_path / "release.mps", {f"c{c}": int(n) for c, n in enumerate(z)})) == 2_000
    model, variables = read_cpsat(tmp_path / "release.pb")
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    values = {name: solver.value(x) for name, x in variables.items()}
    assert violations(got, back(got, tmp_path / "release.pb", values)) == []
    assert len(read_opb((tmp_path / "release.opb").read_text())[1]) == sizes["opb"] + len(found["cells"])
