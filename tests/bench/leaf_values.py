"""Boosted models: rows and labels that leaf values give back, beside what marginals and a fresh sample would guess.

    python tests/bench/leaf_values.py [defaults few adult labels targets rounded trees drawn certificates] [--small]

Needs scikit-learn, lightgbm, xgboost, catboost and the data folder (RECON_DATA). Models are fitted at library defaults
(100 trees) on n rows drawn with seed 0 (all rows: as they stand), stored as files and read with `recon.load`; the
domain is that of the data (COMPAS14: 640 possible rows without the label). Everything proved is compared with the
rows that the model was fitted on: a wrong one ends the line. `rows known`: rows in cells (one leaf of every tree)
whose number of rows is proved, `with label`: the same per label, `whole`: those of them whose cell is one possible
row, so that every value is known. `marginals`: rows that n draws of independent columns with the true frequencies have
in common with the truth (mean of 20), `fresh sample`: the same for n other rows of the same data (where they are
fewer: rows drawn again), both as far as the model's trees tell rows apart. Seconds are of the processor, `wall s`
beside; every line runs in a process of its own.

`labels`, `targets`: floats, the features of everybody known. `commonest`: labels right if everybody had the commonest,
`predicted`: if the model's own predictions are taken; of targets the mean error of the mean and of the predictions.
`rounded`: `recon.rounded`, as shares of rows known / with label; `file`: leaf values and weights of LightGBM's text so
rounded. `trees`: `recon.first_trees`. `drawn`: rows drawn for every tree; rows known are those that are left to know.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

from forests import DATA, Cells, Section, figure, peak, print_sections
from positions import processor

sys.path.insert(0, str(Path(__file__).parents[1]))
LIBRARIES = ("lightgbm", "hist", "xgboost", "catboost", "sklearn")
LIMIT = 600.0
MINUTE = 60.0  # for labels
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
    more = options.get("more", {})
    if library in ("hist", "sklearn"):
        import joblib
        from boosted_cases import fit_gb, fit_hist

        limits = {} if depth is None else {"max_depth": depth}
        own = {"max_iter": trees} if library == "hist" else {"n_estimators": trees}
        fit = fit_hist if library == "hist" else fit_gb
        model = fit(both(x, y), regressor, **own, **limits, **more)
        joblib.dump(model, path / "model.joblib")
        return path / "model.joblib", model
    if library == "lightgbm":
        import lightgbm

        plain = x.rename(columns=lambda c: str(c).replace(":", "_"))
        own = {"n_estimators": trees, "max_depth": depth or -1, "n_jobs": 1, "verbose": -1, **more}
        model = getattr(lightgbm, f"LGBM{kind}")(**own).fit(plain, y)
        text = model.booster_.model_to_string()
        text = rounded_text(text, options["decimals"]) if "decimals" in options else text
        (path / "model.txt").write_text(text, encoding="utf-8")
        return path / "model.txt", model
    if library == "xgboost":
        import xgboost

        model = getattr(xgboost, f"XGB{kind}")(n_estimators=trees, max_depth=depth, n_jobs=1, **more)
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


def both(x: Any, y: Any) -> Any:
    """Return features and label as one table, label last."""
    return x.assign(**{str(y.name): y})


def rounded_text(text: str, decimals: int) -> str:
    """Return a LightGBM text file with leaf values and weights rounded."""

    def line(found: re.Match[str]) -> str:
        numbers = (f"{float(x):.{decimals}f}" for x in found[2].split())
        return f"{found[1]}={' '.join(numbers)}"

    return re.sub(r"^(leaf_value|leaf_weight)=(.*)$", line, text, flags=re.MULTILINE)


def read(library: str, rows: Any, domain: Any, **options: Any) -> Any:
    """Return the release of a model's file."""
    return read_with_model(library, rows, domain, **options)[0]


def read_with_model(library: str, rows: Any, domain: Any, **options: Any) -> tuple[Any, Any]:
    """Return the release of a model's file, and the model."""
    import recon

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, model = fitted(library, rows.iloc[:, :-1], rows.iloc[:, -1], Path(folder), **options)
        return recon.load(path, domain=domain), model


