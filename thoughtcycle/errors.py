"""The exceptions, each with a text for a person in Portuguese or English.

A failure that code distinguishes has a type; the code of any other is for its text, for callers and for logs.
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
    "proof_no_words", "proof_other_database", "proof_unreadable", "proof_word",
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
    "file_lost", "learned_later", "memory_away", "proof_failed", "schema_newer", "sheet_broken", "spool_full",
    "spool_unusable", "storage_conflict", "storage_corrupt", "storage_foreign", "storage_full",
    "storage_locked", "storage_readonly", "storage_trouble", "storage_unavailable", "storage_unopenable",
    "turn_kept",
    # ModelFailed
    "beyond_rules", "embedding_answer", "embeddings_away", "model_address", "model_answer", "model_cut",
    "model_down", "model_key", "model_length", "model_limit", "model_overflow", "model_protocol",
    "model_request", "model_timeout", "model_tools", "model_trouble", "model_unknown", "model_unreachable",
    "model_withheld", "reply_cut",
    # Unexpected
    "unexpected",
]  # fmt: skip
"""A section of `prompts/<language>/errors.md`; each is raised by one type only."""


class ThoughtcycleError(Exception):
    """A failure with one clear line: what is wrong, what was expected, what to do.

    `values` fill the placeholders of the code's text; an OSError is filled in as its reason.
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
    """The reason of the operating system, in `language` instead of its own words."""
    reasons = texts(language, "system")
    name = "name" if isinstance(error, socket.gaierror) else errno.errorcode.get(error.errno or 0, "other")
    return reasons[name if name in reasons else "other"]


class InputRefused(ThoughtcycleError):
    """The input cannot be used: it is empty, too long, of an unknown kind …"""


class MemoryNotActive(InputRefused):
    """The memory is archived, hidden or superseded: it cannot be changed."""

    def __init__(self, id: str) -> None:
        super().__init__("memory_not_active", id=repr(id))


class ExtraMissing(InputRefused):
    """`name` needs packages that are not installed; `command` installs them."""

    def __init__(self, name: str, command: str) -> None:
        super().__init__("extra_missing", name=name, command=command)


class ChatBusy(InputRefused):
    """Too many messages wait in this chat."""

    def __init__(self) -> None:
        super().__init__("chat_busy")


class ChatOver(InputRefused):
    """The chat, its user or the server ends: no turn begins any more."""

    def __init__(self) -> None:
        super().__init__("chat_over")


class FieldRefused(InputRefused):
    """A field that pydantic refuses, made from an entry of its `errors()`.

    `above` parts of its location are left out; a failure of the whole (no JSON, no object) names no field.
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
    """The caller did not prove who they are: no token, an expired or a forged one."""


class OriginRefused(NotAuthenticated):
    """The request comes from another computer or another site's page, where no proof helps."""


class AuthUnavailable(NotAuthenticated):
    """The keys that check tokens cannot be fetched."""

    def __init__(self) -> None:
        super().__init__("auth_unavailable")


class TooMuch(ThoughtcycleError):
    """Too many requests, or too many tokens in a day; try again after the value `seconds`."""


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
    """The database failed or could not be opened; nothing was half-written. See also Conflict in `memory`."""


class StorageLocked(StorageFailed):
    """Another process writes and did not finish in time."""

    def __init__(self, place: str) -> None:
        super().__init__("storage_locked", place=place)


class StorageUnusable(StorageFailed):
    """The next write would fail as well (read-only, newer schema, full spool …) until it is repaired."""


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
    """The memory cannot answer during an outage; nothing is lost."""

    def __init__(self) -> None:
        super().__init__("memory_away")


class LearnedLater(StorageFailed):
    """A change was refused for an outage; formation learns from its message later."""

    def __init__(self) -> None:
        super().__init__("learned_later")


class TurnKept(StorageFailed):
    """The turn could not begin; its message waits in the spool and is replayed."""

    def __init__(self) -> None:
        super().__init__("turn_kept")


class ModelFailed(ThoughtcycleError):
    """The model or the embedding service gave no usable answer: key, address, overflow …"""


class ModelWithoutTools(ModelFailed):
    """The model or its server takes no tools; without `named` the reason is a guess."""

    def __init__(self, *, named: bool, **values: object) -> None:
        self.named = named
        super().__init__("model_tools", **values)


class ModelRefused(ModelFailed):
    """The server refuses the key, or does not know the model or the address."""


class ModelTransient(ModelFailed):
    """A failure that may pass by itself: limit, overload, no connection, cut stream."""


class ModelTimeout(ModelTransient):
    """The model did not answer in time."""

    def __init__(self, **values: object) -> None:
        super().__init__("model_timeout", **values)


class EmbeddingsAway(ModelFailed):
    """The embedding model is refused or too slow; memories are found by their words. Names the settings."""

    def __init__(self, cause: ModelFailed) -> None:
        super().__init__("embeddings_away", cause=cause)
        self.passing = isinstance(cause, ModelTransient)
        """Whether the model may answer again by itself."""

    def text(self, language: Language = "en") -> str:
        cause = self.values["cause"]
        told = cause.text(language) if isinstance(cause, ThoughtcycleError) else cause
        return texts(language, "errors").fill(self.code, cause=told)


class ModelUnreadable(ModelTransient):
    """The model answered, but nothing can be read from it: in a turn, the rules answer instead."""

    def __init__(self, **values: object) -> None:
        super().__init__("model_answer", **values)


class Unexpected(ThoughtcycleError):
    """A fault of this program; the log has the cause."""


def reason(code: str, language: Language) -> str:
    """The line of a failure of which only the code was stored; a general one if the line needs values."""
    words = texts(language, "errors")
    if code in words and not placeholders(words[code]):
        return words[code]
    kind = code.partition("_")[0]
    return words[f"{kind}_trouble"] if kind in ("storage", "model") else words["unexpected"]


def for_strangers(error: ThoughtcycleError) -> ThoughtcycleError:
    """The error for clients of a public server, without internal details.

    Errors of database and model name addresses, files, models and settings; an install command names a
    folder of the server.
    """
    if isinstance(error, StorageFailed) and error.values:
        return StorageFailed("storage_trouble")
    if isinstance(error, ModelFailed) and error.values:
        return ModelFailed("model_trouble")
    if isinstance(error, ExtraMissing):
        return InputRefused("extra_missing_there", name=error.values["name"])
    return error
