"""Linear statements: any exact coefficients, products of attributes, unions of conditions, in release files.

Against every data set listed (tests/linear_cases.py, 3,000 of them by `tests/safety.py --part linear`), in every engine
through tests/golden/linear_sums.json (tests/test_engines.py); here what is read, refused, loosened and written back.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import linear_cases
import model_cases
import oracle
import oracle_coupled
import pandas as pd
import pytest
from extras import encoded, run, with_seal
from published_cases import published
from test_certificates import MUTATORS, accepted, case_of, judge, read_back

import recon
from encoders.parts import linear
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements
from solvers.statements.gradients.linear_sums import with_stated_sums
from solvers.statements.noise.laws import NoiseLaw, per_statement
from solvers.statements.release import UNBOUNDED

GOLDEN = Path(__file__).parent / "golden" / "linear_sums.json"
DOMAIN = {
    "attributes": [
        {"name": "age", "min": 20, "max": 23},
        {"name": "income", "min": -1, "max": 1, "resolution": 0.5},
        {"name": "sex", "values": ["F", "M"]},
        {"name": "height", "min": 0, "max": 5, "resolution": None},
        {"name": "weight", "min": 0, "max": 5000},
    ],
    "label": {"name": "ill", "values": [0, 1]},
}
AGES = {"attributes": [DOMAIN["attributes"][0], DOMAIN["attributes"][2]], "label": DOMAIN["label"]}


def table(*statements, domain=AGES, rows=3, **more):
    return {
        "recon": 1,
        "domain": domain,
        "rows": rows,
        "models": [{"kind": "table", "statements": [*statements], **more}],
    }


def told(capsys, *arguments):
    """The exit code of a command, and all that it prints."""
    code, out, err = run(capsys, *arguments)
    return code, " ".join((out + err).split())


def said(release):
    return [s for block in encoded(release).statements.blocks for s in block]


@pytest.mark.parametrize("seed", range(4))
def test_counts_verdicts_bounds_and_certificates_are_those_of_all_data_sets(seed):
    wrong, asked = linear_cases.failures(39_000 + seed)
    assert not wrong
    assert asked["counts"] == 2


@pytest.mark.long
def test_counts_verdicts_bounds_and_certificates_of_more_releases():
    asked = Counter()
    for seed in range(39_100, 39_160):
        wrong, figures = linear_cases.failures(seed)
        assert not wrong, seed
        asked.update(figures)
    assert min(asked["certificates"], asked["forged"]) > 50, asked


def test_a_statement_is_in_the_smallest_whole_numbers():
    (one,) = said(table({"linear": [{"of": "age", "times": "1/3"}, {"times": -0.5}], "at_least": "1/7", "at_most": 2}))
    total, rows = one.summands
    # 1/3 age - 1/2 is 1/6 (2 age - 3): 6/7 rounded up, 12
    assert (total.times, total.factors) == (1, ((0, (40, 42, 44, 46)),))
    assert (rows.times, rows.factors, one.low, one.high) == (-3, (), 1, 12)
    assert one.region is None


def test_counts_and_totals_are_cases_of_it():
    where = {"sex": "F"}
    (count,) = said(table({"linear": [{"where": where, "times": "3/7"}], "value": "6/7"}))
    assert (count.region, count.low, count.high) == (said(table({"where": where, "count": 2}))[0].region, 2, 2)
    (total,) = said(table({"linear": [{"where": where, "of": "age"}], "value": 43, "within": 1}))
    (stated,) = said(table({"where": where, "total": {"of": "age", "value": 43, "within": 1}}))
    assert (total.summands, total.low, total.high) == (stated.summands, stated.low, stated.high)


def test_products_of_a_regression_are_the_counts_of_pairs():
    """82 sums of columns and of products of two (COMPAS, 14 columns of 0 and 1): random rows break all alike."""
    counts = published("ols14")
    (model,) = counts["models"]
    one, *others = model["statements"]
    sums = [{"linear": [{"of": [*each["where"]]}], "value": each["count"]} for each in others]
    linear = counts | {"models": [model | {"statements": [one, *sums]}]}
    domain, draws = counts["domain"], random.Random(0)
    every = [*domain["attributes"], domain["label"]]
    rows = pd.DataFrame({each["name"]: draws.choices(each["values"], k=one["count"]) for each in every})
    of_counts, of_sums = (
        [re.sub(r"\(.*?\)|[^\d,:]", "", line) for line in violations(encoded(release), rows)]
        for release in (counts, linear)
    )
    assert len(of_counts) == len(of_sums) == 82
    assert [line.split(":")[1].split(",") for line in of_counts] == [line.split(":")[1].split(",") for line in of_sums]


def test_values_are_cut_only_where_they_are_summed():
    wide = {"attributes": [{"name": "age", "min": 0, "max": 99}], "label": DOMAIN["label"]}
    where = {"age": {"at_least": 90}}
    got = encoded(table({"linear": [{"where": where, "of": ["age", "age"]}], "at_most": 9000}, domain=wide))
    assert len(got.statements.domain.attributes[0].sizes) == 11


def test_terms_over_the_same_rows_are_one_and_may_cancel():
    (one,) = said(table({"linear": [{"of": "age"}, {"of": "age", "times": -1}, {"where": {"sex": "F"}}], "value": 1}))
    assert [len(s.factors) for s in one.summands] == [0]
    got = encoded(table({"linear": [{"times": 0}], "value": 0}))
    assert recon.count(got, convention="multiset").value == oracle.count(table({"count": 3}), "multiset")


def test_what_contradicts_itself_exits_5_and_is_named(tmp_path, capsys):
    path = tmp_path / "release.json"
    path.write_text(json.dumps(table({"name": "score", "linear": [{"of": "age", "times": "1/3"}], "at_most": 19})))
    code, output = told(capsys, "count", path)
    assert code == 5
    assert "table, score (1/3 × age, at most 19)" in output


ALL_ROWS = {  # sums to which every row adds, and the rows that they leave
    "a number": ({"linear": [{"times": "1/2"}], "value": "3/2"}, (3, 3)),
    "ends": ({"linear": [{}], "at_least": "3/2", "at_most": 3.5}, (2, 3)),
    "a positive attribute": ({"linear": [{"of": "age", "times": 0.5}], "at_most": 40}, (0, 4)),
    "negative, with a part": ({"linear": [{"times": -2}, {"where": {"sex": "F"}, "times": "-1/2"}], "at_least": -7,
                               "at_most": -3}, (2, 3)),
    "an interval of counts": ({"where": {}, "at_least": 1, "at_most": 2}, (1, 2)),
    "a total": ({"where": {}, "total": {"of": "age", "value": 63}}, (3, 3)),
}  # fmt: skip


@pytest.mark.parametrize("what", ALL_ROWS)
def test_the_number_of_rows_follows_from_a_sum_to_which_every_row_adds(what):
    statement, (low, high) = ALL_ROWS[what]
    release = table({"where": {"sex": "F"}, "at_most": 2}, statement)
    del release["rows"]
    got = encoded(release)
    assert (got.rows.low, got.rows.high) == (low, high)
    right = oracle.count(release | {"rows": {"at_least": low, "at_most": 4}}, "multiset")
    assert recon.count(got, convention="multiset").value == sum(right.values()) > 0
    line = recon.certify(got, [{"age": 20}], certificates=True).iloc[0]
    assert line.min_count == 0
    assert line.max_count <= high
    assert line.verdict == "possible"


def test_sums_of_parts_of_the_rows_leave_their_number_open_and_lose_no_bound():
    """With any number of rows no bound lies beyond all sums."""
    release = table({"linear": [{"where": {"sex": "F"}}], "value": 7}, {"linear": [{"of": "income"}], "at_least": -3},
                    domain=DOMAIN)  # fmt: skip
    del release["rows"]
    got = encoded(release)
    assert (got.rows.low, got.rows.high) == (0, None)
    assert [(s.low, s.high) for block in got.statements.blocks for s in block] == [(7, 7), (-6, 2**63 - 1)]


BAD = {
    "an unknown attribute": ({"linear": [{"of": "hight"}], "value": 1}, "linear[0].of: 'hight' is neither"),
    "words": ({"linear": [{"of": ["age", "sex"]}], "value": 1}, "'sex' is not numeric"),
    "a continuous one": ({"linear": [{"of": "height"}], "value": 1}, "no grid"),
    "a zero denominator": ({"linear": [{"times": "1/0"}], "value": 1}, "times: '1/0' is not a number: it divides by 0"),
    "no number": ({"linear": [{"times": "one"}], "value": 1}, "'one' is not a number"),
    "NaN": ({"linear": [{"times": "nan"}], "value": 1}, "'nan' is not a number"),
    "infinity": ({"linear": [{}], "at_most": "inf"}, "at_most: 'inf' is not a number"),
    "too many digits": ({"linear": [{"times": "0." + "3" * 120}], "value": 1}, "more than 100 digits"),
    "far too many digits": ({"linear": [{"times": "1e-99999"}], "value": 1}, "more than 1,000 digits"),
    "no term": ({"linear": [], "value": 1}, "linear: there is no term to add up"),
    "no attribute": ({"linear": [{"of": []}], "value": 1}, "linear[0].of: the list is empty: leave 'of' out"),
    "two conditions": ({"linear": [{"where": {}, "any": [{}]}], "value": 1}, "give 'where' or 'any', not both"),
    "no bound": ({"linear": [{}]}, "what do the terms add up to?"),
    "both": ({"linear": [{}], "value": 1, "at_least": 1}, "'value', not both"),
    "ends exchanged": ({"linear": [{}], "at_least": "2/3", "at_most": 0.5}, "at_most 1/2 is below at_least 2/3"),
    "a negative width": ({"linear": [{}], "value": 1, "within": -1}, "within: -1 is negative"),
    "a width of no value": ({"linear": [{}], "at_most": 1, "within": 1}, "'within' goes with 'value' only"),
    "a condition of its own": ({"linear": [{}], "value": 1, "where": {"sex": "F"}}, "its conditions in its terms"),
    "a count beside it": ({"linear": [{}], "value": 1, "count": 2}, "no other figure beside"),
    "text for a count": ({"at_least": "2"}, "at_least: '2' is not a whole number"),
    "a fraction of rows": ({"at_most": 2.5}, "at_most: 2.5 is not a whole number"),
    "a value alone": ({"value": 3}, "'value' is not taken beside 'linear'"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_statements_are_refused_in_one_sentence(what, tmp_path, capsys):
    statement, reason = BAD[what]
    path = tmp_path / "release.json"
    path.write_text(json.dumps(table(statement, domain=DOMAIN)))
    code, output = told(capsys, "count", path)
    assert code == 3
    assert reason in output
    assert "release.json: models[0].statements[0]" in output
    assert "Traceback" not in output


def test_numbers_that_json_does_not_have_are_refused(tmp_path, capsys):
    path = tmp_path / "release.json"
    path.write_text(json.dumps(table({"linear": [{}], "value": 12345})).replace("12345", "NaN"))
    code, output = told(capsys, "count", path)
    assert code == 3
    assert "Traceback" not in output


@pytest.mark.slow
def test_an_attribute_of_many_values_and_long_coefficients_are_bounded_from_both_sides():
    heavy = {"where": {"sex": "F"}, "of": "weight", "times": -1}
    low, high = said(table({"linear": [heavy], "value": -7000}, domain=DOMAIN, rows=2))
    assert [low.coarse, high.coarse] == [True, True]
    domain = {"attributes": [{"name": "a", "min": 1, "max": 3}], "label": DOMAIN["label"]}
    digits = "0.12345678901234567890123"
    terms = [{"of": "a", "times": digits}, {"where": {"ill": 1}, "times": "-1/3"}]
    total = Fraction(digits) * (1 + 3 + 2) - Fraction(1, 3)
    release = table({"linear": terms, "value": str(total)}, domain=domain)
    got = encoded(release)
    assert got.statements.coarse
    worlds = oracle.datasets(release)
    found = recon.certify(got, [{"a": a, "ill": y} for a in (1, 2, 3) for y in (0, 1)])
    for line, (a, y) in zip(found.itertuples(), ((a, y) for a in (1, 2, 3) for y in (0, 1)), strict=True):
        counts = [sum(row == (a, y) for row in world) for world in worlds]
        assert line.min_count <= min(counts) <= max(counts) <= line.max_count


def test_a_product_that_is_not_encoded_is_refused():
    terms = [{"of": ["weight", "income"]}]
    with pytest.raises(Unsupported, match="more than 2,000 values and one with negative numbers"):
        encoded(table({"linear": terms, "value": 1}, domain=DOMAIN))


def test_it_is_written_back_as_it_was_read(tmp_path, capsys):
    path, out = tmp_path / "release.json", tmp_path / "out.json"
    release = json.loads(GOLDEN.read_text())
    path.write_text(json.dumps(release))
    assert told(capsys, "convert", path, "--out", out)[0] == 0
    before, after = (NumberedStatements(recon.load(p).statements).fingerprint for p in (path, out))
    assert before == after
    assert json.loads(out.read_text())["models"][0]["statements"][0]["linear"][0]["times"] == "37/100"


@pytest.mark.slow
def test_proofs_are_accepted_by_both_checkers_and_forgeries_are_refused():
    rng, kinds, tally = random.Random(39), Counter(), Counter()
    while kinds.total() < 60:
        release, truth = oracle_coupled.random_coupled(rng, ("linear", "linear", "tree", "table"))
        if not truth or not any("linear" in s for m in release["models"] for s in m.get("statements", ())):
            continue
        case = case_of(release)
        space = oracle._space(release)
        names = [*space.values]
        profiles = [dict(zip(names, map(oracle._json_number, rng.choice(space.rows)), strict=True)) for _ in range(2)]
        for certificate in recon.certify(case.got, profiles, certificates=True)["certificate"]:
            if not certificate or "possible" in certificate["claim"]:
                continue
            kinds += accepted(case, certificate)
            for _ in range(4):
                changed = json.loads(json.dumps(certificate))
                part = {k: changed[k] for k in ("claim", "proof")}
                try:
                    rng.choice(MUTATORS)(rng, part, case)
                except (KeyError, TypeError, IndexError, AttributeError, ValueError):
                    continue
                changed.update(part)
                if repr(changed) != repr(certificate) and (found := read_back(changed)) is not None:
                    judge(case, with_seal(found), tally)
    assert tally["rejected"] > 60, tally


LAW = {"law": "laplace", "scale": 0.4}


@pytest.mark.parametrize("value", [9, 10.25, "65/3", -11.5])
def test_noise_leaves_the_sums_within_its_radius(value):
    """Each figure holds at the level of its share; the sum may be negative and fractional."""
    terms = [{"where": {"sex": "F"}, "of": "age", "times": "1/3"}, {"any": [{"ill": 1}, {"sex": "M"}], "times": -4}]
    noisy = table({"linear": terms, "value": value}, noise=LAW)
    radius = NoiseLaw("laplace", Fraction(2, 5)).radius(per_statement(Fraction(1, 20), 1))
    centre = Fraction(str(value))
    exact = table({"linear": terms, "at_least": str(centre - radius), "at_most": str(centre + radius)})
    assert recon.count(encoded(noisy), convention="multiset").value == oracle.count(exact, "multiset")


def test_whole_noise_and_other_figures_of_noisy_tables():
    whole = {"law": "discrete_laplace", "scale": 1}
    got = encoded(table({"linear": [{"of": "age", "times": 2}], "value": 121}, noise=whole))
    (one,) = got.statements.blocks[0]
    assert one.summands[0].factors[0][1] == (40, 42, 44, 46)  # noise is added to whole sums, not to halves
    for statement, reason in (
        ({"linear": [{"times": "1/2"}], "value": 3}, "its noise is whole, and its coefficients are not"),
        ({"linear": [{}], "value": 2.5}, "fractional, but the noise is discrete"),
        ({"linear": [{}], "at_most": 2}, "a sum with noise is published as 'value'"),
    ):
        with pytest.raises((ReleaseError, Unsupported), match=reason):
            encoded(table(statement, noise=whole))
    with pytest.raises(ReleaseError, match="only sums of counts with positive 'times'"):
        encoded(table({"linear": [{"times": -1}], "value": 0}, noise={**LAW, "clamped": True}))


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_programs_of_other_solvers_have_the_same_worlds(seed):
    """By cells, by rows, as clauses and relaxed: solved by ortools, python-sat and highspy alone."""
    rng = random.Random(seed)
    while True:
        release, truth = oracle_coupled.random_coupled(rng, ("linear",))
        worlds = oracle.datasets(release)
        if truth and len(worlds) > 1:
            break
    counts = {"ordered": model_cases.orders(worlds), "multiset": len(worlds)}
    assert not model_cases.failures(model_cases.ModelCase(seed, "coupled", release, worlds, counts))


GOLDEN_BOOSTED = ["boosted_open", "boosted_log", "boosted_softmax"]


@pytest.mark.parametrize("case", [*GOLDEN_BOOSTED, *range(6)])
def test_sums_of_boosted_models_are_linear_statements_with_the_same_worlds(case):
    """Without leaf values: what counts and linear statements alone leave, solved by CP-SAT, are the oracle's worlds."""
    from ortools.sat.python import cp_model

    if isinstance(case, str):
        release = json.loads((GOLDEN.parent / f"{case}.json").read_text())
        right = {"multiset": len(oracle.datasets(release)), "ordered": oracle.count(release, "ordered")}
    else:
        drawn = model_cases.drawn(case, ("boosted",))
        release, right = drawn.release, drawn.counts
    got = encoded(release)
    stated = with_stated_sums(got.statements, Limits())
    assert stated.boosted == ()
    assert sum("leaf" in s.source or "node" in s.source for s in stated.blocks[-1]) == len(stated.blocks[-1]) > 0
    model, mapping = recon.models.cpsat(replace(got, statements=stated))

    class Every(cp_model.CpSolverSolutionCallback):
        def __init__(self):
            super().__init__()
            self.found = Counter()

        def on_solution_callback(self):
            z = [self.value(model.get_int_var_from_proto_index(i)) for i in range(len(model.proto.variables))]
            self.found.update({name: int(n) for name, n in mapping.form.weights(z).items()})

    solver, every = cp_model.CpSolver(), Every()
    solver.parameters.num_workers, solver.parameters.enumerate_all_solutions = 1, True
    solver.solve(model, every)
    assert {name: every.found[name] for name in ("multiset", "ordered")} == right


