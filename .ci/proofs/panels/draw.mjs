// Draws dashboards in Chromium, in one state of the machine, and writes a line of JSON for each drawing. Each dashboard is drawn with its
// defaults, then with the other values of its variables, until each value was drawn once. Called by prove and by .ci/pictures/dashboards.
//
//   node draw.mjs --url URL --state NAME --out FILE [--dashboard NAME]... [--from TIME] [--to TIME] [--var NAME=VALUE]...
//
// --var NAME=VALUE   that value only
// --vary NAME        draw the other values of these variables only; "none" for none
// --pictures FOLDER  a picture of each dashboard with its defaults, NAME.png, and of what is seen before a row is opened, opened/NAME.png
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";

const require = createRequire(`${process.env.NODE_PATH}/x.js`);
const { chromium } = require("playwright-core");
const text = { type: "string" }, list = { ...text, multiple: true, default: [] };
const { values: flags } = parseArgs({ options: {
  url: text, state: text, out: text, dashboard: list, from: text, to: text, var: list, vary: list, pictures: text,
} });
const width = 1440, patience = 60_000, pages = 2;
const fixed = Object.fromEntries(flags.var.map((v) => v.split(/=(.*)/s)));

// settle waits until every panel has its answer and none asks again: a variable that changes makes them.
async function settle(page) {
  const end = Date.now() + patience;
  for (let quiet = 0; quiet < 4; await page.waitForTimeout(200)) {
    quiet = (await page.evaluate(() => window.panels?.settled() ?? false)) ? quiet + 1 : 0;
    if (Date.now() > end) return false;
  }
  return true;
}

async function report(page) {
  const settled = await settle(page);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width, height: Math.min(height, 8000) });
  await page.waitForTimeout(700); // tables and tiles measure themselves after they were drawn
  const drawn = await page.evaluate(() => window.panels?.report() ?? { problems: [], variables: [], panels: [] });
  if (!settled) drawn.problems.push("it was not done after a minute");
  return drawn;
}

const isVaried = (v) => !v.hidden && !(v.name in fixed) && (flags.vary.length === 0 || flags.vary.includes(v.name));
const selected = (v) => [v.value].flat();

// choicesOf are what else a variable can be set to: each other value, and all of them if it takes several.
function choicesOf(v) {
  const values = v.options.filter((o) => o !== "$__all");
  const rest = values.filter((o) => !selected(v).includes(o)).map((o) => (v.several ? [o] : o));
  if (v.several && rest.length > 0 && !selected(v).includes("$__all")) rest.push(values);
  return rest;
}

// together are choices that set all variables to the next of their values at once.
function together(variables) {
  const choices = [];
  for (const v of variables) choicesOf(v).forEach((value, i) => { (choices[i] ??= {})[v.name] = value; });
  return choices;
}

// alone are choices of the values that none of the drawings has, each with the defaults of all other variables: a value of one variable
// may not go with that of another.
function alone(variables, drawings) {
  const drawn = (name, value) => drawings.some((d) => d.variables.some((v) => v.name === name && selected(v).includes(value)));
  return variables.flatMap((v) => choicesOf(v).filter((c) => ![c].flat().every((value) => drawn(v.name, value))).map((value) => ({ [v.name]: value })));
}

async function take(page, dashboard) {
  const { opened, all } = await page.evaluate(() => ({ opened: window.panels.opened(), all: document.documentElement.scrollHeight }));
  await page.screenshot({ path: `${flags.pictures}/${dashboard}.png`, fullPage: true });
  await page.screenshot({ path: `${flags.pictures}/opened/${dashboard}.png`, clip: { x: 0, y: 0, width, height: opened ?? all }, fullPage: true });
}

async function draw(browser, dashboard) {
  const page = await browser.newPage({ viewport: { width, height: 1000 } });
  const failures = [];
  page.on("pageerror", (e) => failures.push(`script: ${e.message}`));
  page.on("console", (m) => m.type() === "error" && !m.text().startsWith("Failed to load resource") && failures.push(`console: ${m.text().slice(0, 300)}`));
  const query = new URLSearchParams({ dashboard });
  for (const name of ["from", "to"]) if (flags[name]) query.set(name, flags[name]);
  for (const [name, value] of Object.entries(fixed)) query.append(`var-${name}`, value);
  await page.goto(`${flags.url}/?${query}`);
  const drawings = [];
  async function choose(choice) {
    const began = Date.now();
    if (drawings.length > 0) {
      const defaults = Object.fromEntries(drawings[0].variables.filter(isVaried).map((v) => [v.name, v.value]));
      await page.evaluate((values) => window.panels.choose(values), { ...defaults, ...choice });
    }
    const drawn = await report(page);
    drawings.push(drawn);
    const problems = [...drawn.problems, ...failures.splice(0)];
    appendFileSync(flags.out, JSON.stringify({ state: flags.state, dashboard, chosen: choice, ...drawn, problems, seconds: (Date.now() - began) / 1000 }) + "\n");
  }
  await choose({});
  if (flags.pictures) await take(page, dashboard);
  const varied = drawings[0].variables.filter(isVaried);
  for (const choice of together(varied)) await choose(choice);
  for (const choice of alone(varied, drawings)) await choose(choice);
  await page.close();
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const waiting = [...flags.dashboard];
try {
  await Promise.all(Array.from({ length: pages }, async () => { for (let name; (name = waiting.shift()); ) await draw(browser, name); }));
} finally {
  await browser.close();
}
