// A relation as a graph: positions stay while it changes, rows of views are laid over it. A large graph is shown around a node.

import { atom, choice, counted, h, keyOf, labelled, problem, s } from "/page/dom.js";
import { place } from "/page/layout.js";
import { get, listen, rowsOf } from "/page/server.js";

const kept = new Map(); // places of nodes, by relation: they outlive the panel
export const placesOf = (relation) => kept.get(relation) ?? kept.set(relation, new Map()).get(relation);
const OVER = 60; // rows of a view that can be laid over

export function graph(main, app, [chosen, from, to, around]) {
  const fitting = app.relations.filter((each) => !each.hidden && endsOf(each).length >= 2);
  if (!fitting.length) { main.append(h("p", { class: "none" }, "No relation has two columns with ends of edges.")); return undefined; }
  const relation = fitting.find((each) => each.name === chosen) ?? fitting.find((each) => !each.derived) ?? fitting[0];
  const columns = endsOf(relation).map((column) => column.name);
  const places = placesOf(relation.name);
  const go = (...more) => app.go("graph", relation.name, ...more);
  let over = app.over, pending = null, came = new Set(), latest = 0;

  const near = h("input", { type: "search", value: around ?? "", list: "nodes", onchange: () => go(from ?? "", to ?? "", near.value) });
  const says = h("p", { class: "quiet", id: "says", "aria-live": "polite" });
  const out = h("div", {}), side = h("div", {}), known = h("datalist", { id: "nodes" });
  main.append(h("div", { class: "bar" },
    labelled("Edges", choice(fitting.map((each) => each.name), relation.name, (value) => app.go("graph", value))),
    labelled("From", choice(columns, from || columns[0], (value) => go(value, to ?? "", ""))),
    labelled("To", choice(columns, to || columns[1], (value) => go(from ?? "", value, ""))),
    labelled("Around", near),
    labelled("Lay over", choice([["", "nothing"], ...app.shown().filter((name) => name !== relation.name)], over?.relation ?? "", (value) => { app.over = over = value ? { relation: value, row: null } : null; load(); }))),
    known, says, out, side);

  async function load() {
    const asked = ++latest;
    try {
      const found = await get(`/api/relations/${encodeURIComponent(relation.name)}/graph`, { from, to, around });
      const rows = over ? (await rowsOf(over.relation, { limit: OVER, find: around })).rows : [];
      if (asked !== latest) return;
      await map(app, found.shown, places);
      place(found.shown, found.edges, places);
      says.textContent = `${counted(found.shown.length, "node")}, ${counted(found.edges.length, "edge")}` + (found.whole ? "" : ` of ${found.nodes.toLocaleString("en")} nodes: ${around ? "those near it" : "those near the busiest one"}; choose another under Around`);
      known.replaceChildren(...found.shown.slice(0, 500).map((name) => h("option", { value: name })));
      out.replaceChildren(draw(found, places, over?.row ? steps(over.row) : [], came, around, (name) => go(from ?? "", to ?? "", name)));
      side.replaceChildren(...(over ? [h("h2", {}, `Rows of ${over.relation}`), h("ul", { class: "facts" }, rows.map((row) => h("li", {},
        h("button", { type: "button", class: "plain", "aria-pressed": String(over.row !== null && keyOf(over.row) === keyOf(row)), onclick: () => { app.over = over = { ...over, row }; load(); } }, atom(over.relation, row)))))] : []));
    } catch (error) {
      if (asked === latest) out.replaceChildren(problem(error));
    }
  }

  load();
  const end = listen((event) => {
    const change = event.views?.[relation.name];
    if (change === undefined && event.views !== null && !(over && event.views[over.relation] !== undefined)) return;
    came = new Set((change?.inserted_rows ?? []).map(keyOf));
    pending ??= setTimeout(() => { pending = null; load(); }, 200);
  });
  return () => { end(); clearTimeout(pending); };
}

// The columns of a relation that can be ends of edges.
export const endsOf = (relation) => relation.columns.filter((column) => !column.type.startsWith("list"));

// The pairs of nodes that a row leads along: its longest list, else its first two values.
export function steps(row) {
  const list = row.filter(Array.isArray).sort((one, other) => other.length - one.length)[0] ?? row.slice(0, 2);
  return list.slice(1).map((node, at) => [String(list[at]), String(node)]);
}

// Where a relation has a name, a latitude and a longitude, nodes lie as on a map.
async function map(app, names, places) {
  const where = app.relations.find((each) => !each.hidden && each.columns.some((column) => /^lat/i.test(column.name)) && each.columns.some((column) => /^(lon|lng)/i.test(column.name)));
  if (!where || names.every((name) => places.has(name))) return;
  const at = (pattern) => where.columns.findIndex((column) => pattern.test(column.name));
  const lat = at(/^lat/i), lon = at(/^(lon|lng)/i), id = where.columns.findIndex((column, place) => place !== lat && place !== lon);
  const rows = (await rowsOf(where.name, { limit: 1000 })).rows.filter((row) => names.includes(String(row[id])));
  if (id < 0 || rows.length < names.length) return;
  const scale = 900 / Math.max(1e-6, Math.max(...rows.map((row) => row[lon])) - Math.min(...rows.map((row) => row[lon])));
  for (const row of rows) places.set(String(row[id]), { x: row[lon] * scale, y: -row[lat] * scale * 1.3 });
}

// `size`: the pixels that the drawing will have, for letters and nodes of the usual size.
export function draw(found, places, over, came, selected, onnode, size = [Math.min(1000, Math.max(240, innerWidth - 140)), 400]) {
  if (!found.shown.length) return h("p", { class: "none" }, "no edges");
  const xs = found.shown.map((name) => places.get(name).x), ys = found.shown.map((name) => places.get(name).y);
  const across = Math.max(200, Math.max(...xs) - Math.min(...xs)), down = Math.max(160, Math.max(...ys) - Math.min(...ys));
  const unit = Math.max(across / size[0], down / size[1]);
  const left = Math.min(...xs) - 60 * unit, top = Math.min(...ys) - 36 * unit, width = across + 120 * unit, height = down + 60 * unit;
  const on = new Set(over.flatMap(([one, other]) => [`${one}\u0000${other}`, `${other}\u0000${one}`]));
  const small = found.shown.length > 300;
  const edges = found.edges.map(([one, other, row]) => {
    const a = places.get(one), b = places.get(other);
    const kind = on.has(`${one}\u0000${other}`) ? "edge over" : came.has(keyOf(row)) ? "edge came" : "edge";
    return s("line", { class: kind, x1: a.x, y1: a.y, x2: b.x, y2: b.y }, s("title", {}, atom(found.relation, row)));
  });
  edges.sort((one, other) => one.classList.contains("over") - other.classList.contains("over"));
  const nodes = found.shown.map((name) => {
    const at = places.get(name);
    const node = s("g", { class: name === selected ? "node selected" : "node", tabindex: 0, role: "button", "aria-label": `around ${name}`, transform: `translate(${at.x} ${at.y})`, onclick: () => onnode(name) },
      s("circle", { r: (small ? 4 : 9) * unit }), small ? null : s("text", { y: -14 * unit, "text-anchor": "middle" }, name.length > 18 ? `${name.slice(0, 17)}…` : name), s("title", {}, name));
    node.style.fontSize = `${13 * unit}px`;
    node.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onnode(name); } });
    return node;
  });
  return s("svg", { class: "graph", viewBox: `${left} ${top} ${width} ${height}`, role: "group", "aria-label": `graph of ${found.relation}` }, edges, nodes);
}
