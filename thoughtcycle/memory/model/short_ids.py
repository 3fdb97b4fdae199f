"""Short forms of memory ids, as a model reads and writes them (pure)."""

from collections.abc import Collection, Mapping

SHORT = 8
"""Characters of an id that a model is shown, at least."""


def short_ids(ids: Collection[str]) -> Mapping[str, str]:
    """Id → its beginning that no other one of `ids` has."""
    short = {}
    for id in ids:
        others = [other for other in ids if other != id]
        lengths = range(SHORT, len(id))
        length = next((n for n in lengths if not any(one.startswith(id[:n]) for one in others)), len(id))
        short[id] = id[:length]
    return short


def whole_id(given: str, known: Collection[str]) -> str:
    """The one of `known` that begins with `given`, of `SHORT` characters or more; else `given` itself."""
    begin = given.casefold().rstrip(".…")
    fitting = {id for id in known if len(begin) >= SHORT and id.casefold().startswith(begin)}
    return fitting.pop() if len(fitting) == 1 else given
