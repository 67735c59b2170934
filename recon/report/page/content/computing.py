"""How it was computed: files, conventions, the status of every number, engines, limits, certificates, assumptions.

The words of a report in plain words.

Where a release leaks: groups by exposure, the model drawn, attributes, what is forced, suppressed cells.
"""

from __future__ import annotations

from recon.report.charts.curve import attribute_bars, exposure_curve
from recon.report.charts.intervals import interval_bars
from recon.report.charts.trees import model_drawing
from recon.report.page.blocks import (
    NOT_KNOWN,
    WHERE,
    Block,
    ChartBlock,
    CommandList,
    Document,
    PagePart,
    PairBlock,
    Rows,
    SentenceBlock,
    TableBlock,
    amount,
    bits,
    command_of,
    more_of,
    name_of,
    percent,
    possible_rows,
    rows_of,
    sentence_of,
)
from recon.report.page.content.people import added_part, who
from recon.report.page.content.remedies import helping, judging

LEAKING_LISTED = 1000  # rows of one table


def _leaking(document: Document) -> PagePart:
    """Return the part on where it leaks; empty lists leave their table out."""
    blocks: list[Block] = []
    exposed = document.get("exposed") or []
    if exposed:
        blocks.append(_exposed_table(document))
    elif document["facts"].get("groups"):
        blocks.append(_groups_table(document))
    drawing = document.get("drawing")
    if drawing and (svg := model_drawing(drawing)):
        what = "The tree" if drawing["kind"] == "tree" else "The rules in their order"
        note = sentence_of(drawing.get("note") or "", WHERE)
        text = f"{what}, with exposure as colour: the stronger the colour, the fewer bits are left. {note}"
        blocks.append(ChartBlock("The model and where it is exposed", svg, text.strip()))
    curve = document.get("curve") or []
    if len(curve) > 1 and (svg := exposure_curve(curve)):
        blocks.append(ChartBlock("How exposure is spread over people", svg, _curve_in_words(curve), told=True))
    blocks += _attributes(document)
    blocks += _forced_blocks(document)
    blocks += _cells(document)
    blocks += _one_class(document)
    intro = "Groups with the fewest bits left come first, and of these the smallest. "
    intro += "Possible rows: how many different rows each of the people in a group could have."
    if not blocks:
        intro = "Nothing was found that could be listed here: see The findings in words."
    return PagePart("leaks", "Where it leaks", intro, blocks)


def _exposed_table(document: Document) -> TableBlock:
    """Return the groups, the most exposed first."""
    groups = document["exposed"][:LEAKING_LISTED]
    classes = any(one.get("class") is not None for one in groups)
    head = ("Group", "Where", *(["Class"] if classes else []), "Rows", "Possible rows", "Bits left", "Share left",
            "People with as little left")  # fmt: skip
    rows: Rows = [
        (
            name_of(one["name"]),
            name_of(one.get("where"), WHERE),
            *([name_of(one.get("class"), 40)] if classes else []),
            rows_of(one["rows"]),
            possible_rows(one.get("worlds_per_row")),
            bits(one.get("bits_left")),
            percent(one.get("share_left")),
            percent(one.get("share_of_rows_at_most"), 1),
        )
        for one in groups
    ]
    in_all = document.get("exposed_in_all")
    first = 3 if classes else 2
    return TableBlock(
        "Groups by exposure", head, rows, frozenset(range(first, len(head))), frozenset({1}), more_of(len(rows), in_all)
    )


def _groups_table(document: Document) -> TableBlock:
    """Return the groups, the smallest first, where exposure was not worked out."""
    groups = document["facts"]["groups"][:LEAKING_LISTED]
    rows: Rows = [(name_of(one["name"]), name_of(one.get("where"), WHERE), rows_of(one["rows"])) for one in groups]
    more = more_of(len(rows), document["facts"].get("groups_in_all"))
    return TableBlock(
        "Groups, the smallest first", ("Group", "Where", "Rows"), rows, frozenset({2}), frozenset({1}), more
    )


def _curve_in_words(curve: list[list[float]]) -> str:
    """Return what the curve says at the points that people ask for."""
    said = []
    for bound in (0.1, 0.25, 0.5):
        reached = max((share for left, share in curve if left <= bound + 1e-12), default=0.0)
        said.append(f"{percent(reached)} have {percent(bound)} or less of their bits left")
    return f"Of the people in the data, {'; '.join(said)}."


