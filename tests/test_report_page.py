"""The report's page, Markdown and text: one document, the same words and figures, and names that stay text."""

from __future__ import annotations

import html as entities
import math
import re
import time
import unicodedata
from html.parser import HTMLParser

import pytest
import report_documents as documents
from hypothesis import given
from hypothesis import strategies as st

from recon.report.page import blocks
from recon.report.page.advice import STEPS, steps
from recon.report.page.contents import GLOSSARY, parts
from recon.report.page.first_page import first_page
from recon.report.page.renderers import markdown_page, page, text_page

EVERY = list(documents.EVERY)
FORMATS = {"html": page, "md": markdown_page, "txt": text_page}
VOID = {"meta", "br", "img", "link", "hr", "input", "path", "circle", "rect", "line"}


class Read(HTMLParser):
    """What a strict reader finds in a page: elements in order, their attributes, the text of each."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open, self.found, self.texts = list[str](), list[tuple[str, dict]](), list[tuple[str, str]]()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and data.strip():
            self.texts.append((self.open[-1], data.strip()))

    def of(self, tag: str) -> list[dict]:
        return [attrs for name, attrs in self.found if name == tag]

    @property
    def text(self) -> str:
        return "\n".join(text for tag, text in self.texts if tag != "style")


@pytest.fixture(scope="module")
def pages():
    """Return every document with its page, read."""
    return {name: (made(), Read(page(made()))) for name, made in documents.EVERY.items()}


@pytest.mark.sampled(18)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", EVERY)
def test_the_same_document_gives_the_same_bytes(name, form):
    made = documents.EVERY[name]
    assert FORMATS[form](made()) == FORMATS[form](made())
    before = made()
    kept = repr(before)
    FORMATS[form](before)
    assert repr(before) == kept, "rendering changes nothing in the document"


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", EVERY)
def test_every_format_shows_the_same_figures(name):
    """Markdown has those of the page, and a terminal none that they do not have."""
    shown = {form: documents.figures(show(documents.EVERY[name]()), form) for form, show in FORMATS.items()}
    assert shown["md"] == shown["html"]
    numbered = {str(n) for n in range(1, STEPS + 1)}  # what to do
    assert shown["txt"] - numbered <= shown["md"]
    assert name == "minimal" or shown["txt"]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", EVERY)
def test_a_page_stands_alone(pages, name):
    _, read = pages[name]
    assert read.found[0] == ("html", {"lang": "en"})
    assert not {tag for tag, _ in read.found} & {"script", "img", "link", "iframe", "object", "embed", "form", "base"}
    named = {one.get("name"): one.get("content") for one in read.of("meta")}
    assert named["viewport"] == "width=device-width, initial-scale=1"
    policy = next(one["content"] for one in read.of("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert {"default-src 'none'", "style-src 'unsafe-inline'", "img-src data:"} <= set(policy.split("; "))
    links = [one["href"] for one in read.of("a")]
    assert links
    ids = [attrs["id"] for _, attrs in read.found if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {one.removeprefix("#") for one in links} <= set(ids), "links lead to places of the page only"
    assert not [key for _, attrs in read.found for key in attrs if key.startswith("on") or key in {"src", "srcset"}]
    for _, attrs in read.found:
        for key in ("aria-labelledby",):
            assert set(attrs.get(key, "").split()) <= set(ids)


@pytest.mark.parametrize("name", EVERY)
def test_the_style_fetches_nothing(name):
    style = page(documents.EVERY[name]()).partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert style.count("{") == style.count("}")


@pytest.mark.parametrize("name", EVERY)
def test_tables_have_captions_and_headers(pages, name):
    _, read = pages[name]
    tags = [tag for tag, _ in read.found]
    assert tags.count("table") == tags.count("caption") == tags.count("thead")
    assert all(one.get("scope") in {"col", "row"} for one in read.of("th"))
    boxes = [attrs for tag, attrs in read.found if tag == "div" and attrs.get("class") == "scroll"]
    assert len(boxes) == tags.count("table")
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in boxes)


@pytest.mark.sampled(27)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", EVERY)
def test_nothing_of_the_machinery_shows(name, form):
    text = FORMATS[form](documents.EVERY[name]())
    if form == "html":
        text = Read(text).text
    assert not re.search(r"\b(None|True|False|nan|inf|NaN|Infinity|Undefined)\b", text)
    if name != "hostile":
        assert not re.search(r"\{\{|\}\}|\{%", text)


@pytest.mark.parametrize(
    ("made", "verdict", "tone"),
    [
        (documents.full, "release with changes", "changes"),
        (documents.met, "release", "good"),
        (documents.open_bounds, "not assessed", "open"),
        (documents.without_policy, "not assessed against a policy", "open"),
        (lambda: documents.full() | {"assessment": documents.assessed("do not release")}, "do not release", "bad"),
    ],
)
def test_every_format_begins_with_the_verdict(made, verdict, tone):
    document = made()
    first = first_page(document)
    assert (first.verdict, first.tone) == (verdict, tone)
    read = Read(page(document))
    heading = read.texts.index(("h2", verdict.capitalize()))
    assert heading < read.texts.index(("h2", "What to do"))
    assert any(attrs.get("class") == f"verdict {tone}" for _, attrs in read.found)
    assert (
        markdown_page(document).split("\n")[2:5]
        == [
            *(["**Confidential: describes individuals.** " + first.confidential] if first.confidential else []),
            *([""] if first.confidential else []),
            f"## Verdict: {verdict}",
            "",
            markdown_page(document).split("\n")[4],
        ][:3]
    )
    head, shown = text_page(document).split("\n")[2:4]
    assert head == "Verdict"
    assert shown.startswith(f"  {verdict.upper()}")
    for one in first.numbers:
        assert one.line in text_page(document) or one.value == "not known"
        assert one.label in markdown_page(document)
        assert ("h3", one.label) in read.texts


def test_without_a_policy_it_is_said_how_to_give_one():
    document = documents.without_policy()
    assert "(recon policy --init writes one to edit, --policy FILE checks a release against it)" in text_page(document)
    for text in (markdown_page(document), Read(page(document)).text):
        assert "recon policy --init --out policy.toml" in text
        assert "recon audit adult_tree.json --policy policy.toml" in text
        assert "No policy was given" in text


def test_without_a_policy_what_stands_out_is_said():
    texts = [text for _, text in first_page(documents.stored_only()).reasons]
    assert texts == ["knn.pkl: 150 training rows are stored in the file unchanged: _fit_X"]
    document = documents.without_policy() | {
        "positions": {"summary": "this file reveals 100 of 100 labels by position"}
    }
    document["facts"]["stored"] = [
        {"level": "high", "what": "100 seeds", "path": f"estimators_[{k}]"} for k in range(9)
    ]
    texts = [text for _, text in first_page(document).reasons]
    assert texts[0].startswith("The file stores something about single training rows: estimators_[0], estimators_[1]")
    assert texts[1] == "This file reveals 100 of 100 labels by position."
    document["leaf_values"] = {"models": [{"summary": "this boosted model determines 60 of 60 rows"}, 3]}
    texts = [text for _, text in first_page(document).reasons]
    assert texts[2] == "This boosted model determines 60 of 60 rows."
    assert "1 of the people in the data are fully known." in texts
    assert first_page(documents.minimal()).reasons == []


def test_why_failed_checks_stand_first():
    document = documents.full()
    document["assessment"]["checks"].reverse()
    first = first_page(document)
    assert [outcome for outcome, _ in first.reasons] == ["violated", "violated"]
    assert first.more_reasons == "and 1 more check, see Against the policy"
    many = [documents.checks()[0] | {"sentence": f"check {k}"} for k in range(40)]
    document["assessment"]["checks"] = many
    assert len(first_page(document).reasons) == 4
    assert first_page(document).more_reasons.startswith("and 36 more checks")
    assert Read(page(document)).text.count("check 39") == 1, "all of them are in the part on the policy"


def numbers(**facts):
    """Return the first page's numbers as (value, beside) by label."""
    document = documents.minimal()
    document["facts"] |= facts
    return {one.label: (one.value, one.beside, one.note) for one in first_page(document).numbers}


