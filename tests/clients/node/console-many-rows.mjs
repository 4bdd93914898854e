// Measures how fast the console shows a table with very many rows: the first page, the jump to a collection, an access pattern. It is not a
// test, because the results depend on the machine.
// `TRESTLE=target/release/trestle ROWS=10000000 node tests/clients/node/console-many-rows.mjs` generates the rows, imports them into a
// directory and serves it. DATA names the directory; if it exists, it is used without an import. CONSOLE_URL names a server that already
// has the rows.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { CONSOLE_URL, DATA, TRESTLE } = process.env;
const rows = Number(process.env.ROWS ?? 10_000_000);
const TIMES = 11;
const BROWSER = "/usr/bin/chromium";
/** Rows of an item collection. */
const COLLECTION = 1000;

const MODEL = `model = "readings"

[table.readings]
key = ["pk", "sk"]

[entity.reading]
table = "readings"
key = { pk = "sensor#{sensor:06}", sk = "reading#{number:06}" }
attributes = { sensor = "integer", number = "integer", state = "string", text = "string" }

[access.readings_between]
query = "readings"
where = { sensor = "{sensor}", number = { between = ["{from}", "{to}"] } }
returns = ["reading"]
`;
const SCHEMA = `CREATE TABLE sensors.readings (sensor int, number int, state text, text text, PRIMARY KEY (sensor, number));\n`;
const MAPPING = `model = "readings"
schema = "schema.cql"

[[import]]
table = "sensors.readings"
entity = "reading"
files = ["readings.csv"]
header = ["sensor", "number", "state", "text"]

[import.columns]
sensor = "sensor"
number = "number"
state = "state"
text = "text"
`;

/** Runs a command of the program to its end. */
async function trestle(...args) {
  const child = spawn(TRESTLE, args, { stdio: ["ignore", "inherit", "inherit"] });
  const [code] = await once(child, "exit");
  assert.equal(code, 0, `trestle ${args.join(" ")} ended with ${code}`);
}

/** Rows of some 100 bytes. */
const line = (i) => `${Math.floor(i / COLLECTION)},${i % COLLECTION},${i % 3 ? "done" : "open"},reading ${i} of a sensor in the field\n`;

async function write(file) {
  const stream = createWriteStream(file);
  for (let i = 0; i < rows; i += COLLECTION) {
    const part = Array.from({ length: Math.min(COLLECTION, rows - i) }, (_, j) => line(i + j)).join("");
    if (!stream.write(part)) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "finish");
}

async function load(folder, data) {
  const began = performance.now();
  for (const [name, text] of [["model.toml", MODEL], ["schema.cql", SCHEMA], ["mapping.toml", MAPPING]]) writeFileSync(join(folder, name), text);
  await write(join(folder, "readings.csv"));
  await trestle("model", "apply", join(folder, "model.toml"), "--data", data);
  await trestle("import", "cassandra", join(folder, "mapping.toml"), "--data", data, "--no-verify");
  const seconds = (performance.now() - began) / 1000;
  console.log(JSON.stringify({ what: "load", rows, seconds: Math.round(seconds), per_second: Math.round(rows / seconds) }));
}

async function serve(data) {
  const files = process.env.TRESTLE_CONSOLE_FILES ? { TRESTLE_CONSOLE_FILES: process.env.TRESTLE_CONSOLE_FILES } : {};
  const child = spawn(TRESTLE, ["serve", "--data", data, "--port", "0"], { stdio: ["ignore", "pipe", "pipe"], env: { RUST_LOG: "error", ...files } });
  const url = await new Promise((found, lost) => {
    child.on("exit", (code) => lost(new Error(`trestle serve ended with ${code}`)));
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => { const there = /(http:\/\/127\.0\.0\.1:\d+)[\s)]/.exec(text); if (there) found(there[1]); });
  });
  return { child, url };
}

