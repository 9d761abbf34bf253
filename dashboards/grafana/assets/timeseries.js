// Lines, areas, bars and points over time.
import { el } from "./dom.js";
import { configOf, colourOf, display } from "./field.js";
import { tick, time } from "./unit.js";
import { named } from "./colour.js";
import { openChart, axisStyle, timeAxis, tooltipStyle, tip } from "./chart.js";
import { nice, scaleOf } from "./scale.js";
import { hiddenOf, legend } from "./legend.js";

// gridOf are the times of a frame, every step from the first to the last, so that what is
// missing is a gap.
function gridOf(frame) {
  let [first, last] = [Infinity, -Infinity];
  for (const s of frame.series) {
    if (!s.points?.length) continue;
    first = Math.min(first, s.points[0][0]);
    last = Math.max(last, s.points.at(-1)[0]);
  }
  const grid = [];
  for (let t = first; t <= last && grid.length <= 11000; t += frame.step || 1) grid.push(t);
  return grid;
}

// fieldsOf are the series of a panel with their settings and values.
export function fieldsOf(panel, frames) {
  const fields = [];
  for (const frame of frames) {
    const grid = frame.instant ? null : gridOf(frame);
    for (const s of frame.series) {
      const points = new Map((s.points ?? []).map(([t, v]) => [t, Number(v)]));
      const times = grid ?? [...points.keys()];
      const config = configOf(panel.fieldConfig, { name: s.name, refId: frame.refId, type: "number" });
      const sign = config.custom.transform === "negative-Y" ? -1 : 1;
      const values = times.map((t) => (points.has(t) && Number.isFinite(points.get(t)) ? sign * points.get(t) : null));
      fields.push({ name: config.displayName || s.name, labels: s.labels, refId: frame.refId, step: frame.step, config, times, values });
    }
  }
  fields.forEach((f, i) => { f.colour = colourOf(f.config, i, f.values.findLast((v) => v !== null)); f.index = i; });
  return fields;
}

function dashOf(style) {
  if (style?.fill === "dash") return style.dash ?? [10, 10];
  return style?.fill === "dot" ? [2, 4] : "solid";
}

// shape is one series for the chart library.
function shape(field, scale, axis, alone) {
  const c = field.config.custom;
  const stacking = c.stacking ?? { mode: "none" };
  const stacked = stacking.mode === "normal" || stacking.mode === "percent";
  const opacity = (c.fillOpacity ?? 0) / 100;
  const draw = c.drawStyle ?? "line";
  return {
    name: field.name,
    type: draw === "bars" ? "bar" : draw === "points" ? "scatter" : "line",
    yAxisIndex: axis,
    // A gap in a stack is nothing to put on top of: the library would leave out all that lie above it.
    data: field.times.map((t, i) => [t, scale.to(stacked ? field.values[i] ?? 0 : field.values[i])]),
    stack: stacked ? `stack-${stacking.group ?? "A"}` : undefined,
    stackStrategy: "all",
    step: { stepAfter: "end", stepBefore: "start" }[c.lineInterpolation],
    smooth: c.lineInterpolation === "smooth" ? 0.3 : false,
    connectNulls: c.spanNulls === true,
    showSymbol: draw === "points" || c.showPoints === "always" || alone,
    symbol: "circle",
    symbolSize: c.pointSize ?? 5,
    barMaxWidth: 12,
    itemStyle: { color: field.colour },
    lineStyle: { color: field.colour, width: c.lineWidth ?? 1, type: dashOf(c.lineStyle), opacity: (c.lineWidth ?? 1) > 0 ? 1 : 0 },
    areaStyle: opacity > 0 && draw === "line" ? { color: field.colour, opacity } : undefined,
    emphasis: { disabled: true },
    animation: false,
    sampling: field.values.length > 3000 ? "lttb" : undefined,
  };
}

// limits are the thresholds that are drawn as lines or areas.
function limits(panel, scale) {
  const config = panel.fieldConfig?.defaults ?? {};
  const mode = config.custom?.thresholdsStyle?.mode ?? "off";
  const steps = (config.thresholds?.steps ?? []).filter((s) => typeof s.value === "number");
  if (mode === "off" || !steps.length) return {};
  const line = { type: mode.startsWith("dashed") ? [8, 6] : "solid", width: 1 };
  const out = {};
  if (mode !== "area") out.markLine = { silent: true, symbol: "none", label: { show: false }, animation: false, data: steps.map((s) => ({ yAxis: scale.to(s.value), lineStyle: { ...line, color: named(s.color) } })) };
  return out;
}

// marks draws the annotations, as areas with a line at each end.
function marks(events, window_) {
  const shown = events.filter((e) => e.to >= window_[0] && e.from <= window_[1]).slice(0, 200);
  return {
    name: " events", type: "line", data: [], silent: true, animation: false, tooltip: { show: false },
    markArea: { silent: true, animation: false, data: shown.map((e) => [{ xAxis: Math.max(e.from, window_[0]), itemStyle: { color: named(e.color), opacity: 0.08 } }, { xAxis: Math.min(e.to, window_[1]) }]) },
    markLine: { silent: true, symbol: ["none", shown.length > 6 ? "none" : "triangle"], symbolSize: 6, label: { show: false }, animation: false, data: shown.flatMap((e) => [e.from, e.to]).filter((t) => t >= window_[0] && t <= window_[1]).map((t) => ({ xAxis: t, lineStyle: { color: markColour(shown, t), type: [3, 3], width: 1, opacity: shown.length > 6 ? 0.35 : 0.7 } })) },
  };
}

function markColour(events, t) { return named(events.find((e) => e.from === t || e.to === t)?.color); }

