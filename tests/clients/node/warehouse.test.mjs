// apps/warehouse with esbuild: a bundle for each locale, published by the real npm. Run by `node --test` with WAREHOUSE naming the
// program; esbuild lies in node_modules.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "warehouse-"));
let program, url;

before(async () => {
  assert.ok(process.env.WAREHOUSE, "WAREHOUSE must name the program: target/debug/warehouse");
  const flags = ["serve", "--data", join(folder, "data"), "--port", "0", "--esbuild", resolve("node_modules/.bin/esbuild")];
  program = spawn(process.env.WAREHOUSE, flags, { stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((found, lost) => {
    let said = "";
    program.on("error", lost).on("exit", (code) => lost(new Error(`it ended with ${code}`)));
    program.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const there = said.match(/serves (http:\/\/\S+)\n/);
      if (there) found(there[1]);
    });
  });
}, { timeout: 30_000 });

after(() => {
  program?.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function publish(version, code) {
  const manifest = { name: "words", version, main: "index.js", type: "module", build: "es", locales: ["de-DE", "en-US"] };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "words.js"), `export default process.env.LOCALE === "de-DE" ? "Kaufen" : "Buy";\n`);
  writeFileSync(join(folder, "index.js"), code);
  writeFileSync(join(folder, ".npmrc"), `registry=${url}/\n${url.replace("http:", "")}/:_authToken=any\ncache=${join(folder, "cache")}\n`);
  await run("npm", ["publish", "--no-update-notifier"], { cwd: folder, timeout: 60_000 });
}

const read = async (path) => (await fetch(`${url}${path}`)).json();

async function until(path, holds) {
  for (;;) {
    const status = await read(path);
    if (holds(status)) return status;
    await new Promise((soon) => setTimeout(soon, 50));
  }
}

test("esbuild makes one bundle for each locale, without the words of the others", { timeout: 60_000 }, async () => {
  await publish("1.0.0", `import words from "./words.js";\nconsole.log(words, process.env.NODE_ENV);\n`);
  await until("/status/words/dev/1.0.0", (status) => status.complete);
  const bundles = [];
  for (const locale of ["de-DE", "en-US"]) {
    const { files } = await read(`/assets/files/words/dev?locale=${locale}`);
    assert.equal(files.length, 1);
    bundles.push(await (await fetch(files[0])).text());
  }
  assert.match(bundles[0], /Kaufen.*dev/);
  assert.doesNotMatch(bundles[0], /Buy/);
  assert.match(bundles[1], /Buy.*dev/);
  assert.doesNotMatch(bundles[1], /Kaufen|import|words\.js/);
});

test("what esbuild cannot read fails with its reason, and the version before stays in use", { timeout: 60_000 }, async () => {
  await publish("1.1.0", `import words from "./missing.js";\nconsole.log(words);\n`);
  await until("/status/words/dev/1.1.0", (status) => status.error);
  const events = await read("/status-events/words/dev/1.1.0");
  assert.match(events.find((event) => event.error).details, /missing\.js/);
  assert.equal((await read("/builds/words/dev")).version, "1.0.0");
});
