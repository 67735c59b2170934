"""The command line, `recon` or `python -m recon`; Ctrl-C while it is still being loaded gets a sentence too."""

import sys

from recon.io.console.output import take_channels


def main() -> None:
    """Load the command line and run it."""
    take_channels()
    try:
        from recon.cli.app import main as run
    except KeyboardInterrupt:
        print("recon: stopped before there was an answer", file=sys.stderr)
        sys.exit(4)
    run()


if __name__ == "__main__":
    main()
