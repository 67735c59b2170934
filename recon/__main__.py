"""The command line, `recon` or `python -m recon`; Ctrl-C while it is being loaded or left gets a sentence too."""

import os
import signal
import sys

from recon.io.console.interrupts import stopped


def main() -> None:
    """Load the command line and run it; linear algebra uses one thread, unless `OPENBLAS_NUM_THREADS` says otherwise.

    Matrices here are small: a second thread only costs, most of all where other work shares the cores.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stopped)
    try:
        from recon.io.console.output import take_channels

        take_channels()
        from recon.cli.app import main as run

        run()
    except SystemExit:  # all is said and written: what is left is to tidy up
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
    except KeyboardInterrupt:
        print("recon: stopped before there was an answer", file=sys.stderr)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(4)


if __name__ == "__main__":
    main()
