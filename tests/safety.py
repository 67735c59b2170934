"""Holds the gate against worlds listed apart from it: random models and policies (`make safety`).

    python tests/safety.py [--part gate] [--seed 1] [--number 2000] [--kinds KIND ...] [--workers 2] [--minutes 60]

Each case is one release and one policy (safety_cases.py), judged as one file, as a file per model, split into trees and
reordered. Every outcome has to be the right one, every form to have the same verdict, and what is released is asked
about by `bound` and `attribute`. Prints what is wrong, seed first (`safety_cases.drawn(SEED)` is the case), and writes
tests/safety.json. Exit code 1 where anything is wrong. What was tried is kept in build/, so that it can be ended at any
time and goes on from there, as long as no source changes.

`--part models` tries the constraint models instead (model_cases.py): every solution a world, every world a solution,
by cells, by rows, as clauses and relaxed; it writes tests/safety_models.json.

`--part positions` tries small random forests with a random table of what is known of their rows by position
(known_cases.py): no true value or leaf is ever excluded, knowing more proves no less, proofs hold with the table and
not without it; it writes tests/safety_positions.json.

`--part linear` tries tiny releases with linear statements against every data set (linear_cases.py): counts, verdicts,
least and greatest counts, means, certificates; it writes tests/safety_linear.json.

`--part adversary` tries tiny releases beside random knowledge against every data set (adversary_oracle.py): numbers of
worlds, entropies, least and most, probabilities of profiles and people, certificates; it writes
tests/safety_adversary.json.

`--part composed` fits random compositions of scikit-learn's objects (composed_cases.py), reads them back and holds all
statements against the rows; it writes tests/safety_composed.json.

`--part regressions` prints random linear regressions in many ways (regression_cases.py), reads them back and holds all
counts and sums against the rows; it writes tests/safety_regressions.json.

`--part scores` fits random generalised linear models, prints them in many ways, reads them back beside everybody's
columns (score_cases.py) and holds all sums against the rows; it writes tests/safety_scores.json.

`--part statistics` fits random data sets over the readers of published statistics (statistic_cases.py), and holds all
statements against the rows; it writes tests/safety_statistics.json. `--part survival` does the same over survival
curves, survival trees and forests, and treelite's JSON; it writes tests/safety_survival.json.

`--part areas` holds widths and radii of tiny areas against all pairs of data sets (area_cases.py): with all tables,
one left out, and noise on some; it writes tests/safety_areas.json.
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

import model_cases  # noqa: E402
import safety_cases  # noqa: E402

RESULT, KEPT = Path(__file__).with_suffix(".json"), ROOT / "build" / "safety"
MODELS = RESULT.with_name("safety_models.json")


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


def modelled(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the constraint models of the case of a seed."""
    warnings.simplefilter("ignore")
    seed, kinds = job
    begun = time.process_time()
    case = model_cases.drawn(seed, kinds)
    return {"seed": seed, "kind": case.kind, "worlds": len(case.worlds), "exact": model_cases.exact(case),
            "failures": model_cases.failures(case), "seconds": time.process_time() - begun}  # fmt: skip


