"""How the web server listens and what it takes in; environment: `THOUGHTCYCLE_WEB__<NAME>`."""

from pydantic import BaseModel, ConfigDict, Field


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
