// Many values to one, by Grafana's names of calculations.
const numbers = (values) => values.filter((v) => v !== null && v !== undefined && !Number.isNaN(v));

const calculations = {
  lastNotNull: (all) => numbers(all).at(-1) ?? null,
  last: (all) => all.at(-1) ?? null,
  firstNotNull: (all) => numbers(all)[0] ?? null,
  first: (all) => all[0] ?? null,
  max: (all) => { const n = numbers(all); return n.length ? n.reduce((a, b) => Math.max(a, b)) : null; },
  min: (all) => { const n = numbers(all); return n.length ? n.reduce((a, b) => Math.min(a, b)) : null; },
  sum: (all) => { const n = numbers(all); return n.length ? n.reduce((a, b) => a + b, 0) : null; },
  mean: (all) => { const n = numbers(all); return n.length ? n.reduce((a, b) => a + b, 0) / n.length : null; },
  count: (all) => numbers(all).length,
  range: (all) => { const n = numbers(all); return n.length ? calculations.max(n) - calculations.min(n) : null; },
  delta: (all) => { const n = numbers(all); return n.length ? n.at(-1) - n[0] : null; },
  diff: (all) => { const n = numbers(all); return n.length ? n.at(-1) - n[0] : null; },
};

export const titles = { lastNotNull: "Last", last: "Last", firstNotNull: "First", first: "First", max: "Max", min: "Min", mean: "Mean", sum: "Total", count: "Count", range: "Range", delta: "Delta", diff: "Difference" };

export function reduce(values, calculation) { return (calculations[calculation] ?? calculations.lastNotNull)(values); }
