"""What would help: the audit's figures again under remedies made from the released model itself, one line each.

The same release published otherwise: cut at a depth, with fewer, rounded or noisy counts, or with none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import TRAINING_DATA
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import (
    AnyModel,
    Forest,
    Noise,
    PublishedModel,
    RuleList,
    Tree,
    boosted_of,
    unsupported,
)
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.io.console.guarding import command_line, options_of, stripped_name, suggestion
from recon.io.console.output import seconds_said
from recon.queries.measures.sweeping import exact_counts, with_noise
from recon.readers.inspection.inspecting import Inspection
from recon.readers.loading.settled import as_released
from recon.release.auditing.facts import stored_facts
from recon.release.policies.assessing import assess
from recon.release.policies.policy import Policy
from recon.release.policies.rules import RULES
from recon.release.remediation.merging import merge_leaves
from recon.release.remediation.pruning import links_of, pruned, shortened, with_models
from recon.release.remediation.thresholds import Demands, demands_of, figures_of, shown_facts
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.displayed import many
from solvers.foundation.errors import Inconclusive, ReconError, Unsupported
from solvers.foundation.limits import STAGES, Limits
from solvers.foundation.structures import BinaryTree
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.noise.sampling import Randomness
from solvers.statements.release import ANY_LABEL, Partition

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]
SENSITIVITY = Fraction(1)  # of a count, where one row more or less is distinguished


def _depths(model: Tree) -> Ints:
    """Return the depth of every node, 0 for the root."""
    children = links_of(model)
    return BinaryTree(children, children[:, 0] >= 0).depths


def _depth_of(model: AnyModel) -> int:
    """Return the greatest depth of a model's trees; of a rule list the rules before its default."""
    trees = model.members()
    return max(int(_depths(tree).max()) for tree in trees) if trees else max(0, model.size() - 1)


def _at_depth(release: EncodedRelease, depth: int) -> EncodedRelease:
    """Return the release with every inner node at a depth (of a list: every later rule) merged into a leaf."""

    def cut(model: Tree) -> Tree:
        at = np.flatnonzero((_depths(model) == depth) & model.nodes.inner).tolist()
        return pruned(model, at)[0] if at else model

    return _changed_release(
        release, cut, lambda model: shortened(model, [depth] if depth < len(model.rules) - 1 else [])
    )


def _only_sizes(release: EncodedRelease) -> EncodedRelease:
    """Return the release with the number of rows of every leaf or rule, and no classes.

    Raises `Unsupported` where no classes are counted, and for trees on resamples, whose classes follow from draws.
    """
    model = release.models[0]
    if model.resampled:
        raise Unsupported("not tried: counts of resamples are of draws, and their sizes say as much as is used of them")
    if not any(bool((b.label >= 0).any()) for b in release.statements.partitions.values()):
        raise Unsupported("the counts are not per class already")

    return with_models(release, [model.mapped(lambda condition: condition, _total)])


def _total(support: Support) -> Support:
    """Return the rows of all classes together."""
    return Support(None, support.total)


def _changed_release(
    release: EncodedRelease, tree: Callable[[Tree], Tree], rules: Callable[[RuleList], RuleList]
) -> EncodedRelease:
    """Return the release with its one model changed, tree by tree."""
    return with_models(release, [_changed_model(release.models[0], tree, rules)])


@singledispatch
def _changed_model(
    model: PublishedModel, tree: Callable[[Tree], Tree], rules: Callable[[RuleList], RuleList]
) -> AnyModel:
    """Return a model changed, tree by tree."""
    raise unsupported(model, "it has no leaves to change")


@_changed_model.register
def _(model: Tree, tree: Callable[[Tree], Tree], rules: Callable[[RuleList], RuleList]) -> AnyModel:
    return tree(model)


@_changed_model.register
def _(model: Forest, tree: Callable[[Tree], Tree], rules: Callable[[RuleList], RuleList]) -> AnyModel:
    return replace(model, trees=tuple(map(tree, model.trees)))


@_changed_model.register
def _(model: RuleList, tree: Callable[[Tree], Tree], rules: Callable[[RuleList], RuleList]) -> AnyModel:
    return rules(model)


def _structure_only(release: EncodedRelease) -> tuple[EncodedRelease, str]:
    """Return the release whose tests are published and no count but that of all rows; and what to note.

    Tests alone say nothing about rows: what is left is one group of everybody. Raises `Unsupported` with the number of
    rows open.
    """
    n = release.rows.high
    if n is None or not release.rows.exact:
        raise Unsupported("not tried: the number of rows is open")
    note = "not counted: that one class is the commonest in a leaf, which removes some of these bits"
    return with_models(release, [Tree(Nodes.of([ModelNode(Support(None, n))]))]), note


