"""What policies look at: the figures of an audit, each an interval, or not known with the reason, or without meaning.

    Known(low, high)      the figure is at least `low` and, in every possible world, at most `high` (None: open)
    Unknown(why, help)    nothing is known of it; `help` names what would settle it, "" where no option of users does
    Absent(why)           the release has nothing of the kind

**Evidence is added by three functions, each of which returns new facts:**

    facts.with_figure("pinned", Known(3, 10))       sets a figure
    facts.with_groups("smallest_group", proved,     groups that are proved, published or not: name, rows [least, most],
                      none_below=12)                where, how; `none_below`: proved that no group has 1 to 11 rows
    facts.opened([Unused("...", ROW_FIGURES)])      what was published and no statement carries: `opens` names the
                                                    figures and which of their ends it takes away

`smallest_group` (`smallest_cell`) lies between what is proved not to exist (no group has 1 to low - 1 rows) and the
smallest group that is proved to have a row. What is opened stays so: a figure's `why` then says what was not used.
In JSON (`facts` of a report) figures are [least, most] or null, and `not_known`, `not_applicable`, `not_listed`,
`why_open`, `would_help` and `not_used` hold the rest; `Facts.of_json` reads them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

End = Literal["lower", "upper", "both"]
Help = Literal["", "domain", "limits", "rows", "profiles", "inspection", "audit", "strip"]
LISTED = 10_000  # groups and cells that are listed, the smallest first
NOT_WORKED_OUT = "it was not worked out"


@dataclass(frozen=True, slots=True)
class KnownFigure:
    """A figure between two ends, as far as is known; `why` they are apart, what would help, what it assumes."""

    low: float
    high: float | None
    why: str = ""
    help: Help = ""
    assumes: str = ""


@dataclass(frozen=True, slots=True)
class UnknownFigure:
    """A figure of which nothing is known: why, and what would help."""

    why: str
    help: Help = ""


@dataclass(frozen=True, slots=True)
class AbsentFigure:
    """A figure that does not apply, and why."""

    why: str


Figure = KnownFigure | UnknownFigure | AbsentFigure
Place = Mapping[str, Any]  # a group: name, rows [least, most]; where or class; how it is proved


@dataclass(frozen=True, slots=True)
class FigureShape:
    """How a figure stands in JSON, its least value, whether it counts people, and its groups' key.

    `form`: "interval", "number" (one number) or "rows" (an object with `rows`). `rare`: of few kinds of releases, and
    in JSON only where it applies.
    """

    form: Literal["interval", "number", "rows"] = "interval"
    least: float = 0
    people: bool = False
    groups: str = ""
    about: str = ""
    rare: bool = False


FIGURES: dict[str, FigureShape] = {
    "rows": FigureShape(people=True),
    "pinned": FigureShape(people=True, about="People whose every attribute is known, in every possible world."),
    "bits_before_per_person": FigureShape("number"),
    "bits_left_per_person": FigureShape(about="Bits, on average."),
    "least_bits_left": FigureShape(about="Bits about the most exposed person, given the group they are in."),
    "smallest_group": FigureShape(
        least=1, people=True, groups="groups", about="Rows of the smallest group that has any."
    ),
    "smallest_cell": FigureShape(least=1, people=True, groups="cells",
                                 about="Fewest rows of one class in a group, not 0."),
    "class_disclosure": FigureShape("rows", people=True, groups="pure"),
    "target_disclosure": FigureShape("rows", people=True),
    "labels_by_position": FigureShape(
        people=True, about="Rows whose label is proved by where they stood in the training file."
    ),
    "values_by_position": FigureShape(
        about="Values of attributes that are proved by the position of their row in the training file."
    ),
    "hidden_width": FigureShape(
        about="Rows between the least and the most that the narrowest hidden cell of a table can still be."
    ),
    "rounded_width": FigureShape(
        rare=True, about="Rows between the least and the most that the narrowest rounded count of a table can still be."
    ),
    "freedom": FigureShape(rare=True, about="Rows less coefficients, of the regression that has the fewest."),
    "survival_step": FigureShape(
        rare=True, about="People who left between two published times of a survival curve, where they were fewest."
    ),
    "removed_pinned": FigureShape(about="People who left since an earlier version, known with every value."),
    "removed_candidates": FigureShape(
        least=1, about="Fewest different rows of which one surely left since an earlier version."
    ),
}  # fmt: skip
RARE = frozenset(key for key, shape in FIGURES.items() if shape.rare)
FOR_POLICIES = frozenset(
    {"hidden_width", "magnitudes", *RARE}
)  # figures of tables that pages say nothing of: policies ask
TOLD = ("not_known", "not_applicable", "not_listed", "why_open", "would_help", "assumed")  # texts by the figure's key
OTHERS = (
    "classes_by_position",
    "kinds_of_counts",
    "no_merging",
    "profiles",
    "profiles_in_all",
    "stored",
    "stored_inspected",
)  # facts that are no figures
Opens = Mapping[str, End]
ROW_FIGURES: Opens = {
    "pinned": "upper", "least_bits_left": "lower", "bits_left_per_person": "lower", "values_by_position": "upper"
}  # fmt: skip
LABEL_FIGURES: Opens = {
    "class_disclosure": "upper", "target_disclosure": "upper", "labels_by_position": "upper", **ROW_FIGURES
}  # fmt: skip
SIZE_FIGURES: Opens = {"smallest_group": "lower", "smallest_cell": "lower"}
EVERY_FIGURE: Opens = {**LABEL_FIGURES, **SIZE_FIGURES}


@dataclass(frozen=True)
class UnusedFigure:
    """Something published that no statement carries, so that it may say more than what was worked out.

    `opens`: figure and the end that it loses: "upper" (there may be more), "lower" (there may be less), "both".
    """

    why: str
    opens: Opens
    help: Help = ""


@dataclass(frozen=True)
class SmallGroups:
    """Groups, those with the fewest rows first, how many there are in all, and why there may be smaller ones."""

    each: Sequence[Place] = ()
    in_all: int | None = 0
    further: str = ""


class ToldFacts(dict[str, Any]):
    """The `facts` object of a report, beside the figures that it was made of: what does not apply stands in these."""

    table: FactTable


@dataclass(frozen=True)
class FactTable:
    """The figures of an audit by key (`FIGURES`), their groups by key, and what are no figures (`OTHERS`)."""

    status: str = "unknown"
    confidence: float | None = 1.0
    figures: Mapping[str, Figure] = field(default_factory=dict)
    groups: Mapping[str, SmallGroups] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)
    unused: tuple[UnusedFigure, ...] = ()

    def __getitem__(self, key: str) -> Figure:
        """Return a figure."""
        return self.figures.get(key, UnknownFigure(NOT_WORKED_OUT))

    def listed(self, key: str) -> SmallGroups:
        """Return the groups of a figure."""
        return self.groups.get(FIGURES[key].groups, SmallGroups())

    @property
    def everybody(self) -> float | None:
        """Return the most rows that there can be, None where that is open."""
        rows = self["rows"]
        return rows.high if isinstance(rows, KnownFigure) else None

    def with_figure(self, key: str, figure: Figure) -> FactTable:
        """Return the facts with another figure under a key."""
        return replace(self, figures={**self.figures, key: figure})

    def with_groups(
        self, key: str, proved: Sequence[Place] = (), *, none_below: int | None = None, further: str = "",
        help: Help = "",
    ) -> FactTable:  # fmt: skip
        """Return the facts with proved groups among those of a figure, which then is no larger than they are.

        `none_below`: it is proved that no group at all has 1 to none_below - 1 rows. A proved group is no smaller than
        it says of a world whose region has many rows (`reached`). `further`: why there may be smaller ones than those
        listed, after which the figure is at least 1; `help`: what would settle it.
        """
        figure, listed = self[key], self.listed(key)
        now = figure if isinstance(figure, KnownFigure) else KnownFigure(1, None) if proved else None
        if now is None:
            return self
        filled = [one for one in proved if one["rows"][0]]
        proved = [{key: value for key, value in one.items() if key != "reached"} for one in proved]
        low = min([now.low, *(one.get("reached", one["rows"][0]) for one in filled)])
        high = min([most for most in (now.high, *(one["rows"][1] for one in filled)) if most is not None], default=None)
        if none_below is not None:
            low = max(1, none_below)
        if further:
            low = 1
        why, helping = (further, help) if further else (now.why, now.help)
        each = sorted([*proved, *listed.each], key=lambda one: (one["rows"][0], one["rows"][1] is None))[:LISTED]
        groups = SmallGroups(
            each, None if listed.in_all is None else listed.in_all + len(proved), further or listed.further
        )
        found = self.with_figure(
            key, KnownFigure(low, high, why, helping, now.assumes) if low != high else KnownFigure(low, high)
        )
        return replace(found, groups={**self.groups, FIGURES[key].groups: groups})

    def opened(self, unused: Iterable[UnusedFigure]) -> FactTable:
        """Return the facts without the ends that something unused takes away; what does not apply stays so."""
        figures, groups, unused = dict(self.figures), dict(self.groups), tuple(unused)
        for one in unused:
            for key, end in one.opens.items():
                shape, found = FIGURES[key], figures.get(key)
                if not isinstance(found, KnownFigure):
                    continue
                low = found.low if end == "upper" else shape.least
                high = found.high if end == "lower" else self.everybody if shape.people else None
                why = "; ".join(dict.fromkeys(filter(None, [found.why, one.why])))
                help = one.help if found.help == one.help or not found.why else ""
                figures[key] = KnownFigure(low, high, why, help, found.assumes) if low != high else found
                if shape.groups and end != "upper":
                    held = groups.get(shape.groups, SmallGroups())
                    further = "; ".join(dict.fromkeys(filter(None, [held.further, one.why])))
                    groups[shape.groups] = replace(held, further=further)
        return replace(self, figures=figures, groups=groups, unused=(*self.unused, *unused))

    def to_json(self) -> dict[str, Any]:
        """Return the `facts` object of a report."""
        out: dict[str, Any] = {"status": self.status, "confidence": self.confidence}
        told = {key: one for key, one in self.figures.items() if key not in RARE or not isinstance(one, AbsentFigure)}
        for key, shape in FIGURES.items():
            if shape.rare and key not in told:
                continue
            figure, listed = self[key], self.groups.get(shape.groups, SmallGroups())
            ends = [figure.low, figure.high] if isinstance(figure, KnownFigure) else None
            if shape.form == "interval":
                out[key] = ends
            elif ends is None:
                out[key] = None
            else:
                out[key] = ends[0] if shape.form == "number" else {"rows": ends}
            held = {"groups": list(listed.each), "groups_in_all": listed.in_all} if shape.groups else {}
            if shape.form == "rows" and ends is not None:
                out[key] |= held
            elif shape.form == "interval" and shape.groups:
                out |= {shape.groups: held["groups"], f"{shape.groups}_in_all": listed.in_all}
        known = {key: one for key, one in told.items() if isinstance(one, KnownFigure)}
        unknown = {key: one for key, one in told.items() if isinstance(one, UnknownFigure)}
        helped = {key: one.help for key, one in told.items() if not isinstance(one, AbsentFigure)}
        told_facts = ToldFacts(
            **out,
            **{key: self.others.get(key) for key in OTHERS},
            not_known={key: one.why for key, one in unknown.items()},
            not_applicable={key: one.why for key, one in told.items() if isinstance(one, AbsentFigure)},
            not_listed={key: one.further for key, one in self.groups.items() if one.further},
            why_open={key: one.why for key, one in known.items() if one.why},
            assumed={key: one.assumes for key, one in known.items() if one.assumes},
            would_help={key: help for key, help in helped.items() if help},
            not_used=[{"why": one.why, "opens": dict(one.opens), "would_help": one.help} for one in self.unused],
        )
        told_facts.table = self
        return told_facts

    @classmethod
    def of_json(cls, facts: Mapping[str, Any]) -> FactTable:
        """Return the facts of a report's document; what is missing in it is not known."""
        if isinstance(facts, ToldFacts):
            return facts.table
        told = {name: facts.get(name) or {} for name in TOLD}
        helped = told["would_help"]
        figures: dict[str, Figure] = {}
        groups: dict[str, SmallGroups] = {}
        for key, shape in FIGURES.items():
            if shape.rare and key not in facts:
                continue  # of a stored report it is not known whether it did not apply, or is of an older version
            found = facts.get(key)
            holder = (found or {}) if shape.form == "rows" else facts
            name = "groups" if shape.form == "rows" else shape.groups
            ends = holder.get("rows") if shape.form == "rows" else [found, found] if shape.form == "number" else found
            if shape.groups:
                further = told["not_listed"].get(shape.groups, "")
                groups[shape.groups] = SmallGroups(holder.get(name) or (), holder.get(f"{name}_in_all"), further)
            if ends is not None and tuple(ends) != (None, None):
                low = shape.least if ends[0] is None else ends[0]
                why, assumed = told["why_open"].get(key, ""), told["assumed"].get(key, "")
                figures[key] = KnownFigure(low, ends[1], why, helped.get(key, ""), assumed)
            elif key in told["not_applicable"]:
                figures[key] = AbsentFigure(told["not_applicable"][key])
            else:
                figures[key] = UnknownFigure(told["not_known"].get(key) or NOT_WORKED_OUT, helped.get(key, ""))
        for key in (*told["not_known"], *told["not_applicable"]):
            if key not in figures:
                no = told["not_applicable"].get(key)
                figures[key] = AbsentFigure(no) if no else UnknownFigure(told["not_known"][key], helped.get(key, ""))
        unused = tuple(
            UnusedFigure(one["why"], one["opens"], one.get("would_help", "")) for one in facts.get("not_used") or ()
        )
        others = {key: facts.get(key) for key in OTHERS}
        return cls(facts.get("status") or "", facts.get("confidence", 1.0), figures, groups, others, unused)


def smallest_of(groups: Iterable[Sequence[Any]]) -> KnownFigure | None:
    """Return how many rows the smallest group can have that has any; None without groups.

    `groups`: least and most rows each. At least: the least of all that any may have; at most: the most that those have
    which surely have one.
    """
    ends = [one[:2] for one in groups]
    if not ends:
        return None
    most = min((high for low, high in ends if low and high is not None), default=None)
    return KnownFigure(min(max(1, low) for low, _ in ends), most)
