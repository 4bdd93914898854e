// Addresses of the console: each dialog, form and page of a list has one, from which a reload and another browser restore it; and the
// command palette, which finds everything that has a name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, browsing, hooked, picture, serve, until, violationsInBothThemes } from "./console.mjs";
import { CONTACT, EFFECTS, administer, call, itemLink, put, queues, sampled, streamed } from "./console-sample.mjs";

const { visit } = browsing();

/** Reloads the page: afterwards only the address can have restored what is shown. */
async function restored(page, hash, there, what) {
  await until(`the address of ${what}`, () => page.url().endsWith(hash));
  await page.reload();
  await there.waitFor();
}

test("the question of each button has an address that a reload restores, and none when it is closed", { timeout: 240_000 }, async (t) => {
  const route = await hooked(t, () => false);
  const server = await sampled(t, "--allow-private-webhooks");
  await queues(server);
  await administer(server, "apply-routes", { text: route("notify") + route("other") });
  await put(server, "manhunt", { entityType: "contact", contactId: "dead", domainId: "mitel", name: "Lazarus" });
  await streamed(server, "books");
  await administer(server, "start-reindex", { table: "books", name: "some", ids: ["missing"], force: true });
  for (let i = 0; i < 20; i += 1) await put(server, "books", { pk: `b${i}` });
  await administer(server, "start-reindex", { table: "books", name: "slow", write_units: 1, workers: 1, page_rows: 5, force: true });
  await administer(server, "pause-reindex", { name: "slow" });
  await administer(server, "apply-model", { text: EFFECTS });
  await put(server, "rows", { kind: "shop", shop: "corner" });
  const moved = EFFECTS.replace('pk = "shop", sk = "{shop}"', 'pk = "shop#{shop}", sk = "shop"');
  const { page } = await visit(t, at(server, ""));
  const asked = async (from, button, hash, title) => {
    const dialog = page.getByRole("dialog", { name: title });
    await page.goto(at(server, from));
    await page.getByRole("button", { name: button, exact: true }).first().click();
    await dialog.waitFor();
    await restored(page, hash, dialog, title);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await until("the address without the question", () => !page.url().includes("open="));
  };
  await asked("#/routes/notify", "Move all", "#/routes/notify?open=move", "Move dead letters");
  await asked("#/routes/notify", "Drop all", "#/routes/notify?open=drop", "Drop all dead letters");
  await asked("#/routes/notify", "Backfill", "#/routes/notify?open=backfill", "Backfill notify");
  await asked("#/queues/jobs", "Purge", "#/queues/jobs?open=purge", "Purge jobs");
  await asked("#/queues/jobs-given-up", "Move all back", "#/queues/jobs-given-up?open=move", "Move the messages of jobs-given-up");
  await asked("#/reindexes/some", "Drop all", "#/reindexes/some?open=drop", "Drop the rows that failed");
  await asked("#/reindexes/slow", "Cancel the reindex", "#/reindexes/slow?open=cancel", "Cancel the reindex slow");
  await asked("#/models/manhunt", "Audit and repair", "#/models/manhunt?open=repair", "Audit of manhunt");
  await asked("#/models/manhunt", "Remove", "#/models/manhunt?open=remove", "Remove model manhunt");
  await asked("#/items/manhunt", "Columns", "#/items/manhunt?open=columns", "Columns");
  await asked("#/items/manhunt", "Export", "#/items/manhunt?open=export", "Export");
  await asked("#/items/manhunt?hash=c0de-1", "Delete the collection …", "#/items/manhunt?hash=c0de-1&open=collection", "Delete a collection of manhunt");
  await asked(itemLink(CONTACT), "Delete", "&open=delete", "Delete this item");
  await administer(server, "pause-writes", { tables: ["books"] });
  await asked("#/overview", "Resume writes to books", "#/overview?open=resume&tables=books", "Resume writes");
  await administer(server, "plan-migration", { text: moved });
  await asked("#/migrations", "Start", "#/migrations/effects?open=start", "Start the migration");
  await administer(server, "start-migration", { paused: true });
  await asked("#/migrations", "Resume", "#/migrations/effects?open=resume", "Resume the migration");
  await asked("#/migrations/effects", "Roll back", "#/migrations/effects?open=back", "Roll back");
  await administer(server, "resume-migration", { rate: "unlimited" });
  await until("it is verified", async () => (await administer(server, "list-migrations")).migrations.some((one) => one.state === "verified"));
  await asked("#/migrations", "Finish", "#/migrations/effects?open=finish", "Finish the migration");
  for (const [from, button, hash, field] of [["#/migrations", "Plan a migration", "#/migrations?open=plan", "The new version of the model"], ["#/reindexes", "Start a reindex", "#/reindexes?open=start", "Version attribute"]]) {
    await page.goto(at(server, from));
    await page.getByRole("button", { name: button }).click();
    await restored(page, hash, page.getByLabel(field), button);
  }
  await page.getByLabel("Name", { exact: true }).waitFor();
  await page.goto(at(server, "#/migrations?open=plan&model=klayers"));
  await until("the file of the model of the address", async () => (await page.getByLabel("The new version of the model").inputValue()).includes('model = "klayers"'));
});

