"""Whether a name is that of a time zone."""

from zoneinfo import ZoneInfo

from thoughtcycle.errors import InputRefused


def check_time_zone(name: str) -> ZoneInfo:
    """The zone of that IANA name; InputRefused when there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise InputRefused("unknown_time_zone", zone=repr(name[:100])) from error
