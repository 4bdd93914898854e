// Edit or delete many rows: those that were selected, or all that a query finds. First a preview with their number, their entities and the
// first of them; then the writes at a rate, with progress, until all rows are done or the user stops it.
import { dynamodb } from "../api.js";
import { everyRow, paced } from "../bulk.js";
import { recognise } from "../model.js";
import { deleteOf, keyOf, updateOf } from "../requests.js";
import { KeyValue } from "../rows.js";
import { TYPES, TYPE_NAMES, count, differences, parse, same } from "../values.js";
import { Dialog, EntityChip, Failure, Field, html, useEffect, useRef, useState } from "../ui.js";

const FIRST = 5;
/** How often progress is drawn. */
const DRAW_MS = 200;

/** The chosen rows: `items`, or all that `asked` finds. */
const rowsOf = ({ items, asked }) => items ?? everyRow(asked.run);

/**
 * Reads the whole of a row that was found, because an index may have only some attributes; `undefined` if it was deleted. A row that
 * another client has changed since it was found is refused, because the user chose the earlier one.
 */
async function asFound(table, found, attributes = () => undefined) {
  const { Item } = await dynamodb("GetItem", { TableName: table.TableName, Key: keyOf(table, found), ConsistentRead: true });
  if (!Item) return undefined;
  const known = attributes(found);
  const changed = differences(found, Item).filter(({ name }) => !known || known.includes(name));
  if (changed.length) throw new Error(`The row was changed since it was found: ${changed.map(({ name }) => name).join(", ")}.`);
  return Item;
}

/** Counts the chosen rows by entity, and keeps the first of them. */
function useLook(rows, known, isOver) {
  const [look, setLook] = useState({ total: 0, first: [], entities: [] });
  useEffect(() => {
    const seen = { total: 0, first: [], entities: new Map() };
    const show = (more) => setLook({ total: seen.total, first: [...seen.first], entities: [...seen.entities], ...more });
    const timer = setInterval(show, DRAW_MS);
    const look = async () => {
      for await (const item of rowsOf(rows)) {
        if (isOver()) return;
        const name = recognise(known, item)?.name ?? "no entity";
        seen.entities.set(name, (seen.entities.get(name) ?? 0) + 1);
        seen.total += 1;
        if (seen.first.length < FIRST) seen.first.push(item);
      }
      show({ isWhole: true });
    };
    look().catch((error) => show({ error })).finally(() => clearInterval(timer));
    return () => clearInterval(timer);
  }, []);
  return look;
}

