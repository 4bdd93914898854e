// The page of apps/manhunt in a real browser: contacts and methods are kept, a search begins, unfolds and ends, dead letters are
// replayed, and a person with a link answers. Run by `node --test` with MANHUNT naming the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { HOSTILE, demonstrated, start } from "./demo.mjs";

const demo = demonstrated("MANHUNT");
const { visit } = demo;
const WIDTHS = [390, 1280];
const sized = (width) => ({ viewport: { width, height: 800 } });
const encoded = encodeURIComponent;
const number = (at) => `+493010${at}`;

async function call(method, path, body, key, url = demo.url) {
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  const answer = await fetch(`${url}/domains/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text && JSON.parse(text);
}
const post = (path, body) => call("POST", path, body);

/** A contact who is waited for this many seconds by one method after another. */
async function contact(domain, name, waits) {
  const { contactId } = await post(`${encoded(domain)}/contacts`, { name });
  for (const [at, waitSeconds] of waits.entries()) {
    await post(`${encoded(domain)}/contacts/${contactId}/methods`, { type: "text", destination: number(at), waitSeconds });
  }
  return contactId;
}
const begin = (domain, contactId) => post(`${encoded(domain)}/searches`, { contactId });

const status = (page, word) => page.getByRole("status").getByText(word, { exact: true }).waitFor();
const card = (page, text) => page.locator(".card").filter({ hasText: text });
const press = (place, name) => place.getByRole("button", { name, exact: true }).click();
async function fits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `${wide} wide on a screen of ${width}`);
}
/** For a person who wants to see it: SHOTS names a directory. */
const shot = (page, name) => process.env.SHOTS && page.screenshot({ path: join(process.env.SHOTS, `manhunt-${name}.png`), fullPage: true });

test("what is typed right after an action stays, however late another answer comes", async (t) => {
  const { page } = await visit(t, `/#/${encoded("late answers")}`);
  await page.getByText("There are no contacts yet.").waitFor();
  let asked = 0;
  await page.route(/contacts\/[^/?]+$/, async (route) => {
    asked += 1;
    if (asked === 2) await page.waitForTimeout(1000);
    await route.continue();
  });
  await page.getByRole("form", { name: "Add a contact" }).getByLabel("Name").fill("Ada");
  await press(page, "Add");
  const adding = page.getByRole("form", { name: "Add a method" });
  await adding.getByLabel("Destination").fill("+49 30 1234");
  await page.waitForTimeout(1500);
  assert.equal(await adding.getByLabel("Destination").inputValue(), "+49 30 1234");
});

