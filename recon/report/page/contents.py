"""What a report holds, part by part, in which order: on a page and in a text.

Where a release leaks: groups by exposure, the model drawn, attributes, what is forced, suppressed cells.

Who: given people, rows of the training data, groups of a protected attribute; what earlier releases add.

How it was computed: files, conventions, the status of every number, engines, limits, certificates, assumptions.

The words of a report in plain words.
"""

from __future__ import annotations

from recon.release.auditing.beside import adversary_rows
from recon.release.auditing.persons.wording import widest_gap
from recon.release.policies.facts import FOR_POLICIES
from recon.report.charts.curve import attribute_bars, exposure_curve
from recon.report.charts.intervals import interval_bars
from recon.report.page.advice import helping, judging
from recon.report.page.blocks import (
    GROUP,
    LISTED,
    NOT_KNOWN,
    PLACE,
    ROWS,
    WHERE,
    Block,
    ChartBlock,
    Column,
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
    figure_column,
    name_of,
    percent,
    possible_rows,
    rows_of,
    sentence_of,
    span_of,
    table,
    text_column,
    whole_text,
)
from recon.report.page.first_page import first_part


def _leaking(document: Document) -> PagePart:
    """Return the part on where it leaks; empty lists leave their table out."""
    from recon.report.charts.trees import model_drawing

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
    intro = (
        "Groups of one person come first, then those with the fewest bits left, the smallest first. Possible rows: how "
    )
    intro += "many different rows a person in the group could have. Bits left: the same, as on the first page."
    if not blocks:
        intro = "Nothing was found that could be listed here: see The findings in words."
    return PagePart("leaks", "Where it leaks", intro, blocks)


def _exposed_table(document: Document) -> TableBlock:
    """Return the groups, the most exposed first."""
    groups = document["exposed"]
    columns = [
        GROUP, PLACE,
        text_column("Class", "class", 40, shown=any(one.get("class") is not None for one in groups[:LISTED])),
        ROWS,
        figure_column("Possible rows", "worlds_per_row", possible_rows),
        figure_column("Bits left", "bits_left", bits),
        figure_column("Share left", "share_left", percent),
        figure_column("People with as little left", "share_of_rows_at_most", percent, 1),
    ]  # fmt: skip
    return table("Groups by exposure", groups, columns, document.get("exposed_in_all"))


def _groups_table(document: Document) -> TableBlock:
    """Return the groups, the smallest first, where exposure was not worked out."""
    facts = document["facts"]
    return table("Groups, the smallest first", facts["groups"], [GROUP, PLACE, ROWS], facts.get("groups_in_all"))


def _curve_in_words(curve: list[list[float]]) -> str:
    """Return what the curve says at the points that people ask for."""
    said = []
    for bound in (0.1, 0.25, 0.5):
        reached = max((share for left, share in curve if left <= bound + 1e-12), default=0.0)
        said.append(f"{percent(reached)} have {percent(bound)} or less of their bits left")
    return f"About the people in the data: {'; '.join(said)}."


def _attributes(document: Document) -> list[Block]:
    """Return what is revealed of each attribute, drawn and as a table."""
    found = document.get("attribute_bits") or []
    if not found:
        return []
    columns = [
        text_column("Attribute", "name"),
        figure_column("Bits before", "bits_before", bits),
        Column("Bits revealed", _bits_revealed, figures=True),
        figure_column("Share revealed", "share", percent),
        figure_column("People whose value is certain", "forced_rows", whole_text),
        Column("Note", lambda one: sentence_of(one.get("why") or "-", 160), wide=True,
               shown=any(one.get("why") for one in found)),
    ]  # fmt: skip
    shown = table("Attributes by bits revealed per person", found, columns, len(found))
    sized = [one for one in found if one.get("bits_revealed") is None or one.get("bits_before") is not None]
    svg = attribute_bars(sized)
    text = "Attributes by bits revealed, per person on average; the figures are in the table below."
    return [ChartBlock("What is revealed of each attribute", svg, text), shown] if svg else [shown]


