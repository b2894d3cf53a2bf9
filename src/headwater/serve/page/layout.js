// Where nodes of a graph lie: springs along edges, pushing between near nodes. Nodes that have a place start from it, so that
// a graph that changes a little moves a little. In a large graph pushes are felt within a cell and its neighbours only.

const FEW = 300; // of so few nodes each pushes every other one

// A place that depends on the name alone: the same graph is drawn the same way.
function start(name, count) {
  let hash = 2166136261;
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
  const angle = ((hash >>> 0) % 3600) / 3600 * 2 * Math.PI;
  const radius = 40 + ((hash >>> 12) % 1000) / 1000 * 30 * Math.sqrt(count);
  return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
}

export function place(names, edges, places) {
  let fresh = 0;
  for (const name of names) if (!places.has(name)) { places.set(name, start(name, names.length)); fresh += 1; }
  const steps = fresh === 0 ? 0 : fresh < names.length / 2 ? 60 : Math.max(60, Math.min(300, Math.round(120000 / Math.max(names.length, 1))));
  for (let step = 0; step < steps; step += 1) relax(names, edges, places, 1 - step / steps);
}

function relax(names, edges, places, heat) {
  const cells = new Map(), push = new Map(), reach = names.length <= FEW ? 1e9 : 140, strength = names.length <= FEW ? 2600 : 900;
  for (const name of names) {
    const at = places.get(name), cell = `${Math.floor(at.x / reach)} ${Math.floor(at.y / reach)}`;
    cells.set(cell, [...(cells.get(cell) ?? []), name]);
    push.set(name, { x: -at.x * 0.004, y: -at.y * 0.004 });
  }
  for (const name of names) {
    const at = places.get(name), sum = push.get(name);
    const cx = Math.floor(at.x / reach), cy = Math.floor(at.y / reach);
    for (let x = cx - 1; x <= cx + 1; x += 1) for (let y = cy - 1; y <= cy + 1; y += 1) for (const other of cells.get(`${x} ${y}`) ?? []) {
      if (other === name) continue;
      const to = places.get(other);
      const dx = at.x - to.x || (name < other ? 0.1 : -0.1), dy = at.y - to.y || (name < other ? 0.1 : -0.1);
      const far = Math.hypot(dx, dy) + 1;
      sum.x += (dx / far) * (strength / far);
      sum.y += (dy / far) * (strength / far);
    }
  }
  for (const [one, other] of edges) {
    if (one === other) continue;
    const from = places.get(one), to = places.get(other);
    const dx = to.x - from.x, dy = to.y - from.y, far = Math.hypot(dx, dy) + 0.1, pull = (far - 90) * 0.06;
    push.get(one).x += (dx / far) * pull; push.get(one).y += (dy / far) * pull;
    push.get(other).x -= (dx / far) * pull; push.get(other).y -= (dy / far) * pull;
  }
  for (const name of names) {
    const at = places.get(name), by = push.get(name), far = Math.hypot(by.x, by.y) + 0.01, most = 2 + 26 * heat;
    const part = Math.min(1, most / far);
    at.x += by.x * part;
    at.y += by.y * part;
  }
}
