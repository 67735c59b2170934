"""Whether the gate stays useful: sixty models of a careful office, their verdicts and what is right of each.

    python tests/bench/gate.py [--quick | --lines BEGINNING ...] [--check]

The models are those of tests/honest_models.py: 15 trees and rule lists, 15 forests, 10 boosted models of three
libraries, 10 pipelines, 10 remedied models and tables, each with its domain.
`recon gate` is run on each in a process of its own,
beside `recon inspect`. `right` is the verdict that tests/honest_proofs.py proves apart from the engine ("open" where it
does not). Asked: at least 54 decided within 20 seconds of the processor, and no verdict that is not right. Needs
scikit-learn and the data folder (RECON_DATA). What a line says: harness.py.
"""

from __future__ import annotations

import json
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from harness import ROOT, Job, Line, main, outcome
from records import Spent

sys.path[:0] = [str(ROOT / "tests")]

import honest_models  # noqa: E402

SECONDS = 20.0  # of the processor, in which a verdict is asked for
WALL = 90.0  # what the gate is given, on a machine that others use too
RIGHT = ROOT / "tests" / "golden" / "honest" / "verdicts.json"


def judged(model: honest_models.Honest, folder: Path) -> tuple[Spent, str, dict[str, str]]:
    """Return what the gate takes, its verdict, and the sentence of every check that is not met."""
    junit = folder / "out.xml"
    junit.unlink(missing_ok=True)
    domain = [] if model.domain is None else ["--domain", str(model.domain)]
    work = outcome(["gate", *map(str, model.files), *domain, "--policy", str(folder / "policy.toml"), "--json",
                  "--junit", str(junit), "--time", str(WALL), "--quiet"])  # fmt: skip
    try:
        (found,) = json.loads(work.found[1])
    except ValueError:
        return work, f"exit code {work.found[0]}", {}
    why = {}
    for case in ET.parse(junit).getroot().iter("testcase") if junit.exists() else ():
        for bad in case:
            why[str(case.get("name"))] = str(bad.get("message") or bad.text)
    return work, found.get("verdict") or str(found.get("error", "no verdict")), why


def gates(sort: str) -> list[Line]:
    """Return the lines of the models of one sort."""
    right: dict[str, Any] = json.loads(RIGHT.read_text()) if RIGHT.exists() else {}
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in honest_models.built(folder, sort):
            beside = outcome(["inspect", *map(str, model.files)])
            work, verdict, why = judged(model, folder)
            known = right.get(model.name, {}).get("verdict", "open")
            settled = verdict in ("release", "do not release", "release with changes")
            wrong = settled and known != "open" and (verdict == "release") != (known == "release")
            said = {"verdict": verdict, "right": known} | (
                {"why": "; ".join(why.values())[:400]} if not settled else {}
            )
            more = {"decided": int(settled and work.cpu <= SECONDS)}
            lines.append(
                Line(f"{sort}: {model.name}", work, "recon inspect", beside, more, {"wrong": int(wrong)}, {}, said)
            )
    return lines


JOBS = {sort: Job(gates, (sort,), needs=("sklearn",)) for sort in honest_models.SORTS}


if __name__ == "__main__":
    main("gate", JOBS)
