"""`recon learn`: trains a model and writes it as a release file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from recon.cli.session import DomainFile, Independent
from recon.cli.session import ReleaseOut as Out
from recon.io.console.guarding import GuardedTyper
from recon.io.console.output import print_lines, write_text
from recon.learners.options import (
    Alpha,
    BeforeDefault,
    Chains,
    Choice,
    Classes,
    Confidence,
    Data,
    Delta,
    Depth,
    EnumerateUpTo,
    Epsilon,
    ExpectedLength,
    ExpectedWidth,
    Label,
    LeafRows,
    Length,
    LongestRule,
    Mechanism,
    Mining,
    MostAntecedents,
    MostItems,
    Negations,
    Neighbours,
    NMax,
    Normalised,
    PrivateSeed,
    PublicDomain,
    PublishRows,
    Regularisation,
    Repaired,
    Rules,
    SamplerSeed,
    SearchSeconds,
    Slack,
    SolverSeconds,
    Split,
    Steps,
    Support,
    Target,
    Ties,
    TiesToo,
    TreeSolver,
    Width,
    numbers,
    share_or_rows,
    values,
)

if TYPE_CHECKING:
    from recon.learners.rule_lists.estimator import BinaryClassifier

learn_app = GuardedTyper(
    help="Train a model and write it as a release file.", no_args_is_help=True, rich_markup_mode=None
)


@learn_app.callback()
def learn() -> None:
    """Train a model and write it as a release file."""


@learn_app.command("greedy-rule-list")
def learn_greedy_rule_list(
    data: Data, out: Out = None, label: Label = None, width: Width = 1, min_support: Support = "0.05",
    max_length: Length = None, negations: Negations = True, ties: Ties = "authors", domain: DomainFile = None,
    independent: Independent = False,
) -> None:  # fmt: skip
    """Train GreedyRL, the paper's greedy rule list, on binary columns and write the release."""
    from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

    learner = GreedyRuleListClassifier(
        width=width, min_support=share_or_rows(min_support), max_length=max_length, negations=negations,
        ties=ties,
    )  # fmt: skip
    _finish(data, label, domain, independent, learner, out=out)


@learn_app.command("optimal-rule-list")
def learn_optimal_rule_list(
    data: Data, out: Out = None, label: Label = None, width: Width = 1, min_support: Support = "0.05",
    max_length: BeforeDefault = 5, negations: Negations = True, regularisation: Regularisation = 0.0,
    search_seconds: SearchSeconds = 60.0, domain: DomainFile = None, independent: Independent = False,
) -> None:  # fmt: skip
    """Train the rule list with the fewest training errors, say what is proved about it, and write the release."""
    from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier

    learner = OptimalRuleListClassifier(
        max_length=max_length, min_support=share_or_rows(min_support), negations=negations,
        regularisation=regularisation, seconds=search_seconds, width=width,
    )  # fmt: skip
    _finish(data, label, domain, independent, learner, out=out)
    print_lines(*learner.verdict(), file=sys.stderr)


@learn_app.command("dp-greedy-rule-list")
def learn_dp_greedy_rule_list(
    data: Data, epsilon: Epsilon, mechanism: Mechanism = "pure", delta: Delta = None,
    neighbours: Neighbours = "add_remove", rules: Rules = None, out: Out = None, label: Label = None,
    width: Width = 2, min_support: Support = "0", max_length: LongestRule = 5, confidence: Confidence = 0.99,
    negations: Negations = True, classes: Classes = None, repaired: Repaired = False,
    publish_rows: PublishRows = False, seed: PrivateSeed = None, domain: DomainFile = None,
    domain_is_public: PublicDomain = False, independent: Independent = False,
) -> None:  # fmt: skip
    """Train DP-GreedyRL, write the release with its noise law, and print what every step of it guarantees."""
    from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier

    chosen: Any = (mechanism, neighbours)
    learner = DPGreedyRuleListClassifier(
        mechanism=chosen[0], epsilon=epsilon, delta=delta, max_length=max_length, width=width,
        min_support=share_or_rows(min_support), confidence=confidence, neighbours=chosen[1], negations=negations,
        rules=read_rules(rules), classes=values(classes), repaired=repaired, random_state=seed,
    )  # fmt: skip
    _finish(
        data, label, domain, independent, learner, out=out,
        publish_rows=publish_rows or neighbours == "replace", domain_is_public=domain_is_public,
    )  # fmt: skip


@learn_app.command("bayesian-rule-list")
def learn_bayesian_rule_list(
    data: Data, rules: Rules = None, out: Out = None, label: Label = None, width: Width = 2,
    min_support: Support = "0.1", max_antecedents: MostAntecedents = 300, max_length: Length = None,
    expected_length: ExpectedLength = 3.0, expected_width: ExpectedWidth = 1.0, alpha: Alpha = "1,1",
    normalised: Normalised = True, negations: Negations = False, choice: Choice = "point", steps: Steps = 5_000,
    chains: Chains = 4, enumerate_up_to: EnumerateUpTo = 120_000, seed: SamplerSeed = 0, domain: DomainFile = None,
    independent: Independent = False,
) -> None:  # fmt: skip
    """Train a Bayesian rule list (Letham et al.) without privacy and write the release."""
    from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier

    chosen: Any = choice
    learner = BayesianRuleListClassifier(
        width=width, min_support=share_or_rows(min_support), max_antecedents=max_antecedents or None,
        max_length=max_length, expected_length=expected_length, expected_width=expected_width,
        alpha=numbers("--alpha", alpha, 2), normalised=normalised, antecedents=read_rules(rules), negations=negations,
        choice=chosen, steps=steps, chains=chains, enumerate_up_to=enumerate_up_to, random_state=seed,
    )  # fmt: skip
    _finish(data, label, domain, independent, learner, out=out)


