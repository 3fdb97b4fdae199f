"""Checks the origin of a request: this computer or another, this server's pages or another site's."""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""Headers that proxies add: the client behind one is not on this computer."""

STUDIO = "smith.langchain.com"


def is_loopback(host: str) -> bool:
    """Whether that name or address reaches this computer only."""
    if host.casefold() in ("localhost", "localhost."):
        return True
    try:
        return ip_address(host.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return False


def is_local(headers: Mapping[str, str], peer: str | None) -> bool:
    """Whether a request was sent on this computer, to a name of this computer (`peer` None: by a socket).

    The name counts because a foreign page can have its own name point here (DNS rebinding).
    """
    if any(name in headers for name in FORWARDED) or (peer is not None and not is_loopback(peer)):
        return False
    return is_loopback(_parts(f"//{headers.get('host', '')}").hostname or "")


def foreign_origin(headers: Mapping[str, str]) -> str | None:
    """The site whose page sent the request, unless it is this server's; None, too, where no page is named.

    Browsers name it in `Origin` with whatever can change something (Fetch standard, section 3.2).
    """
    origin = headers.get("origin")
    if origin is None or (_parts(origin).netloc or None) == headers.get("host"):
        return None
    return origin


def is_studio(origin: str) -> bool:
    """Whether pages of that origin are LangGraph Studio, or a client on this computer."""
    parts = _parts(origin)
    host = parts.hostname or ""
    studio = parts.scheme == "https" and (host == STUDIO or host.endswith(f".{STUDIO}"))
    return studio or (parts.scheme in ("http", "https") and is_loopback(host))


def _parts(address: str) -> SplitResult:
    """The parts of an address; of one that is none, such as `http://[`, nothing."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")
