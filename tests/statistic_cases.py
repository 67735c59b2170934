"""Fits of known truth over the readers of published statistics: the rows fitted to are never excluded.

Each seed is one random data set, put through the check of one kind: the tests of the readers, on seeds of their own.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import test_additive_models
import test_binning_tables
import test_itemsets
import test_naive_bayes
import test_prepared
import test_survival_curves
import test_survival_trees
import test_target_encoders
import test_treelite

from solvers.foundation.errors import ReleaseError

Check = Callable[[int, Path], object]
KINDS: dict[str, Check] = {
    "itemsets and rules": test_itemsets.test_the_true_rows_are_never_excluded,
    "additive models": test_additive_models.test_the_true_rows_are_never_excluded,
    "scorecards": test_binning_tables.test_events_are_solved_and_the_true_rows_never_excluded,
    **{
        f"naive Bayes, {kind}": lambda seed, folder, kind=kind: test_naive_bayes.test_the_true_rows_are_never_excluded(
            kind, seed, folder
        )
        for kind in test_naive_bayes.KINDS
    },
    "naive Bayes, e1071": lambda seed, _: test_naive_bayes.test_shares_of_e1071_never_exclude_the_true_rows(seed),
    "target encoders": lambda seed, folder: test_target_encoders.test_the_true_rows_are_never_excluded(
        seed, ("auto", 5.0, 0.0)[seed // len(KINDS) % 3], folder
    ),
    "encoders of other libraries": lambda seed, folder: (
        test_target_encoders.test_encoders_of_other_libraries_never_exclude_the_true_rows(
            test_target_encoders.LIBRARY_KINDS[seed // len(KINDS) % len(test_target_encoders.LIBRARY_KINDS)],
            seed,
            folder,
        )
    ),
    "preparation": lambda seed, folder: test_prepared.test_transformers_never_exclude_the_true_rows(
        list(test_prepared.STEPS)[seed // len(KINDS) % len(test_prepared.STEPS)], seed, folder
    ),
}

SURVIVAL: dict[str, Check] = {
    "survival curves": test_survival_curves.test_the_true_rows_are_never_excluded,
    "survival trees": test_survival_trees.test_the_true_rows_are_never_excluded,
    "treelite": test_treelite.test_the_true_rows_are_never_excluded,
}


def tried(seed: int, kinds: dict[str, Check] = KINDS) -> tuple[str, list[str]]:
    """Return the kind of a seed, and what is wrong."""
    kind = list(kinds)[seed % len(kinds)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            kinds[kind](seed, Path(folder))
        except ReleaseError as error:  # shares of few rows may be written with one digit: refused, not read wrong
            return kind, [] if "too few digits" in str(error) else [str(error)[:300]]
        except BaseException as error:  # pytest.fail too; whatever it is, it is told with its seed
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            return kind, [f"{type(error).__name__}: {str(error)[:300]}"]
    return kind, []
