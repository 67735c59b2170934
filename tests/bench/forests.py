"""Forests and a published table at real sizes, beside the fit of the forest, a row-by-row formulation, and guesses.

    python tests/bench/forests.py [--quick | --lines BEGINNING ...] [--check]

Jobs begin with whole, counts, shallow, row_by_row, continuous, profiles, rates, census. Needs scikit-learn and the data
folder (RECON_DATA). What a line says: harness.py; memory before the work covers the data and the forest.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import DATA, ROOT, Job, Line, main, measured
from records import Spent

SECONDS = 60.0  # the limit of every question that has one
ROW_BY_ROW_SECONDS = 300.0  # the limit of the row-by-row search
FIT = "fit of the forest"
Asked = tuple[Spent, str]  # found: the answer, None where there is none; why there is none


# What jobs need. Heavy imports stay inside functions: the parent process must remain small.


def size_of(name: str, n: int, trees: int, depth: int | None = None) -> str:
    """Return what a line is about."""
    return f"{name} {n:,} x {trees}" + ("" if depth is None else f" x depth {depth}")


def how_many(answer: Any) -> str:
    """Return a number of worlds: the number itself while it is short, else its log2, else bounds."""
    if answer.status != "exact":
        return " .. ".join("0" if math.isinf(b) else f"2^{b:,.1f}" for b in answer.bounds)
    return f"{answer.value:,}" if answer.log2 < 40 else f"2^{answer.log2:,.1f}"


def trained(name: str, n: int, trees: int, depth: int | None = None) -> tuple[Any, Any, Any, Spent]:
    """Return (training rows, the other rows, domain, the fit of a forest); the domain is read off all the rows."""
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
    fit = measured(lambda: forest.fit(rows.drop(columns=label), rows[label]))
    warm()
    return rows, rest, domain, fit


def warm() -> None:
    """Load the engines with a forest of two rows, so that imports are not timed."""
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    import recon

    frame = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "y": [0, 1, 1, 0]})
    forest = RandomForestClassifier(3, bootstrap=False, max_features=1, max_depth=1, random_state=0)
    release = recon.encode(forest.fit(frame[["a", "b"]], frame["y"]), recon.Domain.from_frame(frame, label="y"))
    recon.count(release, "ordered")
    recon.count(release, "multiset")
    recon.reconstruct(release)
    recon.certify(release, frame)


def rows_right(truth: Any, guess: Any, columns: list[int] | None = None) -> int:
    """Return how many rows of a reconstruction are right, in all attributes or in some."""
    from recon.release.auditing.matching import group_rows

    some = list(range(truth.shape[1])) if columns is None else columns
    _, real, found = group_rows(truth[:, some], guess[:, some])
    return int(sum(min(a, b) for a, b in zip(real.tolist(), found.tolist(), strict=True)))


def asked(question: Callable[..., Any], prepare: Callable[[], Any] | None = None) -> Asked:
    """Measure a question that may end without an answer."""
    from solvers.foundation.errors import ReconError

    why = ""

    def ask(*given: Any) -> Any:
        nonlocal why
        try:
            return question(*given)
        except ReconError as error:
            why = f"{type(error).__name__}: {error}"[:160]
            return None

    return measured(ask, prepare), why


def limits() -> Any:
    """Return the limits of a question."""
    import recon

    return recon.Limits(seconds=SECONDS)


# The jobs.


def whole(job: str, name: str, n: int, trees: int) -> list[Line]:
    """Give a forest of full-grown trees back whole: encode, count, and reconstruct with the proof of uniqueness."""
    import recon
    from recon.readers.frames.selections import raw_indices

    rows, _, domain, fit = trained(name, n, trees)
    encode = measured(lambda: recon.encode(fit.found, domain))

    def both(release: Any) -> Any:
        return recon.count(release, "ordered", limits()), recon.reconstruct(release, limits=limits())

    back = measured(both, lambda: recon.encode(fit.found, domain))
    answer, world = back.found
    datasets = recon.count(encode.found, "multiset", limits())
    right = {"rows right": rows_right(raw_indices(domain, rows), world.indices()), "status": answer.status}
    said = {"engine": answer.engine, "rows": len(rows), "ordered": how_many(answer)}
    same = {"datasets": how_many(datasets), "the only one": world.unique}
    return [
        Line(f"{job}: encode", encode, FIT, fit),
        Line(f"{job}: count, reconstruct, uniqueness", back, FIT, fit, more=right, same=same, said=said),
    ]


def counts(job: str, n: int, trees: int) -> list[Line]:
    """Count the worlds of a forest of full-grown trees over few rows exactly."""
    import recon

    _, _, domain, fit = trained("compas14", n, trees)
    out = []
    for convention in ("ordered", "multiset"):
        work = measured(
            lambda release, convention=convention: recon.count(release, convention, limits()),
            lambda: recon.encode(fit.found, domain),
        )
        facts = {"more": {"status": work.found.status}, "same": {"worlds": how_many(work.found)}}
        out.append(Line(f"{job}: {convention}", work, FIT, fit, **facts, said={"engine": work.found.engine}))
    return out


def shallow(job: str, name: str, n: int, trees: int, depth: int) -> list[Line]:
    """Count the worlds of a depth-limited forest, or bound them."""
    import recon

    _, _, domain, fit = trained(name, n, trees, depth)
    work, why = asked(
        lambda release: recon.count(release, "ordered", limits()), lambda: recon.encode(fit.found, domain)
    )
    if work.found is None:
        return [Line(job, work, FIT, fit, more={"status": "unknown"}, said={"why": why})]
    low, high = work.found.bounds
    width = {"width %": round(100 * (high - low) / high, 2) if high > 0 else 0.0}
    said = {"log2 from": round(low, 1), "to": round(high, 1), "engine": work.found.engine}
    return [Line(job, work, FIT, fit, more={"status": work.found.status}, less=width, said=said)]


def one_hot_groups(domain: Any) -> list[tuple[list[str], bool]]:
    """Return the groups of binary columns that view one attribute, and whether exactly one of them is 1."""
    groups: dict[str, list[str]] = {}
    for name, view in domain.columns.items():
        assert view.test.values is not None, f"{name} is not one-hot"
        assert len(view.test.values) == 1, f"{name} is not one-hot"
        groups.setdefault(view.attribute, []).append(name)
    return [(names, len(names) == domain.all[domain.place[a]].span[1]) for a, names in groups.items()]


def row_by_row(job: str, n: int, trees: int) -> list[Line]:
    """Race the row-by-row formulation of the literature, both from the fitted forest to a world."""
    import pandas as pd
    from row_by_row import reconstruct

    import recon
    from recon.readers.frames.selections import raw_indices

    rows, _, domain, fit = trained("compas14", n, trees)
    forest, truth = fit.found, raw_indices(domain, rows)
    columns, label = list(rows.columns[:-1]), rows.columns[-1]
    work = measured(lambda: recon.reconstruct(recon.encode(forest, domain)))
    groups, release = one_hot_groups(domain), recon.encode(forest, domain)
    beside = measured(lambda: reconstruct(forest, columns, groups, len(rows), ROW_BY_ROW_SECONDS))
    found, _, status = beside.found
    said: dict[str, Any] = {"row by row": status}
    if found is not None:
        guess = pd.DataFrame(found, columns=[*columns, label])
        guess[label] = forest.classes_[guess[label]]
        said["its rows right"] = rows_right(truth, raw_indices(domain, guess), named_attributes(release))
        assert one_world(release, guess), "the two formulations differ"
    more = {"rows right": rows_right(truth, work.found.indices(), named_attributes(release))}
    same = {"the only one": work.found.unique}
    return [Line(job, work, "row by row (CP-SAT, 2 workers)", beside, more=more, same=same, said=said)]


def one_world(release: Any, frame: Any) -> bool:
    """Tell whether rows are a possible world of a release."""
    from recon.readers.frames.world import violations

    return not violations(release, frame)


def decimal_domain(frame: Any, label: str) -> Any:
    """Return a declared domain: each attribute the decimal grid from its least to its greatest value.

    The grid has as many decimals as the finest value of the column.
    """
    import recon
    from encoders.domain.values import Categorical, Grid

    attributes = []
    for name in frame.columns.drop(label):
        values = frame[name].tolist()
        decimals = max(len(f"{v:.10f}".rstrip("0").partition(".")[2]) for v in values)
        attributes.append(Grid.between(name, min(values), max(values), float(f"1e-{decimals}")))
    return recon.Domain(tuple(attributes), Categorical(label, tuple(sorted(set(frame[label].tolist())))))


def breast_cancer(trees: int) -> tuple[Any, Spent, Any, Any]:
    """Return (domain, the fit of a forest on breast cancer, 100 true rows, the same with one value changed)."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    frame, label = load_breast_cancer(as_frame=True).frame, "target"
    domain = decimal_domain(frame, label)
    forest = RandomForestClassifier(trees, bootstrap=False, random_state=0)
    fit = measured(lambda: forest.fit(frame.drop(columns=label), frame[label]))
    real = frame.sample(100, random_state=0).reset_index(drop=True)
    changed, rng = real.copy(), np.random.default_rng(0)
    for i in range(len(changed)):
        grid = domain.attributes[int(rng.integers(len(domain.attributes)))]
        while (drawn := grid.value(int(rng.integers(grid.count)))) == real.loc[i, grid.name]:
            pass
        changed.loc[i, grid.name] = drawn
    warm()
    return domain, fit, real, changed


