"""Reading files: seconds for a forest of a million nodes, by step, beside unpickling it with its own library.

    python tests/bench/readers.py [forest] [inspect]

100 extra trees of 10,001 nodes each, on 16,000 random rows of 12 decimal columns (nearly all thresholds differ); and a
forest with bootstrap on COMPAS27, inspected and stripped. The baseline is `pickle.loads`, which runs the file and needs
the same version of scikit-learn. Needs scikit-learn.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("RECON_DATA", ROOT.parent / "shared" / "data"))


def seconds(call):
    """Return what a call returns, and how long it took."""
    begun = time.perf_counter()
    found = call()
    return found, time.perf_counter() - begun


def forest() -> None:
    """Print the time to read a forest of a million nodes."""
    import joblib
    from sklearn.ensemble import ExtraTreesClassifier

    from encoders.encode.encoder import encode
    from recon.formats.detection import read_draft
    from recon.loading.loading import settle

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16_000, 12)).round(6), rng.integers(0, 2, 16_000)
    model = ExtraTreesClassifier(100, random_state=0, n_jobs=-1, max_leaf_nodes=5_001).fit(x, y)
    packed = io.BytesIO()
    joblib.dump(model, packed, compress=3)
    print("| file | size | pickle.loads | read | over a guessed domain | in all | encoded |")
    print("|---|---|---|---|---|---|---|")
    for name, data in (("pickle", pickle.dumps(model)), ("joblib, zlib", packed.getvalue())):
        load = pickle.loads if name == "pickle" else lambda d: joblib.load(io.BytesIO(d))
        _, baseline = seconds(lambda load=load, data=data: load(data))
        draft, reading = seconds(lambda data=data: read_draft(data, 1 << 30))
        (domain, models), binding = seconds(lambda draft=draft: settle(draft, None))
        nodes = sum(len(tree.nodes) for tree in models[0].trees)
        _, encoding = seconds(lambda domain=domain, models=models, draft=draft: encode(domain, models, draft.rows))
        print(
            f"| {name}, {nodes:,} nodes | {len(data) / 1e6:.0f} MB | {baseline:.2f} s | {reading:.2f} s | "
            f"{binding:.2f} s | {reading + binding:.2f} s | {encoding:.1f} s |"
        )


def inspected() -> None:
    """Print the time to inspect and strip a forest with bootstrap."""
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from recon.inspection.stripping import strip

    frame = pd.read_csv(DATA / "compas27.csv.gz")
    label = frame.columns[-1]
    model = RandomForestClassifier(100, class_weight="balanced", random_state=0)
    model.fit(frame.drop(columns=label), frame[label])
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "forest.pkl", Path(folder) / "stripped.pkl"
        path.write_bytes(pickle.dumps(model))
        found, looking = seconds(lambda: recon.inspect(path))
        done, stripping = seconds(lambda: strip(path, out))
        before, after = ({f.path for f in one.findings} for one in (found, done.after))
        print(f"\n{path.stat().st_size / 1e6:.0f} MB, {len(frame):,} rows, 100 trees: inspected in {looking:.1f} s,")
        print(f"stripped in {stripping:.1f} s; gone: {', '.join(sorted(before - after))}; {'; '.join(done.proof)}")


def main() -> None:
    """Print what the arguments name, by default everything."""
    asked = sys.argv[1:] or ["forest", "inspect"]
    for name, run in (("forest", forest), ("inspect", inspected)):
        if name in asked:
            run()


if __name__ == "__main__":
    main()