// axesOf are the vertical axes: one on each side where a unit or an override asks for it.
function axesOf(fields) {
  const axes = [];
  for (const f of fields) {
    const right = f.config.custom.axisPlacement === "right";
    const key = `${f.config.unit ?? ""}|${right}`;
    let i = axes.findIndex((a) => a.key === key);
    if (i < 0) { i = axes.length; axes.push({ key, right: right || axes.some((a) => !a.right), config: f.config, scale: scaleOf(f.config.custom.scaleDistribution) }); }
    f.axis = i;
  }
  return axes;
}

// reachOf is how far the values of an axis go up and down, of stacks their sums.
function reachOf(fields) {
  const sums = new Map();
  const reach = { up: 0, down: 0 };
  for (const f of fields) {
    const stack = f.config.custom.stacking;
    const stacked = stack?.mode === "normal" || stack?.mode === "percent";
    f.values.forEach((v, i) => {
      if (v === null) return;
      const key = stacked ? `${stack.group ?? "A"}|${f.times[i]}` : null;
      const sum = v + (key ? sums.get(key) ?? 0 : 0);
      if (key) sums.set(key, sum);
      reach.up = Math.max(reach.up, sum);
      reach.down = Math.min(reach.down, sum);
    });
  }
  return reach;
}

// bounds are the ends and the step of a linear axis that begins at 0.
function bounds(c, fields) {
  const reach = reachOf(fields);
  const up = Math.max(reach.up, c.max ?? 0, c.custom.axisSoftMax ?? 0);
  const down = Math.min(reach.down, c.min ?? 0, c.custom.axisSoftMin ?? 0);
  const interval = nice(up - down, c.unit);
  if (!interval) return {};
  return { interval, min: Math.floor((down * 1.02) / interval) * interval, max: Math.ceil((up * 1.02) / interval) * interval };
}

// fixed are the ends that the settings of a scale that is not linear ask for.
function fixed(c, scale) {
  const end = (v) => (v === undefined || v === null ? undefined : scale.to(v) ?? undefined);
  return { min: end(c.min), max: end(c.max), scale: true, minInterval: 1 };
}

function axisOptions(axis, fields) {
  const c = axis.config;
  const style = axisStyle();
  const linear = axis.scale.name === "linear";
  const ends = linear ? bounds(c, fields) : fixed(c, axis.scale);
  if (linear && (c.min ?? null) !== null) ends.min = c.min;
  if (linear && (c.max ?? null) !== null) ends.max = c.max;
  return {
    type: "value",
    position: axis.right ? "right" : "left",
    ...ends,
    name: c.custom.axisLabel || undefined,
    ...style,
    splitLine: axis.right ? { show: false } : style.splitLine,
    axisLabel: { ...style.axisLabel, formatter: (v) => tick(axis.scale.from(v), c.unit) },
  };
}


function tooltip(panel, fields, events, hidden) {
  const sort = panel.options?.tooltip?.sort;
  return (params) => {
    const at = params[0]?.axisValue;
    if (at === undefined) return "";
    let lines = fields.filter((f) => !hidden.has(f.index)).map((f) => ({ f, v: f.values[f.times.indexOf(at)] })).filter((l) => l.v !== null && l.v !== undefined);
    if (sort === "desc") lines.sort((a, b) => b.v - a.v);
    if (sort === "asc") lines.sort((a, b) => a.v - b.v);
    const more = lines.length - 25;
    lines = lines.slice(0, 25).map(({ f, v }) => ({ name: f.name, colour: f.colour, dashed: Boolean(f.config.custom.lineStyle?.fill === "dash"), value: display(f.config, v).text }));
    const near = (fields[0]?.step || 15000) * 1.5;
    const notes = events.filter((e) => e.from - near <= at && e.to + near >= at).slice(0, 6).map((e) => `${e.title}${e.text ? `: ${e.text}` : ""}`);
    if (more > 0) notes.unshift(`and ${more} more`);
    return tip(time(at), lines, notes);
  };
}

// timeseries fills a panel's body; it says how to close it.
export function timeseries(body, panel, frames, page) {
  const fields = fieldsOf(panel, frames).filter((f) => !f.config.custom.hideFrom?.viz);
  if (!fields.length) return null;
  const axes = axesOf(fields);
  const hidden = hiddenOf(panel, fields);
  const place = el("div", { class: "chart" });
  body.classList.toggle("beside", panel.options?.legend?.placement === "right");
  body.append(place);
  const make = () => {
    fields.forEach((f) => { f.colour = colourOf(f.config, f.index, f.values.findLast((v) => v !== null)); });
    const series = fields.filter((f) => !hidden.has(f.index)).map((f) => shape(f, axes[f.axis].scale, f.axis, f.values.filter((v) => v !== null).length === 1));
    series.push(marks(page.events, page.window));
    Object.assign(series[0], series[0].markArea ? {} : limits(panel, axes[0].scale));
    return {
      grid: { left: 6, right: 18, top: axes.some((a) => a.config.custom.axisLabel) ? 22 : 10, bottom: 2, containLabel: true },
      xAxis: timeAxis(page.window), yAxis: axes.map((a, i) => axisOptions(a, fields.filter((f) => f.axis === i && !hidden.has(f.index)))), series,
      tooltip: { trigger: "axis", axisPointer: { type: "line", animation: false }, ...tooltipStyle(), formatter: tooltip(panel, fields, page.events, hidden) },
    };
  };
  const opened = openChart(place, make);
  const closeLegend = legend(body, panel, fields, hidden, opened.draw);
  return () => { closeLegend(); opened.close(); };
}
