"""Documents of audits, as `recon audit --json` prints them, for the tests of everything that is made from them."""

from __future__ import annotations

import copy
import html
import math
import re
from typing import Any

SHA = "76d275ba80d14af27c37441d22f2c3a90d40712baba2f91f39234d746813c3a8"
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a" * 10_000,
    "abc\u202egnp.exe\u2066",
    "two\nlines\r\n- more",
    "=cmd|' /C calc'!A0",
    "{{ 7*7 }}{% raw %}",
    "](javascript:alert(1)) `code` **b** | cell",
    "\x1b[31mred\x00\x9b",
    "</style></svg><b>",
    "שלום العربية",
    "   ",
    "&lt;b&gt; &amp;",
    "'; DROP TABLE",
    "#heading",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
)


def minimal() -> dict[str, Any]:
    """Return the least that is a document: nothing is known."""
    return {
        "audit": 2,
        "file": "model.json",
        "title": "Audit of model.json",
        "sections": [],
        "made": {"recon": "0.1.0"},
        "audited": {"files": []},
        "facts": {"status": "unknown"},
    }


def checks() -> list[dict[str, Any]]:
    """Return the checks of a policy, two of them violated."""
    source = "CMS cell size suppression policy, cms.gov"
    return [
        {
            "rule": "smallest_group",
            "title": "Smallest group",
            "threshold": 11,
            "source": source,
            "found": "1 row",
            "outcome": "violated",
            "sentence": "The smallest group has 1 row, and the policy asks for at least 11: 4 groups are smaller.",
            "remedy": "merge the groups below 11 rows into their parents",
            "places_in_all": 4,
            "places": [
                {"name": "leaf 7", "where": "age >= 62 and hours-per-week < 20", "rows": [1, 1]},
                {"name": "leaf 3", "where": "age < 62 and education = Doctorate and capital-gain > 0", "rows": [4, 4]},
            ],
        },
        {
            "rule": "class_disclosure",
            "title": "Groups of one class",
            "threshold": "forbidden",
            "source": "",
            "found": "31 rows",
            "outcome": "violated",
            "sentence": "31 rows are in groups of one class only, and the policy forbids that.",
            "remedy": "merge them with groups of another class",
            "places_in_all": 1,
            "places": [{"name": "leaf 5", "where": "age < 62 and education = HS-grad", "rows": [31, 31]}],
        },
        {
            "rule": "stored",
            "title": "Stored data",
            "threshold": "medium",
            "source": "the officer",
            "found": "medium",
            "outcome": "met",
            "sentence": "Nothing graver than medium is stored in the file.",
            "remedy": "",
            "places": [],
            "places_in_all": 0,
        },
        {
            "rule": "target_disclosure",
            "title": "Targets published exactly",
            "threshold": "forbidden",
            "source": "",
            "found": "does not apply",
            "outcome": "not applicable",
            "sentence": "The release has no figures of numbers.",
            "remedy": "",
            "places": [],
            "places_in_all": 0,
        },
    ]


def assessed(verdict: str = "release with changes", outcome: str = "violated") -> dict[str, Any]:
    """Return an assessment."""
    return {
        "policy": {"name": "cell size 11", "file": "policies/project.toml", "sha256": SHA, "extends": ["cms11"]},
        "outcome": outcome,
        "verdict": verdict,
        "sentence": "2 of 4 checks are not met; with the groups below 11 rows merged all of them are.",
        "checks": checks(),
    }


