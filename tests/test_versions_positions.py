"""Two versions of a forest by position: alignments against brute force, real fits whose truth is never excluded."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recon
from recon.queries.versions import positions as module
from recon.queries.versions.positions import OTHERWISE, AlignedRows, aligned_rows
from solvers.foundation.errors import Inconclusive
from solvers.positions.alignment import align

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
    alone = recon.positions(recon.encode(_forest(before, seed), DOMAIN)).attrs["rows_known"]
    assert int(found.known[found.before >= 0].sum()) >= alone


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


def test_one_of_twins_is_known_by_its_values() -> None:
    """Which of two equal rows left no file says; what its values are both say."""
    people = _people(30, 4)
    people.iloc[12] = people.iloc[11]
    found = aligned_rows(_forest(people, 1), _forest(people.drop(index=11), 2), removed=1, domain=DOMAIN)
    assert isinstance(found, AlignedRows)
    assert found.left.tolist() == [11, 12]
    assert found.figures()["removed_known"] == 1
    assert "2 positions of before are possible (11, 12); these rows are alike" in found.sentences()[0]


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
