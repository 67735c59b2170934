"""Guards of readers of statistics and regressions: one thing changed in what is read, the words that refuse it."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from changed_objects import GONE, changed, in_r, root_of, sentence_of
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

import recon
from encoders.domain.values import Categorical, Continuous
from encoders.models.models import Provenance
from recon.readers.formats.detection import draft_of_object
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.regressions.discriminants import read_discriminant_rds
from recon.readers.formats.regressions.generalised_models import read_glm_rds
from recon.readers.formats.regressions.least_squares import CovarianceDraft, DesignColumn, attribute_column
from recon.readers.formats.regressions.printed_coefficients import read_printed_regression
from recon.readers.formats.regressions.regression_tables import (
    read_regression_rds,
    read_regression_table,
    regression_object,
)
from recon.readers.formats.regressions.score_equations import _column_values, _largest_count
from recon.readers.formats.statistics import additive_models
from recon.readers.formats.statistics.acro_records import checked_outputs, looks_like_acro
from recon.readers.formats.statistics.additive_models import _extremes, span_of
from recon.readers.formats.statistics.naive_bayes import bayes_object, read_bayes_rds
from recon.readers.formats.statistics.survival_curves import curve_object, read_survival_rds
from recon.readers.stored.binary.rds import RObject, read_rds
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.statements.release import RowCount

CORPUS = Path(__file__).parent / "corpus"
ENCODERS = CORPUS / "encoders"


def loaded(folder, text, **options):
    """Return by which sentence a file with this text is refused, "" where it is read."""
    path = folder / "file.csv"
    path.write_text(text, encoding="utf-8")
    return sentence_of(lambda: recon.load(str(path), **options))


BINS = "variable,bin,count,good,bad\n"
SPLIT = ('age,"[-inf,30)"', 'age,"[30,inf)"')


def bins(columns, first, second, more=""):
    return f"variable,bin,{columns}\n{SPLIT[0]},{first}\n{SPLIT[1]},{second}\n{more}"


TABLES_OF_BINS = [
    (BINS, "the table has no lines"),
    (f"{BINS}age,Totals,10,5,5\n", "the table has no bins"),
    (bins("bad,event", "1,1", "2,2"), "line 1: the columns 'bad' and 'event' say the same"),
    (bins("woe", "1", "2"), "has neither events of bins nor what they follow from: count and rate"),
    (bins("points", "1", "2"), "is a scorecard of points alone"),
    (bins("count,good,bad", "6,4,2", "4,3,1", "age,Special,3,1,2\n"), "3 rows have special values, and which these"),
    (bins("count,good,bad", "6,4,2", "4,3,1", "town,a,9,8,1\n"), "line 4: the bins of 'town' hold 9 rows, 1 of them"),
    (bins("count,good,bad", "6,4,2", "4,3,1", "age,Totals,11,7,3\n"), "line 4: says 11 in all, the bins hold 10"),
    (bins("count,good,bad", "6,4,2", "4,4,1"), "line 3: has count 4, bad 1, good 4: rows are not the sum of both"),
    (bins("count,bad", "6,7", "4,1"), "rows are not the sum of both classes"),
    (bins("count,badprob", "5,0.5", "4,0.25"), "line 2: the rate 0.5 of 5 rows is not a whole number of events"),
    (bins("count,badprob", "5000,0.5", "4,0.25"), "line 2: the rate 0.5 of 5,000 rows has too few digits"),
    (bins("count,badprob", "6,50", "4,25"), "line 2: the rate 50 is above 1: write it as a share"),
    (bins("count,woe", "6,x", "4,-5"), "line 2: 'x' in the column 'woe' is not a number"),
    (bins("count,woe", "6,inf", "4,-5"), "line 2: 'inf' in the column 'woe' is not a number"),
    (bins("count,woe", "2000000,0.1", "4,-5"), "solved for up to 1,000,000 rows, not 2,000,004"),
    (bins("count,woe", "60,0.31", "40,-7.123456"), "no numbers of events have these weights of evidence"),
    (bins("woe,iv", "0.5,0.1", "-0.5,0.1"), "has weights of evidence without saying of what: keep the columns of"),
    (bins("woe,bin_iv", "0,0", "-0.5,0.1"), "line 2: a weight of evidence of 0 says nothing of its bin"),
    (bins("woe,bin_iv", "0.5,0.1", "-0.5,0.1"), "the weights of evidence have too few digits"),
    (bins("woe,bin_iv", "0.5,-0.1", "-0.5,0.1"), "line 2: no bin has the weight of evidence 0.5 and the information"),
    (f"{BINS}{SPLIT[0]},6,4,2\n", "line 2: the bins of 'age' do not cover the numbers one after the other"),
    (f"{BINS}{SPLIT[1]},6,4,2\n", "line 2: the bins of 'age' do not cover the numbers one after the other"),
    (f"{BINS}age,missing,6,4,2\n", "line 2: the bins of 'age' do not cover the numbers one after the other"),
    (bins("count,good,bad", "6,4,2", "4,3,1", "age,a,3,1,2\n"), "the bins of 'age' are ranges and categories at once"),
    (f'{BINS}town,"a%,%b",6,4,2\ntown,b,4,3,1\n', "line 2: a category of 'town' is in two bins"),
    (f'{BINS}age,"[-inf,nan)",6,4,2\n', "line 2: '[-inf,nan)' is not a bin: an end is not a number"),
    (f'{BINS}town,"a%,%%,%b",6,4,2\n', "line 2: 'a%,%%,%b' is not a bin"),
]


@pytest.mark.parametrize(("text", "said"), TABLES_OF_BINS)
def test_tables_of_bins(text, said, tmp_path):
    assert said in loaded(tmp_path, text)


SETS = "items,freq\n"
ITEMSETS = [
    ("itemsets,antecedents,support\n{a},{b},0.5\n", {}, "needs one column of itemsets, or antecedents and consequents"),
    (f"{SETS}\"['a','a']\",3\n", {}, "line 2: {a, a} has an item twice"),
    (f"{SETS}\"['']\",3\n", {}, "line 2: the item '' is none: a name of 1 to 200 characters"),
    (f"{SETS}\"['{'a' * 201}']\",3\n", {}, "is none: a name of 1 to 200 characters"),
    (f'{SETS}"[None]",3\n', {}, "line 2: the item 'None' is none"),
    (f"{SETS}[],3\n", {}, "no line has an item"),
    (f"{SETS}{{a}},3\nb,3\n", {}, "line 3: 'b' is not a set of items"),
    ("rules,support\n{a} {b},0.5\n", {}, "line 2: '{a} {b}' is not a rule {...} => {...}"),
    ("rules,support\n{a} => {a},0.5\n", {}, "line 2: {a} is on both sides of the rule"),
    ("a #SUP: 3\nb #CONF: 1\n", {}, "line 2: has no '#SUP: number'"),
    ("a #SUP: 3\nb -1 c #SUP: 3\n", {}, "line 2: is not a set of items (sequences, with -1 between sets"),
    ("a #SUP: 3\na ==> b ==> c #SUP: 3\n", {}, "line 2: is not a set of items"),
    ("a #SUP: 3\na #SUP: 4\n", {}, "line 2: {a} counts 4 rows, but 3 in line 1"),
    ("a #SUP: 3\n", {"rows": 2}, "line 1: {a} counts 3 of 2 rows"),
    ('"items","support","count"\n"{a}",0.35,3\n', {}, "line 2: 3 rows are no share 0.35 of any"),
    ('{"items":["a"],"freq":4}\n{"items":["b"],"count":4}\n', {}, "line 2: has other columns than line 1"),
    ('{"items":["a"],"freq":4}\n{"items":["b"],"freq"}\n', {}, "is not JSON"),
    ('[{"items":["a"],"freq":4},7]\n', {}, "[1]: is not a record of a set of items and its support"),
    ('{"items":["a"],"confidence":4}\n{"items":["b"],"confidence":4}\n', {}, "has no column 'support' or 'count'"),
    ("town=a town=b #SUP: 3\n", {"domain": "town"}, "{town=a, town=b} counts 3 rows, but the domain has no such row"),
    ("job=a #SUP: 3\n", {"domain": "town"}, "the model's feature 'job=a' is neither an attribute nor a column"),
    ("a #SUP: 3\n@CONVERTED_FROM_TEXT\n", {}, "line 2: has no '#SUP: number'"),
    ("    items\n[1]\n", {}, "line 2: '' is not a set of items"),
    ('{"support":{},"itemsets":{}}', {}, "the table has no lines"),
]


@pytest.mark.parametrize(("text", "options", "said"), ITEMSETS)
def test_itemsets_and_rules(text, options, said, tmp_path):
    if "domain" in options:
        options = {"domain": recon.Domain.from_frame(pd.DataFrame({"town": ["a", "b"]}))}
    assert said in loaded(tmp_path, text, **options)


X = np.array([[0, 1], [1, 0], [2, 1], [0, 0], [1, 1], [2, 0]])
Y = np.array([0, 1, 0, 1, 1, 0])
OBJECTS = {
    "categories": CategoricalNB().fit(X, Y),
    "bits": BernoulliNB().fit(X, Y),
    "complements": ComplementNB().fit(X, Y),
    "means": GaussianNB().fit(X.astype(float), Y),
    "codes": TargetEncoder(target_type="binary", smooth=2.0).fit(X, Y),
}
CHANGED = [
    ("categories", {"class_count_": np.zeros(2)}, "class_count_: counts no row"),
    ("categories", {"class_count_": np.ones(3)}, "class_count_: has 3 entries, the model other classes"),
    ("categories", {"class_count_": None}, "class_count_: is not a table of numbers: the model is not fitted"),
    ("categories", {"class_count_": np.array([0.5, 1])}, "class_count_: 0.5 is not a count of rows"),
    ("categories", {"class_count_": np.array([2.0, 4])}, "adds up to 3 where the model counts 2"),
    ("categories", {"category_count_": lambda found: found[:1]}, "category_count_: has no table for each column"),
    ("bits", {"binarize": "x"}, "binarize: is not a threshold"),
    ("bits", {"binarize": True}, "binarize: is not a threshold"),
    ("bits", {"feature_count_.0.0": 9.0}, "'x0' is above its threshold in more rows than there are"),
    ("complements", {"feature_all_.0": 99.0}, "feature_all_: adds up to 6 where the model counts 99"),
    ("means", {"theta_": np.zeros(2)}, "theta_: has not one mean per class and column: the model is not fitted"),
    ("means", {"theta_.0.0": np.nan}, "theta_: has the mean nan"),
    ("codes", {"encodings_": lambda found: found[:1]}, "encodings_: has not one list of codes per column"),
    ("codes", {"encodings_.0": np.zeros(2)}, "encodings_[0]: has 2 codes for 3 categories"),
    ("codes", {"encodings_.0": "x"}, "encodings_[0]: is not a list of numbers"),
    ("codes", {"encodings_.0.0": np.inf}, "encodings_[0]: has the code inf"),
    ("codes", {"target_mean_": "x"}, "target_mean_: is not a number"),
    ("codes", {"target_mean_": True}, "target_mean_: is not a number"),
    ("codes", {"target_mean_": 1.0}, "the target's mean is 1: codes are solved where the target is one of two classes"),
    ("codes", {"smooth": -1.0}, "smooth: is not a number from 0 on"),
    ("codes", {"target_type_": "continuous"}, "the target of the TargetEncoder is continuous"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "changes", "said"), CHANGED)
def test_naive_bayes_and_target_encoders(model, changes, said):
    assert said in sentence_of(draft_of_object, changed(root_of(OBJECTS[model]), changes), "pickle")


def test_variances_of_classes_are_those_of_their_rows_or_not_known():
    read = read_rds((CORPUS / "bayes_e1071.rds").read_bytes())
    rows = pd.read_csv(CORPUS / "bayes_e1071.csv").groupby("ill").age
    means = read_bayes_rds(read).means
    assert [one.variance for one in means] == pytest.approx(rows.var(ddof=0).tolist())
    alone = in_r(read, ["tables", "age", "2"], np.nan)  # R's deviation of one row
    assert [one.variance is None for one in read_bayes_rds(alone).means] == [True, False]
    fitted = root_of(OBJECTS["means"])
    assert draft_of_object(fitted, "pickle").means[0].variance == pytest.approx(OBJECTS["means"].var_[0, 0])
    for gone in ("var_", "epsilon_"):
        assert draft_of_object(changed(fitted, {gone: None}), "pickle").means[0].variance is None


STORED = [
    ("encoders/Count.pkl", {"mapping": {}}, "mapping: has no counts of its columns: the encoder is not fitted"),
    ("encoders/CountTarget.pkl", {"_class_labels": ["a"]}, "has not one number of rows for each of 1 classes"),
    ("encoders/MEstimate.pkl", {"_sum": "x"}, "_sum: has no mean of the target and no settings: the encoder is not"),
    ("encoders/MEstimate.pkl", {"mapping": None}, "mapping: has no codes of its columns: the encoder is not fitted"),
    ("encoders/MEstimate.pkl", {"ordinal_encoder": None}, "mapping: has no codes of its columns: the encoder is not"),
    ("encoders/MEstimate.pkl", {"ordinal_encoder.mapping.0.col": "none"}, "has no codes of the column 'none'"),
    ("target_encoder_ce.joblib", {"hierarchy": {}}, "a TargetEncoder with a hierarchy of categories is not read"),
    ("target_encoder_ce.joblib", {"smoothing": 0.0}, "smoothing: is 0, which no encoder takes"),
    ("encoders/toad_woe.pkl", {"_rules": {}}, "_rules: has no weights of evidence: the transformer is not fitted"),
    ("encoders/toad_woe.pkl", {"_rules.town": 7}, "_rules['town']: has no values and weights"),
    ("encoders/toad_woe.pkl", {"_rules.town.value": np.zeros(0)}, "_rules['town']: has not one weight of evidence for"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "changes", "said"), STORED)
def test_encoders_of_other_libraries(file, changes, said):
    root = open_stored((CORPUS / file).read_bytes()).root
    assert not sentence_of(draft_of_object, root, "pickle")
    assert said in sentence_of(draft_of_object, changed(root, changes), "pickle")


TERMS = json.loads(gzip.decompress((CORPUS / "additive_mixed.json.gz").read_bytes()))
FEATURE, TERM = "ebm.features.0", "ebm.terms.0.bin_weights"
ADDITIVE = [
    ({"version": "9"}, "in JSON of version '9': the text '1.0' is read"),
    ({"version": GONE}, "in JSON without a version"),
    ({"ebm.noise_scale_binning": 1}, "a private Explainable Boosting Machine has noise on its counts of bins"),
    ({"ebm.features": 7}, "ebm.features: is not a list"),
    ({"ebm.terms": 7}, "ebm.terms: is not a list"),
    ({"ebm.terms": []}, "holds no counts of rows: it was written with detail='minimal'"),
    ({FEATURE: 7}, "ebm.features[0]: has no cuts and no categories"),
    ({"ebm.terms.0": 7}, "ebm.terms[0].bin_weights: is about columns that the model does not have"),
    ({f"{FEATURE}.min": "x"}, "feature_bounds_[0]: has extremes that are not numbers"),
    ({f"{FEATURE}.min": True}, "feature_bounds_[0]: has extremes that are not numbers"),
    ({f"{FEATURE}.type": "unknown"}, "ebm.features[0]: has no cuts and no categories"),
    ({f"{FEATURE}.name": "x", "ebm.features.1.name": "x"}, "ebm.features: two columns are called 'x'"),
    ({TERM: 7}, "is not a list of numbers"),
    ({f"{TERM}.0": "x"}, "ebm.terms[0].bin_weights[0]: 'x' is not a number"),
    ({f"{TERM}.0": 0.5}, "0.5 is not a count of rows: the model was fitted with weights or merged from others"),
    ({TERM: lambda found: found[1:]}, "bins"),
    ({f"{TERM}.-1": 1}, "that are in none of its bins (no numbers, or unknown)"),
    ({f"{TERM}.1": lambda found: found + 1}, "the bins of one term hold"),
    ({"ebm.terms.0.term_features": ["none"]}, "is about columns that the model does not have"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), ADDITIVE)
def test_models_of_terms_as_json(changes, said, tmp_path):
    assert said in loaded(tmp_path, json.dumps(changed(TERMS, changes)))


def test_ends_of_columns_and_terms_of_many_bins(tmp_path, monkeypatch):
    assert [span_of(Continuous("a")), span_of(Continuous("a", F(0), F(5)))] == [(None, None), (0, 5)]
    assert span_of(Categorical("a", (1, 4))) == (1, 4)
    numbers = draft_of_object(terms(), "pickle").columns[0]
    assert [one.name for one in _extremes(numbers, Categorical("a", (0, 3, 9)))] == [
        "the least value of a", "the greatest value of a", "a above"
    ]  # fmt: skip
    assert list(_extremes(numbers, Categorical("a", ("x", "y")))) == []
    monkeypatch.setattr(additive_models, "MAX_NODES", 1)
    assert "the terms have more than 1 bins with rows" in loaded(tmp_path, json.dumps(TERMS))


FIT = ",coef,std err\nconst,1.5,0.25\na0,0.25,0.1\n"
COVARIANCES = "\n,const,a0\nconst,0.0625,-0.01\na0,-0.01,0.01\n"
ROWS = "\nnobs,60\n"
PRINTED = [
    (",coef\nconst,1.5\nconst,0.25\n", "line 3: 'const' stands twice"),
    (",coef,se\nconst,1.5\n", "line 2: has 2 cells, the line of names 3"),
    ("const,1.5\n,coef\n", "'const' stands under no line of names|of no format"),
    (FIT + "family,binomial\nnobs,x\n", "'x' is not the number of rows"),
    (FIT + "family,binomial\nnobs,0\n", "'0' is not the number of rows"),
    (FIT + "family,gamma\n", "a model of the family gamma is not read: binomial, poisson and gaussian are"),
    (FIT + "family,binomial\nweights,w\n", "a weighted regression is not read"),
    (",std err\nconst,0.25\na0,0.1\nfamily,binomial\n", "has no column of coefficients (coef, estimate)"),
    (FIT + "\n,const\nconst,0.0625\n" + ROWS, "the covariances of 'const' are not those of the 2 coefficients"),
    (FIT + "\n,const,a0\nconst,0.0625,-0.01\na0,0.02,0.01\n" + ROWS, "are not the same both ways"),
    (FIT + "\n,const,a0\nconst,0.0625,0.025\na0,0.025,0.01\n" + ROWS, "are no matrix with an inverse"),
    (FIT + COVARIANCES + ROWS + "scale,-1\n", "the variance of residuals is not above 0|is not a number"),
    (FIT + COVARIANCES + ROWS + "sigma,0\n", "scale: the variance of residuals is not above 0"),
    (FIT.replace("a0", "intercept") + COVARIANCES.replace("a0", "intercept") + ROWS, "are called like the constant"),
    (FIT + COVARIANCES + ROWS + "cov_type,HC1\n", "errors of type hc1 are not read"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), PRINTED)
def test_printed_regressions(text, said, tmp_path):
    found = loaded(tmp_path, text)
    assert any(one in found for one in said.split("|")), found


def first_infinite(numbers):
    made = np.array(numbers, dtype=np.float64)
    made.flat[0] = np.inf
    return made


def of_class(name):
    """Return what gives a stored object another class."""
    return lambda thing: Thing(Name("statsmodels.api", name), "newobj", (), {}, dict(thing.fields()))


LOGISTIC = LogisticRegression().fit(X, Y)
PLAIN = {"linear": LinearDiscriminantAnalysis(store_covariance=True).fit(X, Y),
         "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, Y), "components": PCA().fit(X),
         "logistic": LOGISTIC, "several": LogisticRegression().fit(X, X[:, 0])}  # fmt: skip
FITTED = [
    ("linear", {"priors": [0.5, 0.5]}, "its priors were given, and are no shares of the rows"),
    ("linear", {"priors_": np.zeros(3)}, "priors_: is not a table of 2 numbers"),
    ("linear", {"means_": np.zeros((2, 3))}, "means_: is not a table of 2 x 2 numbers"),
    ("linear", {"means_.0.0": np.nan}, "means_: holds nan"),
    ("linear", {"means_": None}, "means_: is not a table of 2 x 2 numbers"),
    ("linear", {"means_": np.zeros((2, 2), dtype=int)}, "means_: is not a table of 2 x 2 numbers"),
    ("quadratic", {"rotations_": None}, "rotations_: has not the axes of every class: the model is not fitted"),
    ("quadratic", {"scalings_": None}, "rotations_: has not the axes of every class"),
    ("quadratic", {"rotations_": lambda found: found[:1]}, "rotations_: has not the axes of every class"),
    ("quadratic", {"scalings_": lambda found: found[:1]}, "rotations_: has not the axes of every class"),
    ("components", {"n_samples_": "6"}, "n_samples_: 6 is not a number of rows"),
    ("components", {"n_samples_": 1}, "n_samples_: 1 is not a number of rows"),
    ("components", {"n_samples_": 1 << 40}, "n_samples_: 1099511627776 is not a number of rows"),
    ("logistic", {"coef_": np.zeros((2, 2))}, "coef_: has no coefficients of 2 classes and 2 columns"),
    ("logistic", {"solver": "saga"}, "the solver saga stops at no known gradient"),
    ("logistic", {"penalty": "l1"}, "the penalty l1 is not smooth: only l2 is read"),
    ("logistic", {"penalty": "deprecated", "l1_ratio": 0.5}, "is not smooth: only l2 is read"),
    ("logistic", {"class_weight": "balanced"}, "class_weight: the sums are of rows by weight"),
    ("logistic", {"C": 0}, "has no settings C, tol and max_iter above 0"),
    ("logistic", {"tol": "x"}, "has no settings C, tol and max_iter above 0"),
    ("logistic", {"n_iter_": np.array([100])}, "the solver took all of its 100 steps (n_iter_)"),
    ("logistic", {"n_iter_": None}, "n_iter_: has no number of steps"),
    ("logistic", {"n_iter_": np.zeros(0)}, "n_iter_: has no number of steps"),
    ("logistic", {"classes_": np.zeros(1)}, "coef_: has no coefficients of 1 classes and 2 columns"),
    ("logistic", {"coef_": None}, "coef_: has no coefficients of 2 classes and 2 columns"),
    ("several", {"coef_": first_infinite}, "coef_: has a coefficient that is no number"),
    ("several", {"intercept_": first_infinite}, "coef_: has a coefficient that is no number"),
    ("logistic", {"intercept_": np.array([np.nan])}, "coef_: has a coefficient that is no number"),
    ("logistic", {"intercept_": np.zeros(2)}, "coef_: has a coefficient that is no number"),
    ("several", {"n_iter_": np.array([5, 5, 5])}, "a fit by itself for every class (multi_class='ovr') is not read"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "changes", "said"), FITTED)
def test_fits_of_scikit_learn(model, changes, said):
    assert not sentence_of(draft_of_object, root_of(PLAIN[model]), "pickle")
    assert said in sentence_of(draft_of_object, changed(root_of(PLAIN[model]), changes), "pickle")


OF_STATSMODELS = [
    ("ols", {"_results.params": np.zeros((2, 2))}, "params: has no coefficients"),
    ("ols", {"_results.params.0": np.nan}, "params: has no coefficients"),
    ("ols", {"_results.normalized_cov_params": np.zeros(3)}, "normalized_cov_params: has no covariance of the coeff"),
    ("ols", {"_results.normalized_cov_params": lambda found: found * 0}, "singular|no inverse"),
    ("ols", {"_results.model.nobs": 2.0}, "model.nobs: 2.0 is not a number of rows"),
    ("ols", {"_results.model.nobs": 60.5}, "model.nobs: 60.5 is not a number of rows"),
    ("ols", {"_results.model.rank": 1}, "singular|combinations"),
    ("ols", {"_results.params": None}, "params: has no coefficients"),
    ("ols", {"_results.params": np.zeros(0)}, "params: has no coefficients"),
    ("ols", {"_results.normalized_cov_params": None}, "normalized_cov_params: has no covariance of the coeff"),
    ("ols", {"_results.normalized_cov_params": first_infinite}, "normalized_cov_params: has no covariance of the coe"),
    ("ols", {"_results.model.nobs": None}, "model.nobs: None is not a number of rows"),
    ("ols", {"_results.model.nobs": 3}, "model.nobs: 3 is not a number of rows"),  # as many as coefficients
    ("ols", {"_results.model.nobs": float(1 << 40)}, "model.nobs: 1099511627776.0 is not a number of rows"),
    ("ols", {"_results.model.nobs": 4}, "are of 59.99999972 to 60.00000028 rows, not 4"),
    ("ols", {"_results.model": 7}, "of statsmodels' linear models OLS is read, not this"),
    ("ols", {"_results": 7}, "of statsmodels' linear models OLS is read, not this"),
    ("logit", {"_results": 7}, "of statsmodels' models of classes and counts Logit, Poisson, MNLogit and GLM"),
    ("logit", {"_results.model": 7}, "MNLogit and GLM are read, not this"),
    ("logit", {"_results.model": of_class("Probit")}, "MNLogit and GLM are read, not Probit"),
    ("logit", {"_results.params": np.zeros((2, 2))}, "params: has no coefficients"),
    ("logit", {"_results.params": None}, "params: has no coefficients"),
    ("logit", {"_results.params": np.zeros(0)}, "params: has no coefficients"),
    ("logit", {"_results.params": first_infinite}, "params: has no coefficients"),
    ("logit", {"_results.nobs": None}, "numbers of rows that are not whole are not read"),
    ("logit", {"_results.model.exposure": np.array([0.0, 1.0])}, "a fit with offsets or exposures is not read"),
    ("logit", {"_results.model.offset": np.array([0.0, 1.0])}, "a fit with offsets or exposures is not read"),
    ("logit", {"_results.mle_retvals.score": lambda found: found[:1]}, "how far the solver was from the equations"),
    ("logit", {"_results.mle_retvals.score": first_infinite}, "how far the solver was from the equations"),
    ("mnlogit", {"_results.model._ynames_map": None}, "model._ynames_map: has no names of its 3 classes"),
    ("mnlogit", {"_results.model._ynames_map": lambda names: dict.fromkeys(names, "a")}, "no names of its 3 classes"),
    ("logit", {"_results.nobs": 60.5}, "numbers of rows that are not whole are not read"),
    ("logit", {"_results.model.offset": np.ones(60)}, "a fit with offsets or exposures is not read"),
    ("logit", {"_results.mle_retvals": None}, "how far the solver was from the equations is not stored (mle_retvals)"),
    ("glm", {"_results.model.family": None}, "model.family: has no family"),
    ("glm", {"_results.model._has_freq_weights": True}, "rows by weight"),
    ("glm", {"_results.model._has_offset": True}, "a fit with offsets or exposures is not read"),
    ("glm", {"_results.model.n_trials": np.full(60, 2)}, "a binomial model of several trials per row is not read"),
    ("glm", {"_results.model._has_var_weights": True}, "rows by weight"),
    ("glm", {"_results.model._has_exposure": True}, "a fit with offsets or exposures is not read"),
    ("glm", {"_results.model.n_trials": np.array([1.0, 2.0])}, "a binomial model of several trials per row"),
    ("glm", {"_results.fit_history.params": lambda steps: steps[-1:]}, "how far the solver was from the equations"),
    ("glm", {"_results.fit_history.params": lambda steps: steps[:-1]}, "how far the solver was from the equations"),
    ("glm", {"_results.fit_history": {}}, "how far the solver was from the equations is not stored (fit_history)"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "changes", "said"), OF_STATSMODELS)
def test_fits_of_statsmodels(file, changes, said):
    root = open_stored((CORPUS / f"statsmodels_{file}.pkl").read_bytes()).root
    assert not sentence_of(draft_of_object, root, "pickle")
    found = sentence_of(draft_of_object, changed(root, changes), "pickle")
    assert any(one in found for one in said.split("|")), found


THREE = RObject("integer", np.zeros(3))


def uneven(table):
    """Return shares of levels that still sum to 1: a little of the first one of the first class is the second's."""
    values = np.array(table.values, dtype=np.float64)
    by_level = values.reshape((2, -1), order="F")  # a row per class
    by_level[0, :2] += (0.0123, -0.0123)
    return RObject(table.kind, by_level.reshape(-1, order="F"), table.attributes)


