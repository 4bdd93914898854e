// The page of apps/littlehorse in a real browser: a run unfolds, a person does a task, a run is stopped, resumed and deleted. Run by
// `node --test` with LITTLEHORSE naming the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const BROWSER = "/usr/bin/chromium";
const PATIENCE = 45_000;
// As root there is no sandbox; the rest keeps the browser from calling its maker.
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const HOSTILE = `<b>x</b> <img src=x onerror="window.wasRun = true">`;

let program, browser, url;

/** The demonstration, and its address. */
async function demo() {
  const child = spawn(process.env.LITTLEHORSE, ["demo", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"], env: { RUST_LOG: "warn" } });
  const address = await new Promise((found, lost) => {
    let said = "";
    child.on("error", lost).on("exit", (code) => lost(new Error(`littlehorse ended with ${code}`)));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const there = said.match(/(http:\/\/\S+)\n/);
      if (there) found(there[1]);
    });
  });
  return { child, address };
}

before(async () => {
  assert.ok(process.env.LITTLEHORSE, "LITTLEHORSE must name the program: target/debug/littlehorse");
  assert.ok(existsSync(BROWSER), `there is no ${BROWSER}: install Debian's package chromium`);
  const { child, address } = await demo();
  [program, url] = [child, address];
  browser = await chromium.launch({ executablePath: BROWSER, args: FLAGS, timeout: 60_000 });
}, { timeout: 90_000 });

after(async () => {
  await browser?.close();
  program?.kill();
});

async function post(path, body) {
  const answer = await fetch(`${url}/tenants/default/${path}`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  assert.ok(answer.ok, await answer.clone().text());
  return answer.json();
}

/** A fresh page, and what its console complains about. */
async function visit(t, path) {
  const context = await browser.newContext();
  t.after(() => context.close());
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(new URL(path, url).href);
  return { page, complaints };
}

const status = (page, word) => page.locator(".row > .tag").getByText(word, { exact: true }).first().waitFor();

test("a run unfolds on the page without a reload, a person does a task there, and the run can be deleted", async (t) => {
  const { page, complaints } = await visit(t, "/");
  await page.getByRole("link", { name: "order-1" }).click();
  await page.evaluate(() => { window.isTheSamePage = true; });
  await page.getByText("say-hello").or(page.getByText("confirm")).first().waitFor();
  await page.getByText("paid").first().waitFor();
  await post("external-events", { eventName: "payment", correlationKey: "o-1", content: "12 EUR" });
  await page.getByLabel("results").fill("yes");
  await page.getByRole("button", { name: "Complete" }).click();
  await page.getByText("cool-off").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await status(page, "HALTED");
  await page.getByRole("button", { name: "Resume" }).click();
  await status(page, "RUNNING");
  await status(page, "COMPLETED");
  await page.getByText("order-done").first().waitFor();
  assert.equal(await page.evaluate(() => window.isTheSamePage), true);
  assert.deepEqual(complaints, []);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Runs of default" }).waitFor();
  await page.getByRole("link", { name: "greet-ada" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "order-1" }).count(), 0);
});

test("what clients wrote is shown as text, and what is refused is said", async (t) => {
  await post("wf-runs", { wfSpecName: "order", wfRunId: "hostile", variables: { name: HOSTILE, orderId: HOSTILE } });
  const { page } = await visit(t, "/#default/hostile");
  await page.getByRole("cell", { name: HOSTILE, exact: true }).first().waitFor();
  assert.equal(await page.evaluate(() => window.wasRun), undefined);
  await page.goto(new URL("/#default/nothing", url).href);
  await page.getByText("there is no such object").waitFor();
});
