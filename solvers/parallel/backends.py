"""Where pieces are done: processes of this machine (joblib's loky), or a Dask cluster through joblib."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits

CONNECT = 10.0  # seconds to reach a scheduler


@dataclass(frozen=True)
class Share:
    """The limits of one piece as they travel: clocks and signals of another process say nothing."""

    seconds: float | None
    memory: int
    cells: int

    @classmethod
    def of(cls, limits: Limits) -> Share:
        """Return what a piece may take: all the time left, and on this machine its part of the memory."""
        left = limits.left()
        memory = limits.memory if limits.cluster else limits.memory // max(1, limits.workers)
        return cls(None if math.isinf(left) else left, memory, limits.cells)

    def limits(self) -> Limits:
        """Return limits that begin now."""
        return Limits(self.seconds, self.memory, self.cells)


Run = Callable[[Callable[[int, Any, Share], Any], dict[int, Any], Limits], Iterator[tuple[int, Any]]]


@contextlib.contextmanager
def backend(limits: Limits) -> Iterator[Run]:
    """Yield what hands out pieces: to local processes, or to the cluster for as long as the block lasts."""
    import joblib

    if not limits.cluster:
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            yield partial(handed_out, limits.workers)
        return
    try:
        from distributed import Client
    except ImportError:
        raise Unsupported("a Dask cluster needs an extra: pip install 'recon-worlds[dask]'") from None
    try:
        client: Any = Client(limits.cluster, timeout=CONNECT, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise Unsupported(f"no Dask scheduler answers at '{limits.cluster}': {reason}") from None
    try:
        with joblib.parallel_config(backend="dask", client=client):
            yield partial(handed_out, -1)
    finally:
        client.close()


def handed_out(
    jobs: int, call: Callable[[int, Any, Share], Any], pieces: dict[int, Any], limits: Limits
) -> Iterator[tuple[int, Any]]:
    """Yield results as they come; pieces are taken from the list as long as there is time."""
    import joblib

    def waiting() -> Iterator[Any]:
        for k, piece in pieces.items():
            if limits.expired():
                return
            yield joblib.delayed(call)(k, piece, Share.of(limits))

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(waiting())


def died() -> tuple[type[BaseException], ...]:
    """Return the exceptions that say that a process died."""
    from joblib.externals.loky.process_executor import BrokenProcessPool, TerminatedWorkerError

    return BrokenProcessPool, TerminatedWorkerError


def available() -> int:
    """Return how many processors this process may use."""
    import joblib

    return int(joblib.cpu_count())
