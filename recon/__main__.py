"""The command line, `recon` or `python -m recon`; Ctrl-C while it is still being loaded gets a sentence too."""

import io
import os
import sys


def stdout_for_us_alone() -> None:
    """Leave standard output to what recon prints: native solvers write debugging lines into it, whatever one asks."""
    try:
        ours = sys.stdout.fileno() == 1
    except (AttributeError, OSError, ValueError):  # there is none, or it is no file
        return
    if ours:
        sys.stdout.flush()
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        here = sys.stdout
        sys.stdout = io.TextIOWrapper(os.fdopen(kept, "wb"), here.encoding, here.errors, line_buffering=here.isatty())


def main() -> None:
    """Load the command line and run it."""
    stdout_for_us_alone()
    try:
        from recon.cli.app import main as run
    except KeyboardInterrupt:
        print("recon: stopped before there was an answer", file=sys.stderr)
        sys.exit(4)
    run()


if __name__ == "__main__":
    main()
