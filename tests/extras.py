"""What tests share: packages of the extras (skipped where missing, an error in CI), batches, releases, commands."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest

import recon
import recon.cli.app
from encoders.encode.encoder import encode
from recon.readers.formats.release.parts import to_domain, to_models, to_rows
from recon.readers.formats.release.reading import parse

WHEELS = {  # where a package can be installed at all; everywhere, where it is not named
    "pyganak": sys.platform in {"linux", "darwin"},
    "py_d4": sys.platform in {"linux", "win32"},
    "pyapproxmc": sys.platform in {"linux", "win32"} and sys.version_info < (3, 13),
    "pystreed": sys.version_info < (3, 13),
}


def batches(usual: int, more: int) -> list[Any]:
    """Return the numbers of batches that always run, and of more that run by hand, with the long checks."""
    more_of_them = [pytest.param(i, marks=pytest.mark.long) for i in range(usual, usual + more)]
    return [*range(usual), *more_of_them]


def some(values: Iterable[Any]) -> list[Any]:
    """Return every second of the values as it is, and the others to run with the long checks."""
    return [x if i % 2 == 0 else pytest.param(x, marks=pytest.mark.long) for i, x in enumerate(values)]


def extra(name: str) -> ModuleType:
    """Return an optional package; skips where it has no wheel (pyganak brings a pyapproxmc that counts wrong)."""
    if not WHEELS.get(name, True):
        pytest.skip(f"{name} has no wheel for this Python or system")
    demanded = os.environ.get("CI") == "true" and WHEELS.get(name, True)
    return importlib.import_module(name) if demanded else pytest.importorskip(name)


def encoded(release: dict[str, Any]) -> recon.EncodedRelease:
    """Return a release from what its file says."""
    part = parse(json.dumps(release).encode(), "memory")
    return encode(to_domain(part.domain), to_models(part), to_rows(part))


def after_verdict(text: str) -> list[str]:
    """Return the lines of a report for terminals without its first section, the verdict."""
    lines = text.splitlines()
    assert lines[2] == "Verdict"
    return lines[:2] + lines[lines.index("", 3) + 1 :]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[Any, str, str]:
    """Run a command as users do; return its exit code, standard output and standard error."""
    before, sys.argv = sys.argv, ["recon", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as stop:
            recon.cli.app.main()
    finally:
        sys.argv = before
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return stop.value.code, out, err


def with_seal(content):
    """Return a certificate with its seal put on again: what a forger does."""
    from recon.queries.certificates.certificate_format import seal_of

    return {**content, "seal": seal_of(content)}
