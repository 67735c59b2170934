"""Checks of audits as JUnit XML: a suite per release, a case per threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET  # it only writes here

from recon.report.pipelines.sarif import audited, place_text, warnings
from solvers.foundation.escaping import named, shown

Document = Mapping[str, Any]
LONGEST = 2000  # characters of a message


def junit(document: Document) -> str:
    """Return one audit as JUnit XML: a violated check is a failure, an open one an error, one that is moot skipped.

    Without a policy there is one case, which passes and says that nothing was checked.
    """
    return junit_of_several([document])


def junit_of_several(documents: Sequence[Document], unread: Sequence[tuple[str, str]] = ()) -> str:
    """Return several audits as one JUnit file; `unread`: files that could not be audited, with the reason."""
    suites = [suite(one) for one in documents] + [suite_unread(file, why) for file, why in unread]
    root = ET.Element("testsuites", {"name": "recon", **totals(suites)})
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def suite(document: Document) -> ET.Element:
    """Return the suite of one audited release."""
    name = ", ".join(named(one["file"]) for one in audited(document)) or "release"
    cases = list(cases_of(document, name))
    made = document["made"]
    about = {"name": name, **counts(cases), "time": f"{float(made.get('seconds') or 0):.3f}"}
    if made.get("date"):
        about["timestamp"] = shown(made["date"]).removesuffix("Z")
    found = ET.Element("testsuite", about)
    kept = ET.SubElement(found, "properties")
    for key, value in properties(document):
        ET.SubElement(kept, "property", {"name": key, "value": shown(value)})
    found.extend(cases)
    return found


def suite_unread(file: str, why: str) -> ET.Element:
    """Return the suite of a file that could not be audited: one case, an error."""
    case = ET.Element("testcase", {"name": "audit", "classname": named(file), "time": "0"})
    ET.SubElement(case, "error", {"type": "not audited", "message": named(why, LONGEST)})
    found = ET.Element("testsuite", {"name": named(file), **counts([case]), "time": "0"})
    found.append(case)
    return found


def properties(document: Document) -> Iterator[tuple[str, str]]:
    """Yield what was audited with which version, and against which policy."""
    yield "recon", document["made"].get("recon") or ""
    for one in audited(document):
        yield f"sha256 of {named(one['file'])}", one.get("sha256") or "not known"
    assessment = document.get("assessment")
    if assessment:
        yield "policy", named(assessment["policy"]["name"])
        yield "sha256 of the policy", assessment["policy"].get("sha256") or "not known"
        yield "verdict", assessment["verdict"]


def cases_of(document: Document, name: str) -> Iterator[ET.Element]:
    """Yield a case per check; without a policy one that says so."""
    assessment = document.get("assessment")
    if assessment is None:
        case = ET.Element("testcase", {"name": "audit", "classname": name, "time": "0"})
        ET.SubElement(case, "system-out").text = "Audited, not assessed against a policy: nothing was checked."
        yield case
        return
    for check in assessment["checks"]:
        case = ET.Element("testcase", {"name": named(check["title"]), "classname": name, "time": "0"})
        sentence = named(check["sentence"], LONGEST)
        places = [place_text(one) for one in check["places"]]
        lines = [sentence, *places, named(check["remedy"], 500)]
        outcome = check["outcome"]
        if outcome in {"violated", "inconclusive"}:
            kind = "failure" if outcome == "violated" else "error"
            ET.SubElement(case, kind, {"type": outcome, "message": sentence}).text = "\n".join(filter(None, lines))
        elif outcome == "not applicable":
            ET.SubElement(case, "skipped", {"message": sentence})
        else:
            ET.SubElement(case, "system-out").text = sentence
        yield case
    if away := warnings(assessment):
        case = ET.Element("testcase", {"name": "People given away", "classname": name, "time": "0"})
        text = "\n".join(f"warning: {named(one['sentence'], LONGEST)}" for one in away)
        ET.SubElement(case, "system-out").text = text
        yield case


def counts(cases: Sequence[ET.Element]) -> dict[str, str]:
    """Return how many cases there are, and how they ended."""
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    return {"tests": str(len(cases))} | {
        name: str(sum(case.find(kind) is not None for case in cases)) for name, kind in kinds.items()
    }


def totals(suites: Sequence[ET.Element]) -> dict[str, str]:
    """Return the sums over all suites."""
    return {
        key: str(sum(int(one.get(key, "0")) for one in suites)) for key in ("tests", "failures", "errors", "skipped")
    }