function First({ look, table, known }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="First rows"><table><caption class="quiet">The first ${look.first.length}</caption><tbody>${look.first.map((item) => {
    const entity = recognise(known, item);
    return html`<tr><td><${EntityChip} entity=${entity?.name} colour=${entity && known.colours.get(entity.name)} /></td>${Object.entries(keyOf(table, item)).map(([name, value]) => html`<td><${KeyValue} entity=${entity} attribute=${name} value=${value} /></td>`)}</tr>`;
  })}</tbody></table></div>`;
}

/** The effects that the model executes when rows of these entities change. */
function derivedOf(known, entities) {
  const names = entities.flatMap(([name]) => known.model.entities.find((one) => one.name === name)?.effects ?? []).map((effect) => effect.entity);
  return names.length ? `The model derives rows of ${[...new Set(names)].join(", ")} from these. They change in the same commits.` : "The model derives no other row from these.";
}

/**
 * Acts on rows, each on the condition that it is unchanged since it was found. `act(item)` writes one; `item` is `undefined` if the row was
 * deleted. `isReady`: whether the form is complete.
 */
function EachRow({ verb, danger, table, known, rows, act, isReady = true, children, onClose }) {
  const [rate, setRate] = useState("50");
  const [state, setState] = useState({ at: "preview", done: 0, left: [] });
  const stop = useRef(false);
  useEffect(() => () => { stop.current = true; }, []);
  const began = useRef(false);
  const look = useLook(rows, known, () => stop.current || began.current);
  const begin = async () => {
    began.current = true;
    const seen = { done: 0, left: [] };
    const show = (at, error) => setState({ at, done: seen.done, left: [...seen.left], error });
    const timer = setInterval(() => show("running"), DRAW_MS);
    const one = async (item) => {
      try {
        await act(await asFound(table, item, rows.attributes));
      } catch (error) {
        seen.left.push({ item, error });
      }
      seen.done += 1;
    };
    show("running");
    let failure;
    try {
      await paced(rowsOf(rows), Math.max(1, Number(rate) || 1), one, () => stop.current);
    } catch (error) {
      failure = error;
    }
    clearInterval(timer);
    show(stop.current ? "stopped" : "finished", failure);
    window.dispatchEvent(new Event("trestle-written"));
  };
  const { at, done, left } = state;
  const isOver = at === "finished" || at === "stopped";
  const scope = rows.items ? "" : "all ";
  return html`<${Dialog} title=${`${verb} ${scope}${count(look.total)}${look.isWhole || at !== "preview" ? "" : " or more"} rows of ${table.TableName}`} onClose=${onClose} wide><div class="dialog-body">
    ${at === "preview" && html`<p role="status">${look.isWhole ? "" : "Counting … "}${known ? look.entities.map(([entity, number]) => `${count(number)} of ${entity}`).join(", ") : `${count(look.total)} rows`}.</p><${First} look=${look} table=${table} known=${known} />`}
    ${known && look.total > 0 && html`<p>${derivedOf(known, look.entities)}</p>`}
    <p>${rows.items ? "" : "These are the rows that the query finds, on every page. "}A row that another client changes after it was found is left as it is, and counted as not changed. This cannot be undone.</p>
    ${typeof children === "function" ? children(look) : children}
    <${Field} id="each-rate" label="Rows in a second"><input id="each-rate" inputmode="numeric" value=${rate} disabled=${at !== "preview"} onInput=${(event) => setRate(event.target.value)} /><//>
    ${at !== "preview" && html`<div class="progress" role="progressbar" aria-label=${verb} aria-valuenow=${done} aria-valuemin="0" aria-valuemax=${Math.max(look.total, done)}><i style=${{ width: `${(100 * done) / Math.max(look.total, done, 1)}%` }}></i></div>
      <p role="status">${at === "stopped" ? "Stopped. " : ""}${count(done - left.length)} done, ${count(left.length)} not changed.</p>`}
    ${left.slice(0, 5).map((row) => html`<${Failure} error=${row.error} />`)}<${Failure} error=${state.error ?? look.error} /></div>
    <footer>${at === "running" ? html`<button type="button" class="primary" onClick=${() => { stop.current = true; }}>Stop</button>` : html`<button type="button" onClick=${onClose}>${isOver ? "Close" : "Cancel"}</button>`}
      ${at === "preview" && html`<button type="button" class=${danger ? "danger" : "primary"} disabled=${!isReady || !look.total} onClick=${begin}>${verb}</button>`}</footer><//>`;
}

export const DeleteRows = ({ table, known, rows, onClose }) => html`<${EachRow} verb="Delete" danger table=${table} known=${known} rows=${rows} onClose=${onClose}
  act=${async (Item) => Item && dynamodb("DeleteItem", deleteOf(table, Item))} />`;

/** Gives rows the same value of an attribute, or removes the attribute. */
export function EditRows({ table, known, rows, onClose }) {
  const [form, setForm] = useState({ name: "", type: "S", text: "", remove: false });
  const change = (members) => setForm({ ...form, ...members });
  let after;
  let wrong;
  try {
    after = form.remove ? undefined : parse(form.type, form.text);
  } catch (error) {
    wrong = error.message;
  }
  const isKey = table.KeySchema.some((key) => key.AttributeName === form.name);
  const differing = (items) => count(items.filter((item) => !same(item[form.name], after)).length);
  const act = async (Item) => {
    if (!Item) throw new Error("The row was deleted since it was found.");
    if (!same(Item[form.name], after)) await dynamodb("UpdateItem", updateOf(table, Item, [{ name: form.name, after }]));
  };
  return html`<${EachRow} verb="Edit" table=${table} known=${known} rows=${rows} act=${act} onClose=${onClose} isReady=${Boolean(form.name) && !wrong && !isKey}>
    ${(look) => html`<${Field} id="edit-name" label="Attribute" error=${isKey ? "a key is not changed" : undefined}><input id="edit-name" value=${form.name} spellcheck=${false} onInput=${(event) => change({ name: event.target.value })} /><//>
    <label class="check"><input type="checkbox" checked=${form.remove} onChange=${(event) => change({ remove: event.target.checked })} />remove the attribute</label>
    ${!form.remove && html`<${Field} id="edit-type" label="Type"><select id="edit-type" value=${form.type} onChange=${(event) => change({ type: event.target.value })}>${TYPES.map((type) => html`<option value=${type}>${TYPE_NAMES[type]}</option>`)}</select><//>
      <${Field} id="edit-value" label="Value" error=${form.text ? wrong : undefined}><textarea id="edit-value" rows="2" value=${form.text} spellcheck=${false} onInput=${(event) => change({ text: event.target.value })}></textarea><//>`}
    ${form.name && !wrong && html`<p>${rows.items ? `${differing(rows.items)} of ${count(rows.items.length)} rows change.` : `${differing(look.first)} of the first ${look.first.length} rows change.`}</p>`}`}<//>`;
}
