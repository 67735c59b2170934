"""Certificates against a second checker and against brute force: made ones, mutated ones, and `recon verify`.

`plain_checker` was written from docs/certificates.md (its docstring says where more was read);
truth is what holds in every dataset that `oracle` lists.
"""

from __future__ import annotations

import copy
import functools
import gzip
import json
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import oracle
import oracle_coupled
import plain_checker
import pytest
from extras import encoded, extra, run, with_seal
from test_against_oracle import random_profile

import recon
from recon.queries.certificates.certificate_format import claim_of
from recon.queries.certificates.issuing import certificate_json, contradiction_certificate, world_certificate
from recon.queries.certificates.verifying import verify
from recon.readers.formats.release.reading import strict_json
from solvers.foundation.errors import ContradictionError, ReleaseError
from solvers.kernel.claims import RegionProof
from solvers.proofs.certificates.certifier import Certifier

ROOT = Path(__file__).parents[1]
TWO = str(ROOT / "examples" / "releases" / "two_trees.json")
KINDS = ("regions", "propagation", "farkas", "branching", "drat")
CONTRADICTIONS = 500
MUTATIONS, MUTATIONS_SLOW = 1_000, 10_000
PARTS = 4  # of the fuzzing, so that a failure names its part


# ---------------------------------------------------------------- releases with certificates


@dataclass
class Case:
    """A tiny release with all its datasets, as rows of `checker` and how often each occurs."""

    release: dict
    got: recon.EncodedRelease
    checker: plain_checker.Checker
    worlds: list[Counter] = field(default_factory=list)
    certificates: list[dict] = field(default_factory=list)

    def true(self, said: dict) -> bool:
        """Whether a claim holds in every dataset."""
        claim = plain_checker.read_claim(self.checker.facts, said)
        if claim.kind == "worlds":
            return not self.worlds
        if claim.kind == "only_world":
            return self.worlds == [Counter(claim.dataset)]
        counts = [sum(times for i, times in world.items() if claim.fits[i]) for world in self.worlds]
        return all(n <= claim.k if claim.kind == "at_most" else n >= claim.k for n in counts)


def case_of(release: dict) -> Case:
    got = encoded(release)
    checker = plain_checker.Checker(release, plain_checker.starts_of(got))
    at = {row: i for i, row in enumerate(checker.facts.rows)}
    worlds = [Counter(at[row] for row in world) for world in oracle.datasets(release)]
    return Case(release, got, checker, worlds)


def impossible_model(rng: random.Random) -> dict | None:
    """One tree or rule list whose counted rows a box makes impossible; None where some dataset is left."""
    release, truth = oracle.random_release(rng, label_boxes=True)
    names = [*oracle._Space(release).values]
    if not truth:
        return None
    row = dict(zip(names, rng.choice(truth), strict=True))
    kept = rng.sample(names, rng.randint(1, min(2, len(names))))
    box = {name: {"in": [oracle._json_number(row[name])]} for name in kept}
    changed = copy.deepcopy(release)
    changed["domain"].setdefault("impossible", []).append(box)
    return None if not oracle.rows(changed) or oracle.datasets(changed) else changed


def accepted(case: Case, certificate: dict) -> Counter:
    """Demand that both checkers accept a certificate whose claim is true; return what it is."""
    certificate = json.loads(json.dumps(certificate))
    found = verify(certificate, case.got)
    assert [c.error for c in found.checked] == [""], (case.release, certificate)
    assert case.true(certificate["claim"]), (case.release, certificate["claim"])
    kind = certificate["proof"]["kind"]
    if kind == "drat":
        with pytest.raises(NotImplementedError):
            case.checker.check(certificate)
    else:
        case.checker.check(certificate)
    return Counter({(kind, next(iter(set(certificate["claim"]) - {"profile"}))): 1})


@pytest.mark.slow
def test_the_plain_checker_reads_releases_as_the_oracle_does():
    """Its own statements, without the project's, leave exactly the oracle's datasets."""
    from itertools import combinations_with_replacement

    rng, choices = random.Random("plain statements"), 0
    for i in range(120):
        release = oracle_coupled.random_coupled(rng, ("table",) if i % 2 else None)[0]
        facts = plain_checker.Facts(release)
        choices += any(block.kind == "choice" for block in facts.blocks)
        expected = {tuple(sorted(facts.rows.index(row) for row in world)) for world in oracle.datasets(release)}
        numbers = range(len(facts.rows))
        every = (w for n in range(facts.least, facts.most + 1) for w in combinations_with_replacement(numbers, n))
        assert {w for w in every if plain_checker.agrees(facts, dict(Counter(w)))} == expected, release
    assert choices >= 5