test("pages of dead letters, of rows that failed and of messages have addresses, and so have a letter and a message", { timeout: 240_000 }, async (t) => {
  const route = await hooked(t, () => false);
  const server = await sampled(t, "--allow-private-webhooks");
  const { QueueUrl } = await queues(server);
  await administer(server, "apply-routes", { text: route("notify") });
  for (let i = 0; i < 55; i += 1) await put(server, "manhunt", { entityType: "contact", contactId: `d${i}`, domainId: "mitel", name: "Lazarus" });
  await until("dead letters", async () => (await administer(server, "list-routes")).routes.find((one) => one.route === "notify").dead >= 55);
  await streamed(server, "books");
  await administer(server, "start-reindex", { table: "books", name: "some", ids: Array.from({ length: 55 }, (_, i) => `missing-${i}`), force: true });
  for (let i = 0; i < 110; i += 1) await call(server, "AmazonSQS.SendMessage", { QueueUrl, MessageBody: `number ${i}` });
  const { page, context } = await visit(t, at(server, "#/routes/notify"), { bypassCSP: true });
  const list = { letters: page.getByRole("region", { name: "Dead letters" }).locator("tbody tr"), rows: page.locator(".letters > li"), messages: page.getByRole("region", { name: "Messages" }).locator("tbody tr") };
  const secondPage = async (rows, least) => {
    await until("a full page", async () => (await rows.count()) >= 50);
    const first = await rows.first().textContent();
    await page.getByRole("button", { name: "Next page" }).click();
    await until("another page", async () => { const number = await rows.count(); return number >= least && number < 50 && (await rows.first().textContent()) !== first; });
    assert.match(page.url(), /[?&]page=2&start=/);
    const shown = await rows.first().textContent();
    await page.reload();
    await until("the same page after a reload", async () => (await rows.count()) >= least && (await rows.first().textContent()) === shown);
    await page.getByRole("button", { name: "Previous page" }).click();
    await until("the first page", async () => (await rows.count()) >= 50 && (await rows.first().textContent()) === first);
  };
  await secondPage(list.letters, 5);
  await page.getByRole("button", { name: "Next page" }).click();
  await until("the second page", async () => (await list.letters.count()) < 50 && page.url().includes("page=2"));
  await list.letters.first().getByRole("link").click();
  const letter = page.getByRole("dialog", { name: "Dead letter" });
  await letter.getByText("Lazarus").first().waitFor();
  await page.reload();
  await letter.getByText("Lazarus").first().waitFor();
  await page.keyboard.press("Escape");
  await letter.waitFor({ state: "detached" });
  assert.match(page.url(), /page=2/);
  await page.goto(at(server, "#/reindexes/some"));
  await secondPage(list.rows, 5);
  await page.goto(at(server, "#/queues/jobs"));
  await secondPage(list.messages, 5);
  await list.messages.filter({ hasText: "number 3" }).first().getByRole("link").click();
  const message = page.getByRole("dialog", { name: "Message" });
  await message.getByText("number 3", { exact: true }).waitFor();
  assert.deepEqual(await violationsInBothThemes(page), []);
  // Another tab, and a message that is no longer in the queue.
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByRole("dialog", { name: "Message" }).getByText("number 3", { exact: true }).waitFor();
  await call(server, "AmazonSQS.PurgeQueue", { QueueUrl });
  await other.reload();
  await other.getByText("The message is not in the queue").waitFor();
  await page.goto(at(server, "#/reindexes/some?gaps=table&table=manhunt&attribute=id"));
  assert.equal(await page.getByLabel("Compare with").inputValue(), "table");
  await until("the table of the address", async () => (await page.getByLabel("Table that has the rows").inputValue()) === "manhunt");
  assert.equal(await page.getByLabel("Attribute with the id").inputValue(), "id");
});

test("a large message is shown whole, with its attributes", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  const { QueueUrl } = await call(server, "AmazonSQS.CreateQueue", { QueueName: "large" });
  const body = `${"ä".repeat(200_000)} the end`;
  await call(server, "AmazonSQS.SendMessage", { QueueUrl, MessageBody: body, MessageAttributes: { colour: { DataType: "String", StringValue: "green" } } });
  const { page } = await visit(t, at(server, "#/queues/large"));
  await page.getByText("a large message").waitFor();
  await page.getByRole("region", { name: "Messages" }).getByRole("link").click();
  const shown = page.getByLabel("Body", { exact: true });
  await shown.waitFor();
  assert.equal(await shown.textContent(), body);
  assert.match(await page.getByLabel("Attributes", { exact: true }).textContent(), /colour[^]*green/);
});

