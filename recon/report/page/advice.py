"""What to do, step by step: the worst finding, where it is, the remedy, and the command that carries it out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from recon.policies.assessing import least_loss
from recon.policies.rules import RULES
from recon.report.page.blocks import (
    NOT_KNOWN,
    Document,
    bits,
    check_sentence,
    command_of,
    cut,
    ends_of,
    name_of,
    people,
    percent,
    quoted,
    rows_of,
    sentence_of,
)

STEPS = 4
GRAVE = ("critical", "high")
FLAGS = frozenset(["--independent-columns", "--show-rows", "--remedies", "--json", "--quiet", "--log-json", "--raw"])
OF_OUTPUT = frozenset(["--policy", "--out", "--json", "--quiet", "--log-json", "--digits", "--remedies"])
OF_REMEDY = frozenset(["--domain", "--data", "--label", "--seed", "--time", "--memory", "--max-cells"])
MERGED = frozenset(["tree", "forest"])
OF_GROUPS = frozenset(key for key, one in RULES.items() if one.of_worlds)  # what merging groups changes


@dataclass(frozen=True)
class Step:
    """What to do, and the command for it ("" where there is none)."""

    text: str
    command: str = ""


def steps(document: Document) -> list[Step]:
    """Return what to do, the most pressing first; at most `STEPS`."""
    found = list(every_step(document))
    return found[:STEPS]


def every_step(document: Document) -> Iterator[Step]:
    """Yield what to do, the most pressing first."""
    status, assessment = document["facts"]["status"], document.get("assessment")
    if status == "unsat":
        yield from contradiction(document)
        return
    if status == "empty":
        yield Step(
            "No training set fits at this confidence: ask at a higher one, or check the law of the noise.",
            audit_again(document, "--confidence 0.999"),
        )
    yield from strip(document)
    if assessment is None:
        yield from unassessed(document)
    elif assessment["outcome"] == "violated":
        yield from mend(document, assessment)
    elif assessment["outcome"] == "inconclusive":
        yield from settle(document, assessment)
    else:
        worst = most_exposed(document)
        yield Step("Nothing has to be changed to meet the policy." + (f" {worst}" if worst else ""))


def files(document: Document) -> str:
    """Return the audited files as commands take them."""
    return " ".join(quoted(one["file"]) for one in document["audited"]["files"]) or quoted(document["file"])


def own_options(document: Document) -> dict[str, str]:
    """Return the options of the audit that the user asked for, as they were given, with their values ("": a flag)."""
    found: dict[str, str] = {}
    try:
        words = shlex.split((document.get("made") or {}).get("command") or "")
    except ValueError:  # it is no command
        return found
    if words[:2] != ["recon", "audit"]:
        return found
    rest = iter(words[2:])
    for word in takewhile(lambda one: one != "--", rest):
        name, given, value = word.partition("=")
        if name.startswith("--") and name not in found:
            found[name] = value if given else "" if name in FLAGS else next(rest, "")
    return found


def audit_again(document: Document, *more: str, policy: str = "") -> str:
    """Return the command that audits the same files with the user's own options, and some more or others."""
    new = {one.partition(" ")[0]: one.partition(" ")[2] for one in more}
    kept = {name: value for name, value in own_options(document).items() if name not in OF_OUTPUT and name not in new}
    kept |= {"--policy": policy} if policy else {}
    return f"recon audit {files(document)}{as_options(kept)}{''.join(f' {one}' for one in more)}"


def as_options(options: Mapping[str, str]) -> str:
    """Return options as commands take them."""
    return "".join(f" {name}" + (f" {quoted(value)}" if name not in FLAGS else "") for name, value in options.items())


def contradiction(document: Document) -> Iterator[Step]:
    """Yield what to do where no training set fits."""
    first = [sentence_of(one, 160) for one in (document.get("conflict") or ())[:2]]
    which = f" These cannot all hold: {'; '.join(first)}." if first else ""
    yield Step(f"Find out which statement is wrong, correct it, and audit again.{which}")


def strip(document: Document) -> Iterator[Step]:
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
        yield Step(
            f"Take out what the file stores outright ({what}).", f"recon inspect {quoted(file)} --strip {copy(file)}"
        )
        return
    remedy = sentence_of(worst.get("remedy") or "release a model that does not keep rows", 160)
    yield Step(f"The file stores rows outright ({what}): {remedy}.", f"recon inspect {quoted(file)}")


def copy(file: str) -> str:
    """Return the name of a stripped copy, with the suffix of the file."""
    stem, dot, end = file.rpartition("/")[2].rpartition(".")
    return quoted(f"{stem}-stripped.{end}" if dot and stem else f"{file.rpartition('/')[2]}-stripped")


def unassessed(document: Document) -> Iterator[Step]:
    """Yield what to do without a policy: what was not assessed, the most exposed group, how to give a policy."""
    wanting = document.get("not_assessed")
    if isinstance(wanting, Mapping) and wanting:
        runs = wanting.get("run")
        command = runs[0] if isinstance(runs, Sequence) and runs and not isinstance(runs, str) else ""
        yield Step(f"Say what was not known: {sentence_of(wanting.get('why', ''), 260)}.", command_of(command))
    elif isinstance(wanting, Sequence) and wanting and not isinstance(wanting, str):
        yield Step(f"Say what was not known: {sentence_of(wanting[0], 260)}")
    worst = most_exposed(document)
    if worst:
        yield Step(worst)
    yield Step("Write a policy that says what is too much.", "recon policy --init --out policy.toml")
    yield Step("Then audit against it.", audit_again(document, policy="policy.toml"))


