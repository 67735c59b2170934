"""Read a pickled model without running it: what it stores outright, what its counts say, and a copy that says less."""

from __future__ import annotations

import tempfile
from pathlib import Path

import recon
from recon.readers.inspection.stripping import strip

MODEL = Path(__file__).parent / "releases" / "compas_forest.pkl"

# What the file gives away without any attack: labels, bags, exact counts.
print(recon.inspect(MODEL).to_text())

# A copy without what predictions do not read, and the proof that they are the same.
with tempfile.TemporaryDirectory() as folder:
    done = strip(MODEL, Path(folder) / "stripped.pkl")
    print("\n".join(done.proof))
    print(f"left: {[f.path for f in recon.inspect(Path(folder) / 'stripped.pkl').findings if f.level != 'info']}")

# What its counts say: drawn rows of bootstrap samples are lower bounds for the training rows.
release = recon.load(MODEL)
print(release.models[0].origin)
found = recon.bound(release, {"age:18-20": 1}, limits=recon.Limits(seconds=3))
print(f"between {found.min} and {found.max} people of 18 to 20 [{found.status}]")