@pytest.mark.slow
@pytest.mark.parametrize("single", [False, True], ids=["coupled", "impossible boxes"])
def test_contradictions_are_certified(single):
    rng, kinds, found = random.Random(f"contradictions {single}"), Counter(), 0
    while found < CONTRADICTIONS // 2:
        release = impossible_model(rng) if single else oracle_coupled.contradictory(rng)
        try:
            case = None if release is None else case_of(release)
        except (ContradictionError, ReleaseError):  # refused when it is read: nothing is claimed
            continue
        if case is None:
            continue
        found += 1
        certificate = contradiction_certificate(case.got, None)
        assert certificate is not None, release
        kinds += accepted(case, certificate)
        for proof in empty_but_counted(case)[:1]:  # on the page; sums are found before it
            kinds += accepted(case, with_seal(certificate | {"proof": proof}))
    assert {kind for kind, _ in kinds} >= ({"farkas", "regions"} if single else {"propagation", "farkas", "branching"})


def empty_but_counted(case: Case) -> list[dict]:
    """Proofs by one region that counts somebody and holds no possible row."""
    said = case.checker.facts.statements
    empty = [s for s, statement in enumerate(said) if statement.counts and not any(statement.coefs)]
    return [{"kind": "regions", "statements": [s]} for s in empty if (said[s].low or 0) >= 1]


@pytest.mark.slow
def test_feasible_releases_are_certified():
    rng, kinds = random.Random("feasible"), Counter()
    for i in range(120):
        release, truth = oracle_coupled.random_coupled(rng) if i % 3 else oracle.random_release(rng, label_boxes=True)
        case = case_of(release)
        profiles = [random_profile(rng, release, truth, full=k % 2 == 0) for k in range(4)]
        lines = recon.certify(case.got, profiles)
        for verdict, certificate in zip(lines["verdict"], lines["certificate"], strict=True):
            assert (certificate is None) == (verdict == "possible"), (release, profiles)
            if certificate is not None:
                kinds += accepted(case, certificate)
        world = recon.reconstruct(case.got)
        assert world.unique == (len(case.worlds) == 1)
        if world.unique:
            kinds += accepted(case, world_certificate(case.got, world, None))
    sides = {side for _, side in kinds}
    assert sides == {"at_most", "at_least", "only_world"}, kinds
    assert {kind for kind, _ in kinds} >= {"regions", "propagation", "farkas"}, kinds


# ---------------------------------------------------------------- a pool of proofs of every kind


def add_certificates(rng: random.Random, case: Case, truth: list) -> None:
    """Certificates about tight and loose bounds on some profiles, uniqueness or contradiction, by clauses too."""
    certifier = Certifier(case.got.statements)
    claims: list[dict] = [] if case.worlds else [{"worlds": 0}]
    for _ in range(3 if case.worlds else 0):
        profile = random_profile(rng, case.release, truth, full=rng.random() < 0.5)
        claim = plain_checker.read_claim(case.checker.facts, {"profile": profile, "at_most": 0})
        counts = [sum(times for i, times in world.items() if claim.fits[i]) for world in case.worlds]
        claims += [{"profile": profile, "at_most": max(counts)}, {"profile": profile, "at_least": min(counts)}]
    for said in claims:
        claim = claim_of(said, case.got)
        clauses = certifier.by_clauses(claim) if rng.random() < 0.15 else None  # a process each
        for proof in (certifier.prove(claim), clauses):
            if proof is not None:
                certificate = certificate_json(case.got, certifier.facts.fingerprint, said, proof)
                case.certificates.append(json.loads(json.dumps(certificate)))
    if len(case.worlds) == 1 and (found := world_certificate(case.got, recon.reconstruct(case.got), None)):
        case.certificates.append(json.loads(json.dumps(found)))


def _branching(cases: list[Case]) -> int:
    """Return how many proofs branch."""
    return sum(c["proof"]["kind"] == "branching" for case in cases for c in case.certificates)


@functools.cache
def pool(number: int = 50, branching: int = 6) -> tuple[Case, ...]:
    """Releases with certificates, so many at least; every kind of proof is there, that by branching so often."""
    extra("pysat")
    rng, cases = random.Random("pool"), []
    while len(cases) < number or _branching(cases) < branching:
        kinds = ("table",) if len(cases) % 2 else None  # medians and means need cases
        contradicts = len(cases) % 4 < 2
        release, truth = (oracle_coupled.contradictory(rng, kinds), []) if contradicts else (None, None)
        if release is None:
            release, truth = oracle_coupled.random_coupled(rng, kinds)
        try:
            case = case_of(release)
        except (ContradictionError, ReleaseError):
            continue
        add_certificates(rng, case, truth)
        needed = len(cases) < number or any(c["proof"]["kind"] == "branching" for c in case.certificates)
        if case.certificates and needed:
            cases.append(case)
    return tuple(cases)


