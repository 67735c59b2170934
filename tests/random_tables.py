"""Random tiny published tables against brute force: `python tests/random_tables.py [NUMBER] [SEED]` (5,000 of them).

Cross-tables that overlap, with zeros, totals equal to the sum of their listed parts, combinations left out (in
`complete` tables: empty), and figures that contradict each other. Of every table: its number of data sets (`ordered`
and `multiset`), the least and most rows of profiles, that no bound is worse than a published figure around or inside a
profile, what its cross-tables say as partitions and prove of rows distinguished by one, and certificates, which the
second checker (`plain_checker`) must accept where they are true of every data set, and refuse where the claim is not.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import oracle
import plain_checker
from extras import encoded, with_seal

import recon
from recon.queries.certificates.issuing import contradiction_certificate, world_certificate
from recon.queries.certificates.verifying import verify
from recon.readers.frames.world import parts_of
from solvers.engines import chain, rows
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError
from solvers.statements.row_problem import _cross_tables, anchored

Figures = list[dict[str, Any]]


def random_table(rng: random.Random) -> tuple[dict, list[tuple]]:
    """Return a release of a few cross-tables about a few random people, and these."""
    sizes = [rng.choice((1, 2, 2, 3)) for _ in range(rng.randint(2, 3))]
    domain = [{"name": f"a{k}", "values": list(range(size))} for k, size in enumerate(sizes)]
    people = [tuple(rng.randrange(s) if rng.random() < 0.6 else 0 for s in sizes) for _ in range(rng.randint(1, 4))]
    figures: Figures = [{"count": len(people)}] if rng.random() < 0.5 else []
    complete = rng.random() < 0.3
    for _ in range(rng.randint(1, 4)):
        figures += cross_table(rng, domain, people, 0.02 if complete else 0.2)
    release: dict[str, Any] = {"recon": 1, "domain": {"attributes": domain}, "rows": len(people)}
    release["models"] = [{"kind": "table", "statements": figures or [{"count": len(people)}]}]
    if complete:
        release["models"][0]["complete"] = True
    if rng.random() < 0.1:
        release["rows"] = {"at_least": max(0, len(people) - 1), "at_most": len(people) + 1}
        figures[:] = [f for f in figures if f.get("where")] or [{"where": {"a0": 0}, "at_least": 0}]
    return release, people


def cross_table(rng: random.Random, domain: Figures, people: list[tuple], left_out: float) -> Figures:
    """Return the figures of one table over some attributes, some of whose values stand together.

    Of those that are shown in part, combinations without people and a share of the others are left out.
    """
    named = sorted(rng.sample(range(len(domain)), rng.randint(1, len(domain))))
    groups = []
    for k in named:
        values = domain[k]["values"]
        cut = rng.randint(1, len(values)) if rng.random() < 0.3 else 0
        groups.append([g for g in (values[:cut], values[cut:]) if g] if cut else [[v] for v in values])
    hidden, only_some, found = rng.random() < 0.3, rng.random() < 0.4, Figures()
    for combination in product(*groups):
        count = sum(all(p[k] in g for k, g in zip(named, combination, strict=True)) for p in people)
        if only_some and (count == 0 or rng.random() < left_out):
            continue
        where = {f"a{k}": g[0] if len(g) == 1 else {"in": g} for k, g in zip(named, combination, strict=True)}
        if rng.random() < 0.03:
            count = max(0, count + rng.choice((-1, 1)))
        if hidden and rng.random() < 0.4:
            found.append({"where": where, "at_least": max(0, count - 1), "at_most": count + rng.randint(0, 1)})
        else:
            found.append({"where": where, "count": count})
    return found


def check(rng: random.Random, release: dict, certified: bool = True) -> str:
    """Hold every answer about one release against brute force; return which kind of release it was."""
    try:
        got = encoded(release)
    except (ContradictionError, ReleaseError):
        assert not oracle.datasets(release), release
        return "refused"
    truth = oracle.datasets(release)
    if not truth:
        check_contradiction(release, got)
        return "contradiction"
    for convention in ("ordered", "multiset"):
        answer, expected = recon.count(got, convention), oracle.count(release, convention)
        expected = sum(expected.values()) if isinstance(expected, dict) else expected
        assert answer.status == "exact", (release, answer)
        assert answer.value == expected, (release, answer)
    check_profiles(rng, release, got, [dict(Counter(world)) for world in truth], certified)
    check_partitions(release, got, truth)
    check_told_apart(rng, release, [dict(Counter(world)) for world in truth])
    if len(truth) == 1 and certified:
        world = recon.reconstruct(got)
        assert world.unique, release
        accept(release, got, world_certificate(got, world, None))
    return "one data set" if len(truth) == 1 else "several"


def check_contradiction(release: dict, got: recon.EncodedRelease) -> None:
    """Check that statements without a data set are said to contradict each other, with a certificate."""
    try:
        value = recon.count(got, "ordered").value
    except ContradictionError:
        value = 0
    assert value == 0, release
    certificate = contradiction_certificate(got, None)
    assert certificate is not None, release
    accept(release, got, certificate)


def answers_of(got: recon.EncodedRelease, profiles: list[dict]) -> list[dict]:
    """Return what is said of every profile."""
    return recon.certify(got, profiles).to_dict("records")


def profiles_of(rng: random.Random, release: dict) -> list[dict]:
    """Return a few profiles, each some values of a row."""
    names = [a["name"] for a in release["domain"]["attributes"]]
    rows = [rng.choice(oracle.rows(release)) for _ in range(3)]
    return [{n: v for n, v in zip(names, row, strict=True) if rng.random() < 0.7} for row in rows]


def check_profiles(
    rng: random.Random, release: dict, got: recon.EncodedRelease, worlds: list[dict], certified: bool
) -> None:
    """Check least and most rows of a few profiles, and their certificates."""
    profiles = profiles_of(rng, release)
    for profile, line in zip(profiles, answers_of(got, profiles), strict=True):
        counts = [sum(t for row, t in w.items() if oracle.meets(release, profile, row)) for w in worlds]
        assert (line["min_count"], line["max_count"]) == (min(counts), max(counts)), (release, profile, line)
        expected = "certain" if min(counts) else "possible" if max(counts) else "impossible"
        assert line["verdict"] == expected, (release, profile, line)
        if certified and expected != "possible":
            assert line["certificate"] is not None, (release, profile)
            accept(release, got, line["certificate"])


def check_partitions(release: dict, got: recon.EncodedRelease, worlds: list[tuple]) -> None:
    """Check that cross-tables seen as partitions are disjoint, hold everybody, and count what every data set has."""
    names = [a["values"] for a in release["domain"]["attributes"]]
    part = [{v: parts_of(got.cut, k, np.array([i]))[0] for i, v in enumerate(vs)} for k, vs in enumerate(names)]
    for table in _cross_tables(got.statements):
        boxes = [dict(box.literals) for box in table.boxes]
        for world in worlds:
            parts = [[known[v] for v, known in zip(row, part, strict=True)] for row in world]
            held = [[all(m >> row[k] & 1 for k, m in box.items()) for box in boxes] for row in parts]
            assert all(sum(row) == 1 for row in held), (release, table)
            assert [sum(column) for column in zip(*held, strict=True)] == table.low.tolist(), (release, table)


def check_told_apart(rng: random.Random, release: dict, worlds: list[dict]) -> None:
    """Check what rows distinguished by a table alone prove, where one does: bounds, a data set, the only one."""
    got, only = encoded(release), [("assignments", "rows.AssignmentsEngine")]
    with (
        mock.patch.object(chain, "ENGINES", only),
        mock.patch.object(rows, "_has_few_cells", return_value=False),
    ):
        if not anchored(got.statements):
            return
        try:
            found = recon.reconstruct(got)
        except Inconclusive:  # what tables leave out may be broken by a data set that meets them
            return
        world = Counter(map(tuple, found.to_frame().itertuples(index=False)))
        assert dict(world) in worlds, release
        if not found.unique:
            return
        assert len(worlds) == 1, release
        for convention in ("ordered", "multiset"):
            answer, expected = recon.count(got, convention), oracle.count(release, convention)
            assert (answer.status, answer.value) == ("exact", expected), (release, convention, answer)
        profiles = profiles_of(rng, release)
        for profile, line in zip(profiles, answers_of(got, profiles), strict=True):
            count = sum(t for row, t in worlds[0].items() if oracle.meets(release, profile, row))
            assert (line["min_count"], line["max_count"]) == (count, count), (release, profile, line)


def accept(release: dict, got: recon.EncodedRelease, certificate: dict) -> None:
    """Check that both checkers accept a certificate, and refuse it for the opposite claim."""
    checker = plain_checker.Checker(release, plain_checker.starts_of(got))
    checker.check(certificate)
    assert [c.error for c in verify(certificate, got).checked] == [""], (release, certificate)
    claim = dict(certificate["claim"])
    if "at_most" in claim:
        claim["at_least"] = claim.pop("at_most") + 1
    elif "at_least" in claim:
        claim["at_most"] = claim.pop("at_least") - 1
    else:
        return
    forged = with_seal({**certificate, "claim": claim})
    assert all(c.error for c in verify(forged, got).checked), (release, forged)
    try:
        checker.check(forged)
    except plain_checker.Rejected:
        return
    raise AssertionError(f"a forged certificate was accepted: {release}, {forged}")


def main(number: int = 5_000, seed: str = "tables") -> Counter[str]:
    """Check so many random tables; return how many there were of every kind."""
    rng, kinds = random.Random(seed), Counter[str]()
    for i in range(number):
        kinds[check(rng, random_table(rng)[0], certified=i % 5 == 0)] += 1
        if (i % 500 == 499 or i + 1 == number) and __name__ == "__main__":
            print(i + 1, dict(kinds), flush=True)
    return kinds


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
