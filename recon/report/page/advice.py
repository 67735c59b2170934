"""What to do, step by step: the worst finding, where it is, the remedy, and the command that carries it out.

What would help: the audit under each remedy, new figures beside old; and the policy check by check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from recon.io.console.guarding import Options, options_of, stripped_name, suggestion
from recon.release.policies.assessing import CELLS, least_loss
from recon.release.policies.rules import RULES
from recon.report.charts.svg import remedy_bars
from recon.report.page.blocks import (
    LISTED,
    NOT_KNOWN,
    PLACE,
    AdviceStep,
    Block,
    ChartBlock,
    Column,
    CommandList,
    Document,
    PagePart,
    PairBlock,
    SentenceBlock,
    bits,
    check_sentence,
    command_of,
    ends_of,
    figure_column,
    name_of,
    people,
    percent,
    rows_of,
    sentence_of,
    span_of,
    table,
    text_column,
    where_of,
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


STEPS = 4
GRAVE = ("critical", "high")
MERGED = frozenset(["tree", "forest", "rule list"])
CHANGING = (
    "--register",
    "--rows",
    "--known-columns",
    "--independent-columns",
)  # unlike ones of `recon remedy`
OF_GROUPS = frozenset(key for key, one in RULES.items() if one.of_worlds)  # what merging groups changes


def steps(document: Document) -> list[AdviceStep]:
    """Return what to do, the most pressing first, no command twice; at most `STEPS`."""
    found = {step.command or step.text: step for step in reversed(list(_every_step(document)))}
    return list(found.values())[::-1][:STEPS]


def _every_step(document: Document) -> Iterator[AdviceStep]:
    """Yield what to do, the most pressing first."""
    status, assessment = document["facts"]["status"], document.get("assessment")
    if status == "unsat":
        yield from _contradiction(document)
        return
    if status == "empty":
        yield AdviceStep(
            "No training set fits at this confidence: ask at a higher one, or check the law of the noise.",
            _again(document, {"--confidence": "0.999"}),
        )
    yield from _strip(document)
    if assessment is None:
        yield from _unassessed(document)
    elif assessment["outcome"] == "violated":
        yield from _mend(document, assessment)
    elif assessment["outcome"] == "inconclusive":
        yield from _settling_steps(document, assessment)
    else:
        worst = most_exposed(document)
        yield AdviceStep("Nothing has to be changed to meet the policy." + (f" {worst}" if worst else ""))


def _files(document: Document) -> list[str]:
    """Return the audited files."""
    return [str(one["file"]) for one in document["audited"]["files"]] or [str(document["file"])]


def _typed(document: Document, command: str, named: Sequence[str], options: Options | None = None) -> str:
    """Return a command on files, with the options of the audit that it takes too; "" where nobody would type it."""
    made = document.get("made") or {}
    return command_of(suggestion(command, named, options, asked=str(made.get("command") or "")))


def _again(document: Document, options: Options) -> str:
    """Return the command that audits the same again, with other options."""
    return _typed(document, "audit", _files(document), options)


def _by_policy(document: Document, assessment: Document) -> Options:
    """Return the policy as the audit was given it, where that is known: else its file, or its name."""
    given = options_of(str((document.get("made") or {}).get("command") or ""))
    named = assessment["policy"].get("file") or assessment["policy"]["name"]
    return {"--policy": given.get("--policy") or str(named)}


def clash_beside(document: Document) -> list[str]:
    """Return what an audit says of earlier releases that the new one contradicts: which, then why; [] of none."""
    adds = document.get("adds") or {}
    clash = document.get("status") != "unsat" and (adds.get("after") or {}).get("status") == "unsat"
    return [str(line) for line in adds["sentences"][:2]] if clash else []


def _contradiction(document: Document) -> Iterator[AdviceStep]:
    """Yield what to do where no training set fits."""
    if beside := clash_beside(document):
        yield AdviceStep(" ".join(sentence_of(line, 400) for line in beside[1:2]))
        return
    first = [sentence_of(one, 160) for one in (document.get("conflict") or ())[:2]]
    which = f" These cannot all hold: {'; '.join(first)}." if first else ""
    yield AdviceStep(f"Find out which statement is wrong, correct it, and audit again.{which}")


def _strip(document: Document) -> Iterator[AdviceStep]:
    """Yield what to do about what files store outright, beside their counts."""
    notes = document["facts"].get("stored") or ()
    grave = [one for level in GRAVE for one in notes if one["level"] == level]
    if not grave:
        return
    worst = next((one for one in grave if one.get("removable")), grave[0])
    file = worst.get("file") or document["file"]
    same = [one for one in grave if bool(one.get("removable")) == bool(worst.get("removable"))]
    paths = list(dict.fromkeys(name_of(one.get("path"), 60) for one in same))
    what = f"{', '.join(paths[:3])}{' and more' if len(paths) > 3 else ''}"
    if worst.get("removable"):
        command = _typed(document, "inspect", [file], _stripped(file))
        yield AdviceStep(f"Take out what the file stores outright ({what}).", command)
        return
    remedy = sentence_of(worst.get("remedy") or "release a model that does not keep rows", 160)
    says = "stores rows outright" if worst["level"] == "critical" else "says something about single rows"
    yield AdviceStep(f"The file {says} ({what}): {remedy}.", _typed(document, "inspect", [file]))


def _stripped(file: str) -> Options:
    """Return the options that take out what predictions do not need."""
    return {"--strip": stripped_name(file)}


def _unassessed(document: Document) -> Iterator[AdviceStep]:
    """Yield what to do without a policy: what was not assessed, the most exposed group, how to give a policy."""
    wanting = document.get("not_assessed")
    if isinstance(wanting, Mapping) and wanting:
        runs = wanting.get("run")
        command = runs[0] if isinstance(runs, Sequence) and runs and not isinstance(runs, str) else ""
        yield AdviceStep(
            f"Give the missing information: {sentence_of(wanting.get('why', ''), 260)}.", command_of(command)
        )
    elif isinstance(wanting, Sequence) and wanting and not isinstance(wanting, str):
        yield AdviceStep(f"Give the missing information: {sentence_of(wanting[0], 260)}")
    worst = most_exposed(document)
    if worst:
        yield AdviceStep(worst)
    yield AdviceStep("Write a policy that says what is acceptable.", "recon policy --init --out policy.toml")
    yield AdviceStep("Then audit against it.", _again(document, {"--policy": "policy.toml"}))


def most_exposed(document: Document) -> str:
    """Return the most exposed group in a sentence, "" where none is known."""
    for one in document.get("exposed") or ():
        where = f", where {where_of(one, 180)}" if one.get("where") else ""
        left = "" if one.get("bits_left") is None else f": {bits(one['bits_left'])} bits are left about each"
        return f"Most exposed: {name_of(one['name'], 60)} ({people(one['rows'])}){where}{left}."
    for one in document["facts"].get("groups") or ():
        where = f", where {where_of(one, 180)}" if one.get("where") else ""
        return f"Smallest group: {name_of(one['name'], 60)} ({people(one['rows'])}){where}."
    return ""


def _mend(document: Document, assessment: Document) -> Iterator[AdviceStep]:
    """Yield what to do about what a policy forbids: the worst check with its place, then what meets the policy."""
    failed = [one for one in assessment.get("checks", ()) if one["outcome"] == "violated"]
    if failed:
        yield AdviceStep(_worst_check(failed[0]))
    yield from _mended(document, assessment, any(one["rule"] in OF_GROUPS for one in failed))


def _worst_check(check: Document) -> str:
    """Return the first place where a check fails, and its remedy."""
    text = f"“{sentence_of(check['title'], 90)}” is not met"
    for place in check.get("places", ())[:1]:
        rows = f" ({people(place['rows'])})" if place.get("rows") else ""
        where = f", where {where_of(place, 180)}" if place.get("where") else ""
        more = check.get("places_in_all", 0) - 1
        others = f"; {more:,} more {'place fails' if more == 1 else 'places fail'}" if more > 0 else ""
        text += f", first at {name_of(place['name'], 60)}{rows}{where}{others}"
    remedy = remedy_of(check)
    return f"{text}. {remedy}" if remedy else f"{text}."


def remedy_of(check: Document) -> str:
    """Return what a check says to do, as a sentence; the command is not in it, a step has its own."""
    said = sentence_of(str(check.get("remedy") or "").partition(": recon ")[0], 220).rstrip(" .")
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _mended(document: Document, assessment: Document, of_groups: bool) -> Iterator[AdviceStep]:
    """Yield the remedy that meets the policy, that none does, or how to find one."""
    policy, tried = _by_policy(document, assessment), (document.get("remedies") or [])[1:]
    merging = hiding = ""
    if of_groups and _hideable(document):
        hiding = _typed(document, "remedy", _files(document), {**policy, "--out": f"better{_table_suffix(document)}"})
    if of_groups and _mergeable(document):
        merging = _typed(document, "remedy", _files(document), {**policy, "--out": f"better{_suffix(document)}"})
    best = least_loss(tried)
    if best is not None:
        merges = best.get("kind") == "merge"
        command = merging if merges and merging else command_of(best.get("command"))
        yield AdviceStep(
            f"This meets the policy: {name_of(best['remedy'], 120)} ({', '.join(_gains(document, best))}).", command
        )
        other = least_loss([one for one in tried if one.get("kind") == "merge"])
        if merging and not merges and other is not None:
            yield AdviceStep(
                f"So does: {name_of(other['remedy'], 120)} ({', '.join(_gains(document, other))}).", merging
            )
        elif merging and not merges:
            yield AdviceStep("Or look for the fewest merges of groups that meet it.", merging)
        return
    if tried:
        yield AdviceStep(
            f"None of the {len(tried):,} remedies that were tried meets the policy: do not release this model. Train "
            "it again with larger groups, and audit that."
        )
    if hiding:
        yield AdviceStep("Hide as few cells as the policy needs; the result is audited.", hiding)
    if merging:
        if _of_trees(document):
            yield AdviceStep(
                "Train again with fewer trees and larger leaves, and audit that: to merge the small leaves of a forest "
                "takes long, and leaves little of it."
            )
        yield AdviceStep("Look for the fewest merges of groups that meet the policy; the result is audited.", merging)
    if not tried:
        yield AdviceStep("See what would help.", _again(document, {**policy, "--remedies": None}))


def _mergeable(document: Document) -> bool:
    """Return whether `recon remedy` takes what was audited: one file, whose leaves or rules can be merged."""
    audited = document["audited"]["files"]
    kinds = {kind for one in audited for kind in str(one.get("kind")).split(", ")}
    given = options_of(str((document.get("made") or {}).get("command") or ""))
    may_be = kinds <= MERGED and not document["facts"].get("no_merging")
    return len(audited) == 1 and may_be and not any(name in given for name in CHANGING)


def _of_trees(document: Document) -> bool:
    """Return whether a forest was audited."""
    return any("forest" in str(one.get("kind")).split(", ") for one in document["audited"]["files"])


def _hideable(document: Document) -> bool:
    """Return whether `recon remedy` hides cells of what was audited: one file of tables of counts."""
    audited = document["audited"]["files"]
    tables = document["facts"].get("no_merging") == CELLS
    return tables and len(audited) == 1


def _table_suffix(document: Document) -> str:
    """Return the suffix that a table with hidden cells has."""
    return ".csv" if document["file"].lower().endswith(".csv") else ".json"


def _more_limits(document: Document) -> Options:
    """Return ten times the time of the audit, 10 minutes at least, and 8 GB of memory, or twice what it had."""
    limits = (document.get("how") or {}).get("limits") or {}
    seconds, memory = limits.get("seconds"), limits.get("memory")
    more = seconds * 10 if isinstance(seconds, int | float) else 0
    held = memory >> 29 if isinstance(memory, int) else 0  # twice as many GB
    return {"--time": f"{max(600, more):g}", "--memory": f"{max(8, held)}G"}


def _suffix(document: Document) -> str:
    """Return the suffix that a remedied copy of the first file has."""
    end = document["file"].rpartition(".")[2].lower()
    return f".{end}" if end in {"json", "joblib", "pkl"} else ".json"


def _gains(document: Document, best: Document) -> list[str]:
    """Return the figures of a remedy in short."""
    out = []
    if best.get("smallest_group"):
        out.append(f"smallest group {rows_of(best['smallest_group'])}")
    if best.get("pinned") and (text := ends_of(best["pinned"])) != NOT_KNOWN:
        out.append(f"fully known {text}")
    if best.get("bits_left_per_person"):
        out.append(f"{ends_of(best['bits_left_per_person'], 2)} bits left per person")
    now = (document.get("remedies") or [{}])[0].get("accuracy")
    if best.get("accuracy") is not None:
        was = "" if now is None else f" instead of {percent(now, 1)}"
        out.append(f"accuracy {percent(best['accuracy'], 1)}{was}")
    return out or ["figures below"]


def _settling_steps(document: Document, assessment: Document) -> Iterator[AdviceStep]:
    """Yield what to do about what was not settled: what would settle it, and nothing where no option would."""
    open_ones = [one for one in assessment.get("checks", ()) if one["outcome"] == "inconclusive"]
    for one in open_ones[:1]:
        yield AdviceStep(f"Not settled: {check_sentence(one, 240)} {remedy_of(one)}".rstrip())
    policy = _by_policy(document, assessment)
    domain = [one for one in _unassessed(document) if one.text.startswith("Give the missing")]
    yield from domain
    for needed in dict.fromkeys(str(one.get("would_help") or "") for one in open_ones):
        if needed == "domain" and not domain:
            yield AdviceStep(
                "Give a domain: rows of the same kind show which values exist.",
                _again(document, {"--domain": "DATA.csv"}),
            )
        elif needed == "profiles":
            yield AdviceStep("Give the people to ask about.", _again(document, {**policy, "--profiles": "people.csv"}))
        elif needed == "inspection":
            yield AdviceStep("Have the file inspected.", _typed(document, "inspect", _files(document)))
        elif needed == "strip":
            file = str(document["file"])
            yield AdviceStep(
                "Take out what predictions do not need.", _typed(document, "inspect", [file], _stripped(file))
            )
        elif needed == "limits":
            more = _again(document, {**policy, **_more_limits(document)})
            yield AdviceStep("Give the audit more time and memory.", more)
