"""The first page in words: the verdict and why, three numbers, what to do, what was audited; for every format."""

from __future__ import annotations

import math
from collections.abc import Mapping

from recon.io.console.guarding import suggestion
from recon.report.page.advice import clash_beside, steps
from recon.report.page.blocks import (
    NOT_KNOWN,
    Document,
    Ends,
    FirstPage,
    Number,
    PagePart,
    amount,
    check_sentence,
    ends_of,
    name_of,
    path_of,
    people,
    percent,
    rows_of,
    sentence_of,
    shortened,
    span_of,
    where_of,
)

WHY, STORED, ASSUMED = 4, 3, 2  # lines of the first page
ROUNDING = 1e-9
LEFT = "Bits left per person"
TOGETHER = 0.005  # of the bits before: ends that are closer than that are one figure in words
AWAY = "meets the policy, but reveals people"
TONES = {
    "release": "good", "release with changes": "changes", "do not release": "bad", "not assessed": "open",
}  # fmt: skip
ALONE = "The statements in the file contradict each other: no training set fits all of them."
STANDING = {
    "critical": "Training data is stored in the file outright",
    "high": "The file stores something about single training rows",
}
ORDER = ("violated", "inconclusive", "met", "not applicable")
WORST_FIRST = ("critical", "high", "unknown", "medium", "info")


def first_page(document: Document) -> FirstPage:
    """Return the first page of a document."""
    assessment = document.get("assessment")
    verdict = "not assessed" if assessment is None else assessment["verdict"]
    away = verdict == "release" and bool((assessment or {}).get("gives_away"))
    every = _reasons(document)
    failed = [one for one in every if one[0] in {"violated", "inconclusive", "warning"}]
    shown = (failed or every)[:WHY]
    left = len(every) - len(shown)
    return FirstPage(
        "changes" if away else TONES.get(verdict, "open"),
        "not assessed against a policy" if assessment is None else AWAY if away else verdict,
        _against(document),
        "" if assessment is None else _policy_name(assessment),
        shown,
        f"and {left:,} more {'check' if left == 1 else 'checks'}, see Against the policy"
        if left and assessment
        else "",
        [_pinned(document["facts"]), bits_left(document), _smallest(document["facts"])],
        steps(document),
        _audited(document),
        _stored_sentences(document),
        _confidential(document),
        assessment is not None,
    )


def _confidential(document: Document) -> str:
    """Return why the report describes individuals, "" where it does not."""
    said = sentence_of(document.get("confidential") or "", 200).rstrip(".")
    return f"{_sentence_case(said)}." if said else ""


def _against(document: Document) -> str:
    """Return what the policy says in one sentence; that there is none where there is none."""
    assessment = document.get("assessment")
    if assessment is None:
        text = "No policy was given, so nothing here says whether the file may be released"
        return f"{text}. What stands out:" if _standing_out(document) else f"{text}."
    return _sentence_case(sentence_of(assessment["sentence"], 320))


def _policy_name(assessment: Document) -> str:
    """Return a policy by its name, file and the first digits of its SHA-256."""
    policy, where = assessment["policy"], list[str]()
    if policy.get("file"):
        where.append(path_of(policy["file"]))
    if policy.get("sha256"):
        where.append(f"SHA-256 {shortened(policy['sha256'], 13)}")
    which = f" ({', '.join(where)})" if where else ""
    return f"Policy “{name_of(policy['name'], 60)}”{which}"


def _reasons(document: Document) -> list[tuple[str, str]]:
    """Return why, one sentence each with its outcome, failed checks first; without a policy what stands out."""
    assessment = document.get("assessment")
    if assessment is None:
        return [("violated", sentence_of(line, 240)) for line in _standing_out(document)]
    checks = sorted(assessment.get("checks", ()), key=lambda one: ORDER.index(one["outcome"]))
    away = [("warning", sentence_of(one["sentence"], 240)) for one in assessment.get("gives_away") or ()]
    found = [(one["outcome"], check_sentence(one, 260)) for one in checks if one["outcome"] != ORDER[-1]]
    return [*away, *found] if assessment["verdict"] == "release" else found


