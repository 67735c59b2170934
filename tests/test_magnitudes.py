"""Tables of totals: rules on contributions by their definitions, intervals and cheapest patterns by brute force."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from recon.cli.app import app
from recon.readers.formats.tables.magnitudes import RespondentColumns, argus_files, table_of_argus, table_of_rows
from recon.release.policies.magnitudes import SENSITIVITY, TotalCell, _open_enough
from recon.release.remediation.hidden_totals import checked_totals, hidden_already, pattern_of_totals, totals_task
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.suppression.dominance import RecordNotes, RequestRule, contributions_of, levels_of
from solvers.suppression.intervals import cell_intervals
from solvers.suppression.patterns import incremental_pattern

RUN = CliRunner().invoke
THRESHOLDS = {
    "magnitudes.p_percent": 20, "magnitudes.prior_posterior": (15, 60), "magnitudes.dominance": (2, 80),
    "magnitudes.contributors": (3, 25), "magnitudes.request": (60, 40, 15), "magnitudes.zero": 7,
}  # fmt: skip


def by_definition(key, value, each):
    """Return (sensitive, least whole level that is no longer sensitive) of contributions, from the rules' words.

    The level of the p %, (p, q) and (n, k) rules is what has to be added to the rest of a cell to make it safe.
    """
    xs, total = sorted(each, reverse=True) + [0] * 12, sum(each)
    if key == "magnitudes.zero":
        return bool(each) and not total, value if each and not total else 0
    if key == "magnitudes.request":  # of drawn contributions the first is asked for as its number says
        asks = {i % 4 for i, x in enumerate(each) if x == xs[0]}
        over = [
            k for bit, k in ((1, value[0]), (2, value[1])) if xs[0] * 100 > k * total and any(a & bit for a in asks)
        ]
        return bool(over), max(1, -(-value[2] * total // 100)) if over else 0
    if key == "magnitudes.contributors":
        few = 0 < len(each) < value[0]
        return few, max(1, -(-value[1] * total // 100)) if few else 0

    def sensitive(more):
        rest = total + more
        if key == "magnitudes.dominance":
            return sum(xs[: value[0]]) * 100 > value[1] * rest
        p, q = (value, 100) if key == "magnitudes.p_percent" else value
        return (rest - xs[0] - xs[1]) * q < p * xs[0]

    return sensitive(0), next(level for level in itertools.count() if not sensitive(level))


@pytest.mark.parametrize("key", THRESHOLDS)
def test_rules_are_what_their_definitions_say(key):
    rng, rule = random.Random(1), SENSITIVITY[key](THRESHOLDS[key])
    seen = set()
    for _ in range(300):
        each = [rng.choice([0, 1, 2, 5, 9, 30, 100]) + rng.randrange(9) for _ in range(rng.randrange(7))]
        each = [0] * len(each) if key == "magnitudes.zero" and rng.random() < 0.5 else each
        notes = RecordNotes(asks=[i % 4 for i in range(len(each))])
        cells = contributions_of([((0,), str(i), x) for i, x in enumerate(each)], 1, 3, notes)
        sensitive, level = by_definition(key, THRESHOLDS[key], each)
        assert rule.levels(cells).tolist() == [level], each
        assert (level > 0) == sensitive
        seen.add(sensitive)
    assert seen == {True, False}


def test_records_of_one_holding_are_one_contributor():
    cells = contributions_of([((0, 1), "g", 30), ((0,), "g", 30), ((0, 1), "h", 50)], 2, 2)
    assert cells.largest.tolist() == [[60, 50], [50, 30]]
    assert cells.contributors.tolist() == [2, 2]
    assert cells.totals.tolist() == [110, 80]


def drawn(seed):
    """Return the columns of some rows over a table of 2 x 3 or 3 x 2 cells, with holdings."""
    rng = random.Random(seed)
    a, b = rng.choice([("xy", "uvw"), ("xyz", "uv")])
    rows = [
        (rng.choice(a), rng.choice(b), f"g{rng.randrange(5)}", str(rng.randrange(1, 3)))
        for _ in range(rng.randint(5, 8))
    ]
    rows += [(i, j, f"g{rng.randrange(5)}", "1") for i in a for j in b if rng.random() < 0.8]
    return dict(zip(("a", "b", "holding", "sales"), map(list, zip(*rows, strict=True)), strict=True))


def task_of(seed, inside=False, **rules):
    columns = drawn(seed)
    table = table_of_rows(columns, [("a", "b")], RespondentColumns("sales", "holding"), (), 3, "rows")
    rules = {key: SENSITIVITY[f"magnitudes.{key}"](value) for key, value in (rules or {"p_percent": 30}).items()}
    return totals_task(table, rules, Limits(), inside)


def tables_that_fit(asked, hidden, most):
    """Yield the totals of every table of whole numbers up to `most` that agrees with the cells that are shown."""
    table = asked.table
    inner = [k for k, code in enumerate(table.codes) if "" not in code]
    true = table.contributions.totals.tolist()
    lines = asked.hidden_lines(hidden)
    inside = [
        [all(c in ("", d) for c, d in zip(code, table.codes[k], strict=True)) for k in inner] for code in table.codes
    ]
    shown = [(k, np.flatnonzero(inside[k])) for k in range(len(inside)) if not lines[k]]
    chosen = [0] * len(inner)

    def walk(j):
        if j == len(inner):
            yield [sum(itertools.compress(chosen, one)) for one in inside]
            return
        left = [(true[k] - sum(chosen[i] for i in of if i < j), of[-1] == j) for k, of in shown if j in of]
        least = max((rest for rest, last in left if last), default=0)  # the last cell of a sum that is shown
        greatest = min([most, *(rest for rest, _ in left)])
        for value in range(least, (min(greatest, least) if any(last for _, last in left) else greatest) + 1):
            chosen[j] = value
            yield from walk(j + 1)

    yield from walk(0)


def holds(asked, hidden, most):
    """Return whether every sensitive line of the table is open as far as it must be, and none follows from inside."""
    lines = asked.hidden_lines(hidden)
    found = np.array(list(tables_that_fit(asked, hidden, most)))
    assert len(found), "the true table fits"
    own, true = asked.table.contributions, asked.table.contributions.totals
    for k in np.flatnonzero(asked.levels > 0):
        if (
            not lines[k]
            or found[:, k].max() < true[k] + asked.levels[k]
            or found[:, k].min() > max(0, true[k] - asked.levels[k])
        ):
            return False
    if asked.task.insiders is not None:
        for i in np.flatnonzero(lines & (own.contributors == 1)):
            known = found[found[:, i] == true[i]]
            for k in np.flatnonzero(asked.levels > 0):
                pairs = [(asked.table.codes[i], asked.table.codes[k]), (asked.table.codes[k], asked.table.codes[i])]
                inside = any(all(b in ("", a) for a, b in zip(*one, strict=True)) for one in pairs)
                nested = own.contributors[k] == 1 and inside
                if k != i and not nested and known[:, k].min() == known[:, k].max():
                    return False
    return True


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(24))
def test_what_is_left_of_hidden_totals_is_what_all_tables_say(seed):
    asked, rng = task_of(seed), random.Random(seed)
    inner = [k for k, code in enumerate(asked.table.codes) if "" not in code]
    hidden = np.zeros(len(asked.task.values), dtype=bool)
    hidden[asked.places[rng.sample(inner, min(4, len(inner)))]] = True
    most = int(asked.table.contributions.totals.max())
    found = np.array(list(tables_that_fit(asked, hidden, most)))
    asked = replace(asked, task=replace(asked.task, sensitive=hidden, need=hidden.astype(np.int64)))
    for line, cell in enumerate(checked_totals(asked, hidden, Limits()).cells):
        if hidden[asked.places[line]]:
            assert cell.met == cell.bounds == (found[:, line].min(), found[:, line].max())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("inside", [False, True])
def test_no_pattern_that_holds_is_cheaper(seed, inside):
    asked = task_of(seed, inside)
    task, most = asked.task, int(asked.table.contributions.totals.max()) * 2
    inner = {int(asked.places[k]) for k, code in enumerate(asked.table.codes) if "" not in code}
    marginal = [c for c in np.flatnonzero(task.sensitive).tolist() if c not in inner]
    if not task.sensitive.any() or marginal:
        return  # a hidden total has no greatest value to count up to
    task = replace(task, open=task.open & np.isin(np.arange(len(task.values)), sorted(inner)))
    asked = replace(asked, task=task)
    at, best = np.flatnonzero(task.open), None
    for chosen in itertools.product((False, True), repeat=len(at)):
        hidden = task.sensitive.copy()
        hidden[at] = chosen
        cost = task.cost_of(hidden)
        if (best is None or cost < best) and holds(asked, hidden, most):
            best = cost
    if best is None:
        with pytest.raises(Unsupported, match="no pattern is enough"):
            pattern_of_totals(asked, Limits())
        return
    pattern = pattern_of_totals(asked, Limits())
    assert (pattern.cost, pattern.bound) == (best, best)
    assert not len(pattern.attackable)
    assert holds(asked, pattern.hidden, most)
    cubes = pattern_of_totals(asked, Limits(), "hypercube")
    assert cubes.cost >= best or len(cubes.attackable) or not holds(asked, cubes.hidden, most)


def test_the_cases_drawn_have_patterns():
    some = [task_of(seed) for seed in range(40)]
    assert sum(bool(one.task.sensitive.any()) for one in some) > 20


def test_files_of_argus_are_read_as_they_were_written(tmp_path):
    (tmp_path / "in.hrc").write_text("North\n@x\n@y\nSouth\n@z\n")
    columns = drawn(1) | {"sales": [f"{x}.5" for x in drawn(1)["sales"]]}
    columns["a"] = [{"x": "x", "y": "y", "z": "z"}[c] for c in columns["a"]]
    table = table_of_rows(
        columns, [("a", "b")], RespondentColumns("sales", "holding"), (f"a={tmp_path / 'in.hrc'}",), 3, "rows"
    )
    assert ("North", "") in table.codes
    hidden = np.arange(len(table.codes)) % 3 == 0
    levels, _ = levels_of({"p": SENSITIVITY["magnitudes.p_percent"](10)}, table.contributions)
    for end, text in argus_files(table, hidden, levels, "t").items():
        (tmp_path / f"t{end}").write_text(text)
    again = table_of_argus(str(tmp_path / "t.tab"), str(tmp_path / "t.rda"), None, ())
    assert (again.names, again.codes, again.decimals, again.value) == (table.names, table.codes, 1, "sales")
    assert again.hidden.tolist() == hidden.tolist()
    assert again.trees["a"].parents == table.trees["a"].parents
    for one in ("totals", "contributors", "largest"):
        assert getattr(again.contributions, one).tolist() == getattr(table.contributions, one).tolist()
    assert argus_files(again, hidden, levels, "t") == argus_files(table, hidden, levels, "t")


FIRMS = "region,branch,group,sales\n" + "".join(
    f"{r},{b},g{k},{x}\n"
    for k, (r, b, x) in enumerate(
        [("N", "food", 90), ("N", "food", 5), ("N", "food", 2), ("N", "law", 20), ("N", "law", 22), ("N", "law", 19),
         ("S", "food", 30), ("S", "food", 31), ("S", "food", 28), ("S", "law", 40), ("S", "law", 41), ("S", "law", 45)]
    )
)  # fmt: skip
ASKED = ("--by", "region,branch", "--value", "sales", "--holding", "group", "--policy", "p.toml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "firms.csv").write_text(FIRMS)
    (tmp_path / "p.toml").write_text("[magnitudes]\np_percent = 10\nfrom_inside = 0\n")
    return tmp_path


def test_the_command_checks_hides_and_checks_again(folder):
    found = RUN(app, ["magnitudes", "firms.csv", *ASKED, "--json"])
    said = json.loads(found.stdout)
    assert (found.exit_code, said["outcome"], said["sensitive"], said["hidden"]) == (1, "violated", 1, 0)
    assert said["assessment"]["checks"][0]["places"][0]["name"] == "region = N and branch = food"
    found = RUN(app, ["magnitudes", "firms.csv", *ASKED, "--out", "out.tab", "--json"])
    said = json.loads(found.stdout)
    assert (found.exit_code, said["hidden"], said["written"]) == (0, 4, ["out.tab", "out.rda"])
    assert said["pattern"]["cost"] == said["pattern"]["least_cost"] == "276"
    again = RUN(app, ["magnitudes", "out.tab", "--metadata", "out.rda", "--policy", "p.toml", "--json"])
    assert (again.exit_code, json.loads(again.stdout)["hidden"]) == (0, 4)
    text = (folder / "out.tab").read_text()
    (folder / "out.tab").write_text(text.replace(",U,", ",S,", 2))
    narrow = RUN(app, ["magnitudes", "out.tab", "--metadata", "out.rda", "--policy", "p.toml"])
    assert narrow.exit_code == 1
    assert RUN(app, ["magnitudes", "firms.csv", *ASKED, "--out", "out.csv"]).exit_code == 0
    assert (folder / "out.csv").read_text().count("*") == 4


WRONG = {
    "below 0": (FIRMS.replace("N,food,g0,90", "N,food,g0,-90"), ASKED, 3, "line 2: '-90' of 'sales' is below 0"),
    "no number": (FIRMS.replace("N,food,g1,5", "N,food,g1,x"), ASKED, 3, "line 3: 'x' is no number of 'sales'"),
    "no column": (FIRMS, ("--by", "region,size", *ASKED[2:]), 3, "there is no column 'size'"),
    "no code": (FIRMS.replace("N,food,g1", ",food,g1"), ASKED, 3, "a code of 'region' is missing"),
    "no rows": ("region,branch,group,sales\n", ASKED, 3, "has no row"),
    "no value": (FIRMS, ASKED[:2] + ASKED[4:], 2, "need --by"),
    "a hierarchy of nothing": (FIRMS, (*ASKED, "--hierarchy", "size=s.hrc"), 3, "has no effect"),
    "another format": (FIRMS, (*ASKED, "--out", "o.xlsx"), 2, ".tab, .R or .csv"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_refused_in_a_sentence(folder, run, name):
    text, given, code, why = WRONG[name]
    (folder / "firms.csv").write_text(text)
    assert why in " ".join(run("magnitudes", "firms.csv", *given, code=code).stderr.split())


def test_tables_that_do_not_add_up_or_say_too_little_are_refused(folder, run):
    run("magnitudes", "firms.csv", *ASKED, "--out", "out.tab", code=0)
    text, said = (
        (folder / "out.tab").read_text(),
        ("magnitudes", "out.tab", "--metadata", "out.rda", "--policy", "p.toml"),
    )
    (folder / "out.tab").write_text(text.replace("N,Total,158", "N,Total,159"))
    assert "the total of everybody is 373, its parts add up to 374" in run(*said, code=3).stderr
    (folder / "out.tab").write_text(text)
    (folder / "p.toml").write_text("[magnitudes]\ndominance = [3, 80]\n")
    assert "looks at the 3 largest contributions, the metadata names 2" in run(*said, code=3).stderr
    (folder / "p.toml").write_text("smallest_group = 3\n")
    assert "sets no rule of [magnitudes]" in run(*said, code=2).stderr
    (folder / "r.hrc").write_text("N\n@N1\nS\n")
    rows = drawn(0) | {"a": ["N"] * len(drawn(0)["a"])}
    with pytest.raises(ReleaseError, match="none of the lowest codes"):
        table_of_rows(rows, [("a", "b")], RespondentColumns("sales"), ("a=r.hrc",), 2, "rows")


def test_linked_tables_are_protected_together(folder, run):
    """The dominated cell of one table is hidden in it; a linked table's totals of branches are cells of both."""
    first, *lines = FIRMS.splitlines()
    rows = "\n".join([f"{first},size", *(f"{line},{'large' if k % 3 else 'small'}" for k, line in enumerate(lines))])
    (folder / "firms.csv").write_text(rows)
    said = json.loads(
        run("magnitudes", "firms.csv", *ASKED, "--by", "branch,size", "--out", "o.tab", "--json", code=0).stdout
    )
    assert (said["attributes"], said["cells"], said["outcome"]) == (["region", "branch", "size"], 15, "met")
    assert said["hidden"] > 4