def test_an_export_of_a_boosted_model_holds_the_sums_that_prove_nothing(tmp_path, capsys):
    code, output = told(
        capsys, "export", GOLDEN.parent / "boosted_open.json", "--to", "opb", "--out", tmp_path / "a.opb"
    )
    assert code == 0
    assert "gradients are known in intervals" in output
    assert "left out: boosting" not in output


# ---------------------------------------------------------------- parts and their numbers

WIDE = {
    "attributes": [
        {"name": "x", "min": 0, "max": 4999},
        {"name": "z", "min": -3000, "max": 3000},
        {"name": "even", "min": 2, "max": 8, "resolution": 2},
        {"name": "gap", "min": 0, "max": 3, "missing": True},
        DOMAIN["attributes"][0],
    ],
    "label": DOMAIN["label"],
    "columns": {"old": {"attribute": "x", "at_least": 4000}, "senior": {"attribute": "age", "at_least": 23}},
}


def parts_of(*statements, name="x"):
    """Return the sizes of the parts into which statements cut an attribute."""
    k = [one["name"] for one in WIDE["attributes"]].index(name)
    return encoded(table(*statements, domain=WIDE)).statements.domain.attributes[k].sizes


def test_an_attribute_is_cut_at_its_values_where_no_more_than_2000_are_summed():
    summed = {"linear": [{"of": "x", "where": {"x": {"at_least": 3000}}}], "at_most": 1}
    assert sorted(parts_of(summed)) == [*[1] * 2000, 3000]
    more = {"linear": [{"of": "x", "where": {"x": {"at_least": 2999}}}], "at_most": 1}
    assert sorted(parts_of(more)) == [2001, 2999]
    assert sorted(parts_of({"linear": [{"of": "old"}], "at_most": 1})) == [1000, 4000]  # a column is 0 or 1
    assert sorted(parts_of({"linear": [{"of": "senior"}], "at_most": 1}, name="age")) == [1, 3]


