"""What a file is, told by its content: files of no reader are refused by what they are, objects by what they have.

The readers of the formats have tests of their own; here is what is asked before one of them is chosen.
"""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from changed_objects import root_of

from recon.readers.formats.detection import draft_of_object, read_draft
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported

GOLDEN = Path(__file__).parent / "golden" / "models"
MEMORY = 1 << 28
HELD = pd.DataFrame({"bin": ["a", "b"], "count": [3, 4]})


def zipped(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, b"\0")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zipped("m/data.pkl", "m/version"), "is a PyTorch file, which is not read"),
        (zipped("x.npy"), r"is a NumPy archive \(.npz\), which is not read"),
        (zipped("flow/workflow.knime"), "is a KNIME workflow, which is not read"),
        (zipped("schema.json", "x.npy"), "schema.json"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "is a picture, which is not read"),
        (b"%PDF-1.7\n", "is a PDF, which is not read"),
        (b"hello, world\nof texts\n", r"it starts with 'hello, world' and has no column of counts"),
        (b"age,sex", r"it starts with 'age,sex' \(see docs/readers.md\)"),
        (b"hello world\nof texts\n", r"it starts with 'hello world\\n' \(see docs/readers.md\)"),
        (b'{"age": [20, 30.5], "sex": [["f"], ["m", "d"]]}', "is JSON of the ends of bins by column, as toad's"),
        (b"[1, 2]", "is JSON of no format that is read"),
        (pickle.dumps({"a": 3}), r"holds a dict, not a model \(pickle\)"),
        (pickle.dumps({}), r"holds a dict, not a model \(pickle\)"),
        (pickle.dumps([1, 2]), r"holds a list, not a model \(pickle\)"),
        (pickle.dumps({"age": HELD, "sex": HELD}), r"holds tables by name \(pickle\): tables of bins and counts"),
        (pickle.dumps({"age": HELD, "sex": 3}), r"holds a dict, not a model \(pickle\)"),
        (pickle.dumps(HELD), r"DataFrame is not read \(pickle\): tables of bins and counts"),
        (pickle.dumps(pd.Series([1, 2])), r"Series is not read \(pickle\): see docs/readers.md"),
    ],
)  # fmt: skip
def test_a_file_of_no_reader_is_refused_by_what_it_is(data, why):
    with pytest.raises((ReleaseError, Unsupported), match=why):
        read_draft(data, MEMORY)


@pytest.mark.parametrize(
    ("data", "origin"),
    [
        ((GOLDEN / "catboost-1.2.10" / "binary.cbm").read_bytes(), "CatBoost"),
        (json.dumps({"town": {"Ulm": -0.5, "Kiel": 0.25}, "sex": {"f": 0.5, "m": -0.1}}).encode(), "toad"),
        (b'{"recon": 1, "models": []}', None),
        (b'{"recon": 1, "learner": {}}', None),  # the second key alone is XGBoost's
        (b'{"age": 3}', None),
    ],
)
def test_what_a_reader_or_the_release_file_reads_is_left_to_it(data, origin):
    draft = read_draft(data, MEMORY)
    assert draft is None if origin is None else origin in str(draft.origin)


def test_a_frame_of_itemsets_is_read_wherever_it_stands():
    sets = pd.DataFrame({"support": [0.5, 0.25], "itemsets": [frozenset({"a"}), frozenset({"b"})]})
    root = root_of(sets)
    assert isinstance(root, Thing)
    assert draft_of_object(root, "pickle").origin.format == "table of counts: frequent itemsets (pickle)"
