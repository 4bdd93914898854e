// The page of apps/manhunt in a real browser: whoever watches sees a search begin, unfold and end. Run by `node --test`
// with MANHUNT naming the program.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HOSTILE, demonstrated, start } from "./demo.mjs";

const DOMAIN = "d0";
const demo = demonstrated("MANHUNT");
const { visit } = demo;

async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${demo.url}/domains/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(answer.status, 201, await answer.clone().text());
  return answer.json();
}

/** A contact who is waited for this many seconds by one method after another. */
async function contact(name, waits, domain = DOMAIN) {
  const { contactId } = await post(`${domain}/contacts`, { name });
  for (const [order, waitSeconds] of waits.entries()) {
    await post(`${domain}/contacts/${contactId}/methods`, { type: "text", destination: `+${order}`, waitSeconds, order });
  }
  return contactId;
}

const begin = (contactId, domain = DOMAIN) => post(`${domain}/searches`, { contactId });

const status = (page, word) => page.getByRole("status").getByText(word, { exact: true }).waitFor();
const attempt = (page, destination) => page.locator("section").filter({ hasText: destination });
const card = (page, name) => page.locator("section").filter({ hasText: name });

test("a search that is begun on the page unfolds there without a reload, and an answer ends it", async (t) => {
  await contact("Ada", [2, 1, 600]);
  const { page, complaints } = await visit(t, "/");
  await page.getByLabel("Domain").fill(DOMAIN);
  await page.getByRole("button", { name: "Open" }).click();
  await card(page, "Ada").getByRole("button", { name: "Find" }).click();
  await status(page, "active");
  await page.evaluate(() => { window.isTheSamePage = true; });
  assert.equal(await attempt(page, "+2").count(), 0, "the last method comes last");
  await attempt(page, "+0").waitFor();
  await page.getByRole("progressbar").waitFor();
  await attempt(page, "+1").waitFor();
  await attempt(page, "+2").getByText("waiting for an answer").waitFor();
  await attempt(page, "+0").getByText("no answer").waitFor();
  await attempt(page, "+1").getByRole("button", { name: "Answer" }).click();
  await status(page, "successful");
  await attempt(page, "+1").getByText("answered").waitFor();
  await page.getByText("the search was successful").waitFor();
  assert.equal(await page.getByRole("button").count(), 0, "there is nothing left to do");
  assert.equal(await page.evaluate(() => window.isTheSamePage), true);
  assert.deepEqual(complaints, []);
});

test("everything can be done by keyboard, and whoever stands on a button stays there while attempts appear", async (t) => {
  const only = "d1";
  await contact("Grace", [2, 600], only);
  const { page, complaints } = await visit(t, "/");
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const tabTo = async (what) => {
    for (let presses = 0; presses < 10 && (await focused()) !== what; presses += 1) await page.keyboard.press("Tab");
    assert.equal(await focused(), what);
  };
  await tabTo("Manhunt");
  await page.keyboard.press("Tab");
  await page.keyboard.type(only);
  await page.keyboard.press("Enter");
  await card(page, "Grace").waitFor();
  await tabTo("Find");
  await page.keyboard.press("Enter");
  await attempt(page, "+0").waitFor();
  await tabTo("Cancel");
  await attempt(page, "+1").waitFor();
  assert.equal(await focused(), "Cancel");
  await page.keyboard.press("Enter");
  await status(page, "canceled");
  await page.getByText("the search was canceled: from the page").waitFor();
  assert.deepEqual(complaints, []);
});

test("what others wrote is shown as text", async (t) => {
  const hostile = await contact(HOSTILE, [600], "d2");
  await post(`d2/contacts/${hostile}/methods`, { type: "call", destination: HOSTILE, order: 9 });
  const { searchId } = await begin(hostile, "d2");
  const { page, complaints } = await visit(t, "/#/d2");
  await page.locator("strong").getByText(HOSTILE, { exact: true }).waitFor();
  await page.goto(`${demo.url}/#/d2/${searchId}`);
  await page.getByRole("link", { name: HOSTILE, exact: true }).waitFor();
  assert.equal(await page.locator("#view b, #view img").count(), 0);
  assert.equal(await page.evaluate(() => window.wasRun), undefined);
  assert.deepEqual(complaints, []);
});

test("a link in a message leads to its attempt", async (t) => {
  const { searchId } = await begin(await contact("Emmy", [0, 600], "d3"), "d3");
  const { page, complaints } = await visit(t, `/#/d3/${searchId}/${searchId}-0`);
  const own = page.locator("section.own");
  assert.match(await own.textContent(), /text \+0/);
  await own.getByRole("button", { name: "Answer" }).click();
  await status(page, "successful");
  assert.deepEqual(complaints, []);
});

test("on a narrow screen nothing sticks out", async (t) => {
  const name = "Hubert-Blaine-Wolfeschlegelsteinhausenbergerdorff";
  const { searchId } = await begin(await contact(name, [600], "d4"), "d4");
  const { page, complaints } = await visit(t, "/#/d4", { viewport: { width: 320, height: 640 } });
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  await card(page, name).getByRole("button", { name: "Find" }).waitFor();
  assert.ok((await width()) <= 320, `${await width()} wide`);
  await page.goto(`${demo.url}/#/d4/${searchId}`);
  await attempt(page, "+0").getByRole("button", { name: "Answer" }).waitFor();
  assert.ok((await width()) <= 320, `${await width()} wide`);
  assert.deepEqual(complaints, []);
});

test("what went wrong is said on the page", async (t) => {
  const { page, complaints } = await visit(t, "/#/d5/ff");
  await page.getByRole("alert").getByText("there is no such search").waitFor();
  assert.ok(complaints.length > 0 && complaints.every((text) => text.includes("404")), `${complaints}`);
});

test("what was seen elsewhere does not stay under the address of something that is not there", async (t) => {
  await contact("Hedy", [600], "d6");
  const { page } = await visit(t, "/#/d6");
  for (const [nowhere, why] of [["#/d6/ff", "there is no such search"], ["#/Nobody", "domainId"], ["#/%", "URI"]]) {
    await page.goto(`${demo.url}/#/d6`);
    await card(page, "Hedy").waitFor();
    await page.goto(`${demo.url}/${nowhere}`);
    await page.getByRole("alert").getByText(why).waitFor();
    assert.equal(await card(page, "Hedy").count(), 0, nowhere);
  }
});

test("a list that has more than one page is shown whole, and searches begin with the newest", async (t) => {
  const busy = await contact("Busy", [], "d7");
  for (let at = 0; at < 101; at += 1) await begin(busy, "d7");
  // Searches are sorted by their start in whole seconds, as in the original's rows.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const last = await begin(busy, "d7");
  const { page, complaints } = await visit(t, "/#/d7");
  await card(page, "Busy").getByText("and 92 before").waitFor();
  const newest = card(page, "Busy").getByRole("link").first();
  assert.match(await newest.getAttribute("href"), new RegExp(last.searchId));
  assert.deepEqual(complaints, []);
});

test("when the server is gone the page says so, and keeps what was seen", async (t) => {
  const { child, address } = await start("MANHUNT");
  t.after(() => child.kill());
  const { page } = await visit(t, address);
  await status(page, "active");
  child.kill();
  await page.getByRole("alert").getByText("The server does not answer.").waitFor();
  await status(page, "active");
});