@pytest.mark.parametrize("times", [1, -1, "1/3", "-2/3"])
@pytest.mark.parametrize("name", ["x", "z"])
def test_a_sum_over_many_values_says_what_its_least_and_greatest_do(name, times):
    """Three rows: some rows add up to a number within a figure if three times the least and greatest lie around it."""
    least, greatest = (3 * end for end in ((0, 4999) if name == "x" else (-3000, 3000)))
    t = Fraction(times)
    low, high = sorted((least * t, greatest * t))
    for at, possible in ((low - 1, False), (low, True), ((low + high) / 2, True), (high, True), (high + 1, False)):
        bounds = said(table({"linear": [{"of": name, "times": times}], "value": str(at)}, domain=WIDE))
        assert len(bounds) == 2
        ends = [(one, sum(3 * s.times * math.prod(c[0] for _, c in s.factors) for s in one.summands)) for one in bounds]
        assert all(one.low <= x <= one.high for one, x in ends) == possible


def test_products_are_in_the_smallest_numbers_of_the_rows_that_add_them():
    """Numbers outside of the rows are 0; what those inside have in common is taken out: 22 of age, 2 of "even"."""
    of = {"linear": [{"of": "age", "where": {"age": 22}}], "value": 44}
    (one,) = said(table(of, domain=WIDE))
    assert (sorted(one.summands[0].factors[0][1]), one.low, one.high) == ([0, 0, 1], 2, 2)
    (one,) = said(table({"linear": [{"of": ["even", "age"]}], "value": 88}, domain=WIDE))
    assert (one.summands[0].times, dict(one.summands[0].factors)) == (1, {2: (1, 2, 3, 4), 4: (20, 21, 22, 23)})
    assert (one.low, one.high) == (44, 44)


