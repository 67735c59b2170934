"""From a table of training rows to a release file, for `recon learn`."""

from __future__ import annotations

from encoders.domain import Domain
from encoders.encoder import encode
from recon.formats.writing import dump, release_json
from recon.learners.greedy_rule_list import GreedyRuleListClassifier
from recon.loading import read_domain
from recon.selections import numbers_of, read_table
from solvers.errors import ReleaseError


def greedy_rule_list_release(
    data: str,
    label: str | None,
    domain: str | None,
    independent: bool,
    *,
    width: int,
    min_support: float,
    max_length: int | None,
) -> tuple[str, list[str]]:
    """Return the text of a release file with a GreedyRL list trained on a table, and what to tell the user.

    The domain is `domain` (a file), or read off the rows. Raises `ReleaseError` for columns that are not binary.
    """
    frame = numbers_of(read_table(data))
    target = label or str(frame.columns[-1])
    if target not in frame.columns:
        raise ReleaseError(f"the data have no column '{target}', which should be the label", file=data)
    try:
        learner = GreedyRuleListClassifier(width=width, min_support=min_support, max_length=max_length)
        learner.fit(frame.drop(columns=target), frame[target])
    except ReleaseError as error:
        raise error.at(file=data) from None
    if domain is not None:
        declared = read_domain(domain)
    else:
        declared = Domain.from_frame(frame, label=target, independent=independent)
    if declared.label is None:
        raise ReleaseError("the domain has no label", file=domain or data)
    values = [declared.label.value(i) for i in range(declared.label.span[1])]
    release = encode(declared, [learner.to_model(label_values=values)])
    share = float((learner.predict(frame.drop(columns=target)) == frame[target]).mean())
    notes = [f"{len(learner.rules_)} rules, {100 * share:.1f} % of the {len(frame):,} training rows right"]
    return dump(release_json(release.domain, release.models, release.rows)), notes + [
        f"assumed: {note}" for note in declared.notes
    ]
