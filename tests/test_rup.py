"""The RUP checker: what it accepts refutes, whatever the proof looks like; real proofs pass, broken ones do not."""

from __future__ import annotations

import random
import time

import oracle_coupled
import pytest
from extras import encoded, extra

import recon
from solvers.cells.clauses.lowering import lower
from solvers.foundation.errors import CertificateError
from solvers.foundation.limits import Limits
from solvers.kernel.rup import check

SOLVERS = ("cadical195", "glucose4", "lingeling", "maplechrono")


def satisfiable(clauses, n):
    """Tell by trying every assignment."""
    words = [[(abs(x) - 1, x > 0) for x in clause] for clause in clauses]
    return any(all(any((a >> v & 1) == sign for v, sign in clause) for clause in words) for a in range(1 << n))


def accepted(clauses, lines):
    try:
        check(clauses, lines)
    except CertificateError:
        return False
    return True


def random_clauses(rng, n, number):
    return [
        [v * rng.choice((1, -1)) for v in rng.sample(range(1, n + 1), rng.choice((1, 2, 2, 3, 3, 3)))]
        for _ in range(number)
    ]


def written(clauses):
    return [" ".join(map(str, clause)) + " 0" for clause in clauses]


def refutation(clauses, solver):
    extra("pysat")
    from pysat.solvers import Solver

    with Solver(name=solver, bootstrap_with=clauses, with_proof=True) as made:
        if made.solve():
            return None
        lines = made.get_proof()
        return lines if "0" in map(str.strip, lines) else [*lines, "0"]  # left out where nothing was learnt


def follows(clauses, clause):
    """Tell, by propagation to a fixpoint without watched literals, whether a clause follows from others by RUP."""
    false = set(clause)
    if any(-x in false for x in false):
        return True
    while True:
        before = len(false)
        for other in clauses:
            rest = [x for x in dict.fromkeys(other) if x not in false]
            if not rest:
                return True
            if len(rest) == 1:
                false.add(-rest[0])
        if len(false) == before:
            return False


@pytest.mark.slow
def test_nothing_passes_for_a_satisfiable_formula():
    """Steps that follow, that do not, deletions of both kinds of clauses, and always an empty clause at the end."""
    rng, tried, steps = random.Random(9), 0, 0
    while tried < 4_000:
        n = rng.randint(3, 6)
        clauses = random_clauses(rng, n, rng.randint(n, 3 * n))
        if not satisfiable(clauses, n):
            continue
        tried += 1
        lines, known = [], [tuple(c) for c in clauses]
        for _ in range(rng.randint(1, 14)):
            if rng.random() < 0.35:
                lines += [f"d {x}" for x in written([rng.choice(known)])]
                continue
            some = [v * rng.choice((1, -1)) for v in rng.sample(range(1, n + 1), rng.randint(1, 3))]
            if rng.random() < 0.9 and not follows(known, some):
                continue
            known.append(tuple(some))
            lines += written([some])
            steps += 1
        assert not accepted(clauses, [*lines, "0"]), (clauses, lines)
    assert steps > 5_000


def test_the_proof_that_fooled_others():
    """docs/engines.md, "Traps of the native libraries": accepted in RAT mode with deletions, although the formula has
    six models."""
    clauses = [(2, -3, -4), (-3, 4, 2), (1, -4, 3), (3, -4, -1), (3, 2, 4)]
    assert not accepted(clauses, ["3 4 0", "-4 0", "d -3 4 2 0", "-2 0", "0"])


def test_a_proof_under_an_assumption_refutes_nothing():
    assert not accepted([(1, 2), (-1, 2)], ["2 0", "0"])
    assert accepted([(1, 2), (-1, 2), (-2,)], ["2 0", "0"])


