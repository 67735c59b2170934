"""Findings of audits as SARIF, so that a pipeline shows them at the model file.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, 2020.

Checks of audits as JUnit XML: a suite per release, a case per threshold.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote as url_quote
from xml.etree import ElementTree as ET  # it only writes here

from recon.release.policies.checks import interval_bounds, interval_text, number_with_unit
from recon.release.policies.rules import RULES
from solvers.foundation.displayed import escape_text, json_shown, quote, short_condition

Document = Mapping[str, Any]
Json = dict[str, Any]
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"violated": "error", "inconclusive": "warning"}
SHOWN = 3  # places that a message spells out
NOTES = {
    "gives_away": (
        "People revealed",
        "What is proved to be disclosed about single people, whatever the policy asks for.",
    ),
    "pinned": (
        "People fully known",
        "People whose every attribute is the same in every dataset that agrees with the release.",
    ),
    "one_row": (
        "Groups of one row",
        "Groups (leaves, rules, table cells) of one training row: what they say is about one person.",
    ),
    "stored_data": (
        "Data stored in the file",
        "What the file stores outright of its training data, before anything is worked out.",
    ),
}  # what no policy decides: title and description
FINGERPRINT = "reconCheck/v1"


def sarif(document: Document) -> str:
    """Return one audit as a SARIF 2.1.0 log: one run, one result per check that is violated or open.

    Without a policy: notes on people pinned down, groups of one row and stored data. The location is the audited file.
    """
    return sarif_of_several([document])


def sarif_of_several(documents: Sequence[Document], unread: Sequence[tuple[str, str]] = ()) -> str:
    """Return several audits as one SARIF log of one run.

    `unread`: files that could not be audited, with the reason; each becomes a notification of the tool.
    """
    artifacts: list[Json] = []
    results: list[Json] = []
    for document in documents:
        files = [_artifact(one) for one in _audited(document)]
        artifacts += (one for one in files if one not in artifacts)  # of any kind there is one of each in SARIF
        results += [_placed_result(one, files, artifacts) for one in _results_of(document)]
    first_made = documents[0]["made"] if documents else {}
    ids = dict.fromkeys(one["ruleId"] for one in results)
    rules = [_rule(name) for name in ids]
    order = {name: index for index, name in enumerate(ids)}
    for one in results:
        one["ruleIndex"] = order[one["ruleId"]]
    driver: Json = {"name": "recon", "rules": rules}
    if first_made.get("recon"):
        driver["version"] = first_made["recon"]
    run: Json = {
        "tool": {"driver": driver},
        "invocations": [_invocation(documents, unread)],
        "artifacts": artifacts,
        "results": results,
        "properties": {"audits": [_summary(one) for one in documents]},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_shown(json.dumps(log, ensure_ascii=False, allow_nan=False, indent=1)) + "\n"


def _invocation(documents: Sequence[Document], unread: Sequence[tuple[str, str]]) -> Json:
    """Return that the tool ran, when, and what it could not read."""
    out: Json = {"executionSuccessful": not unread}
    if dates := [one["made"]["date"] for one in documents if one["made"].get("date")]:
        out["endTimeUtc"] = max(dates)
    if unread:
        out["toolExecutionNotifications"] = [
            {
                "level": "error",
                "message": {"text": f"{quote(file)}: not audited: {quote(why, 1000)}"},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(file)}}}],
            }
            for file, why in unread
        ]
    return out


def _summary(document: Document) -> Json:
    """Return the verdict on a release, and which policy it was held against."""
    assessment = document.get("assessment")
    out: Json = {"files": [one["file"] for one in _audited(document)], "verdict": "not assessed against a policy"}
    if assessment:
        out |= {"verdict": assessment["verdict"], "sentence": assessment["sentence"], "policy": assessment["policy"]}
    return out


def _audited(document: Document) -> Sequence[Mapping[str, Any]]:
    """Return the files of an audit."""
    files: Sequence[Mapping[str, Any]] = document["audited"]["files"]
    return files


def _artifact(file: Mapping[str, Any]) -> Json:
    """Return an audited file with its hash."""
    out: Json = {"location": {"uri": _uri(file["file"])}, "roles": ["analysisTarget"]}
    if file.get("sha256"):
        out["hashes"] = {"sha-256": file["sha256"]}
    return out


def _results_of(document: Document) -> Iterator[Json]:
    """Yield the results of one audit without their location."""
    assessment = document.get("assessment")
    if assessment is None:
        yield from _notes(document)
        return
    for check in assessment["checks"]:
        if check["outcome"] not in LEVELS:
            continue
        text = "\n".join(
            filter(None, [quote(check["sentence"], 2000), _more_places(check), quote(check["remedy"], 500)])
        )
        found = _result(check["rule"], LEVELS[check["outcome"]], text, check["places"])
        found["properties"] = {"outcome": check["outcome"], "threshold": check["threshold"], "source": check["source"]}
        yield found
    for one in _warnings(assessment):
        yield _result("gives_away", "warning", quote(one["sentence"], 1000), (), one["fact"] + (one.get("place") or ""))


def _warnings(assessment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what is given away of single people although no check of the policy is violated by it."""
    bad = [one["rule"] for one in assessment["checks"] if one["outcome"] == "violated"]
    violated = {RULES[one].fact for one in bad if one in RULES}
    return [one for one in assessment.get("gives_away") or () if one["fact"] not in violated]


