// Delete a collection: the rows of a partition, those whose sort key begins with a prefix, or those that an access pattern finds. The server
// deletes in bounded steps; each step returns a bookmark with which the next one continues.
import { administer, may } from "../api.js";
import { keysOf } from "../requests.js";
import { amend } from "../router.js";
import { count, shown } from "../values.js";
import { Dialog, Failure, Field, html, useEffect, useRef, useRetry, useState } from "../ui.js";

/** The maximum number of rows in a step that deletes, and in one that counts. */
const STEP = 1000;
const COUNTED_STEP = 10_000;
/** The time after the last key press until rows are counted again. */
const REST_MS = 400;
/** The maximum number of keys that are shown of rows that stay. */
const KEYS_MAX = 100;

/** The button, if the user may delete and the table is not one of the server's own. The address contains the dialog. */
export function CollectionButton({ table, call, prefix, open }) {
  const setOpen = (what) => amend({ open: what });
  if (!may.change || table.TableName.startsWith("_trestle")) return null;
  return html`<div class="bar"><button type="button" class="small danger" onClick=${() => setOpen("collection")}>Delete the collection …</button></div>
    ${open === "collection" && html`<${DeleteCollection} table=${table} call=${call} prefix=${prefix} onClose=${() => setOpen()} />`}`;
}

const step = (call, more, after) => administer("delete-collection", { ...call, ...more, ...(after ? { after } : {}) });

