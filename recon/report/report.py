"""The report: what an audit found as one JSON document and as sections in words; asks nothing.

The one tree or rule list of a release as nodes that a chart can draw: tests in words, rows, classes, bits left.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import RuleList, Tree
from recon.queries.certificates.certificate_format import certified_lines
from recon.queries.leaf_values.determined import audit_json as leaf_value_json
from recon.queries.leaf_values.determined import audit_lines as leaf_value_lines
from recon.queries.measures.attribute_bits import curve_points, exposed_groups, exposed_in_all, mean_exposure
from recon.readers.formats.drafts.drafts import not_assessed_json, not_assessed_lines
from recon.readers.frames.describe import condition_text
from recon.release.auditing.facts import facts_of
from recon.release.auditing.findings import AuditFindings
from recon.report.stored_report import AuditReport, Context, audited, how
from recon.report.wording.group_report import (
    exposure_lines,
    group_json,
    group_lines,
    interval_lines,
    truth_json,
    truth_lines,
)
from recon.report.wording.headline import (
    DIGITS,
    Sections,
    assumption_lines,
    count_json,
    doubts,
    empty_json,
    empty_sections,
    headline_json,
    headline_lines,
    noise_effect_json,
    noise_lines,
    provenance_json,
    provenance_lines,
    stored_lines,
    understood_sections,
    worlds_lines,
)
from solvers.foundation.displayed import NAME, Displayed, DisplayFacts, quote
from solvers.foundation.exact import level_text
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition

if TYPE_CHECKING:
    import pandas as pd

    from recon.queries.measures.figures import Measures
    from solvers.foundation.plots import Axes

MOST_NODES = 4_000
ALONE = "colours: the bits that this model leaves by itself"
Counted = tuple[int, int | None, list[list[Any]] | None]  # rows, least and most, and rows by class
Shares = dict[int, tuple[float, int]]  # region -> share of bits left, rows that it is of


def _drawing(release: EncodedRelease, measures: Measures) -> dict[str, Any] | None:
    """Return the model to draw, None where there is none: no tree and no rule list, boosted trees, no world.

    `kind`: "tree" or "list"; `root`; `note`: what it leaves out; `nodes`: per node or rule `id`, `text` (the test, or
    what the leaf is called), `then` and `otherwise` (ids; None: a leaf), `rows` [least, most] (most None: no upper
    bound), `classes` [[name, rows], ...] or None, `share_left` of the bits of one of its rows (0 to 1; None: not
    known; of inner nodes the mean over the rows below). Of several models and of forests the first is drawn.
    Cost: linear in nodes.
    """
    found = _drawn_model(release)
    if found is None or measures.status == "unsat":
        return None
    model, note = found
    block = _block_of(release, model)
    if block is None:
        return None
    alone = measures.of_cells
    shares = _shares_alone(release, block) if alone else _shares_of(measures)
    notes = [note, ALONE if alone and shares else ""]
    note = "; ".join(text for text in notes if text)
    if isinstance(model, RuleList):
        return {"kind": "list", "nodes": _rule_nodes(release, block, shares), "root": 0, "note": note}
    nodes, folded = _tree_nodes(release, model, block, shares)
    some = f"{folded:,} leaves are folded into the nodes above them" if folded else ""
    return {"kind": "tree", "nodes": nodes, "root": 0, "note": "; ".join(text for text in (note, some) if text)}


def _drawn_model(release: EncodedRelease) -> tuple[Tree | RuleList, str] | None:
    """Return the model that is drawn, and a note on what is not drawn; None where there is none."""
    models = release.models
    model = next((m for m in models if m.disjoint), None)
    others = f" (one of {len(models)} models)" if len(models) > 1 else ""
    if model is not None and model.unit == "tree" and model.mergeable:
        return model.members()[0], f"the first of {len(model.members())} trees{others}"
    if isinstance(model, (Tree, RuleList)):
        return model, f"the first that can be drawn{others}" if others else ""
    return None


def _block_of(release: EncodedRelease, model: Tree | RuleList) -> Partition | None:
    """Return the statements of the first tree or rule list of a release; None where these are not its regions."""
    rules, few = not model.members(), model.groups()
    for block in release.statements.partitions.values():
        if block.first_match == rules and len(block.boxes) in ((few, few + 1) if rules else (few,)):
            return block
    return None


def _shares_of(measures: Measures) -> Shares:
    """Return the share of bits left by region, from the exposure: the mean over its rows, or over its classes."""
    lines = measures.exposure
    found: dict[int, list[tuple[float, int]]] = {}
    for region, rows, share in zip(
        lines["region"].tolist(), lines["rows"].tolist(), lines["entropy_reduction_ratio"].tolist(), strict=True
    ):
        if share is not None and math.isfinite(share):
            found.setdefault(region, []).append((share, rows))
    return {region: _weighted_mean(pairs) for region, pairs in found.items()}


def _weighted_mean(pairs: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """Return the mean of figures over their rows (without rows: over themselves), and the rows."""
    rows = sum(n for _, n in pairs)
    total = rows or len(pairs)
    return math.fsum(x * (n if rows else 1) for x, n in pairs) / total, rows


def _shares_alone(release: EncodedRelease, block: Partition) -> Shares:
    """Return the share of bits that every leaf's own box leaves, as if nothing else had been released; {} of rules."""
    domain = release.statements.domain
    if block.first_match or release.cut.unsized or release.statements.impossible or domain.size < 2:
        return {}
    rows = _by_region(release, block)
    found: Shares = {}
    for j, box in enumerate(block.boxes):
        labels = domain.labels if rows[j][2] else 1  # where classes are counted, everybody's class is told
        size, whole = box.size(domain) // labels, domain.size // labels
        if size and whole > 1:
            found[j] = math.log2(size) / math.log2(whole), rows[j][0]
    return found


