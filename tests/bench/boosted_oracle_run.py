"""Thousands of tiny boosted models beside the oracle: python tests/bench/boosted_oracle_run.py FROM TO [TASK] [KIND].

Prints every disagreement with the case that shows it, and at the end how often what recon says is all there is to know.
"""

from __future__ import annotations

import collections
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from boosted_comparison import compared, random_case  # the folder of the tests is put on the path first

import recon


def main(first: int, last: int, task: str, kinds: tuple[str, ...]) -> None:
    """Compare the cases first .. last - 1 and print what was found."""
    warnings.simplefilter("ignore")
    started, tally, loose = time.monotonic(), collections.Counter(), collections.Counter()
    most = 0.0
    for seed in range(first, last):
        case = random_case(seed, kinds, task=task)
        found = compared(case, recon.Limits(seconds=20))
        if found is None:
            tally["ambiguous"] += 1
            continue
        tally["compared"] += 1
        if found.read != "read":
            tally["not read"] += 1
            loose[found.read[:150]] += 1
        tally["figures"] += found.figures
        most = max(most, found.most_used)
        tally["near"] += found.worlds.near
        tally[f"tight {case.kind}" if found.tight else f"loose {case.kind}"] += 1
        tally["one world"] += found.worlds.multiset == 1
        tally["one world, found"] += found.worlds.multiset == 1 and found.tight
        tally["leaf values not used"] += bool(found.failed)
        if found.failed and len(case.rows):
            print("FAILED", case.name, case.kind, *found.failed, sep="\n  ", flush=True)
        loose.update(line.split()[0] for line in found.loose)
        if found.wrong:
            tally["WRONG"] += 1
            print("WRONG", case, *found.wrong, sep="\n  ", flush=True)
    print(f"{time.monotonic() - started:.1f} s", dict(tally), dict(loose), f"of an interval {most:.3g}", sep="\n")


if __name__ == "__main__":
    more = sys.argv[3:]
    main(int(sys.argv[1]), int(sys.argv[2]), more[0] if more else "binary", tuple(more[1:]) or ("sk", "hist"))
