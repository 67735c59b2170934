"""Forests with known bags: every answer recon gives against all datasets by position of tiny releases.

What is proved must hold in every world, what is called exact must be exact, and what is left open is open. The
releases and their worlds are made by forests_with_bags.py and position_oracle.py, which share no code with recon.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import forests_with_bags
import numpy as np
import pandas as pd
import position_oracle
import pytest
from extras import batches, encoded
from forests_with_bags import Case
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from position_oracle import MISSING, Gap
from scipy.optimize import linear_sum_assignment
from test_row_problem import parts_of

import recon
from recon.queries.certificates.verifying import verify
from solvers.engines.chain import ask
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.statements.questions.answers import LocatedAnswer
from solvers.statements.questions.query import Locate

BATCHES = batches(1, 45)
PER_BATCH = 25
CONVENTIONS = ("ordered", "multiset")
CLOSE = 1e-9


def close(got: Any, wanted: Any) -> bool:
    return math.isclose(float(got), float(wanted), rel_tol=CLOSE, abs_tol=CLOSE)


def empty(value: Any) -> bool:
    """Say whether a cell of an answer says nothing."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def checked(check, rng: random.Random, case: Case) -> None:
    """Check one case; where it has no world, recon may say so by an error instead."""
    __tracebackhide__ = True
    try:
        check(rng, case, encoded(case.release))
    except ContradictionError:
        assert case.worlds.count() == 0, case.release
    except recon.ReleaseError:
        if case.worlds.count():  # refused as malformed
            raise


# ---------------------------------------------------------------- profiles and conditions


def profile(rng: random.Random, case: Case, share: float = 0.7) -> dict[str, Any]:
    """Draw a profile from the true rows or any rows; a value that is missing is asked for by name."""
    worlds = case.worlds
    if case.truth and rng.random() < 0.5:
        row = dict(rng.choice(case.truth))
    else:
        row = worlds.finite.raw(rng.choice(worlds.rows), worlds.names)
    return {name: "missing" if v is None else v for name, v in row.items() if rng.random() < share}


def condition_of(asked_for: dict[str, Any]) -> dict[str, Any]:
    """Write a profile as a condition: at continuous attributes, of the gap that the number lies in."""
    return {name: {"missing": True} if value == "missing" else {"in": [value]} for name, value in asked_for.items()}


def is_point(case: Case, asked_for: dict[str, Any]) -> bool:
    """Say whether some value of the profile is one number among many of its gap: no row is known to have it."""
    for name, value in asked_for.items():
        for code in case.worlds.finite.codes.get(name, []):
            if isinstance(code, Gap) and value != "missing" and code.holds(value) and code.low[0] != code.high[0]:
                return True
    return False


def some_condition(rng: random.Random, case: Case) -> dict[str, Any]:
    """Draw a condition out of the tests that the trees ask, and the label."""
    trees = [tree for model in case.release["models"] for tree in model.get("trees", [])]
    tests = [node["if"] for tree in trees for node in tree["nodes"] if "if" in node]
    drawn = rng.sample(tests, min(len(tests), rng.choice([0, 1, 1, 2])))
    found = {name: test for condition in drawn for name, test in condition.items()}
    if case.label and rng.random() < 0.6:
        found[case.label] = rng.choice(case.release["domain"]["label"]["values"])
    return found


def finite_names(case: Case) -> list[str]:
    """List the attributes (label included) whose values are all listed by the oracle as they are."""
    return [name for name in case.worlds.names if name not in case.worlds.finite.codes]


def is_continuous(case: Case) -> bool:
    return any(isinstance(code, Gap) for codes in case.worlds.finite.codes.values() for code in codes)


# ---------------------------------------------------------------- how many rows


