// Values with units, by Grafana's names of units and its rule for decimals.
const seconds = [[1e-9, "ns", 1e-6], [1e-6, "µs", 1e-3], [1e-3, "ms", 1], [1, "s", 60], [60, "min", 3600], [3600, "hour", 86400], [86400, "day", 604800], [604800, "week", 31536000], [31536000, "year", Infinity]];
const si = [[1e-9, "n"], [1e-6, "µ"], [1e-3, "m"], [1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]];
const iec = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const short = [[1, ""], [1e3, " K"], [1e6, " Mil"], [1e9, " Bil"], [1e12, " Tri"]];

// decimalsFor gives about three digits that count.
function decimalsFor(value) {
  const size = Math.abs(value);
  if (size === 0 || !Number.isFinite(size) || size % 1 === 0) return 0;
  return Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(size))));
}

function plain(value, decimals) {
  const size = Math.abs(value);
  if (size > 0 && size < 1e-4 && (decimals ?? null) === null) return value.toExponential(2);
  return value.toFixed(decimals ?? decimalsFor(value));
}

function scaled(value, steps, unit, decimals, space = " ") {
  let step = steps[0];
  for (const s of steps) if (Math.abs(value) >= s[0] || (value === 0 && s[0] === 1)) step = s;
  return plain(value / step[0], decimals) + (step[1] + unit ? space + step[1] + unit : "");
}

function binary(value, unit, decimals) {
  let i = 0;
  let v = value;
  while (Math.abs(v) >= 1024 && i < iec.length - 1) { v /= 1024; i++; }
  return `${plain(v, decimals)} ${iec[i]}${unit}`;
}

function duration(value, decimals) {
  if (value === 0) return "0 s";
  const step = seconds.find((s) => Math.abs(value) < s[2]) ?? seconds.at(-1);
  return `${plain(value / step[0], decimals)} ${step[1]}`;
}

const when = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };

// time is a time in the reader's zone, in the order of ISO 8601.
export function time(ms) { return new Date(ms).toLocaleString("sv-SE", when); }

const known = {
  bytes: (v, d) => binary(v, "B", d),
  decbytes: (v, d) => scaled(v, si.slice(3), "B", d),
  binBps: (v, d) => binary(v, "B/s", d),
  Bps: (v, d) => scaled(v, si.slice(3), "B/s", d),
  s: duration,
  ms: (v, d) => duration(v / 1000, d),
  percentunit: (v, d) => `${plain(v * 100, d)}%`,
  percent: (v, d) => `${plain(v, d)}%`,
  celsius: (v, d) => `${plain(v, d)} °C`,
  watt: (v, d) => scaled(v, si.slice(2), "W", d),
  joule: (v, d) => scaled(v, si.slice(2), "J", d),
  hertz: (v, d) => scaled(v, si.slice(3), "Hz", d),
  short: (v, d) => scaled(v, short, "", d, ""),
  cps: (v, d) => `${scaled(v, short, "", d, "")} c/s`,
  reqps: (v, d) => `${scaled(v, short, "", d, "")} req/s`,
  ops: (v, d) => `${scaled(v, short, "", d, "")} ops/s`,
  dateTimeAsIso: (v) => time(v),
  dateTimeAsIsoNoDateIfToday: (v) => time(v),
  dateTimeFromNow: (v) => `${duration((Date.now() - v) / 1000, 0)} ago`,
  bool: (v) => (v === 0 ? "False" : "True"),
};

// format writes a number in a unit; what is absent stays empty.
export function format(value, unit, decimals) {
  if (value === null || value === undefined) return "";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "−Inf";
  if (known[unit]) return known[unit](value, decimals);
  if (unit?.startsWith("suffix:")) return scaled(value, short, "", decimals, "") + unit.slice(7);
  if (unit?.startsWith("prefix:")) return unit.slice(7) + plain(value, decimals);
  return plain(value, decimals) + (unit && !["none", "string", "locale"].includes(unit) ? ` ${unit}` : "");
}

// tick is format for the marks of an axis: without the noise of 0.30000000000000004 and without
// zeros at the end.
export function tick(value, unit) {
  return format(Number(value.toPrecision(12)), unit).replace(/(\d\.\d*?)0+(?=\D|$)/, "$1").replace(/(\d)\.(?=\D|$)/, "$1");
}
