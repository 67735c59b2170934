"""The audit: every question an officer asks of a release, asked once; formats nothing (see `recon.report.report`).

Everything an audit finds, gathered in one value: each question asked once, what matters most first.

What knowing how the model was chosen adds to a release, and about whom, as an audit has it.

The true rows beside what leaf values determine: how many known rows are true, and what is right by chance.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.io.files.opening import current, used_up
from recon.queries.answers.counting import convention_of, count, no_positions_reason
from recon.queries.bounds.disclosure import (
    IntervalCells,
    disclosed_values,
    interval_cells,
    interval_tables,
    numeric_target,
    tells,
)
from recon.queries.certificates.certificate_format import Json
from recon.queries.leaf_values.determined import Determined, determined
from recon.queries.measures.attribute_bits import attribute_bits, forced_groups
from recon.queries.measures.figures import Measures, empty, groups_left_out, uncounted
from recon.queries.measures.measures import measure
from recon.readers.inspection.inspecting import Inspection, inspect
from recon.readers.loading.settled import PicklableRelease, as_released, proofs, strengthened_release
from recon.release.auditing.findings import (
    AuditFindings,
    Emptiness,
    GroupDisclosure,
    GroupSize,
    NoiseEffect,
    NoiseWorldsEffect,
    first_asked,
    truth_check,
)
from recon.release.auditing.together import AuditContext, Question, QuestionBatch, judged_together
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.displayed import many
from solvers.foundation.errors import ContradictionError, EmptyConfidenceSet, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.exact import log2_worlds
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition

if TYPE_CHECKING:
    import pandas as pd

    from encoders.models.models import Tree
    from recon.queries.leaf_values.remedies import Line, Remedy
    from recon.queries.located.placed_rows import PlacedRows
    from recon.queries.questions.which_columns import OpenedLabels

REPEATS = 3  # draws of every baseline


def beside_truth(
    release: EncodedRelease, found: Determined, truth: pd.DataFrame, population: pd.DataFrame | None, seed: int = 0
) -> Mapping[str, Any]:
    """Return the true rows beside what is proved: how many of the known rows are true, and what baselines have right.

    `right`: rows known with label that are true rows of their cell (None: nothing is proved); `marginals`, `other`:
    shares of the true rows that equal rows drawn from the true marginals, and other rows of the same kind (`other_is`).
    """
    from recon.readers.frames.describe import named_like
    from recon.readers.frames.selections import raw_indices, whole_rows
    from recon.release.auditing.matching import fresh, halves, marginals

    truth = whole_rows(named_like(truth, release.domain)[0], release.domain)
    real = raw_indices(release.domain, truth)
    rng, n = np.random.default_rng(seed), len(real)
    by_chance = [_share_equal(real, marginals(real, n, rng)) for _ in range(REPEATS if n else 0)]
    if population is not None:
        people = raw_indices(release.domain, named_like(population, release.domain)[0])
        size, source = min(n, len(people)), "a fresh sample of the population"
        other = [_share_equal(fresh(real, size, rng), fresh(people, size, rng)) for _ in range(REPEATS)]
    else:
        source = "one half of the true rows beside the other"
        other = [_share_equal(*halves(real, rng)) for _ in range(REPEATS if n > 1 else 0)]
    means = (float(np.mean(shares)) if shares else None for shares in (by_chance, other))
    right = _true_rows(release, found, truth)
    return dict(zip(("right", "marginals", "other", "other_is"), (right, *means, source), strict=True))


def _share_equal(real: NDArray[Any], guess: NDArray[Any]) -> float:
    """Return the share of true rows that equal rows of a guess, each counted once."""
    from recon.release.auditing.matching import group_rows

    _, times, guessed = group_rows(real, guess)
    return float(np.minimum(times, guessed).sum() / max(1, len(real)))


def _true_rows(release: EncodedRelease, found: Determined, truth: pd.DataFrame) -> int | None:
    """Return how many rows proved with their label are true rows of that cell and label; None where none is proved."""
    from recon.readers.frames.world import TrueRows

    for settled, block in proofs(strengthened_release(release).statements):
        if settled.model == found.number:
            counts = TrueRows.of(release, truth).per_statement(block, release.statements.domain.label)
            return int(np.minimum(block.low, counts)[block.label != ANY_LABEL].sum())
    return None


SMALL_GROUP = 10  # published groups below this size are pointed out (the usual minimum cell count)


def emptiness(release: EncodedRelease, found: EmptyConfidenceSet, limits: Limits) -> Emptiness:
    """Return what can be said where no dataset fits at the release's confidence: a proof, and the posterior."""
    from recon.queries.certificates.issuing import contradiction_certificate
    from recon.queries.noisy.verdicts import known_posterior

    proof = contradiction_certificate(release, limits)
    return Emptiness(release, found, proof, known_posterior(release, limits.stage("posterior")))


