"""Deletes chats and users from the memory and from the checkpoints of their threads."""

from collections.abc import Sequence
from dataclasses import replace

from thoughtcycle.checkpoints.erasure import bound, threads_of
from thoughtcycle.checkpoints.factory import Saver
from thoughtcycle.memory.chats import Removed
from thoughtcycle.memory.erasure import Farewell
from thoughtcycle.memory.memory import Memory
from thoughtcycle.runtime.agent_server import ServerRecords


async def forget_user(memory: Memory, saver: Saver, user: str) -> Farewell:
    """See `Memory.forget_user`; also deletes the checkpoints of the user's threads, and their records.

    They go first: after a crash the next try still finds the threads by the chats.
    """
    threads = {*await memory.user_erasure.chats_of(user), *await saver.athreads_of(user)}
    deleted = 0
    for thread in sorted(threads):
        deleted += await saver.aget_tuple({"configurable": {"thread_id": thread}}) is not None
        await saver.adelete_thread(thread)
    kept = await _delete_records(memory, sorted(threads))
    farewell = await memory.forget_user(user)
    again = len(await saver.athreads_of(user)) + kept
    left = {**farewell.left, "threads": again} if again else farewell.left
    return replace(farewell, erased={**farewell.erased, "threads": deleted}, left=left)


async def delete_chat(memory: Memory, saver: Saver, user: str, chat: str) -> Removed:
    """See `Memory.delete_chat`; also deletes the checkpoints of its thread, and its records.

    The thread of an outer graph holds more than this chat: it stays, and the chat's words are redacted in it.
    That is done first, while the memory still has the words.
    """
    bound(memory, saver)
    said = await memory.chat_service.said_in(user, chat)
    *around, own = threads_of(chat)
    theirs = await saver.athreads_of(user) if around else []
    for thread in around:
        if thread in theirs:
            await saver.aredact(thread, said)
    removed = await memory.delete_chat(user, chat)
    await saver.adelete_thread(own)
    await _delete_records(memory, [own])
    return removed


async def _delete_records(memory: Memory, threads: Sequence[str]) -> int:
    """Deletes what LangGraph's own server keeps of these threads, within its process; how many it keeps."""
    places = [one for one in memory.core.checkpoint_erasers if isinstance(one, ServerRecords)]
    return sum([await place.delete(threads) for place in places])
