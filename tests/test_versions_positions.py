"""Two versions of a forest by position: alignments against brute force, real fits whose truth is never excluded."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forests_with_bags
import joblib
import numpy as np
import pandas as pd
import plain_alignment
import pytest
from extras import encoded, with_seal
from hypothesis import given
from hypothesis import strategies as st

import recon
from recon.queries.certificates.aligning import ORDER
from recon.queries.versions import positions as module
from recon.queries.versions.positions import OTHERWISE, AlignedRows, aligned_rows
from solvers.foundation.errors import Inconclusive
from solvers.kernel.alignment import align

NAMES = ["smoker", "age", "ward"]


def _by_brute_force(
    before: list[int], after: list[int], k: int, a: int
) -> tuple[set[int], set[int], dict[int, set[int]]] | None:
    """Return who can have left and come, and the partners of every row, by every choice of both."""
    left, came, partners = set(), set(), dict[int, set[int]]()
    found = False
    for gone in itertools.combinations(range(len(before)), k):
        for new in itertools.combinations(range(len(after)), a):
            rest = [p for p in range(len(before)) if p not in gone]
            others = [q for q in range(len(after)) if q not in new]
            if len(rest) == len(others) and all(before[p] & after[q] for p, q in zip(rest, others, strict=True)):
                found = True
                left |= set(gone)
                came |= set(new)
                for p, q in zip(rest, others, strict=True):
                    partners.setdefault(p, set()).add(q)
    return (left, came, partners) if found else None


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=6), st.integers(0, 2), st.integers(0, 2), st.data(),
)  # fmt: skip
def test_alignments_are_those_of_brute_force(before: list[int], k: int, a: int, data: Any) -> None:
    """Rows are sets of values as bits; two can be the same where they share one."""
    k = min(k, len(before))
    size = len(before) - k + a
    after = data.draw(st.lists(st.integers(1, 7), min_size=size, max_size=size))

    def meeting(d: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.array([0 <= p + d < size and bool(x & after[p + d]) for p, x in enumerate(before)], dtype=bool)

    found, expected = align(len(before), size, k, a, meeting), _by_brute_force(before, after, k, a)
    assert (found is None) == (expected is None)
    if found is None or expected is None:
        return
    left, came, partners = expected
    assert set(np.flatnonzero(found.left).tolist()) == left
    assert set(np.flatnonzero(found.came).tolist()) == came
    assert set(np.flatnonzero(found.stayed).tolist()) == set(partners)
    sure = {p: next(iter(q)) for p, q in partners.items() if len(q) == 1 and p not in left}
    assert {p: q for p, q in enumerate(found.partner.tolist()) if q >= 0} == sure


def test_numbers_that_do_not_add_up_align_nothing() -> None:
    assert align(3, 3, 1, 0, lambda d: np.ones(3, dtype=bool)) is None
    assert align(1, 0, 2, 1, lambda d: np.ones(1, dtype=bool)) is None


def _people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"smoker": rng.integers(0, 2, n), "age": rng.integers(0, 4, n), "ward": rng.integers(0, 3, n)})
    frame["ill"] = (frame["smoker"] + (frame["age"] > 1) + rng.integers(0, 2, n) > 1).astype(int)
    return frame


def _forest(rows: pd.DataFrame, seed: int, **settings: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(settings.pop("trees", 12), random_state=seed, **settings).fit(
        rows[NAMES].to_numpy(), rows["ill"]
    )


DOMAIN = recon.Domain.from_frame(
    pd.DataFrame(list(itertools.product(range(2), range(4), range(3), range(2))), columns=[*NAMES, "ill"]), "ill"
)


def _outside(found: AlignedRows, before: pd.DataFrame, after: pd.DataFrame) -> int:
    """Return how many true values are excluded."""
    frame, wrong = found.to_frame(), 0
    for column, rows in (("position", before), ("position_after", after)):
        held = frame[frame[column] >= 0]
        assert sorted(held[column].unique()) == list(range(len(rows)))
        cells = zip(held[column], held["attribute"], held["values"], strict=True)
        wrong += sum(rows[name].iloc[p] not in values for p, name, values in cells)
    return wrong


@pytest.mark.sampled(1, 3)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
@pytest.mark.parametrize(("removed", "added"), [(1, 0), (0, 2), (2, 1)])
def test_the_truth_is_never_excluded(seed: int, removed: int, added: int) -> None:
    people = _people(26 + added, seed)
    before, new = people.head(26), people.tail(added)
    gone = np.random.default_rng(seed).choice(26, removed, replace=False)
    after = pd.concat([before.drop(index=gone), new])
    found = aligned_rows(_forest(before, seed), _forest(after, seed + 50), removed, added, DOMAIN)
    assert isinstance(found, AlignedRows)
    assert set(gone.tolist()) <= set(found.left.tolist())
    assert set(range(26 - removed, 26 - removed + added)) <= set(found.came.tolist())
    assert _outside(found, before, after) == 0
    groups = found.to_frame().drop_duplicates(["position", "position_after"])
    assert set(groups.loc[groups["rows"] == "removed", "position"]) <= set(gone.tolist())
    certificate = found.certificate()
    assert certificate is not None
    assert certificate["claim"]["aligned"]["left"] == found.left.tolist()
    assert certificate["claim"]["aligned"]["came"] == found.came.tolist()
    alone = recon.positions(recon.encode(_forest(before, seed), DOMAIN)).attrs["rows_known"]
    assert int(found.known[found.before >= 0].sum()) >= alone


@pytest.mark.slow
def test_both_files_say_more_than_either(tmp_path: Path, run: Any) -> None:
    """The position of who left is the only one, and of those who stayed both say more than one file."""
    people = _people(40, 5)
    after = people.drop(index=11)
    forests = _forest(people, 1, trees=6), _forest(after, 2, trees=6)
    found = aligned_rows(*forests, removed=1, domain=DOMAIN)
    assert isinstance(found, AlignedRows)
    assert found.left.tolist() == [11]
    assert found.figures()["rows_aligned"] == 39
    alone = [recon.positions(recon.encode(one, DOMAIN)).attrs["rows_known"] for one in forests]
    assert found.figures()["kept_known"] + found.figures()["removed_known"] > max(alone)
    paths = []
    for name, model in zip(("march", "april"), forests, strict=True):
        paths.append(tmp_path / f"{name}.joblib")
        joblib.dump(model, paths[-1])
    out = run("positions", *paths).stdout
    assert "the row that left: position 11 of march" in out
    assert "april is march without 1 row" in out
    assert "in the same order in both training files" in out
    run("positions", *paths, "--removed", 2, "--added", 0, code=3)
    assert "with nothing beside" in run("positions", *paths, "--removed", 1, "--which-columns", code=2).stderr


def _changed(certificate: dict[str, Any], change: Callable[[dict[str, Any], list[Any]], None]) -> dict[str, Any]:
    """Return a certificate whose claim, or removals, somebody changed, and sealed again."""
    out = copy.deepcopy(certificate)
    change(out["claim"]["aligned"], out["proof"]["replays"])
    return with_seal(out)


@pytest.mark.slow
def test_what_is_proved_of_both_files_is_checked_anew() -> None:
    """Each claim that says more than the removals show is rejected, one that says less is not."""
    people = _people(40, 5)
    forests = _forest(people, 1, trees=6), _forest(people.drop(index=11), 2, trees=6)
    found = aligned_rows(*forests, removed=1, domain=DOMAIN)
    assert isinstance(found, AlignedRows)
    one = found.certificate()
    assert one is not None
    assert one["assumptions"][0] == ORDER
    lines = {(x["position"], x["position_after"]): x for x in one["claim"]["aligned"]["positions"]}
    narrow = {name: int(people[name].iloc[3]) for name in NAMES}

    def said(change: Callable[[dict[str, Any], list[Any]], Any]) -> tuple[int, str]:
        checked = recon.verify(_changed(one, change), found.joined)
        return len(checked.verified), " ".join(x.error for x in checked.rejected)

    assert said(lambda claim, _: claim["left"].append(12)) == (1, "")
    assert said(lambda claim, _: claim["positions"].pop()) == (1, "")
    for change, why in (
        (lambda claim, _: claim["left"].clear(), "does not exclude position 11"),
        (lambda claim, _: claim.update(left=[12]), "does not exclude position 11"),
        (lambda claim, _: claim["positions"].append(lines[3, 3] | {"position_after": 4}), "3 and 4 are of one row"),
        (lambda claim, _: claim["positions"].append(lines[3, 3] | {"where": {"age": 9}}), "where"),
        (lambda claim, _: claim["positions"].append(lines[12, 11] | {"where": narrow}), "is where it is said"),
        (lambda _, replays: replays.pop(), "ends before the rows are aligned"),
        (lambda _, replays: replays.append(replays[0]), "removals that nothing asks for"),
        (lambda _, replays: replays[0].clear(), "the proof"),
        (lambda claim, _: claim.update(more=1), "claim.aligned has"),
    ):  # fmt: skip
        checked, error = said(change)
        assert (checked, why in error) == (0, True), error
    wrong = with_seal(copy.deepcopy(one) | {"assumptions": one["assumptions"][1:]})
    assert "assumes something else" in recon.verify(wrong, found.joined).rejected[0].error
    other = with_seal(
        copy.deepcopy(one) | {"claim": {"profile": {"age": 3}, "at_least": 1}, "assumptions": one["assumptions"][1:]}
    )
    assert "prove which of them are the same, nothing else" in recon.verify(other, found.joined).rejected[0].error
    shuffled = aligned_rows(*forests, removed=2, added=1, domain=DOMAIN)
    assert isinstance(shuffled, AlignedRows)
    assert "related otherwise" in recon.verify(one, shuffled.joined).rejected[0].error


def _forged(rng: random.Random, certificate: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate with a change somewhere: in its claim, in what is replayed, or in their number."""
    found = copy.deepcopy(certificate)
    claim, replays = found["claim"]["aligned"], found["proof"]["replays"]
    lines, steps = claim["positions"], rng.choice([*replays, []])
    for _ in range(rng.choice([1, 1, 2])):
        change = rng.randrange(7)
        if change == 0 and claim[key := rng.choice(["left", "came"])]:
            claim[key].pop(rng.randrange(len(claim[key])))
        elif change == 1 and steps:
            del steps[rng.randrange(len(steps)) :]
        elif change == 2 and steps:
            del steps[rng.randrange(len(steps))]
        elif change == 3:
            rng.choice([replays.pop, lambda: replays.append([]), lambda: rng.shuffle(replays)])()
        elif change == 4:
            rng.shuffle(steps)
        elif lines and change == 5:
            rng.choice(lines)["position_after"] = rng.randrange(-1, 7)
        elif lines:
            rng.choice(lines)["where"] = rng.choice(lines)["where"]
    return with_seal(found)


