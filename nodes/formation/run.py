"""One run of a formation step: state, user and services together."""

from dataclasses import dataclass

from langgraph.runtime import Runtime

from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.language.parse import detect_language
from thoughtcycle.memory.model import Cycle, Judgement, MemoryRecord
from thoughtcycle.memory.rules.word_budget import reply_text
from thoughtcycle.memory.storage import Conflict
from thoughtcycle.memory.text.analyzer import digest
from thoughtcycle.nodes.base.context import Context, adapt, context_of_run
from thoughtcycle.nodes.base.run import Run, search_or_words
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.nodes.formation.exchange import Exchange
from thoughtcycle.nodes.formation.state import FormationState
from thoughtcycle.prompts.loader import Language


@dataclass(frozen=True)
class FormationRun(Run):
    """One run of a formation step: state, user and services."""

    state: FormationState

    @property
    def language(self) -> Language:
        """The language of the exchange, chosen by the first step."""
        return self.language_of(self.state)

    @property
    def judgement(self) -> Judgement:
        """The judgement of the exchange; only behind the step that judges."""
        return Judgement.model_validate(self.state["judgement"])

    async def cycle(self) -> Cycle:
        """The cycle, without the words of what the user has deleted.

        Raises NotAllowed('cycle_unknown'), and Conflict when its text has changed since the run began (a new
        reply, a deletion), it is excluded from formation, or another worker has judged it otherwise.
        """
        found = await self.memory.transcript.cycle(self.user, self.state["cycle_id"])
        if found is None:
            raise NotAllowed("cycle_unknown", id=repr(self.state["cycle_id"]))
        await self.unlearn_again(found)
        if found.formation == "none" or digest_of(found) != self.state["digest"]:
            raise Conflict
        if self.state.get("judgement") is not None and found.judgement not in (None, self.judgement):
            own = found.model_copy(update={"judgement": self.judgement})
            if found.judgement != (await self.memory.erasure.masked_cycle(self.user, own)).judgement:
                raise Conflict
        return found

    async def unlearn_again(self, cycle: Cycle) -> None:
        """Removes what a run has learned from a cycle that was unlearned meanwhile."""
        if cycle.formation == "none" and cycle.judgement is not None and cycle.judgement.unsaid:
            await self.memory.unlearning.unlearn(self.user, cycle, cycle.judgement.summary)

    async def hide_abandoned(self) -> None:
        """Hides memories of this cycle whose branch or reply has been abandoned since."""
        cycle = await self.cycle()
        anew = [cycle.id] if len(cycle.variants) > 1 else []
        if anew or not await self.memory.transcript.is_live(self.user, cycle.chat, cycle.id):
            tip = (await self.memory.transcript.claim_chat(self.user, cycle.chat)).tip
            await self.memory.transcript.settle_branches(self.user, cycle.chat, tip, anew=anew)

    async def find(self, query: str, limit: int) -> list[MemoryRecord]:
        """The active memories nearest to `query`, however far; see `search_or_words`."""
        hits = await search_or_words(self.memory, self.user, query, limit, floor=0.0)
        return [hit.record for hit in hits if hit.record.status == "active"]


def exchange_of(cycle: Cycle, forming: FormationRun) -> Exchange:
    """The cycle's texts as they are judged; its language is that of the message."""
    return Exchange(
        cycle=cycle.id,
        message=cycle.message.text,
        reply=reply_text(cycle),
        at=cycle.message.at,
        language=detect_language(cycle.message.text, forming.services.language),
        persona=forming.context.persona,
    )


def digest_of(cycle: Cycle) -> str:
    """The hash of the user's message and the newest reply."""
    texts = [cycle.message.text, *(text.text for text in cycle.replies)]
    return digest("\x1f".join(texts))


def open_formation_run(state: FormationState, runtime: Runtime[Context], services: Services) -> FormationRun:
    """The run of a step. Raises NotAllowed without a user, InputRefused('bad_field')."""
    if not isinstance(state.get("cycle_id", ""), str):
        raise InputRefused("bad_field", name="cycle_id", expected="text")
    context = context_of_run(runtime, adapt, services.single_user, public=services.public)
    return FormationRun(context, services, state)
