// Rows in the console: read by form, access pattern and statement, edited one by one and together, exported.
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, browsing, logIn, picture, proxy, serve, until, violationsInBothThemes } from "./console.mjs";
import { CONTACT, EFFECTS, administer, call, itemLink, put, sampled, withKeys } from "./console-sample.mjs";

const { visit } = browsing();

test("rows lie in their collections, with keys as the attributes they are made of", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/items/manhunt?index=GSI2"));
  const group = page.getByRole("rowheader", { name: /^GSI2PK/ }).filter({ hasText: "active" }).first();
  await group.waitFor();
  assert.deepEqual(await group.locator(".field-name").allTextContents(), ["status", "contactId"]);
  await page.goto(at(server, "#/items/manhunt"));
  // The rows of the index are shown until those of the table have arrived.
  await page.getByRole("rowheader", { name: /^PK/ }).first().waitFor();
  await page.getByRole("button", { name: "Show the collection" }).first().click();
  await page.getByText("One Query: reads the rows of one partition.").waitFor();
  await page.locator("tr.collection").first().waitFor();
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
    ["=", "text", 4], ["<>", "text", 8], ["<", "email", 4], ["<=", "email", 8], [">", "email", 4], [">=", "text", 4], ["in", "email\ntext", 8], ["begins_with", "te", 4],
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
  await until("the item was read again", async () => (await second.getByLabel("Value of name").inputValue()) === "Grace Brewster Hopper");
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
  // Without it, the browser downloads the file when it is complete.
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

test("a row that another client changed after it was found is neither edited nor deleted", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "jobs", BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    AttributeDefinitions: ["pk", "state"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    GlobalSecondaryIndexes: [{ IndexName: "by-state", Projection: { ProjectionType: "KEYS_ONLY" }, KeySchema: [{ AttributeName: "state", KeyType: "HASH" }] }],
  });
  for (const pk of ["a", "b", "c"]) await put(server, "jobs", { pk, state: "failed", note: "none" });
  const rows = async () => Object.fromEntries((await call(server, "DynamoDB_20120810.Scan", { TableName: "jobs" })).Items.map((item) => [item.pk.S, item]));
  const { page } = await visit(t, at(server, "#/items/jobs"));
  const dialog = page.getByRole("dialog");
  const all = async (verb) => {
    await page.getByText("3 rows, page 1").waitFor();
    await page.getByLabel("Select all rows of this page").check();
    await page.getByRole("button", { name: `${verb} 3 …` }).click();
  };
  await all("Edit");
  await put(server, "jobs", { pk: "b", state: "done", note: "of another client" });
  await dialog.getByLabel("Attribute", { exact: true }).fill("state");
  await dialog.getByLabel("Value", { exact: true }).fill("given up");
  await dialog.getByRole("button", { name: "Edit", exact: true }).click();
  await dialog.getByText("2 done, 1 not changed.").waitFor();
  await dialog.getByText("The row was changed since it was found: note, state.").waitFor();
  assert.deepEqual(Object.values(await rows()).map((row) => row.state.S).sort(), ["done", "given up", "given up"]);
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
  await all("Delete");
  await put(server, "jobs", { pk: "a", state: "failed", note: "again" });
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.getByText("2 done, 1 not changed.").waitFor();
  assert.deepEqual(Object.keys(await rows()), ["a"]);
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
  // A keys-only index returns only keys, so only these are compared.
  await page.goto(at(server, "#/items/jobs?index=by-state&hash=failed"));
  await page.getByText("1 row, page 1").waitFor();
  await page.getByRole("button", { name: "Delete all …" }).click();
  await put(server, "jobs", { pk: "a", state: "failed", note: "once more" });
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.getByText("1 done, 0 not changed.").waitFor();
  assert.deepEqual(await rows(), {});
});

test("values of a filter may have commas", async (t) => {
  const server = await sampled(t);
  await put(server, "manhunt", { entityType: "contact", contactId: "c0", domainId: "d", name: "Hopper, Grace" });
  const { page } = await visit(t, at(server, "#/items/manhunt"));
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByLabel("Attribute or path").fill("name");
  await page.getByLabel("Operator").selectOption("in");
  await page.getByLabel("Values, each on a line").fill("Hopper, Grace\nArian Mellor");
  await page.getByRole("button", { name: "Scan", exact: true }).click();
  await page.getByText("2 rows, page 1").waitFor();
});

