"""The exceptions whose text a person may read, told in that person's language.

ThoughtcycleError
├── InputRefused        what came in cannot be used (empty, too long, unknown language …)
├── NotAuthenticated    the caller did not prove who they are (no token, expired, forged …)
├── TooMuch             too many requests, or too many tokens in a day
├── NotAllowed          no user, somebody else's chat, an id that was never recalled
├── StorageFailed       the database said no (locked, full, read-only, corrupt, newer schema)
├── ModelFailed         the model said no (key, address, limit, time-out, cut stream, bad answer)
└── Unexpected          a fault of ours, of which strangers read no more than that
"""

import errno
import socket

from thoughtcycle.prompts.loader import Language, placeholders, texts


class ThoughtcycleError(Exception):
    """A failure with one clear line: what is wrong, what was expected, what to do.

    `code` is a section of `prompts/<language>/errors.md`; `values` fill its placeholders, an OSError
    with what the operating system meant by it.
    """

    def __init__(self, code: str, **values: object) -> None:
        self.code = code
        self.values = values
        super().__init__(code, values)

    def text(self, language: Language = "en") -> str:
        """The line that a person reads, in `language`."""
        values = {
            name: system_reason(value, language) if isinstance(value, OSError) else value
            for name, value in self.values.items()
        }
        return texts(language, "errors").fill(self.code, **values)

    def __str__(self) -> str:
        return self.text("en")


def system_reason(error: OSError, language: Language) -> str:
    """Why the operating system refused, in `language`: its own words are English, or of another language."""
    reasons = texts(language, "system")
    name = "name" if isinstance(error, socket.gaierror) else errno.errorcode.get(error.errno or 0, "other")
    return reasons[name if name in reasons else "other"]


class InputRefused(ThoughtcycleError):
    """What came in cannot be used as it is."""


class NotAuthenticated(ThoughtcycleError):
    """The caller did not prove who they are."""


class TooMuch(ThoughtcycleError):
    """More than a caller may ask for now; the value `seconds` says when to come again."""


class NotAllowed(ThoughtcycleError):
    """The caller may not do this: no user, somebody else's chat, an id that was not recalled."""


class StorageFailed(ThoughtcycleError):
    """The database refused or could not be opened; nothing was half-written."""


class ModelFailed(ThoughtcycleError):
    """The model or the embedding service did not give a usable answer."""


class Unexpected(ThoughtcycleError):
    """Something that should not have happened did; the log has what it was."""


def reason(code: str, language: Language) -> str:
    """The line of a failure of which only the code was kept: what it was about, where the line needs more."""
    words = texts(language, "errors")
    if code in words and not placeholders(words[code]):
        return words[code]
    kind = code.partition("_")[0]
    return words[f"{kind}_trouble"] if kind in ("storage", "model") else words["unexpected"]


def for_strangers(error: ThoughtcycleError) -> ThoughtcycleError:
    """The error as those may read it who do not run the deployment.

    Those of database and model name addresses, files, models and settings; without values they name nothing.
    """
    if isinstance(error, StorageFailed) and error.values:
        return StorageFailed("storage_trouble")
    if isinstance(error, ModelFailed) and error.values:
        return ModelFailed("model_trouble")
    return error
