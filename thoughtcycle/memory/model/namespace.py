"""Whose data a call is about: a user's memories, or beside them the items that an app keeps for that user."""

from thoughtcycle.errors import InputRefused, NotAllowed

_MARK = "\x1fstore"
"""Ends the name of a space of items; no user's id may end with it."""


class ItemSpace(str):
    """The space of a user's items. No text from outside is one: `item_space` makes it, or the storage."""

    __slots__ = ()


def owned(user: str) -> str:
    """`user`, if there is one; raises NotAllowed('user_missing') and InputRefused('text_null') otherwise.

    An id that would be the name of somebody's items is nobody's.
    """
    if not user or (user.endswith(_MARK) and not isinstance(user, ItemSpace)):
        raise NotAllowed("user_missing")
    if "\0" in user:
        raise InputRefused("text_null")
    return user


def item_space(user: str) -> ItemSpace:
    """Where the items are that apps keep for `user`. Raises NotAllowed('user_missing')."""
    if isinstance(user, ItemSpace):
        raise NotAllowed("user_missing")
    return ItemSpace(owned(user) + _MARK)


def stored_space(name: str) -> str:
    """A name that the storage gave, as what it is: a user's id, or the space of a user's items."""
    return ItemSpace(name) if name.endswith(_MARK) else name


def owner_of(space: str) -> str:
    """The user whose memories or items a stored space holds."""
    return space.removesuffix(_MARK)
