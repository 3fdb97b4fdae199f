"""The page and the API as another server takes them over: at their own addresses only."""

from pathlib import Path

import httpx

from support.web import RULES, settings
from thoughtcycle.graph.app import garden, thought_cycle
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.web.server.langgraph import create_served


async def test_the_app_alone_holds_what_the_graphs_use(tmp_path: Path) -> None:
    """Without the checkpointer of langgraph.json, too: what is said to the graph is there for the page."""
    app = create_served(settings(tmp_path), RULES)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        who = Context(user_id="ana")
        await thought_cycle.ainvoke({"messages": [("user", "Meu nome é Pedro")]}, context=who)
        assert (await garden.ainvoke({}, context=who))["counts"]["archive"] == 0
        ours, theirs = await client.get("/api/memories"), await client.get("/threads")
        assert "Pedro" in ours.text and "content-security-policy" in ours.headers
        assert (theirs.status_code, theirs.json()) == (404, {"detail": "Not Found"})
        assert "content-security-policy" not in theirs.headers
        wrong = await client.delete("/-/health")
        assert (wrong.status_code, wrong.json()["code"]) == (405, "http.405")
