// Time: a view as it was after one of the last transactions, and what has changed since.

import { choice, h, keyOf, labelled, problem } from "/page/dom.js";
import { get, listen, rowsOf } from "/page/server.js";
import { changeTable, rowsTable } from "/page/table.js";

export function time(main, app, [chosen]) {
  const names = app.shown();
  const name = names.includes(chosen) ? chosen : app.firstView();
  const slider = h("input", { type: "range", min: 0, max: 0, value: 0, step: 1, oninput: () => load() });
  const what = h("p", { id: "moment", "aria-live": "polite" });
  const out = h("div", { id: "answer" });
  let log = null, latest = 0;
  main.append(h("div", { class: "bar" },
    labelled("View", choice(app.choices(), name, (value) => app.go("time", value))),
    labelled("After transaction", slider, "wide")), what, out);

  async function reach(stay) {
    try {
      log = await get("/api/transactions", { limit: 500 });
      const at = stay ? Number(slider.value) : log.last;
      slider.min = log.reach;
      slider.max = log.last;
      slider.value = Math.max(at, log.reach);
      load();
    } catch (error) {
      out.replaceChildren(problem(error));
    }
  }

  async function load() {
    const asked = ++latest, at = Number(slider.value);
    const entry = log.transactions.find((each) => each.number === at);
    what.textContent = `After transaction ${at} of ${log.last}` + (entry ? `: ${entry.title}, ${new Date(entry.at * 1000).toLocaleTimeString()}` : at === 0 ? ": as loaded" : "");
    slider.setAttribute("aria-valuetext", what.textContent);
    try {
      const since = await get(`/api/relations/${encodeURIComponent(name)}/difference`, { since: at });
      const then = await rowsOf(name, { at, limit: 100 });
      if (asked !== latest) return;
      const gone = new Map(since.deleted_rows.map((row) => [keyOf(row), "went"]));
      out.replaceChildren(
        changeTable(`${name} since then`, since),
        h("h2", {}, `${name} then: ${then.matching.toLocaleString("en")} rows`),
        rowsTable({ name, columns: then.columns, rows: then.rows, marks: gone }));
    } catch (error) {
      if (asked === latest) out.replaceChildren(problem(error));
    }
  }
  reach(false);
  let pending = null;
  const end = listen(() => { pending ??= setTimeout(() => { pending = null; reach(Number(slider.value) < Number(slider.max)); }, 500); });
  return () => { end(); clearTimeout(pending); };
}
