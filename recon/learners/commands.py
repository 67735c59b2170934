"""`recon learn`: trains a model and writes it as a release file."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from recon.console import write_text
from recon.options import DomainFile, Independent, Out

learn_app = typer.Typer(
    help="Train a model and write it as a release file.", no_args_is_help=True, rich_markup_mode=None
)


@learn_app.callback()
def learn() -> None:
    """Train a model and write it as a release file."""


@learn_app.command("greedy-rule-list")
def learn_greedy_rule_list(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Training rows (.csv, .csv.gz, .parquet).")],
    out: Out = None,
    label: Annotated[str | None, typer.Option("--label", help="Label column; by default the last.")] = None,
    width: Annotated[int, typer.Option("--width", min=1, max=4, help="Literals per rule at most.")] = 1,
    min_support: Annotated[float, typer.Option("--min-support", min=0, max=1, help="Share of rows needed.")] = 0.05,
    max_length: Annotated[int | None, typer.Option("--max-length", min=1, help="Rules, default included.")] = None,
    domain: DomainFile = None, independent: Independent = False,
) -> None:  # fmt: skip
    """Train GreedyRL, the paper's greedy rule list, on binary columns and write the release."""
    from recon.learners.training import greedy_rule_list_release

    text, notes = greedy_rule_list_release(
        data, label, domain, independent, width=width, min_support=min_support, max_length=max_length
    )
    write_text(text, out)
    for note in notes:
        print(note, file=sys.stderr)
