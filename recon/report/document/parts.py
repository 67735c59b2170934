"""The parts of the document: one struct each, with what it means; see `recon.report.document.schema`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, defstruct

from recon.release.policies.facts import FIGURES, End, FigureShape, Help

MAX_WHOLE, MAX_NUMBER = 2**63 - 1, 1e300  # of whole numbers and of others: what is larger is an error, or no number
Whole = Annotated[int, Meta(ge=0, le=MAX_WHOLE)]
Float = Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Number = Annotated[int, Meta(ge=-MAX_WHOLE, le=MAX_WHOLE)] | Float  # constraints belong to one type each
Interval = Annotated[
    tuple[Number, Number | None],
    Meta(description="[least, most]; most null: no upper end is known."),
]
Status = Annotated[str, Meta(description="exact, bounds, unsat, empty or unknown.")]
Outcome = Literal["met", "violated", "inconclusive"]


class Part(Struct, kw_only=True):
    """Base of everything in the document."""


class Made(Part):
    """Which recon made the document: version, date (UTC), command, seconds, version of Python."""

    recon: str
    date: str | None = None
    command: str | None = None
    seconds: Float | None = None
    python: str | None = None


class File(Part):
    """A file that was audited: name, SHA-256, what it holds (tree, forest, rule_list, ...), how it is written."""

    file: str
    sha256: str | None = None
    kind: str | None = None
    format: str | None = None


class Audited(Part):
    """What was audited: files, rows, attributes (of the domain), columns, the label's name, kinds of counts."""

    files: list[File]
    rows: Interval | None = None
    attributes: Whole | None = None
    columns: Whole | None = None
    label: str | None = None
    kinds_of_counts: list[str] = []


class Group(Part):
    """A group of rows: its name, its condition in words, and its number of rows."""

    name: str
    rows: Interval
    where: str = ""
    how: Annotated[str, Meta(description="How it is proved, where nobody published it.")] = ""


class ClassGroup(Part, rename={"cls": "class"}):
    """The rows of one class in a group."""

    name: str
    rows: Interval
    cls: str | None = None


class ClassDisclosure(Part):
    """Groups whose rows are all of one class."""

    rows: Interval
    groups: list[ClassGroup] = []
    groups_in_all: Whole = 0


class TargetDisclosure(Part):
    """Rows whose numeric target is published exactly."""

    rows: Interval


class NotUsed(Part):
    """Something published that no statement carries: why, the end that each figure loses, what would help."""

    why: str
    opens: dict[str, End]
    would_help: Help = ""


class Stored(Part):
    """Something that a file stores outright; `removable`: a copy without it predicts the same."""

    level: str
    what: str
    file: str = ""
    rule: str = ""
    path: str = ""
    follows: str = ""
    remedy: str = ""
    removable: bool = False
    worked_out: Annotated[bool, Meta(description="What follows from it is in the other figures.")] = False


class Verdict(Part):
    """What is known of a given profile: certain, possible, impossible, outside (of the domain) or unknown."""

    position: Whole
    verdict: str


def _form(shape: FigureShape) -> Any:
    """Return the type of a figure in JSON."""
    forms = {"interval": Interval, "number": Float, "rows": ClassDisclosure if shape.groups else TargetDisclosure}
    found: Any = forms[shape.form]
    return Annotated[found | None, Meta(description=shape.about)] if shape.about else found | None


_FIGURES = [(key, _form(shape), None) for key, shape in FIGURES.items()]
if TYPE_CHECKING:

    class Figures(Part):
        """The figures, as `recon.release.policies.facts.FIGURES` lists them."""

else:
    Figures = defstruct("Figures", _FIGURES, bases=(Part,), kw_only=True)


class Facts(Figures, Part):
    """The figures that a policy looks at; a figure is null where it is not known or does not apply."""

    status: Status
    not_known: Annotated[dict[str, str], Meta(description="Why a figure is null, by its key.")] = {}
    not_applicable: Annotated[
        dict[str, str], Meta(description="Why a figure is null because the release has nothing of the kind.")
    ] = {}
    not_listed: Annotated[
        dict[str, str], Meta(description="Why there may be smaller groups or cells than those listed.")
    ] = {}
    why_open: Annotated[dict[str, str], Meta(description="Why the ends of a figure are apart, by its key.")] = {}
    assumed: Annotated[dict[str, str], Meta(description="What a figure takes for granted, by its key.")] = {}
    would_help: Annotated[
        dict[str, Help], Meta(description="What would settle a figure, by its key; not listed: no option would.")
    ] = {}
    not_used: Annotated[list[NotUsed], Meta(description="What was published and not used.")] = []
    profiles_in_all: Annotated[
        dict[str, Whole] | None, Meta(description="How many people have each verdict; null: nobody was asked about.")
    ] = None
    groups: Annotated[list[Group], Meta(description="Groups that are not empty, the smallest first.")] = []
    groups_in_all: Whole = 0
    cells: Annotated[list[ClassGroup], Meta(description="Rows of one class in a group, the fewest first.")] = []
    cells_in_all: Whole = 0
    classes_by_position: Annotated[
        list[Group] | None, Meta(description="What is proved by position, per class, the most exposed first.")
    ] = None
    kinds_of_counts: list[str] | None = None
    no_merging: Annotated[str | None, Meta(description="Why recon remedy cannot merge its groups; empty: it may.")] = (
        None
    )
    stored: list[Stored] | None = None
    stored_inspected: bool = False
    profiles: list[Verdict] | None = None
    confidence: Float | None = 1.0