def test_without_requests_nothing_is_said_of_them():
    cells = contributions_of([((0,), "g", 30)], 1, 2)
    with pytest.raises(Unsupported, match="nothing says who asked"):
        RequestRule((Fraction(50),)).levels(cells)


@pytest.mark.parametrize("seed", range(20))
def test_a_weight_is_so_many_respondents(seed):
    """Of whole weights: the same as every record so often; of others the largest are filled in parts."""
    rng = random.Random(seed)
    each = [(rng.randrange(60), rng.randint(1, 4)) for _ in range(rng.randint(1, 5))]
    found = contributions_of(
        [((0,), str(i), x) for i, (x, _) in enumerate(each)], 1, 6, RecordNotes([w for _, w in each])
    )
    every = sorted((x for x, w in each for _ in range(w)), reverse=True)
    assert found.totals.tolist() == [sum(every)]
    assert found.largest[0].tolist() == (every + [0] * 6)[:6]
    assert found.contributors.tolist() == [len(each)]
    halves = contributions_of([((0,), "a", 100), ((0,), "b", 40)], 1, 2, RecordNotes([14, 10], 10))
    assert (halves.totals[0], halves.largest[0].tolist()) == (1800, [1000, 4 * 100 + 6 * 40])


EARLIER = "region,branch,sales\nN,food,*\nN,law,61\nS,food,89\nS,law,126\n"


