"""Hides rows in honest model files and holds the inspection against what was hidden (`make safety`).

    python tests/holders.py [--seed 1] [--number 5000] [--kinds KIND ...] [--workers 2]

Each case is one honest file of tests/golden with 0 to 5 holders of rows in random places (holder_cases.py), hidden one
after the other. Each of them has to be told: by a finding that was not there before (critical, high or unknown), or the
file is refused. Where nothing is hidden, nothing is unknown. Prints what is wrong, and writes tests/holders.json.
Exit code 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import sys
import warnings
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import holder_cases as hide  # noqa: E402

from recon.readers.inspection.inspecting import inspect_bytes  # noqa: E402
from recon.readers.stored.binary.rds import read_rds  # noqa: E402
from solvers.foundation.errors import ReconError  # noqa: E402

RESULT = Path(__file__).with_suffix(".json")
GOLDEN = Path(__file__).parent / "golden"
KEPT: list[Path] = []  # where files that are wrong are written to
GZIP = b"\x1f\x8b"
LARGEST = 60_000  # bytes of a file that rows are hidden in
GRAVE = ("critical", "high", "unknown")
# Per kind: the files, and the places of them.
KINDS: dict[str, tuple[str, tuple[hide.Place, ...]]] = {
    "pickle": ("models/*/*.pkl", (hide.in_opcodes, hide.in_opcodes, hide.in_leaves)),
    "estimator": ("models/sklearn-1.9.1/*.pkl", (hide.on_estimator,)),
    "compressed": ("models/*/*.pkl", (hide.in_gzip, hide.behind)),
    "skops": ("models/*/*.skops", (hide.in_zip,)),
    "JSON": ("[bm]o*/**/*.json", (hide.in_json, hide.in_json, hide.in_json, hide.in_spelling, hide.in_gzip)),
    "UBJSON": ("**/*.ubj", (hide.in_ubjson,)),
    "LightGBM": ("**/lightgbm-*/*.txt", (hide.in_lines, hide.in_lines, hide.in_spelling, hide.in_gzip)),
    "text": ("models/[rs]*/*.txt", (hide.in_lines, hide.in_lines, hide.in_spelling)),
    "DOT": ("models/sklearn-*/*.dot", (hide.in_drawing, hide.in_drawing, hide.in_spelling)),
    "PMML": ("models/**/*.pmml", (hide.in_pmml, hide.in_pmml, hide.in_pmml, hide.in_spelling, hide.in_gzip)),
    "CatBoost": ("**/*.cbm", (hide.in_flatbuffer,)),
    "R": ("models/**/*.rds", (hide.in_rds,)),
}  # fmt: skip


@cache
def honest(kind: str) -> tuple[Path, ...]:
    """Return the honest files of a kind: golden ones in which everything is understood, and no row stands but R's y."""
    files = sorted(p for p in GOLDEN.glob(KINDS[kind][0]) if p.stat().st_size <= LARGEST and p.name != "index.json")
    worse = {"unknown"} if kind == "R" else {"unknown", "critical"}
    return tuple(
        p for p in files if (known := told(p.read_bytes())) is not None and not worse & {one[0] for one in known}
    )


def told(data: bytes) -> set[tuple[str, str, str]] | None:
    """Return what the inspection says of rows and of what it does not understand; None where it refuses the file."""
    try:
        found = inspect_bytes(data)
    except ReconError:
        return None
    return {(f.level, f.path, f.what) for f in found.findings if f.level in GRAVE}


def failures(kind: str, seed: int) -> tuple[Counter[str], list[str]]:
    """Return how a case went, and what is wrong: "hidden by WHAT in FILE"."""
    draw = Random(f"{kind} {seed}")
    file = draw.choice(honest(kind))
    data, number = file.read_bytes(), draw.randint(0, 5)
    data = hide.to_rds(read_rds(data)) if kind == "R" else data
    before, ways = told(data), Counter[str](files=1, holders=0)
    wrong = []
    for _ in range(number):
        place = draw.choice(KINDS[kind][1])
        changed = None if data[:2] == GZIP and place is not hide.in_gzip else place(draw, data)
        if changed is None or changed == data:
            continue
        ways["holders"] += 1
        after = told(changed)
        if place is hide.in_gzip and data[:2] == GZIP:  # what was hidden in the header went with it
            before = told(gzip.decompress(data))
        if place is hide.in_zip:  # an archive that is written again has no gaps and nothing before it
            before = told(hide.packed(data))
        if after is None:
            ways["refused"] += 1
            continue
        if not after - (before or set()):
            wrong.append(f"{place.__name__} in {file.relative_to(GOLDEN)}")
            for folder in KEPT:
                (folder / f"{kind}-{seed}.bin").write_bytes(changed)
                (folder / f"{kind}-{seed}.before").write_bytes(data)
        data, before = changed, after
    return ways, wrong


def tried(job: tuple[str, int, str]) -> tuple[str, int, Counter[str], list[str]]:
    """Return kind and seed of a case, how it went, and what is wrong."""
    warnings.simplefilter("ignore")
    KEPT[:] = [Path(job[2])] if job[2] else []
    return (*job[:2], *failures(*job[:2]))


def main() -> None:
    """Try the cases of the seeds, print and keep what was found."""
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].strip())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=5_000)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", default="")
    asked = parser.parse_args()
    first = asked.seed * 1_000_000
    jobs = [(asked.kinds[i % len(asked.kinds)], first + i, asked.keep) for i in range(asked.number)]
    ways, by_kind, wrong = Counter[str](), Counter[str](), Counter[str]()
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        for kind, seed, way, lines in pool.imap(tried, jobs, chunksize=8):
            ways.update(way)
            by_kind[kind] += 1
            wrong[kind] += len(lines)
            for line in lines:
                print(f"{kind} {seed}: not told: {line}", flush=True)
    result = {"seed": asked.seed, "number": asked.number, "date": date.today().isoformat(), "kinds": dict(by_kind),
              **ways, "not told": {k: n for k, n in wrong.items() if n}}  # fmt: skip
    print(json.dumps(result, indent=1))
    if asked.number >= 1_000:
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if sum(wrong.values()) else 0)


if __name__ == "__main__":
    main()
