// Servers, browsers and proxies for the tests of the console.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

const BROWSER = "/usr/bin/chromium";
const PATIENCE = 30_000;
// Root cannot use the sandbox. The other flags prevent that the browser calls its vendor.
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// During work on the console, a debug build reads its files from a folder.
const files = process.env.TRESTLE_CONSOLE_FILES ? { TRESTLE_CONSOLE_FILES: process.env.TRESTLE_CONSOLE_FILES } : {};

/** Starts `trestle`, and waits for the first URL that it prints. */
export async function run(t, args, env = {}, printed = /(http:\/\/127\.0\.0\.1:\d+)[\s)]/) {
  const child = spawn(process.env.TRESTLE, args, { stdio: ["ignore", "pipe", "pipe"], env: { RUST_LOG: "error", ...files, ...env } });
  t.after(() => child.kill());
  const url = await new Promise((found, lost) => {
    let said = "";
    child.on("error", lost).on("exit", (code) => lost(new Error(`trestle ended with ${code}: ${said}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        said += text;
        const there = said.match(printed);
        if (there) found(there[1]);
      });
    }
  });
  return { child, url };
}

export const serve = (t, ...flags) => run(t, ["serve", "--in-memory", ...(flags.includes("--port") ? [] : ["--port", "0"]), ...flags]);

/** A browser for all tests of a file. */
export function browsing() {
  let browser;
  before(async () => {
    assert.ok(process.env.TRESTLE, "TRESTLE must name the program: target/debug/trestle");
    assert.ok(existsSync(BROWSER), `there is no ${BROWSER}: install Debian's package chromium`);
    browser = await chromium.launch({ executablePath: BROWSER, args: FLAGS, timeout: 60_000 });
  }, { timeout: 90_000 });
  after(() => browser?.close());
  return {
    /** A new page in its own browser context, and the errors in its JavaScript console. */
    async visit(t, url, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, reducedMotion: "reduce", ...options });
      t.after(() => context.close());
      context.setDefaultTimeout(PATIENCE);
      const page = await context.newPage();
      const complaints = [];
      page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
      page.on("pageerror", (error) => complaints.push(error.message));
      await page.goto(url);
      return { page, context, complaints };
    },
  };
}

/** The violations that axe-core finds in the present page. Its script is injected in a way that the page's policy does not block. */
export async function violations(page) {
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
}

/** The same in both themes. */
export async function violationsInBothThemes(page) {
  const found = [];
  for (const theme of ["light", "dark"]) {
    await page.evaluate((name) => { document.documentElement.dataset.theme = name; }, theme);
    found.push(...(await violations(page)).map((one) => `${theme}: ${one}`));
  }
  return found;
}

/** Takes a picture for the documentation, if a folder for pictures is named. */
export async function picture(page, name) {
  if (!process.env.SHOTS) return;
  mkdirSync(process.env.SHOTS, { recursive: true });
  await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

/** A proxy at an address of its own that serves a server below a path. Requests that it `refuses` get no answer. */
export async function proxy(t, url, prefix, refuses = () => false) {
  const to = new URL(url);
  const server = createServer((asked, answer) => {
    if (refuses(asked)) {
      answer.destroy();
      return;
    }
    if (!asked.url.startsWith(`${prefix}/`)) {
      answer.writeHead(404).end();
      return;
    }
    const on = request({ host: to.hostname, port: to.port, method: asked.method, path: asked.url.slice(prefix.length), headers: { ...asked.headers, host: to.host } }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    // As proxies do while the server behind them does not respond.
    on.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>")));
    asked.pipe(on);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => { server.close(); server.closeAllConnections(); });
  return `http://127.0.0.1:${server.address().port}${prefix}`;
}

export const at = (server, hash) => `${server.url}/console/${hash}`;

/** A folder that is removed at the end of the test. */
export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "trestle-console-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Stops a server, and waits until its process has ended. */
export async function ended(server) {
  server.child.removeAllListeners("exit");
  const gone = new Promise((done) => server.child.on("exit", done));
  server.child.kill();
  await gone;
}

/** Waits for a condition that no page shows. */
export async function until(what, isSo) {
  for (let i = 0; i < 600; i += 1) {
    if (await isSo()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(`it never was so: ${what}`);
}

/** An HTTP target of routes: `works(path)` decides whether it accepts a delivery. */
export async function hooked(t, works) {
  const hook = createServer((asked, answer) => answer.writeHead(works(asked.url) ? 200 : 400).end("no such thing"));
  await new Promise((done) => hook.listen(0, "127.0.0.1", done));
  t.after(() => { hook.close(); hook.closeAllConnections(); });
  return (route) => `[route.${route}]\nentity = "contact"\nmaximum_retry_attempts = 0\ntarget = { webhook = "http://127.0.0.1:${hook.address().port}/${route}" }\n`;
}

export async function logIn(page, id, secret = `secret of ${id}`) {
  await page.getByLabel("Access key").fill(id);
  await page.getByLabel("Secret key").fill(secret);
  await page.getByRole("button", { name: "Log in" }).click();
}
