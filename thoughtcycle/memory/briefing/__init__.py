"""The briefing: the part of memory that a model is given in a turn."""

from thoughtcycle.memory.briefing.builder import (
    RECIPES,
    BriefingOptions,
    BuiltBriefing,
    Recipe,
    Section,
    build_brief,
)
from thoughtcycle.memory.briefing.gather import read_material
from thoughtcycle.memory.briefing.sections import Material

__all__ = [
    "RECIPES",
    "BriefingOptions",
    "BuiltBriefing",
    "Material",
    "Recipe",
    "Section",
    "build_brief",
    "read_material",
]
