// Simulation: a run that `headwater simulate --playback FILE` wrote, played back. The file is read here and sent nowhere.

import { choice, counted, h, keyOf, labelled, problem, s } from "/page/dom.js";
import { place } from "/page/layout.js";
import { rowsTable } from "/page/table.js";

const STEPS = 1000, DOTS = 400, ROWS = 200;
let run = null; // outlives the panel

export function playback(main) {
  let time = 0, playing = null, seconds = 20, node = null, view = null;
  const file = h("input", { type: "file", accept: ".json,application/json", onchange: () => open(file.files[0]) });
  const slider = h("input", { type: "range", min: 0, max: STEPS, value: 0, step: 1, oninput: () => { stop(); at(Number(slider.value) / STEPS * run.until); } });
  const button = h("button", { type: "button", onclick: () => (playing === null ? play() : stop()) }, "Play");
  const says = h("p", { id: "moment", "aria-live": "off" }), stage = h("div", {}), out = h("div", { id: "answer" });
  const bar = h("div", { class: "bar" }, labelled("Run", file));
  main.append(bar, says, stage, out);
  if (run) begin(); else says.textContent = "Choose a file that headwater simulate --playback has written.";

  async function open(chosen) {
    stop();
    if (!chosen) return;
    try {
      run = prepared(JSON.parse(await chosen.text()));
      begin();
    } catch (error) {
      run = null;
      stage.replaceChildren();
      out.replaceChildren(problem(error instanceof SyntaxError ? new Error(`${chosen.name} is not JSON`) : error));
    }
  }

  function begin() {
    view = Object.keys(run.views)[0] ?? null;
    node = null;
    bar.replaceChildren(labelled("Run", file), button, labelled("Time", slider, "wide"),
      labelled("Whole run in", choice([["5", "5 s"], ["20", "20 s"], ["60", "1 minute"], ["300", "5 minutes"]], String(seconds), (value) => { seconds = Number(value); })),
      labelled("View", choice(Object.keys(run.views), view, (value) => { view = value; at(time); })));
    at(0);
  }

  function play() {
    if (time >= run.until) time = 0;
    let last = performance.now();
    const step = (now) => {
      const next = time + (now - last) / 1000 / seconds * run.until;
      last = now;
      at(Math.min(next, run.until));
      if (next < run.until) playing = requestAnimationFrame(step); else stop();
    };
    playing = requestAnimationFrame(step);
    button.textContent = "Pause";
  }

  function stop() {
    if (playing !== null) cancelAnimationFrame(playing);
    playing = null;
    button.textContent = "Play";
  }

  function at(moment) {
    time = moment;
    slider.value = Math.round(run.until ? time / run.until * STEPS : STEPS);
    const flying = underWay(run, time), rows = view === null ? [] : rowsAt(run, view, time);
    says.textContent = `${time.toFixed(3)} s of ${run.until.toFixed(3)} s: ${counted(flying.length, "message")} under way, ${view} has ${counted(rows.length, "row")}`;
    slider.setAttribute("aria-valuetext", says.textContent);
    stage.replaceChildren(draw(run, time, flying, node, (chosen) => { node = chosen === node ? null : chosen; at(time); }));
    const mine = node === null ? rows : rows.filter((row) => row[0] === run.nodes[node].name);
    const columns = (run.views[view] ?? []).map((name) => ({ name, type: "" }));
    out.replaceChildren(h("h2", {}, `${view}${node === null ? "" : ` at ${run.nodes[node].name}`}: ${counted(mine.length, "row")}`),
      rowsTable({ name: view, columns, rows: mine.slice(0, ROWS), marks: new Map() }));
  }
  return stop;
}

