"""Boosted models: rows and labels that leaf values reveal, beside the fit of the model, and what would be guessed.

    python tests/bench/leaf_values.py [--quick | --lines BEGINNING ...] [--check]

Jobs begin with defaults, few, adult, labels, targets, rounded, trees, drawn, certificates. Needs scikit-learn, the
packages lightgbm, xgboost, catboost and the data folder (RECON_DATA). Models are fitted at library defaults (100 trees)
on n rows drawn with seed 0 (all rows: as they stand), stored as files and read with `recon.load`; the domain is that of
the data (COMPAS14: 640 possible rows without the label). Everything proved is compared with the rows that the model was
fitted on: a wrong one ends the line. "known": rows in cells (one leaf of every tree) whose number of rows is proved,
"with label": the same per label, "whole": those of them whose cell is one possible row, so that every value is known.
"marginals": rows that n draws of independent columns with the true frequencies have in common with the truth (mean of
20), "fresh sample": the same for n other rows of the same data (where they are fewer: rows drawn again), both as far as
the model's trees tell rows apart. What a line says: harness.py.

labels, targets: floats, the features of everybody known. "commonest": labels right if everybody had the commonest,
"predicted": if the model's own predictions are taken; of targets the mean error of the mean and of the predictions.
rounded: `recon.rounded`; trees: `recon.first_trees`; 15 seconds of the processor each. drawn: rows drawn per tree.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import DATA, Job, Line, main, measured, stopping
from records import Spent

sys.path.append(str(Path(__file__).parents[1]))
PACKAGES = {"lightgbm": "lightgbm", "xgboost": "xgboost", "catboost": "catboost"}
LIBRARIES = ("lightgbm", "hist", "xgboost", "catboost", "sklearn")
LIMIT = 600.0
MINUTE = 60.0  # for labels
DRAWS = 20
FIT = "fit of the model"


def rows_of(name: str, n: int | None) -> tuple[Any, Any, Any]:
    """Return (training rows, the other rows, domain), label last."""
    import pandas as pd

    import recon

    frame = pd.read_csv(DATA / f"{name}.csv.gz")
    domain = recon.Domain.from_frame(frame, label=frame.columns[-1])
    rows = frame if n is None or n >= len(frame) else frame.sample(n, random_state=0)
    return rows.reset_index(drop=True), frame.drop(index=rows.index).reset_index(drop=True), domain


def fitted(library: str, x: Any, y: Any, path: Path, **options: Any) -> tuple[Path, Spent]:
    """Return a model's file, written as its library does, and its fit; `regressor`, `trees`, `depth`, `more`."""
    trees, depth, regressor = options.get("trees", 100), options.get("depth"), options.get("regressor", False)
    kind = "Regressor" if regressor else "Classifier"
    more = options.get("more", {})
    if library in ("hist", "sklearn"):
        import joblib
        from boosted_cases import fit_gb, fit_hist

        limits = {} if depth is None else {"max_depth": depth}
        own = {"max_iter": trees} if library == "hist" else {"n_estimators": trees}
        fit = fit_hist if library == "hist" else fit_gb
        done = measured(lambda: fit(both(x, y), regressor, **own, **limits, **more), repeats=1)
        joblib.dump(done.found, path / "model.joblib")
        return path / "model.joblib", done
    if library == "lightgbm":
        import lightgbm

        plain = x.rename(columns=lambda c: str(c).replace(":", "_"))
        own = {"n_estimators": trees, "max_depth": depth or -1, "n_jobs": 1, "verbose": -1, **more}
        done = measured(lambda: getattr(lightgbm, f"LGBM{kind}")(**own).fit(plain, y), repeats=1)
        done.found.booster_.save_model(str(path / "model.txt"))
        return path / "model.txt", done
    if library == "xgboost":
        import xgboost

        model = getattr(xgboost, f"XGB{kind}")(n_estimators=trees, max_depth=depth, n_jobs=1, **more)
        done = measured(lambda: model.fit(x.to_numpy(), y.to_numpy()), repeats=1)
        model.get_booster().feature_names = [str(c).replace("<", "lt") for c in x.columns]
        model.save_model(path / "model.json")
        return path / "model.json", done
    import catboost

    model = getattr(catboost, f"CatBoost{kind}")(
        iterations=trees, depth=depth or 6, verbose=0, allow_writing_files=False, thread_count=1
    )
    done = measured(lambda: model.fit(x, y), repeats=1)
    model.save_model(str(path / "model.json"), format="json")
    return path / "model.json", done


