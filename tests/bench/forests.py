"""Forests and a published table at real sizes: seconds, peak memory, status, and baselines in the same process.

    python tests/bench/forests.py [whole counts shallow row_by_row continuous profiles rates census]

Without names every section is run. Needs scikit-learn and the data folder (RECON_DATA). Every line runs in a process
of its own, so that its peak memory is its own: it covers the data and the training of the forest (`before MB`, up to
there) and the work (`peak MB`). Nothing here is asserted on time; tests/ hold what must be true.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
DATA = Path(os.environ.get("RECON_DATA", ROOT.parent / "shared" / "data"))

SECONDS = 60.0  # the limit of every question that has one
ROW_BY_ROW_SECONDS = 300.0  # the limit of the row-by-row search
GIVE_UP = 1_200.0  # a line that says nothing for so long is ended
TARGETS = {"compas14": 1, "adult19": 1, "credit21": 5}  # seconds for count, uniqueness and reconstruction
Cells = list[str]


# What every line needs. Heavy imports stay inside functions: the parent process must remain small.


def peak() -> int:
    """Return the peak resident memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def timed(ask):
    """Return (seconds, result)."""
    begun = time.perf_counter()
    found = ask()
    return time.perf_counter() - begun, found


def figure(x: float) -> str:
    """Return seconds or bits with three digits that count."""
    return f"{x:.4f}" if x < 0.1 else f"{x:.2f}" if x < 100 else f"{x:,.0f}"


def size_of(name: str, n: int, trees: int, depth: int | None = None) -> str:
    """Return what a line is about."""
    return f"{name} {n:,} x {trees}" + ("" if depth is None else f" x depth {depth}")


def power(log2: float) -> str:
    """Return a number of worlds by its log2."""
    return "0" if math.isinf(log2) else f"2^{log2:,.1f}"


def how_many(answer) -> str:
    """Return a number of worlds: the number itself while it is short, else its log2, else bounds."""
    if answer.status != "exact":
        low, high = answer.bounds
        return f"{power(low)} .. {power(high)}"
    return f"{answer.value:,}" if answer.log2 < 40 else power(answer.log2)


def trained(name: str, n: int, trees: int, depth: int | None = None):
    """Return (training rows, the other rows, domain, fitted forest); the domain is read off all the rows."""
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    import recon

    frame = pd.read_csv(DATA / f"{name}.csv.gz")
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label)
    rows = frame.sample(min(n, len(frame)), random_state=0)
    rest = frame.drop(index=rows.index).reset_index(drop=True)
    rows = rows.reset_index(drop=True)
    forest = RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=0)
    return rows, rest, domain, forest.fit(rows.drop(columns=label), rows[label])


def warm() -> float:
    """Load the engines with a forest of two rows, so that imports are not timed; return the seconds it took."""
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    import recon

    frame = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "y": [0, 1, 1, 0]})
    forest = RandomForestClassifier(3, bootstrap=False, max_features=1, max_depth=1, random_state=0)
    forest.fit(frame[["a", "b"]], frame["y"])

    def ask() -> None:
        release = recon.encode(forest, recon.Domain.from_frame(frame, label="y"))
        recon.count(release, "ordered")
        recon.count(release, "multiset")
        recon.reconstruct(release)
        recon.certify(release, frame)

    return timed(ask)[0]


def rows_right(truth, guess, named=()) -> str:
    """Return how many rows of a reconstruction are right, in all attributes and in those that the forest names."""
    from recon.auditing.matching import grouped

    def right(columns) -> int:
        _, real, found = grouped(truth[:, columns], guess[:, columns])
        return int(sum(min(a, b) for a, b in zip(real.tolist(), found.tolist(), strict=True)))

    every = list(range(truth.shape[1]))
    only = f" ({right(named):,} where split)" if named and len(named) < len(every) else ""
    return f"{right(every):,} of {len(truth):,}{only}"


def asked(question: Callable[[], Any]) -> tuple[float, Any, str]:
    """Return (seconds, answer or None, why there is none)."""
    from solvers.foundation.errors import ReconError

    begun = time.perf_counter()
    try:
        found, why = question(), ""
    except ReconError as error:
        found, why = None, f"{type(error).__name__}: {error}"[:160]
    return time.perf_counter() - begun, found, why


