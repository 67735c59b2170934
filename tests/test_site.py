"""The documentation as a site: it builds without a warning, needs no network, and a browser finds what is in it."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest
from extras import extra

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
ELSEWHERE = re.compile(r"^(?:https?:)?//")


class Loaded(HTMLParser):
    """What a page loads, its headings of the first level, and the text of its styles."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.loads, self.headings, self.styles, self.inside, self.diagrams = [], 0, [], "", 0

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag not in {"a", "base"}:
            self.loads += [
                named[key] for key in ("src", "href", "srcset", "data", "poster", "xlink:href") if named.get(key)
            ]
        self.headings += tag == "h1"
        self.diagrams += "mermaid" in (named.get("class") or "").split()  # the theme fetches a script for these
        self.styles.append(named.get("style") or "")
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "style":
            self.styles.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the site, built as `make docs` builds it, without a network."""
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(
        ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not re.search(r"^(?:WARNING|ERROR)", done.stderr, re.MULTILINE), done.stderr
    return folder


def read(page):
    loaded = Loaded()
    loaded.feed(page.read_text(encoding="utf-8"))
    return loaded


@pytest.mark.slow
def test_every_page_is_there_with_one_heading(site):
    built = {page.stem for page in site.glob("*.html")}
    assert built == {page.stem for page in DOCS.glob("*.md")} | {"overview", "api", "404"}
    for page in site.glob("*.html"):
        assert page.stem == "404" or read(page).headings == 1, page.name


@pytest.mark.slow
def test_no_page_loads_anything_from_another_host(site):
    pages = sorted(site.rglob("*.html"))
    loads = [(page.name, link) for page in pages for link in read(page).loads]
    assert len(loads) > 5 * len(pages)
    assert [one for one in loads if ELSEWHERE.match(one[1])] == []
    assert not any(read(page).diagrams for page in pages)
    styles = [sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css")]
    styles += [style for page in pages for style in read(page).styles]
    for style in styles:
        assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", style)


@pytest.mark.slow
def test_what_pages_load_is_in_the_site(site):
    for page in site.glob("*.html"):
        for link in read(page).loads:
            if page.stem != "404" and not link.startswith(("data:", "#")):
                assert (page.parent / link.partition("#")[0].partition("?")[0]).exists(), (page.name, link)


@pytest.mark.slow
def test_the_search_knows_the_pages(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {page.name for page in site.glob("*.html")} - {"404.html"} <= found | {"index.html"}


def test_drawings_are_those_of_their_pages():
    """Drawn anew by docs/drawn.py where a page changes its source."""
    sys.path.insert(0, str(DOCS))
    try:
        from drawn import drawings, mark
    finally:
        sys.path.remove(str(DOCS))
    found = list(drawings())
    assert len(found) >= 5
    for page, path, source in found:
        assert mark(source) in path.read_text(encoding="utf-8"), f"{page.name}: python docs/drawn.py mermaid.min.js"


def test_make_docs_builds_it_and_git_leaves_it_out():
    assert "mkdocs build --strict" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "site/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


class Silent(http.server.SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, *_):
        return


@pytest.fixture
def address(site):
    """Return the address of a server of the site on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_a_browser_reads_searches_and_darkens_the_site(address, site):
    """From a server, and from the folder alone: every page fits both widths, and the search finds a word."""
    playwright = extra("playwright.sync_api")
    asked, wrong = [], []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, headless=True, chromium_sandbox=False, args=QUIET)
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            for width in (400, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                for name in sorted(one.name for one in site.glob("*.html") if one.stem != "404"):
                    page.goto((site / name).as_uri())
                    assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            page.goto(f"{address}/index.html")
            assert page.locator("body").get_attribute("data-md-color-scheme") == "default"
            page.locator("label[for=__palette_1]").click()
            assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
            for start in (f"{address}/index.html", (site / "index.html").as_uri()):
                page.goto(start)
                page.locator("input[name=query]").click()
                page.locator("input[name=query]").press_sequentially("suppression")
                page.locator("a.md-search-result__link[href*='tables.html']").first.wait_for(timeout=20_000)
        finally:
            browser.close()
    assert wrong == []
    assert {url for url in asked if not url.startswith((address, site.as_uri(), "data:", "blob:"))} == set()
