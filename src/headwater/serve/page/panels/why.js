// The selected row: its proof as a tree, the facts it rests on as a graph, until when, what it cannot do without. And rows
// that are not there.

import { atom, h, keyOf, labelled, problem, shown } from "/page/dom.js";
import { place } from "/page/layout.js";
import { draw, endsOf, placesOf } from "/page/panels/graph.js";
import { listen, post } from "/page/server.js";

const SETS = 5;
const DRAWN = 200; // facts that are drawn
let stop = () => {}; // ends what keeps the lease of the selected row up to date

export async function why(aside, app, relation, row) {
  const close = h("button", { type: "button", onclick: () => { stop(); aside.hidden = true; aside.replaceChildren(); } }, "Close");
  stop();
  const head = h("h2", { tabindex: "-1", class: "code" }, atom(relation, row));
  aside.hidden = false;
  aside.replaceChildren(h("div", { class: "bar" }, close), head, h("p", { class: "quiet" }, "asking why"));
  head.focus();
  try {
    const found = await post("/api/why", { relation, row });
    const more = h("div", {});
    aside.replaceChildren(
      h("div", { class: "bar" }, close,
        h("button", { type: "button", onclick: () => critical(more, app, relation, row) }, "What can it not do without?"),
        h("button", { type: "button", onclick: () => app.drawOver(relation, row) }, "Draw")),
      head, lease(relation, row, found), more,
      h("h2", {}, "Why it is there"), tree(found),
      found.left_off ? h("p", { class: "quiet" }, `${found.left_off} more steps`) : "",
      h("h2", {}, "It rests on"), ...drawn(found.facts, app), facts(found.facts, app));
    head.focus();
  } catch (error) {
    aside.replaceChildren(h("div", { class: "bar" }, close), head, problem(error));
  }
}

// When the row ends, counted down as the clock of the data moves.
function lease(relation, row, found) {
  const line = h("p", { id: "lease", role: "timer" });
  const say = (until, now) => { line.textContent = until === null ? "" : `It ends ${remaining(until, now)}, at ${shown(until)}, if nothing more comes; the clock shows ${shown(now)}.`; };
  let pending = null;
  const gone = () => { line.textContent = "This row is gone."; stop(); };
  const ask = () => post("/api/valid_until", { relation, row }).then((answer) => say(answer.valid_until, answer.now), gone);
  const end = listen((event) => {
    if (event.views?.[relation]?.deleted_rows.some((each) => keyOf(each) === keyOf(row))) gone();
    else if (found.valid_until !== null) pending ??= setTimeout(() => { pending = null; ask(); }, 300);
  });
  stop = () => { end(); clearTimeout(pending); };
  say(found.valid_until, found.now);
  return line;
}

// The time between two moments: numbers of the clock, or timestamps.
function remaining(until, now) {
  if (now === null || now === undefined) return "later";
  if (typeof until === "number") return `in ${(until - now).toLocaleString("en")}`;
  const seconds = Math.round((Date.parse(until) - Date.parse(now)) / 1000);
  if (Number.isNaN(seconds)) return "later";
  const parts = [[Math.floor(seconds / 86400), "d"], [Math.floor(seconds / 3600) % 24, "h"], [Math.floor(seconds / 60) % 60, "min"], [seconds % 60, "s"]];
  return `in ${parts.filter(([count]) => count).map(([count, unit]) => `${count} ${unit}`).join(" ") || "0 s"}`;
}

// The facts that have two ends, as a graph for each relation, each node where the panel Graph has it.
function drawn(facts, app) {
  return app.relations.flatMap((relation) => {
    const ends = endsOf(relation).slice(0, 2).map((column) => relation.columns.indexOf(column));
    const rows = facts.filter((fact) => fact.relation === relation.name).map((fact) => fact.row);
    if (ends.length < 2 || !rows.length || rows.length > DRAWN) return [];
    const edges = rows.map((row) => [String(row[ends[0]]), String(row[ends[1]]), row]);
    const names = [...new Set(edges.flatMap(([one, other]) => [one, other]))], places = placesOf(relation.name);
    place(names, edges, places);
    return [draw({ relation: relation.name, shown: names, edges }, places, [], new Set(), null, (name) => app.go("graph", relation.name, "", "", name), [440, 180])];
  });
}

// A proof as nested lists that fold. A step that is proved twice is unfolded once.
export function tree(found) {
  const nodes = new Map(found.nodes.map((node) => [node.id, node]));
  const seen = new Set();
  const one = (id, depth) => {
    const node = nodes.get(id);
    if (!node) return h("li", { class: "quiet" }, "...");
    const again = seen.has(id) && node.children.length > 0;
    seen.add(id);
    const until = node.until === undefined ? "" : `  until ${node.until}${node.decides ? " (decides)" : ""}`;
    const text = `${node.reason === "absent" ? "no row matched " : ""}${node.text}${until}`;
    if (!node.children.length || again) return h("li", { class: node.children.length ? "" : "fact" }, text, again ? h("span", { class: "quiet" }, " (proved above)") : null);
    const below = h("ul", { class: "tree" });
    const fold = h("details", { open: depth < 4 }, h("summary", {}, text, node.rule ? h("span", { class: "rule" }, node.rule) : null), below);
    const unfold = () => { if (!below.childElementCount) below.append(...node.children.map((child) => one(child, depth + 1))); };
    if (depth < 4) unfold(); else fold.addEventListener("toggle", unfold, { once: true });
    return h("li", {}, fold);
  };
  return h("ul", { class: "tree root", id: "proof" }, one(0, 0));
}

function facts(list, app) {
  return h("ul", { class: "facts" }, list.map((fact) => h("li", {}, atom(fact.relation, fact.row), " ",
    h("button", { type: "button", class: "plain", "aria-label": `strike out ${atom(fact.relation, fact.row)}`, onclick: () => app.strike(fact) }, "strike out"))));
}

async function critical(out, app, relation, row) {
  out.replaceChildren(h("p", { class: "quiet" }, "asking"));
  try {
    const found = await post("/api/critical", { relation, row });
    const sets = (title, list) => list.length ? [h("h2", {}, title), h("ol", {}, list.slice(0, SETS).map((set) => h("li", {}, set.map((fact) => atom(fact.relation, fact.row)).join(" and "))))] : [];
    out.replaceChildren(
      h("h2", {}, "It cannot do without"),
      found.facts.length ? facts(found.facts, app) : h("p", { class: "none" }, "no single fact"),
      ...sets("It cannot lose together", found.cuts.filter((set) => set.length > 1)),
      ...sets("Enough for it", found.witnesses));
  } catch (error) {
    out.replaceChildren(problem(error));
  }
}

export function whyNot(main, app) {
  const view = app.firstView();
  const input = h("input", { type: "text", placeholder: `${view}(...)`, class: "code", required: true });
  const out = h("div", { id: "answer", "aria-live": "polite" });
  const ask = async (event) => {
    event.preventDefault();
    out.replaceChildren(h("p", { class: "quiet" }, "asking"));
    try {
      out.replaceChildren(h("pre", {}, (await post("/api/why_not", { atom: input.value })).text));
    } catch (error) {
      out.replaceChildren(problem(error));
    }
  };
  main.append(
    h("form", { class: "bar", onsubmit: ask }, labelled("A row that is not there", input, "wide"), h("button", {}, "Why not?")),
    h("p", { class: "quiet" }, "Lower-case words, numbers, \"texts\" and [lists] are values. Each rule that could derive the row is shown with the goal at which it fails."),
    out);
}