def continuous(job: str, trees: int) -> list[Line]:
    """Bound what a forest over continuous features gives away: breast cancer, 569 rows, 30 features."""
    import recon

    domain, fit, real, changed = breast_cancer(trees)
    release = recon.encode(fit.found, domain)
    count, why = asked(lambda: recon.count(release, "ordered", limits()))
    said = {"why": why} if count.found is None else {"log2 at most": round(count.found.bounds[1], 1)}
    status = {"status": "unknown" if count.found is None else count.found.status}
    out = [Line(f"{job}: count", count, FIT, fit, more=status, said=said)]
    for what, some in (("true rows", real), ("one value changed", changed)):
        work = measured(lambda some=some: recon.certify(release, some, certificates=False, limits=limits()), repeats=1)
        told = tally(work.found)
        out.append(
            Line(f"{job}: 100 {what}", work, FIT, fit, more={"impossible": told.get("impossible", 0)}, said=told)
        )
    back, why = asked(lambda: recon.reconstruct(release, limits=limits()))
    world = {"world": "no" if why else "yes"}
    return [*out, Line(f"{job}: one world", back, FIT, fit, more=world, said={"why": why} if why else {})]


def tally(found: Any) -> dict[str, int]:
    """Return how many verdicts of each kind there are."""
    return {str(k): int(v) for k, v in sorted(found["verdict"].value_counts().items())}


