// Tables of present values. The way that somebody has sorted one outlives a refresh.
import { el, keepFocus, link } from "./dom.js";
import { configOf, display } from "./field.js";
import { onTop } from "./colour.js";
import { addressOf } from "./datalink.js";
import { time } from "./unit.js";
import { transformed, sortRows } from "./transform.js";

function paint(cell, kind, colour) {
  if (!colour || colour === "transparent") return;
  if (kind === "color-text") cell.style.color = colour;
  if (kind === "color-background" || kind === "gauge") Object.assign(cell.style, { background: colour, color: onTop(colour) });
}

function rowOf(columns, i) {
  const row = columns.map((c) => {
    const value = c.values[i];
    const shown = c.type === "time" && !c.config.own.has("unit") ? { text: value === null ? "" : time(value) } : display(c.config, value);
    return { name: c.name, value, text: shown.text, colour: shown.colour, labels: c.labels };
  });
  return el("tr", {}, ...row.map((cell, j) => {
    const c = columns[j];
    const first = c.config.links?.[0];
    const td = el("td", { class: c.type === "number" ? "num" : "", title: cell.text }, first && cell.text !== "" ? link(cell.text, addressOf(first.url, cell, row)) : cell.text);
    paint(td, c.config.custom.cellOptions?.type ?? c.config.custom.displayMode, cell.colour);
    if (c.config.custom.width) td.style.maxWidth = td.style.minWidth = `${c.config.custom.width}px`;
    return td;
  }));
}

const mostRows = 1000;

export function table(body, panel, frames) {
  const { tables, unknown } = transformed(frames, panel.transformations);
  const place = el("div", { class: "scroll" });
  let some = false;
  for (const found of tables) {
    if (!found.length || !found[0].values.length) continue;
    some = true;
    place.append(...one(found, panel));
  }
  if (unknown.length) body.append(el("p", { class: "error" }, `This preview does not know the transformation ${unknown.join(", ")}; Grafana does.`));
  if (!some) return null;
  body.append(place);
  return () => {};
}

// headOf is the title of a column, by which a click, Enter or the space bar sorts.
function headOf(c, sort, by) {
  const chosen = sort?.name === c.name;
  const press = () => by({ name: c.name, desc: chosen && !sort.desc });
  const key = (e) => {
    if (e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    press();
  };
  return el("th", { tabindex: 0, "aria-sort": chosen ? (sort.desc ? "descending" : "ascending") : undefined, onclick: press, onkeydown: key }, (c.config.displayName || c.name) + (chosen ? (sort.desc ? " ▾" : " ▴") : ""));
}

function one(found, panel) {
  let columns = found.map((c) => ({ ...c, config: configOf(panel.fieldConfig, c) })).filter((c) => !c.config.custom.hidden && !c.config.custom.hideFrom?.viz);
  const own = panel.options?.sortBy?.[0];
  let sort = panel.sorted ?? (own && { name: own.displayName, desc: own.desc });
  const head = el("tr", {});
  const lines = el("tbody", {});
  const note = el("p", { class: "quiet" });
  const draw = () => {
    if (sort && columns.some((c) => c.name === sort.name)) columns = sortRows(columns, sort.name, sort.desc);
    const by = (chosen) => { sort = panel.sorted = chosen; draw(); };
    keepFocus(head, () => head.replaceChildren(...columns.map((c) => headOf(c, sort, by))));
    const count = columns[0]?.values.length ?? 0;
    lines.replaceChildren(...Array.from({ length: Math.min(count, mostRows) }, (_, i) => rowOf(columns, i)));
    note.textContent = count > mostRows ? `${count - mostRows} more lines are not shown.` : "";
  };
  draw();
  return [el("table", { class: panel.fieldConfig?.defaults?.custom?.wrapText ? "data wrapped" : "data" }, el("thead", {}, panel.options?.showHeader === false ? "" : head), lines), note];
}
