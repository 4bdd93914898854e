// The console in a real browser, on the sample data of all applications: every view in both themes without violations of
// accessibility, what a person does in each, logins and roles, other origins, proxies, and servers that go away.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { browsing, picture, proxy, run, serve, violations, violationsInBothThemes } from "./console.mjs";
import { administer, call, generated, manhunt, put, queues } from "./console-sample.mjs";

const MODELS = process.env.MODELS ?? join(dirname(process.env.TRESTLE ?? ""), "../../models");
const NAMES = ["klayers", "littlehorse", "manhunt", "reindexer", "warehouse"];
const { visit } = browsing();
const CONTACT = { PK: { S: "c0de-1" }, SK: { S: "contact" } };
const at = (server, hash) => `${server.url}/console/${hash}`;
const itemLink = (key) => `#/items/manhunt?item=${encodeURIComponent(JSON.stringify(key))}`;

/** A server with the models of all applications, and rows of each. */
async function sampled(t, ...flags) {
  const server = await serve(t, ...NAMES.flatMap((name) => ["--model", join(MODELS, `${name}.toml`)]), ...flags);
  await manhunt(server);
  return server;
}

// ---- every view

const VIEWS = {
  overview: ["#/overview", "heading", "Tables"],
  items: ["#/items/manhunt", "region", "Rows of manhunt"],
  query: ["#/items/manhunt?hash=c0de-1&op=begins_with&value=a", "region", "Rows of manhunt"],
  access: ["#/items/manhunt?mode=access&access=contact_with_methods&p.contactId=c0de-1&run=1", "region", "Rows of contact_with_methods"],
  partiql: [`#/items/manhunt?mode=partiql&statement=${encodeURIComponent(`SELECT * FROM manhunt WHERE PK = 'c0de-1'`)}`, "region", "Rows of the statement"],
  item: [itemLink(CONTACT), "dialog", "Item"],
  "new-item": ["#/items/manhunt?item=new", "dialog", "New item"],
  models: ["#/models", "heading", "Models"],
  model: ["#/models/klayers", "img", /Model klayers/],
  entities: ["#/models/manhunt?tab=entities", "region", "Entity search"],
  patterns: ["#/models/manhunt?tab=access", "region", "Access patterns"],
  file: ["#/models/manhunt?tab=file", "textbox", "Model file"],
  infer: ["#/models/new?table=manhunt", "region", "What was found"],
  changes: ["#/changes/manhunt?from=TRIM_HORIZON", "region", "Changes"],
  pattern: ["#/changes/manhunt?tab=pattern&entities=contact", "region", "Changes that are taken"],
  routes: ["#/routes", "region", "Routes"],
  route: ["#/routes/search-begun", "heading", "Dead letters"],
  "route-file": ["#/routes?tab=file", "textbox", "Route file"],
  queues: ["#/queues", "region", "Queues"],
  queue: ["#/queues/jobs", "region", "Messages"],
  migrations: ["#/migrations", "heading", "Migrations"],
  reindexes: ["#/reindexes", "heading", "Reindexes"],
  metrics: ["#/metrics", "heading", /Metrics/],
};

test("every view is accessible in both themes, says nothing to the console, and fits a telephone", { timeout: 480_000 }, async (t) => {
  const server = await sampled(t);
  const written = await generated(server);
  for (const name of NAMES.filter((one) => one !== "manhunt")) assert.ok(written.get(name) > 0, `rows of ${name}`);
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
      // By now there are samples to draw.
      await page.goto(at(server, "#/overview"));
      await page.getByRole("img", { name: /^Requests/ }).waitFor({ timeout: 25_000 });
      await picture(page, "console-overview");
    }
    assert.deepEqual(complaints, []);
  }
  const { page } = await visit(t, at(server, ""), { viewport: { width: 390, height: 844 } });
  for (const [name, [hash, role, label]] of Object.entries(VIEWS)) {
    await page.goto(at(server, hash));
    await page.getByRole(role, { name: label }).first().waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
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

/** A table with a stream, of one key. */
const streamed = (server, TableName) => call(server, "DynamoDB_20120810.CreateTable", {
  TableName, BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
});

/** An HTTP target of routes: `works(path)` says whether it takes a delivery. */
async function hooked(t, works) {
  const hook = createServer((asked, answer) => answer.writeHead(works(asked.url) ? 200 : 400).end("no such thing"));
  await new Promise((done) => hook.listen(0, "127.0.0.1", done));
  t.after(() => { hook.close(); hook.closeAllConnections(); });
  return (route) => `[route.${route}]\nentity = "contact"\nmaximum_retry_attempts = 0\ntarget = { webhook = "http://127.0.0.1:${hook.address().port}/${route}" }\n`;
}

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
  await page.getByRole("link", { name: /dead letters of the queue jobs/ }).waitFor();
  await page.getByRole("link", { name: "The reindex some has 1 dead letters." }).waitFor();
  await page.getByRole("progressbar", { name: "Migration of effects" }).waitFor();
  await check("overview with alarms");
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: /Items of manhunt/ }).waitFor();
  await check("palette");
  await closed("Go to");
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
  await generated(server);
  const { models } = await administer(server, "describe-models");
  const { page } = await visit(t, at(server, ""));
  for (const model of models) {
    const table = model.tables.find((one) => model.entities.some((entity) => entity.table === one.table));
    await page.goto(at(server, `#/items/${encodeURIComponent(table.table)}`));
    await page.getByText(/^\d+ rows?, page 1$/).waitFor();
    const chips = await page.locator(".rows .chip").allTextContents();
    if (chips.length) assert.ok(chips.every((chip) => model.entities.some((entity) => entity.name === chip)), `${model.name}: ${chips}`);
  }
});

// ---- items

test("rows lie in their collections, with keys as the attributes they are made of", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/items/manhunt?index=GSI2"));
  const group = page.getByRole("rowheader", { name: /^GSI2PK/ }).filter({ hasText: "active" }).first();
  await group.waitFor();
  assert.deepEqual(await group.locator(".field-name").allTextContents(), ["status", "contactId"]);
  await page.goto(at(server, "#/items/manhunt"));
  await page.getByRole("button", { name: "Show the collection" }).first().click();
  await page.getByText("One Query: reads the rows of one partition.").waitFor();
  assert.equal(await page.locator("tr.collection").count(), 1);
});

