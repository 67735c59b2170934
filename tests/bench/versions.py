"""Two versions of a model: who left between them, on real rows; beside the fits of the two models.

    python tests/bench/versions.py [--quick | --lines BEGINNING ...] [--check]

Each pair: so many rows are drawn (seeds 0, 1, ...), some of them removed, the model is fitted anew with the same
settings, and `recon.difference` is asked who left. `kept`: pairs in which everybody who left is possible (all must be);
`found`: people who left and are certain, with every value; `candidates`: median of the different rows that are
possible; seconds of the processor are the median of a pair, encoding included, certificates not. Needs scikit-learn and
the data folder (RECON_DATA).
What a line says: harness.py.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from harness import DATA, ROOT, Job, Line, main, memory
from records import Spent

sys.path[:0] = [str(ROOT / "tests")]

from solvers.foundation.limits import Limits  # noqa: E402

FIT = "fits of both models"
LONG = 600.0  # seconds of the clock that counting may take: on a shared machine a few of the processor


def tree(depth: int | None) -> Callable[[Any, Any], Any]:
    """Return what fits a tree of a depth."""
    from sklearn.tree import DecisionTreeClassifier

    return lambda x, y: DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x, y)


def histogram() -> Callable[[Any, Any], Any]:
    """Return what fits histogram gradient boosting at its defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return lambda x, y: HistGradientBoostingClassifier(random_state=0).fit(x, y)


def lightgbm() -> Callable[[Any, Any], Any]:
    """Return what fits LightGBM at its defaults, on one thread; it takes no names with colons, so none are given."""
    from lightgbm import LGBMClassifier

    return lambda x, y: LGBMClassifier(verbose=-1, n_jobs=1, random_state=0).fit(x.to_numpy(), y)


def pairs(name: str, file: str, rows: int | None, learner: Callable[[], Any], times: int, removed: int) -> list[Line]:
    """Return the line of some pairs of versions."""
    import numpy as np
    import pandas as pd

    import recon

    whole = pd.read_csv(DATA / file)
    label = str(whole.columns[-1])
    domain = recon.Domain.from_frame(whole, label=label)
    fit, asked, fits, candidates = learner(), [], [], []
    found = kept = exact = sure = 0
    for seed in range(times):
        draw = np.random.default_rng(seed)
        some = whole if rows is None else whole.iloc[draw.choice(len(whole), rows, replace=False)]
        at = [draw.integers(len(some))] if removed == 1 else draw.choice(len(some), removed, replace=False)
        gone, left = some.iloc[at], some.drop(index=some.index[at])
        begun = time.process_time()
        models = [fit(one.drop(columns=label), one[label]) for one in (some, left)]
        fits.append(time.process_time() - begun)
        begun = time.process_time()
        answer = recon.difference(*models, removed=removed, added=0, domain=domain, certificates=False)
        asked.append(time.process_time() - begun)
        verdicts = recon.certify(answer.release, gone, certificates=False, of="removed")["verdict"]
        kept += int((verdicts.isin(["possible", "certain"])).all())
        exact += int(answer.removed.exact and answer.kept.exact)
        found += answer.certain
        sure += answer.removed.sure
        candidates.append(answer.possible or 0)
    now, peak = memory()
    work = Spent(statistics.median(asked), sum(asked), times, now, peak, None)
    beside = Spent(statistics.median(fits), sum(fits), times, now, now, None)
    return [
        Line(
            name,
            work,
            FIT,
            beside,
            more={"kept": kept, "found": found, "exact": exact},
            less={"candidates": statistics.median(candidates)},
            said={"people": removed * times, "most candidates": max(candidates), "slowest": round(max(asked), 2),
                  "mean attributes sure": round(sure / times, 1)},
        )
    ]  # fmt: skip


def placed_pairs(name: str, rows: int, trees: int, times: int) -> list[Line]:
    """Return the line of some pairs of default forests whose seeds are stored, others after: one row left."""
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from recon.queries.versions.positions import AlignedRows, aligned_rows

    whole = pd.read_csv(DATA / COMPAS)
    label = str(whole.columns[-1])
    domain = recon.Domain.from_frame(whole, label=label)
    fits, asked, hits, single, alike, known, kept, alone = [], [], 0, 0, 0, 0, [], []
    for seed in range(times):
        draw = np.random.default_rng(seed)
        some = whole.iloc[draw.choice(len(whole), rows, replace=False)]
        gone = int(draw.integers(rows))
        pairs = ((seed, some), (1_000 + seed, some.drop(index=some.index[gone])))
        begun = time.process_time()
        models = [RandomForestClassifier(trees, random_state=s).fit(x.drop(columns=label), x[label]) for s, x in pairs]
        fits.append(time.process_time() - begun)
        begun = time.process_time()
        found = aligned_rows(*models, removed=1, added=0, domain=domain)
        asked.append(time.process_time() - begun)
        assert isinstance(found, AlignedRows)
        figures = found.figures()
        hits += gone in found.left
        single += len(found.left) == 1
        between = some.iloc[
            found.left.min() : found.left.max() + 1
        ]  # equal neighbours: both leave the same file behind
        alike += len(between) > 1 and len(between.drop_duplicates()) == 1
        known += figures["removed_known"]
        kept.append(figures["kept_known"] / (rows - 1))
        alone.append(recon.positions(recon.encode(models[0], domain)).attrs["share_rows_known"])
    now, peak = memory()
    return [
        Line(
            name,
            Spent(statistics.median(asked), sum(asked), times, now, peak, None),
            FIT,
            Spent(statistics.median(fits), sum(fits), times, now, now, None),
            more={"possible": hits, "one position": single, "equal neighbours": alike, "person known": known,
                  "share of the others known": round(statistics.mean(kept), 3)},
            said={"by the earlier file alone": round(statistics.mean(alone), 3), "slowest": round(max(asked), 2)},
        )
    ]  # fmt: skip