def groups() -> list[dict[str, Any]]:
    """Return the groups of a tree by exposure."""
    made = [
        ("leaf 7", "age >= 62 and hours-per-week < 20", "<=50K", 1, "1", 0.0),
        ("leaf 3", "age < 62 and education = Doctorate and capital-gain > 0", ">50K", 4, "24", 4.58),
        ("leaf 5", "age < 62 and education = HS-grad", "<=50K", 31, "96", 6.58),
        ("leaf 6", "age >= 62 and hours-per-week >= 20", ">50K", 18, "148", 7.21),
        ("leaf 6", "age >= 62 and hours-per-week >= 20", "<=50K", 40, "148", 7.21),
        ("leaf 2", "age < 62 and education is none of these", "<=50K", 56, "5120", 12.32),
    ]
    return [
        {
            "name": name,
            "where": where,
            "class": label,
            "rows": [rows, rows],
            "worlds_per_row": worlds,
            "bits_left": left,
            "bits_removed": 13.4 - left,
            "share_left": left / 13.4,
            "share_of_rows_at_most": share,
        }
        for (name, where, label, rows, worlds, left), share in zip(
            made, (0.0067, 0.033, 0.24, 0.627, 0.627, 1), strict=True
        )
    ]


def tree() -> dict[str, Any]:
    """Return the tree of the groups as nodes."""
    nodes = [
        (0, "age < 62", 1, 2, 150, None, None),
        (1, "education = Doctorate", 3, 4, 91, None, None),
        (2, "hours-per-week < 20", 5, 6, 59, None, None),
        (3, "leaf 3", None, None, 4, [[">50K", 4]], 0.34),
        (4, "education = HS-grad", 7, 8, 87, None, None),
        (5, "leaf 7", None, None, 1, [["<=50K", 1]], 0.0),
        (6, "leaf 6", None, None, 58, [["<=50K", 40], [">50K", 18]], 0.54),
        (7, "leaf 5", None, None, 31, [["<=50K", 31]], 0.49),
        (8, "leaf 2", None, None, 56, [["<=50K", 56]], 0.92),
    ]
    keys = ("id", "text", "then", "otherwise", "rows", "classes", "share_left")
    listed = [dict(zip(keys, node, strict=True)) for node in nodes]
    return {"kind": "tree", "root": 0, "note": "", "nodes": [one | {"rows": [one["rows"]] * 2} for one in listed]}


def remedies() -> list[dict[str, Any]]:
    """Return the audit under remedies, two of which meet the policy."""
    lines = [
        ("as published", "as published", None, [1, 1], [7.9, 7.9], [0.0, 0.0], [1, 1], [36, 36], "violated", 0.861),
        ("groups below 11 rows merged", "merge", 11, [0, 0], [8.6, 8.6], [6.58, 6.58], [31, 31], [0, 0], "met", 0.852),
        ("depth 2", "depth", 2, [0, 0], [9.9, 9.9], [7.21, 7.21], [58, 58], [0, 0], "met", 0.79),
        ("counts rounded to 5", "rounded counts", 5, [0, 1], [7.9, 8.4], [0, 4.2], [0, 3], None, "inconclusive", 0.861),
        ("noise, ε = 1", "noise", 1.0, None, [8.3, None], None, None, None, "inconclusive", None),
    ]
    keys = (
        "remedy",
        "kind",
        "setting",
        "pinned",
        "bits_left_per_person",
        "least_bits_left",
        "smallest_group",
        "class_disclosed_rows",
        "outcome",
        "accuracy",
    )
    more = {"rows_judged": 4000, "status": "exact", "seconds": 0.4, "note": "", "command": None}
    out = [dict(zip(keys, line, strict=True)) | more for line in lines]
    out[1]["command"] = "recon remedy adult_tree.json --policy policies/project.toml --out better.json"
    out[4]["note"] = "posterior only; no bound holds for certain"
    return out


