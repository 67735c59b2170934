"""Refusals of an inspection: they name the file, and values that no library writes end in a sentence, not a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from solvers.foundation.errors import EngineError, Inconclusive, ReconError, ReleaseError, Unsupported


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Let refusals inside name the file ("": none); unforeseen values of a file raise `ReleaseError`."""
    before = f"{file}: " if file else ""
    try:
        yield
    except ReleaseError as error:
        raise error.at(file=file) from None
    except (EngineError, Unsupported, Inconclusive) as error:
        raise type(error)(f"{before}{error}") from None
    except ReconError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        # What no reader thought of: somebody wrote values into the file that no library writes there.
        message = f"holds values that no such file has ({type(error).__name__}: {error})"
        raise ReleaseError(message, file=file) from error
