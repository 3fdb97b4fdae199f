"""What a deployment sets: the database, the user of a single-user deployment, the limits."""

import getpass
from typing import Annotated

from platformdirs import user_data_path
from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from thoughtcycle.nodes.limits import Limits
from thoughtcycle.prompts.errors import InputRefused


def _split(value: object) -> object:
    return (
        tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value
    )


class Settings(BaseSettings):
    """Settings from the environment, prefix `THOUGHTCYCLE_`; the model roles have their own (mind.roles)."""

    model_config = SettingsConfigDict(
        env_prefix="THOUGHTCYCLE_",
        env_nested_delimiter="__",
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    db: SecretStr = Field(
        default_factory=lambda: SecretStr(default_db()),
        validation_alias=AliasChoices("THOUGHTCYCLE_DB", "MONGODB_URI"),
        description="Database URL: sqlite:///file.db or mongodb://…; decides documents and checkpoints.",
    )
    user: str | None = Field(
        default=None,
        description="The user of a deployment that has only one; unset: every run names its user.",
    )
    time_zone: str = Field(default="UTC", description="IANA zone in which the CLI's user lives.")
    disabled_actions: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(), description="Actions left out of this deployment, separated by commas."
    )
    limits: Limits = Field(default_factory=Limits)

    def url(self) -> str:
        """The database URL in clear, for opening only."""
        return self.db.get_secret_value()


def load_settings() -> Settings:
    """The settings of the environment; InputRefused names the first that cannot be used."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = "__".join(str(part) for part in first["loc"]).upper()
        raise InputRefused("bad_setting", name=name, expected=first["msg"], value="…") from None
    except SettingsError:  # of the fields only this one is read as JSON, when it is set as a whole
        raise InputRefused("bad_setting", name="THOUGHTCYCLE_LIMITS", expected="JSON", value="…") from None


def default_db() -> str:
    """The SQLite file in the user's data folder, as a URL."""
    return f"sqlite:///{user_data_path('thoughtcycle') / 'memory.db'}"


def login_name() -> str:
    """The operating system's name of whoever runs this; the CLI's default user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in a container
        return "local"