def _attributes(document: Document) -> list[Block]:
    """Return what is revealed of each attribute, drawn and as a table."""
    found = document.get("attribute_bits") or []
    if not found:
        return []
    notes = any(one.get("why") for one in found)
    rows: Rows = [
        (
            name_of(one["name"]),
            bits(one.get("bits_before")),
            f"{'at least ' if one.get('is') == 'at least' else ''}{bits(one.get('bits_revealed'))}",
            percent(one.get("share")),
            NOT_KNOWN if one.get("forced_rows") is None else amount(one["forced_rows"]),
            *([sentence_of(one.get("why") or "-", 160)] if notes else []),
        )
        for one in found[:LEAKING_LISTED]
    ]
    head = ("Attribute", "Bits before", "Bits revealed", "Share revealed", "People whose value is certain",
            *(["Note"] if notes else []))  # fmt: skip
    more = more_of(len(rows), len(found))
    table = TableBlock(
        "Attributes by bits revealed per person", head, rows, frozenset(range(1, 5)), frozenset({5}), more
    )
    sized = [one for one in found if one.get("bits_revealed") is None or one.get("bits_before") is not None]
    svg = attribute_bars(sized)
    text = "Attributes by bits revealed, per person on average; the figures are in the table below."
    return [ChartBlock("What is revealed of each attribute", svg, text), table] if svg else [table]


def _forced_blocks(document: Document) -> list[Block]:
    """Return the rows and values that are certain in every possible world."""
    found, out = document.get("forced") or {}, list[Block]()
    if found.get("rows"):
        rows: Rows = [(name_of(one["where"], WHERE), amount(one["rows"])) for one in found["rows"][:LEAKING_LISTED]]
        more = more_of(len(rows), found.get("rows_in_all"))
        out.append(TableBlock("Rows known completely", ("Row", "People"), rows, frozenset({1}), frozenset({0}), more))
    if found.get("values"):
        rows = [
            (name_of(one["group"]), name_of(one["attribute"]), name_of(one["value"]), amount(one["rows"]))
            for one in found["values"][:LEAKING_LISTED]
        ]
        head, more = ("Group", "Attribute", "Value", "People"), more_of(len(rows), found.get("values_in_all"))
        out.append(TableBlock("Values that everybody in a group has", head, rows, frozenset({3}), more=more))
    return out


def _cells(document: Document) -> list[Block]:
    """Return the suppressed and interval cells, drawn and as a table, the narrowest first."""
    found = sorted(document.get("interval_cells") or [], key=lambda one: one["feasible"][1] - one["feasible"][0])
    if not found:
        return []
    rows: Rows = [
        (name_of(one["name"], 160), _published(one), _feasible(one), "yes" if one.get("recovered") else "no")
        for one in found[:LEAKING_LISTED]
    ]
    left_out = document.get("interval_cells_left_out") or 0
    more = more_of(len(rows), len(found) + left_out)
    head = ("Cell", "Published", "Can still be", "Recovered")
    table = TableBlock("Cells without an exact count", head, rows, frozenset(), frozenset({0}), more)
    svg = interval_bars(found)
    text = "What was published of each cell, and what is left of it; one count left means that it is recovered."
    return [ChartBlock("Suppressed cells and what they can still be", svg, text), table] if svg else [table]


def _published(cell: Document) -> str:
    """Return what was published of a cell without an exact count."""
    least, most = cell["published"]
    if least is None and most is None:
        return f"nothing ({name_of(cell['suppressed'], 20)})" if cell.get("suppressed") else "nothing"
    return rows_of((least or 0, most))


def _feasible(cell: Document) -> str:
    """Return what a cell can still be; outer bounds are called so."""
    least, most = cell["feasible"]
    text = rows_of((least, most))
    return text if cell.get("tight") or least == most else f"{text} (perhaps narrower)"


def _one_class(document: Document) -> list[Block]:
    """Return the groups whose rows are all of one class."""
    found = document["facts"].get("class_disclosure") or {}
    groups = found.get("groups") or []
    if not groups:
        return []
    rows: Rows = [
        (name_of(one["name"]), name_of(one.get("class"), 60), rows_of(one["rows"])) for one in groups[:LEAKING_LISTED]
    ]
    more = more_of(len(rows), found.get("groups_in_all"))
    caption = "Groups of one class only: who is known to be in one has that class"
    return [TableBlock(caption, ("Group", "Class", "Rows"), rows, frozenset({2}), more=more)]


