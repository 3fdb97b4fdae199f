"""Makes the vectors of what was said, so that a reply finds it by meaning without waiting for them."""

import logging

from thoughtcycle.nodes.formation.forming import Forming
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.prompts.errors import ModelFailed

log = logging.getLogger(__name__)


async def embed(forming: Forming) -> FormationUpdate:
    """While the embedding model is out of reach words serve, and a later cycle makes up for it."""
    try:
        await forming.memory.embed_messages(forming.user)
    except ModelFailed as failure:
        log.warning("what was said is found by words alone for now: %s", failure.code)
    return {}
