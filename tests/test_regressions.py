"""Linear regressions with covariances: sums of products from printed digits, the truth never excluded, bad input."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from boosted_cases import compas14
from extras import batches, extra, run
from regression_cases import failures, people, table

import recon
from recon.readers.formats.regressions.sums_of_products import PublishedInverse, enclosed_sums
from recon.readers.frames.world import violations
from recon.readers.inspection.inspecting import inspect, inspect_bytes
from recon.readers.stored.objects.pandas_tables import arrow_texts
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported

CORPUS = Path(__file__).parent / "corpus"


def loaded(folder, text, frame=None, **options):
    path = folder / "fit.csv"
    path.write_text(text)
    domain = None if frame is None else recon.Domain.from_frame(frame, label="y")
    return recon.load(path, domain=domain, **options)


@pytest.mark.parametrize("seed", batches(10, 200))
def test_the_true_rows_are_never_excluded(seed):
    assert failures(seed)[0] == []


@pytest.mark.slow
def test_as_many_data_sets_as_there_are_by_brute_force(tmp_path):
    frame = people(4, rows=12, bits=2)
    release = loaded(tmp_path, table(frame, 7), frame)
    cells = list(product((0, 1), repeat=3))
    truth = frame.to_numpy()
    wanted = np.column_stack([np.ones(12), truth]).T @ truth
    same = sum(
        bool((np.column_stack([np.ones(12), np.array(some)]).T @ np.array(some) == wanted).all())
        for some in combinations_with_replacement(cells, 12)
    )
    assert recon.count(release, "multiset").value == same > 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("digits", [4, 5, 6, 8])
def test_every_pair_of_columns_is_counted_exactly_from_so_many_digits(digits, tmp_path, data):
    data("compas14.csv.gz")
    frame, domain = compas14()
    label = frame.columns[-1]
    kept = frame.drop(columns=["age:18-20", "priors:=0"]).rename(columns={label: "y"})
    (tmp_path / "fit.csv").write_text(table(kept, digits).replace("response,y", f"response,{label}"))
    release = recon.load(tmp_path / "fit.csv", domain=domain)
    figures = release.models[0].statements
    assert len(figures) == 83
    assert len(frame) - len(kept.columns) == 7_193  # residual degrees of freedom: a coefficient per column, a constant
    assert all(one.count is not None for one in figures)
    assert violations(release, frame) == []
    least = min(one.count for one in figures)
    assert (least, [one.name for one in figures if one.count == 1]) == (
        1, ["rows with 'age:>45 and juvenile-misdemeanors:>0'"]
    )  # fmt: skip
    where = {"age:>45": 1, "juvenile-misdemeanors:>0": 1}
    assert int((frame[list(where)] == 1).all(axis=1).sum()) == 1


@pytest.mark.parametrize("file", ["statsmodels_ols.pkl", "statsmodels_formula.pkl"])
def test_statsmodels_objects_give_sums_by_condition_and_value(file):
    frame = pd.read_csv(CORPUS / "statsmodels_ols.csv")
    columns = frame if "formula" in file else frame[["age", "smoker", "pressure"]]
    release = recon.load(CORPUS / file, domain=recon.Domain.from_frame(columns, label="pressure"))
    assert release.rows.low == release.rows.high == 60
    assert violations(release, columns) == []
    found = {one.name: one for one in release.models[0].statements}
    both = int((frame.age * frame.smoker).sum())
    name = "sum of 'age and smoker'" if "formula" in file else "sum of 'x0 and x1'"
    assert (found[name].linear.low, found[name].linear.high) == (both, both)


@pytest.mark.parametrize("file", ["lm.rds", "lm_summary.rds", "lm_vcov.rds"])
def test_r_objects_give_the_same_sums(file):
    frame = pd.read_csv(CORPUS / "statsmodels_ols.csv")
    domain = recon.Domain.from_frame(frame, label="pressure")
    release = recon.load(CORPUS / file, domain=domain, rows=60 if "vcov" in file else None)
    assert violations(release, frame) == []
    found = {one.name: one.linear or one.count for one in release.models[0].statements}
    assert found["rows with 'sexM and smoker'"] == int(((frame.sex == "M") & (frame.smoker == 1)).sum())
    if "vcov" not in file:
        squares = found["sum of squares of 'response'"]
        assert squares.low == squares.high == int((frame.pressure**2).sum())


def test_robust_errors_leave_the_inverse_in_the_object():
    frame = pd.read_csv(CORPUS / "statsmodels_ols.csv")
    release = recon.load(CORPUS / "statsmodels_hc1.pkl", domain=recon.Domain.from_frame(frame, label="pressure"))
    assert violations(release, frame) == []


def test_sums_that_no_digits_of_a_fit_have_are_named(tmp_path, capsys):
    frame = people(4, rows=40, bits=3)
    good = table(frame, 8)
    assert loaded(tmp_path, good, frame).models
    weighted = table(frame, 8, weights=np.linspace(0.3, 2, 40))
    with pytest.raises(ContradictionError, match=r"the digits of the covariances are of .* rows, not 40"):
        loaded(tmp_path, weighted, frame)
    robust = table(frame, 8, errors=[1.7, 0.2, 0.3, 0.4])
    with pytest.raises(ReleaseError, match=r"standard error 1\.7 of 'const' is not the root of its covariance"):
        loaded(tmp_path, robust, frame)
    lines = good.splitlines()
    cells = lines[2].split(",")
    cells[1] = f"{float(cells[1]) + 0.003:.8g}"
    with pytest.raises(ContradictionError, match=r"no number of rows of .* has these digits .* from the coefficients"):
        loaded(tmp_path, "\n".join([*lines[:2], ",".join(cells), *lines[3:]]), frame)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    code, _, error = run(capsys, "count", str(tmp_path / "fit.csv"), "--domain", str(tmp_path / "rows.csv"))
    assert (code, "has these digits" in error) == (5, True), error


def test_what_is_not_published_is_said(tmp_path, capsys):
    frame = people(4, rows=40, bits=3)
    bare = table(frame, 8, more=False)
    with pytest.raises(Unsupported, match="give --rows"):
        loaded(tmp_path, bare, frame)
    assert violations(loaded(tmp_path, bare, frame, rows=40), frame) == []
    for line, why in (("cov_type,HC1", "errors of type hc1"), ("weights,w", "a weighted regression is not read")):
        with pytest.raises(Unsupported, match=why):
            loaded(tmp_path, table(frame, 8) + line + "\n", frame)
    alone = "\n".join(",".join(line.split(",")[:3]) for line in bare.splitlines())
    (tmp_path / "fit.csv").write_text(alone)
    code, _, error = run(capsys, "count", str(tmp_path / "fit.csv"))
    assert (code, "coefficients with standard errors alone" in error) == (3, True)
    for alone in (",coef\nconst,1.25\nage,0.5\n", '"","x"\n"(Intercept)",1.25\n"age",0.5\n'):
        (tmp_path / "fit.csv").write_text(alone)
        code, _, error = run(capsys, "count", str(tmp_path / "fit.csv"))
        assert (code, "coefficients alone give no sum" in error, "family,binomial" in error) == (3, True, True), error
    for name, why in (("wls", "OLS is read, not WLS"), ("singular", "the covariance is singular")):
        with pytest.raises(Unsupported, match=why):
            recon.load(CORPUS / f"statsmodels_{name}.pkl")


def test_a_column_that_is_called_like_a_value_of_another_is_not_taken_for_it(tmp_path):
    frame = people(4, rows=40, bits=2).assign(age=np.random.default_rng(0).integers(0, 4, 40))
    square = frame.assign(age2=frame.age**2)[["a0", "age", "age2", "y"]]
    release = loaded(tmp_path, table(square, 12), frame[["a0", "age", "y"]])
    assert violations(release, frame[["a0", "age", "y"]]) == []
    assert [one.what for one in release.models[0].origin.unused if "age2" in one.what] == ["the covariances of 'age2'"]


def test_an_enclosed_inverse_holds_the_true_one():
    rng = np.random.default_rng(2)
    for digits in (3, 5, 9):
        rows = rng.integers(0, 3, (30, 4)) + np.eye(4, dtype=int)[rng.integers(0, 4, 30)]
        sums = rows.T @ rows
        inverse = [[Fraction(v) for v in line] for line in np.linalg.inv(sums).tolist()]
        step = Fraction(1, 10**digits) / 30
        middle = [[round(v / step) * step for v in line] for line in inverse]
        found = PublishedInverse(middle, [[step / 2 + Fraction(1, 10**15)] * 4] * 4, (Fraction(1), Fraction(1)))
        try:
            ends = enclosed_sums(found)
        except ReleaseError:
            assert digits == 3
            continue
        assert all(ends[i][j][0] <= int(sums[i, j]) <= ends[i][j][1] for i in range(4) for j in range(4))
    one = Fraction(1)
    with pytest.raises(ReleaseError, match="leave everything open"):
        enclosed_sums(PublishedInverse([[one, one], [one, one]], [[one / 8] * 2] * 2, (one, one)))


def test_a_record_of_acro_says_what_its_checks_leave_open(capsys):
    path = str(CORPUS / "acro_results.json")
    with pytest.raises(Unsupported, match=r"no counts of its own: .* `recon audit output_1_0\.csv output_1_0\.csv`"):
        recon.load(path)
    found = {one.path: one for one in recon.inspect(path).findings}
    assert found["results.output_0"].follows.startswith("57 degrees of freedom")
    assert "both of any two properties" in found["results.output_0"].follows
    assert "recon labels" in found["results.output_3"].remove
    assert found["results.output_1"].follows.startswith("2 cells failed a check, and which ones stands here")
    assert "--rounding" in found["results.output_6"].remove
    assert any(one.level == "unknown" for one in found.values())  # commands and comments are free text


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("x,nan,nan", r"line 3: 'nan' is no estimate: .* leave it out and fit again"),
        ("x,2.5,NA", r"line 3: 'NA' is no estimate"),
        (
            "x,1e308,1",
            r"line 3: '1e308' is beyond the numbers read here \(at most 40 characters, exponents of at most 300",
        ),
        ("x," + "1" * 41 + ",1", r"is beyond the numbers read here"),
        ("x,one,1", r"line 3: 'one' is not a number"),
    ],
)
def test_a_figure_that_is_not_read_has_its_true_reason(bad, why, tmp_path):
    (tmp_path / "fit.csv").write_text(f",Estimate,Std. Error\n(Intercept),1.5,0.25\n{bad}\n\nnobs,60\n")
    with pytest.raises(ReleaseError, match=why):
        recon.load(tmp_path / "fit.csv")


def test_a_domain_of_other_columns_is_named_and_no_digit_is_blamed(tmp_path, capsys):
    """Columns of a file without names are the domain's in order: ages are no values of 0 and 1."""
    (tmp_path / "rows.csv").write_text("height,weight,y\n0,1,0\n1,0,1\n1,1,0\n0,0,1\n")
    code, _, error = run(capsys, "count", str(CORPUS / "statsmodels_ols.pkl"), "--domain", str(tmp_path / "rows.csv"))
    assert code == 5
    assert "'x0' a sum of 1772.999981" in error
    assert "have at most 60: the attributes of the domain do not fit the columns of the fit" in error