@pytest.mark.parametrize(
    ("ends", "rows", "value", "beside"),
    [
        ([0, 0], [150, 150], "0", "of 150"),
        ([12, 12], [150, 150], "12", "of 150"),
        ([12, 150], [150, 150], "at least 12", "of 150"),
        ([12, None], [150, 150], "at least 12", "of 150"),
        ([0, 7], [150, 150], "at most 7", "of 150"),
        ([3, 7], [150, 160], "3 to 7", "of 150 to 160"),
        ([0, 150], [150, 150], "not known", ""),
        ([0, None], None, "not known", ""),
        ([1234, 1234], None, "1,234", ""),
    ],
)
def test_people_pinned_down(ends, rows, value, beside):
    assert numbers(pinned=ends, rows=rows)["People fully known"][:2] == (value, beside)


def test_bits_beside_those_before_and_what_they_mean():
    exact = numbers(bits_left_per_person=[2.0, 2.0], bits_before_per_person=10.0)["Bits left per person"]
    said = "20 % of the uncertainty is left; the file reveals the rest."
    assert exact == ("2.00", "of 10.00 before", said)
    upper = numbers(bits_left_per_person=[0, 2.001], bits_before_per_person=10.0)["Bits left per person"]
    assert upper[0] == "at most 2.01", "rounded outwards"
    assert upper[2] == "At most 21 % of the uncertainty is left."
    assert (
        numbers(bits_left_per_person=[0, 10.0], bits_before_per_person=10.0)["Bits left per person"][0] == "not known"
    )
    lower = numbers(bits_left_per_person=[2.009, None], bits_before_per_person=10.0)["Bits left per person"]
    assert lower[0] == "at least 2.00"


