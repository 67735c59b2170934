"""Draws the mermaid blocks of the pages once, as SVG files in docs/figures, so that the site needs no script for them.

`npm pack mermaid && tar xzf mermaid-*.tgz package/dist/mermaid.min.js`, then `python docs/drawn.py mermaid.min.js`: it
opens an installed chromium. A drawing is named by its page and its place, and holds the SHA-256 of its source, which
`tests/test_site.py` compares with the page. GitHub draws the blocks itself.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def drawings() -> Iterator[tuple[Path, Path, str]]:
    """Yield the page, the file and the source of every drawing."""
    for page in sorted(DOCS.glob("*.md")):
        for at, found in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1):
            yield page, DOCS / "figures" / f"{page.stem}-{at}.svg", found


def mark(source: str) -> str:
    """Return the comment that says of which source a drawing is."""
    return f"<!-- sha256 {hashlib.sha256(source.encode()).hexdigest()} -->"


def main(script: str) -> None:
    """Draw all blocks with this file of mermaid."""
    from playwright.sync_api import sync_playwright

    settings = (
        '{startOnLoad: false, theme: "neutral", htmlLabels: false, deterministicIds: true, fontFamily: "sans-serif", '
        "flowchart: {useMaxWidth: false}}"
    )
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.add_script_tag(path=script)
        page.evaluate(f"mermaid.initialize({settings})")
        for _, path, source in drawings():
            svg = page.evaluate("async s => (await mermaid.render('drawing', s)).svg", source)
            path.write_text(f"{svg}\n{mark(source)}\n", encoding="utf-8")
            print(path)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