test("every operator is asked by form, BETWEEN too, and the address is the question", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/items/manhunt"));
  await page.getByLabel("PK =").fill("c0de-1");
  await page.getByLabel("SK", { exact: true }).selectOption("between");
  await page.getByLabel("from").fill("a1-0");
  await page.getByLabel("to", { exact: true }).fill("a1-1");
  await page.getByRole("button", { name: "Query" }).click();
  await page.getByText("2 rows, page 1").waitFor();
  const { page: other } = await visit(t, page.url());
  await other.getByText("2 rows, page 1").waitFor();
  const operators = [
    ["=", "text", 4], ["<>", "text", 8], ["<", "email", 4], ["<=", "email", 8], [">", "email", 4], [">=", "text", 4], ["in", "email, text", 8], ["begins_with", "te", 4],
    ["contains", "ex", 4], ["not_contains", "ex", 20],
  ];
  for (const [op, value, rows] of operators) {
    await page.goto(at(server, `#/items/manhunt?filters=${encodeURIComponent(JSON.stringify([{ name: "type", op, type: "S", value }, { name: "entityType", op: op === "not_contains" ? "exists" : "=", type: "S", value: "contactMethod" }]))}`));
    await page.getByText(`${rows} rows, page 1`).waitFor({ timeout: 5000 }).catch(() => assert.fail(`${op} ${value}`));
  }
  const others = [["exists", "", 12], ["not_exists", "", 16], ["type", "S", 12], ["size=", "4", 8], ["size>", "4", 4], ["size<", "5", 8]];
  for (const [op, value, rows] of others) {
    await page.goto(at(server, `#/items/manhunt?filters=${encodeURIComponent(JSON.stringify([{ name: op.startsWith("size") ? "type" : "order", op, type: "S", value: op === "type" ? "N" : value }, { name: "entityType", op: op === "not_exists" ? "exists" : "=", type: "S", value: "contactMethod" }]))}`));
    await page.getByText(`${rows} rows, page 1`).waitFor({ timeout: 5000 }).catch(() => assert.fail(`${op} ${value}`));
  }
  await page.goto(at(server, `#/items/manhunt?filters=${encodeURIComponent(JSON.stringify([{ name: "order", op: "between", type: "N", value: "2", value2: "3" }]))}`));
  await page.getByText("8 rows, page 1").waitFor();
});

test("a table is paged to its end, and back", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "many", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  });
  for (let i = 0; i < 250; i += 25) {
    const many = Array.from({ length: 25 }, (_, j) => ({ PutRequest: { Item: { pk: { S: `row#${i + j}, "quoted"` }, n: { N: String(i + j) } } } }));
    await call(server, "DynamoDB_20120810.BatchWriteItem", { RequestItems: { many } });
  }
  const { page } = await visit(t, at(server, "#/items/many"));
  const seen = new Set();
  for (const [rows, number] of [[100, 1], [100, 2], [50, 3]]) {
    await page.getByText(`${rows} rows, page ${number}`).waitFor();
    for (const key of await page.locator("tr.row button.rowlink").allTextContents()) seen.add(key);
    if (number < 3) await page.getByRole("button", { name: "Next page" }).click();
  }
  assert.equal(seen.size, 250);
  await page.getByRole("button", { name: "Previous page" }).click();
  await page.getByText("100 rows, page 2").waitFor();
});

test("an access pattern is a form that says its request and its cost, and runs as one Query", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/items/manhunt?mode=access&access=searches_by_status"));
  await page.getByRole("table", { name: "What it does" }).getByText(/RCU for a page/).waitFor();
  const asked = [];
  page.on("request", (request) => request.headers()["x-amz-target"] && asked.push(request.headers()["x-amz-target"]));
  await page.getByLabel("contactId (string)").fill("c0de-0");
  await page.getByLabel("status (string)").fill("active");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("1 row, page 1").waitFor();
  assert.deepEqual(asked, ["DynamoDB_20120810.Query"]);
  await page.getByLabel("status (string)").fill("nothing");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("alert").getByText(/one of|active/).waitFor();
});

test("a link never writes: only a SELECT runs by itself", async (t) => {
  const server = await sampled(t);
  const statement = `DELETE FROM manhunt WHERE PK = 'c0de-1' AND SK = 'contact'`;
  const { page } = await visit(t, at(server, `#/items/manhunt?mode=partiql&statement=${encodeURIComponent(statement)}`));
  await page.getByLabel("PartiQL statement").waitFor();
  await page.waitForTimeout(500);
  const get = () => call(server, "DynamoDB_20120810.GetItem", { TableName: "manhunt", Key: CONTACT });
  assert.ok((await get()).Item);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("0 rows, page 1").waitFor();
  assert.equal((await get()).Item, undefined);
});

test("an item is edited on the condition that it is as it was read: of two browsers the second is told", async (t) => {
  const server = await sampled(t);
  const { page: first } = await visit(t, at(server, itemLink(CONTACT)));
  const { page: second } = await visit(t, at(server, itemLink(CONTACT)));
  for (const [page, name] of [[first, "Grace Brewster Hopper"], [second, "Amazing Grace"]]) {
    await page.getByLabel("Value of name").fill(name);
    await page.getByText("What will be written").waitFor();
  }
  await first.getByRole("button", { name: "Undo" }).click();
  assert.equal(await first.getByLabel("Value of name").inputValue(), "Grace Hopper");
  await first.getByLabel("Value of name").fill("Grace Brewster Hopper");
  await first.getByRole("region", { name: "Preview" }).getByRole("rowheader", { name: "GSI1SK" }).waitFor();
  await first.getByRole("button", { name: "Save" }).click();
  await first.getByText("Saved").waitFor();
  await second.getByRole("button", { name: "Save" }).click();
  await second.getByText("The item was changed since it was read, so nothing was written.").waitFor();
  await second.locator(".card", { hasText: "changed since" }).getByText("Grace Brewster Hopper").first().waitFor();
  const { Item } = await call(server, "DynamoDB_20120810.GetItem", { TableName: "manhunt", Key: CONTACT });
  assert.equal(Item.name.S, "Grace Brewster Hopper");
  assert.equal(Item.GSI1SK.S, "Grace Brewster Hopper", "the index key followed");
  await second.getByRole("button", { name: "Read it again" }).click();
  await second.getByLabel("Value of name").fill("Amazing Grace");
  await second.getByRole("button", { name: "Save" }).click();
  await second.getByText("Saved").waitFor();
  await second.getByRole("tab", { name: "History" }).click();
  await second.getByRole("button", { name: "Read the log" }).click();
  await second.getByText("insert", { exact: true }).waitFor();
  assert.equal(await second.locator(".drawer li.card").count(), 3);
});

test("a new item is checked as it is typed, written once, and deleted", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/items/manhunt?item=new"));
  await page.getByLabel("Entity").selectOption("contact");
  const write = page.getByRole("button", { name: "Write", exact: true });
  await page.getByLabel("Value of contactId").fill("not hexadecimal");
  await page.getByText("contactId may only have the characters 0-9a-f-").waitFor();
  assert.ok(await write.isDisabled());
  await page.getByLabel("Value of contactId").fill("c0de-9");
  await page.getByLabel("Value of domainId").fill("mitel");
  await page.getByLabel("Value of name").fill("Ada Lovelace");
  await write.click();
  await page.getByText("Written", { exact: true }).waitFor();
  const Key = { PK: { S: "c0de-9" }, SK: { S: "contact" } };
  const { Item } = await call(server, "DynamoDB_20120810.GetItem", { TableName: "manhunt", Key });
  assert.equal(Item.name.S, "Ada Lovelace");
  await page.goto(at(server, itemLink(Key)));
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog", { name: "Delete this item" }).getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted").waitFor();
  assert.equal((await call(server, "DynamoDB_20120810.GetItem", { TableName: "manhunt", Key })).Item, undefined);
});

