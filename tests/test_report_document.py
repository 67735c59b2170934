"""The document of an audit: its schema, reading it again, the refusals, and `recon report`."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import report_documents as documents
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import recon
from recon.cli.output.printing import report
from recon.report.document.schema import json_schema
from recon.report.page.renderers import markdown_page, page, text_page
from recon.report.results import _checked_document, as_read, read_document
from solvers.foundation.errors import PolicyError, ReleaseError, Unsupported

ROOT = Path(__file__).parents[1]
EVERY = list(documents.EVERY)
POLICY = 'name = "ten"\n[smallest_group]\nvalue = {}\nsource = "the officer"\n'


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a document to a file."""

    def write(document, name="result.json"):
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return str(path)

    return write


def closed(schema):
    """Return the schema with no keys but its own allowed in any of its parts: what is misspelt is found."""
    schema = copy.deepcopy(schema)
    for part in [schema, *schema["$defs"].values()]:
        part["additionalProperties"] = False
    return schema


@pytest.fixture(scope="module")
def validators():
    """Return what validates against the published schema, and against it with no other keys allowed."""
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return [jsonschema.Draft202012Validator(one) for one in (schema, closed(schema))]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", EVERY)
def test_documents_validate_against_the_published_schema(validators, name):
    document = documents.large(60) if name == "large" else documents.EVERY[name]()
    for one in validators:
        one.validate(json.loads(json.dumps(document)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "file",
    [
        "adult_tree.json",
        "noisy_tree.json",
        "compas_rule_list.json",
        pytest.param("census_block.json", marks=pytest.mark.long),
    ],
)
def test_what_an_audit_writes_is_read_and_rendered_the_same(validators, written, file):
    """The document of a real audit has no key that the schema does not know, and gives the audit's own pages."""
    found = recon.audit(recon.load(str(ROOT / "examples" / "releases" / file)))
    path = written(found.to_json())
    document = read_document(path)
    for one in validators:
        one.validate(document)
    assert page(document) == found.to_html()
    assert documents.figures(found.to_html(), "html") == documents.figures(found.to_markdown(), "md")
    assert markdown_page(document) == found.to_markdown()
    assert text_page(document) == found.to_text()
    assert ran(path).stdout == text_page(as_read(document))


def test_the_schema_says_what_every_key_means():
    schema = json_schema()
    keys = schema["properties"]
    assert keys["audit"]["enum"] == [2]
    silent = [
        k
        for k, one in keys.items()
        if "description" not in one and not k.endswith(("_in_all", "_recovered", "_left_out"))
    ]
    assert silent == []
    assert all("description" in one for one in schema["$defs"].values())
    assert set(schema["required"]) == {"audit", "file", "title", "sections", "made", "audited", "facts"}


@pytest.mark.parametrize("name", EVERY)
def test_a_document_is_read_as_it_was_written(written, name):
    document = documents.EVERY[name]()
    assert read_document(written(document)) == json.loads(json.dumps(document))


def test_keys_of_later_versions_are_let_pass(written):
    document = documents.full() | {"later": {"x": 1}}
    document["facts"]["later"] = [1]
    assert page(read_document(written(document))) == page(documents.full())


def changed(place, value):
    """Return the full document with another value at a place."""
    document = documents.full()
    at = document
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    return document


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (["title"], 3, "title: it must be a text, but it is 3"),
        (["sections", 0, 1, 1], None, "sections[0][1][1]: it must be a text, but it is None"),
        (["facts", "pinned"], [1], "facts.pinned"),
        (["facts", "pinned", 0], "many", "facts.pinned[0]: it must be a whole number or a number, but it is 'many'"),
        (["facts", "groups", 1, "rows", 1], "x", "facts.groups[1].rows[1]"),
        (["assessment", "verdict"], "perhaps", "assessment.verdict: it must be one of the values that recon schema"),
        (["exposed", 2], [], "exposed[2]: it must be an object, but it is []"),
        (["curve", 0, 0], 7, "curve[0][0]: it must be a number <= 1"),
        (["drawing", "nodes", 0, "id"], 1.5, "drawing.nodes[0].id: it must be a whole number, but it is 1.5"),
        (["interval_cells", 0, "feasible"], [None, None], "interval_cells[0].feasible[0]"),
    ],
)
def test_what_is_wrong_is_said_with_file_place_and_value(written, place, value, said):
    path = written(changed(place, value))
    with pytest.raises(ReleaseError) as caught:
        read_document(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["file", "title", "sections", "made", "audited", "facts"])
def test_a_missing_key_is_named(written, key):
    document = documents.full()
    del document[key]
    with pytest.raises(ReleaseError, match=f"{key}: is missing"):
        read_document(written(document))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"recon": 1}', "but a release file"),
        ('{"audit": 2, "audit": 2}', "stands twice"),
        ('{"audit": NaN}', "not finite"),
        ("[" * 100_000, "nested too deeply"),
        ('{"audit": 2, "file": "a"', "is not JSON"),
    ],
)
def test_what_is_no_document_is_refused(written, text, said):
    with pytest.raises(ReleaseError, match=said):
        read_document(written(text))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'{"audit": "\xff"}')
    with pytest.raises(ReleaseError, match=r"is not UTF-8 text \(byte 11\)"):
        read_document(str(path))
    with pytest.raises(ReleaseError, match="cannot be read"):
        read_document(str(tmp_path / "none.json"))


