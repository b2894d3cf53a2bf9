// The program: relations by stratum as a graph, rules, findings; another text can be checked, not run.

import { counted, h, labelled, problem, s } from "/page/dom.js";
import { get, post } from "/page/server.js";

const WIDE = 150, HIGH = 34, GAP = 40, STEP = 84;

export async function program(main) {
  const out = h("div", { id: "described" });
  const text = h("textarea", { spellcheck: "false", "aria-describedby": "findings" });
  const findings = h("div", { id: "findings", "aria-live": "polite" });
  const check = async () => {
    try {
      const found = await post("/api/check", { text: text.value });
      show(found);
      if (found.valid) describe(out, found);
    } catch (error) {
      findings.replaceChildren(problem(error));
    }
  };
  const show = (found) => findings.replaceChildren(
    found.diagnostics.length ? h("ul", { class: "facts" }, found.diagnostics.map((each) => h("li", {}, finding(each, text)))) : h("p", { class: "came-text" }, "no findings"));
  main.append(out, h("h2", {}, "Text"), h("div", { class: "bar" }, h("button", { type: "button", onclick: check }, "Check"), h("span", { class: "quiet" }, "Checked, not run: the server goes on with its own program.")),
    findings, labelled("The program", text));
  try {
    const found = await get("/api/program");
    text.value = found.text;
    describe(out, found);
    show(found);
  } catch (error) {
    out.replaceChildren(problem(error));
  }
}

function finding(each, text) {
  const go = () => {
    const start = text.value.split("\n").slice(0, each.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + each.column - 1;
    text.focus();
    text.setSelectionRange(start, start + (each.length ?? 1));
  };
  return [
    h("span", { class: each.severity === "error" ? "went-text" : "quiet" }, `${each.severity}[${each.code}] `), each.message, " ",
    each.line ? h("button", { type: "button", class: "plain", onclick: go }, `line ${each.line}`) : "",
    each.note ? h("div", { class: "quiet" }, each.note) : "", each.hint ? h("div", { class: "quiet" }, `hint: ${each.hint}`) : ""];
}

function describe(out, found) {
  const rules = found.strata.map((stratum) => h("div", { class: "card" },
    h("strong", {}, `stratum ${stratum.number}: ${stratum.relations.join(", ")}`), stratum.recursive ? h("span", { class: "quiet" }, " (recursive)") : "",
    found.rules.filter((rule) => rule.stratum === stratum.number).map((rule) => h("pre", {}, rule.text))));
  out.replaceChildren(
    h("p", { class: "quiet" }, `${counted(found.rules.length, "rule")}, ${counted(found.strata.length, "stratum", "strata")}, ${counted(found.relations.length, "relation")}`),
    h("div", { class: "scroll" }, graph(found)), h("h2", {}, "Rules"), ...rules);
}

// Base relations on top, then stratum below stratum; an arrow leads to what is derived, a dashed one from a negated goal.
function graph(found) {
  const levels = new Map();
  for (const relation of found.relations) levels.set(relation.stratum, [...(levels.get(relation.stratum) ?? []), relation]);
  const place = new Map();
  const rows = [...levels.keys()].sort((one, other) => one - other);
  const width = Math.max(...[...levels.values()].map((level) => level.length)) * (WIDE + GAP) + GAP;
  rows.forEach((key, y) => levels.get(key).forEach((relation, x) => place.set(relation.name, [GAP + x * (WIDE + GAP), 10 + y * STEP])));
  const lines = new Map();
  for (const rule of found.rules) for (const goal of rule.body) if (place.has(goal.relation)) lines.set(`${goal.relation} ${rule.head} ${goal.negated}`, [goal.relation, rule.head, goal.negated]);
  const arrows = [...lines.values()].map(([from, to, negated]) => {
    const [x1, y1] = place.get(from), [x2, y2] = place.get(to);
    const path = from === to
      ? `M ${x1 + WIDE} ${y1 + 8} c 34 -8 34 26 2 18`
      : y2 > y1 ? `M ${x1 + WIDE / 2} ${y1 + HIGH} C ${x1 + WIDE / 2} ${y1 + HIGH + 26}, ${x2 + WIDE / 2} ${y2 - 26}, ${x2 + WIDE / 2} ${y2 - 3}`
        : `M ${x1} ${y1 + HIGH / 2} C ${x1 - 30} ${y1}, ${x2 - 30} ${y2 + HIGH}, ${x2 - 3} ${y2 + HIGH / 2}`;
    return s("path", { class: negated ? "arrow negated" : "arrow", d: path, "marker-end": "url(#tip)" });
  });
  const boxes = [...place].map(([name, [x, y]]) => s("g", {},
    s("rect", { class: found.relations.find((each) => each.name === name).output ? "box output" : "box", x, y, width: WIDE, height: HIGH, rx: 6 }),
    s("text", { x: x + WIDE / 2, y: y + 22, "text-anchor": "middle" }, name.length > 20 ? `${name.slice(0, 19)}…` : name, s("title", {}, name))));
  const height = rows.length * STEP - (STEP - HIGH) + 20;
  const drawn = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "relations and how they follow from each other", width, height },
    s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0 0 L8 4 L0 8 z", fill: "currentColor" }))),
    arrows, boxes);
  drawn.style.width = `${width}px`;
  return drawn;
}
