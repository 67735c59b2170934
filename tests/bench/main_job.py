"""The main job on real sizes: seconds, and ratios against a plain baseline in the same process.

    python tests/bench/main_job.py [FOLDER_WITH_ADULT]

Needs scikit-learn and adult19.csv.gz. Nothing here is asserted on time; tests/ hold what must be true.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pandas as pd

DATA = Path(os.environ.get("RECON_DATA", Path(__file__).parents[3] / "shared" / "data"))


def timed(ask, repeats=3):
    """Return (median seconds, last result)."""
    seconds, found = [], None
    for _ in range(repeats):
        begun = time.perf_counter()
        found = ask()
        seconds.append(time.perf_counter() - begun)
    return median(seconds), found


def fresh(code):
    """Return the median seconds of a fresh interpreter running some code, beside an empty one."""
    one, _ = timed(lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True), 5)
    empty, _ = timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 5)
    return one, empty


def plain_certify(tree, codes, profiles):
    """The obvious way: the tree's own prediction path, one profile at a time, for a sample of profiles."""
    return [int(tree.apply(profiles.iloc[[i]])[0]) in codes for i in range(len(profiles))]


def main() -> None:
    """Print every figure of the issue that is about time."""
    one, empty = fresh(
        "import sys; sys.argv = ['recon', '--help']\nfrom recon.cli.app import main\n"
        "try: main()\nexcept SystemExit: pass"
    )
    print(f"recon --help: {one:.2f} s (an empty interpreter: {empty:.2f} s)")
    one, empty = fresh("import recon")
    print(f"import recon: {one:.3f} s (an empty interpreter: {empty:.3f} s)")

    from sklearn.tree import DecisionTreeClassifier

    import recon

    frame = pd.read_csv((Path(sys.argv[1]) if len(sys.argv) > 1 else DATA) / "adult19.csv.gz")
    label = frame.columns[-1]
    x, y = frame.drop(columns=label), frame[label]
    tree = DecisionTreeClassifier(max_depth=10, random_state=0).fit(x, y)
    seconds, domain = timed(lambda: recon.Domain.from_frame(frame, label=label))
    print(f"domain read off {len(frame):,} rows x {frame.shape[1]} columns: {seconds:.3f} s")

    def encode_and_count():
        release = recon.encode(tree, domain)
        return release, recon.count(release)

    seconds, (release, answer) = timed(encode_and_count)
    print(f"encode and count a tree of depth 10 ({tree.get_n_leaves()} leaves): {seconds:.3f} s, 2^{answer.log2:,.1f}")
    profiles = pd.concat([frame] * 3).iloc[:100_000]
    for what, some in (("full", profiles), ("partial", profiles.drop(columns=["age_high", "capital_gain_>0", label]))):
        seconds, found = timed(lambda some=some: recon.certify(release, some))
        print(f"certify 100,000 {what} profiles: {seconds:.2f} s ({found['verdict'].value_counts().to_dict()})")
    few = x.iloc[:300]
    plain, _ = timed(lambda: plain_certify(tree, set(range(3)), few), 1)
    ours, _ = timed(lambda: recon.certify(release, frame), 1)
    print(f"per profile, one tree.apply call at a time takes {plain / len(few) * len(frame) / ours:,.0f} times longer")
    for convention in ("ordered", "multiset"):
        seconds, found = timed(lambda convention=convention: recon.count(release, convention))
        print(f"count {convention}: {seconds:.3f} s, 2^{found.log2:,.1f}")
    seconds, _ = timed(lambda: recon.measure(release))
    print(f"measure: {seconds:.2f} s")
    seconds, _ = timed(lambda: recon.sample(release, 1))
    print(f"one uniform world of {len(frame):,} rows: {seconds:.2f} s")


if __name__ == "__main__":
    main()
