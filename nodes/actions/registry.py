"""Discovers the actions; nodes, edges, prompts and the CLI follow from the registry."""

import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import thoughtcycle.nodes.actions as own
from thoughtcycle.errors import InputRefused
from thoughtcycle.mind.base import ActionCard
from thoughtcycle.nodes.actions.base import Action
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.prompts.loader import Language

GROUP = "thoughtcycle.actions"
"""Entry point group; the entry's name is the action's name, its value the Action subclass."""


class Registry(Mapping[str, Action[Any]]):
    """The actions of one graph by name; those that end the cycle come last."""

    def __init__(self, actions: Iterable[Action[Any]]) -> None:
        ordered = sorted(actions, key=lambda action: (action.ends, action.name))
        self._actions = {action.name: action for action in ordered}
        if not any(action.ends for action in ordered):
            raise InputRefused("no_ending_action")

    def __getitem__(self, name: str) -> Action[Any]:
        return self._actions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._actions)

    def __len__(self) -> int:
        return len(self._actions)

    def enabled(self, context: Context, *, unsaid: bool = False) -> list[Action[Any]]:
        """The actions that the router may choose; none that writes when the message is not to be kept."""
        off = {name.casefold() for name in context.disabled_actions}
        return [
            action
            for action in self.values()
            if action.name.casefold() not in off and not ((context.incognito or unsaid) and action.writes)
        ]

    def cards(self, language: Language, context: Context, *, unsaid: bool = False) -> list[ActionCard]:
        """The enabled actions as the router sees them."""
        return [
            ActionCard(
                action.name,
                action.when(language),
                action.called(),
                action.urgency,
                tool=None if action.by_reply else action.tool(language),
            )
            for action in self.enabled(context, unsaid=unsaid)
        ]


def discover(disabled: Iterable[str] = ()) -> Registry:
    """Our actions and those of installed packages, which replace ours of the same name.

    `disabled`: names of actions to leave out. Raises InputRefused for an unknown name, and for an entry point
    that is no action.
    """
    found = {action.name: action for action in (*_own(), *_installed())}
    off = {name.casefold(): name for name in disabled}
    if unknown := off.keys() - {name.casefold() for name in found}:
        raise InputRefused("unknown_action", name=off[min(unknown)], names=", ".join(found))
    return Registry(action for action in found.values() if action.name.casefold() not in off)


def _own() -> Iterator[Action[Any]]:
    for module in pkgutil.iter_modules(own.__path__, f"{own.__name__}."):
        for _, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(kind, Action) and kind.__module__ == module.name and not inspect.isabstract(kind):
                yield kind()


def _installed() -> Iterator[Action[Any]]:
    for entry in entry_points(group=GROUP):
        kind = entry.load()
        if not (inspect.isclass(kind) and issubclass(kind, Action)):
            raise InputRefused("not_an_action", entry=entry.value)
        yield kind()