def test_a_domain_with_none_of_the_columns_is_refused_and_one_with_some_is_not(tmp_path, capsys):
    """Sums of columns that the domain does not have would be unused, and a count be as if nothing was published."""
    for names, file, shown in (
        ("a,b", "regression.csv", "the regression ('smoker', 'male', 'young')"),
        ("d,e", "prepared.pkl", "its steps ("),
    ):
        (tmp_path / "rows.csv").write_text(f"{names}\n0,1\n1,0\n")
        code, out, error = run(capsys, "count", str(CORPUS / file), "--domain", str(tmp_path / "rows.csv"))
        assert (code, out) == (3, "")
        assert f"the domain has none of the columns of {shown}" in error
    for names, file in (("smoker,b", "regression.csv"), ("a,b", "prepared.pkl")):
        (tmp_path / "rows.csv").write_text(f"{names}\n0,1\n1,0\n")
        code, out, error = run(capsys, "count", str(CORPUS / file), "--domain", str(tmp_path / "rows.csv"))
        assert "none of the columns" not in error
        assert code != 70


@pytest.mark.parametrize(("file", "levels"), [
    ("ols", {"_results._cache": "info"}), ("logit", {"_results._cache": "info"}),
    ("glm", {"_results._cache": "high", "_results.model.data.orig_exog": "critical"}),
    ("mnlogit", {"_results._cache": "info", "_results.model.wendog": "critical"}),
])  # fmt: skip
def test_what_objects_of_statsmodels_hold_beside_sums_is_said(file, levels):
    """What remove_data leaves: names of statistics, and of several classes everybody's class."""
    found = {}
    for one in inspect(CORPUS / f"statsmodels_{file}.pkl").findings:
        found.setdefault(one.path, one.level)
    assert {place: found.get(place) for place in levels} == levels
    assert found.get("__doc__") is found.get("_results.cov_kwds") is None


