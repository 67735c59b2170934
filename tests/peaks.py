"""Runs commands, each in a process of its own, forked when all is imported; says code, peak memory, CPU, words."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path


def one(arguments):
    """Return what a command did: (exit code, peak bytes, CPU seconds, text on stderr)."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "err"
        child = os.fork()
        if not child:
            for stream, path in ((1, os.devnull), (2, said)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
            sys.argv = ["recon", *arguments]
            code = 99
            try:
                recon.cli.app.main()
            except SystemExit as stop:
                code = stop.code or 0
            finally:
                os._exit(code)
        _, status, used = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        return code, used.ru_maxrss << 10, used.ru_utime + used.ru_stime, said.read_text(errors="replace")


if __name__ == "__main__":
    import pandas  # noqa: F401 - so that every child has it already

    import recon.cli.app
    import recon.queries.measures.measures
    import recon.readers.frames.selections
    import recon.readers.loading.loading
    from recon.readers.formats.detection import TEXTS, _readers

    with contextlib.suppress(ImportError):
        import pyarrow.parquet  # noqa: F401

    list(_readers())
    for module, _, _ in TEXTS:
        importlib.import_module(f"recon.readers.formats.{module}")
    asked = json.load(sys.stdin)
    print(json.dumps([one(arguments) for arguments in asked]))
