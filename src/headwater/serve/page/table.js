// Rows as a table: columns that can be sorted by, rows that can be chosen by mouse and keyboard.

import { h, atom, shown, keyOf } from "/page/dom.js";

const NUMBERS = new Set(["int", "float", "duration"]);

// `marks` maps keys of rows to "came" or "went"; `onrow(row)` makes rows buttons; `onsort(column)` makes heads buttons.
export function rowsTable({ name, columns, rows, marks = new Map(), onrow, sort = "", onsort, more }) {
  if (!columns.length) return h("p", {}, rows.length ? `${name} holds.` : `${name} does not hold.`);
  const heads = columns.map((column) => {
    const way = sort === column.name ? "ascending" : sort === `-${column.name}` ? "descending" : null;
    const arrow = way === "ascending" ? " ▲" : way === "descending" ? " ▼" : "";
    const text = `${column.name}${arrow}`;
    const head = onsort ? h("button", { type: "button", "aria-label": `sort by ${column.name}`, onclick: () => onsort(column.name) }, text) : text;
    return h("th", { scope: "col", "aria-sort": way, class: NUMBERS.has(column.type) ? "number" : "" }, head);
  });
  const lines = rows.map((row) => {
    const cells = row.map((value, at) =>
      h("td", { class: NUMBERS.has(columns[at].type) ? "number" : "" }, value === null ? h("span", { class: "none" }, "null") : shown(value)));
    if (more) cells.push(h("td", {}, more(row)));
    const line = h("tr", { class: marks.get(keyOf(row)) ?? "" }, cells);
    if (onrow) {
      line.tabIndex = 0;
      line.setAttribute("aria-label", `why ${atom(name, row)}`);
      line.addEventListener("click", () => onrow(row));
      line.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onrow(row); } });
    }
    return line;
  });
  if (more) heads.push(h("th", { scope: "col" }, ""));
  const body = lines.length ? lines : [h("tr", {}, h("td", { colspan: heads.length, class: "none" }, "no rows"))];
  return h("div", { class: "scroll" }, h("table", { "aria-label": name }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, body)));
}

// What came and went of a relation, in counts and rows.
export function changeTable(name, change, onrow) {
  const rows = [...change.deleted_rows, ...change.inserted_rows];
  const marks = new Map([...change.deleted_rows.map((row) => [keyOf(row), "went"]), ...change.inserted_rows.map((row) => [keyOf(row), "came"])]);
  const left = change.inserted + change.deleted - rows.length;
  return h("section", { "data-view": name },
    h("h2", {}, name, " ", h("span", { class: "came-text" }, `+${change.inserted}`), " ", h("span", { class: "went-text" }, `−${change.deleted}`)),
    rows.length ? rowsTable({ name, columns: change.columns, rows, marks, onrow }) : h("p", { class: "none" }, "nothing changes"),
    left > 0 ? h("p", { class: "quiet" }, `${left.toLocaleString("en")} more rows`) : null);
}