class Place(Part):
    """Where a policy is not met."""

    name: str
    where: str = ""
    rows: Interval | None = None


class Check(Part):
    """One threshold of a policy, what was found, and what to do."""

    rule: str
    title: str
    found: str
    outcome: Literal["met", "violated", "inconclusive", "not applicable"]
    sentence: str
    threshold: Any = None
    source: str = ""
    remedy: str = ""
    would_help: Annotated[Help, Meta(description="What would settle an open check: an option of the audit.")] = ""
    places: list[Place] = []
    places_in_all: Whole = 0


class PolicyPart(Part):
    """The policy: its name, file, SHA-256 and what it extends."""

    name: str
    file: str | None = None
    sha256: str | None = None
    extends: list[str] = []


class GivenAway(Part):
    """Something that is proved to be given away of single people, whatever the policy asks for."""

    fact: str
    sentence: str
    place: str = ""
    rows: Interval | None = None


class Assessment(Part):
    """What a policy says of the facts."""

    policy: PolicyPart
    outcome: Outcome
    verdict: Literal["release", "release with changes", "do not release", "not assessed"]
    sentence: str
    checks: list[Check] = []
    gives_away: list[GivenAway] = []


class AttributeBits(Part, rename={"bound": "is"}):
    """What is revealed of one attribute: bits per person before, revealed (mean), the share, people known for sure.

    `bits_status`: "at least" where the bits revealed are a lower bound; `why` they are not known. `is`: the same under
    its earlier name, for one version.
    """

    name: str
    bits_before: Float | None = None
    bits_revealed: Float | None = None
    share: Float | None = None
    forced_rows: Whole | None = None
    bits_status: str | None = None
    bound: str | None = None
    why: str | None = None


class ForcedRows(Part):
    """Rows of which every value is certain."""

    where: str
    rows: Whole


class ForcedValue(Part):
    """A value that everybody in a group has."""

    group: str
    attribute: str
    value: str
    rows: Whole


class Forced(Part):
    """What is certain, in every possible world."""

    rows: list[ForcedRows] = []
    rows_in_all: Whole = 0
    values: list[ForcedValue] = []
    values_in_all: Whole = 0


class Node(Part):
    """A test or a leaf of a tree, or a rule; `share_left`: of the bits of its most exposed rows."""

    id: Whole
    text: str
    rows: Interval
    then: Whole | None = None
    otherwise: Whole | None = None
    classes: list[tuple[str, Whole]] | None = None
    share_left: Float | None = None


class Drawing(Part):
    """The model as nodes: of a tree by `then` and `otherwise`; of a list the rules in order."""

    kind: Literal["tree", "list"]
    nodes: list[Node]
    root: Whole = 0
    note: str = ""


class Remedy(Part):
    """The figures of the audit under a remedy."""

    remedy: str
    kind: str = ""
    setting: Any = None
    pinned: Interval | None = None
    bits_left_per_person: Interval | None = None
    least_bits_left: Interval | None = None
    smallest_group: Interval | None = None
    class_disclosed_rows: Interval | None = None
    outcome: Outcome | None = None
    accuracy: Float | None = None
    rows_judged: Whole | None = None
    status: str = ""
    seconds: Float | None = None
    note: str = ""
    command: str | None = None


class CertificateOf(Part):
    """A claim with its certificate, and the command that checks it again."""

    about: str
    certificate: str | None = None
    command: str | None = None


class How(Part):
    """How the figures were computed."""

    conventions: list[tuple[str, str]] = []
    numbers: Annotated[list[tuple[str, str, str | None]], Meta(description="What, its status, the engine.")] = []
    engines: Annotated[list[tuple[str, str]], Meta(description="Engine, what it said.")] = []
    limits: dict[str, Any] = {}
    seed: Whole | None = None
    certificates: list[CertificateOf] = []
    seconds: Float | None = None


class Exposed(Part, rename={"cls": "class"}):
    """A group with its rows of one class: how many raw rows each can be, and the bits left of a person in it."""

    name: str
    rows: Interval
    where: str = ""
    cls: str | None = None
    worlds_per_row: str | None = None
    bits_left: Float | None = None
    bits_removed: Float | None = None
    share_left: Float | None = None
    share_of_rows_at_most: Float | None = None


class MeanExposure(Part):
    """Bits left about a person whose group is known, the mean over all people, and those before."""

    bits_left: Float
    bits_before: Float


class IntervalCell(Part):
    """A cell without an exact count: what was published of it, and what it can still be."""

    name: str
    published: Annotated[tuple[Whole | None, Whole | None], Meta(description="[least, most] as published.")]
    feasible: Annotated[tuple[Whole, Whole], Meta(description="[least, most] in any possible world.")]
    suppressed: str | None = None
    width: Whole | None = None
    recovered: bool = False
    tight: bool = False
