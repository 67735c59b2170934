"""Makes recon/readers/inspection/ledger/sentences.json: what the private learners' ledgers say.

    python tests/golden/harmless/sentences.py

Every text in the sources from 12 characters on is a part of sentences; what is put into a text there is open.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ("private/*.py", "rule_lists/*.py", "training.py", "options.py")
OPEN = "\0"
SHORTEST = 12


def parts():
    """Return the parts of sentences, `OPEN` where something is put in, sorted."""
    found = set()
    for file in sorted(p for name in SOURCES for p in (ROOT / "recon" / "learners").glob(name)):
        inside = set()
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                inside.update(map(id, node.values))
                text = "".join(one.value if isinstance(one, ast.Constant) else OPEN for one in node.values)
                found.add(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
                found.add(node.value)
    return sorted(t for t in found if len(t.replace(OPEN, "")) >= SHORTEST and " " in t and "\n" not in t)


if __name__ == "__main__":
    out = ROOT / "recon" / "readers" / "inspection" / "ledger" / "sentences.json"
    out.write_text(json.dumps(parts(), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
