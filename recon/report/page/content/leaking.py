"""Where a release leaks: groups by exposure, the model drawn, attributes, what is forced, suppressed cells."""

from __future__ import annotations

from recon.report.charts.bars import attribute_bars
from recon.report.charts.curve import exposure_curve
from recon.report.charts.intervals import interval_bars
from recon.report.charts.trees import model_drawing
from recon.report.page.blocks import (
    NOT_KNOWN,
    WHERE,
    Block,
    ChartBlock,
    Document,
    PagePart,
    Rows,
    TableBlock,
    amount,
    bits,
    more_of,
    name_of,
    percent,
    possible_rows,
    rows_of,
    sentence_of,
)

LISTED = 1000  # rows of one table


def leaking(document: Document) -> PagePart:
    """Return the part on where it leaks; empty lists leave their table out."""
    blocks: list[Block] = []
    exposed = document.get("exposed") or []
    if exposed:
        blocks.append(exposed_table(document))
    elif document["facts"].get("groups"):
        blocks.append(groups_table(document))
    drawing = document.get("drawing")
    if drawing and (svg := model_drawing(drawing)):
        what = "The tree" if drawing["kind"] == "tree" else "The rules in their order"
        note = sentence_of(drawing.get("note") or "", WHERE)
        text = f"{what}, with exposure as colour: the stronger the colour, the fewer bits are left. {note}"
        blocks.append(ChartBlock("The model and where it is exposed", svg, text.strip()))
    curve = document.get("curve") or []
    if len(curve) > 1 and (svg := exposure_curve(curve)):
        blocks.append(ChartBlock("How exposure is spread over people", svg, curve_in_words(curve), told=True))
    blocks += attributes(document)
    blocks += forced(document)
    blocks += cells(document)
    blocks += one_class(document)
    intro = "Groups with the fewest bits left come first, and of these the smallest. "
    intro += "Possible rows: how many different rows each of the people in a group could have."
    if not blocks:
        intro = "Nothing was found that could be listed here: see The findings in words."
    return PagePart("leaks", "Where it leaks", intro, blocks)


def exposed_table(document: Document) -> TableBlock:
    """Return the groups, the most exposed first."""
    groups = document["exposed"][:LISTED]
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


def groups_table(document: Document) -> TableBlock:
    """Return the groups, the smallest first, where exposure was not worked out."""
    groups = document["facts"]["groups"][:LISTED]
    rows: Rows = [(name_of(one["name"]), name_of(one.get("where"), WHERE), rows_of(one["rows"])) for one in groups]
    more = more_of(len(rows), document["facts"].get("groups_in_all"))
    return TableBlock(
        "Groups, the smallest first", ("Group", "Where", "Rows"), rows, frozenset({2}), frozenset({1}), more
    )


def curve_in_words(curve: list[list[float]]) -> str:
    """Return what the curve says at the points that people ask for."""
    said = []
    for bound in (0.1, 0.25, 0.5):
        reached = max((share for left, share in curve if left <= bound + 1e-12), default=0.0)
        said.append(f"{percent(reached)} have {percent(bound)} or less of their bits left")
    return f"Of the people in the data, {'; '.join(said)}."


def attributes(document: Document) -> list[Block]:
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
        for one in found[:LISTED]
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


def forced(document: Document) -> list[Block]:
    """Return the rows and values that are certain in every possible world."""
    found, out = document.get("forced") or {}, list[Block]()
    if found.get("rows"):
        rows: Rows = [(name_of(one["where"], WHERE), amount(one["rows"])) for one in found["rows"][:LISTED]]
        more = more_of(len(rows), found.get("rows_in_all"))
        out.append(TableBlock("Rows known completely", ("Row", "People"), rows, frozenset({1}), frozenset({0}), more))
    if found.get("values"):
        rows = [
            (name_of(one["group"]), name_of(one["attribute"]), name_of(one["value"]), amount(one["rows"]))
            for one in found["values"][:LISTED]
        ]
        head, more = ("Group", "Attribute", "Value", "People"), more_of(len(rows), found.get("values_in_all"))
        out.append(TableBlock("Values that everybody in a group has", head, rows, frozenset({3}), more=more))
    return out


def cells(document: Document) -> list[Block]:
    """Return the suppressed and interval cells, drawn and as a table, the narrowest first."""
    found = sorted(document.get("interval_cells") or [], key=lambda one: one["feasible"][1] - one["feasible"][0])
    if not found:
        return []
    rows: Rows = [
        (name_of(one["name"], 160), published(one), feasible(one), "yes" if one.get("recovered") else "no")
        for one in found[:LISTED]
    ]
    left_out = document.get("interval_cells_left_out") or 0
    more = more_of(len(rows), len(found) + left_out)
    head = ("Cell", "Published", "Can still be", "Recovered")
    table = TableBlock("Cells without an exact count", head, rows, frozenset(), frozenset({0}), more)
    svg = interval_bars(found)
    text = "What was published of each cell, and what is left of it; one count left means that it is recovered."
    return [ChartBlock("Suppressed cells and what they can still be", svg, text), table] if svg else [table]


def published(cell: Document) -> str:
    """Return what was published of a cell without an exact count."""
    least, most = cell["published"]
    if least is None and most is None:
        return f"nothing ({name_of(cell['suppressed'], 20)})" if cell.get("suppressed") else "nothing"
    return rows_of((least or 0, most))


def feasible(cell: Document) -> str:
    """Return what a cell can still be; outer bounds are called so."""
    least, most = cell["feasible"]
    text = rows_of((least, most))
    return text if cell.get("tight") or least == most else f"{text} (perhaps narrower)"


def one_class(document: Document) -> list[Block]:
    """Return the groups whose rows are all of one class."""
    found = document["facts"].get("class_disclosure") or {}
    groups = found.get("groups") or []
    if not groups:
        return []
    rows: Rows = [
        (name_of(one["name"]), name_of(one.get("class"), 60), rows_of(one["rows"])) for one in groups[:LISTED]
    ]
    more = more_of(len(rows), found.get("groups_in_all"))
    caption = "Groups of one class only: who is known to be in one has that class"
    return [TableBlock(caption, ("Group", "Class", "Rows"), rows, frozenset({2}), more=more)]
