"""Random fits held against the rows they were trained on: no true row impossible, no false "exactly".

`python checking.py FOLDER` reads what `making.py` wrote: every file that recon reads must have statements that the
training rows satisfy, all of them, and no number of rows that is not theirs. Exit code 1 where one is broken.
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path

import pandas as pd

import recon
from recon.frames.true_rows import violations
from recon.loading.settled import settled_release
from solvers.foundation.errors import ReconError
from solvers.foundation.limits import Limits

ASSUMED = {"whole": "weight", "zeros": "weight", "real": "weight", "continued": "continued", "stopping": "held out"}


def assumed_away(said: dict, notes: str) -> bool:
    """Return whether the fit breaks an assumption that the answer names: weights, other rows, rows held out."""
    kinds = {said.get("weights", "none"), *(["continued"] if said.get("continued") else [])}
    kinds |= {"stopping"} if "early_stopping=True" in said.get("settings", "") else set()
    return any(ASSUMED[kind] in notes for kind in kinds & set(ASSUMED))


def outcome(file: Path, frame: pd.DataFrame, said: dict) -> tuple[str, str]:
    """Return what became of a file, in a word, and why."""
    try:
        domain = recon.Domain.from_frame(frame, label="y")
        release = recon.load(file, domain=domain)
    except ReconError as error:
        return "refused", str(error)
    release, rows = settled_release(release, Limits(20)), release.rows
    named = assumed_away(said, " ".join(release.assumptions))
    if not rows.low <= len(frame) or (rows.high is not None and rows.high < len(frame)):
        return "assumed" if named else "FALSE", f"{rows.low} to {rows.high} rows of {len(frame)}"
    broken = list(violations(release, frame))
    if broken:
        return "assumed" if named else "FALSE", str(broken[0])[:300]
    return "+".join(release.models[0].origin.counts) if hasattr(release, "models") else "read", ""


def main(folder: str) -> int:
    """Return 1 where a statement is false; prints a table of what was read and refused."""
    counts: collections.Counter[tuple[str, str, str]] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    false = 0
    for here in sorted(Path(folder).iterdir()):
        said = json.loads((here / "settings.json").read_text(encoding="utf-8"))
        if "failed" in said:
            counts[said["library"], "", "not fitted"] += 1
            continue
        frame = pd.read_csv(here / "rows.csv")
        for file in sorted(p for p in here.iterdir() if p.name not in ("rows.csv", "settings.json")):
            word, why = outcome(file, frame, said)
            counts[said["library"], file.name, word] += 1
            if word == "FALSE":
                false += 1
                print(file, why, said, sep="\n  ")
            elif word == "refused":
                reasons[f"{said['library']} {file.name}: " + why.partition(": ")[2][:110]] += 1
    for key, n in sorted(counts.items()):
        print(*key, n)
    for why, n in reasons.most_common(40):
        print(f"{n:5d} {why}")
    return int(false > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
