"""The trusted kernel against brute force: whatever a proof shows is true, and it shows what its rules say, no less.

Random proofs over random tiny releases; steps and sums beyond 64 bits; what is read and remembered on the way.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from test_refusals import (
    DOMAIN,
    EITHER,
    EXACT,
    LEAVES,
    ONLY,
    PAIR,
    RELEASE,
    WORLD,
    box,
    claimed,
    deep,
    over,
    raised,
    tree,
    verified,
)
from test_rup import accepted, follows, random_clauses, satisfiable, written
from weights import weight

from solvers.cells import cutting as bit_boxes
from solvers.cells.clauses.lowering import lower
from solvers.cells.cutting import (
    OUTSIDE,
    Covering,
    WordLayout,
    cuts_of,
    disjoint_pieces,
    distinct_words,
    joined_entries,
    labels_of,
    pack_rows,
    padded,
    split_parts,
    split_pieces,
    with_labels,
)
from solvers.foundation.errors import CertificateError, NotVerified, TooLarge
from solvers.foundation.limits import Limits
from solvers.kernel import cells as cells_module
from solvers.kernel import checker
from solvers.kernel import rup as rup_module
from solvers.kernel.cells import NumberedStatements, cells_at, live_cells, start_of, statement_sums
from solvers.kernel.checker import CellReplay, Verifier, _check_drat, goal_of, negated
from solvers.kernel.claims import (
    AtLeast,
    AtMost,
    BoundStep,
    CaseSplit,
    Drat,
    LeafValues,
    NoWorld,
    OverCells,
    Possible,
    ProofStep,
    Refined,
    RegionProof,
    Sum,
    Witness,
)
from solvers.kernel.proof_format import MAX_MODELS, proof_from, proof_json, quoted
from solvers.kernel.removals import NothingLeftError, RemainingDomains
from solvers.kernel.rup import check as check_clauses
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.observations import ROWS, StatementIndex
from solvers.statements.release import UNBOUNDED, Choice, Loose, Partition, Release, RowCount, Statement, Summand

# ---------------------------------------------------------------- random proofs against brute force


def random_box(dice, domain):
    """Return a box that leaves some parts of some attributes."""
    pairs = [(k, dice.randrange(1, 1 << len(a.sizes))) for k, a in enumerate(domain.attributes) if dice.random() < 0.6]
    return Box.of(pairs)


def random_statement(dice, domain):
    """Return a count or a sum of values over a box, maybe without another box."""
    region = Region(random_box(dice, domain), (random_box(dice, domain),) if dice.random() < 0.3 else ())
    if dice.random() < 0.6:
        low = dice.randrange(0, 2)
        return Statement.count(region, low, dice.choice([low, low + 1, UNBOUNDED]), "a count")
    k = dice.randrange(len(domain.attributes))
    coefs = tuple(dice.randrange(-2, 4) for _ in domain.attributes[k].sizes)
    return Statement.sum(region, dice.choice([-UNBOUNDED, -2, 1]), dice.choice([UNBOUNDED, 3, 6]), "a sum", k, coefs)


def random_partition(dice, domain, rows):
    """Return a tree or a rule list that counts some dataset of so many rows, labels apart or not."""
    first_match = dice.random() < 0.5
    if first_match:
        boxes = [random_box(dice, domain) for _ in range(2)] + [Box()]
    else:
        k = dice.randrange(len(domain.attributes))
        cut = dice.randrange(1, len(domain.attributes[k].sizes))
        boxes = [Box(((k, (1 << cut) - 1),)), Box(((k, domain.attributes[k].full ^ ((1 << cut) - 1)),))]
    made = tree(boxes, [(0, 0)] * len(boxes))
    if domain.label is not None and dice.random() < 0.7:
        n = domain.labels
        region, label = np.repeat(made.region, n), np.tile(np.arange(n, dtype=np.int32), len(boxes))
        none = np.zeros(len(region), dtype=np.int64)
        made = replace(made, region=region, label=label, labels=tuple(map(str, range(n))), low=none, high=none)
    made = replace(made, first_match=first_match)
    at = [s for row in rows for s in range(len(made)) if made.statement(s, domain).region.holds(row)]
    count = np.bincount(np.array(at, dtype=np.int64), minlength=len(made)).astype(np.int64)
    slack = np.array([dice.random() < 0.3 for _ in range(len(made))])
    return replace(made, low=np.maximum(0, count - slack), high=count + slack)


def random_release(dice):
    """Return a release of a tiny domain with a dataset that its partitions count."""
    label = dice.choice([None, 2])
    domain = RowSpace(
        tuple(Attribute(f"x{i}", (1,) * dice.choice([2, 3])) for i in range(2 if label is None else 3)), label
    )
    space = list(itertools.product(*(range(len(a.sizes)) for a in domain.attributes)))
    n = dice.randrange(1, 4)
    rows = [dice.choice(space) for _ in range(n)]
    blocks = [random_partition(dice, domain, rows) for _ in range(dice.randrange(0, 3))]
    if dice.random() < 0.7:
        blocks.append(tuple(random_statement(dice, domain) for _ in range(dice.randrange(1, 3))))
    if dice.random() < 0.3:
        blocks.append(Choice(tuple((random_statement(dice, domain),) for _ in range(2)), "a choice"))
    impossible = (random_box(dice, domain),) if dice.random() < 0.3 else ()
    low = dice.choice([n, n, n - 1])
    return Release(domain, RowCount(low, n), tuple(blocks), impossible), space


def agrees(release, space):
    """Return a function that tells whether a dataset is a possible world."""
    always, choices = [], []
    for block in release.blocks:
        if isinstance(block, Choice):
            choices.append(block.alternatives)
        else:
            tree = isinstance(block, Partition)
            always += [block.statement(s, release.domain) for s in range(len(block))] if tree else block
    known = {s: {row: weight(s, row) for row in space} for s in (*always, *(s for c in choices for a in c for s in a))}
    barred = {row for row in space for b in release.impossible if Region(b).holds(row)}

    def met(statement, world):
        return statement.low <= sum(known[statement][row] for row in world) <= statement.high

    def holds(world):
        return (
            not barred.intersection(world)
            and all(met(s, world) for s in always)
            and all(sum(all(met(s, world) for s in every) for every in choice) == 1 for choice in choices)
        )

    return holds


def random_steps(dice, replay, number):
    """Return steps that a replay takes, each the bound that its reason implies."""
    out = []
    for _ in range(number):
        cell, upper = dice.randrange(len(replay.cells)), dice.random() < 0.5
        allowed = [-1 - i for i in range(len(replay.proof.sums))] + np.flatnonzero(replay.usable).tolist()
        reason = dice.choice(allowed)
        try:
            value = replay.implied(int(replay.cells[cell]), upper, reason)
        except CertificateError:
            continue  # a sum that uses what is not stated
        if value is not None:
            out.append(BoundStep(cell, upper, value, reason))
            replay._step(out[-1], 0)
    return tuple(out)


def random_proof(dice, verifier, claim):
    """Return a random proof and what it shows (None: that no histogram is left), by the rules of the page."""
    facts = verifier.facts
    blocks = tuple(dice.sample(range(len(facts.release.blocks)), dice.randrange(0, len(facts.release.blocks) + 1)))
    live = verifier.live(blocks)
    if not live.cells:
        return None
    attributes = range(len(facts.release.domain.attributes))
    pieces = [int(np.flatnonzero(live.cell == c)[0]) for c in range(live.cells)]
    named = [tuple(int(np.argmax(live.layout.parts(live.words[[p]], k)[0])) for k in attributes) for p in pieces]
    known = np.flatnonzero(facts.within(blocks)).tolist()
    sums = []
    for _ in range(2):
        used = dice.sample(known, min(len(known), dice.randrange(1, 4)))
        sums.append(Sum(dice.choice([1, 2, 3]), tuple((s, dice.choice([-3, -1, 1, 2])) for s in used)))
    proof = OverCells(blocks, tuple(named), tuple(sums), ProofStep())
    replay = CellReplay(facts, live, proof, Limits())
    goal = goal_of(facts, live, claim)
    steps, shown, ends = random_steps(dice, replay, dice.randrange(0, 5)), [], []
    cell, value = dice.randrange(live.cells), dice.randrange(0, replay.maximum + 1)
    saved = replay.lower.copy(), replay.upper.copy()
    for below in (True, False) if dice.random() < 0.4 else (None,):
        replay.lower, replay.upper = saved[0].copy(), saved[1].copy()
        at = int(replay.cells[cell])
        if below is True:
            replay.upper[at] = min(replay.upper[at], value)
        elif below is False:
            replay.lower[at] = max(replay.lower[at], value + 1)
        inner = random_steps(dice, replay, dice.randrange(0, 4))
        end = dice.choice([None, 0, 1])
        if not (replay.lower > replay.upper).any():
            try:
                shown.append(replay.greatest(goal.weights, end))
            except CertificateError:
                end = None
                shown.append(replay.greatest(goal.weights, None))
        ends.append(ProofStep(inner, end))
    node = (
        ProofStep((*steps, *ends[0].steps), ends[0].end)
        if len(ends) == 1
        else ProofStep(steps, CaseSplit(cell, value, *ends))
    )
    return replace(proof, tree=node), max(shown, default=None)


@pytest.mark.sampled(1, 4)
@pytest.mark.parametrize("batch", range(6))
def test_what_a_proof_shows_is_true_and_no_more_is_accepted(batch):
    dice, told, tight = random.Random(f"kernel {batch}"), 0, 0
    for _ in range(25):
        release, space = random_release(dice)
        fits, numbers = agrees(release, space), range(release.rows.low, release.rows.high + 1)
        worlds = [w for n in numbers for w in itertools.combinations_with_replacement(space, n) if fits(w)]
        verifier = Verifier(release)
        for _ in range(6):
            asked = random_box(dice, release.domain)
            counts = [sum(Region(asked).holds(row) for row in w) for w in worlds]
            for claim in (AtMost(asked, 0), AtLeast(asked, 0)):
                made = random_proof(dice, verifier, claim)
                if made is None:
                    assert not any(worlds)
                    continue
                proof, shown = made
                if shown is None:
                    assert not worlds
                    verifier.verify(NoWorld(), proof)
                    continue
                k = shown if isinstance(claim, AtMost) else -shown
                verifier.verify(replace(claim, rows=k), proof)
                with pytest.raises(CertificateError, match="the proof shows"):
                    verifier.verify(replace(claim, rows=k - 1 if isinstance(claim, AtMost) else k + 1), proof)
                assert all(n <= k for n in counts) if isinstance(claim, AtMost) else all(n >= k for n in counts)
                told += bool(worlds)
                best = (max if isinstance(claim, AtMost) else min)(counts, default=None)
                tight += k == best
    assert told > 80
    assert tight > 10


@pytest.mark.sampled(3)
@pytest.mark.parametrize("batch", range(4))
def test_cells_and_worlds_are_those_of_the_statements(batch):
    """Every row is in the cell, and every dataset has the sums, that the statements give it one by one."""
    dice = random.Random(f"cells {batch}")
    for _ in range(25):
        release, space = random_release(dice)
        facts, verifier = NumberedStatements(release), Verifier(release)
        views = [facts.statement(s) for s in range(len(facts))]
        weights = {row: [weight(v, row) for v in views] for row in space}
        zero = [s for s, v in enumerate(views) if v.region is not None and v.high == 0 and facts.unconditional[s]]
        barred = [Region(b) for b in release.impossible]
        dead = {row for row in space if any(b.holds(row) for b in barred) or any(weights[row][s] for s in zero)}
        live = live_cells(facts, range(len(release.blocks)))
        known = [row for row in space if row not in dead]
        assert sum(live.sizes()) == len(known)
        for row in dead:
            with pytest.raises(CertificateError, match="no row can have"):
                cells_at(facts, live, [row])
        at = dict(zip(known, cells_at(facts, live, known).tolist(), strict=True))
        for row, c in at.items():
            column = np.zeros(len(facts), dtype=np.int64)
            mine = live.linear.col == c
            column[live.linear.row[mine]] = live.linear.coef[mine]
            assert column.tolist() == weights[row]
        asked = random_box(dice, release.domain)
        for c in range(live.cells):
            rows = [row for row in known if at[row] == c]
            assert live.meeting(asked)[c] == any(Region(asked).holds(row) for row in rows)
            assert live.inside(asked)[c] == all(Region(asked).holds(row) for row in rows)
        for n in range(1, release.rows.high + 1):
            world = tuple(dict.fromkeys(dice.choice(space) for _ in range(n)))
            times = tuple(dice.randrange(1, 3) for _ in world)
            assert statement_sums(facts, world, times).tolist() == [
                sum(weights[row][s] * t for row, t in zip(world, times, strict=True)) for s in range(len(facts))
            ]
            data = [row for row, t in zip(world, times, strict=True) for _ in range(t)]
            try:
                verifier.verify(Possible(Box()), Witness(world, times))
                good = True
            except CertificateError:
                good = False
            assert good == (agrees(release, space)(data) and release.rows.low <= len(data) <= release.rows.high)


def test_many_rows_are_found_like_few(monkeypatch):
    """Rows are looked up one by one, or walked all at once: the same cells, and the same refusals."""
    dice = random.Random(7)
    for _ in range(40):
        release, space = random_release(dice)
        facts = NumberedStatements(release)
        live = live_cells(facts, range(len(release.blocks)))
        found = []
        for few in (1 << 22, -1):
            monkeypatch.setattr(cells_module, "MAX_PAIRWISE", few)
            known = []
            for row in space:
                try:
                    known.append(cells_at(facts, live, [row]).tolist())
                except CertificateError as error:
                    known.append(str(error))
            fine = [row for row, cell in zip(space, known, strict=True) if isinstance(cell, list)]
            found.append((known, cells_at(facts, live, fine).tolist() if fine else []))
        assert found[0] == found[1]


# ---------------------------------------------------------------- beyond 64 bits


def wide(coefs, rows, low, high):
    """Return a release of one attribute whose values are summed with huge coefficients."""
    domain = RowSpace((Attribute("a", (1,) * len(coefs)),))
    return Release(domain, RowCount(0, rows), ((Statement.sum(Region(Box()), low, high, "a sum", 0, tuple(coefs)),),))


@pytest.mark.parametrize(
    ("coefs", "rows", "low", "high"),
    [
        ((1, 1 << 40), 1 << 40, 5, UNBOUNDED),
        ((1, -(1 << 40)), 1 << 40, -UNBOUNDED, -5),
        ((1, *((1 << 30) + i for i in range(16))), (1 << 30) - 1, 5, UNBOUNDED),
        ((1, 3), (1 << 61) + 1, 5, UNBOUNDED),
    ],
    ids=["coefficients", "negative ones", "many cells", "many rows"],
)
def test_steps_are_exact_where_64_bits_would_wrap(coefs, rows, low, high):
    release = wide(coefs, rows, low, high)
    verifier = Verifier(release)
    replay = CellReplay(verifier.facts, verifier.live((0,)), proof_from(over([0], [(0,)])), Limits())
    cell, upper = int(replay.cells[0]), high != UNBOUNDED
    rest = sum(a * rows for a in coefs[1:])
    assert replay.implied(cell, upper, 0) == (high if upper else low) - rest
    assert replay.greatest(np.ones(len(coefs), dtype=np.int64), None) == rows * len(coefs)


def test_bounds_far_out_settle_and_go_on():
    """A step far below 0 or above all rows leaves nothing; what it says is kept small, and comes back no wider."""
    release = wide((0, 1), 9, 0, 9)
    verifier = Verifier(release)
    proof = proof_from(over([0], [(0,), (1,)], sums=[(1, [(0, -(10**30))])]))
    replay = CellReplay(verifier.facts, verifier.live((0,)), proof, Limits())
    for value, kept in ((-(10**30), -1), (-1, -1), (0, 0), (3, 3)):
        replay = CellReplay(verifier.facts, verifier.live((0,)), proof, Limits())
        replay.implied = lambda cell, upper, reason, value=value: value
        replay._step(BoundStep(0, True, value, 0), 0)
        assert replay.upper[replay.cells[0]] == kept
    for value, kept in ((10**30, 10), (10, 10), (9, 9), (3, 3)):
        replay = CellReplay(verifier.facts, verifier.live((0,)), proof, Limits())
        replay.implied = lambda cell, upper, reason, value=value: value
        replay._step(BoundStep(0, False, value, 0), 0)
        assert replay.lower[replay.cells[0]] == kept


# ---------------------------------------------------------------- what is read, what is remembered


def test_proofs_of_any_depth_below_the_limit_are_read():
    proof, levels = proof_from(over([0]) | {"kind": "branching", "tree": deep(200)}), 0
    node = proof.tree
    while isinstance(node.end, CaseSplit):
        node, levels = node.end.below, levels + 1
    assert levels == 200


def test_proofs_by_clauses_are_written_and_read():
    proof = Drat((0, 1), ("1 0", "0"))
    assert proof_from(proof_json(proof)) == proof


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "5"),
        ("a\nb", r"'a\nb'"),
        (1 << 199, "a number of 200 bits"),
        ((1 << 199) - 1, str((1 << 199) - 1)),
        (-(10**4400), "a number of 14,617 bits"),
        ([10**4400], "a list that is too long to print"),
        ({"a": 1}, "{'a': 1}"),
        (None, "None"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_values_are_quoted_in_words(value, words):
    assert quoted(value) == words


@pytest.mark.parametrize("data", [["kind"], "kind", [["kind", "regions"]], None, 7])
def test_a_proof_that_is_no_object_is_refused(data):
    with pytest.raises(CertificateError, match="proof has no 'kind'"):
        proof_from(data)


def test_an_object_is_no_list_of_its_keys():
    made = over([0]) | {"kind": "farkas", "sums": [["over", "multipliers"]]}
    with pytest.raises(CertificateError, match=r"proof.sums\[0\] has list instead of"):
        proof_from(made)


def test_the_first_row_may_be_exchanged():
    """Rows that every statement weighs alike stand for each other, as long as they can exist."""
    release = replace(RELEASE, blocks=(tree(LEAVES[0], [(1, 1), (2, 2)]),))
    world = Witness(((0, 0), (1, 0)), (1, 2))
    verified(Possible(box(a=1, b=4)), replace(world, instead=(0, (0, 2))), release)
    barred = replace(release, impossible=(box(a=1, b=4),))
    verified(Possible(box(a=1)), world, barred)
    forged = claimed(Possible(box(a=1, b=4)), replace(world, instead=(0, (0, 2))), barred)
    assert "no row can have the parts [0, 2]" in str(raised(forged)[0])


def test_all_statements_of_an_alternative_count():
    more = Statement.count(Region(box(a=2)), 2, 9, "more")
    either = Choice((EITHER.alternatives[0], (*EITHER.alternatives[1], more)), "a choice")
    release = Release(DOMAIN, RowCount(1, 1), (either,))
    assert "does not meet a choice" in str(raised(claimed(Possible(Box()), Witness(((1, 0),), (1,)), release))[0])


def test_as_many_rows_as_fit_are_added_up():
    most = Release(PAIR, RowCount(1 << 61, 1 << 61), ())
    verified(Possible(Box()), Witness(((0,),), (1 << 61,)), most)


def test_one_open_bound_among_several_is_enough():
    forged = claimed(AtMost(box(b=1), 1 << 80), RegionProof((0, 5)))
    assert "count up to" in str(raised(forged)[0])


def test_regions_are_cut_within_the_memory():
    region = Region(box(a=1), (box(b=1),))
    release = Release(DOMAIN, RowCount(3, 3), ((Statement.count(region, 0, 2, "without"),),))
    for memory in (1, 2 * 8 * 8 * 2):
        forged = claimed(AtMost(Box(), 2), RegionProof((0,)), release, Limits(memory=memory))
        assert isinstance(raised(forged)[0], NotVerified)
    verified(AtMost(box(a=1, b=6), 2), RegionProof((0,)), release, Limits(memory=1 << 20))


def test_at_least_over_cells():
    proof = over([0], [(0, 0), (1, 0)], steps=[[0, "<=", 1, 0], [1, ">=", 2, 10]])
    for rows in (0, 1, 2):
        verified(AtLeast(box(a=2), rows), proof)
    for rows in (3, 4, 9):
        assert "the proof shows at most -2" in str(raised(claimed(AtLeast(box(a=2), rows), proof))[0])
    assert "the proof shows" in str(raised(claimed(AtLeast(box(a=2, b=1), 1), proof))[0])


def test_checked_worlds_and_walked_cells_are_remembered():
    verifier = Verifier(RELEASE)
    verifier.verify(Possible(box(a=1)), WORLD)
    assert verifier._worlds == {(WORLD.parts, WORLD.times)}
    assert verifier.live((0,)) is verifier.live((0,))
    live = Verifier(RELEASE).live((0, 1))
    assert verifier.remember((0, 1), live) is live
    assert verifier.live((0, 1)) is live


def test_a_case_proves_nothing_in_the_next():
    """Bounds and statements of one case are forgotten in the other, those from before are not."""
    one, two = {"steps": [[0, "<=", 1, 8]]}, {"steps": [[0, "<=", 0, 9]]}
    verified(AtMost(box(a=1, b=1), 1), over([3], [(0, 0)], choice=3, cases=[one, two]))
    for claim in (AtMost(box(a=1, b=1), 0), AtLeast(box(a=1, b=1), 1)):
        assert "the proof shows" in str(raised(claimed(claim, over([3], [(0, 0)], choice=3, cases=[one, two])))[0])
    before = over([0, 3], [(0, 0)], steps=[[0, "<=", 1, 0]], choice=3, cases=[{"steps": []}, {"steps": []}])
    verified(AtMost(box(a=1, b=1), 1), before)
    fixed = [[0, "<=", 1, 0], [0, ">=", 1, 0], [1, "<=", 2, 1], [1, ">=", 2, 1]]
    cases = [{"steps": fixed}, {"steps": fixed[:2]}]
    wrong = over([0], [(0,), (1,)], branch=[0, 1], cases=cases)
    del wrong["tree"]["cases"][1]["steps"][1]
    verified(ONLY, wrong, EXACT)


# ---------------------------------------------------------------- clauses


def forward(clauses, lines):
    """Check a proof line by line, deletions done, every clause by unit propagation to a fixpoint."""
    known = [tuple(c) for c in clauses]
    for line in lines:
        words = [w for w in line.split() if w not in ("d", "0")]
        clause = tuple(map(int, words))
        if line.startswith("d"):
            same = [c for c in known if sorted(c) == sorted(clause)]
            known.remove(same[0]) if same else None
            continue
        if not follows(known, clause):
            return False
        if not clause:
            return True
        known.append(clause)
    return False


def random_lines(dice, clauses, n, follow):
    """Return lines of a proof: clauses that follow (or need not), deletions, comments, and the empty clause last."""
    known, lines = [tuple(c) for c in clauses], []
    for _ in range(dice.randrange(0, 12)):
        kind = dice.random()
        if kind < 0.2:
            lines += [f"d {x}" for x in written([dice.choice(known)])]
        elif kind < 0.3:
            lines.append(dice.choice(["c 0 a comment", "", "  ", "c"]))
        else:
            some = tuple(v * dice.choice((1, -1)) for v in dice.sample(range(1, n + 1), dice.randint(1, min(n, 3))))
            some += (some[0],) if kind > 0.9 else ()
            if follow and not follows(known, some):
                continue
            known.append(some)
            lines.append(" ".join(map(str, some)) + dice.choice([" 0", "  0 "]))
    return [*lines, "0"]


@pytest.mark.parametrize("batch", range(5))
def test_clauses_are_accepted_where_they_refute_and_nowhere_else(batch):
    """What the plain rule accepts is accepted, and nothing that can be satisfied is refuted, whatever the lines."""
    dice, right, wrong = random.Random(f"clauses {batch}"), 0, 0
    for _ in range(150):
        n = dice.randint(2, 6)
        clauses = random_clauses(dice, max(n, 3), dice.randint(n, 5 * n))
        clauses += [tuple(dice.choice(clauses)) for _ in range(dice.randrange(0, 3))]
        clauses += [[v, -v] for v in range(1, 3) if dice.random() < 0.2]
        clauses += [[v * dice.choice((1, -1))] for v in range(1, n) if dice.random() < 0.15]
        clauses += [()] if dice.random() < 0.03 else []
        lines = random_lines(dice, clauses, max(n, 3), dice.random() < 0.8)
        found = accepted(clauses, lines)
        plain = [line for line in lines if line.strip() and not line.startswith("c")]
        if satisfiable(clauses, max(n, 3)):
            assert not found, (clauses, lines)
            wrong += 1
        elif forward(clauses, plain):
            assert found, (clauses, lines)
            right += 1
        assert not accepted(clauses, [line for line in lines if line != "0"] + ["1 0"]) or [] in map(list, clauses)
    assert right > 30
    assert wrong > 20


def test_a_line_of_clauses_is_told_by_its_number():
    """Blank lines and comments count; the first clause that the end rests on and that does not follow is named."""
    told = (["", "c 0", "2 0", "0"], 4), (["1 0", "0"], 2), (["c", "0"], 2), (["-1 0", "0"], 1)
    for lines, number in told:
        forged = lambda lines=lines: check_clauses([(1, 2), (-1, 2), (1, -2)], lines)  # noqa: E731
        assert str(raised(forged)[0]).startswith(f"line {number}: does not follow")
    for literal in (3, -3):
        forged = lambda literal=literal: check_clauses([(1, 2), (-1, -2)], [f"{literal} 0", "0"])  # noqa: E731
        assert "a literal beyond the 2 variables" in str(raised(forged)[0])
    forged = lambda: check_clauses([(-1, -2)], ["2 0", "0"])  # noqa: E731
    assert "does not follow" in str(raised(forged)[0])


@pytest.mark.parametrize("batch", range(4))
def test_what_rests_on_a_clause_that_does_not_follow_is_refused(batch):
    """A proof in which each line follows from those before it, but for one: found wherever the end rests on it."""
    dice, tried = random.Random(f"bogus {batch}"), 0
    while tried < 25:
        n = dice.randint(3, 5)
        clauses = [tuple(c) for c in random_clauses(dice, n, dice.randint(2, 2 * n))]
        if not satisfiable(clauses, n):
            continue
        known, lines = list(clauses), []
        while satisfiable(known, n):
            some = tuple(v * dice.choice((1, -1)) for v in dice.sample(range(1, n + 1), dice.choice([1, 2, 2, 3])))
            known.append(some)
            lines += written([some])
        bogus = list(lines)
        signed = [x for v in range(1, n + 1) for x in (v, -v)]
        every = [c for size in (3, 2, 1) for c in itertools.combinations(signed, size) if len({*map(abs, c)}) == size]
        while not follows(known, ()):
            some = dice.choice([c for c in every if c not in known and follows(known, c)])
            known.append(some)
            lines += written([some])
        for kept in (lines, [*lines, f"d {bogus[0]}"]):
            assert not accepted(clauses, [*kept, "0"]), (clauses, kept)
        assert accepted([*clauses, *known[len(clauses) : len(clauses) + len(bogus)]], [*lines, "0"])
        tried += 1


def test_a_clause_is_followed_back_through_others():
    """The end rests on line 2, which follows; line 2 rests on line 1, which does not."""
    forged = lambda: check_clauses([(-2, 1), (-1, 3), (-1, -3)], ["1 2 0", "1 0", "0"])  # noqa: E731
    assert str(raised(forged)[0]).startswith("line 1: does not follow by unit propagation: 1 2")
    check_clauses([(-2, 1), (-1, 3), (-1, -3), (1, 2)], ["1 0", "0"])


def test_deleted_clauses_are_gone_and_come_back():
    """What is deleted serves no later line; the lines before it may rest on it; what is not there may be deleted."""
    square = [(1, 2), (-1, 2), (1, -2), (-1, -2)]
    for lines in (["d 1 2 0", "2 0", "0"], ["d 2 1 0", "2 0", "0"], ["d 2 0", "0"], ["d 1 2 3 0", "0"]):
        assert not accepted([*square, (1, 2, 3)], lines), lines
    for lines in (["2 0", "d 1 2 0", "0"], ["d 3 0", "2 0", "0"], ["d 1 2 3 0", "2 0", "0"], ["2 0", "d 2 0", "0"]):
        assert accepted([*square, (1, 2, 3)], lines), lines
    assert accepted([*square, (1, 2)], ["d 1 2 0", "2 0", "0"]), "it was there twice"
    assert not accepted([*square, (1, 2)], ["d 1 2 0", "d 1 2 0", "2 0", "0"])


def test_a_line_may_rest_on_what_is_deleted_after_it():
    formula = [(1, 2, 3), (1, 2, -3), (1, -2), (-1, 2), (-1, -2)]
    assert accepted(formula, ["1 2 0", "d 1 2 3 0", "2 0", "0"])
    assert not accepted(formula, ["d 1 2 3 0", "1 2 0", "2 0", "0"])


def test_lines_that_nothing_rests_on_need_not_follow():
    square = [(1, 2), (-1, 2), (1, -2), (-1, -2), (3, 4, 5)]
    assert accepted(square, ["3 0", "4 5 0", "2 0", "0"])
    assert accepted(square, ["1 -1 0", "3 -3 4 0", "2 0", "0"])


def test_time_that_is_left_ends_nothing():
    check_clauses([(1, 2), (-1, 2), (1, -2), (-1, -2)], ["1 2 0"] * 90 + ["2 0", "0"], Limits(seconds=1e9))


# ---------------------------------------------------------------- the rules of sums and steps


def test_a_sum_uses_lower_bounds_too():
    """Three rows, two of which have a = 1: that leaves one, by the number of rows and a bound found before."""
    proof = over([0], [(0, 0), (1, 0)], sums=[(1, [(10, 1)])], steps=[[1, ">=", 2, 10]], sum=0)
    proof["tree"]["steps"] = [[0, "<=", 1, 0], [1, ">=", 2, 10]]
    verified(AtMost(box(a=1), 1), proof)


@pytest.mark.parametrize(("y", "low", "high"), [(-1, -UNBOUNDED, 9), (1, -9, UNBOUNDED)])
def test_a_multiplier_of_an_open_side_is_refused(y, low, high):
    stated = (Statement.sum(Region(Box()), low, high, "a sum", of=1, coefs=(0, 1, 2)),)
    release = Release(DOMAIN, RowCount(3, 3), (stated,))
    forged = claimed(AtMost(Box(), 1 << 80), over([0], sums=[(1, [(0, y)])], sum=0), release)
    assert f"statement 0 says nothing that its multiplier {y} could use" in str(raised(forged)[0])
    verified(AtMost(Box(), 1 << 80), over([0], sums=[(1, [(0, -y)])], sum=0), release)


def test_long_proofs_are_replayed_to_the_end():
    verified(AtMost(box(a=1), 1), over([0], [(0, 0)], steps=[[0, "<=", 1, 0]] * 600), limits=Limits(seconds=1e9))


@pytest.mark.parametrize(("coef", "low", "high", "ends"), [(2, 3, 7, (2, 3)), (-2, -7, -3, (2, 3)), (3, -1, 8, (0, 2))])
def test_steps_round_to_the_inside(coef, low, high, ends):
    """Whole rows: 2z >= 3 says z >= 2, and -2z >= -7 says z <= 3; a side that is open says nothing."""
    for least, most in ((low, high), (-UNBOUNDED, high), (low, UNBOUNDED)):
        checker = Verifier(wide((coef,), 9, least, most))
        replay = CellReplay(checker.facts, checker.live((0,)), proof_from(over([0], [(0,)])), Limits())
        for upper in (False, True):
            uses = most if upper == (coef > 0) else least
            said = replay.implied(int(replay.cells[0]), upper, 0)
            assert said == (None if abs(uses) == UNBOUNDED else ends[upper])


def test_clauses_are_of_the_blocks_and_of_the_claims_opposite():
    """One row, which has a = 1: each true claim is refuted when turned round, and no claim next to it."""
    one = Release(PAIR, RowCount(1, 1), (tree(LEAVES[0], [(0, 0), (1, 1)]),))
    proof = {"kind": "drat", "blocks": [0], "lines": ["0"]}
    for claim in (AtMost(box(a=1), 0), AtMost(box(a=2), 1), AtLeast(box(a=2), 1), AtLeast(box(a=2), 0)):
        verified(claim, proof, one)
        verified(claim, proof, one, Limits(seconds=1e9))
    for claim in (AtMost(box(a=2), 0), AtLeast(box(a=1), 1), NoWorld()):
        assert "does not follow" in str(raised(claimed(claim, proof, one))[0])
    assert "does not follow" in str(raised(claimed(AtMost(box(a=1), 0), proof | {"blocks": []}, one))[0])
    for blocks in ([0, 4], [4, 0], [0, -1]):
        assert "or one that does not exist" in str(raised(claimed(NoWorld(), proof | {"blocks": blocks}, one))[0])


@pytest.mark.parametrize("parts", [65, 130])
def test_attributes_of_more_parts_than_a_word_has_bits(parts):
    """A cell lies inside a box where every word of it does, and meets it where some word does."""
    domain, cut = RowSpace((Attribute("b", (1, 1)), Attribute("a", (1,) * parts))), parts - 1
    leaves = [Box(((1, (1 << cut) - 1),)), Box(((1, 1 << cut),))]
    live = live_cells(NumberedStatements(Release(domain, RowCount(3, 3), (tree(leaves, [(1, 1), (2, 2)]),))), (0,))
    first = int(cells_at(NumberedStatements(Release(domain, RowCount(3, 3), ())), live, [(0, 0)])[0])
    if parts == 130:
        assert int(cells_at(NumberedStatements(Release(domain, RowCount(3, 3), ())), live, [(0, 64)])[0]) == first
    assert int(cells_at(NumberedStatements(Release(domain, RowCount(3, 3), ())), live, [(1, cut)])[0]) == 1 - first
    for mask in (1, (1 << 64) - 1, 1 << (cut - 1), (1 << cut) - 1, 1 << cut, (1 << parts) - 1):
        held = [mask >> p & 1 for p in range(parts)]
        asked = Box(((1, mask),))
        assert live.meeting(asked)[first] == any(held[:cut])
        assert live.inside(asked)[first] == all(held[:cut])
        assert live.meeting(asked)[1 - first] == live.inside(asked)[1 - first] == bool(held[cut])


# ---------------------------------------------------------------- pieces as words of bits

WIDE = RowSpace((Attribute("a", (1,) * 130), Attribute("b", (1, 2, 3)), Attribute("c", (1,) * 12)))


def pieces(dice, layout, number):
    """Return random boxes, as words and as one bit mask per attribute."""
    masks = [
        [
            dice.choice([a.full, dice.randrange(1, a.full + 1), 1 << dice.randrange(len(a.sizes))])
            for a in WIDE.attributes
        ]
        for _ in range(number)
    ]
    masks += [[(1 << 64) - 1, 1, 1], [((1 << 130) - 1) ^ 1, 7, 3]]
    return np.array([np.concatenate([padded(m, layout.span(k).stop - layout.span(k).start) for k, m in enumerate(row)])
                     for row in masks], dtype=np.uint64), masks  # fmt: skip


def masks_of(layout, words):
    """Return pieces as one bit mask per attribute."""
    spans = [layout.span(k) for k in range(len(layout.domain.attributes))]
    return [[sum(w << (64 * j) for j, w in enumerate(row[span])) for span in spans] for row in words.tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_words_of_bits_are_sets_of_parts(seed):
    """Boxes of attributes of 130, 3 and 12 parts, split by boxes and by parts, against bit masks."""
    dice, layout = random.Random(seed), WordLayout(WIDE)
    words, masks = pieces(dice, layout, 12)
    assert masks_of(layout, words) == masks
    full = [a.full for a in WIDE.attributes]
    named = [tuple((k, m) for k, m in enumerate(row) if m != full[k]) for row in masks]
    assert [b.literals for b in layout.boxes(words)] == named
    found, back = distinct_words(words)
    assert found[back].tolist() == words.tolist()
    assert layout.sizes(words).tolist() == [
        a.bit_count() * sum(i + 1 for i in range(3) if b >> i & 1) * c.bit_count() for a, b, c in masks
    ]
    for box_masks in masks:
        asked = Box.of([(k, m) for k, m in enumerate(box_masks) if m != full[k]])
        inside, inside_of, outside, outside_of = split_pieces(layout, words, asked)
        both = [[x & y for x, y in zip(row, box_masks, strict=True)] for row in masks]
        assert inside_of.tolist() == [i for i, row in enumerate(both) if all(row)]
        assert masks_of(layout, inside) == [row for row in both if all(row)]
        assert all(all(row) for row in masks_of(layout, outside))
        sizes = layout.sizes(words)
        for i in range(len(words)):
            assert sizes[i] == layout.sizes(inside[inside_of == i]).sum() + layout.sizes(outside[outside_of == i]).sum()
        left, right = box_masks[0], full[0] ^ box_masks[0]
        parts, origins, sets = split_parts(layout, words, 0, [left, right])
        wanted = [(i, j, row[0] & m) for j, m in enumerate((left, right)) for i, row in enumerate(masks) if row[0] & m]
        got = [row[0] for row in masks_of(layout, parts)]
        assert list(zip(origins.tolist(), sets.tolist(), got, strict=True)) == wanted


@pytest.mark.parametrize("chunk", [1, 1 << 22])
def test_pieces_meet_the_boxes_that_they_share_a_row_with(monkeypatch, chunk):
    monkeypatch.setattr(bit_boxes, "CHUNK", chunk)
    layout = WordLayout(WIDE)
    words, masks = pieces(random.Random(0), layout, 20)
    for k, cuts in ((0, [1, 64, 65, 129]), (1, [1, 2]), (2, [3, 9])):
        ends = [0, *cuts, len(WIDE.attributes[k].sizes)]
        leaves = [((1 << j) - 1) ^ ((1 << i) - 1) for i, j in itertools.pairwise(ends)]
        covering = Covering(layout, Boxes.of([Box(((k, m),)) for m in leaves]))
        piece, leaf = covering.meet(words, pack_rows(np.ones((len(words), len(leaves)), dtype=bool)))
        wanted = [(i, j) for i, row in enumerate(masks) for j, m in enumerate(leaves) if row[k] & m]
        assert sorted(zip(piece.tolist(), leaf.tolist(), strict=True)) == wanted


def test_boxes_of_attributes_of_any_width_come_back_from_their_words():
    """One word, two and three of each box; a box of everything names no attribute."""
    space = RowSpace((Attribute("a", (1, 2, 3)), Attribute("b", (1,) * 100), Attribute("c", (2,) * 130)))
    layout = WordLayout(space)
    assert layout.boxes(layout.rows(Boxes.of([Box(), Box()]))) == [Box(), Box()]
    boxes = [Box(((1, 1 << 70),)), Box(((1, 1 << 99 | 1),)), Box(((1, 1),)), Box(((0, 5), (2, 1 << 129))), Box(),
             Box(((0, 2), (1, 1 << 99), (2, 3)))]  # fmt: skip
    words = layout.rows(Boxes.of(boxes))
    assert layout.boxes(words) == boxes
    assert layout.sizes(words).tolist() == [box.size(space) for box in boxes]
    for k, attribute in enumerate(space.attributes):
        masks = [dict(box.literals).get(k, attribute.full) for box in boxes]
        wanted = [[bool(mask >> part & 1) for part in range(len(attribute.sizes))] for mask in masks]
        assert layout.parts(words, k).tolist() == layout.parts_of(words[:, layout.span(k)], k) == wanted


def test_more_than_sixty_four_boxes_are_met():
    layout, rng = WordLayout(WIDE), random.Random(1)
    words, masks = pieces(rng, layout, 20)
    leaves = [Box(((0, 1 << part),)) for part in range(130)]
    alive = np.array([[rng.random() < 0.5 for _ in leaves] for _ in words])
    piece, leaf = Covering(layout, Boxes.of(leaves)).meet(words, pack_rows(alive))
    wanted = [(i, j) for i, mask in enumerate(masks) for j in range(130) if alive[i][j] and mask[0] >> j & 1]
    assert sorted(zip(piece.tolist(), leaf.tolist(), strict=True)) == wanted
    assert wanted[-1][1] > 64


GRID = [Box(((0, 1 << a), (1, b))) for a in (0, 64, 129) for b in (1, 6)]
EVERYTHING = Box()


@pytest.mark.parametrize(("boxes", "nobody", "apart"), [
    ([*GRID, EVERYTHING], {6}, True),
    ([*GRID, EVERYTHING], {0, 6}, True),
    ([*GRID, EVERYTHING], {0, 3}, True),  # rows of the last box count, so that it must be cut
    ([*GRID, EVERYTHING], {1}, True),
    ([*GRID, EVERYTHING], {5}, True),
    ([GRID[0], EVERYTHING], {1}, True),
    ([Box(((2, 1 << c),)) for c in (0, 11)] + [EVERYTHING], {2}, True),
    ([*GRID, GRID[1], EVERYTHING], {7}, False),
    ([*GRID, Box(((0, 3), (1, 1))), EVERYTHING], {7}, False),
    ([*GRID, Box(((0, 2), (1, 3))), EVERYTHING], {7}, False),
    ([*GRID, Box(((0, 2), (2, 1))), EVERYTHING], {7}, False),
    ([*GRID, Box(((0, 2),)), EVERYTHING], {7}, False),
    ([GRID[0], Box(((0, 3), (1, 2))), EVERYTHING], {2}, False),
    (GRID, {5}, False),
    ([EVERYTHING], set(), False),
    ([EVERYTHING, EVERYTHING], {1}, False),
])  # fmt: skip
def test_known_rows_are_met_at_once_and_rules_one_after_another(boxes, nobody, apart):
    """Every row of every piece is looked up in the first box that holds it."""
    layout, n = WordLayout(WIDE), len(boxes)
    words, masks = pieces(random.Random(n), layout, 12)
    made = replace(tree(boxes, [(0, 0 if j in nobody else 3) for j in range(n)]), first_match=True)
    (cut,) = cuts_of(StatementIndex(Release(WIDE, RowCount(3, 3), (made,))), [0])
    assert cut.apart is apart
    allowed = np.array([j not in nobody for j in range(n)])
    found, of, value = cut.apply(words, np.zeros(len(words), dtype=np.int64), allowed, lambda held, width: None)
    full = [a.full for a in WIDE.attributes]
    tests = [[dict(one.literals).get(k, m) for k, m in enumerate(full)] for one in boxes]
    got = list(zip(of.tolist(), value.tolist(), masks_of(layout, found), strict=True))
    rows = list(itertools.product((0, 1, 2, 63, 64, 65, 129), range(3), (0, 1, 11)))
    held = lambda row, mask: all(m >> part & 1 for part, m in zip(row, mask, strict=True))  # noqa: E731
    for i, piece in enumerate(masks):
        for row in rows:
            first = next((j for j, asked in enumerate(tests) if held(row, asked)), None)
            wanted = [first] if held(row, piece) and first is not None and allowed[first] else []
            assert [j for at, j, mask in got if at == i and held(row, mask)] == wanted


SMALL = RowSpace((Attribute("a", (1, 1, 1)), Attribute("b", (1, 1)), Attribute("y", (1, 1))), label=2)


def every_piece(layout, words, row):
    """Return the numbers of the pieces that hold a row."""
    return [
        i for i, mask in enumerate(masks_of(layout, words)) if all(m >> p & 1 for p, m in zip(row, mask, strict=True))
    ]


def no_room(held, width):
    raise TooLarge("no room")


def test_rows_of_the_last_box_that_count_with_one_label_are_cut():
    layout, boxes = WordLayout(SMALL), [Box(((0, 1),)), Box(((0, 2),)), Box()]
    each = np.arange(6, dtype=np.int64)
    labels = (each % 2).astype(np.int32)
    made = Partition("t", Boxes.of(boxes), True, (each // 2).astype(np.int32), labels, 0 * each, each, ("p", "q", "r"))
    (cut,) = cuts_of(StatementIndex(Release(SMALL, RowCount(0, 9), (made,))), [0])
    words = with_labels(layout, layout.full[None], [cut])
    found, _, value = cut.apply(words, labels_of(layout, words), each != 4, lambda held, width: None)
    for row in itertools.product(range(3), range(2), range(2)):
        statement = 2 * min(row[0], 2) + row[2]
        assert [value[i] for i in every_piece(layout, found, row)] == ([statement] if statement != 4 else [])


def test_numbers_of_two_attributes_are_multiplied_and_added_up():
    """Of a region without a box, in two summands of the same rows and numbers; another statement counts."""
    layout, calls = WordLayout(SMALL), []
    region, counted = Region(Box(((0, 6),)), (Box(((0, 2), (1, 1))),)), Region(Box(((2, 1),)))
    numbers = ((0, (1, 2, 3)), (1, (10, 20)))
    summed = Statement((Summand(region, 1, numbers), Summand(region, 2, numbers)), 0, 99, "s")
    block = Loose((summed, Statement.count(counted, 0, 9, "c")))
    cuts = cuts_of(StatementIndex(Release(SMALL, RowCount(0, 9), (block,))), [0])
    words, values = layout.full[None], []
    for cut in cuts:
        words, back, value = cut.apply(words, np.zeros(len(words), dtype=np.int64), np.ones(2, dtype=bool),
                                       lambda held, width: calls.append(held))  # fmt: skip
        values = [*(before[back] for before in values), value]
    assert len(cuts) == 3
    assert calls[:3] == [3, 4, 5]
    found = joined_entries([cut.entries(value) for cut, value in zip(cuts, values, strict=True)], cuts)
    lines = [tuple(line) for line in np.array(found).T.tolist()]
    assert len({line[:2] for line in lines}) == len(lines)
    for row in itertools.product(range(3), range(2), range(2)):
        (piece,) = every_piece(layout, words, row)
        wanted = [(0, piece, 3 * (row[0] + 1) * (10, 20)[row[1]])] if region.holds(row) else []
        wanted += [(1, piece, 1)] if counted.holds(row) else []
        assert sorted(line for line in lines if line[1] == piece) == wanted
    with pytest.raises(TooLarge):
        cuts[0].apply(layout.full[None], np.zeros(1, dtype=np.int64), np.ones(2, dtype=bool), no_room)


def test_what_is_left_of_pieces_without_a_region_is_disjoint():
    layout = WordLayout(SMALL)
    region = Region(Box(((0, 3),)), (Box(((0, 1), (1, 1))), Box(((1, 2), (2, 1)))))
    found = disjoint_pieces(layout, layout.full[None], region, lambda held, width: None)
    for row in itertools.product(range(3), range(2), range(2)):
        assert len(every_piece(layout, found, row)) == (not region.holds(row))
    with pytest.raises(TooLarge):
        disjoint_pieces(layout, layout.full[None], region, no_room)


@pytest.mark.parametrize("columns", [0, 1, 64, 65, 130])
def test_bits_are_packed_into_as_many_words_as_they_need(columns):
    rows = np.ones((3, columns), dtype=bool)
    found = pack_rows(rows)
    assert found.shape == (3, max(1, (columns + 63) // 64))
    assert [sum(w << (64 * j) for j, w in enumerate(row)) for row in found.tolist()] == [(1 << columns) - 1] * 3


def test_row_spaces_beyond_64_bits_are_counted():
    layout = WordLayout(RowSpace(tuple(Attribute(f"x{i}", (1 << 30, 1)) for i in range(3))))
    assert layout.sizes(layout.full[None]).tolist() == [((1 << 30) + 1) ** 3]


# ---------------------------------------------------------------- cuts and their room


def test_cuts_say_what_they_are_about_to_hold():
    """Every step of a cut asks for room for all that it holds then."""
    layout, asked = WordLayout(DOMAIN), []
    words, allowed = layout.full[None], np.ones(9, dtype=bool)
    labels = labels_of(layout, words)
    room = lambda held, width: asked.append((held, width))  # noqa: E731
    boxes = [box(a=1), box(b=1), Box()]
    release = Release(DOMAIN, RowCount(3, 3), (replace(tree(boxes, [(0, 3)] * 3), first_match=True),))
    cut = cuts_of(StatementIndex(release), [0])[0]
    found, _, value = cut.apply(words, labels, allowed, room)
    sizes = [2, 3, 3] if len(found) == 3 else []
    assert [held for held, _ in asked] == sizes
    assert value.tolist() == [0, 1, 2]
    asked.clear()
    release = Release(DOMAIN, RowCount(3, 3), (tree(LEAVES[0], [(0, 3)] * 2),))
    cuts_of(StatementIndex(release), [0])[0].apply(words, labels, allowed, room)
    assert asked == [(2, words.shape[1])]
    asked.clear()
    region = Region(Box(), (box(a=1), box(b=1)))
    release = Release(DOMAIN, RowCount(3, 3), ((Statement.count(region, 0, 3, "without"),),))
    cut = cuts_of(StatementIndex(release), [0])[0]
    _, _, value = cut.apply(words, labels, allowed, room)
    assert [held for held, _ in asked] == [1, 2]
    assert value.tolist() == [0, OUTSIDE, OUTSIDE]
    assert cut.weights(value).tolist() == [[1, 0, 0]]


def test_one_count_of_none_bars_a_region():
    stated = tuple(Statement.count(Region(box(a=1)), 0, most, "a count") for most in (0, 3))
    index = StatementIndex(Release(DOMAIN, RowCount(3, 3), (stated,)))
    words = WordLayout(DOMAIN).full[None]
    for cut in cuts_of(index, [0]):
        _, _, value = cut.apply(words, np.zeros(1, dtype=np.int64), index.high > 0, lambda held, width: None)
        assert set(value.tolist()) == {OUTSIDE}


def test_labels_are_apart_where_one_region_tells_them_apart():
    domain = RowSpace((Attribute("a", (1, 1)), Attribute("y", (1, 1))), 1)
    made = tree([Box(((0, 1),)), Box(((0, 2),))], [(0, 3)] * 2)
    of, label, some = np.array([0, 1, 1], dtype=np.int32), np.array([-1, 0, 1], dtype=np.int32), np.zeros(3, dtype=int)
    label[0] = made.label[0]
    made = replace(made, region=of, label=label, low=some, high=some + 3, labels=("n", "y"))
    layout, index = WordLayout(domain), StatementIndex(Release(domain, RowCount(3, 3), (made,)))
    assert len(with_labels(layout, layout.full[None], cuts_of(index, [0]))) == 2


def test_walks_keep_to_the_memory_and_to_the_number_of_pieces():
    stated = (Statement.count(Region(box(a=1)), 0, 3, "a count"),)
    release = Release(PAIR, RowCount(3, 3), (stated,), ())
    width = WordLayout(PAIR).at[-1]
    need = 8 * 8 * 2 * (width + 1)  # two pieces, each of its words and one value
    assert live_cells(NumberedStatements(release, Limits(memory=need)), (0,)).cells == 2
    for memory in (1, need - 1):
        with pytest.raises(NotVerified, match="pieces"):
            live_cells(NumberedStatements(release, Limits(memory=memory)), (0,))
    with pytest.raises(NotVerified, match="pieces"):
        start_of(NumberedStatements(replace(release, impossible=(box(a=1),)), Limits(memory=1)), ())
    assert live_cells(NumberedStatements(release), (0,), maximum=2).cells == 2
    with pytest.raises(NotVerified, match="more than 1 pieces"):
        live_cells(NumberedStatements(release), (0,), maximum=1)
    one = padded(1, 1)
    given = np.array([[one[0]] * width], dtype=np.uint64)
    assert start_of(NumberedStatements(release), (), given).tolist() == given.tolist()


def test_without_blocks_all_rows_are_one_cell(monkeypatch):
    facts, rows = (
        NumberedStatements(Release(PAIR, RowCount(3, 3), ())),
        [[0] * len(PAIR.attributes), [1] * len(PAIR.attributes)],
    )
    for few in (1 << 22, -1):
        monkeypatch.setattr(cells_module, "MAX_PAIRWISE", few)
        assert cells_at(facts, live_cells(facts, ()), rows).tolist() == [0, 0]


def test_numbers_beyond_the_statements_are_refused():
    index = StatementIndex(
        Release(PAIR, RowCount(1, 1), (tree(LEAVES[0], [(0, 0), (1, 1)]), tree(LEAVES[0], [(0, 1)] * 2)))
    )
    assert [index.block_of(s) for s in range(4)] == [0, 0, 1, 1]
    for s in (-1, 4, 5):
        with pytest.raises(IndexError):
            index.block_of(s)
    assert [index.source(s) for s in range(5)] == [*index.sources(), ROWS]


WATCHED = (
    (
        "2 3 1 0 -1 -2 3 0 -2 1 3 0 -2 -3 0 2 0",
        "-1 -3 -2 -1 0; 3 2  0; 3 0; 0",
    ),
    (
        "-4 2 -1 0 -4 5 -3 0 -3 -4 -1 0 3 -4 5 0 -3 1 0 2 3 1 0 3 5 2 1 -4 0 -5 4 1 0 5 -1 4 0 4 2 0 2 4 "
        "-3 0 3 4 0 3 -2 0 -5 -3 -2 0 2 -1 -5 0 -1 4 -5 0 5 0 5 1 0 5 0 -2 5 0",
        "2 -3 -1  0; 3 -4 -5  0; c; -3 -5 0; -1 3 4 -1  0; 0",
    ),
    (
        "2 3 -4 0 2 3 4 1 0 -4 3 -2 0 1 4 0 2 -3 0 3 4 -2 0 1 -3 -2 0 -3 -1 -2 0 3 -1 2 0 4 -2 0",
        "1 3 0; 1  0; 4 -1 4  0; -1 3  0; d -3 -1 -2 0; 0",
    ),
    (
        "-2 4 -3 0 -4 2 3 0 -4 -2 0 -2 3 -1 0 2 -3 4 0 2 -4 0 4 3 0 -1 -2 3 0 -2 -4 0 -2 -1 3 0",
        "3 2  0; -1  0; -2 0; 4 2 1 0; 0",
    ),
    (
        "1 2 3 0 3 2 -1 0 1 2 3 0 1 2 3 0 1 -3 -2 0 -1 3 0 3 -2 1 0 -1 3 -2 0 -2 -1 -3 0 2 1 -3 0 -3 -2 "
        "0 -1 -2 3 0 -1 3 2 0 2 -1 -3 0",
        "1 -3 0; 1 3  0; -3  0; d 1 3 0; 0",
    ),
)


@pytest.mark.parametrize(("clauses", "lines"), WATCHED)
def test_watches_that_move_and_stay_are_kept(clauses, lines):
    """Found at random: a checker that loses one watch of a clause refuses these true proofs."""
    formula = [tuple(map(int, c.split())) for c in clauses.removesuffix(" 0").split(" 0 ")]
    assert not satisfiable(formula, 5)
    assert accepted(formula, lines.split("; "))


def test_clauses_are_those_of_sorted_rows_and_have_the_time_that_is_left(monkeypatch):
    """What is checked is our own lowering, row by row in order, within the limits given."""
    seen = []
    monkeypatch.setattr(rup_module, "check", lambda *given: seen.append(given))
    claim, proof = AtMost(box(a=1), 1), Drat((0, 1), ("0",))
    given = (Limits(), Limits(seconds=1e6))
    for limits in given:
        _check_drat(NumberedStatements(RELEASE), claim, proof, limits)
    wanted = lower(negated(RELEASE, (0, 1), claim), Limits(), raw=False, sorted_rows=True).clauses
    assert [list(map(tuple, clauses)) for clauses, _, _ in seen] == [list(map(tuple, wanted))] * 2
    assert tuple(limits for _, _, limits in seen) == given


class FakeReplay:
    """What is left of leaf values: a release with three boosted models, and whether the leaf values say all."""

    def __init__(self, fixed):
        self.says_all = fixed

    def release(self):
        return replace(RELEASE, boosted=("first", "second", "third"))

    def fixed(self):
        return self.says_all


REGIONS = RegionProof((0,))


def leaf_values(model=0, steps=(), last=REGIONS):
    return LeafValues(model, tuple(steps), last)


def test_leaf_values_are_replayed_for_every_model_and_steps_once(monkeypatch):
    """Claims that share a model and steps share the replay; another model with the same steps has its own."""
    asked = []

    def replayed(_, proof, __):
        asked.append((proof.model, proof.steps))
        return asked[-1]

    monkeypatch.setattr(checker.replay, "replayed", replayed)
    judge = Verifier(RELEASE)
    for proof in (leaf_values(0), leaf_values(0, last=RegionProof((1,))), leaf_values(1), leaf_values(1, [Refined(2)])):
        assert judge.replayed(proof) == (proof.model, proof.steps)
    assert asked == [(0, ()), (1, ()), (1, (Refined(2),))]


@pytest.mark.parametrize(
    ("worlds", "says_all", "nested", "left"),
    [
        (True, True, False, ("first", "third")),
        (True, False, False, ("first", "second", "third")),
        (False, True, False, ("first", "second", "third")),
        (True, True, True, ("first", "second", "third")),  # proofs inside name models by their number
    ],
)
def test_models_are_left_out_where_leaf_values_say_all_of_worlds(monkeypatch, worlds, says_all, nested, left):
    monkeypatch.setattr(checker.replay, "replayed", lambda *_: FakeReplay(says_all))
    judge = Verifier(RELEASE)
    proof = leaf_values(1, last=leaf_values(2) if nested else REGIONS)
    found = judge.beyond(proof, worlds)
    assert found.facts.release.boosted == left
    assert judge.beyond(proof, worlds) is found
    assert judge.beyond(proof, not worlds) is not found


MALFORMED = (
    ({"kind": "removals", "steps": [], "more": 1}, r"proof has \["),
    ({"kind": "alignment", "replays": [], "more": 1}, r"proof has \["),
    ({"kind": "removals", "steps": ["revised"]}, r"proof\.steps\[0\] is not a step"),
    ({"kind": "removals", "steps": [[]]}, r"proof\.steps\[0\] is not a step"),
    ({"kind": "removals", "steps": [{}]}, r"proof\.steps\[0\] is not a step"),
    ({"kind": "removals", "steps": [7]}, r"proof\.steps\[0\] is not a step"),
    ({"kind": "removals", "steps": [["labelled", [1], [1], 1, [7]]]}, "is no weight"),
    ({"kind": "leaf_values", "model": 0, "steps": [7], "last": {}}, r"proof\.steps\[0\] is not a step"),
    (over([0], steps=[7]) | {"kind": "propagation"}, r"proof\.tree\.steps\[0\] is not a step"),
    ({"kind": "removals", "steps": [[["revised"], 1]]}, r"proof\.steps\[0\] is not a step"),
    ({"kind": "removals", "steps": [["revised", "1"]]}, r"proof\.steps\[0\]\[1\] is"),
    ({"kind": "removals", "steps": [["assumed", "a", 1, []]]}, r"proof\.steps\[0\]\[1\] is"),
    ({"kind": "removals", "steps": [["assumed", 1, "a", []]]}, r"proof\.steps\[0\]\[2\] is"),
    ({"kind": "removals", "steps": [["filled", "a", 1, []]]}, r"proof\.steps\[0\]\[1\] is"),
    ({"kind": "removals", "steps": [["needed", 1, "a", []]]}, r"proof\.steps\[0\]\[2\] is"),
    ({"kind": "removals", "steps": [["labelled", [1], [1], "a", []]]}, r"proof\.steps\[0\]\[3\] is"),
    ({"kind": "removals", "steps": [["labelled", [1], [1], 1, [[0, 0, 1, 0]]]]}, "is no weight"),
    ({"kind": "removals", "steps": [["labelled", [1], [1], 1, ["0010"]]]}, "is no weight"),
    ({"kind": "removals", "steps": [["labelled", [1], [1], 1, [[0, 0, True]]]]}, "is no weight"),
    ({"kind": "leaf_values", "model": "a", "steps": [], "last": {"kind": "removals", "steps": []}}, r"proof\.model is"),
    ({"kind": "leaf_values", "model": 0, "steps": ["refined"], "last": {}}, r"proof\.steps\[0\] is not a step"),
    ({"kind": "leaf_values", "model": 0, "steps": [[]], "last": {}}, r"proof\.steps\[0\] is not a step"),
    ({"kind": "leaf_values", "model": 0, "steps": [[["refined"], 1]], "last": {}}, r"proof\.steps\[0\] is not a step"),
    ({"kind": "leaf_values", "model": 0, "steps": [["refined", "a"]], "last": {}}, r"proof\.steps\[0\]\[1\] is"),
)


@pytest.mark.parametrize(("data", "why"), MALFORMED)
def test_malformed_proofs_are_refused_by_place(data, why):
    with pytest.raises(CertificateError, match=why):
        proof_from(data)


@pytest.mark.parametrize("levels", [0, 1])
def test_boosted_models_one_after_the_other_have_an_end(levels):
    """As many as the format allows are read, one more is not."""
    data = {"kind": "removals", "steps": []}
    for _ in range(MAX_MODELS + levels):
        data = {"kind": "leaf_values", "model": 0, "steps": [], "last": data}
    if levels:
        with pytest.raises(CertificateError, match="more than 20 boosted models"):
            proof_from(data)
    else:
        assert isinstance(proof_from(data), LeafValues)


class SpanOfTwoWords:
    """Meetings of which every tree has two words of values."""

    def span(self, t):
        return slice(2 * t, 2 * t + 2)


def remaining(words):
    out = RemainingDomains.__new__(RemainingDomains)
    out.meetings, out.words = SpanOfTwoWords(), np.array(words, dtype=np.uint64)
    out.stale = np.zeros((len(words), len(words[0]) // 2), dtype=bool)
    return out


def test_values_beyond_one_word_are_left_and_taken_away():
    """A row of a tree with more than 64 values may have all it is left in one word."""
    left = remaining([[3, 3, 7, 7], [1, 0, 7, 7], [0, 4, 7, 7], [1, 0, 7, 7]])
    left.keep(np.array([0, 1, 2]), 0, np.array([3, 4], dtype=np.uint64))
    assert left.words.tolist() == [[3, 0, 7, 7], [1, 0, 7, 7], [0, 4, 7, 7], [1, 0, 7, 7]]
    assert left.stale.tolist() == [[True, False], [False, False], [False, False], [False, False]]
    with pytest.raises(NothingLeftError):
        left.keep(np.array([1, 2]), 0, np.array([1, 0], dtype=np.uint64))