def argued(name):
    """Return what gives a call one more argument."""
    return lambda call: RObject(call.kind, [*call.values, (name, RObject("symbol", "w"))], call.attributes)


TWICE = RObject("integer", np.array([1, 6]))
BY_METHOD = RObject("call", [("", RObject("symbol", "lda")), ("method", RObject("character", ["mve"]))])
R_OBJECTS = [
    ("lda.rds", read_discriminant_rds, "call", BY_METHOD, "an analysis by another method than moments is not read"),
    ("lda.rds", read_discriminant_rds, "means/0", np.nan, "means: has no mean of every column in every class"),
    ("lda.rds", read_discriminant_rds, "counts", RObject("integer", np.array([1, 2, 3])), "means: has no mean of"),
    ("lda.rds", read_discriminant_rds, "means/@dimnames", RObject("nothing", None), "means: has no mean of every"),
    ("qda.rds", read_discriminant_rds, "scaling", RObject("double", np.ones(3)), "is not a root of every class's"),
    ("qda.rds", read_discriminant_rds, "scaling/0", np.nan, "scaling: is not a root of every class's covariance"),
    ("bayes_e1071.rds", read_bayes_rds, "apriori/0", 0.5, "0.5 is not a number of rows"),
    ("bayes_e1071.rds", read_bayes_rds, "apriori", lambda v: RObject(v.kind, v.values * 0, v.attributes), "counts 0"),
    ("bayes_e1071.rds", read_bayes_rds, "tables", RObject("double", np.zeros(1)), "which was it?"),
    ("bayes_e1071.rds", read_bayes_rds, "tables/0/0", 0.123, "tables$town: has shares that sum to 0.703 in a class"),
    ("bayes_e1071.rds", read_bayes_rds, "tables/0", uneven, "has shares that are no counts of the rows"),
    ("bayes_e1071.rds", read_bayes_rds, "apriori/@dimnames", RObject("nothing", None), "apriori: has not one name for"),
    ("bayes_e1071.rds", read_bayes_rds, "tables/town/@dim", TWICE, "tables$town: has 1 lines for 2 classes"),
    ("survfit.rds", read_survival_rds, "type", RObject("character", ["left"]), "R curves of Cox models, late entries"),
    ("survfit.rds", read_survival_rds, "n.event", THREE, "has not as many times, people at risk and events"),
    ("survfit.rds", read_survival_rds, "strata/0", 1, "strata: has not one group for every line"),
    ("glm.rds", read_glm_rds, "family/0", RObject("character", ["Gamma"]), "a model of the family gamma is not read"),
    ("glm.rds", read_glm_rds, "family/1", RObject("character", ["probit"]), "with the link probit is not read"),
    ("glm.rds", read_glm_rds, "prior.weights/0", 2.0, "rows by weight"),
    ("glm.rds", read_glm_rds, "call", argued("weights"), "rows by weight"),
    ("glm_summary.rds", read_glm_rds, "call", argued("weights"), "rows by weight"),
    ("glm_summary.rds", read_glm_rds, "call", argued("offset"), "a fit with offsets or exposures is not read"),
    ("glm.rds", read_glm_rds, "offset", RObject("double", np.ones(60)), "a fit with offsets or exposures is not read"),
    ("glm.rds", read_glm_rds, "converged", RObject("logical", np.array([0])), "the fit did not converge"),
    ("lm.rds", read_regression_rds, "rank", RObject("integer", np.array([2])), "some columns are combinations of"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "read", "path", "new", "said"), R_OBJECTS)
