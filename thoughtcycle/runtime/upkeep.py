"""The jobs of a worker: closes and erases what is due, forms memories from cycles, tends gardens."""

from collections.abc import Mapping
from datetime import timedelta

from thoughtcycle.errors import StorageFailed
from thoughtcycle.graph.formation import Formation, compile_formation
from thoughtcycle.graph.garden import GardenGraph, compile_garden
from thoughtcycle.memory.conversation import DocumentBroken
from thoughtcycle.memory.core import Kind, Told, Worker
from thoughtcycle.memory.erasure import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import ATTEMPTS, Cycle, Job, new_job
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services

FORM, GARDEN, GARDENS = "form", "garden", "gardens"
GARDENS_EVERY = timedelta(days=1)
SWEEP_EVERY = timedelta(minutes=5)
ERASE_EVERY = timedelta(minutes=1)
CHATS = 50
"""Chats of a user, the last updated, that are looked at for what a failing model left."""
USERS = 32
"""Users with something to understand that are looked at in one go."""


def create_worker(services: Services, grace: timedelta = GRACE, *, told: Told | None = None) -> Worker:
    """A worker that also forms memories and tends gardens; see Worker for how it runs."""
    memory = services.memory
    return Worker(memory.queue, job_kinds(services, grace), told=told, look=lambda: enqueue_formation(memory))


def job_kinds(services: Services, grace: timedelta) -> Mapping[str, Kind]:
    """The kinds of jobs, by name.

    `sweep` closes the cycles that a crash left open, `erase` erases what was deleted `grace` ago, `form`
    understands what a user said, `garden` tends one user's memories, `gardens` everybody's.
    """
    memory = services.memory
    formation, garden = compile_formation(services), compile_garden(services)
    return {
        "sweep": Kind(lambda job: memory.transcript.sweep(), every=SWEEP_EVERY),
        "erase": Kind(lambda job: memory.erase_due(grace), every=ERASE_EVERY),
        FORM: Kind(lambda job: form(memory, formation, job)),
        GARDEN: Kind(lambda job: tend(memory, garden, job.user)),
        GARDENS: Kind(lambda job: enqueue_gardens(memory), every=GARDENS_EVERY),
    }


async def enqueue_formation(memory: Memory) -> None:
    """Puts a job for the oldest cycle of every user that is not understood yet: one after the other.

    A cycle over which workers died as often as a job may be tried is left out, as in `form`.
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
                await _leave_out(memory, cycle)


async def _leave_out(memory: Memory, cycle: Cycle) -> None:
    await memory.conversations.form_cycle(
        cycle.user, cycle.id, judgement=cycle.judgement, marks=(), formation="failed", expected=cycle
    )


async def form(memory: Memory, formation: Formation, job: Job) -> None:
    """Understands a cycle.

    One that fails again and again, for another reason than a database out of reach, is left out with the last
    try, so that it holds up nothing behind it; its dead letter tells of it, and retrying that tries it anew.
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
    except Exception as failure:  # whatever it was, it is raised again
        away = isinstance(failure, StorageFailed) and not isinstance(failure, DocumentBroken)
        if job.attempts >= ATTEMPTS and not away:
            await _leave_out(memory, cycle)
        raise


async def enqueue_gardens(memory: Memory) -> None:
    """Puts a job for the garden of every user."""
    for user in await memory.upkeep.users():
        await memory.queue.put(new_job(GARDEN, user=user, due=memory.queue.clock()))


async def requeue_unjudged(memory: Memory, user: str) -> None:
    """Has cycles that a failing model left unjudged (CM-8) formed again, though nobody goes on in the chat.

    The oldest such cycle waits for formation again, which then judges the others, too.
    """
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


async def tend(memory: Memory, garden: GardenGraph, user: str) -> None:
    """Tends one user's memories, what could not be understood, and items whose time is over."""
    await requeue_unjudged(memory, user)
    await memory.items.sweep_items(user)
    await garden.ainvoke({"dry_run": False}, context=Context(user_id=user))
