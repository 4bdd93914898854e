// Routes: the status of each, its lag in the last hour, its dead letters with replay, the route file.
import { administer, may } from "../api.js";
import { Chart } from "../chart.js";
import { Editor } from "../editor.js";
import { PageTurns, usePaging } from "../paging.js";
import { amend, link } from "../router.js";
import { count, duration, when } from "../values.js";
import { Confirm, Dialog, Empty, Failure, Json, Loading, Tabs, html, problemOf, say, useAction, useAsked, useEffect, useRetry, useState } from "../ui.js";
import { Changed } from "./preview.js";
import { routeChip } from "./overview.js";

const EVERY_MS = 2000;
const LAG_EVERY_MS = 10_000;

export function Routes({ address }) {
  const [name] = address.parts;
  const asked = useAsked(() => administer("list-routes"), [], EVERY_MS);
  if (!asked.value) return asked.error ? html`<h1>Routes</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="routes" />`;
  const { routes, gone = [] } = asked.value;
  const route = routes.find((one) => one.route === name);
  const tab = name ? "one" : address.query.tab ?? "list";
  if (name && !route && !gone.some((one) => one.route === name)) return html`<h1>Routes</h1><${Empty} title=${`There is no route ${name}`}><p><a href="#/routes">All routes</a></p><//>`;
  if (name) return html`<${OneRoute} key=${name} name=${name} route=${route} routes=${routes} reload=${asked.reload} address=${address} />`;
  return html`<div class="stack"><div class="bar"><h1>Routes</h1></div>
    <${Tabs} label="Routes" current=${tab} tabs=${[{ id: "list", label: "Routes", count: routes.length, href: "#/routes" }, { id: "file", label: "Route file", href: "#/routes?tab=file" }]} />
    <${Failure} error=${asked.error} />
    ${tab === "file" ? html`<${RouteFile} reload=${asked.reload} />` : routes.length || gone.length ? html`
      <div class="scroll" tabindex="0" role="region" aria-label="Routes"><table><thead><tr><th scope="col">Route</th><th scope="col">Table</th><th scope="col">State</th><th scope="col" class="number">Behind</th><th scope="col" class="number">Delivered</th><th scope="col" class="number">Retried</th><th scope="col" class="number">Dead letters</th></tr></thead>
        <tbody>${routes.map((one) => html`<tr><th scope="row"><a href=${link(["routes", one.route])}>${one.route}</a></th><td>${one.table}</td><td>${routeChip(one.state)}${one.last_error && !one.last_error.past ? html`<br /><span class="wrong">${one.last_error.message}</span>` : ""}</td><td class="number">${one.lag_at_least ? "≥ " : ""}${count(one.lag_records)}<br /><span class="quiet">${duration(one.lag_ms)}</span></td><td class="number">${count(one.delivered)}</td><td class="number">${count(one.retried)}</td><td class="number">${one.dead ? html`<a href=${link(["routes", one.route])}>${count(one.dead)}</a>` : "0"}</td></tr>`)}
        ${gone.map((one) => html`<tr><th scope="row"><a href=${link(["routes", one.route])}>${one.route}</a></th><td colspan="5" class="quiet">was removed</td><td class="number">${count(one.dead)}</td></tr>`)}</tbody></table></div>`
      : html`<${Empty} title="No route yet"><p>A route takes the changes of a table to a queue, a webhook, a command or a bus. Write one in a model or in the <a href="#/routes?tab=file">route file</a>.</p><//>`}</div>`;
}

/** The address contains the open dialog, so that a link opens it. */
const setOpen = (what) => amend({ open: what });