def both(x: Any, y: Any) -> Any:
    """Return features and label as one table, label last."""
    return x.assign(**{str(y.name): y})


def rounded_text(text: str, decimals: int) -> str:
    """Return a LightGBM text file with leaf values and weights rounded."""

    def line(found: re.Match[str]) -> str:
        numbers = (f"{float(x):.{decimals}f}" for x in found[2].split())
        return f"{found[1]}={' '.join(numbers)}"

    return re.sub(r"^(leaf_value|leaf_weight)=(.*)$", line, text, flags=re.MULTILINE)


def read(library: str, rows: Any, domain: Any, **options: Any) -> tuple[Any, Spent]:
    """Return the release of a model's file, and the fit of the model."""
    import recon

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, fit = fitted(library, rows.iloc[:, :-1], rows.iloc[:, -1], Path(folder), **options)
        return recon.load(path, domain=domain), fit


def settled(release: Any, limit: float = LIMIT, processor_seconds: float = 1e6) -> Any:
    """Return what leaf values prove."""
    from solvers.engines.chain import answer
    from solvers.foundation.limits import Limits
    from solvers.statements.questions.query import LeafLabelCounts

    with stopping(processor_seconds) as stop:
        return answer(release.statements, LeafLabelCounts(0), Limits(seconds=limit, memory=2 << 30, stop=stop))


def known(release: Any, found: Any, rows: Any) -> tuple[int, int, int]:
    """Return (rows proved, with label, of these in cells of one possible row); no bound may exclude the true rows."""
    import numpy as np

    from recon.queries.leaf_values.determined import single_rows
    from recon.readers.frames.world import TrueRows

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

    from recon.readers.frames.world import TrueRows

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


def boosted(job: str, name: str, library: str, n: int | None, **options: Any) -> list[Line]:
    """Read a model and work out its rows."""
    rows, rest, domain = rows_of(name, n)
    release, fit = read(library, rows, domain, **options)
    work = measured(functools.partial(settled, release), repeats=1)
    found = work.found
    every, labelled, whole = known(release, found, rows)
    marginals, fresh = guesses(release, rows, rest)
    more = {"known": every, "with label": labelled, "whole": whole, "surplus": found.surplus}
    said = {"rows": len(rows), "marginals": f"{100 * marginals:.0f} %", "fresh sample": f"{100 * fresh:.0f} %"}
    said |= {"worst surplus": float(f"{found.worst:.2g}"), "status": found.failed or found.status}
    return [Line(job, work, FIT, fit, more=more, said=said)]


def floats(name: str, regressor: bool = False) -> tuple[Any, Any]:
    """Return the rows of a data set of floats, label last, and their domain."""
    import sklearn.datasets

    import recon

    x, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    if name == "diabetes" and not regressor:
        y = (y > y.median()).astype(int)
    rows = both(x, y.rename("target"))
    return rows, recon.Domain.from_frame(rows, label="target")


def labels(job: str, name: str, library: str) -> list[Line]:
    """Work out everybody's label from their features."""
    import recon
    from recon.readers.loading.known_positions import with_known_columns
    from solvers.foundation.limits import Limits

    rows, domain = floats(name)
    release, fit = read(library, rows, domain)
    x, y = rows.iloc[:, :-1], rows.iloc[:, -1]
    work = measured(lambda: recon.labels(with_known_columns(release, x), Limits(seconds=MINUTE)), repeats=1)
    found = work.found
    certain = (found["how"] == "certain").to_numpy()
    right = found["label"].to_numpy()[certain].astype(int) == y.to_numpy()[certain]
    assert right.all(), "a label that is called certain is another"
    predicted = (fit.found.predict(x.to_numpy() if library == "xgboost" else x) == y.to_numpy()).sum()
    said = {"rows": len(rows), "commonest": int(y.value_counts().max()), "predicted": int(predicted)}
    said |= {"status": found.attrs["status"]}
    return [Line(job, work, FIT, fit, more={"labels": int(certain.sum())}, said=said)]