def test_terms_over_the_same_attributes_are_one_where_their_numbers_can_be_added():
    """Of one attribute age and whether it is 23: 20, 21, 22, 24; of products each has numbers of its own."""
    (one,) = said(table({"linear": [{"of": "age"}, {"of": "senior"}], "value": 44}, domain=WIDE))
    assert [(s.times, s.factors) for s in one.summands] == [(1, ((4, (20, 21, 22, 24)),))]
    products = [{"of": ["even", "age"]}, {"of": ["even", "senior"]}, {"of": ["even", "age"]}]
    (one,) = said(table({"linear": products, "value": 88}, domain=WIDE))
    numbers = {(20, 21, 22, 23): 2, (0, 0, 0, 1): 1}
    assert {dict(s.factors)[4]: s.times for s in one.summands} == numbers


def test_products_of_coarse_numbers_are_bounded_unless_some_are_negative(monkeypatch):
    assert len(said(table({"linear": [{"of": ["x", "age"]}], "value": 9}, domain=WIDE))) == 2
    with pytest.raises(Unsupported, match="one with negative numbers, is not encoded"):
        said(table({"linear": [{"of": ["z", "age"]}], "value": 9}, domain=WIDE))
    monkeypatch.setattr(linear, "MAX_COMBINATIONS", 16)
    assert len(said(table({"linear": [{"of": ["even", "age"]}], "value": 88}, domain=WIDE))) == 1
    monkeypatch.setattr(linear, "MAX_COMBINATIONS", 15)
    with pytest.raises(Unsupported, match="more than 15 combinations of values are multiplied"):
        said(table({"linear": [{"of": ["even", "age"]}], "value": 88}, domain=WIDE))