test("a page of rows has a bound, with a filter and by statement too", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "many", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  });
  for (let i = 0; i < 1500; i += 25) await call(server, "DynamoDB_20120810.BatchWriteItem", { RequestItems: { many: Array.from({ length: 25 }, (_, j) => ({ PutRequest: { Item: { pk: { S: String(i + j) } } } })) } });
  const { page } = await visit(t, at(server, `#/items/many?filters=${encodeURIComponent(JSON.stringify([{ name: "pk", op: "exists", type: "S", value: "" }]))}`));
  await page.getByText("1,000 rows, page 1").waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByText("500 rows, page 2").waitFor();
  await page.goto(at(server, `#/items/many?mode=partiql&statement=${encodeURIComponent("SELECT * FROM many")}`));
  await page.getByText("100 rows, page 1").waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByText("100 rows, page 2").waitFor();
});

test("a statement that writes runs once, and neither the address nor the browser keeps it", async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/items/manhunt?mode=partiql"));
  await page.getByLabel("PartiQL statement").fill(`UPDATE manhunt SET name = 'Kept Nowhere' WHERE PK = 'c0de-1' AND SK = 'contact' RETURNING ALL NEW *`);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("1 row, page 1").waitFor();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, location.href]));
  assert.ok(!/Kept(.|%20)Nowhere/.test(kept), kept);
  await call(server, "DynamoDB_20120810.UpdateItem", {
    TableName: "manhunt", Key: CONTACT, UpdateExpression: "SET #n = :n", ExpressionAttributeNames: { "#n": "name" }, ExpressionAttributeValues: { ":n": { S: "of another client" } },
  });
  await page.locator("button.rowlink").first().click();
  await page.getByLabel("Value of name").fill("by hand");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved").waitFor();
  await page.waitForTimeout(500);
  assert.equal((await call(server, "DynamoDB_20120810.GetItem", { TableName: "manhunt", Key: CONTACT })).Item.name.S, "by hand");
  await page.keyboard.press("Escape");
  await page.getByLabel("PartiQL statement").fill(`SELECT * FROM manhunt WHERE PK = 'c0de-1'`);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("4 rows, page 1").waitFor();
  assert.equal((await call(server, "DynamoDB_20120810.GetItem", { TableName: "manhunt", Key: CONTACT })).Item.name.S, "by hand");
});

test("times that the database writes are not asked for", async (t) => {
  const server = await serve(t);
  const attributes = `attributes = { customerId = "string", since = "timestamp", changed = "timestamp" }`;
  await administer(server, "apply-model", { text: `model = "shop"\n[table.shop]\nkey = ["pk"]\n[entity.customer]\ntable = "shop"\nkey = { pk = "customer#{customerId}" }\ncreated = "since"\nupdated = "changed"\n${attributes}\n` });
  const { page } = await visit(t, at(server, "#/items/shop?item=new"));
  await page.getByLabel("Value of customerId").fill("ada");
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await page.getByText("Written", { exact: true }).waitFor();
  const { Item } = await call(server, "DynamoDB_20120810.GetItem", { TableName: "shop", Key: { pk: { S: "customer#ada" } } });
  assert.ok(Item.since.S && Item.changed.S);
  await page.goto(at(server, "#/models/shop?tab=entities"));
  await page.getByText("the time at which the row was created").waitFor();
});