def test_an_attack_is_over_all_tables_that_are_out(folder, run):
    """A table without totals hides one cell; the totals of regions, alone harmless, give it away."""
    (folder / "jan.csv").write_text(EARLIER)
    (folder / "p.toml").write_text("[magnitudes]\np_percent = 10\n")
    asked = ("firms.csv", "--by", "region", "--by", "branch", "--value", "sales", "--policy", "p.toml", "--json")
    run("register", "out", "--add", "jan.csv", "--decision", "release", "--totals-of", "sales", code=0)
    assert json.loads(run("magnitudes", *asked, code=0).stdout)["hidden"] == 0
    said = json.loads(run("magnitudes", *asked, "--register", "out", code=1).stdout)
    place = said["assessment"]["checks"][0]["places"][0]
    assert (place["name"], place["where"][:11]) == ("region = N and branch = food", "open by 0 o")
    assert (said["cells"], said["hidden"], said["sensitive"]) == (5, 0, 0)
    said = json.loads(run("magnitudes", *asked, "--register", "out", "--out", "feb.csv", code=0).stdout)
    text = (folder / "feb.csv").read_text()
    known = {line.rpartition(",")[0]: line.rpartition(",")[2] for line in text.splitlines()[1:]}
    assert known["N,Total"] == "*"
    assert known["Total,food"] == "*"
    left = 373 - 61 - 89 - 126
    assert known["Total,Total"] == "*" or left != 97, "the rest of everybody is the hidden cell"
    (folder / "feb.csv").write_text(text)
    assert "jan.csv" in said["earlier"][0]


