"""Judges the exchange, once, by one model call at most, and marks the layers in which it is seen (LM-6)."""

from thoughtcycle.memory.judgement import Judgement
from thoughtcycle.memory.marks import marks_of
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.storage.base import Conflict
from thoughtcycle.memory.unlearning import out_of_conversation
from thoughtcycle.memory.volume import reply_text
from thoughtcycle.nodes.formation.forming import Forming, exchange_of
from thoughtcycle.nodes.formation.judging import KNOWN, judged
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.nodes.turn import short_form


async def judge(forming: Forming) -> FormationUpdate:
    """Stores the judgement on the cycle before anything is made of it: a repeated run asks no model.

    Earlier cycles of the chat whose judgement is pending are judged again beside it (CM-8).
    """
    if forming.state.get("judgement") is not None and not forming.judgement.pending:
        return {}
    cycle = await forming.cycle()
    if len(cycle.variants) > 1:  # what was made of the reply before
        await out_of_conversation(forming.memory, forming.user, cycle)
    made = await judge_cycle(forming, cycle)
    return {"judgement": made.model_dump(mode="json")}


async def judge_cycle(forming: Forming, cycle: Cycle) -> Judgement:
    """The judgement of a cycle, stored with it.

    Raises Conflict when its words have changed meanwhile, or another worker has judged it: what is made of a
    cycle is made of one judgement.
    """
    exchange = exchange_of(cycle, forming)
    asked = exchange.verdict.passed and not forming.mind.by_rules
    known = await forming.find(cycle.message.text, KNOWN) if asked else []
    before = cycle.judgement.failures if cycle.judgement is not None else 0
    shown = [short_form(record) for record in known]
    made = await judged(forming.mind, exchange, shown, failures=before)
    kept = await forming.memory.form_cycle(
        forming.user,
        cycle.id,
        judgement=made,
        marks=marks_of(cycle.message.text, reply_text(cycle), cycle.message.at),
        formation=cycle.formation if cycle.formation == "done" else "pending",
        expected=cycle,
        first=True,
    )
    if kept is None:
        raise Conflict
    return made
