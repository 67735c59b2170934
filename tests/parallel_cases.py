"""Pieces of a module of its own, so that other processes find them: each says by a file that it has begun."""

from __future__ import annotations

import multiprocessing.connection
import os
import signal
import time
from pathlib import Path

from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits


def begun(folder: str, k: int) -> int:
    """Leave a file that says which process began which piece; return how often it was begun before."""
    before = len(list(Path(folder).glob(f"begun-{k}-*")))
    Path(folder, f"begun-{k}-{os.getpid()}-{before}").touch()
    return before


def beginners(folder: str) -> list[tuple[int, int]]:
    """Return (piece, process) of all pieces begun so far."""
    names = [path.name.split("-") for path in sorted(Path(folder).glob("begun-*"))]
    return [(int(k), int(process)) for _, k, process, _ in names]


def square(piece: tuple[str, int], limits: Limits) -> int:
    """Return a square."""
    folder, k = piece
    begun(folder, k)
    return k * k


def dies(piece: tuple[str, int, str], limits: Limits) -> bytes:
    """Return a few bytes; the process of piece 2 is killed in the way that the piece says."""
    folder, k, way = piece
    before = begun(folder, k)
    if k == 2 and (way == "always" or not before):
        if way == "while it sends":
            multiprocessing.connection.Connection._send = half_sent
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return bytes([k]) * 40_000


def half_sent(connection, content, write=os.write):
    """Send half of a reply, and die."""
    write(connection.fileno(), bytes(content)[: max(1, len(content) // 2)])
    os.kill(os.getpid(), signal.SIGKILL)


def waits(piece: tuple[str, int], limits: Limits) -> tuple[int, str]:
    """Return once the test says so by a file: "go" (with the piece), or once somebody asked to stop."""
    folder, k = piece
    begun(folder, k)
    while not Path(folder, "go").exists():
        if limits.stop.is_set():
            Path(folder, f"heard-{k}").touch()
            return k, "stopped"
        time.sleep(0.01)
    return k, "done"


def deaf(piece: tuple[str, int], limits: Limits) -> int:
    """Return piece 0; every other hears nothing and never ends."""
    folder, k = piece
    begun(folder, k)
    while k:
        time.sleep(0.01)
    return k


class OddError(Exception):
    """A class that can be written and not be read: it wants two arguments."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fails(piece: str, limits: Limits) -> object:
    """Raise, or return what cannot be sent."""
    if piece == "refused":
        raise ReleaseError("this is not a number", place="models[2].threshold", file="model.json")
    if piece == "odd":
        raise OddError(1, 2)
    if piece == "not sent":
        return lambda: None
    return piece


class Heavy:
    """A value that leaves a line whenever a process reads it."""

    def __init__(self, folder: str, size: int) -> None:
        self.folder, self.content = folder, b"x" * size

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        Path(self.folder, f"read-{os.getpid()}-{time.monotonic_ns()}").touch()


def weighs(heavy: Heavy, k: int, limits: Limits) -> tuple[int, int, int]:
    """Return the piece, the size of what is shared, and the process."""
    begun(heavy.folder, k)
    return k, len(heavy.content), os.getpid()


def limited(piece: int, limits: Limits) -> tuple[float, int, float]:
    """Return what a piece may take: seconds left, memory, and how long ago its limits began."""
    return limits.left(), limits.memory, limits.elapsed()


def after(folder: str, ready, tries: int = 3_000) -> None:
    """Wait until something is so, 30 seconds at most."""
    for _ in range(tries):
        if ready():
            return
        time.sleep(0.01)
    raise AssertionError("what was waited for did not happen")


def alive(process: int) -> bool:
    """Return whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def works(piece: float, limits: Limits) -> float:
    """Return the work that was left, after so much was done; the clock cut a stage short."""
    limits.charge(piece)
    limits.meter.cut["graphs"] = None
    return limits.work_left()