def test_a_sum_over_missing_values_is_refused():
    with pytest.raises(ReleaseError, match="over missing values is not defined"):
        said(table({"linear": [{"of": "gap"}], "value": 3}, domain=WIDE))
    (one,) = said(table({"linear": [{"of": "gap", "where": {"gap": {"missing": False}}}], "value": 3}, domain=WIDE))
    assert dict(one.summands[0].factors)[3][:4] == (0, 1, 2, 3)


# ---------------------------------------------------------------- ends, digits, noise


def test_a_sum_with_one_end_is_one_statement_also_where_parts_are_coarse():
    """Each statement bounds the sum by what rows add at least, or at most; parts that are not coarse stand in both."""
    terms = {"linear": [{"of": "x"}, {"of": "age"}]}
    (low,) = said(table({**terms, "at_least": 9}, domain=WIDE))
    assert (low.coarse, low.low, low.high) == (True, 9, UNBOUNDED)
    (high,) = said(table({**terms, "at_most": 70}, domain=WIDE))
    assert (high.coarse, high.low, high.high) == (True, -UNBOUNDED, 70)
    assert [[max(numbers) for _, numbers in s.factors] for s in low.summands] == [[4999], [23]]
    assert [[max(numbers) for _, numbers in s.factors] for s in high.summands] == [[23]]
    assert len(said(table({**terms, "value": 69}, domain=WIDE))) == 2


