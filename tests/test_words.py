"""Plain words: what the glossary gave up occurs in no page and no printed string (docs/glossary.md)."""

import ast
import functools
import inspect
import re
from pathlib import Path

import pytest
from sources import ROOT, SOURCES, nodes_of
from typer.main import get_command

import recon
from recon.cli.app import app

PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))])
LOST = {  # what is not written any more -> what is
    r"\bpin(s|ned)? (\w+ )?down\b": "fully known, fully reveals",
    r"\b(known wholly|wholly known)\b": "fully known",
    r"(?i)\b(giv(e|es|en|ing)|gave) (\w+ )?back\b": "reveal, reconstruct, return",
    r"(?i)\b(giv(e|es|en|ing)|gave) (\w+ ){0,2}away\b": "reveal, disclose",
    r"(?i)\bnoise (buys?|bought)\b": "what noise protects, and what it costs",
    r"\bto who (knows|has)\b": "to anyone who knows",
    r"\b(tell|tells|told|telling) (\w+ ){0,2}apart\b": "distinguish",
    r"\bboxes of mean width|mean width of what is left\b": "narrowed to ... % of their range",
    r"\bstands? (in|there|beside) ": "is in, is stored in, is beside",
    r"\bis no (yes|permission|verdict|guess|all-clear)\b": "is not a ...",
    r"\bso exposed\b": "as exposed",
    r"\bworst[- ]off\b": "most exposed",
    r"\b[Ww]hoever\b": "anyone who, an adversary who",
    r"(?:^|[.;] )Of [a-z0-9]": "a sentence with its subject first",
    r"\b([Ss]he|[Hh]ers?|[Hh]is|[Hh]im|[Hh]e)\b": "the person",
    r"\b(held|holds?) (\w+ ){0,3}against\b": "compare with, check against",
    r"\bthe policy our policy\b": "the policy",
}


def _printed(path):
    """Yield the texts of a module that are no docstrings, with their line; parts of formatted ones by themselves."""
    nodes = nodes_of(path)
    notes = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.lineno, node.value


def _prose(page):
    """Return a page with its examples, code and tables of lost words blanked, single line ends as blanks; same "
    "length."""
    text = page.read_text(encoding="utf-8")
    blanked = [r"^```.*?^```", r"`[^`\n]*`", *([r"^\|.*$"] if page.name == "glossary.md" else [])]
    for one in blanked:
        text = re.sub(
            one, lambda m: re.sub(r"[^\n]", "`", m[0]), text, flags=re.MULTILINE | re.DOTALL if "```" in one else re.M
        )
    return re.sub(r"(?<=[^\n])\n(?=[^\n|#>-])", " ", text)


def _shown():
    """Yield the docstrings that people read: of commands (`--help`) and of public names (the page of the interface)."""
    for path in SOURCES:
        if (ROOT / "recon" / "cli") in path.parents:
            defined = [node for node in nodes_of(path) if isinstance(node, ast.FunctionDef)]
            yield from ((path, ast.get_docstring(node) or "", node.lineno) for node in defined)
    for name in set(recon.__all__) - {"__version__"}:
        thing = getattr(recon, name)
        own = [one for key, one in vars(thing).items() if key[0] != "_"] if inspect.isclass(thing) else []
        for given in (thing, *own):
            one = getattr(given, "fget", given)
            if text := inspect.getdoc(one) if callable(one) else None:
                yield Path(inspect.getsourcefile(thing)), text, inspect.getsourcelines(thing)[1]


@functools.cache
def _texts():
    """Return everything that people read: (path, text, line of its first letter)."""
    pages = [(page, _prose(page), None) for page in PAGES]
    printed = [(path, text, line) for path in SOURCES for line, text in _printed(path) if " " in text]
    return pages + printed + [(path, re.sub(r"`[^`\n]*`", "`", text), line) for path, text, line in _shown()]


@pytest.mark.parametrize("pattern", LOST)
def test_no_page_and_no_printed_text_has_a_lost_word(pattern):
    lost, found = re.compile(pattern, re.MULTILINE), []
    for path, text, line in _texts():
        for hit in lost.finditer(text):
            at = line or path.read_text(encoding="utf-8").count("\n", 0, hit.start()) + 1
            found.append(f"{path.relative_to(ROOT)}:{at}: ...{text[max(0, hit.start() - 40) : hit.end() + 40]!r}")
    assert not found, f"write: {LOST[pattern]}\n" + "\n".join(found)


LONGEST = 45  # words of a sentence
FORMULAS = {"release-file": 65}  # pages whose sentences have formulas in them


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_sentence_of_a_page_is_so_long_that_it_is_read_twice(page):
    text = re.sub(r"^\|.*$", "", re.sub(r"(?s)<!--.*?-->", "", _prose(page)), flags=re.MULTILINE)
    for sentence in re.split(r"(?<=[.!?:])[)\"*]*\s+(?=[A-Z0-9\"*`\[(]|recon )|\n", text):
        assert len(sentence.split()) <= FORMULAS.get(page.stem, LONGEST) or not sentence.strip("` "), sentence


def test_a_lost_word_is_seen(tmp_path):
    """Formatted strings are read too, docstrings are not; of pages the prose, also over line ends, and no code."""
    module, page = tmp_path / "m.py", tmp_path / "p.md"
    module.write_text('"""Pinned down."""\nX = f"{1} people pinned down: {2}"\n', encoding="utf-8")
    page.write_text("```text\nwhoever\n```\nGiven\nback `whoever`.\n", encoding="utf-8")
    assert [text for _, text in _printed(module)] == [" people pinned down: "]
    assert "Given back `" in _prose(page)
    assert "whoever" not in _prose(page)


def _whole_texts():
    """Yield file, line and text of every string of the sources; what is filled in stands as X."""
    for path in SOURCES:
        nodes = nodes_of(path)
        named = {one.value for one in nodes if isinstance(one, ast.Expr)}  # docstrings are for developers
        left_out = named | {part for one in nodes if isinstance(one, ast.JoinedStr) for part in ast.walk(one)}
        for one in nodes:
            if isinstance(one, ast.JoinedStr):
                text = "".join(part.value if isinstance(part, ast.Constant) else "X" for part in one.values)
            elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one not in left_out:
                text = one.value
            else:
                continue
            yield path.relative_to(ROOT), one.lineno, text


def test_commands_in_messages_exist_with_their_options():
    """A command that a message names is one, and takes the options that stand behind it."""
    commands = get_command(app).commands
    tried = 0
    for path, line, text in _whole_texts():
        for found in re.finditer(r"\brecon ([a-z-]+)((?: (?:--[a-z-]+|[A-Z][\w.]*|[a-z_]+\.\w+|preset:\w+))*)", text):
            name, words = found.group(1), found.group(2).split()
            if name not in commands:
                assert not [word for word in words if word.startswith("--")], f"{path}:{line}: {found.group()}"
                continue
            known = {one for param in commands[name].params for one in param.opts}
            unknown = {word for word in words if word.startswith("--")} - known
            assert not unknown, f"{path}:{line}: {found.group()}: {unknown}"
            tried += 1
    assert tried > 60