def profiles(job: str, name: str, n: int, trees: int, depth: int | None, each: int) -> list[Line]:
    """Certify true rows and random rows, complete and with about half of their values left out."""
    import numpy as np
    import pandas as pd

    import recon
    from recon.readers.frames.selections import raw_indices
    from recon.readers.frames.world import _values_of

    rows, _, domain, fit = trained(name, n, trees, depth)
    forest, x = fit.found, rows.drop(columns=rows.columns[-1])
    rng = np.random.default_rng(0)
    real = raw_indices(domain, rows.sample(each, random_state=1))
    made = np.stack([rng.integers(a.span[1], size=each) for a in domain.all], axis=1)
    both = np.concatenate([real, made])
    full = pd.DataFrame({a.name: _values_of(a, both[:, k]) for k, a in enumerate(domain.all)})
    partial = full.astype(object).mask(rng.random(full.shape) < 0.5, None)
    beside = measured(lambda: forest.apply(x.head(2 * each)))
    out = []
    for what, some in (("complete", full), ("half of the values", partial)):
        work = measured(
            lambda release, some=some: recon.certify(release, some, certificates=False, limits=limits()),
            lambda: recon.encode(forest, domain),
        )
        baseline = "forest.apply of as many rows"
        out.append(Line(f"{job}: {len(some):,} {what}", work, baseline, beside, same=tally(work.found)))
    return out


def rates(job: str, name: str, n: int, trees: int) -> list[Line]:
    """Compare a reconstruction with the truth, beside three baselines; sample-unique rows given back and proved.

    A column that no tree splits on says nothing of the rows, and is drawn at random. Where there are such columns,
    "split" compares the others alone.
    """
    from baselines import against_baselines

    import recon
    from recon.readers.frames.selections import raw_indices

    rows, rest, domain, fit = trained(name, n, trees)
    people = rest if len(rest) >= len(rows) else None
    release = recon.encode(fit.found, domain)
    within = recon.Limits(seconds=2 * SECONDS)
    work = measured(
        lambda: recon.audit(release, truth=rows, population=people, limits=within, convention="ordered"), repeats=1
    )
    truth = work.found.findings.truth
    more, said = shares(truth.comparison)
    more |= {} if truth.proved is None else {"proved": truth.proved}
    named = named_attributes(release)
    if len(named) < len(domain.all):
        guess = recon.reconstruct(release).indices()
        totals = [release.cut.solver.attributes[k].total for k in named]
        others = None if people is None else raw_indices(domain, people)[:, named]
        compared = against_baselines(raw_indices(domain, rows)[:, named], guess[:, named], totals, population=others)
        own, others_said = shares(compared)
        more |= {f"split: {k}": v for k, v in own.items()}
        said |= {f"split: {k}": v for k, v in others_said.items()}
    return [Line(job, work, FIT, fit, more=more, same={"is a world": truth.is_world}, said=said)]


def named_attributes(release: Any) -> list[int]:
    """Return the attributes that a tree splits on, and the label."""
    return sorted(release.statements.mentioned() | {len(release.domain.all) - 1})


