"""Background jobs: closes open cycles, erases what is due, runs formation and gardens."""

from collections.abc import Mapping
from datetime import timedelta

from thoughtcycle.errors import StorageFailed
from thoughtcycle.graph.formation import Formation, compile_formation
from thoughtcycle.graph.garden import GardenGraph, compile_garden
from thoughtcycle.memory.conversation import DocumentBroken
from thoughtcycle.memory.core import EMBED, Kind, OnOutcome, Worker
from thoughtcycle.memory.erasure import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import ATTEMPTS, Cycle, Job, item_space, new_job
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services

FORM, GARDEN, GARDENS = "form", "garden", "gardens"
GARDENS_EVERY = timedelta(days=1)
SWEEP_EVERY = timedelta(minutes=5)
ERASE_EVERY = timedelta(minutes=1)
EMBED_AGAIN = timedelta(minutes=10)
CHATS = 50
"""Chats of a user, last updated first, that are searched for unjudged cycles."""
USERS = 32
"""Users with pending cycles that one look reads."""


def create_worker(services: Services, grace: timedelta = GRACE, *, told: OnOutcome | None = None) -> Worker:
    """A worker for all kinds of jobs of `job_kinds`."""
    memory = services.memory
    kinds = job_kinds(services, grace)
    return Worker(memory.queue, kinds, on_outcome=told, look=lambda: enqueue_formation(memory))


def job_kinds(services: Services, grace: timedelta) -> Mapping[str, Kind]:
    """The kinds of jobs, by name.

    `sweep` closes cycles that a crash left open, `erase` erases what was deleted `grace` ago, `form` runs
    formation of a cycle, `embed` adds vectors that were not there in time, `garden` tends one user's
    memories, `gardens` adds a job of that for each user.
    """
    memory = services.memory
    formation, garden = compile_formation(services), compile_garden(services)
    return {
        "sweep": Kind(lambda job: memory.transcript.sweep(), every=SWEEP_EVERY),
        "erase": Kind(lambda job: memory.erase_due(grace), every=ERASE_EVERY),
        FORM: Kind(lambda job: form(memory, formation, job)),
        GARDEN: Kind(lambda job: tend(memory, garden, job.user)),
        EMBED: Kind(lambda job: embed_lacking(memory, job), again=EMBED_AGAIN),
        GARDENS: Kind(lambda job: enqueue_gardens(memory), every=GARDENS_EVERY),
    }


async def enqueue_formation(memory: Memory) -> None:
    """Adds a job for the oldest pending cycle of each user: cycles of a user are formed in order.

    A cycle whose job is dead, because workers died over it, is marked `failed`.
    """
    queue = memory.queue
    users = await memory.conversations.pending_users(limit=USERS)
    jobs = await queue.listing(users, ("waiting", "running")) if users else ()
    served = {job.user for job in jobs if job.kind == FORM}
    for user in users:
        if user in served:
            continue
        for cycle in await memory.conversations.pending_cycles(user, limit=1):
            job = new_job(FORM, cycle.id, user=user, due=queue.clock(), cycle=cycle.id)
            known = await queue.get(user, job.id)
            if known is None:
                await queue.put(job)
            elif known.state == "dead":
                await _mark_failed(memory, cycle)


async def _mark_failed(memory: Memory, cycle: Cycle) -> None:
    await memory.conversations.form_cycle(
        cycle.user, cycle.id, judgement=cycle.judgement, marks=(), formation="failed", expected=cycle
    )


async def form(memory: Memory, formation: Formation, job: Job) -> None:
    """Runs formation of a cycle.

    A cycle that still fails at the last try, unless the database is out of reach, is marked `failed`, so that
    it does not block those behind it. Retrying its dead letter makes it pending again.
    """
    cycle = await memory.transcript.cycle(job.user, job.payload["cycle"])
    if cycle is None:
        return
    if cycle.formation == "failed":
        await memory.conversations.form_cycle(
            job.user, cycle.id, judgement=None, marks=(), formation="pending", expected=cycle
        )
    try:
        await formation.ainvoke({"cycle_id": cycle.id}, context=Context(user_id=job.user))
    except Exception as failure:  # raised again
        away = isinstance(failure, StorageFailed) and not isinstance(failure, DocumentBroken)
        if job.attempts >= ATTEMPTS and not away:
            await _mark_failed(memory, cycle)
        raise


async def embed_lacking(memory: Memory, job: Job) -> None:
    """Adds the vectors that memories of a space were saved without. Raises ModelFailed."""
    space = item_space(job.user) if job.payload["items"] else job.user
    await memory.embed_lacking(space, job.payload["since"])


async def enqueue_gardens(memory: Memory) -> None:
    """Adds a garden job for each user."""
    for user in await memory.upkeep.users():
        await memory.queue.put(new_job(GARDEN, user=user, due=memory.queue.clock()))


async def tend(memory: Memory, garden: GardenGraph, user: str) -> None:
    """Maintains one user's data: unjudged cycles, expired items, memories."""
    await _requeue_unjudged(memory, user)
    await memory.items.sweep_items(user)
    await garden.ainvoke({"dry_run": False}, context=Context(user_id=user))


async def _requeue_unjudged(memory: Memory, user: str) -> None:
    """Makes the oldest unjudged cycle of each chat pending again (CM-8); formation judges the others too."""
    for chat in await memory.conversation_memories(user, limit=CHATS):
        old = [one.cycle_id for one in chat.old_memory if one.pending_summarization]
        for cycle in await memory.transcript.cycles(user, [*old[:1], *chat.unjudged]):
            if cycle.formation == "done" and cycle.judgement is not None and cycle.judgement.pending:
                await memory.conversations.form_cycle(
                    user,
                    cycle.id,
                    judgement=cycle.judgement,
                    marks=cycle.marks,
                    formation="pending",
                    expected=cycle,
                )
                break
