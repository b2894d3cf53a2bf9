// Facts ranked by what rests on each alone.

import { atom, choice, h, labelled, problem } from "/page/dom.js";
import { post } from "/page/server.js";

export function blast(main, app, [chosen]) {
  const bases = app.relations.filter((each) => !each.derived && !each.hidden).map((each) => each.name);
  const name = bases.includes(chosen) ? chosen : bases[0];
  const out = h("div", { id: "answer", "aria-live": "polite" }, h("p", { class: "quiet" }, "asking"));
  main.append(h("div", { class: "bar" },
    labelled("Facts of", choice(bases, name, (value) => app.go("blast", value))),
    h("button", { type: "button", onclick: () => load() }, "Ask again")), out);

  async function load() {
    try {
      const found = await post("/api/blast_radius", { relation: name, limit: 200 });
      const most = Math.max(1, ...found.facts.map((each) => each.rows));
      const lines = found.facts.map((each) => h("tr", {},
        h("td", {}, atom(each.fact.relation, each.fact.row)),
        h("td", { class: "number" }, each.rows.toLocaleString("en")),
        h("td", { class: "bar-cell" }, h("meter", { min: 0, max: most, value: each.rows, "aria-label": `${each.rows} rows`, optimum: 0, low: most / 3, high: (2 * most) / 3 })),
        h("td", {}, Object.entries(each.by_view).map(([view, rows]) => `${view} ${rows}`).join(", ")),
        h("td", {}, h("button", { type: "button", class: "plain", onclick: () => app.strike(each.fact) }, "strike out"))));
      out.replaceChildren(
        h("p", { class: "quiet" }, `Rows that would be gone without each fact. ${found.total.toLocaleString("en")} facts${found.total > found.facts.length ? `, the first ${found.facts.length}` : ""}`),
        h("div", { class: "scroll" }, h("table", { "aria-label": "blast radius" },
          h("thead", {}, h("tr", {}, ["fact", "rows lost", "", "by view", ""].map((text, at) => h("th", { scope: "col", class: at === 1 ? "number" : "" }, text)))),
          h("tbody", {}, lines))));
    } catch (error) {
      out.replaceChildren(problem(error));
    }
  }
  if (name) load(); else out.replaceChildren(h("p", { class: "none" }, "The program has no base relation."));
}