def test_an_unknown_number_gives_its_reason():
    found = numbers(not_known={"pinned": "worlds were not counted"}, not_applicable={"smallest_group": "no groups"})
    assert found["People fully known"] == ("not known", "", "Worlds were not counted")
    assert found["Smallest group"] == ("not known", "", "No groups")
    assert found["Bits left per person"][2], "a reason is always said"


def test_the_smallest_group_is_named():
    value, beside, note = numbers(
        smallest_group=[1, 1], groups=[{"name": "leaf 7", "where": "age >= 62", "rows": [1, 1]}]
    )["Smallest group"]
    assert (value, beside, note) == ("1", "row", "leaf 7: age >= 62")


ENDS = st.tuples(st.floats(0, 1e6), st.one_of(st.none(), st.floats(0, 1e6))).map(
    lambda pair: [pair[0], pair[1]] if pair[1] is None else sorted(pair)
)


@given(ENDS, st.sampled_from([0, 1, 2]), st.one_of(st.none(), st.floats(0, 1e6)))
def test_bounds_in_words_are_true(ends, places, ceiling):
    """Whatever is said of an interval contains it; an exact figure is rounded, bounds are rounded outwards."""
    text = blocks.ends_of(ends, places, ceiling).replace(",", "").replace(" at most", ", at most")
    least, most = ends
    for bound in re.findall(r"at least ([\d.]+)", text):
        assert float(bound) <= least + 1e-6
    for bound in re.findall(r"at most ([\d.]+)", text):
        assert most is not None
        assert float(bound) >= most - 1e-6
    if re.fullmatch(r"[\d.]+", text):
        assert most is not None
        assert math.isclose(least, most, abs_tol=1e-8)
        assert abs(float(text) - least) <= 0.5 * 10**-places + 1e-6


