"""What is derived from a release or a system is remembered with it, and never travels to another one."""

from __future__ import annotations

import dataclasses

import pytest

import recon
from encoders.encode.encoder import EncodedRelease, encode
from recon.formats.release import reading as release_file
from solvers.cells.system import System, system_of
from solvers.chain import answer
from solvers.histograms.branches import Solution
from solvers.questions.query import Count
from solvers.statements.release import Release, Rows

TABLE = b"""{"recon": 1, "rows": 3,
 "domain": {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}]},
 "models": [{"kind": "table", "statements": [{"where": {"a": 1}, "count": 2}, {"where": {"b": 1}, "count": 1}]}]}"""


def table():
    part = release_file.parse(TABLE, "table.json")
    return encode(release_file.to_domain(part.domain), release_file.to_models(part), release_file.to_rows(part))


def test_another_number_of_rows_is_counted_afresh():
    release = table().statements
    assert answer(release, Count("ordered")).value == 9  # by hand: 3 places for b = 1, times which two rows have a = 1
    more = dataclasses.replace(release, rows=Rows(4, 4))
    # by hand: rows 4, a = 1 twice: C(4, 2) = 6 places; b = 1 once: 4 places
    assert answer(more, Count("ordered")).value == 24


def test_a_system_with_other_statements_knows_nothing_of_the_first_ones_engines():
    release = table().statements
    assert answer(release, Count("ordered")).value == 9
    system = system_of(release, recon.Limits())
    assert system.derived
    assert not dataclasses.replace(system, coarse=True).derived


@pytest.mark.parametrize("kind", [Release, System, Solution, EncodedRelease])
def test_memory_is_no_field_that_replace_carries(kind):
    remembered = [f for f in dataclasses.fields(kind) if f.name == "derived" or f.name.startswith("_")]
    assert remembered
    assert not any(f.init for f in remembered)
