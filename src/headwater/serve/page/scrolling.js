// A table as long as a relation: only the rows near those in sight are there, and more are fetched as one scrolls. All rows
// are equally high, so that a place in the scroll bar is a row. Where the rows would be higher than browsers allow, the bar
// is shortened: it then jumps by more than a row, while rows near those in sight still move one by one.

import { h } from "/page/dom.js";
import { rowsTable } from "/page/table.js";

const HIGH = 30; // pixels of a row, as in style.css
const MOST = 10_000_000; // pixels that every browser scrolls over
const FETCHED = 200;
const SPARE = 70; // rows fetched before those in sight

// `fetch(first, count)` gives {rows, columns, matching, ...} or null if the answer comes too late; `table` are the options of
// rowsTable for such an answer; `onsight(from, to, found)` is called with the rows in sight.
export function scrollingRows({ name, fetch, table, onsight }) {
  const body = h("div", {}), box = h("div", { class: "scroll rows", tabindex: 0, role: "group", "aria-label": `rows of ${name}` }, body);
  let found = null, first = 0, top = 0, waiting = null;
  let goal = null; // a jump that waits for its answer: to which row, and where the bar was

  const full = () => Math.min(MOST, found.matching * HIGH);
  const head = () => body.querySelector("thead")?.offsetHeight ?? 0;
  const holds = () => Math.max(1, Math.round((box.clientHeight - head()) / HIGH));
  const last = () => Math.max(0, found.matching - holds());
  // Whoever scrolls before a jump has its answer stays there. The bar tells it before the browser sends its event.
  const left = () => goal !== null && box.scrollTop !== goal.bar;

  // The first row in sight: beside the rows that are there it is counted from them, elsewhere from the place in the bar.
  function sight() {
    const at = box.scrollTop, high = found.rows.length * HIGH;
    if (at <= 0) return 0;
    if (at + box.clientHeight >= box.scrollHeight - 1) return last();
    if (at >= top && at < top + high) return Math.min(last(), first + Math.floor((at - top) / HIGH));
    return Math.min(last(), Math.round((at / full()) * found.matching));
  }

  function say() {
    const from = Math.min(sight(), Math.max(0, found.matching - 1));
    onsight(from, Math.min(found.matching, from + holds()), found);
  }

  // Draw what was fetched so that the row `seen` lies at the pixel `at` of the bar.
  function draw(seen, at) {
    const had = box.contains(document.activeElement) && document.activeElement !== box ? document.activeElement.getAttribute("aria-label") : null;
    const whole = full() === found.matching * HIGH;
    top = whole ? first * HIGH : Math.max(0, Math.min(at - (seen - first) * HIGH, full() - found.rows.length * HIGH));
    const made = rowsTable({ name, columns: found.columns, rows: found.rows, ...table(found) });
    const rows = made.querySelector("table");
    body.replaceChildren(rows ?? made);
    if (rows) {
      rows.setAttribute("aria-rowcount", found.matching + 1);
      rows.querySelectorAll("tbody tr").forEach((line, at) => line.setAttribute("aria-rowindex", first + at + 2));
      body.style.paddingTop = `${top}px`;
      body.style.height = `${Math.max(full(), HIGH) + head()}px`;
    }
    if (had) [...body.querySelectorAll("[aria-label]")].find((each) => each.getAttribute("aria-label") === had)?.focus({ preventScroll: true });
    say();
  }

  async function load(seen, jump = false) {
    const from = Math.max(0, seen - SPARE);
    const answer = await fetch(from, FETCHED);
    if (answer === null || (jump && (goal?.row !== seen || left()))) return;
    goal = null;
    found = answer;
    first = from;
    if (!found.rows.length && found.matching) return leap(last());
    const at = jump ? (seen / Math.max(1, found.matching)) * full() : box.scrollTop;
    draw(seen, at);
    if (jump) box.scrollTop = seen <= 0 ? 0 : seen >= last() ? body.offsetHeight : top + (seen - first) * HIGH;
  }

  function leap(row) {
    goal = { row, bar: box.scrollTop };
    return load(row, true);
  }

  function scrolled() {
    if (!found) return;
    const seen = sight(), end = first + found.rows.length;
    say();
    const away = left();
    if (away) goal = null;
    const short = away || (seen < first + 10 && first > 0) || (seen + holds() + 10 > end && end < found.matching);
    if (short) { clearTimeout(waiting); waiting = setTimeout(() => load(sight()), 40); }
  }
  box.addEventListener("scroll", scrolled, { passive: true });

  return {
    box,
    again: () => (goal === null || left() ? load(found ? sight() : 0) : leap(goal.row)), // the same place, as it is now
    from: leap,
    last: () => (found ? last() : 0),
    end: () => clearTimeout(waiting),
  };
}
