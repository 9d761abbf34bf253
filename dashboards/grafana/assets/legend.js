// The legend of a chart: a table of names and calculations, in which a click hides a series.
import { el, keepFocus } from "./dom.js";
import { display } from "./field.js";
import { reduce, titles } from "./reduce.js";
import { swatch } from "./chart.js";

// hiddenOf are the series that somebody has hidden, which outlives a refresh: a set of indices.
export function hiddenOf(panel, fields) {
  return new Set(fields.filter((f) => panel.off?.has(f.name)).map((f) => f.index));
}

export function legend(body, panel, fields, hidden, redraw) {
  const options = panel.options?.legend ?? {};
  if (options.showLegend === false || options.displayMode === "hidden") return () => {};
  const calcs = options.calcs ?? [];
  const table = el("table", {});
  const fill = () => {
    table.replaceChildren();
    if (calcs.length) table.append(el("tr", {}, el("th", {}, "Name"), ...calcs.map((c) => el("th", {}, titles[c] ?? c))));
    for (const f of fields) {
      if (f.config.custom.hideFrom?.legend) continue;
      const toggle = () => {
        hidden.has(f.index) ? hidden.delete(f.index) : hidden.add(f.index);
        panel.off = new Set(fields.filter((g) => hidden.has(g.index)).map((g) => g.name));
        keepFocus(table, fill);
        redraw();
      };
      table.append(el("tr", { role: "button", tabindex: 0, class: hidden.has(f.index) ? "off" : "", onclick: toggle, "aria-pressed": String(!hidden.has(f.index)), onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); toggle(); } } },
        el("td", {}, swatch(f.colour, f.config.custom.lineStyle?.fill === "dash"), f.name),
        ...calcs.map((c) => el("td", {}, display(f.config, reduce(f.values, c)).text))));
    }
  };
  fill();
  body.append(el("div", { class: "legend" }, table));
  window.addEventListener("themechange", fill);
  return () => window.removeEventListener("themechange", fill);
}