test("the history of an item goes on behind empty pages of the log, and can be stopped", { timeout: 60_000 }, async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, itemLink(CONTACT)));
  const state = { empty: 10, isSlow: false };
  await page.route("**/", async (route) => {
    const asked = route.request();
    if (!asked.headers()["x-amz-target"]?.endsWith(".GetRecords")) return route.continue();
    if (state.isSlow) await new Promise((done) => setTimeout(done, 300));
    if (!state.isSlow && state.empty === 0) return route.continue();
    state.empty -= 1;
    return route.fulfill({ json: { Records: [], NextShardIterator: asked.postDataJSON().ShardIterator } });
  });
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("button", { name: "Read the log" }).click();
  await page.getByText("insert", { exact: true }).waitFor();
  state.isSlow = true;
  await page.getByRole("tab", { name: "JSON" }).click();
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("button", { name: "Read the log" }).click();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("Stopped: there may be more changes.").waitFor();
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
  await until("the theme is dark", async () => (await theme()) === "dark");
  await page.goto(at(server, "#/overview"));
  await page.reload();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.equal(await theme(), "dark");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("c0de-2");
  await page.getByRole("option", { name: /manhunt: c0de-2 earlier query/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("4 rows, page 1").waitFor();
  await rows.getByRole("columnheader", { name: "waitSeconds" }).waitFor();
  assert.equal(await rows.getByRole("columnheader", { name: "destination" }).count(), 0);
});

/** A server with a collection of rows, and with another one whose key begins with the same letters. */
async function collections(t, rows) {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "shop", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: ["pk", "sk"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  });
  for (let i = 0; i < rows; i += 1) await put(server, "shop", { pk: "ada", sk: `order#${i}` });
  await put(server, "shop", { pk: "ada", sk: "profile" });
  await put(server, "shop", { pk: "grace", sk: "order#0" });
  const left = async () => (await call(server, "DynamoDB_20120810.Scan", { TableName: "shop" })).Items.map((item) => `${item.pk.S} ${item.sk.S}`).sort();
  return { server, left };
}