def _bits_revealed(one: Document) -> str:
    """Return the bits revealed of an attribute, "at least" before a lower bound."""
    return f"{'at least ' if one.get('is') == 'at least' else ''}{bits(one.get('bits_revealed'))}"


def _forced_blocks(document: Document) -> list[Block]:
    """Return the rows and values that are certain in every possible world."""
    found, out = document.get("forced") or {}, list[Block]()
    if found.get("rows"):
        columns = [text_column("Row", "where", WHERE, wide=True), figure_column("People", "rows", whole_text)]
        out.append(table("Rows known completely", found["rows"], columns, found.get("rows_in_all")))
    if found.get("values"):
        columns = [
            *(text_column(key.capitalize(), key) for key in ("group", "attribute", "value")),
            figure_column("People", "rows", whole_text),
        ]
        out.append(table("Values that everybody in a group has", found["values"], columns, found.get("values_in_all")))
    return out


def _cells(document: Document) -> list[Block]:
    """Return the suppressed and interval cells, drawn and as a table, the narrowest first."""
    found = sorted(document.get("interval_cells") or [], key=lambda one: one["feasible"][1] - one["feasible"][0])
    if not found:
        return []
    columns = [
        text_column("Cell", "name", 160, wide=True), Column("Published", _published), Column("Can still be", _feasible),
        Column("Recovered", lambda one: "yes" if one.get("recovered") else "no"),
    ]  # fmt: skip
    in_all = len(found) + (document.get("interval_cells_left_out") or 0)
    shown = table("Cells without an exact count", found, columns, in_all)
    svg = interval_bars(found)
    text = "What was published of each cell, and what is left of it; one count left means that it is recovered."
    return [ChartBlock("Suppressed cells and what they can still be", svg, text), shown] if svg else [shown]


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
    caption = "Groups of one class only: if a person is known to be in one, the class is known"
    columns = [GROUP, text_column("Class", "class", 60), ROWS]
    return [table(caption, groups, columns, found.get("groups_in_all"))]


MEANS = {
    "certain": "certain: is in the data", "possible": "possible", "impossible": "impossible: is not in the data",
    "outside": "outside the attributes' values", "unknown": "not settled",
}  # fmt: skip


POSITION = Column("Position", lambda one: amount(one["position"]))


def _who(document: Document) -> PagePart | None:
    """Return the part on people; None where none were given."""
    blocks: list[Block] = []
    if profiles := document.get("profiles"):
        blocks.append(_profile_table(profiles))
    if persons := document.get("persons"):
        blocks += _person_blocks(persons)
    if not blocks:
        return None
    intro = (
        "People are named by their position in the file that was given, from 0; their values stay out of this report."
    )
    rows = [*((document.get("persons") or {}).get("most_exposed") or ()), *((profiles or {}).get("rows") or ())]
    if any(one.get("row") or one.get("profile_values") for one in rows):
        intro = (
            "People are named by their position in the file that was given, from 0, with their values, as was asked."
        )
    return PagePart("who", "Who", intro, blocks)


def _profile_table(profiles: Document) -> TableBlock:
    """Return the given people with what is known of each; their values where they were asked for."""
    shown = any(one.get("profile_values") for one in profiles.get("rows") or [])
    columns = [
        POSITION, text_column("Name", "name", 60),
        Column("In the training data", lambda one: MEANS.get(one["verdict"], name_of(one["verdict"], 30))),
        Column("Probability", lambda one: "-" if one.get("probability") is None else percent(one["probability"], 1),
               figures=True),
        Column("Certificate", lambda one: _short(one.get("certificate"))),
        Column("Why", lambda one: sentence_of(one.get("why") or "-", 240), wide=True), _values("profile_values", shown),
    ]  # fmt: skip
    caption = "Given people: is somebody with exactly these values in the training data?"
    return table(caption, profiles.get("rows") or [], columns, profiles.get("rows_in_all"))


