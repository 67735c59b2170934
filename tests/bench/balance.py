"""How much of its smaller class a forest whose bags are known gives back: balance, noise, classes, knowledge by name.

    python tests/bench/balance.py [--quick | --lines BEGINNING ...] [--check]
    python tests/bench/balance.py --draw > docs/balance-curve.svg

Jobs begin with rare, balance, trees, noisy, overlapping, three, unseeded, adult19, known. Rows are those of `made` in
tests/test_rare_class.py (20 columns of floats, 8 of them informative), breast cancer, or Adult in the data folder
(RECON_DATA); each forest has the default work (60 units). Figures of a line are those of the class with fewest rows;
that no true leaf is excluded is asserted. The picture is that of the lines "balance" in results/balance.json, drawn as
curve.py draws. What a line says: harness.py.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import curve
from harness import ROOT, Job, Line, main, measured
from positions import FIT, rows_of, true_values, warm

sys.path.append(str(ROOT / "tests"))


def line(
    job: str, x: Any, y: Any, trees: int = 100, known: Any = None, domain: Any = None, seed: Any = 0
) -> list[Line]:
    """Return what is proved of the rows of the smallest class of a forest's labels y, which are 0, 1 and so on."""
    import joblib
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from recon.readers.loading.known_positions import with_known_positions
    from solvers.positions.assignments.world import assigned

    warm()
    np.random.seed(0)  # what a forest without a seed draws from
    fit = measured(lambda: RandomForestClassifier(trees, random_state=seed).fit(x, y), repeats=1)

    def loaded() -> Any:
        release = recon.load(path) if domain is None else recon.load(path, domain=domain)
        return (release if known is None else with_known_positions(release, known)).statements

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.joblib"
        joblib.dump(fit.found, path)
        work = measured(lambda statements: assigned(statements, recon.Limits().limited()), loaded, repeats=1)
    found, rare = work.found, y == int(np.bincount(y).argmin())
    true, sizes = true_values(found.problem, fit.found, x, pd.Series(y)), found.domains.sizes()
    for i, each in enumerate(true):
        assert set(each[each >= 0].tolist()) <= set(found.domains.of_row(i).tolist()), "a true leaf is excluded"
    seen, fixed = found.problem.times.T > 0, found.domains.labels().sum(axis=1) == 1
    said = {"rows": len(y), "trees": trees, "of the class": int(rare.sum())}
    more: dict[str, Any] = {"labels": int(fixed.sum()), "labels of the class": int(fixed[rare].sum())}
    more["leaves of the class %"] = round(100 * float((sizes[rare] == 1)[seen[rare]].mean()), 1)
    more["leaves %"] = round(100 * float((sizes == 1)[seen].mean()), 1)
    more["ended"] = "complete" if found.complete else "incomplete"
    return [Line(job, work, FIT, fit, more=more, said=said)]


def synthetic(job: str, rows: int, rare: float, trees: int = 100, seed: Any = 0, **how: Any) -> list[Line]:
    """Return the line of synthetic rows."""
    from test_rare_class import made

    x, y = made(rows, rare, **how)
    return line(job, x, y, trees, seed=seed)


def real(job: str, name: str) -> list[Line]:
    """Return the line of real data with a rare class, by its name in docs/random-forest.md."""
    import test_rare_class

    return line(job, *test_rare_class.real(name))


def adult(job: str, rows: int, rare: int) -> list[Line]:
    """Return the line of rows of Adult, so many of them of the class with fewer rows; its leaves are impure."""
    import numpy as np

    x, label, domain = rows_of("adult19", 10_000)
    y = np.unique(label, return_inverse=True)[1]
    at = np.sort(np.concatenate([np.flatnonzero(y == k)[:n] for k, n in enumerate((rows - rare, rare))]))
    return line(job, x.iloc[at].reset_index(drop=True), y[at], domain=domain)


def named(job: str, name: str, rows: int, columns: int, labels: int = 0) -> list[Line]:
    """Return the line of rows of which the first columns, or some labels, are known by position."""
    import numpy as np
    import pandas as pd
    from test_rare_class import made

    if name == "made":
        x, y = made(rows, rows / 2)
    else:
        x, own, _ = rows_of(name, rows)
        y = own.to_numpy()
    table = x.iloc[:, :columns].assign(position=np.arange(rows))
    if labels:
        some = np.random.default_rng(0).permutation(rows)[:labels]
        table["label"] = pd.Series(y, dtype=object).where(np.isin(np.arange(rows), some), None)
    return line(job, x, y, known=table)


QUICK = ("rare 800 with 79",)
SIZES = (500, 1_000, 2_000, 4_000)
BALANCES = (1, 2, 5, 10, 25, 50)  # percent