function OneRoute({ name, route, routes, reload, address }) {
  const { open } = address.query;
  const action = useAction();
  return html`<div class="stack"><div class="bar"><h1>Route ${name}</h1>${route && routeChip(route.state)}<span class="grow"></span><a href="#/routes">All routes</a>
      ${may.change && route && html`${route.backfill?.state === "running" ? html`<button type="button" onClick=${() => action.run(async () => { await administer("cancel-backfill", { route: name }); await reload(); })}>Cancel the backfill</button>` : html`<button type="button" onClick=${() => setOpen("backfill")}>Backfill</button>`}`}</div>
    ${route ? html`<div class="figures-row"><div class="figure"><b>${count(route.lag_records)}</b><span>records behind, ${duration(route.lag_ms)}</span></div><div class="figure"><b>${count(route.delivered)}</b><span>delivered</span></div><div class="figure"><b>${count(route.waiting)}</b><span>waiting</span></div><div class="figure"><b>${count(route.parked)}</b><span>waiting for a retry</span></div><div class="figure"><b>${count(route.dead)}</b><span>dead letters</span></div></div>
      ${route.on_hold && html`<p class="wrong">On hold since ${when(route.on_hold.since_ms)}: ${route.on_hold.reason}. The next probe is at ${when(route.on_hold.next_probe_ms)}.</p>`}
      ${route.last_error && html`<p class=${route.last_error.past ? "quiet" : "wrong"}>Last error, ${when(route.last_error.at_ms)}${route.last_error.past ? ", resolved since" : ""}: ${route.last_error.message}</p>`}
      ${route.gaps?.length > 0 && html`<p class="wrong">${count(route.gaps.length)} gaps: records that the stream trimmed before they were read.</p>`}
      ${route.backfill && html`<p>Backfill: ${route.backfill.state}, ${count(route.backfill.rows)} of about ${count(route.backfill.total)} rows.</p>`}
      <${Lag} name=${name} />`
      : html`<p>This route was removed; its dead letters are kept.</p>`}
    <${Failure} error=${action.error} />
    <${Letters} name=${name} routes=${routes} address=${address} reload=${reload} dead=${route?.dead} />
    ${open === "backfill" && may.change && route && html`<${Confirm} title=${`Backfill ${name}`} action="Start" onClose=${() => setOpen()} onDone=${async () => { await administer("backfill-route", { route: name }); await reload(); }}><p>Every row that the route takes is delivered to its target, in order with the changes.</p><//>`}</div>`;
}

/** The lag of the route in the last hour, also before the console was opened. */
function Lag({ name }) {
  const asked = useAsked(() => administer("read-metrics"), [name], LAG_EVERY_MS);
  const samples = asked.value?.samples ?? [];
  const of = (read) => samples.map((sample) => { const route = sample.routes?.find((one) => one.route === name); return route ? read(route) : null; });
  const times = samples.map((sample) => sample.at);
  return html`<${Failure} error=${asked.error} /><div class="grid2">
    <section class="card"><${Chart} title="Records behind, last hour" times=${times} format=${(value) => count(Math.round(value))} series=${[{ name: "records", values: of((route) => route.lag_records) }]} /></section>
    <section class="card"><${Chart} title="Age of the oldest change that is not done" times=${times} format=${(ms) => duration(ms)} series=${[{ name: "age", values: of((route) => route.lag_ms) }]} /></section></div>`;
}

// ---- dead letters

function Letters({ name, routes, address, reload, dead }) {
  const paging = usePaging(address, name);
  const asked = useAsked(() => administer("list-dead-letters", { route: name, limit: 50, after: paging.start }), [name, paging.start, dead]);
  const action = useAction();
  const again = async () => { await Promise.all([asked.reload(), reload()]); };
  const act = (call, which, more = {}) => action.run(async () => {
    const done = await administer(call, { ...which, ...more });
    say(Object.entries(done).map(([key, value]) => `${value} ${key}`).join(", "));
    await again();
    return done;
  });
  const letters = asked.value?.dead_letters ?? [];
  const { letter: chosen, open } = address.query;
  const isMany = letters.length > 0 && may.change;
  return html`<section class="card"><header><h2>Dead letters</h2>${isMany && html`<span><button type="button" disabled=${action.busy} onClick=${() => act("replay-dead-letters", { route: name })}>Replay all</button> <button type="button" onClick=${() => setOpen("move")}>Move all</button> <button type="button" class="danger" onClick=${() => setOpen("drop")}>Drop all</button></span>`}</header>
    <${Failure} error=${asked.error ?? action.error} />
    ${action.done?.delivered !== undefined && html`<p class="done" role="status">${count(action.done.delivered)} delivered, ${count(action.done.failed)} failed again, ${count(action.done.left)} left.</p>`}
    ${!asked.value ? !asked.error && html`<${Loading} what="dead letters" />` : letters.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Dead letters"><table><thead><tr><th scope="col">Change</th><th scope="col">Last attempt</th><th scope="col" class="number">Attempts</th><th scope="col">Error</th><th scope="col"><span class="sr">Actions</span></th></tr></thead>
      <tbody>${letters.map((letter) => html`<tr><th scope="row"><a href=${link(["routes", name], { ...address.query, letter: letter.id })}>${letter.change.entity ?? letter.change.table} ${letter.change.event}</a></th><td>${letter.last}</td><td class="number">${count(letter.attempts)}</td><td class="wrong">${letter.error}</td><td>${may.change && html`<button type="button" class="small" disabled=${action.busy} onClick=${() => act("replay-dead-letters", { id: letter.id })}>Replay</button> <button type="button" class="small" disabled=${action.busy} onClick=${() => act("drop-dead-letters", { id: letter.id })}>Drop</button>`}</td></tr>`)}</tbody></table></div>`
      : paging.number > 1 ? html`<p class="quiet">No more.</p>` : html`<p class="quiet">None: every change was delivered or is still tried.</p>`}
    ${(letters.length > 0 || paging.number > 1) && html`<div class="bar"><${PageTurns} paging=${paging} next=${asked.value?.next} busy=${asked.loading} /></div>`}
    ${chosen && html`<${Letter} id=${chosen} onClose=${() => amend({ letter: "" })} />`}
    ${open === "drop" && isMany && html`<${Confirm} title="Drop all dead letters" action="Drop" danger onClose=${() => setOpen()} onDone=${() => act("drop-dead-letters", { route: name })}><p>The dead letters of ${name} are deleted. This cannot be undone.</p><//>`}
    ${open === "move" && isMany && html`<${Move} name=${name} routes=${routes} onClose=${() => setOpen()} onDone=${(to) => act("move-dead-letters", { route: name }, { to })} />`}</section>`;
}

function Move({ name, routes, onClose, onDone }) {
  const others = routes.filter((route) => route.route !== name);
  const [to, setTo] = useState(others[0]?.route ?? "");
  return html`<${Confirm} title="Move dead letters" action="Move" onClose=${onClose} onDone=${() => onDone(to)}>${others.length ? html`<div class="field"><label for="move-to">To the route</label><select id="move-to" value=${to} onChange=${(event) => setTo(event.target.value)}>${others.map((route) => html`<option value=${route.route}>${route.route}</option>`)}</select></div>` : html`<p>There is no other route.</p>`}<//>`;
}