@pytest.mark.parametrize("version", [1, 3, "2", True, None, 2.5])
def test_another_version_is_refused_with_what_to_do(written, version):
    with pytest.raises(Unsupported) as caught:
        read_document(written(documents.full() | {"audit": version}))
    assert "audit the file again" in str(caught.value)
    if version == 1 and version is not True:
        assert "recon audit adult_tree.json --json --out result.json" in str(caught.value)


def places_in(value, place=()):
    """Yield every place of a document."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from places_in(one, (*place, key))


FULL = json.loads(
    json.dumps(
        documents.full() | {"not_assessed": {"why": "no domain", "run": ["recon audit x"]}, "conflict": ["a", "b"]}
    )
)
PLACES = [one for one in places_in(FULL) if one]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**30), 2**64]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from([[], {}, [0], [1, 2], [None, None], [0, 10**400], {"a": 1}, 1e308, -1.0]),
)


def refused_or_read(document):
    """Return the refusal of a document, or what is read of it."""
    try:
        return None, _checked_document(json.loads(json.dumps(document)), "result.json")
    except (ReleaseError, Unsupported) as error:
        return str(error), None


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLACES), VALUES)
def test_whatever_is_let_through_is_rendered(place, value):
    """A document with anything anywhere is refused in a sentence, or rendered in every format."""
    document = copy.deepcopy(FULL)
    at = document
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    refusal, found = refused_or_read(document)
    if refusal is not None:
        assert refusal.startswith("result.json: ")
        return
    for form in (page, markdown_page, text_page):
        assert form(found).endswith("\n")


def ran(*arguments):
    """Run `recon report` by itself."""
    app = typer.Typer()
    app.command()(report)
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.mark.parametrize(
    ("form", "suffix", "render"), [("html", "html", page), ("md", "md", markdown_page), ("txt", "txt", text_page)]
)
def test_report_renders_the_document(written, tmp_path, form, suffix, render):
    path = written(documents.met())
    done = ran(path, "--to", form)
    assert (done.exit_code, done.stdout) == (0, render(as_read(documents.met())))
    out = tmp_path / f"x.{suffix}"
    assert ran(path, "--out", out).exit_code == 0
    assert out.read_text(encoding="utf-8") == render(as_read(documents.met()))


def test_report_prints_text_by_default(written):
    assert ran(written(documents.met())).stdout == text_page(as_read(documents.met()))


@pytest.mark.parametrize("form", ["sarif", "junit"])
def test_report_writes_what_pipelines_read(written, form):
    done = ran(written(documents.full()), "--to", form)
    assert done.exit_code == 1
    assert "Smallest group" in done.stdout or "smallest group" in done.stdout


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (documents.met, 0),
        (documents.full, 1),
        (documents.open_bounds, 4),
        (documents.without_policy, 0),
        (documents.minimal, 0),
    ],
)
def test_report_exits_as_the_assessment_says(written, made, code):
    assert ran(written(made())).exit_code == code


@pytest.mark.parametrize(
    ("least", "code", "verdict"),
    [
        (1, 0, "MEETS THE POLICY, BUT REVEALS PEOPLE"),
        (2, 1, "RELEASE WITH CHANGES"),
        (40, 1, "RELEASE WITH CHANGES"),
        (500, 1, "DO NOT RELEASE"),
    ],
)
def test_report_assesses_again_by_another_policy(written, least, code, verdict):
    policy = written(POLICY.format(least), "policy.toml")
    done = ran(written(documents.without_policy() | {"remedies": documents.remedies()}), "--policy", policy)
    assert done.exit_code == code
    assert done.stdout.split("\n")[3].strip() == verdict
    assert "policy.toml" in done.stdout


def test_of_a_remedy_only_what_the_document_holds_is_judged(written):
    """A policy that asks for what the document does not have of a remedy leaves it open; nothing is guessed."""
    policy = written(POLICY.format(11) + '[smallest_cell]\nvalue = 3\nsource = "the officer"\n', "policy.toml")
    done = ran(written(documents.full()), "--policy", policy)
    assert done.exit_code == 1
    assert done.stdout.split("\n")[3].strip() == "DO NOT RELEASE"
    helps = done.stdout.partition("What would help")[2]
    assert "groups below 11 rows merged: policy not settled" in helps
    assert "as published: policy not met" in helps


def test_report_leaves_the_policy_of_the_document_for_the_one_given(written):
    done = ran(written(documents.full()), "--policy", written(POLICY.format(1), "policy.toml"))
    assert done.exit_code == 0
    assert "cell size 11" not in done.stdout.partition("What would help")[0]


def test_report_refuses_what_disagrees(written):
    path = written(documents.met())
    for arguments in (["--to", "pdf"], ["--out", "x.pdf"], ["--to", "html", "--out", "x.md"]):
        done = ran(path, *arguments)
        assert done.exit_code == 2, arguments
    assert "html, md, txt, json, sarif or junit" in " ".join(ran(path, "--to", "pdf").output.replace("│", "").split())
    assert isinstance(ran(path, "--policy", written("smallest_group = -1", "bad.toml")).exception, PolicyError)
    assert isinstance(ran(written({"audit": 1})).exception, Unsupported)
