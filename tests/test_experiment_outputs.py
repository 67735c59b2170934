"""Every experiment gives the same of stored points, byte for byte: its points' names, tables, figures and sentences.

`tests/experiments/NAME.json.gz` holds rows of points as they are stored: results of real runs, few of each kind, some
repeated for other data sets and seeds with figures a little off, so that every table and figure has lines.
`tests/experiments/NAME.txt.gz` is what came out of them; `python tests/test_experiment_outputs.py NAME ...` writes it
anew and prints what changed. Of results in part (one data set, one question, every other row) the hash is kept.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from recon.experiments.experiment import NAMES, experiment

FOLDER = Path(__file__).parent / "experiments"
PARTS = ("question", "part", "kind", "learner", "law", "bags", "epsilon")  # the first that results have divides them


def frame_of(name):
    """Return the stored rows as the store gives them."""
    return pd.DataFrame(json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes())))


def text_of(found):
    """Return findings as text: tables as CSV with types of columns with values, figures to twelve digits, sentences."""
    lines = []
    for table in found.tables:
        some = table.frame.loc[:, table.frame.notna().any()]
        types = ", ".join(f"{column} {kind}" for column, kind in some.dtypes.items())
        lines += [f"# table {table.name}: {table.about}", types, table.frame.to_csv()]
    for figure in found.figures:
        lines.append(f"# figure {figure.name}: {figure.about}")
        for panel in figure.panels:
            data = asdict(panel)
            lines += [f"## {panel.title}", *(repr(rounded(line)) for line in data.pop("lines")), repr(rounded(data))]
    return "\n".join([*lines, "# sentences", *found.sentences])


def rounded(data):
    """Return data with twelve digits of each number: figures are drawn to a hundredth of a point."""
    if isinstance(data, dict):
        return {key: rounded(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [rounded(value) for value in data]
    return float(f"{data:.12g}") if isinstance(data, int | float) and not isinstance(data, bool) else data


def described(of):
    """Return what an experiment is: its texts, figures, and the names under which its points are stored."""
    lines = [repr((of.name, of.about, of.source, of.version, dict(of.needs)))]
    lines += sorted(f"{name}: {dict(values)}" for name, values in of.figures.items())
    for size in ("quick", "full"):
        points = of.points(size)
        named = "\n".join(f"{point.key(of.name, of.version)} {point.cost!r}" for point in points)
        lines.append(f"{size}: {len(points)} points, {hashlib.sha256(named.encode()).hexdigest()}")
    return "\n".join(lines)


def parts_of(results):
    """Yield results in part by name: the first data set alone, the first question alone, every other row."""
    by = next(name for name in PARTS if name in results and results[name].nunique() > 1)
    for key in ("dataset", by):
        for value in results[key].dropna().unique()[:1] if results[key].nunique() > 1 else ():
            yield f"{key} {value}", results[results[key] == value]
    yield "every other row", results.iloc[::2]


def output(name):
    """Return all that an experiment gives of its stored points."""
    of, results = experiment(name), frame_of(name)
    lines = [described(of), text_of(of.findings(results))]
    for what, some in parts_of(results):
        text = text_of(of.findings(some.reset_index(drop=True)))
        lines.append(f"{what}: {hashlib.sha256(text.encode()).hexdigest()}")
    return "\n".join(lines) + "\n"


@pytest.mark.sampled(0, 3)
@pytest.mark.parametrize("name", NAMES)
def test_stored_points_give_the_same_bytes(name):
    stored = gzip.decompress((FOLDER / f"{name}.txt.gz").read_bytes()).decode()
    changed = list(difflib.unified_diff(stored.splitlines(), output(name).splitlines(), "stored", "now", n=0))
    assert not changed, "\n".join(line[:400] for line in changed[:20])


if __name__ == "__main__":
    for one in sys.argv[1:] or NAMES:
        path, new = FOLDER / f"{one}.txt.gz", output(one)
        old = gzip.decompress(path.read_bytes()).decode() if path.is_file() else ""
        print(one, *difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""), sep="\n")
        path.write_bytes(gzip.compress(new.encode(), mtime=0))