def test_what_is_out_is_not_hidden(folder, run):
    """Of four branches the cheapest pattern hides a cell that is out: beside it another one is hidden."""
    more = "".join(
        f"{r},{b},h{k},{x}\n"
        for k, (r, b, x) in enumerate(
            [
                ("N", "arts", 11),
                ("N", "arts", 11),
                ("N", "arts", 11),
                ("S", "arts", 12),
                ("S", "arts", 12),
                ("S", "arts", 12),
            ]
        )
    )
    (folder / "firms.csv").write_text(FIRMS + more)
    said = json.loads(run("magnitudes", "firms.csv", *ASKED, "--out", "a.csv", "--json", code=0).stdout)
    (folder / "jan.csv").write_text("region,branch,sales\nN,arts,33\n")
    run("register", "out", "--add", "jan.csv", "--decision", "release", "--totals-of", "sales", code=0)
    beside = json.loads(
        run("magnitudes", "firms.csv", *ASKED, "--register", "out", "--out", "b.csv", "--json", code=0).stdout
    )
    assert "N,arts,*" in (folder / "a.csv").read_text()
    assert "N,arts,33" in (folder / "b.csv").read_text()
    assert int(beside["pattern"]["cost"]) > int(said["pattern"]["cost"])
    (folder / "feb.csv").write_text("region,branch,sales\nN,food,97\n")
    run("register", "out", "--add", "feb.csv", "--decision", "release", "--totals-of", "sales", code=0)
    why = run("magnitudes", "firms.csv", *ASKED, "--register", "out", "--out", "c.csv", code=3).stderr
    assert "1 sensitive totals are out already" in why