def test_objects_of_r(file, read, path, new, said):
    root = read_rds((CORPUS / file).read_bytes())
    assert not sentence_of(read, root)
    assert said in sentence_of(read, in_r(root, path.split("/"), new))


SUMMARY, OLS = (CORPUS / "glm_r.txt").read_text(), (CORPUS / "ols_statsmodels.txt").read_text()
LINE = "smoker       0.886411269  0.543315158  1.63149  0.10279\n"
SUMMARIES = [
    (SUMMARY, LINE, LINE * 2, "'smoker' stands twice"),
    (SUMMARY, SUMMARY[SUMMARY.index("(Intercept)") : SUMMARY.index("(Dispersion")], "\n", "has no line of"),
    (SUMMARY, "Estimate", "Value", "R's regression has no table of coefficients: print(summary(m)) has one"),
    (SUMMARY, "(Dispersion parameter for binomial family taken to be 1)", "", "the family of the fit does not stand"),
    (SUMMARY, "data = d", "data = d, weights = w", "a weighted fit is not read"),
    (SUMMARY, "data = d", "data = d, offset = o", "a fit with offsets is not read"),
    (SUMMARY, "formula = ill", "formula = cbind(ill, well)", "a binomial model of several trials per row is not read"),
    (SUMMARY, "AIC", "glm.fit: algorithm did not converge\nAIC", "the fit did not converge"),
    (OLS, "coef    std err", "value   std err", "a summary of statsmodels without a table of coefficients is not read"),
    (OLS, "  OLS   Adj.", "  GLS   Adj.", "of statsmodels' summaries those of OLS, Logit, Poisson and GLM are read"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new", "said"), SUMMARIES)
def test_printed_summaries(text, old, new, said):
    assert old in text
    assert not sentence_of(read_printed_regression, text)
    assert said in sentence_of(read_printed_regression, text.replace(old, new))


def test_fits_without_names_and_of_numbers():
    logit = open_stored((CORPUS / "statsmodels_logit.pkl").read_bytes()).root
    assert draft_of_object(changed(logit, {"_results.model.data._cache": 7}), "pickle").features
    bare = draft_of_object(changed(logit, {"_results.model.data": None}), "pickle")
    assert (bare.named, bare.terms[0], bare.classes) == (False, "x0", (0, 1))
    glm = read_rds((CORPUS / "glm.rds").read_bytes())
    assert read_glm_rds(glm).classes == (0, 1)
    names = RObject("character", ["gaussian"]), RObject("character", ["identity"])
    numbers = in_r(in_r(glm, ["family", "0"], names[0]), ["family", "1"], names[1])
    assert read_glm_rds(numbers).classes is None
    told = open_stored((CORPUS / "statsmodels_glm.pkl").read_bytes()).root
    assert draft_of_object(told, "pickle").classes == (0, 1)
    link = Thing(Name("statsmodels.genmod.families.links", "Identity"), "newobj", (), {}, {})
    family = Thing(Name("statsmodels.genmod.families.family", "Gaussian"), "newobj", (), {}, {"_link": link})
    assert draft_of_object(changed(told, {"_results.model.family": family}), "pickle").classes is None
    known = read_glm_rds(glm).deviance
    assert known == pytest.approx(78.3518676)
    held = [str(v) for v in glm.attributes["names"].values]
    unnamed = in_r(glm, ["@names", str(held.index("deviance"))], "other")
    assert read_glm_rds(unnamed).deviance is None


@pytest.mark.parametrize("model", ["logistic", "several"])
def test_coefficients_beyond_numbers_are_refused(model):
    draft = draft_of_object(changed(root_of(PLAIN[model]), {"coef_": lambda found: found * 0 + 1e308}), "pickle")
    table = pd.DataFrame(X * 9.0, columns=["x0", "x1"])
    with np.errstate(all="ignore"):
        assert "the coefficients predict numbers beyond doubles" in sentence_of(draft.of_known, table, "y")


BITS = "\n,const,a0\nconst,0.033,-0.033\na0,-0.033,0.133\n"  # of 40 rows, of which 10 have 1


def test_a_covariance_of_other_rows_and_one_without_them(tmp_path):
    path = str(CORPUS / "statsmodels_ols.pkl")
    assert "the regression is of 60 rows, not 59" in sentence_of(lambda: recon.load(path, rows=59))
    (tmp_path / "fit.csv").write_text(f",coef\nconst,0.233\na0,0.267\n{BITS}\nsigma,1.00\n")
    domain = recon.Domain.from_frame(pd.DataFrame({"a0": [0, 1], "y": [0, 1]}), label="y")
    release = recon.load(tmp_path / "fit.csv", domain=domain)
    assert not release.rows.exact
    assert release.models[0].origin.freedom == (37, 40)  # of 39 to 42 rows
    assert recon.load(tmp_path / "fit.csv", domain=domain, rows=40).models[0].origin.freedom == (38, 38)


def test_columns_behind_a_step_have_no_covariances():
    frame = pd.DataFrame(X, columns=["a", "b"])
    fit = make_pipeline(StandardScaler(), PCA()).fit(frame)
    draft = draft_of_object(root_of(fit), "pickle")
    domain = recon.Domain.from_frame(frame)
    unused = draft.bound(Binder(draft, domain))[0].origin.unused
    assert {one.why for one in unused if "covariances of" in one.what} == {
        "a step before it changes the column, or the domain has none"
    }


def test_columns_that_cannot_be_summed_have_no_covariances():
    draft = draft_of_object(root_of(PLAIN["components"]), "pickle")
    domain = recon.Domain((Continuous("x0"), Categorical("x1", (0, 1))), None)
    unused = draft.bound(Binder(draft, domain))[0].origin.unused
    assert ["no 'resolution'" in one.why for one in unused if one.what == "the covariances of 'x0'"] == [True]


def test_what_sums_of_products_can_be():
    """Of so many rows, of at least so many, of nobody knows how many; of columns that may be negative or not."""
    one, wide, none = DesignColumn(ends=(F(1), F(1))), DesignColumn(ends=(F(-1), F(2))), DesignColumn(unit=None)
    some, most = RowCount(3, None), RowCount(2, 4)
    ranges = [(None, one, "k"), (None, wide, "k"), (some, one, "all"), (most, one, "all"), (some, one, "k"),
              (most, one, "k"), (most, wide, "k"), (most, none, "k"), (most, wide, "none")]  # fmt: skip
    found = [CovarianceDraft(Provenance("f", ()), (), rows=rows)._range(one, other, key) for rows, other, key in ranges]
    assert found == [(0, None), (None, None), (3, None), (2, 4), (0, None), (2, 4), (-4, 8), (None, None), (0, 0)]
    coarse = DesignColumn(of=("a",), ends=(F(-1), F(9)), coarse=True)
    figures, left = [], []
    draft = CovarianceDraft(Provenance("f", ()), (), rows=RowCount(4, 4), columns=("a",), weights=((F(1), F(1)),),
                            scale=(F(1), F(1)), response="y")  # fmt: skip
    draft._with_response([coarse], coarse, [[(F(1), F(1))]], figures, left)
    assert (figures, [one.what for one in left]) == ([], ["the coefficient of 'a and y'"])


def test_columns_that_are_not_summed_have_their_reason():
    why = {
        "rows may have no value": Categorical("a", (0, 1, 2), missing=True),
        "no 'resolution'": Continuous("a"),
        "are not numbers": Categorical("a", ("x", "y")),
        "it is always 0": Categorical("a", (0,)),
    }
    for words, attribute in why.items():
        assert words in attribute_column(attribute, "a").why
    assert attribute_column(Categorical("a", (0, 1)), "a").bit
    assert attribute_column(Categorical("a", (2, 4)), "a").unit == 2


def test_numbers_of_rows_and_deviances_of_printed_fits():
    rows = SUMMARY[SUMMARY.index("Residual deviance") : SUMMARY.index("AIC")]
    drafts = [read_printed_regression(text) for text in (
        SUMMARY, SUMMARY.replace(rows, ""), OLS, OLS.replace("No. Observations:                  60", ""),
        (CORPUS / "lm_r.txt").read_text(),
    )]  # fmt: skip
    assert [one.count for one in drafts] == [60, None, 60, None, 60]
    assert [one.deviance for one in drafts[:2]] == [pytest.approx(78.3518676), None]
    text = f"{FIT}family,binomial\ndeviance,12.5\n"
    assert read_regression_table(text).deviance == 12.5


def test_matrices_and_fits_of_r_that_are_others():
    matrix, fit, short = (read_rds((CORPUS / f"{name}.rds").read_bytes()) for name in ("lm_vcov", "lm", "lm_summary"))
    assert regression_object(matrix) is matrix
    assert regression_object(in_r(matrix, ["@dimnames", "0", "0"], "other")) is None
    other, curve = (read_rds((CORPUS / f"{name}.rds").read_bytes()) for name in ("lm", "survfit"))
    assert regression_object(RObject("list", [fit, other])) is None
    assert curve_object(curve) is curve
    assert curve_object(RObject("list", [curve, other])) is None
    bayes = read_rds((CORPUS / "bayes_e1071.rds").read_bytes())
    assert bayes_object(bayes) is bayes
    assert bayes_object(RObject("list", [bayes, other])) is None
    assert bayes_object(other) is None
    assert (read_regression_rds(matrix).rows, read_regression_rds(fit).rows) == (None, RowCount(60, 60))
    held = [str(v) for v in fit.attributes["names"].values]
    weighed = in_r(fit, ["@names", str(held.index("effects"))], "weights")
    assert "a weighted regression is not read" in sentence_of(read_regression_rds, weighed)
    assert "no covariance of its 4 coefficients" in sentence_of(read_regression_rds, in_r(matrix, ["0"], np.nan))
    fewer = in_r(short, ["df"], RObject("integer", np.array([4, 56, 5])))
    assert "some columns are combinations of others" in sentence_of(read_regression_rds, fewer)


def test_columns_of_one_value_and_counts_beyond_a_list():
    assert _column_values("a", pd.Series([1, 1])) is None
    assert _column_values("a", pd.Series(["x", "x"])) is None
    assert _column_values("a", pd.Series(["x", "y"])).values == ("x", "y")
    assert _largest_count(np.ones((3, 1)), [F(5)]) == 5
    assert "are not listed: at most" in sentence_of(_largest_count, np.ones((3, 1)), [F(10) ** 9])


def terms(**more):
    """Return an Explainable Boosting Machine of a number and a category, as it is read without building it."""
    state = {
        "feature_names_in_": ["a", "t"], "feature_types_in_": ["continuous", "nominal"],
        "bins_": [[np.array([1.5])], [{"x": 1, "y": 2}]], "feature_bounds_": np.array([[0.0, 3], [np.nan, np.nan]]),
        "term_features_": [(0,), (1,)], "bin_weights_": [np.array([0.0, 3, 2, 0]), np.array([0.0, 1, 4, 0])],
        "histogram_edges_": [np.array([0.0, 1, 2, 3]), None], "histogram_weights_": [np.array([0.0, 2, 2, 1, 0]), None],
    }  # fmt: skip
    return Thing(Name("interpret.glassbox._ebm._ebm", more.pop("kind", EBM)), "newobj", (), {}, {**state, **more})


EBM = "ExplainableBoostingClassifier"
TERMS_CHANGED = [
    ({"noise_scale_binning_": 1.0}, "a private Explainable Boosting Machine has noise on its counts of bins"),
    ({"feature_names_in_": ["a"]}, "bins_: has other numbers of names, types and bins of columns"),
    ({"feature_names_in_": None}, "feature_names_in_: is not a list: the model is not fitted"),
    ({"bin_weights_": None}, "holds no counts of rows: its bin_weights_ were taken out"),
    ({"feature_types_in_.0": "unknown"}, "the column 'a' is of the type 'unknown', which is not read"),
    ({"bins_.0": []}, "bins_[0]: has no bins"),
    ({"bins_.0.0": 7}, "bins_[0]: holds no ends of bins"),
    ({"bins_.0.0": np.array([2.0, 1.0])}, "bins_[0]: has ends of bins that do not ascend"),
    ({"bins_.1.0": 7}, "bins_[1]: holds no categories with their numbers"),
    ({"bins_.1.0": {"x": 2}}, "bins_[1]: has categories that are not numbered from 1 on"),
    ({"bin_weights_.0": np.zeros(3)}, "bin_weights_[0]: has 3 weights for 4 bins"),
    ({"bin_weights_.0": "x"}, "bin_weights_[0]: holds no weights of bins"),
    ({"bin_weights_.0.0": -1.0}, "bin_weights_[0]: -1 is not a count of rows"),
    ({"bin_weights_.0.3": 1.0}, "rows have values of 'a' that are in none of its bins"),
    ({"bin_weights_.0.1": 9.0}, "the bins of one term hold 5 rows, those of another 11"),
    ({"feature_bounds_.0.1": -1.0}, "column 0: has 0 as the least value and -1 as the greatest"),
    ({"term_features_.0": (5,)}, "bin_weights_[0]: is about columns that the model does not have"),
    ({"term_features_": [], "bin_weights_": []}, "the model has no terms, so that it counts nothing"),
    ({"histogram_weights_.0.1": 9.0}, "the histogram of 'a' is not of 5 rows"),
    ({"feature_names_in_.1": "a"}, "two columns are called 'a'"),
]


@pytest.mark.parametrize(("changes", "said"), TERMS_CHANGED)
def test_stored_models_of_terms(changes, said):
    assert said in sentence_of(draft_of_object, changed(terms(), changes), "pickle")


def test_what_stored_models_of_terms_say_of_columns():
    draft = draft_of_object(terms(), "pickle")
    assert [len(one.histogram) if one.histogram is not None else 0 for one in draft.columns] == [5, 0]
    assert [one.extremes for one in draft.columns] == [(0.0, 3.0), None]
    for gone in ("feature_bounds_", "histogram_edges_", "histogram_weights_"):
        less = draft_of_object(terms(**{gone: None}), "pickle").columns[0]
        assert (less.extremes is None) == (gone == "feature_bounds_")
        assert (less.histogram is None) == (gone != "feature_bounds_")
    gaps = draft_of_object(changed(terms(), {"feature_bounds_.0": np.array([np.nan, np.nan])}), "pickle")
    assert gaps.columns[0].extremes is None  # no row has a value
    private = terms(kind="DPExplainableBoostingClassifier")
    assert "a private Explainable Boosting Machine has noise" in sentence_of(draft_of_object, private, "pickle")


def test_records_of_acro_are_told_by_their_keys():
    one = {"status": "pass", "type": "table", "outcome": {}, "command": "x", "properties": {"dof": 57}}
    record = {"version": "1.0", "results": {"a": one, "b": 7}}
    assert looks_like_acro(record)
    assert not looks_like_acro([1])
    assert not looks_like_acro({"version": "1.0", "results": 7})
    assert [output.freedom for output in checked_outputs(record)] == [57]
    for odd in ("x", -1, 1 << 60):
        other = {"results": {"a": one | {"properties": {"dof": odd}}}}
        assert [output.freedom for output in checked_outputs(other)] == [None]
