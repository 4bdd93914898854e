// Changes in the console: live, filtered, paused, and after parts of a stream could not be read; and patterns of routes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, browsing, ended, folder, proxy, run, serve, until } from "./console.mjs";
import { administer, call, put, sampled } from "./console-sample.mjs";

const { visit } = browsing();

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
  // Also from now on. A filter that is set later applies to later changes.
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

/** A table with a stream, and a proxy in front of its server that can refuse reads of the stream. */
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

const SHARDS = 4;
test("each change is shown once, whatever of the stream could not be read meanwhile", { timeout: 120_000 }, async (t) => {
  const flags = ["serve", "--data", folder(t), "--stream-shards", String(SHARDS)];
  const before = await run(t, [...flags, "--port", "0"]);
  const { url, reads } = await followed(t, before);
  const { page } = await visit(t, `${url}/console/#/changes/log`);
  await until("every shard is read", () => reads.answered >= SHARDS);
  const write = async (server, from) => { for (let i = from; i < from + 20; i += 1) await put(server, "log", { pk: `row-${i}` }); };
  // First some reads fail, then all of them, then the server is stopped for a while.
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