def _by_region(release: EncodedRelease, block: Partition) -> list[Counted]:
    """Return, per region of a partition: the least and most rows (None: no bound), and rows per class (None: none)."""
    out: list[Counted] = [(0, 0, None)] * len(block.boxes)
    for region, statements in block.by_region.items():
        low, high = (np.asarray(side)[statements].tolist() for side in (block.low, block.high))
        most = None if UNBOUNDED in high else sum(high)
        if release.rows.high is not None:
            most = release.rows.high if most is None else min(most, release.rows.high)
        told = [int(block.label[s]) for s in statements]
        exact = ANY_LABEL not in told and low == high
        classes = [[block.labels[c], n] for c, n in zip(told, low, strict=True)] if exact else None
        out[region] = sum(low), most, classes
    return out


def _rule_nodes(release: EncodedRelease, block: Partition, shares: Shares) -> list[dict[str, Any]]:
    """Return the rules in order; what every rule captures is what the earlier ones leave."""
    counted = _by_region(release, block)
    out = []
    for j, box in enumerate(block.boxes):
        text = condition_text(release.cut, box) if box.literals else "everybody else"
        out.append(_node(j, text, None, None, counted[j], shares.get(j)))
    return out


def _tree_nodes(
    release: EncodedRelease, model: Tree, block: Partition, shares: Shares
) -> tuple[list[dict[str, Any]], int]:
    """Return the nodes of a tree, parents first, and how many leaves are not among them.

    At most MOST_NODES: those of most rows; what is below the others is folded into them.
    """
    nodes = model.nodes
    counted = _by_region(release, block)
    region = {leaf: j for j, leaf in enumerate(nodes.leaves.tolist())}
    children = nodes.children.tolist()
    order = _preorder(children, region)
    of: dict[int, tuple[Counted, tuple[float, int] | None]] = {}
    leaves: dict[int, int] = {}
    for i in reversed(order):
        if i in region:
            of[i], leaves[i] = (counted[region[i]], shares.get(region[i])), 1
            continue
        below = [of[child] for child in children[i]]
        known = [share for _, share in below if share is not None]
        of[i] = _node_totals([own for own, _ in below]), _weighted_mean(known) if len(known) == 2 else None
        leaves[i] = sum(leaves[child] for child in children[i])
    kept = _largest(children, region, {i: _counted_rows(own) for i, (own, _) in of.items()})
    words = _tests_in_words(release, model)
    out, folded = [], 0
    for i in (i for i in order if i in kept):
        inner = i not in region and children[i][0] in kept
        then, otherwise = children[i] if inner else (None, None)
        text = words[int(nodes.condition[i])] if inner else block.names[region[i]] if i in region else ""
        if not text:
            text, folded = f"{leaves[i]:,} leaves below", folded + leaves[i]
        out.append(_node(i, text, then, otherwise, *of[i]))
    return out, folded


