"""Peak memory of whole commands on default models of scikit-learn and examples, as a part of what they may hold.

    python tests/bench/memory.py [--quick | --lines BEGINNING ...] [--check]

Each command runs in a process of its own under `--memory 512M --time 20`. `share`: its peak over 512 MB and what an
audit of two small trees holds, which is what every command loads; at most 1 (docs/how-long.md, "What the limits mean").
Needs scikit-learn. What a line says: harness.py.
"""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

from harness import ROOT, Job, Line, main, outcome

MEMORY = 512  # MB
DEFAULT = {
    "gradient boosting": "GradientBoostingClassifier", "hist boosting": "HistGradientBoostingClassifier",
    "forest": "RandomForestClassifier", "extra trees": "ExtraTreesClassifier",
}  # fmt: skip
EXAMPLES = (
    "compas_forest.json", "diabetes_forest.joblib", "boosted_model.txt", "census_block.json", "people_ebm.joblib",
)  # fmt: skip


def lines_of(command: str, file: Path, name: str) -> list[Line]:
    """Return the line of one command."""
    base = outcome(["audit", str(ROOT / "examples" / "releases" / "two_trees.json")])
    words = ["gate", str(file), "--policy", "preset:minimum-cell-10"] if command == "gate" else [command, str(file)]
    work = outcome([*words, "--memory", f"{MEMORY}M", "--time", "20", "--quiet"])
    share = work.peak / (base.peak + MEMORY)
    return [Line(f"{command} {name}", work, "recon audit two_trees.json", base,
                 less={"share": round(share, 2)}, said={"exit code": work.found[0]})]  # fmt: skip


def default(command: str, kind: str) -> list[Line]:
    """Return the line of a default model of the breast cancer data (569 people)."""
    from sklearn import datasets, ensemble

    x, y = datasets.load_breast_cancer(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pkl"
        path.write_bytes(pickle.dumps(getattr(ensemble, DEFAULT[kind])(random_state=0).fit(x, y)))
        return lines_of(command, path, kind)


def example(name: str) -> list[Line]:
    """Return the line of an example of recon."""
    return lines_of("audit", ROOT / "examples" / "releases" / name, name)


JOBS = {
    **{f"{command} {kind}": Job(default, (command, kind), needs=("sklearn",))
       for command in ("audit", "gate") for kind in DEFAULT},
    **{f"audit {name}": Job(example, (name,)) for name in EXAMPLES},
}  # fmt: skip

if __name__ == "__main__":
    main("memory", JOBS)
