"""Delays background work while replies need the processor."""

import asyncio
from time import monotonic, process_time

LOOK_SECONDS = 0.03
"""One measurement of load: about as long as a step of a turn computes."""
BUSY = 0.25
"""Share of a processor from which on this process counts as busy."""
PATIENCE_SECONDS = 1.0
"""Longest wait of a step: a server that is never idle does its background work, too."""


async def wait_until_idle() -> None:
    """Returns when the process is idle, at the latest after PATIENCE_SECONDS."""
    until = monotonic() + PATIENCE_SECONDS
    while True:
        used, begun = process_time(), monotonic()
        await asyncio.sleep(LOOK_SECONDS)
        now = monotonic()
        if process_time() - used < BUSY * (now - begun) or now >= until:
            return