def _standing_out(document: Document) -> list[str]:
    """Return what an officer has to know where no policy says what is too much."""
    facts, lines = document["facts"], []
    if facts["status"] == "unsat":
        lines += [sentence_of(line, 240) for line in clash_beside(document)[:1]] or [ALONE]
    if facts["status"] == "empty":
        lines.append("No training set fits the noisy counts at the confidence asked for.")
    if (document.get("versions") or {}).get("removed"):
        lines.append(document["versions"]["sentences"][0])
    lines += _outright(document)
    pinned, group, disclosed = facts.get("pinned"), facts.get("smallest_group"), facts.get("class_disclosure")
    if pinned is not None and pinned[0] > 0:
        lines.append(f"{_sentence_case(ends_of(pinned))} of the people in the data are fully known.")
    if group is not None and group[1] is not None and 0 < group[1] < 10:
        lines.append(f"A group of {people(group)} can be singled out.")
    if disclosed is not None and disclosed.get("rows") and disclosed["rows"][0] > 0:
        lines.append(f"For {people(disclosed['rows'])} the class is known: everybody in their group has the same.")
    return lines


def _outright(document: Document) -> list[str]:
    """Return what files store or give back outright, in the words of the audit where it has some."""
    said = [sentence_of(line, 200) for line in (document.get("verdict") or ())[:2]]
    stored_ = document["facts"].get("stored") or ()
    if not said:
        for level, text in STANDING.items():
            paths = list(dict.fromkeys(name_of(one.get("path"), 50) for one in stored_ if one["level"] == level))
            said += [f"{text}: {', '.join(paths[:3])}{' and more' if len(paths) > 3 else ''}."] if paths else []
    models = document.get("leaf_values")
    models = models.get("models") if isinstance(models, Mapping) else None
    listed = [document.get("positions"), *(models if isinstance(models, list) else [])]
    for one in listed[:3]:
        summary = one.get("summary") if isinstance(one, Mapping) else None
        if isinstance(summary, str):
            said.append(f"{_sentence_case(sentence_of(summary, 200)).rstrip('.')}.")
    return said


