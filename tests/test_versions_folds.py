"""Models on folds in one file: read as related data sets, held against the true folds; numbers of rows solved for."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from test_versions_relations import DOMAIN, NAMES, ROWS

import recon
from encoders.encode.encoder import figures_of
from encoders.models.models import Table
from encoders.models.related import DataSet, NumbersError, RelatedDataSets, StatedNumber
from recon.readers.loading.settled import uses_of
from solvers.statements.release import RowCount

TREE = DecisionTreeClassifier(max_depth=2, random_state=0)
X, Y = ROWS[NAMES].to_numpy(), ROWS["ill"].to_numpy()


def _kept(k: int, cv: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = cross_validate(TREE, X, Y, cv=cv or k, return_estimator=True)
    return found


def _calibrated(cv: Any) -> Any:
    return CalibratedClassifierCV(TREE, cv=cv).fit(X, Y)


FILES: dict[str, Any] = {
    "a calibration": lambda: CalibratedClassifierCV(TREE, cv=3).fit(X, Y),
    "a calibration of pipelines": lambda: CalibratedClassifierCV(make_pipeline(StandardScaler(), TREE), cv=3).fit(X, Y),
    "a calibration in a pipeline": lambda: make_pipeline(StandardScaler(), FILES["a calibration"]()).fit(X, Y),
    "a calibration with a splitter": lambda: CalibratedClassifierCV(TREE, cv=StratifiedKFold(3)).fit(X, Y),
    "what cross_validate returns": lambda: _kept(3),
    "the list of its models": lambda: _kept(3)["estimator"],
}  # fmt: skip
WITH_SUMS = ("a calibration of pipelines", "a calibration in a pipeline")  # sums and sums of squares of every column


@pytest.mark.sampled(2, 2)
@pytest.mark.parametrize("name", FILES)
def test_folds_of_a_file_are_those_that_were(name: str, tmp_path: Path) -> None:
    """The number of rows of every fold is the true one, no true row is excluded, certificates hold from the file."""
    path = tmp_path / "folds.pkl"
    path.write_bytes(pickle.dumps(FILES[name]()))
    release = recon.load(path, domain=DOMAIN)
    assert release.rows == RowCount(len(ROWS), len(ROWS))
    assert release.typed is not None
    assert any("taken for fits on folds of one data set" in line for line in release.assumptions)
    assert not any("about a subset" in line or "same rows" in line for line in release.assumptions)
    for k, (_, held) in enumerate(StratifiedKFold(3).split(X, Y), start=1):
        assert release.typed.of_dataset(f"fold {k}") == RowCount(len(held), len(held))
        some = held if name not in WITH_SUMS else held[:3]
        found = recon.certify(release, ROWS.iloc[some], "multiset", of=f"fold {k}", limits=recon.Limits(work=2.0))
        assert set(found["verdict"]) <= {"certain", "possible"}
        real = ROWS.iloc[held].value_counts()
        for row, low, high in zip(ROWS.iloc[some].itertuples(index=False), found["min_count"], found["max_count"],
                                  strict=True):  # fmt: skip
            assert low <= real[tuple(row)] <= high
        proved = [one for one in found["certificate"] if one is not None]
        assert len(recon.verify(proved, release).verified) == len(proved)
    counted = recon.count(release, "multiset", limits=recon.Limits(work=2.0))
    assert counted.status == ("bounds" if name in WITH_SUMS else "exact")
    assert counted.bounds[0] >= 0.0
    assert recon.load(f"{path}#2", domain=DOMAIN).related is None


def _tables(made: Any) -> list[str]:
    """Return the data sets that tables of figures of single columns are of."""
    return [m.dataset for m in recon.encode(made, DOMAIN).models if isinstance(m, Table)]


@pytest.mark.slow
def test_figures_of_columns_are_of_the_rows_that_their_step_saw() -> None:
    """A scaler in front of all fits saw all rows, one inside of a fit the rows of this fit alone."""
    fits = ["fit 1", "fit 2", "fit 3"]
    assert _tables(FILES["a calibration in a pipeline"]()) == ["all rows"]
    assert _tables(FILES["a calibration of pipelines"]()) == fits
    both = make_pipeline(StandardScaler(), FILES["a calibration of pipelines"]()).fit(X, Y)
    assert _tables(both) == [*fits, "all rows"]


def test_figures_of_columns_that_are_not_stated_are_not_taken_for_those_of_all_rows(tmp_path: Path) -> None:
    """Continuous columns: no statement carries their sums, and the release says so."""
    for name in WITH_SUMS:
        path = tmp_path / "folds.pkl"
        path.write_bytes(pickle.dumps(FILES[name]()))
        release = recon.load(path)
        assert not figures_of(release)
        why = " ".join(uses_of(release)["columns"].left)
        assert "related data sets" in why or "does not say which values" in why


def test_categories_of_all_fits_are_the_values_of_a_column(tmp_path: Path) -> None:
    """A value that only the first fold has is unknown to the first fit, and a value of the column all the same."""
    rare = np.array([["rare"], *[["a"], ["b"]] * 15])
    labels = np.array([1, *[0, 1] * 15])
    encoder = OneHotEncoder(handle_unknown="error")
    fits = []
    for held in (slice(0, 10), slice(10, 20), slice(20, 31)):
        seen = np.delete(np.arange(31), held)
        fits.append(make_pipeline(encoder, clone(TREE)).fit(rare[seen], labels[seen]))
        encoder = OneHotEncoder(handle_unknown="error")
    path = tmp_path / "fits.pkl"
    path.write_bytes(pickle.dumps(fits))
    release = recon.load(path)
    assert "rare" in release.domain.attributes[0].values  # type: ignore[union-attr]


def test_a_model_in_memory_is_read_like_its_file() -> None:
    release = recon.encode(FILES["a calibration"](), DOMAIN)
    assert release.related is not None
    assert release.related.whole == "all rows"
    assert recon.audit(release).to_dict()["rows"] == len(ROWS)


REFUSED: dict[str, tuple[Any, str]] = {
    "shuffled splits": (lambda: _calibrated(ShuffleSplit(3, random_state=0)), "share or lack"),
    "splits of one's own": (lambda: _calibrated(list(KFold(3).split(X))), "share or lack"),
    "a list of two": (lambda: _kept(2)["estimator"], "not a model"),
    "models of several kinds": (lambda: [*FILES["the list of its models"](), make_pipeline(TREE)], "not a model"),
    "a calibration in a calibration": (
        lambda: CalibratedClassifierCV(CalibratedClassifierCV(TREE, cv=2), cv=2).fit(X, Y), "inside a calibration",
    ),
    "a vote of calibrations": (
        lambda: VotingClassifier([("a", CalibratedClassifierCV(TREE, cv=2))]).fit(X, Y), "no member of the Voting",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_to_be_folds_is_refused(name: str, tmp_path: Path) -> None:
    make, said = REFUSED[name]
    path = tmp_path / "folds.pkl"
    path.write_bytes(pickle.dumps(make()))
    with pytest.raises(recon.Unsupported, match=said):
        recon.load(path, domain=DOMAIN)


def test_fits_that_cannot_be_of_folds_contradict(tmp_path: Path, run: Any) -> None:
    """Three trees of 60, 59 and 59 rows: no number of rows is that of all with folds of whole rows."""
    path, table = tmp_path / "some.pkl", tmp_path / "rows.csv"
    ROWS.to_csv(table, index=False)
    fits = [DecisionTreeClassifier(max_depth=2, random_state=0).fit(ROWS[NAMES].head(n), Y[:n]) for n in (60, 60, 59)]
    path.write_bytes(pickle.dumps(fits))
    said = run("count", path, "--domain", table, code=5).stderr
    assert "every row of all rows is in exactly one of fold 1, fold 2, fold 3" in said
    assert "data set fit 3" in said


def test_numbers_that_others_determine_are_solved_for() -> None:
    """What all solutions of random sums share is found, and is the truth; sums without one are refused."""
    draw, refused, solved = random.Random(5), 0, 0
    for _ in range(200):
        k = draw.randrange(2, 6)
        related = RelatedDataSets(tuple(DataSet(f"d{i}") for i in range(k)), (tuple(f"d{i}" for i in range(k)),))
        truth = [draw.randrange(6) for _ in range(k)]
        stated = []
        for j in range(draw.randrange(1, k + 2)):
            types = draw.randrange(1, 1 << k)
            total = sum(n for t, n in enumerate(truth) if types >> t & 1) + (draw.random() < 0.05)
            stated.append(StatedNumber(types, RowCount(total, total), f"sum {j}", f"d{j % k}"))
        matrix = np.array([[one.types >> t & 1 for t in range(k)] for one in stated], dtype=float)
        values = np.array([one.rows.low for one in stated], dtype=float)
        best = np.linalg.lstsq(matrix, values, rcond=None)[0]
        try:
            found = related.numbers(stated)
        except NumbersError:
            refused += 1
            continue
        if not np.allclose(matrix @ best, values):
            pytest.fail("sums without a solution were taken")
        for t in range(k):
            alone = np.linalg.matrix_rank(np.vstack([matrix, np.eye(k)[t]])) == np.linalg.matrix_rank(matrix)
            if alone:
                solved += 1
                assert found[t] == RowCount(round(best[t]), round(best[t]))
    assert refused
    assert solved > 100
