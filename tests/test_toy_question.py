"""A kind of question that no engine has heard of, added as docs/extending.md says: engines, chain, plan, brute force.

Fullest: how many rows a cell holds at most, over all cells and all worlds.
"""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from extras import run
from test_engines import GOLDEN, case

import recon
from recon.queries.questions import planning
from recon.readers.loading.settled import strengthened_release
from solvers.engines import chain
from solvers.engines.cells import HistogramEngine
from solvers.foundation.errors import ReconError, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms import answering
from solvers.statements.questions.answers import Answer, PerCellAnswer, relaxed_answer
from solvers.statements.questions.query import QUERIES, PerCell, Query

TREES = "examples/releases/two_trees.json"


@dataclass(frozen=True)
class Fullest(Query):
    """Ask how many rows a cell holds at most, over all cells and all worlds."""

    question: ClassVar[str] = "fullest"
    about: ClassVar[str] = "the most rows that a cell holds in any world"


@dataclass(frozen=True)
class FullestAnswer(Answer):
    """The most rows that a cell holds; an upper bound where the status is "bounds"."""

    most: int = 0

    def relaxed(self, release, query):
        """Return an upper bound: no true world has more than all worlds."""
        return self


@dataclass(frozen=True)
class UnheardAnswer(Answer):
    """An answer that does not say what it is worth where something is not used."""


@dataclass(frozen=True)
class Unheard(Query):
    """A question that no engine takes."""


@answering._answer.register(Fullest)
def _(query, system, branches, limits):
    cells = answering.answer_from(system, branches, PerCell(), limits)
    return FullestAnswer(cells.status, most=int(cells.maximum.max(initial=0)))


def fullest(release):
    """Return the most rows that a cell holds in any world of a release: the public question."""
    return chain.ask(strengthened_release(recon.load(release)).statements, Fullest(), FullestAnswer, Limits()).most


@pytest.fixture
def registered(monkeypatch):
    """Add the kind at the places of the list: `answers` of an engine, `QUERIES`."""
    monkeypatch.setattr(HistogramEngine, "answers", (*HistogramEngine.answers, Fullest))
    monkeypatch.setattr(planning, "QUERIES", (*QUERIES, Fullest))
    monkeypatch.setitem(planning.QUESTIONS, Fullest.question, Fullest.about)


def asked(name, query):
    """Return what the chain says of a golden release, None where it refuses."""
    try:
        return chain.answer(case(name).encoded.statements, query, Limits())
    except ReconError:
        return None


@pytest.mark.slow
def test_it_is_answered_as_brute_force_says(registered):
    seen = 0
    for name in GOLDEN:
        one = case(name)
        if one.huge or one.encoded.statements.unstated or not one.datasets:
            continue
        found = asked(name, Fullest())
        if found is not None and found.status == "exact":
            assert found.most == max(int(np.max(one.histogram(d), initial=0)) for d in one.datasets), name
            seen += 1
    assert seen > 5
    assert fullest(TREES) == chain.ask(recon.load(TREES).statements, PerCell(), PerCellAnswer).maximum.max()


def test_the_plan_names_it(registered, capsys):
    code, out, _ = run(capsys, "plan", TREES, "--question", "fullest", "--json")
    (line,) = json.loads(out)["questions"]
    assert (code, line["asked"], line["about"]) == (0, ["histogram"], Fullest.about)
    assert Fullest.question in run(capsys, "plan", TREES)[1]


def test_without_its_registration_it_is_refused_by_name(capsys):
    assert run(capsys, "plan", TREES, "--question", "fullest")[0] == 2
    with pytest.raises(Unsupported, match="no engine answers Fullest"):
        chain.answer(recon.load(TREES).statements, Fullest())


@pytest.mark.parametrize("engine", list(chain.engines()), ids=lambda e: e.name)
def test_no_engine_answers_what_it_does_not_know(engine):
    named = 0
    for name in GOLDEN:
        release = case(name).encoded.statements
        if engine.missing() or engine.refuses(release, Unheard()) or release.rows.high is None:
            continue
        try:
            found = engine.answer(release, Unheard(), Limits(seconds=5.0))
        except ReconError as error:
            named += "Unheard" in str(error)
            continue
        assert found.status in {"unsat", "unknown"}, name
    assert named or engine.missing() or engine.name in REFUSE_BEFORE


REFUSE_BEFORE = {  # the models of a CNF have one convention; no golden release here has noise, draws, or too many cells
    "d4", "ganak", "approxmc", "likeliest", "draws", "columns",
}  # fmt: skip


def test_what_an_answer_is_worth_it_says_itself():
    loose = replace(recon.load(TREES).statements, loosened=("a figure",))
    assert relaxed_answer(loose, Fullest(), FullestAnswer("exact", most=3)) == FullestAnswer(
        "bounds", most=3, trail=("a figure",)
    )
    with pytest.raises(Unsupported, match="what a UnheardAnswer is worth where something published is not used"):
        relaxed_answer(loose, Unheard(), UnheardAnswer("exact"))
