// Gaps of a reindex: rows that the destination does not have, by the reindex's own records, or compared with a table or a file.
import { administer, may, tableNames } from "../api.js";
import { amend } from "../router.js";
import { count } from "../values.js";
import { Failure, Field, html, useAction, useAsked, useState } from "../ui.js";

const PAGE = 1000;
/** Pages that are read until one has a gap; then the user decides whether to continue. */
const PAGES_AT_ONCE = 50;
const SHOWN = 50;

const SOURCES = [
  ["", "what the reindex knows"], ["table", "the rows of a table"], ["file", "a file with the ids that the destination has"], ["all", "nothing: every row"],
];

/** The members of the call for a source. A file is compared in the browser. */
const comparison = ({ kind, table, attribute }) => ({
  table: { against_table: table, ...(attribute ? { against_attribute: attribute } : {}) }, file: { all: true }, all: { all: true },
}[kind] ?? {});

/** The next page that has a gap. */
async function read(name, source, first) {
  const known = source.kind === "file" ? new Set((await source.file.text()).split("\n").map((id) => id.trim())) : undefined;
  let [gaps, next, pages] = [[], first, 0];
  do {
    const page = await administer("list-reindex-gaps", { name, limit: PAGE, ...comparison(source), ...(next ? { after: next } : {}) });
    gaps = known ? page.gaps.filter((id) => !known.has(id)) : page.gaps;
    next = page.next;
    pages += 1;
  } while (next && !gaps.length && pages < PAGES_AT_ONCE);
  return { gaps, next };
}

function Found({ found, isBusy, onNext, onResend }) {
  const { gaps, next } = found;
  return html`${gaps.length ? html`<p role="status">Missing rows: ${count(gaps.length)}${next ? " or more" : ""}. <code>${gaps.slice(0, SHOWN).join(", ")}</code>${gaps.length > SHOWN ? ` and ${count(gaps.length - SHOWN)} others` : ""}</p>`
    : html`<p role="status">${next ? "None among the rows read so far." : "None."}</p>`}
    <div class="bar">${gaps.length > 0 && may.change && html`<button type="button" disabled=${isBusy} onClick=${onResend}>Send these again</button>`}
      ${next && html`<button type="button" disabled=${isBusy} onClick=${onNext}>${gaps.length ? "Next page" : "Continue the search"}</button>`}</div>`;
}

/** The address contains the source of the comparison, except for a file. */
export function Gaps({ name, address, onResend }) {
  const { gaps: kind = "", table = "", attribute = "" } = address.query;
  const [file, setFile] = useState();
  const source = { kind, table, attribute, file };
  const tables = useAsked(async () => (source.kind === "table" ? tableNames() : []), [source.kind]);
  const found = useAction();
  const change = (members) => {
    found.clear();
    amend(members);
  };
  const look = (after) => found.run(() => read(name, source, after));
  const resend = async () => {
    await onResend(found.done.gaps);
    found.clear();
  };
  const isReady = source.kind === "table" ? source.table : source.kind === "file" ? source.file : true;
  return html`<section class="card"><header><h2>Gaps</h2><button type="button" disabled=${found.busy || !isReady} onClick=${() => look()}>Look for gaps</button></header>
    <div class="form"><${Field} id="gaps-source" label="Compare with"><select id="gaps-source" value=${source.kind} onChange=${(event) => change({ gaps: event.target.value })}>${SOURCES.map(([kind, label]) => html`<option value=${kind}>${label}</option>`)}</select><//>
      ${source.kind === "table" && html`<${Field} id="gaps-table" label="Table that has the rows"><select id="gaps-table" value=${source.table} onChange=${(event) => change({ table: event.target.value })}><option value="">choose</option>${(tables.value ?? []).map((one) => html`<option value=${one}>${one}</option>`)}</select><//>
        <${Field} id="gaps-attribute" label="Attribute with the id" hint="the partition key unless given"><input id="gaps-attribute" value=${source.attribute} spellcheck=${false} onInput=${(event) => change({ attribute: event.target.value.trim() })} /><//>`}
      ${source.kind === "file" && html`<${Field} id="gaps-file" label="File" hint="one id on each line, as they are shown here"><input id="gaps-file" type="file" onChange=${(event) => { found.clear(); setFile(event.target.files[0]); }} /><//>`}</div>
    <${Failure} error=${found.error ?? tables.error} />
    ${found.done ? html`<${Found} found=${found.done} isBusy=${found.busy} onNext=${() => look(found.done.next)} onResend=${resend} />`
      : html`<p class="quiet" role="status">${found.busy ? "Reading rows …" : "Rows that the destination does not have."}</p>`}</section>`;
}