def stored_outright(release: EncodedRelease, limits: Limits) -> tuple[Inspection, ...]:
    """Return what the model files that a release was read from store of the training data, without any attack.

    What cannot be inspected (standard input was used up, a file is another one by now) is said in place of findings.
    """
    written = all(model.origin is None or not model.origin.format for model in release.models)  # release files
    found = []
    for file in release.files:
        try:
            if used_up(file):
                raise Unsupported("standard input can be read once: save it and run recon inspect")
            with current().lent():  # the file was read before, and what it took then is gone
                found.append(inspect(file, limits.memory))
        except (ReleaseError, Unsupported, Inconclusive) as error:
            found.append(Inspection(file, f"not inspected: {error}", "", None, ()))
    hashes = [one.sha256 for one in found]
    if release.sha256 and all(hashes) and release.sha256 != _sha256_of(hashes):
        files = "the file has" if len(found) == 1 else "some of the files have"
        changed = f"not inspected: {files} changed since the release was read; run the audit again"
        return tuple(Inspection(one.file, changed, "", None, ()) for one in found)
    if written:  # all that they say is in statements, but for texts that are no names
        odd = [replace(one, findings=tuple(f for f in one.findings if f.level == "unknown")) for one in found]
        return tuple(one for one in odd if one.findings or not was_inspected(one))
    return tuple(found)


def was_inspected(found: Inspection) -> bool:
    """Return whether a file was looked at; where it was not, its format says why."""
    return not found.format.startswith("not inspected")


def _sha256_of(hashes: Sequence[str]) -> str:
    """Return the hash by which a release names its files: that of its one file, else the hash of their hashes."""
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def by_position(release: EncodedRelease, limits: Limits) -> PlacedRows | None:
    """Return what is proved about the row at every position; None where rows have none, or nothing is found in time.

    Raises `ContradictionError` where there is no world.
    """
    if no_positions_reason(release):
        return None
    from recon.queries.located.positions import position_results

    some = limits.stage("rows by position")
    try:
        return position_results(release, limits=some)
    except (Inconclusive, Unsupported):
        return None


def noise_effect(noisy: EncodedRelease, exact: EncodedRelease, limits: Limits) -> NoiseEffect | NoiseWorldsEffect:
    """Return a noisy release beside the same one without noise; `Unsupported` where they are not the same otherwise.

    One tree or rule list is compared by its posterior, other releases by the worlds that are left.
    """
    from recon.queries.measures.sweeping import exact_counts, removed_per_row
    from recon.queries.noisy.posterior import posterior, single

    if not noisy.noisy or exact.noisy:
        raise Unsupported("--without-noise needs a noisy release, and the same release without noise")
    other = Unsupported("the release without noise has other regions or classes than the noisy one")
    if noisy.domain.all != exact.domain.all or _shapes(noisy) != _shapes(exact):
        raise other
    if not single(noisy):
        left = [count(one, "ordered", limits).bounds for one in (noisy, exact)]
        return NoiseWorldsEffect(noisy.confidence, *left)
    block, truth = exact_counts(exact)
    mine = noisy.statements.single
    if mine is None or not all(map(np.array_equal, (mine.region, mine.label), (block.region, block.label))):
        raise other
    found = posterior(noisy, limits=limits)
    sizes = list(PartitionFigures.of(exact.statements, limits).sizes)
    lefts = found.entropy_bits, log2_worlds(sizes, truth, "ordered"), found.uninformed_bits
    with_it, without, alone = (removed_per_row(exact, left, limits) for left in lefts)
    likely = float(np.abs(found.counts["likely"].to_numpy() - truth).sum()) / 2
    return NoiseEffect(found.prior, with_it, without, alone, found.distance(truth), likely)


def _shapes(release: EncodedRelease) -> list[Any]:
    """Return what the models test and where, whatever they count."""
    from recon.readers.loading.attaching import emptied

    def unnamed(tree: Tree) -> Tree:
        return replace(tree, name="", nodes=replace(tree.nodes, names=(), learnt=None))

    return [
        list(m.conditions()) if m.figures() else replace(emptied(m).with_trees(unnamed), name="")
        for m in release.models
    ]