test("rows are edited and deleted together, with progress, and exported in three formats", async (t) => {
  const server = await sampled(t);
  const { page, context } = await visit(t, at(server, ""));
  // Without it a file is offered when it is complete, which the browser's download shows.
  await context.addInitScript(() => { delete window.showSaveFilePicker; });
  await page.goto(at(server, "#/items/manhunt?hash=c0de-2"));
  await page.reload();
  await page.getByText("4 rows, page 1").waitFor();
  const { readFile } = await import("node:fs/promises");
  for (const [label, holds] of [["JSON", '"contactId": "c0de-2"'], ["DynamoDB JSON, a line for each item", '{"Item":{'], ["CSV", "contactId"]]) {
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByLabel(label, { exact: true }).check();
    await page.getByLabel("All pages, from the first").check();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Write the file" }).click()]);
    assert.ok((await readFile(await file.path(), "utf8")).includes(holds), label);
    await page.keyboard.press("Escape");
  }
  await page.getByLabel("Select all rows of this page").check();
  await page.getByRole("button", { name: "Edit 4 …" }).click();
  await page.getByLabel("Attribute", { exact: true }).fill("waitSeconds");
  await page.getByLabel("Type", { exact: true }).selectOption("N");
  await page.getByLabel("Value", { exact: true }).fill("60");
  await page.getByText("4 of 4 rows change.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByText(/[1-4] done, \d not changed\./).waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).last().click();
  const method = await call(server, "DynamoDB_20120810.GetItem", { TableName: "manhunt", Key: { PK: { S: "c0de-2" }, SK: { S: "a2-0" } } });
  assert.equal(method.Item.waitSeconds.N, "60");
  await page.getByLabel("Select all rows of this page").check();
  await page.getByRole("button", { name: "Delete 4 …" }).click();
  await page.getByText("The model derives no other row from these.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("4 done, 0 not changed.").waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).last().click();
  await page.getByText("0 rows, page 1").waitFor();
});

test("all sort attributes of an index are asked by form, each after the one before it is given", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "games", BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    AttributeDefinitions: ["pk", "league", "year", "day", "round"].map((AttributeName) => ({ AttributeName, AttributeType: AttributeName === "pk" || AttributeName === "league" ? "S" : "N" })),
    GlobalSecondaryIndexes: [{
      IndexName: "by-time", Projection: { ProjectionType: "ALL" },
      KeySchema: [{ AttributeName: "league", KeyType: "HASH" }, ...["year", "day", "round"].map((AttributeName) => ({ AttributeName, KeyType: "RANGE" }))],
    }],
  });
  for (const year of [2025, 2026]) for (const day of [1, 2, 3]) for (const round of [1, 2]) await put(server, "games", { pk: `${year}-${day}-${round}`, league: "north", year, day, round });
  const { page } = await visit(t, at(server, "#/items/games?index=by-time&hash=north"));
  await page.getByText("12 rows, page 1").waitFor();
  assert.equal(await page.getByLabel("day", { exact: true }).count(), 0, "the first comes first");
  await page.getByLabel("year", { exact: true }).selectOption("=");
  await page.getByLabel("value", { exact: true }).fill("2026");
  await page.getByLabel("day", { exact: true }).selectOption("between");
  await page.getByLabel("from", { exact: true }).fill("2");
  await page.getByLabel("to", { exact: true }).fill("3");
  await page.getByRole("button", { name: "Query", exact: true }).click();
  await page.getByText("4 rows, page 1").waitFor();
  await page.getByLabel("day", { exact: true }).selectOption("=");
  await page.getByLabel("round", { exact: true }).selectOption(">");
  await page.locator("#value2-sort").fill("1");
  await page.getByRole("button", { name: "Query", exact: true }).click();
  await page.getByText("1 row, page 1").waitFor();
  const { page: other } = await visit(t, page.url());
  await other.getByText("1 row, page 1").waitFor();
});

test("all pages are written to a file while they are read", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "many", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  });
  for (let i = 0; i < 250; i += 25) {
    await call(server, "DynamoDB_20120810.BatchWriteItem", { RequestItems: { many: Array.from({ length: 25 }, (_, j) => ({ PutRequest: { Item: { pk: { S: String(i + j) }, [i + j === 249 ? "last" : "n"]: { N: String(i + j) } } } })) } });
  }
  const { page, context } = await visit(t, at(server, ""));
  await context.addInitScript(() => {
    window.files = [];
    window.showSaveFilePicker = async ({ suggestedName }) => {
      const file = { name: suggestedName, parts: [], isClosed: false };
      window.files.push(file);
      return { createWritable: async () => ({ write: async (text) => { file.parts.push(text); }, close: async () => { file.isClosed = true; }, abort: async () => {} }) };
    };
  });
  await page.goto(at(server, "#/items/many"));
  await page.reload();
  await page.getByText("100 rows, page 1").waitFor();
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByLabel("All pages, from the first").check();
  for (const label of ["JSON", "DynamoDB JSON, a line for each item", "CSV"]) {
    await page.getByLabel(label, { exact: true }).check();
    await page.getByRole("button", { name: "Write the file" }).click();
    await page.getByText(`250 rows written to many.${{ JSON: "json", CSV: "csv" }[label] ?? "ndjson"}.`).waitFor();
  }
  const [json, lines, csv] = await page.evaluate(() => window.files);
  assert.ok([json, lines, csv].every((file) => file.isClosed && file.parts.length >= 3), "a part for each page");
  const keys = Array.from({ length: 250 }, (_, i) => String(i)).sort();
  assert.deepEqual(JSON.parse(json.parts.join("")).map((row) => row.pk).sort(), keys);
  assert.deepEqual(lines.parts.join("").trim().split("\n").map((line) => JSON.parse(line).Item.pk.S).sort(), keys);
  const [head, ...rows] = csv.parts.join("").trim().split("\r\n");
  assert.deepEqual(head.split(",").sort(), ["last", "n", "pk"]);
  assert.equal(rows.length, 250);
});

/** Heads, counters and inverses in one table. */
const EFFECTS = `model = "effects"

[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"

[entity.doc]
table = "rows"
key = { pk = "doc#{name}", sk = "v#{version:04}" }
attributes = { name = "string", version = "integer", shop = { type = "string", optional = true } }

[entity.doc.head]
key.sk = "head"
newest_by = "version"

[entity.doc.counter.docs]
entity = "shop"
attribute = "docs"

[entity.shop]
table = "rows"
key = { pk = "shop", sk = "{shop}" }
attributes = { shop = "string", docs = { type = "integer", default = 0 } }

[entity.person]
table = "rows"
key = { pk = "person", sk = "{person}" }
attributes = { person = "string", clubs = { type = "string-set", optional = true } }

[entity.person.inverse.members]
entity = "club"
of = "clubs"
set = "members"

[entity.club]
table = "rows"
key = { pk = "club", sk = "{club}" }
attributes = { club = "string", members = { type = "string-set", optional = true } }
`;