def targets(job: str, library: str, depth: int | None) -> list[Line]:
    """Work out everybody's target from their features."""
    import numpy as np

    import recon
    from recon.readers.loading.known_positions import with_known_columns

    rows, domain = floats("diabetes", True)
    release, fit = read(library, rows, domain, regressor=True, depth=depth)
    x, y = rows.iloc[:, :-1], rows.iloc[:, -1].to_numpy()
    work = measured(lambda: recon.targets(with_known_columns(release, x)), repeats=1)
    found = work.found
    low, high = found["low"].to_numpy(), found["high"].to_numpy()
    known = np.isfinite(low) & np.isfinite(high)
    assert ((low[known] <= y[known]) & (y[known] <= high[known])).all(), "a true target is excluded"
    more = {"bounded": int(known.sum()), "to 1e-9": int((found["error"].to_numpy()[known] < 1e-9).sum())}
    less = {"widest": float(f"{found['error'].to_numpy()[known].max():.2g}")} if known.any() else {}
    errors = [np.abs(y - y.mean()).mean(), np.abs(y - fit.found.predict(x)).mean()]
    said = {"error of the mean": round(float(errors[0]), 1), "of predictions": round(float(errors[1]), 1)}
    return [Line(job, work, FIT, fit, more=more, less=less, said=said | {"status": found.attrs["status"]})]


DECIMALS = (8, 6, 5, 4, 3)
TREES = (2, 5, 10, 20, 50, 100)
POINT = 15.0  # seconds of the processor for one point of these tables


def published(job: str, releases: dict[str, Any], fit: Spent, rows: Any) -> list[Line]:
    """Work out what releases determine: shares of rows in cells, with label, whole; in percent."""
    from solvers.foundation.errors import Unsupported

    def ask(release: Any) -> Any:
        try:
            return settled(release, processor_seconds=POINT)
        except Unsupported:
            return None  # no interval is narrow enough to say anything

    out = []
    for what, release in releases.items():
        work = measured(functools.partial(ask, release), repeats=1)
        assert work.found is None or not work.found.failed, work.found.failed
        shares = (0, 0, 0) if work.found is None else known(release, work.found, rows)
        more = {k: share(n, len(rows)) for k, n in zip(("known %", "with label %", "whole %"), shares, strict=True)}
        said = {} if work.found is not None else {"status": "sizes only"}
        out.append(Line(f"{job}: {what}", work, FIT, fit, more=more, said=said))
    return out


def share(found: int, rows: int) -> float:
    """Return a share in percent, never rounded up to all of them nor down to none."""
    percent = 100 * found / rows
    return percent if found in (0, rows) else round(min(max(percent, 0.1), 99.9), 1)


def rounded(job: str, library: str, n: int | None) -> list[Line]:
    """Publish leaf values with fewer decimals."""
    import recon

    rows, _, domain = rows_of("compas14", n)
    release, fit = read(library, rows, domain)
    releases = {"as published": release} | {f"{k} decimals": recon.rounded(release, k) for k in DECIMALS}
    return published(job, releases, fit, rows)


def trees(job: str, library: str, n: int | None) -> list[Line]:
    """Publish fewer trees."""
    import recon

    rows, _, domain = rows_of("compas14", n)
    release, fit = read(library, rows, domain)
    return published(job, {f"{t} trees": recon.first_trees(release, t) for t in TREES}, fit, rows)


DRAWN = {
    "lightgbm": {"subsample": 0.8, "subsample_freq": 1},
    "lightgbm goss": {"data_sample_strategy": "goss"},
    "xgboost": {"subsample": 0.8},
    "sklearn": {"subsample": 0.8},
}