def certificate_wanted(release: EncodedRelease, found: Measures) -> str | None:
    """Return which certificate may be there: of "none" (no possible world), of "one" (no other), None for neither."""
    if found.status == "unsat":
        return "none"
    if not release.certain:
        return None  # at a confidence below 1 nothing is certified
    datasets = found.counted if found.datasets is None else found.datasets
    return "one" if datasets.log2 == 0.0 and datasets.convention != "ordered" else None


def certified(asked: AuditContext, worlds: str | None, limits: Limits) -> Json | None:
    """Return the certificate that is wanted; None where it was not proved."""
    if worlds is None:
        return None
    from recon.queries.certificates.issuing import all_of_it, contradiction_certificate

    if worlds == "none":
        return contradiction_certificate(asked.release.at_confidence(1), limits)
    return all_of_it(asked.release, limits)


def group_disclosure_of(asked: AuditContext, _: None, limits: Limits) -> GroupDisclosure:
    """Return what figures give away of groups: as published where leaf values fail, or add cells nobody published."""
    release = asked.release
    return group_disclosure(as_released(release) if release.statements.settled is not None else release)


def interval_cells_of(asked: AuditContext, _: None, limits: Limits) -> IntervalCells:
    """Return the cells that were suppressed or published as intervals, and what is left of them."""
    return interval_cells(asked.release, limits)


def remedy_line(asked: AuditContext, remedy: Remedy, limits: Limits) -> Line:
    """Return what boosted models give back published otherwise: one line."""
    from recon.queries.leaf_values.remedies import remedied

    return remedied(asked.release, remedy, limits)


def true_values_of(asked: AuditContext, found: Determined, limits: Limits) -> Mapping[str, Any]:
    """Return the true rows beside what leaf values determine."""
    assert asked.truth is not None
    return beside_truth(asked.release, found, asked.truth, asked.population, asked.seed)


def group_disclosure(release: EncodedRelease) -> GroupDisclosure:
    """Return pure regions, zero cells, the smallest groups and the values that a release's figures give away.

    Of noisy counts the least that the intervals leave: pure and empty hold at the release's confidence. Counts of
    resamples are left out where they leave the number of training rows open.
    """
    pure: list[tuple[str, str, int, int]] = []
    zeros: list[tuple[str, str]] = []
    totals: list[tuple[str, int, int]] = []
    sizes: list[GroupSize] = []
    everybody = UNBOUNDED if release.rows.high is None else release.rows.high
    rows_in_pure = []
    several = len(release.statements.blocks) > 1
    telling = {k: b for k, b in release.statements.partitions.items() if tells(b) or release.noisy}
    counted = list(telling.values())
    for key, block in telling.items():
        before = len(pure)
        for j, statements in block.by_region.items():
            cells = [(int(block.label[s]), int(block.low[s])) for s in statements]
            empty = [label for (label, _), s in zip(cells, statements, strict=True) if not block.high[s]]
            name = f"{block.kind}, {block.names[j]}" if several else block.names[j]
            filled = [(label, c) for label, c in cells if c]
            minimum, maximum = sum(c for _, c in cells), min(everybody, sum(int(block.high[s]) for s in statements))
            totals.append((name, minimum, max(minimum, maximum)))
            sizes.append((minimum, max(minimum, maximum), name, key, j))
            if cells[0][0] == ANY_LABEL or (not filled and len(empty) == len(cells)):
                continue
            zeros += [(name, block.labels[label]) for label in empty]
            if len(filled) == 1 and len(empty) == len(cells) - 1 > 0:
                pure.append((name, block.labels[filled[0][0]], minimum, max(minimum, maximum)))
        rows_in_pure.append(sum(n for _, _, n, _ in pure[before:]))
    occupied = sorted((one for one in totals if one[1]), key=lambda one: one[1:])
    open_ones = (one for one in totals if one[1] < SMALL_GROUP <= one[2] or (not one[1] and one[2]))
    return GroupDisclosure(
        tuple(pure),
        tuple(zeros),
        tuple(one for one in occupied if one[2] < SMALL_GROUP),
        min((minimum for _, minimum, maximum in occupied if minimum == maximum), default=None),
        max(rows_in_pure, default=0),
        sum(rows_in_pure),
        len(counted),
        _no_classes(release, counted),
        disclosed_values(release),
        tuple(sorted(open_ones, key=lambda one: one[1:])),
        _small_cells(counted, several),
        tuple(sorted((one for one in sizes if one[1]), key=lambda one: one[:2])),
        _filled_cells(counted, several),
    )