@functools.cache
def by_kind(*size: int) -> dict[str, list[tuple[Case, dict]]]:
    out: dict[str, list[tuple[Case, dict]]] = {kind: [] for kind in KINDS}
    for case in pool(*size):
        for certificate in case.certificates:
            out[certificate["proof"]["kind"]].append((case, certificate))
    return out


FEW = (14, 1)  # cases of a pool, and proofs in it that branch: seconds instead of ten


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [pytest.param((), marks=pytest.mark.slow), FEW], ids=["all", "few"])
def test_proofs_of_every_kind_are_accepted(size, kind):
    found = by_kind(*size)[kind]
    assert found
    for case, certificate in found:
        accepted(case, certificate)


# ---------------------------------------------------------------- mutations

HUGE = (10**30, -(10**30), 2**63, -(2**63), 2**63 - 1, 2**62, 10**400)
ODD = (True, False, None, "", "0", "1", "<=", 0.5, 1.0, float("nan"), float("inf"), 1e308, [], {}, [0], {"a": 1}, [[]])


def places(node, at=()):
    """Every (path, value) below a JSON value."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield (*at, key), value
        yield from places(value, (*at, key))


def holder(root, path):
    for key in path[:-1]:
        root = root[key]
    return root


def replace_somewhere(rng, root, case):
    """Another number, type or depth at a random place; numbers more often than the rest."""
    every = list(places(root))
    numbers = [(p, v) for p, v in every if isinstance(v, int) and not isinstance(v, bool)]
    path, value = rng.choice(numbers) if numbers and rng.random() < 0.6 else rng.choice(every)
    if isinstance(value, int) and rng.random() < 0.75:
        near = (value + 1, value - 1, value + 2, -value, -1 - value, 0, 1, 2 * value, rng.randint(-3, 9))
        new = rng.choice(near) if rng.random() < 0.9 else rng.choice(HUGE)
    elif rng.random() < 0.1:
        new = value
        for _ in range(rng.choice([1, 2, 20, 100])):
            new = [new]
    else:
        new = rng.choice([*ODD, str(value)[:50], [value], {"x": value}])
    # Known and tested below: values that `keys` cannot hash, and cells of a profile that count as left open.
    if (path[-1] == "kind" and isinstance(new, (list, dict))) or ("profile" in path[:-1] and new in (None, "")):
        new = "x"
    holder(root, path)[path[-1]] = copy.deepcopy(new)


def change_list(rng, root, case):
    """A list truncated, reversed, shuffled, an item doubled, dropped or swapped."""
    lists = [v for _, v in places(root) if isinstance(v, list) and v]
    if not lists:
        return
    found = rng.choice(lists)
    i, j = rng.randrange(len(found)), rng.randrange(len(found))
    change = rng.randrange(6)
    if change == 0:
        del found[i]
    elif change == 1:
        found.insert(j, copy.deepcopy(found[i]))
    elif change == 2:
        found[i], found[j] = found[j], found[i]
    elif change == 3:
        del found[i:]
    elif change == 4:
        rng.shuffle(found)
    else:
        found.append(copy.deepcopy(found[i]))


def change_keys(rng, root, case):
    """A key dropped, added or renamed."""
    objects = [root, *(v for _, v in places(root) if isinstance(v, dict))]
    found = rng.choice(objects)
    if found and rng.random() < 0.6:
        value = found.pop(rng.choice(list(found)))
        if rng.random() < 0.3:
            found["renamed"] = value
    else:
        found[rng.choice(["extra", "sum", "branch", "choice", "cases", "file", "at_most", "worlds", "d"])] = 0


def swap_sides(rng, root, case):
    steps = [v for _, v in places(root["proof"]) if isinstance(v, list) and len(v) == 4 and v[1] in ("<=", ">=")]
    if steps:
        step = rng.choice(steps)
        step[1] = "<=" if step[1] == ">=" else ">="
        step[3] = step[3] if rng.random() < 0.5 else rng.randrange(-2, len(case.checker.facts.statements) + 1)


def another_proof(rng, root, case):
    other = case if rng.random() < 0.7 else rng.choice(pool())
    root["proof"] = copy.deepcopy(rng.choice(other.certificates)["proof"])


def change_sums(rng, root, case):
    sums = root["proof"].get("sums") or []
    if sums:
        one = rng.choice(sums)
        pairs = one["multipliers"]
        if rng.random() < 0.2 or not pairs:
            one["over"] = rng.choice([1, 2, 3, one["over"] + 1, 10**20])
        elif rng.random() < 0.3:
            pairs.append([rng.randrange(len(case.checker.facts.statements)), rng.choice([-2, -1, 1, 2])])
        else:
            rng.choice(pairs)[rng.randrange(2)] = rng.randint(-4, len(case.checker.facts.statements))


def change_blocks(rng, root, case):
    blocks = root["proof"].get("blocks")
    if blocks is not None:
        kept = [b for b in range(len(case.checker.facts.blocks)) if rng.random() < 0.7]
        rng.shuffle(kept)
        root["proof"]["blocks"] = kept


def change_tree(rng, root, case):
    """A node cut short, another in its place, its end taken away or another given."""
    nodes = [v for _, v in places(root["proof"]) if isinstance(v, dict) and "steps" in v]
    if not nodes:
        return
    node, other = rng.choice(nodes), copy.deepcopy(rng.choice(nodes))
    change = rng.randrange(4)
    if change == 0:
        for key in ("sum", "branch", "choice", "cases"):
            node.pop(key, None)
    elif change == 1 and node.get("cases"):
        node["cases"][rng.randrange(len(node["cases"]))] = {"steps": []}
    elif change == 2:
        node.clear()
        node.update(other)
    else:
        inner = copy.deepcopy(node)
        node.clear()
        node.update({"steps": [], "branch": [0, rng.randint(-1, 3)], "cases": [inner, {"steps": []}]})


def change_lines(rng, root, case):
    """Clauses of another proof, a literal turned, a clause without a reason, a deletion."""
    lines = root["proof"].get("lines")
    if not lines:
        return
    i, change = rng.randrange(len(lines)), rng.randrange(5)
    if change == 0:
        lines[i] = re.sub(r"-?\d+", lambda m: str(-int(m[0])), lines[i], count=1)
    elif change == 1:
        lines.insert(i, f"{rng.choice([-1, 1]) * rng.randint(1, 40)} 0")
    elif change == 2:
        lines.insert(i, f"d {lines[i]}")
    elif change == 3:
        root["proof"]["lines"] = rng.choice([["0"], lines[: i + 1], [*lines[:i], "0"], ["d 0", *lines]])
    else:
        lines[i] = rng.choice(["", "c x", "0 0", "1", "x 0", "1 2", f"{10**15} 0", "1 -1 0", "-1 0", "\n0"])


def change_claim(rng, root, case):
    """Another k, side, profile or dataset: mostly a stronger claim than the proof's."""
    said = root["claim"]
    names = list(case.checker.facts.space.values)
    if "profile" in said:
        side = "at_most" if "at_most" in said else "at_least"
        change = rng.randrange(5)
        if change == 0:
            said[side] += rng.choice([-1, 1, 1, -2, 3])
        elif change == 1:
            said["at_least" if side == "at_most" else "at_most"] = said.pop(side)
        elif change == 2 and said["profile"]:
            del said["profile"][rng.choice(list(said["profile"]))]
        else:
            name = rng.choice(names)
            said["profile"][name] = oracle._json_number(rng.choice(case.checker.facts.space.values[name]))
    elif "only_world" in said and said["only_world"]["rows"]:
        world, i = said["only_world"], rng.randrange(len(said["only_world"]["rows"]))
        if rng.random() < 0.5:
            world["times"][i] += rng.choice([-1, 1])
        else:
            world["rows"][i] = [oracle._json_number(v) for v in rng.choice(case.checker.facts.rows)]
    if rng.random() < 0.15:
        root["claim"] = copy.deepcopy(rng.choice([{"worlds": 0}, rng.choice(case.certificates)["claim"]]))