test("before a row is written, changed or deleted, the server says everything that will follow, and writes nothing", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await administer(server, "apply-model", { text: EFFECTS });
  await put(server, "rows", { kind: "shop", shop: "corner" });
  await put(server, "rows", { kind: "club", club: "chess" });
  await put(server, "rows", { kind: "person", person: "ada" });
  await put(server, "rows", { kind: "doc", name: "a", version: 1, shop: "corner" });
  const all = async () => (await call(server, "DynamoDB_20120810.Scan", { TableName: "rows" })).Items;
  const before = await all();
  const { page } = await visit(t, at(server, "#/items/rows?item=new"), { bypassCSP: true });
  await page.getByLabel("Entity").selectOption("doc");
  await page.getByLabel("Value of name").fill("a");
  await page.getByLabel("Value of version").fill("2");
  await page.getByLabel("Value of shop").fill("corner");
  const preview = page.getByRole("region", { name: "Preview" });
  await preview.locator("summary", { hasText: "doc.head" }).filter({ hasText: "version: 1 → 2" }).waitFor();
  await preview.locator("summary", { hasText: "shop" }).filter({ hasText: "docs: 1 → 2" }).waitFor();
  assert.deepEqual(await all(), before, "a preview writes nothing");
  await preview.locator("summary").last().scrollIntoViewIfNeeded();
  await picture(page, "console-preview");
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByLabel("Value of version").fill("1");
  await preview.getByRole("alert").getByText("The conditional request failed").waitFor();
  await page.goto(at(server, `#/items/rows?item=${encodeURIComponent(JSON.stringify({ pk: { S: "person" }, sk: { S: "ada" } }))}`));
  await page.getByLabel("Value of clubs").fill("chess");
  await preview.locator("summary", { hasText: "club" }).filter({ hasText: "members: – → " }).waitFor();
  await page.goto(at(server, `#/items/rows?item=${encodeURIComponent(JSON.stringify({ pk: { S: "doc#a" }, sk: { S: "v#0001" } }))}`));
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Delete this item" });
  await dialog.locator("summary", { hasText: "deleted" }).filter({ hasText: "doc.head" }).waitFor();
  await dialog.locator("summary", { hasText: "shop" }).filter({ hasText: "docs: 1 → 0" }).waitFor();
  await page.goto(at(server, "#/items/rows?hash=doc%23a"));
  await page.getByRole("button", { name: "Delete all …" }).click();
  await page.getByText("The model derives rows of doc.head, shop from these. They change in the same commits.").waitFor();
  assert.deepEqual(await all(), before);
});

test("everything that a query finds is edited or deleted, on all its pages, and it can be stopped", { timeout: 90_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "many", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }, { AttributeName: "sk", AttributeType: "N" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  });
  for (let i = 0; i < 250; i += 25) {
    const many = Array.from({ length: 25 }, (_, j) => ({ PutRequest: { Item: { pk: { S: i < 225 ? "one" : "two" }, sk: { N: String(i + j) } } } }));
    await call(server, "DynamoDB_20120810.BatchWriteItem", { RequestItems: { many } });
  }
  const rows = async () => (await call(server, "DynamoDB_20120810.Scan", { TableName: "many" })).Items;
  const { page } = await visit(t, at(server, "#/items/many?hash=one"), { bypassCSP: true });
  await page.getByText("100 rows, page 1").waitFor();
  await page.getByRole("button", { name: "Edit all …" }).click();
  await page.getByRole("dialog", { name: "Edit all 225 rows of many" }).waitFor();
  assert.equal(await page.getByRole("region", { name: "First rows" }).getByRole("row").count(), 5);
  await picture(page, "console-bulk");
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByLabel("Attribute", { exact: true }).fill("state");
  await page.getByLabel("Value", { exact: true }).fill("seen");
  await page.getByLabel("Rows in a second").fill("1000");
  await page.getByRole("dialog").getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByText("225 done, 0 not changed.").waitFor();
  assert.equal((await rows()).filter((row) => row.state?.S === "seen").length, 225);
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
  await page.getByRole("button", { name: "Delete all …" }).click();
  await page.getByRole("dialog", { name: "Delete all 225 rows of many" }).waitFor();
  await page.getByLabel("Rows in a second").fill("20");
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText(/[1-9]\d* done, 0 not changed\./).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText(/Stopped\. \d+ done, 0 not changed\./).waitFor();
  const left = (await rows()).length;
  assert.ok(left > 25 && left < 250, `${left} rows are left`);
  await page.waitForTimeout(500);
  assert.equal((await rows()).length, left, "nothing goes on after it was stopped");
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
  await page.getByRole("button", { name: "Delete all …" }).click();
  await page.getByLabel("Rows in a second").fill("1000");
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText(`${left - 25} done, 0 not changed.`).waitFor();
  assert.deepEqual(new Set((await rows()).map((row) => row.pk.S)), new Set(["two"]), "rows of other partitions stay");
});

test("text of others is never taken for markup", async (t) => {
  const server = await sampled(t);
  const hostile = `<img src=x onerror="window.wasRun = true">`;
  await put(server, "manhunt", { entityType: "contact", contactId: "bad", domainId: hostile, name: hostile });
  const { page, complaints } = await visit(t, at(server, "#/items/manhunt?hash=bad"));
  await page.getByText(hostile).first().waitFor();
  assert.equal(await page.evaluate(() => window.wasRun), undefined);
  assert.deepEqual(complaints, []);
});

// ---- models, changes, routes, queues, migrations, reindexes

test("a model file shows its errors in place, is compared, and applied", async (t) => {
  const server = await serve(t);
  const { page } = await visit(t, at(server, "#/models"));
  await page.getByRole("link", { name: "Write one" }).click();
  const file = page.getByLabel("Model file");
  const sound = await file.inputValue();
  await file.fill(sound.replace('query = "shop"', 'query = "shops"'));
  await page.getByRole("alert").getByText(/line 2\d/).waitFor();
  await file.fill(sound);
  await page.getByText("The file is sound").waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("heading", { name: "Model shop" }).waitFor();
  await page.goto(at(server, "#/models/shop?tab=file"));
  await page.getByLabel("Model file").fill(sound.replace('name = "string"', 'name = "string", email = { type = "string", optional = true }'));
  await page.getByRole("region", { name: "Differences" }).getByText("email").waitFor();
  await page.getByRole("button", { name: "Audit and repair" }).click();
  await page.getByText("everything agrees").waitFor();
});

test("changes appear as they happen, are filtered, paused and resumed", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/changes/manhunt"));
  await page.getByText("Waiting for changes").waitFor();
  await page.waitForTimeout(1500);
  await put(server, "manhunt", { entityType: "contact", contactId: "1fe", domainId: "mitel", name: "Live" });
  const rows = page.getByRole("region", { name: "Changes" });
  await rows.getByText("1fe").first().waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await put(server, "manhunt", { entityType: "contact", contactId: "2fe", domainId: "mitel", name: "Unseen" });
  await page.getByText("2 changes since").waitFor();
  assert.equal(await rows.getByText("2fe").count(), 0);
  await page.getByRole("button", { name: "Resume" }).click();
  await put(server, "manhunt", { entityType: "contact", contactId: "3fe", domainId: "mitel", name: "Again" });
  await rows.getByText("3fe").first().waitFor();
  await page.getByLabel("Event").selectOption("remove");
  await page.getByText("Each write to the table that fits the filter appears here").waitFor();
  await put(server, "manhunt", { entityType: "contact", contactId: "4fe", domainId: "mitel", name: "Not removed" });
  await page.getByText("None of those that came fits the filter.").waitFor();
});

test("at a high rate a sample of the changes is shown and said to be one, and all are counted", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "busy", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
  });
  const { page, complaints } = await visit(t, at(server, "#/changes/busy?from=TRIM_HORIZON"));
  await page.getByText("Waiting for changes").waitFor();
  const batch = (i) => call(server, "DynamoDB_20120810.BatchWriteItem", { RequestItems: { busy: Array.from({ length: 25 }, (_, j) => ({ PutRequest: { Item: { pk: { S: `${i}-${j}` } } } })) } });
  for (let i = 0; i < 120; i += 8) await Promise.all(Array.from({ length: 8 }, (_, j) => batch(i + j)));
  await page.getByText("a sample is shown").waitFor();
  await page.getByText("3,000 changes since").waitFor();
  const shown = await page.getByRole("region", { name: "Changes" }).locator("tr.row").count();
  assert.ok(shown > 0 && shown <= 100, `${shown} rows`);
  assert.deepEqual(complaints, []);
});