def _small_cells(counted: list[Partition], several: bool) -> tuple[tuple[str, str, int], ...]:
    """Return the exact counts of one class below SMALL_GROUP rows in groups that have more, the fewest rows first."""
    out = []
    for block in counted:
        for j, statements in block.by_region.items():
            cells = [(int(block.label[s]), int(block.low[s]), int(block.high[s])) for s in statements]
            if sum(low for _, low, _ in cells) < SMALL_GROUP:
                continue
            name = f"{block.kind}, {block.names[j]}" if several else block.names[j]
            small = [(k, low) for k, low, high in cells if 0 < low == high < SMALL_GROUP and k != ANY_LABEL]
            out += [(name, block.labels[k], low) for k, low in small]
    return tuple(sorted(out, key=lambda one: one[2]))


def _filled_cells(counted: list[Partition], several: bool) -> tuple[tuple[int, int, str, str], ...]:
    """Return the least and most rows of every class in a group, its name and the class; those surely empty not."""
    out = []
    for block in counted:
        names = [f"{block.kind}, {name}" for name in block.names] if several else block.names
        at = np.flatnonzero((block.label != ANY_LABEL) & (block.high > 0))
        figures = (block.low[at], block.high[at], block.region[at], block.label[at])
        for low, high, j, k in zip(*(column.tolist() for column in figures), strict=True):
            out.append((low, high, names[j], block.labels[k]))
    return tuple(sorted(out, key=lambda one: one[:2]))


def _no_classes(release: EncodedRelease, counted: list[Partition]) -> str:
    """Return why partitions say nothing of classes; "" where some counts rows per class."""
    if not counted:
        return groups_left_out(release)[1]
    if any((block.label != ANY_LABEL).any() for block in counted):
        return ""
    if release.domain.label is None:
        return "the domain has no label"
    return "the target is a number" if numeric_target(release) else "the counts are not per class"


LIKELIER = 2.0  # times: from where on a person counts as much likelier to be in the data, or much less


def _under_rule(
    release: EncodedRelease, learner: str, profiles: pd.DataFrame | None, limits: Limits, label: str | None = None
) -> dict[str, Any]:
    """Return the `learner_rule` object of an audit: figures, `people` where some were asked about, `lines` in words.

    `reason` instead of figures where nothing is known of the learner, or no count is made. `people`: how many were
    asked about, how many become certain or impossible by the rule alone, and how many are at least twice as likely (or
    half as likely) to be in the data as without it. Raises `ContradictionError` where the learner cannot have chosen
    the model. Cost: that of `recon.learner_rule.counting.learner_rule`, and of its verdicts.
    """
    from recon.learner_rule.counting import rule_or_reason
    from recon.learner_rule.figures import rule_lines
    from recon.learner_rule.verdicts import certify
    from recon.release.auditing.persons.people import without_names

    try:
        found = rule_or_reason(release, learner, limits)
    except Unsupported as error:
        found = f"what knowing the learner adds is not worked out: {error}"
    if isinstance(found, str):
        return {"reason": found, "lines": [found]}
    out = found.to_json() | {"lines": rule_lines(found)}
    if profiles is None:
        return out
    try:
        people = _about(certify(release, without_names(profiles, release)[0], learner, limits, label))
    except (Unsupported, Inconclusive) as error:
        return out | {
            "lines": [*out["lines"], f"  under the rule nothing is said about the people asked about: {error}"]
        }
    lines = out["lines"]
    at = next((i for i, line in enumerate(lines) if line.startswith("  assuming:")), len(lines))
    return out | {"people": people, "lines": [*lines[:at], _people_line(people), *lines[at:]]}


def _about(found: pd.DataFrame) -> dict[str, int]:
    """Return how many people the rule decides, and whom it makes likelier, out of verdicts beside those without it."""
    decided, inside = found["by_rule"].fillna(value=False).astype(bool), found["verdict"] != "outside"
    now, before = (found[name].astype(float) for name in ("probability", "probability_without"))
    open_still = (found["verdict"] == "possible") & (before > 0)
    return {
        "asked": int(inside.sum()),
        "certain_by_rule": int((decided & (found["verdict"] == "certain")).sum()),
        "impossible_by_rule": int((decided & (found["verdict"] == "impossible")).sum()),
        "likelier": int((open_still & (now >= LIKELIER * before)).sum()),
        "less_likely": int((open_still & (now * LIKELIER <= before)).sum()),
    }