def jobs() -> dict[str, Job]:
    """Return the jobs by their names."""
    out: dict[str, Job] = {}

    def add(name: str, run: Any, *case: Any) -> None:
        out[name] = Job(run, (name, *case), quick=name in QUICK)

    for rows, rare in ((10_000, 50), (4_000, 80), (2_500, 50), (800, 79)):
        add(f"rare {rows:,} with {rare}", synthetic, rows, rare)
    add("rare breast cancer, 397 with 40", real, "breast cancer, 40 malignant")
    add("rare digits, 700 with 71", real, "digits, drawn")
    for rows in SIZES:
        for percent in BALANCES:
            add(f"balance {rows:,} with {percent} %", synthetic, rows, rows * percent / 100)
    for trees in (50, 200):
        for percent in (2, 10):
            add(f"trees {trees} 1,000 with {percent} %", synthetic, 1_000, 10 * percent, trees)
    for percent in (2, 10):
        rare = 10 * percent
        add(f"noisy 1,000 with {percent} %", functools.partial(synthetic, flip_y=0.02), 1_000, rare)
        add(f"overlapping 1,000 with {percent} %", functools.partial(synthetic, class_sep=0.3), 1_000, rare)
        three = functools.partial(synthetic, n_classes=3, weights=[0.97 - percent / 100, 0.03, percent / 100])
        add(f"three 1,000 with {percent} % and 3 %", three, 1_000, rare)
        add(f"unseeded 1,000 with {percent} %", functools.partial(synthetic, seed=None), 1_000, rare)
    for rows, rare in ((1_000, 20), (1_000, 100), (1_000, 250)):
        add(f"adult19 {rows:,} with {rare}", adult, rows, rare)
    add("known breast_cancer, 2 columns", named, "breast_cancer", 569, 2)
    add("known breast_cancer, 10 columns", named, "breast_cancer", 569, 10)
    add("known breast_cancer, 150 labels", named, "breast_cancer", 569, 0, 150)
    add("known made 1,000, 4 of 20 columns", named, "made", 1_000, 4)
    add("known made 2,000, 8 of 20 columns", named, "made", 2_000, 8)
    return out


JOBS = jobs()
COLOURS = dict(zip(SIZES, (10, 30, 100, 200), strict=True))  # of numbers of rows, as curve.py has them of trees


def kept() -> dict[int, dict[int, dict[str, Any]]]:
    """Return what was measured of the smaller class by numbers of rows and percent, as shares."""
    lines = json.loads((Path(__file__).parent / "results" / "balance.json").read_text(encoding="utf-8"))["lines"]
    out: dict[int, dict[int, dict[str, Any]]] = {rows: {} for rows in SIZES}
    for rows in SIZES:
        for percent in BALANCES:
            line = lines[f"balance {rows:,} with {percent} %"]
            more, rare = line["more"], line["said"]["of the class"]
            shares = {"leaves": more["leaves of the class %"] / 100, "labels": more["labels of the class"] / rare}
            out[rows][percent] = shares | {"ended": more["ended"], "rare": rare}
    return out


def draw() -> None:
    """Print the picture: leaves and labels of the smaller class proved, over its share and over its number of rows."""
    found, gap = kept(), curve.WIDE + curve.GAP
    curve.head(curve.LEFT + 3 * gap, curve.TOP + curve.HIGH + 48, "Leaves and labels of the smaller class proved")
    ticks = {percent: f"{percent} %" for percent in BALANCES}
    share = curve.Across(50, 1, ticks, "the smaller class, of all rows (logarithmic)")
    curve.panel(curve.LEFT, curve.TOP, "By class balance", share, {COLOURS[n]: p for n, p in found.items()})
    ticks = {n: f"{n:,}" for n in (5, 10, 20, 50, 100, 200, 500, 2_000)}
    number = curve.Across(5, 2_000, ticks, "rows of the smaller class (logarithmic)")
    by_number = {COLOURS[n]: {one["rare"]: one for one in p.values()} for n, p in found.items()}
    curve.panel(curve.LEFT + gap, curve.TOP, "By rows of the class", number, by_number)
    said = ["up: proved for certain of the smaller class,", "solid: its leaves; dotted: its labels"]
    if any(one["ended"] != "complete" for p in found.values() for one in p.values()):
        said.append("ring: the default work ended it")
    colours = {COLOURS[rows]: f"{rows:,} rows" for rows in SIZES}
    curve.legend(curve.LEFT + 2 * gap, curve.TOP, colours, *said)
    print("</svg>")


if __name__ == "__main__":
    if sys.argv[1:] == ["--draw"]:
        draw()
        sys.exit()
    main("balance", JOBS)
