// The console in a real browser, on the sample data of all applications: every view in both themes without accessibility
// violations, the actions of a user in each, logins and roles, other origins, and proxies.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { at, browsing, hooked, logIn, picture, proxy, run, serve, until, violations, violationsInBothThemes } from "./console.mjs";
import { CONTACT, EFFECTS, NAMES, VIEWS, administer, generated, itemLink, put, queues, sampled, streamed, withKeys } from "./console-sample.mjs";

const { visit } = browsing();

// ---- every view

test("every view is accessible in both themes, says nothing to the console, and fits a telephone", { timeout: 480_000 }, async (t) => {
  const server = await sampled(t);
  const written = await generated(server);
  for (const name of NAMES.filter((one) => one !== "manhunt")) assert.ok(written.get(name)?.size > 0, `rows of ${name}`);
  await queues(server);
  for (const colorScheme of ["light", "dark"]) {
    const { page, complaints } = await visit(t, at(server, ""), { colorScheme, bypassCSP: true });
    for (const [name, [hash, role, label]] of Object.entries(VIEWS)) {
      await page.goto(at(server, hash));
      await page.getByRole(role, { name: label }).first().waitFor();
      assert.deepEqual(await violations(page), [], `${name}, ${colorScheme}`);
      if (colorScheme === "light" && ["items", "item", "access", "model", "pattern"].includes(name)) await picture(page, `console-${name}`);
      if (colorScheme === "dark" && name === "changes") await picture(page, "console-changes");
    }
    if (colorScheme === "light") {
      // At this point there are samples to draw.
      await page.goto(at(server, "#/overview"));
      await page.getByRole("img", { name: /^Requests/ }).waitFor({ timeout: 25_000 });
      await picture(page, "console-overview");
    }
    assert.deepEqual(complaints, []);
  }
  const { page } = await visit(t, at(server, ""), { viewport: { width: 390, height: 844 }, bypassCSP: true });
  for (const [name, [hash, role, label]] of Object.entries(VIEWS)) {
    await page.goto(at(server, hash));
    await page.getByRole(role, { name: label }).first().waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
    assert.deepEqual(await violations(page), [], `${name}, on a telephone`);
    if (name === "items") await picture(page, "console-narrow");
  }
});

test("under its own policy the page runs every view without a complaint", { timeout: 120_000 }, async (t) => {
  const server = await sampled(t);
  await queues(server);
  const { page, complaints } = await visit(t, at(server, ""));
  for (const [hash, role, label] of Object.values(VIEWS)) {
    await page.goto(at(server, hash));
    await page.getByRole(role, { name: label }).first().waitFor();
  }
  assert.deepEqual(complaints, []);
});