/** An entity with many rows, and one with few. */
const READINGS = `model = "readings"

[table.readings]
key = ["pk", "sk"]
entity_attribute = "kind"
stream = "new-and-old-images"

[entity.reading]
table = "readings"
key = { pk = "sensor#{sensor}", sk = "reading#{number:06}" }
attributes = { sensor = "string", number = "integer" }

[entity.alarm]
table = "readings"
key = { pk = "sensor#{sensor}", sk = "alarm#{number:06}" }
attributes = { sensor = "string", number = "integer", level = "integer" }
`;

test("a rare entity of a busy table is shown whole: the filter comes before the sample", { timeout: 90_000 }, async (t) => {
  const server = await serve(t);
  await administer(server, "apply-model", { text: READINGS });
  const { page } = await visit(t, at(server, "#/changes/readings?from=TRIM_HORIZON&entity=alarm"));
  await page.getByText("Waiting for changes").waitFor();
  const item = (number) => ({ sensor: { S: "one" }, number: { N: String(number) }, ...(number % 300 ? { kind: { S: "reading" } } : { kind: { S: "alarm" }, level: { N: "1" } }) });
  for (let i = 0; i < 3000; i += 25) {
    await call(server, "DynamoDB_20120810.BatchWriteItem", { RequestItems: { readings: Array.from({ length: 25 }, (_, j) => ({ PutRequest: { Item: item(i + j) } })) } });
  }
  const rows = page.getByRole("region", { name: "Changes" }).locator("tr.row");
  const sampled = page.getByText("a sample is shown");
  await page.getByText(/3,000 changes since the filter was set, .* 10 fit the filter\./).waitFor();
  await rows.nth(9).waitFor();
  assert.equal(await rows.count(), 10);
  assert.equal(await sampled.count(), 0, "no alarm is left out");
  await page.getByLabel("Entity").selectOption("");
  await page.getByLabel("Changed attribute").fill("level");
  await page.getByText(/3,000 changes since the filter was set, .* 10 fit the filter\./).waitFor();
  await rows.nth(9).waitFor();
  assert.equal(await rows.count(), 10);
  await page.getByLabel("Changed attribute").fill("");
  await page.getByLabel("Entity").selectOption("reading");
  await page.getByText(/3,000 changes since the filter was set, .* 2,990 fit the filter\./).waitFor();
  await sampled.waitFor();
  // From now on, too; and a filter that is set later shows what comes later.
  await page.getByLabel("Begin").selectOption("LATEST");
  await page.getByLabel("Entity").selectOption("alarm");
  await page.getByLabel("Event").selectOption("remove");
  const key = (i) => ({ pk: { S: "sensor#one" }, sk: { S: `alarm#${String(i).padStart(6, "0")}` } });
  for (let i = 0; i < 3000 && !(await rows.count()); i += 300) {
    await call(server, "DynamoDB_20120810.DeleteItem", { TableName: "readings", Key: key(i) });
    await rows.first().waitFor({ timeout: 5000 }).catch(() => {});
  }
  assert.ok(await rows.count() > 0, "an alarm that was removed is shown");
});

/** A folder that goes when the test is over. */
function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "trestle-console-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function ended(server) {
  server.child.removeAllListeners("exit");
  const gone = new Promise((done) => server.child.on("exit", done));
  server.child.kill();
  await gone;
}

/** A table with a stream, and a proxy before its server that can refuse reads of the stream. */
async function followed(t, server) {
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "log", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
  });
  const reads = { answered: 0, refused: 0, mayAnswer: () => true };
  const url = await proxy(t, server.url, "/p", (asked) => {
    if (!asked.headers["x-amz-target"]?.endsWith(".GetRecords")) return false;
    const isAnswered = reads.mayAnswer();
    reads[isAnswered ? "answered" : "refused"] += 1;
    return !isAnswered;
  });
  return { url, reads };
}

