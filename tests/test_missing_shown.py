"""Files that show that training values were missing: a domain without missing values is refused, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import recon
from solvers.foundation.errors import ReleaseError

GOLDEN = Path(__file__).parent / "golden" / "models"
INDEX = json.loads((GOLDEN / "index.json").read_text(encoding="utf-8"))
FILES = [e["file"] for e in INDEX if "missing" in e["file"] and not e["file"].startswith("xgboost")]
DATA = {e["file"]: GOLDEN / e["data"] for e in INDEX}


@pytest.mark.parametrize("file", FILES)
def test_a_domain_without_missing_values_is_refused(file):
    frame = pd.read_csv(DATA[file])
    label = frame.columns[-1]
    assert frame.isna().any(axis=None)
    whole = frame.apply(lambda column: column.fillna(column.dropna().iloc[0]))
    with pytest.raises(ReleaseError, match=r'was missing in some training rows.*"missing": true'):
        recon.load(GOLDEN / file, domain=recon.Domain.from_frame(whole, label=label))


@pytest.mark.parametrize("file", ["catboost-1.2.10/missing.cbm", "lightgbm-4.7.0/missing.json"])
def test_a_guessed_domain_has_what_the_file_shows(file):
    frame = pd.read_csv(DATA[file])
    gaps = {a.name for a in recon.load(GOLDEN / file).domain.attributes if a.missing}
    assert gaps
    assert gaps <= set(frame.columns[frame.isna().any()])