def most_exposed(document: Document) -> str:
    """Return the most exposed group in a sentence, "" where none is known."""
    for one in document.get("exposed") or ():
        where = f", where {cut(one['where'], 180)}" if one.get("where") else ""
        left = "" if one.get("bits_left") is None else f": {bits(one['bits_left'])} bits are left about each"
        return f"Most exposed: {name_of(one['name'], 60)} ({people(one['rows'])}){where}{left}."
    for one in document["facts"].get("groups") or ():
        where = f", where {cut(one['where'], 180)}" if one.get("where") else ""
        return f"Smallest group: {name_of(one['name'], 60)} ({people(one['rows'])}){where}."
    return ""


def policy_file(assessment: Document) -> str:
    """Return the policy as commands take it."""
    return quoted(policy_name(assessment))


def policy_name(assessment: Document) -> str:
    """Return the policy's file or preset, its name where there is none."""
    return str(assessment["policy"].get("file") or assessment["policy"]["name"])


def mend(document: Document, assessment: Document) -> Iterator[Step]:
    """Yield what to do about what a policy forbids: the worst check with its place, then what meets the policy."""
    failed = [one for one in assessment.get("checks", ()) if one["outcome"] == "violated"]
    if failed:
        yield Step(worst_check(failed[0]))
    yield from mended(document, assessment, any(one["rule"] in OF_GROUPS for one in failed))


def worst_check(check: Document) -> str:
    """Return the first place where a check fails, and its remedy."""
    text = f"“{sentence_of(check['title'], 90)}” is not met"
    for place in check.get("places", ())[:1]:
        rows = f" ({people(place['rows'])})" if place.get("rows") else ""
        where = f", where {cut(place['where'], 180)}" if place.get("where") else ""
        more = check.get("places_in_all", 0) - 1
        others = f"; {more:,} more {'place fails' if more == 1 else 'places fail'}" if more > 0 else ""
        text += f", first at {name_of(place['name'], 60)}{rows}{where}{others}"
    remedy = remedy_of(check)
    return f"{text}. {remedy}" if remedy else f"{text}."


def remedy_of(check: Document) -> str:
    """Return what a check says to do, as a sentence; the command is not in it, a step has its own."""
    said = sentence_of(str(check.get("remedy") or "").partition(": recon ")[0], 220).rstrip(" .")
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def mended(document: Document, assessment: Document, of_groups: bool) -> Iterator[Step]:
    """Yield the remedy that meets the policy, that none does, or how to find one."""
    policy, tried = policy_file(assessment), (document.get("remedies") or [])[1:]
    kinds = {kind for one in document["audited"]["files"] for kind in str(one.get("kind")).split(", ")}
    own = {name: value for name, value in own_options(document).items() if name in OF_REMEDY}
    merging = f"recon remedy {files(document)} --policy {policy}{as_options(own)} --out better{suffix(document)}"
    alone = len(document["audited"]["files"]) <= 1 and not document["facts"].get("no_merging")
    if not of_groups or not kinds & MERGED or not alone:
        merging = ""
    best = least_loss(tried)
    if best is not None:
        merges = best.get("kind") == "merge"
        command = merging if merges and merging else command_of(best.get("command"))
        yield Step(
            f"This meets the policy: {name_of(best['remedy'], 120)} ({', '.join(gains(document, best))}).", command
        )
        other = least_loss([one for one in tried if one.get("kind") == "merge"])
        if merging and not merges and other is not None:
            yield Step(f"So does: {name_of(other['remedy'], 120)} ({', '.join(gains(document, other))}).", merging)
        elif merging and not merges:
            yield Step("Or look for the fewest merges of groups that meet it.", merging)
        return
    if tried:
        yield Step(
            f"None of the {len(tried):,} remedies that were tried meets the policy: do not release this model. Train "
            "it again with larger groups, and audit that."
        )
    if merging:
        yield Step("Look for the fewest merges of groups that meet the policy; the result is audited.", merging)
    if not tried:
        yield Step("See what would help.", audit_again(document, "--remedies", policy=policy_name(assessment)))


def suffix(document: Document) -> str:
    """Return the suffix that a remedied copy of the first file has."""
    end = document["file"].rpartition(".")[2].lower()
    return f".{end}" if end in {"json", "joblib", "pkl"} else ".json"


def gains(document: Document, best: Document) -> list[str]:
    """Return the figures of a remedy in short."""
    out = []
    if best.get("smallest_group"):
        out.append(f"smallest group {rows_of(best['smallest_group'])}")
    if best.get("pinned") and (text := ends_of(best["pinned"])) != NOT_KNOWN:
        out.append(f"pinned down {text}")
    if best.get("bits_left_per_person"):
        out.append(f"{ends_of(best['bits_left_per_person'], 2)} bits left per person")
    now = (document.get("remedies") or [{}])[0].get("accuracy")
    if best.get("accuracy") is not None:
        was = "" if now is None else f" instead of {percent(now, 1)}"
        out.append(f"accuracy {percent(best['accuracy'], 1)}{was}")
    return out or ["figures below"]


def settle(document: Document, assessment: Document) -> Iterator[Step]:
    """Yield what to do about what was not settled."""
    for one in [one for one in assessment.get("checks", ()) if one["outcome"] == "inconclusive"][:1]:
        yield Step(f"Not settled: {check_sentence(one, 240)} {remedy_of(one)}".rstrip())
    yield from (one for one in unassessed(document) if one.text.startswith("Say what"))
    if any(one.get("would_help") == "limits" for one in assessment.get("checks", ())):
        yield Step(
            "Give the audit more time and memory.",
            audit_again(document, "--time 600", "--memory 8G", policy=policy_name(assessment)),
        )