@learn_app.command("dp-bayesian-rule-list")
def learn_dp_bayesian_rule_list(
    data: Data, epsilon: Epsilon, neighbours: Neighbours = "replace", n_max: NMax = None, rules: Rules = None,
    out: Out = None, label: Label = None, width: Width = 2, min_support: Support = "0.1",
    max_antecedents: MostAntecedents = 300, max_length: Length = None, expected_length: ExpectedLength = 3.0,
    expected_width: ExpectedWidth = 1.0, alpha: Alpha = "1,1", normalised: Normalised = True,
    negations: Negations = False, split: Split = "1,1,1", target: Target = "base_measure", mining: Mining = "private",
    most_items: MostItems = None, classes: Classes = None, steps: Steps = 5_000, chains: Chains = 4,
    enumerate_up_to: EnumerateUpTo = 120_000, publish_rows: PublishRows = False, seed: PrivateSeed = None,
    domain: DomainFile = None, domain_is_public: PublicDomain = False, independent: Independent = False,
) -> None:  # fmt: skip
    """Train DP-BRL, write the release with its noise law, and print what every step of it guarantees."""
    from recon.learners.rule_lists.bayesian_rule_list import DPBayesianRuleListClassifier

    chosen: Any = (neighbours, target, mining)
    learner = DPBayesianRuleListClassifier(
        width=width, min_support=share_or_rows(min_support), max_antecedents=max_antecedents or None,
        max_length=max_length, expected_length=expected_length, expected_width=expected_width,
        alpha=numbers("--alpha", alpha, 2), normalised=normalised, antecedents=read_rules(rules), negations=negations,
        epsilon=epsilon, split=numbers("--split", split, 3), neighbours=chosen[0], n_max=n_max, target=chosen[1],
        mining=chosen[2], most_items=most_items, classes=values(classes), steps=steps, chains=chains,
        enumerate_up_to=enumerate_up_to, random_state=seed,
    )  # fmt: skip
    _finish(
        data, label, domain, independent, learner, out=out,
        publish_rows=publish_rows or neighbours == "replace", domain_is_public=domain_is_public,
    )  # fmt: skip


@learn_app.command("optimal-tree")
def learn_optimal_tree(
    data: Data, max_depth: Depth = 3, min_support: LeafRows = "0.05", solver: TreeSolver = "streed",
    solver_seconds: SolverSeconds = 60.0, ties: TiesToo = False, slack: Slack = 0, out: Out = None, label: Label = None,
    domain: DomainFile = None, independent: Independent = False,
) -> None:  # fmt: skip
    """Train the tree with the fewest training errors, say whether that is proved, and write the release."""
    from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
    from recon.learners.training import tie_lines, training

    chosen: Any = solver
    learner = OptimalTreeClassifier(
        max_depth=max_depth, min_support=share_or_rows(min_support), seconds=solver_seconds, solver=chosen
    )
    _finish(data, label, domain, independent, learner, out=out)
    if ties:
        print_lines(
            *tie_lines(training(data, label, domain, independent), learner, slack, independent), file=sys.stderr
        )


def read_rules(path: str | None) -> list[tuple[tuple[str, int], ...]] | None:
    """Return public rules from a file, None without one; `ReleaseError` where it holds something else."""
    if path is None:
        return None
    from recon.io.files.opening import read_bytes
    from recon.readers.formats.release.reading import strict_json
    from solvers.foundation.errors import ReleaseError

    try:
        found = strict_json(read_bytes(path)[0].decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ReleaseError(f"is not UTF-8 text (byte {error.start})", file=path) from None
    except ReleaseError as error:
        raise error.at(file=path) from None
    if not isinstance(found, list) or not found:
        raise ReleaseError('public rules are a list of objects such as {"age:<25": 1}', file=path)
    for i, rule in enumerate(found):
        if not isinstance(rule, dict) or not rule or any(v not in (0, 1) for v in rule.values()):
            raise ReleaseError(f"a rule is an object column -> 0 or 1, not {rule!r}", place=f"[{i}]", file=path)
    return [tuple((str(name), int(value)) for name, value in rule.items()) for rule in found]


def _finish(
    data: str, label: str | None, domain: str | None, independent: bool, learner: BinaryClassifier, *,
    out: str | None, publish_rows: bool = False, domain_is_public: bool = False,
) -> None:  # fmt: skip
    """Train, write the release, and say on standard error what was learned and what it guarantees."""
    from recon.learners.training import learned_release, training

    table = training(data, label, domain, independent, domain_is_public)
    text, notes = learned_release(table, learner, publish_rows)
    write_text(text, out)
    print_lines(*notes, file=sys.stderr)
