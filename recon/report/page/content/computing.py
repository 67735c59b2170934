"""How it was computed: files, conventions, the status of every number, engines, limits, certificates, assumptions."""

from __future__ import annotations

from recon.report.page.blocks import (
    Block,
    CommandList,
    Document,
    PagePart,
    PairBlock,
    Rows,
    SentenceBlock,
    TableBlock,
    command_of,
    name_of,
    sentence_of,
)
from recon.report.page.content.glossary import GLOSSARY
from recon.report.page.content.helping import helping, judging
from recon.report.page.content.leaking import leaking
from recon.report.page.content.people import added, who

LISTED = 200


def parts(document: Document) -> list[PagePart]:
    """Return the parts behind the first page, in the order in which they are read; what has nothing to say is left out.

    The findings in words and the glossary are among them.
    """
    found = [
        judging(document), leaking(document), who(document), added(document), helping(document), in_words(document),
        computed(document), glossary(),
    ]  # fmt: skip
    return [one for one in found if one is not None]


def in_words(document: Document) -> PagePart:
    """Return the sections of the report, as a terminal prints them."""
    blocks: list[Block] = [
        SentenceBlock(sentence_of(title, 160), [" " * line.startswith(" ") + sentence_of(line, 1000) for line in lines])
        for title, lines in document["sections"]
    ]
    return PagePart(
        "words", "The findings in words", "The same findings with all their figures, as a terminal prints them.", blocks
    )


def glossary() -> PagePart:
    """Return the words of the report."""
    return PagePart("glossary", "Glossary", "The words of this report in plain words.", [PairBlock("", list(GLOSSARY))])


def computed(document: Document) -> PagePart:
    """Return how the figures were computed."""
    how, made = document.get("how") or {}, document["made"]
    blocks: list[Block] = [files_table(document), PairBlock("The run", run_of(document, how))]
    if how.get("conventions"):
        blocks.append(
            PairBlock("Conventions", [(name_of(a, 60), sentence_of(b)) for a, b in how["conventions"][:LISTED]])
        )
    if how.get("numbers"):
        rows: Rows = [
            (name_of(what, 400), name_of(status, 60), name_of(engine, 60))
            for what, status, engine in how["numbers"][:LISTED]
        ]
        blocks.append(TableBlock("The status of every number", ("Number", "Status", "Engine"), rows))
    engines = how.get("engines") or []
    if engines:
        rows = [(name_of(engine, 60), sentence_of(said)) for engine, said in engines[:LISTED]]
        blocks.append(TableBlock("What each engine said", ("Engine", "What it said"), rows, wide=frozenset({1})))
    elif document.get("trail"):
        blocks.append(SentenceBlock("What each engine said", [sentence_of(one) for one in document["trail"][:LISTED]]))
    certificates = how.get("certificates") or []
    if certificates:
        rows = [(sentence_of(one["about"], 240), name_of(one.get("certificate"), 80)) for one in certificates[:LISTED]]
        blocks.append(
            TableBlock("Certificates: statements that can be checked again", ("Statement", "Certificate"), rows)
        )
        commands: dict[str, str] = {}
        for one in certificates[:LISTED]:
            if one.get("command"):
                commands.setdefault(command_of(one["command"]), sentence_of(one["about"], 120))
        if len(commands) == 1:
            commands = dict.fromkeys(commands, "RESULT.json is the result of this audit (recon audit --json --out).")
        if commands:
            blocks.append(CommandList("To check them again", [(about, command) for command, about in commands.items()]))
    if document.get("assumptions"):
        blocks.append(
            SentenceBlock("What all figures assume", [sentence_of(one) for one in document["assumptions"][:LISTED]])
        )
    for key, title in (("not_known", "What is not known, and why"), ("not_applicable", "What does not apply, and why")):
        said = document["facts"].get(key) or {}
        pairs = [(name_of(figure, 60).replace("_", " "), sentence_of(why)) for figure, why in sorted(said.items())]
        blocks += [PairBlock(title, pairs)] if pairs else []
    intro = f"By recon {name_of(made['recon'], 30)}: what was asked, what is exact, and how it can be checked again."
    return PagePart("how", "How it was computed", intro, blocks)


def files_table(document: Document) -> TableBlock:
    """Return the files with their hashes."""
    rows: Rows = [
        (name_of(one["file"], 160), name_of(one.get("sha256"), 64), name_of(one.get("kind"), 40).replace("_", " "),
         name_of(one.get("format"), 80))
        for one in document["audited"]["files"][:LISTED]
    ]  # fmt: skip
    return TableBlock("The files that were audited", ("File", "SHA-256", "Kind", "Format"), rows)


def run_of(document: Document, how: Document) -> list[tuple[str, str]]:
    """Return the facts of the run: command, date, versions, seed, limits, time."""
    made = document["made"]
    seconds = how.get("seconds") if how.get("seconds") is not None else made.get("seconds")
    given = {key: value for key, value in (how.get("limits") or {}).items() if value is not None}
    limits = ", ".join(limit_text(key, value) for key, value in given.items())
    pairs = [
        ("Command", made.get("command")), ("Date", made.get("date")), ("recon", made["recon"]),
        ("Python", made.get("python")), ("Convention", document.get("convention")),
        ("Status", document["facts"]["status"]), ("Seed", how.get("seed")), ("Limits", limits or None),
        ("Time", None if seconds is None else f"{seconds:,.1f} seconds"),
    ]  # fmt: skip
    return [(label, name_of(value, 300)) for label, value in pairs if value is not None]


def limit_text(key: str, value: object) -> str:
    """Return a limit for people: memory in megabytes, others as they are."""
    if key == "cut_short" and isinstance(value, list):
        return f"cut short by the clock: {', '.join(name_of(one, 60) for one in value[:LISTED])}"
    if key == "memory" and isinstance(value, int) and value >= 1 << 20:
        return f"memory {value >> 20:,} MB"
    number = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else name_of(value, 40)
    return f"{name_of(key, 30)} {number}"
