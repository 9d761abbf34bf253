// Loads a dashboard as its answers come, a line of JSON at a time, and shows it.
import "./theme.js";
import { el } from "./dom.js";
import { openPanel, place, unreachable } from "./panel.js";
import { controls, links } from "./controls.js";

const grid = document.getElementById("grid");
const problems = document.getElementById("problems");
const form = document.getElementById("controls");
const state = { opened: new Set(), pause: 0, timer: 0, asking: null, panels: new Map(), load, setPause };
const page = { events: [], window: [0, 0] };

form.addEventListener("submit", (e) => e.preventDefault());

// complain says what is wrong with the page as a whole, once.
function complain(text) {
  if (![...problems.children].some((p) => text.endsWith(p.textContent))) problems.append(el("p", {}, text));
}

function setPause(seconds) {
  state.pause = seconds;
  clearInterval(state.timer);
  if (seconds > 0) state.timer = setInterval(() => { if (!state.asking && !document.hidden) load(); }, seconds * 1000);
}

function go(address) {
  history.pushState(null, "", address);
  load();
}

function question() {
  const parameters = new URLSearchParams(window.location.search);
  const phone = window.matchMedia("(max-width: 720px)").matches;
  parameters.set("width", Math.max(200, Math.min(8000, Math.round(grid.clientWidth))));
  parameters.set("columns", phone ? 1 : 24);
  for (const row of state.opened) parameters.append("open", row);
  return `/render/${encodeURIComponent(document.body.dataset.uid)}?${parameters}`;
}

function describe(d) {
  page.window = d.window;
  document.getElementById("title").textContent = d.title;
  problems.replaceChildren();
  for (const v of d.variables) {
    if (v.problem && (v.hidden || unreachable(v.problem))) complain(unreachable(v.problem) ? v.problem : `variable ${v.name}: ${v.problem}`);
    if (unreachable(v.problem)) v.problem = "";
  }
  controls(form, d, state, go);
  links(document.getElementById("links"), d.links);
  const shape = JSON.stringify([d.rows, d.panels.map((p) => ({ ...p, fieldConfig: null }))]);
  if (shape === state.shape) { // the same panels: they keep what they show until the answers come
    for (const p of d.panels) state.panels.get(p.id)?.renew(p.fieldConfig);
    return;
  }
  state.shape = shape;
  state.panels.clear();
  grid.replaceChildren();
  const of = (row) => d.panels.filter((p) => p.row === row).sort((a, b) => a.place.Y - b.place.Y || a.place.X - b.place.X);
  const above = of("");
  if (above.length) grid.append(part(above, 0));
  for (const row of d.rows) grid.append(...section(row, of(row.name)));
}

// part is a grid of panels that stand together, counted from a line on.
function part(panels, from) {
  const node = el("div", { class: "grid" });
  for (const panel of panels) {
    const opened = openPanel(panel, page);
    place(opened.node, { ...panel.place, Y: panel.place.Y - from });
    state.panels.set(panel.id, opened);
    node.append(opened.node);
  }
  return node;
}

// section is the title of a row with its panels. Those of a collapsed row are made, and asked for, when it is opened.
function section(row, panels) {
  const from = row.place.Y + row.place.H;
  if (!row.collapsed) return [el("h2", { class: "row" }, row.title), part(panels, from)];
  const button = el("button", { type: "button" }, row.title);
  const title = el("h2", { class: "row" }, button);
  let body = null;
  const show = () => {
    const open = state.opened.has(row.name);
    button.setAttribute("aria-expanded", String(open));
    body?.remove();
    body = open ? part(panels, from) : null;
    if (!open) panels.forEach((p) => state.panels.delete(p.id));
    return open ? [title, body] : [title];
  };
  button.addEventListener("click", () => {
    if (!state.opened.delete(row.name)) state.opened.add(row.name);
    title.after(...show().slice(1));
    if (body) load();
  });
  return show();
}

// leaveOpen offers another time where the address asks for one that there is not: nothing else is known yet.
function leaveOpen() {
  const asked = new URLSearchParams(window.location.search);
  controls(form, { variables: [], from: asked.get("from") ?? "", to: asked.get("to") ?? "" }, state, go);
  grid.replaceChildren();
}

function take(line) {
  const found = JSON.parse(line);
  if (found.kind === "dashboard") describe(found);
  if (found.kind === "panel") state.panels.get(found.id)?.show(found);
  if (found.kind === "events") {
    found.problems.forEach(complain);
    page.events = found.events;
    for (const opened of state.panels.values()) opened.redraw();
  }
}

async function load() {
  state.asking?.abort();
  const asking = state.asking = new AbortController();
  try {
    const response = await fetch(question(), { signal: asking.signal });
    if (!response.ok) throw new Error(await response.text());
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      lines.filter(Boolean).forEach(take);
    }
  } catch (e) {
    if (e.name === "AbortError") return;
    problems.replaceChildren();
    complain(e.message.trim() || "the server does not answer");
    if (!state.shape) leaveOpen();
    state.offered = ""; // what the form shows is not what the page shows
  }
  if (state.asking === asking) state.asking = null;
}

window.addEventListener("popstate", load);
load();
