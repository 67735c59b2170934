"""The exceptions of the whole project: an exception is a refusal, never an answer."""

from __future__ import annotations

from typing import Any

EXTRAS = {  # packages that recon loads on use, and the extra that installs each
    "scipy": "solvers",
    "ortools": "solvers",
    "highspy": "solvers",
    "pysat": "solvers",
    "networkx": "solvers",
    "sklearn": "sklearn",
    "pyarrow": "parquet",
    "openpyxl": "sheets",
    "matplotlib": "plots",
    "distributed": "dask",
    "starlette": "serve",
    "uvicorn": "serve",
    "python_multipart": "serve",
}


def installing(extra: str = "") -> str:
    """Return how to install packages of an extra: from recon's own source, for no index holds it under a name."""
    what = f"'.[{extra}]'" if extra else "."
    return f"pip install {what} in the folder of recon's source"


def not_installed(error: BaseException) -> str | None:
    """Return which package of an extra an import did not find and how to install it; None for every other error."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return f"{package} is not installed: {installing(EXTRAS[package])}" if package in EXTRAS else None


class ReconError(Exception):
    """Base class of every refusal; refusals can be pickled with everything they say.

    >>> import recon
    >>> try:
    ...     recon.load("nowhere.json")
    ... except recon.ReconError as refused:
    ...     print(refused)
    nowhere.json: cannot be read: No such file or directory
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


class ReleaseError(ReconError, ValueError):
    """Malformed input; the message names the file, the place and the value.

    >>> import recon
    >>> try:
    ...     recon.load("nowhere.json")
    ... except recon.ReleaseError as refused:
    ...     print(refused.file)
    nowhere.json
    """

    def __init__(self, message: str, *, place: str = "", file: str = "") -> None:
        self.message, self.place, self.file = message, place, file
        super().__init__(": ".join(part for part in (file, place, message) if part))

    def at(self, *, place: str = "", file: str = "") -> ReleaseError:
        """Return the same refusal with the place or file filled in where it has none."""
        return ReleaseError(self.message, place=self.place or place, file=self.file or file)


class PolicyError(ReconError, ValueError):
    """A policy that is missing, malformed or sets no threshold; wrong usage, unlike a release that is malformed."""


class ContradictionError(ReconError):
    """No possible world: the statements contradict each other; `conflict` lists their sources.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes}]
    >>> models += [{"kind": "rule_set", "rules": [{"if": {"old": 0}, "counts": [3, 0]}]}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "domain": domain, "models": models}))
    ...     release = recon.load(path)
    >>> try:
    ...     recon.reconstruct(release)
    ... except recon.ContradictionError as refused:
    ...     print(refused.conflict)
    ('tree 0, leaf 1, class 0: at most 2 rows', 'rule set 1, rule 0, class 0: at least 3 rows')
    """

    def __init__(self, message: str, conflict: tuple[str, ...]) -> None:
        self.conflict = conflict
        super().__init__(message)


class Unsupported(ReconError):  # noqa: N818 - the contract fixes the name
    """No engine accepts the question; `reasons` has one sentence per engine that was asked.

    >>> import recon
    >>> try:
    ...     recon.count(3)
    ... except recon.Unsupported as refused:
    ...     print(refused)
    an int is not a release: give a release (recon.load, recon.encode), the path of a file or a fitted model
    """

    def __init__(self, message: str, reasons: tuple[str, ...] = ()) -> None:
        self.reasons = reasons
        super().__init__("; ".join((message, *reasons)))


class TooLarge(Unsupported):
    """A size limit (cells, states, memory) keeps an engine from answering; a larger one might not."""


class Inconclusive(ReconError):  # noqa: N818 - a limit was met, nothing is wrong
    """A limit (time, memory, unbounded rows) leaves the question open.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> try:
    ...     recon.positions(release)
    ... except recon.Inconclusive as refused:
    ...     print(str(refused)[:33])
    nothing is proved by position: no
    """


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