def _people_line(people: dict[str, int]) -> str:
    """Return that in words."""
    certain, impossible = people["certain_by_rule"], people["impossible_by_rule"]
    line = f"  of {many(people['asked'], 'profile')} asked about, {certain:,} become certain and "
    line += f"{impossible:,} impossible by the rule alone"
    more = [f"{people['likelier']:,} at least twice as likely"] if people["likelier"] else []
    more += [f"{people['less_likely']:,} at most half as likely"] if people["less_likely"] else []
    return f"{line}; {' and '.join(more)} as without it" if more else line


WIDEST = 4 << 30  # combinations of all attributes, times figures: of tables beyond, data sets are not counted
LARGE = 1.0  # of work: where the measures take more, the questions behind them are spread at once


@dataclass(frozen=True, eq=False)
class AuditInputs:
    """What an officer gives beside the release; everything may be left out.

    `truth`: the real training rows, `population`: other rows of the same kind (for the fresh-sample baseline),
    `without_noise`: the same release with exact counts. `profiles`: people to ask about. `data`: the training rows
    whose exposure is listed by position, with `label` their label's column and `protected` a column to group them by;
    `show_rows`: with their values. `domain_rows`: the table that the domain was read off: where it proves to be the
    training rows in their order, it stands for them. `learner`: what is known of how the model was chosen
    (`--learner`; "none": nobody asks). `remedies`: what boosted models give back published otherwise is worked out.
    `thresholds`: of the policy by their keys, with which groups are searched for.
    """

    convention: str | None = None
    truth: pd.DataFrame | None = None
    population: pd.DataFrame | None = None
    without_noise: EncodedRelease | None = None
    profiles: pd.DataFrame | None = None
    data: pd.DataFrame | None = None
    label: str | None = None
    protected: str | None = None
    show_rows: bool = False
    remedies: bool = False
    seed: int = 0
    learner: str = "none"
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    domain_rows: pd.DataFrame | None = None


def run_audit(release: EncodedRelease, beside: AuditInputs, limits: Limits) -> AuditFindings:
    """Return what an audit finds. Raises what `count` raises, and of data that do not fit what says where."""
    truth, remedies = beside.truth, beside.remedies
    begun = limits.meter.used
    stored = stored_outright(release, limits)  # first: the surest of all, and quick
    release = strengthened_release(release, limits)
    if (why := _too_wide(release)) is not None:
        none = uncounted(release, convention_of(release, beside.convention), why)
        asked = AuditContext(PicklableRelease.of(release), None, None, beside.seed)
        groups, cells = group_disclosure_of(asked, None, limits), interval_cells(release, limits)
        return AuditFindings(release, none, groups, stored=stored, intervals=cells)
    rows = by_position(release, limits)
    opens = _opening_columns(release, rows, beside, limits)  # before worlds, which take whatever time is left
    # Single values are distinguished by position there; to count worlds of any numbers has nothing to add.
    some = limits if rows is None or not release.domain.fine else limits.stage("worlds beside positions")
    try:
        first = measure(release, beside.convention, some)
    except EmptyConfidenceSet as error:
        none = empty(release, convention_of(release, beside.convention), CountAnswer("unsat"))
        groups = group_disclosure(as_released(release))
        return AuditFindings(release, none, groups, stored=stored, empty=emptiness(release, error, limits))
    parts = release.related is not None  # leaf values are of one of them each
    unasked = parts or first.status == "unsat" or not as_released(release).statements.boosted
    known = () if unasked else determined(release)  # settled before
    large = limits.meter.used - begun > LARGE or (remedies and bool(known))
    turn = QuestionBatch(
        AuditContext(PicklableRelease.of(release), truth, beside.population, beside.seed), limits, large
    )
    answers: dict[Any, Any] = turn.answers(
        dict(_release_questions(turn.asked, first, known, remedies)), "questions of the audit"
    )
    checks = None if truth is None else truth_check(turn, first, answers)
    exact = beside.without_noise
    bought = None if exact is None else noise_effect(release, exact, limits)
    found = AuditFindings(
        release, first, answers["groups"], checks, answers["certificate"], bought, stored, None,
        answers.get("intervals", IntervalCells()), determined=known, opens=opens,
        determined_truth=tuple(answers.get(("beside", one.number)) for one in known),
    )  # fmt: skip
    if rows is not None:
        found = _with_positions(found, rows, truth)
    if tried := [answers["remedy", k] for k in range(len(answers)) if ("remedy", k) in answers]:
        from recon.queries.leaf_values.remedies import table_of

        found = replace(found, remedies=table_of(tried))
    if first.status == "unsat":
        return found
    found = replace(found, together=judged_together(release, beside.thresholds, limits))
    return _with_persons(found, beside, limits)


