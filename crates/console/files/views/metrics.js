// The activity of the server in the last hour.
import { administer } from "../api.js";
import { Chart } from "../chart.js";
import { byOperation, perSecond, rates, storageByOperation, storageRates } from "../rates.js";
import { count, duration, micros } from "../values.js";
import { Empty, Failure, Loading, html, useAsked } from "../ui.js";

/** The history of one operation. */
const only = (history, name) => ({
  ...history,
  samples: history.samples.map((sample) => ({
    ...sample, refused: 0, operations: sample.operations.filter((one) => one.name === name), storage: sample.storage?.filter((one) => one.operation === name),
  })),
});

const OTHER = "other";

function StorageReads({ history, lines, times }) {
  return html`<div class="grid2">
      <section class="card"><${Chart} title="Storage: lookups and ranges" times=${times} format=${perSecond} series=${[{ name: "lookups of a key", values: lines.point_lookups }, { name: "ranges", values: lines.ranges }]} /></section>
      <section class="card"><${Chart} title="Storage: blocks read" times=${times} format=${perSecond} series=${[{ name: "from files", values: lines.blocks_from_disk }, { name: "from the cache", values: lines.blocks_from_cache }]} /></section>
    </div>
    <section class="card"><header><h2>Storage by operation</h2></header>
      <div class="scroll" tabindex="0" role="region" aria-label="Storage by operation"><table><thead><tr><th scope="col">Operation</th><th scope="col" class="number">Lookups of a key</th><th scope="col" class="number">Ranges</th><th scope="col" class="number">Under old keys</th><th scope="col" class="number">Blocks from files</th><th scope="col" class="number">Blocks from the cache</th></tr></thead>
        <tbody>${storageByOperation(history).map((one) => html`<tr><th scope="row">${one.operation === OTHER ? "work in the background" : one.operation}</th><td class="number">${count(one.point_lookups)}</td><td class="number">${count(one.ranges)}</td><td class="number">${count(one.double_reads)}</td><td class="number">${count(one.blocks_from_disk)}</td><td class="number">${count(one.blocks_from_cache)}</td></tr>`)}</tbody></table></div>
      <p class="quiet">A write counts what its commit reads. Blocks of rows that a range finds in the cache are not counted. Lookups under old keys happen during a migration.</p></section>`;
}

export function Metrics({ address }) {
  const asked = useAsked(() => administer("read-metrics"), [], 10_000);
  if (!asked.value) return asked.error ? html`<h1>Metrics</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="metrics" />`;
  const history = asked.value;
  const chosen = address.query.operation;
  const shown = chosen ? only(history, chosen) : history;
  const lines = rates(shown);
  const storage = storageRates(shown);
  const operations = byOperation(history);
  return html`<div class="stack">
    <div class="bar"><h1>Metrics of the last hour${chosen ? ` · ${chosen}` : ""}</h1><span class="grow"></span>${chosen && html`<a href="#/metrics">All operations</a>`}
      <span class="quiet">Up for ${duration(history.uptime_seconds * 1000)}. A sample each ${history.interval_seconds} s.</span></div>
    <${Failure} error=${asked.error} />
    <div class="grid2">
      <section class="card"><${Chart} title="Requests" times=${lines.times} format=${perSecond} series=${[{ name: "all", values: lines.requests }, { name: "refused", values: lines.refused }]} /></section>
      <section class="card"><${Chart} title=${chosen ? "Latency" : "Latency of the slowest operation"} times=${lines.times} format=${micros} series=${[{ name: "median, at most", values: lines.p50 }, { name: "99 %, at most", values: lines.p99 }]} /></section>
      ${!chosen && html`<section class="card"><${Chart} title="Connections" times=${lines.times} format=${count} series=${[{ name: "open", values: lines.connections }]} /></section>`}
    </div>
    <section class="card"><header><h2>By operation</h2></header>
      ${operations.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Operations"><table><thead><tr><th scope="col">Operation</th><th scope="col" class="number">Answered</th><th scope="col" class="number">Refused</th><th scope="col" class="number">Throttled</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Median, at most</th><th scope="col" class="number">99 %, at most</th></tr></thead>
        <tbody>${operations.map((one) => html`<tr><th scope="row"><a href=${`#/metrics?operation=${one.name}`}>${one.name}</a></th><td class="number">${count(one.succeeded)}</td><td class="number">${count(one.user_errors)}</td><td class="number">${count(one.throttled)}</td><td class="number">${count(one.system_errors)}</td><td class="number">${micros(one.p50_us)}</td><td class="number">${micros(one.p99_us)}</td></tr>`)}</tbody></table></div>`
        : html`<${Empty} title="No request yet"><p>Each operation appears here within ten seconds.</p><//>`}
      <p class="quiet">Latencies are bounds of buckets, the highest of all samples. All figures are of all tables together: the server counts by operation, not by table. The same counters since the start are at <code>/metrics</code> for Prometheus.</p></section>
    ${storage && html`<${StorageReads} history=${shown} lines=${storage} times=${lines.times} />`}
  </div>`;
}