for (const width of WIDTHS) {
  test(`${width}: a contact and its methods are added, edited and removed`, async (t) => {
    const domain = `Zoë & Söhne/Köln #${width}`;
    const { page, complaints } = await visit(t, "/", sized(width));
    await page.getByLabel("Domain").fill(domain);
    await press(page, "Open");
    await page.getByText("There are no contacts yet.").waitFor();
    await page.getByRole("form", { name: "Add a contact" }).getByLabel("Name").fill("Ada");
    await press(page, "Add");
    await page.getByRole("heading", { name: "Ada" }).waitFor();
    const adding = page.getByRole("form", { name: "Add a method" });
    await adding.getByLabel("Destination").fill("030 1234");
    await press(adding, "Add");
    await page.getByRole("alert").getByText("is not a number with its country").waitFor();
    await page.getByRole("alert").getByRole("link", { name: "Back to the contacts of" }).waitFor();
    await adding.getByLabel("Destination").fill("+49 30 1234");
    await press(adding, "Add");
    await card(page, "+49301234").getByText("order 1, wait 300 s, 2 repetitions").waitFor();
    await page.getByRole("alert").waitFor({ state: "hidden" });
    await page.getByText("Add a method", { exact: true }).click();
    await adding.getByLabel("Type").selectOption("Mail");
    await adding.getByLabel("Destination").fill("ada@example.org");
    await adding.getByLabel("Order").fill("1");
    await press(adding, "Add");
    await card(page, "ada@example.org").getByText("order 1, at once with the others of this order").waitFor();
    await shot(page, `contact-${width}`);
    await fits(page, width);

    await page.getByText("Edit contact").click();
    const edit = page.getByRole("form", { name: "Edit contact" });
    await edit.getByLabel("Name").fill("Ada Lovelace");
    await edit.getByLabel("Time zone").fill("Europe/London");
    await edit.getByLabel("Quiet from").fill("22:00");
    await edit.getByLabel("Quiet until").fill("07:30");
    await press(edit, "Save");
    await page.getByText("Quiet from 22:00 until 07:30, Europe/London.").waitFor();
    await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor();
    const mail = card(page, "ada@example.org");
    await mail.getByText("Edit method").click();
    await fits(page, width);
    await mail.getByLabel("Wait for an answer").fill("5");
    await mail.getByLabel("Enabled").uncheck();
    await press(mail, "Save");
    await mail.getByText("wait 5 s, 2 repetitions, disabled").waitFor();
    await mail.getByText("Edit method").click();
    await press(mail, "Delete method");
    await press(mail, "Keep");
    await press(mail, "Delete method");
    await press(mail, "Delete method for good");
    await mail.waitFor({ state: "detached" });
    await page.getByText("Edit contact").click();
    await press(page, "Delete contact");
    await press(page, "Delete contact for good");
    await page.getByText("There are no contacts yet.").waitFor();
    assert.deepEqual(complaints.filter((text) => !text.includes("400")), []);
  });

  test(`${width}: a search that is begun on the page unfolds there without a reload, and an answer ends it`, async (t) => {
    const domain = `unfold-${width}`;
    await contact(domain, "Ada", [2, 1, 600]);
    const { page, complaints } = await visit(t, `/#/${domain}`, sized(width));
    await press(card(page, "Ada"), "Find");
    await status(page, "active");
    await page.evaluate(() => { window.isTheSamePage = true; });
    assert.equal(await card(page, number(2)).count(), 0, "the last method comes last");
    await card(page, number(0)).waitFor();
    await page.getByRole("progressbar").waitFor();
    await card(page, number(2)).getByText("waiting for an answer").waitFor();
    await card(page, number(0)).getByText("no answer").waitFor();
    await shot(page, `search-${width}`);
    await fits(page, width);
    await press(card(page, number(1)), "Answer");
    await status(page, "successful");
    await card(page, number(1)).getByText("answered").waitFor();
    await page.getByText("the search was successful").waitFor();
    assert.equal(await page.getByRole("button").count(), 0, "there is nothing left to do");
    assert.equal(await page.evaluate(() => window.isTheSamePage), true);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.deepEqual(asked, [], "what has ended is not asked for again");
    await page.getByRole("link", { name: "Ada" }).click();
    await page.getByRole("link", { name: /^successful, began/ }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test(`${width}: failures and repetitions are shown while they happen`, async (t) => {
    const domain = `failing-${width}`, id = await contact(domain, "Eve", []);
    const hook = { type: "webhook", destination: "http://127.0.0.1:9/x", retries: 1, retrySeconds: 2, waitSeconds: 600 };
    await post(`${domain}/contacts/${id}/methods`, hook);
    const { searchId } = await begin(domain, id);
    const { page, complaints } = await visit(t, `/#/${domain}/searches/${searchId}`, sized(width));
    await card(page, "127.0.0.1:9").getByText(/failed: .*; tried again at/).waitFor();
    await page.getByRole("listitem").filter({ hasText: "it is tried again" }).waitFor();
    await status(page, "failed");
    await page.getByText("nothing was left to try: the search failed").waitFor();
    await shot(page, `failures-${width}`);
    await fits(page, width);
    assert.deepEqual(complaints, []);
  });

  test(`${width}: a list of a thousand contacts is one request for each page of it`, async (t) => {
    const domain = `many-${width}`;
    for (let at = 0; at < 1000; at += 50) {
      await Promise.all([...Array(50).keys()].map((more) => post(`${domain}/contacts`, { name: `Nr. ${String(at + more).padStart(4, "0")}` })));
    }
    const { page, complaints } = await visit(t, "/", sized(width));
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${demo.url}/#/${domain}`);
    await card(page, "Nr. 0024").waitFor();
    assert.equal(asked.filter((url) => url.includes("/domains/")).length, 1, `${asked}`);
    assert.equal(await page.locator("li.card").count(), 25);
    await press(page, "More contacts");
    await card(page, "Nr. 0049").waitFor();
    assert.equal(asked.filter((url) => url.includes("/domains/")).length, 2, `${asked}`);
    await fits(page, width);
    assert.deepEqual(complaints, []);
  });

  test(`${width}: the newest searches come first, older ones when asked for, and a filter says since when`, async (t) => {
    const domain = `busy-${width}`, busy = await contact(domain, "Busy", []);
    for (let at = 0; at < 11; at += 1) await begin(domain, busy);
    // Searches are sorted by their start in whole seconds, as in the original's rows.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const last = await begin(domain, busy);
    const { page, complaints } = await visit(t, `/#/${domain}/contacts/${busy}`, sized(width));
    const began = page.getByRole("link", { name: /, began / });
    await began.first().waitFor();
    assert.equal(await began.count(), 10);
    assert.match(await began.first().getAttribute("href"), new RegExp(last.searchId));
    await press(page, "Older searches");
    await page.waitForFunction(() => document.querySelectorAll("main a.failed").length === 12);
    assert.equal(await page.getByRole("button", { name: "Older searches" }).count(), 0);
    await page.getByText("Filter").click();
    const filter = page.getByRole("form", { name: "Filter searches" });
    await filter.getByLabel("Before").fill("2020-01-01T00:00");
    await press(filter, "Show");
    await page.getByText("There are no searches.").waitFor();
    await filter.getByLabel("Before").fill("");
    await filter.getByLabel("Since").fill("2020-01-01T00:00");
    await filter.getByLabel("Status").selectOption("failed");
    await press(filter, "Show");
    await began.first().waitFor();
    await fits(page, width);
    assert.deepEqual(complaints, []);
  });

  test(`${width}: the owner of a link answers, and sees no number`, async (t) => {
    const told = [];
    const receiver = createServer((request, answer) => {
      let body = "";
      request.on("data", (data) => { body += data; }).on("end", () => { told.push(JSON.parse(body)); answer.end(); });
    });
    await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    t.after(() => receiver.close());
    const domain = `linked-${width}`, id = await contact(domain, "Emmy", []);
    await post(`${domain}/contacts/${id}/methods`, { type: "webhook", destination: `http://127.0.0.1:${receiver.address().port}/`, order: 0 });
    await post(`${domain}/contacts/${id}/methods`, { type: "text", destination: number(7), order: 0 });
    const { searchId } = await begin(domain, id);
    for (let at = 0; at < 400 && told.length === 0; at += 1) await new Promise((resolve) => setTimeout(resolve, 50));
    const { page, complaints } = await visit(t, told[0].link, sized(width));
    await page.getByRole("heading", { name: "Emmy, you are needed" }).waitFor();
    assert.ok(!(await page.locator("main").textContent()).includes(number(7)));
    await shot(page, `answer-${width}`);
    await fits(page, width);
    await press(page, "I answer");
    await page.getByText("Thank you, your answer was noted.").waitFor();
    const { search } = await call("GET", `${domain}/searches/${searchId}`);
    assert.equal(search.status, "successful");
    assert.deepEqual(complaints, []);
    await page.goto(`${told[0].link}x`);
    await page.getByRole("alert").getByText("this link is not valid").waitFor();
  });

  test(`${width}: dead letters are shown and replayed`, async (t) => {
    // The demonstration has a search whose contact is gone; its step is given up after five tries.
    const { page } = await visit(t, "/#/db3280c", sized(width));
    await page.getByRole("link", { name: "Dead letters" }).click();
    const reason = page.getByText("there is no such contact");
    for (let at = 0; at < 60 && !(await reason.isVisible()); at += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await page.reload();
      await page.getByRole("heading", { name: "Dead letters" }).waitFor();
    }
    await reason.waitFor();
    await shot(page, `letters-${width}`);
    await fits(page, width);
    await page.getByRole("link", { name: "make attempt 0" }).click();
    await page.getByText("This search does not go on: a step of it was given up.").waitFor();
    await page.getByRole("link", { name: "dead letters", exact: true }).click();
    await press(page, "Replay");
    await page.getByText("There are none: every step was made.").waitFor();
  });
}

test("everything can be done by keyboard, and the focus stays on a button while attempts appear", async (t) => {
  const only = "keyboard";
  await contact(only, "Grace", [3, 600]);
  const { page, complaints } = await visit(t, "/");
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const tabTo = async (what) => {
    for (let presses = 0; presses < 20 && (await focused()) !== what; presses += 1) await page.keyboard.press("Tab");
    assert.equal(await focused(), what);
  };
  await page.getByLabel("Domain").waitFor();
  await tabTo("Manhunt");
  await page.keyboard.press("Tab");
  await page.keyboard.type(only);
  await page.keyboard.press("Enter");
  await card(page, "Grace").waitFor();
  await tabTo("Find");
  await page.keyboard.press("Enter");
  // What has the focus keeps it when the view is drawn again; before it is drawn there is nothing to go to.
  await page.getByRole("button", { name: "Cancel" }).waitFor();
  await tabTo("Cancel");
  await card(page, number(0)).waitFor();
  await card(page, number(1)).waitFor();
  assert.equal(await focused(), "Cancel");
  await page.keyboard.press("Enter");
  await status(page, "canceled");
  await page.getByText("the search was canceled: from the page").waitFor();
  assert.deepEqual(complaints, []);
});

test("what others wrote is shown as text", async (t) => {
  const hostile = await contact(HOSTILE, HOSTILE, [600]);
  const { searchId } = await post(`${encoded(HOSTILE)}/searches`, { contactId: hostile, metadata: { subject: HOSTILE } });
  const at = `/#/${encoded(HOSTILE)}`;
  const { page, complaints } = await visit(t, at);
  await page.locator("strong").getByText(HOSTILE, { exact: true }).waitFor();
  await page.goto(`${demo.url}${at}/contacts/${hostile}`);
  await page.getByRole("heading", { name: HOSTILE, exact: true }).waitFor();
  await page.goto(`${demo.url}${at}/searches/${searchId}`);
  await page.getByRole("link", { name: HOSTILE, exact: true }).waitFor();
  assert.equal(await page.locator("#view b, #view img").count(), 0);
  assert.equal(await page.evaluate(() => window.wasRun), undefined);
  assert.deepEqual(complaints, []);
});

test("every error says what is wrong and leads back, and nothing of another view stays under its address", async (t) => {
  await contact("d6", "Hedy", [600]);
  const { page } = await visit(t, "/#/d6");
  const domain = "Back to the contacts of d6", first = "Back to the start";
  for (const [nowhere, why, back] of [
    ["#/d6/searches/ff", "there is no such search", domain], ["#/d6/contacts/ff", "there is no such contact", domain],
    ["#/d6/nothing", "There is no such page.", domain], ["#/%", "URI", first], ["#answer/x.1.y", "this link is not valid", first],
  ]) {
    await page.goto(`${demo.url}/#/d6`);
    await card(page, "Hedy").waitFor();
    await page.goto(`${demo.url}/${nowhere}`);
    await page.getByRole("alert").getByText(why).waitFor();
    assert.equal(await card(page, "Hedy").count(), 0, nowhere);
    await page.getByRole("alert").getByRole("link", { name: back }).click();
    await (back === first ? page.getByLabel("Domain") : card(page, "Hedy")).waitFor();
    assert.ok(await page.getByRole("alert").isHidden());
  }
});

test("a domain with too long a name is refused in plain words", async (t) => {
  const { page } = await visit(t, `/#/${"d".repeat(300)}`);
  await page.getByRole("alert").getByText("a domain has 256 characters at most", { exact: true }).waitFor();
});

test("with keys, the page asks for one, and a wrong one opens nothing", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "manhunt-page-"));
  const child = spawn(process.env.MANHUNT, ["serve", "--port", "0", "--data", join(folder, "data")], { stdio: ["ignore", "pipe", "inherit"], env: { RUST_LOG: "off", MANHUNT_ADMIN_KEY: "root" } });
  t.after(async () => {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill();
    await gone;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = await new Promise((found, lost) => {
    let said = "";
    child.on("error", lost).once("exit", (code) => lost(new Error(`manhunt ended with ${code}`)));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      const there = (said += text).match(/serves (http:\/\/\S+)\n/);
      if (there) found(there[1]);
    });
  });
  const { key } = await call("POST", "acme/keys", {}, "root", url);
  await call("POST", "acme/contacts", { name: "Ada" }, key, url);
  const { page } = await visit(t, `${url}/#/acme`);
  const alert = page.getByRole("alert");
  for (const given of ["mh_wrong", key]) {
    await alert.getByText("this needs a key of the domain").waitFor();
    await alert.getByLabel("API key").fill(given);
    await press(alert, "Use key");
  }
  await card(page, "Ada").waitFor();
  await page.goto(`${url}/#/other`);
  await alert.getByText("this needs a key of the domain").waitFor();
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