def test_another_text_in_the_place_of_documentation_is_not_understood():
    data = (CORPUS / "statsmodels_ols.pkl").read_bytes()
    changed = data.replace(b"Results class for an OLS model.", b"Ann 31, Ben 44, Eve 29, Joe 52.")
    assert changed != data
    assert {one.path for one in inspect_bytes(data).findings if one.level == "unknown"} == set()
    assert {one.path for one in inspect_bytes(changed).findings if one.level == "unknown"} == {"__doc__"}


def test_an_object_of_statsmodels_without_its_data_is_understood_whole(capsys):
    """What the gate leaves open needs a domain; it is no longer that training rows may be in what nobody knows."""
    code, told, _ = run(capsys, "gate", str(CORPUS / "statsmodels_ols.pkl"), "--policy", "preset:minimum-cell-10")
    assert "it is not known what" not in told
    assert (code, "1 of 4 thresholds of the policy minimum-cell-10 is open (people fully known)" in told) == (4, True)


def unknown_of(result, tmp_path):
    """Return what of the saved result no reader and no rule knows."""
    result.remove_data()
    result.save(tmp_path / "saved.pkl")
    return [one.path for one in inspect(tmp_path / "saved.pkl").findings if one.level == "unknown"]


def fitted_result(kind):
    """Return a result of statsmodels on 80 people whose columns and classes have names of several words."""
    extra("statsmodels")
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    people = pd.DataFrame({"age at diagnosis": rng.integers(20, 60, 80), "body mass index": rng.normal(25, 3, 80)})
    grade = pd.Series(np.array(["none at all", "mild", "severe disease"])[rng.integers(0, 3, 80)], name="grade of it")
    if kind == "MNLogit":
        return sm.MNLogit(grade, sm.add_constant(people)).fit(disp=0)
    return sm.GLM(grade == "mild", sm.add_constant(people), family=sm.families.Binomial()).fit()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["GLM", "MNLogit"])
