// Scales of a vertical axis: the chart draws what to() gives, labels and tooltips say from().
// nice is the step of about five that people read well: 1, 2, 2.5 or 5 times a power of ten, of
// the unit that is shown. Bytes are counted in powers of 1024, times in minutes and hours.
export function nice(size, unit) {
  if (!(size > 0) || !Number.isFinite(size)) return undefined;
  let one = 1;
  if (unit === "bytes" || unit === "binBps") while (size / one >= 1024) one *= 1024;
  if (unit === "s") one = [86400, 3600, 60, 1].find((u) => size >= 2 * u) ?? 1;
  const rough = size / one / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough) * one;
}

const linear = { name: "linear", to: (v) => v, from: (v) => v };

export function scaleOf(distribution) {
  const base = distribution?.log ?? 2;
  const log = (v) => Math.log(v) / Math.log(base);
  if (distribution?.type === "log") {
    return { name: "log", to: (v) => (v === null || v <= 0 ? null : log(v)), from: (v) => base ** v };
  }
  if (distribution?.type === "symlog") {
    const least = distribution.linearThreshold ?? 1;
    return {
      name: "symlog",
      to: (v) => (v === null ? null : Math.sign(v) * log(1 + Math.abs(v) / least)),
      from: (v) => Math.sign(v) * least * (base ** Math.abs(v) - 1),
    };
  }
  return linear;
}