GLOSSARY: tuple[tuple[str, str], ...] = (
    ("Possible world",
     "A training set that agrees with everything the file says. The real one is among them; whoever has the file "
     "cannot tell which it is. The fewer there are, the more the file gives away."),
    ("Bit",
     "One yes-or-no question. 10 bits left about a person: to find the row takes ten such questions, as among about "
     "1,000 equally likely rows. 0 bits left: nothing has to be asked, the row is known."),
    ("Bits before, bits left",
     "Before: what is open about a person if nothing but the list of attributes and their values is known. Left: what "
     "is still open for somebody who has the file. Per person they are a mean over the whole data, the order of rows "
     "not counted; of a single group they are about one person in it, and can be more."),
    ("Pinned down exactly",
     "Every attribute of this person has one value in all possible worlds. That row of the training data is known, "
     "though not by name: whoever knows some of its values has the others."),
    ("Group",
     "The rows that end in the same leaf of a tree, are caught by the same rule of a list, or are counted in the same "
     "cell of a table."),
    ("Smallest group",
     "The fewest rows that a group holds. A group of one row is one person. Rules on smallest groups (often 10 or 11 "
     "rows) are the oldest protection of official statistics."),
    ("Class disclosure",
     "A group whose rows all have the same outcome. Whoever knows that somebody is in the group knows the outcome "
     "without knowing which row it is."),
    ("Target disclosure",
     "A number about one person (an income, a dose) that a mean, a total or a median gives away exactly."),
    ("Forced value",
     "A value that everybody in a group has, in every possible world."),
    ("Suppressed cell",
     "A count that was left out or given as a range. Sums of other counts can narrow it down; recovered means that one "
     "count is left."),
    ("Dist_G",
     "The share of the bits that is left, over the whole training set: 1 means that the file says nothing about the "
     "rows, 0 that it gives all of them away. 0.37: of what could be open about the data, 37 % still is."),
    ("Convention",
     "What counts as a different training set. Multiset: the order of rows does not matter. Ordered: it does. "
     "Assigned: rows in order, with the group of each known. Compare figures of one convention only; cite multiset "
     "where nobody can tell rows apart by position."),
    ("At least, at most",
     "A bound that was proved. The true figure is not known exactly, but it is on that side for certain."),
    ("Certain, possible, impossible",
     "Of a given person. Certain: somebody with exactly these values is in the training data, in every possible world. "
     "Impossible: in none. Possible: in some. Outside: a value is none that the attributes allow."),
    ("Certificate",
     "A proof of a statement that a small, separate program checks again. It does not have to trust what searched."),
    ("Confidence",
     "Of noisy counts. At confidence 0.95, the figures hold unless the noise was among the 5 % largest."),
    ("Kind of counts",
     "Exact counts say how many rows there are. Weighted, resampled or noisy ones say less, in ways that the report "
     "names."),
    ("Inconclusive",
     "The audit ended, for want of time or memory, before this was settled. That is not a yes."),
)  # fmt: skip


LISTED = 200


def parts(document: Document) -> list[PagePart]:
    """Return the parts behind the first page, in the order in which they are read; what has nothing to say is left out.

    The findings in words and the glossary are among them.
    """
    found = [
        judging(document), _leaking(document), who(document), added_part(document), helping(document),
        _in_words(document),
        _computation_part(document), _glossary(),
    ]  # fmt: skip
    return [one for one in found if one is not None]


def _in_words(document: Document) -> PagePart:
    """Return the sections of the report, as a terminal prints them."""
    blocks: list[Block] = [
        SentenceBlock(sentence_of(title, 160), [" " * line.startswith(" ") + sentence_of(line, 1000) for line in lines])
        for title, lines in document["sections"]
    ]
    return PagePart(
        "words", "The findings in words", "The same findings with all their figures, as a terminal prints them.", blocks
    )


def _glossary() -> PagePart:
    """Return the words of the report."""
    return PagePart("glossary", "Glossary", "The words of this report in plain words.", [PairBlock("", list(GLOSSARY))])


def _computation_part(document: Document) -> PagePart:
    """Return how the figures were computed."""
    how, made = document.get("how") or {}, document["made"]
    blocks: list[Block] = [_files_table(document), PairBlock("The run", _run_of(document, how))]
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


def _files_table(document: Document) -> TableBlock:
    """Return the files with their hashes."""
    rows: Rows = [
        (name_of(one["file"], 160), name_of(one.get("sha256"), 64), name_of(one.get("kind"), 40).replace("_", " "),
         name_of(one.get("format"), 80))
        for one in document["audited"]["files"][:LISTED]
    ]  # fmt: skip
    return TableBlock("The files that were audited", ("File", "SHA-256", "Kind", "Format"), rows)


def _run_of(document: Document, how: Document) -> list[tuple[str, str]]:
    """Return the facts of the run: command, date, versions, seed, limits, time."""
    made = document["made"]
    seconds = how.get("seconds") if how.get("seconds") is not None else made.get("seconds")
    given = {key: value for key, value in (how.get("limits") or {}).items() if value is not None}
    limits = ", ".join(_limit_text(key, value) for key, value in given.items())
    pairs = [
        ("Command", made.get("command")), ("Date", made.get("date")), ("recon", made["recon"]),
        ("Python", made.get("python")), ("Convention", document.get("convention")),
        ("Status", document["facts"]["status"]), ("Seed", how.get("seed")), ("Limits", limits or None),
        ("Time", None if seconds is None else f"{seconds:,.1f} seconds"),
    ]  # fmt: skip
    return [(label, name_of(value, 300)) for label, value in pairs if value is not None]


def _limit_text(key: str, value: object) -> str:
    """Return a limit for people: memory in megabytes, others as they are."""
    if key == "cut_short" and isinstance(value, list):
        return f"cut short by the clock: {', '.join(name_of(one, 60) for one in value[:LISTED])}"
    if key == "memory" and isinstance(value, int) and value >= 1 << 20:
        return f"memory {value >> 20:,} MB"
    number = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else name_of(value, 40)
    return f"{name_of(key, 30)} {number}"
