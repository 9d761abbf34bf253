// Present values in large type.
import { el } from "./dom.js";
import { configOf, colourOf, display } from "./field.js";
import { reduce } from "./reduce.js";
import { onTop } from "./colour.js";

// spark is the curve behind a value, in its colour.
function spark(points) {
  const drawn = points.map((p) => [Number(p[0]), Number(p[1])]).filter((p) => Number.isFinite(p[1]));
  if (drawn.length < 2) return null;
  const [from, to] = [drawn[0][0], drawn.at(-1)[0]];
  const low = Math.min(...drawn.map((p) => p[1]));
  const span = Math.max(...drawn.map((p) => p[1])) - low || 1;
  const line = drawn.map(([t, v]) => `${((t - from) / (to - from)) * 100}% ${95 - ((v - low) / span) * 90}%`);
  return el("span", { class: "spark", "aria-hidden": "true", style: { clipPath: `polygon(0% 100%, ${line.join(", ")}, 100% 100%)` } });
}

// wrapped is a name that breaks between its words, OfTheseToo, and is as large as the longest of them allows.
function wrapped(name) {
  const words = name.split(/(?<=[a-z])(?=[A-Z])|(?<= )/);
  const out = el("span", { class: "value" }, ...words.flatMap((word, i) => (i ? [el("wbr", {}), word] : [word])));
  out.style.setProperty("--signs", Math.max(...words.map((word) => word.trim().length)));
  return out;
}

function cell(panel, config, name, value, points) {
  const o = panel.options ?? {};
  const shown = display(config, value);
  const colour = shown.colour ?? colourOf(config, 0, value, "thresholds");
  const mode = o.textMode ?? "auto";
  const background = o.colorMode === "background" || o.colorMode === "background_solid";
  const coloured = o.colorMode === "value" || o.colorMode === undefined;
  const named = mode === "name" || mode === "value_and_name";
  const style = background && colour !== "transparent" ? { background: colour, color: onTop(colour) } : coloured ? { color: colour } : {};
  const out = el("div", { class: mode === "name" ? "stat named" : "stat", style });
  if (mode === "name") out.append(wrapped(name));
  else if (mode !== "none") {
    if (named) out.append(el("span", { class: "label" }, name));
    const text = el("span", { class: "value" }, shown.text);
    text.style.setProperty("--signs", shown.text.length);
    out.append(text);
    if (o.graphMode === "area") out.append(spark(points) ?? "");
  }
  return out;
}

export function stat(body, panel, frames) {
  const calc = panel.options?.reduceOptions?.calcs?.[0] ?? "lastNotNull";
  const cells = [];
  const many = frames.reduce((n, f) => n + f.series.length, 0) > 1;
  const place = el("div", { class: panel.options?.orientation === "horizontal" ? "stats across" : "stats down" });
  const draw = () => {
    cells.length = 0;
    for (const frame of frames) {
      for (const s of frame.series) {
        const config = configOf(panel.fieldConfig, { name: s.name, refId: frame.refId, type: "number" });
        const value = reduce((s.points ?? []).map((p) => Number(p[1])), calc);
        const shown = many && (panel.options?.textMode ?? "auto") === "auto" ? { ...panel, options: { ...panel.options, textMode: "value_and_name" } } : panel;
        if (value !== null || (s.points ?? []).length) cells.push(cell(shown, config, config.displayName || s.name, value ?? NaN, s.points ?? []));
      }
    }
    place.replaceChildren(...cells);
  };
  draw();
  if (!cells.length) return null;
  body.append(place);
  window.addEventListener("themechange", draw);
  return () => window.removeEventListener("themechange", draw);
}