def _more_places(check: Mapping[str, Any]) -> str:
    """Return the places behind the first, which the sentence names."""
    places, in_all = check["places"][1:SHOWN], check["places_in_all"]
    if not places:
        return ""
    rest = in_all - 1 - len(places)
    listed = "; ".join(map(_place_text, places))
    return f"Also: {listed}{f'; {rest:,} more' if rest > 0 else ''}."


def _place_text(place: Mapping[str, Any]) -> str:
    """Return a place in words."""
    rows = f", {interval_text(place['rows'], 'row')}" if place.get("rows") else ""
    where = f": {short_condition(place['where'])}" if place.get("where") else ""
    return f"{quote(place['name'])}{where}{rows}"


def _notes(document: Document) -> Iterator[Json]:
    """Yield notes on what leaks most, where no policy decides."""
    facts = document.get("facts") or {}
    pinned = facts.get("pinned")
    if pinned and interval_bounds(pinned)[0] > 0:
        text = f"{interval_text(pinned, 'person')} fully known: every attribute follows from the release."
        yield _result("pinned", "note", text[:1].upper() + text[1:], ())
    ones = [one for one in facts.get("groups") or () if list(one["rows"]) == [1, 1]]
    if ones:
        listed = "; ".join(map(_place_text, ones[:SHOWN]))
        rest = f"; {len(ones) - SHOWN:,} more" if len(ones) > SHOWN else ""
        yield _result(
            "one_row", "note", f"{number_with_unit(len(ones), 'group')} of one row: {listed}{rest}.", ones[:20]
        )
    for one in facts.get("stored") or ():
        text = (
            f"Stored in the file ({one['level']}): {quote(one['what'])} at {quote(one['path'])}. {quote(one['remedy'])}"
        )
        yield _result("stored_data", "note", text, [{"name": one["path"] or one["rule"]}], one["rule"] + one["path"])


def _result(name: str, level: str, text: str, places: Sequence[Mapping[str, Any]], more: str = "") -> Json:
    """Return a result; `more`: what tells it from others of the same rule, for the fingerprint."""
    groups: list[Json] = []
    for one in map(_logical, places):
        groups += [one] if one not in groups else []
    return {
        "ruleId": name,
        "level": level,
        "message": {"text": text},
        "locations": [{"logicalLocations": groups} if groups else {}],
        "partialFingerprints": {FINGERPRINT: more},
    }


def _logical(place: Mapping[str, Any]) -> Json:
    """Return a group as a logical location."""
    out: Json = {"name": quote(place["name"]), "kind": "group"}
    if place.get("where"):
        out["fullyQualifiedName"] = f"{quote(place['name'])}: {short_condition(place['where'])}"
    return out


def _placed_result(found: Json, files: Sequence[Json], artifacts: Sequence[Json]) -> Json:
    """Return a result at the first file of its release, the others beside it; its fingerprint is of rule and file."""
    places = []
    for one in files:
        address = {**one["location"], "index": artifacts.index(one)}
        place = {"physicalLocation": {"artifactLocation": address, "region": {"startLine": 1}}}
        places += [place] if place not in places else []
    found["locations"][0] |= places[0] if places else {}
    if places[1:]:
        found["relatedLocations"] = places[1:]
    about = [found["ruleId"], found["partialFingerprints"][FINGERPRINT], *(one["location"]["uri"] for one in files)]
    digest = hashlib.sha256("\0".join(about).encode("utf-8", "surrogatepass")).hexdigest()
    found["partialFingerprints"] = {FINGERPRINT: digest}
    return found


def _rule(name: str) -> Json:
    """Return what a rule is about, and what to do."""
    if name in NOTES:
        title, about = NOTES[name]
        return {
            "id": name,
            "name": _camel(title),
            "shortDescription": {"text": title},
            "fullDescription": {"text": about},
        }
    of = RULES.get(name)
    if of is None:  # of a later recon
        return {"id": name, "name": _camel(quote(name)), "shortDescription": {"text": quote(name)}}
    return {
        "id": name,
        "name": _camel(of.title),
        "shortDescription": {"text": of.title},
        "fullDescription": {"text": f"The policy bounds: {of.help}."},
        "help": {"text": of.remedy},
        "defaultConfiguration": {"level": "error"},
    }


def _camel(title: str) -> str:
    """Return a title as one word, as SARIF's viewers show rules."""
    return "".join(word[:1].upper() + word[1:] for word in title.split())


