"""The rules that a policy can set, one entry each: everything else about them is derived from here.

A new rule is one entry of `EVERY`, and the figure that it looks at (`recon.release.policies.facts.FIGURES`).

Policy files: what each key may be, as structs and in words (docs/policy.md); the files of the presets.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from encoders.models.models import MEANING, CountKind
from recon.release.policies.checks import (
    PolicyRule,
    ThresholdValues,
    disclosed,
    kinds_of_counts,
    of_groups,
    of_interval,
    of_versions,
    profiles,
    stored_rule,
)
from recon.release.policies.magnitudes import from_inside, of_contributions
from solvers.foundation.displayed import quote
from solvers.foundation.errors import PolicyError

Rows = Annotated[int, Meta(ge=1)]
People = Annotated[int, Meta(ge=0)]
Bits = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
Disclosure = Literal["allowed", "forbidden"] | People
Level = Literal["none", "low", "medium", "high", "critical"]
Verdict = Literal["certain", "possible", "impossible", "outside", "unknown"]


ROWS = ThresholdValues(Rows, "a whole number of rows from 1 up")
PEOPLE = ThresholdValues(People, "a whole number of people from 0 up")
VALUES = ThresholdValues(People, "a whole number of values from 0 up")
BITS = ThresholdValues(Bits, "a number of bits from 0 up")
DISCLOSED = ThresholdValues(
    Disclosure, '"allowed", "forbidden", or the largest number of rows that is allowed, from 0 up'
)  # fmt: skip
KINDS = ThresholdValues(list[CountKind], "a list of " + ", ".join(f'"{kind}"' for kind in MEANING))
LEVELS = ThresholdValues(Level, '"none", "low", "medium", "high" or "critical"')
VERDICTS = ThresholdValues(list[Verdict], 'a list of "certain", "possible", "impossible", "outside", "unknown"')
Percent = Annotated[int, Meta(gt=0, le=1000)] | Annotated[float, Meta(gt=0, le=1000)]
Pair = Annotated[list[Percent], Meta(min_length=2, max_length=2)]
PERCENT = ThresholdValues(Percent, "a number of per cent above 0")
DOMINANCE = ThresholdValues(
    Pair, "[n, k]: a number of respondents from 1 to 12, and a share of at most 100 per cent",
    lambda pair: isinstance(pair[0], int) and pair[0] <= 12 and pair[1] <= 100,
)  # fmt: skip
PRIOR = ThresholdValues(
    Pair, "[p, q]: two numbers of per cent above 0, the first the smaller one", lambda pair: pair[0] < pair[1]
)
LEAST = ThresholdValues(
    Rows | Pair, "a number of respondents from 1 up, or [number, range in %]",
    lambda value: isinstance(value, int) or isinstance(value[0], int),
)  # fmt: skip
REQUEST = ThresholdValues(
    Percent | Annotated[list[Percent], Meta(min_length=3, max_length=3)],
    "a share of at most 100 per cent, or [share of request 1, share of request 2, range in %]",
    lambda value: all(one <= 100 for one in (value if isinstance(value, list | tuple) else [value])),
)  # fmt: skip
AMOUNT = ThresholdValues(
    Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)], "a number above 0 of the value that is added up"
)
PROFILES = ThresholdValues(Rows, "a whole number of profiles from 1 up")
LATER = "Retrain on a schedule, with several changes at once, or publish larger groups; then audit against it again"
REMEDY = "recon remedy FILE --policy POLICY --out OUT"
TOTALS = "Hide further cells of the table: recon magnitudes FILE --policy POLICY --out OUT.tab"
SEEDS = "Take out the seeds that determine the bags: recon inspect FILE --strip OUT"

EVERY = (
    PolicyRule(
        "smallest_group", "smallest_group", of_groups, ROWS,
        title="Smallest group",
        subject="The smallest group has {found}",
        help="rows of the smallest group (leaf, rule, table cell) that is not empty, at least",
        remedy=f"Merge the groups that are too small into larger ones: {REMEDY}.",
        example=10, unit="row", direction="at least", merged="rows of the smallest group", column="smallest_group",
    ),
    PolicyRule(
        "smallest_cell", "smallest_cell", of_groups, ROWS,
        title="Smallest number of rows of one class in a group",
        subject="The rarest class of a group has {found}",
        help="rows of one class in a group, where it has any, at least",
        remedy=f"Merge groups until no class is rare in one, or publish no counts per class: {REMEDY}.",
        example=10, unit="row", direction="at least", merged="rows of one class in a group",
    ),
    PolicyRule(
        "most_pinned", "pinned", of_interval, PEOPLE,
        title="People fully known",
        subject="{found} are fully known",
        help="people whose every attribute is certain, at most",
        remedy="Publish fewer or larger groups, fewer trees, or noisy counts; recon audit --remedies tries them.",
        example=0, unit="person", merged="people fully known", column="pinned",
    ),
    PolicyRule(
        "least_bits_left", "least_bits_left", of_interval, BITS,
        title="Bits left about the most exposed person",
        subject="About the most exposed person {found} are left",
        help="bits left about the most exposed person, at least",
        remedy=f"Merge the groups of the most exposed people into larger ones: {REMEDY}.",
        example=5.0, unit="bit", direction="at least", merged="bits left about the most exposed person",
        column="least_bits_left",
    ),
    PolicyRule(
        "mean_bits_left", "bits_left_per_person", of_interval, BITS,
        title="Bits left per person",
        subject="Per person {found} are left on average, without the order of rows",
        help="bits left per person on average, at least",
        remedy="Publish fewer groups, less depth, or fewer trees; recon audit --remedies tries them.",
        example=10.0, unit="bit", direction="at least", merged="bits left per person on average",
        column="bits_left_per_person",
    ),
    PolicyRule(
        "class_disclosure", "class_disclosure", disclosed, DISCLOSED,
        title="Rows in groups of one class only",
        subject="{found} are in groups of one class only, so that belonging to the group reveals the class",
        help="rows in groups of one class only, at most",
        remedy=f"Merge groups of one class with others, or publish no counts per class: {REMEDY}.",
        example="forbidden", unit="row", merged="rows in groups of one class only", column="class_disclosed_rows",
    ),
    PolicyRule(
        "target_disclosure", "target_disclosure", disclosed, DISCLOSED,
        title="Rows whose numeric target is published exactly",
        subject="{found} have their numeric target published exactly",
        help="rows whose numeric target is published exactly, at most",
        remedy="Publish larger groups, or targets that are rounded: a group of one row publishes its target.",
        example="forbidden", unit="row",
    ),
    PolicyRule(
        "most_labels_by_position", "labels_by_position", of_interval, PEOPLE,
        title="Labels proved by position in the training file",
        subject="{found} have a label proved by their position in the training file",
        help="rows whose label is proved by their position in the training file, at most",
        remedy=f"{SEEDS}; or train without resampling.",
        example=0, unit="row",
    ),
    PolicyRule(
        "most_values_by_position", "values_by_position", of_interval, VALUES,
        title="Values proved by position in the training file",
        subject="{found} are proved by the position of their row in the training file",
        help="values of attributes that are proved by the position of their row in the training file, at most",
        remedy=f"{SEEDS}; or train without resampling.",
        example=0, unit="value",
    ),
    PolicyRule(
        "least_hidden_width", "hidden_width", of_interval, ROWS,
        title="Width of the narrowest hidden cell",
        subject="What is left of the narrowest hidden cell has a width of {found}",
        help="rows between the least and the most that a hidden cell of a table can still be, at least",
        remedy=f"Hide further cells of the table: {REMEDY}.",
        example=5, unit="row", direction="at least",
    ),
    PolicyRule(
        "least_rounded_width", "rounded_width", of_interval, ROWS,
        title="Width of the narrowest rounded count",
        subject="What is left of the narrowest rounded count has a width of {found}",
        help="rows between the least and the most that a rounded count of a table can still be, at least",
        remedy="Round to a larger base, and publish fewer tables: the totals of others narrow a rounded count.",
        example=4, unit="row", direction="at least",
    ),
    PolicyRule(
        "least_freedom", "freedom", of_interval, ROWS,
        title="Residual degrees of freedom",
        subject="The regression with the fewest has {found} more than coefficients",
        help="rows less coefficients of every regression, at least",
        remedy="Fit fewer columns, or more people. What its sums reveal is judged by smallest_group.",
        example=10, unit="row", direction="at least",
    ),
    PolicyRule(
        "least_survival_step", "survival_step", of_interval, ROWS,
        title="Smallest step of a survival curve",
        subject="Between two published times of a survival curve {found} left",
        help="people who left between two published times of a survival curve, at least",
        remedy="Publish fewer times, or a life table over longer intervals.",
        example=10, unit="person", direction="at least",
    ),
    PolicyRule(
        "kinds_of_counts", "kinds_of_counts", kinds_of_counts, KINDS,
        title="Kinds of counts published",
        subject="The release publishes {found}",
        help="kinds of counts that may be published",
        remedy="Publish the model without these counts, or with noise on them.",
        example=["exact", "size", "noisy"], of_worlds=False,
    ),
    PolicyRule(
        "stored", "stored", stored_rule, LEVELS,
        title="Stored training data",
        subject="Beside the model, the file stores {found}",
        help="the highest level that data stored in the file may have",
        remedy="Take out what predictions do not need: recon inspect FILE --strip OUT; train without what then stays.",
        example="medium", of_worlds=False,
    ),
    PolicyRule(
        "versions.removed_pinned", "removed_pinned", of_versions, PEOPLE,
        title="People who left, known with every value",
        subject="{found} who left since the earlier version are known with every value",
        help="people who left since an earlier version and are known with every value, at most",
        remedy=f"{LATER}.",
        example=0, unit="person", of_worlds=False,
    ),
    PolicyRule(
        "versions.least_candidates", "removed_candidates", of_versions, PROFILES,
        title="Profiles that somebody who left can have",
        subject="Somebody who left since the earlier version has one of {found}",
        help="profiles left for somebody who left since an earlier version, at least",
        remedy=f"{LATER}.",
        example=10, unit="profile", direction="at least", of_worlds=False,
    ),
    PolicyRule(
        "magnitudes.p_percent", "magnitudes", of_contributions, PERCENT,
        title="Cells that are sensitive by the p % rule",
        subject="Cells that the p % rule calls sensitive: {found}",
        help="p: no respondent of a cell of totals may know another's contribution to within p %",
        remedy=f"{TOTALS}.", example=10, of_worlds=False,
    ),
    PolicyRule(
        "magnitudes.prior_posterior", "magnitudes", of_contributions, PRIOR,
        title="Cells that are sensitive by the (p, q) rule",
        subject="Cells that the (p, q) rule calls sensitive: {found}",
        help="[p, q]: the same to within p % for a respondent who knew it to within q % before",
        remedy=f"{TOTALS}.", example=[10, 50], of_worlds=False,
    ),
    PolicyRule(
        "magnitudes.dominance", "magnitudes", of_contributions, DOMINANCE,
        title="Cells that are sensitive by the (n, k) rule",
        subject="Cells that the (n, k) rule calls sensitive: {found}",
        help="[n, k]: the n largest contributions to a cell may be at most k % of it",
        remedy=f"{TOTALS}.", example=[2, 85], of_worlds=False,
    ),
    PolicyRule(
        "magnitudes.contributors", "magnitudes", of_contributions, LEAST,
        title="Cells of totals with few contributors",
        subject="Cells with too few contributors: {found}",
        help="contributors to a cell of totals, at least; [number, %]: and how far a hidden one stays open",
        remedy=f"{TOTALS}.", example=[3, 30], of_worlds=False,
    ),
    PolicyRule(
        "magnitudes.request", "magnitudes", of_contributions, REQUEST,
        title="Cells that are sensitive on request",
        subject="Cells that the request rule calls sensitive: {found}",
        help="k: a contributor of more than k % of a cell may ask that it is protected; [k1, k2, %]: two requests",
        remedy=f"{TOTALS}.", example=70, of_worlds=False,
    ),
    PolicyRule(
        "magnitudes.zero", "magnitudes", of_contributions, AMOUNT,
        title="Cells of totals whose contributions are all 0",
        subject="Cells whose contributions are all 0: {found}",
        help="how far over 0 a hidden total stays open where every contribution is 0 (a number of the value)",
        remedy=f"{TOTALS}.", example=100, of_worlds=False,
    ),
    PolicyRule(
        "magnitudes.from_inside", "magnitudes", from_inside, VALUES,
        title="Sensitive totals that a respondent can work out",
        subject="Sensitive cells that follow for the only respondent of another: {found}",
        help="sensitive cells that follow for the only respondent of another hidden cell, at most",
        remedy=f"{TOTALS}.", example=0, of_worlds=False,
    ),
    PolicyRule(
        "profiles", "profiles", profiles, VERDICTS,
        title="Verdicts on the given profiles",
        subject="Verdicts on the given profiles: {found}",
        help="verdicts that no given profile may have",
        remedy="Publish less about these people, or train without them, and audit again.",
        example=["certain"],
    ),
)  # fmt: skip
RULES = {one.key: one for one in EVERY}  # in the order of the checks


T = TypeVar("T")
FOLDER = Path(__file__).parent / "presets"
PREFIX = "preset:"  # how a policy names a preset in `extends`
LONGEST = 1 << 20  # bytes of a policy file


class Sourced(Struct, Generic[T], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A threshold with where it comes from: a document, its section and page."""

    value: T
    source: Annotated[str, Meta(min_length=1)]


