// Work in the console: models, routes, queues, migrations, reindexes; on a gateway, too.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { test } from "node:test";
import { at, browsing, hooked, run, serve, until, violationsInBothThemes } from "./console.mjs";
import { EFFECTS, administer, call, put, queues, sampled, streamed } from "./console-sample.mjs";

const { visit } = browsing();

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

test("an older check of a model file is not shown after a newer one", async (t) => {
  const server = await serve(t);
  const { page } = await visit(t, at(server, "#/models/new"));
  const file = page.getByLabel("Model file");
  const sound = await file.inputValue();
  await page.getByText("The file is sound").waitFor();
  let late = 0;
  await page.route("**/_trestle/apply-model", async (route) => {
    if (route.request().postDataJSON().text !== "unsound") return route.continue();
    await new Promise((done) => setTimeout(done, 2500));
    await route.continue();
    late += 1;
    return undefined;
  });
  const asked = page.waitForRequest((request) => request.url().endsWith("/apply-model") && request.postDataJSON().text === "unsound");
  await file.fill("unsound");
  await asked;
  await file.fill(sound);
  await page.getByText("The file is sound").waitFor();
  await until("the older check is answered", () => late === 1);
  await page.waitForTimeout(500);
  assert.equal(await page.getByText("The file is sound").count(), 1);
  assert.equal(await page.getByRole("alert").count(), 0);
});

test("what follows from a write is listed as text", async (t) => {
  const server = await serve(t);
  await administer(server, "apply-model", { text: EFFECTS });
  const { page } = await visit(t, at(server, "#/models/effects?tab=entities"));
  for (const text of ["the newest row by version is kept as doc.head", "is counted in docs of shop", "the other direction of the relation is kept in rows of club"]) await page.getByText(text).waitFor();
});

test("alarms name all sources of a dead-letter queue, and look at the latest reindexes of all pages", async (t) => {
  const server = await serve(t);
  const { dead } = await queues(server);
  const { Attributes } = await call(server, "AmazonSQS.GetQueueAttributes", { QueueUrl: dead, AttributeNames: ["QueueArn"] });
  await call(server, "AmazonSQS.CreateQueue", { QueueName: "mails", Attributes: { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: Attributes.QueueArn, maxReceiveCount: 3 }) } });
  await streamed(server, "books");
  await administer(server, "start-reindex", { table: "books", name: "some", ids: ["missing"], force: true });
  const { page } = await visit(t, at(server, ""));
  // A server with more reindexes than a page: this one is on the second page.
  await page.route("**/_trestle/list-reindexes", (route) => {
    const { after, running } = route.request().postDataJSON();
    return after || running ? route.continue() : route.fulfill({ json: { reindexes: [], next: "many" } });
  });
  await page.goto(at(server, "#/overview"));
  await page.reload();
  await page.getByRole("link", { name: "Queue jobs-given-up holds 1 dead letter of the queues jobs, mails." }).waitFor();
  await page.getByRole("link", { name: "The reindex some has 1 dead letter." }).waitFor();
});

