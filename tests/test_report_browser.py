"""The report page in a real browser: what an officer sees on a screen, on a telephone, in the dark and on paper.

Skipped where no chromium is installed; nothing is downloaded.
"""

from __future__ import annotations

import re
import shutil
import zlib
from pathlib import Path

import pytest
import report_documents as documents

from recon.report.page.renderers import page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed (chromium, google-chrome)")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MILLIMETRES = 96 / 25.4  # pixels of CSS in one
A4 = (210 - 2 * 15, 297 - 14 - 15)  # what the page's margins leave of a sheet
SIGHTS = [
    (name, width, scheme) for name in ("full", "hostile") for width in (1280, 400) for scheme in ("light", "dark")
]
SIGHTS += [("minimal", 400, "light"), ("stored", 1280, "dark"), ("large", 400, "light")]


@pytest.fixture(scope="module")
def browser():
    """Return the installed chromium; the browser that Playwright would bring is not needed."""
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the pages as files."""
    where = tmp_path_factory.mktemp("pages")
    for name, made in documents.EVERY.items():
        (where / f"{name}.html").write_text(page(made()), encoding="utf-8")
    return where


class Visit:
    """A page that was opened, with all that it asked of a network, said in the console, or popped up."""

    def __init__(self, browser, file: Path, width: int, scheme: str, media: str = "screen"):
        self.asked, self.said, self.alerts = list[str](), list[str](), list[str]()
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.on("request", lambda one: self.asked.append(one.url))
        self.page.on("console", lambda one: self.said.append(one.text))
        self.page.on("pageerror", lambda one: self.said.append(str(one)))
        self.page.on("dialog", lambda one: (self.alerts.append(one.message), one.dismiss()))
        self.page.emulate_media(media=media, color_scheme=scheme)
        self.page.goto(file.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


HIDDEN_FIGURES = """() => [...document.querySelectorAll('figure svg, table, .mark')]
    .filter(one => !one.closest('details:not([open])'))
    .filter(one => { const box = one.getBoundingClientRect(); return box.width < 20 || box.height < 10 })
    .map(one => one.outerHTML.slice(0, 80))"""
HEADINGS = (
    "() => [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(one => [Number(one.tagName[1]), one.innerText])"
)
ALLOWED = """() => [...new Set([...document.querySelectorAll('*')].map(one => one.tagName.toLowerCase()))]"""
CUT = """() => [...document.querySelectorAll('table, figure svg')]
    .filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 120))"""
SCROLLED = """() => [...document.querySelectorAll('.scroll, .chart-scroll')]
    .filter(one => getComputedStyle(one).overflowX !== 'visible').length"""
OUTSIDE = """() => [...document.querySelectorAll('main *')]
    .filter(one => !one.closest('.scroll, .chart-scroll, svg, .spoken, details'))
    .filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize(("name", "width", "scheme"), SIGHTS)