# The sections: each function makes one line (or several) of its table.


def whole(name: str, n: int, trees: int) -> list[Cells]:
    """Give a forest of full-grown trees back whole: encode, count, and reconstruct with the proof of uniqueness."""
    import recon
    from recon.frames.selections import raw_indices

    rows, _, domain, forest = trained(name, n, trees)
    loading, before = warm(), peak()
    encode, release = timed(lambda: recon.encode(forest, domain))
    count, answer = timed(lambda: recon.count(release, "ordered", recon.Limits(seconds=SECONDS)))
    back, world = timed(lambda: recon.reconstruct(release, limits=recon.Limits(seconds=SECONDS)))
    _, datasets = timed(lambda: recon.count(release, "multiset", recon.Limits(seconds=SECONDS)))
    used = peak()
    right = rows_right(raw_indices(domain, rows), world.indices())
    line = [size_of(name, len(rows), trees), *(figure(x) for x in (loading, encode, count, back))]
    line += [f"{figure(count + back)} (target {TARGETS[name]})", how_many(answer), how_many(datasets)]
    return [[*line, str(world.unique), right, answer.status, answer.engine, str(before), str(used)]]


def counts(n: int, trees: int) -> list[Cells]:
    """Count the worlds of a forest of full-grown trees over few rows exactly."""
    import recon

    rows, _, domain, forest = trained("compas14", n, trees)
    warm()
    before = peak()
    encode, release = timed(lambda: recon.encode(forest, domain))
    seconds, answer = timed(lambda: recon.count(release, "ordered", recon.Limits(seconds=SECONDS)))
    again, datasets = timed(lambda: recon.count(release, "multiset", recon.Limits(seconds=SECONDS)))
    cold = recon.encode(forest, domain)
    alone, _ = timed(lambda: recon.count(cold, "multiset", recon.Limits(seconds=SECONDS)))
    line = [size_of("compas14", len(rows), trees), figure(encode), figure(seconds), how_many(answer)]
    line += [f"{figure(alone)} ({figure(again)} after ordered)", how_many(datasets)]
    return [[*line, answer.status, answer.engine, str(before), str(peak())]]


def shallow(name: str, n: int, trees: int, depth: int) -> list[Cells]:
    """Count the worlds of a depth-limited forest, or bound them."""
    import recon

    rows, _, domain, forest = trained(name, n, trees, depth)
    warm()
    before = peak()
    encode, release = timed(lambda: recon.encode(forest, domain))
    seconds, answer, why = asked(lambda: recon.count(release, "ordered", recon.Limits(seconds=SECONDS)))
    line = [size_of(name, len(rows), trees, depth), figure(encode), figure(seconds)]
    if answer is None:
        return [[*line, why, "", "", "", "", str(before), str(peak())]]
    low, high = answer.bounds
    wide = 100 * (high - low) / high if high > 0 else 0.0
    line += [answer.status, f"{low:,.1f}", f"{high:,.1f}", f"{wide:.2f} %", answer.engine]
    return [[*line, str(before), str(peak())]]


def one_hot_groups(domain) -> list[tuple[list[str], bool]]:
    """Return the groups of binary columns that view one attribute, and whether exactly one of them is 1."""
    groups: dict[str, list[str]] = {}
    for name, view in domain.columns.items():
        assert view.test.values is not None, f"{name} is not one-hot"
        assert len(view.test.values) == 1, f"{name} is not one-hot"
        groups.setdefault(view.attribute, []).append(name)
    return [(names, len(names) == domain.all[domain.place[a]].span[1]) for a, names in groups.items()]


