"""The exceptions whose text a person may read, told in that person's language.

ThoughtcycleError
├── InputRefused              what came in cannot be used (empty, too long, unknown language …)
│   ├── MemoryNotActive       a change of a memory that is archived, hidden or superseded
│   ├── FieldRefused          a field that pydantic refuses
│   ├── ExtraMissing          packages of an extra are not installed
│   ├── ChatBusy              too many messages wait in the chat already
│   └── ChatOver              the chat or the server ends; nothing begins any more
├── NotAuthenticated          the caller did not prove who they are (no token, expired, forged …)
│   ├── OriginRefused         no proof helps from there (another computer, another site)
│   └── AuthUnavailable       the keys that proofs are checked with cannot be fetched
├── TooMuch                   too many requests, or too many tokens in a day
├── NotAllowed                no user, somebody else's chat, an id that was never recalled
│   ├── ChatUnknown
│   └── MemoryUnknown
├── StorageFailed             the database said no; so do Conflict and DocumentBroken of thoughtcycle.memory
│   ├── StorageLocked         another process writes
│   ├── StorageUnusable       the next write would fail as well (read-only, newer schema, full spool …)
│   │   ├── StorageUnavailable
│   │   ├── StorageFull
│   │   └── StorageCorrupt
│   ├── MemoryAway            the memory survives the outage, but cannot answer now
│   ├── LearnedLater          the change is refused, its message is kept and understood later
│   └── TurnKept              the message waits in the spool; the turn is made up for later
├── ModelFailed               the model said no (key, address, overflow, bad answer …)
│   └── ModelTransient        it may pass by itself (limit, overload, no connection, cut stream)
│       └── ModelTimeout
└── Unexpected                a fault of ours, of which strangers read no more than that

A failure that code tells apart has a type; the code of any other is for its text, for callers and for logs.
"""

import errno
import socket
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from thoughtcycle.prompts.loader import Language, placeholders, texts

Code = Literal[
    # InputRefused
    "backup_missing", "backup_mongodb", "bad_field", "bad_option", "bad_setting", "block_remote",
    "block_unknown", "channel_name", "channel_sender", "chat_ambiguous", "chat_busy", "chat_over",
    "confirm", "content_masked", "database_url", "dialogue_empty", "dialogue_line", "dialogue_order",
    "dialogue_unreadable", "edit_too_old", "env_line", "eval_data", "extra_missing", "extra_missing_there",
    "file_content", "file_empty", "file_encrypted", "file_exists", "file_incognito", "file_mismatch",
    "file_missing", "file_name", "file_none", "file_slow", "file_too_large", "file_type", "file_unopened",
    "file_unreadable", "file_unsafe", "file_unwritable", "files_too_many", "forget_unconfirmed",
    "import_damaged", "import_unknown", "import_unreadable", "import_version", "item_not_json", "item_ttl",
    "job_ambiguous", "langsmith_failed", "langsmith_key_missing", "left_conversation", "link_wrong",
    "listening_open", "memory_ambiguous", "memory_asynchronous", "memory_empty",
    "memory_erased", "memory_hidden", "memory_not_active", "memory_not_archived", "memory_pinned",
    "message_binary", "message_empty", "message_too_long", "model_without_server", "no_embeddings",
    "no_ending_action", "no_message", "not_an_action", "nothing_chosen", "nothing_to_answer",
    "nothing_to_undo", "port_taken", "preference_missing", "preference_unknown", "preference_value",
    "query_empty", "restore_over", "restore_replaced", "snapshots_gone", "store_operator",
    "text_not_unicode", "text_null", "too_large",
    "tracing_key_missing", "undo_merged", "undo_replaced", "unknown_action", "unknown_language",
    "unknown_recipe", "unknown_setting", "unknown_time_zone", "usage_command", "usage_extra",
    "usage_missing", "usage_option", "usage_option_early", "usage_option_value", "usage_value",
    # NotAuthenticated
    "auth_expired", "auth_local_only", "auth_missing", "auth_other_site", "auth_refused",
    "auth_unavailable", "channel_signature",
    # TooMuch
    "link_paused", "tokens_spent", "too_often",
    # NotAllowed
    "chat_of_another", "chat_unknown", "cycle_unknown", "job_unknown", "link_unknown", "memory_not_listed",
    "memory_unknown", "no_user", "store_owner", "user_forgotten", "user_missing",
    # StorageFailed
    "file_lost", "learned_later", "memory_away", "schema_newer", "sheet_broken", "spool_full",
    "spool_unusable", "storage_conflict", "storage_corrupt", "storage_foreign", "storage_full",
    "storage_locked", "storage_readonly", "storage_trouble", "storage_unavailable", "storage_unopenable",
    "turn_kept",
    # ModelFailed
    "beyond_rules", "embedding_answer", "model_address", "model_answer", "model_cut", "model_down",
    "model_key", "model_length", "model_limit", "model_overflow", "model_protocol", "model_request",
    "model_timeout", "model_trouble", "model_unknown", "model_unreachable", "model_withheld", "reply_cut",
    # Unexpected
    "unexpected",
]  # fmt: skip
"""A section of `prompts/<language>/errors.md`; each is raised by one type only."""


