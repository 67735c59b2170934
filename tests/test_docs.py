"""What sources cite of the documentation exists, and links between its pages lead somewhere."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = {page.name: page for page in (ROOT / "docs").glob("*.md")}
SOURCES = [
    path for folder in ("solvers", "encoders", "recon", "tests", "examples") for path in (ROOT / folder).rglob("*.py")
]
CITED = re.compile(r"docs/([\w-]+\.md)(?:, (\"[^\"]+\"(?: and \"[^\"]+\")*))?")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def headings(page: Path) -> list[str]:
    """Return the headings of a page as they are written."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")]


def anchor(heading: str) -> str:
    """Return the address that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.slow
def test_cited_pages_and_headings_exist():
    cited = 0
    for path in SOURCES:
        text = re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text(encoding="utf-8"))
        for page, quoted in CITED.findall(text):
            if path == Path(__file__):
                continue
            assert page in PAGES, f"{path}: docs/{page}"
            for heading in re.findall(r"\"([^\"]+)\"", quoted):
                assert any(h.startswith(heading) for h in headings(PAGES[page])), f"{path}: docs/{page}, {heading}"
                cited += 1
    assert cited > 30


@pytest.mark.slow
def test_nothing_outside_the_repository_is_cited():
    private = re.compile(r"\b(?:design|house|habits)\.md|\bbriefs/")
    for path in (*SOURCES, *PAGES.values(), ROOT / "README.md", ROOT / "pyproject.toml", ROOT / "Makefile"):
        if path != Path(__file__):
            assert not private.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES.values()], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        target, _, part = link.partition("#")
        if "://" in target:
            continue
        file = page if not target else (page.parent / target)
        assert file.exists(), link
        if part:
            assert part in [anchor(heading) for heading in headings(file)], link


def test_every_option_of_every_command_is_named_on_a_page():
    """A page that names the command names the option, or it is in the table of those that many commands take."""
    import typer.main

    from recon.cli.app import app

    pages = [path.read_text("utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    shared = (ROOT / "docs" / "commands.md").read_text("utf-8")
    shared = shared.partition("Options that many commands take")[2].partition("\n\n`")[0]

    def named(word, text):
        return re.search(rf"{re.escape(word)}(?![\w-])", text)

    stack, missing, options = [("recon", typer.main.get_command(app))], [], 0
    while stack:
        command, one = stack.pop()
        stack += [(f"{command} {name}", other) for name, other in getattr(one, "commands", {}).items()]
        own = "\n".join(page for page in pages if named(command, page))
        for part in (part for part in one.params if not getattr(part, "hidden", True)):
            for name in (name for name in [*part.opts, *part.secondary_opts] if name.startswith("--")):
                options += 1
                if not named(name, shared) and not named(name, own):
                    missing.append(f"{command} {name}")
    assert options > 800
    assert sorted(missing) == []


def test_every_public_name_is_in_a_group_of_the_page_of_the_interface():
    """A name in no group fails the build of the site, which slow tests alone make."""
    found = importlib.util.spec_from_file_location("links", ROOT / "docs" / "links.py")
    links = importlib.util.module_from_spec(found)
    found.loader.exec_module(links)
    assert "::: recon.audit" in links.reference()


PATH = re.compile(r"`(?:python )?((?:recon|encoders|solvers|tests|examples|docs)/[\w./-]+)`")
DOTTED = re.compile(r"`((?:recon|encoders|solvers)(?:\.\w+)+)`")


def is_there(dotted):
    """Return whether a module is there, and names behind it stand in its text."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:n])
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.exists():
                text = file.read_text(encoding="utf-8")
                return all(re.search(rf"\b{name}\b", text) for name in parts[n:])
        if base.is_dir():
            return n == len(parts)
    return False


def test_files_and_names_that_pages_and_docstrings_name_are_there():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES.values()]
    named = [(page.name, path) for page in pages for path in PATH.findall(page.read_text(encoding="utf-8"))]
    named = [(page, path) for page, path in named if "NAME" not in path and "KIND" not in path]
    assert len(named) > 100
    assert [(page, path) for page, path in named if not (ROOT / path).exists()] == []
    texts = [
        (path.name, one) for path in (*pages, *SOURCES) for one in DOTTED.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(texts) > 200
    assert [(path, one) for path, one in texts if not is_there(one)] == []