def row_by_row(n: int, trees: int, limit: float) -> list[Cells]:
    """Race the row-by-row formulation of the literature, both from the fitted forest to a world, in one process."""
    import pandas as pd
    from row_by_row import reconstruct

    import recon
    from recon.frames.selections import raw_indices

    rows, _, domain, forest = trained("compas14", n, trees)
    columns, label = list(rows.columns[:-1]), rows.columns[-1]
    warm()
    before, truth = peak(), raw_indices(domain, rows)
    ours, world = timed(lambda: recon.reconstruct(recon.encode(forest, domain)))
    middle = peak()
    groups, named = one_hot_groups(domain), named_attributes(recon.encode(forest, domain))
    found, seconds, status = reconstruct(forest, columns, groups, len(rows), limit)
    right = "none found"
    if found is not None:
        guess = pd.DataFrame(found, columns=[*columns, label])
        guess[label] = forest.classes_[guess[label]]
        right = rows_right(truth, raw_indices(domain, guess), named)
        again = one_world(recon.encode(forest, domain), guess)
        right += "" if again else " (NO WORLD: the two formulations differ)"
    ratio = f"{'' if found is not None else '> '}{seconds / ours:,.0f}x"
    line = [size_of("compas14", len(rows), trees), figure(ours), rows_right(truth, world.indices(), named)]
    line += [str(world.unique), figure(seconds), status, right, ratio]
    return [[*line, str(before), str(middle), str(peak())]]


def one_world(release, frame) -> bool:
    """Tell whether rows are a possible world of a release."""
    from recon.frames.true_rows import violations

    return not violations(release, frame)


def decimal_domain(frame, label: str):
    """Return a declared domain: each attribute the decimal grid from its least to its greatest value.

    The grid has as many decimals as the finest value of the column.
    """
    import recon
    from encoders.domain.values import Grid, Listed

    attributes = []
    for name in frame.columns.drop(label):
        values = frame[name].tolist()
        decimals = max(len(f"{v:.10f}".rstrip("0").partition(".")[2]) for v in values)
        attributes.append(Grid.between(name, min(values), max(values), float(f"1e-{decimals}")))
    return recon.Domain(tuple(attributes), Listed(label, tuple(sorted(set(frame[label].tolist())))))


