"""Saves a fact, opens a cycle and takes a turn on SQLite; prints as JSON which code of the project each enters.

`house.py` runs this file by itself, with the Python of the checkout that it measures and a database of its own.
"""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from types import FrameType
from typing import Any

ROOT = sys.argv[1]
MODULES: dict[str, str] = json.loads(sys.argv[2])
"""Names of the product and the module that defines each."""


@cache
def project_file(path: str) -> str | None:
    """The real path of a file of the checkout; None for any other."""
    real = os.path.realpath(path)
    inside = real.startswith(f"{ROOT}{os.sep}") and f"{os.sep}.venv{os.sep}" not in real
    return real if inside and real != __file__ else None


class Walk:
    """The functions entered, and the deepest stack of each thread."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, int]] = set()
        self.stacks: dict[int, list[str]] = {}

    def note(self, frame: FrameType) -> None:
        file = project_file(frame.f_code.co_filename)
        if file is None or frame.f_code.co_name == "<module>":
            return
        self.functions.add((file, frame.f_code.co_firstlineno))
        stack: list[str] = []
        below: FrameType | None = frame
        while below is not None:
            if name := project_file(below.f_code.co_filename):
                stack.append(name)
            below = below.f_back
        thread = threading.get_ident()
        self.stacks[thread] = max(self.stacks.get(thread, []), stack, key=len)

    def told(self) -> dict[str, int]:
        return {
            "functions": len(self.functions),
            "files": len({file for file, _ in self.functions}),
            "frames": sum(map(len, self.stacks.values())),
            "stack_files": len({file for stack in self.stacks.values() for file in stack}),
            "threads": len(self.stacks),
        }


current: Walk | None = None


def note(frame: FrameType, event: str, _: Any) -> None:
    if event == "call" and current is not None:
        current.note(frame)


async def walked(work: Callable[[str], Awaitable[object]], *given: str) -> dict[str, int]:
    """Runs the work once per argument and takes the smallest walk: background work gets into some."""
    global current
    walks = []
    for one in given:
        current = walk = Walk()
        try:
            await work(one)
        finally:
            current = None
        walks.append(walk.told())
    return min(walks, key=lambda told: told["functions"])


def named(name: str) -> Any:
    return getattr(import_module(MODULES[name]), name)


def names_on(memory: Any) -> dict[str, int]:
    """The number of names on an object of class Memory, dunder names aside, and of its classes."""
    (kind,) = (one for one in type(memory).__mro__ if one.__name__ == "Memory")
    ancestry = [one for one in kind.__mro__ if one.__module__.startswith("thoughtcycle.")]
    names = {name for one in ancestry for name in vars(one)} | set(vars(memory))
    plain = [name for name in names if not name.startswith("__")]
    private = sum(name.startswith("_") for name in plain)
    return {"classes": len(ancestry), "public": len(plain) - private, "private": private}


async def main() -> None:
    threading.setprofile(note)
    async with named("hold")() as resources:
        memory, mind = resources.services.memory, resources.services.mind
        graph = named("create_thought_cycle")(memory=memory, mind=mind, checkpointer=resources.checkpointer)

        async def save(content: str) -> None:
            await memory.save("ana", [named("MemoryDraft")(content=content)])

        async def open_cycle(chat: str) -> None:
            now = datetime.now(UTC)
            message = named("CycleMessage")(id=f"message-{chat}", role="user", text="Tudo bem?", at=now)
            transcript = getattr(memory, "transcript", memory)  # an older `Memory` was its own transcript
            await transcript.open_cycle("ana", chat, message, parent=None, channel="cli")

        async def turn(text: str) -> None:
            context = named("Context")(user_id="ana", language="pt")
            config = {"configurable": {"thread_id": "t"}}
            await graph.ainvoke({"messages": [("user", text)]}, config, context=context)

        await save("Mora em Lisboa")  # what happens only once is not counted
        await open_cycle("a")
        await turn("Oi")
        sys.setprofile(note)
        told = {
            "turn": await walked(
                turn, "Guarde: gosto de chá verde", "Guarde: gosto de pão", "Guarde: gosto de sol"
            ),
            "save": await walked(save, "Tem um gato", "Tem um carro", "Tem um barco"),
            "cycle": await walked(open_cycle, "b", "c", "d"),
        }
        sys.setprofile(None)
        kept = [record.content for record in await memory.list("ana")]
        assert any("chá verde" in content for content in kept), kept
        sys.stdout.write(json.dumps(told | {"memory": names_on(memory)}))


asyncio.run(main())
