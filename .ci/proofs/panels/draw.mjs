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
const width = 1440, patience = 60_000, together = 2;
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

// others are choices that give every variable each of its other values once, and all together if it takes several.
function others(variables) {
  const choices = [], varied = (name) => !(name in fixed) && (flags.vary.length === 0 || flags.vary.includes(name));
  for (const v of variables.filter((v) => !v.hidden && varied(v.name))) {
    const values = v.options.filter((o) => o !== "$__all");
    const rest = values.filter((o) => ![v.value].flat().includes(o)).map((o) => (v.several ? [o] : o));
    if (v.several && rest.length > 0 && ![v.value].flat().includes("$__all")) rest.push(values);
    rest.forEach((value, i) => { (choices[i] ??= {})[v.name] = value; });
  }
  return choices;
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
  let choices = [{}];
  for (let i = 0; i < choices.length; i++) {
    const began = Date.now();
    if (i > 0) await page.evaluate((choice) => window.panels.choose(choice), choices[i]);
    const drawn = await report(page);
    if (i === 0) choices = [{}, ...others(drawn.variables)];
    const problems = [...drawn.problems, ...failures.splice(0)];
    appendFileSync(flags.out, JSON.stringify({ state: flags.state, dashboard, chosen: choices[i], ...drawn, problems, seconds: (Date.now() - began) / 1000 }) + "\n");
    if (flags.pictures && i === 0) await take(page, dashboard);
  }
  await page.close();
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const waiting = [...flags.dashboard];
try {
  await Promise.all(Array.from({ length: together }, async () => { for (let name; (name = waiting.shift()); ) await draw(browser, name); }));
} finally {
  await browser.close();
}
