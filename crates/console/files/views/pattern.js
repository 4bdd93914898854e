// Shows which of the last thousand changes of a table a route would take. The server evaluates it; nothing is delivered.
import { administer, modelDescriptions } from "../api.js";
import { tableModel } from "../model.js";
import { go } from "../router.js";
import { count, when } from "../values.js";
import { Chip, Empty, Failure, Field, Json, Loading, html, useAsked, useEffect, useState } from "../ui.js";

const EXAMPLE = `{ "new": { "status": ["active"] } }`;
const names = (text = "") => text.split(",").map((name) => name.trim()).filter(Boolean);

/** The call of the address. */
function callOf(table, { route, entities, events, changed, pattern }) {
  if (route) return { route };
  return { table: table.TableName, entities: names(entities), events: names(events), changed: names(changed), ...(pattern ? { pattern: JSON.parse(pattern) } : {}) };
}

/** The form of the address. */
const formOf = ({ entities = "", events = "", changed = "", pattern = "" }) => ({ entities, events, changed, pattern });

export function TryPattern({ table, address }) {
  const { tab, ...query } = address.query;
  const id = JSON.stringify(query);
  const routes = useAsked(() => administer("list-routes"), []);
  const models = useAsked(modelDescriptions, []);
  const tried = useAsked(async () => {
    try {
      return await administer("try-route", callOf(table, query));
    } catch (error) {
      throw error instanceof SyntaxError ? new Error(`The pattern is not JSON: ${error.message}`) : error;
    }
  }, [id]);
  const [form, setForm] = useState(() => formOf(query));
  const result = tried.loading || tried.error ? undefined : tried.value;
  // If a running route is chosen, the form is filled with its filter, which the user can change and try.
  useEffect(() => {
    if (query.route && result) setForm({ entities: result.entities.join(", "), events: result.events.join(", "), changed: result.changed.join(", "), pattern: result.pattern ? JSON.stringify(result.pattern, null, 2) : "" });
  }, [result]);
  const change = (members) => setForm({ ...form, ...members });
  const here = (members) => go(["changes", table.TableName], { tab: "pattern", ...members });
  const submit = (event) => {
    event.preventDefault();
    if (!query.route && JSON.stringify(form) === JSON.stringify(formOf(query))) tried.reload();
    else here(form);
  };
  const ofTable = (routes.value?.routes ?? []).filter((one) => one.table === table.TableName);
  const entities = tableModel(models.value ?? [], table.TableName)?.entities ?? [];
  const field = (name, label, placeholder, list) => html`<${Field} id=${`try-${name}`} label=${label}><input id=${`try-${name}`} value=${form[name]} placeholder=${placeholder} list=${list} spellcheck=${false} onInput=${(event) => change({ [name]: event.target.value })} /><//>`;
  return html`<form class="stack" onSubmit=${submit}><fieldset><legend>What a route would take</legend><div class="form">
      <${Field} id="try-route" label="As the route"><select id="try-route" value=${query.route ?? ""} onChange=${(event) => here(event.target.value ? { route: event.target.value } : form)}><option value="">a new one</option>${ofTable.map((one) => html`<option value=${one.route}>${one.route}</option>`)}</select><//>
      ${field("entities", "Entities", "any; commas between", "try-entities-known")}${field("events", "Events", "insert, modify, remove, expire")}${field("changed", "Changed attributes", "any; one is enough")}
      <datalist id="try-entities-known">${entities.map((one) => html`<option value=${one.name}></option>`)}</datalist></div>
    <${Field} id="try-pattern" label="Pattern, as EventBridge has it" hint=${`on the JSON of a change, such as ${EXAMPLE}`}><textarea id="try-pattern" rows="4" spellcheck=${false} value=${form.pattern} onInput=${(event) => change({ pattern: event.target.value })}></textarea><//>
    <div class="bar"><button class="primary" type="submit">Try it</button><span class="quiet">Nothing is delivered.</span></div></fieldset></form>
    <${Failure} error=${tried.error} />
    ${!result && !tried.error && html`<${Loading} what="the last changes" />`}
    ${result && html`<p role="status"><${Chip} kind=${result.taken ? "good" : "warn"}>${count(result.taken)} of ${count(result.looked_at)}<//> changes would be taken${result.since_ms ? `, of all since ${when(result.since_ms)}` : ""}.</p>
      ${result.changes.length ? html`<div class="rows" tabindex="0" role="region" aria-label="Changes that are taken"><table><thead><tr><th scope="col">Time</th><th scope="col">Event</th><th scope="col">Entity</th><th scope="col">Key</th><th scope="col">Changed</th></tr></thead>
        <tbody>${result.changes.map((one) => html`<tr><td>${when(Date.parse(one.at))}</td><td>${one.event}</td><td>${one.entity ?? ""}</td><td>${Object.entries(one.keys).map(([name, value]) => html`<span class="quiet">${name}</span> ${typeof value === "string" ? value : JSON.stringify(value)} `)}</td><td><details><summary>${one.changed.join(", ") || "–"}</summary><${Json} value=${one} label="Change" /></details></td></tr>`)}</tbody></table></div>
        ${result.taken > result.changes.length && html`<p class="quiet">The newest ${count(result.changes.length)} are shown.</p>`}`
        : html`<${Empty} title=${result.looked_at ? "No change fits" : "No change within the retention of the stream"}><p>${result.looked_at ? "Loosen the pattern: without one, all changes of these entities and events are taken." : "Write a row, and try again."}</p><//>`}`}`;
}
