// The page of apps/reindexer in a real browser: works are searched, and a pipeline is filled and switched to. Run by
// `node --test` with REINDEXER naming the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const BROWSER = "/usr/bin/chromium";
// As root there is no sandbox; the other flags keep the browser from calling its vendor.
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const HOSTILE = `Plate <b>x</b> <img src=x onerror="window.wasRun = true">`;

let program, browser, url, folder;

before(async () => {
  assert.ok(process.env.REINDEXER, "REINDEXER must name the program: target/debug/reindexer");
  assert.ok(existsSync(BROWSER), `there is no ${BROWSER}: install Debian's package chromium`);
  folder = mkdtempSync(join(tmpdir(), "reindexer-"));
  program = spawn(process.env.REINDEXER, ["serve", "--port", "0", "--data", folder], { stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((found, lost) => {
    let said = "";
    program.on("error", lost).on("exit", (code) => lost(new Error(`reindexer ended with ${code}`)));
    program.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const there = said.match(/(http:\/\/\S+)\n/);
      if (there) found(there[1]);
    });
  });
  browser = await chromium.launch({ executablePath: BROWSER, args: FLAGS, timeout: 60_000 });
}, { timeout: 90_000 });

after(async () => {
  await browser?.close();
  program?.kill();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

async function call(method, path, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, await answer.clone().text());
}

test("works are found, and a new pipeline is filled and answers searches, all on the page", async (t) => {
  await call("PUT", "/pipelines/first", { transformer: 1 });
  await call("PUT", "/sources/miro/V0000001", { image_title: HOSTILE, image_keywords: ["Scales"] });
  // Until the record has arrived, the pipeline is refused.
  const serves = async () => (await fetch(`${url}/pipelines/first/serve`, { method: "POST" })).ok;
  for (let i = 0; !(await serves()); i += 1) {
    assert.ok(i < 300, "pipeline first never had its record");
    await new Promise((done) => setTimeout(done, 100));
  }
  await call("PUT", "/pipelines/second", { transformer: 2 });
  const context = await browser.newContext({ viewport: { width: 340, height: 800 } });
  t.after(() => context.close());
  context.setDefaultTimeout(45_000);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
  const card = (name) => page.locator("#pipelines .card").filter({ hasText: name });
  await card("first").getByText("answers searches").waitFor();
  await card("second").getByRole("button", { name: "Reindex" }).click();
  await card("second").getByText("100.00").last().waitFor();
  await card("second").getByRole("row", { name: "miro 1 1 1 0 100.00" }).waitFor();
  await card("second").getByRole("button", { name: "Switch over" }).click();
  await card("second").getByText("answers searches").waitFor();
  await page.getByLabel("Search works").fill("scales");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("1 works, from pipeline second").waitFor();
  await page.getByRole("heading", { name: HOSTILE, exact: true }).waitFor();
  assert.equal(await page.locator("#found b, #found img").count(), 0, "what others wrote is shown as text");
  assert.equal(await page.evaluate(() => window.wasRun), undefined);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 340, `${width} wide`);
  assert.deepEqual(complaints, []);
});