def placed(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the forest of a seed, with rows known by position."""
    import known_cases

    warnings.simplefilter("ignore")
    seed, begun = job[0], time.process_time()
    told = known_cases.failures(seed)
    return {"seed": seed, "kind": "forest by position", "right": [], "failures": told,
            "verdict": "truth excluded" if told else "truth never excluded",
            "seconds": time.process_time() - begun}  # fmt: skip


def paired(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the tables of a seed, against all pairs of data sets."""
    import area_cases

    seed, begun = job[0], time.process_time()
    told, figures = area_cases.tried(seed)
    return {"seed": seed, "kind": "tables of areas", "figures": figures, "failures": told,
            "seconds": time.process_time() - begun}  # fmt: skip


def added_up(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the linear statements of a seed, against all data sets."""
    import linear_cases

    warnings.simplefilter("ignore")
    seed, begun = job[0], time.process_time()
    told, figures = linear_cases.failures(seed)
    return {"seed": seed, "kind": "linear statements", "figures": figures, "failures": told,
            "seconds": time.process_time() - begun}  # fmt: skip


def composed(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the composition of scikit-learn's objects of a seed."""
    import composed_cases

    seed, begun = job[0], time.process_time()
    told, figures = composed_cases.tried(seed)
    return {"seed": seed, "kind": "compositions", "figures": figures, "failures": told,
            "seconds": time.process_time() - begun}  # fmt: skip


def regressed(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the printed linear regression of a seed."""
    import regression_cases

    seed, begun = job[0], time.process_time()
    told, figures = regression_cases.failures(seed)
    return {"seed": seed, "kind": "linear regressions", "figures": figures, "failures": told,
            "seconds": time.process_time() - begun}  # fmt: skip


def scored_fits(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of the generalised linear model of a seed."""
    import score_cases

    seed, begun = job[0], time.process_time()
    told, figures = score_cases.failures(seed)
    return {"seed": seed, "kind": "score equations", "figures": figures, "failures": told,
            "seconds": time.process_time() - begun}  # fmt: skip


def published(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what was found of what a fit of a seed publishes, against its rows."""
    import statistic_cases

    seed, begun = job[0], time.process_time()
    kinds = statistic_cases.SURVIVAL if job[1] == ("survival",) else statistic_cases.KINDS
    kind, told = statistic_cases.tried(seed, kinds)
    return {"seed": seed, "kind": kind, "figures": {kind: 1}, "failures": told,
            "seconds": time.process_time() - begun}  # fmt: skip


_CASES = ("safety_cases", "model_cases", "known_cases", "area_cases", "composed_cases", "regression_cases",
          "score_cases", "linear_cases", "linear_figures", "statistic_cases", "plain_groups",
          "plain_checker", "oracle", "oracle_coupled", "oracle_noisy", "position_oracle", "adversary_oracle",
          "forests_with_bags")  # fmt: skip


def beside(job: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return what recon says otherwise than brute force of a release beside what an adversary knows."""
    import tempfile

    import adversary_oracle

    warnings.simplefilter("ignore")
    seed, begun = job[0], time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        try:
            told = adversary_oracle.compare(adversary_oracle.make(seed), folder)
        except Exception as error:  # whatever it is, it is told with its seed
            told = f"{type(error).__name__}: {error}"
    return {
        "seed": seed, "kind": "adversary", "figures": {}, "failures": [told] if told else [],
        "seconds": round(time.process_time() - begun, 3),
    }  # fmt: skip


def state() -> str:
    """Return a hash of the sources that a verdict may depend on."""
    every = [one for name in ("recon", "encoders", "solvers") for one in (ROOT / name).rglob("*.py")]
    every += [ROOT / "tests" / f"{name}.py" for name in _CASES]
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


def models_summary(seed: int, found: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what was found of the constraint models of all cases together."""
    every = list(found)
    failed = Counter(line.split(":")[0] for one in every for line in one["failures"])
    return {"seed": seed, "number": len(every), "date": date.today().isoformat(),
            "cpu_seconds": round(sum(one["seconds"] for one in every)),
            "kinds": dict(sorted(Counter(one["kind"] for one in every).items())),
            "exact": dict(sorted(Counter(one["kind"] for one in every if one["exact"]).items())),
            "worlds": sum(one["worlds"] for one in every), "cases_wrong": sum(bool(one["failures"]) for one in every),
            "failures": dict(sorted(failed.items()))}  # fmt: skip


def areas_summary(seed: int, found: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what was found of the tables of all cases together."""
    every, figures = list(found), Counter[str]()
    for one in every:
        figures.update(one["figures"])
    failed = Counter(line.split(":")[0] for one in every for line in one["failures"])
    return {"seed": seed, "number": len(every), "date": date.today().isoformat(),
            "cpu_seconds": round(sum(one["seconds"] for one in every)), "figures": dict(sorted(figures.items())),
            "cases_wrong": sum(bool(one["failures"]) for one in every),
            "failures": dict(sorted(failed.items()))}  # fmt: skip


PARTS: dict[str, tuple[Any, Any, tuple[str, ...], Path]] = {
    "gate": (tried, summary, safety_cases.KINDS, RESULT),
    "models": (modelled, models_summary, model_cases.KINDS, MODELS),
    "positions": (placed, summary, ("forest by position",), RESULT.with_name("safety_positions.json")),
    "linear": (added_up, areas_summary, ("linear statements",), RESULT.with_name("safety_linear.json")),
    "adversary": (beside, areas_summary, ("adversary",), RESULT.with_name("safety_adversary.json")),
    "composed": (composed, areas_summary, ("compositions",), RESULT.with_name("safety_composed.json")),
    "regressions": (regressed, areas_summary, ("linear regressions",), RESULT.with_name("safety_regressions.json")),
    "scores": (scored_fits, areas_summary, ("score equations",), RESULT.with_name("safety_scores.json")),
    "statistics": (
        published,
        areas_summary,
        ("published statistics",),
        RESULT.with_name("safety_statistics.json"),
    ),
    "survival": (published, areas_summary, ("survival",), RESULT.with_name("safety_survival.json")),
    "areas": (paired, areas_summary, ("tables of areas",), RESULT.with_name("safety_areas.json")),
}


def main() -> None:
    """Try the cases of the seeds that were not tried yet, print and keep what was found."""
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].strip())
    parser.add_argument("--part", choices=list(PARTS), default="gate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=2_000)
    parser.add_argument("--kinds", nargs="+")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0)
    asked = parser.parse_args()
    attempt, summarised, every_kind, into = PARTS[asked.part]
    kinds = tuple(asked.kinds or every_kind)
    now, until = state(), time.monotonic() + 60 * asked.minutes
    path = KEPT.with_suffix(
        "." + hashlib.sha256(repr((asked.part, asked.seed, sorted(kinds))).encode()).hexdigest()[:8]
    )
    seeds = range(asked.seed * 1_000_000, asked.seed * 1_000_000 + asked.number)
    done = {seed: one for seed, one in kept(path, now).items() if seed in seeds}
    jobs = [(seed, kinds) for seed in seeds if seed not in done]
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool, path.open("a", encoding="utf-8") as out:
        for found in pool.imap_unordered(attempt, jobs):
            done[found["seed"]] = found
            print(json.dumps(found | {"state": now}), file=out, flush=True)
            if time.monotonic() > until:
                break
    result = summarised(asked.seed, done.values())
    for seed in sorted(done):
        for line in done[seed]["failures"]:
            print(f"{seed} {done[seed]['kind']}: {line}")
    print(json.dumps(result, indent=1))
    if len(done) < asked.number:
        sys.exit(f"{len(done):,} of {asked.number:,} cases tried: the same command goes on from there")
    into.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if result["cases_wrong"] else 0)


if __name__ == "__main__":
    main()
