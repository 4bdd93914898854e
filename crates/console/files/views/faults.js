// Faults that a server started with --allow-fault-injection injects into requests: throttling, errors, delays, cut connections.
import { administer, isNoCall, may } from "../api.js";
import { count } from "../values.js";
import { Empty, Failure, Field, Loading, html, say, useAction, useAsked, useState } from "../ui.js";

const EVERY_MS = 3000;

const FAULTS = [
  ["throttle", "throttle: the request is refused as too many"], ["internal", "internal: error 500"], ["unavailable", "unavailable: error 503"], ["delay", "delay: the answer comes late"],
  ["cut-before", "cut-before: no answer, not carried out"], ["cut-after", "cut-after: no answer, carried out"], ["unknown", "unknown: the operation does not exist"],
];
const EMPTY = { fault: "throttle", operations: "", tables: "", share: "", times: "", ms: "", seed: "" };

const names = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);

/** The rule of the form. Empty fields do not restrict it. */
function ruleOf({ fault, operations, tables, share, times, ms, seed }) {
  const parts = [...names(operations).map((name) => ["operation", name]), ...names(tables).map((name) => ["table", name]), ["share", share], ["times", times], ["ms", fault === "delay" ? ms : ""], ["seed", seed]];
  return [fault, ...parts.filter(([, value]) => value !== "").map(([name, value]) => `${name}=${value}`)].join(",");
}

function NewRule({ busy, onAdd }) {
  const [form, setForm] = useState(EMPTY);
  const change = (name) => (event) => setForm({ ...form, [name]: event.target.value });
  const submit = async (event) => {
    event.preventDefault();
    if (await onAdd(ruleOf(form))) setForm(EMPTY);
  };
  const input = (name, label, hint, more = {}) => html`<${Field} id=${`fault-${name}`} label=${label} hint=${hint}><input id=${`fault-${name}`} value=${form[name]} spellcheck=${false} onInput=${change(name)} ...${more} /><//>`;
  return html`<form class="stack" onSubmit=${submit}><fieldset><legend>New rule</legend><div class="form">
      <${Field} id="fault-kind" label="Fault" hint="what the requests get"><select id="fault-kind" value=${form.fault} onChange=${change("fault")}>${FAULTS.map(([id, label]) => html`<option value=${id}>${label}</option>`)}</select><//>
      ${input("operations", "Operations", "all unless given; commas between")}${input("tables", "Tables", "all unless given; commas between")}
      ${input("share", "Share of requests", "1 unless given", { type: "number", min: 0, max: 1, step: "any" })}${input("times", "Times, at most", "no limit unless given", { type: "number", min: 1 })}
      ${form.fault === "delay" && input("ms", "Milliseconds late", undefined, { type: "number", min: 1, required: true })}${input("seed", "Seed", "the same requests in each run", { type: "number", min: 0 })}</div>
    <div class="bar"><button class="primary" disabled=${busy}>Add the rule</button><code>${ruleOf(form)}</code></div></fieldset></form>`;
}

export function Faults() {
  const asked = useAsked(() => administer("list-faults"), [], EVERY_MS);
  const set = useAction();
  if (asked.error && isNoCall(asked.error)) return html`<${Empty} title="This server injects no faults"><p>${asked.error.message}.</p><p>A test server: <code>trestle serve --in-memory --port 8001 --allow-fault-injection</code></p><//>`;
  if (!asked.value) return asked.error ? html`<${Failure} error=${asked.error} />` : html`<${Loading} what="faults" />`;
  const { rules } = asked.value;
  const texts = rules.map((one) => one.rule);
  const put = (next, said) => set.run(async () => {
    await administer("set-faults", { rules: next });
    say(said);
    await asked.reload();
    return true;
  });
  return html`<section class="card stack" aria-label="Rules"><header><h2>Faults</h2>${may.change && rules.length > 0 && html`<button type="button" disabled=${set.busy} onClick=${() => put([], "No more faults")}>End all faults</button>`}</header>
      <p>Requests of DynamoDB's operations, also those of this console, get these faults: the first rule that matches a request decides. With each change the counts begin again. A restart begins with the rules of the settings.</p>
      ${rules.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Rules of faults"><table><thead><tr><th scope="col">Rule</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Faults</th><th scope="col"><span class="sr">Actions</span></th></tr></thead>
        <tbody>${rules.map((one, i) => html`<tr><th scope="row"><code>${one.rule}</code></th><td class="number">${count(one.matched)}</td><td class="number">${count(one.injected)}</td><td>${may.change && html`<button type="button" class="small" disabled=${set.busy} aria-label=${`Remove ${one.rule}`} onClick=${() => put(texts.filter((_, at) => at !== i), "Removed")}>Remove</button>`}</td></tr>`)}</tbody></table></div>` : html`<p class="quiet">No rule: no request gets a fault.</p>`}
      <${Failure} error=${set.error ?? asked.error} /></section>
    ${may.change && html`<${NewRule} busy=${set.busy} onAdd=${(rule) => put([...texts, rule], "Added")} />`}`;
}
