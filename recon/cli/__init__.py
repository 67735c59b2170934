"""The command line: every command asks one question of a release and prints the answer.

>>> from typer.testing import CliRunner
>>> from recon.cli.app import app
>>> CliRunner().invoke(app, ["engines"]).exit_code
0
"""

__all__ = ["app"]