def check_verdicts_and_numbers_of_rows(rng, case, got):
    profiles = [profile(rng, case, share) for share in (1.0, 1.0, 0.7, 0.5)]
    convention = rng.choice(CONVENTIONS)
    lines = recon.certify(got, profiles, convention).to_dict("records")
    proofs = [line["certificate"] for line in lines if line["certificate"] is not None]  # they may share their steps
    assert [one.error for one in verify(proofs, got).checked] == [""] * len(proofs), (profiles, case.release)
    for one, line in zip(profiles, lines, strict=True):
        numbers = case.worlds.numbers(condition_of(one), convention)
        if not len(numbers):
            continue  # of no world everything is true
        low, high = (0 if is_point(case, one) else int(numbers.min())), int(numbers.max())
        where = one, line, case.release
        assert line["min_count"] <= low <= high <= line["max_count"], where
        right = {"certain": low > 0, "impossible": high == 0, "possible": low == 0 < high, "unknown": True}
        assert right.get(line["verdict"], False), where
        if not empty(line["probability"]) and not is_point(case, one):
            assert close(line["probability"], case.worlds.share(condition_of(one), convention)), where
        if not empty(line["expected_count"]) and not is_point(case, one):
            assert close(line["expected_count"], Fraction(int(numbers.sum()), len(numbers))), where


def check_bounds_on_numbers_and_means(rng, case, got):
    where = some_condition(rng, case)
    numbers = case.worlds.numbers(where)
    if not len(numbers):
        return
    found = recon.bound(got, where, convention="ordered")
    said = where, found, case.release
    assert found.min <= numbers.min() <= numbers.max() <= found.max, said
    if found.status == "exact":
        assert (found.min, found.max) == (numbers.min(), numbers.max()), said
    if found.expectation is not None:
        assert close(found.expectation, numbers.mean()), said
    by_name = {a["name"]: a for a in case.release["domain"]["attributes"]}
    numeric = [n for n in finite_names(case) if n != case.label and not isinstance(case.worlds.space.values[n][0], str)]
    if numeric:
        name = rng.choice(numeric)
        assert name in by_name
        means = [Fraction(total) / number for number, total in case.worlds.figures(where, name) if number]
        answer = recon.bound(got, where, name, convention="ordered")
        if means:
            assert answer.min - CLOSE <= min(means) <= max(means) <= answer.max + CLOSE, (name, answer, said)
            if answer.status == "exact":
                assert close(answer.min, min(means)), (name, answer, said)
                assert close(answer.max, max(means)), (name, answer, said)
        else:
            assert answer.status != "exact" or answer.min is None, (name, answer, said)


def check_counts_of_worlds_and_measures(rng, case, got):
    for convention in CONVENTIONS:
        number = case.worlds.count(convention)
        answer = recon.count(got, convention)
        said = convention, number, answer.status, answer.value, answer.bounds, case.release
        if answer.status == "unsat" or number == 0:
            assert number == 0, said
            assert not answer.value, said
            continue
        if is_continuous(case):
            continue  # there is no number of worlds
        assert answer.value in (None, number), said
        assert answer.bounds[0] - CLOSE <= math.log2(number) <= answer.bounds[1] + CLOSE, said
        measured = recon.measure(got, convention)
        if measured.entropy_bits is not None:
            assert close(measured.entropy_bits, math.log2(number)), said
        else:
            assert measured.status == "bounds", said
        assert (measured.determined_rows or 0) <= determined(case), said


def determined(case: Case) -> int:
    """Return how many rows, counted as often as they are there, every dataset holds."""
    worlds = case.worlds
    every = [np.bincount(world, minlength=len(worlds.rows)) for world in worlds.unordered]
    return int(np.min(every, axis=0).sum())


