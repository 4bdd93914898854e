// Migrations: plan, start, watch, pause, finish, roll back; the rows that cannot move, with the reasons.
import { administer, forgetModels, may } from "../api.js";
import { Editor } from "../editor.js";
import { amend, go, link } from "../router.js";
import { count, duration, shown } from "../values.js";
import { Chip, Confirm, Empty, Failure, Findings, Loading, html, problemOf, say, useAction, useAsked, useEffect, useState } from "../ui.js";

const OVER = ["done", "rolled-back"];

const Rate = ({ id, rate, setRate }) => html`<div class="field"><label for=${id}>Rows in a second, at most</label><input id=${id} value=${rate} placeholder="2000 unless given, or unlimited" onInput=${(event) => setRate(event.target.value)} /></div>`;

/** The address contains the open dialog or form, so that a link opens it. */
const setOpen = (what) => amend({ open: what });

export function Migrations({ address }) {
  const [name] = address.parts;
  const asked = useAsked(() => administer("list-migrations"), [], 2000);
  const models = useAsked(() => administer("list-models"), []);
  if (!asked.value) return asked.error ? html`<h1>Migrations</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="migrations" />`;
  const { migrations } = asked.value;
  if (name) return html`<${OneMigration} name=${name} migration=${migrations.find((one) => one.model === name)} asked=${asked} open=${address.query.open} />`;
  const isPlanning = address.query.open === "plan" && may.change;
  return html`<div class="stack"><div class="bar"><h1>Migrations</h1><span class="grow"></span>${may.change && models.value?.models.length > 0 && html`<button type="button" class="primary" aria-expanded=${isPlanning} onClick=${() => setOpen(isPlanning ? "" : "plan")}>Plan a migration</button>`}</div>
    <${Failure} error=${asked.error ?? models.error} />
    ${isPlanning && models.value?.models.length > 0 && html`<${Plan} models=${models.value.models} address=${address} onDone=${async () => { setOpen(); await asked.reload(); }} />`}
    ${migrations.length ? migrations.map((one) => html`<${Migration} key=${one.model} migration=${one} reload=${asked.reload} />`)
      : html`<${Empty} title="No migration"><p>A migration gives existing rows other keys while they are read and written. ${models.value?.models.length ? "Plan one from a new version of a model." : html`Apply a model first: <a href="#/models">Models</a>.`}</p><//>`}</div>`;
}

function OneMigration({ name, migration, asked, open }) {
  return html`<div class="stack"><div class="bar"><h1>Migration of ${name}</h1><span class="grow"></span><a href="#/migrations">All migrations</a></div>
    <${Failure} error=${asked.error} />
    ${migration ? html`<${Migration} migration=${migration} reload=${asked.reload} open=${open} />`
      : html`<${Empty} title=${`Model ${name} has no migration`}><p>${may.change ? html`<a href=${link(["migrations"], { open: "plan", model: name })}>Plan one</a>. ` : ""}<a href="#/migrations">All migrations</a></p><//>`}</div>`;
}

/** The states in which rows move. */
const MOVING = ["dual", "sweeping", "verifying", "rolling-back"];

/** The actions that a migration allows in its state, each with a confirmation. */
const mayBe = {
  start: ({ state }) => state === "planned",
  resume: ({ state, paused }) => MOVING.includes(state) && paused,
  finish: ({ state }) => state === "verified",
  back: ({ state }) => !OVER.includes(state) && state !== "planned" && state !== "rolling-back",
};

/** A migration, in the list or on its own page. The confirmation is on its own page, so that the address contains it. */
function Migration({ migration: one, reload, open }) {
  const action = useAction();
  const call = async (name, more = {}) => {
    await administer(name, { name: one.model, ...more });
    forgetModels();
    await reload();
  };
  const isOver = OVER.includes(one.state);
  const percent = Math.round(one.done * 100);
  const ask = (what) => go(["migrations", one.model], { open: what });
  return html`<section class="card stack"><header><h2><a href=${link(["migrations", one.model])}>${one.model}</a>: version ${one.from_version} to ${one.to_version}</h2><span><a href=${link(["models", one.model])}>the model</a> <${Chip} kind=${one.error || one.stuck?.rows ? "bad" : isOver ? "good" : "warn"}>${one.paused ? "paused" : one.state}<//></span></header>
    <div class="progress" role="progressbar" aria-label=${`Migration of ${one.model}`} aria-valuenow=${percent} aria-valuemin="0" aria-valuemax="100"><i style=${{ width: `${percent}%` }}></i></div>
    <p>${count(one.rows_moved)} rows moved, ${count(one.rows_remaining)} left.${one.rows_per_second ? ` ${count(Math.round(one.rows_per_second))} in a second` : ""}${one.seconds_left ? `, ${duration(one.seconds_left * 1000)} to go` : ""} <span class="quiet">${count(one.double_reads)} double reads</span></p>
    ${one.next && html`<p class="quiet">${one.next}</p>`}
    ${one.error && html`<p class="wrong">${one.error}</p>`}
    ${one.stuck?.rows > 0 && html`<div><h3>Rows that cannot move: ${count(one.stuck.rows)}</h3><ul class="findings">${one.stuck.shown.map((row) => html`<li>${row.table} <code>${Object.values(row.key).map((value) => (typeof value === "object" ? shown(value) : String(value))).join(" / ")}</code>: ${row.reason}</li>`)}</ul></div>`}
    <${Failure} error=${action.error} />
    ${may.change && !isOver && html`<div class="bar">
      ${mayBe.start(one) && html`<button type="button" class="primary" disabled=${action.busy} onClick=${() => ask("start")}>Start</button>`}
      ${mayBe.resume(one) && html`<button type="button" disabled=${action.busy} onClick=${() => ask("resume")}>Resume</button>`}
      ${MOVING.includes(one.state) && !one.paused && html`<button type="button" disabled=${action.busy} onClick=${() => action.run(() => call("pause-migration"))}>Pause</button>`}
      ${mayBe.finish(one) && html`<button type="button" class="primary" onClick=${() => ask("finish")}>Finish</button>`}
      ${mayBe.back(one) && html`<button type="button" class="danger" onClick=${() => ask("back")}>Roll back</button>`}</div>`}
    ${may.change && Object.hasOwn(mayBe, open ?? "") && mayBe[open](one) && html`<${Question} key=${open} what=${open} call=${call} reload=${reload} />`}</section>`;
}

