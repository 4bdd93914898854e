// The page of apps/warehouse in a real browser: packages are found, a build unfolds, versions are promoted and rolled back. Run by
// `node --test` with WAREHOUSE naming the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { HOSTILE, demonstrated, start } from "./demo.mjs";

const demo = demonstrated("WAREHOUSE");
const { visit } = demo;
const WIDTHS = [390, 1280];
const sized = (width) => ({ viewport: { width, height: 800 } });
const encoded = encodeURIComponent;

/** A tarball with one file, which is all that a package needs. */
function tarball(name, content) {
  const header = Buffer.alloc(512), body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  header.write(`package/${name}`, 0);
  for (const [text, at] of [["0000644", 100], ["0000000", 108], ["0000000", 116], ["00000000000", 136], ["        ", 148], ["0", 156], ["ustar", 257], ["00", 263]]) header.write(text, at);
  header.write(content.length.toString(8).padStart(11, "0"), 124);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(sum.toString(8).padStart(6, "0") + "\0 ", 148);
  return gzipSync(Buffer.concat([header, body, Buffer.alloc(1024)]));
}

/** A separate server whose bundler waits until the test sets the outcome of the build for a locale. */
async function patient(t) {
  const folder = mkdtempSync(join(tmpdir(), "warehouse-page-")), signs = join(folder, "signs"), bundler = join(folder, "bundler");
  mkdirSync(signs);
  writeFileSync(bundler, `#!/bin/sh
for word; do case $word in --outdir=*) out=\${word#*=} ;; --define:process.env.LOCALE=*) locale=$(echo "\${word##*=}" | tr -d '"') ;; esac; done
until [ -e "${signs}/$locale" ]; do sleep 0.05; done
if [ -s "${signs}/$locale" ]; then cat "${signs}/$locale" >&2; exit 1; fi
cp "$1" "$out/"
`, { mode: 0o755 });
  const child = spawn(process.env.WAREHOUSE, ["serve", "--port", "0", "--data", join(folder, "data"), "--esbuild", bundler], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, RUST_LOG: "off" } });
  t.after(async () => {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill();
    await gone;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = await new Promise((found, lost) => {
    let said = "";
    child.on("error", lost).once("exit", (code) => lost(new Error(`warehouse ended with ${code}`)));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      const there = (said += text).match(/serves (http:\/\/\S+)\n/);
      if (there) found(there[1]);
    });
  });
  return { url, go: (locale, trouble = "") => writeFileSync(join(signs, locale), trouble) };
}

/** Publishes as npm does. */
async function publish(name, version, manifest = {}, url = demo.url) {
  const whole = { name, version, main: "index.js", build: "es", ...manifest };
  const data = tarball("index.js", `export default ${JSON.stringify(name + version)};\n`).toString("base64");
  const body = { _id: name, name, "dist-tags": { latest: version }, versions: { [version]: whole }, _attachments: { [`${name}-${version}.tgz`]: { data, length: data.length } } };
  await call("PUT", `/${encoded(name)}`, { ...body, description: whole.description }, url);
}
async function call(method, path, body, url = demo.url) {
  const answer = await fetch(url + path, { method, headers: { "content-type": "application/json" }, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text && JSON.parse(text);
}
async function until(what, holds) {
  for (const end = Date.now() + 45_000; Date.now() < end;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`waited for ${what} in vain`);
}
const used = async (name, env) => (await call("GET", `/builds/${encoded(name)}/${env}/-/history`))[0]?.version;
const inUse = (name, env, version) => until(`${name} ${version} in ${env}`, async () => (await used(name, env)) === version);
/** A package that is built in dev, in these versions. */
async function built(name, versions, manifest) {
  for (const version of versions) {
    await publish(name, version, manifest);
    await inUse(name, "dev", version);
  }
}

const at = (name, ...rest) => "/#/p/" + [name, ...rest].map(encoded).join("/");
const env = (page, name) => page.getByRole("region", { name, exact: true });
const row = (page, locale) => page.getByRole("region", { name: "Versions in use" }).getByRole("row").filter({ hasText: locale });
const cells = async (page, locale) => (await row(page, locale).locator("td > :first-child").allTextContents());
const agree = (page, word) => page.getByRole("dialog").getByRole("button", { name: word, exact: true }).click();
async function fits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `${wide} wide on a screen of ${width}`);
}