def persons() -> dict[str, Any]:
    """Return training rows by exposure, and exposure by group."""
    return {
        "label": "income",
        "in_all": 150,
        "notes": ["2 rows of the data fit no leaf of the tree."],
        "most_exposed": [
            {
                "position": 17,
                "group": "leaf 7",
                "bits_left": 0.0,
                "worlds_per_row": "1",
                "group_rows": [1, 1],
                "pinned": True,
            },
            {
                "position": 3,
                "group": "leaf 3",
                "bits_left": 4.58,
                "worlds_per_row": "24",
                "group_rows": [4, 4],
                "pinned": False,
            },
        ],
        "by_group": {
            "attribute": "sex",
            "groups": [
                {
                    "value": "Female",
                    "rows": 48,
                    "mean_bits_left": 7.1,
                    "mean_share_left": 0.53,
                    "pinned": 1,
                    "least_bits_left": 0.0,
                },
                {
                    "value": "Male",
                    "rows": 102,
                    "mean_bits_left": 8.3,
                    "mean_share_left": 0.62,
                    "pinned": 0,
                    "least_bits_left": 4.58,
                },
            ],
        },
    }


def adds() -> dict[str, Any]:
    """Return what a release adds to those of a register."""
    ends = {"pinned": [0, 0], "bits_left_per_person": [9.0, 9.0], "least_bits_left": [6, 6], "smallest_group": [12, 12]}
    after = {
        "pinned": [3, None],
        "bits_left_per_person": [None or 0, 6.4],
        "least_bits_left": [0, 0],
        "smallest_group": [1, 1],
    }
    return {
        "register": "releases/",
        "earlier": [{"file": "releases/2026-03.json", "sha256": SHA, "date": "2026-03-02", "decision": "release"}],
        "before": ends | {"log2_datasets": [1350.0, 1350.0], "status": "exact"},
        "after": after | {"log2_datasets": [0, 960.0], "status": "bounds"},
        "alone": ends | {"log2_datasets": [1200.0, 1200.0], "status": "exact"},
        "left_out": [{"file": "releases/draft.json", "sha256": SHA, "date": "2026-04-01", "decision": "withdrawn"}],
        "differences": [{"name": "leaf 3 without leaf 9", "where": "age >= 62 and sex = Female", "rows": [1, 1]}],
        "differences_in_all": 3,
        "conflict": [],
        "sentences": [
            "Together with the release of 2026-03-02 this one fully reveals at least 3 people; neither does alone."
        ],
    }


def facts() -> dict[str, Any]:
    """Return the facts of a tree with a leaf of one row."""
    found = [{"name": one["name"], "where": one["where"], "rows": one["rows"]} for one in groups()[:3]]
    return {
        "status": "exact",
        "rows": [150, 150],
        "pinned": [1, 1],
        "bits_before_per_person": 13.4,
        "bits_left_per_person": [7.9, 7.9],
        "least_bits_left": [0.0, 0.0],
        "smallest_group": [1, 1],
        "groups": found,
        "groups_in_all": 5,
        "smallest_cell": [1, 1],
        "cells": [{"name": "leaf 7", "class": "<=50K", "rows": [1, 1]}],
        "cells_in_all": 6,
        "target_disclosure": None,
        "kinds_of_counts": ["exact"],
        "stored_inspected": True,
        "class_disclosure": {
            "rows": [36, 36],
            "groups_in_all": 3,
            "groups": [
                {"name": "leaf 7", "class": "<=50K", "rows": [1, 1]},
                {"name": "leaf 3", "class": ">50K", "rows": [4, 4]},
            ],
        },
        "stored": [
            {
                "file": "adult_tree.json",
                "level": "medium",
                "rule": "impurity",
                "what": "exact means of every node",
                "path": "tree_.value",
                "remedy": "round them",
                "removable": False,
            },
        ],
        "profiles": [{"position": 0, "verdict": "certain"}],
        "confidence": 1.0,
        "not_applicable": {"target_disclosure": "the release has no figures of numbers"},
    }


