"""The exceptions of the whole project: an exception is a refusal, never an answer."""

from __future__ import annotations

from typing import Any


def installing(extra: str = "") -> str:
    """Return how to install packages of an extra: from recon's own source, for no index holds it under a name."""
    what = f"'.[{extra}]'" if extra else "."
    return f"pip install {what} in the folder of recon's source"


class ReconError(Exception):
    """Base class of every refusal; one travels between processes with all that it says."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


class ReleaseError(ReconError, ValueError):
    """Malformed input; the message names the file, the place and the value."""

    def __init__(self, message: str, *, place: str = "", file: str = "") -> None:
        self.message, self.place, self.file = message, place, file
        super().__init__(": ".join(part for part in (file, place, message) if part))

    def at(self, *, place: str = "", file: str = "") -> ReleaseError:
        """Return the same refusal with the place or file filled in where it has none."""
        return ReleaseError(self.message, place=self.place or place, file=self.file or file)


class PolicyError(ReconError, ValueError):
    """A policy that is missing, malformed or sets no threshold; wrong usage, unlike a release that is malformed."""


class ContradictionError(ReconError):
    """No possible world: the statements contradict each other; `conflict` lists their sources."""

    def __init__(self, message: str, conflict: tuple[str, ...]) -> None:
        self.conflict = conflict
        super().__init__(message)


class Unsupported(ReconError):  # noqa: N818 - the contract fixes the name
    """No engine accepts the question; `reasons` has one sentence per engine that was asked."""

    def __init__(self, message: str, reasons: tuple[str, ...] = ()) -> None:
        self.reasons = reasons
        super().__init__("; ".join((message, *reasons)))


class TooLarge(Unsupported):
    """A size limit (cells, states, memory) keeps an engine from answering; a larger one might not."""


class Inconclusive(ReconError):  # noqa: N818 - a limit was met, nothing is wrong
    """A limit (time, memory, unbounded rows) leaves the question open."""


class EmptyConfidenceSet(Inconclusive):
    """No dataset has all its noise inside the joint intervals: improbable noise, not a contradiction.

    `clashing` are the statements that clash at this `confidence`. `improbability`: a p-value, noise of the stated law
    draws counts that fit every dataset as badly with no greater probability; just above confidence 1 - `improbability`
    there is a dataset. None where that was not found within the limits.
    """

    def __init__(
        self, message: str, confidence: float = 1.0, clashing: tuple[str, ...] = (), improbability: float | None = None
    ) -> None:
        self.confidence, self.clashing, self.improbability = confidence, clashing, improbability
        super().__init__(message)


class EngineError(ReconError):
    """An engine failed or contradicted itself; nothing it said may be used."""


class CertificateError(ReconError):
    """A certificate does not prove what it claims."""


class NotVerified(CertificateError):  # noqa: N818 - a limit was met, the certificate may be right
    """A limit (time, memory, pieces) ended the check of a certificate before it was settled."""


def _again(kind: type[ReconError], args: tuple[Any, ...], said: dict[str, Any]) -> ReconError:
    error = kind.__new__(kind)  # whatever its own arguments are
    error.args = args
    error.__dict__.update(said)
    return error