for (const width of WIDTHS) {
  test(`${width}: the sample is listed and found, by the beginning of its name and by keyword`, async (t) => {
    const { page, complaints } = await visit(t, "/", sized(width));
    const listed = page.getByRole("list", { name: "Packages" });
    await listed.getByText("Colours and distances.").waitFor();
    await fits(page, width);
    await page.getByLabel("Search packages").fill("@sample/b");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("heading", { name: "Packages found" }).waitFor();
    assert.deepEqual(await listed.locator("strong").allTextContents(), ["@sample/banner", "@sample/button"]);
    await listed.getByRole("link", { name: "design" }).click();
    await listed.getByRole("link", { name: "@sample/tokens" }).waitFor();
    assert.deepEqual(await listed.locator("strong").allTextContents(), ["@sample/button", "@sample/tokens"]);
    assert.equal(await page.getByLabel("Search packages").inputValue(), "design");
    await page.getByLabel("Search packages").fill("nothing like it");
    await page.keyboard.press("Enter");
    await page.getByText("No package has the keyword “nothing like it”.").waitFor();
    await page.getByRole("link", { name: "Show all packages" }).click();
    await listed.getByText("Colours and distances.").waitFor();
    assert.deepEqual(complaints, []);
  });

  test(`${width}: heads of all environments, the graph in layers, and the release line`, async (t) => {
    const { page, complaints } = await visit(t, at("@sample/tokens"), sized(width));
    await row(page, "fr-FR").waitFor();
    for (const locale of ["de-DE", "en-US", "fr-FR"]) assert.deepEqual(await cells(page, locale), ["1.1.0", "1.1.0", "1.0.0"], locale);
    await page.getByText("Used by: @sample/banner, @sample/button").waitFor();
    const node = (name) => page.locator("svg").getByRole("link", { name });
    const top = async (name) => (await node(name).boundingBox()).y;
    assert.ok((await top("@sample/tokens")) < (await top("@sample/button")), "what is depended on is above");
    assert.ok((await top("@sample/button")) < (await top("@sample/shop")));
    assert.equal(await top("@sample/button"), await top("@sample/banner"));
    assert.equal(await page.locator("svg path.edge").count(), 4);
    const line = page.getByRole("list", { name: "Dependents in the release line" });
    assert.deepEqual(await line.getByRole("listitem").allTextContents(), ["@sample/banner 0.3.1-0", "@sample/button 1.0.1-0"]);
    await fits(page, width);
    await node("@sample/shop").click();
    await page.getByRole("heading", { name: "@sample/shop" }).waitFor();
    assert.equal(new URL(page.url()).hash, "#/p/%40sample%2Fshop", "a link that can be shared");
    assert.deepEqual(complaints, []);
  });

  test(`${width}: a version is promoted, and rolled back from the history`, async (t) => {
    const name = `moved-${width}`;
    await built(name, ["1.0.0", "2.0.0", "10.0.0"], { locales: ["de-DE", "en-US"] });
    const { page, complaints } = await visit(t, at(name, "test"), sized(width));
    await env(page, "test").getByText("nothing in use").waitFor();
    await env(page, "test").getByText("Promote a version to use it here.").waitFor();
    const choice = page.getByLabel("Version for test");
    assert.deepEqual(await choice.locator("option").allTextContents(), ["10.0.0", "2.0.0", "1.0.0"]);
    await page.evaluate(() => { window.isTheSamePage = true; });
    for (const version of ["1.0.0", "2.0.0"]) {
      await choice.selectOption(version);
      await page.getByRole("button", { name: "Promote in test" }).click();
      await page.getByRole("dialog").getByRole("heading", { name: `Promote ${name} ${version} in test?` }).waitFor();
      await fits(page, width);
      await agree(page, "Promote");
      await page.getByText(`${version} is built for test first`).waitFor();
      await env(page, "test").locator("strong.good").getByText(version, { exact: true }).waitFor();
    }
    assert.deepEqual(await cells(page, "de-DE"), ["10.0.0", "2.0.0", "none"]);
    await env(page, "test").getByRole("button", { name: "Roll back to 1.0.0" }).click();
    await agree(page, "Roll back");
    await page.getByText("test uses 1.0.0 now.").waitFor();
    await env(page, "test").getByText("No earlier version to roll back to.").waitFor();
    assert.equal(await used(name, "test"), "1.0.0");
    await env(page, "test").getByText("History of test (3)").click();
    await env(page, "test").getByRole("button", { name: "Use 2.0.0 again" }).click();
    await agree(page, "Roll back");
    await page.getByText("test uses 2.0.0 now.").waitFor();
    assert.equal(await used(name, "test"), "2.0.0");
    await env(page, "test").getByText("History of test (4)").waitFor();
    assert.equal(await env(page, "test").locator("details").getAttribute("open"), "", "what is unfolded stays unfolded");
    await fits(page, width);
    assert.equal(await page.evaluate(() => window.isTheSamePage), true);
    assert.deepEqual(complaints, []);
  });

  test(`${width}: what others wrote is shown as text`, async (t) => {
    const name = `hostile-${width}`, script = "<script>window.wasRun = true</script>";
    await publish(name, "1.0.0", { description: HOSTILE + script, keywords: [script], build: false });
    const { page, complaints } = await visit(t, `/#/?find=${name}`, sized(width));
    await page.getByRole("list", { name: "Packages" }).getByText(HOSTILE + script, { exact: true }).waitFor();
    await page.getByRole("link", { name: script, exact: true }).click();
    await page.getByText(HOSTILE + script, { exact: true }).first().waitFor();
    await page.goto(demo.url + at(name));
    await page.getByRole("heading", { name, exact: true }).waitFor();
    await page.getByText(HOSTILE + script, { exact: true }).waitFor();
    await fits(page, width);
    assert.equal(await page.locator("#view b, #view img, #view script").count(), 0);
    assert.equal(await page.evaluate(() => window.wasRun), undefined);
    assert.deepEqual(complaints, []);
  });
}

