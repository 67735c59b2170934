"""`recon learn`: trains a model and writes it as a release file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.console import write_text
from recon.options import DomainFile, Independent
from recon.options import ReleaseOut as Out

if TYPE_CHECKING:
    from recon.learners.estimator import RuleListClassifier

learn_app = typer.Typer(
    help="Train a model and write it as a release file.", no_args_is_help=True, rich_markup_mode=None
)
Data = Annotated[str, typer.Argument(metavar="DATA", help="Training rows (.csv, .csv.gz, .parquet).")]
Label = Annotated[str | None, typer.Option("--label", help="Label column; by default the last.")]
Width = Annotated[int, typer.Option("--width", min=1, max=4, help="Literals per rule at most.")]
Support = Annotated[float, typer.Option("--min-support", min=0, max=1, help="Share of rows needed.")]
Length = Annotated[int | None, typer.Option("--max-length", min=1, help="Rules, default included.")]
Epsilon = Annotated[float, typer.Option("--epsilon", help="The whole privacy budget.")]
Neighbours = Annotated[str, typer.Option("--neighbours", help="add_remove or replace: what privacy is about.")]
Rules = Annotated[
    str | None,
    typer.Option("--rules", help='Public rules (.json): a list of objects such as {"age:<25": 1}.'),
]
PublishRows = Annotated[bool, typer.Option("--publish-rows", help="The exact number of rows is public: write it.")]
PrivateSeed = Annotated[
    int | None, typer.Option("--seed", help="For experiments: whoever knows it knows the noise. Default: secure.")
]


@learn_app.callback()
def learn() -> None:
    """Train a model and write it as a release file."""


@learn_app.command("greedy-rule-list")
def learn_greedy_rule_list(
    data: Data, out: Out = None, label: Label = None, width: Width = 1, min_support: Support = 0.05,
    max_length: Length = None, domain: DomainFile = None, independent: Independent = False,
) -> None:  # fmt: skip
    """Train GreedyRL, the paper's greedy rule list, on binary columns and write the release."""
    from recon.learners.greedy_rule_list import GreedyRuleListClassifier

    learner = GreedyRuleListClassifier(width=width, min_support=min_support, max_length=max_length)
    finish(data, label, domain, independent, learner, False, out)


@learn_app.command("dp-greedy-rule-list")
def learn_dp_greedy_rule_list(
    data: Data, epsilon: Epsilon,
    mechanism: Annotated[
        str, typer.Option("--mechanism", help="pure, smooth_laplace, smooth_cauchy, global_laplace, global_gaussian, "
                          "exponential or noisy_counts.")
    ] = "pure",
    delta: Annotated[float | None, typer.Option("--delta", help="By default 1 / rows^2, where one is needed.")] = None,
    neighbours: Neighbours = "add_remove", rules: Rules = None, out: Out = None, label: Label = None,
    width: Width = 2, min_support: Support = 0.0, max_length: Length = 5, publish_rows: PublishRows = False,
    seed: PrivateSeed = None, domain: DomainFile = None, independent: Independent = False,
) -> None:  # fmt: skip
    """Train DP-GreedyRL, write the release with its noise law, and print what every step of it guarantees."""
    from recon.learners.dp_greedy_rule_list import DPGreedyRuleListClassifier

    chosen: Any = (mechanism, neighbours)
    learner = DPGreedyRuleListClassifier(
        mechanism=chosen[0], epsilon=epsilon, delta=delta, max_length=max_length or 5, width=width,
        min_support=min_support, neighbours=chosen[1], rules=read_rules(rules), random_state=seed,
    )  # fmt: skip
    finish(data, label, domain, independent, learner, publish_rows or neighbours == "replace", out)


@learn_app.command("bayesian-rule-list")
def learn_bayesian_rule_list(
    data: Data, out: Out = None, label: Label = None, width: Width = 2, min_support: Support = 0.1,
    expected_length: Annotated[float, typer.Option("--expected-length", help="λ of the prior.")] = 3.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sampler.")] = 0,
    domain: DomainFile = None, independent: Independent = False,
) -> None:  # fmt: skip
    """Train a Bayesian rule list (Letham et al.) without privacy and write the release."""
    from recon.learners.bayesian_rule_list import BayesianRuleListClassifier

    learner = BayesianRuleListClassifier(
        width=width, min_support=min_support, expected_length=expected_length, random_state=seed
    )
    finish(data, label, domain, independent, learner, False, out)


@learn_app.command("dp-bayesian-rule-list")
def learn_dp_bayesian_rule_list(
    data: Data, epsilon: Epsilon, neighbours: Neighbours = "replace",
    n_max: Annotated[int | None, typer.Option("--n-max", help="Public bound on the rows, for add_remove.")] = None,
    rules: Rules = None, out: Out = None, label: Label = None, width: Width = 2, min_support: Support = 0.1,
    expected_length: Annotated[float, typer.Option("--expected-length", help="λ of the prior.")] = 3.0,
    publish_rows: PublishRows = False, seed: PrivateSeed = None, domain: DomainFile = None,
    independent: Independent = False,
) -> None:  # fmt: skip
    """Train DP-BRL, write the release with its noise law, and print what every step of it guarantees."""
    from recon.learners.bayesian_rule_list import DPBayesianRuleListClassifier

    relation: Any = neighbours
    learner = DPBayesianRuleListClassifier(
        width=width, min_support=min_support, expected_length=expected_length, antecedents=read_rules(rules),
        epsilon=epsilon, neighbours=relation, n_max=n_max, random_state=seed,
    )  # fmt: skip
    finish(data, label, domain, independent, learner, publish_rows or neighbours == "replace", out)


def read_rules(path: str | None) -> list[tuple[tuple[str, int], ...]] | None:
    """Return public rules from a file, None without one; `ReleaseError` where it holds something else."""
    if path is None:
        return None
    from recon.formats.release_file import read_bytes, strict_json
    from solvers.errors import ReleaseError

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


def finish(
    data: str,
    label: str | None,
    domain: str | None,
    independent: bool,
    learner: RuleListClassifier,
    publish_rows: bool,
    out: str | None,
) -> None:
    """Train, write the release, and say on standard error what was learned and what it guarantees."""
    from recon.learners.training import learned_release, training

    text, notes = learned_release(training(data, label, domain, independent), learner, publish_rows)
    write_text(text, out)
    for note in notes:
        print(note, file=sys.stderr)
