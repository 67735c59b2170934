"""Damaged model files end as stored: refused by the same sentence, or read as the same statements; see `damaged.py`."""

from __future__ import annotations

import damaged
import pytest

STORED = damaged.stored()
CHECKED = [path for path in damaged.files() if damaged.name_of(path) in STORED]


@pytest.mark.sampled(3, 40)
@pytest.mark.parametrize("path", CHECKED, ids=damaged.name_of)
def test_what_becomes_of_a_damaged_file(path, tmp_path):
    """Anything but an answer or a refusal raises; what changed is reviewed and stored: `python tests/damaged.py`."""
    before, found = STORED[damaged.name_of(path)], damaged.outcomes(path, tmp_path)
    assert [(k, *pair) for k, pair in enumerate(zip(before, found, strict=True)) if pair[0] != pair[1]] == []


def test_most_damages_are_told_apart():
    """A change that nobody sees tests nothing: of each kind of files many are refused, many are read."""
    every = [one for of in STORED.values() for one in of]
    read = sum(one.startswith("read: ") for one in every)
    assert len(STORED) > 150
    assert len(every) / 4 < read < len(every) * 3 / 4
    assert len(set(every)) > 2_000
    assert {damaged.name_of(path) for path in damaged.files()} >= set(STORED)
