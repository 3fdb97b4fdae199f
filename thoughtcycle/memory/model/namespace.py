"""Memory spaces: a user's memories, and beside them the items that apps store for that user."""

from thoughtcycle.errors import InputRefused, NotAllowed

_MARK = "\x1fstore"
"""Ends the name of a space of items; no user's id may end with it."""


class ItemSpace(str):
    """The space of a user's items. No text from outside is one: `item_space` makes it, or the storage."""

    __slots__ = ()


def owned(user: str) -> str:
    """`user`, checked. Raises NotAllowed('user_missing'), also for the name of a space of items.

    Raises InputRefused('text_null') for one with U+0000.
    """
    if not user or (user.endswith(_MARK) and not isinstance(user, ItemSpace)):
        raise NotAllowed("user_missing")
    if "\0" in user:
        raise InputRefused("text_null")
    return user


def item_space(user: str) -> ItemSpace:
    """The space of the items that apps store for `user`. Raises NotAllowed('user_missing')."""
    if isinstance(user, ItemSpace):
        raise NotAllowed("user_missing")
    return ItemSpace(owned(user) + _MARK)


def stored_space(name: str) -> str:
    """The space of a name read from the storage: a user's id, or the space of a user's items."""
    return ItemSpace(name) if name.endswith(_MARK) else name


def owner_of(space: str) -> str:
    """The user of a memory space or a space of items."""
    return space.removesuffix(_MARK)