def folds(name: str, fits: int) -> list[Line]:
    """Return the line of the final tree of 200 people and of so many trees of five folds: bits that all leave."""
    import numpy as np
    import pandas as pd
    from sklearn.model_selection import KFold

    import recon

    whole = pd.read_csv(DATA / COMPAS)
    label = str(whole.columns[-1])
    domain = recon.Domain.from_frame(whole, label=label)
    some = whole.iloc[np.random.default_rng(0).choice(len(whole), 200, replace=False)]
    parts = [f"fold {k}" for k in range(1, 6)]
    datasets = [{"name": "all rows"}, *({"name": part} for part in parts)]
    datasets += [{"name": f"fit {k}", "from": "all rows", "without": f"fold {k}"} for k in range(1, 6)]
    begun = time.process_time()
    trees = {"all rows": tree(3)(some.drop(columns=label), some[label])}
    for k, (train, _) in enumerate(KFold(5, shuffle=True, random_state=0).split(some), start=1):
        x = some.iloc[train]
        trees |= {f"fit {k}": tree(3)(x.drop(columns=label), x[label])} if k <= fits else {}
    beside, begun = time.process_time() - begun, time.process_time()
    every = {one: recon.encode(model, domain) for one, model in trees.items()}
    found = recon.count(
        recon.versions(every, {"datasets": datasets, "relations": [{"parts": parts, "of": "all rows"}]}),
        "multiset",
        Limits(seconds=LONG),
    )
    used, (now, peak) = time.process_time() - begun, memory()
    low, high = found.bounds
    width = 200 * (high - low) / (high + low)
    return [
        Line(
            name,
            Spent(used, used, 1, now, peak, None),
            FIT,
            Spent(beside, beside, 1, now, now, None),
            less={"bits at most": round(high, 1), "width in percent": round(width, 2)},
            said={"bits at least": round(low, 1)},
        )
    ]


COMPAS, ADULT = "compas14.csv.gz", "adult19.csv.gz"
CASES: dict[str, tuple[Any, ...]] = {
    "compas14 1,000, tree of depth 3": (COMPAS, 1_000, partial(tree, 3), 50, 1),
    "compas14 1,000, tree of depth 5": (COMPAS, 1_000, partial(tree, 5), 50, 1),
    "compas14 1,000, tree of depth 8": (COMPAS, 1_000, partial(tree, 8), 50, 1),
    "compas14 1,000, full tree": (COMPAS, 1_000, partial(tree, None), 50, 1),
    "compas14 1,000, full tree, 5 removed": (COMPAS, 1_000, partial(tree, None), 50, 5),
    "compas14 7,206, full tree": (COMPAS, None, partial(tree, None), 50, 1),
    "adult19 48,842, full tree": (ADULT, None, partial(tree, None), 20, 1),
    "compas14 500, histogram boosting": (COMPAS, 500, histogram, 50, 1),
    "compas14 2,000, histogram boosting": (COMPAS, 2_000, histogram, 8, 1),
    "compas14 2,000, LightGBM": (COMPAS, 2_000, lightgbm, 30, 1),
    "compas14 7,206, LightGBM": (COMPAS, None, lightgbm, 6, 1),
    "compas14 2,000, LightGBM, 5 removed": (COMPAS, 2_000, lightgbm, 10, 5),
}
SLOW = ("LightGBM", "boosting", "adult19")
JOBS = {
    name: Job(pairs, (name, *rest), quick=not any(word in name for word in SLOW),
              needs=("lightgbm",) if "LightGBM" in name else ())
    for name, rest in CASES.items()
} | {
    name: Job(folds, (name, fits), quick=fits < 4)
    for fits in range(2, 6)
    for name in (f"final tree and {fits} of 5 folds, 200 rows",)
} | {
    f"positions, {rows:,} rows, {trees} trees": Job(
        placed_pairs, (f"positions, {rows:,} rows, {trees} trees", rows, trees, times), quick=rows < 500
    )
    for rows, trees, times in ((100, 10, 20), (100, 30, 20), (500, 100, 2))
}  # fmt: skip

if __name__ == "__main__":
    main("versions", JOBS)