def shares(compared: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a reconstruction has right (rows, values in %, sample-unique rows), and what baselines have."""
    match = compared.match
    more = {"rows right": match.rows_right, "unique rows back": match.unique_right}
    more |= {} if match.cells_right is None else {"values right %": round(100 * match.cells_right, 1)}
    said = {"unique rows": match.unique_rows}
    for one in compared.baselines:
        values = "" if one.cells_right is None else f" ({100 * one.cells_right:.1f} %)"
        said[one.name] = f"{100 * one.share_right:.1f} %{values}"
    return more, said


def census(job: str, drop: str) -> list[Line]:
    """Count and list the sets of people behind the census block (Garfinkel, Abowd, Martindale, CACM 62(3), 2019).

    The baseline finds one of them: the exported program, solved by CP-SAT.
    """
    from ortools.sat.python import cp_model

    import recon

    source = json.loads((ROOT / "examples" / "releases" / "census_block.json").read_text(encoding="utf-8"))
    for model in source["models"]:
        model["statements"] = [s for s in model["statements"] if not drop or drop not in s["name"]]
    warm()
    with tempfile.TemporaryDirectory() as folder:
        path, program = Path(folder) / "census_block.json", Path(folder) / "program.pbtxt"
        path.write_text(json.dumps(source), encoding="utf-8")
        load = lambda: recon.load(path)  # noqa: E731
        recon.export(load(), "cpsat", str(program))
        model = cp_model.CpModel()
        assert model.proto.parse_text_format(program.read_text(encoding="utf-8"))

        def solve() -> Any:
            solver = cp_model.CpSolver()
            solver.parameters.num_workers = 1
            return solver.solve(model)

        beside = measured(solve)
        assert beside.found in {cp_model.OPTIMAL, cp_model.FEASIBLE}
        count = measured(lambda release: recon.count(release, "multiset", limits()), load)
        listed = measured(lambda release: list(recon.worlds(release, limits=limits())), load)
    baseline = "one world by CP-SAT"
    sets = [map(person, world.to_frame().to_dict("records")) for world in listed.found]
    people = [" ".join(sorted(each, key=lambda p: int(p[:-3]))) for each in sets]
    same = {"sets": how_many(count.found), "status": count.found.status}
    return [
        Line(f"{job}: count", count, baseline, beside, same=same, said={"engine": count.found.engine}),
        Line(f"{job}: list", listed, baseline, beside, same={"people": people}),
    ]


def person(row: dict[str, Any]) -> str:
    """Return a person as the paper writes it: 8FBS is eight years old, female, black, single."""
    return str(row["age"]) + "".join(row[name][0].upper() for name in ("sex", "race", "status"))


LARGE = (("compas14", 7_000, 100), ("adult19", 48_842, 100), ("credit21", 5_000, 100))
FEW = ((50, 3), (50, 5), (50, 10), (50, 20), (100, 20), (100, 50))
SHALLOW = (
    ("compas14", 7_000, 100, 5),
    ("compas14", 500, 20, 3),
    ("compas27", 7_000, 100, 5),
    ("compas14", 7_000, 100, 3),
    ("adult19", 1_000, 50, 5),
    ("adult19", 48_842, 20, 6),
)
RATES = (
    ("compas14", 100, 10),
    ("compas14", 100, 100),
    ("compas14", 1_000, 100),
    ("compas14", 3_500, 100),
    ("adult19", 1_000, 50),
    ("credit21", 1_000, 50),
)


def jobs() -> dict[str, Job]:
    """Return the jobs by their names."""
    out: dict[str, Job] = {}

    def add(kind: str, run: Callable[..., list[Line]], about: str, arguments: tuple[Any, ...], quick: bool = True):
        name = f"{kind} {about}"
        out[name] = Job(run, (name, *arguments), quick)

    for each in LARGE:
        add("whole", whole, size_of(*each), each)
    for few in FEW:
        add("counts", counts, size_of("compas14", *few), few)
    for k, deep in enumerate(SHALLOW):
        add("shallow", shallow, size_of(*deep), deep, quick=k < 2)
    add("row_by_row", row_by_row, size_of("compas14", 100, 20), (100, 20))
    add("row_by_row", row_by_row, size_of("compas14", 100, 50), (100, 50), quick=False)
    for trees in (10, 30, 100):
        add("continuous", continuous, f"breast cancer 569 x {trees}", (trees,), quick=False)
    for depth in (None, 5):
        add("profiles", profiles, size_of("compas14", 7_000, 100, depth), ("compas14", 7_000, 100, depth, 500))
    for k, rate in enumerate(RATES):
        add("rates", rates, size_of(*rate), rate, quick=k < 3)
    for drop in ("", "black female"):
        add("census", census, f"without {drop}" if drop else "as published", (drop,))
    return out


JOBS = jobs()

if __name__ == "__main__":
    main("forests", JOBS)