def check_shares_of_a_sensitive_attribute(rng, case, got):
    names = finite_names(case)
    if not names or not case.worlds.count():
        return
    sensitive = rng.choice([case.label or names[0], *names])
    grouped = {test["attribute"] for test in case.release["domain"].get("columns", {}).values()}
    known = {n: v for n, v in profile(rng, case).items() if n != sensitive}
    if sensitive in grouped:
        known = {n: v for n, v in known.items() if n not in case.release["domain"]["columns"]}
    if is_point(case, known) or not known:
        return
    convention = rng.choice(CONVENTIONS)
    outer = case.worlds.numbers(condition_of(known), convention)
    for line in recon.attribute(got, [known], sensitive, convention).to_dict("records"):
        both = {**condition_of(known), sensitive: {"in": [line["value"]]}}
        inner = case.worlds.numbers(both, convention)
        said = known, sensitive, line, case.release
        assert line["min_count"] <= inner.min() <= inner.max() <= line["max_count"], said
        shares = [Fraction(int(i), int(o)) for i, o in zip(inner, outer, strict=True) if o]
        if shares and not empty(line["lower"]):
            assert line["lower"] - CLOSE <= min(shares) <= max(shares) <= line["upper"] + CLOSE, said
        if line["certain"]:
            assert min(shares, default=1) == 1, said  # who is known to be there is in some world
        if not empty(line["probability"]):
            assert outer.sum(), said
            assert close(line["probability"], Fraction(int(inner.sum()), int(outer.sum()))), said


# ---------------------------------------------------------------- datasets given back


def numbers_of(case: Case, frame: pd.DataFrame) -> tuple[int, ...]:
    """Return a dataset as the oracle numbers its rows."""
    lines = frame[case.worlds.names].to_dict("records")
    return tuple(case.worlds.number_of({name: plain(value) for name, value in line.items()}) for line in lines)


def plain(value: Any) -> Any:
    return None if empty(value) or value == "missing" else value


def check_worlds_given_back_are_worlds(rng, case, got):
    """`reconstruct` gives the rows by position; `worlds` gives every dataset once, and all of them."""
    try:
        guess = recon.reconstruct(got, seed=rng.randrange(9))
    except (Unsupported, Inconclusive):
        return  # named, and no world is claimed
    rows = numbers_of(case, guess.to_frame())
    said = rows, case.release
    assert rows in case.worlds.written, said
    one_of_many = is_continuous(case)  # any number of a gap would do
    alone = (False,) if one_of_many else (case.worlds.count("multiset") == 1, case.worlds.count() == 1)
    assert guess.unique in (None, *alone), said
    try:
        listed = [tuple(sorted(numbers_of(case, world.to_frame()))) for world in recon.worlds(got, limit=None)]
    except (Unsupported, Inconclusive):
        return
    assert len(set(listed)) == len(listed), said
    assert set(listed) == set(map(tuple, case.worlds.unordered.tolist())), said


def fits(text: str, value: Any) -> bool:
    """Say whether a cell of `table` ("any", "{1, 3..5}", "..1.5") leaves a value possible."""
    if isinstance(value, Gap):
        value = value.inside
    pieces = text.removeprefix("{").removesuffix("}").split(", ")
    if text == "any" or any(same(piece, value) for piece in pieces):
        return True
    ranges = [piece.split("..") for piece in pieces if ".." in piece and not isinstance(value, str)]
    return any((not low or Fraction(low) <= value) and (not high or value <= Fraction(high)) for low, high in ranges)


def same(text: str, value: Any) -> bool:
    if value is MISSING or isinstance(value, str):
        return text == ("missing" if value is MISSING else value)
    try:
        return close(text, value)
    except ValueError:
        return False


def check_table(rng, case, got):
    """In every world the rows can be put to the lines so that each fits its line."""
    frame = recon.table(got)
    if not case.worlds.count():
        return
    lines = frame.to_dict("records")
    codes = case.worlds.finite.codes
    meant = [
        {name: codes[name][v] if name in codes else v for name, v in zip(case.worlds.names, row, strict=True)}
        for row in case.worlds.rows
    ]
    allowed = np.array([[all(fits(str(line[n]), row[n]) for n in row) for row in meant] for line in lines])
    assert len(lines) == case.worlds.n, case.release
    for world in rng.sample(case.worlds.unordered.tolist(), min(20, case.worlds.count("multiset"))):
        matrix = allowed[:, world]
        line, row = linear_sum_assignment(~matrix)
        assert matrix[line, row].all(), (world, frame, case.release)


# ---------------------------------------------------------------- what is proved about every position


