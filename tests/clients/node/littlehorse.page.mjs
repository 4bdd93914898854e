// The page of apps/littlehorse in a real browser: a run unfolds, a person does a task, a run is stopped, resumed and deleted. Run by
// `node --test` with LITTLEHORSE naming the program.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HOSTILE, demonstrated } from "./demo.mjs";

const demo = demonstrated("LITTLEHORSE");
const { visit } = demo;

async function post(path, body) {
  const answer = await fetch(`${demo.url}/tenants/default/${path}`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  assert.ok(answer.ok, await answer.clone().text());
  return answer.json();
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
  await page.goto(new URL("/#default/nothing", demo.url).href);
  await page.getByText("there is no such object").waitFor();
});

test("an answer that comes after another address was opened is not drawn there", async (t) => {
  const { page } = await visit(t, "/#default");
  await page.getByRole("heading", { name: "Runs of default" }).waitFor();
  let asked = 0;
  await page.route(/wf-runs\/greet-ada$/, async (route) => {
    asked += 1;
    await page.waitForTimeout(700);
    await route.continue();
  });
  await page.evaluate(() => { location.hash = "#default/greet-ada"; });
  await page.waitForTimeout(100);
  await page.evaluate(() => {
    location.hash = "#default";
    window.drawn = [];
    new MutationObserver(() => window.drawn.push(document.querySelector("h2")?.textContent)).observe(document.body, { childList: true, subtree: true });
  });
  await page.waitForTimeout(1500);
  assert.equal(asked, 1);
  assert.deepEqual((await page.evaluate(() => window.drawn)).filter((title) => title === "greet-ada"), []);
});
