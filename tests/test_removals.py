"""Certificates by removals: two checkers, brute force, mutations, and the results that hold them."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import random
from collections import Counter

import forests_with_bags
import plain_removals
import position_oracle
import pytest
import removal_forgeries
from extras import batches, encoded, run, with_seal
from removal_forgeries import (
    ACCEPTED,
    BAGGED,
    CLASSES,
    EMPTY,
    OF_CLASSES,
    OF_NO_WORLD,
    OF_NOTHING,
    OF_SLOTS,
    SLOTS,
    TORN,
)

from recon.queries.certificates.certificate_format import digest, naming_steps, seal_of, sharing_steps
from recon.queries.certificates.issuing import position_certificate, profile_certificates
from recon.queries.certificates.verifying import verify
from recon.readers.formats.release.writing import dump
from solvers.foundation.errors import CertificateError
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import CountRevision, Removals, Revised
from solvers.kernel.proof_format import proof_from, proof_json
from solvers.kernel.removals import tightened

RELEASES = {
    **{name: (BAGGED, *one) for name, one in ACCEPTED.items()},
    **{name: (SLOTS, *one) for name, one in OF_SLOTS.items()},
    **{name: (TORN, *one) for name, one in OF_NO_WORLD.items()},
    **{name: (EMPTY, *one) for name, one in OF_NOTHING.items()},
    **{name: (CLASSES, *one) for name, one in OF_CLASSES.items()},
}


@pytest.mark.parametrize("name", RELEASES)
def test_what_must_be_accepted(name):
    release, claim, proof = RELEASES[name]
    Verifier(release).verify(claim, proof_from(proof))
    assert proof_json(proof_from(proof)) == proof


def test_as_many_assumptions_as_the_format_allows_are_read():
    assert proof_json(proof_from(removal_forgeries.deep(20))) == removal_forgeries.deep(20)


@pytest.mark.parametrize("seed", range(3))
def test_the_bounds_of_a_value_are_those_of_all_ways(seed):
    rng = random.Random(seed)
    for _ in range(300):
        times = tuple(sorted(rng.sample(range(1, 6), rng.randint(1, 3))))
        fixed = tuple(rng.choice([0, 0, 1, 2]) for _ in times)
        able = tuple(q + rng.randint(0, 3) for q in fixed)
        weight, low = rng.randint(1, 30), rng.randint(0, 4)
        high = low + rng.randint(0, 6)
        ways = [
            way
            for way in itertools.product(*(range(a, b + 1) for a, b in zip(fixed, able, strict=True)))
            if sum(m * n for m, n in zip(times, way, strict=True)) == weight and low <= sum(way) <= high
        ]
        found = tightened(times, fixed, able, weight, low, high)
        exact = tuple((min(x), max(x)) for x in zip(*ways, strict=True)) if ways else None
        if weight <= 24:
            assert found == exact
        elif ways:
            assert found is not None
            assert all(a <= x and y <= b for (a, b), (x, y) in zip(found, exact, strict=True))


# ---------------------------------------------------------------- random forests with known bags


def position_claim(rng, case):
    """Draw tests of a position; sometimes true ones."""
    name = rng.choice(case.worlds.names)
    values = case.release["domain"]["attributes"] + [case.release["domain"].get("label") or {}]
    known = next(a for a in values if a.get("name") == name)
    test = {"in": [rng.choice(known["values"])]} if "values" in known else {"at_most": rng.choice([0, 1, 2])}
    return {"positions": [{"position": rng.randrange(case.worlds.n), "where": {name: test}}]}


def true_of(case, claim):
    """Whether a claim holds in all worlds."""
    if "worlds" in claim:
        return not len(case.worlds.listed)
    if "positions" in claim:
        return all(case.worlds.surely(one["position"], one["where"]) for one in claim["positions"])
    counts = case.worlds.numbers(claim["profile"])
    return bool((counts <= claim["at_most"]).all() if "at_most" in claim else (counts >= claim["at_least"]).all())


@functools.cache
def certified(batch):
    """Return random cases, each with its certificate of all positions."""
    found = []
    for _, case in forests_with_bags.cases(f"removals {batch}", 12, with_others=batch % 2 == 1):
        release = encoded(case.release)
        certificate = position_certificate(release, None)
        if certificate is not None:
            found.append((case, release, certificate))
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", batches(2, 22))
def test_positions_are_certified_and_two_checkers_agree(batch):
    """What a certificate says of a position holds in every world by brute force."""
    for case, release, certificate in certified(batch):
        assert not verify({"certificate": certificate}, release).rejected
        plain_removals.check(case.release, certificate)
        assert true_of(case, certificate["claim"])
        one = position_certificate(release, None, [certificate["claim"]["positions"][-1]["position"]])
        assert not verify({"certificate": one}, release).rejected
        plain_removals.check(case.release, one)
        assert len(one["proof"]["steps"]) <= len(certificate["proof"]["steps"])


def profiles_of(rng, case, number):
    """Draw rows as profiles."""
    rows = [case.worlds.finite.raw(rng.choice(case.worlds.rows), case.worlds.names) for _ in range(number)]
    names = rng.sample(case.worlds.names, rng.randint(1, len(case.worlds.names)))
    return [{name: row[name] for name in names} for row in rows]


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", batches(2, 22))
def test_verdicts_by_removals_are_right(batch):
    """Profiles that a certificate calls impossible are in no world; both checkers say so."""
    import pandas as pd

    rng, settled = random.Random(f"profiles {batch}"), 0
    for case, release, positions in certified(batch):
        if case.worlds.finite.codes:
            continue
        profiles = profiles_of(rng, case, 3)
        frame = pd.DataFrame(profiles, dtype=object)
        kinds = [rng.choice(["impossible", "certain"]) for _ in profiles]
        for found in profile_certificates(release, frame, kinds, None):
            if found is None:
                continue
            assert true_of(case, found["claim"])
            settled += 1
            if found["proof"].get("steps") is not None and found["proof"]["kind"] == "removals":
                plain_removals.check(case.release, found)
            assert not verify({"a": positions, "b": found}, release).rejected
    assert settled


# ---------------------------------------------------------------- mutations


def mutated(rng, case, certificate):
    """Return a certificate with a change somewhere: steps left out, moved, made up, other numbers, other claims."""
    found = copy.deepcopy({"claim": certificate["claim"], "proof": certificate["proof"]})
    steps, n = found["proof"]["steps"], case.worlds.n
    values = 12

    def number():
        return rng.choice([rng.randrange(-1, n + 1), rng.randrange(values)])

    some = rng.sample(range(values), rng.randint(0, 3))
    weights = [
        [rng.randrange(3), rng.randrange(2), rng.random() < 0.5, rng.choice([-2, -1, 1, 2])]
        for _ in range(rng.randint(0, 4))
    ]
    made = [
        ["revised", number()],
        ["counted", rng.randrange(values)],
        [rng.choice(["filled", "needed"]), rng.randrange(4), rng.randint(0, 3), some],
        ["labelled", [number()], [rng.randrange(2)], rng.randint(1, 3), weights],
        ["assumed", number(), rng.randrange(values), rng.sample(steps, min(len(steps), 3))],
    ]
    change = rng.randrange(6)
    if change == 0 and steps:
        del steps[rng.randrange(len(steps)) :]
    elif change == 1 and steps:
        del steps[rng.randrange(len(steps))]
    elif change == 2:
        rng.shuffle(steps)
    elif change == 3:
        steps.insert(rng.randint(0, len(steps)), rng.choice(made))
    elif change == 4 and steps:
        steps[rng.randrange(len(steps))] = rng.choice(made)
    for _ in range(rng.choice([0, 0, 1, 3])):
        steps.insert(rng.randint(0, len(steps)), rng.choice(made))
    claims = [certificate["claim"], certificate["claim"], position_claim(rng, case), {"worlds": 0}]
    if not case.worlds.finite.codes:
        claims += [{"profile": profiles_of(rng, case, 1)[0], "at_most": rng.randrange(n)}]
        claims += [{"profile": profiles_of(rng, case, 1)[0], "at_least": 1}]
    found["claim"] = rng.choice(claims)
    return with_seal({**{key: value for key, value in certificate.items() if key != "seal"}, **found})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", batches(2, 22))
def test_mutations_prove_nothing_false(batch):
    """Both checkers accept the same mutations, and none of them is false."""
    rng, tally = random.Random(f"mutations {batch}"), Counter()
    for case, release, certificate in certified(batch):
        for _ in range(25):
            forged = mutated(rng, case, certificate)
            accepted = not verify({"certificate": forged}, release).rejected
            try:
                plain_removals.check(case.release, forged)
                plain = True
            except (plain_removals.Rejected, ValueError, KeyError):
                plain = False
            assert accepted == plain, (case.release, forged)
            assert not accepted or true_of(case, forged["claim"]), (case.release, forged)
            tally[accepted] += 1
    assert tally[False] > tally[True] > 0


def small_forest(rng, loose):
    """Return a release of two stumps on three or four rows at random, and its rows; `loose`: sizes are open."""
    n = rng.choice([3, 4])
    rows = [{"a": rng.randint(0, 1), "b": rng.randint(0, 2), "y": rng.choice(["no", "yes"])} for _ in range(n)]
    times = [[rng.randint(0, 2) for _ in rows] for _ in range(2)]
    trees = []
    for tested, end, own in (("a", 0, times[0]), ("b", 1, times[1])):
        leaves = []
        for side in (True, False):
            here = [i for i, row in enumerate(rows) if (row[tested] <= end) == side and own[i]]
            counts = [sum(own[i] for i in here if rows[i]["y"] == y) for y in ("no", "yes")]
            leaves.append({"counts": counts} if loose else {"counts": counts, "distinct": len(here)})
        trees.append({"nodes": [{"if": {tested: {"at_most": end}}, "then": 1, "else": 2}, *leaves]})
    attributes = [{"name": "a", "min": 0, "max": 1}, {"name": "b", "min": 0, "max": 2}]
    domain = {"attributes": attributes, "label": {"name": "y", "values": ["no", "yes"]}}
    model = {"kind": "forest", "bootstrap": True, "trees": trees, "multiplicities": times}
    return {"recon": 1, "domain": domain, "models": [model]}, rows


def drawn_step(rng, n):
    """Return a step that may be good: a label by weights, values that rows fill or need, a value assumed."""
    kind, values = rng.randrange(8), list(range(6))
    if kind < 4:
        every = [[t, k, once, y] for t in (0, 1) for k in (0, 1) for once in (False, True) for y in (-2, -1, 1, 2)]
        of = rng.sample(range(n), rng.choice([1, 1, 2]))
        return [
            "labelled",
            of,
            [rng.randint(0, 1) for _ in of],
            rng.randint(1, 3),
            rng.sample(every, rng.randint(0, 3)),
        ]
    if kind < 6:
        some = rng.sample(values, rng.randint(1, 2))
        return [rng.choice(["filled", "needed"]), rng.randint(0, 1), rng.randint(1, 2), some]
    return ["revised", rng.randrange(n)] if kind == 6 else ["counted", rng.choice(values)]


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_single_steps_are_those_of_the_plain_checker(seed, loose):
    """What a step may say of three or four positions: both checkers agree, and true rows are never excluded."""
    rng, tally = random.Random(f"steps {seed} {loose}"), Counter()
    for _ in range(30):
        given, rows = small_forest(rng, loose)
        release = encoded(given)
        whole = position_certificate(release, None)
        if whole is None:
            continue
        for _ in range(15):
            steps = [drawn_step(rng, len(rows)) for _ in range(rng.randint(1, 2))]
            at, name = rng.randrange(len(rows)), rng.choice("aby")
            value = rows[at][name] if rng.random() < 0.7 else rng.choice(["no", "yes"] if name == "y" else [0, 1])
            claim = {"positions": [{"position": at, "where": {name: value}}]}
            forged = {key: part for key, part in whole.items() if key != "seal"}
            forged = with_seal({**forged, "claim": claim, "proof": {"kind": "removals", "steps": steps}})
            accepted = not verify({"certificate": forged}, release).rejected
            try:
                plain_removals.check(given, forged)
                plain = True
            except (plain_removals.Rejected, ValueError, KeyError):
                plain = False
            assert accepted == plain, (given, forged)
            assert not accepted or rows[at][name] == value, (given, forged)
            tally[accepted, steps[0][0]] += 1
    assert tally[True, "labelled"] > 3
    assert tally[False, "labelled"] > 10


# ---------------------------------------------------------------- results, claims, limits


def forest():
    """Return the release of the forgeries as a file has it, its true rows in the order of positions."""
    no, yes = {"counts": [1, 0], "distinct": 1}, {"counts": [0, 2], "distinct": 1}
    first = [{"if": {"a": {"at_most": 0}}, "then": 1, "else": 2}, no, yes]
    no, yes = {"counts": [2, 0], "distinct": 1}, {"counts": [0, 1], "distinct": 1}
    nodes = [first, [{"if": {"b": {"at_most": 1}}, "then": 1, "else": 2}, yes, no]]
    attributes = [{"name": "a", "min": 0, "max": 1}, {"name": "b", "min": 0, "max": 2}]
    domain = {"attributes": attributes, "label": {"name": "y", "values": ["no", "yes"]}}
    trees = [{"nodes": one} for one in nodes]
    model = {"kind": "forest", "bootstrap": True, "trees": trees, "multiplicities": [[1, 2, 0], [0, 1, 2]]}
    return {"recon": 1, "domain": domain, "models": [model]}


WHERE = [{"a": 0, "y": "no"}, {"a": 1, "b": {"in": [0, 1]}, "y": "yes"}, {"b": 2, "y": "no"}]


def result():
    """Return a result with the certificate of all positions, and lines that it proves."""
    release = encoded(forest())
    lines = [
        {"position": 0, "attribute": "a", "low": 0, "high": 0, "exact": True, "values": [0]},
        {"position": 0, "attribute": "b", "low": 0, "high": 2, "exact": False, "values": None},
        {"position": 1, "attribute": "b", "low": 0, "high": 1, "exact": False, "values": None},
        {"position": 2, "attribute": "y", "low": None, "high": None, "exact": True, "values": ["no"]},
    ]
    return release, {"positions": lines, "certificate": position_certificate(release, None)}


def test_positions_in_the_words_of_the_release():
    release, found = result()
    claim = found["certificate"]["claim"]
    assert claim == {"positions": [{"position": i, "where": where} for i, where in enumerate(WHERE)]}
    checked = verify(found, release)
    assert (len(checked.verified), checked.bare, checked.inconsistent) == (1, (), ())
    assert "3 rows of the training file, by position" in checked.verified[0].claim
    one = position_certificate(release, None, [2])
    assert one["claim"]["positions"] == [{"position": 2, "where": WHERE[2]}]
    plain_removals.check(forest(), found["certificate"])


@pytest.mark.parametrize(
    ("change", "bare", "wrong"),
    [
        ({"values": [0, 1], "exact": False}, 0, ""),
        ({"values": [1]}, 0, "'a' of position 0 is elsewhere by a certificate"),
        ({"values": [0, 1]}, 0, "cannot be read: exact, but no single value"),
        ({"values": [7]}, 0, "cannot be read: 7 is not a value of"),
        ({"values": "0"}, 0, "values is not a list"),
        ({"values": None, "high": 1}, 0, "exact, but no single value"),
        ({"values": None, "low": 1, "high": 1}, 0, "elsewhere"),
        ({"position": 2}, 1, ""),
        ({"position": 7}, 1, ""),
        ({"position": "0"}, 0, "is not an attribute of a position"),
        ({"attribute": "c"}, 0, "'c' of 0 is not an attribute of a position"),
        ({"attribute": ["a"]}, 0, "is not an attribute of a position"),
        ({"position": 0, "attribute": "b", "values": [2]}, 1, ""),
    ],
)
def test_lines_are_held_against_the_certificate(change, bare, wrong):
    release, found = result()
    found["positions"][0] |= change
    checked = verify(found, release)
    assert len(checked.bare) == bare
    assert [wrong in text for text in checked.inconsistent] == ([True] if wrong else [])
    assert len(checked.verified) == 1


def test_lines_without_a_certificate_are_not_certified():
    release, found = result()
    found["certificate"]["claim"]["positions"].pop()
    found["certificate"] = with_seal({k: v for k, v in found["certificate"].items() if k != "seal"})
    assert verify(found, release).bare == ("positions[3]: 'y' of position 2",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(of="forest"), "the claim has ['of', 'positions'] instead of ['positions']"),
        (lambda c: c.update(positions={}), "claim.positions is not a list"),
        (lambda c: c["positions"].append({"position": 0}), "claim.positions[3] has no 'where'"),
        (lambda c: c["positions"][0].update(more=1), "claim.positions[0] has ['more', 'position', 'where']"),
        (lambda c: c["positions"][0].update(position=True), "claim.positions[0].position is True"),
        (lambda c: c["positions"][0].update(position=3), "does not give each of its positions a place"),
        (lambda c: c["positions"][0].update(where={"c": 1}), "claim.positions[0].where: 'c' is neither"),
        (lambda c: c["positions"][0].update(where=[1]), "claim.positions[0].where:"),
        (lambda c: c["positions"][0].update(where={"a": {"at_most": 9}}), "claim.positions[0].where: 9 is a threshold"),
        (lambda c: c["positions"][0].update(where={"a": 1}), "the row at position 0 is where it is said"),
    ],
)
def test_other_claims_are_rejected(change, message):
    release, found = result()
    change(found["certificate"]["claim"])
    found = with_seal({k: v for k, v in found["certificate"].items() if k != "seal"})
    (rejected,) = verify({"certificate": found}, release).rejected
    assert message in rejected.error


def test_several_training_files_are_told_apart():
    """Positions are those of the file with most counts; the claim names its model."""
    two = forest()
    other = copy.deepcopy(two["models"][0])
    other["trees"], other["multiplicities"] = other["trees"][:1], other["multiplicities"][:1]
    two["models"] = [{**other, "name": "first"}, {**two["models"][0], "name": "second"}]
    release = encoded(two)
    found = position_certificate(release, None)
    assert found["claim"]["of"] == "second"
    assert "3 rows of the training file of 'second'" in verify({"c": found}, release).verified[0].claim
    found["claim"]["of"] = "first"
    changed = with_seal({k: v for k, v in found.items() if k != "seal"})
    (rejected,) = verify({"c": changed}, release).rejected
    assert "claim.of is 'first'" in rejected.error


def test_steps_that_are_shared_stand_in_the_same_result():
    release, found = result()
    whole = found["certificate"]
    proof = {"kind": "removals", "shared": digest(whole["proof"]["steps"])}
    claim = {"positions": whole["claim"]["positions"][:1]}
    other = with_seal({**{k: v for k, v in whole.items() if k != "seal"}, "claim": claim, "proof": proof})
    assert len(verify([whole, other], release).verified) == 2
    (rejected,) = verify([other], release).rejected
    assert "which this result does not hold" in rejected.error
    for wrong in ({**proof, "kind": "drat"}, {**proof, "steps": []}, {**proof, "shared": 1}):
        forged = with_seal({**{k: v for k, v in other.items() if k != "seal"}, "proof": wrong})
        assert len(verify([whole, forged], release).rejected) == 1
    named = naming_steps(whole)
    assert named["seal"] == seal_of(named) == whole["seal"]
    assert len(verify([whole, named], release).verified) == 2
    assert [c["proof"] for c in sharing_steps([whole, None, {**whole}]) if c] == [whole["proof"], proof]


def test_steps_in_words(tmp_path, capsys):
    _, found = result()
    (tmp_path / "forest.json").write_text(dump(forest()), encoding="utf-8")
    found["certificate"]["proof"]["steps"] += [
        ["filled", 0, 2, [1]],
        ["needed", 0, 1, [0]],
        ["labelled", [0], [0], 2, [[0, 0, False, -1], [0, 1, False, 1]]],
        ["assumed", 0, 1, [["counted", 1]]],
    ]
    made = with_seal(
        {k: v for k, v in found["certificate"].items() if k != "seal"} | {"release_files": ["forest.json"]}
    )
    proof = {"kind": "removals", "shared": digest(made["proof"]["steps"])}
    other = with_seal({**{k: v for k, v in made.items() if k != "seal"}, "proof": proof})
    (tmp_path / "result.json").write_text(json.dumps([made, other]), encoding="utf-8")
    code, out, _ = run(capsys, "verify", tmp_path / "result.json", tmp_path / "forest.json", "--steps")
    assert code == 0
    for line in (
        "tree 0: these are filled by rows that it counts 2 times: tree 0,",
        "tree 0: these need all rows that it counts 1 times: tree 0,",
        "the labels of 1 rows: any other breaks 2 class totals",
        "row 0 is not in tree 0,",
        "the steps are those of another certificate of this result",
    ):
        assert line in out


def test_a_replay_serves_all_claims_that_share_it(monkeypatch):
    """Equal removals are replayed once."""
    from solvers.kernel import checker

    calls = []
    once = checker.replayed
    monkeypatch.setattr(checker, "replayed", lambda *args: calls.append(1) or once(*args))
    verifier = Verifier(BAGGED)
    for _ in range(3):
        verifier.verify(ACCEPTED["positions"][0], Removals((CountRevision(1), Revised(1))))
    assert len(calls) == 1
    with pytest.raises(CertificateError):
        verifier.verify(ACCEPTED["positions"][0], Removals((CountRevision(1),)))
    assert len(calls) == 2


def test_the_example_is_what_the_oracle_says():
    worlds = position_oracle.worlds(forest())
    assert all(worlds.surely(i, where) for i, where in enumerate(WHERE))
    assert removal_forgeries.BAGGED.domain.labels == 2