@given(st.floats(0, 1))
def test_shares_are_never_none_or_all_by_rounding(share):
    text = blocks.percent(share)
    assert (text == "0 %") == (share == 0)
    assert (text == "100 %") == (share == 1)


@given(st.integers(0, 10**400))
def test_possible_rows_of_any_size(value):
    text = blocks.possible_rows(str(value))
    assert len(text) < 20
    if "2^" in text:
        assert abs(float(text.partition("2^")[2]) - math.log2(value)) < 0.06
    else:
        assert int(text.replace(",", "")) == value


def test_what_to_do_names_the_place_the_remedy_and_the_command():
    first, second = steps(documents.full())
    for said in ("Smallest group", "leaf 7", "1 row", "age >= 62 and hours-per-week < 20", "Merge the groups below 11"):
        assert said in first.text
    assert "groups below 11 rows merged" in second.text, "the most accurate that meets the policy"
    assert "85.2 % instead of 86.1 %" in second.text
    assert second.command == "recon remedy adult_tree.json --policy policies/project.toml --out better.json"


def test_what_to_do_where_no_remedy_was_tried_or_none_helps():
    commands = [one.command for one in steps(documents.full() | {"remedies": None})]
    assert "recon remedy adult_tree.json --policy policies/project.toml --out better.json" in commands
    assert "recon audit adult_tree.json --policy policies/project.toml --remedies" in commands
    bad = [one | {"outcome": "violated"} for one in documents.remedies()]
    texts = [one.text for one in steps(documents.full() | {"remedies": bad})]
    assert any("None of the 4 remedies" in one and "do not release" in one for one in texts)


def test_what_to_do_about_stored_rows_comes_first():
    document = documents.full()
    document["facts"]["stored"] = [
        {
            "file": "m x.pkl",
            "level": "high",
            "rule": "seed",
            "what": "a seed",
            "path": "random_state",
            "remedy": "",
            "removable": True,
        }
    ]
    assert steps(document)[0].command == "recon inspect 'm x.pkl' --strip 'm x-stripped.pkl'"
    (first, *_) = steps(documents.stored_only())
    assert "release a model that does not keep rows" in first.text


def test_what_to_do_where_little_is_known():
    assert steps(documents.no_domain())[0].command == "recon audit model.json --domain people.csv"
    (only,) = steps(documents.contradiction())
    assert "leaf 1 and leaf 2: exactly 2 rows" in only.text
    assert any("--time" in one.command for one in steps(documents.open_bounds()))
    assert steps(documents.met())[0].text.startswith("Nothing has to be changed")
    assert all(len(steps(made())) <= STEPS for made in documents.EVERY.values())


@pytest.mark.parametrize("form", FORMATS)
def test_what_was_found_is_in_every_format(form):
    text = FORMATS[form](documents.full())
    if form == "html":
        text = Read(text).text
    if form == "md":
        text = entities.unescape(re.sub(r"\\(.)", r"\1", text))
    for said in (
        "adult_tree.json",
        "recon remedy",
        "leaf 7",
        "age >= 62 and hours-per-week < 20",
        "datasets that agree: 1,024",
        "Female",
        "at least 3 people",
        "groups below 11 rows merged",
        "noise, ε = 1",
        "posterior only",
    ):
        assert said in text, said
    if form != "txt":
        for said in (
            documents.SHA,
            "HS-grad",
            "county B",
            "2 to 7",
            "recon verify",
            "the order of rows does not matter",
            "leaf 3 without leaf 9",
            "releases/draft.json",
            "CMS cell size",
        ):
            assert said in text, said
        assert all(term in text for term, _ in GLOSSARY)


def test_the_parts_stand_in_order_and_what_is_not_there_is_left_out():
    assert [one.key for one in parts(documents.full())] == [
        "first",
        "policy",
        "leaks",
        "who",
        "adds",
        "helps",
        "words",
        "how",
        "glossary",
    ]
    assert [one.key for one in parts(documents.minimal())] == ["first", "leaks", "words", "how", "glossary"]


