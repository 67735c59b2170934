"""The value of one person among the training rows: wherever a fitted estimator keeps it, a finding names the place.

Every estimator of scikit-learn is fitted on rows with one value that no other has: inside the range of its column (a
finding has to say that it is about rows, or that it is not understood), or as its extreme (a finding has to name it at
any level); and on labels with a pattern of their own, one per row.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from extras import extra

from recon.readers.inspection.findings.findings import without_numbers
from recon.readers.inspection.inspecting import inspect, inspect_bytes
from recon.readers.inspection.objects.traversal import traverse
from recon.readers.stored.binary.rds import read_rds
from recon.readers.stored.pickled.stored_files import open_stored

extra("sklearn")
GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN / "harmless"))
import fits  # noqa: E402
from sklearn.utils import all_estimators  # noqa: E402

GRAVE = {"critical", "high", "unknown"}
VALUES = {"inside": 5.123456789, "extreme": 77.123456789}
ROW = 17
KINDS = dict(all_estimators())
FAST = ["BernoulliNB", "DecisionTreeClassifier", "GaussianNB", "IsotonicRegression", "KBinsDiscretizer", "KMeans",
        "KNeighborsClassifier", "LinearRegression", "LocalOutlierFactor", "MinMaxScaler", "NearestCentroid",
        "OneHotEncoder", "OrdinalEncoder", "PCA", "QuantileTransformer", "RobustScaler", "SVC", "SplineTransformer",
        "StandardScaler", "TargetEncoder"]  # fmt: skip


def covered(path, findings):
    """Return whether a finding names a place, something that it stands in, or an attribute beside it."""
    told = set()
    for one in findings:
        named = without_numbers(one.path)
        before = named.rpartition(".")[0]
        beside = one.what.partition(", with ")[2].split(", ")
        told |= {named, *(f"{before}.{name}" if before else name for name in beside if name)}
    return any(path == name or path.startswith((f"{name}.", f"{name}[", f"{name}(")) for name in told)


def holders(data, holds):
    """Return the paths of a pickle at which numbers stand that hold something."""
    found = set()
    for place in traverse(open_stored(data).root):
        value = place.value
        if isinstance(value, (float, list, tuple)):
            flat = [v for v in ([value] if isinstance(value, float) else value) if isinstance(v, (int, float))]
            value = np.array(flat, dtype=float) if flat and all(abs(v) < 1e300 for v in flat) else None
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size and holds(value):
            found.add(without_numbers(place.path))
    return found


def fitted(name, change):
    """Yield fits of an estimator on the data it takes first, with a change of rows and labels."""
    fits.SECONDS = 60
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = list(fits.made(name, KINDS[name]))[:1]
        for model in models:
            for case in ("classes", "target", "column", "targets"):
                data = fits.fitted(model, *change(*fits.data(3)[case]))
                if data is not None:
                    yield data
                    break


def missed(name, mode):
    value = VALUES[mode]

    def change(x, y):
        x = np.array(x, float)
        x[(ROW, 2) if x.ndim > 1 else ROW] = value
        return x, y

    found = []
    for data in fitted(name, change):
        told = [f for f in inspect_bytes(data).findings if mode == "extreme" or f.level in GRAVE]
        places = holders(data, lambda a: bool(np.isclose(a, value, rtol=1e-7, atol=0).any()))
        found += [path for path in places if not covered(path, told)]
    return found


def labels_missed(name):
    draw = np.random.default_rng(11)
    labels = draw.permutation(np.r_[np.arange(3), draw.integers(0, 3, fits.ROWS - 3)])

    def holds(a):
        return a.size == len(labels) and np.array_equal(a.reshape(-1), labels)

    found = []
    for data in fitted(name, lambda x, y: (x, labels if np.ndim(y) == 1 else y)):
        told = [f for f in inspect_bytes(data).findings if f.level in GRAVE]
        found += [path for path in holders(data, holds) if not covered(path, told)]
    return found


@pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=pytest.mark.long) for n in KINDS])
def test_the_value_of_one_person_is_told(name):
    assert {mode: missed(name, mode) for mode in VALUES} == {mode: [] for mode in VALUES}
    assert labels_missed(name) == []


R_MODELS = sorted([*(GOLDEN / "models").rglob("*.rds"), *(GOLDEN / "inspect").glob("*.rds")])


@pytest.mark.parametrize("path", R_MODELS, ids=lambda p: p.name)
def test_what_r_keeps_of_every_row_is_told(path):
    found = inspect(path)
    if found.rows is None:
        return
    told = [f for f in found.findings if f.level in GRAVE]
    stack, met = [("m", read_rds(path.read_bytes()))], set()
    while stack:
        where, one = stack.pop()
        one = one.values if one.kind == "reference" else one
        if id(one) in met:
            continue
        met.add(id(one))
        if one.kind in {"integer", "double", "character"} and len(one.values) == found.rows:
            assert any(f.path.startswith(where) or where.startswith(f.path) for f in told), where
        stack += [(f"{where}${name}" if name else where, part) for name, part in one.parts]
