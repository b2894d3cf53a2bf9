"""The page in a real browser: everything that is on it works, is safe, and can be reached by keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.network import Link, Topology
from headwater.network.events.model import LinkFails
from headwater.network.phases import simulate
from headwater.network.playback import write_playback
from headwater.network.protocols import protocol
from headwater.network.scenario import prepared
from tests.serve.browsing import WAIT, chromium, needs_browser, page_of
from tests.serve.serving import ROOT, Server, serving

pytestmark = [needs_browser, pytest.mark.xdist_group("page")]
LINKS = f"link={ROOT}/examples/network/links.csv"
PROGRAM = f"{ROOT}/examples/routes.dl"
PANELS = ("Views", "Graph", "Why not", "What if", "Blast radius", "Time", "Running", "Program", "Simulation")
MARKUP = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def expect() -> Any:
    from playwright.sync_api import expect

    expect.set_options(timeout=WAIT)
    return expect


def line(kind: str, a: str, b: str, ms: int) -> str:
    return json.dumps({"_change_type": kind, "a": a, "b": b, "ms": ms}) + "\n"


def tab(page: Any, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()


def lisbon(page: Any) -> None:
    page.get_by_label("Where").fill("fastest(lisbon, To, P, T)")
    page.keyboard.press("Enter")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    feed = tmp_path_factory.mktemp("network") / "feed.jsonl"
    feed.write_text(line("delete", "madrid", "paris", 12) + line("insert", "madrid", "paris", 12))
    with serving(feed.parent, PROGRAM, "-i", LINKS, "--changes", feed.name, "--batch", "1") as server:
        server.until(2)
        yield server, feed


def test_a_change_appears_and_is_marked(browser: Any, expect: Any, tmp_path: Path) -> None:
    feed = tmp_path / "feed.jsonl"
    feed.write_text(line("delete", "madrid", "paris", 12))
    with (
        serving(tmp_path, PROGRAM, "-i", LINKS, "--changes", feed.name) as server,
        page_of(browser, server.url) as page,
        page_of(browser, server.url) as other,
    ):
        server.until(1)
        for each in (page, other):
            expect(each.locator("#status")).to_contain_text("live, transaction")
            expect(each.locator("#place")).to_have_text(re.compile(r"^rows 1 to [12]\d of 90$"))
            lisbon(each)
            expect(each.locator("#place")).to_have_text("rows 1 to 9 of 9 (90 in all)")
        with feed.open("a") as out:
            out.write(line("insert", "madrid", "paris", 12))
        for each in (page, other):
            expect(each.locator("tr.came").filter(has_text="[lisbon, madrid, paris]").first).to_be_visible()
            expect(each.locator("tr.went").first).to_be_visible()
            expect(each.locator("#news")).to_contain_text("16 came, 16 went")
        assert "token" not in page.url


def test_a_row_is_explained_by_keyboard_alone(browser: Any, expect: Any, network: tuple[Server, Path]) -> None:
    with page_of(browser, network[0].url) as page:
        lisbon(page)
        row = page.locator("#rows tbody tr").filter(has_text="vienna")
        expect(row).to_have_count(1)
        row.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#proof")).to_contain_text("link(lisbon, madrid, 6)")
        page.get_by_role("button", name="What can it not do without?").press("Enter")
        expect(page.locator("#row")).to_contain_text("It cannot do without")
        page.get_by_role("button", name="strike out link(lisbon, madrid, 6)").first.press("Enter")
        expect(page.locator("#supposed")).to_contain_text("without link(lisbon, madrid, 6)")
        expect(page.locator("section[data-view=fastest]")).to_contain_text("−")
        page.get_by_role("button", name="Undo").press("Enter")
        expect(page.locator("#answer")).to_contain_text("Strike out a fact")


def test_every_control_has_a_name(browser: Any, expect: Any, network: tuple[Server, Path]) -> None:
    with page_of(browser, network[0].url) as page:
        for name in PANELS:
            tab(page, name)
            expect(page.locator("nav a[aria-current]")).to_have_text(name)
            controls = page.locator("main :is(input, select, textarea, button):visible")
            expect(controls.first).to_be_visible() if name != "Running" else None
            named = "e.innerText?.trim() || e.labels?.length || e.ariaLabel"
            assert controls.evaluate_all(f"all => all.filter(e => !({named})).map(e => e.outerHTML)") == []


def test_tab_reaches_every_control(browser: Any, expect: Any, network: tuple[Server, Path]) -> None:
    usable = "main :is(a[href], button, input, select, textarea, summary, [tabindex='0']):visible:not([disabled])"
    loaded = {
        "Views": "#rows tbody tr", "Graph": "main svg .node", "Blast radius": "#answer tbody tr",
        "Time": "#answer table", "Running": "#plan", "Program": "main svg",
    }  # fmt: skip
    with page_of(browser, network[0].url) as page:
        page.evaluate("() => document.addEventListener('focusin', event => { event.target.dataset.reached = 'yes' })")
        for name in PANELS:
            tab(page, name)
            expect(page.locator(loaded.get(name, "main input")).first).to_be_visible()
            for _ in range(page.locator(usable).count() + 20):  # from the tab to the end of the page
                page.keyboard.press("Tab")
            missed = page.locator(usable).evaluate_all(
                "all => all.filter(e => !e.dataset.reached).map(e => e.outerHTML)"
            )
            assert missed == [], name


def test_why_not_and_what_if_with_rows_added(browser: Any, expect: Any, network: tuple[Server, Path]) -> None:
    server, _ = network
    before = server.rows("link")
    with page_of(browser, server.url) as page:
        tab(page, "Why not")
        page.get_by_label("A row that is not there").fill("fastest(lisbon, vienna, [lisbon, vienna], 1)")
        page.get_by_role("button", name="Why not?").click()
        expect(page.locator("#answer pre")).to_contain_text("is not there")
        page.get_by_label("A row that is not there").fill("nonsense(1)")
        page.get_by_role("button", name="Why not?").click()
        expect(page.get_by_role("alert")).to_contain_text("there is no relation `nonsense`")
        tab(page, "What if")
        for label, value in (("a: string", "lisbon"), ("b: string", "vienna"), ("ms: int", "1")):
            page.get_by_label(label).fill(value)
        page.get_by_role("button", name="Add", exact=True).click()
        expect(
            page.locator("section[data-view=fastest] tr.came").filter(has_text="[lisbon, vienna]").first
        ).to_be_visible()
        expect(page.get_by_role("button", name="Apply ...")).to_be_hidden()
        page.get_by_label("ms: int").fill("soon")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("#answer").get_by_role("alert")).to_contain_text("column `ms`")
    assert server.rows("link") == before


def test_graph_blast_radius_and_program(browser: Any, expect: Any, network: tuple[Server, Path]) -> None:
    server, feed = network
    with page_of(browser, server.url) as page:
        tab(page, "Graph")
        expect(page.locator("svg .node")).to_have_count(10)
        where = "all => all.map(e => [e.textContent, e.getAttribute('transform')]).sort().join()"
        places = page.locator("svg .node").evaluate_all(where)
        page.get_by_label("Lay over").select_option("fastest")
        page.get_by_role("button", name="fastest(amsterdam, barcelona").click()
        expect(page.locator("svg .edge.over")).not_to_have_count(0)
        with feed.open("a") as out:
            out.write(line("insert", "lisbon", "vienna", 40))
        expect(page.locator("svg .edge.came")).to_have_count(1)
        assert page.locator("svg .node").evaluate_all(where) == places
        page.get_by_role("button", name="around lisbon").press("Enter")
        expect(page.locator("svg .node.selected")).to_have_count(1)
        tab(page, "Blast radius")
        expect(page.get_by_role("table", name="blast radius").locator("tbody tr").first).to_contain_text("link(")
        tab(page, "Program")
        expect(page.locator("#described")).to_contain_text("stratum 2: route (recursive)")
        page.get_by_label("The program").fill("p(X, Y) :- q(X).")
        page.get_by_role("button", name="Check").click()
        expect(page.locator("#findings")).to_contain_text("error[HW301]")


def test_time_and_running(browser: Any, expect: Any, network: tuple[Server, Path]) -> None:
    server, _ = network
    with page_of(browser, server.url) as page:
        tab(page, "Time")
        expect(page.locator("#moment")).to_contain_text("After transaction")
        slider = page.get_by_label("After transaction")
        slider.fill("0")
        expect(page.locator("#moment")).to_contain_text("After transaction 0")
        expect(page.locator("#moment")).to_contain_text("as loaded")
        slider.fill("1")
        expect(page.locator("#moment")).to_contain_text("delete link(madrid, paris, 12)")
        expect(page.locator("tr.came").filter(has_text="[lisbon, madrid, paris]").first).to_be_visible()
        tab(page, "Running")
        expect(page.get_by_role("table", name="transactions")).to_contain_text("delete link(madrid, paris, 12)")
        expect(page.get_by_role("table", name="profile")).to_contain_text("far: route")


def test_a_simulation_is_played_back(browser: Any, expect: Any, network: tuple[Server, Path], tmp_path: Path) -> None:
    links = [Link("a", "b"), Link("b", "c"), Link("c", "a", latency=0.05)]
    scenario = prepared(protocol("reachability"), Topology(links), events=[LinkFails(1.0, "a", "b")])
    write_playback(tmp_path / "run.json", "reachability", scenario, simulate(scenario, until=2.0, trace=True))
    (tmp_path / "other.json").write_text("[1]")
    with page_of(browser, network[0].url) as page:
        tab(page, "Simulation")
        page.get_by_label("Run").set_input_files(tmp_path / "other.json")
        expect(page.locator("#answer")).to_contain_text("no run of headwater simulate")
        page.get_by_label("Run").set_input_files(tmp_path / "run.json")
        expect(page.locator("#moment")).to_contain_text("0.000 s of 2.000 s: 6 messages under way")
        expect(page.locator("svg .message")).to_have_count(6)
        page.get_by_label("Time").fill("400")
        expect(page.locator("#moment")).to_contain_text("0.800 s of 2.000 s: 0 messages under way, reachable has 9")
        expect(page.locator("svg .edge.down")).to_have_count(0)
        page.get_by_role("button", name="rows at b").click()
        expect(page.locator("#answer h2")).to_have_text("reachable at b: 3 rows")
        page.get_by_label("Time").fill("999")
        expect(page.locator("svg .edge.down")).to_have_count(1)
        page.get_by_label("Whole run in").select_option("5")
        page.get_by_label("Time").fill("900")
        page.get_by_role("button", name="Play").click()
        expect(page.locator("#moment")).to_contain_text("2.000 s of 2.000 s")
        expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_values_are_shown_and_never_run(browser: Any, expect: Any, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("v(X, Y) :- r(X, Y).\n")
    (tmp_path / "r.jsonl").write_text(json.dumps({"a": MARKUP, "b": "b"}) + "\n")
    (tmp_path / "feed.jsonl").write_text(json.dumps({"_change_type": "insert", "a": "c", "b": MARKUP}) + "\n")
    with serving(tmp_path, "p.dl", "-i", "r=r.jsonl", "--changes", "feed.jsonl", "--batch", "1") as server:
        server.until(1)
        with page_of(browser, server.url) as page:
            expect(page.locator("#rows td").filter(has_text="<script>")).to_have_count(2)
            page.locator("#rows tbody tr").first.click()
            expect(page.locator("#proof")).to_contain_text("<script>")
            for name in ("Graph", "Blast radius", "Time", "Running", "Program", "What if"):
                tab(page, name)
                expect(page.locator("nav a[aria-current]")).to_have_text(name)
            tab(page, "Graph")
            expect(page.locator("main svg .node")).to_have_count(3)
            assert page.locator("main script, main img, aside script, aside img").count() == 0
            assert page.title() == "Graph - Headwater"


def test_a_hundred_thousand_rows_scroll(browser: Any, expect: Any, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("relation r(n: int, s: string).\nv(N, S) :- r(N, S).\n")
    (tmp_path / "r.csv").write_text("n,s\n" + "".join(f"{at},word {at}\n" for at in range(100_000)))
    with serving(tmp_path, "p.dl", "-i", "r=r.csv") as server, page_of(browser, server.url) as page:
        place, box = page.locator("#place"), page.get_by_role("group", name="rows of v")
        expect(place).to_have_text(re.compile(r"^rows 1 to 1\d of 100,000$"))
        page.get_by_role("button", name="sort by n").click()
        for row in (50_000, 49_950, 7, 99_000):  # far away, near, to the start, far again
            box.evaluate(f"e => {{ e.scrollTop = {row} * 30 }}")
            expect(place).to_have_text(re.compile(f"^rows {row + 1:,} to "))
            line = page.locator("#rows tbody tr").filter(has_text=re.compile(f"word {row}$"))
            expect(line).to_be_in_viewport()
        assert page.locator("#rows tbody tr").count() <= 200
        page.get_by_role("button", name="Last").click()
        expect(place).to_have_text(re.compile("to 100,000 of 100,000$"))
        expect(page.locator("#rows tbody tr").last).to_be_in_viewport()
        expect(page.locator("#rows tbody tr").last).to_contain_text("word 99999")
        box.focus()
        page.keyboard.press("Home")
        expect(place).to_have_text(re.compile("^rows 1 to "))
        page.keyboard.press("PageDown")
        expect(place).not_to_have_text(re.compile("^rows 1 to "))
        page.get_by_role("button", name="sort by n").click()
        expect(page.locator("#rows tbody tr").first).to_contain_text("word 99999")
        page.get_by_label("Holding the text").fill("WORD 4242")
        expect(place).to_have_text("rows 1 to 11 of 11 (100,000 in all)")
        page.get_by_label("Where").fill("v(7, S)")
        page.get_by_label("Holding the text").fill("")
        expect(place).to_contain_text("rows 1 to 1 of 1")


def test_scrolling_before_a_jump_has_its_answer_wins(browser: Any, expect: Any, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("relation r(n: int).\nv(N) :- r(N).\n")
    (tmp_path / "r.csv").write_text("n\n" + "".join(f"{at}\n" for at in range(5_000)))
    with serving(tmp_path, "p.dl", "-i", "r=r.csv") as server, page_of(browser, server.url) as page:
        place, box = page.locator("#place"), page.get_by_role("group", name="rows of v")
        expect(place).to_have_text(re.compile("^rows 1 to "))
        held: list[Any] = []
        page.route(re.compile("/rows.*sort=n"), lambda route: route.continue_() if held else held.append(route))
        page.clock.install()
        page.clock.pause_at(page.evaluate("Date.now() + 1000"))  # what is scrolled to is not asked for yet
        with page.expect_request(re.compile("/rows.*sort=n")):
            page.get_by_role("button", name="sort by n").click()
        box.evaluate("e => { e.scrollTop = 2000 * 30 }")
        expect(place).to_have_text(re.compile("^rows 2,001 to "))
        with page.expect_response(re.compile("/rows.*offset=0.*sort=n")) as came:
            held[0].continue_()
        came.value.finished()
        page.clock.resume()
        expect(page.locator("#rows tbody tr").filter(has_text=re.compile("^2000$"))).to_be_in_viewport()
        expect(place).to_have_text(re.compile("^rows 2,001 to "))


def test_scrolling_wins_over_an_answer_before_its_event(browser: Any, expect: Any, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("relation r(n: int).\nv(N) :- r(N).\n")
    (tmp_path / "r.csv").write_text("n\n" + "".join(f"{at}\n" for at in range(5_000)))
    with serving(tmp_path, "p.dl", "-i", "r=r.csv") as server, page_of(browser, server.url) as page:
        place, box = page.locator("#place"), page.get_by_role("group", name="rows of v")
        expect(place).to_have_text(re.compile("^rows 1 to "))
        page.evaluate("""() => {
            const real = window.fetch
            window.fetch = async (path, options) => {
                const response = await real(path, options)
                if (!path.includes("sort=n") || window.release) return response
                const found = await response.json()
                await new Promise((release) => { window.release = release; document.body.dataset.held = "yes" })
                return { ok: response.ok, status: response.status, json: async () => found }
            }
        }""")
        page.get_by_role("button", name="sort by n").click()
        expect(page.locator("body[data-held]")).to_be_attached()  # a function to wait for would need eval
        box.evaluate("e => { e.scrollTop = 2000 * 30; window.release() }")
        expect(page.locator("#rows tbody tr").filter(has_text=re.compile("^2000$"))).to_be_in_viewport()
        expect(place).to_have_text(re.compile("^rows 2,001 to "))


def test_half_a_million_rows_scroll_by_a_shortened_bar(browser: Any, expect: Any, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("relation r(n: int).\nv(N) :- r(N).\n")
    (tmp_path / "r.csv").write_text("n\n" + "".join(f"{at}\n" for at in range(500_000)))
    with serving(tmp_path, "p.dl", "-i", "r=r.csv") as server, page_of(browser, server.url) as page:
        place, box = page.locator("#place"), page.get_by_role("group", name="rows of v")
        page.get_by_role("button", name="sort by n").click()
        box.evaluate("e => { e.scrollTop = e.scrollHeight / 2 }")
        expect(place).to_have_text(re.compile(r"^rows (249|250),\d\d\d to .* of 500,000$"))
        expect(page.locator("#rows tbody tr").filter(has_text=re.compile("^250[0-9]{3}$")).first).to_be_attached()
        before = place.inner_text()
        box.evaluate("e => { e.scrollTop += 90 }")
        expect(place).not_to_have_text(before)
        for button, row in (("Last", 499_999), ("First", 0)):
            page.get_by_role("button", name=button).click()
            expect(page.locator("#rows tbody tr").filter(has_text=re.compile(f"^{row}$"))).to_be_in_viewport()


def test_a_lease_is_counted_down(browser: Any, expect: Any, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text(
        "stream link(ts: timestamp, x: string, y: string) ttl 60 seconds.\n"
        "reach(X, Y) :- link(T, X, Y).\nreach(X, Z) :- link(T, X, Y), reach(Y, Z).\n"
    )
    feed = tmp_path / "feed.jsonl"

    def link(x: str, y: str, second: int) -> str:
        return json.dumps({"_change_type": "insert", "ts": f"2026-01-01T00:00:{second:02}", "x": x, "y": y}) + "\n"

    feed.write_text(link("a", "b", 0) + link("b", "c", 10))
    with serving(tmp_path, "p.dl", "--changes", "link=feed.jsonl") as server, page_of(browser, server.url) as page:
        server.until(1)
        page.locator("#rows tbody tr").filter(has_text="ac").first.click()
        expect(page.locator("#lease")).to_contain_text("It ends in 50 s")
        expect(page.locator("aside svg .edge")).to_have_count(2)
        with feed.open("a") as out:
            out.write(link("x", "y", 40))
        expect(page.locator("#lease")).to_contain_text("It ends in 20 s")
        with feed.open("a") as out:
            out.write(link("x", "z", 59) + link("x", "v", 59).replace("00:00:59", "00:01:01"))
        expect(page.locator("#lease")).to_have_text("This row is gone.")


def test_changes_are_applied_behind_a_confirm(browser: Any, expect: Any, tmp_path: Path) -> None:
    with serving(tmp_path, PROGRAM, "-i", LINKS, "--writable") as server, page_of(browser, server.url) as page:
        tab(page, "What if")
        for label, value in (("a: string", "lisbon"), ("b: string", "madrid"), ("ms: int", "6")):
            page.get_by_label(label).fill(value)
        page.get_by_role("button", name="Strike out").click()
        expect(page.locator("section[data-view=fastest]")).to_be_visible()
        page.get_by_role("button", name="Apply ...").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert server.get("/api/health")["transaction"] == 0
        page.get_by_role("button", name="Apply ...").click()
        page.get_by_role("dialog").get_by_role("button", name="Apply").click()
        expect(page.locator("#status")).to_contain_text("transaction 1")
        assert ("lisbon", "madrid", 6) not in server.rows("link", at_least=1)


def test_a_server_that_comes_back_is_found_again(browser: Any, expect: Any, tmp_path: Path) -> None:
    with serving(tmp_path, PROGRAM, "-i", LINKS) as server:
        port = server.port
        with page_of(browser, server.url) as page:
            expect(page.locator("#status")).to_contain_text("live")
            server.process.kill()
            server.process.wait()
            expect(page.locator("#status")).to_contain_text("does not answer")
            (tmp_path / "fewer.csv").write_text("a,b,ms\nlisbon,madrid,6\n")
            with serving(tmp_path, PROGRAM, "-i", "link=fewer.csv", port=port):
                expect(page.locator("#status")).to_contain_text("live")
                expect(page.locator("#place")).to_have_text("rows 1 to 2 of 2")


def test_documents_are_trees_that_follow_their_changes(browser: Any, expect: Any, tmp_path: Path) -> None:
    (tmp_path / "v.lorel").write_text(
        "define view Big as Items = select i from Orders.items i where i.qty > 5 with i.sku s, i.note n;"
    )
    items = [{"sku": "a", "qty": 3}, {"sku": "b", "qty": 9, "note": MARKUP}]
    (tmp_path / "orders.jsonl").write_text(json.dumps({"id": 1, "items": items}) + "\n")
    (tmp_path / "in").mkdir()
    arguments = ("v.lorel", "-i", "Orders=orders.jsonl", "--watch", "Orders=in")
    with serving(tmp_path, *arguments) as server, page_of(browser, server.url) as page:
        expect(page.locator("#place")).to_have_text("1 to 1 of 1 document")
        expect(page.locator("#answer")).to_contain_text("<script>")
        (tmp_path / "in" / ".new.jsonl").write_text(json.dumps({"id": 2, "items": [{"sku": "c", "qty": 7}]}) + "\n")
        (tmp_path / "in" / ".new.jsonl").rename(tmp_path / "in" / "new.jsonl")
        expect(page.locator("#answer .card.came")).to_have_count(1)
        expect(page.locator("#answer .card.came")).to_contain_text("sku: c")
        page.get_by_label("Documents").select_option("Orders")
        expect(page.locator("#place")).to_have_text("1 to 2 of 2 documents")
        page.locator("[data-id='1'] summary").filter(has_text="items").click()
        page.locator("[data-id='1'] summary").filter(has_text="items").click()
        expect(page.locator("[data-id='1']")).to_contain_text("2 items")
        tab(page, "Views")
        expect(page.locator("#rows tbody tr").first).to_be_visible()
        assert server.get("/api/documents/nothing")["status"] == 422
        found = server.get("/api/documents/Big", offset=1, limit=1)
        assert (found["total"], [each["document"] for each in found["documents"]]) == (2, [{"sku": "c"}])


def test_a_wrong_token_is_refused(browser: Any, expect: Any, network: tuple[Server, Path]) -> None:
    with page_of(browser, re.sub("token=.*", "token=wrong", network[0].url)) as page:
        expect(page.locator("body")).to_contain_text("the token is wrong or missing")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(
    browser: Any, expect: Any, network: tuple[Server, Path], width: int, theme: str
) -> None:
    size = {"width": width, "height": 800}
    with page_of(browser, network[0].url, viewport=size, color_scheme=theme) as page:
        assert page.locator("html").get_attribute("data-theme") == theme
        page.locator("#rows tbody tr").first.click()
        expect(page.locator("#proof")).to_be_visible()
        for name in PANELS:
            tab(page, name)
            expect(page.locator("nav a[aria-current]")).to_have_text(name)
            expect(page.locator("main > *").first).to_be_attached()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Nothing is squeezed until its words break: the state of the connection is a line or two.
        assert page.locator("#status").bounding_box()["height"] < 60
