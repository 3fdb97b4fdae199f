"""Updates the profile: habits from preferences, and moods that come back (LM-3, LM-7, HM-4)."""

from thoughtcycle.memory.maintenance import cycles_of
from thoughtcycle.memory.model import Cycle, Profile
from thoughtcycle.memory.rules import preferences_in, recurring_mood, with_mood, with_observation
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate


async def update_profile(forming: FormationRun) -> FormationUpdate:
    """Feeds the profile (LM-3, LM-7) and keeps a mood that came up on the same topic often enough (HM-4).

    The profile knows the cycles that it rests on, so that none counts twice.
    """
    cycle = await forming.cycle()
    profile = await _profile_with(forming, cycle)
    mood = forming.judgement.mood
    if mood is not None and (draft := recurring_mood(profile, mood, cycle.id, forming.language)) is not None:
        said = draft.model_copy(update={"said": cycle.message.at})
        await forming.memory.save(forming.user, [said])
    if cycle.id in cycles_of(profile):
        await forming.hide_abandoned()
    return {}


async def _profile_with(forming: FormationRun, cycle: Cycle) -> Profile:
    """The profile with what this cycle shows. Raises Conflict when another writer was faster."""
    known = await forming.memory.profile(forming.user)
    changed = known
    for preference in preferences_in(cycle.message.text):
        changed = with_observation(changed, preference, cycle.id, cycle.message.at)
    if forming.judgement.mood is not None:
        changed = with_mood(changed, forming.judgement.mood, cycle.id, cycle.message.at)
    return known if changed == known else await forming.memory.conversations.keep_profile(changed)
