"""From a table of training rows to a release file, for `recon learn`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from encoders.domain import DECLARED, Domain
from encoders.encoder import encode
from recon.formats.writing import dump, release_json
from recon.learners.estimator import RuleListClassifier
from recon.loading import read_domain
from recon.selections import numbers_of, read_table
from solvers.errors import ReleaseError
from solvers.release import Rows


@dataclass(frozen=True, eq=False)
class Training:
    """A table to learn from: its file, rows, label column and domain (declared, or read off the rows)."""

    file: str
    frame: pd.DataFrame
    label: str
    domain: Domain
    declared: bool

    @property
    def values(self) -> list[Any]:
        """Return the label's values as the domain lists them."""
        assert self.domain.label is not None
        return [self.domain.label.value(i) for i in range(self.domain.label.span[1])]


def training(data: str, label: str | None, domain: str | None, independent: bool) -> Training:
    """Return the table in a file, with the domain in `domain` (a file) or read off the rows."""
    frame = numbers_of(read_table(data))
    target = label or (str(frame.columns[-1]) if len(frame.columns) else "")
    if target not in frame.columns:
        raise ReleaseError(f"the data have no column '{target}', which should be the label", file=data)
    if domain is not None:
        declared = read_domain(domain)
    else:
        declared = Domain.from_frame(frame, label=target, independent=independent)
    if declared.label is None:
        raise ReleaseError("the domain has no label", file=domain or data)
    return Training(data, frame, target, declared, declared.source == DECLARED)


def learned_release(table: Training, learner: RuleListClassifier, publish_rows: bool = False) -> tuple[str, list[str]]:
    """Return the text of a release file with the list that a learner trains on the table, and what to tell the user.

    The number of rows is written where counts are exact, or where `publish_rows` says that it is public. Raises
    `ReleaseError` for columns that are not binary.
    """
    rows, labels = table.frame.drop(columns=table.label), table.frame[table.label]
    if table.declared and getattr(learner, "classes", ()) is None:
        learner.set_params(classes=table.values)  # public, so that the ledger need not trust the labels
    try:
        learner.fit(rows, labels)
        model = learner.to_model(label_values=table.values)
    except ReleaseError as error:
        raise error.at(file=table.file) from None
    known = Rows(len(rows), len(rows)) if model.noise is None or publish_rows else None
    release = encode(table.domain, [model], known)
    share = float((learner.predict(rows) == labels).mean())
    notes = [f"{len(learner.rules_)} rules, {100 * share:.1f} % of the {len(rows):,} training rows right"]
    ledger = getattr(learner, "ledger_", None)
    if ledger is not None:
        notes[0] += " (that share is not private: do not publish it)"
        notes += ledger.lines()
        if publish_rows and ledger.neighbours == "add_remove":
            notes.append("the exact number of rows is written too: the ledger does not cover it")
        if getattr(learner, "random_state", None) is not None:
            notes.append("a seed was given: whoever knows or guesses it knows the noise, and the ledger is void")
        if not table.declared:
            notes.append("the domain was read off the training rows, which no ledger covers: give --domain")
    notes += [f"assumed: {note}" for note in table.domain.notes]
    return dump(release_json(release.domain, release.models, release.declared)), notes
