"""Noisy counts of random halves of known people: how many secret bits are right, how many proved, CPU seconds.

`python tests/bench/queries.py [PEOPLE QUERIES NOISE SECONDS]`; by default 100 x 400 (noise 2) and 200 x 800 (noise 4).
"""

from __future__ import annotations

import resource
import sys

import numpy as np

import recon


def measure(people: int, queries: int, noise: int, seconds: float) -> str:
    """Return a line of the table."""
    rng = np.random.default_rng(0)
    bits, members = rng.integers(0, 2, people), (rng.random((queries, people)) < 0.5).astype(int)
    answers = members @ bits + rng.integers(-noise, noise + 1, queries)
    found = recon.secret_bits(recon.QueryAnswers.of(range(people), members, answers, noise), recon.Limits(seconds))
    right = int((found["bit"].to_numpy() == bits).sum())
    wrong = int(((found["verdict"] == "certain") & (found["bit"] != bits)).sum())
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    return f"| {people}, {queries}, {noise} | {right} | {found.attrs['certain']} | {spent:.1f} | {wrong} wrong"


if __name__ == "__main__":
    given = [float(x) for x in sys.argv[1:]]
    for case in [given] if given else [[100, 400, 2, 60], [200, 800, 4, 60]]:
        print(measure(int(case[0]), int(case[1]), int(case[2]), case[3]), flush=True)
