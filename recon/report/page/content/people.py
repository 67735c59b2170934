"""Who: given people, rows of the training data, groups of a protected attribute; what earlier releases add."""

from __future__ import annotations

from recon.report.page.blocks import (
    NOT_KNOWN,
    WHERE,
    Block,
    Document,
    PagePart,
    Rows,
    SentenceBlock,
    TableBlock,
    amount,
    bits,
    more_of,
    name_of,
    percent,
    possible_rows,
    rows_of,
    sentence_of,
    span_of,
)

LISTED = 1000
MEANS = {
    "certain": "certain: is in the data", "possible": "possible", "impossible": "impossible: is not in the data",
    "outside": "outside the attributes' values", "unknown": "not settled",
}  # fmt: skip


def who(document: Document) -> PagePart | None:
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
    rows: Rows = [
        (
            amount(one["position"]),
            name_of(one.get("name"), 60),
            MEANS.get(one["verdict"], name_of(one["verdict"], 30)),
            "-" if one.get("probability") is None else percent(one["probability"], 1),
            _short(one.get("certificate")),
            sentence_of(one.get("why") or "-", 240),
            *([_values_of(one.get("profile_values") or {})] if shown else []),
        )
        for one in (profiles.get("rows") or [])[:LISTED]
    ]
    head = (
        "Position",
        "Name",
        "In the training data",
        "Probability",
        "Certificate",
        "Why",
        *(["Values"] if shown else []),
    )
    more = more_of(len(rows), profiles.get("rows_in_all"))
    caption = "Given people: is somebody with exactly these values in the training data?"
    return TableBlock(caption, head, rows, frozenset({3}), frozenset({5, 6}), more)


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
        head = (
            "Position",
            "Group",
            "Rows in it",
            "Possible rows",
            "Bits left",
            "Pinned down",
            *(["Row"] if shown else []),
        )
        rows: Rows = [
            (
                amount(one["position"]),
                name_of(one.get("group"), 120),
                rows_of(one.get("group_rows")),
                possible_rows(one.get("worlds_per_row")),
                bits(one.get("bits_left")),
                "yes" if one.get("pinned") else "no",
                *([_values_of(one.get("row") or {})] if shown else []),
            )
            for one in found[:LISTED]
        ]
        more = more_of(len(rows), persons.get("in_all"))
        out.append(
            TableBlock("Training rows, the most exposed first", head, rows, frozenset({2, 3, 4}), frozenset({6}), more)
        )
    if by := persons.get("by_group"):
        rows = [
            (
                name_of(one["value"]),
                amount(one["rows"]),
                bits(one.get("mean_bits_left")),
                percent(one.get("mean_share_left"), 1),
                bits(one.get("least_bits_left")),
                NOT_KNOWN if one.get("pinned") is None else amount(one["pinned"]),
            )
            for one in (by.get("groups") or [])[:LISTED]
        ]
        head = (
            name_of(by["attribute"]),
            "People",
            "Bits left, mean",
            "Share left, mean",
            "Bits left, least",
            "Pinned down",
        )
        caption = f"Exposure by {name_of(by['attribute'])}: is one group more exposed than another?"
        out.append(TableBlock(caption, head, rows, frozenset(range(1, 6))))
    if notes := persons.get("notes"):
        out.append(SentenceBlock("", [sentence_of(one) for one in notes[:20]]))
    return out


def _values_of(row: Document) -> str:
    """Return a row's values in one line."""
    return name_of(", ".join(f"{name_of(key, 40)} = {name_of(value, 40)}" for key, value in row.items()), 600)


def added_part(document: Document) -> PagePart | None:
    """Return what the new release adds to the earlier ones of its register; None without a register."""
    adds = document.get("adds")
    if not adds:
        return None
    blocks: list[Block] = [SentenceBlock("", [sentence_of(one) for one in adds.get("sentences") or ()])]
    columns = [("Earlier releases", adds.get("before")), ("With this one", adds.get("after")),
               ("This one alone", adds.get("alone"))]  # fmt: skip
    figures = [
        ("People pinned down", "pinned", 0), ("Bits left per person", "bits_left_per_person", 2),
        ("Bits left, most exposed person", "least_bits_left", 2), ("Smallest group", "smallest_group", 0),
        ("Training sets left (log2)", "log2_datasets", 1),
    ]  # fmt: skip
    rows: Rows = [
        (label, *(NOT_KNOWN if one is None else span_of(one.get(key), places) for _, one in columns))
        for label, key, places in figures
    ]
    rows.append(("Status", *("-" if one is None else name_of(one.get("status"), 30) for _, one in columns)))
    head = ("Figure", *(title for title, _ in columns))
    blocks.append(TableBlock("What is known before and after this release", head, rows, frozenset({1, 2, 3})))
    notes = [f"{title}: {sentence_of(one['note'])}" for title, one in columns if one and one.get("note")]
    blocks += [SentenceBlock("", notes)] if notes else []
    if found := adds.get("differences") or []:
        singled: Rows = [
            (name_of(one["name"]), name_of(one.get("where"), WHERE), rows_of(one["rows"])) for one in found[:LISTED]
        ]
        caption = "Small groups that only the releases together single out"
        more = more_of(len(singled), adds.get("differences_in_all"))
        blocks.append(TableBlock(caption, ("Group", "Where", "Rows"), singled, frozenset({2}), frozenset({1}), more))
    for key, caption in (("earlier", "Earlier releases"), ("left_out", "Registered files that were not released")):
        if entries := adds.get(key) or []:
            blocks.append(
                TableBlock(caption, ("File", "Date", "Decision", "SHA-256"), list(map(_entry, entries[:LISTED])))
            )
    intro = f"The release together with those of the register {name_of(adds['register'], 120)}, about the same rows."
    return PagePart("adds", "What the earlier releases add", intro, blocks)


def _entry(one: Document) -> tuple[str, ...]:
    """Return the cells of an earlier file of a register."""
    return (
        name_of(one["file"]),
        name_of(one.get("date"), 30),
        name_of(one.get("decision"), 40),
        name_of(one.get("sha256"), 64),
    )