test("a link to a question asks nothing of who may not do it, and live changes of a link are paused", async (t) => {
  const server = await sampled(t, "--console", "read-only");
  await queues(server);
  const { page } = await visit(t, at(server, "#/queues/jobs?open=purge"));
  await page.getByRole("region", { name: "Messages" }).waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.goto(at(server, "#/models/manhunt?open=remove"));
  await page.getByRole("heading", { name: "Model manhunt" }).waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.goto(at(server, "#/changes/manhunt?paused=1"));
  await page.getByRole("button", { name: "Resume", exact: true }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
});

// ---- the palette

const search = async (page, text) => {
  await page.keyboard.press("Control+k");
  await page.locator('#palette-list[aria-busy="false"]').waitFor();
  await page.keyboard.type(text);
};

test("the palette finds tables, models, access patterns, routes, queues, migrations and reindexes by name", { timeout: 120_000 }, async (t) => {
  const server = await sampled(t);
  await queues(server);
  await streamed(server, "books");
  await administer(server, "start-reindex", { table: "books", name: "again", ids: ["missing"], force: true });
  await administer(server, "apply-model", { text: EFFECTS });
  await put(server, "rows", { kind: "shop", shop: "corner" });
  await administer(server, "start-migration", { text: EFFECTS.replace('pk = "shop", sk = "{shop}"', 'pk = "shop#{shop}", sk = "shop"'), paused: true });
  const { page } = await visit(t, at(server, "#/overview"), { bypassCSP: true });
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  for (const [text, option, heading] of [
    ["items books", "Items of books table", "Items"], ["model klay", "Model klayers model", "Model klayers"], ["contact_with", "contact_with_methods of manhunt access pattern", "Items"],
    ["route search-b", "Route search-begun route", "Route search-begun"], ["queue given", "Queue jobs-given-up queue", "Queue jobs-given-up"],
    ["migr effects", "Migration of effects migration", "Migration of effects"], ["reindex aga", "Reindex again reindex", "Reindex again"], ["server", "Server view", "Server"],
  ]) {
    await search(page, text);
    assert.equal(await page.getByRole("option", { name: option, exact: true }).getAttribute("aria-selected"), "true", text);
    if (text === "queue given") assert.deepEqual(await violationsInBothThemes(page), []);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
  }
  // In the same theme as the other pictures.
  await page.goto(at(server, "#/overview"));
  await page.reload();
  await page.getByRole("region", { name: "Tables" }).waitFor();
  await search(page, "jobs");
  await picture(page, "console-palette");
});

test("keys that are pressed as a dialog ends open the next one, and it stays", { timeout: 60_000 }, async (t) => {
  const server = await serve(t);
  const { page } = await visit(t, at(server, "#/overview"));
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  for (let i = 0; i < 40; i += 1) {
    for (const [key, name] of [["Control+k", "Command palette"], ["?", "Keys"]]) {
      const dialog = page.getByRole("dialog", { name });
      await page.keyboard.press(key);
      await dialog.waitFor({ timeout: 3000 });
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    }
  }
});

test("the palette does what can be done where the user is, and offers no more than the user may", { timeout: 120_000 }, async (t) => {
  const server = await sampled(t);
  await queues(server);
  const { page } = await visit(t, at(server, "#/overview"), { colorScheme: "light" });
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const act = async (text) => {
    await search(page, text);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Command palette" }).waitFor({ state: "detached" });
  };
  await act("new item manhunt");
  await page.getByRole("dialog", { name: "New item" }).waitFor();
  await page.keyboard.press("Escape");
  await act("send message jobs-given");
  await page.getByRole("heading", { name: "Queue jobs-given-up" }).waitFor();
  await until("the message is typed next", () => page.evaluate(() => document.activeElement.id === "message"));
  await page.goto(at(server, "#/changes/manhunt"));
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  await act("pause live");
  await page.getByRole("button", { name: "Resume", exact: true }).waitFor();
  await act("resume live");
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  for (const theme of ["dark", "light"]) {
    await act(`${theme} theme`);
    await page.locator(`html[data-theme="${theme}"]`).waitFor();
  }
  await act("apply model manhunt");
  await page.getByLabel("Model file").waitFor();
  await act("shortcuts");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await act("plan migration");
  await page.getByLabel("The new version of the model").waitFor();
  const reader = await sampled(t, "--console", "read-only");
  await queues(reader);
  await page.goto(at(reader, "#/overview"));
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await search(page, "action");
  assert.deepEqual(await page.getByRole("option").allTextContents(), ["Dark theme", "Bookmark this view", "List of keyboard shortcuts"].map((label) => `${label}action`));
});
