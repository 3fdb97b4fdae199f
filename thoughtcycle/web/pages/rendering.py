"""Makes HTML of templates: texts in the reader's language, everything escaped, dates in the reader's zone."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from thoughtcycle.errors import reason
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.prompts import forms
from thoughtcycle.prompts.loader import Language, Texts, texts
from thoughtcycle.web.server.dependencies import CurrentUser, MemoryDep, ServerDep
from thoughtcycle.web.server.failures import language_of

FOLDER = Path(__file__).parents[1]
ZONE_COOKIE = "zone"
"""Name of the browser's time zone, percent-encoded."""
TEMPLATES, STATIC = FOLDER / "templates", FOLDER / "static"


@cache
def environment() -> Environment:
    """The templates; an undefined name raises."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["masked"] = masked
    made.filters["instant"] = datetime.fromisoformat
    return made


@dataclass(frozen=True)
class Page:
    """The rendering of one request: user, language, time zone, part or whole page.

    Templates call its methods by their names, and `say` as `t`.
    """

    request: Request
    user: str
    language: Language
    zone: ZoneInfo
    own_zone: bool = False
    """Whether the user has set a zone; else messages carry the browser's."""
    logged_in: bool = False
    """Whether there is a logout: without authentication there is none."""

    @property
    def part(self) -> bool:
        """Whether htmx asked, for a part of the page."""
        return "hx-request" in self.request.headers

    @property
    def words(self) -> Texts:
        """The page's texts."""
        return texts(self.language, "page")

    def html(
        self, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
    ) -> HTMLResponse:
        """The template with these values."""
        return HTMLResponse(self.text(template, **values), status, headers)

    def text(self, template: str, **values: Any) -> str:
        """The template with these values, as text."""
        names = ("label", "time", "day", "ago", "number", "size", "percent", "reason")
        functions = {name: getattr(self, name) for name in names}
        return environment().get_template(template).render(page=self, t=self.say, **functions, **values)

    def say(self, section: str, **values: object) -> str:
        """A text of the page, with the values of its placeholders."""
        return self.words.fill(section, **values) if values else self.words[section]

    def label(self, section: str) -> str:
        """The name of a status, an operation or a kind; those that the page lacks come from the command."""
        return (self.words if section in self.words else texts(self.language, "cli"))[section]

    def time(self, at: datetime) -> str:
        """Day and time in the reader's zone."""
        return forms.moment(at.astimezone(self.zone), self.language)

    def day(self, at: datetime) -> str:
        """The day in the reader's zone."""
        return forms.day(at.astimezone(self.zone), self.language)

    def ago(self, at: datetime) -> str:
        """The time of the last 20 hours, the day of anything older."""
        then, now = at.astimezone(self.zone), datetime.now(self.zone)
        today = timedelta(0) <= now - then < timedelta(hours=20)
        return f"{then:%H:%M}" if today else forms.day(then, self.language)

    def number(self, value: float, digits: int = 0) -> str:
        """A number with so many digits behind the decimal sign."""
        return forms.number(value, self.language, digits)

    def percent(self, share: float, digits: int = 0) -> str:
        """A share of 1 as a percentage."""
        return f"{forms.number(100 * share, self.language, digits)}%"

    def size(self, count: int) -> str:
        """A number of bytes."""
        return forms.size(count, self.language)

    def reason(self, code: str) -> str:
        """The text of a stored failure code."""
        return reason(code, self.language)


async def page(request: Request, user: CurrentUser, memory: MemoryDep, server: ServerDep) -> Page:
    """The page for this user; while the database is away, with the language and zone of the request."""
    stored = await memory.conversations.preferences(user)
    zone = ZoneInfo(stored.time_zone) if stored.time_zone else _zone_of(request, server.settings.time_zone)
    language = stored.language or language_of(request)
    made = Page(request, user, language, zone, bool(stored.time_zone), server.settings.auth.on)
    request.state.page, request.state.language = made, language
    return made


def _zone_of(request: Request, default: str) -> ZoneInfo:
    """The browser's zone from its cookie, else the server's."""
    try:
        return ZoneInfo(unquote(request.cookies[ZONE_COOKIE]))
    except (KeyError, ValueError, OSError):  # none, or no zone
        return ZoneInfo(default)


def page_of(request: Request) -> Page:
    """The page of the request; one of nobody where the request failed before there was one."""
    made: Page | None = getattr(request.state, "page", None)
    return made or Page(request, "", language_of(request), ZoneInfo("UTC"))


Reader = Annotated[Page, Depends(page)]