def _is_true(claim: dict[str, Any], rows: tuple[list[Any], list[Any]], left: list[int], came: list[int]) -> bool:
    """Return whether a claim holds of the rows that two forests were made of."""
    kept = [p for p in range(len(rows[0])) if p not in left]
    partner = dict(zip(kept, (q for q in range(len(rows[1])) if q not in came), strict=True))
    if not (set(left) <= set(claim["left"]) and set(came) <= set(claim["came"])):
        return False
    for line in claim["positions"]:
        p, q = line["position"], line["position_after"]
        if p >= 0 and q >= 0 and partner.get(p) != q:
            return False
        row = rows[0][p] if p >= 0 else rows[1][q]
        for name, test in line["where"].items():
            if not isinstance(test, dict) and name in row and test != row[name]:
                return False
    return True


@pytest.mark.sampled(1, 1)
@pytest.mark.parametrize("batch", range(20))
def test_two_checkers_of_alignments_agree(batch: int) -> None:
    """Of random forests of two versions, and of forged certificates: none that is accepted is false of true rows."""
    rng, accepted = random.Random(f"alignments {batch}"), [0, 0]  # forgeries that are rejected, verified
    for _ in range(2):
        releases, rows, left, came = forests_with_bags.versions(rng)
        before, after = map(encoded, releases)
        found = aligned_rows(before, after, len(left), len(came))
        assert isinstance(found, AlignedRows)
        one = found.certificate()
        assert one is not None
        for certificate in (one, *(_forged(rng, one) for _ in range(8))):
            verified = not recon.verify(certificate, found.joined).rejected
            try:
                plain_alignment.check(*releases, (len(left), len(came)), certificate)
                plain = True
            except (plain_alignment.Rejected, ValueError, KeyError):
                plain = False
            assert verified == plain, (releases, certificate)
            assert not verified or _is_true(certificate["claim"]["aligned"], rows, left, came), (releases, certificate)
            accepted[verified] += certificate is not one
        assert not recon.verify(one, found.joined).rejected
    assert accepted[0]


