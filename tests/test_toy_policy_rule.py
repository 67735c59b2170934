"""A policy rule that recon has never heard of, added as docs/extending.md says, through every command that judges.

At most so many people may be there whose whole row is certain: the figure is `pinned`, as that of `most_pinned`, which
is the measure of what its outcome is.
"""

import json
import tomllib

import msgspec
import pytest
from extras import run

from recon.release.policies import rules
from recon.release.policies.checks import PolicyRule, of_interval

FILE = "examples/releases/compas_tree.json"
KEY = "most_certain_rows"
RULE = PolicyRule(
    KEY,
    "pinned",
    of_interval,
    rules.PEOPLE,
    title="Rows that are certain",
    subject="{found} have a row that is certain",
    help="people whose whole row is certain, at most",
    remedy="Publish larger groups.",
    example=0,
    unit="person",
)


@pytest.fixture
def registered(monkeypatch):
    """Add the rule at the one place of the list, `EVERY`: the module's tables are worked out again from it."""
    monkeypatch.setattr(rules, "EVERY", (*rules.EVERY, RULE))
    monkeypatch.setitem(rules.RULES, KEY, RULE)
    monkeypatch.setitem(rules.THRESHOLDS, KEY, (RULE.values.type, RULE.values.words))
    monkeypatch.setitem(rules.WORDS, KEY, RULE.values.words)
    fields = [
        *((key, type_ | None, None) for key, (type_, _) in rules.ABOUT.items()),
        *rules._threshold_fields(""),
        *((table, type_ | None, None) for table, type_ in rules._TABLES.items()),
    ]
    monkeypatch.setattr(rules, "PolicyPart", msgspec.defstruct("PolicyPart", fields, **rules._STRICT))


def policy(tmp_path, key, most):
    """Return the file of a policy with one threshold."""
    path = tmp_path / f"{key}.toml"
    path.write_text(f'name = "{key}"\n{key} = {most}\n', encoding="utf-8")
    return str(path)


def judged(capsys, command, tmp_path, most):
    """Return how a command ends under the rule, and under the one that is the measure; and what it printed."""
    ends = []
    for key in (KEY, "most_pinned"):
        out = tmp_path / f"of_{key}"
        out.mkdir(exist_ok=True)
        words = command.replace("POLICY", policy(tmp_path, key, most)).replace("DIR", str(out))
        ends.append(run(capsys, *words.split()))
    return ends


@pytest.mark.sampled(6)
@pytest.mark.parametrize("most", [0, 10_000])
@pytest.mark.parametrize(
    "command",
    [
        f"gate --policy POLICY {FILE}",
        f"gate --policy POLICY {FILE} --json",
        f"audit {FILE} --policy POLICY",
        f"audit {FILE} --policy POLICY --json",
        f"audit {FILE} --policy POLICY --out DIR/page.html",
        f"audit {FILE} --policy POLICY --out DIR/page.md",
    ],
)
def test_it_is_judged_as_the_rule_that_looks_at_the_same_figure(registered, command, most, capsys, tmp_path):
    (code, out, err), (usual, _, _) = judged(capsys, command, tmp_path, most)
    assert code == usual, err
    written = "".join(path.read_text("utf-8") for path in (tmp_path / f"of_{KEY}").iterdir()) or out
    assert KEY in written or RULE.title in written or "certain" in written


def test_what_is_derived_from_it(registered, capsys, tmp_path):
    file = policy(tmp_path, KEY, 0)
    code, out, _ = run(capsys, "policy", file)
    assert code == 0
    assert KEY in out
    new = tmp_path / "new.toml"
    assert run(capsys, "policy", "--init", "--out", str(new))[0] == 0
    assert KEY in new.read_text("utf-8")
    assert KEY in json.dumps(rules.json_schema())
    (tmp_path / "bad.toml").write_text(f"{KEY} = -1\n", encoding="utf-8")
    code, _, err = run(capsys, "policy", str(tmp_path / "bad.toml"))
    assert code == 2
    assert KEY in err
    assert RULE.values.words in err
    assert tomllib.loads((tmp_path / f"{KEY}.toml").read_text("utf-8"))[KEY] == 0


def test_without_its_registration_the_key_is_refused(capsys, tmp_path):
    code, _, err = run(capsys, "gate", "--policy", policy(tmp_path, KEY, 0), FILE)
    assert code == 2
    assert f"there is no key {KEY}" in err.replace("'", "")
