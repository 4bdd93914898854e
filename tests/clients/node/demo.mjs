// The demonstration of an application, and a browser that visits its page.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

const BROWSER = "/usr/bin/chromium";
const PATIENCE = 45_000;
// As root there is no sandbox; the other flags keep the browser from calling its vendor.
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
/** A text that does harm on a page that takes it for markup. */
export const HOSTILE = `<b>x</b> <img src=x onerror="window.wasRun = true">`;

/** Starts the program that a variable names, with more arguments; gives its process and the address that it prints. */
export async function start(variable, ...more) {
  const child = spawn(process.env[variable], ["demo", "--port", "0", ...more], {
    stdio: ["ignore", "pipe", "inherit"], env: { RUST_LOG: "warn" },
  });
  const address = await new Promise((found, lost) => {
    let said = "";
    child.on("error", lost).on("exit", (code) => lost(new Error(`${variable} ended with ${code}`)));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const there = said.match(/(http:\/\/\S+)\n/);
      if (there) found(there[1]);
    });
  });
  return { child, address };
}

/** Program and browser for all tests of a file; `url` is there once they begin. */
export function demonstrated(variable, ...more) {
  const demo = { url: undefined, visit };
  let program, browser;
  before(async () => {
    assert.ok(process.env[variable], `${variable} must name the program: target/debug/${variable.toLowerCase()}`);
    assert.ok(existsSync(BROWSER), `there is no ${BROWSER}: install Debian's package chromium`);
    const { child, address } = await start(variable, ...more);
    [program, demo.url] = [child, new URL(address).origin];
    browser = await chromium.launch({ executablePath: BROWSER, args: FLAGS, timeout: 60_000 });
  }, { timeout: 90_000 });
  after(async () => {
    await browser?.close();
    program?.kill();
  });

  /** A fresh page, and what its console complains about. */
  async function visit(t, path, options = {}) {
    const context = await browser.newContext(options);
    t.after(() => context.close());
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const complaints = [];
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(new URL(path, demo.url).href);
    return { page, complaints };
  }
  return demo;
}