@pytest.mark.slow
def test_a_result_says_what_its_certificate_does(tmp_path: Path, run: Any) -> None:
    """Positions, and whether rows were kept, are held against the certificate; files that it names are opened."""
    people = _people(40, 5)
    files = [tmp_path / "march.joblib", tmp_path / "april.joblib"]
    for path, model in zip(
        files, (_forest(people, 1, trees=6), _forest(people.drop(index=11), 2, trees=6)), strict=True
    ):
        joblib.dump(model, path)
    result, folder = tmp_path / "result.json", tmp_path / "proofs"
    run("positions", *files, "--json", "--out", result)
    assert "position 11 can have left and nobody come" in run("verify", result).stdout
    plain = json.loads(result.read_text())

    def verified(change: Callable[[dict[str, Any], dict[str, Any]], Any], code: int) -> str:
        changed = copy.deepcopy(plain)
        change(changed, next(line for line in changed["positions"] if line["position"] == 11))
        result.write_text(json.dumps(changed))
        return str(run("verify", result, *files, code=code).stdout)

    assert "removed_positions [12], but by a certificate [11]" in verified(
        lambda all_, _: all_.update(removed_positions=[12]), 1
    )
    assert "'kept', but by a certificate removed" in verified(lambda _, line: line.update(rows="kept"), 1)
    assert "not certified" in verified(lambda _, line: line.update(position_after=11), 4)
    run("positions", *files, "--json", "--certificates", folder, "--out", result)
    assert "1 of 1 certificates verified" in run("verify", result, "--certificates", folder).stdout