async function until(what, isSo) {
  for (let i = 0; i < 300; i += 1) {
    if (await isSo()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(`it never was so: ${what}`);
}

const SHARDS = 4;
test("each change is shown once, whatever of the stream could not be read meanwhile", { timeout: 120_000 }, async (t) => {
  const flags = ["serve", "--data", folder(t), "--stream-shards", String(SHARDS)];
  const before = await run(t, [...flags, "--port", "0"]);
  const { url, reads } = await followed(t, before);
  const { page } = await visit(t, `${url}/console/#/changes/log`);
  await until("every shard is read", () => reads.answered >= SHARDS);
  const write = async (server, from) => { for (let i = from; i < from + 20; i += 1) await put(server, "log", { pk: `row-${i}` }); };
  // Some reads fail, then all; then the server is gone for a while.
  let asked = 0;
  reads.mayAnswer = () => (asked += 1) % 3 > 0;
  await write(before, 0);
  await until("reads failed", () => reads.refused >= SHARDS);
  const refused = reads.refused;
  reads.mayAnswer = () => false;
  await write(before, 20);
  await until("all reads failed", () => reads.refused >= refused + 2 * SHARDS);
  await page.getByText(/No answer from .* The console tries again/).first().waitFor();
  await ended(before);
  reads.mayAnswer = () => true;
  const after = await run(t, [...flags, "--port", new URL(before.url).port]);
  await write(after, 40);
  await page.getByText("60 changes since this view was opened").waitFor();
  const keys = page.getByRole("region", { name: "Changes" }).locator("tr.row a.quietlink");
  await keys.nth(59).waitFor();
  assert.deepEqual((await keys.allTextContents()).map((text) => text.trim()).sort(), Array.from({ length: 60 }, (_, i) => `row-${i}`).sort());
  assert.equal(await page.getByText("Changes are missing here").count(), 0);
});

test("changes that the stream trimmed before they were read are said to be missing", { timeout: 60_000 }, async (t) => {
  const server = await serve(t, "--virtual-clock");
  const { url, reads } = await followed(t, server);
  const { page } = await visit(t, `${url}/console/#/changes/log?from=TRIM_HORIZON`);
  await put(server, "log", { pk: "shown" });
  const rows = page.getByRole("region", { name: "Changes" });
  await rows.getByText("shown").waitFor();
  reads.mayAnswer = () => false;
  await put(server, "log", { pk: "trimmed" });
  await administer(server, "move-clock", { advance_seconds: 25 * 3600 });
  await put(server, "log", { pk: "later" });
  reads.mayAnswer = () => true;
  await rows.getByText("later").waitFor();
  await page.getByText("Changes are missing here. The stream trimmed changes before they were read.").waitFor();
  assert.equal(await rows.getByText("trimmed", { exact: true }).count(), 0);
});

test("a pattern is tried on the last changes, alone or as a route has it", { timeout: 60_000 }, async (t) => {
  const server = await sampled(t);
  await call(server, "AmazonSQS.CreateQueue", { QueueName: "jobs" });
  await administer(server, "apply-routes", { text: `[route.grace]\nentity = "contact"\nevent = "insert"\npattern = { new = { name = ["Grace Hopper"] } }\ntarget = { queue = "jobs" }\n` });
  const { page } = await visit(t, at(server, "#/changes/manhunt"));
  await page.getByRole("link", { name: "Try a pattern" }).click();
  await page.getByText("28 of 28").waitFor();
  await page.getByLabel("Pattern, as EventBridge has it").fill(`{ "new": { "name": [{ "prefix": "K" }] } }`);
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByText("1 of 28").waitFor();
  const { page: other } = await visit(t, page.url());
  await other.getByText("1 of 28").waitFor();
  await page.getByLabel("Pattern, as EventBridge has it").fill(`{ "new": 7 }`);
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByRole("alert").getByText(/pattern cannot be used/).waitFor();
  await page.getByLabel("As the route").selectOption("grace");
  await page.getByText("1 of 28").waitFor();
  assert.match(await page.getByLabel("Pattern, as EventBridge has it").inputValue(), /Grace Hopper/);
  assert.equal(await page.getByLabel("Entities").inputValue(), "contact");
  await page.getByRole("region", { name: "Changes that are taken" }).locator("summary").click();
  await page.getByRole("region", { name: "Changes that are taken" }).getByText(/"domainId": "mitel"/).waitFor();
});

test("a model is inferred from a table, checked and applied", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "plain", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }, { AttributeName: "sk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  });
  for (const id of ["ada", "grace", "emmy"]) {
    await put(server, "plain", { pk: `user#${id}`, sk: "profile", user: id, name: `Name of ${id}` });
    for (const number of [1, 2]) await put(server, "plain", { pk: `user#${id}`, sk: `order#${number}`, user: id, order: String(number), total: number });
  }
  const { page } = await visit(t, at(server, "#/models/new"));
  await page.getByLabel("Infer from the rows of a table").selectOption("plain");
  await page.getByText("9 rows read. A proposal").waitFor();
  assert.match(await page.getByLabel("Model file").inputValue(), /user#\{user\}/);
  await page.getByText("The file is sound").waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("heading", { name: /^Model plain/ }).waitFor();
});

test("the lag of a route is there from before the page was opened", { timeout: 60_000 }, async (t) => {
  const server = await sampled(t, "--allow-private-webhooks");
  await administer(server, "apply-routes", { text: `[route.nowhere]\ntable = "manhunt"\nstarting_position = "trim-horizon"\ntarget = { webhook = "http://127.0.0.1:9/" }\n` });
  const lag = async () => (await administer(server, "read-metrics")).samples.filter((sample) => sample.routes?.some((route) => route.route === "nowhere" && route.lag_records > 0));
  while ((await lag()).length < 2) await new Promise((done) => setTimeout(done, 500));
  const { page } = await visit(t, at(server, "#/routes/nowhere"));
  await page.getByRole("img", { name: /^Records behind, last hour: records [1-9]/ }).waitFor({ timeout: 3000 });
  await page.getByRole("img", { name: /^Age of the oldest change/ }).waitFor();
});

test("dead letters are shown whole and replayed", { timeout: 60_000 }, async (t) => {
  const heard = [];
  let works = false;
  const hook = createServer((asked, answer) => { heard.push(asked.url); answer.writeHead(works ? 200 : 400).end(works ? "" : "no such thing"); });
  await new Promise((done) => hook.listen(0, "127.0.0.1", done));
  t.after(() => { hook.close(); hook.closeAllConnections(); });
  const server = await sampled(t, "--allow-private-webhooks");
  await administer(server, "apply-routes", { text: `[route.notify]\nentity = "contact"\nmaximum_retry_attempts = 0\ntarget = { webhook = "http://127.0.0.1:${hook.address().port}/" }\n` });
  await put(server, "manhunt", { entityType: "contact", contactId: "dead", domainId: "mitel", name: "Lazarus" });
  const { page } = await visit(t, at(server, "#/routes/notify"));
  const letter = page.getByRole("region", { name: "Dead letters" }).getByRole("link", { name: "contact insert" }).first();
  await letter.click();
  await page.getByRole("dialog", { name: "Dead letter" }).getByText("Lazarus").first().waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Dead letter" }).waitFor({ state: "detached" });
  await page.goto(at(server, "#/overview"));
  await page.getByRole("link", { name: /Route notify has .* dead letter/ }).waitFor();
  works = true;
  await page.goto(at(server, "#/routes/notify"));
  await page.getByRole("button", { name: "Replay all" }).click();
  await page.getByText("None: every change was delivered or is still tried.").waitFor();
  assert.ok(heard.length >= 2);
});

test("messages are looked at without being taken, sent, and moved back", async (t) => {
  const server = await serve(t);
  const { QueueUrl } = await queues(server);
  const { page } = await visit(t, at(server, "#/queues/jobs"));
  await page.getByRole("region", { name: "Messages" }).getByText('{"job":2}').waitFor();
  await page.getByLabel("Send a message").fill("by hand");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("region", { name: "Messages" }).getByText("by hand").waitFor();
  await page.goto(at(server, "#/queues/jobs-given-up"));
  await page.getByRole("region", { name: "Messages" }).getByText('{"job":0}').waitFor();
  await page.getByRole("button", { name: "Move all back" }).click();
  const dialog = page.getByRole("dialog", { name: "Move the messages of jobs-given-up" });
  await dialog.getByRole("button", { name: "Move", exact: true }).click();
  await page.getByText(/CouldNotDetermineMessageSource/).waitFor();
  await page.getByRole("button", { name: "Move all back" }).click();
  await dialog.getByLabel("To").selectOption({ label: "jobs" });
  await dialog.getByRole("button", { name: "Move", exact: true }).click();
  await page.getByText("No messages.").waitFor();
  const { Attributes } = await call(server, "AmazonSQS.GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] });
  assert.equal(Attributes.ApproximateNumberOfMessages, "5");
  const { Messages } = await call(server, "AmazonSQS.ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10, AttributeNames: ["All"] });
  assert.ok(Messages.filter((message) => message.Body !== '{"job":0}').every((message) => message.Attributes.ApproximateReceiveCount === "1"), "looking counts nothing");
});

test("a migration is planned, started, watched and finished", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  const { page } = await visit(t, at(server, "#/models/new"));
  const sound = await page.getByLabel("Model file").inputValue();
  await administer(server, "apply-model", { text: sound });
  for (const id of ["ada", "grace"]) await put(server, "shop", { entity: "customer", customerId: id, name: id });
  await page.goto(at(server, "#/migrations"));
  await page.getByRole("button", { name: "Plan a migration" }).click();
  await page.getByLabel("The new version of the model").fill(sound.replaceAll("customer#{customerId}", "c#{customerId}"));
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("It can be rolled back until it is finished.").waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Finish" }).click();
  await page.getByText("done", { exact: true }).waitFor();
  const { Items } = await call(server, "DynamoDB_20120810.Scan", { TableName: "shop" });
  assert.deepEqual(Items.map((item) => item.pk.S).sort(), ["c#ada", "c#grace"]);
});

test("a reindex is started, and every row is touched", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "books", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
  });
  for (const id of ["a", "b", "c"]) await put(server, "books", { pk: id });
  const { page } = await visit(t, at(server, "#/reindexes"));
  await page.getByRole("button", { name: "Start a reindex" }).click();
  await page.getByLabel("Name", { exact: true }).fill("again");
  await page.getByLabel("start even if nothing reads the stream").check();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { name: "Reindex again" }).waitFor();
  await page.locator(".chip", { hasText: "done" }).waitFor();
  const { Items } = await call(server, "DynamoDB_20120810.Scan", { TableName: "books" });
  assert.ok(Items.every((item) => item.reindexVersion), JSON.stringify(Items));
});

