// Running: the last transactions with their rows and seconds, rows set aside with reasons, memory, where the time goes.

import { counted, h, problem, s } from "/page/dom.js";
import { get, listen } from "/page/server.js";

const ms = (seconds) => `${(seconds * 1000).toLocaleString("en", { maximumFractionDigits: 2 })} ms`;
const mb = (bytes) => `${(bytes / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 2 })} MB`;

const estimate = (rows) => (rows === null ? "" : rows.toLocaleString("en", { maximumFractionDigits: rows < 10 ? 1 : 0 }));

export function running(main) {
  const out = h("div", { id: "answer" });
  main.append(out);
  let pending = null;
  const shownPlan = h("pre", {});
  const plan = h("details", { id: "plan" }, h("summary", {}, "The plan that runs now"), shownPlan);
  plan.addEventListener("toggle", async () => {
    if (plan.open) shownPlan.textContent = await get("/api/plan").then((found) => found.plan, (error) => error.message);
  });

  async function load() {
    try {
      const [log, profile, health] = await Promise.all([get("/api/transactions", { limit: 100 }), get("/api/profile"), get("/api/health")]);
      const aside = log.transactions.flatMap((each) => each.reasons.map((reason) => [each.number, reason]));
      out.replaceChildren(
        health.problem ? h("p", { class: "error", role: "alert" }, health.problem) : "",
        h("p", {}, `${counted(log.last, "transaction")}, ${counted(log.totals.given, "row")} given, ${counted(log.totals.set_aside, "row")} set aside, ${log.totals.late} late; ${ms(log.totals.seconds)} in all; ${mb(log.nbytes)} held.`),
        spark(log.transactions.toReversed()),
        h("h2", {}, "Transactions"), grid("transactions", ["number", "what", "given", "changed", "rounds", "shipped", "time", "memory"],
          log.transactions.map((each) => [each.number, each.title, each.given, Object.entries(each.views).map(([name, view]) => `${name} +${view.inserted} −${view.deleted}`).join(", ") || (each.whole ? "nothing" : "not kept"), each.rounds ?? "", each.shipped === null ? "" : mb(each.shipped), ms(each.seconds), mb(each.nbytes)]), [0, 2, 4, 5, 6, 7]),
        h("h2", {}, "Set aside"), aside.length ? grid("set aside", ["transaction", "reason"], aside.slice(0, 100), [0]) : h("p", { class: "none" }, "no rows"),
        h("h2", {}, "Where the time goes"), grid("profile", ["rule", "way", "runs", "read", "made", "expected", "kept", "seconds"],
          profile.rules.slice(0, 30).map((work) => [work.rule, work.way, work.runs, work.read, work.made ?? "", estimate(work.expected), work.kept, work.seconds.toFixed(4)]), [2, 3, 4, 5, 6, 7]),
        plan);
    } catch (error) {
      out.replaceChildren(problem(error));
    }
  }
  load();
  const end = listen(() => { pending ??= setTimeout(() => { pending = null; load(); }, 500); });
  return () => { end(); clearTimeout(pending); };
}

// Seconds per transaction, oldest first.
function spark(entries) {
  const most = Math.max(1e-6, ...entries.map((each) => each.seconds));
  const width = 600 / Math.max(entries.length, 20);
  return s("svg", { viewBox: "0 0 600 50", height: 50, role: "img", "aria-label": `seconds per transaction, at most ${ms(most)}`, preserveAspectRatio: "none" },
    entries.map((each, at) => s("rect", { class: "spark", x: at * width, y: 50 - (48 * each.seconds) / most, width: width * 0.8, height: (48 * each.seconds) / most })));
}

function grid(name, heads, lines, numbers) {
  const kind = (at) => ({ class: numbers.includes(at) ? "number" : "" });
  return h("div", { class: "scroll" }, h("table", { "aria-label": name },
    h("thead", {}, h("tr", {}, heads.map((head, at) => h("th", { scope: "col", ...kind(at) }, head)))),
    h("tbody", {}, lines.map((line) => h("tr", {}, line.map((cell, at) => h("td", kind(at), String(cell))))))));
}
