"""The compressed form of a content: what is put aside takes less room and reads back exactly (pure)."""

import base64
import json
import zlib
from typing import Any

_MARK = "zlib"
"""The one name in a packed content; the value is base64, so that documents stay plain JSON."""


def packed(content: Any) -> Any:
    """`content` compressed, where that is smaller; else as it is."""
    text = _text(content)
    small = _packed(text)
    return small if len(small[_MARK]) + len(_MARK) + 7 < len(text) else stored(content)


def stored(content: Any) -> Any:
    """`content` as a document keeps it: as it is, unless it would be taken for a packed one."""
    return _packed(_text(content)) if is_packed(content) else content


def is_packed(content: Any) -> bool:
    """Whether a content has the form of a packed one; of a stored content, whether it is packed."""
    return isinstance(content, dict) and content.keys() == {_MARK}


def unpacked(content: Any) -> Any:
    """The content of which `packed` or `stored` made this."""
    if not is_packed(content):
        return content
    return json.loads(zlib.decompress(base64.b64decode(content[_MARK])))


def _text(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"))


def _packed(text: str) -> dict[str, str]:
    return {_MARK: base64.b64encode(zlib.compress(text.encode(), 9)).decode()}