const SHOP = `model = "shop"

[table.shop]
key = ["pk", "sk"]
entity_attribute = "entity"

[entity.customer]
table = "shop"
key = { pk = "customer#{customerId}", sk = "customer" }
attributes = { customerId = "string", name = "string", orders = { type = "integer", default = 0 } }

[entity.order]
table = "shop"
key = { pk = "customer#{customerId}", sk = "order#{number:06}" }
attributes = { customerId = "string", number = "integer" }

[entity.order.counter.orders]
entity = "customer"
attribute = "orders"
`;
const MOVED = SHOP.replaceAll("customer#{customerId}", "c#{customerId}");

async function customers(server, number) {
  for (let i = 0; i < number; i += 1) await put(server, "shop", { entity: "customer", customerId: `c${i}`, name: "Ann" });
}

test("a migration is started paused, resumed at a rate, paused and rolled back", { timeout: 120_000 }, async (t) => {
  const server = await serve(t);
  await administer(server, "apply-model", { text: SHOP });
  await customers(server, 60);
  const { page } = await visit(t, at(server, "#/migrations"));
  const state = (name) => page.getByText(name, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Plan a migration" }).click();
  await page.getByLabel("The new version of the model").fill(MOVED);
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("It can be rolled back until it is finished.").waitFor();
  await page.getByLabel("start paused").check();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await state("paused");
  const migration = async () => (await administer(server, "list-migrations")).migrations[0];
  assert.equal((await migration()).rows_moved, 0);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await dialog.getByLabel("Rows in a second, at most").fill("2");
  await dialog.getByRole("button", { name: "Resume" }).click();
  await until("a row moved", async () => (await migration()).rows_moved > 0);
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await state("paused");
  const { rows_moved: moved } = await migration();
  assert.ok(moved > 0 && moved < 60, `${moved} rows moved`);
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await until("it is rolled back", async () => {
    const { state: now, paused } = await migration();
    if (paused) await administer(server, "resume-migration", { rate: "unlimited" });
    return now === "rolled-back";
  });
  await state("rolled-back");
  const { Items } = await call(server, "DynamoDB_20120810.Scan", { TableName: "shop" });
  assert.ok(Items.length === 60 && Items.every((item) => item.pk.S.startsWith("customer#")));
});

test("on a gateway the console shows rows that cannot move with their reason, and repairs what was changed past it", { timeout: 120_000 }, async (t) => {
  const endpoint = await serve(t, "--behind-gateways");
  const gateway = await run(t, ["serve", "--port", "0", "--backend", endpoint.url], { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any", AWS_REGION: "us-east-1" });
  await administer(gateway, "apply-model", { text: SHOP });
  await customers(gateway, 3);
  await put(gateway, "shop", { entity: "order", customerId: "c0", number: 1 });
  const { page, complaints } = await visit(t, at(gateway, "#/items/shop?hash=customer%23c0"), { bypassCSP: true });
  await page.getByText("2 rows, page 1").waitFor();
  await page.locator(".chip.entity", { hasText: "order" }).waitFor();
  await page.goto(at(gateway, "#/overview"));
  await page.getByRole("region", { name: "Tables" }).getByRole("link", { name: "shop" }).first().waitFor();
  // A client that writes to the endpoint itself: the gateway cannot know.
  await call(endpoint, "DynamoDB_20120810.UpdateItem", {
    TableName: "shop", Key: { pk: { S: "customer#c0" }, sk: { S: "customer" } }, UpdateExpression: "SET orders = :n", ExpressionAttributeValues: { ":n": { N: "7" } },
  });
  await page.goto(at(gateway, "#/models/shop"));
  await page.getByRole("button", { name: "Audit and repair" }).click();
  await page.getByText("1 derived facts disagree").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Repair", exact: true }).click();
  await until("the count is right", async () => (await call(endpoint, "DynamoDB_20120810.GetItem", { TableName: "shop", Key: { pk: { S: "customer#c0" }, sk: { S: "customer" } } })).Item.orders.N === "1");
  await administer(gateway, "start-migration", { text: MOVED, paused: true });
  await call(endpoint, "DynamoDB_20120810.PutItem", { TableName: "shop", Item: { pk: { S: "customer#odd" }, sk: { S: "customer" }, entity: { S: "customer" }, customerId: { S: "odd" } } });
  await page.goto(at(gateway, "#/migrations"));
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await page.getByRole("heading", { name: "1 rows cannot move" }).waitFor();
  await page.getByRole("listitem").filter({ hasText: "customer#odd / customer" }).filter({ hasText: "name" }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.goto(at(gateway, "#/queues"));
  await page.getByText("This server has no queues").waitFor();
  assert.deepEqual(complaints.filter((text) => !text.includes("Failed to load resource")), []);
});

test("existing rows are filled in as a model is applied, and a model is removed", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await administer(server, "apply-model", { text: SHOP.replace(", orders = { type = \"integer\", default = 0 }", "").replace(/\n\[entity\.order\.counter[^]*$/, "") });
  await customers(server, 2);
  const { page } = await visit(t, at(server, "#/models/shop?tab=file"));
  await page.getByLabel("Model file").fill(SHOP);
  await page.getByLabel("fill in what existing rows lack").check();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await until("rows have the count", async () => (await call(server, "DynamoDB_20120810.Scan", { TableName: "shop" })).Items.every((item) => item.orders?.N === "0"));
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No model yet").waitFor();
  assert.deepEqual((await administer(server, "list-models")).models, []);
});

test("a route is backfilled, and its dead letters are replayed one by one, moved and dropped", { timeout: 120_000 }, async (t) => {
  const state = { taken: [], works: false };
  const route = await hooked(t, (path) => {
    const isTaken = path === "/other" || state.works;
    if (isTaken) state.taken.push(path);
    return isTaken;
  });
  const server = await sampled(t, "--allow-private-webhooks");
  await administer(server, "apply-routes", { text: route("notify") + route("other").replace('"contact"', '"search"') });
  const contact = (contactId) => put(server, "manhunt", { entityType: "contact", contactId, domainId: "mitel", name: "Lazarus" });
  const dead = async () => (await administer(server, "list-dead-letters", { route: "notify" })).dead_letters.length;
  for (const id of ["d1", "d2", "d3", "d4"]) await contact(id);
  const { page } = await visit(t, at(server, "#/routes/notify"));
  const letters = page.getByRole("region", { name: "Dead letters" });
  const rows = (number) => until(`${number} dead letters`, async () => (await dead()) === number && (await letters.locator("tbody tr").count()) === number);
  await rows(4);
  state.works = true;
  await letters.getByRole("button", { name: "Replay", exact: true }).first().click();
  await page.getByText("1 delivered, 0 failed again, 0 left.").waitFor();
  await rows(3);
  state.works = false;
  await letters.getByRole("button", { name: "Drop", exact: true }).first().click();
  await rows(2);
  await page.getByRole("button", { name: "Move all" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Move", exact: true }).click();
  await page.getByText("None: every change was delivered or is still tried.").waitFor();
  await page.goto(at(server, "#/routes/other"));
  await page.getByRole("button", { name: "Replay all" }).click();
  await page.getByText("2 delivered, 0 failed again, 0 left.").waitFor();
  assert.equal(state.taken.filter((path) => path === "/other").length, 2);
  await page.goto(at(server, "#/routes/notify"));
  await contact("d5");
  await rows(1);
  await page.getByRole("button", { name: "Drop all" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Drop", exact: true }).click();
  await page.getByText("None: every change was delivered or is still tried.").waitFor();
  assert.equal(await dead(), 0);
  state.works = true;
  const delivered = async () => (await administer(server, "list-routes")).routes.find((one) => one.route === "notify").delivered;
  const before = await delivered();
  await page.getByRole("button", { name: "Backfill" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Start" }).click();
  await page.getByText(/^Backfill: done/).waitFor();
  await until("every contact was delivered", async () => (await delivered()) >= before + 9);
});

test("a queue is purged after a question", async (t) => {
  const server = await serve(t);
  const { QueueUrl } = await queues(server);
  const { page } = await visit(t, at(server, "#/queues/jobs"));
  await page.getByRole("region", { name: "Messages" }).getByText('{"job":1}').waitFor();
  await page.getByRole("button", { name: "Purge" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete all messages" }).click();
  await page.getByText("No messages.").waitFor();
  const { Attributes } = await call(server, "AmazonSQS.GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] });
  assert.equal(Attributes.ApproximateNumberOfMessages, "0");
});

test("a reindex is paused, resumed and cancelled; failed rows are replayed and dropped, gaps are sent again", { timeout: 120_000 }, async (t) => {
  const server = await serve(t);
  await streamed(server, "books");
  for (let i = 0; i < 40; i += 1) await put(server, "books", { pk: `b${i}` });
  const { page } = await visit(t, at(server, "#/reindexes"));
  const chip = (text) => page.locator("h1 + .chip", { hasText: text }).waitFor();
  const start = async (name, fields) => {
    await page.goto(at(server, "#/reindexes"));
    await page.getByRole("button", { name: "Start a reindex" }).click();
    for (const [label, value] of Object.entries({ Name: name, ...fields })) await page.getByLabel(label, { exact: true }).fill(value);
    await page.getByLabel("start even if nothing reads the stream").check();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("heading", { name: `Reindex ${name}` }).waitFor();
  };
  await start("slow", { "Write units in a second, at most": "1", Workers: "1", "Rows of a page": "5" });
  await chip("running");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await chip("paused");
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await chip("running");
  await page.getByRole("button", { name: "Cancel the reindex" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the reindex" }).click();
  await chip("cancelled");
  await start("some", { "Only rows with these ids": "b1\nlate", "Attempts for each row": "2", Version: "2000000007", "Version attribute": "generation" });
  await chip("done");
  const failed = page.locator("section.card", { has: page.getByRole("heading", { name: "Rows that failed" }) });
  await failed.locator("code", { hasText: "late" }).waitFor();
  const touched = async (pk) => (await call(server, "DynamoDB_20120810.GetItem", { TableName: "books", Key: { pk: { S: pk } } })).Item.generation?.N;
  assert.equal(await touched("b1"), "2000000007");
  assert.equal(await touched("b2"), undefined, "only rows with the ids");
  await put(server, "books", { pk: "late" });
  await page.getByRole("button", { name: "Try all again" }).click();
  await failed.getByText("None.").waitFor();
  await until("the row is touched", async () => (await touched("late")) === "2000000007");
  await start("others", { "Only rows with these ids": "missing", Version: "2000000008" });
  await failed.locator("code", { hasText: "missing" }).waitFor();
  await page.getByRole("button", { name: "Drop all" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Drop", exact: true }).click();
  await failed.getByText("None.").waitFor();
  await start("all", { Version: "2000000009", "Version attribute": "generation" });
  await chip("done");
  await put(server, "books", { pk: "after" });
  await page.getByRole("button", { name: "Look for gaps" }).click();
  await page.getByText("1 rows are missing:").waitFor();
  await page.getByRole("button", { name: "Send these again" }).click();
  await until("the row is touched", async () => (await touched("after")) === "2000000009");
});

test("only rows of an access pattern are reindexed", { timeout: 60_000 }, async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/reindexes"));
  await page.getByRole("button", { name: "Start a reindex" }).click();
  await page.getByLabel("Table", { exact: true }).selectOption("manhunt");
  await page.getByLabel("Name", { exact: true }).fill("few");
  await page.getByLabel("Only rows of the access pattern").selectOption("contact_with_methods");
  await page.getByLabel("contactId (string)").fill("c0de-1");
  await page.getByLabel("start even if nothing reads the stream").check();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.locator("h1 + .chip", { hasText: "done" }).waitFor();
  const { Items } = await call(server, "DynamoDB_20120810.Scan", { TableName: "manhunt" });
  assert.deepEqual(new Set(Items.filter((item) => item.reindexVersion).map((item) => item.PK.S)), new Set(["c0de-1"]));
});

// ---- keys and palette

test("columns, queries and the theme are remembered in the browser", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/items/manhunt?hash=c0de-1"), { colorScheme: "light" });
  const rows = page.getByRole("region", { name: "Rows of manhunt" });
  await rows.getByRole("columnheader", { name: "destination" }).waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("dialog", { name: "Columns" }).getByLabel("destination").uncheck();
  await page.keyboard.press("Escape");
  await page.getByLabel("PK =").fill("c0de-2");
  await page.getByRole("button", { name: "Query", exact: true }).click();
  await page.getByText("4 rows, page 1").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("d");
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), "dark");
  await page.goto(at(server, "#/overview"));
  await page.reload();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.equal(await theme(), "dark");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("c0de-2");
  await page.getByRole("option", { name: /manhunt: c0de-2 asked before/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("4 rows, page 1").waitFor();
  await rows.getByRole("columnheader", { name: "waitSeconds" }).waitFor();
  assert.equal(await rows.getByRole("columnheader", { name: "destination" }).count(), 0);
});

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
  await page.getByRole("option", { name: /bookmark/ }).waitFor();
});

// ---- logins, roles, origins

const KEYS = ["--config"];
async function withKeys(t, ...flags) {
  const file = join(folder(t), "trestle.toml");
  const key = (id, role) => `[[auth.keys]]\naccess_key = "${id}"\nsecret_key = "secret of ${id}"\nrole = "${role}"\n`;
  writeFileSync(file, key("READER", "read-only") + key("WRITER", "data") + key("ADMIN", "administration"));
  return serve(t, ...KEYS, file, "--model", join(MODELS, "manhunt.toml"), ...flags);
}

async function logIn(page, id, secret = `secret of ${id}`) {
  await page.getByLabel("Access key").fill(id);
  await page.getByLabel("Secret key").fill(secret);
  await page.getByRole("button", { name: "Log in" }).click();
}

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
  for (const [id, mayWrite, views] of [["READER", false, 5], ["WRITER", true, 5], ["ADMIN", true, 9]]) {
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
  // Even with the token, which no other page has: a page on another port of this machine may read what the protocol answers.
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

// ---- servers that go away, proxies, other endpoints

test("a server that goes away is waited for, and the view goes on when it is back", { timeout: 60_000 }, async (t) => {
  const before = await serve(t);
  const port = new URL(before.url).port;
  const { page } = await visit(t, at(before, "#/queues"));
  await page.getByText("No queue yet").waitFor();
  await ended(before);
  await page.getByText(/No answer from .* The console tries again/).first().waitFor();
  const after = await serve(t, "--port", port);
  await queues(after);
  await page.getByRole("region", { name: "Queues" }).getByText("jobs", { exact: true }).waitFor();
  assert.equal(await page.locator(".banner").count(), 0);
});

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
