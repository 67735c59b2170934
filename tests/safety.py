"""Holds the gate against worlds listed apart from it: random models and policies (`make safety`).

    python tests/safety.py [--seed 1] [--number 2000] [--kinds KIND ...] [--workers 2] [--minutes 60]
    python tests/safety.py --positions [--seed 1] [--number 500] ...

Each case is one release and one policy (safety_cases.py), judged as one file, as a file per model, split into trees and
reordered. Every outcome has to be the right one, every form to have the same verdict, and what is released is asked
about by `bound` and `attribute`. Prints what is wrong, seed first (`safety_cases.drawn(SEED)` is the case), and writes
tests/safety.json. Exit code 1 where anything is wrong. What was tried is kept in build/, so that it can be ended at any
time and goes on from there, as long as no source changes. With `--positions` a case is a small random forest, and a
random table of what is known of its rows by position (`known_cases.drawn(SEED)`): no true value or leaf is ever
excluded, knowing more proves no less, proofs hold with the table and not without it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import safety_cases  # noqa: E402

POSITIONS = "forest by position"
RESULT, KEPT = Path(__file__).with_suffix(".json"), ROOT / "build" / "safety"


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


def tried_by_position(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the forest of a seed."""
    import known_cases

    warnings.simplefilter("ignore")
    seed, begun = job[0], time.process_time()
    told = known_cases.failures(seed)
    return {"seed": seed, "kind": POSITIONS, "verdict": "truth excluded" if told else "truth never excluded",
            "right": [], "failures": told, "seconds": time.process_time() - begun}  # fmt: skip


def state() -> str:
    """Return a hash of the sources that a verdict may depend on."""
    every = [one for name in ("recon", "encoders", "solvers") for one in (ROOT / name).rglob("*.py")]
    every += [ROOT / "tests" / f"{name}.py" for name in ("safety_cases", "known_cases", "plain_groups", "oracle")]
    every.append(ROOT / "tests" / "oracle_coupled.py")
    return hashlib.sha256(b"".join(one.read_bytes() for one in sorted(every))).hexdigest()


def kept(path: Path, now: str) -> dict[int, dict[str, Any]]:
    """Return what was found of seeds in this state of the sources; what was found in another is forgotten."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]  # the last may be half a line
    found = [one for one in found if one.pop("state") == now]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(one | {"state": now}) + "\n" for one in found), encoding="utf-8")
    return {one["seed"]: one for one in found}


def summary(seed: int, found: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what was found of all cases together."""
    every = list(found)
    verdicts = Counter(one["verdict"] for one in every)
    if any(one["right"] for one in every):
        verdicts["released where everything is proved to be met"] = sum(
            one["verdict"] == "release" and set(one["right"]) == {"met"} for one in every
        )
        verdicts["not assessed though decided here"] = sum(
            one["verdict"] == "not assessed" and "unknown" not in one["right"] for one in every
        )
    failed = Counter(line.split(":")[0] for one in every for line in one["failures"])
    return {"seed": seed, "number": len(every), "date": date.today().isoformat(),
            "cpu_seconds": round(sum(one["seconds"] for one in every)),
            "kinds": dict(sorted(Counter(one["kind"] for one in every).items())),
            "verdicts": dict(sorted(verdicts.items())), "cases_wrong": sum(bool(one["failures"]) for one in every),
            "failures": dict(sorted(failed.items()))}  # fmt: skip


def main() -> None:
    """Try the cases of the seeds that were not tried yet, print and keep what was found."""
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].strip())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int)
    parser.add_argument("--positions", action="store_true")
    parser.add_argument("--kinds", nargs="+", default=list(safety_cases.KINDS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0)
    asked = parser.parse_args()
    asked.number = asked.number or (500 if asked.positions else 2_000)
    if asked.positions:
        asked.kinds = [POSITIONS]
    work = tried_by_position if asked.positions else tried
    now, until = state(), time.monotonic() + 60 * asked.minutes
    path = KEPT.with_suffix("." + hashlib.sha256(repr((asked.seed, sorted(asked.kinds))).encode()).hexdigest()[:8])
    seeds = range(asked.seed * 1_000_000, asked.seed * 1_000_000 + asked.number)
    done = {seed: one for seed, one in kept(path, now).items() if seed in seeds}
    jobs = [(seed, tuple(asked.kinds)) for seed in seeds if seed not in done]
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool, path.open("a", encoding="utf-8") as out:
        for found in pool.imap_unordered(work, jobs):
            done[found["seed"]] = found
            print(json.dumps(found | {"state": now}), file=out, flush=True)
            if time.monotonic() > until:
                break
    result = summary(asked.seed, done.values())
    for seed in sorted(done):
        for line in done[seed]["failures"]:
            print(f"{seed} {done[seed]['kind']}: {line}")
    print(json.dumps(result, indent=1))
    if len(done) < asked.number:
        sys.exit(f"{len(done):,} of {asked.number:,} cases tried: the same command goes on from there")
    whole = json.loads(RESULT.read_text(encoding="utf-8"))
    whole = whole | {"positions": result} if asked.positions else whole | result
    RESULT.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if result["cases_wrong"] else 0)


if __name__ == "__main__":
    main()
