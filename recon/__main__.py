"""`python -m recon` is the command line."""

from recon.cli import main

main()