test("a collection is counted, deleted at a rate, stopped and continued", { timeout: 60_000 }, async (t) => {
  const { server, left } = await collections(t, 30);
  const { page, complaints } = await visit(t, at(server, "#/items/shop?hash=ada&op=begins_with&value=order%23"), { bypassCSP: true });
  await page.getByRole("button", { name: "Delete the collection …" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete a collection of shop" });
  await dialog.getByText("30 rows.", { exact: true }).waitFor();
  await dialog.getByLabel("Only rows whose sk begins with").fill("");
  await dialog.getByText("31 rows.", { exact: true }).waitFor();
  await dialog.getByLabel("Only rows whose sk begins with").fill("order#");
  await dialog.getByText("30 rows.", { exact: true }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  assert.equal((await left()).length, 32, "counting deletes nothing");
  await dialog.getByLabel("Rows in a second, at most").fill("5");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.getByText(/^(5|10) rows deleted\.$/).waitFor();
  await dialog.getByRole("button", { name: "Stop" }).click();
  await dialog.getByText(/^Stopped\. \d+ rows deleted\.$/).waitFor();
  const { length } = await left();
  assert.ok(length > 2 && length < 32, `${length} rows are left`);
  assert.deepEqual(await violationsInBothThemes(page), []);
  await dialog.getByLabel("Rows in a second, at most").fill("");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await dialog.getByText("30 rows deleted.", { exact: true }).waitFor();
  assert.deepEqual(await left(), ["ada profile", "grace order#0"]);
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByText("0 rows, page 1").waitFor();
  assert.deepEqual(complaints, []);
});

test("a deletion that gets no answer is continued where it was", { timeout: 60_000 }, async (t) => {
  const { server, left } = await collections(t, 20);
  let isDown = false;
  const url = await proxy(t, server.url, "/db", (asked) => isDown && asked.url.endsWith("/delete-collection"));
  const { page } = await visit(t, `${url}/console/#/items/shop?hash=ada`);
  await page.getByRole("button", { name: "Delete the collection …" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete a collection of shop" });
  await dialog.getByLabel("Rows in a second, at most").fill("5");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.getByText("5 rows deleted.", { exact: true }).waitFor();
  isDown = true;
  await dialog.getByRole("alert").getByText(/^No answer from/).waitFor();
  isDown = false;
  await dialog.getByLabel("Rows in a second, at most").fill("");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await dialog.getByText("21 rows deleted.", { exact: true }).waitFor();
  assert.deepEqual(await left(), ["grace order#0"]);
});

test("the rows of an access pattern are deleted as a collection; rows that must stay are named", { timeout: 60_000 }, async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/items/manhunt?mode=access&access=contact_with_methods&p.contactId=c0de-1&run=1"));
  await page.getByRole("button", { name: "Delete the collection …" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete a collection of manhunt" });
  await dialog.getByText("4 rows.", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.getByText("4 rows deleted.", { exact: true }).waitFor();
  const { Items } = await call(server, "DynamoDB_20120810.Query", { TableName: "manhunt", KeyConditionExpression: "PK = :p", ExpressionAttributeValues: { ":p": { S: "c0de-1" } } });
  assert.deepEqual(Items, []);
  await administer(server, "apply-model", { text: EFFECTS });
  await put(server, "rows", { kind: "doc", name: "plan", version: 1 });
  await page.goto(at(server, "#/items/rows?hash=doc%23plan&op=%3D&value=head"));
  await page.getByRole("button", { name: "Delete the collection …" }).click();
  await page.getByLabel("Only rows whose sk begins with").fill("head");
  const rows = page.getByRole("dialog", { name: "Delete a collection of rows" });
  await rows.getByText("1 rows.", { exact: true }).waitFor();
  await rows.getByRole("button", { name: "Delete", exact: true }).click();
  await rows.getByText("0 rows deleted, 1 stay.", { exact: true }).waitFor();
  await rows.getByText("Keys of the first 1").click();
  await rows.locator("code", { hasText: "doc#plan / head" }).waitFor();
});

test("who may change nothing in the administration is offered no deletion of a collection", async (t) => {
  const server = await withKeys(t);
  const { page } = await visit(t, at(server, "#/items/manhunt?hash=c0de-1"));
  await logIn(page, "WRITER");
  await page.getByText("0 rows, page 1").waitFor();
  assert.equal(await page.getByRole("button", { name: "Delete the collection …" }).count(), 0);
});

test("the address has the page of the rows and the tab of the item, so that both are shared", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await call(server, "DynamoDB_20120810.CreateTable", {
    TableName: "many", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }, { AttributeName: "sk", AttributeType: "N" }],
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  });
  for (let i = 0; i < 7; i += 1) await put(server, "many", { pk: "a", sk: i });
  const { page } = await visit(t, at(server, "#/items/many?hash=a&limit=3"));
  const pageOf = async (seen, text, ...keys) => {
    await seen.getByText(text).waitFor();
    const shown = await seen.getByRole("region", { name: "Rows of many" }).locator("button.rowlink").count();
    assert.equal(shown, keys.length);
    for (const key of keys) await seen.getByRole("region", { name: "Rows of many" }).getByText(String(key), { exact: true }).first().waitFor();
  };
  await pageOf(page, "3 rows, page 1", 0, 1, 2);
  await page.getByRole("button", { name: "Next page" }).click();
  await pageOf(page, "3 rows, page 2", 3, 4, 5);
  await page.getByRole("button", { name: "Next page" }).click();
  await pageOf(page, "1 row, page 3", 6);
  const third = page.url();
  await page.getByRole("button", { name: "Previous page" }).click();
  await pageOf(page, "3 rows, page 2", 3, 4, 5);
  await page.locator("button.rowlink").first().click();
  await page.getByRole("tab", { name: "JSON" }).click();
  await page.getByLabel("Item as plain JSON").getByText('"sk": 3').waitFor();
  const { page: other } = await visit(t, page.url());
  await other.getByLabel("Item as plain JSON").getByText('"sk": 3').waitFor();
  await other.keyboard.press("Escape");
  await pageOf(other, "3 rows, page 2", 3, 4, 5);
  await other.getByRole("button", { name: "Previous page" }).click();
  await pageOf(other, "3 rows, page 1", 0, 1, 2);
  await other.getByRole("button", { name: "Next page" }).click();
  await other.getByText("3 rows, page 2").waitFor();
  await other.goBack();
  await pageOf(other, "3 rows, page 1", 0, 1, 2);
  await other.locator("button.rowlink").first().click();
  await other.getByRole("tab", { name: "Edit", selected: true }).waitFor();
  // The start of the second page is not known in this page.
  const { page: last } = await visit(t, third);
  await pageOf(last, "1 row, page 3", 6);
  await last.getByRole("button", { name: "First page" }).click();
  await pageOf(last, "3 rows, page 1", 0, 1, 2);
});