def _counted_rows(counted: Counted) -> int:
    """Return the rows by which nodes are compared: the least of them, or the most where the least is none."""
    return counted[0] or counted[1] or 0


def _largest(children: Sequence[Sequence[int]], leaves: Mapping[int, int], rows: Mapping[int, int]) -> set[int]:
    """Return at most MOST_NODES nodes from the root on, both children of those with most rows first."""
    kept, heap = {0}, [(-rows[0], 0)]
    while heap and len(kept) + 2 <= MOST_NODES:
        _, i = heapq.heappop(heap)
        if i not in leaves:
            for child in children[i]:
                kept.add(child)
                heapq.heappush(heap, (-rows[child], child))
    return kept


def _preorder(children: Sequence[Sequence[int]], leaves: Mapping[int, int]) -> list[int]:
    """Return the nodes of a tree, parents before children."""
    out, stack = [], [0]
    while stack:
        i = stack.pop()
        out.append(i)
        if i not in leaves:
            stack += children[i][::-1]
    return out


def _node_totals(
    parts: Sequence[Counted],
) -> Counted:
    """Return the rows and classes of two nodes together."""
    (a, b, own), (c, d, other) = parts
    classes: list[list[Any]] | None = None
    if own is not None and other is not None and len(own) == len(other):
        classes = [[name, n + m] for (name, n), (_, m) in zip(own, other, strict=True)]
    return a + c, None if b is None or d is None else b + d, classes


def _tests_in_words(release: EncodedRelease, model: Tree) -> dict[int, str]:
    """Return every condition that the tree tests in words, by its number."""
    cut = release.cut
    resolved = ((code, cut.domain.resolve(model.nodes.conditions[code])) for code, _ in model.nodes.first_nodes())
    return {code: condition_text(cut, cut.box(found)) for code, found in resolved}


def _node(
    number: int, text: str, then: int | None, otherwise: int | None,
    counted: Counted, share: tuple[float, int] | None,
) -> dict[str, Any]:  # fmt: skip
    """Return one node of the drawing; see `drawing`."""
    low, high, classes = counted
    return {
        "id": number,
        "text": text,
        "then": then,
        "otherwise": otherwise,
        "rows": [low, high],
        "classes": classes,
        "share_left": None if share is None else share[0],
    }


