"""A text format that recon has never heard of, added as docs/extending.md says, through all commands that read files.

A stump: one test on a column of 0 and 1, and the rows per class on both sides. What an answer is, the release file that
says the same says.
"""

import importlib.machinery
import json
import re
import sys
import types

import pytest
from extras import run

from encoders.domain.values import equals
from encoders.models.models import Provenance, Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats import detection
from recon.readers.formats.drafts.binding import free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import as_features, count
from recon.readers.inspection.ledger import lines
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

FORMAT = "Stump as text"
TEXT = "stump of smoker\n  1: no=1 yes=2\n  0: no=3 yes=0\n"
SIDE = re.compile(r"  ([01]): no=(\d{1,18}) yes=(\d{1,18})")
RELEASE = {
    "recon": 1,
    "domain": {
        "attributes": [{"name": "smoker", "values": [0, 1]}, {"name": "old", "values": [0, 1]}],
        "label": {"name": "ill", "values": ["no", "yes"]},
    },
    "rows": 6,
    "models": [
        {
            "kind": "tree",
            "nodes": [{"if": {"smoker": 1}, "then": 1, "else": 2}, {"counts": [1, 2]}, {"counts": [3, 0]}],
        }
    ],
}
COMMANDS = {
    "inspect": "inspect FILE --json",
    "inspect all": "inspect FILE --all",
    "convert": "convert FILE DOMAIN --out DIR/out.json",
    "domain": "domain FILE --out DIR/domain.json",
    "plan": "plan FILE DOMAIN --json",
    "count": "count FILE DOMAIN --json",
    "count without a domain": "count FILE --json",
    "worlds": "worlds FILE DOMAIN --json",
    "certify": "certify FILE DOMAIN --profiles DIR/profiles.csv --json",
    "bound": "bound FILE DOMAIN --where {} --of smoker --json",
    "audit": "audit FILE DOMAIN --json",
    "audit as a page": "audit FILE DOMAIN --out DIR/page.html",
    "gate": "gate --policy DIR/policy.toml FILE DOMAIN --json",
    "remedy": "remedy FILE DOMAIN --policy DIR/policy.toml --out DIR/remedy.json --json",
    "register": "register DIR/register --add FILE DOMAIN --decision release --json",
    "export": "export FILE DOMAIN --to dimacs --out DIR/out.cnf",
    "attack correlation": "attack correlation FILE DOMAIN --data DIR/truth.csv --json",
}


def looks_like_stump(head):
    """Return whether a text starts like a printed stump."""
    return head.startswith("stump of ")


def read_stump(text):
    """Return the draft of a printed stump; `ReleaseError` naming the line that is none."""
    first, *sides = text.rstrip("\n").split("\n")
    found = {}
    for i, line in enumerate(sides, start=2):
        side = SIDE.fullmatch(line)
        if side is None or side[1] in found:
            raise ReleaseError(f"{line[:40]!r} is no side of a stump", place=f"line {i}")
        found[side[1]] = tuple(count(int(n), f"line {i}") for n in side.groups()[1:])
    if len(found) != 2:
        raise ReleaseError("has not both sides of its test", place="the last line")
    name = first.removeprefix("stump of ")
    leaves = [ModelNode(Support(found["1"])), ModelNode(Support(found["0"]))]
    nodes = [ModelNode(Support(), ((name, equals(1)),), 1, 2), *leaves]
    n = sum(map(sum, found.values()))
    return Draft(
        Provenance(FORMAT, ("exact",)),
        as_features([name]),
        (Tree(Nodes.of(nodes)),),
        ("no", "yes"),
        free_label([name]),
        RowCount(n, n),
    )


@pytest.fixture
def registered(monkeypatch):
    """Add the format at the places of the list: `TEXTS`; `LINES` and `_ROWS` of what inspection understands."""
    module = types.ModuleType("recon.readers.formats.printed.stump_text")
    module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    module.looks_like_stump, module.read_stump = looks_like_stump, read_stump
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = ("printed.stump_text", "looks_like_stump", "read_stump")
    monkeypatch.setattr(detection, "TEXTS", (entry, *detection.TEXTS))
    monkeypatch.setitem(lines.LINES, FORMAT, (rf"stump of {lines.NAME}", r"  [01]: no=\d{1,18} yes=\d{1,18}"))
    monkeypatch.setitem(lines._ROWS, FORMAT, r"(?<==)\d{1,18}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the text, the release file that says the same, and the tables that commands want."""
    (tmp_path / "stump.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "stump.json").write_text(json.dumps(RELEASE), encoding="utf-8")
    (tmp_path / "domain.json").write_text(json.dumps({"recon": 1, "domain": RELEASE["domain"]}), encoding="utf-8")
    (tmp_path / "profiles.csv").write_text("smoker,old,ill\n1,0,yes\n0,1,yes\n0,,no\n", encoding="utf-8")
    (tmp_path / "truth.csv").write_text(
        "smoker,old,ill\n1,0,no\n1,0,yes\n1,1,yes\n0,0,no\n0,1,no\n0,0,no\n", encoding="utf-8"
    )
    (tmp_path / "policy.toml").write_text('name = "three"\nsmallest_group = 3\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(capsys, name, folder, file):
    """Return how a command ends on a file, its outputs in a folder of its own."""
    own = folder / f"of_{file.partition('.')[2]}"
    own.mkdir(exist_ok=True)
    for table in (*folder.glob("*.csv"), *folder.glob("*.toml")):
        (own / table.name).write_bytes(table.read_bytes())
    domain = "--domain domain.json" if file.endswith(".txt") else ""
    words = COMMANDS[name].replace("DOMAIN", domain).replace("DIR", str(own)).replace("FILE", file)
    return run(capsys, *words.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_read_by_every_command(name, registered, folder, capsys):
    (code, out, err), (usual, expected, _) = (ran(capsys, name, folder, f"stump.{end}") for end in ("txt", "json"))
    if name != "count without a domain":  # the file alone says nothing of the column that it does not test
        assert code == usual, err
    assert code in {0, 1} or "correlation is one of two columns" in err
    if name in {"count", "certify", "bound", "worlds"}:
        assert figures(out) == figures(expected)
    if name == "audit":
        assert judged(out) == judged(expected)


def judged(text):
    """Return the facts of an audit that a policy looks at."""
    return {k: v for k, v in json.loads(text)["facts"].items() if k not in {"stored", "files", "not_used"}}


def figures(text):
    """Return the figures of an answer: what no name, no proof and no path is in."""
    found = json.loads(text)
    lists = found if isinstance(found, list) else [found]
    kept = (bool, int, float)
    return [{k: v for k, v in one.items() if isinstance(v, kept) and k != "seconds"} for one in lists]


def test_all_of_it_is_understood(registered, folder, capsys):
    code, out, _ = run(capsys, "inspect", "stump.txt", "--json")
    found = json.loads(out)
    assert code == 0
    assert not [one for one in found["findings"] if one["level"] == "unknown"], found["findings"]


def test_broken_texts_are_refused_with_file_and_line(registered, folder, capsys):
    for text, place in ((TEXT.replace("yes=0", "yes=x"), "line 3"), (TEXT.rsplit("\n", 2)[0], "the last line")):
        (folder / "stump.txt").write_text(text, encoding="utf-8")
        code, _, err = run(capsys, "count", "stump.txt")
        assert code == 3
        assert "stump.txt" in err
        assert place in err
        assert err.count("\n") == 1


def test_without_its_registration_it_is_of_no_format(folder, capsys):
    code, _, err = run(capsys, "count", "stump.txt")
    assert code == 3
    assert "of no format that is read" in err
