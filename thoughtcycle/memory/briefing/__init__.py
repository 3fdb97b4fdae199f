"""The briefing: the part of memory that a model is given in a turn."""

from thoughtcycle.memory.briefing.builder import RECIPES, Brief, Recipe, Section
from thoughtcycle.memory.briefing.gather import Plan, beside, gathered, made, on_branch, without
from thoughtcycle.memory.briefing.sections import Material

__all__ = [
    "RECIPES",
    "Brief",
    "Material",
    "Plan",
    "Recipe",
    "Section",
    "beside",
    "gathered",
    "made",
    "on_branch",
    "without",
]
