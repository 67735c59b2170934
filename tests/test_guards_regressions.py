"""Guards of readers of regressions: columns of a design, what a pipeline makes of them, parts of fits that are gone."""

from __future__ import annotations

import math
import re
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from changed_objects import changed, in_r, sentence_of

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid
from encoders.models.models import Provenance
from recon.readers.formats.detection import draft_of_object
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.regressions.least_squares import (
    NOT_THERE,
    CovarianceDraft,
    _axis,
    _design_column,
    freedom_within,
    of_doubles,
)
from recon.readers.formats.regressions.printed_coefficients import read_printed_regression
from recon.readers.formats.regressions.regression_tables import read_regression_rds, read_regression_table
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
