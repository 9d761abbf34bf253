// Shows the frames that the server pushes, drawn for the width of the window. Texts are never read as markup.
"use strict";
const shown = document.getElementById("screen"), state = document.getElementById("state");
let source;

function columns() {
  const ruler = document.createElement("span");
  ruler.textContent = "0".repeat(100);
  shown.append(ruler);
  const wide = ruler.getBoundingClientRect().width / 100;
  ruler.remove();
  const style = getComputedStyle(shown);
  const room = shown.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return Math.max(40, Math.min(300, Math.floor(room / wide)));
}

function draw(lines) {
  shown.replaceChildren(...lines.flatMap((line) => [...line.map(([style, text]) => {
    const span = document.createElement("span");
    span.className = style;
    span.textContent = text;
    return span;
  }), "\n"]));
}

async function reload() {
  source.close();
  state.textContent = "The run has ended.";
  const answer = await fetch("", { method: "HEAD" }).catch(() => null); // the page ends with the program
  if (answer && answer.ok) location.reload();
}

function connect() {
  if (source) source.close();
  source = new EventSource("events?columns=" + columns());
  source.onopen = () => { state.textContent = ""; };
  source.onmessage = (message) => draw(JSON.parse(message.data));
  source.addEventListener("report", reload);
  source.onerror = () => { state.textContent = "No connection. These are the last figures."; };
}

let resized;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(connect, 300); });
connect();
