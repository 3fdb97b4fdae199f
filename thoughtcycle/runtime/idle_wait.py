"""Lets the work behind replies wait while replies need the processor."""

import asyncio
from time import monotonic, process_time

LOOK_SECONDS = 0.03
"""How long the process is watched: about as long as a step of a turn computes."""
BUSY = 0.25
"""Share of the time watched in which a processor worked for this process; from here on it is busy."""
PATIENCE_SECONDS = 1.0
"""How long a step waits at most, so that what was said is understood on a server that is never idle, too."""


async def wait_until_idle() -> None:
    """Returns when this process leaves processor time, or its patience ends."""
    until = monotonic() + PATIENCE_SECONDS
    while True:
        used, begun = process_time(), monotonic()
        await asyncio.sleep(LOOK_SECONDS)
        now = monotonic()
        if process_time() - used < BUSY * (now - begun) or now >= until:
            return
