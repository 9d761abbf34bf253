// The line of controls: variables, time range, refresh. Every change is a new address.
import { el, keepFocus, link } from "./dom.js";

const ranges = ["5m", "15m", "30m", "1h", "3h", "6h", "12h", "24h", "2d", "7d", "30d", "90d"];
const pauses = [["0", "off"], ["5", "5 s"], ["10", "10 s"], ["30", "30 s"], ["60", "1 min"]];
const all = "$__all";

// address is where a change leads: the present address with other parameters.
export function address(changes) {
  const parameters = new URLSearchParams(window.location.search);
  for (const [name, values] of Object.entries(changes)) {
    parameters.delete(name);
    for (const value of [values].flat()) parameters.append(name, value);
  }
  return `${window.location.pathname}?${parameters}`;
}

function choice(v, go) {
  const select = el("select", { multiple: v.multi, size: v.multi ? Math.min(4, Math.max(2, v.options.length + (v.all ? 1 : 0))) : undefined, name: `var-${v.name}` });
  const options = [...(v.all ? [{ Text: "All", Value: all }] : []), ...v.options.map((o) => ({ Text: o, Value: o }))];
  for (const value of v.current) if (!options.some((o) => o.Value === value)) options.unshift({ Text: value || "(none)", Value: value });
  for (const o of options) select.append(el("option", { value: o.Value, selected: v.current.includes(o.Value) }, o.Text));
  select.addEventListener("change", () => {
    let values = [...select.selectedOptions].map((o) => o.value);
    if (values.length > 1) values = values.at(-1) === all || (!v.current.includes(all) && values[0] === all) ? [all] : values.filter((x) => x !== all);
    if (!values.length && v.all) values = [all];
    go(address({ [`var-${v.name}`]: values }));
  });
  return select;
}

function input(name, value, go, attributes = {}) {
  const node = el("input", { name, value, ...attributes });
  node.addEventListener("change", () => {
    node.defaultValue = node.value; // it is an address now, and no longer half a word
    go(address({ [name]: node.value.trim() }));
  });
  return node;
}

function variable(v, go) {
  if (v.kind === "datasource") return null; // there is one, and the notice names it
  const control = choice(v, go);
  return el("label", {}, v.label, control, v.problem ? el("span", { class: "problem" }, v.problem) : "");
}

// halfTyped is what somebody writes right now and has not yet asked for.
function halfTyped(form) {
  const node = document.activeElement;
  return form.contains(node) && node.tagName === "INPUT" && node.value !== node.defaultValue ? node : null;
}

// controls fills the form, if what it offers has changed: a list that is open and a word that is half typed
// outlive a refresh. go is called with the address that a change leads to.
export function controls(form, described, state, go) {
  const offered = JSON.stringify([described.variables, described.from, described.to]);
  if (offered === state.offered) return;
  state.offered = offered;
  const typed = halfTyped(form);
  keepFocus(form, () => form.replaceChildren(...fields(described, state, go)));
  if (typed && form.elements[typed.name]) form.elements[typed.name].value = typed.value;
}

function fields(described, state, go) {
  const known = ranges.find((r) => described.from === `now-${r}` && described.to === "now");
  const quick = el("select", { name: "range" }, el("option", { value: "", selected: !known }, "from … to …"), ...ranges.map((r) => el("option", { value: r, selected: r === known }, `last ${r}`)));
  quick.addEventListener("change", () => { if (quick.value) go(address({ from: `now-${quick.value}`, to: "now" })); });
  const pause = el("select", { name: "refresh" }, ...pauses.map(([s, text]) => el("option", { value: s, selected: Number(s) === state.pause }, text)));
  pause.addEventListener("change", () => state.setPause(Number(pause.value)));
  return [
    ...described.variables.filter((v) => !v.hidden).map((v) => variable(v, go)).filter(Boolean),
    el("label", {}, "Time range", quick),
    el("label", {}, "From", input("from", described.from, go, { class: "time" })),
    el("label", {}, "To", input("to", described.to, go, { class: "time" })),
    el("label", {}, "Refresh", pause),
    el("button", { type: "button", name: "reload", onclick: () => state.load() }, "Reload"),
  ];
}

// links fills the menu of other dashboards.
export function links(nav, found) {
  keepFocus(nav, () => nav.replaceChildren(...found.map((l) => link(l.title, l.url))));
}