def test_a_page_is_whole_and_quiet(browser, folder, tmp_path, name, width, scheme):
    file = folder / f"{name}.html"
    with Visit(browser, file, width, scheme) as visit:
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.page.evaluate(OUTSIDE) == []
        assert visit.page.evaluate(HIDDEN_FIGURES) == []
        shot = visit.page.screenshot(path=tmp_path / "page.png", full_page=True)
        assert len(shot) > 10_000
        levels = [level for level, _ in visit.page.evaluate(HEADINGS)]
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip([0, *levels], levels, strict=False))
        assert visit.asked == [file.as_uri()], "a page fetches nothing"
        assert visit.said == []
        assert visit.alerts == []


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("full", 1280, "light"),
        ("full", 400, "dark"),
        ("no domain", 1280, "dark"),
        pytest.param("full", 1280, "dark", marks=pytest.mark.long),
        pytest.param("full", 400, "light", marks=pytest.mark.long),
        pytest.param("hostile", 1280, "light", marks=pytest.mark.long),
    ],
)
def test_a_page_is_accessible(browser, folder, name, width, scheme):
    """The rules of axe-core, contrast (WCAG AA) among them; incomplete ones are figures that it cannot judge."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    with Visit(browser, folder / f"{name}.html", width, scheme) as visit:
        found = axe.Axe().run(visit.page).response
        bad = [
            (one["id"], one["impact"], [node["html"][:150] for node in one["nodes"][:3]]) for one in found["violations"]
        ]
        assert bad == []
        assert "color-contrast" in {one["id"] for one in found["passes"]}


@pytest.mark.parametrize("verdict", ["release", "release with changes", "do not release", "not assessed"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_verdict_can_be_read(browser, tmp_path, verdict, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    file = tmp_path / "page.html"
    file.write_text(page(documents.full() | {"assessment": documents.assessed(verdict)}), encoding="utf-8")
    with Visit(browser, file, 1280, scheme) as visit:
        assert visit.page.inner_text("#verdict") == verdict.capitalize()
        assert visit.page.locator(".verdict .mark path").count() >= 1, "a colour is never alone"
        found = axe.Axe().run(visit.page, context=".first", options={"runOnly": ["color-contrast"]}).response
        assert [one["id"] for one in found["violations"]] == []
        assert [one["id"] for one in found["passes"]] == ["color-contrast"]


def test_what_hostile_names_say_stays_text(browser, folder):
    with Visit(browser, folder / "full.html", 1280, "light") as visit:
        known = set(visit.page.evaluate(ALLOWED))
    with Visit(browser, folder / "hostile.html", 1280, "light") as visit:
        assert set(visit.page.evaluate(ALLOWED)) <= known | {"i"}
        assert (
            visit.page.evaluate("document.querySelectorAll('script, img, iframe, object, form, input, b').length") == 0
        )
        assert visit.page.evaluate("document.querySelectorAll('a:not([href^=\"#\"])').length") == 0
        attributes = visit.page.evaluate("[...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())")
        assert not [one for one in attributes if one.startswith("on")]
        text = visit.page.inner_text("body")
        assert "<script>alert(1)</script>" in text, "inert, and readable"
        assert "\\u202e" in text
        assert "\u202e" not in text
        assert visit.alerts == []


def test_a_script_would_not_run_even_if_it_got_in(browser, tmp_path):
    file = tmp_path / "page.html"
    forged = page(documents.full()).replace(
        "</main>", "<script>document.title = 'forged'</script><img src='x.png'></main>"
    )
    file.write_text(forged, encoding="utf-8")
    with Visit(browser, file, 1280, "light") as visit:
        assert visit.page.title() == "Audit of adult_tree.json"
        assert any(
            "Content Security Policy" in line or "content security policy" in line.lower() for line in visit.said
        )


def test_a_table_can_be_scrolled_with_keys(browser, folder):
    with Visit(browser, folder / "full.html", 400, "light") as visit:
        boxes = visit.page.locator(".scroll[tabindex='0']")
        assert boxes.count() > 5
        box = boxes.first
        box.focus()
        assert box.evaluate("one => one === document.activeElement")
        wide = [one for one in boxes.all() if one.evaluate("one => one.scrollWidth > one.clientWidth")]
        assert wide, "at 400 pixels some table is wider than the page"
        wide[0].focus()
        for _ in range(5):
            visit.page.keyboard.press("ArrowRight")
        visit.page.wait_for_function("one => one.scrollLeft > 0", arg=wide[0].element_handle(), timeout=5000)


def pages_of(pdf: bytes) -> int:
    """Return how many pages a PDF has."""
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def text_of(pdf: bytes) -> str:
    """Return the text of a PDF: glyphs of its content streams by the ToUnicode tables of its fonts, in order.

    Source: ISO 32000-1:2008, 9.10 (extraction of text content).
    """
    objects = {int(k): body for k, body in re.findall(rb"(?m)^(\d+) 0 obj\s(.*?)endobj", pdf, re.DOTALL)}

    def stream(body: bytes) -> bytes:
        data = body.partition(b"stream")[2].lstrip(b"\r\n").rpartition(b"endstream")[0]
        return zlib.decompressobj().decompress(data) if b"/FlateDecode" in body else data

    fonts = {}
    for key, body in objects.items():
        if found := re.search(rb"/ToUnicode (\d+) 0 R", body):
            fonts[key] = letters_of(stream(objects[int(found[1])]))
    named = {
        name: fonts[int(key)]
        for body in objects.values()
        for name, key in re.findall(rb"/(F\d+) (\d+) 0 R", body)
        if int(key) in fonts
    }
    out = []
    for body in objects.values():
        if b"/Type /Page\n" not in body and not re.search(rb"/Type\s*/Page\b(?!s)", body):
            continue
        content = stream(objects[int(re.search(rb"/Contents (\d+) 0 R", body)[1])])
        letters: dict[int, str] = {}
        for font, codes in re.findall(rb"/(F\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)>", content):
            if font:
                letters = named[font]
            else:
                out += [letters.get(int(codes[k : k + 4], 16), "") for k in range(0, len(codes), 4)]
    return "".join(out)


def letters_of(table: bytes) -> dict[int, str]:
    """Return what a ToUnicode table says of every glyph."""
    out = {}
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", table, re.DOTALL):
        for code, text in re.findall(rb"<(\w+)>\s*<(\w+)>", block):
            out[int(code, 16)] = bytes.fromhex(text.decode()).decode("utf-16-be")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", table, re.DOTALL):
        for first, last, text in re.findall(rb"<(\w+)>\s*<(\w+)>\s*<(\w+)>", block):
            start = int(text, 16)
            out |= {code: chr(start + k) for k, code in enumerate(range(int(first, 16), int(last, 16) + 1))}
    return out


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_sheet_can_be_signed(browser, folder, scheme):
    with Visit(browser, folder / "full.html", 1280, scheme, "print") as visit:
        whole = visit.page.pdf(prefer_css_page_size=True)
        first = visit.page.pdf(prefer_css_page_size=True, page_ranges="1")
    assert pages_of(whole) > 3
    assert pages_of(first) == 1
    size = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", first)
    assert [round(float(one) / 72 * 25.4) for one in size.groups()] == [210, 297]
    text = re.sub(r"\s", "", text_of(first))
    for said in (
        "Release with changes",
        "People fully known",
        "Bits left per person",
        "7.90",
        "of 13.40 before",
        "Smallest group",
        "What to do",
        "recon remedy",
        documents.SHA,
        "Decision",
        "Do not release",
        "Name",
        "Role",
        "Date",
        "Signature",
    ):
        assert said.replace(" ", "") in text, said
    assert "Glossary" not in text


@pytest.mark.parametrize("name", list(documents.EVERY))
def test_the_first_page_fits_one_sheet(browser, folder, name):
    with Visit(browser, folder / f"{name}.html", round(A4[0] * MILLIMETRES), "light", "print") as visit:
        tall = visit.page.evaluate("document.querySelector('.first').getBoundingClientRect().height") / MILLIMETRES
        assert tall <= A4[1]
        assert visit.page.evaluate(CUT) == [], "nothing is cut off on paper"
        assert visit.page.evaluate(SCROLLED) == 0


def test_paper_is_white_whatever_the_screen_is(browser, folder):
    with Visit(browser, folder / "full.html", 800, "dark", "print") as visit:
        assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert visit.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')") == "#1b1f24"
    with Visit(browser, folder / "full.html", 800, "dark") as visit:
        assert visit.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')") == "#e8eaed"
