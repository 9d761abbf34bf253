// What all charts share: the place, the colours, the redrawing when size or theme change.
import { el } from "./dom.js";
import { color } from "./theme.js";

/* global echarts */

// openChart draws options in an element and keeps its size; the maker is called again when the
// theme changes.
export function openChart(place, make) {
  const chart = echarts.init(place, null, { renderer: "canvas" });
  const draw = () => chart.setOption(make(), { notMerge: true });
  draw();
  const sized = new ResizeObserver(() => chart.resize());
  sized.observe(place);
  window.addEventListener("themechange", draw);
  return {
    chart,
    draw,
    // The chart library paints a little later what it was told, and fails if it is gone by then.
    close: () => { sized.disconnect(); window.removeEventListener("themechange", draw); setTimeout(() => chart.dispose(), 1000); },
  };
}

// axisStyle is the look of an axis.
export function axisStyle() {
  return {
    axisLine: { lineStyle: { color: color("--line") } },
    axisTick: { lineStyle: { color: color("--line") } },
    splitLine: { lineStyle: { color: color("--grid") } },
    axisLabel: { color: color("--quiet"), fontSize: 11, hideOverlap: true },
    nameTextStyle: { color: color("--quiet"), fontSize: 11 },
  };
}

// timeAxis is the axis of a dashboard's time range.
export function timeAxis(window_) {
  const style = axisStyle();
  style.splitLine = { show: false };
  return { type: "time", min: window_[0], max: window_[1], ...style, axisLabel: { ...style.axisLabel, formatter: { year: "{yyyy}", month: "{yyyy}-{MM}", day: "{MM}-{dd}", hour: "{HH}:{mm}", minute: "{HH}:{mm}", second: "{HH}:{mm}:{ss}", millisecond: "{HH}:{mm}:{ss}", none: "{HH}:{mm}" } } };
}

// tooltipStyle is the look of tooltips; their content is made of elements.
export function tooltipStyle() {
  return {
    backgroundColor: color("--panel"),
    borderColor: color("--line"),
    textStyle: { color: color("--text"), fontSize: 12 },
    confine: true,
    appendTo: document.body,
    transitionDuration: 0,
  };
}

// swatch is the mark of a series in legends and tooltips.
export function swatch(colour, dashed) {
  return el("span", { class: "swatch", style: { background: dashed ? `repeating-linear-gradient(90deg, ${colour} 0 4px, transparent 4px 6px)` : colour } });
}

// tip is the content of a tooltip: a title and lines of mark, name and value.
export function tip(title, lines, notes = []) {
  return el("div", { class: "tip" },
    el("div", { class: "when" }, title),
    el("table", {}, ...lines.map((l) => el("tr", {}, el("td", {}, swatch(l.colour, l.dashed), l.name), el("td", {}, l.value)))),
    ...notes.map((n) => el("div", { class: "event" }, n)));
}
