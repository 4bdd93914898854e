// Reindexes: start, watch, pause, cancel; the rows that failed, and those that the destination does not have.
import { administer, may, modelDescriptions, tableNames } from "../api.js";
import { tableModel } from "../model.js";
import { PageTurns, usePaging } from "../paging.js";
import { amend, go, link } from "../router.js";
import { count, duration, when } from "../values.js";
import { Chip, Confirm, Empty, Failure, Field, Json, Loading, html, say, useAction, useAsked, useState } from "../ui.js";
import { Gaps } from "./gaps.js";

/** The address contains the open dialog or form, so that a link opens it. */
const setOpen = (what) => amend({ open: what });

export function Reindexes({ address }) {
  const [name] = address.parts;
  if (name) return html`<${OneReindex} key=${name} name=${name} address=${address} />`;
  return html`<${List} address=${address} />`;
}

function List({ address }) {
  const paging = usePaging(address);
  const asked = useAsked(() => administer("list-reindexes", { limit: 50, after: paging.start }), [paging.start], 3000);
  const starting = address.query.open === "start" && may.change;
  if (!asked.value) return asked.error ? html`<h1>Reindexes</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="reindexes" />`;
  const { reindexes, next } = asked.value;
  return html`<div class="stack"><div class="bar"><h1>Reindexes</h1><span class="grow"></span>${may.change && html`<button type="button" class="primary" aria-expanded=${starting} onClick=${() => setOpen(starting ? "" : "start")}>Start a reindex</button>`}</div>
    <${Failure} error=${asked.error} />
    ${starting && html`<${Start} />`}
    ${reindexes.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Reindexes"><table><thead><tr><th scope="col">Reindex</th><th scope="col">Table</th><th scope="col">State</th><th scope="col">Touches or sends</th><th scope="col">Began</th></tr></thead>
      <tbody>${reindexes.map((one) => html`<tr><th scope="row"><a href=${link(["reindexes", one.name])}>${one.name}</a></th><td>${one.table}</td><td><${Chip} kind=${{ done: "good", cancelled: "", running: "warn" }[one.state] ?? ""}>${one.state}<//></td><td>${one.route ? `sends to ${one.route}` : `version ${one.version}`}</td><td>${when(one.started_at)}</td></tr>`)}</tbody></table></div>
      <div class="bar"><${PageTurns} paging=${paging} next=${next} busy=${asked.loading} /></div>`
      : paging.number > 1 ? html`<div class="bar"><p class="quiet">No more.</p><${PageTurns} paging=${paging} /></div>`
      : html`<${Empty} title="No reindex yet"><p>A reindex processes every row of a table again: it touches the row, so that the stream has a record of it, or sends it to the target of a route.</p><//>`}</div>`;
}

const EMPTY = { table: "", name: "", send: "", version: "", attribute: "", entity: "", access: "", where: {}, ids: "", first: "", read_units: "", write_units: "", page_rows: "", workers: "", attempts: "", no_yield: false, force: false };
const NUMBERS = ["version", "first", "read_units", "write_units", "page_rows", "workers", "attempts"];

/** The call of the form: for empty fields, the server uses its defaults. */
function callOf(form, pattern) {
  const where = Object.fromEntries((pattern?.parameters ?? []).map(({ name }) => [name, form.where[name] ?? ""]));
  const ids = form.ids.split("\n").map((id) => id.trim()).filter(Boolean);
  const given = { ...form, where: pattern ? where : "", ids: ids.length ? ids : "", ...(form.send ? { version: "", attribute: "" } : {}) };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "" && value !== false).map(([name, value]) => [name, NUMBERS.includes(name) ? Number(value) : value]));
}