for (const width of WIDTHS) {
  test(`${width}: without packages the page says how to publish, and then a build unfolds there, locale by locale`, async (t) => {
    const { url, go } = await patient(t);
    const { page, complaints } = await visit(t, url, sized(width));
    await page.getByText("No package is published here yet.").waitFor();
    await page.getByText(`npm publish --registry ${url}/`).waitFor();
    await fits(page, width);
    await publish("slow", "1.0.0", { locales: ["de-DE", "en-US", "fr-FR"] }, url);
    await page.getByRole("link", { name: "slow" }).click();
    const dev = env(page, "dev");
    await dev.getByText("is being built").waitFor();
    await dev.getByText("0 of 3 locales, 0 %").waitFor();
    await dev.getByText("fr-FR: waiting").waitFor();
    go("en-US");
    await dev.getByText("1 of 3 locales, 33 %").waitFor();
    await dev.getByText("en-US: built").waitFor();
    assert.equal(await dev.getByRole("progressbar").getAttribute("value"), "33");
    assert.deepEqual(await cells(page, "en-US"), ["none", "none", "none"], "all locales are used together, or none");
    await dev.getByRole("link", { name: "Build of 1.0.0" }).click();
    await page.getByRole("heading", { name: "Build of 1.0.0" }).waitFor();
    go("fr-FR", HOSTILE);
    const events = page.getByRole("list", { name: "Events" });
    await events.getByText("fr-FR: the build failed").first().waitFor();
    await events.getByText(HOSTILE).first().waitFor();
    await page.getByText("promote 1.0.0 to have it built again").waitFor();
    assert.equal(await page.locator("#view b, #view img").count(), 0, "what a bundler says is shown as text");
    await fits(page, width);
    go("de-DE");
    await page.getByText("2 of 3 locales, 66 %").waitFor();
    go("fr-FR");
    await page.getByRole("link", { name: "slow" }).click();
    await page.getByRole("button", { name: "Promote in dev" }).click();
    await agree(page, "Promote");
    await page.getByText("1.0.0 is built for dev first").waitFor();
    await dev.locator("strong.good").getByText("1.0.0", { exact: true }).waitFor();
    assert.deepEqual(await cells(page, "fr-FR"), ["1.0.0", "none", "none"]);
    assert.deepEqual(complaints, []);
  });
}

test("a promotion of what another has promoted meanwhile is refused in the server's words", async (t) => {
  await built("raced", ["1.0.0", "2.0.0", "3.0.0"]);
  await call("PATCH", "/promote/raced/prod/1.0.0");
  await inUse("raced", "prod", "1.0.0");
  const { page, complaints } = await visit(t, at("raced"));
  await page.getByLabel("Version for prod").selectOption("2.0.0");
  await page.getByRole("button", { name: "Promote in prod" }).click();
  await page.getByRole("dialog").getByText("prod uses 1.0.0 now.").waitFor();
  await call("PATCH", "/promote/raced/prod/3.0.0?from=1.0.0");
  await inUse("raced", "prod", "3.0.0");
  await agree(page, "Promote");
  await page.getByRole("alert").getByText("prod uses 3.0.0 of raced now; look at it again").waitFor();
  await env(page, "prod").locator("strong.good").getByText("3.0.0", { exact: true }).waitFor();
  await page.getByRole("alert").getByText("prod uses 3.0.0 of raced now; look at it again").waitFor();
  assert.equal(await used("raced", "prod"), "3.0.0");
  assert.ok(complaints.length === 1 && complaints[0].includes("409"), `${complaints}`);
});

