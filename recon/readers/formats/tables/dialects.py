"""The words of offices in tables, read once from `dialects.toml`: marks, names of counts, totals, figures."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

APOSTROPHES = str.maketrans("’‘ʼ", "'''")
NOTE = re.compile(  # behind a label
    r"(?<=\S)\s{0,3}(?:\[notes? ?\d{1,3}(?:[,;] ?\d{1,3}){0,9}\]|\(\d\)|[¹²³⁴⁵⁶⁷⁸⁹]{1,4})$", re.IGNORECASE
)


def comparable(text: str) -> str:
    """Return a text for comparing: small letters, every run of blanks as one."""
    return " ".join(text.translate(APOSTROPHES).replace("\u00a0", " ").replace("\u202f", " ").lower().split())


@dataclass(frozen=True)
class Dialects:
    """What `dialects.toml` says: tables of words, and patterns of them."""

    words: dict[str, Any]
    marks: dict[str, str]
    asked: frozenset[str]

    def like(self, table: str, key: str, text: str) -> re.Match[str] | None:
        """Return the match of a whole text with a pattern; blanks and letters compared as `comparable`."""
        return _pattern(self.words[table][key]).fullmatch(comparable(text))

    def found(self, table: str, key: str, text: str) -> re.Match[str] | None:
        """Return the first match of a pattern in a text."""
        return _pattern(self.words[table][key]).search(comparable(text))

    def listed(self, table: str, key: str, text: str) -> bool:
        """Return whether a text is one of the words."""
        return comparable(text) in self.words[table][key]

    def counts(self, name: str) -> bool:
        """Return whether a column of this name is one of counts."""
        name = NOTE.sub("", name)
        return self.listed("count", "names", name) or bool(self.like("count", "pattern", name))

    def total(self, label: str) -> bool:
        """Return whether a label stands for all values."""
        label = NOTE.sub("", label)
        return not label or self.listed("totals", "words", label) or bool(self.like("totals", "pattern", label))

    def figure(self, name: str) -> bool:
        """Return whether a column of this name holds figures that are no counts."""
        return bool(self.like("figures", "pattern", NOTE.sub("", name)))

    def stacked(self, names: Sequence[str]) -> tuple[int, int] | None:
        """Return the only column that names attributes and the only one of their values, None where there are none."""
        ends = [[k for k, name in enumerate(names) if self.like("stacked", part, name)] for part in ("names", "values")]
        return (ends[0][0], ends[1][0]) if len(ends[0]) == len(ends[1]) == 1 else None

    def scale(self, text: str, title: bool = False) -> int:
        """Return of how many people one is, where a text says so ("in thousands", "Mio. Personen"), else 1.

        `title`: it may say so in digits, which elsewhere are a value ("1 000").
        """
        said, people = comparable(text), self.words["said"]["people"]
        for one in self.words["scale"]:
            unit = (
                rf"(?:{one['words']}{'|' + one['digits'] if title else ''})(?:(?:_| (?:of |de |d'|av )?)(?:{people}))?"
            )
            if _pattern(
                rf"(?:(?:.*\W)?(?:in|en|i|x|×|units? of) |(?:.*[:,;(] ?)?){unit}[]).;:]*|.*\((?:in |en |i )?{unit}\).*"
                rf"|.*\b(?:{people}|population|numbers?|counts?|anzahl) (?:{one['words']})[.;:]*"
            ).fullmatch(said):
                return int(one["of"])
        return 1


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


@cache
def dialects() -> Dialects:
    """Return the words of offices, read once."""
    found = tomllib.loads(files(__package__).joinpath("dialects.toml").read_text(encoding="utf-8"))
    marks = {text: one["meaning"] for one in found["mark"] for text in one["text"]}
    asked = frozenset(text for one in found["mark"] if one.get("asked") for text in one["text"])
    return Dialects(found, marks, asked)