Counted = Literal["inconclusive", "violation"]
TEXT = Annotated[str, Meta(min_length=1)]
ABOUT = {
    "name": (TEXT, "a text that is not empty"),
    "note": (str, "a text"),
    "extends": (str | list[str], 'a path relative to this file, "preset:NAME", or a list of these'),
}  # keys that are no thresholds
THRESHOLDS = {key: (one.values.type, one.values.words) for key, one in RULES.items()} | {
    "inconclusive": (Counted, '"inconclusive" or "violation"')
}
WORDS = {key: words for key, (_, words) in (ABOUT | THRESHOLDS).items()}  # what is allowed, by key
TABLES = tuple(dict.fromkeys(key.partition(".")[0] for key in THRESHOLDS if "." in key))  # "versions.removed_pinned"


def _threshold_fields(table: str) -> list[Any]:
    """Return the keys of a table of a policy file, or of the file itself (""), with their types."""
    some = {key.rpartition(".")[2]: type_ for key, (type_, _) in THRESHOLDS.items() if key.rpartition(".")[0] == table}
    return [(key, type_ | Sourced[type_] | None, None) for key, type_ in some.items()]  # type: ignore[valid-type]


_STRICT: Any = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True, "module": __name__}
_TABLES = {table: msgspec.defstruct(table.capitalize(), _threshold_fields(table), **_STRICT) for table in TABLES}
PolicyPart: Any = msgspec.defstruct(
    "PolicyPart",
    [
        *((key, type_ | None, None) for key, (type_, _) in ABOUT.items()),
        *_threshold_fields(""),
        *((table, type_ | None, None) for table, type_ in _TABLES.items()),
    ],
    frozen=True, kw_only=True, forbid_unknown_fields=True, module=__name__,
    namespace={"__doc__": "A policy file: thresholds that a release has to meet; unknown keys are refused."},
)  # fmt: skip


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file, as TOML readers give it."""
    found = msgspec.json.schema(PolicyPart)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "recon policy", **found}


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def preset_bytes(name: str) -> bytes:
    """Return the file of a preset; `PolicyError` where there is none of this name."""
    if name not in preset_names():
        raise PolicyError(f"there is no preset {quote(name)}: choose {' or '.join(preset_names())}")
    return (FOLDER / f"{name}.toml").read_bytes()


def parse_policy(data: bytes, file: str) -> Any:
    """Return the validated parts of a policy file; `PolicyError` names file, key, value and what is allowed."""
    where = quote(file)
    if len(data) > LONGEST:
        raise PolicyError(f"{where}: has {len(data):,} bytes, no policy is longer than {LONGEST:,}")
    try:
        found = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PolicyError(f"{where}: is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{where}: is not TOML: {quote(error)}") from None
    except RecursionError:
        raise PolicyError(f"{where}: is nested too deeply to be a policy") from None
    except ValueError as error:  # a whole number of more than 4,300 digits
        raise PolicyError(f"{where}: holds a number that cannot be read ({quote(error)})") from None
    return _checked_parts(found, where)


def _checked_parts(found: dict[str, Any], where: str) -> Any:
    """Return parsed TOML as the parts of a policy; `PolicyError` in one sentence where it is none."""
    for key, value, written in _flat(found):
        if key not in WORDS:
            raise PolicyError(_unknown(key, where))
        inner = value.get("value") if isinstance(value, dict) else value
        if isinstance(inner, float) and not math.isfinite(inner):
            raise PolicyError(_wrong(key, value, where))
        try:
            msgspec.convert(written, PolicyPart)
        except msgspec.ValidationError:
            raise PolicyError(_wrong(key, value, where)) from None
        if key in RULES and not RULES[key].values.holds(inner):
            raise PolicyError(_wrong(key, value, where))
    return msgspec.convert(found, PolicyPart)


def _flat(found: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield every key of a policy with its value, and as it is written: keys of tables with the table's name."""
    for key, value in found.items():
        if key in TABLES and isinstance(value, dict):
            yield from ((f"{key}.{inner}", one, {key: {inner: one}}) for inner, one in value.items())
        else:
            yield key, value, {key: value}