def test_what_a_usual_fit_saves_is_known(kind, tmp_path):
    """Steps of the solver, and names that pandas stores in memory of pyarrow."""
    assert unknown_of(fitted_result(kind), tmp_path) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda steps: steps.update(rows=[1.0, 2.0]),
        lambda steps: steps["params"].__setitem__(1, np.arange(40.0)),
        lambda steps: steps["params"].__setitem__(-1, np.arange(3.0)),
        lambda steps: steps["deviance"].__setitem__(1, "a name"),
        lambda steps: steps["deviance"].append(1.0),
        lambda steps: steps.update(iteration=10**9),
        lambda steps: steps.update(params=steps["params"][-1:] * 300, deviance=[0.5] * 300),
    ],
)
def test_what_is_no_step_of_a_solver_is_not_understood(change, tmp_path):
    result = fitted_result("GLM")
    change(result._results.fit_history)
    assert unknown_of(result, tmp_path) == ["_results.fit_history"]


@pytest.mark.parametrize("texts", [["Ann was ill in May", "Ben"], [f"person {k}" for k in range(300)], ["x" * 5_000]])
def test_texts_in_memory_of_pyarrow_that_name_nothing_else_are_not_understood(texts, tmp_path):
    result = fitted_result("MNLogit")
    result._results.model.data._cov_names = pd.MultiIndex.from_product([texts, ["const"]])
    assert any("_pa_array" in path for path in unknown_of(result, tmp_path))


@pytest.mark.parametrize(
    ("texts", "data", "read"),
    [
        (["Ann", "Ben"], b"AnnBen", ["Ann", "Ben"]),
        ([], b"", []),
        (["Ann", "Ben"], b"AnnBenEve", None),
        (["Ann", None], b"Ann", None),
    ],
)
def test_memory_of_pyarrow_is_texts_where_nothing_else_stands_in_it(texts, data, read):
    extra("pyarrow")
    import pyarrow as pa

    made = pa.array(texts, pa.large_string())
    known, ends, _ = made.buffers()
    made = pa.Array.from_buffers(
        made.type, len(texts), [known, ends and ends[: 8 * len(texts) + 8], pa.py_buffer(data)]
    )
    thing = open_stored(pickle.dumps(made, protocol=4), 1 << 20).root
    assert arrow_texts(thing) == read