def _uri(file: str) -> str:
    """Return a file as a relative reference, percent-encoded, an absolute one as file: address (RFC 3986)."""
    if file == "-":
        return "standard-input"
    path = posixpath.normpath(file)
    try:
        data = path.encode("utf-8", "surrogateescape")  # bytes that are no text, as the file system has them
    except UnicodeEncodeError:
        data = path.encode("utf-8", "surrogatepass")
    encoded = url_quote(data, safe="/-._~")
    return f"file://{encoded}" if path.startswith("/") else encoded


LONGEST = 2000  # characters of a message


def junit(document: Document) -> str:
    """Return one audit as JUnit XML: a violated check is a failure, an open one an error, one that is moot skipped.

    Without a policy there is one case, which passes and says that nothing was checked.
    """
    return junit_of_several([document])


def junit_of_several(documents: Sequence[Document], unread: Sequence[tuple[str, str]] = ()) -> str:
    """Return several audits as one JUnit file; `unread`: files that could not be audited, with the reason."""
    suites = [_suite(one) for one in documents] + [_suite_unread(file, why) for file, why in unread]
    root = ET.Element("testsuites", {"name": "recon", **_totals(suites)})
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(document: Document) -> ET.Element:
    """Return the suite of one audited release."""
    name = ", ".join(quote(one["file"]) for one in _audited(document)) or "release"
    cases = list(_cases_of(document, name))
    made = document["made"]
    about = {"name": name, **_counts(cases), "time": f"{float(made.get('seconds') or 0):.3f}"}
    if made.get("date"):
        about["timestamp"] = escape_text(made["date"]).removesuffix("Z")
    found = ET.Element("testsuite", about)
    kept = ET.SubElement(found, "properties")
    for key, value in _properties(document):
        ET.SubElement(kept, "property", {"name": key, "value": escape_text(value)})
    found.extend(cases)
    return found


def _suite_unread(file: str, why: str) -> ET.Element:
    """Return the suite of a file that could not be audited: one case, an error."""
    case = ET.Element("testcase", {"name": "audit", "classname": quote(file), "time": "0"})
    ET.SubElement(case, "error", {"type": "not audited", "message": quote(why, LONGEST)})
    found = ET.Element("testsuite", {"name": quote(file), **_counts([case]), "time": "0"})
    found.append(case)
    return found


def _properties(document: Document) -> Iterator[tuple[str, str]]:
    """Yield what was audited with which version, and against which policy."""
    yield "recon", document["made"].get("recon") or ""
    for one in _audited(document):
        yield f"sha256 of {quote(one['file'])}", one.get("sha256") or "not known"
    assessment = document.get("assessment")
    if assessment:
        yield "policy", quote(assessment["policy"]["name"])
        yield "sha256 of the policy", assessment["policy"].get("sha256") or "not known"
        yield "verdict", assessment["verdict"]


def _cases_of(document: Document, name: str) -> Iterator[ET.Element]:
    """Yield a case per check; without a policy one that says so."""
    assessment = document.get("assessment")
    if assessment is None:
        case = ET.Element("testcase", {"name": "audit", "classname": name, "time": "0"})
        ET.SubElement(case, "system-out").text = "Audited, not assessed against a policy: nothing was checked."
        yield case
        return
    for check in assessment["checks"]:
        case = ET.Element("testcase", {"name": quote(check["title"]), "classname": name, "time": "0"})
        sentence = quote(check["sentence"], LONGEST)
        places = [_place_text(one) for one in check["places"]]
        lines = [sentence, *places, quote(check["remedy"], 500)]
        outcome = check["outcome"]
        if outcome in {"violated", "inconclusive"}:
            kind = "failure" if outcome == "violated" else "error"
            ET.SubElement(case, kind, {"type": outcome, "message": sentence}).text = "\n".join(filter(None, lines))
        elif outcome == "not applicable":
            ET.SubElement(case, "skipped", {"message": sentence})
        else:
            ET.SubElement(case, "system-out").text = sentence
        yield case
    if away := _warnings(assessment):
        case = ET.Element("testcase", {"name": "People revealed", "classname": name, "time": "0"})
        text = "\n".join(f"warning: {quote(one['sentence'], LONGEST)}" for one in away)
        ET.SubElement(case, "system-out").text = text
        yield case


def _counts(cases: Sequence[ET.Element]) -> dict[str, str]:
    """Return how many cases there are, and how they ended."""
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    return {"tests": str(len(cases))} | {
        name: str(sum(case.find(kind) is not None for case in cases)) for name, kind in kinds.items()
    }


def _totals(suites: Sequence[ET.Element]) -> dict[str, str]:
    """Return the sums over all suites."""
    return {
        key: str(sum(int(one.get(key, "0")) for one in suites)) for key in ("tests", "failures", "errors", "skipped")
    }
