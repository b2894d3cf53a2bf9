// A relation as a table: sorted and filtered on the server, scrolled through; rows that came and went are marked as it happens.

import { choice, counted, h, keyOf, labelled, problem } from "/page/dom.js";
import { scrollingRows } from "/page/scrolling.js";
import { listen, rowsOf, state } from "/page/server.js";
import { rowsTable } from "/page/table.js";

const SHOWN_GONE = 20;
const EVERY = 1000; // milliseconds between two loads while changes keep coming; the first one is shown at once
const said = (count) => count.toLocaleString("en");

export function views(main, app, [chosen]) {
  const names = app.shown();
  const name = names.includes(chosen) ? chosen : app.firstView();
  let sort = "", marks = new Map(), gone = [], latest = 0, loaded = 0, pending = null;

  const where = h("input", { type: "search", placeholder: `${name}(...)`, onchange: () => rows.from(0) });
  const find = h("input", { type: "search", oninput: () => soon(() => rows.from(0), 150) });
  const place = h("p", { class: "quiet", id: "place" });
  const news = h("p", { class: "quiet", id: "news", "aria-live": "polite" });
  const went = h("div", { id: "gone" }), out = h("div", { id: "rows" });
  const rows = scrollingRows({
    name,
    fetch: load,
    table: () => ({
      marks, sort,
      onrow: (row) => app.choose(name, row, false),
      onsort: (column) => { sort = sort === column ? `-${column}` : column; rows.from(0); },
    }),
    onsight: (from, to, found) => {
      const all = found.matching < found.total ? ` (${said(found.total)} in all)` : "";
      place.textContent = found.matching ? `rows ${said(from + 1)} to ${said(to)} of ${said(found.matching)}${all}` : `no rows${found.total ? ` of ${said(found.total)}` : ""}`;
    },
  });
  const turn = (text, row) => h("button", { type: "button", onclick: () => rows.from(row()) }, text);
  main.append(
    h("div", { class: "bar" },
      labelled("Relation", choice(app.choices(), name, (value) => app.go("views", value))),
      labelled("Where", where, "wide"), labelled("Holding the text", find)),
    news, went, h("div", { class: "bar", role: "group", "aria-label": "Rows" }, turn("First", () => 0), turn("Last", rows.last), place), out);

  function soon(what, wait) {
    pending ??= setTimeout(() => { pending = null; loaded = performance.now(); what(); }, wait);
  }

  async function load(first, count) {
    const asked = ++latest;
    try {
      const found = await rowsOf(name, { offset: first, limit: count, sort, where: where.value.trim(), find: find.value, seen: state.transaction });
      if (asked !== latest) return null;
      if (!out.contains(rows.box)) out.replaceChildren(rows.box);
      if (found.transaction < state.transaction) soon(() => rows.again(), EVERY); // a large view, as it was some seconds ago
      went.replaceChildren(gone.length ? rowsTable({ name: `gone from ${name}`, columns: found.columns, rows: gone, marks, onrow: (row) => app.choose(name, row, true) }) : "");
      return found;
    } catch (error) {
      if (asked === latest) out.replaceChildren(problem(error));
      return null;
    }
  }

  const end = listen((event) => {
    const change = event.views === null ? null : event.views[name];
    if (change === undefined) return;
    marks = new Map();
    gone = [];
    if (change === null) {
      news.textContent = `${counted(event.until - event.since, "transaction")}: more changes than are shown one by one`;
    } else {
      for (const row of change.inserted_rows) marks.set(keyOf(row), "came");
      gone = change.deleted_rows.slice(0, SHOWN_GONE);
      for (const row of gone) marks.set(keyOf(row), "went");
      news.textContent = `transaction ${event.until}: ${change.inserted} came, ${change.deleted} went` + (change.deleted > gone.length ? ` (${gone.length} of them shown)` : "");
    }
    soon(rows.again, Math.max(0, EVERY - (performance.now() - loaded)));
  });
  rows.again();
  return () => { end(); rows.end(); clearTimeout(pending); };
}
