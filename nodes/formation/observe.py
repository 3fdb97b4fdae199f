"""What an exchange shows beside its facts: layer marks, habits for the profile, moods that come back."""

from thoughtcycle.memory.formed import Profile
from thoughtcycle.memory.marks import preferences_in
from thoughtcycle.memory.profile import felt, observed, recurring
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.sheet_checkup import cycles_of
from thoughtcycle.nodes.formation.forming import Forming
from thoughtcycle.nodes.formation.state import FormationUpdate


async def observe(forming: Forming) -> FormationUpdate:
    """Feeds the profile (LM-3, LM-7) and keeps a mood that came up on the same topic often enough (HM-4).

    The profile knows the cycles that it rests on, so that none counts twice.
    """
    cycle = await forming.cycle()
    profile = await _noted(forming, cycle)
    mood = forming.judgement.mood
    if mood is not None and (draft := recurring(profile, mood, cycle.id, forming.language)) is not None:
        said = draft.model_copy(update={"said": cycle.message.at})
        await forming.memory.save(forming.user, [said])
    if cycle.id in cycles_of(profile):
        await forming.settle()
    return {}


async def _noted(forming: Forming, cycle: Cycle) -> Profile:
    """The profile with what this cycle shows. Raises Conflict when another writer was faster."""
    known = await forming.memory.profile(forming.user)
    changed = known
    for preference in preferences_in(cycle.message.text):
        changed = observed(changed, preference, cycle.id, cycle.message.at)
    if forming.judgement.mood is not None:
        changed = felt(changed, forming.judgement.mood, cycle.id, cycle.message.at)
    return known if changed == known else await forming.memory.keep_profile(changed)