def _short(certificate: str | None) -> str:
    """Return the first digits of a certificate's hash, enough to find it by."""
    if certificate is None:
        return "-"
    return name_of(certificate) if len(certificate) <= 16 else f"{name_of(certificate[:16])}…"


def _person_blocks(persons: Document) -> list[Block]:
    """Return the most exposed training rows, and exposure by a protected attribute."""
    out, found = list[Block](), persons.get("most_exposed") or []
    if found:
        shown = any(one.get("row") for one in found)
        columns = [
            POSITION, text_column("Group", "group", 120), figure_column("Rows in it", "group_rows", rows_of),
            figure_column("Possible rows", "worlds_per_row", possible_rows),
            figure_column("Bits left", "bits_left", bits),
            Column("Fully known", lambda one: "yes" if one.get("pinned") else "no"), _values("row", shown),
        ]  # fmt: skip
        out.append(table("Training rows, the most exposed first", found, columns, persons.get("in_all")))
    if by := persons.get("by_group"):
        columns = [
            text_column(name_of(by["attribute"]), "value"), figure_column("People", "rows", whole_text),
            figure_column("Bits left, mean", "mean_bits_left", bits),
            figure_column("Share left, mean", "mean_share_left", percent, 1),
            figure_column("Bits left, least", "least_bits_left", bits),
            figure_column("Fully known", "pinned", whole_text),
        ]  # fmt: skip
        caption = f"Exposure by {name_of(by['attribute'])}: is one group more exposed than another?"
        out.append(table(caption, by.get("groups") or [], columns))
    notes = [*([gap] if by and (gap := widest_gap(by.get("groups") or [])) else []), *(persons.get("notes") or [])[:20]]
    out += [SentenceBlock("", [sentence_of(one) for one in notes])] if notes else []
    return out


def _values(key: str, shown: bool) -> Column:
    """Return the column of people's values, each in one line."""
    title = "Row" if key == "row" else "Values"
    return Column(title, lambda one: _values_text(one.get(key) or {}), wide=True, shown=shown)


def _values_text(row: Document) -> str:
    """Return a row's values in one line."""
    return name_of(", ".join(f"{name_of(key, 40)} = {name_of(value, 40)}" for key, value in row.items()), 600)


def _adversary_part(document: Document) -> PagePart | None:
    """Return what is left for nobody and for an adversary; None where none was asked about."""
    found = document.get("adversary")
    if not found:
        return None
    if found.get("conflict"):
        blocks: list[Block] = [SentenceBlock("", [sentence_of(one) for one in found.get("sentences") or ()])]
    else:
        rows: Rows = [
            (words, *(NOT_KNOWN if one is None else f"{one:,.4g}" for one in figures))
            for words, *figures in adversary_rows(found)
        ]
        head = ("Figure", "Nobody", "This adversary", "Difference")
        blocks = [TableBlock("What is left", head, rows, frozenset({1, 2, 3}))]
    intro = f"This adversary knows what {name_of(found['file'], 120)} says (SHA-256 {name_of(found['sha256'], 64)})."
    return PagePart("adversary", "What an adversary knows more", intro, blocks)


