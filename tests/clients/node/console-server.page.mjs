// The console's functions for the server itself: backups, audits, faults and the clock of tests; and FIFO queues.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { at, browsing, folder, picture, run, serve, until, violationsInBothThemes } from "./console.mjs";
import { EFFECTS, administer, call, put, sampled, streamed } from "./console-sample.mjs";

const { visit } = browsing();

/** The exit code of a `trestle` command. */
const ending = (...args) => new Promise((done) => spawn(process.env.TRESTLE, args, { stdio: "ignore" }).on("exit", done));

test("a backup is taken, remembered, and restored by the command", { timeout: 120_000 }, async (t) => {
  const server = await sampled(t);
  const { page, context } = await visit(t, at(server, "#/server"), { bypassCSP: true });
  await context.addInitScript(() => { delete window.showSaveFilePicker; });
  await page.reload();
  await page.getByText("None.", { exact: true }).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Back up now" }).click()]);
  await page.getByText(`${file.suggestedFilename()} is complete`).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  const data = join(folder(t), "restored");
  assert.equal(await ending("restore", "--from", await file.path(), "--data", data), 0);
  const restored = await run(t, ["serve", "--data", data, "--port", "0"]);
  assert.equal((await call(restored, "DynamoDB_20120810.Scan", { TableName: "manhunt" })).Count, 28);
  await page.reload();
  await page.getByRole("region", { name: "Backups", exact: true }).getByRole("row", { name: file.suggestedFilename() }).waitFor();
});

test("a backup that is stopped, or breaks off, is not kept; one is written to the file that the user chose while it arrives", { timeout: 120_000 }, async (t) => {
  const server = await sampled(t);
  const { page, context } = await visit(t, at(server, "#/server"));
  await context.addInitScript(() => {
    window.files = [];
    window.showSaveFilePicker = async () => {
      const file = { bytes: 0 };
      window.files.push(file);
      return { name: "mine.backup", createWritable: async () => ({ write: async (piece) => { file.bytes += piece.length; }, close: async () => { file.end = "closed"; }, abort: async () => { file.end = "aborted"; } }) };
    };
  });
  await page.reload();
  const begin = page.getByRole("button", { name: "Back up now" });
  let hold = true;
  await page.route("**/_trestle/backup", (route) => (hold ? undefined : route.continue()));
  await begin.click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped. Nothing was kept.").waitFor();
  hold = false;
  await page.unroute("**/_trestle/backup");
  await page.route("**/_trestle/backup", (route) => route.fulfill({ status: 409, json: { code: "refused", message: "another backup is running; wait until it is over" } }));
  await begin.click();
  await page.getByRole("alert").getByText("another backup is running").waitFor();
  await page.unroute("**/_trestle/backup");
  await begin.click();
  await page.getByText("mine.backup is complete").waitFor();
  const files = await page.evaluate(() => window.files);
  assert.deepEqual(files.map((file) => file.end), ["aborted", "aborted", "closed"]);
  assert.ok(files[2].bytes > 1000);
});

