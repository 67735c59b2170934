"""Published tables: census tracts, cross-tables in three forms, itemsets, histograms of a model, a Gram matrix.

    python tests/bench/published_tables.py [--quick | --lines BEGINNING ...] [--check]

Baseline of every line: the release file read and encoded. Files: tests/published. What a line says: harness.py.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from harness import ROOT, Job, Line, main, measured

sys.path.append(str(ROOT / "tests"))

import published_cases as cases

SECONDS = 60.0


def read(release: dict[str, Any]) -> Any:
    """Return a release as `recon` reads its file."""
    import recon

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.json"
        path.write_text(json.dumps(release), encoding="utf-8")
        return recon.load(str(path))


def read_csv(release: dict[str, Any]) -> Any:
    """Return the tables of a release as one CSV file each, as `recon` reads them."""
    import recon

    with tempfile.TemporaryDirectory() as folder:
        domain = Path(folder) / "domain.json"
        domain.write_text(json.dumps({"recon": 1, "domain": release["domain"]}), encoding="utf-8")
        for i, text in enumerate(cases.as_csv(release)):
            (Path(folder) / f"{i:02}.csv").write_text(text, encoding="utf-8")
        return recon.load(*sorted(map(str, Path(folder).glob("*.csv"))), domain=str(domain))


def counted(name: str, release: dict[str, Any], reader: Callable[..., Any] = read) -> list[Line]:
    """Count the data sets of a release."""
    import recon

    beside = measured(lambda: reader(release), repeats=1)
    work = measured(lambda got: recon.count(got, "multiset"), lambda: reader(release), repeats=1)
    return [Line(name, work, "read", beside, same={"data sets": work.found.value}, more={"status": work.found.status})]


def tract(name: str) -> list[Line]:
    """Count the data sets of a census tract."""
    return counted(f"tract {name}", cases.published(f"tract_{name}"))


def cross_tables(form: str) -> list[Line]:
    """Count the data sets of 56 three-way tables of 60 people."""
    release = cases.cross_tables("trees" if form == "trees" else "table")
    return counted(f"56 tables, {form}", release, read_csv if form == "csv" else read)


def only_data_set(least: int) -> list[Line]:
    """Find the only data set of the itemsets of so many people, and prove that it is."""
    import recon
    from recon.queries.certificates.issuing import world_certificate
    from solvers.foundation.limits import Limits

    release = cases.itemsets(least)

    def found(got: Any) -> tuple[bool, bool]:
        world = recon.reconstruct(got, limits=Limits(SECONDS))
        return bool(world.unique), world_certificate(got, world, Limits(SECONDS)) is not None

    beside = measured(lambda: read(release), repeats=1)
    work = measured(found, lambda: read(release), repeats=1)
    more = {"only": "yes" if work.found[0] else "no", "certified": "yes" if work.found[1] else "no"}
    return [Line(f"itemsets of {least} people or more", work, "read", beside, more=more)]


def few_data_sets(least: int) -> list[Line]:
    """Count the data sets of the itemsets of so many people."""
    return counted(f"itemsets of {least} people or more", cases.itemsets(least))


def unique_people(least: int, people: int) -> list[Line]:
    """Ask whether people who are unique are certain, given the itemsets of so many people."""
    import recon
    from solvers.foundation.limits import Limits

    truth = recon.reconstruct(read(cases.itemsets(2))).to_frame().value_counts()
    unique = truth[truth == 1].index.to_frame(index=False).sort_values(list(truth.index.names)).head(people)
    release = cases.itemsets(least)
    beside = measured(lambda: read(release), repeats=1)
    work = measured(lambda got: recon.certify(got, unique, limits=Limits(SECONDS)), lambda: read(release), repeats=1)
    verdicts = work.found["verdict"].value_counts().to_dict()
    more = {"certain": verdicts.get("certain", 0), "certified": int(work.found["certificate"].notna().sum())}
    name = f"itemsets of {least} people or more, {people} unique people"
    return [Line(name, work, "read", beside, more=more, less={"unknown": verdicts.get("unknown", 0)})]


def all_profiles(name: str) -> list[Line]:
    """Decide every profile without its label."""
    import recon
    from solvers.foundation.limits import Limits

    release = cases.published(name)
    attributes = release["domain"]["attributes"]
    names = [a["name"] for a in attributes]
    profiles = [dict(zip(names, v, strict=True)) for v in product(*[a["values"] for a in attributes])]
    beside = measured(lambda: read(release), repeats=1)
    work = measured(
        lambda got: recon.certify(got, profiles, limits=Limits(4 * SECONDS)), lambda: read(release), repeats=1
    )
    verdicts = work.found["verdict"].value_counts().to_dict()
    less = {"unknown": verdicts.get("unknown", 0)}
    return [Line(f"{name}, {len(profiles)} profiles", work, "read", beside, less=less, said=verdicts)]


def world_and_bounds(name: str) -> list[Line]:
    """Find a world, and bound the rows of one profile."""
    import recon
    from solvers.foundation.limits import Limits

    release = cases.published(name)

    def found(got: Any) -> Any:
        world = recon.reconstruct(got, limits=Limits(SECONDS))
        where = {"sex:Male": 1, "age": ">45", "priors": "0"}
        return len(world.to_frame()), recon.bound(got, where, limits=Limits(SECONDS))

    beside = measured(lambda: read(release), repeats=1)
    work = measured(found, lambda: read(release), repeats=1)
    rows, bound = work.found
    more = {"rows of the world": rows, "at least": int(bound.min)}
    return [Line(f"{name}, world and bounds", work, "read", beside, more=more, less={"at most": int(bound.max)})]


def additive_model(people: int, own: bool = False) -> Any:
    """Return the release of an Explainable Boosting Machine's bins of so many people, and the people.

    `own`: with the pairs that interpret chose for these 100 people, which 14 of the 30 columns are in.
    """
    import additive_files
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    import recon
    from encoders.domain.values import Categorical

    every = load_breast_cancer(as_frame=True).data
    frame = every.iloc[np.random.default_rng(0).permutation(len(every))[:people]].reset_index(drop=True)
    pairs: Any = 90
    if own:
        frame, pairs = every.sample(people, random_state=1).reset_index(drop=True), additive_files.PAIRED_OF_A_HUNDRED
    listed = tuple(Categorical(name, tuple(sorted(set(frame[name].tolist())))) for name in frame)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(additive_files.model(frame, pairs=pairs, seed=0)), encoding="utf-8")
        return recon.load(path, domain=recon.Domain(listed, None)), frame


def people_of_bins(people: int) -> list[Line]:
    """Certify the people of an Explainable Boosting Machine's bins: 30 columns, 90 pairs of them, as the defaults."""
    import recon
    from solvers.foundation.limits import Limits

    beside = measured(lambda: additive_model(people), repeats=1)
    work = measured(lambda got: recon.certify(*got, limits=Limits(SECONDS)), lambda: additive_model(people), repeats=1)
    more = {
        "certain": int((work.found.verdict == "certain").sum()),
        "certified": int(work.found.certificate.notna().sum()),
    }
    return [Line(f"EBM, {people} people, certain", work, "read", beside, more=more)]


