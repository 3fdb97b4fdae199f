"""Forked children that tell what they do, one JSON line each; the parent has neither threads nor connections."""

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

Tell: TypeAlias = Callable[..., None]
"""Writes one line for the parent: what happened, and fields that say more."""
Work: TypeAlias = Callable[[Tell], Awaitable[None]]


class Child:
    """A process that runs `work`; its lines are read here."""

    def __init__(self, work: Work) -> None:
        read, write = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            _live(work, write)
        os.close(write)
        self._lines = os.fdopen(read, "rb")

    def lines(self) -> Iterator[dict[str, Any]]:
        """Its lines, as they come, to its end; one that was cut off is none."""
        for line in self._lines:
            if line.endswith(b"\n"):
                yield json.loads(line)

    def kill(self) -> None:
        """Ends it without a last word; it may have ended already."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit code, negative for a signal; called once, after which it is gone."""
        self._lines.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _live(work: Work, write: int) -> None:
    def tell(what: str, **more: object) -> None:
        os.write(write, json.dumps({"what": what, **more}).encode() + b"\n")

    code = 1
    try:
        asyncio.run(work(tell))
        code = 0
    finally:
        if code:
            tell("failed", error=traceback.format_exc()[-2_000:])
        os._exit(code)


def done(work: Work) -> list[dict[str, Any]]:
    """All lines of a child that runs to its end; raises RuntimeError when it fails."""
    child = Child(work)
    told = list(child.lines())
    if child.wait() != 0:
        raise RuntimeError(told[-1]["error"] if told else "a child died")
    return told
