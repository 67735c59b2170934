"""Independent pieces of work, done one after the other, on local processes, or on a Dask cluster.

One interface for all three: `completed` yields each piece's result once, as soon as it is there. Processes come from
joblib (loky); on a cluster joblib hands pieces to Dask, which does those of a worker that died again.
Source: https://joblib.readthedocs.io, https://distributed.dask.org ("Resilience").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from solvers.foundation.errors import EngineError
from solvers.foundation.limits import Limits
from solvers.parallel.backends import Share, backend, died

P = TypeVar("P")
R = TypeVar("R")
TRIES = 3  # times that pieces are handed out anew after a process that worked on one of them died


def completed(
    function: Callable[[P, Limits], R], pieces: Sequence[P], limits: Limits, *, what: str = "pieces"
) -> Iterator[tuple[int, R]]:
    """Yield (number of the piece, function(piece, limits)), every piece at most once, in the order they are done.

    With `limits.workers` above 1 or `limits.cluster` the function, the pieces and the results are pickled, the function
    is one of a module, and pieces are done in no particular order. No piece is begun when time is up or somebody asked
    to stop: those left out are not yielded. An exception of the function ends the iteration. Raises `Unsupported` where
    the cluster cannot be reached or Dask is not installed, `EngineError` where processes die again and again.
    """
    if not limits.cluster and (limits.workers <= 1 or len(pieces) <= 1):
        alone = replace(limits, workers=1, cluster=None)
        for k, piece in enumerate(pieces):
            if limits.expired():
                return
            limits.report(f"{what}: {k + 1} of {len(pieces)}")
            yield k, function(piece, alone)
        return
    left, tries = dict(enumerate(pieces)), 0
    with backend(limits) as run:
        while left and not limits.expired():
            waiting = dict(left)
            try:
                for k, result in run(partial(one, function), waiting, limits):
                    if left.pop(k, None) is not None:
                        limits.report(f"{what}: {len(pieces) - len(left)} of {len(pieces)}")
                        yield k, result
                return
            except died() as error:
                tries += 1
                if tries >= TRIES:
                    raise EngineError(
                        f"processes that worked on {what} died {TRIES} times ({len(left)} of {len(pieces)} left), most "
                        f"likely for want of memory: use fewer workers ({type(error).__name__})"
                    ) from None


def one(function: Callable[[P, Limits], R], k: int, piece: P, share: Share) -> tuple[int, R]:
    """Return a piece's number and result; called where the piece is done."""
    return k, function(piece, share.limits())
