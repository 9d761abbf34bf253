// Shows the values of charts where a pointer, a finger or the arrow keys are. Without it, the browser shows the titles of shapes.
"use strict";
(() => {
  const tip = document.createElement("div"), rule = document.createElement("div"), charts = new WeakMap();
  let pointed = null, stop = -1;
  tip.className = "tip";
  tip.setAttribute("role", "status");
  rule.className = "rule";
  tip.hidden = rule.hidden = true;
  document.body.append(rule, tip);

  // A series is a line or an area over the horizontal axis, with points of x, y and, of an area, its lower edge.
  function series(path, name, plots) {
    const d = path.getAttribute("d"), points = [];
    for (const m of d.matchAll(/[ML](-?[0-9.]+) (-?[0-9.]+)/g)) points.push([Number(m[1]), Number(m[2])]);
    if (d.endsWith("Z")) {
      const half = points.length / 2;
      for (let i = 0; i < half; i++) points[i].push(points[2 * half - 1 - i][1]);
      points.length = half;
    }
    const plot = plots.find((p) => points.length > 0 && inside(p, points[0][0], points[0][1], 1));
    return { plot, name: name.split(", at most")[0], points };
  }

  function inside(p, x, y, more) {
    return x >= p[0] - more && x <= p[2] + more && y >= p[1] - more && y <= p[3] + more;
  }

  function read(svg) {
    if (charts.has(svg)) return charts.get(svg);
    const plots = JSON.parse(svg.dataset.plots || "[]"), names = new Map(), marks = [];
    for (const title of svg.querySelectorAll("title")) {
      const shape = title.parentNode, box = shape.getBBox(), text = title.textContent;
      names.set(shape, text);
      title.remove();
      if (shape.dataset.s === undefined) marks.push({ shape, text, x: box.x + box.width / 2, y: box.y + box.height / 2, small: Math.max(box.width, box.height) < 20 });
    }
    const lines = Array.from(svg.querySelectorAll("[data-s]"), (path) => series(path, names.get(path) || "", plots)).filter((s) => s.plot);
    const stops = [];
    for (const plot of plots) {
      const own = lines.filter((s) => s.plot === plot);
      const at = new Set(own.flatMap((s) => s.points.map((p) => p[0])));
      for (const x of Array.from(at).sort((a, b) => a - b)) stops.push({ x, y: (plot[1] + plot[3]) / 2, plot });
    }
    const chart = { plots, names, marks, lines, stops: stops.concat(marks) };
    charts.set(svg, chart);
    return chart;
  }

  // A position on an axis as a number with its unit, no finer than a tenth of a unit of the drawing.
  function text(share, length, lo, hi, log, title) {
    const v = log ? lo * (hi / lo) ** share : lo + share * (hi - lo);
    const step = (log ? v * Math.log(hi / lo) : hi - lo) / length / 10;
    const digits = Math.min(9, Math.max(0, Math.floor(-Math.log10(step))));
    return (v.toFixed(digits) + " " + title.split(",")[0]).trim();
  }

  function values(chart, plot, x) {
    const near = [];
    for (const s of chart.lines) {
      if (s.plot !== plot) continue;
      const point = s.points.reduce((best, p) => Math.abs(p[0] - x) < Math.abs(best[0] - x) ? p : best);
      if (Math.abs(point[0] - x) <= 40) near.push({ s, point });
    }
    if (near.length === 0) return null;
    const [left, top, right, bottom, xlo, xhi, xlog, xtitle, ylo, yhi, ylog, ytitle] = plot, height = bottom - top;
    const at = near.reduce((best, n) => Math.abs(n.point[0] - x) < Math.abs(best.point[0] - x) ? n : best).point[0];
    const rows = near.filter((n) => Math.abs(n.point[0] - at) <= 1).map(({ s, point }) => {
      const [, y, base] = point;
      const value = base === undefined ? text((bottom - y) / height, height, ylo, yhi, ylog, ytitle) : text((base - y) / height, height, 0, yhi - ylo, false, ytitle);
      return (s.name ? s.name + ": " : "") + value;
    });
    return { at, text: [text((at - left) / (right - left), right - left, xlo, xhi, xlog, xtitle)].concat(rows.reverse()).join("\n") };
  }

  function hide() {
    tip.hidden = rule.hidden = true;
    if (pointed) pointed.classList.remove("pointed");
    pointed = null;
  }

  function place(words, x, y) {
    tip.textContent = words;
    tip.hidden = false;
    const box = tip.getBoundingClientRect(), room = document.documentElement;
    tip.style.left = Math.max(4, x + 14 + box.width > room.clientWidth ? x - 14 - box.width : x + 14) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, room.clientHeight - box.height - 4)) + "px";
  }

  // Shows what is at a position of a drawing, in its units: a mark, or the series of the plot.
  function show(svg, x, y, mark, plot) {
    const chart = read(svg), box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const clientX = box.left + x * scale, clientY = box.top + y * scale;
    hide();
    if (mark) {
      pointed = mark.shape;
      pointed.classList.add("pointed");
      place(mark.text, clientX, clientY);
      return;
    }
    const found = plot && values(chart, plot, x);
    if (!found) return;
    rule.style.left = box.left + found.at * scale + "px";
    rule.style.top = box.top + plot[1] * scale + "px";
    rule.style.height = (plot[3] - plot[1]) * scale + "px";
    rule.hidden = false;
    place(found.text, clientX, clientY);
  }

  function point(event) {
    const svg = event.target instanceof Element && event.target.closest("figure svg");
    if (!svg) return hide();
    const chart = read(svg), box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
    let mark = chart.marks.find((m) => m.shape === event.target), near = (event.pointerType === "touch" ? 20 : 8) / scale;
    if (!mark) {
      for (const m of chart.marks) {
        const away = Math.hypot(m.x - x, m.y - y);
        if (m.small && away < near) [mark, near] = [m, away];
      }
    }
    stop = -1;
    show(svg, x, y, mark, chart.plots.find((p) => inside(p, x, y, 0)));
  }

  function key(event) {
    const svg = event.target;
    if (!(svg instanceof SVGSVGElement)) return;
    const stops = read(svg).stops, step = event.shiftKey ? 10 : 1, last = stops.length - 1;
    switch (event.key) {
      case "ArrowRight": stop = Math.min(last, stop + step); break;
      case "ArrowLeft": stop = Math.max(0, stop - step); break;
      case "Home": stop = 0; break;
      case "End": stop = last; break;
      case "Escape": return hide();
      default: return;
    }
    event.preventDefault();
    const to = stops[stop];
    if (to) show(svg, to.x, to.y, to.shape && to, to.plot);
  }

  for (const svg of document.querySelectorAll("figure svg")) if (svg.querySelector("title, [data-s]")) svg.tabIndex = 0;
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.documentElement.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hide(); });
  document.addEventListener("keydown", key);
  document.addEventListener("focusout", () => { stop = -1; hide(); });
  document.addEventListener("scroll", hide, { capture: true, passive: true });
})();
