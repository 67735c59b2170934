"""Reading files: a forest of a million nodes by step, a release file, and what a file gives away; beside plain loading.

    python tests/bench/readers.py [--quick | --lines BEGINNING ...] [--check]

Nodes: 100 extra trees of 10,001 nodes each, on 16,000 random rows of 12 decimal columns (nearly all thresholds differ),
beside `pickle.loads` or `joblib.load`, which run the file and need the same version of scikit-learn. recon.load: a
forest on Adult19, its release file and its joblib file over its domain, beside `json.load` of the release file.
Inspect: a forest with bootstrap on COMPAS27. Needs scikit-learn and the data folder (RECON_DATA). What a line says:
harness.py.
"""

from __future__ import annotations

import io
import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

from harness import DATA, Job, Line, main, measured


def nodes(job: str, kind: str) -> list[Line]:
    """Read a forest of a million nodes: the file, over a guessed domain, and encoded as statements."""
    import joblib
    import numpy as np
    from sklearn.ensemble import ExtraTreesClassifier

    from encoders.encode.encoder import encode
    from recon.readers.formats.detection import read_draft
    from recon.readers.inspection.inspecting import inspect_bytes
    from recon.readers.loading.loading import bind_draft

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16_000, 12)).round(6), rng.integers(0, 2, 16_000)
    model = ExtraTreesClassifier(100, random_state=0, n_jobs=-1, max_leaf_nodes=5_001).fit(x, y)
    packed = io.BytesIO()
    joblib.dump(model, packed, compress=3)
    data = pickle.dumps(model) if kind == "pickle" else packed.getvalue()
    del model, packed
    load = pickle.loads if kind == "pickle" else lambda d: joblib.load(io.BytesIO(d))
    beside = measured(lambda: load(data))
    read = measured(lambda: read_draft(data, 1 << 30))
    looked = measured(lambda: inspect_bytes(data))
    bound = measured(lambda draft: bind_draft(draft, None), lambda: read_draft(data, 1 << 30))
    domain, models = bound.found
    encoded = measured(lambda: encode(domain, models, read.found.rows), repeats=1)
    size = {"nodes": sum(len(tree.nodes) for tree in models[0].trees)}
    baseline = "pickle.loads" if kind == "pickle" else "joblib.load"
    return [
        Line(f"{job}: read", read, baseline, beside, said={"MB": round(len(data) / 1e6)}),
        Line(f"{job}: inspected", looked, baseline, beside, same={"findings": len(looked.found.findings)}),
        Line(f"{job}: bound to a guessed domain", bound, baseline, beside, same=size),
        Line(f"{job}: encoded as statements", encoded, baseline, beside),
    ]


def release(job: str, what: str, folder: str) -> list[Line]:
    """Load a forest from its release file, or from joblib with its domain; the files are written before."""
    import recon

    text, packed, own = (Path(folder) / name for name in ("forest.json", "forest.joblib", "domain.json"))
    if what == "release file":
        work, size = measured(lambda: recon.load(text)), text.stat().st_size
    else:
        work, size = measured(lambda: recon.load(packed, domain=str(own))), packed.stat().st_size
    beside = measured(lambda: json.loads(text.read_text(encoding="utf-8")))
    said = {"MB": round(size / 1e6), "nodes": sum(len(tree.nodes) for tree in work.found.models[0].trees)}
    return [Line(job, work, "json.load of the release file", beside, said=said)]


def written(folder: str) -> None:
    """Write a forest on Adult19 as a release file and by joblib, and its domain."""
    import joblib
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from encoders.domain.domain import Domain
    from recon.readers.formats.release.writing import domain_json, dump, release_json

    frame = pd.read_csv(DATA / "adult19.csv.gz")
    label = frame.columns[-1]
    model = RandomForestClassifier(100, bootstrap=False, random_state=0, n_jobs=-1)
    model.fit(frame.drop(columns=label), frame[label])
    domain = Domain.from_frame(frame, label=label)
    made = recon.encode(model, domain)
    (Path(folder) / "forest.json").write_text(dump(release_json(made.domain, made.models, made.declared)), "utf-8")
    (Path(folder) / "domain.json").write_text(dump({"recon": 1, "domain": domain_json(domain)}), "utf-8")
    joblib.dump(model, Path(folder) / "forest.joblib")


def released(job: str, what: str) -> list[Line]:
    """Load a forest that a process of its own has written, so that its memory is not in the way."""
    import subprocess
    import sys

    with tempfile.TemporaryDirectory() as folder:
        code = f"import sys; sys.path[:0] = {sys.path!r}; import readers; readers.written({folder!r})"
        subprocess.run([sys.executable, "-c", code], check=True)
        return release(job, what, folder)


def inspect(job: str) -> list[Line]:
    """Inspect and strip a forest with bootstrap."""
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from recon.readers.inspection.stripping import strip

    frame = pd.read_csv(DATA / "compas27.csv.gz")
    label = frame.columns[-1]
    model = RandomForestClassifier(100, class_weight="balanced", random_state=0)
    model.fit(frame.drop(columns=label), frame[label])
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "forest.pkl", Path(folder) / "stripped.pkl"
        path.write_bytes(pickle.dumps(model))
        beside = measured(lambda: pickle.loads(path.read_bytes()))
        looked = measured(lambda: recon.inspect(path))
        stripped = measured(lambda: strip(path, out))
        size = {"MB": round(path.stat().st_size / 1e6), "rows": len(frame)}
    before, after = ({f.path for f in one.findings} for one in (looked.found, stripped.found.after))
    gone: dict[str, Any] = {"gone": sorted(before - after)}
    return [
        Line(f"{job}: inspected", looked, "pickle.loads", beside, same={"findings": len(before)}, said=size),
        Line(f"{job}: stripped", stripped, "pickle.loads", beside, same=gone, said={"proof": stripped.found.proof}),
    ]


def deep(job: str, levels: int) -> list[Line]:
    """Read and count a tree of so many levels: every test leaves one value of the only attribute."""
    import recon

    nodes: list[dict[str, Any]] = []
    for k in range(levels):
        nodes += [{"if": {"a": {"below": k + 1}}, "then": 2 * k + 1, "else": 2 * k + 2}, {"count": 1}]
    model = {"kind": "tree", "nodes": [*nodes, {"count": 1}]}
    domain = {"attributes": [{"name": "a", "min": 0, "max": levels}]}
    text = json.dumps({"recon": 1, "domain": domain, "models": [model]})
    del nodes, model
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deep.json"
        path.write_text(text, encoding="utf-8")
        work = measured(lambda: recon.count(recon.load(path)), repeats=1)
    beside = measured(lambda: json.loads(text))
    return [Line(job, work, "json.loads of the file", beside, same={"log2": round(work.found.log2, 1)})]


JOBS = {
    "nodes, pickle": Job(nodes, ("nodes, pickle", "pickle")),
    "nodes, joblib zlib": Job(nodes, ("nodes, joblib zlib", "joblib")),
    "recon.load, release file": Job(released, ("recon.load, release file", "release file")),
    "recon.load, joblib and domain": Job(released, ("recon.load, joblib and domain", "joblib")),
    "inspect": Job(inspect, ("inspect",)),
    "a tree of 100,000 levels": Job(deep, ("a tree of 100,000 levels", 100_000), quick=False),
}

if __name__ == "__main__":
    main("readers", JOBS)