def added_part(document: Document) -> PagePart | None:
    """Return what the new release adds to the earlier ones of its register; None without a register."""
    adds = document.get("adds")
    if not adds:
        return None
    blocks: list[Block] = [SentenceBlock("", [sentence_of(one) for one in adds.get("sentences") or ()])]
    parts = [("Earlier releases", adds.get("before")), ("With this one", adds.get("after")),
             ("This one alone", adds.get("alone"))]  # fmt: skip
    figures = [
        ("People fully known", "pinned", 0), ("Bits left per person, without order", "bits_left_per_person", 2),
        ("Bits left, most exposed person", "least_bits_left", 2), ("Smallest group", "smallest_group", 0),
        ("Training sets left (log2)", "log2_datasets", 1),
    ]  # fmt: skip
    rows: Rows = [
        (label, *(NOT_KNOWN if one is None else span_of(one.get(key), places) for _, one in parts))
        for label, key, places in figures
    ]
    rows.append(("Status", *("-" if one is None else name_of(one.get("status"), 30) for _, one in parts)))
    head = ("Figure", *(title for title, _ in parts))
    blocks.append(TableBlock("What is known before and after this release", head, rows, frozenset({1, 2, 3})))
    notes = [f"{title}: {sentence_of(one['note'])}" for title, one in parts if one and one.get("note")]
    blocks += [SentenceBlock("", notes)] if notes else []
    if found := adds.get("differences") or []:
        caption = "Small groups that only the releases together single out"
        blocks.append(table(caption, found, [GROUP, PLACE, ROWS], adds.get("differences_in_all")))
    for key, caption in (("earlier", "Earlier releases"), ("left_out", "Registered files that were not joined")):
        if entries := adds.get(key) or []:
            columns = [
                text_column("File", "file"), text_column("Date", "date", 30), text_column("Decision", "decision", 40),
                text_column("SHA-256", "sha256", 64),
            ]  # fmt: skip
            blocks.append(table(caption, entries, columns))
    intro = f"The release together with those of the register {name_of(adds['register'], 120)}, about the same rows."
    return PagePart("adds", "What the earlier releases add", intro, blocks)


GLOSSARY: tuple[tuple[str, str], ...] = (
    ("Possible world",
     "A training set that agrees with everything the file says. The real one is among them; nobody who has only the "
     "file can tell which. The fewer there are, the more the file reveals."),
    ("Bit",
     "One yes-or-no question. 10 bits left about a person: it takes ten such questions to find the row, as among about "
     "1,000 equally likely rows. 0 bits left: no question is needed, the row is known."),
    ("Bits before, bits left",
     "Before: what is unknown about a person if only the attributes and their values are known. Left: what is still "
     "unknown to somebody who has the file and knows the person's group. Figures without order are means over the "
     "whole data that do not count the order of rows, and are smaller."),
    ("Fully known",
     "Every attribute of this person has one value in all possible worlds. That row of the training data is known, "
     "though not by name: anyone who knows some of its values finds the others."),
    ("Group",
     "The rows that end in the same leaf of a tree, are caught by the same rule of a list, or are counted in the same "
     "cell of a table."),
    ("Smallest group",
     "The fewest rows that a group holds. A group of one row is one person. Rules on smallest groups (often 10 or 11 "
     "rows) are the oldest protection of official statistics."),
    ("Class disclosure",
     "A group whose rows all have the same outcome. If a person is known to be in the group, the outcome is known, "
     "although not which row it is."),
    ("Target disclosure",
     "A number about one person (an income, a dose) that a mean, a total or a median reveals exactly."),
    ("Forced value",
     "A value that everybody in a group has, in every possible world."),
    ("Suppressed cell",
     "A count that was left out or given as a range. Sums of other counts can narrow it down; recovered means that one "
     "count is left."),
    ("Dist_G",
     "The share of bits left over the whole training set: 1 means that the file says nothing about the rows, 0 that it "
     "reveals all of them. At 0.37, 37 % of the uncertainty about the data is left."),
    ("Convention",
     "What counts as a different training set. Multiset: the order of rows does not matter. Ordered: it does. "
     "Assigned: rows in order, with the group of each known. Compare figures of one convention only; cite multiset "
     "where rows cannot be distinguished by position."),
    ("At least, at most",
     "A bound that was proved. The true figure is not known exactly, but it is on that side for certain."),
    ("Certain, possible, impossible",
     "About a given person. Certain: somebody with exactly these values is in the training data, in every possible "
     "world. Impossible: in none. Possible: in some. Outside: a value is none that the attributes allow."),
    ("Certificate",
     "A proof of a statement that a small, separate program checks again, without trusting the program that found it."),
    ("Confidence",
     "For noisy counts. At confidence 0.95, the figures hold unless the noise was among the 5 % largest."),
    ("Kind of counts",
     "Exact counts say how many rows there are. Weighted, resampled or noisy ones say less, in ways that the report "
     "names."),
    ("Inconclusive",
     "The audit could not settle this, for want of time, memory or information. It is not a pass."),
)  # fmt: skip


