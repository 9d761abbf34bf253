// States over time: a lane for every series, a span for every state that lasts.
import { el } from "./dom.js";
import { display, colourOf } from "./field.js";
import { fieldsOf } from "./timeseries.js";
import { onTop } from "./colour.js";
import { time } from "./unit.js";

// spansOf puts equal neighbours together.
function spansOf(field) {
  const spans = [];
  field.values.forEach((value, i) => {
    if (value === null) return;
    const last = spans.at(-1);
    const at = field.times[i];
    if (last && last.value === value && at - last.to <= field.step * 1.5) last.to = at;
    else spans.push({ value, from: at, to: at });
  });
  return spans;
}

function ticks([from, to]) {
  const out = el("div", { class: "ticks" });
  for (const share of [0.02, 0.25, 0.5, 0.75, 0.96]) {
    out.append(el("span", { style: { left: `${share * 100}%` } }, new Date(from + share * (to - from)).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })));
  }
  return el("div", { class: "lane" }, el("span", {}), out);
}

export function timeline(body, panel, frames, page) {
  const fields = fieldsOf(panel, frames).filter((f) => f.values.some((v) => v !== null));
  if (!fields.length) return null;
  const [from, to] = page.window;
  const lanes = el("div", { class: "lanes" });
  const words = panel.options?.showValue !== "never";
  const draw = () => {
    lanes.replaceChildren(...fields.map((f) => {
      const track = el("div", { class: "track" });
      for (const s of spansOf(f)) {
        const shown = display(f.config, s.value);
        const colour = shown.colour ?? colourOf(f.config, f.index, s.value);
        const left = Math.max(0, (s.from - from) / (to - from));
        const width = Math.min(1, (s.to + f.step - from) / (to - from)) - left;
        track.append(el("div", { class: "span", title: `${f.name}: ${shown.text}, ${time(s.from)} to ${time(s.to)}`, style: { left: `${left * 100}%`, width: `${Math.max(0.2, width * 100)}%`, background: colour, color: onTop(colour) } }, words && width > 0.05 ? shown.text : ""));
      }
      return el("div", { class: "lane" }, el("span", { class: "name", title: f.name }, f.name), track);
    }), ticks(page.window));
  };
  draw();
  body.append(lanes);
  window.addEventListener("themechange", draw);
  return () => window.removeEventListener("themechange", draw);
}