test("of many queues a page is asked about, and any is found by its name", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  for (let i = 0; i < 60; i += 1) await call(server, "AmazonSQS.CreateQueue", { QueueName: `jobs-${String(i).padStart(2, "0")}` });
  // Not Overview, which asks about 100 queues.
  const { page } = await visit(t, at(server, "#/models"));
  await page.getByText("No model yet").waitFor();
  const asked = new Set();
  page.on("request", (request) => request.headers()["x-amz-target"] === "AmazonSQS.GetQueueAttributes" && asked.add(request.postDataJSON().QueueUrl));
  await page.goto(at(server, "#/queues"));
  const rows = page.getByRole("region", { name: "Queues" });
  await rows.getByRole("link", { name: "jobs-49" }).waitFor();
  await page.waitForTimeout(4000);
  assert.equal([...asked].filter((url) => /jobs-5\d$/.test(url)).length, 0);
  await page.getByRole("button", { name: "Next page" }).click();
  await rows.getByRole("link", { name: "jobs-59" }).waitFor();
  await page.getByLabel("Name contains").fill("-07");
  await rows.getByRole("link", { name: "jobs-07" }).waitFor();
  await page.getByText("1 of 60 queues, page 1 of 1").waitFor();
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

test("a migration is started paused, resumed at a rate, paused and rolled back", { timeout: 180_000 }, async (t) => {
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
  await dialog.getByLabel("Rows in a second, at most").fill("1");
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
  // A client that writes directly to the endpoint, which the gateway cannot see.
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
  await page.getByRole("heading", { name: "Rows that cannot move: 1" }).waitFor();
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
  for (let i = 0; i < 100; i += 1) await put(server, "books", { pk: `b${i}` });
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
  await page.getByText("Missing rows: 1.").waitFor();
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

test("tables whose writes are paused are named with their end, and resumed", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await streamed(server, "books");
  await streamed(server, "films");
  await administer(server, "pause-writes", { tables: ["books"], seconds: 3600 });
  await administer(server, "pause-writes", { tables: ["films"] });
  const { page } = await visit(t, at(server, "#/overview"), { bypassCSP: true });
  await page.getByRole("region", { name: "Alarms" }).getByRole("link", { name: /^Writes to table films are paused until you resume them/ }).waitFor();
  const paused = page.getByRole("region", { name: "Paused tables" });
  await paused.getByText(/^Writes to table books are paused until .*, while it is copied\./).waitFor();
  await paused.getByRole("button", { name: "Resume writes to films" }).click();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByRole("dialog").getByRole("button", { name: "Resume", exact: true }).click();
  await paused.getByText(/^Writes to table films/).waitFor({ state: "detached" });
  await put(server, "films", { pk: "a" });
  assert.deepEqual((await administer(server, "list-paused-tables")).tables.map((one) => one.table), ["books"]);
});

test("metrics show what storage reads, of all operations and of one", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  await streamed(server, "books");
  const read = async () => {
    await call(server, "DynamoDB_20120810.GetItem", { TableName: "books", Key: { pk: { S: "a" } } });
    await call(server, "DynamoDB_20120810.Scan", { TableName: "books" });
  };
  // A chart needs two samples.
  await until("there are two samples of storage", async () => {
    await read();
    return (await administer(server, "read-metrics")).samples.filter((sample) => sample.storage?.some((one) => one.operation === "GetItem" && one.point_lookups > 0)).length >= 2;
  });
  const { page } = await visit(t, at(server, "#/metrics"), { bypassCSP: true });
  const storage = page.getByRole("region", { name: "Storage by operation", exact: true });
  const row = (name) => storage.getByRole("row", { name: new RegExp(`^${name} `) });
  await row("GetItem").waitFor();
  await row("Scan").waitFor();
  await page.getByRole("img", { name: /^Storage: lookups and ranges: lookups of a key [0-9.]+\/s/ }).waitFor();
  await page.getByRole("img", { name: /^Storage: blocks read: from files/ }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByRole("region", { name: "Operations" }).getByRole("link", { name: "GetItem" }).click();
  await page.getByRole("heading", { name: /GetItem$/ }).waitFor();
  await row("GetItem").waitFor();
  assert.equal(await row("Scan").count(), 0);
});

test("on a gateway Overview has the endpoint, what a probe found, and rows that changed without a gateway", { timeout: 120_000 }, async (t) => {
  const endpoint = await serve(t, "--behind-gateways");
  const credentials = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any", AWS_REGION: "us-east-1" };
  const gateway = await run(t, ["serve", "--port", "0", "--backend", endpoint.url], credentials);
  await administer(gateway, "apply-model", { text: EFFECTS.replace('entity_attribute = "kind"', 'entity_attribute = "kind"\nstream = "new-and-old-images"') });
  const { page } = await visit(t, at(gateway, "#/overview"), { bypassCSP: true });
  const card = page.getByRole("region", { name: "Gateway" });
  await card.getByText(endpoint.url).first().waitFor();
  await card.getByText("This endpoint was never probed.").waitFor();
  // A change shows that the stream is read.
  let version = 0;
  await until("the stream is read", async () => {
    version += 1;
    await put(gateway, "rows", { kind: "doc", name: "plan", version });
    return (await administer(gateway, "read-gateway")).past_writes.records > 0;
  });
  await put(gateway, "rows", { kind: "doc", name: "idea", version: 1 });
  // A client deletes the version directly at the endpoint.
  await call(endpoint, "DynamoDB_20120810.DeleteItem", { TableName: "rows", Key: { pk: { S: "doc#idea" }, sk: { S: "v#0001" } } });
  await until("the gateway has corrected the head", async () => (await administer(gateway, "read-gateway")).past_writes.changed >= 1);
  await card.locator(".figure", { hasText: "rows changed" }).locator("b", { hasText: /^[1-9]/ }).waitFor();
  await card.getByText("This gateway looks for them.").waitFor();
  const probe = spawn(process.env.TRESTLE, ["endpoint", "probe", "--endpoint", endpoint.url], { env: credentials, stdio: "ignore" });
  assert.equal(await new Promise((done) => probe.on("exit", done)), 0);
  // A gateway that was just started has not read the stored state yet.
  const other = await run(t, ["serve", "--port", "0", "--backend", endpoint.url], credentials);
  await page.goto(at(other, "#/overview"));
  await card.getByText("conditional writes", { exact: true }).waitFor();
  await card.getByText(/^25 rows in a batch\. 100 rows in a transaction\. Probed /).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.goto(at(endpoint, "#/overview"));
  await page.getByRole("heading", { name: "Tables" }).waitFor();
  assert.equal(await card.count(), 0);
});

test("gaps of a reindex are compared with a table, with a file, and with nothing", { timeout: 120_000 }, async (t) => {
  const server = await serve(t);
  await streamed(server, "books");
  for (const id of ["a", "b", "c"]) await put(server, "books", { pk: id });
  await streamed(server, "copies");
  await put(server, "copies", { pk: "1", of: "a" });
  await put(server, "copies", { pk: "c" });
  await administer(server, "start-reindex", { table: "books", name: "all", version: 2_000_000_007, force: true });
  const { page } = await visit(t, at(server, "#/reindexes/all"), { bypassCSP: true });
  await page.locator("h1 + .chip", { hasText: "done" }).waitFor();
  const gaps = page.locator("section.card", { has: page.getByRole("heading", { name: "Gaps" }) });
  const look = () => gaps.getByRole("button", { name: "Look for gaps" }).click();
  const found = async (...ids) => {
    await gaps.getByText(ids.length ? `Missing rows: ${ids.length}.` : "None.").waitFor();
    if (ids.length) assert.deepEqual((await gaps.locator("code").textContent()).split(", ").sort(), ids);
  };
  await look();
  await found();
  await gaps.getByLabel("Compare with").selectOption("table");
  await gaps.getByLabel("Table that has the rows").selectOption("copies");
  await look();
  await found("a", "b");
  assert.deepEqual(await violationsInBothThemes(page), []);
  await gaps.getByLabel("Attribute with the id").fill("of");
  await look();
  await found("b", "c");
  await gaps.getByLabel("Compare with").selectOption("file");
  await gaps.getByLabel("File").setInputFiles({ name: "ids.txt", mimeType: "text/plain", buffer: Buffer.from("b\nc\n") });
  await look();
  await found("a");
  assert.deepEqual(await violationsInBothThemes(page), []);
  await gaps.getByLabel("Compare with").selectOption("all");
  await look();
  await found("a", "b", "c");
  await gaps.getByRole("button", { name: "Send these again" }).click();
  await gaps.getByText("Rows that the destination does not have.").waitFor();
});
