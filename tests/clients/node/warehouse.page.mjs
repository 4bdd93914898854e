// The page of apps/warehouse in a real browser: a package is chosen, a build unfolds, versions are promoted and rolled back by
// button. Run by `node --test` with WAREHOUSE naming the program.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { HOSTILE, demonstrated } from "./demo.mjs";

const demo = demonstrated("WAREHOUSE");
const { visit } = demo;

/** A tarball with one file. */
function tarball(content) {
  const header = Buffer.alloc(512);
  header.write("package/index.js", 0);
  header.write("0000644\0", 100);
  header.write(content.length.toString(8).padStart(11, "0"), 124);
  header.write("        0", 148); // The sum is made with blanks, and this is a plain file.
  header.write("ustar\0", 257);
  const sum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return gzipSync(Buffer.concat([header, Buffer.from(content), padding, Buffer.alloc(1024)]));
}

async function publish(name, version, more = {}) {
  const manifest = { name, version, main: "index.js", build: "es", locales: ["de-DE", "en-US"], ...more };
  const body = {
    name, versions: { [version]: manifest }, "dist-tags": { latest: version },
    _attachments: { "package.tgz": { data: tarball(`export default "${name} ${version}";`).toString("base64") } },
  };
  const answer = await fetch(`${demo.url}/${encodeURIComponent(name)}`, { method: "PUT", body: JSON.stringify(body) });
  assert.equal(answer.status, 201, await answer.text());
}

const environment = (page, env) => page.getByRole("region", { name: env, exact: true });

test("a version is promoted and rolled back by button, and builds unfold without a reload", async (t) => {
  await publish("page-one", "1.0.0");
  const { page, complaints } = await visit(t, "/");
  await page.evaluate(() => { window.isTheSamePage = true; });
  await page.getByLabel("Packages that begin with").fill("page-");
  await page.getByRole("link", { name: "page-one" }).click();
  await environment(page, "dev").getByText("1.0.0", { exact: true }).first().waitFor();
  await page.getByText("complete, 2 of 2").waitFor();
  await environment(page, "test").getByRole("button", { name: "Promote" }).click();
  await page.getByText("1.0.0 in test").waitFor();
  await environment(page, "test").locator(".good").getByText("1.0.0").waitFor();
  await publish("page-one", "1.1.0");
  await environment(page, "dev").locator(".good").getByText("1.1.0").waitFor();
  await environment(page, "dev").getByRole("button", { name: "Roll back to 1.0.0" }).click();
  await environment(page, "dev").locator(".good").getByText("1.0.0").waitFor();
  await environment(page, "dev").getByText("3 moves").waitFor();
  assert.equal(await page.evaluate(() => window.isTheSamePage), true);
  assert.deepEqual(complaints, []);
});

test("the graph of dependencies is drawn, and leads from package to package", async (t) => {
  const { page, complaints } = await visit(t, "/#/%40sample%2Fbutton");
  const graph = page.getByRole("img", { name: "Dependencies" });
  await graph.waitFor();
  assert.equal(await graph.locator("rect").count(), 4);
  assert.equal(await graph.locator("path").count(), 4);
  await graph.getByText("@sample/shop").click();
  await page.getByRole("heading", { name: "@sample/shop" }).waitFor();
  assert.deepEqual(complaints, []);
});

test("what packages say is text, and what fails is told", async (t) => {
  await publish("page-hostile", "1.0.0", { description: HOSTILE });
  const { page } = await visit(t, "/#/page-hostile");
  await page.getByText(HOSTILE).waitFor();
  assert.equal(await page.evaluate(() => window.wasRun), undefined);
  await page.goto(`${demo.url}/#/none`);
  await page.getByRole("alert").getByText("there is no package none").waitFor();
});
