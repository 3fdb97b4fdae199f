"""The user as a whole: profile, settings, background work, metrics, export, forgetting."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Literal
from zoneinfo import available_timezones

from fastapi import Form, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from thoughtcycle.errors import InputRefused
from thoughtcycle.evals.memory_metrics import memory_metrics
from thoughtcycle.evals.metrics import shown as shown_metric
from thoughtcycle.evals.metrics_page import plot
from thoughtcycle.memory.model import out_of_reach
from thoughtcycle.memory.text.labels import label_of
from thoughtcycle.prompts.loader import texts
from thoughtcycle.web.api import jobs as jobs_api
from thoughtcycle.web.api.user import Farewells
from thoughtcycle.web.api.user import forget as forget_all
from thoughtcycle.web.auth.callers import COOKIE
from thoughtcycle.web.pages.proofs import Ticked, prover, shown
from thoughtcycle.web.pages.rendering import Page, Reader
from thoughtcycle.web.pages.routing import pages
from thoughtcycle.web.server.dependencies import MemoryDep, ServerDep

router = pages()

Choice = Literal["", "on", "off"]


@router.get("/profile")
async def profile(reader: Reader, memory: MemoryDep) -> HTMLResponse:
    """Habits and preferences with their confidence, and the last moods."""
    known = await memory.profile(reader.user)
    moods = [(label_of("mood", mood.name, reader.language), mood) for _, mood in reversed(known.moods)]
    entries = [
        (label_of("habit", one.key, reader.language), label_of("habit", one.value, reader.language), one)
        for one in sorted(known.entries, key=lambda one: -one.confidence)
    ]
    return reader.html("profile.html", entries=entries, moods=moods)


@router.get("/settings")
async def settings(reader: Reader, memory: MemoryDep, saved: bool = False) -> HTMLResponse:
    """The user's settings."""
    zones = sorted(available_timezones())
    kept = await memory.settings(reader.user)
    return reader.html("settings.html", kept=kept, zones=zones, saved=saved)


@router.post("/settings")
async def change_settings(
    reader: Reader,
    memory: MemoryDep,
    smart_context: Annotated[Choice, Form()] = "",
    paused: Annotated[Literal["", "on"], Form()] = "",
    language: Annotated[Literal["", "pt", "en"], Form()] = "",
    time_zone: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Stores the settings of the form."""
    await memory.change_settings(
        reader.user,
        smart_context={"on": True, "off": False}.get(smart_context),
        paused=paused == "on",
        language=language or None,
        time_zone=time_zone.strip() or None,
    )
    saved = "/settings?saved=true"
    return Response(headers={"HX-Redirect": saved}) if reader.part else RedirectResponse(saved, 303)


@router.get("/jobs")
async def jobs(reader: Reader, memory: MemoryDep) -> HTMLResponse:
    """Background work: what waits, runs, or failed for good."""
    return reader.html("jobs.html", jobs=await memory.queue.listing([reader.user]))


@router.post("/jobs/{id}/retry")
async def retry(reader: Reader, id: str, memory: MemoryDep) -> HTMLResponse:
    """Tries again what failed for good."""
    await jobs_api.retry(id, reader.user, memory)
    return reader.html("parts/jobs.html", jobs=await memory.queue.listing([reader.user]))


@router.get("/metrics")
async def metrics(reader: Reader) -> HTMLResponse:
    """The page; it loads the figures afterwards, because they take a while."""
    return reader.html("metrics.html")


@router.get("/metrics/figures")
async def figures(reader: Reader, memory: MemoryDep) -> HTMLResponse:
    """How well the memory serves (LM-14), as plots and table."""
    found = await memory_metrics(memory, reader.user)
    words = texts(reader.language, "metrics")
    plots = [
        (words[f"plot.{unit}"], plot(of, reader.language))
        for unit in ("share", "ms")
        if (of := [one for one in found if one.unit == unit and one.value is not None])
    ]
    lines = [
        (
            words[f"name.{one.name}"],
            shown_metric(one, reader.language),
            reader.number(one.count),
            words[f"what.{one.name}"],
        )
        for one in found
    ]
    return reader.html("parts/figures.html", plots=plots, lines=lines, columns=words["columns"].split(", "))


@router.get("/account")
async def account(reader: Reader, memory: MemoryDep) -> HTMLResponse:
    """Counts of what is stored, export, links to channels, and forgetting."""
    census = await memory.stats(reader.user)
    links = await memory.channel_links(reader.user)
    memories = sum(census.memories.values())
    return reader.html("account.html", census=census, memories=memories, links=links, code="")


@router.post("/account/links/code")
async def link_code(reader: Reader, memory: MemoryDep) -> HTMLResponse:
    """A code by which a messaging channel becomes this user's (LM-13)."""
    code = await memory.link_code(reader.user)
    return reader.html("parts/links.html", links=await memory.channel_links(reader.user), code=code)


@router.post("/account/links/end")
async def unlink(
    reader: Reader,
    memory: MemoryDep,
    channel: Annotated[str, Form(max_length=100)] = "",
    sender: Annotated[str, Form(max_length=300)] = "",
) -> HTMLResponse:
    """Ends a link between a sender on a channel and the user."""
    await memory.unlink_channel(reader.user, channel, sender)
    return reader.html("parts/links.html", links=await memory.channel_links(reader.user), code="")


@router.post("/account/forget")
async def forget(
    reader: Reader,
    memory: MemoryDep,
    server: ServerDep,
    confirm: Annotated[str, Form(max_length=300)] = "",
    prove: Annotated[Ticked, Form()] = "",
) -> Response:
    """Erases everything of the user for good; shows what was erased and what a scan finds afterwards.

    With `prove` also the proof that it holds.
    """
    if confirm.strip() != reader.user:
        raise InputRefused("forget_unconfirmed", user=reader.user)
    proof = None
    if prove:
        async with server.proving, server.turns.closing_user(reader.user):
            farewell, made = await prover(server, reader.user).forget_user()
        proof = shown(reader, server, made)
    else:
        farewell = await forget_all(Farewells(confirm=reader.user), reader.user, memory, server)
    found = {name: _named(reader, getattr(farewell, name)) for name in ("erased", "left")}
    answer = reader.html("forgotten.html", found=found, reach=out_of_reach(reader.language), proof=proof)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _named(reader: Page, found: Mapping[str, int]) -> list[tuple[str, str]]:
    """Counts of rows by the names of their tables; tables without a name are added up as others."""
    counts = Counter[str]()
    for table, count in found.items():
        counts[table if f"table.{table}" in reader.words else "others"] += count
    return [(reader.say(f"table.{table}"), reader.number(count)) for table, count in counts.items() if count]