def full() -> dict[str, Any]:
    """Return a document in which everything is there."""
    return minimal() | {
        "file": "adult_tree.json",
        "title": "Audit of adult_tree.json",
        "status": "exact",
        "convention": "ordered",
        "sections": [
            [
                "What an adversary is left with",
                ["datasets that agree: 1,024   [multiset; exact]", "bits left: 1,185.0 of 2,010.0"],
            ],
            [
                "Who is most exposed",
                ["leaf 7, 1 row: age >= 62 and hours-per-week < 20", "  known exactly, 13.40 bits removed"],
            ],
            ["This assumes", ["the domain is as declared: no row lies outside it", "exactly 150 rows"]],
        ],
        "made": {
            "recon": "0.1.0",
            "date": "2026-11-25T21:00:00Z",
            "seconds": 1.25,
            "python": "3.11.2",
            "command": "recon audit adult_tree.json --policy policies/project.toml --out adult.html",
        },
        "audited": {
            "files": [{"file": "adult_tree.json", "sha256": SHA, "kind": "tree", "format": "release file"}],
            "rows": [150, 150],
            "attributes": 9,
            "columns": 31,
            "label": "income",
            "kinds_of_counts": ["exact"],
        },
        "facts": facts(),
        "assessment": assessed(),
        "exposed": groups(),
        "exposed_in_all": 6,
        "curve": [[0.0, 0.0067], [0.34, 0.033], [0.49, 0.24], [0.54, 0.627], [0.92, 1.0]],
        "attribute_bits": [
            {"name": "age", "bits_before": 6.1, "bits_revealed": 3.4, "share": 0.557, "forced_rows": 1},
            {"name": "education", "bits_before": 4.0, "bits_revealed": 1.1, "share": 0.275, "forced_rows": 36},
            {"name": "hours-per-week", "bits_before": 3.3, "bits_revealed": 0.4, "share": 0.12, "forced_rows": 1},
            {"name": "sex", "bits_before": 1.0, "bits_revealed": 0.0, "share": 0.0, "forced_rows": 1},
        ],
        "forced": {
            "rows": [{"where": "age = 70, education = Doctorate, hours-per-week = 10", "rows": 1}],
            "rows_in_all": 1,
            "values": [{"group": "leaf 5", "attribute": "education", "value": "HS-grad", "rows": 31}],
            "values_in_all": 2,
        },
        "drawing": tree(),
        "persons": persons(),
        "remedies": remedies(),
        "adds": adds(),
        "profiles": {
            "rows": [
                {
                    "position": 0,
                    "name": None,
                    "verdict": "certain",
                    "probability": 1.0,
                    "convention": "multiset",
                    "certificate": SHA,
                    "why": "leaf 7 holds 1 row, and only this one fits it",
                },
                {
                    "position": 1,
                    "name": None,
                    "verdict": "possible",
                    "probability": 0.2,
                    "convention": "multiset",
                    "certificate": None,
                    "why": "",
                },
            ],
            "rows_in_all": 2,
            "shown": False,
        },
        "interval_cells": [
            {
                "name": "county A, income > 50K",
                "suppressed": "primary",
                "published": [None, None],
                "feasible": [3, 3],
                "width": 0,
                "recovered": True,
                "tight": True,
            },
            {
                "name": "county B, income > 50K",
                "suppressed": "secondary",
                "published": [1, 10],
                "feasible": [2, 7],
                "width": 5,
                "recovered": False,
                "tight": False,
            },
        ],
        "interval_cells_recovered": 1,
        "interval_cells_left_out": 0,
        "how": {
            "conventions": [["multiset", "the order of rows does not matter"]],
            "numbers": [["people fully known", "exact", "regions"], ["bits left per person", "exact", "closed_form"]],
            "engines": [["closed_form", "one partition of exact counts"]],
            "limits": {"time": None, "memory": "2G"},
            "seed": 0,
            "certificates": [
                {
                    "about": "1 row is in every possible world",
                    "certificate": SHA,
                    "command": "recon verify result.json adult_tree.json",
                }
            ],
            "seconds": 1.2,
        },
        "assumptions": [
            "the domain is as declared: no row lies outside it",
            "exactly 150 rows",
            "counts are of raw training rows",
        ],
        "confidential": "1 person is fully known, and the row is in this report.",
    }


