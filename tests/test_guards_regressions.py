"""Guards of readers of regressions: columns of a design, what a pipeline makes of them, parts of fits that are gone."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from changed_objects import changed, in_r, root_of, sentence_of
from sklearn.linear_model import LogisticRegression

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid, equals
from encoders.models.models import Provenance
from recon.readers.formats.detection import draft_of_object
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.regressions.generalised_models import read_glm_rds
from recon.readers.formats.regressions.least_squares import (
    NOT_THERE,
    CovarianceDraft,
    DesignColumn,
    _axis,
    _design_column,
    _pair_key,
    freedom_within,
    guessed,
    of_doubles,
)
from recon.readers.formats.regressions.printed_coefficients import (
    SEPARATED,
    PrintedCoefficients,
    read_printed_regression,
)
from recon.readers.formats.regressions.regression_tables import (
    FARTHEST,
    LONGEST,
    _PrintedNumber,
    read_regression_rds,
    read_regression_table,
)
from recon.readers.formats.regressions.score_equations import (
    COUNTS,
    LARGEST_STEP,
    SHARES,
    DesignTerm,
    MadeColumn,
    ScoreDraft,
)
from recon.readers.formats.regressions.sums_of_products import (
    PublishedInverse,
    SumStructure,
    _whole_ends,
    enclosed_sums,
)
from recon.readers.stored.binary.rds import RObject, read_rds
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.statements.release import RowCount

CORPUS = Path(__file__).parent / "corpus"
TABLE = pd.DataFrame({"age": [30, 31, 32], "sex": ["M", "F", "M"], "words": ["x", "1", "2"]})
LEVELS = {name: frozenset(map(str, TABLE[name])) for name in TABLE}
WIDE = Domain((Grid.between("x", -3000, 3000), Grid.between("age", 30, 32), Categorical("sex", ("F", "M"))), None)
NONE = CovarianceDraft(Provenance("f", ()), ())


@pytest.mark.parametrize(
    ("name", "factors", "numbers"),
    [
        ("", (), [1, 1, 1]),
        ("age", (("age", None),), [30, 31, 32]),
        ("sexM", (("sex", "M"),), [1, 0, 1]),
        ("C(sex)[T.M]", (("sex", "M"),), [1, 0, 1]),
        ("age:sexM", (("age", None), ("sex", "M")), [30, 0, 32]),
        ("sexM*sexF", (("sex", "M"), ("sex", "F")), [0, 0, 0]),
        ("age:none", None, None),
        ("sexX", None, None),
    ],
)
def test_names_of_columns_of_a_design(name, factors, numbers):
    term = DesignTerm.of(name, TABLE, LEVELS)
    assert (None if term is None else term.factors) == factors
    if term is not None:
        assert term.numbers(TABLE).tolist() == numbers


def test_columns_of_a_design_over_a_domain():
    binder = Binder(NONE, WIDE)
    assert "has values that are no numbers" in sentence_of(DesignTerm((("words", None),)).numbers, TABLE)
    assert "'sex' has no value X in the domain" in DesignTerm((("sex", "X"),)).column(binder).why
    column = DesignTerm((("age", None), ("sex", "M"))).column(binder)
    assert (column.of, column.unit, column.ends) == (("age",), 1, (0, 32))
    assert DesignTerm((("x", None), ("age", None))).column(binder).unit is None  # of many values, some below 0
    empty = Domain((Categorical("t", ("", "x")),), None)
    assert _design_column("other", Binder(NONE, empty)).why == NOT_THERE
    assert _design_column("tx", Binder(NONE, empty)).unit == 1


def test_what_a_pipeline_makes_of_a_column():
    def made(name, make, linear=None):
        return MadeColumn.of(name, TABLE, make, linear)

    one = made("age", lambda x: 2 * x + 1, (F(2), F(1)))
    assert (one.term.factors, one.numbers.tolist(), one.times, one.plus) == ((("age", None),), [61, 63, 65], 2, 1)
    bit = made("words", lambda x: 1.0 if x == "x" else 0.25)
    assert (bit.term.factors, bit.times, bit.plus) == ((("words", "x"),), F(3, 4), F(1, 4))
    assert "has no column 'gone'" in sentence_of(made, "gone", float)
    for odd in (math.nan, math.inf, None, "x"):
        assert "values of 'age' of which the model is given no number" in sentence_of(made, "age", lambda _, x=odd: x)
    assert "neither a multiple of it nor whether" in sentence_of(made, "age", lambda x: x * x)
    twice = pd.DataFrame({"t": list("abcd")})
    said = sentence_of(MadeColumn.of, "t", twice, lambda x: float(x in "ab"), None)
    assert "neither a multiple of it nor whether" in said


def fit(terms=("", "age"), weights=(0.0, 0.0), **more):
    return ScoreDraft(
        Provenance("f", ()), (), terms=terms, weights=tuple((F(w), F(w)) for w in weights),
        **{"classes": (0, 1), "label": "y", "mean": SHARES, **more},
    )  # fmt: skip


def test_what_a_fit_asks_of_the_known_columns():
    ages = TABLE[["age"]]
    assert fit(named=False).of_known(ages, "y").terms == ("", "age")
    assert "the model has 1 columns without names, the table has 3" in sentence_of(
        fit(named=False).of_known, TABLE, "y"
    )
    assert "the table has 3 rows, the model is of 4" in sentence_of(fit(count=4).of_known, ages, "y")
    assert "has no column 'gone'" in sentence_of(fit(("", "gone")).of_known, ages, "y")
    assert "the last step of the solver was too long" in sentence_of(
        fit(step=(LARGEST_STEP * 2, 0)).of_known, ages, "y"
    )
    assert not sentence_of(fit(step=(LARGEST_STEP / 2, 0)).of_known, ages, "y")
    counts = {"mean": COUNTS, "epsilon": 1e-8, "classes": None}
    assert not sentence_of(fit(**counts).of_known, ages, "y")
    assert "without a constant is read where its deviance" in sentence_of(
        fit(("age",), (0.0,), **counts).of_known, ages, "y"
    )
    assert not sentence_of(fit(("age",), (0.0,), deviance=2.5, **counts).of_known, ages, "y")
    domain = Domain((Continuous("age"),), Categorical("y", (0, 1)))
    assert "known" in sentence_of(fit().bound, Binder(fit(), domain))
    known = fit(weights=(math.log(0.5), 0.0)).of_known(ages, "y")  # one row of three is of the class
    (table,) = known.bound(Binder(known, domain))
    assert [one.what for one in table.origin.unused] == ["the equation of 'age'"]
    assert "no 'resolution'" in table.origin.unused[0].why
    assert len(table.statements) == 2  # all rows, and those of the class


def test_what_a_fit_asks_of_columns_that_a_pipeline_makes():
    shifted, plain = ("age", lambda x: x + 1.0, (F(1), F(1))), ("age", lambda x: 2.0 * x, (F(2), F(0)))
    assert fit().of_made(TABLE[["age"]], [shifted]).terms == ("age", "")
    alone = fit(("age",), (0.0,))
    assert alone.of_made(TABLE[["age"]], [plain]).terms == ("age",)
    assert "without a constant, of columns that a step shifts" in sentence_of(alone.of_made, TABLE[["age"]], [shifted])
    same = ("age", lambda _: 4.0, (F(0), F(4)))
    assert "a step makes the same number of all values of a column" in sentence_of(
        fit().of_made, TABLE[["age"]], [same]
    )


def test_parts_of_fits_that_are_gone():
    ols = open_stored((CORPUS / "statsmodels_ols.pkl").read_bytes()).root
    formula = open_stored((CORPUS / "statsmodels_formula.pkl").read_bytes()).root
    assert draft_of_object(formula, "pickle").named
    bare = draft_of_object(changed(ols, {"_results.model.data": None}), "pickle")
    assert (bare.named, bare.rows) == (False, RowCount(60, 60))
    gone = {"_results.model.data": None, "_results.model.formula": "pressure ~ age"}
    said = sentence_of(draft_of_object, changed(ols, gone), "pickle")
    assert "the names of the columns that the formula 'pressure ~ age' made are not stored" in said
    named = Thing(Name("pandas", "Series"), "newobj", (), {}, {"_name": "ill"})
    assert [_axis(named), _axis(None), _axis(7)] == [["ill"], None, None]
    assert of_doubles("f", ["a"], np.array([[0.1]]), [0.5], 9, 1.0, True).rows == RowCount(9, 9)
    assert of_doubles("f", ["a"], np.array([[0.1]]), [0.5], None, 1.0, True).rows is None
    fitted = read_rds((CORPUS / "lm.rds").read_bytes())
    assert read_regression_rds(fitted).scale is not None
    qr = RObject("double", np.diag([2.0, 1, 1, 1]).ravel(), {"dim": RObject("integer", np.array([4, 4]))})
    assert read_regression_rds(in_r(fitted, ["qr", "qr"], qr)).scale is None  # as many rows as coefficients


def test_lines_of_printed_fits():
    assert "line 1: 'age' stands under no line of names" in sentence_of(read_regression_table, "age,1.5\n,coef\n")
    assert "without a table of coefficients" in sentence_of(
        read_printed_regression, "   coef    std err\nage   1.5   0.1\n"
    )
    for text, value in (
        (".5", F(1, 2)),
        ("5", F(5)),
        ("1" * LONGEST, F("1" * LONGEST)),
        (f"1e{FARTHEST}", None),
        (f"1e-{FARTHEST}", F(1, 10**FARTHEST)),
    ):
        found = _PrintedNumber.of(text, "line 1")
        assert found.value == (F(10) ** FARTHEST if value is None else value)
    for text, why in (
        (".", "is not a number"),
        ("1" * (LONGEST + 1), "beyond"),
        (f"1e{FARTHEST + 1}", "beyond"),
        (f"1e-{FARTHEST + 1}", "beyond"),
    ):
        assert why in sentence_of(_PrintedNumber.of, text, "line 1")
    glm = (CORPUS / "glm_statsmodels.txt").read_text()
    draft = read_printed_regression(glm)
    deviance = next(one for one in glm.splitlines() if "Deviance:" in one).split("Deviance:")[1].split()[0]
    assert draft.deviance == float(deviance)
    assert read_printed_regression(glm.replace(deviance, "x")).deviance is None
    poisson = (CORPUS / "poisson_statsmodels.txt").read_text()
    assert not sentence_of(read_printed_regression, poisson)
    for key in ("converged:     ", "Converged:     "):  # as summary() and summary2() write it
        for said, why in (("True", ""), ("1.0000", ""), ("False", "did not converge"), ("0.0000", "did not converge")):
            told = re.sub(r"No. Iterations: +4", f"{key}{said:>21}", poisson)
            assert told != poisson
            found = sentence_of(read_printed_regression, told)
            assert (why in found, bool(found)) == (True, bool(why))


def test_matrices_that_have_no_enclosed_inverse():
    def inverse(*lines, off=F(0)):
        middle = tuple(tuple(map(F, line)) for line in lines)
        return PublishedInverse(middle, tuple((off,) * len(lines) for _ in lines), (F(1), F(1)))

    ((least, most),) = enclosed_sums(inverse((4,)))[0]
    assert least <= F(1, 4) <= most <= F(1, 4) + F(1, 1 << 30)
    for off in (F(3), F(4)):
        assert "so few digits leave everything open" in sentence_of(enclosed_sums, inverse((4,), off=off))
    for odd in ((0,), (-1,)):
        assert "of a coefficient with itself is" in sentence_of(enclosed_sums, inverse(odd))
    many = [[int(i == j) for j in range(65)] for i in range(65)]
    assert "more than 64 coefficients are not solved for" in sentence_of(enclosed_sums, inverse(*many))
    structure = SumStructure([[0]], [F(1)], [(None, None)], ["'a'"])
    assert _whole_ends(structure, 0, (F(1, 5), F(9, 5))) == (1, 1)
    assert "no whole number" in sentence_of(_whole_ends, structure, 0, (F(1, 5), F(4, 5)))


@pytest.mark.parametrize(
    ("rows", "free"),
    [(None, (0, None)), (RowCount(5, None), (2, None)), (RowCount(2, 9), (0, 6)), (RowCount(1, 2), (0, 0))],
)
def test_degrees_of_freedom_are_as_open_as_the_number_of_rows(rows, free):
    assert freedom_within(rows, 3) == free


X = pd.DataFrame({"a": [0, 1, 2, 3, 4, 5, 1, 2], "b": [1, 0, 1, 0, 1, 0, 0, 1]})
OF_CLASS = LogisticRegression().fit(X, [0, 1, 2, 1, 0, 1, 2, 0])
READ = [
    ("statsmodels_logit.pkl", {"_results.model.offset": np.zeros(2)}),
    ("statsmodels_glm.pkl", {"_results.model.n_trials": np.array([1.0, 1.0])}),
    ("statsmodels_glm.pkl", {"_results.model.n_trials": None}),
    ("statsmodels_glm.pkl", {"_results.fit_history.params": lambda steps: steps[-2:]}),
    ("statsmodels_ols.pkl", {"_results.model.rank": None}),
    (OF_CLASS, {"n_iter_": np.array([99])}),
    (OF_CLASS, {"penalty": "l2", "l1_ratio": 0.5}),  # that is of another penalty
]


@pytest.mark.parametrize(("fitted", "changes"), READ, ids=range(len(READ)))
def test_what_is_read_at_the_edge_of_what_is_not(fitted, changes):
    root = open_stored((CORPUS / fitted).read_bytes()).root if isinstance(fitted, str) else root_of(fitted)
    assert draft_of_object(changed(root, changes), "pickle").origin is not None


def test_coefficients_over_so_small_a_strength_are_beyond_doubles():
    draft = draft_of_object(changed(root_of(OF_CLASS), {"C": 1e-300, "coef_.0.0": 1e10}), "pickle")
    assert "predict numbers beyond doubles" in sentence_of(draft.of_known, X * 0, "y")


@pytest.mark.parametrize(
    ("family", "ended", "deviance", "read"),
    [
        ("binomial", True, 9.0, True), ("binomial", False, 0.0, True), ("binomial", False, SEPARATED, True),
        ("binomial", False, 9.0, False), ("binomial", False, None, False), ("poisson", False, 0.0, False),
    ],
)  # fmt: skip
def test_fits_that_took_all_their_steps_are_read_where_classes_are_separated(family, ended, deviance, read):
    link = {"binomial": "logit", "poisson": "log"}[family]
    printed = PrintedCoefficients({"": (F(1), F(1))}, family, link, 9, deviance, "y", ended=ended)
    said = sentence_of(printed.draft, "f")
    assert ("the fit took all of its 25 steps" in said) is not read
    fitted = read_rds((CORPUS / "glm.rds").read_bytes())
    for name, value in (("family", family), ("link", link)):
        fitted = in_r(fitted, ["family", name], RObject("character", [value]))
    fitted = in_r(fitted, ["converged"], RObject("logical", np.array([ended])))
    fitted = in_r(fitted, ["deviance"], RObject("double", np.array([math.inf if deviance is None else deviance])))
    assert ("the fit did not converge" in sentence_of(read_glm_rds, fitted)) is not read


ONE = DesignColumn()
NO_UNIT = DesignColumn(unit=None, why="no unit")


def test_pairs_of_columns_and_what_their_sums_can_be():
    def of(*values):
        return DesignColumn(tuple((name, equals(value)) for name, value in values))

    men, women, old = of(("sex", "M")), of(("sex", "F")), of(("age", 32))
    assert _pair_key(ONE, ONE, 0, 0, WIDE) == ("all", None)
    assert _pair_key(ONE, NO_UNIT, 1, 0, WIDE) == _pair_key(NO_UNIT, ONE, 1, 0, WIDE) == ((1, 0), None)
    for other in (women, of(("sex", "F"), ("age", 32))):
        assert _pair_key(men, other, 1, 0, WIDE) == ("none", None)
    assert _pair_key(men, old, 1, 0, WIDE)[1] == (DesignColumn((*men.where, *old.where)), ONE)
    for rows in (None, RowCount(5, None)):
        assert replace(NONE, rows=rows)._range(men, old, "other") == (0, None)
    assert replace(NONE, rows=RowCount(3, 7))._range(men, old, "other") == (0, 7)


def inverse_of(rows, columns=("", "a"), **more):
    """Return a draft of a mean and the number of ones among some rows, of which `a` is 1 in two."""
    middle = np.linalg.inv(np.array([[6.0, 2], [2, 2]]))
    exact = tuple(tuple(F(x).limit_denominator(99) for x in line) for line in middle.tolist())
    off = tuple((F(0),) * 2 for _ in range(2))
    return replace(NONE, columns=columns, middle=exact, off=off, rows=rows, **more)


def test_the_number_of_rows_of_a_regression():
    draft = inverse_of(RowCount(6, 6), unscaled=True)
    assert draft.of_rows(6).rows == RowCount(6, 6)
    assert inverse_of(None, unscaled=True).of_rows(6).rows == RowCount(6, 6)
    assert inverse_of(RowCount(2, None), unscaled=True).of_rows(6).rows == RowCount(6, 6)
    for rows in (5, 7):
        assert f"the regression is of 6 rows, not {rows}" in sentence_of(draft.of_rows, rows)
        assert "are of 6 to 6 rows" in sentence_of(guessed, inverse_of(RowCount(rows, rows), unscaled=True))
    assert guessed(inverse_of(RowCount(6, None), unscaled=True)).rows == RowCount(6, None)
    assert "are of 6 to 6 rows" in sentence_of(guessed, inverse_of(RowCount(7, None), unscaled=True))
    tiny = replace(inverse_of(None, ("",), unscaled=True), middle=((F(4),),), off=((F(0),),))  # of a fourth of a row
    assert "rows were weighted" in sentence_of(guessed, tiny)
    for rows in (None, RowCount(6, None)):
        assert "--rows" in sentence_of(lambda one: one.inverse, inverse_of(rows))
    assert "a line sigma" in sentence_of(lambda one: one.inverse, inverse_of(RowCount(6, 6), ("b", "a")))
    assert inverse_of(RowCount(6, 6)).inverse.middle == draft.middle


def test_squares_of_the_response_are_stated_where_they_are_more_than_its_sum():
    """Beside the sums of products: of an exact number of rows, unless the response is 0 or 1 beside a constant."""
    domain = Domain((Grid.between("a", 0, 1), Grid.between("age", 0, 9), Categorical("sick", (0, 1))), None)

    def figures(rows, response, columns=("", "a")):
        weights, scale = ((F(0), F(0)), (F(1), F(1))), (F(1), F(1))
        draft = inverse_of(rows, columns, scale=scale, weights=weights, response=response)
        return [one.name for one in draft.bound(Binder(draft, domain))[0].statements if "squares" in one.name]

    six = RowCount(6, 6)
    assert figures(six, "age") == ["sum of squares of 'age'"]
    assert figures(None, "age") == figures(RowCount(6, None), "age") == figures(six, "sick") == []
    assert figures(six, "sick", ("age", "a")) == ["rows with squares of 'sick'"]
    alone = replace(inverse_of(six, ("",), unscaled=True), middle=((F(1, 6),),), off=((F(0),),))
    assert [one.name for one in alone.bound(Binder(alone, domain))[0].statements] == ["all rows"]


def test_matrices_and_coefficients_of_other_sizes_are_refused():
    one, odd = np.array([[0.1]]), "has no covariance of its 1 coefficients with each other"
    assert odd in sentence_of(of_doubles, "f", ["a"], np.eye(2), [0.5], 9, 1.0, True)
    assert odd in sentence_of(of_doubles, "f", ["a"], one * math.inf, [0.5], 9, 1.0, True)
    assert odd in sentence_of(of_doubles, "f", ["a"], one, [0.5, 0.5], 9, 1.0, True)
    assert of_doubles("f", ["a"], one, [], 9, 1.0, True).weights == ()
    assert "singular" in sentence_of(of_doubles, "f", ["a", "b"], np.ones((2, 2)), [0.5, 0.5], 9, 1.0, True)


def test_names_in_the_frames_of_pandas():
    def frame(manager):
        return Thing(Name("pandas", "DataFrame"), "newobj", (), {}, {"_mgr": manager})

    def manager(*args):
        return Thing(Name("pandas", "BlockManager"), "newobj", args, {}, {})

    for odd in (None, "text", manager(), manager(1), manager(1, None), manager(1, []), manager(1, {0: ["a"]})):
        assert _axis(frame(odd)) is None, odd
    assert _axis(frame(manager(1, [["a", "b"]]))) == ["a", "b"]
