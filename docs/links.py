"""A hook of mkdocs: README.md becomes a page, and links to files that are not pages become the files' names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
OVERVIEW = "overview.md"
PICTURE = re.compile(r"(!\[[^\]]*\]\()docs/")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Return the pages with README.md among them, whose links lead to pages beside it."""
    files.append(File.generated(config, OVERVIEW, content=(ROOT / "README.md").read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page with links that lead to pages of the site, or to nothing."""
    here = ROOT if page.file.src_uri == OVERVIEW else ROOT / "docs"

    def led(found: re.Match[str]) -> str:
        text, link = found.groups()
        target, hash_, part = link.partition("#")
        if "://" in target or not target:
            return found.group()
        file = (here / target).resolve()
        if file == ROOT / "README.md":
            return f"[{text}]({OVERVIEW}{hash_}{part})"
        if file.parent == ROOT / "docs" or not file.exists():
            return f"[{text}]({file.name}{hash_}{part})" if here == ROOT else found.group()
        name = str(file.relative_to(ROOT))
        return text if name in text else f"{text} (`{name}`)"

    return LINK.sub(led, PICTURE.sub(r"\1", markdown) if here == ROOT else markdown)
