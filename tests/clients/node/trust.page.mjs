// Hostile pages in a real browser, against a server with its default settings. A page of another host, also one whose name leads
// to the server (DNS rebinding), reads, writes and runs nothing. A page of this machine reaches the data, and never the
// administration. Run by `node --test` with TRESTLE naming the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { attack } from "./hostile.mjs";

const BROWSER = "/usr/bin/chromium";
const EVIL = "evil.example";
// As root there is no sandbox; a proxy would not know the hostile name; the other flags keep the browser from calling its vendor.
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--no-proxy-server", `--host-resolver-rules=MAP ${EVIL} 127.0.0.1`,
];
const SECRET = "the-secret-of-the-table";
const OPEN = ["--cors", "*", "--allowed-hosts", "*", "--allow-command-routes"];
const TABLE = {
  AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  BillingMode: "PAY_PER_REQUEST",
  StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
};
const model = (name, prefix) => `
model = "${name}"

[table.${name}]
key = ["pk"]

[entity.user]
table = "${name}"
key.pk = "${prefix}#{id}"
attributes = { id = "string", email = "string" }
`;

let browser;

before(async () => {
  assert.ok(process.env.TRESTLE, "TRESTLE must name the program: target/debug/trestle");
  assert.ok(existsSync(BROWSER), `there is no ${BROWSER}: install Debian's package chromium`);
  browser = await chromium.launch({ executablePath: BROWSER, args: FLAGS, timeout: 60_000 });
}, { timeout: 90_000 });

after(() => browser?.close());

// ---- the server, and what its owner sees

/** A server with a table, a queue and a model; `flags` widen its defaults. */
async function serve(t, flags = [], port = 0) {
  const directory = mkdtempSync(join(tmpdir(), "trestle-trust-"));
  const child = spawn(process.env.TRESTLE, ["serve", "--in-memory", "--port", `${port}`, ...flags], {
    stdio: ["ignore", "pipe", "pipe"], env: { RUST_LOG: "error" },
  });
  // The commands of a route write into the directory until the server has ended.
  const ended = new Promise((done) => child.once("exit", done));
  t.after(async () => {
    child.kill();
    await ended;
    rmSync(directory, { recursive: true, maxRetries: 10, retryDelay: 100 });
  });
  const server = { url: await address(child), ran: join(directory, "ran") };
  await call(server, "DynamoDB_20120810.CreateTable", { ...TABLE, TableName: "things" });
  await call(server, "DynamoDB_20120810.PutItem", { TableName: "things", Item: { pk: { S: "kept" }, is: { S: SECRET } } });
  server.queue = (await call(server, "AmazonSQS.CreateQueue", { QueueName: "letters" })).QueueUrl;
  await call(server, "AmazonSQS.SendMessage", { QueueUrl: server.queue, MessageBody: SECRET });
  await administer(server, "apply-model", { text: model("users", "user") });
  return server;
}

