"""The messaging gateways that may pass messages on; environment: `THOUGHTCYCLE_CHANNELS__<NAME>__SECRET`."""

import re

from pydantic import BaseModel, ConfigDict, SecretStr, field_validator

from thoughtcycle.runtime.auth_settings import SECRET_BYTES

EXPECTED = f">= {SECRET_BYTES} bytes"

VARIABLE = re.compile(r"CHANNELS__(?!_)(?:(?!__)[A-Z0-9_]){1,40}(?<!_)__SECRET")
"""How the variable of a channel ends, behind the prefix."""


class ChannelSettings(BaseModel):
    """One channel, by its name in lower case."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    secret: SecretStr

    @field_validator("secret")
    @classmethod
    def _long_enough(cls, secret: SecretStr) -> SecretStr:
        if len(secret.get_secret_value().encode()) < SECRET_BYTES:
            raise ValueError("too short")
        return secret