function prepared(found) {
  if (found?.format !== "headwater-playback" || found.version !== 1) throw new Error("this is no run of headwater simulate --playback, or one of another version");
  const names = found.nodes.map((each, number) => String(number));
  const places = new Map(), mapped = found.nodes.every((each) => each.latitude !== undefined);
  if (mapped) {
    const longitudes = found.nodes.map((each) => each.longitude), scale = 900 / Math.max(1e-6, Math.max(...longitudes) - Math.min(...longitudes));
    found.nodes.forEach((each, number) => places.set(String(number), { x: each.longitude * scale, y: -each.latitude * scale * 1.3 }));
  } else place(names, found.links.map((link) => [String(link.src), String(link.dst)]), places);
  const longest = found.messages.reduce((most, [sent, arrived]) => Math.max(most, (arrived ?? sent) - sent), 0);
  return { ...found, places, longest, read: null };
}

// The rows of a view at a time: changes are taken in order, and from the start again where time goes back.
export function rowsAt(run, view, time) {
  if (run.read === null || run.read.view !== view || run.read.time > time) run.read = { view, next: 0, time: 0, rows: new Map() };
  const read = run.read;
  for (; read.next < run.changes.length && run.changes[read.next][0] <= time; read.next += 1) {
    const [, sign, name, row] = run.changes[read.next];
    if (name !== view) continue;
    if (sign > 0) read.rows.set(keyOf(row), row); else read.rows.delete(keyOf(row));
  }
  read.time = time;
  return [...read.rows.values()];
}

export function underWay(run, time) {
  return run.messages.filter(([sent, arrived]) => sent <= time && arrived !== null && time < arrived && sent >= time - run.longest);
}

// The links that are down at a time, and the nodes.
export function downAt(run, time) {
  const links = new Set(), nodes = new Set();
  for (const event of run.events) {
    if (event.time > time) break;
    for (const pair of event.cut) links.add(keyOf(pair));
    for (const pair of event.mended) links.delete(keyOf(pair));
    for (const each of event.fails) nodes.add(each);
    for (const each of event.returns) nodes.delete(each);
  }
  return { links, nodes };
}

function draw(run, time, flying, chosen, onnode) {
  const spot = (number) => run.places.get(String(number)), down = downAt(run, time);
  const spots = run.nodes.map((each, number) => spot(number)), xs = spots.map((each) => each.x), ys = spots.map((each) => each.y);
  const across = Math.max(200, Math.max(...xs) - Math.min(...xs)), tall = Math.max(160, Math.max(...ys) - Math.min(...ys));
  const unit = Math.max(across / Math.min(1000, Math.max(240, innerWidth - 140)), tall / 400);
  const links = run.links.map((link) => s("line", { class: down.links.has(keyOf([link.src, link.dst])) ? "edge down" : "edge",
    x1: spot(link.src).x, y1: spot(link.src).y, x2: spot(link.dst).x, y2: spot(link.dst).y }, s("title", {}, `${link.latency_ms} ms, ${link.mbps} Mbps`)));
  const dots = flying.slice(0, DOTS).map(([sent, arrived, src, dst, bytes, rows]) => {
    const part = (time - sent) / (arrived - sent), a = spot(src), b = spot(dst);
    return s("circle", { class: "message", r: 5 * unit, cx: a.x + (b.x - a.x) * part, cy: a.y + (b.y - a.y) * part }, s("title", {}, `${bytes} bytes, ${counted(rows, "row")}`));
  });
  const nodes = run.nodes.map((each, number) => {
    const node = s("g", { class: number === chosen ? "node selected" : down.nodes.has(number) ? "node down" : "node", tabindex: 0, role: "button", "aria-label": `rows at ${each.name}`, transform: `translate(${spot(number).x} ${spot(number).y})`, onclick: () => onnode(number) },
      s("circle", { r: (run.nodes.length > 60 ? 4 : 9) * unit }), run.nodes.length > 60 ? null : s("text", { y: -14 * unit, "text-anchor": "middle" }, String(each.name)), s("title", {}, String(each.name)));
    node.style.fontSize = `${13 * unit}px`;
    node.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onnode(number); } });
    return node;
  });
  return s("svg", { class: "graph", viewBox: `${Math.min(...xs) - 60 * unit} ${Math.min(...ys) - 36 * unit} ${across + 120 * unit} ${tall + 60 * unit}`, role: "group", "aria-label": "the network" }, links, nodes, dots);
}
