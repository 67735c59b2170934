"""Random fits held against the rows they were trained on: no true row impossible, no false "exactly", no false bound.

`python checking.py [--number 5000] [--seed 0] [--making PYTHON] [--out RESULTS]` lets the Python that has the libraries
(requirements.txt) write fits in batches (`making.py`) and reads every file: all statements about it must hold of the
training rows, and no number of rows be another than theirs, but where the answer has the very sentence that assumes the
contrary of what the fit did (`SENTENCES`). One line per fit is added to RESULTS; seeds that stand there are not made
again; folders of false fits are kept beside it. Ends with the summary (`results.json` where RESULTS is complete) and
exit code 1 where a statement is false.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import recon
from recon.readers.formats.boosters import catboost_model as catboost
from recon.readers.formats.boosters.lightgbm import model as lightgbm
from recon.readers.formats.boosters.xgboost import model as xgboost
from recon.readers.formats.drafts.drafts import KEPT, WITHIN, Draft
from recon.readers.formats.printed import graphviz_dot, printed_trees
from recon.readers.formats.sklearn.boosting import boosting
from recon.readers.formats.sklearn.trees import settings, trees
from recon.readers.frames.world import violations
from recon.readers.loading.loading import read_file
from recon.readers.loading.settled import strengthened_release
from solvers.foundation.errors import ReconError
from solvers.foundation.limits import Limits

HERE = Path(__file__).parent
BATCH = 100
FORMS = {"rows.csv", "other.csv", "settings.json"}
KINDS = (
    "weights", "subsample", "colsample", "early stopping", "missing", "categorical", "sparse", "class weights", "DART",
    "GOSS", "base score", "continued", "summed", "multi class",
)  # fmt: skip


# What a fit may break (making.py, `broken_by`), and the sentences of readers that assume the contrary, whole.
SENTENCES = {
    "weighted": (
        xgboost.NOT_WEIGHTED,
        xgboost.NOT_STATED,
        catboost.NOT_WEIGHTED,
        catboost.NONE_BESIDE_CATEGORIES,
        lightgbm.NOT_STATED,
        lightgbm.NOT_THE_LAST,
        printed_trees.PLAIN_ROWS,
        graphviz_dot.RATIO_ROWS,
    ),
    "other rows": (
        KEPT,
        xgboost.SAME_ROWS,
        lightgbm.SAME_ROWS,
        catboost.SAME_ROWS,
        settings.SAME_ROWS,
        boosting.CONTINUED,
    ),
    "zeros": (boosting.NO_ZEROS, catboost.NONE_BESIDE_CATEGORIES),
    "scaled": (lightgbm.NOT_CUT, lightgbm.NOT_THE_LAST),
    "drawn": (xgboost.NOT_STATED, xgboost.ALL_SEEN),
}
NONE_WEIGHTED = "boosting: leaf values are those of training on all the rows, none of them weighted"
# Sentences on leaf values alone: nothing else is excused by them.
OF_VALUES = {"weighted": (trees.ANY_WEIGHT, NONE_WEIGHTED), "zeros": (trees.ANY_WEIGHT, NONE_WEIGHTED)}
ALL_COUNT = ("lightgbm", "hist")  # libraries whose leaves count rows of weight 0, too
OF_CLASS = re.compile(r" of class (\S+) of (\d+)")
NO_MARKER = "no value was taken for missing (a sparse matrix, missing=)"
VALUES = "times as far from it as what is published allows"


def assumed_away(said: dict[str, Any], assumptions: Sequence[str], broken: str) -> bool:
    """Return whether the answer assumes, in one of the readers' sentences, the contrary of what the fit did."""
    meant = {line for name in said["broken"] for line in SENTENCES.get(name, ())}
    if VALUES in broken or (said["library"] == "hist" and ", class " in broken):  # its classes follow from leaf values
        meant |= {line for name in said["broken"] for line in OF_VALUES.get(name, ())}
    spans = said["weighs"].values()
    if "weighted" in said["broken"] and (min(low for low, _ in spans) != max(high for _, high in spans)):
        meant.add(trees.ASSUMES)
    within = any(line.endswith(WITHIN) and not_within(line, said["weighs"]) for line in assumptions)
    marked = "marked" in said["broken"] and any(line.startswith(NO_MARKER) for line in assumptions)
    return within or marked or any(line.partition("; one tree of a forest")[0] in meant for line in assumptions)


def not_within(line: str, weighs: dict[str, list[float]]) -> bool:
    """Return whether some row weighed less than 1, or more than the divisor that the sentence names for its class."""
    if found := dict(OF_CLASS.findall(line)):
        return any(low < 1 or high > int(found.get(name, 1)) for name, (low, high) in weighs.items())
    divisor = max(map(int, re.findall(r" of (\d+) are multiples", line)))
    return any(low < 1 or high > divisor for low, high in weighs.values())


def outcome(file: Path | str, frame: pd.DataFrame, said: dict[str, Any], settle: bool) -> tuple[str, str]:
    """Return what became of a file, in a word, and why."""
    domain = recon.Domain.from_frame(frame, label="y")
    try:
        release = recon.load(file, domain=domain)
    except ReconError as error:
        return "refused", str(error).partition(": ")[2]
    origin = release.models[0].origin
    last = Path(str(file).partition("#")[0]).with_name("other.csv")
    if origin and any("earlier trees" in one.what for one in origin.unused):  # what is left is the last call's
        frame, said = pd.read_csv(last) if last.exists() else frame, said | {"zero": []}
    all_count = said["library"] in ALL_COUNT or trees.ZEROS_STORED in release.assumptions
    if not all_count and "#" not in str(file):
        frame = frame.drop(index=said["zero"]).reset_index(drop=True)
    kinds = "+".join(origin.counts) if origin else ""
    for found in (release, strengthened_release(release, Limits(3)) if settle else release):
        every = [false_rows(found.rows, len(frame)), *violations(found, frame)]
        for broken in filter(None, every):
            if not assumed_away(said, found.assumptions, broken):
                return "FALSE", broken[:300]
        if any(every):
            return "assumed", next(filter(None, every))[:300]
    return kinds, ""