test("every dialog, and every view of work and trouble, is accessible in both themes", { timeout: 240_000 }, async (t) => {
  const route = await hooked(t, () => false);
  const server = await sampled(t, "--allow-private-webhooks");
  const { dead } = await queues(server);
  await administer(server, "apply-routes", { text: route("notify") });
  await put(server, "manhunt", { entityType: "contact", contactId: "dead", domainId: "mitel", name: "Lazarus" });
  await streamed(server, "books");
  await put(server, "books", { pk: "a" });
  await administer(server, "start-reindex", { table: "books", name: "some", ids: ["a", "missing"], force: true });
  await administer(server, "apply-model", { text: EFFECTS });
  await put(server, "rows", { kind: "shop", shop: "corner" });
  await administer(server, "start-migration", { text: EFFECTS.replace('pk = "shop", sk = "{shop}"', 'pk = "shop#{shop}", sk = "shop"'), paused: true });
  const { page, complaints } = await visit(t, at(server, ""), { bypassCSP: true });
  const check = async (what) => assert.deepEqual(await violationsInBothThemes(page), [], what);
  const dialog = (name) => page.getByRole("dialog", { name });
  const closed = async (name) => {
    await page.keyboard.press("Escape");
    await dialog(name).waitFor({ state: "detached" });
  };
  assert.ok(dead);
  await page.goto(at(server, "#/overview"));
  await page.getByRole("link", { name: /Route notify has .* dead letter/ }).waitFor();
  await page.getByRole("link", { name: /dead letter of the queue jobs/ }).waitFor();
  await page.getByRole("link", { name: "The reindex some has 1 dead letter." }).waitFor();
  await page.getByRole("progressbar", { name: "Migration of effects" }).waitFor();
  await check("overview with alarms");
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: /Items of manhunt/ }).waitFor();
  await check("palette");
  await closed("Command palette");
  await page.keyboard.press("?");
  await dialog("Keys").waitFor();
  await check("keys");
  await closed("Keys");
  await page.goto(at(server, "#/migrations"));
  await page.getByText("paused", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Plan a migration" }).click();
  await page.getByLabel("The new version of the model").waitFor();
  await check("migration under way, form of a plan");
  for (const [button, name] of [["Resume", "Resume the migration"], ["Roll back", "Roll back"]]) {
    await page.getByRole("button", { name: button, exact: true }).click();
    await dialog(name).waitFor();
    await check(name);
    await closed(name);
  }
  await page.goto(at(server, "#/reindexes"));
  await page.getByRole("button", { name: "Start a reindex" }).click();
  await page.getByLabel("Table", { exact: true }).selectOption("manhunt");
  await page.getByLabel("Only rows of the access pattern").selectOption("searches_by_status");
  await page.getByLabel("contactId (string)").waitFor();
  await check("form of a reindex");
  await page.goto(at(server, "#/reindexes/some"));
  await page.locator("code", { hasText: "missing" }).first().waitFor();
  await page.getByRole("button", { name: "Look for gaps" }).click();
  await page.getByRole("button", { name: "Send these again" }).waitFor();
  await check("a reindex with dead letters and gaps");
  await page.getByRole("button", { name: "Drop all" }).click();
  await dialog("Drop the rows that failed").waitFor();
  await check("question before dead letters are dropped");
  await page.goto(at(server, "#/routes/notify"));
  const letter = page.getByRole("region", { name: "Dead letters" }).getByRole("link", { name: "contact insert" }).first();
  await letter.waitFor();
  await check("a route with dead letters");
  await page.getByRole("button", { name: "Move all" }).click();
  await dialog("Move dead letters").waitFor();
  await check("dead letters are moved");
  await closed("Move dead letters");
  await letter.click();
  await dialog("Dead letter").getByText("Lazarus").first().waitFor();
  await check("a dead letter");
  await page.goto(at(server, "#/models/manhunt"));
  await page.getByRole("button", { name: "Audit and repair" }).click();
  await page.getByText("everything agrees").waitFor();
  await check("audit");
  await page.goto(at(server, "#/items/manhunt"));
  for (const name of ["Columns", "Export"]) {
    await page.getByRole("button", { name, exact: true }).click();
    await dialog(name).waitFor();
    await check(name);
    await closed(name);
  }
  await page.goto(at(server, itemLink(CONTACT)));
  await page.getByRole("tab", { name: "JSON" }).click();
  await page.getByLabel("Item as plain JSON").waitFor();
  await check("item as JSON");
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("button", { name: "Read the log" }).click();
  await page.getByText("insert", { exact: true }).waitFor();
  await check("history of an item");
  await page.goto(at(server, "#/queues/jobs"));
  await page.getByRole("button", { name: "Purge" }).click();
  await page.getByRole("dialog").waitFor();
  await check("question before a queue is purged");
  const locked = await withKeys(t);
  await page.goto(at(locked, ""));
  await page.getByRole("heading", { name: /^Log in/ }).waitFor();
  await logIn(page, "ADMIN", "wrong");
  await page.getByRole("alert").waitFor();
  await check("login");
  assert.deepEqual(complaints.filter((text) => !text.includes("Failed to load resource")), []);
});

test("rows of every application's tables are shown with their entities", { timeout: 120_000 }, async (t) => {
  const server = await sampled(t);
  const written = (await generated(server)).set("manhunt", new Set(["manhunt"]));
  assert.deepEqual([...written.keys()].sort(), NAMES);
  const { models } = await administer(server, "describe-models");
  const { page } = await visit(t, at(server, ""));
  for (const [name, tables] of written) {
    const entities = models.find((model) => model.name === name).entities.map((entity) => entity.name);
    for (const table of tables) {
      await page.goto(at(server, `#/items/${encodeURIComponent(table)}`));
      await page.getByRole("region", { name: `Rows of ${table}`, exact: true }).waitFor();
      await page.getByText(/^[1-9]\d* rows?, page 1$/).waitFor();
      const chips = await page.locator(".rows .chip").allTextContents();
      assert.ok(chips.length > 0, `${table}: rows with entities`);
      assert.deepEqual(chips.filter((chip) => !entities.includes(chip)), [], table);
    }
  }
});

// ---- keys and palette

test("everything is reached by keys: palette, views, rows, help, bookmarks", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/overview"));
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: /Items of manhunt/ }).waitFor();
  await page.keyboard.type("items manhunt");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Rows of manhunt" }).waitFor();
  await page.keyboard.press("b");
  await page.getByText("Bookmarked").waitFor();
  await page.locator("button.rowlink").first().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Item" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Item" }).waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await page.getByRole("heading", { name: "Queues" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Items · manhunt bookmark" }).waitFor();
});

