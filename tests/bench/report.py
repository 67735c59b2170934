"""The report of a tree of 1,000 leaves over 50,000 rows: time and size of the page, beside the same audit as JSON.

    python tests/bench/report.py [--quick | --lines BEGINNING ...] [--check]

A scikit-learn tree of at most 1,000 leaves on 50,000 random rows of twelve attributes (bits, steps of five, whole
numbers up to 99), its label one of two by a noisy rule; written as a release file with the domain declared, and by
joblib with that domain given by --domain. Every command runs from start to end in a process of its own: `recon audit
FILE --out PAGE.html` beside `recon audit FILE --json`, which is what the page is made from; and with `--remedies`,
beside the page without. Asked: 5 seconds and 2 MB, 60 seconds with remedies. Last, what a tree adds to an
earlier one on the same rows (`recon.release.registers`, 60 seconds), beside the measures of the new one alone. Needs
scikit-learn. What a line says: harness.py.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import Job, Line, command, main, measured

ROWS, LEAVES = 50_000, 1_000
SECONDS, MEGABYTES, WITH_REMEDIES = 5.0, 2.0, 60.0  # what is asked of the page, and of the page with remedies
AUDIT = [sys.executable, "-m", "recon", "audit"]
RUNS = 3


def frame_of(rows: int) -> Any:
    """Return random rows: four bits, four steps of 0 to 4, four numbers of 0 to 99, and a label by a noisy rule."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    tops = [2] * 4 + [5] * 4 + [100] * 4
    table = np.column_stack([rng.integers(0, top, rows) for top in tops])
    score = table[:, 0] + table[:, 4] / 4 + np.sin(table[:, 8] / 12) + table[:, 9] * table[:, 5] / 400
    label = (score + rng.normal(0, 0.6, rows) > 1.6).astype(int)
    return pd.DataFrame(np.column_stack([table, label]), columns=[*(f"a{k}" for k in range(len(tops))), "y"])


def written(folder: Path) -> dict[str, list[str]]:
    """Write the tree as a release file and by joblib; return the arguments that name each."""
    import joblib
    from sklearn.tree import DecisionTreeClassifier

    import recon
    from encoders.domain.domain import Domain
    from recon.readers.formats.release.writing import domain_json, dump, release_json

    frame = frame_of(ROWS)
    model = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0).fit(frame.drop(columns="y"), frame["y"])
    domain = Domain.from_frame(frame, label="y")
    made = recon.encode(model, domain)
    text, packed, own = (folder / name for name in ("tree.json", "tree.joblib", "domain.json"))
    text.write_text(dump(release_json(made.domain, made.models, made.declared)), "utf-8")
    own.write_text(dump({"recon": 1, "domain": domain_json(domain)}), "utf-8")
    joblib.dump(model, packed)
    return {"release file": [str(text)], "joblib": [str(packed), "--domain", str(own)]}


def page(job: str, kind: str, remedies: bool) -> list[Line]:
    """Write the page of a tree, beside its audit as JSON; with remedies, beside the page without."""
    with tempfile.TemporaryDirectory() as folder:
        asked = written(Path(folder))[kind]
        out = Path(folder) / "page.html"
        plain = [*AUDIT, *asked, "--quiet", "--out", str(out)]
        # --json prints to standard output; the page goes to a file that is read afterwards.
        beside = command(plain if remedies else [*AUDIT, *asked, "--quiet", "--json"], RUNS)
        work = command([*plain, "--remedies"] if remedies else plain, RUNS)
        size = out.stat().st_size / 1e6
    limit = WITH_REMEDIES if remedies else SECONDS
    said = {
        "wall s": round(work.wall, 2),
        "seconds asked": limit,
        "in time": "yes" if work.wall <= limit else "no",
        "small enough": "yes" if size <= MEGABYTES else "no",
    }
    baseline = "the page without remedies" if remedies else "recon audit --json"
    return [Line(job, work, baseline, beside, less={"MB": round(size, 2)}, said=said)]


def beside_earlier(job: str, leaves: int) -> list[Line]:
    """Say what a tree adds to an earlier one on the same rows, beside the measures of the new tree alone."""
    import recon
    from recon.queries.measures.measures import measure
    from recon.release.registers.adding import adds
    from recon.release.registers.register import Register
    from solvers.foundation.limits import Limits

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, new = (another_tree(folder, leaves, seed) for seed in (0, 1))
        register = Register.opened(folder / "register").add(old, "release", date="2026-03-02")
        beside = measured(lambda: measure(recon.load(new), "multiset", Limits(seconds=WITH_REMEDIES)), repeats=1)
        work = measured(lambda: adds(recon.load(new), register, Limits(seconds=WITH_REMEDIES)), repeats=1)
    found = work.found
    low, high = found.after.bits_left_per_person
    said = {
        "wall s": round(work.wall, 1),
        "bits per person, together": f"{low:.2f} to {high:.2f}",
        "earlier": f"{found.before.bits_left_per_person[1]:.2f}",
        "new alone": f"{found.alone.bits_left_per_person[1]:.2f}",
        "differences": found.differences.in_all,
    }
    return [Line(job, work, "the measures of the new tree", beside, more={"together": found.status}, said=said)]


def another_tree(folder: Path, leaves: int, seed: int) -> Path:
    """Write a tree that draws four attributes per split, and return its file; another seed gives another tree."""
    from sklearn.tree import DecisionTreeClassifier

    import recon
    from encoders.domain.domain import Domain
    from recon.readers.formats.release.writing import dump, release_json

    frame = frame_of(ROWS)
    model = DecisionTreeClassifier(max_leaf_nodes=leaves, max_features=4, random_state=seed)
    made = recon.encode(model.fit(frame.drop(columns="y"), frame["y"]), Domain.from_frame(frame, label="y"))
    file = folder / f"tree{seed}.json"
    file.write_text(dump(release_json(made.domain, made.models, made.declared)), "utf-8")
    return file


JOBS = {
    "page, release file": Job(page, ("page, release file", "release file", False), needs=("sklearn",)),
    "page, joblib": Job(page, ("page, joblib", "joblib", False), needs=("sklearn",)),
    "page with remedies, release file": Job(
        page, ("page with remedies, release file", "release file", True), quick=False, needs=("sklearn",)
    ),
    "beside an earlier tree, 100 leaves": Job(
        beside_earlier, ("beside an earlier tree, 100 leaves", 100), quick=False, needs=("sklearn",)
    ),
    "beside an earlier tree, 1,000 leaves": Job(
        beside_earlier, ("beside an earlier tree, 1,000 leaves", 1_000), quick=False, needs=("sklearn",)
    ),
}

if __name__ == "__main__":
    main("report", JOBS)
