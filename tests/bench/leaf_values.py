"""Boosted models: rows and labels that leaf values give back, beside what marginals and a fresh sample would guess.

    python tests/bench/leaf_values.py [defaults few adult labels targets rounded trees] [--small]

Needs scikit-learn, lightgbm, xgboost, catboost and the data folder (RECON_DATA). Models are fitted at library defaults
(100 trees) on n rows drawn with seed 0 (all rows: as they stand), stored as files and read with `recon.load`; the domain
is that of the data (COMPAS14: 640 possible rows without the label). Everything proved is compared with the rows that
the model was fitted on: a wrong one ends the line. `rows`: rows in cells whose number of rows is proved, `with label`:
the same per label. `marginals`: rows that n draws of independent columns with the true frequencies have in common with
the truth (mean of 20), `fresh sample`: the same for n other rows of the same data (where they are fewer: rows drawn
again). Seconds are of the processor, `wall s` beside; every line runs in a process of its own.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from forests import DATA, Cells, Section, figure, peak, print_sections
from positions import processor

sys.path.insert(0, str(Path(__file__).parents[1]))
LIBRARIES = ("lightgbm", "hist", "xgboost", "catboost", "sklearn")
LIMIT = 600.0
DRAWS = 20


def rows_of(name: str, n: int | None) -> tuple[Any, Any, Any]:
    """Return (training rows, the other rows, domain), label last."""
    import pandas as pd

    import recon

    frame = pd.read_csv(DATA / f"{name}.csv.gz")
    domain = recon.Domain.from_frame(frame, label=frame.columns[-1])
    rows = frame if n is None or n >= len(frame) else frame.sample(n, random_state=0)
    return rows.reset_index(drop=True), frame.drop(index=rows.index).reset_index(drop=True), domain


def fitted(library: str, x: Any, y: Any, path: Path, **options: Any) -> tuple[Path, Any]:
    """Return a model's file, written as its library does, and the model; `regressor`, `trees`, `depth`, `leaves`."""
    trees, depth, regressor = options.get("trees", 100), options.get("depth"), options.get("regressor", False)
    kind = "Regressor" if regressor else "Classifier"
    if library in ("hist", "sklearn"):
        import joblib
        from sklearn import ensemble

        if library == "hist":
            model = getattr(ensemble, f"HistGradientBoosting{kind}")(
                max_iter=trees, max_depth=depth, early_stopping=False, random_state=0
            )
        else:
            more = {} if depth is None else {"max_depth": depth}
            model = getattr(ensemble, f"GradientBoosting{kind}")(n_estimators=trees, random_state=0, **more)
        joblib.dump(model.fit(x, y), path / "model.joblib")
        return path / "model.joblib", model
    if library == "lightgbm":
        import lightgbm

        plain = x.rename(columns=lambda c: str(c).replace(":", "_"))
        model = getattr(lightgbm, f"LGBM{kind}")(n_estimators=trees, max_depth=depth or -1, n_jobs=1, verbose=-1)
        model.fit(plain, y).booster_.save_model(str(path / "model.txt"))
        return path / "model.txt", model
    if library == "xgboost":
        import xgboost

        model = getattr(xgboost, f"XGB{kind}")(n_estimators=trees, max_depth=depth, n_jobs=1)
        model.fit(x.to_numpy(), y.to_numpy())
        model.get_booster().feature_names = [str(c).replace("<", "lt") for c in x.columns]
        model.save_model(path / "model.json")
        return path / "model.json", model
    import catboost

    model = getattr(catboost, f"CatBoost{kind}")(
        iterations=trees, depth=depth or 6, verbose=0, allow_writing_files=False, thread_count=1
    )
    model.fit(x, y).save_model(str(path / "model.json"), format="json")
    return path / "model.json", model


def read(library: str, rows: Any, domain: Any, **options: Any) -> Any:
    """Return the release of a model's file."""
    import recon

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, _ = fitted(library, rows.iloc[:, :-1], rows.iloc[:, -1], Path(folder), **options)
        return recon.load(path, domain=domain)


def settled(release: Any, limit: float = LIMIT) -> Any:
    """Return what leaf values prove."""
    from solvers.chain import answer
    from solvers.foundation.limits import Limits
    from solvers.questions.query import Settle

    return answer(release.statements, Settle(0), Limits(seconds=limit, memory=2 << 30))


