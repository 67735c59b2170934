"""`recon convert` over every golden file: the release file says what the model file said, and counts the same."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import recon
from encoders.encode.encoder import encode, figures_of
from recon.readers.formats.detection import read_draft
from recon.readers.formats.release.parts import to_domain, to_models, to_rows
from recon.readers.formats.release.reading import parse
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.frames.world import violations
from recon.readers.inspection.documents.documents import release_findings
from recon.readers.loading.loading import bind_draft
from recon.release.auditing.evidence import _unused_of

OF_COLUMNS = "figures of single columns"
GOLDEN = Path(__file__).parent / "golden" / "models"
# One file of every kind of every library; of scikit-learn the newest (test_sklearn_files reads the other versions).
ENTRIES = [
    e
    for e in json.loads((GOLDEN / "index.json").read_text())
    if not e["file"].startswith(("leaky", "sklearn-1.2", "sklearn-1.3", "sklearn-1.4", "sklearn-1.6"))
    and not any(part in e["file"] for part in (".p2.", ".joblib", ".pkl.gz", "forest_numpy.skops"))
]


@pytest.mark.sampled(14, 200)
@pytest.mark.parametrize("guessed", [False, True], ids=["declared", "guessed"])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e["file"])
def test_a_converted_file_says_the_same(entry, guessed):
    frame = pd.read_csv(GOLDEN / entry["data"])
    label = frame.columns[-1]
    try:
        draft = read_draft((GOLDEN / entry["file"]).read_bytes(), 1 << 30)
        if guessed:
            domain, models = bind_draft(draft, None)
        else:
            if draft.classes is not None and not set(frame[label]) <= set(draft.classes):
                frame[label] = frame[label].map(dict(zip(sorted(set(frame[label])), draft.classes, strict=False)))
            domain, models = bind_draft(draft, recon.Domain.from_frame(frame, label=label))
        release = encode(domain, models, draft.rows)
    except (recon.Unsupported, recon.ReleaseError):
        return  # which files are refused, and how, is tested where they are read
    if not guessed and "weights" not in entry:  # rows of weight 0 are not counted
        assert violations(release, frame) == []
    text = dump(release_json(release.domain, release.models, release.declared)).encode()
    part = parse(text, "converted")
    back = encode(to_domain(part.domain), to_models(part), to_rows(part))
    written = release_json(release.domain, release.models, release.declared)
    assert release_json(back.domain, back.models, back.declared) == written
    assert back.domain == release.domain
    assert back.rows == release.rows
    assert back.assumptions == release.assumptions
    told = [(s.low, s.high, s.summands) for s in release.statements.statements()]
    assert [(s.low, s.high, s.summands) for s in back.statements.statements()] == told
    found = _unused_of(back, ())  # so that policies find the same of both
    assert tuple(one for one in found if OF_COLUMNS not in one.why) == _unused_of(release, ())
    assert any(OF_COLUMNS in one.why for one in found) == bool(figures_of(release))
    if b" may have been, and counts are bounds" not in text:  # a list of values of the file: it could hold anything
        assert [one.what for one in release_findings(text)[2] if one.level == "unknown"] == []


@pytest.mark.slow
def test_nearly_every_file_converts():
    """Only what is refused on purpose is left out above."""
    read = 0
    for entry in ENTRIES:
        try:
            bind_draft(read_draft((GOLDEN / entry["file"]).read_bytes(), 1 << 30), None)
            read += 1
        except (recon.Unsupported, recon.ReleaseError):
            pass
    assert read > 0.75 * len(ENTRIES)
