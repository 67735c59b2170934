"""An engine that recon has never heard of, added as docs/extending.md says: chain, plan, commands, brute force.

Single: releases in which every row has only one possible value; there is one world, or none.
"""

import importlib.machinery
import json
import math
import sys
import types

import numpy as np
import pytest
from extras import run
from test_engines import GOLDEN, case, consistent

from solvers.engines import chain
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer, Engine, unanswered
from solvers.statements.questions.query import Count, Decide

RELEASE = {
    "recon": 1,
    "domain": {
        "attributes": [{"name": "ward", "values": ["a"]}],
        "label": {"name": "ill", "values": ["no", "yes"]},
    },
    "rows": 4,
    "models": [{"kind": "tree", "nodes": [{"counts": [3, 1]}]}],
}


class SingleEngine(Engine):
    """Releases of one group of rows that have one value each beside a counted label."""

    name = "single"
    answers = (Count,)
    about = "one group of rows whose values are all known: the orders of their labels"

    def refuses(self, release, query):
        """Return why there is more than one value, or None."""
        block = release.single
        if block is None or release.loosened or release.domain.relative or not release.rows.exact:
            return "there is not one partition with a known number of rows"
        if len(block.boxes) != 1 or not np.array_equal(block.low, block.high) or release.domain.label is None:
            return "there is more than one group, or some count is open"
        sizes = [sum(a.sizes) for k, a in enumerate(release.domain.attributes) if k != release.domain.label]
        return None if sizes and set(sizes) == {1} else "some attribute has several values"

    def answer(self, release, query, limits):
        """Return the number of orders of the labels."""
        if not isinstance(query, Count):
            raise unanswered(query, self.name)
        counts = [int(n) for n in release.single.low]
        factors = [(math.factorial(sum(counts)), 1), *((math.factorial(n), -1) for n in counts)]
        orders = factors if query.convention == "ordered" else []
        return CountAnswer.of_rows(query.convention, sum(counts), orders)


@pytest.fixture
def registered(monkeypatch):
    """Add the engine at the one place of the list, before all others."""
    module = types.ModuleType("solvers.engines.single")
    module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    module.SingleEngine = SingleEngine
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(chain, "ENGINES", (("single", "single.SingleEngine"), *chain.ENGINES))


@pytest.fixture
def file(tmp_path):
    """Return a release that it answers."""
    path = tmp_path / "ward.json"
    path.write_text(json.dumps(RELEASE), encoding="utf-8")
    return str(path)


def test_it_refuses_or_is_right_on_every_golden_release(registered):
    engine, refused = SingleEngine(), 0
    for name in GOLDEN:
        one = case(name)
        query = one.query("count ordered")
        if engine.refuses(one.encoded.statements, query) is not None:
            refused += 1
            continue
        consistent(one, "count ordered", engine.answer(one.encoded.statements, query, Limits()))
    assert 0 < refused <= len(GOLDEN)


@pytest.mark.parametrize("convention", ["ordered", "multiset"])
def test_the_chain_asks_it_first_and_others_agree(registered, file, convention, capsys, monkeypatch):
    words = ("count", file, "--convention", convention, "--json")
    code, out, _ = run(capsys, *words)
    found = json.loads(out)
    assert (code, found["engine"]) == (0, "single")
    monkeypatch.undo()
    code, out, _ = run(capsys, *words)
    assert json.loads(out)["engine"] != "single"
    assert json.loads(out)["log2_worlds"] == pytest.approx(found["log2_worlds"])


def test_plan_and_list_name_it(registered, file, capsys):
    code, out, _ = run(capsys, "engines")
    assert code == 0
    assert "single: available" in out
    assert SingleEngine.about in out
    code, out, _ = run(capsys, "plan", file, "--question", "count", "--json")
    assert json.loads(out)["questions"][0]["asked"][0] == "single"
    assert run(capsys, "audit", file, "--json")[0] == 0


def test_what_it_does_not_answer_others_are_asked(registered, file, capsys):
    code, out, _ = run(capsys, "worlds", file, "--json")
    assert code == 0
    assert '"single"' not in out
    assert not any(isinstance(Decide, kind) for kind in SingleEngine.answers)