@dataclass(frozen=True, eq=False, repr=False)
class Report(Displayed, AuditReport):
    """A finished audit; `to_json`, `to_markdown`, `to_html` and `to_text` show the same figures.

    `context`: when and how it was made, and what a policy says.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> report = recon.audit(release)
    >>> print(report.to_text().splitlines()[0])
    Audit of a release
    >>> report.to_markdown().splitlines()[0]
    '# Audit of a release'
    """

    findings: AuditFindings
    context: Context = field(default_factory=Context)

    @property
    def found(self) -> AuditFindings:
        """Return the findings."""
        return self.findings

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Return what policies look at; see `recon.release.auditing.facts`."""
        found = facts_of(self.findings)
        if self.status == "unsat":  # also together with earlier releases: then no figure of this one alone counts
            found = replace(found, status="unsat")
        together = (self.context.adds or {}).get("differences")
        found = found.with_groups("smallest_group", together) if together else found
        return (found if self.context.versions is None else self.context.versions.with_figures(found)).to_json()

    def audited(self) -> dict[str, Any]:
        """Return what was audited: files, hashes, kinds, rows, attributes."""
        return audited(self.findings.release)

    @property
    def about(self) -> str:
        """Return the file of the release."""
        return self.findings.release.file

    @property
    def status(self) -> str:
        """Return exact, bounds, unsat, or empty: at the confidence asked for, no dataset fits the noisy counts."""
        if self.context.adds is not None and self.context.adds["after"]["status"] == "unsat":
            return "unsat"  # with the earlier releases, even where this one alone has worlds
        if self.context.versions is not None and self.context.versions.contradicts:
            return "unsat"
        if self.context.adversary is not None and self.context.adversary.contradicts:
            return "unsat"
        return self.findings.measures.status if self.findings.empty is None else "empty"

    def _facts(self) -> DisplayFacts:
        found = self.findings
        measured, stored = found.measures._facts(), [one for each in found.stored for one in each.findings]
        smallest = found.groups.smallest
        pairs = [
            ("file", found.release.file), ("SHA-256", found.release.sha256), ("status", self.status),
            *(pair for pair in measured.pairs if pair[0] != "status"),
            ("smallest published group", smallest), ("findings stored in the file", len(stored) or None),
        ]  # fmt: skip
        verdict = "" if self.assessment is None else f"{self.assessment.verdict}: "
        line = f"{verdict}audit of {quote(self.about or 'a release', NAME)}: {measured.line}"
        more = "to_text(), to_html(), to_markdown() and to_json() give the whole report; to_frame(), plot()"
        return DisplayFacts(line, pairs, notes=found.release.assumptions, more=more)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as one line, so that reports make a table: file, and those of `Measures.to_frame`."""
        frame = self.findings.measures.to_frame()
        frame["status"] = self.status
        frame.insert(0, "file", self.about)
        return frame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with how exposed rows are, see `Measures.plot`."""
        return self.findings.measures.plot(ax)

    def own(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return what only this kind of report has in its document."""
        found = self.findings
        head = {"file": found.release.file, "read_from": provenance_json(found.release)}
        if found.empty is not None:
            return head | empty_json(found.empty)
        leaf_values = found.determined, found.determined_truth, found.remedies
        out = {
            **head,
            **_position_json(found),
            **({"leaf_values": leaf_value_json(*leaf_values)} if found.determined else {}),
            **({} if found.learner_rule is None else {"learner_rule": dict(found.learner_rule)}),
            "without_row_order": headline_json(found.measures, digits),
            "not_assessed": not_assessed_json(found.release),
            **count_json(found.release, found.measures, digits),
            "group_disclosure": group_json(found.groups),
            "interval_cells": [cell.to_json() for cell in found.intervals.cells],
            "interval_cells_recovered": found.intervals.recovered,
            "interval_cells_left_out": found.intervals.left_out,
        }
        if found.stored:
            out["stored"] = [one.to_json() for one in found.stored]
        if found.truth is not None:
            out["truth"] = truth_json(found.truth)
        if found.bought is not None:
            out["without_noise"] = noise_effect_json(found.bought)
        if found.certificate is not None:
            out["certificate"] = found.certificate
        out["how"] = how(found, self.context)
        return out | _exposure_json(found)

    def sections(self) -> Sections:
        """Return the report's sections as titles and lines; who left between two versions comes first."""
        beside = self.context.versions
        opening = [] if beside is None else [("What the earlier version adds: who left, who came", beside.sentences)]
        beside_it = self.context.adversary
        opening += [] if beside_it is None else [("What an adversary knows more", beside_it.sentences)]
        return [*opening, *understood_sections(self.findings.release), *self._own_sections()]

    def _own_sections(self) -> Sections:
        """Return the sections on the release itself."""
        from recon.queries.certificates.agreement import contradicted

        found = self.findings
        if found.empty is not None:
            return empty_sections(found.empty)
        proved = [] if found.certificate is None else certified_lines(found.certificate)
        if found.measures.status == "unsat":
            conflict = [*found.measures.counted.conflict, *proved, *doubts(found.release)]
            why = contradicted(found.release)
            conflict = [*([f"then {why}"] if why else []), *conflict]
            return [("No possible world: the statements contradict each other", conflict)]
        noise, certain = noise_lines(found.release, found.measures, found.bought), found.release.certain
        level = (
            ""
            if certain
            else f", at confidence {level_text(found.release.confidence)} (rows: at least; never for certain)"
        )
        at = "" if certain else f", at confidence {level_text(found.release.confidence)}"
        lines = headline_lines(found.measures)
        first = lines or worlds_lines(found.measures)
        unassessed, hidden = not_assessed_lines(found.release), interval_lines(found.intervals)
        stored = [line for one in found.stored for line in stored_lines(one)]
        leaves = leaf_value_lines(found.determined, found.determined_truth, found.remedies) if found.determined else []
        located = _position_lines(found)
        out = [
            *([("What this file reveals, by position in the training file", located)] if located else []),
            *([("What the leaf values reveal", leaves)] if leaves else []),
            *([("NOT ASSESSED", unassessed)] if unassessed else []),
            *([("What the file stores outright, without any attack", stored)] if stored else []),
            ("What an adversary is left with" + at, [*first, *proved]),
            *([("What the noise leaves", noise)] if noise else []),
            *_learner_section(found),
            *([("The same counted otherwise", worlds_lines(found.measures, stated=True))] if lines else []),
            ("Who is most exposed" + level, exposure_lines(found.measures)),
            *([("Suppressed and interval cells: what they can still be" + at, hidden)] if hidden else []),
            ("What the counts say without any reconstruction" + level, group_lines(found)),
        ]
        if found.truth is not None:
            out.append(("The true rows", truth_lines(found.truth)))
        out.append(("What the counts are", provenance_lines(found.release)))
        return [*out, ("This assumes", assumption_lines(found.release))]