def change_head(rng, root, case):
    """Another release's hashes, other assumptions, another version or kind, another seal."""
    other = rng.choice(rng.choice(pool()).certificates)
    key = rng.choice(["statements_sha256", "release_sha256", "assumptions", "recon_certificate", "kind", "seal"])
    if key == "kind":
        root["proof"]["kind"] = rng.choice([*KINDS, "lrat", ""])
    elif key == "assumptions":
        root[key] = rng.choice([[], root[key][1:], [*root[key], "nothing"], other[key]])
    elif key == "recon_certificate":
        root[key] = rng.choice([2, 99, "1", 1.0, True, None])
    else:
        root[key] = rng.choice([other[key], "0" * 64, None, "", 0])


MUTATORS = (
    *(replace_somewhere, replace_somewhere, replace_somewhere, change_list, change_list, change_keys, swap_sides),
    *(another_proof, change_sums, change_sums, change_blocks, change_tree, change_lines, change_claim, change_claim),
    change_head,
)


def read_back(certificate: dict):
    """What `recon verify` would read from a file with this certificate, None where it refuses the file."""
    try:
        return strict_json(json.dumps(certificate))
    except (ReleaseError, RecursionError, ValueError):
        return None


def verified(case: Case, certificate) -> bool:
    return any(not c.error for c in verify(certificate, case.got).checked)


