"""Settings of a deployment, read from the environment."""

import getpass
import os
import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import check_time_zone
from thoughtcycle.mind.model_settings import PREFIX, ModelSettings
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.prompts.loader import LANGUAGES, Language
from thoughtcycle.runtime import auth_settings
from thoughtcycle.runtime.auth_settings import AuthSettings, LongSecret
from thoughtcycle.runtime.local_servers import PORTS
from thoughtcycle.runtime.prices import Price, parse_prices

_CHANNEL_VARIABLE = re.compile(r"CHANNELS__(?!_)(?:(?!__)[A-Z0-9_]){1,40}(?<!_)__SECRET")
"""The variable of a channel, without the prefix."""


def _split(value: object) -> object:
    return [part for part in map(str.strip, value.split(",")) if part] if isinstance(value, str) else value


def _zone(name: str) -> str:
    try:
        check_time_zone(name)
    except InputRefused:
        raise ValueError(name) from None
    return name


class ChannelSettings(BaseModel):
    """A messaging gateway that may pass messages on."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    secret: LongSecret


class WebSettings(BaseModel):
    """Settings of `thoughtcycle web`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field(default="127.0.0.1", description="Address on which the server listens.")
    port: int = Field(default=8765, ge=0, le=65_535, description="Port; 0 takes a free one.")
    body_bytes: int = Field(
        default=12_000_000, ge=1_000, le=1_000_000_000, description="Longest request accepted, in bytes."
    )
    requests_per_minute: int = Field(
        default=300, ge=1, le=1_000_000, description="Requests of one user, where callers prove who they are."
    )
    burst: int = Field(default=100, ge=1, le=1_000_000, description="Of these, how many may come at once.")
    attempts_per_minute: int = Field(
        default=60, ge=1, le=1_000_000, description="Failed proofs of who one is, from one address."
    )
    tokens_per_day: int | None = Field(
        default=None,
        ge=1,
        le=10_000_000_000,
        description="Model tokens that the turns of a user may take in a day (UTC), per process; unset: any.",
    )
    waiting: int = Field(
        default=20, ge=1, le=1_000, description="Messages of one chat that may wait for the one before."
    )
    tuning: bool = Field(
        default=True,
        description="Whether the process is tuned for many users: garbage, free memory, threads, event loop.",
    )


class Settings(BaseSettings):
    """Settings from the environment, prefix `THOUGHTCYCLE_`; the model roles have their own (mind.roles)."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    db: SecretStr = Field(
        default_factory=lambda: SecretStr(f"sqlite:///{user_data_path('thoughtcycle') / 'memory.db'}"),
        validation_alias=AliasChoices("THOUGHTCYCLE_DB", "MONGODB_URI"),
        description="Database URL: sqlite:///file.db or mongodb://…; decides documents and checkpoints.",
    )
    user: str | None = Field(
        default=None,
        description="The user of a deployment that has only one; unset: every run names its user.",
    )
    language: Language | None = Field(
        default=None, description="pt or en: of the CLI's texts, and of messages that show no language."
    )
    time_zone: Annotated[str, AfterValidator(_zone)] = Field(
        default="UTC", description="IANA zone in which users live who have not set theirs."
    )
    disabled_actions: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(), description="Actions left out of this deployment, separated by commas."
    )
    trace_key: SecretStr | None = Field(
        default=None,
        description="Key of the hashes that stand for users in traces; unset: a new one in each process.",
    )
    spool: Path = Field(
        default_factory=lambda: user_data_path("thoughtcycle") / "spool",
        description="Folder of what is said while the database is away, and of the list of unfinished files.",
    )
    spool_bytes: int = Field(
        default=64_000_000,
        ge=100_000,
        le=10_000_000_000,
        description="How much may wait there, in bytes; beyond it turns are refused.",
    )
    index_bytes: int = Field(
        default=512_000_000,
        ge=1_000_000,
        le=100_000_000_000,
        description="Memory that the indexes of all users may take, in bytes; the rest is made when needed.",
    )
    local_ports: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=PORTS,
        description="Where a first start looks for model servers on this computer; empty: it does not look.",
    )
    prices: Annotated[dict[str, Price], NoDecode, BeforeValidator(parse_prices)] = Field(
        default_factory=dict,
        description="What models cost per million tokens, for the page: MODEL=INPUT/OUTPUT, by commas.",
    )
    limits: Limits = Field(default_factory=Limits)
    auth: AuthSettings = Field(default_factory=AuthSettings)
    channels: dict[str, ChannelSettings] = Field(
        default_factory=dict, description="Messaging gateways by name, each with the secret it signs with."
    )
    web: WebSettings = Field(default_factory=WebSettings)

    def url(self, given: str | None = None) -> str:
        """The database URL in clear, for opening only: `given`, even if empty, else the setting's."""
        return self.db.get_secret_value() if given is None else given


_GROUPS = ("limits", "auth", "web", "channels")


def load_settings() -> Settings:
    """The settings of the environment; InputRefused names the first that cannot be used."""
    _check_names(os.environ)
    try:
        return Settings()
    except ValidationError as error:
        place = error.errors(include_input=False, include_url=False)[0]["loc"]
        name = PREFIX + "__".join(str(part) for part in place).upper()
        raise InputRefused("bad_setting", name=name, expected=_expected(place)) from None
    except SettingsError as error:  # groups of settings are read as JSON, when one is set as a whole
        group = next(name for name in _GROUPS if f'"{name}"' in str(error))
        raise InputRefused("bad_setting", name=PREFIX + group.upper(), expected="JSON") from None


def _expected(place: Sequence[int | str]) -> str:
    """The form of a setting, as far as it can be said without words."""
    if place[0] == "auth" and len(place) > 1:
        return auth_settings.EXPECTED[str(place[1])]
    if place[0] == "channels":
        return auth_settings.EXPECTED["secret"]
    groups: dict[str, type[BaseModel]] = {"limits": Limits, "web": WebSettings}
    group = groups.get(str(place[0]), BaseModel)
    field = group.model_fields.get(str(place[-1]))
    if field and field.annotation is bool:
        return "true | false"
    if field and field.metadata:
        return " … ".join(str(getattr(bound, "ge", getattr(bound, "le", ""))) for bound in field.metadata)
    known = {
        "language": " | ".join(LANGUAGES),
        "time_zone": "IANA (America/Sao_Paulo)",
        "local_ports": "1 … 65535,…",
        "prices": "MODEL=INPUT/OUTPUT,…",
    }
    return known.get(str(place[0]), "text")


def _check_names(environment: Collection[str]) -> None:
    """Raises InputRefused for a variable with our prefix that no setting reads: a typo, as a rule."""
    if (gone := f"{PREFIX}SNAPSHOTS") in environment:  # its folder may hold erased words
        raise InputRefused("snapshots_gone", name=gone)
    known = set(_names(Settings)) | set(_names(ModelSettings))
    for name in sorted(environment):
        channel = _CHANNEL_VARIABLE.fullmatch(name.removeprefix(PREFIX))
        if name.startswith(PREFIX) and name not in known and not channel:
            close = get_close_matches(name, known, n=1)
            raise InputRefused("unknown_setting", name=name, close=close[0] if close else ".env.example")


def _names(model: type[BaseModel], prefix: str = PREFIX) -> Iterator[str]:
    for field, info in model.model_fields.items():
        yield f"{prefix}{field.upper()}"
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _names(info.annotation, f"{prefix}{field.upper()}__")


def login_name() -> str:
    """The operating system's name of the current user; the CLI's default user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in a container
        return "local"
