// Scales of a vertical axis: the chart draws what to() gives, labels and tooltips say from().
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
