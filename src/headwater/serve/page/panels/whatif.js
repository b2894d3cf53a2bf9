// What if: facts struck out or added, and what each view would lose and gain. Nothing changes before it is applied.

import { atom, choice, counted, h, keyOf, labelled, problem } from "/page/dom.js";
import { listen, post } from "/page/server.js";
import { changeTable } from "/page/table.js";

// What is supposed outlives the panel: { way: "delete" | "insert", relation, row }, in the order in which it was said.
export const supposed = [];

export function suppose(way, relation, row) {
  const other = supposed.findIndex((each) => each.relation === relation && keyOf(each.row) === keyOf(row));
  if (other >= 0) supposed.splice(other, 1);
  supposed.push({ way, relation, row });
}

export function whatIf(main, app) {
  const list = h("ul", { class: "facts", id: "supposed" });
  const out = h("div", { id: "answer", "aria-live": "polite" });
  const undo = h("button", { type: "button", onclick: () => { supposed.pop(); refresh(); } }, "Undo");
  const clear = h("button", { type: "button", onclick: () => { supposed.length = 0; refresh(); } }, "Clear");
  const apply = h("button", { type: "button", class: "danger", hidden: !app.writable, onclick: () => confirm() }, "Apply ...");
  const dialog = h("dialog", { "aria-label": "Apply these changes" });
  let latest = 0;
  main.append(
    h("p", { class: "quiet" }, app.writable ? "Nothing is changed before you apply it." : "Nothing is changed: the server is read-only."),
    form(app, refresh), h("div", { class: "bar" }, undo, clear, apply), list, out, dialog);

  function changes() {
    const body = { insert: {}, delete: {} };
    for (const each of supposed) (body[each.way][each.relation] ??= []).push(each.row);
    return body;
  }

  async function refresh() {
    const asked = ++latest;
    undo.disabled = clear.disabled = apply.disabled = !supposed.length;
    list.replaceChildren(...supposed.map((each) => h("li", {}, each.way === "delete" ? h("span", { class: "went-text" }, "without ") : h("span", { class: "came-text" }, "with "), atom(each.relation, each.row))));
    if (!supposed.length) {
      out.replaceChildren(h("p", { class: "none" }, "Strike out a fact of a proof, or name one here."));
      return;
    }
    try {
      const found = await post("/api/what_if", changes());
      if (asked !== latest) return;
      out.replaceChildren(...Object.entries(found.views).map(([name, change]) => changeTable(name, change)));
    } catch (error) {
      if (asked === latest) out.replaceChildren(problem(error));
    }
  }

  function confirm() {
    const send = async () => {
      dialog.close();
      try {
        await post("/api/apply", { ...changes(), title: `from the page: ${counted(supposed.length, "change")}` });
        supposed.length = 0;
        refresh();
      } catch (error) {
        out.prepend(problem(error));
      }
    };
    dialog.replaceChildren(
      h("p", {}, `Apply ${counted(supposed.length, "change")} to the data, for everyone?`),
      h("div", { class: "bar" },
        h("button", { type: "button", class: "danger", onclick: send }, "Apply"),
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Cancel")));
    dialog.showModal();
  }

  refresh();
  return listen(refresh);
}

// A fact by its columns, each in a field of its own.
function form(app, done) {
  const bases = app.relations.filter((each) => !each.derived && !each.hidden);
  if (!bases.length) return h("p", { class: "none" }, "The program has no base relation.");
  let relation = bases[0], inputs = [];
  const fields = h("span", { class: "bar" });
  const show = (name) => {
    relation = bases.find((each) => each.name === name);
    inputs = relation.columns.map((column) => h("input", { type: "text", size: 12 }));
    fields.replaceChildren(...inputs.map((input, at) => labelled(`${relation.columns[at].name}: ${relation.columns[at].type}`, input)));
  };
  const said = h("p", { class: "error", role: "alert" });
  const add = (way) => {
    try {
      suppose(way, relation.name, inputs.map((input, at) => typed(input.value, relation.columns[at].type)));
      said.textContent = "";
      done();
    } catch (error) {
      said.textContent = error.message;
    }
  };
  show(relation.name);
  return h("form", { class: "bar", onsubmit: (event) => { event.preventDefault(); add("delete"); } },
    labelled("Fact of", choice(bases.map((each) => each.name), relation.name, show)), fields,
    h("button", {}, "Strike out"), h("button", { type: "button", onclick: () => add("insert") }, "Add"), said);
}

function typed(text, type) {
  if (type === "bool") return text.trim() === "true";
  if (!type.startsWith("list")) return text;
  const found = JSON.parse(text);
  if (!Array.isArray(found)) throw new Error(`${text} is no list; write ["a", "b"]`);
  return found;
}
