"""The first ten minutes: a file of one's own, two commands, a verdict.

    python tests/bench/front_door.py [--quick | --lines BEGINNING ...] [--check]

Five paths, each as a new user walks it: a tree, a random forest, a boosted model (scikit-learn's breast cancer data,
569 people, settings as they come), a table of counts as CSV, and two versions of a tree. The first command looks at the
file (`inspect`; for the versions `difference`), the second judges it by `preset:minimum-cell-10`. The line counts the
processor's seconds of both; the baseline is loading the program (`recon --version`) twice. Asked: a verdict in at most
180 seconds. What a line says: harness.py.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import ROOT, Job, Line, main, outcome
from records import Spent

POLICY = ("--policy", "preset:minimum-cell-10")


def together(*commands: list[str]) -> tuple[Spent, str]:
    """Return what some commands take together, and the verdict that the last one prints as JSON."""
    runs = [outcome(words) for words in commands]
    code, text = runs[-1].found
    try:
        found: Any = json.loads(text)
        verdict = str((found[0] if isinstance(found, list) else found).get("verdict"))
    except (ValueError, AttributeError, IndexError):
        verdict = f"none, exit code {code}"
    cpu, wall = sum(one.cpu for one in runs), sum(one.wall for one in runs)
    return Spent(cpu, wall, 1, 0, max(one.peak for one in runs)), verdict


def fitted(folder: Path, make: Callable[[], Any]) -> tuple[str, str]:
    """Return the files of a model fitted on the measurements of 569 people, and of the table it was fitted on."""
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=True).frame
    table.to_csv(folder / "data.csv", index=False)
    model = make().fit(table.drop(columns="target"), table["target"])
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    return str(folder / "model.pkl"), str(folder / "data.csv")


def tree() -> Any:
    """Return a tree as it comes."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


def forest() -> Any:
    """Return a forest as it comes: 100 full-grown trees."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=0)


def boosted() -> Any:
    """Return a boosted model as it comes."""
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(random_state=0)


def model_path(name: str, make: Callable[[], Any]) -> list[Line]:
    """Return the line of a model with the table that it was fitted on."""
    with tempfile.TemporaryDirectory() as folder:
        model, data = fitted(Path(folder), make)
        return [line(name, ["inspect", model], ["gate", model, "--domain", data])]


def table_path(name: str) -> list[Line]:
    """Return the line of a published table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_text("sex,age,count\nf,18-39,31\nf,40-64,54\nf,65+,3\nm,18-39,28\nm,40-64,49\nm,65+,12\n")
        return [line(name, ["count", str(path)], ["gate", str(path)])]


def versions_path(name: str) -> list[Line]:
    """Return the line of two versions of a tree."""
    march, april = (str(ROOT / "examples" / "versions" / f"{month}.joblib") for month in ("march", "april"))
    return [line(name, ["difference", march, april], ["gate", april])]


def line(name: str, look: list[str], gate: list[str]) -> Line:
    """Return what two commands take beside loading the program twice, and the verdict."""
    base, _ = together(["--version"], ["--version"])
    work, verdict = together(look, [*gate, *POLICY, "--json"])
    settled = verdict in {"release", "do not release", "release with changes"}
    return Line(name, work, "recon --version, twice", base, {"verdict in 180 s": int(settled and work.cpu <= 180)}, {},
                {}, {"verdict": verdict})  # fmt: skip


JOBS = {
    "a tree": Job(model_path, ("a tree", tree), needs=("sklearn",)),
    "a forest": Job(model_path, ("a forest", forest), needs=("sklearn",)),
    "a boosted model": Job(model_path, ("a boosted model", boosted), needs=("sklearn",)),
    "a table": Job(table_path, ("a table",)),
    "two versions": Job(versions_path, ("two versions",)),
}


if __name__ == "__main__":
    main("front_door", JOBS)