def _sentence_case(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def _reason_of(facts: Document, key: str, otherwise: str) -> str:
    """Return why a figure is not known."""
    why = (facts.get("not_known") or {}).get(key) or (facts.get("not_applicable") or {}).get(key)
    return _sentence_case(sentence_of(why or otherwise, 110))


def _figure_of(ends: Ends, places: int = 0, ceiling: float | None = None) -> str:
    """Return a figure as the first page shows it; with both ends proved, from one to the other."""
    text = ends_of(ends, places, ceiling)
    return span_of(ends, places) if ", at most" in text else text


def _pinned(facts: Document) -> Number:
    """Return how many people are fully known."""
    label, found, rows = "People fully known", facts.get("pinned"), facts.get("rows")
    exact = None if rows is None or rows[1] is None or rows[0] != rows[1] else rows[1]
    value = _figure_of(found, 0, exact)
    beside = f"of {rows_of(rows)}" if rows is not None and value != NOT_KNOWN else ""
    if found is None:
        return Number(label, value, "", _reason_of(facts, "pinned", "The audit did not work this out."))
    if value == NOT_KNOWN:
        return Number(label, value, "", "Nobody was proved to be; nothing was proved that rules it out.")
    if found[0] == found[1] == 0:
        return Number(label, "0", beside, "No row is the same in every possible training set.")
    return Number(label, value, beside, "Anyone who has the file knows all their attributes.")


def _left_by_group(document: Document) -> Number | None:
    """Return the bits left about a person whose group is known, the scale of "Where it leaks"; None where not known."""
    found = document.get("exposed_mean")
    if found is None:
        return None
    left, before = found["bits_left"], found["bits_before"]
    note = f"On average, the person's group being known. {share_left((left, left), before)}"
    least = document["facts"].get("least_bits_left")
    note += f" About the most exposed person {_figure_of(least, 2)} bits are left." if least else ""
    return Number(LEFT, amount(left, 2), f"of {amount(before, 2)} before", note)


def bits_left(document: Document) -> Number:
    """Return the bits left per person beside the bits before: by the groups that are listed, else without order."""
    if (by_group := _left_by_group(document)) is not None:
        return by_group
    facts = document["facts"]
    label, found, before = (
        LEFT,
        facts.get("bits_left_per_person"),
        facts.get("bits_before_per_person"),
    )
    if found is None:
        return Number(
            label, NOT_KNOWN, "", _reason_of(facts, "bits_left_per_person", "The audit did not count worlds.")
        )
    value = _figure_of(found, 2, before)
    beside = "" if before is None else f"of {amount(before, 2)} before"
    if value == NOT_KNOWN:
        return Number(label, value, beside, "No bound was proved that says more than the attributes themselves.")
    return Number(label, value, beside, share_left(found, before))


def share_left(found: Ends, before: float | None) -> str:
    """Return which share of the bits before is left, in words."""
    if found is None or not before:
        return "The order of rows is not counted."
    least, most, open_ = found[0] or 0, found[1], "of the uncertainty is left"
    if most is not None and most - least < TOGETHER * before:
        return f"{percent(most / before)} {open_}; the file reveals the rest."
    if most is not None and most < before:
        return f"At most {math.ceil(100 * most / before - ROUNDING)} % {open_}."
    return f"At least {math.floor(100 * least / before + ROUNDING)} % {open_}."


def _smallest(facts: Document) -> Number:
    """Return the rows of the smallest group, and which it is."""
    label, found = "Smallest group", facts.get("smallest_group")
    if found is None:
        return Number(
            label, NOT_KNOWN, "", _reason_of(facts, "smallest_group", "No groups with counts were published.")
        )
    value = _figure_of(found)
    groups = facts.get("groups") or []
    where = ""
    if groups:
        first = groups[0]
        where = shortened(first["name"], 60)
        where += f": {where_of(first, 110)}" if first.get("where") else ""
    beside = "" if value == NOT_KNOWN else "row" if found[0] == found[1] == 1 else "rows"
    return Number(label, value, beside, where)


def _audited(document: Document) -> list[tuple[str, str]]:
    """Return what was audited, as pairs."""
    what, made = document["audited"], document["made"]
    out: list[tuple[str, str]] = []
    for one in what["files"][:2]:
        out.append(("File", path_of(one["file"], 120)))
        if one.get("sha256"):
            out.append(("SHA-256", name_of(one["sha256"], 64)))
        kind = ", ".join(name_of(one[key], 60).replace("_", " ") for key in ("kind", "format") if one.get(key))
        if kind:
            out.append(("Kind", kind))
    if len(what["files"]) > 2:
        out.append(("Other files", f"{len(what['files']) - 2:,}, see How it was computed"))
    out.append(("Size", _size_of(what)))
    if what.get("kinds_of_counts"):
        out.append(("Counts", name_of(", ".join(map(str, what["kinds_of_counts"])), 80)))
    when = f"{name_of(made.get('date'), 25).replace('T', ' ').removesuffix('Z')} UTC, " if made.get("date") else ""
    out.append(("Made", f"{when}recon {name_of(made['recon'], 20)}"))
    if made.get("command"):
        out.append(("Command", name_of(made["command"], 150)))
    assumed = document.get("assumptions") or []
    if assumed:
        rest = f"; and {len(assumed) - ASSUMED:,} more" if len(assumed) > ASSUMED else ""
        out.append(("Assumptions", "; ".join(name_of(one, 90) for one in assumed[:ASSUMED]) + rest))
    return out


def _size_of(what: Document) -> str:
    """Return how many rows and attributes were audited, and what the model predicts."""
    said = ["number of rows not known" if what.get("rows") is None else people(what["rows"])]
    if what.get("attributes") is not None:
        said.append(f"{amount(what['attributes'])} {'attribute' if what['attributes'] == 1 else 'attributes'}")
    if what.get("label"):
        said.append(f"predicting {name_of(what['label'], 40)}")
    return ", ".join(said)


def _stored_sentences(document: Document) -> list[str]:
    """Return what the files store outright, the worst first; that nothing was looked for where it was not."""
    facts = document["facts"]
    found = facts.get("stored")
    if found is None or not (facts.get("stored_inspected") or found):
        return [_reason_of(facts, "stored", "The file was not inspected for stored training data.")]
    notes = sorted(found, key=lambda one: WORST_FIRST.index(one["level"]) if one["level"] in WORST_FIRST else 9)
    if not notes:
        return ["Nothing about training rows was found in the file besides what it publishes."]
    lines = [
        f"{_sentence_case(name_of(one['level'], 12))}: {name_of(one.get('path'), 50)}: {name_of(one['what'], 110)}"
        + (f". Remedy: {sentence_of(one['remedy'], 100)}" if one.get("remedy") else "")
        for one in notes[:STORED]
    ]
    if len(notes) > STORED:
        listing = suggestion("inspect", [document["file"]], asked=str(document["made"].get("command") or ""))
        lines.append(f"and {len(notes) - STORED:,} more: {listing} lists everything")
    return lines


def first_part(document: Document) -> PagePart:
    """Return the first page as a part."""
    return PagePart("first", "Verdict", "", [first_page(document)])