def drawn(job: str, name: str) -> list[Line]:
    """Draw rows for every tree: what leaf values prove, and what any engine proves of the release."""
    from recon.queries.leaf_values.determined import determined
    from solvers.foundation.limits import Limits

    rows, _, domain = rows_of("compas14", None)
    release, fit = read(name.partition(" ")[0], rows, domain, more=DRAWN[name])
    said: dict[str, Any] = {"options": ", ".join(f"{k} {v}" for k, v in DRAWN[name].items())}
    said |= {"leaf values of trees": sum(len(b.trees) for b in release.statements.boosted)}
    work = measured(lambda: settled(release, 100.0) if release.statements.boosted else None, repeats=1)
    if work.found is None:
        return [Line(job, work, FIT, fit, more={"known": 0, "with label": 0}, said=said)]
    every, labelled, _ = known(release, work.found, rows)
    best = max(determined(release, Limits(seconds=100.0)), key=lambda one: one.known)
    said |= {"status": work.found.failed or best.failed or work.found.status}
    return [Line(job, work, FIT, fit, more={"known": every, "with label": labelled}, said=said)]


def certificates(job: str, library: str, n: int | None) -> list[Line]:
    """Prove verdicts of ten people, and check them."""
    import recon

    rows, _, domain = rows_of("compas14", n)
    release = read(library, rows, domain)[0]
    bare, some = read(library, rows, domain)[0], rows.head(10)
    write = measured(lambda: recon.certify(release, some), repeats=1)
    without = measured(lambda: recon.certify(bare, some, certificates=False), repeats=1)
    proofs = write.found["certificate"].dropna().tolist()
    check = measured(lambda: recon.verify(proofs, release), repeats=1)
    baseline = "the same without certificates"
    more = {"certain": int((write.found["verdict"] == "certain").sum())}
    held = {"held": len(check.found.checked) - len(check.found.rejected)}
    size = {"kB": round(len(json.dumps(proofs)) / 1e3)}
    return [
        Line(f"{job}: write", write, baseline, without, more=more, said=size),
        Line(f"{job}: verify", check, baseline, without, more=held),
    ]


def jobs() -> dict[str, Job]:
    """Return the jobs by their names."""
    out: dict[str, Job] = {}

    def add(run: Callable[..., list[Line]], job: str, library: str, *case: Any, quick: bool = False) -> None:
        package = PACKAGES.get(library.partition(" ")[0])
        out[job] = Job(run, (job, *case), quick, () if package is None else (package,))

    for n in (None, 2_000, 500, 100):
        for library in LIBRARIES:
            quick = n in (None, 100)
            add(boosted, f"defaults {n or 7_206:,} {library}", library, "compas14", library, n, quick=quick)
    for library in LIBRARIES:
        few = functools.partial(boosted, trees=10, depth=4)
        add(few, f"few {library}", library, "compas14", library, None, quick=library == "sklearn")
    add(functools.partial(boosted, trees=200), "adult lightgbm", "lightgbm", "adult19", "lightgbm", None)
    for name in ("breast_cancer", "diabetes"):
        for library in ("lightgbm", "hist", "sklearn", "xgboost"):
            quick = (name, library) != ("diabetes", "sklearn")
            add(labels, f"labels {name} {library}", library, name, library, quick=quick)
    for library, depth in (("sklearn", 5), ("sklearn", 3), ("hist", None)):
        add(targets, f"targets {library}, depth {depth or 'default'}", library, library, depth, quick=depth == 5)
    for library in ("lightgbm", "hist"):
        for n in (None, 500):
            add(rounded, f"rounded {n or 7_206:,} {library}", library, library, n)
    for library in ("lightgbm", "sklearn", "hist"):
        for n in (500, None):
            add(trees, f"trees {n or 7_206:,} {library}", library, library, n)
    for name in DRAWN:
        add(drawn, f"drawn {name}", name, name)
    for library, n in (("lightgbm", None), ("hist", None), ("lightgbm", 500)):
        add(certificates, f"certificates {n or 7_206:,} {library}", library, library, n)
    return out


JOBS = jobs()

if __name__ == "__main__":
    main("leaf_values", JOBS)
