"""Embeds messages ahead of the replies that search them."""

import logging

from thoughtcycle.errors import ModelFailed
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate

log = logging.getLogger(__name__)


async def embed(forming: FormationRun) -> FormationUpdate:
    """Embeds pending messages; while the embedding model is out of reach a later cycle does it."""
    try:
        await forming.memory.recall.embed_messages(forming.user)
    except ModelFailed as failure:
        log.warning("what was said is found by words alone for now: %s", failure.code)
    return {}
