"""Makes HTML of templates: texts in the reader's language, everything escaped, dates in the reader's zone."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from thoughtcycle.memory.formed import UserSettings
from thoughtcycle.memory.secrets import masked
from thoughtcycle.prompts.errors import StorageFailed
from thoughtcycle.prompts.loader import Language, Texts, texts
from thoughtcycle.web.dependencies import Engine, Owner, Server
from thoughtcycle.web.failures import language_of

FOLDER = Path(__file__).parents[1]
TEMPLATES, STATIC = FOLDER / "templates", FOLDER / "static"


@cache
def environment() -> Environment:
    """The templates; a name that nobody gave raises."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["masked"] = masked
    return made


@dataclass(frozen=True)
class Page:
    """How one request is answered: for whom, in which language and time zone, as a part or as a whole."""

    request: Request
    user: str
    language: Language
    zone: ZoneInfo
    logged_in: bool = False
    """Whether there is a way out: without authentication nobody came in."""

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
        """The same as text."""
        return environment().get_template(template).render(page=self, **self._tools(), **values)

    def _tools(self) -> dict[str, Callable[..., str]]:
        return {"t": self.say, "label": self.label, "time": self.time, "day": self.day, "ago": self.ago}

    def say(self, section: str, **values: object) -> str:
        """A text of the page, which a placeholder's value may come into."""
        words = self.words
        return words.fill(section, **values) if values else words[section]

    def label(self, section: str) -> str:
        """The name of a status, an operation, a kind or the like, as the command line says it."""
        words = self.words
        return words[section] if section in words else texts(self.language, "cli")[section]

    def time(self, at: datetime) -> str:
        """Day and time in the reader's zone."""
        return f"{at.astimezone(self.zone):%Y-%m-%d %H:%M}"

    def day(self, at: datetime) -> str:
        """The day in the reader's zone."""
        return f"{at.astimezone(self.zone):%Y-%m-%d}"

    def ago(self, at: datetime) -> str:
        """The time of something of today, the day of anything older."""
        then, now = at.astimezone(self.zone), datetime.now(self.zone)
        return f"{then:%H:%M}" if timedelta(0) <= now - then < timedelta(hours=20) else f"{then:%Y-%m-%d}"


async def page(request: Request, user: Owner, memory: Engine, server: Server) -> Page:
    """The page as this user reads it; while the database is away, as the request says."""
    try:
        stored = await memory.settings(user)
    except StorageFailed as failure:
        if not memory.lost(failure):
            raise
        stored = UserSettings(user=user)
    zone = ZoneInfo(stored.time_zone or server.settings.time_zone)
    language = stored.language or language_of(request)
    return Page(request, user, language, zone, logged_in=server.settings.auth.on)


Reader = Annotated[Page, Depends(page)]
