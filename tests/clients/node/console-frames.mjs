// Measures how smooth the console is while changes arrive: frames and long tasks of the view Changes at a rate. It is not a test, because
// the results depend on the machine.
// `TRESTLE=target/release/trestle node tests/clients/node/console-frames.mjs 5000 20` writes 5,000 rows per second for 20 seconds. With the
// further argument `made`, a proxy generates the changes, for a server or a machine that cannot write so fast.
import { existsSync } from "node:fs";
import { spawn } from "node:child_process";
import { createServer, request } from "node:http";
import { chromium } from "playwright-core";

const [rate = 5000, seconds = 20] = process.argv.slice(2, 4).map(Number);
const isMade = process.argv[4] === "made";
const BATCH = 25;
const LANES = 4;
const BROWSER = "/usr/bin/chromium";

async function serve() {
  const files = process.env.TRESTLE_CONSOLE_FILES ? { TRESTLE_CONSOLE_FILES: process.env.TRESTLE_CONSOLE_FILES } : {};
  const child = spawn(process.env.TRESTLE, ["serve", "--in-memory", "--port", "0"], { stdio: ["ignore", "pipe", "pipe"], env: { RUST_LOG: "error", ...files } });
  const url = await new Promise((found) => {
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => { const there = /(http:\/\/127\.0\.0\.1:\d+)[\s)]/.exec(text); if (there) found(there[1]); });
  });
  return { child, url };
}

async function call(url, name, body) {
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `DynamoDB_20120810.${name}` }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Writes at the rate until the time is over. Returns the number of rows written. */
async function write(url, until) {
  const began = performance.now();
  let written = 0;
  const lane = async () => {
    while (performance.now() < until) {
      const ahead = written - ((performance.now() - began) * rate) / 1000;
      if (ahead > 0) await new Promise((done) => setTimeout(done, (1000 * ahead) / rate));
      const at = written;
      written += BATCH;
      const busy = Array.from({ length: BATCH }, (_, i) => ({ PutRequest: { Item: row(at + i) } }));
      await call(url, "BatchWriteItem", { RequestItems: { busy } });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return { written, perSecond: Math.round((1000 * written) / (performance.now() - began)) };
}

/** Rows of some 500 bytes: with both images, a page of a thousand is about as large as GetRecords makes it. */
const row = (number) => ({ pk: { S: `row#${number % 20_000}` }, state: { S: number % 2 ? "open" : "done" }, count: { N: String(number) }, text: { S: "x".repeat(450) } });

/** A proxy in front of a server that answers GetRecords itself, with changes at the rate, from the first request for them. */
async function making(url) {
  let began;
  let given = 0;
  const records = () => {
    began ??= performance.now();
    const due = Math.min(1000, Math.floor(((performance.now() - began) * rate) / 1000) - given);
    const made = Array.from({ length: due }, (_, i) => ({
      eventID: String(given + i), eventName: "MODIFY", dynamodb: { ApproximateCreationDateTime: Date.now() / 1000, Keys: { pk: row(given + i).pk }, OldImage: row(given + i - 1), NewImage: row(given + i), SequenceNumber: String(given + i) },
    }));
    given += due;
    return JSON.stringify({ Records: made, NextShardIterator: "next" });
  };
  const server = createServer((asked, answer) => {
    if (asked.headers["x-amz-target"]?.endsWith(".GetRecords")) {
      answer.writeHead(200, { "content-type": "application/x-amz-json-1.0" }).end(records());
      return;
    }
    const to = new URL(url);
    asked.pipe(request({ host: to.hostname, port: to.port, method: asked.method, path: asked.url, headers: { ...asked.headers, host: to.host } }, (got) => got.pipe(answer.writeHead(got.statusCode, got.headers))));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, given: () => given, close: () => { server.close(); server.closeAllConnections(); } };
}

/** Frames and long tasks of a page while `during` runs. */
async function measured(page, during) {
  await page.evaluate(() => {
    const seen = { frames: [], tasks: [] };
    window.seenFrames = seen;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => seen.tasks.push(entry.duration))).observe({ type: "longtask" });
    let last = performance.now();
    const frame = (now) => {
      seen.frames.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const did = await during();
  const { frames, tasks } = await page.evaluate(() => window.seenFrames);
  const sorted = frames.slice(2).sort((one, two) => one - two);
  const at = (part) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]);
  return { ...did, frames: sorted.length, median_ms: at(0.5), p99_ms: at(0.99), longest_ms: at(1), over_100_ms: sorted.filter((ms) => ms > 100).length, long_tasks: tasks.length, longest_task_ms: Math.round(Math.max(0, ...tasks)) };
}

if (!process.env.TRESTLE || !existsSync(BROWSER)) throw new Error(`TRESTLE names the program, and ${BROWSER} is the browser`);
const server = await serve();
const proxy = isMade ? await making(server.url) : undefined;
const { url } = proxy ?? server;
async function load() {
  if (!proxy) return write(server.url, performance.now() + 1000 * seconds);
  const before = proxy.given();
  await new Promise((done) => setTimeout(done, 1000 * seconds));
  return { made: proxy.given() - before };
}
const browser = await chromium.launch({ executablePath: BROWSER, args: ["--headless", "--no-sandbox", "--disable-gpu"] });
try {
  await call(server.url, "CreateTable", {
    TableName: "busy", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
  });
  for (const [what, hash] of [["a view without changes", "#/queues"], ["the view Changes", "#/changes/busy"]]) {
    const page = await browser.newPage({ viewport: { width: 1360, height: 860 } });
    await page.goto(`${url}/console/${hash}`);
    await page.waitForTimeout(2000);
    const result = await measured(page, load);
    const said = hash.includes("changes") ? { says: (await page.locator("p[role=status]").first().textContent()).trim(), rows: await page.locator("tr.row").count() } : {};
    console.log(JSON.stringify({ what, ...result, ...said }));
    await page.close();
  }
} finally {
  await browser.close();
  proxy?.close();
  server.child.kill();
}