def _rounded_counts(release: EncodedRelease, multiple: int) -> tuple[EncodedRelease, str]:
    """Return the release whose counts are multiples (halves up), as the intervals that they stand for; a note."""

    def ends(block: Partition, n: int) -> tuple[Ints, Ints]:
        shown = (block.low + multiple // 2) // multiple * multiple
        low, high = np.maximum(shown - multiple // 2, 0), shown + (multiple - 1) // 2
        return low, np.minimum(high, n)

    return _interval_release(release, ends), "the number of all rows is taken to be known exactly"


def _interval_release(release: EncodedRelease, ends: Callable[[Partition, int], tuple[Ints, Ints]]) -> EncodedRelease:
    """Return the release with intervals in place of exact counts.

    Raises `Unsupported` for trees on resamples and where counts are intervals already.
    """
    n, statements = release.rows.high, release.statements
    exact = all(isinstance(b, Partition) and not b.draws and not b.open_counts for b in statements.blocks)
    if n is None or not release.rows.exact or not exact or release.noisy:
        raise Unsupported("not tried: its counts are no exact numbers of all rows")
    blocks = tuple(b.bounded(*ends(b, n)) for b in statements.blocks if isinstance(b, Partition))
    return replace(release, statements=replace(statements, blocks=blocks))


def _with_drawn_noise(
    release: EncodedRelease, epsilon: float, seed: int, confidence: float
) -> tuple[EncodedRelease, str]:
    """Return one tree or rule list with discrete Laplace noise on its counts, drawn once, and what to note.

    One row more or less changes one count by 1: the noise has scale 1 / epsilon. Figures hold at the confidence.
    Raises `Unsupported` for other releases.
    """
    _, truth = exact_counts(release)
    exact, random = Fraction(repr(epsilon)), Randomness(seed)
    noise = Noise(NoiseLaw("discrete_laplace", SENSITIVITY / exact), exact, Fraction(0), SENSITIVITY, "add_remove")
    drawn = [int(c) + random.discrete_laplace(noise.law.scale) for c in truth]
    found = with_noise(release, drawn, noise).at_confidence(Fraction(repr(confidence)))
    return found, f"one draw (seed {seed}); figures hold at confidence {confidence:g}; the tests are not private"


def _interval_facts(release: EncodedRelease, limits: Limits) -> dict[str, Any]:
    """Return figures of one partition with intervals that need no count: people, the most exposed, groups, classes.

    Nobody is pinned down in a group that several rows fit: another row can stand there. {} for other releases.
    """
    block = release.statements.single
    if block is None or release.statements.domain.relative:
        return {}
    figures = PartitionFigures.of(release.statements, limits)
    if not figures.exact:
        return {}
    n = release.rows.high
    high = block.high if n is None else np.minimum(block.high, n)
    alone = np.array([size == 1 for size in figures.sizes])
    most = int(high[alone].sum())
    possible = [math.log2(size) for size, h in zip(figures.sizes, high.tolist(), strict=True) if size and h]
    sure = [math.log2(size) for size, low in zip(figures.sizes, block.low.tolist(), strict=True) if size and low]
    out: dict[str, Any] = {
        "pinned": [int(block.low[alone].sum()), most if n is None else min(n, most)],
        "least_bits_left": [min(possible), min(sure, default=None)] if possible else None,
    }
    each = [(block.names[j], [(int(block.low[s]), int(high[s])) for s in own]) for j, own in block.by_region.items()]
    sums = [(name, sum(a for a, _ in own), sum(b for _, b in own)) for name, own in each]
    groups = [{"name": name, "where": "", "rows": [a, b if n is None else min(b, n)]} for name, a, b in sums if b]
    out |= {"smallest_group": _ends_of(groups), "groups": groups, "groups_in_all": len(groups)}
    if bool((block.label == ANY_LABEL).any()):
        return out
    cells = [
        {"name": name, "class": block.labels[k], "rows": list(one)}
        for name, own in each
        for k, one in enumerate(own)
        if one[1]
    ]
    pure = [(sum(a for a, _ in own), max(b for _, b in own)) for _, own in each if sum(a > 0 for a, _ in own) <= 1]
    surely = sum(a for (_, own) in each for a in [sum(x for x, _ in own)] if a and sum(b > 0 for _, b in own) == 1)
    maybe = sum(b for _, b in pure)
    rows = [surely, maybe if n is None else min(n, maybe)]
    disclosed = {"rows": rows, "groups": [], "groups_in_all": 0}
    return out | {
        "smallest_cell": _ends_of(cells), "cells": cells, "cells_in_all": len(cells), "class_disclosure": disclosed
    }  # fmt: skip


def _ends_of(found: Sequence[Mapping[str, Any]]) -> list[int | None] | None:
    """Return the least and the most rows that the smallest of several groups can have that is not empty."""
    if not found:
        return None
    sure = [one["rows"][1] for one in found if one["rows"][0]]
    return [min(max(1, one["rows"][0]) for one in found), min(sure, default=None)]


SMALLEST = (5, 10, 11, 20)  # usual minimum cell sizes
MULTIPLES = (5, 10)
BUDGETS = (10.0, 1.0, 0.1)
DEPTHS = 3  # depths that are tried below the model's own
Line = dict[str, Any]
Made = tuple[EncodedRelease, str]  # the release under a remedy, and what to note


@dataclass(frozen=True)
class RemedyQuestion:
    """What every remedy is judged by: the policy, rows with their label, what files store, the confidence of noise."""

    policy: Policy | None
    data: pd.DataFrame | None
    label: str | None
    stored: tuple[Inspection, ...]
    confidence: float


@dataclass(frozen=True)
class TriedRemedy:
    """A remedy that is tried: its words and kind, its setting, how it is made, and the command that does it."""

    words: str
    kind: str
    setting: Any
    make: Callable[[Limits], Made]
    command: str | None = None


def remedies(
    release: EncodedRelease,
    policy: Policy | None,
    limits: Limits,
    *,
    data: pd.DataFrame | None = None,
    label: str | None = None,
    seed: int = 0,
    stored: Sequence[Inspection] = (),
    confidence: float = 0.95,
) -> list[Line]:
    """Return what each remedy would leave, a line each, the release as published first.

    Keys: remedy, kind, setting, pinned, bits_left_per_person, least_bits_left, smallest_group, class_disclosed_rows
    ([least, most], None: not known), outcome under the policy (None without one), accuracy on `data` with its `label`,
    rows_judged, status ("not tried" with the reason in note), seconds, note, command. `stored`: what the files store
    outright; `confidence`: of noisy counts; `seed`: of the noise that is drawn. All together take the time of the
    limits (a minute where they have none), each its share of what is left; a remedy that fails says why.
    """
    limits, asked = limits.limited(), RemedyQuestion(policy, data, label, tuple(stored), confidence)
    release = as_released(release)
    here = TriedRemedy("as published", "as published", None, lambda _: (release, ""))
    begun = limits.meter.used
    published, facts = _remedy_line(here, asked, limits.stage("as published"))
    lines, took = [published], limits.meter.used - begun
    every = list(_possible(release, asked, seed))
    slow = len(release.models[0].members()) > 1 and took > STAGES["measured once"].cap
    for i, one in enumerate(every):
        limits.report(f"remedy: {one.words}")
        if slow and one.kind in {"depth", "counts"}:
            why = f"not tried: to measure this forest once takes {took:.0f} s"
            lines.append(blank_line(one) | {"status": "not tried", "note": why})
            continue
        lines.append(
            _remedy_line(one, asked, limits.stage("one remedy", parts=max(2.0, (len(every) - i + 1) / 2)), facts)[0]
        )
    lines += _stripped(published, facts, asked)
    return [*lines, *_boosted(release, limits)]


def _possible(release: EncodedRelease, asked: RemedyQuestion, seed: int) -> Iterator[TriedRemedy]:
    """Yield the remedies that are there for a release."""
    model = release.models[0]
    if len(release.models) != 1 or not model.mergeable:
        return
    what = "leaves" if model.members() else "last rules"
    demands = None if asked.policy is None else demands_of(asked.policy)
    own = () if demands is None or demands.smallest_group is None else (demands.smallest_group,)
    for k in sorted({*SMALLEST, *own}):
        wanted = Demands(smallest_group=k)
        yield TriedRemedy(f"{what} with fewer than {k} rows merged", "merge", k, _merging(release, wanted))
    if demands is not None and demands.named:
        words = f"the fewest merges of {what} that meet the policy"
        yield TriedRemedy(words, "merge", "policy", _merging(release, demands), _merging_command(release, asked))
    depth = _depth_of(model)
    for d in sorted({max(1, round(depth * part / (DEPTHS + 1))) for part in range(1, DEPTHS + 1)}, reverse=True):
        if d < depth:
            words = f"depth cut to {d}" if model.members() else f"only the first {d} rules"
            yield TriedRemedy(words, "depth", d, lambda _, d=d: (_at_depth(release, d), f"of depth {depth}"))  # type: ignore[misc]
    yield TriedRemedy("rows per leaf only, no classes", "counts", "sizes", lambda _: (_only_sizes(release), ""))
    yield TriedRemedy("no counts at all, only the tests", "counts", "none", lambda _: _structure_only(release))
    for k in MULTIPLES:
        words = f"counts rounded to multiples of {k}"
        yield TriedRemedy(words, "rounded counts", k, lambda _, k=k: _rounded_counts(release, k))  # type: ignore[misc]
    for epsilon in BUDGETS:
        words = f"noise on counts, epsilon {epsilon:g}"
        yield TriedRemedy(words, "noise", epsilon, _noisy(release, epsilon, seed, asked.confidence))


def _merging_command(release: EncodedRelease, asked: RemedyQuestion) -> str | None:
    """Return the command that merges leaves, DATA for what the domain is read off; None without a file."""
    if not release.file:
        return None
    origin = release.models[0].origin
    model_file = origin is not None and not release.file.lower().endswith(".json")
    copied = model_file and origin is not None and origin.format.startswith("scikit-learn")
    copied = copied and origin is not None and "skops" not in origin.format
    out = {"--out": "better.joblib" if copied else "better.json"}
    if asked.policy is not None and asked.policy.file:
        out = {"--policy": asked.policy.file, **out}
    elif "--policy" not in options_of(command_line()):
        out = {"--policy": "POLICY", **out}
    if model_file and release.domain.source == TRAINING_DATA and command_line() is None:
        out["--domain"] = "DATA"  # asked from Python: it is not known where the data are
    return suggestion("remedy", [release.file], out)


def _merging(release: EncodedRelease, demands: Demands) -> Callable[[Limits], Made]:
    """Return what merges leaves until demands are met."""

    def make(limits: Limits) -> Made:
        found = merge_leaves(release, demands, limits)
        left = found.release.models[0].groups()
        how = "exact" if found.exact else "greedy"
        return found.release, f"{found.merges:,} merges ({how}), {left:,} of {left + found.merges:,} left"

    return make


def _noisy(release: EncodedRelease, epsilon: float, seed: int, confidence: float) -> Callable[[Limits], Made]:
    """Return what draws noise once."""
    return lambda _: _with_drawn_noise(release, epsilon, seed, confidence)


def blank_line(remedy: TriedRemedy) -> Line:
    """Return a line without figures."""
    return {
        "remedy": remedy.words, "kind": remedy.kind, "setting": remedy.setting,
        **{one.column: None for one in RULES.values() if one.column}, "outcome": None,
        "accuracy": None, "rows_judged": None, "status": "unknown", "seconds": 0.0, "note": "",
        "command": remedy.command,
    }  # fmt: skip


def _remedy_line(
    remedy: TriedRemedy, asked: RemedyQuestion, limits: Limits, before: Mapping[str, Any] | None = None
) -> tuple[Line, Mapping[str, Any] | None]:
    """Return the line of one remedy, and all the figures behind it (None: there are none); `before`: as published."""
    begun, line, facts = time.monotonic(), blank_line(remedy), None
    try:
        found, note = remedy.make(limits)
        between = remedy.kind in {"rounded counts", "noise"}
        some = limits.stage("counts that are intervals") if between else limits
        demands = Demands() if asked.policy is None else demands_of(asked.policy)
        facts = figures_of(found, some, demands, placed=remedy.kind in {"as published", "merge", "depth"})
        facts |= _interval_facts(found, limits) if between else {}
        published = None if before is None else before.get("bits_left_per_person")
        if remedy.kind == "rounded counts" and published and facts["bits_left_per_person"]:
            low, high = facts["bits_left_per_person"]  # what was published exactly is one of the counts that fit
            facts["bits_left_per_person"] = [max(low, published[0]), high]
        facts["not_known"] = {k: why for k, why in (facts.get("not_known") or {}).items() if facts.get(k) is None}
        reasons = sorted({str(why) for why in (facts.get("not_known") or {}).values()})
        line |= columns(facts) | {"outcome": _outcome_of(facts, asked, asked.stored)}
        line["note"] = "; ".join(filter(None, [note, *reasons]))
        line |= _accuracy_line(found, asked, line["note"])
    except ReconError as error:
        late = isinstance(error, Inconclusive)
        line |= {"status": "unknown" if late else "not tried", "note": str(error)}
        line["outcome"] = "inconclusive" if late and asked.policy is not None else None
    line["seconds"] = seconds_said(time.monotonic() - begun)
    return line, facts


def columns(facts: Mapping[str, Any]) -> Line:
    """Return the figures of a line."""
    shown = shown_facts(facts)
    return {"status": shown["status"]} | {one.column: shown[one.fact] for one in RULES.values() if one.column}


def _outcome_of(facts: Mapping[str, Any], asked: RemedyQuestion, stored: Sequence[Inspection]) -> str | None:
    """Return what the policy says of figures and of what files store; None without a policy."""
    return None if asked.policy is None else assess({**facts, **stored_facts(stored)}, asked.policy).outcome


def _accuracy_line(release: EncodedRelease, asked: RemedyQuestion, note: str) -> Line:
    """Return the accuracy on the data, if there are any, or why it is not known."""
    if asked.data is None:
        return {}
    try:
        right, judged = accuracy(release, asked.data, asked.label)
    except ReconError as error:
        return {"note": "; ".join(filter(None, [note, f"accuracy: {error}"]))}
    return {"accuracy": right, "rows_judged": judged}


def accuracy(release: EncodedRelease, data: pd.DataFrame, label: str | None = None) -> tuple[float, int]:
    """Return the share of rows whose label a released model predicts, and how many rows were judged.

    `label`: the column with the label, by default named as the domain's. Predictions are the commonest class of a row's
    leaf; nothing of the file is run. Raises `Unsupported` for models that predict nothing, `ReleaseError` for tables
    without the columns.
    """
    from recon.queries.black_box import ReleasedModel, labels_of

    name = None if release.domain.label is None else release.domain.label.name
    if label is not None and name is not None and label != name and label in data.columns:
        data = data.rename(columns={label: name})
    model = ReleasedModel(release)
    true = labels_of(release, data)
    if not len(true):
        raise Unsupported("there are no rows to judge")
    guess = np.argmax(model.predict_proba(data.drop(columns=[name])), axis=1)
    return float((guess == true).mean()), len(true)


def _stripped(published: Line, facts: Mapping[str, Any] | None, asked: RemedyQuestion) -> list[Line]:
    """Return the line of files without what predictions do not need; counts stay, and all figures with them."""
    gone = [(one.file, f.path) for one in asked.stored for f in one.findings if f.removable]
    if not gone:
        return []
    kept = [replace(one, findings=tuple(f for f in one.findings if not f.removable)) for one in asked.stored]
    shown = ", ".join([*(path for _, path in gone[:5]), *(["..."] if len(gone) > 5 else [])])
    note = f"{many(len(gone), 'finding')} removed, counts unchanged: {shown}"
    words = "seeds and stored arrays taken out of the file"
    command = suggestion("inspect", [gone[0][0]], {"--strip": stripped_name(gone[0][0])})
    line = {**published, "remedy": words, "kind": "strip", "setting": len(gone), "seconds": 0.0, "note": note}
    return [line | {"command": command, "outcome": None if facts is None else _outcome_of(facts, asked, kept)}]


def _boosted(release: EncodedRelease, limits: Limits) -> list[Line]:
    """Return the lines of boosted models: leaf values rounded, fewer trees; rows given back are the people pinned."""
    model = next(iter(boosted_of(release.models)), None)
    if model is None:
        return []
    from recon.queries.leaf_values.remedies import remedied, remedies_of

    rounds = max((sums.round for sums in model.sums), default=-1) + 1
    every = remedies_of(trees=[t for t in (10, 30) if t < rounds])[1:]
    lines = []
    for i, one in enumerate(every):
        kind, setting = ("leaf values", one[1]) if one[1] is not None else ("fewer trees", one[2])
        line = blank_line(TriedRemedy(one[0], kind, setting, lambda _: (release, "")))
        begun = time.monotonic()
        try:
            limits.check("boosted models were published otherwise")
            seconds = limits.stage("one boosted remedy", parts=len(every) - i).work_left()
            _, _, _, most, known, labels, status, took = remedied(release, one, limits, seconds)
            line |= {"pinned": [known, most], "class_disclosed_rows": [labels, most], "status": status}
            line["seconds"] = seconds_said(took)
            line["note"] = "what leaf values prove; rows per leaf are still published"
        except ReconError as error:
            line |= {"note": str(error), "seconds": seconds_said(time.monotonic() - begun)}
        lines.append(line)
    return lines