def test_bounds_of_coarse_parts_are_in_the_smallest_whole_numbers_too():
    """From 2,001 to twice as much: a row adds one unit to either sum, of 2,001 and of 4,002."""
    domain = {"attributes": [{"name": "x", "min": 2001, "max": 4002}], "label": DOMAIN["label"]}
    low, high = said(table({"linear": [{"of": "x"}], "value": 8000}, domain=domain))
    assert [one.summands[0].factors for one in (low, high)] == [((0, (1,)),)] * 2
    assert (low.high, high.low) == (3, 2)


def test_rows_whose_value_is_0_add_nothing_and_products_may_cancel():
    (one,) = said(table({"linear": [{"of": "income", "where": {"income": 0}}], "value": 0}, domain=DOMAIN))
    assert [(s.times, s.factors) for s in one.summands] == [(0, ())]
    assert len(said(table({"linear": [{"of": "income", "where": {"income": 0}}], "value": 1}, domain=DOMAIN))) == 1
    products = [{"of": ["even", "age"]}, {"of": ["even", "age"], "times": -1}, {"of": "age"}]
    (one,) = said(table({"linear": products, "value": 66}, domain=WIDE))
    assert [s.factors for s in one.summands] == [((4, (20, 21, 22, 23)),)]


LONG = ("1.2345678901234567890123", "0.3333333333333333333331")  # two numbers that share no unit