def judge(case: Case, certificate: dict, tally: Counter) -> None:
    """Demand that what `verify` accepts is true, and that the plain checker accepts it."""
    where = (case.release, certificate)
    if not verified(case, certificate):
        tally["rejected"] += 1
        return
    kind = certificate["proof"]["kind"]
    tally[f"accepted {kind}"] += 1
    assert case.true(certificate["claim"]), where
    if kind != "drat":
        try:
            case.checker.check(certificate)
        except plain_checker.Rejected as error:
            raise AssertionError((str(error), *where)) from None


def mutate(rng: random.Random, number: int) -> Counter:
    """Judge so many mutated certificates, as they are and with their seal made anew."""
    tally: Counter = Counter()
    while tally["mutations"] < number:
        case, original = rng.choice(by_kind()[KINDS[tally["mutations"] % len(KINDS)]])
        target, changed = case, copy.deepcopy(original)
        if rng.random() < 0.1:  # the proof of one release, dressed up as one of another
            target = rng.choice(pool())
            head = target.certificates[0]
            changed |= {key: copy.deepcopy(head[key]) for key in ("statements_sha256", "assumptions")}
        for _ in range(rng.choice([1, 1, 1, 2, 3]) if target is case else rng.choice([0, 0, 1])):
            part = changed if rng.random() < 0.15 else {k: changed[k] for k in ("claim", "proof") if k in changed}
            change = rng.choice(MUTATORS)
            try:
                change(rng, part if change is not change_head else changed, case)
            except (KeyError, TypeError, IndexError, AttributeError, ValueError):
                continue  # an earlier change left nothing of that kind
            changed.update(part)
        if repr(changed) == repr(original):
            continue
        tally["mutations"] += 1
        if (found := read_back(changed)) is None:
            tally["unreadable"] += 1
            continue
        assert not verified(target, found), (target.release, found)  # the seal is broken
        judge(target, with_seal(found), tally)
    return tally


def check_tally(tally: Counter, number: int) -> None:
    """Demand that the mutations were neither all accepted nor all rejected, for every kind of proof."""
    assert tally["mutations"] >= number
    assert tally["rejected"] > number / 2, tally
    assert all(tally[f"accepted {kind}"] > 0 for kind in KINDS), tally


