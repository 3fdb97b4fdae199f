"""Reads `.env` of the current folder into the environment, whole or not at all."""

from io import StringIO
from pathlib import Path

from dotenv import load_dotenv
from dotenv.parser import parse_stream

from thoughtcycle.errors import InputRefused


def read_env_file() -> None:
    """Sets the variables of `.env`, if there is one, that the environment does not set already.

    Raises InputRefused for a file that is not text, and for a line that sets nothing, with its number: its
    content may be a secret.
    """
    path = Path(".env").absolute()
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, IsADirectoryError):
        return
    except (OSError, UnicodeDecodeError):
        raise InputRefused("bad_setting", name=".env", expected="UTF-8") from None
    for binding in parse_stream(StringIO(text)):
        if binding.error:
            read = binding.original.string
            blank = read[: len(read) - len(read.lstrip())].count("\n")  # lines before it belong to it
            raise InputRefused("env_line", path=repr(str(path)), line=binding.original.line + blank)
    load_dotenv(stream=StringIO(text))
