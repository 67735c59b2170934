"""Exit codes, situation by situation, against the table in docs/commands.md; written out here by hand."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
import typer
from policy_cases import facts_of, policy_of

from recon.cli.releasing.ending import ended
from recon.cli.session import finish
from recon.console.exit_codes import GRAVITY, OF_STATUS, gravest, of_error, of_status, of_verdict
from recon.policies.assessing import assess
from solvers.foundation.errors import (
    ContradictionError,
    EngineError,
    Inconclusive,
    PolicyError,
    ReleaseError,
    Unsupported,
)


@pytest.mark.parametrize(
    ("status", "code"),
    [("exact", 0), ("stored", 0), ("unbounded", 0), ("bounds", 4), ("unknown", 4), ("empty", 4), ("unsat", 5)],
)
def test_an_answer_ends_by_its_status(status, code):
    assert of_status(status) == code
    with pytest.raises(typer.Exit) as ended_with:
        finish(status)
    assert ended_with.value.exit_code == code
    assert status in OF_STATUS


def test_a_status_that_nobody_knows_is_no_success():
    assert of_status("settled") == of_status("") == 4
    assert of_verdict("exact", "perhaps") == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ContradictionError("c", ()), 5), (PolicyError("p"), 2), (Inconclusive("i"), 4), (KeyboardInterrupt(), 4),
        (MemoryError(), 4), (ReleaseError("r"), 3), (Unsupported("u"), 3), (FileNotFoundError("f"), 3),
        (PermissionError("f"), 3), (EngineError("e"), 3), (ValueError("v"), 70), (RecursionError(), 70),
        (AssertionError(), 70),
    ],
)  # fmt: skip
def test_a_refusal_ends_by_its_kind(error, code):
    assert of_error(error) == code


@pytest.mark.parametrize("status", ["exact", "bounds", "unknown", "empty", "unsat", "stored", "unbounded"])
@pytest.mark.parametrize(("outcome", "code"), [("met", 0), ("violated", 1), ("inconclusive", 4), (None, None)])
def test_with_a_policy_its_outcome_ends_it_unless_nothing_fits(status, outcome, code):
    expected = of_status(status) if code is None else 5 if status == "unsat" else code
    assert of_verdict(status, outcome) == expected


@pytest.mark.parametrize(
    ("status", "figures", "code"),
    [
        ("exact", {}, 0), ("exact", {"pinned": [3, 3]}, 1), ("exact", {"pinned": [0, 3]}, 4),
        ("bounds", {}, 0), ("unsat", {}, 5), ("unsat", {"pinned": [3, 3]}, 5), ("empty", {}, 4),
    ],
)  # fmt: skip
def test_an_audit_ends_by_its_policy_and_a_contradiction_stays_one(status, figures, code, capsys):
    told = assess(facts_of(status=status, **figures), policy_of(most_pinned=0))
    assert ended(SimpleNamespace(status=status, assessment=told), quietly=True) == code
    shown = capsys.readouterr().err
    assert shown == ("" if status == "unsat" else f"{told.verdict}: {told.sentence}\n")
    assert ended(SimpleNamespace(status=status, assessment=told), quietly=False) == code
    assert capsys.readouterr().err == ""
    assert ended(SimpleNamespace(status=status, assessment=None), quietly=True) == of_status(status)


def test_of_several_the_gravest_counts():
    order = [0, 4, 5, 3, 1, 2, 70]  # a violation is never hidden behind a file that cannot be read
    assert list(GRAVITY) == order
    for pair in itertools.product(order, repeat=2):
        assert gravest(pair) == max(pair, key=order.index)
    assert gravest([0, 130, 1]) == 130  # a code that the table does not know is no success
    assert gravest([]) == 0
