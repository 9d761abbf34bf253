// What a panel's settings say of one series or column: defaults, then the overrides that match.
import { format } from "./unit.js";
import { named, classic } from "./colour.js";

function pattern(text) {
  const m = /^\/(.*)\/([gimsuy]*)$/s.exec(text);
  try { return m ? new RegExp(m[1], m[2].replace("g", "")) : new RegExp(text); } catch { return /$^/; }
}

function matches(matcher, field) {
  switch (matcher?.id) {
    case "byName": return matcher.options === field.name;
    case "byRegexp": return pattern(matcher.options).test(field.name);
    case "byFrameRefID": return matcher.options === field.refId;
    case "byType": return matcher.options === field.type;
    case "byNames": return (matcher.options?.names ?? []).includes(field.name);
    default: return false;
  }
}

function assign(target, path, value) {
  const keys = path.split(".");
  let node = target;
  for (const key of keys.slice(0, -1)) node = node[key] = { ...(node[key] ?? {}) };
  node[keys.at(-1)] = value;
}

// configOf is the configuration of a field {name, refId, type}.
export function configOf(fieldConfig, field) {
  const config = { ...(fieldConfig?.defaults ?? {}) };
  config.custom = { ...(config.custom ?? {}) };
  config.own = new Set();
  for (const override of fieldConfig?.overrides ?? []) {
    if (!matches(override.matcher, field)) continue;
    for (const property of override.properties ?? []) {
      assign(config, property.id, property.value);
      config.own.add(property.id);
    }
  }
  return config;
}

// stepAt is the threshold that a value has reached.
export function stepAt(thresholds, value) {
  let found = thresholds?.steps?.[0];
  for (const step of thresholds?.steps ?? []) if (step.value === null || step.value === undefined || value >= step.value) found = step;
  return found;
}

// colourOf is the colour of a series: fixed, by a value's threshold, or the next of the palette.
export function colourOf(config, index, value, otherwise = "palette-classic") {
  const mode = config.color?.mode ?? otherwise;
  if (mode === "fixed" || mode === "shades") return named(config.color.fixedColor);
  if (mode === "thresholds") return named(stepAt(config.thresholds, value)?.color ?? "green");
  return classic(index);
}

function mapped(config, value) {
  const text = value === null || value === undefined ? "" : String(value);
  for (const mapping of config.mappings ?? []) {
    const o = mapping.options ?? {};
    if (mapping.type === "value" && Object.hasOwn(o, text)) return o[text];
    if (mapping.type === "range" && typeof value === "number" && value >= (o.from ?? -Infinity) && value <= (o.to ?? Infinity)) return o.result;
    if (mapping.type === "regex" && pattern(o.pattern).test(text)) return { ...o.result, text: o.result?.text && text.replace(pattern(o.pattern), o.result.text) };
    if (mapping.type === "special" && special(o.match, value)) return o.result;
  }
  return null;
}

function special(match, value) {
  const none = value === null || value === undefined;
  const nan = Number.isNaN(value);
  return { null: none, nan, "null+nan": none || nan, empty: value === "", true: value === true, false: value === false }[match] ?? false;
}

// display is how a value is shown: its text, and the colour that a mapping or threshold gives it.
export function display(config, value) {
  const result = mapped(config, value);
  const text = result?.text ?? (typeof value === "number" ? format(value, config.unit, config.decimals ?? undefined) : value ?? "");
  let colour = result?.color ? named(result.color) : null;
  if (!colour && config.color?.mode === "thresholds" && typeof value === "number") colour = colourOf(config, 0, value);
  if (!colour && config.color?.mode === "fixed") colour = named(config.color.fixedColor);
  return { text: String(text), colour };
}