def settled(release: Any, limit: float = LIMIT, processor_seconds: float | None = None) -> Any:
    """Return what leaf values prove."""
    from curve import watch

    from solvers.chain import answer
    from solvers.foundation.limits import Limits
    from solvers.questions.query import Settle

    stop = threading.Event()
    if processor_seconds is not None:
        end = time.process_time() + processor_seconds
        threading.Thread(target=watch, args=(stop, end), daemon=True).start()
    try:
        return answer(release.statements, Settle(0), Limits(seconds=limit, memory=2 << 30, stop=stop))
    finally:
        stop.set()


def known(release: Any, found: Any, rows: Any) -> tuple[int, int, int]:
    """Return (rows proved, with label, of these in cells of one possible row); no bound may exclude the true rows."""
    import numpy as np

    from recon.frames.true_rows import TrueRows
    from recon.leaf_values.determined import single_rows

    if found.boxes is None:
        return 0, 0, 0
    true = TrueRows.of(release, rows)
    cell, label = true.regions(found.boxes), release.statements.domain.label
    assert (cell >= 0).all(), "a true row is in no cell"
    times = np.zeros(found.low.shape, dtype=np.int64)
    np.add.at(times, (cell, true.parts[label].argmax(axis=1)[true.codes[:, label]]), true.times)
    assert ((found.low <= times) & (times <= found.high)).all(), "the truth is excluded"
    fixed = found.low == found.high
    total = getattr(found, "total_low", found.low.sum(axis=1)), getattr(found, "total_high", found.high.sum(axis=1))
    assert ((total[0] <= times.sum(axis=1)) & (times.sum(axis=1) <= total[1])).all(), "a true total is excluded"
    every = int(times.sum(axis=1)[total[0] == total[1]].sum())
    return every, int(times[fixed].sum()), int((times * fixed)[single_rows(release, found)].sum())


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
    every, labelled, whole = known(release, found, rows)
    marginals, fresh = guesses(release, rows, rest)
    more = ", ".join(f"{k} {v}" for k, v in options.items())
    line = [f"{name} {len(rows):,}{', ' * bool(more)}{more}", library, f"{every:,}", f"{labelled:,}", f"{whole:,}"]
    line += [f"{100 * marginals:.0f} %", f"{100 * fresh:.0f} %", f"{found.surplus:,}", f"{found.worst:.2g}"]
    return [[*line, found.failed or found.status, figure(seconds), figure(wall), str(before), str(used)]]


def share(found: int, rows: int) -> str:
    """Return a share in percent, never rounded up to all of them nor down to none."""
    percent = 100 * found / rows
    return f"{percent:.0f}" if found in (0, rows) else f"{min(max(percent, 0.1), 99.9):.1f}"


def floats(name: str, regressor: bool = False) -> tuple[Any, Any]:
    """Return the rows of a data set of floats, label last, and their domain."""
    import sklearn.datasets

    import recon

    x, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    if name == "diabetes" and not regressor:
        y = (y > y.median()).astype(int)
    rows = both(x, y.rename("target"))
    return rows, recon.Domain.from_frame(rows, label="target")


def labels(name: str, library: str) -> list[Cells]:
    """Work out everybody's label from their features."""
    import recon
    from recon.loading.known_columns import with_known_columns
    from solvers.foundation.limits import Limits

    rows, domain = floats(name)
    release, model = read_with_model(library, rows, domain)
    x, y = rows.iloc[:, :-1], rows.iloc[:, -1]
    wall = time.perf_counter()
    seconds, found = processor(lambda: recon.labels(with_known_columns(release, x), Limits(seconds=MINUTE)))
    wall = time.perf_counter() - wall
    certain = (found["how"] == "certain").to_numpy()
    right = found["label"].to_numpy()[certain].astype(int) == y.to_numpy()[certain]
    assert right.all(), "a label that is called certain is another"
    predicted = (model.predict(x.to_numpy() if library == "xgboost" else x) == y.to_numpy()).sum()
    line = [f"{name} {len(rows):,}", library, f"{certain.sum():,}", f"{y.value_counts().max():,}", f"{predicted:,}"]
    return [[*line, found.attrs["status"], figure(seconds), figure(wall), str(peak())]]


