"""Forgets chats and users in both places: the memory, and the checkpoints of their threads."""

from dataclasses import replace

from thoughtcycle.checkpoints.erasure import bound, threads_of
from thoughtcycle.checkpoints.factory import Saver
from thoughtcycle.memory.chats import Removed
from thoughtcycle.memory.erasure import Farewell
from thoughtcycle.memory.memory import Memory


async def forget_user(memory: Memory, saver: Saver, user: str) -> Farewell:
    """See `Memory.forget_user`; with the checkpoints of the user's threads, which go first.

    When it is cut off, the chats by which threads are found are still there for the next try.
    """
    threads = {*await memory.user_erasure.chats_of(user), *await saver.athreads_of(user)}
    deleted = 0
    for thread in sorted(threads):
        deleted += await saver.aget_tuple({"configurable": {"thread_id": thread}}) is not None
        await saver.adelete_thread(thread)
    farewell = await memory.forget_user(user)
    left = dict(farewell.left)
    if again := await saver.athreads_of(user):
        left["threads"] = len(again)
    return replace(farewell, erased={**farewell.erased, "threads": deleted}, left=left)


async def delete_chat(memory: Memory, saver: Saver, user: str, chat: str) -> Removed:
    """See `Memory.delete_chat`; with the checkpoints of its thread.

    A thread of the chat's own name is deleted. The thread of a graph around the cycle, whose state holds more
    than this chat, stays: the chat's messages and words in it are blotted out. They go first, while it is
    known what was said.
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
    return removed