@pytest.mark.slow
def test_one_of_twins_is_known_by_its_values() -> None:
    """Which of two equal rows left no file says; what its values are both say."""
    people = _people(30, 4)
    people.iloc[12] = people.iloc[11]
    found = aligned_rows(_forest(people, 1), _forest(people.drop(index=11), 2), removed=1, domain=DOMAIN)
    assert isinstance(found, AlignedRows)
    assert found.left.tolist() == [11, 12]
    assert found.figures()["removed_known"] == 1
    assert "2 positions of before are possible (11, 12); these rows are alike" in found.sentences()[0]


@pytest.mark.slow
def test_shuffled_rows_are_compared_without_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """No alignment is left: the question goes to unordered rows, and what they leave open is said beside the reason."""
    people = _people(40, 5)
    pair = _forest(people, 1), _forest(people.drop(index=11).sample(frac=1, random_state=0), 2)
    asked = dict[str, Any]()
    monkeypatch.setattr(module, "difference", lambda *_, **more: asked.update(more) or "unordered")
    assert aligned_rows(*pair, removed=1, domain=DOMAIN) == "unordered"
    assert asked["names"] == ("before", "after")

    def cut_short(*_: Any, **__: Any) -> None:
        raise Inconclusive("the time was up")

    monkeypatch.setattr(module, "difference", cut_short)
    with pytest.raises(Inconclusive, match=f"^{re.escape(OTHERWISE)}; the time was up"):
        aligned_rows(*pair, removed=1, domain=DOMAIN)


def test_positions_without_bags_are_refused() -> None:
    people = _people(30, 0)
    with pytest.raises(Inconclusive, match=r"^after: nothing is proved by position: no model was fitted on resamples"):
        aligned_rows(_forest(people, 0), _forest(people.head(29), 1, bootstrap=False), domain=DOMAIN)
