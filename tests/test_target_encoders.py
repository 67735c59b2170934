"""Target encoders: counts solved from codes, the true rows never excluded, what has several solutions said."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import batches, run
from sklearn.preprocessing import TargetEncoder

import recon
from recon.readers.formats.statistics.target_encoders import (
    _solutions,
    empirical_encoding,
    sigmoid_encoding,
    smooth_encoding,
)
from recon.readers.frames.world import violations

CORPUS = Path(__file__).parent / "corpus"


def drawn(seed):
    """Return rows of a category and a number, and a label of two classes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 400))
    frame = pd.DataFrame({"a": rng.choice(list("pqrst"), n), "b": rng.integers(0, 4, n)})
    return frame.assign(y=np.r_[0, 1, rng.random(n - 2) < 0.3 + 0.1 * (frame.a[2:] == "p")].astype(int))


def fitted(tmp_path, frame, **settings):
    """Return the path of a stored encoder."""
    model = TargetEncoder(**settings).fit(frame[["a", "b"]], frame.y)
    path = tmp_path / "encoder.pkl"
    path.write_bytes(pickle.dumps(model))
    return str(path)


@pytest.mark.parametrize("seed", batches(8, 100))
@pytest.mark.parametrize("smooth", ["auto", 5.0, 0.0])
def test_the_true_rows_are_never_excluded(seed, smooth, tmp_path):
    frame = drawn(seed)
    path = fitted(tmp_path, frame, smooth=smooth, target_type="binary")
    domain = recon.Domain.from_frame(frame, label="y")
    for rows in (None, len(frame)):
        try:
            release = recon.load(path, domain=domain, rows=rows)
        except recon.ReconError as error:  # multiples of shares alone, or classes that are pure
            if "say how many there were" not in str(error):
                raise
            continue
        assert release.rows.low == release.rows.high == len(frame)
        assert violations(release, frame) == []
        wrong = frame.copy()
        wrong.loc[0, ["a", "b"]] = "p" if frame.a[0] != "p" else "q", (frame.b[0] + 1) % 4
        assert violations(release, wrong)


def test_every_pair_of_rows_and_events_is_found():
    """Against all pairs up to 60 rows: none that gives a code is left out, and none else is found."""
    n, k = np.array([(n, k) for n in range(1, 61) for k in range(n + 1)], dtype=float).T
    for encoding in (empirical_encoding(0.3), smooth_encoding(5.0, 0.3), sigmoid_encoding(20, 10, 0.464)):
        with np.errstate(all="ignore"):
            codes = encoding.code(n, k)
        for at in range(0, len(n), 7):
            alike = np.abs(codes - codes[at]) <= 1e-15 * (n + 64)
            every = sorted(zip(n[alike].astype(int).tolist(), k[alike].astype(int).tolist(), strict=True))
            assert encoding.pairs(float(codes[at]), 60) == every


def test_choices_that_add_up_are_all_met():
    """Against every choice of a pair per category."""
    from itertools import product

    rng = np.random.default_rng(3)
    for _ in range(200):
        column = [sorted({(int(n), int(rng.integers(0, n + 1))) for n in rng.integers(1, 6, 3)}) for _ in range(3)]
        chosen = [one[int(rng.integers(len(one)))] for one in column]
        total = sum(n for n, _ in chosen), sum(k for _, k in chosen)
        every = [way for way in product(*column) if (sum(n for n, _ in way), sum(k for _, k in way)) == total]
        found = _solutions(column, total)
        assert len(found) == min(2, len(every))
        assert set(found) <= set(every)


def test_codes_of_category_encoders_are_counts_of_1000_rows(capsys):
    release = recon.load(str(CORPUS / "target_encoder_ce.joblib"))
    assert (release.rows.low, release.rows.high) == (1000, 1000)
    assert [model.name for model in release.models] == ["race", "deg"]
    assert sum(int(v) for v in release.models[0].count_tables()[0].values) == 1000
    code, out, _ = run(capsys, "count", str(CORPUS / "target_encoder_ce.joblib"))
    assert (code, "1,030,046,499,197,100 datasets" in out) == (0, True)


def test_targets_of_other_kinds_and_codes_that_no_counts_have_are_refused(tmp_path, capsys):
    frame = drawn(3)
    numbers = frame.assign(y=np.arange(len(frame)) / 7)
    error = run(capsys, "count", fitted(tmp_path, numbers, target_type="continuous"))[2]
    assert "the target of the TargetEncoder is continuous: codes are solved of two classes only" in error
    model = TargetEncoder(target_type="binary").fit(frame[["a", "b"]], frame.y)
    path = tmp_path / "encoder.pkl"
    model.encodings_[0][1] += 1e-7
    path.write_bytes(pickle.dumps(model))
    assert recon.load(str(path)).models[0].name == "b"  # the other column is solved, this one named
    assert [one.what for one in recon.load(str(path)).models[0].origin.unused] == ["the codes of 'a'"]
    model.encodings_[1] = model.encodings_[1][:2]
    path.write_bytes(pickle.dumps(model))
    assert "encodings_[1]: has 2 codes for 4 categories" in run(capsys, "count", str(path))[2]
    model.encodings_[1] = np.array([0.1, np.nan, 0.2, 0.3])
    path.write_bytes(pickle.dumps(model))
    assert "encodings_[1]: has the code nan" in run(capsys, "count", str(path))[2]


def test_a_column_with_gaps_that_have_no_code_is_named_as_unused():
    frame = pd.read_csv(CORPUS / "target_encoder.csv")
    release = recon.load(str(CORPUS / "target_encoder.pkl"), domain=recon.Domain.from_frame(frame, label="y"))
    assert violations(release, frame) == []
    gaps = recon.Domain.from_frame(frame.assign(town=frame.town.where(frame.index > 3)), label="y")
    release = recon.load(str(CORPUS / "target_encoder.pkl"), domain=gaps)
    assert [model.name for model in release.models] == ["rooms"]
    assert [one.what for one in release.models[0].origin.unused] == ["the codes of 'town'"]


def test_no_rows_are_refused_in_a_sentence(tmp_path):
    """`--rows 0` ended with a division by zero."""
    path = fitted(tmp_path, drawn(1), smooth=5.0, target_type="binary")
    with pytest.raises(recon.ReleaseError, match=r"codes are of one row or more, not of 0 \(--rows\)"):
        recon.load(path, rows=0)
