"""The page in real Chromium, on a real server: everything that a person does there."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import Site, Tab, chromium, site, tab
from support.fake_openai import FakeOpenAI, Recorded, Reply

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>bold</b>"
PICTURES = os.environ.get("PAGE_PICTURES")
"""Set: the pictures of README are written anew."""
DOCS = Path(__file__).parents[2] / "docs"
NO_ZONE = "Intl.DateTimeFormat.prototype.resolvedOptions = () => ({ timeZone: 'Etc/Unknown' })"
"""What Chrome says where the system names no zone that it knows."""
PATHS = ("/", "/memories", "/conversations", "/profile", "/metrics", "/jobs", "/settings", "/account")


def answered(request: Recorded) -> Reply | str:
    """What the fake models say."""
    said = str(request.body["messages"][-1]["content"]).rpartition("\n")[2]
    if request.model == "heavy":
        return "Finish"
    if request.model != "talk":
        return "[]"
    if "Count" in said:
        return Reply("one two three four five six seven eight nine ten", hold_after=2)
    if "Wait" in said:
        return Reply("I am thinking about it for ever", hang_after=3)
    if "capital" in said:
        return Reply("A capital da França é Paris.")
    return "Quiet cafés with good light suit you: shall I look for one near the river?"


@pytest.fixture(scope="module")
def models() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        server.answer = answered
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, browser: Browser, models: FakeOpenAI) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), models) as running:
        yield running


@pytest.fixture
def ana(browser: Browser, home: Site) -> Iterator[Tab]:
    with tab(browser, home, "ana") as opened:
        yield opened


def say(page: Page, message: str) -> None:
    page.get_by_label("Message", exact=True).or_(page.get_by_label("Mensagem", exact=True)).fill(message)
    page.keyboard.press("Enter")


def settled(page: Page) -> None:
    """Waits until the reply is over and the panels are there."""
    expect(page.locator("#send")).to_be_visible()
    expect(page.locator("#log .status").last).to_be_hidden()
    expect(page.locator("#turn ol.steps")).to_be_attached()


def keep(home: Site, user: str, *contents: str, **more: object) -> list[str]:
    with home.api(user) as api:
        saved = [api.post("/api/memories", json={"content": one, **more}) for one in contents]
        return [one.raise_for_status().json()["record"]["id"] for one in saved]


@pytest.mark.spec("BY-8")
def test_a_key_lets_in_and_the_reply_streams(browser: Browser, home: Site, models: FakeOpenAI) -> None:
    with tab(browser, home, None) as opened:
        page = opened.page
        page.goto(f"{home.url}/settings")
        page.get_by_label("Key or token").fill(home.keys["ana"])
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{home.url}/settings")
        page.goto(home.url)
        say(page, "Count to ten")
        reply = page.locator(".reply").last
        expect(reply).to_contain_text("one two")
        assert "ten" not in reply.inner_text() and page.locator("#stop").is_visible()
        models.go_on()
        expect(reply).to_have_text("one two three four five six seven eight nine ten")
        settled(page)
        expect(page.locator("#announce")).to_contain_text("nine ten")
        expect(page.locator("#turn")).to_contain_text("Finish")
        expect(page.locator("#turn tfoot")).to_contain_text(re.compile(r"\d+"))
        expect(page.locator("#turn")).to_contain_text(re.compile(r"Cost: 0\.\d+"))
        page.reload()
        expect(page.locator(".reply").last).to_contain_text("nine ten")


def test_it_speaks_portuguese(browser: Browser, home: Site) -> None:
    with tab(browser, home, "ana", locale="pt-BR") as opened:
        page = opened.page
        page.add_init_script(NO_ZONE)
        page.goto(home.url)
        expect(page.locator("html")).to_have_attribute("lang", "pt")
        say(page, "Qual é a capital da França? (capital)")
        expect(page.locator(".reply").last).to_have_text("A capital da França é Paris.")
        settled(page)
        expect(page.locator("#turn")).to_contain_text("O que o modelo recebeu")
        page.get_by_label("Mensagem", exact=True).fill("Um poema (capital):\n" + "verso\n" * 40)
        page.keyboard.press("Enter")
        settled(page)
        for part in ("header", "#composer"):  # however long the chat is
            expect(page.locator(part)).to_be_in_viewport(ratio=1)


def test_stop_regenerate_and_edit(ana: Tab, home: Site) -> None:
    page = ana.page
    page.goto(home.url)
    say(page, "Wait for me")
    expect(page.locator(".reply")).to_contain_text("I am thinking")
    page.reload()
    expect(page.locator(".said .text")).to_have_text(["Wait for me"])
    expect(page.locator(".reply")).to_contain_text("I am thinking")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".cut")).to_have_text("(stopped)")
    settled(page)
    page.locator(".exchange").hover()
    page.get_by_role("button", name="Edit the message").click()
    page.get_by_role("textbox", name="Edit the message").fill("Hello again")
    page.locator(".editing").get_by_role("button", name="Send").click()
    expect(page.locator(".reply")).to_contain_text("Quiet cafés")
    settled(page)
    expect(page.locator(".said .text")).to_have_text(["Hello again"])
    page.get_by_role("button", name="Another reply").click()
    settled(page)
    expect(page.locator(".reply")).to_have_count(1)
    page.reload()
    expect(page.locator(".said .text")).to_have_text(["Hello again"])
    with home.api("ana") as api:
        said = api.get(f"/api/conversations/{page.url.rpartition('/')[2]}/messages").json()
    assert [one["text"] for one in said if one["role"] == "user"] == ["Hello again"]


def test_before_an_earlier_message_is_edited_the_page_says_what_that_does(ana: Tab, home: Site) -> None:
    page = ana.page
    page.goto(home.url)
    for message in ("I live in Olinda", "I have a boat"):
        say(page, message)
        settled(page)
    for exchange, said in ((0, 1), (1, 0)):
        shown = page.locator(".exchange").nth(exchange)
        shown.hover()
        shown.get_by_role("button", name="Edit the message").click()
        expect(shown.locator(".editing")).to_be_visible()
        expect(shown.get_by_text("What was said after this message leaves")).to_have_count(said)
        shown.get_by_role("button", name="Cancel").click()


def test_a_page_that_is_loaded_anew_follows_what_is_being_answered(browser: Browser, home: Site) -> None:
    message, url = "Wait while I look away", f"{home.url}/chats/looked-away"
    with tab(browser, home, "ana") as opened:
        page = opened.page
        page.goto(url)
        say(page, "Hello before that")
        settled(page)
        say(page, message)
        reply = page.locator(".reply").last
        expect(reply).to_contain_text("I am thinking")
        with tab(browser, home, "ana") as beside:
            beside.page.goto(url)  # it shows the message, and follows it
            expect(beside.page.locator(".reply").last).to_contain_text("I am thinking")
            page.goto(f"{home.url}/settings")
            page.goto(url)
            expect(page.locator(".said .text")).to_have_text(["Hello before that", message])
            expect(reply).to_contain_text("I am thinking")
            page.get_by_role("button", name="Stop").click()
            for one in (page, beside.page):
                settled(one)
                expect(one.locator(".reply")).to_have_count(2)
                expect(one.locator("#stop")).to_be_hidden()
        expect(page.locator(".cut")).to_have_text("(stopped)")
        page.reload()
        expect(page.locator(".said .text")).to_have_text(["Hello before that", message])
        page.locator(".exchange").first.hover()
        page.get_by_role("button", name="Edit the message").first.click()
        page.get_by_role("textbox", name="Edit the message").fill("Wait for the edited one")
        page.locator(".editing").get_by_role("button", name="Send").click()
        expect(page.locator(".said .text")).to_have_text(["Wait for the edited one"])
        expect(reply).to_contain_text("I am thinking")
        page.reload()
        expect(page.locator(".said .text")).to_have_text(["Wait for the edited one"])
        expect(reply).to_contain_text("I am thinking")
        page.get_by_role("button", name="Stop").click()
        settled(page)
    with home.api("ana") as api:
        said = api.get("/api/conversations/looked-away/messages").json()
    assert [one["text"] for one in said if one["role"] == "user"] == ["Wait for the edited one"]


def test_what_waits_is_shown_and_followed_too(ana: Tab, home: Site) -> None:
    page, chat = ana.page, "in-line"
    said = ["Wait for the first", "Wait for the second", "And the third"]
    for message in said:
        body = {"message": message, "id": message}
        with home.api("ana") as api, api.stream("POST", f"/api/chats/{chat}/messages", json=body) as answer:
            assert answer.status_code == 200
    page.goto(f"{home.url}/chats/{chat}")
    for n in range(2):
        expect(page.locator(".said .text")).to_have_text(said)
        expect(page.locator(".exchange").nth(n).locator(".reply")).to_contain_text("I am thinking")
        expect(page.locator(".exchange").nth(n + 1).locator(".status")).to_have_text(
            "Your message is being answered…"
        )
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".cut")).to_have_count(n + 1)
    expect(page.locator(".reply").last).to_contain_text("Quiet cafés")
    settled(page)
    expect(page.locator(".said .text")).to_have_text(said)
    page.reload()
    expect(page.locator(".said .text")).to_have_text(said)
    expect(page.locator(".reply")).to_have_count(3)


def test_loaded_anew_an_incognito_message_is_not_shown(ana: Tab, home: Site) -> None:
    page, url = ana.page, f"{home.url}/chats/unseen-incognito"
    page.goto(url)
    page.get_by_label("Incognito").check()
    say(page, "Wait, nobody may know this")
    expect(page.locator(".reply")).to_contain_text("I am thinking")
    page.goto(url)
    expect(page.locator(".coming")).to_be_visible()
    assert "nobody may know" not in page.content()
    page.locator(".coming").get_by_role("button", name="Stop").click()
    expect(page.locator(".coming")).to_have_count(0)


def test_incognito_leaves_nothing(ana: Tab, home: Site) -> None:
    page = ana.page
    page.goto(home.url)
    page.get_by_label("Incognito").check()
    say(page, "Nobody may know this")
    settled(page)
    expect(page).to_have_url(f"{home.url}/")
    page.reload()
    assert "Nobody may know" not in page.content()


def test_a_file_is_kept(ana: Tab, home: Site) -> None:
    page = ana.page
    page.goto(home.url)
    page.locator("#file").set_input_files(
        {"name": "boat.txt", "mimeType": "text/plain", "buffer": b"The boat is called Jangada."}
    )
    expect(page.locator(".attached")).to_contain_text("Kept")
    page.goto(f"{home.url}/memories?q=Jangada")
    expect(page.locator("#list a")).to_contain_text("boat.txt")


def test_chats_are_renamed_and_deleted(ana: Tab, home: Site) -> None:
    page = ana.page
    page.goto(home.url)
    say(page, "Something to be deleted")
    settled(page)
    current = page.locator(".chats li.current")
    expect(current).to_contain_text("Something to be deleted")
    current.locator(".menu-of > summary").click()
    current.get_by_label("Title").fill("A name of its own")
    current.get_by_role("button", name="Save").click()
    current = page.locator(".chats li", has_text="A name of its own")
    current.locator(".menu-of > summary").click()
    current.get_by_text("Delete…").click()
    current.get_by_role("button", name="Delete for good").click()
    expect(page).to_have_url(f"{home.url}/")
    expect(page.locator(".chats li", has_text="A name of its own")).to_have_count(0)


@pytest.mark.spec("BY-8", "HM-7")
def test_a_memory_is_found_corrected_brought_back_and_erased(ana: Tab, home: Site) -> None:
    page = ana.page
    keep(home, "ana", "Plays the cello on Sundays", kind="pref")
    page.goto(f"{home.url}/memories")
    page.get_by_label("Search").fill("cello")
    rows = page.locator("#list li")
    expect(rows).to_have_count(1)
    rows.locator("a").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("svg.curve polyline")).to_have_count(2)
    dialog.get_by_text("Correct", exact=True).click()
    dialog.get_by_label("Content").fill("Plays the viola on Sundays")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("Corrected.")
    expect(rows).to_contain_text("viola")
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog.locator("p.text")).to_have_text("Plays the cello on Sundays")
    dialog.get_by_role("button", name="Hide").click()
    expect(dialog.get_by_role("button", name="Bring back")).to_be_visible()
    expect(rows).not_to_contain_text("cello")
    dialog.get_by_role("button", name="Undo").click()
    expect(rows).to_contain_text("cello")
    dialog.get_by_text("Erase for good…").click()
    dialog.get_by_label("Prove it").check()
    dialog.get_by_role("button", name="Erase for good").click()
    expect(dialog).to_contain_text("Erased for good", timeout=60_000)
    with page.expect_download() as receipt:
        dialog.get_by_role("link", name="Download the receipt").click()
    assert json.loads(receipt.value.path().read_text())["result"] == "gone"
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.reload()
    assert "cello" not in page.content()


def test_a_failure_in_the_dialog_is_told_inside(ana: Tab, home: Site) -> None:
    page = ana.page
    keep(home, "ana", "Rows on the lake")
    page.goto(f"{home.url}/memories?q=rows")
    page.locator("#list a").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Correct", exact=True).click()
    dialog.get_by_label("Content").fill("   ")
    told = dialog.get_by_role("alert")
    for _ in range(2):
        with page.expect_response("**/edit"):
            dialog.get_by_role("button", name="Save").click()
        expect(told).to_have_count(1)
        expect(told).to_contain_text("The new content is empty")
        expect(told).to_be_in_viewport(ratio=1)
    told.get_by_role("button", name="Close").click()  # nothing lies above it
    expect(told).to_have_count(0)
    expect(dialog.get_by_label("Content")).to_have_value("   ")
    page.context.set_offline(True)
    dialog.get_by_role("button", name="Pin").click()
    expect(told).to_contain_text("did not")
    ana.troubles.clear()  # the console tells of it, too


def test_several_memories_at_once(ana: Tab, home: Site) -> None:
    page = ana.page
    keep(home, "ana", "Grows tomatoes", "Grows basil", "Grows chard")
    page.goto(f"{home.url}/memories?q=grows")
    rows = page.locator("#list li")
    expect(rows).to_have_count(3)
    for n in (0, 1):
        rows.nth(n).get_by_role("checkbox").check()
    page.get_by_role("button", name="Archive").click()
    expect(page.locator("#toast")).to_contain_text("Archived: 2.")
    expect(page.locator("#list .tag.archived")).to_have_count(2)
    page.locator("#toast").get_by_role("button", name="Undo").click()
    expect(page.locator("#list .tag.archived")).to_have_count(0)
    page.get_by_label("Search").fill("zzzz")
    expect(page.get_by_role("button", name="Archive")).to_be_hidden()
    page.get_by_label("Search").fill("grows")
    expect(page.get_by_role("button", name="Archive")).to_be_visible()


@pytest.mark.spec("BY-5")
def test_two_users_do_not_see_each_other(browser: Browser, home: Site) -> None:
    (id,) = keep(home, "ana", "Has a secret garden in Olinda")
    with tab(browser, home, "ana") as opened:
        page = opened.page
        page.goto(f"{home.url}/chats/anas-own")
        say(page, "This chat is mine alone")
        settled(page)
    with tab(browser, home, "bob") as opened:
        page = opened.page
        for path in (*PATHS, "/memories?q=garden"):
            page.goto(home.url + path)
            assert "garden in Olinda" not in page.content() and "mine alone" not in page.content(), path
        for path in (f"/memories/{id}", "/chats/anas-own", "/conversations/anas-own"):
            answer = page.request.get(home.url + path)
            assert answer.status == 404 and "Olinda" not in answer.text() and "mine" not in answer.text()


def test_html_in_a_memory_is_text(browser: Browser, home: Site) -> None:
    keep(home, "html", HOSTILE, tags=[HOSTILE])
    with tab(browser, home, "html") as opened:
        page = opened.page
        page.goto(f"{home.url}/memories")
        row = page.locator("#list a")
        expect(row).to_have_text(HOSTILE)
        row.click()
        expect(page.get_by_role("dialog").locator("p.text")).to_have_text(HOSTILE)
        page.goto(home.url)
        say(page, HOSTILE)
        settled(page)
        expect(page.locator(".said .text")).to_have_text(HOSTILE)
        page.reload()
        expect(page.locator(".said .text")).to_have_text(HOSTILE)
        assert page.locator("main img, main b").count() == 0


def test_the_keyboard_is_enough(ana: Tab, home: Site) -> None:
    page = ana.page
    keep(home, "ana", "Keeps a keyboard")
    page.goto(f"{home.url}/memories?q=keyboard")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    link = page.locator("#list a")
    for _ in range(20):
        page.keyboard.press("Tab")
        if link.evaluate("node => node === document.activeElement"):
            break
    assert link.evaluate("node => getComputedStyle(node).outlineStyle") != "none"
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Tab")
    expect(dialog.get_by_role("button", name="Pin")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Pinned: 1.")
    page.keyboard.press("Escape")
    expect(link).to_be_focused()


def test_the_focus_stays_where_a_quick_hand_took_it(ana: Tab, home: Site) -> None:
    page = ana.page
    keep(home, "ana", "Types quickly")
    page.clock.install()
    page.goto(f"{home.url}/memories?q=quickly")
    page.clock.pause_at(page.evaluate("Date.now() + 1000"))
    page.locator("#list a").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Tab")
    page.clock.run_for(1_000)
    expect(dialog.get_by_role("button", name="Pin")).to_be_focused()


def test_a_phone_scrolls_one_way_only(browser: Browser, home: Site) -> None:
    with tab(browser, home, "ana", viewport={"width": 360, "height": 740}) as opened:
        page = opened.page
        for path in PATHS:
            page.goto(home.url + path)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, path
        menu = page.get_by_role("button", name="Menu")
        menu.click()
        expect(menu).to_have_attribute("aria-expanded", "true")
        page.get_by_role("link", name="Memories").click()
        expect(page).to_have_url(f"{home.url}/memories")


def test_on_a_phone_the_end_of_a_reply_is_above_the_composer(browser: Browser, home: Site) -> None:
    with tab(browser, home, "ana", viewport={"width": 360, "height": 740}) as opened:
        page = opened.page
        page.goto(home.url)
        for n in range(8):
            say(page, f"How is the café number {n}?")
            settled(page)
            expect(page.locator("#again")).to_be_visible()
            page.wait_for_function(
                """() => {
                    const bottom = [...document.querySelectorAll(".reply")].at(-1).getBoundingClientRect().bottom;
                    return bottom <= document.querySelector("#composer").getBoundingClientRect().top;
                }"""
            )


def test_it_is_dark_where_the_reader_wants_it(browser: Browser, home: Site) -> None:
    found = {}
    for scheme in ("light", "dark"):
        with tab(browser, home, "ana", color_scheme=scheme) as opened:
            opened.page.goto(home.url)
            found[scheme] = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    light, dark = (sum(map(int, re.findall(r"\d+", found[scheme])[:3])) for scheme in ("light", "dark"))
    assert light > 650 > 150 > dark


def test_a_wrong_time_zone_is_told_beside_the_form(browser: Browser, home: Site) -> None:
    with tab(browser, home, "bob") as opened:
        page = opened.page
        page.goto(f"{home.url}/settings")
        zone, smart = page.get_by_label("Time zone"), page.locator("[name=smart_context]")
        smart.select_option("off")
        zone.fill("Marte/Base")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("Marte/Base")
        expect(smart).to_have_value("off")
        zone.fill("America/Recife")
        page.get_by_role("button", name="Save").click()
        expect(page).to_have_url(f"{home.url}/settings?saved=true")
        expect(smart).to_have_value("off")
        expect(zone).to_have_value("America/Recife")


def test_forget_me_forgets(browser: Browser, home: Site) -> None:
    keep(home, "eva", "Lives in Paraty")
    with tab(browser, home, "eva") as opened:
        page = opened.page
        page.goto(f"{home.url}/account")
        page.get_by_label("To confirm").fill("eva")
        page.get_by_role("button", name="Erase everything").click()
        expect(page.locator("h1")).to_have_text("Everything was erased")
        expect(page.locator(".card").last).to_contain_text("nothing")
        page.goto(f"{home.url}/memories")
        expect(page.get_by_label("Key or token")).to_be_visible()
    with home.api("eva") as api:
        assert api.get("/api/memories").json() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readme_shows_the_page_as_it_is(browser: Browser, home: Site, scheme: str) -> None:
    keep(home, "many", "Works best in quiet cafés", "Hates coriander", kind="pref")
    keep(home, "many", "Moved to Recife in March 2024", "Sister: Lúcia, a nurse", kind="bio")
    keep(home, "many", "Anxious when deadlines come up", kind="emo")
    with tab(browser, home, "many", color_scheme=scheme, device_scale_factor=1) as opened:
        page = opened.page
        page.goto(home.url)
        say(page, "Where in Recife could I work in a quiet café today?")
        expect(page.locator(".reply").last).to_contain_text("near the river")
        settled(page)
        expect(page.locator("#turn")).to_contain_text("quiet cafés")
        _picture(page, f"page-{scheme}.png")


def _picture(page: Page, name: str) -> None:
    """Takes README's picture; writes it where somebody asked for that."""
    page.mouse.move(0, 0)
    taken = page.screenshot()
    assert len(taken) < 150_000
    if PICTURES:
        (DOCS / name).write_bytes(taken)
