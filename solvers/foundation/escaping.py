"""Text that others wrote, shown so that it can be nothing but text: no control, no direction, no hidden character.

Names, values, paths and places stand in the sentences that recon prints. Whoever chose them must not be able to start a
line of output, move the cursor, or turn the direction of what stands beside them ("Trojan Source", Boucher and
Anderson, USENIX Security 2023). Everything that people read passes `shown` or one of its kin, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

LONGEST = 200  # characters of a name or value that a sentence about a certificate spells out
# C0 and C1 controls, soft hyphen, bidirectional and zero-width characters, fillers without a shape, line and paragraph
# separators, halves of surrogate pairs, noncharacters, tags.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
SPACES = re.compile(r"(?<=\s)\s|^\s|\s$")
MARKED = re.compile(r"[\\`*<>&|~$\[\]#@]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|(?<=[A-Za-z]):(?=//)|(?<=www)\.")
START = re.compile(r"(\s*)([-+=]|[0-9]{1,9}(?=[.)]))")


def _escape_of(found: re.Match[str]) -> str:
    r"""Return a character as \xNN, \uNNNN or \UNNNNNNNN."""
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(text: object) -> str:
    r"""Return one line of text for people: what is hidden, or would act, is written \xNN, \uNNNN or \UNNNNNNNN.

    Line ends and tabs are escaped too: whoever prints several lines escapes each by itself.
    """
    return HIDDEN.sub(_escape_of, str(text))


def shown_lines(lines: Iterable[object]) -> str:
    """Return lines of text joined by line ends, the only ones in it."""
    return "\n".join(map(shown, lines))


def named(text: object, maximum: int = LONGEST) -> str:
    r"""Return a name or value inside a sentence: as `shown`, at most so many characters of it.

    White space at its ends or behind other white space is escaped as well, because long runs of it push what follows
    to the start of the next line of a terminal.
    """
    sentence = shown(text)
    kept = sentence if len(sentence) <= maximum else f"{sentence[:maximum]}... ({len(sentence):,} characters)"
    return SPACES.sub(_escape_of, kept)


def html(line: object) -> str:
    """Return a line of text as a page shows it, as text and in attributes."""
    return escape(shown(line))


def markdown(line: object) -> str:
    """Return a line of text as Markdown shows it, with no markup, HTML, link or formula of its own."""
    text = MARKED.sub(lambda found: f"\\{found[0]}", shown(line))
    if (start := START.match(text)) is None:
        return text
    at = start.end() if start[2].isdigit() else start.start(2)
    return f"{text[:at]}\\{text[at:]}"


def json_shown(text: str) -> str:
    r"""Return JSON text with what is hidden written as \uNNNN, which reads back the same.

    Such characters stand in JSON's strings only, line ends between its values excepted.
    """
    return HIDDEN.sub(lambda found: found[0] if found[0] == "\n" else _json_escape(ord(found[0])), text)


def _json_escape(code: int) -> str:
    r"""Return a character as JSON's \uNNNN, beyond 0xffff as a pair of surrogates."""
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}"
