// The server: questions with their answers, and changes as they happen. Every error is an Error with the server's message.

export async function get(path, given = {}) {
  const pairs = Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const question = new URLSearchParams(pairs).toString();
  return answer(await fetch(question ? `${path}?${question}` : path, { credentials: "same-origin" }));
}

export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  return answer(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), credentials: "same-origin" }));
}

export function rowsOf(relation, given = {}) {
  return get(`/api/relations/${encodeURIComponent(relation)}/rows`, given);
}

async function answer(response) {
  const found = await response.json();
  if (!response.ok) throw new Error(found.error?.message ?? `the server answered ${response.status}`);
  return found;
}

// Changes as they happen. The browser connects again by itself when the server goes and comes back.

const listeners = new Set();
export const state = { connected: false, transaction: 0, started: null, title: "" };

// Call `listener(event)` after every change; event.views[name] is null where the view must be loaded again.
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(event) {
  for (const listener of listeners) listener(event);
}

export function follow(onstatus) {
  let after = "";
  let source = null;
  const open = () => {
    source = new EventSource(`/api/changes${after === "" ? "" : `?after=${after}`}`);
    source.addEventListener("hello", (message) => {
      const said = JSON.parse(message.data);
      const again = state.started !== null && (state.started !== said.started || said.transaction < state.transaction);
      state.connected = true;
      state.started = said.started;
      state.transaction = said.transaction;
      onstatus();
      if (again) tell({ since: 0, until: said.transaction, titles: [], views: null });
    });
    source.addEventListener("changes", (message) => {
      const event = JSON.parse(message.data);
      state.transaction = after = event.until;
      state.title = event.titles.at(-1) ?? "";
      tell(event);
      onstatus();
    });
    source.onerror = () => {
      state.connected = false;
      onstatus();
      // A server that is gone refuses, and the browser then gives up: try again until it is back.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 1000);
    };
  };
  open();
}
