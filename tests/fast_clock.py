"""The same command twice: the clock standing still, and running ten times as fast as the processor works.

    python tests/fast_clock.py [--every 1] [--first 0]      every so many of the cases of golden_answers.py

Every command of the stored answers is asked under `--time 10` with a date for the clock of documents. What the clock
does not end is the same, byte for byte; where it ended something (after a second of the processor), the answer says so.
Prints the commands that were cut, and what is wrong; a busy machine, or one of another speed, is the same to it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).parent)]

import golden_answers as net  # noqa: E402

SECONDS, FASTER, MOST = 10, 10.0, 60.0
UNTIMED = {"schema", "engines", "policy", "learn", "reproduce", "register", "convert"}  # they make what others read
SAID = ("the clock (--time) cut short", "the time was up", "the time (--time) was up", '"cut_short": [\n')


class Asked:
    """A command asked twice; `cut` by the clock the second time, and what is `wrong` with that ("": nothing)."""

    def __init__(self, name: str) -> None:
        self.name, self.cut, self.wrong = name, False, ""


def timed(words: Sequence[str]) -> list[str]:
    """Return the words of a command under the limit, which takes the place of the one that it has."""
    out = list(words)
    if "--time" in out:
        del out[out.index("--time") : out.index("--time") + 2]
    return [*out, "--time", str(SECONDS)]


def asked_twice(cases: Sequence[tuple[str, Path | None, list[tuple[str, list[str]]]]]) -> Iterator[Asked]:
    """Yield what became of every command that takes `--time`, asked twice; those beside make what it reads, as ever."""
    found: list[Asked] = []

    def once(words: Sequence[str], faster: float) -> tuple[int | str, str, str]:
        begun = time.process_time()

        def clock() -> float:
            return started + faster * (time.process_time() - begun)

        with mock.patch("time.monotonic", clock):
            return plainly(words, MOST)

    def run(words: Sequence[str], most: float) -> tuple[int | str, str, str]:
        if "--help" in words or words[0] in {
            "schema",
            "engines",
            "policy",
            "learn",
            "reproduce",
            "register",
            "convert",
        }:
            return plainly(words, most)
        one = Asked(" ".join(words))
        still, fast = once(timed(words), 0.0), once(timed(words), FASTER)
        one.cut = any(text in part for text in SAID for part in fast[1:])
        if still != fast and not one.cut:
            one.wrong = f"{still[0]} -> {fast[0]}: {difference(still[1] + still[2], fast[1] + fast[2])}"
        found.append(one)
        return still

    plainly, started = net.run, time.monotonic()
    with mock.patch.object(net, "run", run), mock.patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "0"}):
        for case, path, asked in cases:
            for name, _, _ in net.answers_of(path, asked, case, MOST, ()):
                for one in found:
                    one.name = name
                    yield one
                found.clear()


def difference(before: str, now: str) -> str:
    """Return where two texts begin to differ."""
    at = next((k for k, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now)))
    return f"{before[max(0, at - 80) : at + 80]!r} -> {now[max(0, at - 80) : at + 80]!r}"


def main() -> int:
    """Ask, print what was cut and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args()
    some, wrong = list(net.cases())[chosen.first :: chosen.every], 0
    done = cut = 0
    for one in asked_twice(some):
        done, cut, wrong = done + 1, cut + one.cut, wrong + bool(one.wrong)
        if one.cut or one.wrong:
            print(f"{'WRONG' if one.wrong else 'cut'} {one.name}{': ' if one.wrong else ''}{one.wrong}", flush=True)
    print(f"{done:,} commands, {cut} cut by the clock, {wrong} wrong", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