def false_rows(rows: Any, n: int) -> str:
    """Return what is false about a number of rows, "" where nothing is."""
    low, high = rows.low, rows.high
    return "" if low <= n and (high is None or n <= high) else f"{low} to {high} rows of {n}"


def without_missing(file: Path, frame: pd.DataFrame) -> str:
    """Return whether a domain without missing values is refused, of a fit on some, or assumed; "silent": neither."""
    whole = frame.apply(lambda column: column.fillna(column.dropna().iloc[0]))
    try:
        release = recon.load(file, domain=recon.Domain.from_frame(whole, label="y"))
    except ReconError:
        return "refused"
    return "assumed" if any("without noise or missing values" in line for line in release.assumptions) else "silent"


def checked(here: Path) -> dict[str, Any]:
    """Return the line of one fit."""
    started = time.process_time()
    said = json.loads((here / "settings.json").read_text(encoding="utf-8"))
    line = {key: said[key] for key in ("library", "seed", "kinds", "failed") if key in said} | {"files": {}}
    if "failed" in said:
        return line
    frame = pd.read_csv(here / "rows.csv")
    files = sorted(p for p in here.iterdir() if p.name not in FORMS)
    for k, file in enumerate(files):
        settle = len(frame) <= 100 and k == said["seed"] % len(files)
        line["files"][file.name] = outcome(file, frame, said, settle)
        if (here / "other.csv").exists() and trainings(file) == 2:
            line["files"][f"{file.name}#2"] = outcome(f"{file}#2", pd.read_csv(here / "other.csv"), said, False)
        if frame.drop(columns="y").isna().any(axis=None):
            line.setdefault("without", {})[file.name] = without_missing(file, frame)
    return line | {"settings": said, "rows": len(frame), "seconds": round(time.process_time() - started, 2)}


def trainings(file: Path) -> int:
    """Return how many trainings a file is told to hold."""
    try:
        content = read_file(str(file)).content
    except ReconError:
        return 0
    return 1 + len(content.others) if isinstance(content, Draft) else 1


def make(python: str, folder: Path, seed: int, number: int) -> None:
    """Write a batch of fits; one that ends the process of its library is left out and the others go on."""
    while number > 0:
        subprocess.run(
            [python, str(HERE / "making.py"), str(folder), str(number), str(seed)], check=False, capture_output=True
        )
        reached = max((int(p.parent.name) for p in folder.glob("*/settings.json")), default=seed - 1)
        if reached >= seed + number - 1:
            return
        (folder / f"{reached + 1:05d}").mkdir(parents=True, exist_ok=True)
        died = {"library": "", "seed": reached + 1, "failed": "the library ended its process"}
        (folder / f"{reached + 1:05d}" / "settings.json").write_text(json.dumps(died), encoding="utf-8")
        number, seed = seed + number - reached - 2, reached + 2


def run(out: Path, python: str, first: int, number: int) -> list[dict[str, Any]]:
    """Make and check all fits that the results do not have yet; return the lines of all."""
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []
    done = {line["seed"] for line in lines}
    for start in range(first, first + number, BATCH):
        end = min(start + BATCH, first + number)
        if done.issuperset(range(start, end)):
            continue
        folder = out.with_suffix(".batch")
        shutil.rmtree(folder, ignore_errors=True)
        make(python, folder, start, end - start)
        for here in sorted(p for p in folder.iterdir() if int(p.name) not in done):
            lines.append(checked(here))
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1], default=str) + "\n")
            if any(word == "FALSE" for word, _ in lines[-1]["files"].values()):
                shutil.copytree(here, out.with_suffix(".false") / here.name, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    return [line for line in lines if first <= line["seed"] < first + number]


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of a run: fits, settings, what became of files, and what is false."""
    fits = [line for line in lines if "failed" not in line]
    libraries = sorted({line["library"] for line in fits})
    return {
        "fits": len(fits),
        "seeds": [min(line["seed"] for line in lines), max(line["seed"] for line in lines)],
        "not fitted": len(lines) - len(fits),
        "files": sum(len(line["files"]) for line in fits),
        "false": [[line["seed"], name, *found] for line in fits for name, found in line["files"].items()
                  if found[0] == "FALSE"],
        "silent about missing values": sum("silent" in line.get("without", {}).values() for line in fits),
        "settings": {name: {kind: n for kind in KINDS if (n := sum(kind in line["kinds"] for line in fits
                                                                   if line["library"] == name))}
                     for name in libraries},
        "outcomes": {name: dict(sorted(collections.Counter(
            f"{file}: {found[0]}" for line in fits if line["library"] == name for file, found in line["files"].items()
        ).items())) for name in libraries},
        "refused because": dict(collections.Counter(
            f"{line['library']}: {found[1][:110]}" for line in fits for found in line["files"].values()
            if found[0] == "refused").most_common(40)),
    }  # fmt: skip


def main() -> int:
    """Return 1 where a statement is false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--making", default=str(HERE.parents[1] / ".venv/fits/bin/python"))
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / ".venv/fits.jsonl")
    given = parser.parse_args()
    found = summary(run(given.out, given.making, given.seed, given.number))
    text = json.dumps(found, indent=1)
    given.out.with_suffix(".summary.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    return int(bool(found["false"]))


if __name__ == "__main__":
    sys.exit(main())
