// Takes pictures of pages: node shoot.mjs [--chromium PATH] [--wait MS] LIST
//
// LIST has a line for each picture: address, file, width in pixels, light or dark, and optionally
// the height of the window ("full", the default, is the whole page) and a selector of the part of
// the page that is wanted, such as figure:has-text("Every request"). Lines that begin with # are
// left out. It needs the npm package playwright-core, which is installed beside it or wherever
// NODE_PATH says, such as where .ci/proofs/panels/build installs it, and a Chromium; nothing of
// them is kept in the project.
//
// A page is done when the network is quiet. One that fails, or has a script that fails, is an error.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const require = createRequire(process.env.NODE_PATH ? `${process.env.NODE_PATH}/x.js` : import.meta.url);
const { chromium } = require("playwright-core");

const { values, positionals } = parseArgs({
  options: { chromium: { type: "string", default: "/usr/bin/chromium" }, wait: { type: "string", default: "800" } },
  allowPositionals: true,
});
if (positionals.length !== 1) {
  console.error("usage: node shoot.mjs [--chromium PATH] [--wait MS] LIST");
  process.exit(2);
}

const lines = readFileSync(positionals[0], "utf8").split("\n").map((l) => l.trim()).filter((l) => l && !l.startsWith("#"));
const browser = await chromium.launch({ executablePath: values.chromium, args: ["--no-sandbox", "--disable-gpu"] });
let failed = 0;

async function shoot(line) {
  const [url, file, width, scheme, height = "full", ...selector] = line.split(/\s+/);
  const size = { width: Number(width) || 1280, height: height === "full" ? 900 : Number(height) };
  const context = await browser.newContext({ viewport: size, colorScheme: scheme === "dark" ? "dark" : "light" });
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on("console", (m) => { if (m.type() === "error") complaints.push(m.text()); });
  const response = await page.goto(url, { waitUntil: "load", timeout: 60000 });
  if (!response.ok()) complaints.push(`status ${response.status()}`);
  await page.waitForLoadState("networkidle");
  await page.waitForTimeout(Number(values.wait)); // charts settle
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (beyond > 0) complaints.push(`${beyond} pixels wider than the window`);
  if (selector.length) {
    await page.locator(selector.join(" ")).first().screenshot({ path: file });
  } else {
    await page.screenshot({ path: file, fullPage: height === "full" });
  }
  await context.close();
  console.log(`${file}${complaints.length ? `: ${complaints.join("; ")}` : ""}`);
  failed += complaints.length;
}

try {
  for (const line of lines) await shoot(line);
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