test("the chosen option of the palette is in sight", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/overview"), { viewport: { width: 1360, height: 420 } });
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: /Items of manhunt/ }).waitFor();
  await page.locator('#palette-list[aria-busy="false"]').waitFor();
  const options = await page.getByRole("option").count();
  for (let i = 1; i < options; i += 1) await page.keyboard.press("ArrowDown");
  const chosen = page.locator('[role="option"][aria-selected="true"]');
  assert.equal(await chosen.getAttribute("id"), `palette-${options - 1}`);
  const isInSight = () => chosen.evaluate((option) => {
    const list = option.parentElement.getBoundingClientRect();
    const { top, bottom } = option.getBoundingClientRect();
    return top >= list.top - 1 && bottom <= list.bottom + 1 && bottom <= window.innerHeight;
  });
  await until("it is in sight", isInSight);
});

// ---- logins, roles, origins

test("a login takes the secret of a key, keeps no secret, and holds until it is ended", async (t) => {
  const server = await withKeys(t);
  const { page, context } = await visit(t, at(server, "#/items/manhunt"));
  await page.getByRole("heading", { name: /^Log in/ }).waitFor();
  const sent = [];
  page.on("request", (request) => sent.push(`${request.url()} ${request.postData() ?? ""} ${JSON.stringify(request.headers())}`));
  await logIn(page, "ADMIN", "wrong");
  await page.getByRole("alert").waitFor();
  await logIn(page, "ADMIN");
  await page.getByRole("heading", { name: "Items" }).waitFor();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.ok(!kept.includes("secret of") && !sent.some((text) => text.includes("secret of")), "the secret stays where it was typed");
  await page.reload();
  await page.getByRole("heading", { name: "Items" }).waitFor();
  const other = await context.newPage();
  await other.goto(at(server, "#/overview"));
  await other.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("button", { name: "Log out ADMIN" }).click();
  await page.getByRole("heading", { name: /^Log in/ }).waitFor();
  await other.getByRole("heading", { name: /^Log in/ }).waitFor();
});

test("roles are respected by the page and by the server", async (t) => {
  const server = await withKeys(t);
  for (const [id, mayWrite, views] of [["READER", false, 5], ["WRITER", true, 5], ["ADMIN", true, 10]]) {
    const { page } = await visit(t, at(server, "#/items/manhunt"));
    await logIn(page, id);
    await page.getByText("0 rows, page 1").waitFor();
    assert.equal(await page.getByRole("link", { name: "New item" }).count(), mayWrite ? 1 : 0, id);
    assert.equal(await page.locator("nav.side a.nav").count(), views, id);
    const status = await page.evaluate(async (table) => {
      const answer = await fetch("../", {
        method: "POST", body: JSON.stringify({ TableName: table, Item: { entityType: { S: "contact" }, contactId: { S: "f00" }, domainId: { S: "d" }, name: { S: "n" } } }),
        headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.PutItem", "x-trestle-session": sessionStorage.getItem("trestle-session") },
      });
      return answer.status;
    }, "manhunt");
    assert.equal(status, mayWrite ? 200 : 400, id);
    if (mayWrite) {
      await page.evaluate(() => fetch("../", {
        method: "POST", body: JSON.stringify({ TableName: "manhunt", Key: { PK: { S: "f00" }, SK: { S: "contact" } } }),
        headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.DeleteItem", "x-trestle-session": sessionStorage.getItem("trestle-session") },
      }));
    }
    await page.goto(at(server, "#/routes"));
    if (id === "ADMIN") await page.getByRole("heading", { name: "Routes" }).waitFor();
    else await page.getByText("needs the role administration").waitFor();
  }
});

test("a console that is read-only changes nothing, whoever logs in; one that is off is not there", async (t) => {
  const server = await withKeys(t, "--console", "read-only");
  const { page } = await visit(t, at(server, "#/items/manhunt"));
  await logIn(page, "ADMIN");
  await page.getByText("0 rows, page 1").waitFor();
  assert.equal(await page.getByRole("link", { name: "New item" }).count(), 0);
  const answers = await page.evaluate(async () => {
    const session = { "x-trestle-session": sessionStorage.getItem("trestle-session") };
    const send = async (path, headers, body) => (await fetch(path, { method: "POST", headers: { ...session, ...headers }, body: JSON.stringify(body) })).status;
    const amazon = (name) => ({ "content-type": "application/x-amz-json-1.0", "x-amz-target": `DynamoDB_20120810.${name}` });
    const own = { "content-type": "application/json", "x-trestle-admin": "1" };
    return [
      await send("../", amazon("DeleteTable"), { TableName: "manhunt" }), await send("../_trestle/remove-model", own, { name: "manhunt" }),
      await send("../", amazon("ListTables"), {}), await send("../_trestle/list-routes", own, {}),
    ];
  });
  assert.deepEqual(answers, [400, 403, 200, 200]);
  const off = await serve(t, "--console", "off");
  assert.equal((await fetch(`${off.url}/console/`)).status, 404);
});