function address(child) {
  return new Promise((found, lost) => {
    let said = "";
    child.on("error", lost).on("exit", (code) => lost(new Error(`trestle ended with ${code}: ${said}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        said += text;
        const there = said.match(/http:\/\/127\.0\.0\.1:\d+/);
        if (there) found(there[0]);
      });
    }
  });
}

const dataHeaders = (name) => ({ "content-type": "application/x-amz-json-1.0", "x-amz-target": name });
const adminHeaders = { "content-type": "application/json", "x-trestle-admin": "1" };

async function post(url, headers, body) {
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text);
}

const call = (server, name, body) => post(server.url, dataHeaders(name), body);
const administer = (server, name, body = {}) => post(`${server.url}/_trestle/${name}`, adminHeaders, body);

/** Everything that a page might have changed. */
async function state(server) {
  const { TableNames } = await call(server, "DynamoDB_20120810.ListTables", {});
  const tables = {};
  for (const TableName of TableNames) {
    const { Items } = await call(server, "DynamoDB_20120810.Scan", { TableName });
    const { Table } = await call(server, "DynamoDB_20120810.DescribeTable", { TableName });
    tables[TableName] = { Items, Table };
  }
  const { QueueUrls } = await call(server, "AmazonSQS.ListQueues", {});
  const queues = {};
  for (const QueueUrl of QueueUrls ?? []) {
    queues[QueueUrl] = await call(server, "AmazonSQS.GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] });
  }
  const administration = {};
  for (const name of ["list-models", "list-migrations", "read-routes", "list-routes", "list-dead-letters"]) {
    administration[name] = await administer(server, name);
  }
  administration.text = await administer(server, "read-model", { name: "users" });
  return { tables, queues, administration };
}

// ---- what the pages ask for

/** What reads the data, and what writes it. */
function operations(server) {
  const item = { pk: { S: "from a page" }, by: { S: "a page" } };
  const made = { TableName: "things", Item: item };
  const kept = { TableName: "things", Key: { pk: { S: "kept" } } };
  const dynamodb = {
    GetItem: kept,
    Scan: { TableName: "things" },
    Query: { TableName: "things", KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": { S: "kept" } } },
    ExecuteStatement: { Statement: "SELECT * FROM things" },
    TransactGetItems: { TransactItems: [{ Get: kept }] },
    ListTables: {},
    DescribeTable: { TableName: "things" },
    PutItem: made,
    UpdateItem: {
      ...kept, UpdateExpression: "SET touched = :t", ExpressionAttributeValues: { ":t": { BOOL: true } },
    },
    BatchWriteItem: { RequestItems: { things: [{ PutRequest: { Item: { pk: { S: "batch" } } } }] } },
    TransactWriteItems: { TransactItems: [{ Put: { TableName: "things", Item: { pk: { S: "transaction" } } } }] },
    BatchExecuteStatement: { Statements: [{ Statement: "INSERT INTO things VALUE {'pk': 'statement'}" }] },
    DeleteItem: { TableName: "things", Key: { pk: { S: "batch" } } },
    CreateTable: { ...TABLE, TableName: "from-a-page" },
    UpdateTimeToLive: { TableName: "things", TimeToLiveSpecification: { Enabled: true, AttributeName: "ttl" } },
  };
  const QueueUrl = server.queue;
  const queues = {
    ListQueues: {},
    GetQueueAttributes: { QueueUrl, AttributeNames: ["All"] },
    SendMessage: { QueueUrl, MessageBody: "from a page" },
    ReceiveMessage: { QueueUrl, MaxNumberOfMessages: 10 },
    CreateQueue: { QueueName: "from-a-page" },
    PurgeQueue: { QueueUrl },
  };
  const request = (name, body) => ({ name, path: "/", headers: dataHeaders(name), body: JSON.stringify(body) });
  return [
    ...Object.entries(dynamodb).map(([name, body]) => request(`DynamoDB_20120810.${name}`, body)),
    request("DynamoDBStreams_20120810.ListStreams", {}),
    ...Object.entries(queues).map(([name, body]) => request(`AmazonSQS.${name}`, body)),
  ];
}

/** Every call of the administration, in an order that lets each do what it can. */
function calls(server) {
  // The file exists only when it is complete.
  const command = `["sh", "-c", "cat > ${server.ran}.part && mv ${server.ran}.part ${server.ran}"]`;
  const bodies = {
    "list-models": {},
    "read-model": { name: "users" },
    "describe-models": {},
    "explain-access": { model: "users", access: "user", where: { id: "a" } },
    "preview-write": { operation: "DeleteItem", request: { TableName: "things", Key: { pk: { S: "a" } } } },
    "infer-model": { table: "things" },
    "apply-model": { text: model("others", "other") },
    "repair-models": {},
    "list-migrations": {},
    "plan-migration": { text: model("users", "person") },
    "start-migration": { text: model("users", "person") },
    "pause-migration": {},
    "resume-migration": {},
    "finish-migration": {},
    "roll-back-migration": {},
    "delete-collection": { table: "things", partition: "none" },
    "list-paused-tables": {},
    "pause-writes": { tables: ["things"], seconds: 60 },
    "resume-writes": { tables: ["things"] },
    "write-kept-rows": { operation: "BatchWriteItem", request: { RequestItems: {} } },
    "apply-routes": { text: `[route.run]\ntable = "things"\ntarget = { command = ${command} }\n` },
    "list-routes": {},
    "read-routes": {},
    "try-route": { route: "run" },
    "backfill-route": { route: "run" },
    "cancel-backfill": { route: "run" },
    "list-dead-letters": {},
    "read-dead-letter": { id: "1" },
    "replay-dead-letters": { all: true },
    "move-dead-letters": { all: true, to: "none" },
    "drop-dead-letters": { all: true },
    "start-reindex": { table: "things", name: "again", force: true },
    "list-reindexes": {},
    "read-reindex": { name: "again" },
    "pause-reindex": { name: "again" },
    "resume-reindex": { name: "again" },
    "list-reindex-dead-letters": { name: "again" },
    "drop-reindex-dead-letters": { name: "again" },
    "replay-reindex": { name: "again" },
    "list-reindex-gaps": { name: "again" },
    "resend-reindex": { name: "again", ids: ["a"] },
    "cancel-reindex": { name: "again" },
    "touch-rows": { table: "things", attribute: "reindexVersion", version: 1, keys: [] },
    "set-reindex-version": { table: "things", version: 1 },
    "read-metrics": {},
    "read-gateway": {},
    "read-clock": {},
    "move-clock": { advance_seconds: 3600 },
    "list-faults": {},
    "set-faults": { rules: ["internal"] },
    "remove-model": { name: "users" },
    backup: {},
  };
  return Object.entries(bodies).map(([name, body]) => ({
    name, path: `/_trestle/${name}`, headers: adminHeaders, body: JSON.stringify(body),
  }));
}

/** All that a page asks a server for: the administration first, so that a write afterwards sets off a route that was let in. */
const plan = (server, target = server.url) => ({
  target, requests: [...calls(server), ...operations(server)], pages: ["/", "/metrics", "/_trestle/list-models", "/console/", "/console/session"],
});

// ---- pages

/** A server of pages, and the address of its page under a name. */
async function pages(t, name, port = 0) {
  const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><body></body>"));
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const close = () => new Promise((done) => { server.close(done); server.closeAllConnections(); });
  t.after(close);
  return { close, port: server.address().port, url: `http://${name}:${server.address().port}/page` };
}

async function visit(t, url) {
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** A frame of a page that has no origin of its own: its requests come from `null`. */
async function sandboxed(page) {
  await page.evaluate(() => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-forms";
    frame.srcdoc = "<!doctype html><body></body>";
    document.body.append(frame);
    return new Promise((done) => { frame.onload = done; });
  });
  return page.frames().at(-1);
}

/** A server that took the port of the page's own server: to the browser both are one origin. */
async function rebound(t, flags) {
  const own = await pages(t, EVIL);
  const page = await visit(t, own.url);
  await own.close();
  return { page, server: await serve(t, flags, own.port), target: `http://${EVIL}:${own.port}` };
}

// ---- tests of the defences

/** A write sets off every route of the table, and a command has the time to run. */
async function hasRun(server, patience = 1000) {
  await call(server, "DynamoDB_20120810.PutItem", { TableName: "things", Item: { pk: { S: "bait" } } });
  for (let waited = 0; waited < patience; waited += 50) {
    if (existsSync(server.ran)) return true;
    await new Promise((done) => setTimeout(done, 50));
  }
  return false;
}

const namesOf = (read) => [...new Set(read.map(({ name }) => name))].sort();
const isAdministration = ({ name }) => !name.includes(".") && name !== "/" && name !== "/metrics";

/** How many requests the server refused: those of the page that reached it. */
async function refused(server) {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  return Number(metrics.match(/^trestle_refused_requests_total (\d+)$/m)[1]);
}

async function assertUntouched(server, before) {
  // A request without headers needs no preflight: plain, no-cors in two types, as a beacon and as a form.
  assert.ok((await refused(server)) > 5 * plan(server).requests.length, "the page reached the server");
  assert.deepEqual(await state(server), before);
  assert.equal(await hasRun(server), false, "the command of a route ran");
}

test("the attack has every call that the server knows", async (t) => {
  const server = await serve(t);
  const answer = await fetch(`${server.url}/_trestle/none`, { method: "POST", headers: adminHeaders, body: "{}" });
  const { message } = await answer.json();
  const known = message.split("there is ").at(-1).split(", ");
  assert.deepEqual(known.sort(), calls(server).map(({ name }) => name).sort());
});

test("a page of another host reads, writes and runs nothing", { timeout: 120_000 }, async (t) => {
  const server = await serve(t);
  const before = await state(server);
  const page = await visit(t, (await pages(t, EVIL)).url);
  assert.deepEqual(await page.evaluate(attack, plan(server)), []);
  assert.deepEqual(await page.evaluate(attack, plan(server, server.url.replace("127.0.0.1", "localhost"))), []);
  await assertUntouched(server, before);
});

test("a page without an origin reads, writes and runs nothing, wherever it is framed", { timeout: 120_000 }, async (t) => {
  for (const name of [EVIL, "localhost"]) {
    const server = await serve(t);
    const before = await state(server);
    const frame = await sandboxed(await visit(t, (await pages(t, name)).url));
    assert.equal(await frame.evaluate(() => self.origin), "null");
    assert.deepEqual(await frame.evaluate(attack, plan(server)), [], name);
    await assertUntouched(server, before);
  }
});

test("a page whose name leads to the server reads, writes and runs nothing", { timeout: 120_000 }, async (t) => {
  const { page, server, target } = await rebound(t);
  const before = await state(server);
  const read = await page.evaluate(attack, plan(server, target));
  const asked = plan(server).requests.map(({ name }) => name);
  assert.deepEqual(namesOf(read.filter(({ way }) => way === "fetch")), asked.sort(), "the requests reached the server");
  for (const { way, name, status, text } of read) {
    assert.ok(status === undefined || status >= 400, `${way} ${name}: ${status} ${text}`);
    assert.match(text, /does not answer to the host/, `${way} ${name}`);
    assert.ok(!text.includes(SECRET), `${way} ${name}: ${text}`);
  }
  await assertUntouched(server, before);
});

test("a page of this machine reaches the data, and never the administration", { timeout: 120_000 }, async (t) => {
  const server = await serve(t);
  const before = await state(server);
  const page = await visit(t, (await pages(t, "localhost")).url);
  const read = await page.evaluate(attack, plan(server));
  const data = operations(server).map(({ name }) => name).concat("/").sort();
  assert.deepEqual(namesOf(read), data, "the page reads the data, and nothing else");
  assert.ok(read.some(({ name, text }) => name.endsWith(".GetItem") && text.includes(SECRET)));
  const { administration, tables } = await state(server);
  assert.deepEqual(administration, before.administration);
  assert.ok(tables.things.Items.some(({ by }) => by?.S === "a page"), "the page wrote an item");
  assert.equal(await hasRun(server), false, "the command of a route ran");
});

// ---- the tests above can fail: where the settings let pages in, the same attack succeeds

test("where settings let every page in, one of another host reaches the data, and not the administration", { timeout: 120_000 }, async (t) => {
  const server = await serve(t, OPEN);
  const { administration } = await state(server);
  const page = await visit(t, (await pages(t, EVIL)).url);
  const read = await page.evaluate(attack, plan(server));
  assert.ok(read.some(({ name, text }) => name.endsWith(".Scan") && text.includes(SECRET)));
  assert.deepEqual(read.filter(isAdministration), []);
  const { tables, ...rest } = await state(server);
  assert.ok(tables.things.Items.some(({ by }) => by?.S === "a page"));
  assert.deepEqual(rest.administration, administration);
  assert.equal(await hasRun(server), false, "the command of a route ran");
});

test("where settings let every name in, a page whose name leads to the server runs a command", { timeout: 120_000 }, async (t) => {
  const { page, server, target } = await rebound(t, OPEN);
  const read = await page.evaluate(attack, plan(server, target));
  const applied = read.find(({ way, name }) => way === "fetch" && name === "apply-routes");
  assert.equal(applied?.status, 200, applied?.text);
  assert.equal(await hasRun(server, 10_000), true);
  assert.match(readFileSync(server.ran, "utf8"), /"id"/);
});
