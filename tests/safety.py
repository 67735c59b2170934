"""Holds the gate against worlds listed apart from it: random models and policies (`make safety`).

    python tests/safety.py [--seed 1] [--number 2000] [--kinds KIND ...] [--workers 2]

Each case is one release and one policy (safety_cases.py), judged as one file, as a file per model, split into trees and
reordered. Every outcome has to be the right one, every form to have the same verdict, and what is released is asked
about by `bound` and `attribute`. Prints what is wrong, seed first (`safety_cases.drawn(SEED)` is the case), and writes
tests/safety.json. Exit code 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import safety_cases  # noqa: E402

RESULT = Path(__file__).with_suffix(".json")


def tried(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the case of a seed."""
    warnings.simplefilter("ignore")
    seed, kinds = job
    begun = time.process_time()
    case = safety_cases.drawn(seed, kinds)
    right = safety_cases.truth(case)
    verdict, _ = safety_cases.judged([case.release], case.policy)
    told = safety_cases.failures(case)
    if verdict == "release":
        told += safety_cases.proved_by_bound(case)
    return {"seed": seed, "kind": case.kind, "verdict": verdict, "right": list(right.values()), "failures": told,
            "seconds": time.process_time() - begun}  # fmt: skip


def main() -> None:
    """Try the cases of the seeds, print and keep what was found."""
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].strip())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=2_000)
    parser.add_argument("--kinds", nargs="+", default=list(safety_cases.KINDS))
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    seeds = range(asked.seed * 1_000_000, asked.seed * 1_000_000 + asked.number)
    jobs = [(seed, tuple(asked.kinds)) for seed in seeds]
    kinds, verdicts, failed, wrong, cpu = Counter(), Counter(), Counter(), 0, 0.0
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        for found in pool.imap(tried, jobs, chunksize=4):
            kinds[found["kind"]] += 1
            verdicts[found["verdict"]] += 1
            verdicts["released where everything is proved to be met"] += found["verdict"] == "release" and set(
                found["right"]
            ) == {"met"}
            verdicts["not assessed though decided here"] += (
                found["verdict"] == "not assessed" and "unknown" not in found["right"]
            )
            cpu += found["seconds"]
            wrong += bool(found["failures"])
            for line in found["failures"]:
                failed[line.split(":")[0]] += 1
                print(f"{found['seed']} {found['kind']}: {line}", flush=True)
    result = {"seed": asked.seed, "number": asked.number, "date": date.today().isoformat(), "cpu_seconds": round(cpu),
              "kinds": dict(sorted(kinds.items())), "verdicts": dict(sorted(verdicts.items())), "cases_wrong": wrong,
              "failures": dict(sorted(failed.items()))}  # fmt: skip
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