def without_policy() -> dict[str, Any]:
    """Return a document that no policy was given for."""
    return full() | {
        "assessment": None,
        "remedies": None,
        "adds": None,
        "profiles": None,
        "persons": None,
        "confidential": None,
    }


def met() -> dict[str, Any]:
    """Return a document that meets its policy."""
    found = full() | {"confidential": None}
    passed = [
        one | {"outcome": "met", "places": [], "places_in_all": 0, "sentence": f"{one['title']} is as it should be."}
        for one in checks()[:3]
    ]
    found["assessment"] = assessed("release", "met") | {"checks": passed, "sentence": "All checks are met."}
    figures = {"pinned": [0, 0], "smallest_group": [31, 31], "least_bits_left": [6.58, 6.58]}
    apart = {"groups": [], "class_disclosure": {"rows": [0, 0], "groups": [], "groups_in_all": 0}}
    found["facts"] = facts() | figures | apart
    found["remedies"][0] |= figures | {"class_disclosed_rows": [0, 0], "outcome": "met"}
    return found


def open_bounds() -> dict[str, Any]:
    """Return a document of bounds whose checks are not settled."""
    found = without_policy()
    found["facts"] = facts() | {
        "status": "bounds",
        "rows": [100, None],
        "pinned": [3, 150],
        "bits_left_per_person": [0, 8.123],
        "smallest_group": [1, 40],
        "groups": [one | {"rows": [0, 40]} for one in facts()["groups"]],
        "least_bits_left": None,
        "not_known": {"least_bits_left": "worlds are bounded only"},
    }
    unsettled = checks()[0] | {
        "outcome": "inconclusive",
        "sentence": "The smallest group has at most 4 rows; whether it has any is open.",
        "would_help": "limits",
    }
    found["assessment"] = assessed("not assessed", "inconclusive") | {
        "checks": [unsettled],
        "sentence": "1 check is not settled.",
    }
    return found


def stored_only() -> dict[str, Any]:
    """Return the document of a file that keeps its rows, of which nothing else can be said."""
    finding = {
        "file": "knn.pkl",
        "level": "critical",
        "rule": "neighbours",
        "what": "KNeighborsClassifier, array of 150 x 9",
        "path": "_fit_X",
        "remedy": "release a model that does not keep rows",
        "removable": False,
    }
    line = "knn.pkl: 150 training rows are stored in the file unchanged: _fit_X"
    why = "a model of neighbours publishes no counts"
    return minimal() | {
        "file": "knn.pkl",
        "title": "Audit of knn.pkl",
        "status": "stored",
        "verdict": [line],
        "sections": [["The training data is stored outright", [line]]],
        "audited": {
            "files": [{"file": "knn.pkl", "sha256": SHA, "kind": None, "format": "pickle"}],
            "rows": [150, 150],
        },
        "facts": {
            "status": "unknown",
            "rows": [150, 150],
            "stored": [finding],
            "stored_inspected": True,
            "not_known": {"pinned": why, "bits_left_per_person": why, "smallest_group": why},
        },
        "confidential": "training rows are stored in the file itself.",
    }


def no_domain() -> dict[str, Any]:
    """Return the document of a release without a domain: worlds were not counted."""
    why = "nobody declared a domain, and the one guessed from the model file has no values to count for 'age'"
    return minimal() | {
        "not_assessed": {"why": why, "run": ["recon audit model.json --domain people.csv"]},
        "sections": [["NOT ASSESSED", [why, "  recon audit model.json --domain people.csv"]]],
        "facts": {
            "status": "bounds",
            "rows": [100, 100],
            "smallest_group": [2, 2],
            "not_known": {"bits_left_per_person": why, "pinned": why},
        },
    }


def contradiction() -> dict[str, Any]:
    """Return the document of statements that contradict each other."""
    clash = ["leaf 1: exactly 3 rows", "leaf 1 and leaf 2: exactly 2 rows"]
    return minimal() | {
        "status": "unsat",
        "conflict": clash,
        "facts": {"status": "unsat", "not_known": {"pinned": "no training set fits"}},
        "sections": [["No possible world: the statements contradict each other", clash]],
    }