@pytest.mark.slow
def test_real_proofs_pass_and_broken_ones_do_not():
    rng, passed, weaker = random.Random(4), 0, 0
    while passed < 60:
        n = rng.randint(6, 10)
        clauses = random_clauses(rng, n, 5 * n)
        clauses = [c for c in clauses if len(c) > 1]
        lines = refutation(clauses, rng.choice(SOLVERS))
        if lines is None:
            continue
        passed += 1
        assert accepted(clauses, lines)
        assert accepted(clauses, [x for x in lines if not x.startswith("d")]), "without deletions more follows"
        assert accepted(clauses, ["c a comment", "", *lines])
        assert not accepted(clauses, [x for x in lines if x.strip() != "0"]), "the empty clause left out"
        for _ in range(6):  # a weaker formula
            fewer = rng.sample(clauses, rng.randint(len(clauses) // 2, len(clauses) - 1))
            if satisfiable(fewer, n):
                weaker += 1
                assert not accepted(fewer, lines), (fewer, lines)
    assert weaker > 100


@pytest.mark.slow
def test_dropped_and_changed_lines_are_found_out():
    """What still passes is a proof by the naive rule; enough do not pass."""
    rng, wrong, right = random.Random(8), 0, 0
    for _ in range(60):
        n = rng.randint(20, 35)
        clauses = [[v * rng.choice((1, -1)) for v in rng.sample(range(1, n + 1), 3)] for _ in range(5 * n)]
        lines = refutation(clauses, "glucose4")
        if lines is None or len(lines) < 4:
            continue
        changed = [x for x in lines if not x.startswith("d")]
        if rng.random() < 0.5:
            at = rng.randrange(len(changed) - 1)
            del changed[at : min(len(changed) - 1, at + rng.choice((1, 3, 10)))]
        else:
            i = rng.randrange(len(changed) - 1)
            words = changed[i].split()
            words[0] = str(-int(words[0])) if rng.random() < 0.5 else str(rng.randint(1, n))
            changed[i] = " ".join(words)
        known, every = list(clauses), True
        for line in changed:
            clause = [int(x) for x in line.split()[:-1]]
            every = every and follows(known, clause)
            known.append(clause)
        passed = accepted(clauses, changed)
        assert passed or not every, "a right proof was rejected"
        right, wrong = right + passed, wrong + (not passed)
    assert wrong > 5
    assert right > 5


@pytest.mark.parametrize(
    "lines",
    [
        ["1 x 0", "0"],
        ["1 2", "0"],
        ["1 0 2 0", "0"],
        ["d 1 2", "0"],
        ["+1 0", "0"],
        ["1_0 0", "0"],
        ["-0 0", "0"],
        ["٣ 0", "0"],
        ["4 0", "0"],
        ["-4 0", "0"],
        ["9" * 5_000 + " 0", "0"],
        ["1 0"],
        [],
        ["d 0"],
        ["dd 1 0", "0"],
        ["d", "0"],
        ["0", "nonsense"],
    ],
)
def test_malformed_proofs_are_refused(lines):
    clauses = [(1, 2), (-1, 2), (1, -2), (-1, -2), (3, 1)]
    with pytest.raises(CertificateError, match="line"):
        check(clauses, lines)
    assert accepted(clauses, ["1 0", "0"])


def test_malformed_formulas_and_formulas_refuted_at_once():
    assert not accepted([(1, 0)], ["0"])
    assert not accepted([], ["0"])
    assert accepted([()], ["0"])
    assert accepted([(1,), (-1,)], ["0"])
    assert accepted([(1,), (-1,)], ["d 1 0", "0"])
    assert accepted([(1, 1), (-1, -1)], ["1 -1 0", "0"])
    with pytest.raises(CertificateError, match="without the empty clause"):
        check([(1,), (-1,)], ["1 0"])
    with pytest.raises(CertificateError, match="line 3: does not follow"):
        check([(1, 2), (-1, 2), (-1, -2)], ["1 2 0", "c", "1 0", "0"])


@pytest.mark.slow
def test_contradictory_releases_are_refuted_with_proofs_that_dratify_accepts_too():
    dratify, rng, found = extra("dratify"), random.Random("refuted"), 0
    while found < 20:
        try:
            statements = encoded(oracle_coupled.contradictory(rng)).statements
        except (recon.ReleaseError, recon.ContradictionError):
            continue
        lowered = lower(statements, Limits(), raw=found % 3 == 0, sorted_rows=found % 3 == 1)
        lines = refutation(lowered.clauses, SOLVERS[found % 2])
        assert lines is not None
        found += 1
        check(lowered.clauses, lines)
        formula = dratify.parse_dimacs(
            f"p cnf {lowered.variables} {len(lowered.clauses)}\n" + "\n".join(written(lowered.clauses))
        )
        assert dratify.check_proof(formula, "\n".join(lines) + "\n", check_rat=False).ok
        for one in [c for c in lowered.clauses if len(c) == 1][1:4]:  # a weaker release: one bound left out
            fewer = [c for c in lowered.clauses if c != one]
            assert refutation(fewer, "glucose4") is not None or not accepted(fewer, lines)


@pytest.mark.slow
def test_long_proofs_are_checked_in_time():
    rng = random.Random(2)
    clauses = [[v * rng.choice((1, -1)) for v in rng.sample(range(1, 151), 3)] for _ in range(690)]
    lines = refutation(clauses, "cadical195")
    assert len(lines) > 1_000
    begun = time.process_time()
    check(clauses, lines)
    assert time.process_time() - begun < 20  # 0.1 s; the limit only holds off what is not linear
    with pytest.raises(CertificateError, match="not verified"):
        check(clauses, lines, limits=Limits(seconds=0.0))
    limits = Limits()
    check(clauses, lines, limits)
    with pytest.raises(CertificateError, match="not verified"):  # by work alone: the same everywhere
        check(clauses, lines, Limits().at_most(limits.meter.used / 2))