@pytest.mark.slow
def test_mutated_certificates():
    tally: Counter = Counter()
    for part in range(PARTS):
        tally += mutate(random.Random(f"mutations {part}"), MUTATIONS // PARTS)
    check_tally(tally, MUTATIONS)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_many_mutated_certificates(part):
    check_tally(mutate(random.Random(f"many mutations {part}"), MUTATIONS_SLOW), MUTATIONS_SLOW)


def test_deep_certificates_are_rejected():
    case, original = by_kind(*FEW)["branching"][0]
    steep = node = {"steps": []}
    for _ in range(5_000):
        steep = {"steps": [], "branch": [0, 0], "cases": [steep, node]}
    flat: list = []
    for _ in range(100_000):
        flat = [flat]
    for key, value in (("tree", steep), ("cells", flat), ("blocks", flat)):
        assert not verified(case, original | {"proof": original["proof"] | {key: value}})
    steep = node
    for _ in range(250):  # not too deep for JSON
        steep = {"steps": [], "branch": [0, 0], "cases": [steep, node]}
    assert not verified(case, with_seal(original | {"proof": original["proof"] | {"tree": steep}}))


# ---------------------------------------------------------------- the page's examples


def page() -> str:
    return (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")


def about(release: dict, claim: dict, proof: dict) -> tuple[Case, dict]:
    case = case_of(release)
    head = certificate_json(case.got, Certifier(case.got.statements).fingerprint, claim, RegionProof(()))
    return case, with_seal(head | {"proof": proof})


def test_the_smallest_example_of_the_page():
    release = json.loads(Path(TWO).read_text())
    inline = json.loads(re.search(r"smoker = 1 and age = young\.\* `(\{.*?\})`", page())[1])
    accepted(*about(release, {"profile": {"smoker": 1, "age": "young"}, "at_most": 0}, inline))
    lines = re.search(r'^    ("blocks": \[0, 1\].*?)\n\n', page(), re.MULTILINE | re.DOTALL)[1]
    said = json.loads(f"{{{lines}}}")
    proof = {"kind": "propagation", "blocks": said["blocks"], "cells": said["cells"], "sums": []}
    proof["tree"] = {"steps": said["steps"]}
    world = {"columns": ["smoker", "age"], "rows": [[0, "old"], [1, "old"]], "times": [1, 2]}
    case, certificate = about(release, {"only_world": world}, proof)
    accepted(case, certificate)
    for i in range(len(said["steps"])):  # every step is needed
        fewer = copy.deepcopy(certificate)
        del fewer["proof"]["tree"]["steps"][i]
        assert not verified(case, with_seal(fewer))
        with pytest.raises(plain_checker.Rejected):
            case.checker.check(fewer)


@pytest.mark.parametrize("split", [False, True], ids=["one part of two values", "two parts"])
def test_a_world_whose_rows_can_be_exchanged_is_not_the_only_one(split):
    """The page's proof still fixes every cell, but a colour that its blocks do not mention is free."""
    release = json.loads(Path(TWO).read_text())
    release["domain"]["attributes"].append({"name": "colour", "values": ["red", "blue"]})
    if split:  # a block that tells colours apart, and that the proof does not name
        release["models"].append({"kind": "table", "statements": [{"where": {"colour": "red"}, "at_most": 3}]})
    steps = [[0, "<=", 1, 1], [1, "<=", 2, 0], [0, ">=", 1, 1], [1, ">=", 2, 0]]
    proof = {"kind": "propagation", "blocks": [0, 1], "cells": [[0, 1, 0], [1, 1, 0]], "sums": []}
    proof["tree"] = {"steps": steps}
    rows = [[0, "old", "red"], [1, "old", "red"]]
    world = {"columns": ["smoker", "age", "colour"], "rows": rows, "times": [1, 2]}
    case, certificate = about(release, {"only_world": world}, proof)
    assert not case.true(certificate["claim"])
    assert not verified(case, certificate)
    with pytest.raises(plain_checker.Rejected, match="shares its cell"):
        case.checker.check(certificate)


def test_the_contradiction_of_the_page():
    release = json.loads(Path(TWO).read_text())
    release["models"][1]["nodes"][1:] = [{"count": 2}, {"count": 1}]
    nobody = [{"where": {"age": "old", "smoker": s}, "count": 0} for s in (1, 0)]
    release["models"].append({"kind": "table", "statements": nobody})
    sums = [{"over": 1, "multipliers": [[4, 1], [5, 1], [2, -1]]}]
    proof = {"kind": "farkas", "blocks": [0, 1, 2], "cells": [], "sums": sums, "tree": {"steps": [], "sum": 0}}
    case, certificate = about(release, {"worlds": 0}, proof)
    accepted(case, certificate)
    certificate["proof"]["sums"][0]["multipliers"][2][1] = 1
    assert not verified(case, with_seal(certificate))


# ---------------------------------------------------------------- recon verify, by command line


@pytest.fixture
def results(tmp_path, capsys):
    """Return a function that writes JSON (or text) and one that runs `recon verify` on it."""

    def write(name, data):
        path = tmp_path / name
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return str(path)

    def check(data, *options, files=(TWO,)):
        return run(capsys, "verify", write("result.json", data), *files, *options)

    return write, check


def made(capsys, *arguments, code=0):
    found, out, err = run(capsys, *arguments, "--json")
    assert found == code, err
    return json.loads(out)


def verdicts(capsys, write):
    people = write("people.csv", "smoker,age\n1,young\n1,old\n0,old\n")
    return made(capsys, "certify", TWO, "--profiles", people)


def contradiction(write):
    release = json.loads(Path(TWO).read_text())
    release["models"].append({"kind": "table", "statements": [{"where": {"smoker": 1, "age": "old"}, "count": 1}]})
    return write("contradiction.json", release)


def test_results_of_every_command_verify(results, capsys):
    write, check = results
    broken = contradiction(write)
    for data, files in (
        (verdicts(capsys, write), [TWO]),
        (made(capsys, "reconstruct", TWO), [TWO]),
        (made(capsys, "audit", TWO), [TWO]),
        (made(capsys, "count", broken, code=5), [broken]),
        (made(capsys, "audit", broken, code=5), [broken]),
    ):
        for options in ([], ["--steps"], ["--json"]):
            code, out, _ = check(data, *options, files=files)
            assert code == 0, out
        code, out, _ = check(data, files=[broken if files == [TWO] else TWO])
        assert code == 1
        assert "0 of" in out


def test_tampered_results_are_rejected(results, capsys):
    write, check = results
    found = verdicts(capsys, write)
    assert [line["verdict"] for line in found] == ["impossible", "certain", "certain"]
    for flipped in ("certain", "impossible"):
        changed = copy.deepcopy(found)
        line = next(line for line in changed if line["verdict"] != flipped)
        line["verdict"] = flipped
        code, out, _ = check(changed)
        assert (code, "REJECTED" in out) == (1, True)
    changed = copy.deepcopy(found)
    changed[0]["certificate"]["proof"]["statements"] = [2]
    assert check(changed)[0] == 1
    changed[0]["certificate"] = with_seal(changed[0]["certificate"])
    assert check(changed)[0] == 1
    rows = made(capsys, "reconstruct", TWO)
    for change in (lambda r: r.pop(), lambda r: r.append(r[0]), lambda r: r[0].update(smoker=1 - r[0]["smoker"])):
        changed = copy.deepcopy(rows)
        change(changed["rows"])
        code, out, _ = check(changed)
        assert (code, "REJECTED" in out) == (1, True)


def test_results_without_certificates(results, capsys):
    write, check = results
    found = verdicts(capsys, write)
    code, out, _ = check([found[0], found[1] | {"certificate": None, "proofs": []}])
    assert (code, "not certified" in out) == (4, True)
    for nothing in ([], {}, "null", "5", '"text"'):
        code, out, _ = check(nothing)
        assert (code, "nothing is certified" in out) == (4, True)
    tree = str(Path(TWO).with_name("compas_tree.json"))
    code, out, _ = check(made(capsys, "audit", tree), files=(tree,))  # claims nothing that a certificate proves
    assert (code, out.startswith("nothing to verify: "), "verified against" in out) == (0, True, False)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "certificates"), [("tree_classes", 0), ("unique", 1)])
