// The page: which panel is shown, which row is selected, whether the server is there. Each panel is a function that fills
// `main` and may give back what ends it.

import { blast } from "/page/panels/blast.js";
import { h, problem } from "/page/dom.js";
import { documents } from "/page/panels/documents.js";
import { graph } from "/page/panels/graph.js";
import { playback } from "/page/panels/playback.js";
import { program } from "/page/panels/program.js";
import { running } from "/page/panels/running.js";
import { follow, get, listen, state } from "/page/server.js";
import { time } from "/page/panels/time.js";
import { views } from "/page/panels/views.js";
import { suppose, whatIf } from "/page/panels/whatif.js";
import { why, whyNot } from "/page/panels/why.js";

const PANELS = [
  ["views", "Views", views], ["graph", "Graph", graph], ["whynot", "Why not", whyNot], ["whatif", "What if", whatIf],
  ["blast", "Blast radius", blast], ["time", "Time", time], ["running", "Running", running], ["program", "Program", program],
  ["simulation", "Simulation", playback],
];
const DOCUMENTS = ["documents", "Documents", documents]; // first, where documents are served
const main = document.getElementById("main"), aside = document.getElementById("row"), status = document.getElementById("status");
let end = null;

const app = {
  relations: [],
  writable: false,
  over: null,
  shown: () => app.relations.filter((each) => !each.hidden).map((each) => each.name),
  choices: () => app.relations.filter((each) => !each.hidden).map((each) => [each.name, `${each.name} (${each.kind})`]),
  firstView: () => (app.relations.find((each) => each.kind === "view" && !each.hidden) ?? app.relations.find((each) => !each.hidden))?.name ?? "",
  go: (...parts) => { location.hash = `#/${parts.map(encodeURIComponent).join("/")}`; },
  choose: (relation, row, gone) => {
    if (gone) { aside.hidden = false; aside.replaceChildren(h("p", {}, "This row is gone; ask under Why not.")); } else why(aside, app, relation, row);
  },
  strike: (fact) => { suppose("delete", fact.relation, fact.row); if (location.hash === "#/whatif") show(); else app.go("whatif"); },
  drawOver: (relation, row) => { app.over = { relation, row }; app.go("graph"); },
};

function show() {
  const [panel, ...parts] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const [name, title, fill] = PANELS.find(([each]) => each === panel) ?? PANELS[0];
  if (end) end();
  end = null;
  document.title = `${title} - Headwater`;
  document.getElementById("tabs").replaceChildren(...PANELS.map(([each, text]) => h("a", { href: `#/${each}`, "aria-current": each === name ? "page" : null }, text)));
  main.replaceChildren();
  const found = fill(main, app, parts);
  if (typeof found === "function") end = found;
}

function say() {
  status.className = state.connected ? "" : "lost";
  const title = state.title ? `: ${state.title}` : "";
  status.textContent = state.connected ? `live, transaction ${state.transaction}${title}` : "the server does not answer; trying again";
}

function dress(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

async function begin() {
  const [health, found] = await Promise.all([get("/api/health"), get("/api/relations")]);
  document.getElementById("name").textContent = health.name;
  app.writable = health.writable;
  if (health.documents && !PANELS.includes(DOCUMENTS)) PANELS.unshift(DOCUMENTS);
  app.relations = found.relations;
}

dress(localStorage.getItem("headwater-theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("headwater-theme", theme);
  dress(theme);
});
addEventListener("hashchange", show);
begin().then(() => {
  show();
  follow(say);
  // Columns may have types only once rows are there, and a server that came back may serve something else.
  listen((event) => { if (event.views === null || app.relations.some((each) => !each.rows)) begin().catch(() => {}); });
}).catch((error) => main.append(problem(error)));
