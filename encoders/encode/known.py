"""A release beside what an adversary knows of its rows: everybody's features, statements, a population, a prior."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from encoders.encode.encoder import EncodedRelease, encoder_for, reassembled, recut
from encoders.models.adversary import AdversaryKnowledge
from encoders.models.models import AnyModel, GroupQuestion, KnownRows
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import Partition, RowCount


def with_known_rows(release: EncodedRelease, known: KnownRows) -> EncodedRelease:
    """Return the release with what the adversary knows of everybody's rows among its statements.

    Raises `ReleaseError` naming the table for names and values that the domain does not have, and for another number of
    rows than the release's. Cost: that of encoding.
    """
    encoder = encoder_for(known.kind)
    try:
        encoder.check(cast(AnyModel, known), release.domain, "")
    except ReleaseError as error:
        raise error.at(file=known.file) from None
    n, given = len(known.codes), release.declared or release.rows
    if release.typed is not None and known.dataset:
        given = release.typed.of_dataset(known.dataset)
    if n < given.low or (given.high is not None and n > given.high):
        text = given.low if given.exact else f"{given.low} to {'any' if given.high is None else given.high}"
        message = f"has {n:,} rows, the release is of {text}: everybody's rows are needed, and nobody else's"
        raise ReleaseError(message, file=known.file)
    return reassembled(release, known=known, declared=RowCount(n, n))


def with_knowledge(release: EncodedRelease, knowledge: AdversaryKnowledge) -> EncodedRelease:
    """Return the release with what an adversary knows among its statements.

    Raises `ReleaseError` naming the adversary's file for what the domain does not have. Cost: that of encoding.
    """
    for one in knowledge.models:
        try:
            encoder_for(one.kind).check(cast(AnyModel, one), release.domain, "")
        except ReleaseError as error:
            raise error.at(file=getattr(one, "file", knowledge.file)) from None
    return reassembled(release, knowledge=knowledge)


def asking(release: EncodedRelease, question: GroupQuestion) -> EncodedRelease:
    """Return the same release over cells that a question can be answered on; no world is added or taken away.

    Cost: that of encoding. Raises `ReleaseError` for names and values that the domain does not have.
    """
    encoder_for(question.kind).check(cast(AnyModel, question), release.domain, "of")
    found = reassembled(release, [cast(AnyModel, question)])
    statements, given = found.statements, release.statements
    *published, asked = statements.blocks
    for i, (own, now) in enumerate(zip(given.blocks, published, strict=False)):
        if isinstance(own, Partition) and len(own) != len(now):  # classes that leaf values contradict were dropped
            published[i] = recut(own, release.cut, found.cut)
    # blocks that leaf values prove stand behind those of the models
    proved = (recut(b, release.cut, found.cut) for b in given.blocks[len(published) :] if isinstance(b, Partition))
    statements = replace(statements, blocks=(*published, *proved, asked))
    statements = replace(statements, boosted=statements.boosted if given.boosted else (), loosened=given.loosened)
    return replace(release, cut=found.cut, statements=statements)
