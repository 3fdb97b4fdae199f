"""Embeds the messages, so that a reply finds them by meaning without waiting for the vectors."""

import logging

from thoughtcycle.errors import ModelFailed
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate

log = logging.getLogger(__name__)


async def embed(forming: FormationRun) -> FormationUpdate:
    """Embeds what is pending; while the model is out of reach words serve, and a later cycle does it."""
    try:
        await forming.memory.recall.embed_messages(forming.user)
    except ModelFailed as failure:
        log.warning("what was said is found by words alone for now: %s", failure.code)
    return {}
