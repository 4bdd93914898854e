// Tables, models, routes, queues and work under way on one page, and all problems in words.
import { administer, describeTable, everyPage, isNoCall, may, modelDescriptions, queues, tableNames } from "../api.js";
import { Chart } from "../chart.js";
import { byOperation, perSecond, rates } from "../rates.js";
import { link } from "../router.js";
import { bytes, count, counted, duration, micros, when } from "../values.js";
import { Chip, Empty, Failure, Loading, html, useAsked } from "../ui.js";
import { GatewayCard, gatewayAlarms } from "./gateway.js";
import { PausedTables, pauseOf } from "./paused.js";

const EVERY_MS = 5000;
const TABLES_MAX = 200;
const QUEUES_MAX = 100;
/** The number of reindexes, the latest ones, whose dead letters and gaps are checked. */
const REINDEXES_MAX = 10;
/** The share of the space for undelivered changes above which it is nearly full. */
const NEARLY_FULL = 0.8;

const unlessMissing = (asked, otherwise) => asked.catch((error) => {
  if (isNoCall(error) || error.code === "forbidden") return otherwise;
  throw error;
});

async function tables() {
  const names = await tableNames();
  const listed = await Promise.all(names.slice(0, TABLES_MAX).map((name) => describeTable(name)));
  return { names, listed };
}

async function allQueues() {
  const { QueueUrls = [] } = await unlessMissing(queues("ListQueues", { MaxResults: QUEUES_MAX }), {});
  return Promise.all(QueueUrls.map(async (url) => {
    const { Attributes } = await queues("GetQueueAttributes", { QueueUrl: url, AttributeNames: ["All"] });
    return { name: url.split("/").pop(), ...Attributes };
  }));
}

async function administration() {
  if (!may.administer) return undefined;
  const [{ models }, { routes, gone = [] }, { migrations }, { reindexes }, history, { tables: paused }, gateway] = await Promise.all([
    unlessMissing(administer("list-models"), { models: [] }),
    unlessMissing(administer("list-routes"), { routes: [] }),
    unlessMissing(administer("list-migrations"), { migrations: [] }),
    unlessMissing(administer("list-reindexes", { running: true }), { reindexes: [] }),
    unlessMissing(administer("read-metrics"), { samples: [], interval_seconds: 10 }),
    unlessMissing(administer("list-paused-tables"), { tables: [] }),
    unlessMissing(administer("read-gateway"), {}),
  ]);
  return { models, routes, gone, migrations, reindexes, history, paused, gateway: gateway.endpoint && gateway };
}

/** The status of the latest reindexes. */
async function latestReindexes() {
  if (!may.administer) return [];
  // Pages are in the order of names.
  const page = (after) => unlessMissing(administer("list-reindexes", { limit: 1000, after }), { reindexes: [] });
  const all = await everyPage(page, ({ reindexes }) => reindexes, ({ next }) => next);
  const latest = all.sort((one, two) => two.started_at - one.started_at).slice(0, REINDEXES_MAX);
  return Promise.all(latest.map((one) => administer("read-reindex", { name: one.name })));
}

/** The problems that an operator must know, in words, errors first. */
export function alarms({ models, routes, gone, migrations, history, paused, gateway }, queueList, reindexes) {
  const found = [];
  const add = (kind, text, href) => found.push({ kind, text, href });
  const { systemErrors, throttled } = rates(history);
  if (systemErrors) add("bad", `${counted(systemErrors, "request")} failed in the last hour because of a server error. The log of the server says why.`, link(["metrics"]));
  for (const model of models.filter((model) => !model.loads)) add("bad", `Model ${model.name} does not load. Nothing is enforced, and writes are refused, until it is corrected.`, link(["models", model.name]));
  for (const model of models.filter((model) => model.loads && !model.filled_in)) add("warn", `Existing rows lack what model ${model.name} derives: apply it again with “fill in what existing rows lack”.`, link(["models", model.name]));
  for (const route of routes) {
    const at = link(["routes", route.route]);
    if (route.dead) add("bad", `Route ${route.route} has ${counted(route.dead, "dead letter")}.`, at);
    if (route.state === "held-back") add("bad", `Route ${route.route} is held back: ${route.last_error?.message ?? "it may not use what it names"}.`, at);
    if (route.state === "no-stream") add("warn", `Route ${route.route}: table ${route.table} has no stream.`, at);
    if (route.state === "on-hold") add("warn", `Route ${route.route} waits for its target: ${(route.on_hold?.reason ?? "").replace(/\.$/, "")}.`, at);
    if (route.lag_ms > 60_000) add("warn", `Route ${route.route} is ${duration(route.lag_ms)} behind.`, at);
    if (route.gaps?.length) add("bad", `Route ${route.route} may have missed records: the stream trimmed them.`, at);
  }
  const held = heldShare(routes);
  if (held > NEARLY_FULL) add("bad", `Changes that routes have not delivered take ${Math.round(100 * held)} % of their space. When it is full, the oldest become dead letters.`, link(["routes"]));
  for (const one of reindexes) {
    const at = link(["reindexes", one.name]);
    if (one.error) add("bad", `The reindex ${one.name} cannot continue: ${one.error}`, at);
    if (one.dead_letters) add("bad", `The reindex ${one.name} has ${counted(one.dead_letters, "dead letter")}.`, at);
    if (one.state === "done" && one.gaps > one.dead_letters) add("bad", `Rows missing at the destination of the reindex ${one.name}: ${count(one.gaps)}.`, at);
    if (one.held_up) add("warn", `The reindex ${one.name} is held up: ${one.held_up}`, at);
  }
  for (const text of gateway ? gatewayAlarms(gateway) : []) add("bad", text, link(["models"]));
  for (const one of paused) add("warn", pauseOf(one), link(["items", one.table]));
  for (const one of gone) add("warn", `The route ${one.route} was removed and has ${counted(one.dead, "dead letter")}.`, link(["routes", one.route]));
  for (const migration of migrations) {
    const at = link(["migrations", migration.model]);
    if (migration.error) add("bad", `The migration of ${migration.model}: ${migration.error}`, at);
    if (migration.stuck?.rows) add("bad", `Rows of ${migration.model} that cannot move: ${count(migration.stuck.rows)}.`, at);
    if (migration.state === "verified") add("warn", `The migration of ${migration.model} is verified and waits to be finished.`, at);
  }
  for (const queue of queueList) {
    const waiting = Number(queue.ApproximateNumberOfMessages);
    const sources = queueList.filter((one) => one.RedrivePolicy && JSON.parse(one.RedrivePolicy).deadLetterTargetArn === queue.QueueArn).map((one) => one.name);
    if (waiting && sources.length) add("bad", `Queue ${queue.name} holds ${counted(waiting, "dead letter")} of the ${sources.length === 1 ? "queue" : "queues"} ${sources.join(", ")}.`, link(["queues", queue.name]));
  }
  if (throttled) add("warn", `Requests throttled in the last hour: ${throttledOperations(history)}.`, link(["metrics"]));
  return found.sort((one, two) => (one.kind < two.kind ? -1 : one.kind > two.kind ? 1 : 0));
}

