// The page of apps/klayers in a real browser: layers are searched by package, region and Python, and their ARNs copied. Run by
// `node --test` with KLAYERS naming the program.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { demonstrated } from "./demo.mjs";

const REGIONS = ["eu-west-1", "us-east-1", "ap-southeast-1"];
const TOKEN = "open sesame";
const folder = mkdtempSync(join(tmpdir(), "klayers-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The packages of the list, with their versions. */
function release(packages) {
  const lines = Object.entries(packages).map(([name, version]) => `${name},${version},`);
  writeFileSync(join(folder, "packages.csv"), ["package,version,requires", ...lines, ""].join("\n"));
}
release({ requests: "2.31.0", "requests-toolbelt": "1.0.0", numpy: "2.1.2", "<b>hostile</b>": "1.0", "a-package-with-a-very-long-name-that-does-not-end-soon": "20241016.100000.1" });
writeFileSync(join(folder, "regions.csv"), ["region", ...REGIONS, ""].join("\n"));
const demo = demonstrated(
  "KLAYERS", "--data", join(folder, "data"), "--packages", join(folder, "packages.csv"), "--regions", join(folder, "regions.csv"),
  "--pythons", "p3.8,p3.12", "--token", TOKEN);
const arn = (name, region, version = 1, python = "p312") => `arn:aws:lambda:${region}:000000000000:layer:Klayers-${python}-${name}:${version}`;

/** Visits, and lists what the page asks the server for when it is loaded. */
async function visit(t, path, options = {}) {
  const visited = await demo.visit(t, path, options);
  const asked = [];
  visited.page.on("request", (request) => {
    // Requests of the first visit do not count for this one.
    if (request.isNavigationRequest()) asked.length = 0;
    asked.push(new URL(request.url()).pathname);
  });
  await visited.page.reload();
  return { ...visited, asked };
}
const row = (page, text) => page.getByRole("listitem").filter({ hasText: text });
const status = (page, text) => page.getByRole("status").getByText(text).waitFor();

test("layers are found by package, region and Python, with a request for each list and none for each row", async (t) => {
  const { page, complaints, asked } = await visit(t, "/");
  await status(page, "5 packages for p3.12 in eu-west-1");
  await row(page, arn("numpy", "eu-west-1")).waitFor();
  await page.getByLabel("Package", { exact: true }).fill("Requests");
  await status(page, "2 packages for p3.12 in eu-west-1");
  await page.getByLabel("Region").selectOption("us-east-1");
  await status(page, "2 packages for p3.12 in us-east-1");
  await row(page, arn("requests", "us-east-1")).waitFor();
  await page.getByLabel("Python").selectOption("p3.8");
  await row(page, arn("requests-toolbelt", "us-east-1", 1, "p38")).waitFor();
  await page.getByLabel("Package", { exact: true }).fill("nothing");
  await page.getByText("No package has this in its name.").waitFor();
  const lists = asked.filter((path) => path.startsWith("/api/v2/"));
  assert.ok(lists.length <= 4, `${lists}`);
  assert.ok(asked.filter((path) => path.startsWith("/api/")).length <= 8, `${asked}`);
  assert.equal(await page.evaluate(() => location.hash), "#/p3.8/us-east-1", "the address names what is seen");
  assert.deepEqual(complaints, []);
});

test("the ARN is copied", async (t) => {
  const { page, complaints } = await visit(t, "/#/p3.12/eu-west-1", { permissions: ["clipboard-read", "clipboard-write"] });
  await row(page, arn("numpy", "eu-west-1")).getByRole("button").click();
  await page.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), arn("numpy", "eu-west-1"));
  assert.deepEqual(complaints, []);
});

test("after a run that was called for, a package shows its versions with their expiry in all regions", async (t) => {
  const refused = await fetch(`${demo.url}/api/v1/runs`, { method: "POST" });
  assert.equal(refused.status, 403);
  release({ requests: "2.32.0", "requests-toolbelt": "1.0.0", numpy: "2.1.2", "<b>hostile</b>": "1.0", "a-package-with-a-very-long-name-that-does-not-end-soon": "20241016.100000.1" });
  const begun = await fetch(`${demo.url}/api/v1/runs`, { method: "POST", headers: { authorization: `Bearer ${TOKEN}` } });
  assert.equal(begun.status, 202, await begun.clone().text());
  const deadline = Date.now() + 30_000;
  const ended = async () => (await (await fetch(`${demo.url}/api/v1/runs`)).json()).runs[0].ended;
  while (!(await ended())) {
    assert.ok(Date.now() < deadline, "the run does not end");
    await new Promise((go) => setTimeout(go, 50));
  }
  const { page, complaints, asked } = await visit(t, "/#/p3.12/us-east-1/requests");
  await page.getByRole("heading", { name: "requests for p3.12" }).waitFor();
  await row(page, arn("requests", "us-east-1", 2)).filter({ hasText: "2.32.0latest" }).waitFor();
  const year = new Date().getFullYear() + 1;
  const before = row(page, arn("requests", "us-east-1", 1)).filter({ hasText: "2.31.0until" });
  assert.match(await before.textContent(), new RegExp(`until ${year}-`));
  for (const region of REGIONS) await row(page, arn("requests", region, 2)).first().waitFor();
  assert.ok(asked.filter((path) => path.startsWith("/api/v2/")).length <= 4, `${asked}`);
  await page.getByText(/Last run .*: 2 built, 6 deployed, 24 unchanged, 0 failed\./).waitFor();
  await page.getByRole("link", { name: "All packages" }).click();
  await status(page, "5 packages for p3.12 in us-east-1");
  assert.deepEqual(complaints, []);
});

for (const [width, colors] of [[390, "light"], [390, "dark"], [1280, "light"], [1280, "dark"]]) {
  test(`nothing sticks out at ${width} pixels, in ${colors} colors`, async (t) => {
    const { page, complaints } = await visit(t, "/#/p3.12/eu-west-1", { viewport: { width, height: 800 }, colorScheme: colors });
    const fits = async () => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} wide`);
    };
    await status(page, "5 packages");
    await fits();
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(paper, colors === "dark" ? "rgb(20, 24, 30)" : "rgb(246, 247, 249)");
    if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `klayers-${width}-${colors}.png`) });
    await page.getByRole("link", { name: "requests", exact: true }).click();
    await page.getByRole("heading", { name: "requests for p3.12" }).waitFor();
    await fits();
    if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `klayers-package-${width}-${colors}.png`), fullPage: true });
    await page.goto(`${demo.url}/api/v2/p3.12/layers/latest/eu-west-1/html`);
    await page.getByRole("cell", { name: arn("numpy", "eu-west-1") }).waitFor();
    await fits();
    assert.deepEqual(complaints, []);
  });
}

test("what others wrote is shown as text, and what is not there is said", async (t) => {
  const { page } = await visit(t, "/#/p3.12/eu-west-1");
  await page.getByRole("link", { name: "<b>hostile</b>", exact: true }).click();
  await page.getByRole("heading", { name: "<b>hostile</b> for p3.12" }).waitFor();
  assert.equal(await page.locator("#view b").count(), 0);
  await page.goto(`${demo.url}/#/p3.12/eu-west-1/unknown`);
  await page.getByText("There is no layer of this package.").waitFor();
  await page.goto(`${demo.url}/#/p3.12/nowhere`);
  await page.getByText("There are no layers here yet.").waitFor();
  await page.goto(`${demo.url}/#/%`);
  await page.getByRole("alert").getByText("URI").waitFor();
});