def test_an_audit_with_remedies_is_verified_against_its_own_release_alone(name, certificates, tmp_path, capsys):
    for one in (name, "tree_plain"):
        shutil.copy(Path(__file__).with_name("golden") / f"{one}.json", tmp_path)
    model, result = str(tmp_path / f"{name}.json"), str(tmp_path / "result.out")
    Path(result).write_text(json.dumps(made(capsys, "audit", model, "--remedies")), encoding="utf-8")
    for files in ((), (model,)):  # named by itself, or given
        code, out, _ = run(capsys, "verify", result, *files)
        assert (code, out.count("certified ("), "recon certify" in out) == (0, certificates, not certificates)
    code, out, _ = run(capsys, "verify", result, str(tmp_path / "tree_plain.json"))
    assert (code, "about another release" in out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("count", ""), 3, "empty text was given as the name of a file"),
        (("count", TWO, "--domain", ""), 3, "empty text was given as the name of a file"),
        (("audit", TWO, "--out", ""), 3, "empty text was given as the name of a file"),
        (("export", TWO, "--to", "opb", "--out", ""), 3, "empty text was given as the name of a file"),
        (("register", ""), 3, "empty text was given as the name of a register"),
        (("count", TWO, "--memory", "3Q"), 2, "'3Q' is not a size"),
        (("verify", TWO, "--memory", ""), 2, "'' is not a size"),
    ],
)
def test_options_that_say_nothing_are_named(capsys, arguments, code, says):
    found, _, err = run(capsys, *arguments)
    assert (found, says in err, "No such file" in err, "convert" in err) == (code, True, False, False)


def test_unreadable_results(results, capsys, tmp_path):
    write, check = results
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(verdicts(capsys, write)).encode()))
    assert run(capsys, "verify", str(packed), TWO)[0] == 0
    short = tmp_path / "short.json.gz"
    short.write_bytes(packed.read_bytes()[:-20])
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * (3 << 20)))
    for path in (short, binary, tmp_path, tmp_path / "missing.json"):
        code, _, err = run(capsys, "verify", str(path), TWO)
        assert (code, err.startswith("recon: ")) == (3, True), err
    for text in ("", "{", "[1,]", '{"a": 1, "a": 2}', "[NaN]", "[" * 100_000, f"[{'9' * 6000}]"):
        assert check(text)[0] == 3
    for large in (write("large.json", "[" + " " * (2 << 20) + "]"), str(bomb)):
        code, _, err = run(capsys, "verify", large, TWO, "--memory", "1M")
        assert (code, "--memory" in err) == (3, True)
    assert check(verdicts(capsys, write), files=[str(tmp_path / "no.json")])[0] == 3


def test_newer_formats_and_other_domains(results, capsys):
    write, check = results
    (first, *_) = verdicts(capsys, write)
    newer = with_seal(first["certificate"] | {"recon_certificate": 3})
    code, out, _ = check([first | {"certificate": newer}])
    assert code == 1
    assert "written in format 3" in out
    wider = json.loads(Path(TWO).read_text())
    wider["domain"]["attributes"][1]["values"].append("older")
    code, out, _ = check([first], "--domain", write("wider.json", wider))
    assert code == 1
    assert "--domain" in out
    assert check([first], "--domain", TWO)[0] == 0


def test_certificates_in_files(results, capsys, tmp_path):
    write, check = results
    folder = tmp_path / "proofs"
    people = write("people.csv", "smoker,age\n1,young\n1,old\n")
    for command in (("certify", TWO, "--profiles", people), ("reconstruct", TWO)):
        data = made(capsys, *command, "--certificates", str(folder))
        assert check(data)[0] == 0
        (path, *_) = sorted(folder.iterdir())
        kept = path.read_bytes()
        other = json.loads(gzip.decompress(kept))
        other["claim"] = {"worlds": 0}
        for tampered in (kept[:-5], gzip.compress(json.dumps(with_seal(other)).encode()), b""):
            path.write_bytes(tampered)
            assert check(data)[0] == 1
        path.unlink()
        assert check(data)[0] == 1


