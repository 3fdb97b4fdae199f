"""LangGraph's in-memory saver for one chat, with the retention of our other savers."""

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver

from thoughtcycle.checkpoints.retention import KEEP_TURNS, Row, checked_keep_turns, expired, may_begin_turn


class BoundedInMemorySaver(InMemorySaver):
    """Holds the last turns of one thread: without an end a long chat would take megabytes."""

    def __init__(self, *, keep_turns: int = KEEP_TURNS) -> None:
        """`keep_turns` (1..1000): the last turns whose checkpoints are kept; else ValueError."""
        super().__init__()
        self._keep_turns = checked_keep_turns(keep_turns)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As InMemorySaver's; when a turn begins, drops what no turn within reach needs."""
        stored = super().put(config, checkpoint, metadata, new_versions)
        place = config.get("configurable", {})
        if may_begin_turn(place["checkpoint_ns"], metadata, new_versions):
            self._prune(place["thread_id"], checkpoint["id"])
        return stored

    def _prune(self, thread: str, head: str) -> None:
        held = self.storage[thread]
        rows = [
            Row(namespace, id, parent, metadata.get("source"), metadata.get("step"))
            for namespace, checkpoints in held.items()
            for id, (_, stored, parent) in checkpoints.items()
            for metadata in [self.serde.loads_typed(stored)]
        ]
        gone = expired(rows, head, self._keep_turns)
        for namespace, id in gone:
            del held[namespace][id]
            self.writes.pop((thread, namespace, id), None)
        if not gone:
            return
        needed = {
            (thread, namespace, channel, version)
            for namespace, checkpoints in held.items()
            for stored, _, _ in checkpoints.values()
            for channel, version in self.serde.loads_typed(stored)["channel_versions"].items()
        }
        for key in self.blobs.keys() - needed:
            del self.blobs[key]
