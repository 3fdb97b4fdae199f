"""The current time, and time zones."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from thoughtcycle.errors import InputRefused


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


def check_time_zone(name: str) -> ZoneInfo:
    """The zone of that IANA name; InputRefused('unknown_time_zone') when there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise InputRefused("unknown_time_zone", zone=repr(name[:100])) from error
