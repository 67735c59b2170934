"""What is derived from a release or a system is remembered with it, and never travels to another one."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import pickle
import random
import threading

import pytest
from test_columns import forest_of

import recon
from encoders.encode.encoder import EncodedRelease, encode
from recon.queries.answers.exact import as_frame
from recon.readers.formats.release import reading
from recon.readers.frames.selections import select_frame
from solvers.cells.system import CellSystem, system_of
from solvers.engines.chain import answer
from solvers.foundation.limits import Limits
from solvers.histograms.branches import WeightedHistograms
from solvers.kernel.claims import AtMost
from solvers.proofs.certificates.certifier import Certifier
from solvers.statements.questions.query import Count, Decide, MostLikely
from solvers.statements.release import Release, RowCount

TABLE = b"""{"recon": 1, "rows": 3,
 "domain": {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}]},
 "models": [{"kind": "table", "statements": [{"where": {"a": 1}, "count": 2}, {"where": {"b": 1}, "count": 1}]}]}"""


def table():
    part = reading.parse(TABLE, "table.json")
    return encode(reading.to_domain(part.domain), reading.to_models(part), reading.to_rows(part))


def test_another_number_of_rows_is_counted_afresh():
    release = table().statements
    assert answer(release, Count("ordered")).value == 9  # by hand: 3 places for b = 1, times which two rows have a = 1
    more = dataclasses.replace(release, rows=RowCount(4, 4))
    # by hand: rows 4, a = 1 twice: C(4, 2) = 6 places; b = 1 once: 4 places
    assert answer(more, Count("ordered")).value == 24


def test_a_system_with_other_statements_knows_nothing_of_the_first_ones_engines():
    release = table().statements
    system = system_of(release, recon.Limits())
    answer(release, Decide(select_frame(table(), as_frame([{"a": 1, "b": 1}])), "multiset"))
    assert system.derived
    assert not dataclasses.replace(system, coarse=True).derived


@pytest.mark.parametrize("kind", [Release, CellSystem, WeightedHistograms, EncodedRelease])
def test_memory_is_no_field_that_replace_carries(kind):
    remembered = [f for f in dataclasses.fields(kind) if f.name == "derived" or f.name.startswith("_")]
    assert remembered
    assert not any(f.init for f in remembered)


def test_a_release_travels_after_it_was_asked():
    """What is remembered (locks, solvers) stays behind: copies and pickles start with nothing, and answer alike."""
    release = table().statements
    assert answer(release, Count("ordered")).value == 9
    release.derived.part(Locked)
    for other in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
        assert not other.derived
        assert answer(other, Count("ordered")).value == 9
    assert release.derived


class Locked:
    """A part that cannot be copied."""

    def __init__(self):
        self.lock = threading.Lock()


FEW = Limits(cells=20)  # so few cells that column generation bounds


def changed_rows():
    """Return a release and rows near its true ones, impossible ones among them; columns alone exclude the first."""
    truth, release = forest_of(5, 12, 2)
    rng, names = random.Random(2), [*(f"a{k}" for k in range(6)), "y"]
    rows = [[*row] for row in truth]
    for row in rows:
        for _ in range(rng.choice((1, 2))):
            row[rng.randrange(6)] = rng.randrange(8)
    return release, [dict(zip(names, row, strict=True)) for row in rows[:6]]


def read(release):
    part = reading.parse(json.dumps(release).encode(), "forest.json")
    return encode(reading.to_domain(part.domain), reading.to_models(part), reading.to_rows(part))


@pytest.mark.slow
def test_a_certificate_is_the_same_whatever_was_asked_before():
    """Orders of other questions before the one whose verdicts, bounds and certificates are looked at."""
    release, people = changed_rows()
    asked, others = people[:4], people[2:]

    def count(got):
        with pytest.raises((recon.Inconclusive, recon.Unsupported)):
            raise recon.Inconclusive(str(answer(got.statements, Count("ordered"), FEW).bounds))

    def verdicts(got):
        recon.certify(got, others, limits=FEW)

    def one(got):
        answer(got.statements, Decide(select_frame(got, as_frame(others[:1])), "ordered"), FEW)

    def proof(got):
        box = select_frame(got, as_frame(others)).boxes()[0][0]
        Certifier(got.statements, FEW).prove(AtMost(box, 0), clauses=False)

    def world(got):
        answer(got.statements, MostLikely(), FEW)

    seen = set()
    orders = [(), *random.Random(0).sample(list(itertools.permutations((count, verdicts, one, proof, world), 3)), 6)]
    for before in orders:
        got = read(release)
        for question in before:
            question(got)
        found = recon.certify(got, asked, limits=FEW)
        said = found[["verdict", "min_count", "max_count"]].to_json()
        seen.add((said, json.dumps(found["certificate"].tolist(), sort_keys=True)))
    assert len(seen) == 1
    (only,) = seen
    assert '"kind": "farkas"' in only[1]


@pytest.mark.slow
def test_a_proof_by_columns_needs_no_earlier_question():
    """The certifier asks column generation itself where nobody gives it multipliers."""
    release, people = changed_rows()
    got = read(release)
    found = recon.certify(got, people, limits=FEW)
    by_columns = [i for i, c in enumerate(found["certificate"]) if c is not None and c["proof"]["kind"] == "farkas"]
    alone = read(release)
    boxes = select_frame(alone, as_frame(people)).boxes()
    assert by_columns
    for i in by_columns:
        assert found["verdict"][i] == "impossible"
        assert Certifier(alone.statements, FEW).prove(AtMost(boxes[i][0], 0), clauses=False) is not None