def holds(case: Case, position: int, line: dict[str, Any]) -> None:
    """Check one line of `positions`: every value that is possible is in it, and what is called exact is one value."""
    name = line["attribute"]
    possible = case.worlds.values_at(position, name)
    said = line, possible, case.release
    codes = case.worlds.finite.codes.get(name)
    meant = [codes[value] for value in possible] if codes else possible
    if line["exact"]:
        assert len(meant) == 1, said
    if isinstance(line["values"], (list, tuple, set, frozenset, np.ndarray)):
        stated = {position_oracle.canonical(value) if plain(value) is not None else MISSING for value in line["values"]}
        known = {value for value in meant if not isinstance(value, Gap)}
        assert known <= stated, said
        if line["exact"]:
            assert stated == set(known), said
    if "missing" in line and not empty(line["missing"]):
        assert line["missing"] or MISSING not in meant, said
    for value in meant:
        if value is MISSING or isinstance(value, str):
            continue
        low, high = (value.low[0], value.high[0]) if isinstance(value, Gap) else (value, value)
        if not empty(line["low"]):
            assert float(line["low"]) <= float(low) + CLOSE, said
        if not empty(line["high"]):
            assert float(line["high"]) >= float(high) - CLOSE, said


def check_located(rng, case, got):
    """What is left in the engine's own terms: parts of attributes, where the domain is cut."""
    del rng
    found = ask(got.statements, Locate(), LocatedAnswer)
    parts = parts_of(case, got)[case.worlds.listed]  # worlds x positions x attributes
    assert (found.start <= parts).all(), case.release
    assert (parts < found.end).all(), case.release
    for k, left in found.sets.items():
        assert left[np.arange(case.worlds.n), parts[:, :, k]].all(), (k, case.release)


def check_positions(rng, case, got):
    frame = recon.positions(got, certificates=rng.random() < 0.3)
    if not case.worlds.count():
        return
    names = case.worlds.names
    assert [*frame.columns[:6]] == ["position", "attribute", "low", "high", "exact", "values"]
    assert frame["position"].tolist() == [k for k in range(case.worlds.n) for _ in names]
    assert frame["attribute"].tolist() == names * case.worlds.n
    for line in frame.to_dict("records"):
        holds(case, line["position"], line)
    if (proof := frame.attrs.get("certificate")) is not None:
        assert [one.error for one in verify(proof, got).checked] == [""], case.release


# ---------------------------------------------------------------- thousands of cases

Check = Callable[[random.Random, Case, recon.EncodedRelease], None]
CHECKS: list[Check] = [
    check_verdicts_and_numbers_of_rows,
    check_bounds_on_numbers_and_means,
    check_counts_of_worlds_and_measures,
    check_shares_of_a_sensitive_attribute,
    check_worlds_given_back_are_worlds,
    check_table,
    check_located,
    check_positions,
]
every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))


@pytest.mark.sampled(1, 1)
@every_check
@pytest.mark.parametrize("batch", BATCHES)
def test_random_forests(check, batch):
    """Every third batch is joined with other models; one case in five has a row moved and may have no world."""
    name = f"differential {check.__name__} {batch}"
    for k, (rng, case) in enumerate(forests_with_bags.cases(name, PER_BATCH, batch % 3 == 2)):
        checked(check, rng, forests_with_bags.perturbed(rng, case) if k % 5 == 4 else case)


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(1, 21))
def test_forests_fitted_by_scikit_learn(batch, tmp_path):
    """The bags are rebuilt from the seeds in the file; the true rows are a world."""
    rng = random.Random(f"fitted {batch}")
    for _ in range(5):
        case = forests_with_bags.fitted_case(rng, tmp_path)
        assert tuple(case.worlds.number_of(row) for row in case.truth) in case.worlds.written, case.release
        for check in CHECKS:
            checked(check, rng, case)


@pytest.mark.slow
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.booleans())
def test_what_hypothesis_draws(rng, with_others):
    case = forests_with_bags.tried(rng, with_others)
    assume(case is not None)
    for check in CHECKS:
        checked(check, rng, case)
