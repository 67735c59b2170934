"""scikit-learn's own checks of our estimators: all of them on bits; as they come, all but those that feed numbers."""

from __future__ import annotations

import numpy as np
import pytest
from extras import extra

import recon
from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier
from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier, DPBayesianRuleListClassifier
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

FEEDS_NUMBERS = "the check feeds whole or real numbers, and a rule list over binary columns reads 0 and 1 alone"
FEEDING_NUMBERS = (
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_classifier_not_supporting_multiclass",
)


def bits(x):
    """Return numbers as bits, one per column, and what holds no finite numbers as it is: the learner must refuse it."""
    if hasattr(x, "toarray"):
        return x
    cells = np.asarray(x.to_numpy() if hasattr(x, "columns") else x)
    if cells.dtype.kind == "c":
        return x
    try:
        numbers = cells.astype(float)
    except (TypeError, ValueError):
        return x
    return (numbers > 0.5).astype(int) if np.isfinite(numbers).all() else x


class OnBits:
    """A learner that sees every column's bit: what scikit-learn's checks ask of it is then asked of the learner."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one bit of a number is not much to learn from
        return tags

    def fit(self, X, y=None):
        return super().fit(bits(X), y)

    def apply(self, X):
        self._check_fitted()
        return super().apply(bits(X))


class GreedyOnBits(OnBits, GreedyRuleListClassifier):
    pass


class PrivateGreedyOnBits(OnBits, DPGreedyRuleListClassifier):
    pass


class BayesianOnBits(OnBits, BayesianRuleListClassifier):
    pass


class PrivateBayesianOnBits(OnBits, DPBayesianRuleListClassifier):
    pass


QUICK = {"random_state": 0, "steps": 50}
LEARNERS = [
    (GreedyRuleListClassifier, GreedyOnBits, {}),
    (DPGreedyRuleListClassifier, PrivateGreedyOnBits, {"epsilon": 50.0, "random_state": 0}),
    (BayesianRuleListClassifier, BayesianOnBits, QUICK),
    (DPBayesianRuleListClassifier, PrivateBayesianOnBits, {"epsilon": 50.0, **QUICK}),
]


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks warn about themselves
@pytest.mark.parametrize(("plain", "on_bits", "parameters"), LEARNERS, ids=lambda v: getattr(v, "__name__", ""))
def test_every_check_passes_on_bits(plain, on_bits, parameters):
    checks = extra("sklearn.utils.estimator_checks")
    found = checks.check_estimator(on_bits(**parameters), on_skip=None)
    assert {f["status"] for f in found} <= {"passed", "skipped"}
    assert sum(f["status"] == "passed" for f in found) >= 45
    assert {f["check_name"] for f in found if f["status"] == "skipped"} <= {"check_array_api_input"}


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("plain", "on_bits", "parameters"), LEARNERS, ids=lambda v: getattr(v, "__name__", ""))
def test_the_checks_that_cannot_hold_fail_for_the_reason_given(plain, on_bits, parameters):
    checks = extra("sklearn.utils.estimator_checks")
    expected = dict.fromkeys(FEEDING_NUMBERS, FEEDS_NUMBERS)
    found = checks.check_estimator(plain(**parameters), expected_failed_checks=expected, on_skip=None)
    assert not [f["check_name"] for f in found if f["status"] == "failed"]
    for f in found:
        if f["status"] == "xfail":
            causes = f"{f['exception']} {f['exception'].__cause__} {f['exception'].__context__}"
            assert "neither 0 nor 1" in causes, (f["check_name"], causes)
    assert sum(f["status"] == "passed" for f in found) >= 28


BITS = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])


def test_before_fit_both_libraries_call_it_not_fitted():
    exceptions = extra("sklearn.exceptions")
    validation = extra("sklearn.utils.validation")
    with pytest.raises(exceptions.NotFittedError, match="not fitted yet"):
        GreedyRuleListClassifier().predict(BITS)
    with pytest.raises(recon.ReleaseError, match="not fitted yet"):
        GreedyRuleListClassifier().predict(BITS)
    with pytest.raises(exceptions.NotFittedError):
        validation.check_is_fitted(GreedyRuleListClassifier())
    validation.check_is_fitted(GreedyRuleListClassifier().fit(BITS, [0, 1, 1, 0]))


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (BITS, [0, 1, np.inf, 1], "row 3 is infinity"),
        (BITS, [0, 1, 0.5, 1], "Unknown label type: continuous"),
        (BITS, None, "the target y is None"),
        (BITS[0], [0, 1], "Expected 2D array"),
        (BITS * 1j, [0, 1, 1, 0], "Complex data not supported"),
        (np.array([[0, {}]], dtype=object), [1], "not a dict"),
    ],
)
def test_what_is_no_table_of_bits_and_labels_is_refused(x, y, said):
    with pytest.raises(recon.ReleaseError, match=said):
        GreedyRuleListClassifier().fit(x, y)


def test_sparse_tables_are_refused_and_a_column_of_labels_is_read():
    sparse = extra("scipy.sparse")
    exceptions = extra("sklearn.exceptions")
    with pytest.raises(recon.ReleaseError, match="sparse data are not read"):
        GreedyRuleListClassifier().fit(sparse.csr_array(BITS), [0, 1, 1, 0])
    with pytest.warns(exceptions.DataConversionWarning, match="column-vector"):
        fitted = GreedyRuleListClassifier().fit(BITS, np.array([[0], [1], [1], [0]]))
    assert fitted.score(BITS, [0, 1, 1, 0]) == 1


def test_bayesian_lists_say_that_they_tell_two_classes_apart():
    tags = extra("sklearn.utils").get_tags
    assert not tags(BayesianRuleListClassifier()).classifier_tags.multi_class
    assert tags(GreedyRuleListClassifier()).classifier_tags.multi_class
    with pytest.raises(recon.ReleaseError, match="distinguishes two classes, not 3"):
        BayesianRuleListClassifier(random_state=0).fit(BITS, [0, 1, 2, 0])