def world_of_bins(people: int, own: bool = False) -> list[Line]:
    """Find a data set of an Explainable Boosting Machine's bins."""
    import recon
    from solvers.foundation.limits import Limits

    def found(got: Any) -> int:
        return len(recon.reconstruct(got[0], limits=Limits(SECONDS)).to_frame())

    beside = measured(lambda: additive_model(people, own), repeats=1)
    work = measured(found, lambda: additive_model(people, own), repeats=1)
    whose = "interpret's pairs, " if own else ""
    return [Line(f"EBM, {people} people, {whose}world", work, "read", beside, same={"rows": work.found})]


JOBS = {
    **{f"tract {name}": Job(tract, (name,)) for name in "abc"},
    **{f"56 tables, {form}": Job(cross_tables, (form,)) for form in ("table", "csv", "trees")},
    "itemsets of 2 people or more": Job(only_data_set, (2,)),
    "itemsets of 8 people or more": Job(few_data_sets, (8,)),
    "itemsets of 11 people or more, 20 unique people": Job(unique_people, (11, 20)),
    "EBM, 50 people, certain": Job(people_of_bins, (50,)),
    "EBM, 100 people, world": Job(world_of_bins, (100,)),
    "EBM, 100 people, interpret's pairs, world": Job(world_of_bins, (100, True)),
    "ebm14, 640 profiles": Job(all_profiles, ("ebm14",)),
    "ols14, world and bounds": Job(world_and_bounds, ("ols14",)),
}

if __name__ == "__main__":
    main("published_tables", JOBS)
