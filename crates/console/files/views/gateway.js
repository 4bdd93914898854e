// A gateway's information about its endpoint: its capabilities, and rows that changed without a gateway.
import { count, counted, shown, when } from "../values.js";
import { Chip, html } from "../ui.js";

/** The findings of a probe, worded like the output of `trestle endpoint probe`. */
const CAPABILITIES = [
  ["transactions", "transactions"], ["transaction_tokens", "transaction tokens"], ["conditional_writes", "conditional writes"], ["streams", "streams"],
  ["exact_event_names", "exact event names"], ["projections", "projections"], ["multi_attribute_keys", "multi-attribute keys"], ["time_to_live", "time to live"],
];

function Probe({ probe, endpoint }) {
  if (!probe) return html`<p class="quiet">This endpoint was never probed. <code>trestle endpoint probe --endpoint ${endpoint}</code> finds out what it can do.</p>`;
  const amounts = [[probe.batch_writes, "rows in a batch"], [probe.transaction_items, "rows in a transaction"]].filter(([number]) => number);
  return html`<p>${CAPABILITIES.map(([name, label]) => html`<${Chip} kind=${probe[name] ? "good" : "warn"}>${probe[name] ? "" : "no "}${label}<//> `)}</p>
    <p class="quiet">${amounts.map(([number, what]) => `${count(number)} ${what}. `)}${probe.write_isolation ? `Write isolation ${probe.write_isolation}. ` : ""}Probed ${when(Date.parse(probe.probed))}.</p>`;
}

function PastWrites({ past }) {
  const mended = Object.values(past.mended).reduce((sum, number) => sum + number, 0);
  const figures = [[past.records, "records read"], [past.expired, "rows expired"], [past.changed, "rows changed"], [mended, "facts corrected"], [past.left_total, "facts left wrong"]];
  return html`<h3>Rows that changed without a gateway</h3>
    <p>${past.on_duty ? "This gateway looks for them." : "This gateway does not look for them: another one does, or it was started with --no-follow."}${past.is_due ? " All rows are about to be repaired." : ""}${past.repaired ? ` All rows were repaired ${when(past.repaired * 1000)}.` : ""}</p>
    <div class="figures-row">${figures.map(([number, label]) => html`<div class="figure"><b>${count(number)}</b><span>${label}</span></div>`)}</div>
    ${past.without_stream.length > 0 && html`<p>Changes of tables without a stream are not seen: ${past.without_stream.join(", ")}.</p>`}
    ${past.error && html`<p class="wrong">${past.error}</p>`}
    ${past.left.length > 0 && html`<ul class="findings">${past.left.map((fact) => html`<li><code>${Object.values(fact.key).map(shown).join(" / ")}</code> of ${fact.table}: ${fact.reason ?? `is ${fact.there}, and should be ${fact.wanted}`}</li>`)}</ul>`}`;
}

export const GatewayCard = ({ gateway }) => html`<section class="card" aria-label="Gateway"><header><h2>Gateway</h2></header>
  <p>Everything is stored at <code>${gateway.endpoint}</code>.</p><${Probe} ...${gateway} /><${PastWrites} past=${gateway.past_writes} /></section>`;

/** The problems with rows that changed without a gateway, in words. */
export function gatewayAlarms({ past_writes: past }) {
  const found = [];
  if (past.left_total) found.push(`${counted(past.left_total, "derived fact")} near rows that changed without a gateway cannot be corrected.`);
  if (past.error) found.push(`Rows that changed without a gateway are not found: ${past.error}`);
  return found;
}
