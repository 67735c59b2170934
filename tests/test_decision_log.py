"""The log of decisions: whatever is changed, taken out, put in or cut off is found, and nothing signed is lost."""

from __future__ import annotations

import json

import pytest
from extras import run

from recon.release.registers.decisions import FIRST, DecidedFile, add_decision, read_decisions
from solvers.foundation.errors import ReleaseError

DOCUMENT = {"assessment": {"policy": {"name": "small", "sha256": "b" * 64}, "verdict": "release"}}
FILES = [DecidedFile("tree.json", "a" * 64)]


@pytest.fixture
def log(tmp_path):
    """Return a log of three decisions and the hashes that were shown when they were signed."""
    path = tmp_path / "decisions.jsonl"
    answers = ("release", "do not release", "ask back")
    heads = [add_decision(path, one, "A. Officer", f"about {one}", FILES, DOCUMENT, "c" * 64)[1] for one in answers]
    return path, heads


def test_a_log_is_a_chain_that_anybody_can_follow(log):
    import hashlib

    path, heads = log
    lines = path.read_bytes().splitlines()
    assert [hashlib.sha256(line).hexdigest() for line in lines] == heads
    assert [json.loads(line)["previous"] for line in lines] == [FIRST, *heads[:-1]]
    found = read_decisions(path)
    assert found.whole
    assert (found.head, [one.decision for one in found.decisions]) == (
        heads[-1],
        ["release", "do not release", "ask back"],
    )
    assert path.stat().st_mode & 0o777 == 0o600


def test_every_change_of_a_byte_before_the_last_line_is_found(log):
    path, heads = log
    data = path.read_bytes()
    last = data.rindex(b"\n", 0, -1)
    for at in range(0, len(data) - 1, 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        whole = read_decisions(path, heads[-1]).whole
        assert not whole, at
        if at < last:
            assert not read_decisions(path).whole, at


@pytest.mark.parametrize("kept", [(0, 2), (1, 2), (0, 0, 1, 2), (1, 0, 2), (0, 1)])
def test_lines_taken_out_put_in_or_moved_are_found(log, kept):
    path, heads = log
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[one] for one in kept))
    assert not read_decisions(path, heads[-1]).whole
    if kept != (0, 1):  # cut off at its end: only the hash that was noted tells
        assert not read_decisions(path).whole
        with pytest.raises(ReleaseError, match="not whole"):
            add_decision(path, "release", "B", "c", FILES, DOCUMENT, "c" * 64)


def test_a_line_that_was_cut_off_was_never_confirmed_and_gives_way(log):
    path, heads = log
    with path.open("ab") as file:
        file.write(b'{"recon_decision":1,"numb')
    found = read_decisions(path)
    assert (found.whole, found.cut_off, len(found.decisions)) == (True, 25, 3)
    _, head = add_decision(path, "release", "B. Officer", "again", FILES, DOCUMENT, "c" * 64)
    found = read_decisions(path, heads[0])
    assert (found.whole, found.cut_off, len(found.decisions), found.head) == (True, 0, 4, head)


@pytest.mark.parametrize(("by", "comment", "word"), [("", "c", "name"), (" \n", "c", "name"), ("b", " ", "comment")])
def test_a_decision_has_a_name_and_a_comment(tmp_path, by, comment, word):
    with pytest.raises(ReleaseError, match=f"needs a {word}"):
        add_decision(tmp_path / "log", "release", by, comment, FILES, DOCUMENT, "c" * 64)
    assert not (tmp_path / "log").exists()


def test_the_command_lists_and_verifies(log, capsys):
    path, heads = log
    code, printed, _ = run(capsys, "decisions", path, "--verify", "--head", heads[1])
    assert code == 0
    for text in ("2. ", "about do not release", heads[-1]):
        assert text in printed
    assert run(capsys, "decisions", path, "--verify", "--head", "f" * 64)[0] == 3
    path.write_bytes(path.read_bytes().replace(b"A. Officer", b"B. Officer", 1))
    assert run(capsys, "decisions", path)[0] == 0
    code, printed, _ = run(capsys, "decisions", path, "--verify")
    assert (code, "not whole: line 2: does not follow line 1" in printed) == (3, True)
    assert json.loads(run(capsys, "decisions", path, "--json")[1])["whole"] is False
    assert run(capsys, "decisions", path.parent / "none")[0] == 3
