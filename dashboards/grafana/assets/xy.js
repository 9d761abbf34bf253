// Points of two columns against each other.
import { el } from "./dom.js";
import { configOf, colourOf, display } from "./field.js";
import { tick } from "./unit.js";
import { transformed } from "./transform.js";
import { openChart, axisStyle, tooltipStyle, tip } from "./chart.js";
import { legend } from "./legend.js";

const nameOf = (m) => (typeof m === "string" ? m : m?.matcher?.options);

// pairsOf are the columns that are drawn against each other: those that the panel names, else
// every column of numbers against the first.
function pairsOf(panel, tables) {
  const all = tables.flat();
  const find = (name) => all.find((c) => c.name === name);
  const named = (panel.options?.series ?? []).map((s) => ({ x: find(nameOf(s.x)), y: find(nameOf(s.y)), name: s.name?.fixed ?? s.name })).filter((p) => p.x && p.y);
  if (named.length) return named;
  return tables.flatMap((t) => {
    const numbers = t.filter((c) => c.type !== "string");
    return numbers.slice(1).map((y) => ({ x: numbers[0], y }));
  });
}

export function xy(body, panel, frames) {
  const { tables, unknown } = transformed(frames, panel.transformations);
  if (unknown.length) body.append(el("p", { class: "error" }, `This preview does not know the transformation ${unknown.join(", ")}; Grafana does.`));
  const pairs = pairsOf(panel, tables).filter((p) => p.y.values.some(Number.isFinite));
  if (!pairs.length) return null;
  const x = configOf(panel.fieldConfig, pairs[0].x);
  const fields = pairs.map((p, index) => {
    const config = configOf(panel.fieldConfig, p.y);
    return { ...p, index, config, values: p.y.values, name: typeof p.name === "string" ? p.name : config.displayName || p.y.name, colour: colourOf(config, index, p.y.values[0]) };
  });
  const hidden = new Set();
  const place = el("div", { class: "chart" });
  body.append(place);
  const opened = openChart(place, () => {
    const style = axisStyle();
    const axis = (config, name) => ({ type: "value", scale: true, name, nameLocation: "middle", nameGap: 26, ...style, axisLabel: { ...style.axisLabel, formatter: (v) => tick(v, config.unit) } });
    return {
      grid: { left: 16, right: 14, top: 12, bottom: 22, containLabel: true },
      xAxis: axis(x, x.custom.axisLabel || pairs[0].x.name), yAxis: { ...axis(fields[0].config, ""), nameGap: 50 },
      series: fields.filter((f) => !hidden.has(f.index)).map((f) => ({ type: "scatter", name: f.name, animation: false, symbolSize: f.config.custom.pointSize?.fixed ?? 8, itemStyle: { color: f.colour }, data: f.values.map((v, i) => [f.x.values[i], v]) })),
      tooltip: { trigger: "item", ...tooltipStyle(), formatter: ({ value, seriesName, color: colour }) => tip(display(x, value[0]).text, [{ colour, name: seriesName, value: display(fields[0].config, value[1]).text }]) },
    };
  });
  const closeLegend = legend(body, panel, fields, hidden, opened.draw);
  return () => { closeLegend(); opened.close(); };
}
