"""Facts, policies and documents that several tests of policies and pipelines share."""

from __future__ import annotations

from typing import Any

import typer

from recon.cli.releasing.policy import gate, policy
from recon.io.console.guarding import GuardedTyper
from recon.io.console.output import USAGE, of_error
from recon.release.policies.assessing import assess
from recon.release.policies.policy import Policy, Threshold

HOSTILE = (
    "<script>alert(1)</script>",
    "x" * 10_000,
    "\u202egnp.exe",
    "two\nlines\r\x00\x1b[31m",
    '=cmd|"/C calc"!A0',
    "]]>&amp;\ufffe\ud800",
)


def policy_of(inconclusive: str = "inconclusive", source: str = "", **values: Any) -> Policy:
    """Return a policy with these thresholds."""
    thresholds = tuple(Threshold(key, value, source, "p.toml") for key, value in values.items())
    return Policy("ours", thresholds, inconclusive)


def group(name: str, least: int, most: int | None, where: str = "") -> dict[str, Any]:
    """Return a group as facts list it."""
    return {"name": name, "where": where, "rows": [least, most]}


def facts_of(**more: Any) -> dict[str, Any]:
    """Return the facts of a harmless release, some of them replaced."""
    facts: dict[str, Any] = {
        "status": "exact",
        "confidence": 1.0,
        "rows": [100, 100],
        "pinned": [0, 0],
        "bits_before_per_person": 20.0,
        "bits_left_per_person": [12.5, 12.5],
        "least_bits_left": [8.0, 8.0],
        "smallest_group": [30, 30],
        "groups": [group("leaf 1", 30, 30, "a = 0"), group("leaf 2", 70, 70, "a = 1")],
        "groups_in_all": 2,
        "smallest_cell": [12, 12],
        "cells": [{"name": "leaf 1", "class": "1", "rows": [12, 12]}],
        "cells_in_all": 1,
        "class_disclosure": {"rows": [0, 0], "groups": [], "groups_in_all": 0},
        "target_disclosure": None,
        "labels_by_position": [0, 0],
        "values_by_position": [0, 0],
        "kinds_of_counts": ["exact"],
        "stored": [],
        "stored_inspected": True,
        "profiles": None,
        "not_known": {},
        "not_applicable": {"target_disclosure": "no figures of numbers were published"},
    }  # fmt: skip
    return facts | more


def document_of(facts: dict[str, Any], demanded: Policy | None, *files: str) -> dict[str, Any]:
    """Return the parts of an audit's document that pipelines read."""
    named = files or ("models/tree.json",)
    return {
        "made": {
            "recon": "0.1.0",
            "date": "2026-11-25T21:00:00Z",
            "command": None,
            "seconds": 1.25,
            "python": "3.11.2",
        },
        "audited": {"files": [{"file": one, "sha256": "ab" * 32, "kind": "tree", "format": "json"} for one in named]},
        "facts": facts,
        "assessment": None if demanded is None else assess(facts, demanded).to_json(),
    }


def ran(*arguments: object) -> int:
    """Run `recon policy` or `recon gate` as the command line does, and return the exit code."""
    app = GuardedTyper(pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command("policy")(policy)
    app.command("gate")(gate)
    try:
        code = app([str(one) for one in arguments], standalone_mode=False)
    except typer.Exit as error:
        return error.exit_code
    except Exception as error:
        if callable(show := getattr(error, "show", None)):
            show()
            return USAGE
        print(error)
        return of_error(error)
    return code if isinstance(code, int) else 0