/** The used share of the space for undelivered changes, over all tables. */
function heldShare(routes) {
  const byTable = new Map(routes.map((route) => [route.table, route.held_bytes ?? 0]));
  const most = Math.max(0, ...routes.map((route) => route.held_bytes_max ?? 0));
  return most ? [...byTable.values()].reduce((sum, bytes) => sum + bytes, 0) / most : 0;
}

const throttledOperations = (history) => byOperation(history).filter((one) => one.throttled).map((one) => `${one.name} ${count(one.throttled)}`).join(", ");

export function routeChip(state) {
  return html`<${Chip} kind=${{ running: "good", "held-back": "bad", "no-stream": "warn", "on-hold": "warn", "catching-up": "warn" }[state] ?? ""}>${state}<//>`;
}

function TableList({ asked, models }) {
  if (!asked.value) return asked.error ? html`<${Failure} error=${asked.error} />` : html`<${Loading} what="tables" />`;
  const { names, listed } = asked.value;
  if (!names.length) {
    return html`<${Empty} title="No table yet"><p>Apply a model in <a href="#/models">Models</a>, or create a table with any AWS SDK at this address.</p><//>`;
  }
  const modelOf = (name) => models.find((model) => model.tables.some((table) => table.table === name));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Tables"><table>
    <thead><tr><th scope="col">Table</th><th scope="col" class="number">Items</th><th scope="col" class="number">Size</th><th scope="col">Indexes</th><th scope="col">Stream</th><th scope="col">Model</th></tr></thead>
    <tbody>${listed.map((table) => html`<tr>
      <th scope="row"><a href=${link(["items", table.TableName])}>${table.TableName}</a>${table.TableStatus !== "ACTIVE" ? html` <${Chip} kind="warn">${table.TableStatus}<//>` : ""}</th>
      <td class="number">${count(table.ItemCount)}</td><td class="number">${bytes(table.TableSizeBytes)}</td>
      <td>${[...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])].map((index) => index.IndexName).join(", ") || "–"}</td>
      <td>${table.StreamSpecification?.StreamEnabled ? html`<a href=${link(["changes", table.TableName])}>changes</a>` : "–"}</td>
      <td>${modelOf(table.TableName) ? html`<a href=${link(["models", modelOf(table.TableName).name])}>${modelOf(table.TableName).name}</a>` : "–"}</td>
    </tr>`)}</tbody></table></div>
    ${names.length > listed.length && html`<p class="quiet">${count(names.length - listed.length)} more tables: the palette (Ctrl K) finds them by name.</p>`}`;
}