/** Plain values of a change as attribute values, so that they are shown as in other views. */
const typed = (item) => Object.fromEntries(Object.entries(item ?? {}).map(([name, value]) => [name, value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 1 && /^(S|N|B|BOOL|NULL|L|M|SS|NS|BS)$/.test(Object.keys(value)[0]) ? value : { S: typeof value === "string" ? value : JSON.stringify(value) }]));

function Letter({ id, onClose }) {
  const asked = useAsked(() => administer("read-dead-letter", { id }), [id]);
  const letter = asked.value;
  const names = letter && [...new Set([...Object.keys(letter.change.old ?? {}), ...Object.keys(letter.change.new ?? {})])];
  const [old, after] = letter ? [typed(letter.change.old), typed(letter.change.new)] : [];
  return html`<${Dialog} title="Dead letter" onClose=${onClose} wide><div class="dialog-body"><${Failure} error=${asked.error} />
    ${!letter ? !asked.error && html`<${Loading} what="the letter" />` : html`<p>${letter.change.entity ?? ""} ${letter.change.event} in ${letter.change.table}, ${letter.change.at}</p><p class="wrong">${letter.error}</p><p class="quiet">${count(letter.attempts)} attempts, from ${letter.first} to ${letter.last}</p>
      <${Changed} changes=${names.map((name) => ({ name, before: old[name], after: after[name] }))} /><details><summary>The whole record</summary><${Json} value=${letter} label="Dead letter" /></details>`}</div><//>`;
}

// ---- the route file

function RouteFile({ reload }) {
  const asked = useAsked(() => administer("read-routes"), []);
  const [text, setText] = useState();
  const checked = useAction({ isRead: true });
  const applied = useAction();
  const check = () => checked.run(() => administer("apply-routes", { text, dry_run: true }));
  useEffect(() => {
    if (text === undefined || !may.change) return undefined;
    const timer = setTimeout(check, 600);
    return () => clearTimeout(timer);
  }, [text]);
  useRetry(checked.error, check);
  if (asked.error) return html`<${Failure} error=${asked.error} />`;
  if (!asked.value) return html`<${Loading} what="the route file" />`;
  const now = text ?? asked.value.text;
  return html`<p class="quiet">Routes in models stay; this file replaces the one applied before. Programs, secrets and private addresses come from files that the server was started with.</p>
    <${Editor} id="route-file" label="Route file" text=${now} onChange=${setText} rows=${16} problems=${(checked.error?.problems ?? []).map(problemOf)} disabled=${!may.change} />
    <${Failure} error=${checked.error} />
    ${checked.done && !checked.error && html`<p class="done" role="status">The file is sound.</p>`}
    ${may.change && html`<div class="bar"><button type="button" class="primary" disabled=${applied.busy || Boolean(checked.error) || text === undefined} onClick=${() => applied.run(async () => { await administer("apply-routes", { text: now }); say("Applied"); await reload(); await asked.reload(); })}>Apply</button></div>`}
    <${Failure} error=${applied.error} />`;
}
