"""What would help: the audit under each remedy, new figures beside old; and the policy check by check."""

from __future__ import annotations

from recon.report.charts.svg import remedy_bars
from recon.report.page.advice import remedy_of
from recon.report.page.blocks import (
    LISTED,
    PLACE,
    Block,
    ChartBlock,
    Column,
    CommandList,
    Document,
    PagePart,
    PairBlock,
    SentenceBlock,
    check_sentence,
    command_of,
    figure_column,
    name_of,
    percent,
    rows_of,
    sentence_of,
    span_of,
    table,
    text_column,
)

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
    columns = [
        text_column("Remedy", "remedy", 120, wide=True),
        Column("Policy", lambda one: OUTCOMES.get(one.get("outcome") or "", "-"), shown=policy),
        figure_column("Pinned down", "pinned", span_of),
        figure_column("Bits left per person, without order", "bits_left_per_person", span_of, 2),
        figure_column("Bits left, most exposed", "least_bits_left", span_of, 2),
        figure_column("Smallest group", "smallest_group", span_of),
        figure_column("Rows in groups of one class", "class_disclosed_rows", rows_of),
        Column("Accuracy", _accuracy, figures=True, shown=judged),
        Column("Note", lambda one: sentence_of(one.get("note") or "-", 240), wide=True,
               shown=any(one.get("note") for one in remedies)),
    ]  # fmt: skip
    blocks: list[Block] = [table("The audit under each remedy", remedies, columns, more=_measured_on(remedies))]
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
    columns = [
        text_column("Check", "title", 120), Column("Outcome", lambda one: OUTCOMES[one["outcome"]]),
        Column("Threshold", lambda one: _threshold(one.get("threshold"))), text_column("Found", "found", 120),
        Column("In words", lambda one: check_sentence(one, 400), wide=True),
        text_column("Where the threshold is from", "source", 240, wide=True),
    ]  # fmt: skip
    blocks: list[Block] = [PairBlock("", pairs)]
    if checks:
        blocks.append(table("Every check of the policy", checks, columns))
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
        rows = Column("Rows", lambda one: rows_of(one["rows"]) if one.get("rows") else "-", figures=True)
        caption, columns = (
            f"{name_of(check['title'], 120)}: where",
            [text_column("Place", "name"), PLACE, rows],
        )
        out.append(table(caption, found, columns, check.get("places_in_all")))
    if check.get("remedy"):
        out.append(SentenceBlock("", [remedy_of(check)]))
    return out
