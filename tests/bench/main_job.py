"""The main job on real sizes: Adult, 48,842 rows, a tree of depth 10; beside the fit of that tree and plain reading.

    python tests/bench/main_job.py [--quick | --lines BEGINNING ...] [--check]

Needs scikit-learn and adult19.csv.gz (RECON_DATA). What a line says: harness.py. "One at a time": how many times longer
`tree.apply` takes called for one profile after the other, the obvious way to certify them.
"""

from __future__ import annotations

import sys
from typing import Any

from harness import DATA, Job, Line, command, main, measured

HELP = (
    "import sys; sys.argv = ['recon', '--help']\nfrom recon.cli.app import main\ntry: main()\nexcept SystemExit: pass"
)
FIT = "fit of the tree"
PROFILES = 100_000


def started(code: str, name: str) -> list[Line]:
    """Run some code in a fresh interpreter, beside an empty one."""
    runs = [command([sys.executable, "-c", each], 7) for each in (code, "pass")]
    return [Line(name, runs[0], "an empty interpreter", runs[1])]


def adult() -> tuple[Any, Any, Any, Any]:
    """Return the table, its label, the domain, and the function that fits the tree."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    import recon

    frame = pd.read_csv(DATA / "adult19.csv.gz")
    label = frame.columns[-1]
    x, y = frame.drop(columns=label), frame[label]
    fit = lambda: DecisionTreeClassifier(max_depth=10, random_state=0).fit(x, y)  # noqa: E731
    return frame, label, recon.Domain.from_frame(frame, label=label), fit


def domain() -> list[Line]:
    """Read the domain off the rows."""
    import pandas as pd

    import recon

    frame, label, _, _ = adult()
    work = measured(lambda: recon.Domain.from_frame(frame, label=label))
    beside = measured(lambda: pd.read_csv(DATA / "adult19.csv.gz"))
    return [Line("domain read off the rows", work, "pandas.read_csv of the file", beside)]


def questions() -> list[Line]:
    """Encode and count the tree, all measures, a uniform world: each on a release encoded anew."""
    import recon

    _, _, own, fit = adult()
    fitted = measured(fit)
    tree = fitted.found
    encode = lambda: recon.encode(tree, own)  # noqa: E731
    count = measured(lambda: recon.count(encode()))
    ordered = measured(lambda release: recon.count(release, "ordered"), encode)
    measure = measured(recon.measure, encode)
    world = measured(lambda release: recon.sample(release, 1), encode)
    bits = {"log2": round(count.found.log2, 1), "leaves": int(tree.get_n_leaves())}
    return [
        Line("questions: encode and count", count, FIT, fitted, same=bits),
        Line("questions: count ordered", ordered, FIT, fitted, same={"log2": round(ordered.found.log2, 1)}),
        Line("questions: all measures", measure, FIT, fitted),
        Line("questions: one uniform world", world, FIT, fitted),
    ]


def certify(partial: bool) -> list[Line]:
    """Certify 100,000 profiles, complete or with three columns left open; the baseline knows complete rows."""
    import pandas as pd

    import recon

    frame, label, own, fit = adult()
    tree, profiles = fit(), pd.concat([frame] * 3).iloc[:PROFILES]
    x = profiles.drop(columns=label)
    some = profiles.drop(columns=["age_high", "capital_gain_>0", label]) if partial else profiles
    work = measured(lambda release: recon.certify(release, some), lambda: recon.encode(tree, own))
    told = {str(k): int(v) for k, v in work.found["verdict"].value_counts().items()}
    beside = measured(lambda: tree.apply(x))
    one = measured(lambda: [tree.apply(x.iloc[[i]]) for i in range(200)], repeats=3)
    slower = f"{one.cpu / 200 * len(x) / work.cpu:,.0f}x"
    name = f"certify {PROFILES:,} {'partial' if partial else 'full'} profiles"
    return [Line(name, work, "tree.apply of all rows", beside, same=told, said={"one at a time": slower})]


JOBS = {
    "recon --help": Job(started, (HELP, "recon --help")),
    "import recon": Job(started, ("import recon", "import recon")),
    "domain read off the rows": Job(domain),
    "questions": Job(questions),
    f"certify {PROFILES:,} full profiles": Job(certify, (False,)),
    f"certify {PROFILES:,} partial profiles": Job(certify, (True,)),
}

if __name__ == "__main__":
    main("main_job", JOBS)
