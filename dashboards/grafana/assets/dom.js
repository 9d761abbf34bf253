// Elements are made, never written as text: a label that holds markup stays a text.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name === "style") Object.assign(node.style, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
  return node;
}

// keepFocus lets a node be filled anew and gives the focus back to what then stands where it was: who has
// only a keyboard would start at the top of the page after every answer.
export function keepFocus(node, fill) {
  const reached = () => [...node.querySelectorAll("a[href], button, input, select, [tabindex]")];
  const old = node.contains(document.activeElement) ? document.activeElement : null;
  const at = reached().indexOf(old);
  fill();
  if (!old || old.isConnected) return;
  const now = reached();
  (now.find((n) => old.name && n.name === old.name) ?? now[at])?.focus({ preventScroll: true });
}

// safeURL lets addresses of this site and of the web through, and nothing that runs.
export function safeURL(text) {
  try {
    const url = new URL(text, window.location.href);
    return ["http:", "https:"].includes(url.protocol) ? url.href : null;
  } catch { return null; }
}

// link is a text that leads somewhere, or just the text where the address is no good one.
export function link(text, address) {
  const href = safeURL(address);
  return href ? el("a", { href, rel: "noreferrer" }, text) : el("span", {}, text);
}

const inline = /\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)/g;

function spans(text) {
  const out = [];
  let done = 0;
  for (const m of text.matchAll(inline)) {
    out.push(text.slice(done, m.index));
    if (m[1]) out.push(el("strong", {}, m[1]));
    else if (m[2]) out.push(el("em", {}, m[2]));
    else if (m[3]) out.push(el("code", {}, m[3]));
    else out.push(link(m[4], m[5]));
    done = m.index + m[0].length;
  }
  out.push(text.slice(done));
  return out;
}

// prose shows the little Markdown that descriptions use: paragraphs, headings, lists, bold,
// italics, code and links.
export function prose(text) {
  const out = document.createDocumentFragment();
  for (const block of String(text ?? "").split(/\n\s*\n/)) {
    const lines = block.split("\n").filter((l) => l.trim() !== "");
    if (lines.length && lines.every((l) => /^\s*[-*]\s/.test(l))) {
      out.append(el("ul", {}, ...lines.map((l) => el("li", {}, ...spans(l.replace(/^\s*[-*]\s+/, ""))))));
    } else if (/^#{1,6}\s/.test(block)) {
      out.append(el("h3", {}, ...spans(block.replace(/^#+\s+/, ""))));
    } else if (lines.length) {
      out.append(el("p", {}, ...spans(lines.join(" "))));
    }
  }
  return out;
}