def targets(library: str, depth: int | None) -> list[Cells]:
    """Work out everybody's target from their features."""
    import numpy as np

    import recon
    from recon.loading.known_columns import with_known_columns

    rows, domain = floats("diabetes", True)
    release, model = read_with_model(library, rows, domain, regressor=True, depth=depth)
    x, y = rows.iloc[:, :-1], rows.iloc[:, -1].to_numpy()
    wall = time.perf_counter()
    seconds, found = processor(lambda: recon.targets(with_known_columns(release, x)))
    wall = time.perf_counter() - wall
    low, high = found["low"].to_numpy(), found["high"].to_numpy()
    known = np.isfinite(low) & np.isfinite(high)
    assert ((low[known] <= y[known]) & (y[known] <= high[known])).all(), "a true target is excluded"
    near = int((found["error"].to_numpy()[known] < 1e-9).sum())
    widest = f"{found['error'].to_numpy()[known].max():.1e}" if known.any() else ""
    errors = [np.abs(y - y.mean()).mean(), np.abs(y - model.predict(x)).mean()]
    line = [f"diabetes {len(rows)}, depth {depth or 'default'}", library, f"{known.sum():,}", f"{near:,}", widest]
    line += [f"{error:.1f}" for error in errors]
    return [[*line, found.attrs["status"], figure(seconds), figure(wall), str(peak())]]


DECIMALS = (8, 6, 5, 4, 3)
TREES = (2, 5, 10, 20, 50, 100)
POINT = 15.0  # seconds of the processor for one point of these tables


def shares(release: Any, rows: Any) -> str:
    """Return which shares of rows a release determines: in cells, with label, whole; in percent."""
    from solvers.foundation.errors import Unsupported

    try:
        found = settled(release, processor_seconds=POINT)
    except Unsupported:
        return "sizes only"  # no interval is narrow enough to say anything
    assert not found.failed, found.failed
    return " / ".join(share(part, len(rows)) for part in known(release, found, rows))


def rounded(library: str, n: int | None) -> list[Cells]:
    """Publish leaf values with fewer decimals; `file`: hessians as well."""
    import recon

    rows, _, domain = rows_of("compas14", n)
    kind = library.partition(" ")[0]
    if library.endswith("file"):
        releases = [read(kind, rows, domain, **({} if k is None else {"decimals": k})) for k in (None, *DECIMALS)]
    else:
        release = read(kind, rows, domain)
        releases = [release, *(recon.rounded(release, k) for k in DECIMALS)]
    return [[f"compas14 {len(rows):,}", library, *(shares(one, rows) for one in releases)]]


def trees(library: str, n: int | None) -> list[Cells]:
    """Publish fewer trees."""
    import recon

    rows, _, domain = rows_of("compas14", n)
    release = read(library, rows, domain)
    return [[f"compas14 {len(rows):,}", library, *(shares(recon.first_trees(release, t), rows) for t in TREES)]]


DRAWN = {
    "lightgbm": {"subsample": 0.8, "subsample_freq": 1},
    "lightgbm goss": {"data_sample_strategy": "goss"},
    "xgboost": {"subsample": 0.8},
    "sklearn": {"subsample": 0.8},
}


def drawn(name: str, n: int | None) -> list[Cells]:
    """Draw rows for every tree: what leaf values prove, and what any engine proves of the release."""
    from recon.leaf_values.determined import determined
    from solvers.foundation.limits import Limits

    rows, _, domain = rows_of("compas14", n)
    release = read(name.partition(" ")[0], rows, domain, more=DRAWN[name])
    options = ", ".join(f"{k} {v}" for k, v in DRAWN[name].items())
    line = [f"compas14 {len(rows):,}", name, options]
    if not release.statements.boosted:
        return [[*line, "0", "0", "no leaf values read", *sizes_of(release)]]
    found = settled(release, 100.0)
    every, labelled, _ = known(release, found, rows)
    why = max(determined(release, Limits(seconds=100.0)), key=lambda one: one.known).failed or found.status
    return [[*line, f"{every:,}", f"{labelled:,}", (found.failed or why)[:60], *sizes_of(release)]]