test("all models are audited; on a gateway what disagrees leads to its repair, and backups are those of the endpoint", { timeout: 120_000 }, async (t) => {
  const server = await sampled(t);
  const { page } = await visit(t, at(server, "#/server?tab=verify"), { bypassCSP: true });
  await page.getByRole("button", { name: "Audit all models" }).click();
  await page.getByText("Everything that could be checked agrees.").waitFor();
  await page.getByRole("heading", { name: "manhunt" }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  const endpoint = await serve(t, "--behind-gateways");
  const gateway = await run(t, ["serve", "--port", "0", "--backend", endpoint.url], { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any", AWS_REGION: "us-east-1" });
  await administer(gateway, "apply-model", { text: EFFECTS });
  await put(gateway, "rows", { kind: "shop", shop: "corner" });
  await put(gateway, "rows", { kind: "doc", name: "plan", version: 1, shop: "corner" });
  await call(endpoint, "DynamoDB_20120810.UpdateItem", { TableName: "rows", Key: { pk: { S: "shop" }, sk: { S: "corner" } }, UpdateExpression: "SET docs = :n", ExpressionAttributeValues: { ":n": { N: "7" } } });
  await page.goto(at(gateway, "#/server"));
  await page.getByText("A gateway has no data of its own.").waitFor();
  await page.getByRole("link", { name: "Verify" }).click();
  await page.getByRole("button", { name: "Audit all models" }).click();
  await page.getByText("Derived facts that disagree with the rows that they follow from: 1.").waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByRole("link", { name: "Repair effects" }).click();
  await page.getByRole("dialog", { name: "Audit of effects" }).getByRole("button", { name: "Repair", exact: true }).click();
  await until("the count is right", async () => (await call(endpoint, "DynamoDB_20120810.GetItem", { TableName: "rows", Key: { pk: { S: "shop" }, sk: { S: "corner" } } })).Item.docs.N === "1");
});

test("faults are injected by rules of a form, counted and ended", { timeout: 60_000 }, async (t) => {
  const server = await serve(t, "--allow-fault-injection");
  await streamed(server, "books");
  const { page } = await visit(t, at(server, "#/server?tab=faults"), { bypassCSP: true });
  await page.getByText("No rule: no request gets a fault.").waitFor();
  await page.getByLabel("Operations").fill("GetItem");
  await page.getByLabel("Tables").fill("books");
  await page.getByLabel("Times, at most").fill("2");
  await page.getByText("throttle,operation=GetItem,table=books,times=2").waitFor();
  await page.getByRole("button", { name: "Add the rule" }).click();
  const rule = page.getByRole("row", { name: /^throttle,operation=GetItem,table=books,times=2/ });
  await rule.waitFor();
  await assert.rejects(call(server, "DynamoDB_20120810.GetItem", { TableName: "books", Key: { pk: { S: "a" } } }), /ProvisionedThroughputExceeded/);
  await page.getByRole("row", { name: /times=2 1 1 / }).waitFor();
  await page.getByLabel("Fault", { exact: true }).selectOption("delay");
  await page.getByLabel("Milliseconds late").fill("1");
  await page.getByRole("button", { name: "Add the rule" }).click();
  await page.getByRole("row", { name: /^delay,ms=1/ }).waitFor();
  await picture(page, "console-server");
  assert.deepEqual(await violationsInBothThemes(page), []);
  await page.getByRole("button", { name: /^Remove throttle/ }).click();
  await rule.waitFor({ state: "detached" });
  assert.deepEqual((await administer(server, "list-faults")).rules.map((one) => one.rule), ["delay,ms=1"]);
  await page.getByLabel("Operations").fill("Nonsense");
  await page.getByRole("button", { name: "Add the rule" }).click();
  await page.getByRole("alert").getByText("Nonsense").waitFor();
  await page.getByRole("button", { name: "End all faults" }).click();
  await page.getByText("No rule: no request gets a fault.").waitFor();
  assert.deepEqual((await administer(server, "list-faults")).rules, []);
});

test("a clock of tests is advanced and set", { timeout: 60_000 }, async (t) => {
  const server = await serve(t, "--virtual-clock");
  const { page } = await visit(t, at(server, "#/server?tab=clock"), { bypassCSP: true, timezoneId: "UTC" });
  const { now } = await administer(server, "read-clock");
  await page.getByRole("button", { name: "Advance a day" }).click();
  await until("a day has passed", async () => (await administer(server, "read-clock")).now === now + 86_400);
  await page.getByLabel("Seconds").fill("90");
  await page.getByRole("button", { name: "Advance", exact: true }).click();
  await until("90 seconds have passed", async () => (await administer(server, "read-clock")).now === now + 86_490);
  await page.getByLabel(/^Date and time/).fill("2031-02-03T04:05:06");
  await page.getByRole("button", { name: "Set" }).click();
  await until("it is set", async () => (await administer(server, "read-clock")).now === Date.parse("2031-02-03T04:05:06Z") / 1000);
  await page.getByText(/Feb 3, 2031/).first().waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
});

test("a server without faults and without a clock of tests says how to start one, and a read-only console offers nothing", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  const { page } = await visit(t, at(server, "#/server?tab=faults"), { bypassCSP: true, viewport: { width: 390, height: 844 } });
  for (const [tab, text] of [["faults", "This server injects no faults"], ["clock", "This server follows the real time"]]) {
    await page.goto(at(server, `#/server?tab=${tab}`));
    await page.getByText(text).first().waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.deepEqual(await violationsInBothThemes(page), [], tab);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), tab);
  }
  const reader = await serve(t, "--console", "read-only", "--allow-fault-injection");
  await page.goto(at(reader, "#/server"));
  await page.getByText("the console is read-only").waitFor();
  await page.goto(at(reader, "#/server?tab=faults"));
  await page.getByText("No rule: no request gets a fault.").waitFor();
  assert.equal(await page.getByRole("button", { name: /Back up now|Add the rule/ }).count(), 0);
});