/** The milliseconds from an action in the page until a painted frame in which `isDrawn(page)` holds, measured in the browser. */
async function timed(page, act, isDrawn) {
  await page.evaluate((source) => {
    const isSo = new Function(`return (${source})()`);
    window.drawn = new Promise((done, lost) => {
      setTimeout(() => lost(new Error(`not drawn within a minute: ${source}`)), 60_000);
      let began;
      const look = () => (isSo() ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(look));
      const begin = () => {
        began ??= performance.now();
        requestAnimationFrame(look);
      };
      for (const event of ["hashchange", "pointerdown"]) window.addEventListener(event, begin, { once: true, capture: true });
    });
  }, isDrawn);
  await act();
  return page.evaluate(() => window.drawn);
}

const median = (list) => [...list].sort((one, two) => one - two)[Math.floor(list.length / 2)];

async function measure(page, what, prepare, act, isDrawn) {
  const all = [];
  for (let i = 0; i < TIMES; i += 1) {
    await prepare(i);
    all.push(await timed(page, () => act(i), isDrawn(i)));
  }
  console.log(JSON.stringify({ what, times: TIMES, median_ms: Math.round(median(all)), max_ms: Math.round(Math.max(...all)) }));
}

const drawn = (text) => `() => document.querySelectorAll("tr.row").length > 0 && document.querySelector("main").textContent.includes(${JSON.stringify(text)})`;

async function measureAll(url) {
  const browser = await chromium.launch({ executablePath: BROWSER, args: ["--headless", "--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1360, height: 860 } });
    page.setDefaultTimeout(60_000);
    await page.goto(`${url}/console/#/overview`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const goTo = (hash) => page.evaluate((to) => { location.hash = to; }, hash);
    const leave = async () => {
      await goTo("#/metrics");
      await page.getByRole("heading", { name: /^Metrics/ }).waitFor();
    };
    const sensor = (i) => Math.floor((((i + 1) * 7919) % Math.max(1, rows / COLLECTION)));
    const name = (i) => `sensor#${String(sensor(i)).padStart(6, "0")}`;
    await measure(page, "first page", leave, () => goTo("#/items/readings"), () => drawn("100 rows, page 1"));
    // Each jump is to a collection that was not shown before.
    await measure(page, "jump to a collection", async (i) => {
      await leave();
      await goTo("#/items/readings");
      await page.getByText("100 rows, page 1").waitFor();
      await page.getByLabel("pk =").fill(name(i));
    }, () => page.getByRole("button", { name: "Query", exact: true }).click(), (i) => `() => document.querySelector("tr.collection")?.textContent.includes(${JSON.stringify(name(i).slice(7))})`);
    await measure(page, "access pattern", async (i) => {
      await leave();
      await goTo("#/items/readings?mode=access&access=readings_between");
      for (const [label, value] of [["sensor", sensor(i)], ["from", 100], ["to", 149]]) await page.getByLabel(`${label} (integer)`).fill(String(value));
    }, () => page.getByRole("button", { name: "Run", exact: true }).click(), () => drawn("50 rows, page 1"));
  } finally {
    await browser.close();
  }
}

if (!existsSync(BROWSER) || !(CONSOLE_URL || TRESTLE)) throw new Error(`TRESTLE names the program, or CONSOLE_URL a server, and ${BROWSER} is the browser`);
if (CONSOLE_URL) {
  await measureAll(CONSOLE_URL);
} else {
  const folder = mkdtempSync(join(tmpdir(), "trestle-many-rows-"));
  const data = DATA ?? join(folder, "data");
  let server;
  try {
    if (!existsSync(data)) {
      // The directory gets its name only when it has all rows.
      await load(folder, `${data}.loading`);
      renameSync(`${data}.loading`, data);
    }
    server = await serve(data);
    await measureAll(server.url);
  } finally {
    if (server?.child.exitCode === null) {
      server.child.removeAllListeners("exit");
      server.child.kill();
      await once(server.child, "exit");
    }
    rmSync(folder, { recursive: true, force: true });
  }
}