BLOCKED = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"ortools", "highspy", "pysat", "oxidd"}:
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Finder())
from recon.cli.app import main
for result, release in zip(sys.argv[1::2], sys.argv[2::2]):
    sys.argv = ["recon", "verify", result, release]
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 0, (result, stop.code)
assert not {"ortools", "highspy", "pysat", "oxidd"} & {name.split(".")[0] for name in sys.modules}
print("all verified")
"""


@pytest.mark.slow
def test_verify_needs_no_solver(tmp_path):
    arguments = []
    for kind in KINDS:
        case, certificate = by_kind(*FEW)[kind][0]
        for name, data in ((f"{kind}.json", certificate), (f"{kind}.release.json", case.release)):
            (tmp_path / name).write_text(json.dumps(data))
            arguments.append(str(tmp_path / name))
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("1 of 1 certificates verified") == len(KINDS)
    assert done.stdout.endswith("all verified\n")


def test_nothing_is_called_certified_without_a_proof(results, capsys, monkeypatch):
    write, _ = results
    monkeypatch.setattr("solvers.proofs.certificates.certifier.Certifier.prove", lambda *_: None)
    for command in (["count", contradiction(write)], ["audit", contradiction(write)], ["reconstruct", TWO]):
        _, out, err = run(capsys, *command)
        assert "certified" not in out + err


# ---------------------------------------------------------------- known defects, one test each


def with_part(certificate: dict, *path_and_value) -> dict:
    """A copy of a certificate with another value at a path, its seal made anew."""
    *path, value = path_and_value
    changed = copy.deepcopy(certificate)
    holder(changed, path)[path[-1]] = value
    return with_seal(changed)


def of_two_trees() -> tuple[Case, dict]:
    case = case_of(json.loads(Path(TWO).read_text()))
    return case, json.loads(json.dumps(world_certificate(case.got, recon.reconstruct(case.got), None)))


@pytest.mark.parametrize("value", ["", None])
def test_an_empty_text_in_a_claim_is_a_value(value):
    """Nobody has a = "", yet the proof that somebody has any a is accepted for it."""
    nodes = [{"if": {"a": "x"}, "then": 1, "else": 2}, {"count": 2}, {"count": 0}]
    domain = {"attributes": [{"name": "a", "values": ["", "x"]}], "source": "declared"}
    case = case_of({"recon": 1, "domain": domain, "rows": 2, "models": [{"kind": "tree", "nodes": nodes}]})
    (certificate,) = recon.certify(case.got, [{"a": "x"}])["certificate"]
    accepted(case, certificate)
    assert not verified(case, with_part(certificate, "claim", "profile", "a", value))


@pytest.mark.parametrize("odd", [[], {}])
@pytest.mark.parametrize("place", ["kind", "verdict"])
def test_a_kind_or_verdict_of_a_wrong_type_is_rejected(place, odd):
    case, certificate = of_two_trees()
    if place == "kind":
        assert not verified(case, with_part(certificate, "proof", "kind", odd))
    else:
        assert verify([{"verdict": odd, "certificate": certificate}], case.got).checked


@pytest.mark.parametrize("odd", [float("nan"), 10**5000], ids=["NaN", "5,000 digits"])
def test_numbers_that_json_cannot_hold_are_rejected(odd):
    case, certificate = of_two_trees()
    assert not verified(case, certificate | {"claim": {"worlds": odd}})


@pytest.mark.parametrize("version", [0, -5])
def test_formats_that_never_were_are_rejected(version):
    case, certificate = of_two_trees()
    assert not verified(case, with_part(certificate, "recon_certificate", version))


@pytest.mark.parametrize("part", [-1, 10**13])
def test_steps_of_a_rejected_proof(results, part):
    _, check = results
    _, certificate = of_two_trees()
    assert check(with_part(certificate, "proof", "cells", 0, 0, part), "--steps")[0] == 1


def test_unique_beside_another_certificate(results, capsys):
    write, check = results
    rows = made(capsys, "reconstruct", TWO)
    rows["certificate"] = verdicts(capsys, write)[0]["certificate"]
    assert check(rows)[0] == 1


def test_changed_rows_beside_a_certificate_in_a_file(results, capsys, tmp_path):
    _, check = results
    data = made(capsys, "reconstruct", TWO, "--certificates", str(tmp_path / "proofs"))
    assert check(data)[0] == 0
    data["rows"][0]["smoker"] = 1 - data["rows"][0]["smoker"]
    assert check(data)[0] == 1