test("messages are sent to FIFO queues with their group and their deduplication id", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  const { QueueUrl } = await call(server, "AmazonSQS.CreateQueue", { QueueName: "jobs.fifo", Attributes: { FifoQueue: "true" } });
  const { QueueUrl: bodies } = await call(server, "AmazonSQS.CreateQueue", { QueueName: "bodies.fifo", Attributes: { FifoQueue: "true", ContentBasedDeduplication: "true" } });
  const { page } = await visit(t, at(server, "#/queues/jobs.fifo"), { bypassCSP: true });
  const rows = page.getByRole("region", { name: "Messages" }).locator("tbody tr");
  const send = async (body, group, id) => {
    await page.getByLabel("Send a message").fill(body);
    await page.getByLabel("Message group id").fill(group);
    await page.getByLabel("Deduplication id").fill(id);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await until("it is sent", async () => (await page.getByLabel("Send a message").inputValue()) === "");
  };
  await send("first", "ann", "one");
  await send("the same", "ann", "one");
  await send("second", "bob", "two");
  await send("third", "bob", "");
  await until("three messages", async () => (await rows.count()) === 3);
  assert.deepEqual(await violationsInBothThemes(page), []);
  await rows.first().getByRole("link").click();
  const dialog = page.getByRole("dialog", { name: "Message" });
  await dialog.getByRole("row", { name: "Deduplication id one" }).waitFor();
  await dialog.getByRole("row", { name: "Message group ann" }).waitFor();
  await page.keyboard.press("Escape");
  const { Messages } = await call(server, "AmazonSQS.ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10, AttributeNames: ["All"] });
  assert.deepEqual(Messages.map((one) => [one.Body, one.Attributes.MessageGroupId]), [["first", "ann"], ["second", "bob"], ["third", "bob"]]);
  await page.goto(at(server, "#/queues/bodies.fifo"));
  await page.getByText("made from the body unless given").waitFor();
  await send("once", "ann", "");
  await send("once", "ann", "");
  await until("one message", async () => (await rows.count()) === 1);
  const { Attributes } = await call(server, "AmazonSQS.GetQueueAttributes", { QueueUrl: bodies, AttributeNames: ["All"] });
  assert.equal(Attributes.ApproximateNumberOfMessages, "1");
  const { QueueUrl: plain } = await call(server, "AmazonSQS.CreateQueue", { QueueName: "plain" });
  await page.goto(at(server, "#/queues/plain"));
  await page.getByLabel("Send a message").fill("later");
  await page.getByLabel("Delay in seconds").fill("600");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText(/^visible in (9 min|10 min)/).waitFor();
  assert.equal((await call(server, "AmazonSQS.GetQueueAttributes", { QueueUrl: plain, AttributeNames: ["All"] })).Attributes.ApproximateNumberOfMessagesDelayed, "1");
});
