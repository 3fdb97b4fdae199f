"""A real server in a process of its own, real Chromium, and pages that tell what goes wrong in them."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

from support.command import CLEAN, PYTHON
from support.fake_openai import FakeOpenAI
from thoughtcycle.runtime.auth_settings import digest_of, new_key
from thoughtcycle.web.auth.callers import COOKIE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 60_000
"""Milliseconds after which something does not come any more, on a busy machine too."""
USERS = ("ana", "bob", "eva", "html", "many")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; where it is missing tests are skipped, but in CI they fail."""
    if CHROMIUM is None:
        if os.environ.get("CI") or os.environ.get("REQUIRE_CHROMIUM"):
            pytest.fail("Chromium is missing: apt-get install chromium")
        pytest.skip("Chromium is missing")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Site:
    """A running server whose users each have a key."""

    url: str
    keys: dict[str, str]

    def api(self, user: str) -> httpx.Client:
        """A client of the API that is this user's."""
        return httpx.Client(base_url=self.url, headers={"x-api-key": self.keys[user]}, timeout=60)


@contextmanager
def site(folder: Path, models: FakeOpenAI, **settings: str) -> Iterator[Site]:
    """`thoughtcycle web` over a database in `folder`, with models that say what a test told them."""
    keys = {user: new_key() for user in USERS}
    env = {
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": models.url,
        "THOUGHTCYCLE_REASONING_HEAVY__MODEL": "heavy",
        "THOUGHTCYCLE_REASONING__MODEL": "reason",
        "THOUGHTCYCLE_CHAT__MODEL": "talk",
        "THOUGHTCYCLE_BACKGROUND__MODEL": "back",
        "THOUGHTCYCLE_EMBEDDING__MODEL": "lexical",
        "THOUGHTCYCLE_PRICES": "heavy=1/8,talk=0.5/2",
        "THOUGHTCYCLE_AUTH__API_KEYS": ",".join(f"{user}:{digest_of(key)}" for user, key in keys.items()),
        "THOUGHTCYCLE_WEB__REQUESTS_PER_MINUTE": "100000",
        "THOUGHTCYCLE_WEB__BURST": "100000",
        "THOUGHTCYCLE_SPOOL": str(folder / "spool"),
    }
    command = [*PYTHON, "web", "--port", "0", "--json", "--db", f"sqlite:///{folder}/memory.db"]
    errors = (folder / "server.log").open("w")
    with (
        errors,
        subprocess.Popen(
            command, env=CLEAN | env | settings, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line, (folder / "server.log").read_text()
        try:
            yield Site(json.loads(line)["url"], keys)
        finally:
            server.terminate()
            server.wait(60)


@dataclass
class Tab:
    """A page, and what went wrong in it."""

    page: Page
    context: BrowserContext
    troubles: list[str] = field(default_factory=list)
    """Errors in the console, broken policies, dialogs, and requests to elsewhere."""

    def watch(self, home: str) -> None:
        page = self.page
        page.on("console", lambda told: told.type == "error" and self.troubles.append(told.text))
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("dialog", lambda dialog: (self.troubles.append(dialog.message), dialog.dismiss()))

        def inside(route: Route) -> None:
            if route.request.url.startswith((home, "data:")):
                route.continue_()
            else:
                self.troubles.append(f"asked for {route.request.url}")
                route.abort()

        self.context.route("**/*", inside)


@contextmanager
def tab(browser: Browser, site: Site, user: str | None, **options: Any) -> Iterator[Tab]:
    """A page of this user's (None: nobody's yet); nothing may have gone wrong in it at the end."""
    context = browser.new_context(
        **{"locale": "en-GB", "viewport": {"width": 1280, "height": 800}, **options}
    )
    context.set_default_timeout(PATIENCE)
    if user is not None:
        context.add_cookies([{"name": COOKIE, "value": site.keys[user], "url": site.url}])
    opened = Tab(context.new_page(), context)
    opened.watch(site.url)
    try:
        yield opened
        assert not opened.troubles, opened.troubles
    finally:
        context.close()