def continuous(trees: int) -> list[Cells]:
    """Bound what a forest over continuous features gives away: breast cancer, 569 rows, 30 features."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    import recon

    frame, label = load_breast_cancer(as_frame=True).frame, "target"
    domain = decimal_domain(frame, label)
    forest = RandomForestClassifier(trees, bootstrap=False, random_state=0)
    forest.fit(frame.drop(columns=label), frame[label])
    real = frame.sample(100, random_state=0).reset_index(drop=True)
    changed, rng = real.copy(), np.random.default_rng(0)
    for i in range(len(changed)):
        k = int(rng.integers(len(domain.attributes)))
        grid = domain.attributes[k]
        while (drawn := grid.value(int(rng.integers(grid.count)))) == real.loc[i, grid.name]:
            pass
        changed.loc[i, grid.name] = drawn
    warm()
    before = peak()
    encode, release, why = asked(lambda: recon.encode(forest, domain))
    line = [f"breast cancer 569 x {trees}", figure(encode)]
    if release is None:
        return [[*line, "", why, *[""] * 6, str(before), str(peak())]]
    seconds, answer, why = asked(lambda: recon.count(release, "ordered", recon.Limits(seconds=SECONDS)))
    line.append(figure(seconds))
    if answer is None:
        line += [why, "", "", ""]
    else:
        line += [answer.status, *(f"{b:,.1f}" for b in answer.bounds), answer.engine]
    for some in (real, changed):
        seconds, verdicts, why = certified(release, some)
        line.append(f"{verdicts or why} in {figure(seconds)} s")
    back, world, why = asked(lambda: recon.reconstruct(release, limits=recon.Limits(seconds=SECONDS)))
    line.append(f"unique {world.unique} in {figure(back)} s" if world is not None else f"{why} in {figure(back)} s")
    return [[*line, str(before), str(peak())]]


def certified(release, some) -> tuple[float, str, str]:
    """Return (seconds, verdict counts in words, why there are none)."""
    import recon

    seconds, found, why = asked(
        lambda: recon.certify(release, some, certificates=False, limits=recon.Limits(seconds=SECONDS))
    )
    if found is None:
        return seconds, "", why
    told = found["verdict"].value_counts()
    names = ("certain", "possible", "impossible", "unknown")
    return seconds, ", ".join(f"{told[v]} {v}" for v in names if v in told), ""


def profiles(name: str, n: int, trees: int, depth: int | None, each: int) -> list[Cells]:
    """Certify true rows, random rows, and both with about half of their values left out."""
    import numpy as np
    import pandas as pd

    import recon
    from recon.frames.selections import raw_indices
    from recon.frames.world import values_of

    rows, _, domain, forest = trained(name, n, trees, depth)
    rng = np.random.default_rng(0)
    real = raw_indices(domain, rows.sample(each, random_state=1))
    made = np.stack([rng.integers(a.span[1], size=each) for a in domain.all], axis=1)
    both = np.concatenate([real, made])
    full = pd.DataFrame({a.name: values_of(a, both[:, k]) for k, a in enumerate(domain.all)})
    partial = full.astype(object).mask(rng.random(full.shape) < 0.5, None)
    warm()
    before = peak()
    lines = []
    for what, some in (
        ("true rows", full.iloc[:each]),
        ("random rows", full.iloc[each:]),
        ("both, complete", full),
        ("both, half of the values", partial),
    ):
        encode, release = timed(lambda: recon.encode(forest, domain))
        seconds, verdicts, why = certified(release, some)
        about = size_of(name, len(rows), trees, depth)
        lines.append([about, f"{len(some):,} {what}", figure(encode), figure(seconds), verdicts or why])
        lines[-1] += [str(before), str(peak())]
    return lines


def rates(name: str, n: int, trees: int) -> list[Cells]:
    """Compare a reconstruction with the truth, beside three baselines; sample-unique rows given back and proved.

    A column that no tree splits on says nothing of the rows, and is drawn at random. Where there are such columns,
    a second line compares the others alone.
    """
    import recon
    from recon.auditing.matching import against_baselines
    from recon.frames.selections import raw_indices

    rows, rest, domain, forest = trained(name, n, trees)
    people = rest if len(rest) >= len(rows) else None
    warm()
    before = peak()
    release = recon.encode(forest, domain)
    limits = recon.Limits(seconds=2 * SECONDS)
    seconds, report, why = asked(
        lambda: recon.audit(release, truth=rows, population=people, limits=limits, convention="ordered")
    )
    line = [size_of(name, len(rows), trees), figure(seconds)]
    truth = None if report is None else report.findings.truth
    if truth is None or truth.comparison is None:
        return [[*line, why or truth.note, *[""] * 8, str(before), str(peak())]]
    drawn = "other rows" if people is not None else "halves"
    proved = "not decided" if truth.proved is None else f"{truth.proved:,}"
    proved += (
        "" if truth.proved is None else f" ({100 * truth.proved / max(1, truth.comparison.match.unique_rows):.1f} %)"
    )
    line += [str(truth.is_world), *shares(truth.comparison), drawn, proved]
    lines = [[*line, str(before), str(peak())]]
    named = named_attributes(release)
    if len(named) < len(domain.all):
        guess = recon.reconstruct(release).indices()
        totals = [release.cut.solver.attributes[k].total for k in named]
        others = None if people is None else raw_indices(domain, people)[:, named]
        compared = against_baselines(raw_indices(domain, rows)[:, named], guess[:, named], totals, population=others)
        left_out = len(domain.all) - len(named)
        lines.append([f"- but {left_out} unsplit", "", "", *shares(compared), drawn, "", "", ""])
    return lines


def named_attributes(release) -> list[int]:
    """Return the attributes that a tree splits on, and the label."""
    return sorted(release.statements.mentioned() | {len(release.domain.all) - 1})


def shares(compared) -> Cells:
    """Return how much a reconstruction and its baselines have right, and how many sample-unique rows came back."""
    match = compared.match
    every = [(match.share_right, match.cells_right)]
    every += [(b.share_right, b.cells_right) for b in compared.baselines]
    told = [f"{100 * r:.1f} %" + ("" if c is None else f" ({100 * c:.1f} %)") for r, c in every]
    back = f"{match.unique_right:,} ({100 * match.unique_right / max(1, match.unique_rows):.1f} %)"
    return [*told, f"{match.unique_rows:,}", back]


def census(drop: str) -> list[Cells]:
    """Count and list the sets of people behind the census block, from the file to the rows."""
    import recon

    source = json.loads((ROOT / "examples" / "releases" / "census_block.json").read_text(encoding="utf-8"))
    for model in source["models"]:
        model["statements"] = [s for s in model["statements"] if not drop or drop not in s["name"]]
    warm()
    before = peak()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census_block.json"
        path.write_text(json.dumps(source), encoding="utf-8")
        loading, release = timed(lambda: recon.load(path))
    seconds, answer = timed(lambda: recon.count(release, "multiset", recon.Limits(seconds=SECONDS)))
    listing, found = timed(lambda: list(recon.worlds(release, limits=recon.Limits(seconds=SECONDS))))
    line = [f"without {drop}" if drop else "as published", figure(loading), figure(seconds), figure(listing)]
    line += [how_many(answer), answer.status, answer.engine]
    people = [" ".join(sorted(map(person, w.to_frame().to_dict("records")), key=lambda p: int(p[:-3]))) for w in found]
    used = [str(before), str(peak())]
    return [[*line, people[0] if people else "none", *used], *([""] * 7 + [p, "", ""] for p in people[1:])]


def person(row: dict[str, Any]) -> str:
    """Return a person as the paper writes it: 8FBS is eight years old, female, black, single."""
    return str(row["age"]) + "".join(row[name][0].upper() for name in ("sex", "race", "status"))


# Running and printing.


@dataclass(frozen=True)
class Section:
    """A table: what it shows, its columns ("name:least width; ..."), what makes a line, and the sizes.

    `small` sizes are for trying the script out.
    """

    title: str
    columns: str
    line: Callable[..., list[Cells]]
    sizes: tuple[tuple[Any, ...], ...]
    small: tuple[tuple[Any, ...], ...]


SECTIONS = {
    "whole": Section(
        "Forests of full-grown trees given back whole (`both`: count and reconstruction, after the forest is read)",
        "forest:22; imports s:9; encode s:8; count s:7; back s:7; both s:17; ordered:11; datasets:8; unique:6; "
        "rows right:16; status:6; engine:9; before MB:9; peak MB:7",
        whole,
        (("compas14", 7_000, 100), ("adult19", 48_842, 100), ("credit21", 5_000, 100)),
        (("compas14", 500, 10), ("adult19", 1_000, 20), ("credit21", 200, 30)),
    ),
    "counts": Section(
        "Exact counts on few rows, full-grown trees",
        "forest:17; encode s:8; ordered s:9; ordered:9; multiset s:29; datasets:15; status:6; engine:9; "
        "before MB:9; peak MB:7",
        counts,
        ((50, 3), (50, 5), (50, 10), (50, 20), (100, 20), (100, 50)),
        ((20, 3), (30, 10)),
    ),
    "shallow": Section(
        f"Depth-limited forests, ordered, limit {SECONDS:.0f} s (width in % of the upper bound)",
        "forest:28; encode s:8; count s:7; status:6; log2 from:9; log2 to:9; width:7; engine:9; before MB:9; peak MB:7",
        shallow,
        (
            ("compas14", 7_000, 100, 5),
            ("compas27", 7_000, 100, 5),
            ("adult19", 1_000, 50, 5),
            ("adult19", 48_842, 20, 6),
            ("compas14", 500, 20, 3),
            ("compas14", 7_000, 100, 3),
        ),
        (("compas14", 100, 3, 2), ("adult19", 100, 5, 5)),
    ),
    "row_by_row": Section(
        f"To a world: recon (encode, reconstruct), and row by row in CP-SAT on two workers, {ROW_BY_ROW_SECONDS:.0f} s",
        "forest:17; recon s:7; rows right:25; unique:6; row by row s:12; status:8; rows right:25; ratio:7; "
        "before MB:9; recon MB:8; peak MB:7",
        row_by_row,
        ((100, 20, ROW_BY_ROW_SECONDS), (100, 50, ROW_BY_ROW_SECONDS)),
        ((20, 5, 20.0), (50, 5, 1.0)),
    ),
    "continuous": Section(
        f"Continuous features on declared decimal grids, full-grown trees, limit {SECONDS:.0f} s per question",
        "forest:23; encode s:8; count s:7; status:6; log2 from:9; log2 to:9; engine:8; 100 true rows:26; "
        "100 rows, one value changed:38; reconstruct:22; before MB:9; peak MB:7",
        continuous,
        ((10,), (30,), (100,)),
        ((3,),),
    ),
    "profiles": Section(
        f"Profiles certified against a forest, limit {SECONDS:.0f} s (each time on a release encoded anew)",
        "forest:28; profiles:31; encode s:8; certify s:9; verdicts:45; before MB:9; peak MB:7",
        profiles,
        (("compas14", 7_000, 100, None, 500), ("compas14", 7_000, 100, 5, 500)),
        (("compas14", 300, 10, None, 20), ("compas14", 200, 5, 3, 20)),
    ),
    "rates": Section(
        "Rows right (in brackets: values right under a minimum-cost matching) beside what needs no release",
        "forest:20; audit s:7; is world:8; given back:17; uniform rows:15; marginals:15; fresh sample:15; "
        "unique rows:11; of them back:12; drawn from:10; proved:12; before MB:9; peak MB:7",
        rates,
        (
            ("compas14", 100, 10),
            ("compas14", 100, 100),
            ("compas14", 1_000, 100),
            ("compas14", 3_500, 100),
            ("adult19", 1_000, 50),
            ("credit21", 1_000, 50),
        ),
        (("compas14", 50, 10), ("adult19", 100, 10)),
    ),
    "census": Section(
        "The census block of seven people (Garfinkel, Abowd, Martindale, CACM 62(3), 2019)",
        "figures:20; load s:6; count s:7; worlds s:8; sets:4; status:6; engine:6; people:40; before MB:9; peak MB:7",
        census,
        (("",), ("black female",)),
        (("",), ("black female",)),
    ),
}


def apart(to: Any, line: Callable[..., list[Cells]], size: tuple[Any, ...]) -> None:
    """Send the lines of one size, or what went wrong, from a process of its own."""
    try:
        to.send(line(*size))
    except Exception as error:  # a benchmark goes on with the next line
        to.send(f"{type(error).__name__}: {error}")


def in_a_process(section: Section, size: tuple[Any, ...]) -> list[Cells]:
    """Return the lines of one size, run in a fresh process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=apart, args=(theirs, section.line, size))
    process.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(GIVE_UP) else f"nothing after {GIVE_UP:,.0f} s"
    except EOFError:
        process.join()
        found = f"the process died (exit code {process.exitcode})"
    process.join(5)
    process.kill()
    process.join()
    return [[" ".join(map(str, size)), found]] if isinstance(found, str) else found


def shown(cells: Iterable[str], widths: Iterable[int]) -> str:
    """Return a line of a Markdown table, padded."""
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def print_sections(sections: dict[str, Section], arguments: list[str]) -> None:
    """Print the tables asked for."""
    small = "--small" in arguments
    chosen = [a for a in arguments if not a.startswith("--")] or list(sections)
    if unknown := [a for a in chosen if a not in sections]:
        sys.exit(f"there is no section '{unknown[0]}': choose from {', '.join(sections)}")
    for name in chosen:
        section = sections[name]
        columns = [column.rpartition(":") for column in section.columns.split("; ")]
        names, widths = [c[0] for c in columns], [int(c[2]) for c in columns]
        print(f"\n{name}: {section.title}\n\n{shown(names, widths)}\n{shown(['-' * w for w in widths], widths)}")
        for size in section.small if small else section.sizes:
            sys.stdout.flush()
            for cells in in_a_process(section, size):
                print(shown([*cells, *[""] * (len(widths) - len(cells))], widths), flush=True)


if __name__ == "__main__":
    print_sections(SECTIONS, sys.argv[1:])
