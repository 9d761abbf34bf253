// One panel: its frame, its description, what went wrong, and what it draws.
import { el, keepFocus, link, prose } from "./dom.js";
import { timeseries } from "./timeseries.js";
import { stat } from "./stat.js";
import { table } from "./table.js";
import { heatmap } from "./heatmap.js";
import { timeline } from "./timeline.js";
import { bar } from "./bar.js";
import { xy } from "./xy.js";

const painters = { timeseries, stat, gauge: stat, bargauge: stat, table, heatmap, "state-timeline": timeline, "status-history": timeline, barchart: bar, xychart: xy };

// openPanel makes the frame of a panel; show fills it with an answer. What a panel's fields say is told anew with
// every answer, since links hold the time: renew takes it.
export function openPanel(panel, page) {
  const body = el("div", { class: "body" });
  const warned = el("button", { class: "warned", type: "button", hidden: true, "aria-label": "Warnings" }, "!");
  const about = el("button", { class: "about", type: "button", "aria-label": "What this panel means", "aria-expanded": "false" }, "i");
  const head = el("div", { class: "head" }, el("h2", { title: panel.title }, panel.title), ...panel.links.map((l) => link(l.title, l.url)), warned, about);
  const node = el("section", { class: "panel", "data-panel": panel.id }, head, body);
  place(node, panel.place);
  let close = () => {};
  let answer = null;
  const toggle = notes(node, about, panel.place.X + panel.place.W / 2 > 12);
  about.addEventListener("click", () => toggle(() => description(panel, answer), about));
  warned.addEventListener("click", () => toggle(() => el("div", {}, ...answer.warnings.map((w) => el("p", {}, w))), warned));
  const show = (found) => keepFocus(body, () => {
    answer = found;
    close();
    body.replaceChildren();
    body.classList.remove("beside");
    warned.hidden = !found.warnings.length;
    close = fill(body, panel, found, page) ?? (() => {});
  });
  if (panel.type === "text") body.append(el("div", { class: "prose" }, prose(panel.options?.content)));
  else body.append(el("p", { class: "empty" }, "…"));
  const renew = (fieldConfig) => { panel.fieldConfig = fieldConfig; };
  return { node, renew, show: panel.type === "text" ? () => {} : show, redraw: () => answer && panel.type === "timeseries" && show(answer) };
}

// notes opens and closes what is told over a panel: one at a time on the whole page, closed by
// its button, by a click elsewhere or by Escape.
function notes(node, about, flip) {
  let note = null;
  const shut = () => { note?.remove(); note = null; about.setAttribute("aria-expanded", "false"); document.removeEventListener("pointerdown", outside, true); document.removeEventListener("keydown", escape); };
  const outside = (e) => { if (!note?.contains(e.target) && e.target !== note?.button) shut(); };
  const escape = (e) => { if (e.key === "Escape") shut(); };
  return (fill, button) => {
    const again = note?.button === button;
    shut();
    if (again) return;
    note = el("div", { class: flip ? "note flip" : "note" }, fill());
    note.button = button;
    button.setAttribute("aria-expanded", "true");
    node.append(note);
    document.addEventListener("pointerdown", outside, true);
    document.addEventListener("keydown", escape);
  };
}

export function place(node, p) {
  node.style.gridColumn = `${p.X + 1} / span ${p.W}`;
  node.style.gridRow = `${p.Y + 1} / span ${p.H}`;
  node.style.setProperty("--tall", p.H);
}

// unreachable says whether a problem is that nobody answers.
export function unreachable(problem) { return problem.includes("does not answer: "); }

function description(panel, answer) {
  const out = el("div", {}, prose(panel.description));
  for (const frame of answer?.frames ?? []) out.append(el("pre", {}, `${frame.refId}: ${frame.expr}`));
  return out;
}

function fill(body, panel, found, page) {
  if (found.problems.length && found.problems.every(unreachable)) {
    body.append(el("p", { class: "empty" }, "Prometheus does not answer.")); // the page says where and why
    return null;
  }
  body.append(...found.problems.map((p) => el("p", { class: "error" }, p)));
  const paint = painters[panel.type];
  if (!paint) {
    body.append(el("p", { class: "empty" }, `This preview does not draw panels of the type ${panel.type}; Grafana does.`));
    return null;
  }
  const close = paint(body, panel, found.frames, page);
  if (!close && !found.problems.length) body.append(el("p", { class: "empty" }, panel.fieldConfig?.defaults?.noValue || "No data"));
  return close;
}
