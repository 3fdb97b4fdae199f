"""What cannot be kept of what somebody says: halves of characters, and U+0000."""

from typing import Any

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import as_text


def readable(content: Any) -> Any:
    """`content`, as somebody gave it; InputRefused('text_not_unicode', 'text_null') for what is no text.

    In content that is none itself, a text may hold U+0000: it is kept as JSON, which writes it otherwise.
    """
    text = as_text(content)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputRefused("text_not_unicode") from error
    if "\0" in text:
        raise InputRefused("text_null")
    return content
