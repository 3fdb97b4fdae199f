"""The page in Chromium: what it loads, how soon it can be used, and its longest pause over 10,000 memories."""

import asyncio
import statistics
import tempfile
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Browser, Page

from benchmarks.machine import table
from support.browser import Site, Tab, chromium, site, tab
from support.fake_openai import FakeOpenAI
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Kind, MemoryDraft, utc_now
from thoughtcycle.mind.lexical import LexicalEmbeddings

MEMORIES = 10_000
USER = "many"
_LOADS = 5
_BATCH = 500
_KINDS: tuple[Kind, ...] = ("bio", "pref", "emo", "obj")
_QUERIES = ("town 42", "lake 17", "likes the town", "number 9999", "river")
_WATCH = """
window.tasks = [];
new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((one) => one.duration)))
  .observe({ type: "longtask", buffered: true });
"""
"""Records tasks of more than 50 ms (Long Tasks API): of nothing shorter does the browser tell."""


def run() -> str:
    """Goals: first load < 200 KB and interactive < 1 s; no task of 100 ms while searching and scrolling."""
    with tempfile.TemporaryDirectory() as name, FakeOpenAI() as models:
        folder = Path(name)
        asyncio.run(_fill(f"sqlite:///{folder}/memory.db"))
        with chromium() as browser, site(folder, models) as home:
            loads = [_load(browser, home) for _ in range(_LOADS)]
            scrolled, searched = _used(browser, home)
    size, ready = max(load[0] for load in loads), statistics.median(load[1] for load in loads)
    rows = [
        ("first load of the chat, all files", f"{size / 1000:.0f} KB", "< 200 KB"),
        (f"until it can be used, p50 of {_LOADS}", f"{ready:.0f} ms", "< 1,000 ms"),
        (f"longest task, scrolling through {MEMORIES:,} memories", _longest(scrolled), "< 100 ms"),
        (f"longest task, {len(_QUERIES)} searches in them", _longest(searched), "< 100 ms"),
    ]
    return table(("page", "measured", "goal"), rows)


async def _fill(url: str) -> None:
    now = utc_now()
    drafts = [
        MemoryDraft(
            content=f"Note {n}: likes the town number {n} near lake {n % 97}",
            kind=_KINDS[n % len(_KINDS)],
            weight=0.9,
            said=now - timedelta(hours=n % 300),
        )
        for n in range(MEMORIES)
    ]
    async with Memory.open(url, embeddings=LexicalEmbeddings()) as memory:
        for start in range(0, MEMORIES, _BATCH):
            await memory.save(USER, drafts[start : start + _BATCH])


def _load(browser: Browser, home: Site) -> tuple[int, float]:
    """Bytes of a first visit, bodies and headers, and milliseconds until all scripts have run."""
    with tab(browser, home, USER) as opened:
        page = opened.page
        page.goto(home.url, wait_until="load")
        page.locator("#message").fill("ready")
        sizes = page.evaluate(
            "performance.getEntries().reduce((sum, one) => sum + (one.transferSize ?? 0), 0)"
        )
        ready = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        return int(sizes), float(ready)


def _used(browser: Browser, home: Site) -> tuple[list[float], list[float]]:
    """Long tasks while all memories are scrolled through, and while some are searched for among them."""
    with tab(browser, home, USER) as opened:
        opened.context.add_init_script(_WATCH)
        page = opened.page
        page.goto(f"{home.url}/memories")
        _to_the_end(opened)
        scrolled = _tasks(page)
        for query in _QUERIES:
            page.locator("#q").fill(query)
            page.wait_for_timeout(1_000)
        return scrolled, _tasks(page)


def _to_the_end(opened: Tab) -> None:
    page = opened.page
    while page.evaluate("document.querySelector('#list > .more') !== null"):
        page.mouse.wheel(0, 5_000)
        page.wait_for_timeout(20)
    shown = page.evaluate("document.querySelectorAll('#list li').length")
    assert shown == MEMORIES, shown


def _tasks(page: Page) -> list[float]:
    found: list[float] = page.evaluate("window.tasks.splice(0)")
    return found


def _longest(tasks: list[float]) -> str:
    return f"{max(tasks):.0f} ms" if tasks else "none of 50 ms or more"
