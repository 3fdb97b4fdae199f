"""Updates the profile: habits from preferences, and recurring moods."""

from thoughtcycle.memory.maintenance import cycles_of
from thoughtcycle.memory.rules.layer_rules import preferences_in
from thoughtcycle.memory.rules.profile import recurring_mood, with_mood, with_observation
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate


async def update_profile(forming: FormationRun) -> FormationUpdate:
    """Adds habits and moods to the profile (LM-3, LM-7); a recurring mood becomes a memory (HM-4).

    Idempotent: the profile holds the ids of its cycles. Raises Conflict when another writer was faster.
    """
    cycle, mood = await forming.cycle(), forming.judgement.mood
    known = profile = await forming.memory.profile(forming.user)
    for preference in preferences_in(masked(cycle.message.text)):
        profile = with_observation(profile, preference, cycle.id, cycle.message.at)
    if mood is not None:
        profile = with_mood(profile, mood, cycle.id, cycle.message.at)
    if profile != known:
        profile = await forming.memory.conversations.keep_profile(profile)
    if mood is not None and (draft := recurring_mood(profile, mood, cycle.id, forming.language)) is not None:
        said = draft.model_copy(update={"said": cycle.message.at})
        await forming.memory.save(forming.user, [said])
    if cycle.id in cycles_of(profile):
        await forming.hide_abandoned()
    return {}