@pytest.mark.parametrize("sign", ["", "-"])
def test_long_digits_are_rounded_outwards_whichever_end_of_a_sum_has_them(sign):
    """Of weights from 0 up to 5,000 one end has no coefficient at all; the other is of 2^44 to 2^45 units."""
    terms = [
        {"of": "weight", "times": sign + LONG[0]},
        {"of": "weight", "where": {"sex": "F"}, "times": sign + LONG[1]},
    ]
    found = said(table({"linear": terms, "value": sign + "7000.5"}, domain=DOMAIN))
    of_rows = [sum(abs(max(s.factors[0][1], key=abs)) for s in one.summands if s.factors) for one in found]
    assert sorted(map(bool, of_rows)) == [False, True]
    assert 1 << 44 <= 3 * max(of_rows) <= 1 << 45
    (one,) = (one for one, size in zip(found, of_rows, strict=True) if size)
    end = one.low if not sign else -one.high
    assert end / max(of_rows) == pytest.approx(7000.5 / (5000 * float(sum(map(Fraction, LONG)))), rel=1e-9)


def told_apart(terms, total, parts, **more):
    """Return which of totals a little below, right and a little above a row's statements take, by its parts."""
    found = []
    for value in (total * (1 - Fraction(1, 1 << 35)), total, total * (1 + Fraction(1, 1 << 35))):
        ends = said(table({"linear": terms, "value": str(value)}, rows=1, **more))
        assert [one.coarse for one in ends] == [True, True]
        sums = [sum(s.times * math.prod(c[parts[k]] for k, c in s.factors) for s in one.summands) for one in ends]
        found.append(all(one.low <= x <= one.high for one, x in zip(ends, sums, strict=True)))
    return found