test("a server without keys whose console is read-only is not written to by the page", async (t) => {
  const server = await sampled(t, "--console", "read-only");
  const { page } = await visit(t, at(server, "#/items/manhunt?item=new"));
  await page.getByText("The server was started with --console read-only.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Write", exact: true }).count(), 0);
  await page.goto(at(server, "#/items/manhunt?mode=partiql"));
  await page.getByLabel("PartiQL statement").fill(`DELETE FROM manhunt WHERE PK = 'c0de-1' AND SK = 'contact'`);
  assert.ok(await page.getByRole("button", { name: "Run" }).isDisabled());
  await page.keyboard.press("Control+Enter");
  await page.waitForTimeout(300);
  await page.getByLabel("PartiQL statement").fill(`SELECT * FROM manhunt WHERE PK = 'c0de-1'`);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("4 rows, page 1").waitFor();
});

test("a page of another origin can neither use a session nor frame the console", async (t) => {
  const server = await withKeys(t);
  const { page } = await visit(t, at(server, "#/overview"));
  await logIn(page, "ADMIN");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const token = await page.evaluate(() => sessionStorage.getItem("trestle-session"));
  const elsewhere = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><body></body>"));
  await new Promise((done) => elsewhere.listen(0, "127.0.0.1", done));
  t.after(() => { elsewhere.close(); elsewhere.closeAllConnections(); });
  const { page: foreign } = await visit(t, `http://127.0.0.1:${elsewhere.address().port}/`);
  // Even with the token, which no other page has. A page on another port of this machine may only read responses of the protocol.
  const [data, administration, login, framed] = await foreign.evaluate(async ({ url, token }) => {
    const send = async (path, headers) => {
      try {
        const answer = await fetch(url + path, { method: "POST", headers: { ...headers, "x-trestle-session": token }, body: "{}" });
        return `${answer.status} ${await answer.text()}`;
      } catch {
        return "refused";
      }
    };
    const frame = document.createElement("iframe");
    frame.src = `${url}/console/`;
    document.body.append(frame);
    await new Promise((done) => { frame.onload = done; setTimeout(done, 2000); });
    let inside = "none";
    try {
      inside = frame.contentDocument?.body?.textContent ?? "none";
    } catch {
      inside = "none";
    }
    return [
      await send("/", { "content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.ListTables" }),
      await send("/_trestle/list-models", { "x-trestle-admin": "1" }), await send("/console/session", {}), inside,
    ];
  }, { url: server.url, token });
  assert.match(data, /may not use sessions of the console/);
  assert.equal(administration, "refused");
  assert.equal(login, "refused");
  assert.ok(!framed.includes("Trestle"), framed);
});

// ---- proxies, other endpoints

test("behind a proxy with a path before it, everything works", async (t) => {
  const server = await withKeys(t);
  const url = await proxy(t, server.url, "/db/one");
  const { page, complaints } = await visit(t, `${url}/console`);
  await logIn(page, "ADMIN");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.ok(page.url().startsWith(`${url}/console/`), page.url());
  await page.goto(`${url}/console/#/models/manhunt`);
  await page.getByRole("heading", { name: "Model manhunt" }).waitFor();
  await page.goto(`${url}/console/#/items/manhunt`);
  await page.getByText("0 rows, page 1").waitFor();
  assert.deepEqual(complaints, []);
});

test("`trestle console` serves the console of another endpoint to the holder of its link, and to nobody else", async (t) => {
  const server = await sampled(t);
  const { url } = await run(t, ["console", "--endpoint", server.url], { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" }, /(http:\S+#ticket=\S+)\s/);
  const origin = new URL(url).origin;
  const without = await fetch(origin, { method: "POST", headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.ListTables" }, body: "{}" });
  assert.equal(without.status, 400);
  const { page } = await visit(t, url);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.ok(!page.url().includes("ticket"));
  await page.goto(`${origin}/console/#/items/manhunt`);
  await page.getByText("28 rows, page 1").waitFor();
  await page.locator(".chip.entity", { hasText: "contactMethod" }).first().waitFor();
});
