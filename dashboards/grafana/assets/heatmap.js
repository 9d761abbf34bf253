// Distributions over time: of native histograms, or of buckets with the label le.
import { el } from "./dom.js";
import { format, time } from "./unit.js";
import { cividis } from "./colour.js";
import { color } from "./theme.js";
import { openChart, axisStyle, tooltipStyle, tip } from "./chart.js";

// fromNative lists cells {t, from, to, count} of native histograms.
function fromNative(series) {
  return (series.histograms ?? []).flatMap(([t, buckets]) => (buckets ?? []).map(([from, to, count]) => ({ t, from: Number(from), to: Number(to), count: Number(count) })));
}

// fromBuckets makes cells of series that count everything up to their le: each is what the one
// below it does not count yet.
function fromBuckets(frame) {
  const bounded = frame.series.filter((s) => s.labels.le !== undefined).map((s) => ({ le: Number(s.labels.le.replace("+Inf", "Infinity")), values: new Map((s.points ?? []).map(([t, v]) => [t, Number(v)])) })).sort((a, b) => a.le - b.le);
  const cells = [];
  bounded.forEach((b, i) => {
    const below = bounded[i - 1];
    for (const [t, v] of b.values) cells.push({ t, from: below ? below.le : 0, to: b.le, count: Math.max(0, v - (below?.values.get(t) ?? 0)) });
  });
  return cells;
}

// mostRows is how many lines a heat map has; of more, neighbours are put together.
const mostRows = 30;

// rowsOf lists the buckets from below, and says of each which line it is in.
function rowsOf(cells) {
  const key = (c) => `${c.from}|${c.to}`;
  const bounds = [...new Map(cells.map((c) => [key(c), c])).values()].sort((a, b) => a.from - b.from || a.to - b.to);
  const each = Math.ceil(bounds.length / mostRows);
  const rows = [];
  const rowAt = new Map();
  bounds.forEach((b, i) => {
    const row = Math.floor(i / each);
    rows[row] = { from: rows[row]?.from ?? b.from, to: b.to };
    rowAt.set(key(b), row);
  });
  return { rows, rowOf: (c) => rowAt.get(key(c)) };
}

// gathered adds up the cells of a place.
function gathered(cells, rowOf, columnAt) {
  const sums = new Map();
  for (const c of cells) {
    if (!columnAt.has(c.t)) continue;
    const place = `${columnAt.get(c.t)}|${rowOf(c)}`;
    sums.set(place, (sums.get(place) ?? 0) + c.count);
  }
  return [...sums].map(([place, sum]) => [...place.split("|").map(Number), sum, sum ** 0.5]);
}

export function heatmap(body, panel, frames, page) {
  const frame = frames[0];
  if (!frame) return null;
  const native = frame.series.flatMap(fromNative);
  const cells = (native.length ? native : fromBuckets(frame)).filter((c) => c.count > 0 && Number.isFinite(c.count));
  if (!cells.length) return null;
  const unit = panel.options?.yAxis?.unit || panel.fieldConfig?.defaults?.unit;
  const { rows, rowOf } = rowsOf(cells);
  const times = [];
  for (let t = Math.ceil(page.window[0] / frame.step) * frame.step; t <= page.window[1] && times.length < 11000; t += frame.step) times.push(t);
  const columnAt = new Map(times.map((t, i) => [t, i]));
  const data = gathered(cells, rowOf, columnAt);
  const most = data.reduce((m, d) => Math.max(m, d[2]), 0);
  const spoken = (v) => (Number.isFinite(v) ? format(Number(v.toPrecision(3)), unit) : "∞");
  const place = el("div", { class: "chart" });
  body.append(place);
  const opened = openChart(place, () => {
    const style = axisStyle();
    const clock = (t) => new Date(t).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    return {
      grid: { left: 6, right: 10, top: 8, bottom: 34, containLabel: true },
      xAxis: { type: "category", data: times, ...style, splitLine: { show: false }, axisLabel: { ...style.axisLabel, interval: Math.max(0, Math.ceil(times.length / 6) - 1), formatter: (t) => clock(Number(t)) } },
      yAxis: { type: "category", data: rows.map((b) => `≤ ${spoken(b.to)}`), ...style, splitLine: { show: false }, axisLabel: { ...style.axisLabel, interval: Math.max(0, Math.ceil(rows.length / 7) - 1) } },
      visualMap: { min: 0, max: most ** 0.5, orient: "horizontal", left: "center", bottom: 0, itemHeight: 120, itemWidth: 8, calculable: false, dimension: 3, inRange: { color: cividis }, text: [format(most, panel.options?.cellValues?.unit), "0"], textStyle: { color: color("--quiet"), fontSize: 10 } },
      series: [{ type: "heatmap", animation: false, progressive: 0, itemStyle: { borderWidth: times.length > 100 ? 0 : 1, borderColor: color("--panel") }, data }],
      tooltip: { trigger: "item", ...tooltipStyle(), formatter: ({ value, color: colour }) => { const b = rows[value[1]]; return tip(time(times[value[0]]), [{ colour, name: `${spoken(b.from)} to ${spoken(b.to)}`, value: format(value[2], panel.options?.cellValues?.unit) }]); } },
    };
  });
  return opened.close;
}