test("a promotion names the dependents that follow, and can be left", async (t) => {
  const { page, complaints } = await visit(t, at("@sample/tokens"));
  await page.getByLabel("Version for prod").selectOption("1.1.0");
  await page.getByRole("button", { name: "Promote in prod" }).click();
  await page.getByRole("dialog").getByText("@sample/button 1.0.1-0").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal(await used("@sample/tokens", "prod"), "1.0.0");
  assert.deepEqual(complaints, []);
});

test("everything is reached by keyboard, and focus stays while the page is brought up to date", async (t) => {
  await built("keys", ["1.0.0"]);
  const { page, complaints } = await visit(t, "/#/?find=keys");
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") || document.activeElement.textContent);
  const tabTo = async (what) => {
    for (let presses = 0; presses < 40 && (await focused()) !== what; presses += 1) await page.keyboard.press("Tab");
    assert.equal(await focused(), what);
  };
  await page.getByRole("link", { name: "keys" }).waitFor();
  await tabTo("Skip to the content");
  await tabTo("keys");
  await page.keyboard.press("Enter");
  await env(page, "prod").waitFor();
  await tabTo("Promote in prod");
  await publish("keys", "2.0.0");
  await env(page, "dev").locator("strong.good").getByText("2.0.0", { exact: true }).waitFor();
  assert.equal(await focused(), "Promote in prod");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("prod uses nothing now.").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("is built for prod first").waitFor();
  await env(page, "prod").locator("strong.good").waitFor();
  assert.deepEqual(complaints, []);
});

test("packages come in pages with links that can be shared", async (t) => {
  for (let number = 10; number < 35; number += 1) await publish(`paged-${number}`, "1.0.0", { build: false });
  const { page, complaints } = await visit(t, "/#/?find=paged-");
  const names = page.getByRole("list", { name: "Packages" }).locator("strong");
  await names.getByText("paged-29").waitFor();
  assert.equal(await names.count(), 20);
  await page.getByRole("link", { name: "Next page" }).click();
  await names.getByText("paged-34").waitFor();
  assert.deepEqual(await names.allTextContents(), ["paged-30", "paged-31", "paged-32", "paged-33", "paged-34"]);
  const { page: other } = await visit(t, page.url());
  await other.getByRole("link", { name: "paged-30" }).click();
  await other.getByText("It is not built, because its package.json has no").waitFor();
  await page.getByRole("link", { name: "First page" }).click();
  await names.getByText("paged-10").waitFor();
  assert.deepEqual(complaints, []);
});

test("a package that is not there, and an address that is none, are said; what was seen elsewhere does not stay", async (t) => {
  const { page } = await visit(t, at("@sample/tokens"));
  for (const [nowhere, why] of [[at("none"), "there is no package none"], ["/#/x", "There is no such page."], ["/#/p/%", "URI"]]) {
    await page.goto(demo.url + at("@sample/tokens"));
    await row(page, "fr-FR").waitFor();
    await page.goto(demo.url + nowhere);
    await page.getByRole("alert").getByText(why).waitFor();
    assert.equal(await row(page, "fr-FR").count(), 0, nowhere);
    await page.getByRole("link", { name: "All packages" }).waitFor();
  }
});

test("dark where that is preferred, and readable in both", async (t) => {
  const seen = {};
  for (const colorScheme of ["light", "dark"]) {
    const { page } = await visit(t, at("@sample/tokens"), { colorScheme });
    await row(page, "fr-FR").waitFor();
    seen[colorScheme] = await page.evaluate(() => {
      const light = (text) => {
        const [r, g, b] = text.match(/\d+/g).map((part) => (part / 255) ** 2.2);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = light(getComputedStyle(document.body).backgroundColor);
      const contrast = (node) => {
        const ink = light(getComputedStyle(node).color);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
      };
      const texts = [...document.querySelectorAll("#view .dim, #view .good, #view a, #view h1")];
      return { paper, least: Math.min(...texts.map(contrast)) };
    });
    assert.ok(seen[colorScheme].least >= 4.5, JSON.stringify(seen));
  }
  assert.ok(seen.dark.paper < 0.1 && seen.light.paper > 0.8, JSON.stringify(seen));
});

test("when the server is gone the page says so, and keeps what was seen", async (t) => {
  const { child, address } = await start("WAREHOUSE");
  t.after(() => child.kill());
  const { page } = await visit(t, new URL(at("@sample/tokens"), address).href);
  await row(page, "fr-FR").waitFor();
  child.kill();
  await page.getByRole("alert").getByText("The server does not answer.").waitFor();
  await row(page, "fr-FR").waitFor();
});