class ThoughtcycleError(Exception):
    """A failure with one clear line: what is wrong, what was expected, what to do.

    `values` fill the placeholders of the code's text, an OSError with what the operating system meant by it.
    """

    def __init__(self, code: Code, **values: object) -> None:
        self.code: Code = code
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


class MemoryNotActive(InputRefused):
    """The memory is there, but not active: it cannot be changed."""

    def __init__(self, id: str) -> None:
        super().__init__("memory_not_active", id=repr(id))


class ExtraMissing(InputRefused):
    """`name` needs packages that are not installed; `command` installs them."""

    def __init__(self, name: str, command: str) -> None:
        super().__init__("extra_missing", name=name, command=command)


class ChatBusy(InputRefused):
    """Too many messages wait in this chat already."""

    def __init__(self) -> None:
        super().__init__("chat_busy")


class ChatOver(InputRefused):
    """The chat, its user or the server ends; what waited does not begin."""

    def __init__(self) -> None:
        super().__init__("chat_over")


class FieldRefused(InputRefused):
    """A field that cannot be used as it is: the first that pydantic names, as its `errors()` tell it.

    `above` parts of the place are left out; a failure of the whole (JSON that cannot be read, no object)
    names none.
    """

    def __init__(self, error: Mapping[str, Any], above: int = 0) -> None:
        self._type: str = error["type"]
        self._limits: dict[str, Any] = dict(error.get("ctx") or {})
        place: Sequence[int | str] = error["loc"][above:]
        whole = self._type == "json_invalid"  # what follows is an offset in bytes
        super().__init__("bad_field", name="" if whole else ".".join(map(str, place)))

    def text(self, language: Language = "en") -> str:
        words = texts(language, "fields")
        name = self.values["name"] or words["whole"]
        section = next((known for known in (self._type, self._type.split("_")[0]) if known in words), "other")
        if placeholders(words[section]) - self._limits.keys():
            section = "other"
        limits = self._limits | {"expected": str(self._limits.get("expected", "")).replace(" or ", ", ")}
        expected = words.fill(section, **limits)
        return texts(language, "errors").fill("bad_field", name=name, expected=expected)


class NotAuthenticated(ThoughtcycleError):
    """The caller did not prove who they are."""


class OriginRefused(NotAuthenticated):
    """The request comes from where no proof helps: another computer, or another site's page."""


class AuthUnavailable(NotAuthenticated):
    """The keys that tokens are checked with cannot be fetched."""

    def __init__(self) -> None:
        super().__init__("auth_unavailable")


class TooMuch(ThoughtcycleError):
    """More than a caller may ask for now; the value `seconds` says when to come again."""


class NotAllowed(ThoughtcycleError):
    """The caller may not do this: no user, somebody else's chat, an id that was not recalled."""


class ChatUnknown(NotAllowed):
    """The user has no such chat."""

    def __init__(self, id: str) -> None:
        super().__init__("chat_unknown", id=repr(id))


class MemoryUnknown(NotAllowed):
    """The user has no such memory."""

    def __init__(self, id: str) -> None:
        super().__init__("memory_unknown", id=repr(id))


class StorageFailed(ThoughtcycleError):
    """The database refused or could not be opened; nothing was half-written."""


class StorageLocked(StorageFailed):
    """Another process writes, and did not end in time."""

    def __init__(self, place: str) -> None:
        super().__init__("storage_locked", place=place)


class StorageUnusable(StorageFailed):
    """Nothing can be stored until somebody or something mends it."""


class StorageUnavailable(StorageUnusable):
    """The database cannot be reached."""

    def __init__(self, place: str) -> None:
        super().__init__("storage_unavailable", place=place)


class StorageFull(StorageUnusable):
    """The database has no space left."""

    def __init__(self, place: str) -> None:
        super().__init__("storage_full", place=place)


class StorageCorrupt(StorageUnusable):
    """The file is damaged, or no database of this program."""

    def __init__(self, place: str) -> None:
        super().__init__("storage_corrupt", place=place)


class MemoryAway(StorageFailed):
    """Memory is out of reach for now, and survives that."""

    def __init__(self) -> None:
        super().__init__("memory_away")


class LearnedLater(StorageFailed):
    """A change was refused for an outage; its message is kept and understood later."""

    def __init__(self) -> None:
        super().__init__("learned_later")


class TurnKept(StorageFailed):
    """The turn could not begin; its message is kept and arrives later."""

    def __init__(self) -> None:
        super().__init__("turn_kept")


class ModelFailed(ThoughtcycleError):
    """The model or the embedding service did not give a usable answer."""


class ModelTransient(ModelFailed):
    """A failure of the model that may pass by itself."""


class ModelTimeout(ModelTransient):
    """The model did not answer in time."""

    def __init__(self, **values: object) -> None:
        super().__init__("model_timeout", **values)


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
    A command to install something names a folder of the server, and is of no use to them.
    """
    if isinstance(error, StorageFailed) and error.values:
        return StorageFailed("storage_trouble")
    if isinstance(error, ModelFailed) and error.values:
        return ModelFailed("model_trouble")
    if isinstance(error, ExtraMissing):
        return InputRefused("extra_missing_there", name=error.values["name"])
    return error