def _with_positions(found: AuditFindings, rows: PlacedRows, truth: pd.DataFrame | None) -> AuditFindings:
    """Return the findings with what is proved by position, and the true rows beside it where they are as many."""
    from recon.queries.located.against_truth import compared
    from recon.release.auditing.together import groups_at_positions

    against = None if truth is None or len(truth) != rows.rows else compared(rows, truth)
    return replace(found, positions=rows, positions_truth=against, position_groups=groups_at_positions(rows))


def _too_wide(release: EncodedRelease) -> str | None:
    """Return why data sets are not counted of tables whose attributes together have too many combinations, else None.

    Their hidden cells are asked about all the same: for these the cells that the tables have are enough.
    """
    statements = release.statements
    named = set().union(*(one.mentioned for block in statements.loose.values() for one in block))
    combinations = math.prod(len(statements.domain.attributes[k].sizes) for k in named)
    if combinations * sum(map(len, statements.loose.values())) <= WIDEST or interval_tables(release) is None:
        return None
    return f"the tables' attributes have {combinations:,} combinations together: data sets are not counted"


def _opening_columns(
    release: EncodedRelease, rows: PlacedRows | None, beside: AuditInputs, limits: Limits
) -> tuple[OpenedLabels, ...]:
    """Return the few columns that open the labels still open, where true rows are given in order; else nothing.

    Rows that are not inside what is proved by position are others, or in another order: nothing is said with them.
    """
    given = (beside.truth, beside.data, beside.domain_rows)
    true = next((one for one in given if one is not None and rows is not None and len(one) == rows.rows), None)
    if rows is None or true is None or rows.labels_known is None or rows.labels_known == rows.rows:
        return ()
    from recon.queries.located.against_truth import compared
    from recon.queries.questions.which_columns import which_columns
    from recon.readers.frames.describe import named_like

    some = limits.stage("columns that open labels")
    try:
        if some.late() or not compared(rows, true)["inside"]:
            return ()
        return tuple(which_columns(release, named_like(true, release.domain)[0], some, rows))
    except (ReleaseError, ContradictionError, Inconclusive, Unsupported):
        return ()


def _with_persons(found: AuditFindings, beside: AuditInputs, limits: Limits) -> AuditFindings:
    """Return the findings with what is revealed by attribute, and of the people who were given."""
    release, m = found.release, found.measures
    asked, rows = None, None
    if beside.profiles is not None:
        from recon.release.auditing.persons.people import people

        asked = people(release, beside.profiles, limits, beside.seed, beside.show_rows)
    if beside.data is not None:
        from recon.release.auditing.persons.exposed_rows import exposed_rows

        rows = exposed_rows(release, m, beside.data, beside.label, beside.protected, beside.show_rows, limits,
                            positions=found.positions)  # fmt: skip
    found = replace(found, profiles=asked, persons=rows)
    if beside.learner != "none":
        found = replace(found, learner_rule=_under_rule(release, beside.learner, beside.profiles, limits, beside.label))
    try:
        bits = attribute_bits(release, m, limits)
        return replace(found, attribute_bits=tuple(bits), forced=forced_groups(release, m, limits))
    except Inconclusive:  # the time is up: the report has what was found until then
        return found


def _release_questions(
    about: AuditContext, first: Measures, known: Sequence[Determined], remedies: bool
) -> Iterator[tuple[Hashable, Question]]:
    """Yield the questions that need nothing but the release and its measures by their names.

    What matters most comes first: where time is short, the last are those that are left out.
    """
    if about.truth is not None:
        yield from first_asked(about.release, first).items()
    yield "certificate", (certified, certificate_wanted(about.release, first))
    if first.status != "unsat":
        yield "intervals", (interval_cells_of, None)
    yield "groups", (group_disclosure_of, None)
    if about.truth is not None:
        yield from ((("beside", one.number), (true_values_of, one)) for one in known)
    if remedies and known:
        from recon.queries.leaf_values.remedies import remedies_of

        fewer = [t for t in (10, 30) if t < max(one.trees for one in known)]
        yield from ((("remedy", k), (remedy_line, one)) for k, one in enumerate(remedies_of(trees=fewer)))
