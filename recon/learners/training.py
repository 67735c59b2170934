"""From a table of training rows to a release file, for `recon learn`.

The file of a private learner holds nothing that was computed from the rows outside its ledger: no notes on them, no
number of rows, no domain. What is taken as public all the same (`--domain-is-public`, `--publish-rows`, a seed) is
written into the ledger, which stands in the file.

What `recon learn optimal-tree --ties` prints: how many trees are as good, and how much they give away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from encoders.domain.domain import DECLARED, Domain
from encoders.encode.encoder import encode
from encoders.models.ledger import PrivacyLedger
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from recon.learners.optimal.trees.tied_trees import Ties
from recon.learners.rule_lists.estimator import BinaryClassifier
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.frames.selections import numbers_of, read_table
from recon.readers.loading.loading import read_domain
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """A table to learn from: its file, rows, label column and domain (declared, or read off rows).

    `public`: the user says that the domain would be the same without any one person's row.
    """

    file: str
    frame: pd.DataFrame
    label: str
    domain: Domain
    declared: bool
    public: bool = False

    @property
    def values(self) -> list[Any]:
        """Return the label's values as the domain lists them."""
        assert self.domain.label is not None
        return [self.domain.label.value(i) for i in range(self.domain.label.span[1])]


def training(
    data: str, label: str | None, domain: str | None, independent: bool, public: bool = False
) -> TrainingTable:
    """Return the table in a file, with the domain in `domain` (a file) or read off the rows; see `Training.public`."""
    frame = numbers_of(read_table(data))
    target = label or (str(frame.columns[-1]) if len(frame.columns) else "")
    if target not in frame.columns:
        raise ReleaseError(f"the data have no column '{target}', which should be the label", file=data)
    if domain is not None:
        declared = read_domain(domain, independent=independent)
    else:
        declared = Domain.from_frame(frame, label=target, independent=independent)
    if declared.label is None:
        raise ReleaseError("the domain has no label", file=domain or data)
    return TrainingTable(data, frame, target, declared, declared.source == DECLARED, public)


OFF_ROWS = (
    "the domain is taken from data rows: one row more can change its values, ranges and groups, which no noise covers. "
    "Give --domain FILE with a domain declared without looking at the rows (`recon domain` writes one to edit: say "
    '"source": "declared" once every value in it is public), or --domain-is-public if it is public as it stands'
)
FROM_N = (
    "exact number of rows, which one row more or less changes: give --delta, and --min-support as a number of rows, or "
    "say that the number of rows is public (--publish-rows)"
)
PUBLIC_DOMAIN = "the domain in this file was read off data rows and is declared public (--domain-is-public)"
PUBLIC_ROWS = "the exact number of rows, {:,}, is written and declared public (--publish-rows)"
SEEDED = "a seed was given: anyone who knows or guesses it knows the noise, and this ledger is void"


def learned_release(
    table: TrainingTable, learner: BinaryClassifier, publish_rows: bool = False
) -> tuple[str, list[str]]:
    """Return the text of a release file with the model that a learner trains on the table, and what to tell the user.

    The number of rows is written where counts are exact, or where `publish_rows` says that it is public. A private
    learner (one with an `epsilon`) needs a domain that does not come from the rows, and its file carries its ledger.
    Raises `ReleaseError` for columns that are not binary, and for a private learner over a domain read off rows.
    """
    private = hasattr(learner, "epsilon")
    if private and not (table.declared or table.public):
        raise ReleaseError(OFF_ROWS, file=table.file)
    if private and not publish_rows and (named := computed_from_n(learner)):
        raise ReleaseError(f"{' and '.join(named)} would follow from the {FROM_N}", file=table.file)
    rows, labels = table.frame.drop(columns=table.label), table.frame[table.label]
    if (table.declared or table.public) and getattr(learner, "classes", ()) is None:
        learner.set_params(classes=table.values)  # public, so that the ledger need not trust the labels
    try:
        learner.fit(rows, labels)
        model = learner.to_model(label_values=table.values)
    except ReleaseError as error:
        raise error.at(file=table.file) from None
    share = float((learner.predict(rows) == labels).mean())
    notes = [f"{learner.summary()}, {100 * share:.1f} % of the {len(rows):,} training rows right"]
    known: RowCount | None = RowCount(len(rows), len(rows))
    domain = table.domain
    if private and model.noise is not None:
        notes[0] += " (that share is not private: do not publish it)"
        known = known if publish_rows else None
        ledger = _whole_ledger(table, learner, publish_rows)
        model = replace(model, noise=replace(model.noise, ledger=ledger))
        notes += ledger.lines()
        domain = replace(domain, notes=())  # notes count rows
    else:
        notes += [f"assumed: {note}" for note in domain.notes]
    release = encode(domain, [model], known)
    return dump(release_json(release.domain, release.models, release.declared)), notes


def computed_from_n(learner: Any) -> list[str]:
    """Return the parameters of a learner that would follow from the number of rows."""
    found: list[str] = learner.computed_from_n() if hasattr(learner, "computed_from_n") else []
    return found


def _whole_ledger(table: TrainingTable, learner: Any, publish_rows: bool) -> PrivacyLedger:
    """Return the ledger of a fitted private learner with all that the file declares public beside it."""
    ledger: PrivacyLedger = learner.ledger_
    notes = []
    if not table.declared:
        notes.append(PUBLIC_DOMAIN)
    if publish_rows and ledger.neighbours == "add_remove":
        notes.append(PUBLIC_ROWS.format(len(table.frame)))
    if learner.random_state is not None:
        notes.append(SEEDED)
    return ledger.with_public(notes)


WORDS = {True: "trees in which no split is needless", False: "all trees, with needless splits"}


def tie_lines(table: TrainingTable, learner: OptimalTreeClassifier, slack: int, independent: bool) -> list[str]:
    """Return a line for each number of errors, first of trees without needless splits, then of all.

    Raises `Inconclusive` and `TooLarge` where time or memory end first.
    """
    rows, labels = table.frame.drop(columns=table.label), table.frame[table.label]
    domain = None if independent else table.domain
    found = []
    for minimal, words in WORDS.items():
        found += [
            f"{_line(one)} ({words})" for one in learner.ties(rows, labels, slack=slack, minimal=minimal, domain=domain)
        ]
    return found


def _line(one: Ties) -> str:
    """Return one number of errors in words."""
    low, high = one.dist_g
    many = (
        f"{one.trees:,}" if one.trees < 10**9 else f"{float(one.trees):.3g}" if one.trees < 10**300 else "over 10^300"
    )
    return f"{one.errors:,} errors: {many} {'tree' if one.trees == 1 else 'trees'}, Dist_G from {low:.4f} to {high:.4f}"