def _unknown(key: str, where: str) -> str:
    """Return the sentence on a key that no policy has."""
    near = difflib.get_close_matches(key, WORDS, 1)
    hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(WORDS)}"
    return f"{where}: there is no key {quote(key)}: {hint}"


def _wrong(key: str, value: Any, where: str) -> str:
    """Return the sentence on a value that its key does not take."""
    allowed = WORDS[key]
    if not isinstance(value, dict) or key in ABOUT:
        return f"{where}: {key} is {_as_written(value)}; allowed is {allowed}"
    if strangers := [one for one in value if one not in {"value", "source"}]:
        return f"{where}: {key} has the key {quote(strangers[0])}; a threshold has value and source, nothing else"
    if "value" not in value:
        return f'{where}: {key} has no value; write {key} = {{value = ..., source = "..."}}, the value {allowed}'
    source = value.get("source")
    if source is None:
        return f"{where}: {key} has no source; write {key} = {_as_written(value['value'])} where there is none"
    if not isinstance(source, str) or not source:
        return f"{where}: {key}.source is {_as_written(source)}; allowed is a text that is not empty"
    return f"{where}: {key}.value is {_as_written(value['value'])}; allowed is {allowed}"


def _as_written(value: Any) -> str:
    """Return a value about as TOML writes it, at most 60 characters of it."""
    return quote(str(value).lower() if isinstance(value, bool) else repr(value), 60)