function Start() {
  const tables = useAsked(tableNames, []);
  const routes = useAsked(() => administer("list-routes"), []);
  const models = useAsked(modelDescriptions, []);
  const [form, setForm] = useState(EMPTY);
  const action = useAction();
  const change = (members) => setForm({ ...form, ...members });
  const names = (tables.value ?? []).filter((name) => !name.startsWith("_trestle"));
  const table = form.table || names[0];
  const known = tableModel(models.value ?? [], table);
  const pattern = known?.access.find((one) => one.name === form.access);
  const start = (event) => {
    event.preventDefault();
    action.run(async () => {
      const { reindex, warnings = [] } = await administer("start-reindex", callOf({ ...form, table }, pattern));
      say(warnings.length ? warnings.join(" ") : "The reindex was started");
      go(["reindexes", reindex.name]);
    });
  };
  const input = (id, label, hint, more = {}) => html`<${Field} id=${`reindex-${id}`} label=${label} hint=${hint}><input id=${`reindex-${id}`} value=${form[id]} spellcheck=${false} inputmode=${NUMBERS.includes(id) ? "numeric" : undefined} onInput=${(event) => change({ [id]: event.target.value })} ...${more} /><//>`;
  const choice = (id, label, any, all) => html`<${Field} id=${`reindex-${id}`} label=${label}><select id=${`reindex-${id}`} value=${form[id]} onChange=${(event) => change({ [id]: event.target.value })}><option value="">${any}</option>${all.map((one) => html`<option value=${one}>${one}</option>`)}</select><//>`;
  const check = (id, label) => html`<label class="check"><input type="checkbox" checked=${form[id]} onChange=${(event) => change({ [id]: event.target.checked })} />${label}</label>`;
  return html`<form class="card stack" onSubmit=${start}><header><h2>Start</h2></header><${Failure} error=${tables.error ?? models.error} />
    <div class="form"><${Field} id="reindex-table" label="Table"><select id="reindex-table" value=${table} onChange=${(event) => change({ table: event.target.value, entity: "", access: "", where: {} })}>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select><//>
      <${Field} id="reindex-send" label="What is done to each row"><select id="reindex-send" value=${form.send} onChange=${(event) => change({ send: event.target.value })}><option value="">touch: its version is raised</option>${routes.value?.routes.map((route) => html`<option value=${route.route}>send to ${route.route}</option>`)}</select><//>
      ${input("name", "Name", "the table and the time unless given")}
      ${!form.send && html`${input("version", "Version", "the time unless given")}${input("attribute", "Version attribute", "as the model says, or reindexVersion")}`}</div>
    <fieldset><legend>Which rows</legend><div class="form">
      ${known ? html`${choice("entity", "Only rows of the entity", "any", known.entities.map((one) => one.name))}${choice("access", "Only rows of the access pattern", "none", known.access.map((one) => one.name))}` : ""}
      ${pattern?.parameters.map(({ name, kind }) => html`<${Field} id=${`reindex-where-${name}`} label=${`${name} (${kind})`}><input id=${`reindex-where-${name}`} required value=${form.where[name] ?? ""} spellcheck=${false} onInput=${(event) => change({ where: { ...form.where, [name]: event.target.value } })} /><//>`)}
      ${input("first", "Only the first", "rows")}
      <div class="wide"><${Field} id="reindex-ids" label="Only rows with these ids" hint="one on each line: the partition key, or a JSON object with both key attributes"><textarea id="reindex-ids" rows="2" spellcheck=${false} value=${form.ids} onInput=${(event) => change({ ids: event.target.value })}></textarea><//></div></div></fieldset>
    <fieldset><legend>How fast</legend><div class="form">${input("read_units", "Read units in a second, at most")}${input("write_units", "Write units in a second, at most")}${input("page_rows", "Rows of a page", "1,000 unless given")}${input("workers", "Workers", "4 unless given")}${input("attempts", "Attempts for each row", "4 unless given")}</div>
      <div class="bar">${check("no_yield", "do not slow down for other requests")}${check("force", "start even if nothing reads the stream")}</div></fieldset>
    <${Failure} error=${action.error} /><div><button class="primary" disabled=${action.busy || !table}>Start</button></div></form>`;
}

const isOver = (state) => !["running", "paused", "preparing"].includes(state);

function OneReindex({ name, address }) {
  const asked = useAsked(() => administer("read-reindex", { name }), [name], 1500);
  const paging = usePaging(address, name);
  const letters = useAsked(() => administer("list-reindex-dead-letters", { name, limit: 50, after: paging.start }), [name, paging.start, asked.value?.dead_letters]);
  const action = useAction();
  const { open } = address.query;
  const act = (call, more = {}) => action.run(async () => { await administer(call, { name, ...more }); await Promise.all([asked.reload(), letters.reload()]); });
  if (!asked.value) return asked.error ? html`<h1>Reindex ${name}</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="the reindex" />`;
  const one = asked.value;
  const percent = Math.round(one.percent ?? 0);
  return html`<div class="stack"><div class="bar"><h1>Reindex ${name}</h1><${Chip} kind=${one.error ? "bad" : one.state === "done" ? "good" : "warn"}>${one.state}<//><span class="grow"></span><a href="#/reindexes">All reindexes</a>
      ${may.change && html`${one.state === "running" && html`<button type="button" onClick=${() => act("pause-reindex")}>Pause</button>`}${one.state === "paused" && html`<button type="button" onClick=${() => act("resume-reindex")}>Resume</button>`}
      ${!isOver(one.state) && html`<button type="button" class="danger" onClick=${() => setOpen("cancel")}>Cancel the reindex</button>`}`}</div>
    <p>${one.table}: ${one.route ? `rows are sent to ${one.route}` : `rows are touched with version ${one.version}`}. Began ${when(one.started_at)}${one.ended_at ? `, ended ${when(one.ended_at)}` : ""}.</p>
    <div class="progress" role="progressbar" aria-label="Progress" aria-valuenow=${percent} aria-valuemin="0" aria-valuemax="100"><i style=${{ width: `${percent}%` }}></i></div>
    <p>${percent} %, ${count(Math.round(one.rate))} rows in a second${one.seconds_left ? `, ${duration(one.seconds_left * 1000)} to go` : ""}, ${count(one.workers.length)} workers</p>
    ${one.error && html`<p class="wrong">${one.error}</p>`}
    <div class="figures-row">${[["rows", one.rows, one.rows_are_estimated ? "rows, about" : "rows"], ["done", one.counts.done, "done"], ["unchanged", one.counts.unchanged, "were at the version"], ["gone", one.counts.gone, "deleted since"], ["retries", one.counts.retries, "retries"], ["dead", one.dead_letters, "dead letters"], ["gaps", one.gaps, "gaps"]].map(([, number, label]) => html`<div class="figure"><b>${count(number)}</b><span>${label}</span></div>`)}</div>
    <${Failure} error=${action.error ?? asked.error} />
    <section class="card"><header><h2>Rows that failed</h2>${may.change && letters.value?.dead_letters.length > 0 && html`<span><button type="button" onClick=${() => act("replay-reindex")}>Try all again</button> <button type="button" class="danger" onClick=${() => setOpen("drop")}>Drop all</button></span>`}</header>
      <${Failure} error=${letters.error} />
      ${letters.value?.dead_letters.length ? html`<ul class="letters">${letters.value.dead_letters.map((letter) => html`<li><code>${letter.id}</code> <span class="wrong">${letter.reason}</span> <span class="quiet">${count(letter.attempts)} attempts, ${when(letter.at)}</span><details><summary>The row</summary><${Json} value=${letter.row ?? letter.key} label=${`Row ${letter.id}`} /></details></li>`)}</ul>` : html`<p class="quiet">${paging.number > 1 ? "No more." : "None."}</p>`}
      ${(letters.value?.next || paging.number > 1) && html`<div class="bar"><${PageTurns} paging=${paging} next=${letters.value?.next} busy=${letters.loading} /></div>`}</section>
    <${Gaps} name=${name} address=${address} onResend=${(ids) => act("resend-reindex", { ids })} />
    ${open === "cancel" && !isOver(one.state) && may.change && html`<${Confirm} title=${`Cancel the reindex ${name}`} action="Cancel the reindex" danger onClose=${() => setOpen()} onDone=${() => act("cancel-reindex")}><p>Rows that are done keep their version.</p><//>`}
    ${open === "drop" && may.change && html`<${Confirm} title="Drop the rows that failed" action="Drop" danger onClose=${() => setOpen()} onDone=${() => act("drop-reindex-dead-letters")}><p>The dead letters are deleted. This cannot be undone.</p><//>`}</div>`;
}
