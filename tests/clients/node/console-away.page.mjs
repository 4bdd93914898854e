// Servers that stop and start again: every view shows this in words, tries again, and continues without a reload.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { at, browsing, ended, folder, logIn, proxy, run, serve, until, violationsInBothThemes } from "./console.mjs";
import { EFFECTS, MODELS, NAMES, VIEWS, administer, manhunt, put, queues, withKeys } from "./console-sample.mjs";

const { visit } = browsing();

/** Views that are open at once: each sends its own requests to the server. */
const AT_ONCE = 7;

const shown = (page, [, role, name]) => page.getByRole(role, { name }).first().waitFor();
const banner = (page) => page.getByText(/No answer from .* The console tries again until the server is back/).first();

/** Waits until the view is complete again, in the same page without a reload. */
async function recovered(page, name, view) {
  await page.locator(".banner").waitFor({ state: "detached" });
  await shown(page, view);
  await until(`${name} has no error`, async () => (await page.getByRole("alert").count()) === 0);
  assert.equal(await page.evaluate(() => window.isSame), true, `${name} was not loaded again`);
}

test("every view says that the server is away, and goes on when it is back", { timeout: 600_000 }, async (t) => {
  const data = join(folder(t), "data");
  const begin = (port) => run(t, ["serve", "--data", data, "--port", port, ...NAMES.flatMap((name) => ["--model", join(MODELS, `${name}.toml`)])]);
  let server = await begin("0");
  await manhunt(server);
  await queues(server);
  const { port } = new URL(server.url);
  const { context } = await visit(t, at(server, ""), { bypassCSP: true });
  const all = Object.entries(VIEWS);
  for (let first = 0; first < all.length; first += AT_ONCE) {
    const views = all.slice(first, first + AT_ONCE);
    const pages = [];
    for (const [, view] of views) {
      const page = await context.newPage();
      await page.goto(at(server, view[0]));
      await shown(page, view);
      await page.evaluate(() => { window.isSame = true; });
      pages.push(page);
    }
    await ended(server);
    for (const page of pages) await banner(page).waitFor();
    server = await begin(port);
    for (const [i, [name, view]] of views.entries()) await recovered(pages[i], name, view);
    // Views that are opened while the server is stopped: another one in each page.
    await ended(server);
    for (const page of pages) await banner(page).waitFor();
    const next = (i) => views[(i + 1) % views.length];
    for (const [i, page] of pages.entries()) await page.evaluate((hash) => { location.hash = hash; }, next(i)[1][0]);
    for (const [i, page] of pages.entries()) {
      const [name] = next(i);
      await until(`${name} says what it waits for`, async () => (await page.getByText(/^Loading /).count()) === 0);
      assert.ok(await banner(page).isVisible(), name);
      assert.deepEqual(await violationsInBothThemes(page), [], `${name} without a server`);
    }
    server = await begin(port);
    for (const [i, page] of pages.entries()) await recovered(page, ...next(i));
    for (const page of pages) await page.close();
  }
});

test("a page that the browser draws late begins all the same", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  const { page, context } = await visit(t, "about:blank");
  await context.addInitScript(() => {
    const later = window.setTimeout;
    window.requestAnimationFrame = (act) => later(act, 1000);
    window.setTimeout = (act, ms, ...more) => later(act, Math.max(ms ?? 0, 1000), ...more);
  });
  await page.goto(at(server, "#/models"));
  await page.getByText("No model yet").waitFor();
});

test("the user can ask again at once", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  const { page } = await visit(t, at(server, "#/models"));
  await page.getByText("No model yet").waitFor();
  const asked = [];
  let isAway = true;
  await page.route("**/console/session", (route) => {
    asked.push(Date.now());
    return isAway ? route.abort() : route.continue();
  });
  await banner(page).waitFor();
  // Just after an automatic request, which the page sends every 1.5 seconds.
  const before = asked.length;
  await until("it asks", () => asked.length > before);
  isAway = false;
  await page.getByRole("button", { name: "Try again now" }).click();
  await page.locator(".banner").waitFor({ state: "detached" });
  assert.ok(asked.at(-1) - asked.at(-2) < 1300, `asked after ${asked.at(-1) - asked.at(-2)} ms`);
});

test("what was sent to a server that went away is not sent again, and the user is told to look", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  const { QueueUrl } = await queues(server);
  const { page } = await visit(t, at(server, "#/queues/jobs"));
  const sends = [];
  await page.route("**/", (route) => {
    if (route.request().headers()["x-amz-target"] !== "AmazonSQS.SendMessage") return route.continue();
    sends.push(route.request().postDataJSON().QueueUrl);
    return route.abort();
  });
  await page.getByLabel("Send a message").fill("once");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("alert").getByText("It is not known whether the request was carried out: look before you repeat it.").waitFor();
  await page.locator(".banner").waitFor({ state: "detached" });
  await page.waitForTimeout(2000);
  assert.deepEqual(sends, [QueueUrl]);
  assert.equal(await page.getByLabel("Send a message").inputValue(), "once");
});

test("behind a proxy, whose own error it is, a server that goes away is waited for", { timeout: 60_000 }, async (t) => {
  const before = await serve(t);
  const url = await proxy(t, before.url, "/db");
  const { page } = await visit(t, `${url}/console/#/queues`);
  await page.getByText("No queue yet").waitFor();
  await ended(before);
  await banner(page).waitFor();
  const after = await serve(t, "--port", new URL(before.url).port);
  await queues(after);
  await page.getByRole("region", { name: "Queues" }).getByText("jobs", { exact: true }).waitFor();
  assert.equal(await page.locator(".banner").count(), 0);
});

test("a session outlives a restart of the server, and a page that was opened before it waits for it", { timeout: 60_000 }, async (t) => {
  const before = await withKeys(t);
  const { page, context } = await visit(t, at(before, "#/models/manhunt"));
  await logIn(page, "ADMIN");
  await page.getByRole("heading", { name: "Model manhunt" }).waitFor();
  // The page has loaded its files, and the server does not respond to its first request.
  const other = await context.newPage();
  let isAway = true;
  await other.route("**/console/session", (route) => (isAway ? route.abort() : route.continue()));
  await other.goto(at(before, "#/routes"));
  await banner(other).waitFor();
  await ended(before);
  await banner(page).waitFor();
  await withKeys(t, "--port", new URL(before.url).port);
  isAway = false;
  await page.locator(".banner").waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "Model manhunt" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Log out ADMIN" }).count(), 1);
  await other.getByRole("heading", { name: "Routes" }).waitFor();
});

test("on a gateway, views say that the endpoint is away, and go on when it is back", { timeout: 180_000 }, async (t) => {
  const data = join(folder(t), "data");
  const begin = (port) => run(t, ["serve", "--data", data, "--port", port, "--behind-gateways"]);
  const endpoint = await begin("0");
  const gateway = await run(t, ["serve", "--port", "0", "--backend", endpoint.url], { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any", AWS_REGION: "us-east-1" });
  await administer(gateway, "apply-model", { text: EFFECTS });
  await put(gateway, "rows", { kind: "shop", shop: "corner" });
  const { page } = await visit(t, at(gateway, "#/items/rows?hash=shop"));
  await page.getByText("1 row, page 1").waitFor();
  await ended(endpoint);
  await page.getByRole("button", { name: "Query" }).click();
  await page.getByRole("alert").getByText(endpoint.url.replace("http://", "")).waitFor();
  await begin(new URL(endpoint.url).port);
  await page.getByText("1 row, page 1").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
});