SHOWN = 200  # rows of a table of the computation


def parts(document: Document) -> list[PagePart]:
    """Return the parts of a page, in the order in which they are read; what has nothing to say is left out.

    The findings in words and the glossary are among them.
    """
    found = [
        first_part(document), judging(document), _leaking(document), _who(document), _adversary_part(document),
        added_part(document),
        helping(document), _in_words(document), _computation_part(document), _glossary(),
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
        pairs = [(name_of(a, 60), sentence_of(b)) for a, b in how["conventions"][:SHOWN]]
        blocks.append(PairBlock("Conventions", pairs))
    if how.get("numbers"):
        columns = [_nth("Number", 0, 400), _nth("Status", 1), _nth("Engine", 2)]
        blocks.append(table("The status of every number", how["numbers"], columns, most=SHOWN))
    if engines := how.get("engines"):
        columns = [_nth("Engine", 0), Column("What it said", lambda one: sentence_of(one[1]), wide=True)]
        blocks.append(table("What each engine said", engines, columns, most=SHOWN))
    elif document.get("trail"):
        blocks.append(SentenceBlock("What each engine said", [sentence_of(one) for one in document["trail"][:SHOWN]]))
    certificates = how.get("certificates") or []
    if certificates:
        columns = [
            Column("Statement", lambda one: sentence_of(one["about"], 240)),
            text_column("Certificate", "certificate", 80),
        ]  # fmt: skip
        caption = "Certificates: statements that can be checked again"
        blocks.append(table(caption, certificates, columns, most=SHOWN))
        commands: dict[str, str] = {}
        for one in certificates[:SHOWN]:
            if one.get("command"):
                commands.setdefault(command_of(one["command"]), sentence_of(one["about"], 120))
        if len(commands) == 1:
            commands = dict.fromkeys(commands, "RESULT.json is the result of this audit (recon audit --json --out).")
        if commands:
            blocks.append(CommandList("To check them again", [(about, command) for command, about in commands.items()]))
    if document.get("assumptions"):
        blocks.append(
            SentenceBlock("What all figures assume", [sentence_of(one) for one in document["assumptions"][:SHOWN]])
        )
    for key, title in (("not_known", "What is not known, and why"), ("not_applicable", "What does not apply, and why")):
        said = document["facts"].get(key) or {}
        pairs = [(name_of(figure, 60).replace("_", " "), sentence_of(why)) for figure, why in sorted(said.items())
                 if figure not in FOR_POLICIES]  # fmt: skip
        blocks += [PairBlock(title, pairs)] if pairs else []
    intro = f"By recon {name_of(made['recon'], 30)}: what was asked, what is exact, and how it can be checked again."
    return PagePart("how", "How it was computed", intro, blocks)


def _files_table(document: Document) -> TableBlock:
    """Return the files with their hashes."""
    columns = [
        text_column("File", "file", 160), text_column("SHA-256", "sha256", 64),
        Column("Kind", lambda one: name_of(one.get("kind"), 40).replace("_", " ")), text_column("Format", "format", 80),
    ]  # fmt: skip
    return table("The files that were audited", document["audited"]["files"], columns, most=SHOWN)


def _nth(title: str, at: int, maximum: int = 60) -> Column:
    """Return the column of a name or text that stands at a place of each entry."""
    return Column(title, lambda one: name_of(one[at], maximum))


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
        return f"cut short by the clock: {', '.join(name_of(one, 60) for one in value[:SHOWN])}"
    if key == "memory" and isinstance(value, int) and value >= 1 << 20:
        return f"memory {value >> 20:,} MB"
    number = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else name_of(value, 40)
    return f"{name_of(key, 30)} {number}"