OTHERS = {
    "another total": ("region,branch,sales\nN,law,60\n", "N and branch = law is 60 here and 61 in the new table"),
    "another column": ("region,size,sales\nN,big,60\n", "there is no column 'size'"),
    "another code": ("region,branch,sales\nE,law,60\n", "nobody is in region = E and branch = law"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_tables_about_others_are_refused(folder, run, name):
    text, why = OTHERS[name]
    (folder / "jan.csv").write_text(text)
    run("register", "out", "--add", "jan.csv", "--decision", "release", "--totals-of", "sales", code=0)
    assert why in " ".join(run("magnitudes", "firms.csv", *ASKED, "--register", "out", code=3).stderr.split())


def test_registers_keep_tables_of_totals_apart(folder, run):
    (folder / "jan.csv").write_text(EARLIER)
    (folder / "t.csv").write_text("a,count\nx,3\ny,4\ntotal,7\n")
    run("register", "out", "--add", "t.csv", "--decision", "release", code=0)
    assert (
        "no table of totals is registered" in run("magnitudes", "firms.csv", *ASKED, "--register", "out", code=3).stderr
    )
    run("register", "out", "--add", "jan.csv", "--decision", "release", "--totals-of", "sales", code=0)
    assert "totals of sales" in run("register", "out", code=0).stdout
    (folder / "u.csv").write_text("a,count\nx,3\ny,4\n")
    assert "Tables of totals were not joined" in " ".join(
        run("audit", "u.csv", "--register", "out", code=0).stdout.split()
    )
    (folder / "bad.csv").write_text("region,branch,sales\nN,food,lots\n")
    given = ("register", "out", "--add", "bad.csv", "--decision", "release", "--totals-of", "sales")
    assert "line 2: 'lots' is neither a total nor a mark" in run(*given, code=3).stderr


def test_rules_look_at_a_shadow_and_totals_may_be_below_zero(folder, run):
    """Losses: the rules look at sizes, and of hidden results nothing is known, not even that they are not below 0."""
    lines = [line.split(",") for line in FIRMS.splitlines()]
    rows = [
        ",".join([*lines[0], "size"]),
        *(",".join([r, b, g, f"-{x}" if g in "g0 g4" else x, x]) for r, b, g, x in lines[1:]),
    ]
    (folder / "firms.csv").write_text("\n".join(rows) + "\n")
    assert "(--shadow COLUMN)" in run("magnitudes", "firms.csv", *ASKED, code=3).stderr
    asked = ("magnitudes", "firms.csv", *ASKED, "--shadow", "size", "--out")
    said = json.loads(run(*asked, "o.csv", "--json", code=0).stdout)
    assert (said["sensitive"], said["hidden"]) == (1, 4)
    assert "N,Total,-66" in (folder / "o.csv").read_text()
    assert "largest contributions to the totals themselves" in run(*asked, "o.tab", code=3).stderr


def test_a_sample_and_requests_are_read_by_the_command(folder, run):
    lines = FIRMS.splitlines()
    rows = [f"{lines[0]},w,asks", *(f"{line},2.5,{'yes' if 'g0' in line else ''}" for line in lines[1:])]
    (folder / "firms.csv").write_text("\n".join(rows) + "\n")
    asked = ("magnitudes", "firms.csv", "--by", "region,branch", "--value", "sales", "--policy", "p.toml", "--json")
    assert json.loads(run(*asked, "--weight", "w", code=0).stdout)["sensitive"] == 0, "nobody is nearly all of a cell"
    assert json.loads(run(*asked, code=1).stdout)["sensitive"] == 1
    assert "not read together" in run(*asked, "--weight", "w", "--holding", "group", code=3).stderr
    (folder / "p.toml").write_text("[magnitudes]\nrequest = 70\n")
    assert json.loads(run(*asked, "--request", "asks", code=1).stdout)["sensitive_by_rule"] == {"magnitudes.request": 1}
    assert "name the column of requests" in run(*asked, code=2).stderr
    (folder / "firms.csv").write_text("\n".join(rows).replace(",yes", ",perhaps") + "\n")
    assert "line 2: 'perhaps' of 'asks' is no request" in run(*asked, "--request", "asks", code=3).stderr
    (folder / "firms.csv").write_text("\n".join(rows).replace(",2.5,", ",0,") + "\n")
    assert "line 2: '0' of 'w' is no weight" in run(*asked, "--weight", "w", "--request", "asks", code=3).stderr


R_PACKAGE = """library <- function(...) NULL
makeProblem <- function(data, dimList, freqVarInd, numVarInd) {
  stopifnot(is.character(data[[names(dimList)[1]]]), all(c(freqVarInd, numVarInd) %in% names(data)))
  list(rows = nrow(data), sum = sum(data[[numVarInd]]), top = sapply(dimList, function(d) d$codes[d$levels == "@"]))
}
change_cellstatus <- function(object, specs, rule) { object[[rule]] <- nrow(specs); object }
source("o.R")
for (p in problems) cat(p$rows, p$sum, p$top, p$u, p$x, "\n")
"""


@pytest.mark.slow
def test_problems_of_sdctable_are_what_r_reads(folder, run):
    """R reads the script and its tables, with stand-ins for the two functions of the package that are called."""
    (folder / "r.hrc").write_text("all\n@N\n@S\n")
    first, *lines = FIRMS.splitlines()
    (folder / "firms.csv").write_text(
        "\n".join([f"{first},size", *(f"{x},{'a' if i % 2 else 'b'}" for i, x in enumerate(lines))])
    )
    asked = (
        "magnitudes",
        "firms.csv",
        *ASKED,
        "--by",
        "branch,size",
        "--hierarchy",
        "region=r.hrc",
        "--out",
        "o.R",
        "--json",
    )
    said = json.loads(run(*asked, code=0).stdout)
    names = ["o.R", "o-cells1.csv", "o-dim1-1.csv", "o-dim2-1.csv", "o-cells2.csv", "o-dim1-2.csv", "o-dim2-2.csv"]
    assert sorted(said["written"]) == sorted(names)
    assert (folder / "o-dim1-1.csv").read_text() == "levels,codes\n@,Total\n@@,all\n@@@,N\n@@@,S\n"
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    (folder / "stand_in.R").write_text(R_PACKAGE)
    out = subprocess.run(["Rscript", "stand_in.R"], capture_output=True, text=True, timeout=120, check=True).stdout
    assert out.split()[:4] == ["4", "373", "Total", "Total"]
    assert [line.split()[1] for line in out.splitlines()] == ["373", "373"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(30))
def test_what_earlier_tables_leave_is_what_all_tables_say(seed):
    """Totals of both margins beside an earlier table of all cells, some of them shown, some hidden, some left out."""
    rng, rule = random.Random(seed), SENSITIVITY["magnitudes.p_percent"](30)
    what = RespondentColumns("sales", "holding")
    table = table_of_rows(drawn(seed), [("a",), ("b",)], what, (), 3, "rows", [("a", "b")])
    inner = np.array(["" not in code for code in table.codes])
    drawn_state = np.array([rng.choice([0, 1, 2]) for _ in inner])
    shown, gone = inner & (drawn_state == 1), inner & (drawn_state == 2)
    asked = totals_task(table, {"magnitudes.p_percent": rule}, Limits(), out=(shown, gone))
    assert table.ours.tolist() == (~inner).tolist()
    hidden = hidden_already(asked)
    found = np.array(list(tables_that_fit(asked, hidden | asked.task.nowhere, int(table.totals.max()))))
    cells = {cell.name: cell for cell in checked_totals(asked, hidden, Limits()).cells}
    for line in np.flatnonzero(gone & (asked.levels > 0)).tolist():
        cell = cells.pop(table.named(line))
        assert cell.hidden
        assert cell.met == cell.bounds == (found[:, line].min(), found[:, line].max())
    assert set(cells) == {table.named(k) for k in np.flatnonzero(table.ours).tolist()}


def test_files_beside_what_is_written_are_not_those_that_are_read(folder, run):
    (folder / "o-cells.csv").write_text(FIRMS)
    assert "would be overwritten" in run("magnitudes", "o-cells.csv", *ASKED, "--out", "o.R", code=2).stderr
    (folder / "h-cells.csv").write_text("a,b,count\nx,u,3\nx,v,9\ny,u,8\ny,v,9\ntotal,total,29\n")
    (folder / "q.toml").write_text("smallest_group = 5\n")
    assert "would be overwritten" in run("remedy", "h-cells.csv", "--policy", "q.toml", "--out", "h.R", code=2).stderr
    assert "count" in (folder / "h-cells.csv").read_text()


def test_what_one_respondent_has_in_two_cells_is_no_disclosure():
    """The firm of x, v is all of v: knowing its cell, it knows v, which is its own; nobody else works it out."""
    columns = {"a": list("xxxxyyyy"), "b": list("uuvwuuww"), "firm": list("abcdefgh"), "sales": list("56974589")}
    table = table_of_rows(columns, [("a", "b")], RespondentColumns("sales", "firm"), (), 2, "rows")
    rules = {"few": SENSITIVITY["magnitudes.contributors"]((2, 10))}
    asked = totals_task(table, rules, Limits(), inside=True)
    names = [table.named(k) for k in np.flatnonzero(asked.levels)]
    assert {"a = x and b = v", "b = v"} <= set(names)
    hidden = asked.task.sensitive | asked.task.open
    assert checked_totals(asked, hidden, Limits()).from_inside == ()
    assert not len(pattern_of_totals(asked, Limits()).attackable)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
def test_patterns_made_cell_by_cell_leave_nobody_inside_anything(seed):
    """The same check by the linear programs alone: each respondent's cell shown, every sensitive cell audited."""
    rng = random.Random(seed)
    rows = [(rng.choice("abcd"), rng.choice("uvwxyz"), str(rng.randrange(1, 90))) for _ in range(40)]
    columns = dict(zip(("r", "s", "sales"), map(list, zip(*rows, strict=True)), strict=True))
    table = table_of_rows(columns, [("r", "s")], RespondentColumns("sales"), (), 3, "rows")
    asked = totals_task(table, {"p": SENSITIVITY["magnitudes.p_percent"](20)}, Limits(), inside=True)
    hidden = incremental_pattern(asked.task, Limits())
    assert asked.task.sensitive.sum() > 8
    assert not len(asked.task.attackable(hidden, Limits()))
    low, high = asked.task.ends(hidden)
    for insider in np.flatnonzero(hidden & asked.task.insiders).tolist():
        box = asked.task.cells.boxes[insider]
        known = np.arange(len(low)) == insider
        ends = cell_intervals(
            replace(
                asked.task.cells,
                low=np.where(known, asked.task.values, low), high=np.where(known, asked.task.values, high)
            ),
            np.flatnonzero(asked.task.sensitive), Limits(), asked.task.values,
        )  # fmt: skip
        for p in np.flatnonzero(asked.task.sensitive & ~known).tolist():
            own = asked.task.insiders[p] and (asked.task.cells.boxes[p] & box) in (asked.task.cells.boxes[p], box)
            assert own or ends.low[p] < ends.high[p]


def totals_of(columns, tables, **rule):
    table = table_of_rows(columns, tables, RespondentColumns("sales", "firm"), (), 3, "rows")
    return table, {key: SENSITIVITY[f"magnitudes.{key}"](value) for key, value in rule.items()}


FOUR = {"a": list("xxyy"), "b": list("uvuv"), "firm": list("abcd"), "sales": ["5", "6", "7", "8"]}


def with_totals(table, totals):
    return replace(table, contributions=replace(table.contributions, totals=np.array(totals)))


def test_two_totals_of_the_same_cells_are_refused():
    """Twice the same code, twice everybody, and an attribute of one code that says the same as everybody."""
    table, _ = totals_of(FOUR, [("a", "b")], p_percent=10)
    for code in (("x", "u"), ("", "")):
        k = table.codes.index(code)
        other = table.codes.index(("x", "v"))
        codes = tuple(code if i == other else c for i, c in enumerate(table.codes))
        with pytest.raises(ReleaseError, match=r"is \d+, and another total of the same cells"):
            totals_task(replace(table, codes=codes), {}, Limits())
        assert k != other
    one = FOUR | {"a": ["x"] * 4}
    table, _ = totals_of(one, [("a", "b")], p_percent=10)
    totals_task(table, {}, Limits())
    off = table.totals.copy()
    off[table.codes.index(("x", ""))] += 1
    with pytest.raises(ReleaseError, match="another total of the same cells"):
        totals_task(with_totals(table, off), {}, Limits())


def test_margins_that_no_table_has_are_refused():
    table, _ = totals_of(FOUR, [("a",), ("b",)], p_percent=10)
    codes = [code for code in table.codes if code != ("", "")]
    keep = [table.codes.index(code) for code in codes]
    own = table.contributions.of(np.array(keep))
    left = replace(table, codes=tuple(codes), contributions=own, own=None)
    totals_task(left, {}, Limits())
    totals = own.totals.copy()
    totals[0] += 1
    with pytest.raises(ReleaseError, match="no table agrees with all of them"):
        totals_task(with_totals(left, totals), {}, Limits())


def test_a_task_knows_insiders_only_where_it_is_asked():
    table, rules = totals_of(FOUR, [("a", "b")], p_percent=10)
    assert totals_task(table, rules, Limits()).task.insiders is None
    asked = totals_task(table, rules, Limits(), inside=True)
    assert [bool(asked.task.insiders[p]) for p in asked.places] == [all(code) for code in table.codes]
    assert pattern_of_totals(asked, Limits()).how == "CP-SAT with attacks"
    assert pattern_of_totals(asked, Limits(), "hypercube").how == "hypercubes"
    assert pattern_of_totals(asked, Limits(), "incremental").how == "a flow for each sensitive cell"


def test_who_works_out_what_is_named():
    columns = {"a": list("xxxyyy"), "b": list("uvvuuv"), "firm": list("abcdef"), "sales": list("567894")}
    table, rules = totals_of(columns, [("a", "b")], contributors=(2, 10))
    asked = totals_task(table, rules, Limits(), inside=True)
    hidden = np.zeros(len(asked.task.values), dtype=bool)
    for code in (("x", "u"), ("x", "v"), ("y", "u"), ("y", "v")):
        hidden[asked.places[table.codes.index(code)]] = True
    found = checked_totals(asked, hidden, Limits())
    assert dict(found.from_inside) == {
        "a = x and b = u": "a = y and b = v", "a = y and b = v": "a = x and b = u"
    }  # fmt: skip
    assert not found.signed


def cell(met, bounds, hidden=True, total=50):
    return TotalCell("region = N", total, hidden, met, bounds)


@pytest.mark.parametrize(
    ("one", "level", "signed", "state"),
    [
        (cell((40, 60), (40, 60)), 10, False, "met"),
        (cell((41, 60), (40, 60)), 10, False, "inconclusive"),
        (cell((40, 59), (40, 60)), 10, False, "inconclusive"),
        (cell((41, 60), (41, 60)), 10, False, "violated"),
        (cell((40, 59), (40, 59)), 10, False, "violated"),
        (cell((40, 60), (40, 60), hidden=False), 10, False, "violated"),
        (cell((0, 110), (0, 110)), 60, False, "met"),
        (cell((0, 110), (0, 110)), 60, True, "violated"),
    ],
)
def test_a_sensitive_total_is_open_as_far_as_its_level(one, level, signed, state):
    assert _open_enough(one, level, signed) == state


def test_what_the_rules_found_is_said_in_numbers(folder, run):
    def said(text, code):
        (folder / "p.toml").write_text(f"[magnitudes]\n{text}")
        checks = json.loads(run("magnitudes", "firms.csv", *ASKED, "--json", code=code).stdout)["assessment"]["checks"]
        return [(c["found"], c["sentence"].partition("asks for ")[2].partition(" (set")[0]) for c in checks][-1]

    assert said("p_percent = 10\n", 1)[0] == "1 (1 shown)"
    assert said("p_percent = 0.001\n", 0)[0] == "none"
    assert said("p_percent = 0.001\nfrom_inside = 0\n", 0) == ("none", "none")
    assert said("p_percent = 0.001\nfrom_inside = 2\n", 0) == ("none", "at most 2")