def _position_json(found: AuditFindings) -> dict[str, Any]:
    """Return what is given back by position, the true rows and what columns open beside it; {} without positions."""
    if found.positions is None:
        return {}
    from recon.queries.located.positions import audit_json

    opens = [one.to_dict() for one in found.opens]
    return {"positions": audit_json(found.positions, found.positions_truth, opens)}


def _position_lines(found: AuditFindings) -> list[str]:
    """Return that in words."""
    if found.positions is None:
        return []
    from recon.queries.located.positions import audit_lines

    opens = [str(one) for one in found.opens[-1:] if one.names]
    return audit_lines(found.positions, found.positions_truth, *opens)


def _learner_section(found: AuditFindings) -> Sections:
    """Return the section on what knowing the learner adds; none where nobody asked."""
    return [] if found.learner_rule is None else [("What knowing the learner adds", list(found.learner_rule["lines"]))]


def _exposure_json(found: AuditFindings) -> dict[str, Any]:
    """Return who is exposed and where, for tables and charts: groups, curve, attributes, the model drawn, persons."""
    m = found.measures
    if m.status == "unsat":
        return {}
    return {
        "exposed": exposed_groups(m),
        "exposed_in_all": exposed_in_all(m),
        "exposed_mean": mean_exposure(m),
        "curve": curve_points(m),
        "attribute_bits": list(found.attribute_bits),
        "forced": found.forced,
        "drawing": _drawing(found.release, m),
        "profiles": found.profiles,
        "persons": found.persons,
    }
