// Documents, and views over them, as trees that fold; those that have just come are marked.

import { choice, counted, h, labelled, problem, shown } from "/page/dom.js";
import { get, listen } from "/page/server.js";

const PAGE = 50;
const OPEN = 2; // levels that are unfolded at first

export function documents(main, app, [chosen]) {
  let first = 0, total = 0, latest = 0, pending = null, before = null;
  const place = h("p", { class: "quiet", id: "place" }), out = h("div", { id: "answer" }), bar = h("div", { class: "bar" });
  const turn = (text, to) => h("button", { type: "button", onclick: () => { first = Math.max(0, Math.min(to(), lastPage())); before = null; load(); } }, text);
  const lastPage = () => Math.max(0, Math.ceil(total / PAGE) - 1) * PAGE;
  main.append(bar, h("div", { class: "bar", role: "group", "aria-label": "Pages" },
    turn("First", () => 0), turn("Previous", () => first - PAGE), turn("Next", () => first + PAGE), turn("Last", lastPage), place), out);

  async function load() {
    const asked = ++latest;
    try {
      const { collections } = await get("/api/documents");
      const name = collections.some((each) => each.name === chosen) ? chosen : collections[0].name;
      const found = await get(`/api/documents/${encodeURIComponent(name)}`, { offset: first, limit: PAGE });
      if (asked !== latest) return;
      total = found.total;
      bar.replaceChildren(labelled("Documents", choice(collections.map((each) => [each.name, `${each.name} (${each.kind}, ${each.count.toLocaleString("en")})`]), name, (value) => app.go("documents", value))));
      place.textContent = total ? `${(first + 1).toLocaleString("en")} to ${(first + found.documents.length).toLocaleString("en")} of ${counted(total, "document")}` : "no documents";
      const texts = new Map(found.documents.map((each) => [String(each.id), JSON.stringify(each.document)]));
      out.replaceChildren(...found.documents.map((each) => {
        const came = before !== null && before.get(String(each.id)) !== texts.get(String(each.id));
        return h("section", { class: came ? "card came" : "card", "data-id": String(each.id) }, tree(String(each.id), each.document, 0));
      }));
      before = texts;
    } catch (error) {
      if (asked === latest) out.replaceChildren(problem(error));
    }
  }

  load();
  const end = listen(() => { pending ??= setTimeout(() => { pending = null; load(); }, 300); });
  return () => { end(); clearTimeout(pending); };
}

// A value under its label: objects and arrays fold.
function tree(label, value, depth) {
  if (value === null || typeof value !== "object") return h("div", {}, h("span", { class: "quiet" }, `${label}: `), shown(value));
  const members = Array.isArray(value) ? value.map((item, at) => [String(at), item]) : Object.entries(value);
  const about = Array.isArray(value) ? counted(members.length, "item") : counted(members.length, "member");
  const below = h("div", { class: "below" });
  const fold = h("details", { open: depth < OPEN }, h("summary", {}, label, " ", h("span", { class: "quiet" }, about)), below);
  const unfold = () => { if (!below.childElementCount) below.append(...members.map(([name, item]) => tree(name, item, depth + 1))); };
  if (depth < OPEN) unfold(); else fold.addEventListener("toggle", unfold, { once: true });
  return fold;
}