function Work({ migrations, reindexes }) {
  if (!migrations.length && !reindexes.length) return html`<p class="quiet">No migration and no reindex is running.</p>`;
  return html`<ul class="letters">
    ${migrations.map((one) => html`<li><a href=${link(["migrations", one.model])}>${one.model}</a> migrates: <${Chip}>${one.paused ? "paused" : one.state}<//> <span class="quiet">${count(one.rows_moved)} moved, ${count(one.rows_remaining)} left</span>
      <div class="progress" role="progressbar" aria-label=${`Migration of ${one.model}`} aria-valuenow=${Math.round(one.done * 100)} aria-valuemin="0" aria-valuemax="100"><i style=${{ width: `${one.done * 100}%` }}></i></div></li>`)}
    ${reindexes.map((one) => html`<li><a href=${link(["reindexes", one.name])}>${one.name}</a> reindexes ${one.table}: <${Chip}>${one.state}<//></li>`)}
  </ul>`;
}

export function Overview({ address }) {
  const listed = useAsked(tables, [], EVERY_MS * 3);
  const models = useAsked(modelDescriptions, [], EVERY_MS * 6);
  const queueList = useAsked(allQueues, [], EVERY_MS);
  const all = useAsked(administration, [], EVERY_MS);
  const reindexes = useAsked(latestReindexes, [], EVERY_MS * 3);
  const state = all.value;
  const found = state ? alarms(state, queueList.value ?? [], reindexes.value ?? []) : [];
  const lines = state && rates(state.history);
  return html`<div class="stack">
    <div class="bar"><h1>Overview</h1></div>
    <${Failure} error=${all.error ?? queueList.error ?? models.error ?? reindexes.error} />
    ${state && html`<section class="card" aria-label="Alarms"><header><h2>Alarms</h2></header>
      ${found.length ? found.map((alarm) => html`<div class="alarm"><${Chip} kind=${alarm.kind}>${alarm.kind === "bad" ? "error" : "warning"}<//><a href=${alarm.href}>${alarm.text}</a></div>`) : html`<p><${Chip} kind="good">ok<//> No errors and no warnings.</p>`}</section>`}
    ${state && html`<${PausedTables} tables=${state.paused} address=${address} onResumed=${all.reload} />`}
    ${lines && html`<div class="grid2">
      <section class="card"><${Chart} title="Requests, all tables" times=${lines.times} format=${perSecond} series=${[{ name: "all", values: lines.requests }, { name: "refused", values: lines.refused }]} /></section>
      <section class="card"><${Chart} title="Latency of the slowest operation, all tables" times=${lines.times} format=${micros} series=${[{ name: "median, at most", values: lines.p50 }, { name: "99 %, at most", values: lines.p99 }]} /></section>
    </div>`}
    ${state?.gateway && html`<${GatewayCard} gateway=${state.gateway} />`}
    <section class="card"><header><h2>Tables</h2>${listed.value && html`<span class="quiet">${count(listed.value.names.length)}</span>`}</header><${TableList} asked=${listed} models=${models.value ?? []} /></section>
    <div class="grid2">
      ${state && html`<section class="card"><header><h2>Applied models</h2><a href="#/models">Models</a></header>
        ${state.models.length ? html`<ul class="letters">${state.models.map((model) => html`<li><a href=${link(["models", model.name])}>${model.name}</a> version ${model.version} <span class="quiet">${count(model.entities)} entities, applied ${when(Date.parse(model.applied))}</span></li>`)}</ul>`
          : html`<p class="quiet">None. <a href="#/models">Apply a model file</a>, or start from one that is inferred by <code>trestle model infer</code>.</p>`}</section>
      <section class="card"><header><h2>Routes</h2><a href="#/routes">Routes</a></header>
        ${state.routes.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Routes"><table><thead><tr><th scope="col">Route</th><th scope="col">State</th><th scope="col" class="number">Behind</th><th scope="col" class="number">Dead</th></tr></thead>
          <tbody>${state.routes.map((route) => html`<tr><th scope="row"><a href=${link(["routes", route.route])}>${route.route}</a></th><td>${routeChip(route.state)}</td><td class="number">${route.lag_at_least ? "≥ " : ""}${count(route.lag_records)} · ${duration(route.lag_ms)}</td><td class="number">${count(route.dead)}</td></tr>`)}</tbody></table></div>`
          : html`<p class="quiet">None. A route takes changes to a queue, a webhook or a command: <a href="#/routes">Routes</a>.</p>`}</section>`}
      <section class="card"><header><h2>Queues</h2><a href="#/queues">Queues</a></header>
        ${queueList.value?.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Queues"><table><thead><tr><th scope="col">Queue</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">In flight</th><th scope="col" class="number">Delayed</th></tr></thead>
          <tbody>${queueList.value.map((queue) => html`<tr><th scope="row"><a href=${link(["queues", queue.name])}>${queue.name}</a></th><td class="number">${count(Number(queue.ApproximateNumberOfMessages))}</td><td class="number">${count(Number(queue.ApproximateNumberOfMessagesNotVisible))}</td><td class="number">${count(Number(queue.ApproximateNumberOfMessagesDelayed))}</td></tr>`)}</tbody></table></div>`
          : html`<p class="quiet">${queueList.loading ? "Loading …" : "None."}</p>`}</section>
      ${state && html`<section class="card"><header><h2>Work in progress</h2></header><${Work} ...${state} migrations=${state.migrations.filter((one) => !["done", "rolled-back"].includes(one.state))} /></section>`}
    </div>
    ${!may.administer && html`<p class="quiet">Routes, migrations, reindexes and metrics need the role administration.</p>`}
  </div>`;
}