@pytest.mark.parametrize("size", ["1e-60", "1", "1e60"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_rounding_keeps_as_many_digits_of_small_and_of_large_coefficients(size, sign):
    """What a row adds is told to a part in 2^35 at least, and never left out."""
    domain = {"attributes": [{"name": "a", "min": -1, "max": 1}], "label": DOMAIN["label"]}
    times = [Fraction(sign + one) * Fraction(size) for one in LONG]
    terms = [{"of": "a", "times": str(times[0])}, {"of": "a", "where": {"ill": 1}, "times": str(times[1])}]
    assert told_apart(terms, sum(times), {0: 2}, domain=domain) == [False, True, False]
    assert told_apart(terms, -sum(times), {0: 0}, domain=domain) == [False, True, False]


@pytest.mark.parametrize("number", [1, 3, 4, 7, "1/3", "1/4", "5/7", "7/5", "1e-400", "1e400"])
def test_steps_are_powers_of_two_of_numbers_of_any_size(number):
    found = linear._power_of_two(Fraction(number))
    assert found <= Fraction(number) < 2 * found
    assert (found.numerator & (found.numerator - 1), found.denominator & (found.denominator - 1)) == (0, 0)


def test_sums_are_rounded_from_2_to_the_52_on_over_all_rows():
    def coarse(times, rows):
        terms = [{"times": str(times)}, {"where": {"sex": "F"}}]
        found = said(table({"linear": terms, "value": 9}, rows=rows))
        assert len(found) == (2 if found[0].coarse else 1)
        return found[0].coarse

    assert [coarse((1 << 40) - 1 - k, 1 << 12) for k in (0, 1)] == [True, False]  # a row adds 2^40 at most
    assert [coarse((1 << 52) - 1 - k, 1) for k in (0, 1)] == [True, False]
    assert coarse(1 << 51, 0) is False  # no row: as many as one is reckoned with


def test_products_are_rounded_unless_some_numbers_are_negative():
    def found(of, **more):
        return said(table({"linear": [{"of": of, "times": LONG[0]}, {"times": LONG[1]}], "value": 9}, **more))

    attributes = [{"name": "p", "min": 0, "max": 2}, {"name": "q", "min": 0, "max": 3}]
    zero = {"attributes": attributes, "label": DOMAIN["label"]}
    for sign in ("", "-"):
        terms = [{"of": ["p", "q"], "times": sign + LONG[0]}, {"times": sign + LONG[1]}]
        total = 6 * Fraction(sign + LONG[0]) + Fraction(sign + LONG[1])
        assert told_apart(terms, total, {0: 2, 1: 3}, domain=zero) == [False, True, False]
    assert len(found("income", domain=DOMAIN)) == 2  # one attribute: number by number
    with pytest.raises(Unsupported, match="too many digits for a product of attributes with negative numbers"):
        found(["income", "age"], domain=DOMAIN)


def test_sums_beyond_2_to_the_62_are_refused():
    """Rounded up, each of 512 coefficients adds at least 1 for each of 2^53 rows."""

    def found(number):
        terms = [{"where": {"x": {"at_most": k}}} for k in range(number)]
        return said(table({"linear": terms, "value": 9}, domain=WIDE, rows=1 << 53))

    assert len(found(511)) == 2
    with pytest.raises(ReleaseError, match=re.escape("the sum over the rows may be 2^62 or more, beyond 2^62")):
        found(512)


def test_a_bound_beyond_all_sums_is_the_first_that_lies_there():
    far = 10**30
    for value, ends in (
        ({"at_least": far}, (70, UNBOUNDED)), ({"at_least": -far}, (-70, UNBOUNDED)),
        ({"at_most": far}, (-UNBOUNDED, 70)), ({"at_most": -far}, (-UNBOUNDED, -70)),
    ):  # fmt: skip
        (one,) = said(table({"linear": [{"of": "age"}], **value}))  # three rows: 69 at most
        assert (one.low, one.high) == ends


@pytest.mark.parametrize(
    ("value", "ends"),
    [({"at_most": 10**30}, (-UNBOUNDED, UNBOUNDED)), ({"at_least": -(10**30)}, (-UNBOUNDED, UNBOUNDED)),
     ({"at_least": 10**30}, (1 << 62, UNBOUNDED)), ({"at_most": -(10**30)}, (-UNBOUNDED, -(1 << 62))),
     ({"value": 5}, (5, 5))],
)  # fmt: skip
def test_of_any_number_of_rows_a_bound_that_sums_may_lie_beyond_is_none(value, ends):
    release = table({"linear": [{"of": "income", "where": {"sex": "F"}, "times": 2}], **value}, domain=DOMAIN)
    del release["rows"]
    (one,) = said(release)
    assert (one.low, one.high) == ends


WHOLE = {"law": "discrete_laplace", "scale": 1}


def noisy(terms, noise=WHOLE, value=3, **more):
    release = table({"linear": terms, "value": value}, noise=noise, **{"domain": WIDE, **more})
    return encoded({key: part for key, part in release.items() if part is not None})


def test_noise_on_coarse_parts_on_open_rows_and_on_far_sums():
    with pytest.raises(Unsupported, match="an attribute with more than 2,000 values is not encoded"):
        noisy([{"of": "x"}, {"of": "age"}])
    negative = [{"times": -1, "where": {"age": 20}}, {"of": "age"}]
    assert noisy(negative).statements.blocks[0]
    few = {"at_least": 2, "at_most": 9}
    with pytest.raises(Unsupported, match="a sum that may be negative is encoded only where 'rows' is known"):
        noisy(negative, rows=few)
    for rows in (few, None):
        assert noisy([{"of": "age"}], rows=rows).statements.blocks[0]
    most = 1 << 60  # of four rows: 2^62
    assert noisy([{"times": most - 1}], rows=4).statements.blocks[0]
    with pytest.raises(Unsupported, match=re.escape("the sum over the rows may be beyond 2^62")):
        noisy([{"times": most}], rows=4)
