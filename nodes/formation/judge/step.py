"""The step that judges an exchange, once, by one model call at most, and marks its layers (LM-6)."""

from thoughtcycle.memory.model import Cycle, Judgement
from thoughtcycle.memory.rules import layer_marks, reply_text
from thoughtcycle.memory.storage import Conflict
from thoughtcycle.nodes.base.turn import short_form
from thoughtcycle.nodes.formation.judge.model_judge import KNOWN, judged
from thoughtcycle.nodes.formation.run import FormationRun, exchange_of
from thoughtcycle.nodes.formation.state import FormationUpdate


async def judge(forming: FormationRun) -> FormationUpdate:
    """Stores the judgement on the cycle before anything is made of it: a repeated run asks no model.

    Earlier cycles of the chat whose judgement is pending are judged again beside it (CM-8).
    """
    if forming.state.get("judgement") is not None and not forming.judgement.pending:
        return {}
    cycle = await forming.cycle()
    if len(cycle.variants) > 1:  # what was made of the reply before
        await forming.memory.unlearning.drop_from_conversation(forming.user, cycle)
    made = await judge_cycle(forming, cycle)
    return {"judgement": made.model_dump(mode="json")}


async def judge_cycle(forming: FormationRun, cycle: Cycle) -> Judgement:
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
    kept = await forming.memory.conversations.form_cycle(
        forming.user,
        cycle.id,
        judgement=made,
        marks=layer_marks(cycle.message.text, reply_text(cycle), cycle.message.at),
        formation=cycle.formation if cycle.formation == "done" else "pending",
        expected=cycle,
        first=True,
    )
    if kept is None:
        raise Conflict
    return made
