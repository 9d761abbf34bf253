// Bars: a group for every line of a table, a bar for every column of numbers.
import { el } from "./dom.js";
import { configOf, colourOf, display } from "./field.js";
import { tick } from "./unit.js";
import { transformed } from "./transform.js";
import { nice } from "./scale.js";
import { openChart, axisStyle, tooltipStyle, tip } from "./chart.js";
import { hiddenOf, legend } from "./legend.js";

// tallest is the tallest bar, or stack of bars.
function tallest(fields, stacked) {
  const sizes = fields.map((f) => f.values.map((v) => (Number.isFinite(v) ? Math.abs(v) : 0)));
  if (!stacked) return sizes.flat().reduce((a, b) => Math.max(a, b), 0);
  return (sizes[0] ?? []).reduce((most, _, i) => Math.max(most, sizes.reduce((sum, s) => sum + s[i], 0)), 0);
}

export function bar(body, panel, frames) {
  const { tables, unknown } = transformed(frames, panel.transformations);
  if (unknown.length) body.append(el("p", { class: "error" }, `This preview does not know the transformation ${unknown.join(", ")}; Grafana does.`));
  const found = tables.find((t) => t.length && t[0].values.length);
  const key = found?.find((c) => c.name === panel.options?.xField) ?? found?.find((c) => c.type === "string");
  const fields = (found ?? []).filter((c) => c.type === "number" && c !== key).map((c) => ({ ...c, config: configOf(panel.fieldConfig, c) })).filter((c) => !c.config.custom.hideFrom?.viz);
  if (!key || !fields.length) return null;
  fields.forEach((f, i) => { f.index = i; f.name = f.config.displayName || f.name; f.colour = colourOf(f.config, i, f.values[0]); });
  const across = panel.options?.orientation === "horizontal";
  const stacked = ["normal", "percent"].includes(panel.options?.stacking);
  const groups = key.values.map((v) => display(configOf(panel.fieldConfig, key), v).text || "(none)");
  const hidden = hiddenOf(panel, fields);
  const place = el("div", { class: "chart" });
  body.append(place);
  body.classList.toggle("beside", panel.options?.legend?.placement === "right");
  const opened = openChart(place, () => {
    const style = axisStyle();
    const unit = fields[0].config.unit;
    const shown = fields.filter((f) => !hidden.has(f.index));
    const below = shown.some((f) => f.values.some((v) => v < 0));
    const height = tallest(shown, stacked);
    const interval = below ? undefined : nice(height, unit);
    const top = interval && Math.ceil((height * 1.02) / interval) * interval;
    const words = { type: "category", data: groups, ...style, splitLine: { show: false }, axisLabel: { ...style.axisLabel, width: 130, overflow: "truncate" }, inverse: across };
    const values = { type: "value", ...style, min: fields[0].config.min ?? undefined, max: fields[0].config.max ?? top, interval, axisLabel: { ...style.axisLabel, formatter: (v) => tick(v, unit) } };
    return {
      grid: { left: 6, right: 32, top: 10, bottom: 2, containLabel: true }, // half of the last label is beyond its tick
      xAxis: across ? values : words, yAxis: across ? words : values,
      series: shown.map((f) => ({ type: "bar", name: f.name, animation: false, stack: stacked ? "all" : undefined, barMaxWidth: 48, itemStyle: { color: f.colour, opacity: (f.config.custom.fillOpacity ?? 80) / 100 }, data: f.values.map((v) => (Number.isFinite(v) ? v : null)) })),
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, ...tooltipStyle(), formatter: (params) => tip(groups[params[0].dataIndex], fields.filter((f) => !hidden.has(f.index)).map((f) => ({ name: f.name, colour: f.colour, value: display(f.config, f.values[params[0].dataIndex]).text }))) },
    };
  });
  const closeLegend = legend(body, panel, fields, hidden, opened.draw);
  return () => { closeLegend(); opened.close(); };
}
