// Frames as tables, and the transformations of tables that the dashboards use. A table has
// columns {name, type, refId, labels, values}.

// tablesOf makes a table of every frame: for the format table one with a column for every
// label, otherwise one for every series.
export function tablesOf(frames) {
  return frames.flatMap((f) => (f.format === "table" ? [labelTable(f, frames)] : f.series.map((s) => seriesTable(f, s))));
}

function labelTable(frame, frames) {
  const several = frames.filter((f) => f.format === "table").length > 1;
  const labels = [...new Set(frame.series.flatMap((s) => Object.keys(s.labels)))].sort();
  const rows = frame.series.flatMap((s) => (s.points ?? []).map((p) => ({ s, p })));
  const column = (name, type, of) => ({ name, type, refId: frame.refId, values: rows.map(of) });
  return [
    column("Time", "time", ({ p }) => p[0]),
    ...labels.map((l) => column(l, "string", ({ s }) => s.labels[l] ?? null)),
    column(several ? `Value #${frame.refId}` : "Value", "number", ({ p }) => Number(p[1])),
  ];
}

function seriesTable(frame, s) {
  const points = s.points ?? [];
  return [
    { name: "Time", type: "time", refId: frame.refId, values: points.map((p) => p[0]) },
    { name: s.name, type: "number", refId: frame.refId, labels: s.labels, values: points.map((p) => Number(p[1])) },
  ];
}

const rowsOf = (table) => (table[0]?.values ?? []).map((_, i) => Object.fromEntries(table.map((c) => [c.name, c.values[i]])));

function tableOf(rows, columns) {
  return columns.map((c) => ({ ...c, values: rows.map((r) => (r[c.name] === undefined ? null : r[c.name])) }));
}

function allColumns(tables) {
  const seen = new Map();
  for (const table of tables) for (const c of table) if (!seen.has(c.name)) seen.set(c.name, c);
  return [...seen.values()];
}

// merge puts lines together that agree in every column that both have; time and labels are
// what they agree in, values are filled in.
function merge(tables) {
  if (tables.length < 2) return tables;
  const columns = allColumns(tables);
  const keys = columns.filter((c) => tables.every((t) => t.some((d) => d.name === c.name))).map((c) => c.name);
  const rows = [];
  for (const table of tables) {
    for (const row of rowsOf(table)) {
      const found = rows.find((r) => keys.every((k) => r[k] === row[k]) && Object.keys(row).every((k) => keys.includes(k) || r[k] === undefined || r[k] === row[k]));
      if (found) Object.assign(found, row); else rows.push({ ...row });
    }
  }
  return [tableOf(rows, columns)];
}

// joinByField puts lines together that agree in one column.
function joinByField(tables, options) {
  if (tables.length < 2) return tables;
  const by = options.byField ?? "Time";
  const rows = new Map();
  const columns = [];
  tables.forEach((table, i) => {
    for (const c of table) {
      const taken = columns.some((d) => d.name === c.name);
      if (c.name === by && taken) continue;
      columns.push({ ...c, name: taken ? `${c.name} ${i + 1}` : c.name, from: [i, c.name] });
    }
    for (const row of rowsOf(table)) {
      if (!rows.has(row[by])) rows.set(row[by], { seen: 0, cells: {} });
      const line = rows.get(row[by]);
      line.seen++;
      for (const c of columns) if (c.from[0] === i) line.cells[c.name] = row[c.from[1]];
      line.cells[by] = row[by];
    }
  });
  const kept = [...rows.values()].filter((r) => options.mode !== "inner" || r.seen >= tables.length);
  return [tableOf(kept.map((r) => r.cells), columns)];
}

function organize(tables, options) {
  return tables.map((table) => {
    const place = (c) => options.indexByName?.[c.name] ?? Infinity;
    return table.filter((c) => !options.excludeByName?.[c.name] && (!options.includeByName || !Object.keys(options.includeByName).length || options.includeByName[c.name]))
      .map((c, i) => [c, i]).sort((a, b) => (place(a[0]) === place(b[0]) ? a[1] - b[1] : place(a[0]) - place(b[0])))
      .map(([c]) => ({ ...c, name: options.renameByName?.[c.name] || c.name }));
  });
}

function sortBy(tables, options) {
  const wanted = options.sort?.[0];
  return tables.map((table) => (wanted && table.some((c) => c.name === wanted.field) ? sortRows(table, wanted.field, wanted.desc) : table));
}

// sortRows sorts a table by a column; what is absent comes last.
export function sortRows(table, name, desc) {
  const column = table.find((c) => c.name === name);
  const order = column.values.map((_, i) => i).sort((a, b) => compare(column.values[a], column.values[b], desc));
  return table.map((c) => ({ ...c, values: order.map((i) => c.values[i]) }));
}

function compare(a, b, desc) {
  const none = (v) => v === null || v === undefined || Number.isNaN(v);
  if (none(a) || none(b)) return none(a) - none(b);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
  return desc ? -order : order;
}

function filterFieldsByName(tables, options) {
  const names = options.include?.names;
  const pattern = options.include?.pattern && new RegExp(options.include.pattern.replace(/^\/|\/$/g, ""));
  return tables.map((t) => t.filter((c) => (!names && !pattern) || names?.includes(c.name) || pattern?.test(c.name)));
}

const known = { merge, joinByField, seriesToColumns: joinByField, organize, sortBy, filterFieldsByName, limit: (tables, o) => tables.map((t) => t.map((c) => ({ ...c, values: c.values.slice(0, o.limitField ?? 10) }))) };

// transformed applies a panel's transformations; it names those that are not known here.
export function transformed(frames, transformations) {
  let tables = tablesOf(frames);
  const unknown = [];
  for (const t of transformations ?? []) {
    if (t.disabled) continue;
    if (known[t.id]) tables = known[t.id](tables, t.options ?? {});
    else unknown.push(t.id);
  }
  return { tables, unknown };
}