/** Counts the rows, and counts again when their description changes. */
function useCount(call) {
  const [found, setFound] = useState({ rows: 0 });
  const id = JSON.stringify(call);
  const [turn, setTurn] = useState(0);
  useRetry(found.error, () => setTurn(turn + 1));
  useEffect(() => {
    let isOver = false;
    setFound({ rows: 0 });
    const look = async () => {
      let [rows, next] = [0, undefined];
      do {
        const counted = await step(call, { dry_run: true, rows: COUNTED_STEP }, next);
        if (isOver) return;
        [rows, next] = [rows + counted.deleted, counted.next];
        setFound({ rows, isWhole: !next });
      } while (next);
    };
    const timer = setTimeout(() => look().catch((error) => !isOver && setFound({ rows: 0, error })), REST_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [id, turn]);
  return found;
}

/** Rows that stay: their number, the reasons, and the keys of the first ones. */
class Staying {
  total = 0;
  reasons = new Map();
  keys = [];
  add(rows) {
    this.total += rows.length;
    for (const { reason } of rows) this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    this.keys.push(...rows.slice(0, KEYS_MAX - this.keys.length).map(({ key }) => key));
  }
}

/** Deletes step by step, at most `rate` rows per second, until all rows are deleted or it is stopped; then `begin` continues. */
function useDeletion(call, rate) {
  const [state, setState] = useState({ at: "preview", deleted: 0, left: new Staying() });
  const stopped = useRef(false);
  const kept = useRef({ deleted: 0, left: new Staying() });
  useEffect(() => () => { stopped.current = true; }, []);
  const begin = async () => {
    const now = kept.current;
    const show = (at, error) => setState({ at, error, deleted: now.deleted, left: now.left });
    stopped.current = false;
    show("running");
    try {
      do {
        const began = performance.now();
        const made = await step(call, { rows: Math.min(STEP, rate ?? STEP) }, now.after);
        now.left.add(made.left);
        Object.assign(now, { deleted: now.deleted + made.deleted, after: made.next });
        if (!now.after) break;
        show("running");
        const due = rate ? (1000 * made.deleted) / rate : 0;
        await new Promise((done) => setTimeout(done, Math.max(0, began + due - performance.now())));
      } while (!stopped.current);
      show(now.after ? "stopped" : "finished");
    } catch (error) {
      show("stopped", error);
    }
    window.dispatchEvent(new Event("trestle-written"));
  };
  return { ...state, begin, stop: () => { stopped.current = true; } };
}

/** The description of the rows, in words. */
const named = ({ partition, prefix, access, where }, { hash, range }) => (access
  ? `The rows that ${access} finds with ${Object.entries(where).map(([name, value]) => `${name} = ${value}`).join(", ")}, of the entities that it returns, on every page.`
  : `The rows whose ${hash[0].name} is ${partition}${prefix ? ` and whose ${range[0].name} begins with ${prefix}` : ""}. Other conditions of the query do not count here.`);

function DeleteCollection({ table, call: given, prefix: first = "", onClose }) {
  const keys = keysOf(table);
  const hasPrefix = !given.access && keys.range.length === 1 && keys.range[0].type !== "N";
  const [prefix, setPrefix] = useState(hasPrefix ? first : "");
  const [rate, setRate] = useState("");
  const call = prefix ? { ...given, prefix } : given;
  const found = useCount(call);
  const wrongRate = rate !== "" && !(Number(rate) >= 1);
  const { at, deleted, left, error, begin, stop } = useDeletion(call, rate === "" ? undefined : Math.floor(Number(rate)));
  const isBegun = at !== "preview";
  const most = Math.max(found.rows, deleted, 1);
  return html`<${Dialog} title=${`Delete a collection of ${table.TableName}`} onClose=${onClose} wide><div class="dialog-body">
    <p>${named(call, keys)} Each row is deleted as by a client, in one commit with the rows that a model derives from it. This cannot be undone.</p>
    ${hasPrefix && html`<${Field} id="collection-prefix" label=${`Only rows whose ${keys.range[0].name} begins with`} hint="End it with its separator: wf also begins wf-2, and wf/ does not.">
      <input id="collection-prefix" value=${prefix} disabled=${isBegun} spellcheck=${false} onInput=${(event) => setPrefix(event.target.value)} /><//>`}
    <${Field} id="collection-rate" label="Rows in a second, at most" hint="no limit unless given" error=${wrongRate ? "a number of at least 1" : undefined}>
      <input id="collection-rate" inputmode="numeric" value=${rate} disabled=${at === "running"} onInput=${(event) => setRate(event.target.value)} /><//>
    ${!isBegun && !found.error && html`<p role="status">${found.isWhole ? "" : "Counting … "}${count(found.rows)} rows${found.isWhole ? "" : " so far"}.</p>`}
    ${isBegun && html`<div class="progress" role="progressbar" aria-label="Rows deleted" aria-valuenow=${deleted} aria-valuemin="0" aria-valuemax=${most}><i style=${{ width: `${at === "finished" ? 100 : (100 * deleted) / most}%` }}></i></div>
      <p role="status">${at === "stopped" ? "Stopped. " : ""}${count(deleted)} rows deleted${left.total ? `, ${count(left.total)} stay` : ""}.</p>`}
    ${at === "stopped" && html`<p class="quiet">What was deleted stays deleted. Continue here, or open this dialog again later: it finds the rows that are left.</p>`}
    ${left.total > 0 && html`<ul class="findings">${[...left.reasons].map(([reason, number]) => html`<li>${count(number)} stay: ${reason}</li>`)}</ul>
      <details><summary>Keys of the first ${left.keys.length}</summary><ul class="letters">${left.keys.map((key) => html`<li><code>${Object.values(key).map(shown).join(" / ")}</code></li>`)}</ul></details>`}
    <${Failure} error=${error ?? found.error} /></div>
    <footer>${at === "running" ? html`<button type="button" class="primary" onClick=${stop}>Stop</button>` : html`<button type="button" onClick=${onClose}>${isBegun ? "Close" : "Cancel"}</button>`}
      ${at === "preview" && html`<button type="button" class="danger" disabled=${!found.rows || wrongRate} onClick=${begin}>Delete</button>`}
      ${at === "stopped" && html`<button type="button" class="danger" disabled=${wrongRate} onClick=${begin}>Continue</button>`}</footer><//>`;
}