def sizes_of(release: Any) -> list[str]:
    """Return how many trees say how many rows their leaves have, and of how many leaf values are read."""
    return [str(len(release.statements.blocks)), str(sum(len(b.trees) for b in release.statements.boosted))]


def certificates(library: str, n: int | None) -> list[Cells]:
    """Prove verdicts of ten people, and check them."""
    import recon

    rows, _, domain = rows_of("compas14", n)
    release = read(library, rows, domain)
    seconds, found = processor(lambda: recon.certify(release, rows.head(10)))
    proofs = found["certificate"].dropna().tolist()
    size = len(json.dumps(proofs))
    checking, checked = processor(lambda: recon.verify(proofs, release))
    good = len(checked.checked) - len(checked.rejected)
    line = [f"compas14 {len(rows):,}", library, f"{(found['verdict'] == 'certain').sum()} of {len(found)}"]
    return [[*line, figure(seconds), f"{size / 1e3:,.0f}", figure(checking), f"{good} of {len(proofs)}", str(peak())]]


COLUMNS = (
    "rows:33; library:9; rows known:10; with label:10; whole:6; marginals:9; fresh sample:12; surplus:8; worst:6; "
    "status:8; s:6; wall s:6; before MB:9; peak MB:7"
)
SIZES = (None, 2_000, 500, 100)


def few(library: str) -> list[Cells]:
    """Read a model of ten trees of depth 4."""
    return boosted("compas14", library, None, trees=10, depth=4)


def adult(trees: int) -> list[Cells]:
    """Read a LightGBM model of all rows of Adult19."""
    return boosted("adult19", "lightgbm", None, trees=trees)


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
        adult,
        ((200,),),
        (),
    ),
    "labels": Section(
        "Labels from known features (floats), library defaults, 100 trees; at most 60 s",
        "rows:18; library:9; proved:6; commonest:9; predicted:9; status:8; s:6; wall s:6; peak MB:7",
        labels,
        tuple(
            (x, library)
            for library in ("lightgbm", "hist", "sklearn", "xgboost")
            for x in ("breast_cancer", "diabetes")
        ),
        (("diabetes", "hist"),),
    ),
    "targets": Section(
        "Targets from known features (floats), 100 trees of a regression",
        "rows:27; library:9; bounded:7; to 1e-9:7; widest:8; mean:6; predicted:9; status:8; s:6; wall s:6; peak MB:7",
        targets,
        (("sklearn", 5), ("sklearn", 3), ("hist", None)),
        (("sklearn", 5),),
    ),
    "rounded": Section(
        "Leaf values rounded: rows known / with label / whole, %",
        "rows:14; library:13; as published:18; " + "; ".join(f"{k} decimals:18" for k in DECIMALS),
        rounded,
        tuple((library, n) for library in ("lightgbm", "hist") for n in (None, 500)),
        (("hist", 100),),
    ),
    "trees": Section(
        "The first trees: rows known / with label / whole, %",
        "rows:14; library:9; " + "; ".join(f"{t} tree{'s' * (t > 1)}:18" for t in TREES),
        trees,
        tuple((library, n) for library in ("lightgbm", "sklearn", "hist") for n in (500, None)),
        (("hist", 100),),
    ),
    "drawn": Section(
        "Rows drawn for every tree, 100 trees",
        "rows:14; library:14; drawn:32; rows known:10; with label:10; why:60; blocks:6; read:5",
        drawn,
        tuple((name, None) for name in DRAWN),
        (("sklearn", 100),),
    ),
    "certificates": Section(
        "Ten people proved and checked",
        "rows:14; library:9; certain:8; s:6; KB:7; check s:7; holds:8; peak MB:7",
        certificates,
        (("lightgbm", None), ("hist", None), ("lightgbm", 500)),
        (("hist", 100),),
    ),
}


if __name__ == "__main__":
    print_sections(SECTIONS, sys.argv[1:])