def known(release: Any, found: Any, rows: Any) -> tuple[int, int]:
    """Return (rows proved, rows proved with label); the true rows are asserted to lie within every bound."""
    import numpy as np

    from recon.frames.true_rows import TrueRows

    if found.boxes is None:
        return 0, 0
    true = TrueRows.of(release, rows)
    cell, label = true.regions(found.boxes), release.statements.domain.label
    assert (cell >= 0).all(), "a true row is in no cell"
    times = np.zeros(found.low.shape, dtype=np.int64)
    np.add.at(times, (cell, true.parts[label].argmax(axis=1)[true.codes[:, label]]), true.times)
    assert ((found.low <= times) & (times <= found.high)).all(), "the truth is excluded"
    fixed = found.low == found.high
    total = getattr(found, "total_low", found.low.sum(axis=1)), getattr(found, "total_high", found.high.sum(axis=1))
    assert ((total[0] <= times.sum(axis=1)) & (times.sum(axis=1) <= total[1])).all(), "a true total is excluded"
    return int(times.sum(axis=1)[total[0] == total[1]].sum()), int(times[fixed].sum())


def overlap(a: Any, b: Any) -> float:
    """Return which share of the rows of a table of codes another one has, as multisets."""
    from collections import Counter

    ours, theirs = (Counter(map(bytes, x)) for x in (a, b))
    return sum((ours & theirs).values()) / len(a)


def guesses(release: Any, rows: Any, rest: Any) -> tuple[float, float]:
    """Return the shares of rows (attributes of the domain and label) that marginals and a fresh sample give."""
    import numpy as np

    from recon.frames.true_rows import TrueRows

    def coded(frame: Any) -> Any:
        true = TrueRows.of(release, frame)
        return np.ascontiguousarray(true.codes[true.back]) if len(frame) else np.zeros((0, 1))

    rng, n = np.random.default_rng(0), len(rows)
    every = coded(both_of(rows, rest))
    ours, others = every[:n], every[n:]
    drawn, fresh = [], []
    for _ in range(DRAWS):
        drawn.append(overlap(ours, np.stack([rng.choice(column, n) for column in ours.T], axis=1)))
        at = rng.choice(len(others), n, replace=False) if len(others) >= n else rng.choice(n, n)
        fresh.append(overlap(ours, others[at] if len(others) >= n else ours[at]))
    return float(np.mean(drawn)), float(np.mean(fresh))


def both_of(rows: Any, rest: Any) -> Any:
    """Return two tables as one: codes of separate tables are not comparable."""
    import pandas as pd

    return pd.concat([rows, rest], ignore_index=True)


def boosted(name: str, library: str, n: int | None, **options: Any) -> list[Cells]:
    """Read a default model and work out its rows."""
    rows, rest, domain = rows_of(name, n)
    release = read(library, rows, domain, **options)
    before, wall = peak(), time.perf_counter()
    seconds, found = processor(functools.partial(settled, release))
    wall = time.perf_counter() - wall
    used = peak()
    every, labelled = known(release, found, rows)
    marginals, fresh = guesses(release, rows, rest)
    more = ", ".join(f"{k} {v}" for k, v in options.items())
    line = [f"{name} {len(rows):,}{', ' * bool(more)}{more}", library, f"{every:,}", f"{labelled:,}"]
    line += [f"{100 * marginals:.0f} %", f"{100 * fresh:.0f} %", f"{found.surplus:,}", f"{found.worst:.2g}"]
    return [[*line, found.failed or found.status, figure(seconds), figure(wall), str(before), str(used)]]


COLUMNS = (
    "rows:24; library:9; rows known:10; with label:10; marginals:9; fresh sample:12; surplus:8; worst:6; status:8; s:6; "
    "wall s:6; before MB:9; peak MB:7"
)
SIZES = (None, 2_000, 500, 100)


def few(library: str) -> list[Cells]:
    """Read a model of ten trees of depth 4."""
    return boosted("compas14", library, None, trees=10, depth=4)


SECTIONS = {
    "defaults": Section(
        "COMPAS14, library defaults, 100 trees",
        COLUMNS,
        functools.partial(boosted, "compas14"),
        tuple((library, n) for n in SIZES for library in LIBRARIES),
        (("hist", 100),),
    ),
    "few": Section("COMPAS14, 10 trees of depth 4", COLUMNS, few, tuple((x,) for x in LIBRARIES), (("hist",),)),
    "adult": Section(
        "Adult19, library defaults",
        COLUMNS,
        lambda trees: boosted("adult19", "lightgbm", None, trees=trees),
        ((200,), (100,)),
        (),
    ),
}


if __name__ == "__main__":
    print_sections(SECTIONS, sys.argv[1:])
