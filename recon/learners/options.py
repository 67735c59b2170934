"""The options of `recon learn`: one for every parameter of the learners' classes, and how their texts are read."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Data = Annotated[str, typer.Argument(metavar="DATA", help="Training rows (.csv, .csv.gz, .parquet).")]
Label = Annotated[str | None, typer.Option("--label", help="Label column; by default the last.")]
Width = Annotated[int, typer.Option("--width", min=1, max=4, help="Literals per rule at most.")]
Ties = Annotated[
    Any,
    typer.Option("--ties", metavar="RULE", help="Among equally good rules: authors (the purer part) or fewest (rows)."),
]
Support = Annotated[
    str, typer.Option("--min-support", help="Share of rows needed (0.05, 1.0), or a number of them (20).")
]
Length = Annotated[int | None, typer.Option("--max-length", min=1, help="Rules at most, default included.")]
LongestRule = Annotated[int, typer.Option("--max-length", min=1, help="Rules at most, default included.")]
BeforeDefault = Annotated[int, typer.Option("--max-length", min=0, help="Rules at most, the default rule NOT counted.")]
Regularisation = Annotated[
    float, typer.Option("--regularisation", min=0.0, help="What a rule costs, in errors per training row (0.01).")
]
SearchSeconds = Annotated[float, typer.Option("--seconds", min=0.0, help="Time for the search.")]
Negations = Annotated[bool, typer.Option("--negations/--no-negations", help='Whether "column = 0" is a literal too.')]
Epsilon = Annotated[float, typer.Option("--epsilon", help="The whole privacy budget.")]
Mechanism = Annotated[
    str,
    typer.Option(
        "--mechanism",
        help="pure, smooth_laplace, smooth_cauchy, global_laplace, global_gaussian, exponential or noisy_counts.",
    ),
]
Delta = Annotated[
    float | None, typer.Option("--delta", help="Delta of mechanisms that need one; 1 / rows^2 where rows are public.")
]
Confidence = Annotated[float, typer.Option("--confidence", help="Confidence of the paper's support test.")]
Repaired = Annotated[bool, typer.Option("--repaired", help="Correct the paper's mechanisms where that is cheap.")]
Classes = Annotated[
    str | None, typer.Option("--classes", help="The label's values, with commas; by default those of the domain.")
]
Neighbours = Annotated[str, typer.Option("--neighbours", help="add_remove or replace: what privacy is about.")]
NMax = Annotated[int | None, typer.Option("--n-max", help="Public bound on the rows, for add_remove.")]
Rules = Annotated[
    str | None,
    typer.Option("--rules", help='Public rules (.json): a list of objects such as {"age:<25": 1}.'),
]
PublishRows = Annotated[bool, typer.Option("--publish-rows", help="The exact number of rows is public: write it.")]
PublicDomain = Annotated[
    bool,
    typer.Option("--domain-is-public", help="The domain comes from data rows and is public all the same: say so."),
]
PrivateSeed = Annotated[
    int | None, typer.Option("--seed", help="For experiments: anyone who knows it knows the noise. Default: secure.")
]
SamplerSeed = Annotated[int, typer.Option("--seed", help="Seed of the sampler.")]
ExpectedLength = Annotated[float, typer.Option("--expected-length", help="λ of the prior: rules expected.")]
ExpectedWidth = Annotated[float, typer.Option("--expected-width", help="η of the prior: literals expected per rule.")]
MostAntecedents = Annotated[
    int, typer.Option("--max-antecedents", min=0, help="Keep the best supported ones (0: all of them).")
]
Alpha = Annotated[str, typer.Option("--alpha", help="Beta prior of each rule, one number per class with a comma.")]
Normalised = Annotated[
    bool, typer.Option("--normalised/--not-normalised", help="Whether the likelihood keeps its normaliser.")
]
Choice = Annotated[str, typer.Option("--choice", help="point, map or sample: which list of the posterior.")]
Steps = Annotated[int, typer.Option("--steps", min=1, help="Steps of every Metropolis-Hastings chain.")]
Chains = Annotated[int, typer.Option("--chains", min=1, help="Chains.")]
EnumerateUpTo = Annotated[
    int, typer.Option("--enumerate-up-to", min=0, help="Spaces of at most so many lists are enumerated, exactly.")
]
Split = Annotated[str, typer.Option("--split", help="Parts of the budget: mining, drawing the list, counting.")]
Target = Annotated[str, typer.Option("--target", help="base_measure or monotone: the law the list is drawn from.")]
Mining = Annotated[str, typer.Option("--mining", help="private, or on the data without any privacy (the thesis).")]
MostItems = Annotated[
    int | None, typer.Option("--most-items", min=1, help="Columns that can be 1 in one row; fewer mean less noise.")
]

Depth = Annotated[int, typer.Option("--max-depth", min=1, max=20, help="Tests on a path at most.")]
LeafRows = Annotated[str, typer.Option("--min-support", help="Rows of every leaf: a share (0.05) or a number (20).")]
TreeSolver = Annotated[str, typer.Option("--solver", help="streed (extra learn), own (no extra) or dl85 (pydl8.5).")]
SolverSeconds = Annotated[
    float, typer.Option("--seconds", min=0.001, help="Time limit of the solver, and of counting ties.")
]
TiesToo = Annotated[
    bool, typer.Option("--ties", help="Count all trees that are as good: between which Dist_G they lie.")
]
Slack = Annotated[int, typer.Option("--slack", min=0, help="With --ties: trees with so many errors more, too.")]


def share_or_rows(text: str) -> float | int:
    """Return a minimum support: a whole number is rows, one with a point a share; wrong usage for neither."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise typer.BadParameter(f"--min-support is a share from 0.0 to 1.0 or a number of rows, not {text!r}")
    return share


def numbers(option: str, text: str, many: int) -> Any:
    """Return a tuple of so many numbers from a text with commas; wrong usage otherwise."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if len(found) != many:
        raise typer.BadParameter(f"{option} is {many} numbers with commas, not {text!r}")
    return found


def values(text: str | None) -> list[Any] | None:
    """Return the label's values from a text with commas, numbers where all of them are; None without a text."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    for kind in (int, float):
        try:
            return [kind(part) for part in parts]
        except ValueError:
            continue
    return list(parts)
