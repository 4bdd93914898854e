// What a write would change, as the server computes it: the row itself, and every row that the model derives from it. Updated while the
// user types.
import { administer, isNoCall, modelDescriptions } from "../api.js";
import { recognise, tableModel } from "../model.js";
import { KeyValue } from "../rows.js";
import { count, differences, shown } from "../values.js";
import { Chip, EntityChip, Failure, html, useAsked, useEffect, useRetry, useState } from "../ui.js";

/** The time from the last key press to the request. */
const PAUSE_MS = 250;

export const Changed = ({ changes }) => html`<table><thead><tr><th scope="col">Attribute</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
  <tbody>${changes.map((change) => html`<tr><th scope="row">${change.name}</th><td class=${change.before ? "diff-old" : ""}>${change.before ? shown(change.before) : html`<span class="quiet">absent</span>`}</td><td class=${change.after ? "diff-new" : ""}>${change.after ? shown(change.after) : html`<span class="quiet">absent</span>`}</td></tr>`)}</tbody></table>`;

/** The server's response for a write; nothing until it arrives. */
function useAnswer(write) {
  const id = JSON.stringify(write);
  const [answer, setAnswer] = useState({});
  const [turn, setTurn] = useState(0);
  useRetry(answer.error, () => setTurn(turn + 1));
  useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => {
      administer("preview-write", write).then((preview) => !isOver && setAnswer({ id, preview }), (error) => !isOver && setAnswer({ id, error }));
    }, PAUSE_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [id, turn]);
  return answer.id === id ? answer : {};
}

/** `write`: the operation and its request. `changes`: the changes as the form knows them, for endpoints without previews. */
export function Preview({ write, changes }) {
  const models = useAsked(modelDescriptions, []);
  const { preview, error } = useAnswer(write);
  const isUnknown = error && isNoCall(error);
  const [own, ...following] = preview?.rows ?? [];
  return html`<section class="card" aria-label="Preview"><h3>What will be written</h3>
    ${isUnknown && html`<${Changed} changes=${changes} /><p class="quiet">Derived rows are not known here: ${error.message}</p>`}
    ${error && !isUnknown && html`<${Failure} error=${error} />`}
    ${!preview && !error && html`<p class="quiet" role="status">Asking the server …</p>`}
    ${preview && !own && html`<p>Nothing: the write changes no row.</p>`}
    ${own && html`<${Changed} changes=${differences(own.before, own.after)} />
      ${following.length > 0 ? html`<h3>Derived rows, in the same commit</h3>${following.map((row) => html`<${Following} row=${row} models=${models.value ?? []} />`)}` : html`<p class="quiet">No other row changes.</p>`}
      ${preview.total > preview.rows.length && html`<p>${count(preview.total - preview.rows.length)} more rows.</p>`}`}</section>`;
}

function Following({ row, models }) {
  const known = tableModel(models, row.table);
  const entity = recognise(known, row.after ?? row.before);
  const [kind, what] = !row.before ? ["good", "created"] : row.after ? ["", "changed"] : ["bad", "deleted"];
  return html`<details><summary><${Chip} kind=${kind}>${what}<//> <${EntityChip} entity=${entity?.name ?? row.table} colour=${entity && known.colours.get(entity.name)} />
    ${Object.entries(row.key).map(([name, value]) => html` <${KeyValue} entity=${entity} attribute=${name} value=${value} />`)}
    ${row.before && row.after && html` <span class="quiet">${differences(row.before, row.after).map((one) => `${one.name}: ${shown(one.before) || "–"} → ${shown(one.after) || "–"}`).join("; ")}</span>`}</summary>
    <${Changed} changes=${differences(row.before, row.after)} /></details>`;
}
