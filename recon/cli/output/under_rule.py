"""What commands say to whoever knows how the model was chosen (`--learner`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import NO_LEARNER
from recon.io.console.output import print_json, print_lines, records, write_table

if TYPE_CHECKING:
    import pandas as pd

    from encoders.encode.encoder import EncodedRelease
    from recon.readers.frames.world import World
    from solvers.foundation.limits import Limits


def count_rule(release: EncodedRelease, learner: str, limits: Limits) -> tuple[dict[str, Any], list[str]]:
    """Return what knowing the learner adds, or why that is not known, as JSON and as lines."""
    from recon.learner_rule.counting import rule_or_reason
    from recon.learner_rule.figures import rule_lines

    found = rule_or_reason(release, learner, limits)
    if isinstance(found, str):
        return {"learner_rule": {"reason": found}}, [found]
    return {"learner_rule": found.to_json()}, rule_lines(found)


def drawn_worlds(
    release: EncodedRelease, k: int, seed: int, convention: str | None, learner: str, limits: Limits
) -> Iterator[World]:
    """Return worlds as they are drawn, under the learner's rule where one is known."""
    if learner == "none":
        from recon.queries.questions.questions import iterate_samples

        return iterate_samples(release, k, seed, convention, limits)
    from recon.learner_rule.verdicts import sample

    return sample(release, k, seed, learner, convention, limits)


def show_under_rule(
    release: EncodedRelease,
    people: pd.DataFrame,
    learner: str,
    convention: str | None,
    limits: Limits,
    out: str | None,
    json: bool,
) -> pd.DataFrame:
    """Print or write verdicts under the learner's rule, and return them; certificates are in the JSON."""
    from recon.learner_rule.verdicts import certify
    from recon.queries.certificates.issuing import profiles_json
    from solvers.foundation.errors import Unsupported

    if convention not in {None, "assigned"} and learner != "midpoints":
        raise Unsupported(f"verdicts under the learner's rule count worlds as assigned, not {convention}")
    found = certify(release, people, learner, limits)
    certificates = found["certificate"].tolist()
    bare = found.drop(columns="certificate")
    if json:
        lines = zip(records(bare), profiles_json(release, people), certificates, strict=True)
        whole = [line | {"profile_values": who, "certificate": one} for line, who, one in lines]
        print_json(whole, out, private=True)
    else:
        write_table(bare, out, private=True)
    from recon.report.wording.headline import assumption_lines

    # of the release as short as elsewhere, of the learner whole
    said = [line for line in assumption_lines(release) if line != NO_LEARNER]
    said += [line for line in found.attrs["assumptions"] if line not in release.assumptions]
    print_lines(*found.attrs.get("notes", ()), file=sys.stderr)
    print_lines(f"convention: {found.attrs['convention']}; assuming: {'; '.join(said)}", file=sys.stderr)
    return found