/** The confirmation of an action on a migration. */
function Question({ what, call, reload }) {
  const [rate, setRate] = useState("");
  const [paused, setPaused] = useState(false);
  const close = () => setOpen();
  const start = async () => {
    await administer("start-migration", { rate: rate || undefined, paused });
    forgetModels();
    await reload();
  };
  switch (what) {
    case "start": return html`<${Confirm} title="Start the migration" action="Start" onClose=${close} onDone=${start}><p>The new version takes effect, and rows move. It can be rolled back until it is finished.</p><${Rate} id="start-rate" rate=${rate} setRate=${setRate} /><label class="check"><input type="checkbox" checked=${paused} onChange=${(event) => setPaused(event.target.checked)} />start paused</label><//>`;
    case "resume": return html`<${Confirm} title="Resume the migration" action="Resume" onClose=${close} onDone=${() => call("resume-migration", { rate: rate || undefined })}><${Rate} id="resume-rate" rate=${rate} setRate=${setRate} /><//>`;
    case "finish": return html`<${Confirm} title="Finish the migration" action="Finish" onClose=${close} onDone=${() => call("finish-migration")}><p>Every row has moved. Afterwards you can go back only with another migration.</p><//>`;
    default: return html`<${Confirm} title="Roll back" action="Roll back" danger onClose=${close} onDone=${() => call("roll-back-migration")}><p>The version before takes effect again, and rows move back.</p><//>`;
  }
}

function PlanOf({ plan }) {
  return html`<div><ul class="findings">${plan.moves?.map((move) => html`<li>${move.entity} in ${move.table}: ${count(move.rows)} rows. ${move.keys.map((key) => html`<code>${key.attribute}: ${key.before} → ${key.now}</code> `)}</li>`)}${plan.slow_reads?.map((text) => html`<li>${text}</li>`)}</ul>
    <p class="quiet">${plan.can_be_rolled_back ? "It can be rolled back until it is finished." : "It cannot be rolled back."}</p><${Findings} report=${plan} /></div>`;
}

function Plan({ models, address, onDone }) {
  const name = models.find((model) => model.name === address.query.model)?.name ?? models[0].name;
  const [text, setText] = useState();
  const [rate, setRate] = useState("");
  const [paused, setPaused] = useState(false);
  const [deletes, setDeletes] = useState(false);
  const read = useAsked(() => administer("read-model", { name }), [name]);
  const planned = useAction();
  const started = useAction();
  useEffect(() => setText(undefined), [name]);
  const now = text ?? read.value?.text ?? "";
  const plan = () => planned.run(() => administer("plan-migration", { text: now, dry_run: true, delete_indexes: deletes }));
  const start = () => started.run(async () => {
    await administer("start-migration", { text: now, rate: rate || undefined, paused, delete_indexes: deletes });
    forgetModels();
    say("The migration was started");
    await onDone();
  });
  return html`<section class="card stack"><header><h2>Plan</h2></header>
    <div class="form"><div class="field"><label for="plan-model">Model</label><select id="plan-model" value=${name} onChange=${(event) => amend({ model: event.target.value })}>${models.map((model) => html`<option value=${model.name}>${model.name}</option>`)}</select></div>
      <${Rate} id="plan-rate" rate=${rate} setRate=${setRate} /></div>
    <${Failure} error=${read.error} />
    ${read.value && html`<${Editor} id="plan-file" label="The new version of the model" text=${now} onChange=${(next) => { setText(next); planned.clear(); }} rows=${16} problems=${(planned.error?.problems ?? []).map(problemOf)} />`}
    <${Failure} error=${planned.error ?? started.error} />
    ${planned.done && html`<${PlanOf} plan=${planned.done} />`}
    <div class="bar"><button type="button" disabled=${planned.busy || !now} onClick=${plan}>${planned.busy ? "Checking every row …" : "Show the plan"}</button><button type="button" class="primary" disabled=${!planned.done || started.busy} onClick=${start}>Start</button>
      <label class="check"><input type="checkbox" checked=${paused} onChange=${(event) => setPaused(event.target.checked)} />start paused</label>
      <label class="check"><input type="checkbox" checked=${deletes} onChange=${(event) => { setDeletes(event.target.checked); planned.clear(); }} />delete indexes that the model does not have</label></div></section>`;
}
