// Links of cells and points: the server has filled in the dashboard's variables, here are those
// that only a cell knows.
const reference = /\$\{__(value|data|field|series)\.?([^:}]*)(?::([^}]+))?\}/g;

const plain = (v) => (v === null || v === undefined ? "" : String(v));

function fieldValue(row, path) {
  const m = /^fields(?:\["([^"]+)"\]|\['([^']+)'\]|\[(\d+)\]|\.([^.[\]]+))(?:\.(text|numeric))?$/.exec(path);
  if (!m) return "";
  const name = m[1] ?? m[2] ?? m[4];
  const cell = m[3] === undefined ? row.find((c) => c.name === name || c.source === name) : row[Number(m[3])];
  return cell ? plain(m[5] === "text" ? cell.text : cell.value) : "";
}

// addressOf fills in a link: value is the cell's, row all cells of its line {name, value, text}.
export function addressOf(template, cell, row) {
  return template.replace(reference, (_, what, path) => {
    let found = "";
    if (what === "value") found = path === "text" ? cell.text : plain(cell.value);
    else if (what === "data") found = fieldValue(row, path);
    else if (path === "name") found = cell.name;
    else if (path.startsWith("labels")) found = plain(cell.labels?.[path.replace(/^labels[.[]?"?|"?\]?$/g, "")]);
    return encodeURIComponent(found);
  });
}