def large(leaves: int = 1000) -> dict[str, Any]:
    """Return a document of a tree of so many leaves."""
    found = without_policy() | {"exposed": [], "exposed_in_all": leaves}
    for k in range(leaves):
        where = " and ".join(f"attribute_{(k + d) % 40} {'<' if k >> d & 1 else '>='} {d * 1.25:g}" for d in range(8))
        left = 12 * (k + 1) / leaves
        found["exposed"].append(
            {
                "name": f"leaf {k}",
                "where": where,
                "class": f"class {k % 3}",
                "rows": [1 + k // 7, 1 + k // 7],
                "worlds_per_row": str(1 + int(2**left)),
                "bits_left": left,
                "bits_removed": 12 - left,
                "share_left": left / 12,
                "share_of_rows_at_most": (k + 1) / leaves,
            }
        )
    found["facts"]["groups"] = [
        {"name": one["name"], "where": one["where"], "rows": one["rows"]} for one in found["exposed"]
    ]
    found["facts"]["groups_in_all"] = leaves
    found["curve"] = [[k / 199, math.sqrt(k / 199)] for k in range(200)]
    nodes = []
    for k in range(2 * leaves - 1):
        inner = k < leaves - 1
        nodes.append(
            {
                "id": k,
                "text": f"attribute_{k % 40} < {k}" if inner else f"leaf {k}",
                "then": 2 * k + 1 if inner else None,
                "otherwise": 2 * k + 2 if inner else None,
                "rows": [5, 5],
                "classes": None if inner else [["a", 3], ["b", 2]],
                "share_left": None if inner else (k % 100) / 100,
            }
        )
    found["drawing"] = {"kind": "tree", "root": 0, "note": "", "nodes": nodes}
    return found


def hostile() -> dict[str, Any]:
    """Return the full document with every text that somebody else may choose replaced by a hostile one, in turn."""
    kept = {
        "verdict",
        "outcome",
        "status",
        "kind",
        "level",
        "date",
        "recon",
        "sha256",
        "rule",
        "worlds_per_row",
        "suppressed",
        "key",
        "threshold",
    }
    at = 0

    def turned(value: Any, key: str = "") -> Any:
        nonlocal at
        if isinstance(value, dict):
            if key == "row":
                return {turned(name): turned(one) for name, one in value.items()}
            return {name: turned(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [turned(one, key) for one in value]
        if isinstance(value, str) and key not in kept:
            at += 1
            return HOSTILE[at % len(HOSTILE)]
        return value

    found = copy.deepcopy(full())
    found["persons"]["most_exposed"][0]["row"] = {"age": "70", "sex": "Male"}
    found["facts"]["stored"][0]["level"] = "critical"
    found["assessment"]["checks"][2]["outcome"] = "violated"
    out: dict[str, Any] = turned(found)
    return out


EVERY = {
    "full": full,
    "minimal": minimal,
    "met": met,
    "without a policy": without_policy,
    "bounds": open_bounds,
    "stored": stored_only,
    "no domain": no_domain,
    "contradiction": contradiction,
    "hostile": hostile,
    "large": large,
}


def figures(text: str, form: str) -> set[str]:
    """Return the figures that a report shows in a format; of a page not those of drawings, and of no list its numbers.

    A page says how many rows of a table are folded away, which the others show.
    """
    if form == "html":
        text = re.sub(r"<head>.*?</head>|<svg.*?</svg>|<summary>.*?</summary>|<p class=.more on-paper.*?</p>", "", text,
                      flags=re.S)  # fmt: skip
        text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    if form == "md":
        text = html.unescape(re.sub(r"\\(.)", r"\1", re.sub(r"^\d+\. ", "", text, flags=re.M)))
    return set(re.findall(r"\d[\d,.]*\d(?: %)?|\d(?: %)?", text))
