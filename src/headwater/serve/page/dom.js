// Elements, made so that no value can become markup: texts are always text nodes.

// h("button", {type: "button", onclick: f}, "text", child, ...): an element; attributes that are false or null are left out.
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// The same for drawings.
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// A label around an input, a select or a slider.
export function labelled(text, input, kind = "") {
  return h("label", { class: kind }, text, input);
}

export function choice(names, chosen, onchange) {
  const select = h("select", { onchange: () => onchange(select.value) });
  for (const name of names) {
    const [value, text] = Array.isArray(name) ? name : [name, name];
    select.append(h("option", { value, selected: value === chosen }, text));
  }
  return select;
}

// A value as people read it.
export function shown(value) {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  return String(value);
}

export function atom(relation, row) {
  return `${relation}(${row.map(shown).join(", ")})`;
}

// Equal rows have equal keys.
export const keyOf = (row) => JSON.stringify(row);

export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function problem(error) {
  return h("p", { class: "error", role: "alert" }, error.message ?? String(error));
}
