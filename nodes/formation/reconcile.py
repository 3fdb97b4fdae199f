"""Reconciles the facts of an exchange with known memories: same, newer, or unrelated (HM-6)."""

from collections.abc import Iterable, Mapping

from thoughtcycle.language.facts import Claim, Relation
from thoughtcycle.language.facts import reconcile as relate
from thoughtcycle.memory.model import Cycle, FoundFact, Judgement, MemoryDraft, MemoryRecord, Source
from thoughtcycle.memory.rules.completion import complete
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.prompts.loader import Language, texts

NEAREST = 5
"""Known memories that a fact is compared with; nearly always three would do."""


async def reconcile(forming: FormationRun) -> FormationUpdate:
    """Saves, reinforces, merges or supersedes memories; idempotent.

    A cycle does not reinforce its own memories, nor bring back memories that were deleted after it.
    """
    cycle = await forming.cycle()
    await reconcile_facts(forming, cycle, forming.judgement)
    await forming.hide_abandoned()
    return {}


async def reconcile_facts(forming: FormationRun, cycle: Cycle, judgement: Judgement) -> None:
    """Reconciles all facts of a judgement with known memories."""
    for fact in judgement.facts:
        draft = complete(drafted(fact, cycle, judgement), forming.language, cycle.message.at)
        await _reconcile_fact(forming, cycle, fact, draft)


async def _reconcile_fact(forming: FormationRun, cycle: Cycle, fact: FoundFact, draft: MemoryDraft) -> None:
    memory, user, said = forming.memory, forming.user, cycle.message.at
    near = {record.id: record for record in await forming.find(fact.content, NEAREST)}
    named = [id for id in (fact.same_as, fact.replaces) if id is not None and id not in near]
    near |= {record.id: record for record in await memory.active(user, named)}
    relation = related(fact, near, forming.language)
    target = near.get(relation.id or "")
    if fact.denies:
        await _take_back(forming, cycle, fact, near.values())
    elif target is None:
        await memory.save(user, [draft])
    elif relation.relation == "same" and target.source.cycle == cycle.id:
        await _finish_merge(forming, cycle, fact, target, near)
    elif relation.relation == "same":
        await _reinforce_or_merge(forming, cycle, draft, target, broader=relation.broader == "fact")
    elif not _later(target, cycle):
        return
    elif fact.key is not None and fact.key == target.key:
        await memory.save(user, [draft])
    else:
        await memory.update(
            user,
            target.id,
            content=fact.content,
            bindings=fact.bindings or None,
            key=fact.key,
            cycle=cycle.id,
            words=fact.words,
            said=said,
        )


async def _take_back(
    forming: FormationRun, cycle: Cycle, fact: FoundFact, near: Iterable[MemoryRecord]
) -> None:
    """Updates the memories that the fact denies to "no longer …"; their history keeps the old text."""
    words = texts(forming.language, "actions/memory_update")
    for target in near:
        under = target.key == fact.key or str(target.key).startswith(f"{fact.key}:")
        if under and _later(target, cycle):
            await forming.memory.update(
                forming.user,
                target.id,
                content=words.fill("rules.no_longer", memory=target.text),
                cycle=cycle.id,
                words=fact.words,
                said=cycle.message.at,
            )


def related(fact: FoundFact, near: Mapping[str, MemoryRecord], language: Language) -> Relation:
    """The relation of a fact to the nearest memories: as the judge decided, else by rules."""
    if fact.same_as in near:
        return Relation("same", fact.same_as)
    if fact.replaces in near:
        return Relation("newer", fact.replaces)
    if fact.type != "text":
        return Relation("unrelated")
    known = [
        Claim(record.text, kind=record.kind, key=record.key, id=record.id)
        for record in near.values()
        if record.type == "text" and record.source.speaker == fact.speaker
    ]
    new = Claim(fact.content, kind=fact.kind, key=fact.key, words=fact.words)
    return relate(new, known, language)


async def _reinforce_or_merge(
    forming: FormationRun, cycle: Cycle, draft: MemoryDraft, target: MemoryRecord, *, broader: bool
) -> None:
    """Reinforces the known memory; where the new one is broader, merges the known one into it."""
    if not broader:
        await forming.memory.reinforce(forming.user, target.id, cycle=cycle.id, said=cycle.message.at)
        return
    (saved,) = await forming.memory.save(forming.user, [draft])
    if saved.record.status == "active" and saved.record.id != target.id:
        await forming.memory.merge(
            forming.user,
            saved.record.id,
            target.id,
            cycle=cycle.id,
            still=lambda keep, other: other.content == target.content,
        )


async def _finish_merge(
    forming: FormationRun, cycle: Cycle, fact: FoundFact, own: MemoryRecord, near: Mapping[str, MemoryRecord]
) -> None:
    """Finishes the merge of a run that ended between saving the new memory and merging the old one."""
    if own.content != fact.content:
        return
    others = {id: record for id, record in near.items() if record.source.cycle != cycle.id}
    relation = related(fact, others, forming.language)
    if relation.relation == "same" and relation.broader == "fact" and relation.id is not None:
        await forming.memory.merge(forming.user, own.id, relation.id, cycle=cycle.id)


def _later(target: MemoryRecord, cycle: Cycle) -> bool:
    """Whether this cycle may supersede `target`: it is another one, and not an earlier one."""
    return target.source.cycle != cycle.id and cycle.message.at >= target.valid_from


def drafted(fact: FoundFact, cycle: Cycle, judgement: Judgement) -> MemoryDraft:
    """The draft of a fact's memory; a landmark is episodic, the layer of others follows from their kind."""
    return MemoryDraft(
        content=fact.content,
        type=fact.type,
        kind=fact.kind,
        key=fact.key,
        bindings=fact.bindings,
        tags=fact.tags,
        layer="episodic" if fact.landmark else None,
        importance=judgement.importance,
        weight=fact.weight,
        said=cycle.message.at,
        source=Source(cycle=cycle.id, speaker=fact.speaker, words=fact.words),
    )