def test_rows_are_shown_only_where_they_were_asked_for():
    document = documents.full()
    for form in FORMATS.values():
        assert "Wernigerode" not in form(document)
    document["persons"]["most_exposed"][0]["row"] = {"town": "Wernigerode"}
    document["profiles"]["rows"][0]["profile_values"] = {"town": "Quedlinburg"}
    for form in (page, markdown_page):
        assert "town = Wernigerode" in form(document).replace("\\", "")
        assert "town = Quedlinburg" in form(document).replace("\\", "")


@pytest.mark.slow
def test_long_lists_fold_and_say_how_many_there_are():
    read = Read(page(documents.large()))
    assert "The other 975" in read.text
    assert len(read.of("details")) >= 1
    assert "975 more are in the page itself" in read.text
    document = documents.full() | {"exposed_in_all": 5000}
    assert "6 of 5,000 are listed." in Read(page(document)).text


def test_a_tree_of_1000_leaves_renders_fast_and_small():
    document = documents.large()
    page(documents.minimal())  # compiles the templates
    begun = time.process_time()
    text = page(document)
    assert time.process_time() - begun < 1.0
    assert len(text.encode()) < 1_500_000


def test_hostile_names_stay_text_on_the_page():
    text = page(documents.hostile())
    read, calm = Read(text), Read(page(documents.full()))
    assert {tag for tag, _ in read.found} <= {tag for tag, _ in calm.found}
    assert not [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c != "\n"]
    assert "<script>alert(1)</script>" in read.text
    assert "\\u202egnp.exe" in read.text
    assert "a" * 1000 not in text, "what is longer than anybody reads is cut, and how long it is is said"
    assert "(10,000 characters)" in read.text
    assert "{{ 7*7 }}{% raw %}" in read.text
    assert "49" not in read.text.replace("49 %", "")


def test_hostile_names_stay_text_in_markdown():
    text = markdown_page(documents.hostile())
    assert not [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c != "\n"]
    outside = re.sub(r"(`+) ?.*?\1", "", text)  # what stands between backticks is text
    assert not re.search(r"(?<!\\)<", outside)
    assert not re.search(r"(?<!\\)\]\(", outside)
    widths = None
    for line in text.split("\n"):
        cells = len(re.findall(r"(?<!\\)\|", line))
        if line.startswith("|"):
            widths = cells if widths is None else widths
            assert cells == widths, line
        else:
            widths = None
    assert not [line for line in text.split("\n") if re.match(r"#+ ", line) and "heading" in line]


@pytest.mark.parametrize("name", [one for one in EVERY if one != "hostile"])
def test_a_terminal_without_unicode_can_print_the_text(name):
    document = documents.EVERY[name]() | {"remedies": (documents.EVERY[name]().get("remedies") or [])[:4] or None}
    text_page(document).encode("ascii")


def test_hostile_names_start_no_line_of_text():
    text = text_page(documents.hostile())
    assert not [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c != "\n"]
    assert "two\\x0alines" in text
    calm = text_page(documents.full())
    assert abs(text.count("\n") - calm.count("\n")) <= 4, "a name adds no line; rows were asked for in one of them"


@pytest.mark.slow
@given(st.text(max_size=40))
def test_any_name_is_one_cell_everywhere(name):
    document = documents.minimal() | {
        "exposed": [{"name": name, "where": name, "rows": [1, 1], "class": name}],
        "exposed_in_all": 1,
    }
    read = Read(page(document))
    assert {tag for tag, _ in read.found} == {
        tag
        for tag, _ in Read(
            page(document | {"exposed": [document["exposed"][0] | {"name": "x", "where": "x", "class": "x"}]})
        ).found
    }
    (row,) = [line for line in markdown_page(document).split("\n") if line.startswith("|") and "| 1 |" in line]
    assert len(re.findall(r"(?<!\\)\|", row)) == 9
    assert "\r" not in text_page(document)
