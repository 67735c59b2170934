"""What would help: the audit under each remedy, new figures beside old; and the policy check by check."""

from __future__ import annotations

from recon.report.charts.svg import remedy_bars
from recon.report.page.advice import remedy_of
from recon.report.page.blocks import (
    NOT_KNOWN,
    WHERE,
    Block,
    ChartBlock,
    CommandList,
    Document,
    PagePart,
    PairBlock,
    Rows,
    SentenceBlock,
    TableBlock,
    check_sentence,
    command_of,
    more_of,
    name_of,
    percent,
    rows_of,
    sentence_of,
    span_of,
)

LISTED = 1000
OUTCOMES = {
    "met": "✓ met",
    "violated": "✕ not met",
    "inconclusive": "? not settled",
    "not applicable": "– does not apply",
}


def helping(document: Document) -> PagePart | None:
    """Return the part on remedies; None where none were tried."""
    remedies = document.get("remedies")
    if not remedies:
        return None
    judged = any(one.get("accuracy") is not None for one in remedies)
    policy = any(one.get("outcome") is not None for one in remedies)
    notes = any(one.get("note") for one in remedies)
    head = ("Remedy", *(["Policy"] if policy else []), "Pinned down", "Bits left per person", "Bits left, most exposed",
            "Smallest group", "Rows in groups of one class", *(["Accuracy"] if judged else []),
            *(["Note"] if notes else []))  # fmt: skip
    rows: Rows = [
        (
            name_of(one["remedy"], 120),
            *([OUTCOMES.get(one.get("outcome") or "", "-")] if policy else []),
            span_of(one.get("pinned")),
            span_of(one.get("bits_left_per_person"), 2),
            span_of(one.get("least_bits_left"), 2),
            span_of(one.get("smallest_group")),
            NOT_KNOWN if one.get("class_disclosed_rows") is None else rows_of(one["class_disclosed_rows"]),
            *([_accuracy(one)] if judged else []),
            *([sentence_of(one.get("note") or "-", 240)] if notes else []),
        )
        for one in remedies[:LISTED]
    ]
    first = 2 if policy else 1
    figures = frozenset(range(first, len(head) - notes))
    wide = frozenset({0, len(head) - 1} if notes else {0})
    blocks: list[Block] = [TableBlock("The audit under each remedy", head, rows, figures, wide, _measured_on(remedies))]
    if svg := remedy_bars(remedies):
        blocks.append(
            ChartBlock("Remedies beside the model as published", svg, "New figures beside old, as in the table above.")
        )
    commands = [
        (name_of(one["remedy"], 120), command_of(one["command"])) for one in remedies[:20] if one.get("command")
    ]
    if commands:
        blocks.append(CommandList("Commands", commands))
    intro = (
        "Remedies made from the released model itself, each audited again; the first line is the model as published."
    )
    return PagePart("helps", "What would help", intro, blocks)


def _accuracy(remedy: Document) -> str:
    """Return the share of rows that a remedied model predicts right."""
    if remedy.get("accuracy") is None:
        return "-"
    return percent(remedy["accuracy"], 1)


def _measured_on(remedies: list[Document]) -> str:
    """Return on how many rows accuracy was measured, "" where it was not."""
    rows = sorted(
        {one["rows_judged"] for one in remedies if one.get("accuracy") is not None and one.get("rows_judged")}
    )
    return f"Accuracy: rows predicted right, of {' or '.join(f'{n:,}' for n in rows)} that were given." if rows else ""


def judging(document: Document) -> PagePart | None:
    """Return the policy, check by check; None without one."""
    assessment = document.get("assessment")
    if assessment is None:
        return None
    policy, checks = assessment["policy"], assessment.get("checks") or []
    pairs = [("Policy", name_of(policy["name"], 160))]
    pairs += [
        (label, name_of(policy[key], 160))
        for label, key in (("File", "file"), ("SHA-256", "sha256"))
        if policy.get(key)
    ]
    if policy.get("extends"):
        pairs.append(("Extends", name_of(", ".join(map(str, policy["extends"])), 160)))
    rows: Rows = [
        (
            name_of(one["title"], 120),
            OUTCOMES[one["outcome"]],
            _threshold(one.get("threshold")),
            name_of(one["found"], 120),
            check_sentence(one, 400),
            name_of(one.get("source"), 240),
        )
        for one in checks[:LISTED]
    ]
    head = ("Check", "Outcome", "Threshold", "Found", "In words", "Where the threshold is from")
    blocks: list[Block] = [PairBlock("", pairs)]
    if rows:
        blocks.append(TableBlock("Every check of the policy", head, rows, wide=frozenset({4, 5})))
    for one in checks[:LISTED]:
        blocks += _places(one)
    intro = sentence_of(assessment["sentence"])
    return PagePart("policy", "Against the policy", intro, blocks)


def _threshold(value: object) -> str:
    """Return a threshold for people."""
    if isinstance(value, list):
        return name_of(", ".join(map(str, value)), 80)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return name_of(value, 80)
    return f"{value:,}"


def _places(check: Document) -> list[Block]:
    """Return where a check fails and what to do, for checks that are not met."""
    found = check.get("places") or []
    if check["outcome"] not in {"violated", "inconclusive"}:
        return []
    out: list[Block] = []
    if found:
        rows: Rows = [
            (name_of(one["name"]), name_of(one.get("where"), WHERE), rows_of(one["rows"]) if one.get("rows") else "-")
            for one in found
        ]
        caption = f"{name_of(check['title'], 120)}: where"
        more = more_of(len(rows), check.get("places_in_all"))
        out.append(TableBlock(caption, ("Place", "Where", "Rows"), rows, frozenset({2}), frozenset({1}), more))
    if check.get("remedy"):
        out.append(SentenceBlock("", [remedy_of(check)]))
    return out
