// Rows of a table: by form, by access pattern, by PartiQL statement.
import { administer, describeTable, dynamodb, may, modelDescriptions, tableNames } from "../api.js";
import { FORMATS, ROWS_MAX, WRITES_FILES, exportAll, exportPage, openFile } from "../exports.js";
import { read, remember, toggleBookmark, isBookmarked, write } from "../kept.js";
import { tableModel } from "../model.js";
import { FILTER_OPERATORS, KEY_OPERATORS, WITHOUT_VALUE, attributesOf, fromForm, keyOf, keysOf, shownRange } from "../requests.js";
import { PageTurns, usePaging } from "../paging.js";
import { amend, go, link } from "../router.js";
import { Rows, columnsOf } from "../rows.js";
import { TYPES, TYPE_NAMES, bytes, count, editable } from "../values.js";
import { Dialog, Empty, Failure, Field, Json, Loading, Tabs, download, html, ofAction, say, useAction, useAsked, useEffect, useRef, useRetry, useState } from "../ui.js";
import { DeleteRows, EditRows } from "./bulk.js";
import { CollectionButton } from "./collection.js";
import { ItemDrawer } from "./item.js";

const PAGE = 100;
const COLUMNS = 8;
/** A filter may remove all rows of many pages. After this many empty pages, the user decides whether to continue. */
const PAGES_AT_ONCE = 20;

/** Whether a statement only reads. */
const isRead = (statement) => /^\s*select\b/i.test(statement);

export function Items({ address }) {
  const [name] = address.parts;
  const names = useAsked(tableNames, []);
  useEffect(() => {
    if (!name && names.value?.length) {
      const usual = read("table", undefined);
      go(["items", names.value.includes(usual) ? usual : names.value.find((one) => !one.startsWith("_trestle")) ?? names.value[0]], {}, true);
    }
  }, [name, names.value]);
  if (names.error) return html`<h1>Items</h1><${Failure} error=${names.error} />`;
  if (!names.value) return html`<${Loading} what="tables" />`;
  if (!names.value.length) return html`<h1>Items</h1><${Empty} title="No table yet"><p>Apply a model in <a href="#/models">Models</a>, or create a table with any AWS SDK.</p><//>`;
  if (!name) return null;
  return html`<${TableItems} key=${name} name=${name} names=${names.value} address=${address} />`;
}

function TableItems({ name, names, address }) {
  const asked = useAsked(async () => {
    const [table, models] = await Promise.all([describeTable(name), modelDescriptions()]);
    return { table, known: tableModel(models, name) };
  }, [name]);
  useEffect(() => write("table", name), [name]);
  const mode = address.query.mode ?? "browse";
  const { table, known } = asked.value ?? {};
  const tab = (id, label) => ({ id, label, href: link(["items", name], id === "browse" ? {} : { mode: id }) });
  const here = location.hash;
  const [, setMarked] = useState(0);
  return html`<div class="stack">
    <div class="bar">
      <h1>Items</h1>
      <label class="sr" for="table-choice">Table</label>
      <select id="table-choice" value=${name} onChange=${(event) => go(["items", event.target.value])}>${names.map((one) => html`<option value=${one}>${one}</option>`)}</select>
      ${table && html`<span class="quiet">${count(table.ItemCount)} items, ${bytes(table.TableSizeBytes)}${known ? html`, model <a href=${link(["models", known.model.name])}>${known.model.name}</a>` : ""}</span>`}
      <span class="grow"></span>
      <button type="button" aria-pressed=${isBookmarked(here)} onClick=${() => { toggleBookmark(here, `${name}: ${mode}`); setMarked((n) => n + 1); }}>${isBookmarked(here) ? "★" : "☆"} Bookmark</button>
      ${table && may.write && html`<a class="button" href=${link(["items", name], { ...address.query, item: "new" })}>New item</a>`}
    </div>
    <${Tabs} label="Ways to read" current=${mode} tabs=${[tab("browse", "Browse and query"), ...(known?.access.length ? [{ ...tab("access", "Access patterns"), count: known.access.length }] : []), tab("partiql", "PartiQL")]} />
    <${Failure} error=${asked.error} />
    ${!table ? !asked.error && html`<${Loading} what=${name} />`
      : mode === "access" && known ? html`<${Access} table=${table} known=${known} address=${address} />`
        : mode === "partiql" ? html`<${Statement} table=${table} known=${known} address=${address} />`
          : html`<${Browse} table=${table} known=${known} address=${address} />`}
    ${table && address.query.item && html`<${ItemDrawer} key=${address.query.item} table=${table} known=${known} address=${address} />`}
  </div>`;
}

// ---- rows of a request, page by page

/** The pages of a request; the address names one of them. After a page without a matching row, the next one is read, up to a bound. */
function usePages(asked, address) {
  const [state, setState] = useState({ number: 1 });
  const turn = useRef(0);
  const { item, tab, ...query } = address.query;
  const paging = usePaging({ ...address, query }, asked.id);
  const { number, start: first } = paging;
  const load = async () => {
    turn.current += 1;
    const mine = turn.current;
    setState((before) => ({ ...before, loading: true, error: undefined }));
    const began = performance.now();
    try {
      let start = first;
      let [items, scanned, units, requests] = [[], 0, 0, 0];
      do {
        const page = await asked.run(start);
        if (mine !== turn.current) return;
        items = items.concat(page.items);
        scanned += page.scanned ?? page.items.length;
        units += page.units ?? 0;
        start = page.next;
        requests += 1;
      } while (start && !items.length && requests < PAGES_AT_ONCE);
      setState({ number, items, scanned, units, next: start, ms: Math.round(performance.now() - began) });
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ ...before, loading: false, error: asked.isWrite ? ofAction(error) : error }));
    }
  };
  useEffect(() => {
    turn.current += 1;
    setState({ number });
  }, [asked.id]);
  useEffect(() => {
    if (asked.id) load();
  }, [asked.id, number, JSON.stringify(first)]);
  // A statement that writes is not repeated.
  useRetry(asked.isWrite ? undefined : state.error, load);
  return { ...state, paging, reload: load };
}

function Results({ pages, asked, table, keys, known, address, label }) {
  const { items } = pages;
  const all = items ? columnsOf(items, table, known) : [];
  const memory = `columns:${table.TableName}`;
  const [kept, setKept] = useState(() => read(memory, undefined));
  // The rows chosen for these two dialogs are not in the address, because a link to it could mean other rows.
  const [changing, setChanging] = useState();
  const open = address.query.open;
  const setOpen = (what) => amend({ open: what });
  const [selected, setSelected] = useState(new Set());
  const idOf = (item) => JSON.stringify(keyOf(table, item));
  // Rows remain selected when they are read again, if they still exist.
  useEffect(() => {
    const there = new Set(items?.map(idOf));
    setSelected((before) => new Set([...before].filter((id) => there.has(id))));
  }, [items]);
  // The rows that were chosen when the dialog was opened, because the page is read again while it is open.
  const [chosen, setChosen] = useState({});
  const openFor = (what, rows) => {
    setChosen(rows);
    setChanging(what);
  };
  useEffect(() => {
    // A statement that has written is not repeated.
    const again = () => !asked.isWrite && pages.reload();
    window.addEventListener("trestle-written", again);
    return () => window.removeEventListener("trestle-written", again);
  });
  const columns = kept ?? all.slice(0, COLUMNS);
  if (pages.error) return html`<${Failure} error=${pages.error} />`;
  if (!items) return pages.loading ? html`<${Loading} what="rows" />` : null;
  const hasKey = (item) => table.KeySchema.every((key) => item[key.AttributeName]);
  // Without a selection, all rows that the query finds are chosen.
  const picked = items.filter((item) => selected.has(idOf(item)));
  const { attributes } = asked;
  const rows = !may.write || !items.length ? undefined : picked.length ? { items: picked, attributes } : asked.isQuestion ? { asked, attributes } : undefined;
  const openItem = (item) => (hasKey(item) ? go(["items", table.TableName], { ...address.query, tab: "", item: JSON.stringify(keyOf(table, item)) }) : say("This row does not have the whole key of the table"));
  const collection = (item) => go(["items", table.TableName], { ...Object.fromEntries(keys.hash.map((key, i) => [`hash${i || ""}`, editable(item[key.name])])), index: asked.index });
  return html`
    <div class="bar" aria-live="polite">
      <span>${count(items.length)} ${items.length === 1 ? "row" : "rows"}, page ${count(pages.number)}</span>
      <span class="quiet">read ${count(pages.scanned)}${pages.units ? `, ${pages.units} RCU` : ""}, ${pages.ms} ms</span>
      <span class="grow"></span>
      ${rows && html`<button type="button" onClick=${() => openFor("edit", rows)}>Edit ${rows.items?.length ?? "all"} …</button><button type="button" class="danger" onClick=${() => openFor("delete", rows)}>Delete ${rows.items?.length ?? "all"} …</button>`}
      <button type="button" onClick=${() => setOpen("columns")}>Columns</button>
      <button type="button" onClick=${() => setOpen("export")}>Export</button>
      <${PageTurns} paging=${pages.paging} next=${pages.number === pages.paging.number ? pages.next : undefined} busy=${pages.loading} label=${pages.next && !items.length ? "Continue the search" : "Next page"} />
    </div>
    ${items.length ? html`<${Rows} items=${items} table=${table} keys=${keys} known=${known} columns=${columns} onOpen=${openItem} onCollection=${keys.hash.length ? collection : undefined} label=${label}
        selected=${selected} idOf=${idOf} onSelect=${may.write && items.every(hasKey) ? setSelected : undefined} />`
      : html`<${Empty} title=${pages.next ? "No match so far" : "No row"}><p>${pages.next ? `The filter left nothing of ${count(pages.scanned)} rows. There are more.` : asked.emptyHint ?? "No rows. Loosen the condition, or write an item."}</p><//>`}
    ${open === "columns" && html`<${Columns} all=${[...new Set([...all, ...columns])]} columns=${columns} onClose=${() => setOpen()} onChange=${(next) => { setKept(next); write(memory, next); }} />`}
    ${open === "export" && html`<${Export} table=${table} pages=${pages} asked=${asked} onClose=${() => setOpen()} />`}
    ${changing === "edit" && html`<${EditRows} table=${table} known=${known} rows=${chosen} onClose=${() => setChanging()} />`}
    ${changing === "delete" && html`<${DeleteRows} table=${table} known=${known} rows=${chosen} onClose=${() => setChanging()} />`}`;
}

function Columns({ all, columns, onClose, onChange }) {
  const turn = (name, on) => onChange(on ? [...columns, name] : columns.filter((one) => one !== name));
  return html`<${Dialog} title="Columns" onClose=${onClose}><div class="dialog-body"><p class="quiet">Remembered for this table in this browser.</p>
    ${all.map((name) => html`<label class="check"><input type="checkbox" checked=${columns.includes(name)} onChange=${(event) => turn(name, event.target.checked)} />${name}</label>`)}
    ${!all.length && html`<p>These rows have nothing but their keys.</p>`}</div>
    <footer><button type="button" onClick=${() => onChange([])}>None</button><button type="button" onClick=${() => onChange(all)}>All</button></footer><//>`;
}

function Export({ table, pages, asked, onClose }) {
  const [format, setFormat] = useState("json");
  const [scope, setScope] = useState("page");
  const [progress, setProgress] = useState();
  const stop = useRef(false);
  useEffect(() => () => { stop.current = true; }, []);
  const action = useAction();
  const { type, extension } = FORMATS[format];
  const name = `${table.TableName}.${extension}`;
  const all = async () => {
    const file = await openFile(name, type);
    return exportAll(file, format, asked.run, { onProgress: setProgress, isStopped: () => stop.current });
  };
  const write = () => action.run(async () => {
    if (scope === "all") return all();
    download(name, type, exportPage(format, pages.items));
    return { rows: pages.items.length };
  });
  return html`<${Dialog} title="Export" onClose=${onClose}><div class="dialog-body">
    <fieldset><legend>Rows</legend><label class="check"><input type="radio" name="scope" checked=${scope === "page"} onChange=${() => setScope("page")} />This page: ${count(pages.items.length)}</label><br />
      ${!asked.isWrite && html`<label class="check"><input type="radio" name="scope" checked=${scope === "all"} onChange=${() => setScope("all")} />All pages, from the first</label>`}</fieldset>
    <fieldset><legend>Format</legend>${Object.entries(FORMATS).map(([id, one]) => html`<label class="check"><input type="radio" name="format" checked=${format === id} onChange=${() => setFormat(id)} />${one.label}</label><br />`)}</fieldset>
    ${scope === "all" && html`<p class="quiet">${WRITES_FILES ? "The rows are written to the file as they are read." : `This browser cannot write a file while rows are read: at most ${count(ROWS_MAX)} rows are exported.`}${format === "csv" ? " For CSV all rows are read twice, first to find the columns." : ""}</p>`}
    ${action.busy && progress !== undefined && html`<p role="status">${count(progress)} rows read …</p>`}
    ${action.done && html`<p class=${action.done.isCut ? "wrong" : "done"} role="status">${count(action.done.rows)} rows written to ${name}.${action.done.isCut ? " There are more rows: use a browser that writes files, or a query that finds fewer rows." : ""}</p>`}
    <${Failure} error=${action.error} /></div>
    <footer><button type="button" class="primary" disabled=${action.busy} onClick=${write}>Write the file</button></footer><//>`;
}

// ---- by form

/** The name, in the address, of a member of the condition on a sort attribute. */
const named = (member, i) => (i ? `${member}.${i}` : member);

function formOf(query, keys) {
  let filters = [];
  try {
    filters = JSON.parse(query.filters ?? "[]");
  } catch {
    // An incomplete link has no filters.
  }
  return {
    index: query.index, hash: keys.hash.map((_, i) => query[`hash${i || ""}`] ?? ""), range: keys.range.map((_, i) => ({ op: query[named("op", i)] ?? "", value: query[named("value", i)] ?? "", value2: query[named("value2", i)] ?? "" })),
    filters, any: query.any === "1", desc: query.desc === "1", consistent: query.consistent === "1", limit: Number(query.limit) || PAGE,
  };
}

const queryOf = (form) => ({
  index: form.index, ...Object.fromEntries(form.hash.map((value, i) => [`hash${i || ""}`, value])), ...Object.assign({}, ...form.range.map(({ op, value, value2 }, i) => ({ [named("op", i)]: op, [named("value", i)]: op ? value : "", [named("value2", i)]: op === "between" ? value2 : "" }))),
  filters: form.filters.length ? JSON.stringify(form.filters) : "", any: form.any ? "1" : "", desc: form.desc ? "1" : "", consistent: form.consistent ? "1" : "", limit: form.limit === PAGE ? "" : form.limit,
});

function Browse({ table, known, address }) {
  const index = address.query.index;
  const keys = keysOf(table, index);
  const given = formOf(address.query, keys);
  const id = JSON.stringify([table.TableName, queryOf(given)]);
  const [form, setForm] = useState(given);
  useEffect(() => setForm(given), [id]);
  const change = (members) => setForm({ ...form, ...members });
  let built;
  let wrong;
  try {
    built = fromForm(table, given);
  } catch (error) {
    wrong = error;
  }
  const asked = {
    id: built && id, index, isQuestion: true, attributes: () => attributesOf(table, index),
    run: async (start) => {
      const answer = await dynamodb(built.operation, start ? { ...built.request, ExclusiveStartKey: start } : built.request);
      return { items: answer.Items, next: answer.LastEvaluatedKey, scanned: answer.ScannedCount, units: answer.ConsumedCapacity?.CapacityUnits };
    },
  };
  const pages = usePages(asked, address);
  const submit = (event) => {
    event.preventDefault();
    const query = queryOf(form);
    const to = link(["items", table.TableName], query);
    if (to === location.hash) pages.reload();
    else go(["items", table.TableName], query);
    remember(to, `${table.TableName}${form.index ? `, ${form.index}` : ""}: ${form.hash.filter(Boolean).join(", ") || "scan"}${form.range.map(({ op, value }) => (op ? ` ${op} ${value}` : "")).join("")}${form.filters.length ? `, ${form.filters.length} filters` : ""}`);
  };
  const formKeys = keysOf(table, form.index);
  const indexes = [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])];
  const isQuery = formKeys.hash.every((_, i) => form.hash[i]);
  const size = form.index ? indexes.find((one) => one.IndexName === form.index)?.IndexSizeBytes : table.TableSizeBytes;
  return html`<form class="stack" onSubmit=${submit}>
    <fieldset><legend>Which rows</legend><div class="form">
      <${Field} id="index" label="Table or index"><select id="index" value=${form.index ?? ""} onChange=${(event) => change({ index: event.target.value || undefined, hash: [], range: [] })}>
        <option value="">${table.TableName}</option>${indexes.map((one) => html`<option value=${one.IndexName}>${one.IndexName}</option>`)}</select><//>
      ${formKeys.hash.map((key, i) => html`<div class="wide"><${Field} id=${`hash${i}`} label=${`${key.name} =`}><input id=${`hash${i}`} value=${form.hash[i] ?? ""} placeholder="any: a scan" spellcheck=${false}
        onInput=${(event) => change({ hash: formKeys.hash.map((_, at) => (at === i ? event.target.value : form.hash[at] ?? "")) })} /><//></div>`)}
      ${shownRange(formKeys, form.range).map((key, i) => html`<${SortCondition} key=${key.name} name=${key.name} i=${i} isQuery=${isQuery} condition=${form.range[i] ?? NO_CONDITION}
        onChange=${(next) => change({ range: formKeys.range.map((_, at) => (at === i ? next : at > i && next.op !== "=" ? NO_CONDITION : form.range[at] ?? NO_CONDITION)) })} />`)}
      <button class="primary" type="submit">${isQuery ? "Query" : "Scan"}</button>
    </div>
    ${form.filters.map((filter, i) => html`<${Filter} filter=${filter} i=${i} onChange=${(next) => change({ filters: form.filters.map((one, at) => (at === i ? next : one)).filter(Boolean) })} />`)}
    <div class="bar">
      <button type="button" class="small" onClick=${() => change({ filters: [...form.filters, { name: "", op: "=", type: "S", value: "" }] })}>Add a filter</button>
      ${form.filters.length > 1 && html`<label class="check"><input type="checkbox" checked=${form.any} onChange=${(event) => change({ any: event.target.checked })} />any of them is enough</label>`}
      <label class="check"><input type="checkbox" checked=${form.desc} disabled=${!isQuery} onChange=${(event) => change({ desc: event.target.checked })} />descending</label>
      <label class="check"><input type="checkbox" checked=${form.consistent} onChange=${(event) => change({ consistent: event.target.checked })} />consistent</label>
      <span class="quiet">${isQuery ? "One Query: reads the rows of one partition." : `A Scan reads every row, ${bytes(size)} in all, about ${count(Math.ceil((size ?? 0) / 4096 / (form.consistent ? 1 : 2)))} RCU; a page of it at a time.`}</span>
    </div></fieldset>
  </form>
  ${wrong && html`<${Failure} error=${wrong} />`}
  ${built && html`<details><summary>The request: ${built.operation}</summary><${Json} value=${built.request} label="Request" /></details>`}
  ${built?.operation === "Query" && !index && html`<${CollectionButton} key=${id} table=${table} call=${{ table: table.TableName, partition: given.hash[0] }} prefix=${given.range[0]?.op === "begins_with" ? given.range[0].value : undefined} open=${address.query.open} />`}
  <${Results} pages=${pages} asked=${asked} table=${table} keys=${keys} known=${known} address=${address} label=${`Rows of ${table.TableName}`} />`;
}

const NO_CONDITION = { op: "", value: "", value2: "" };

function SortCondition({ name, i, isQuery, condition, onChange }) {
  const { op, value, value2 } = condition;
  const [opId, valueId, value2Id] = ["op", "value", "value2"].map((member) => `${member}${i || ""}-sort`);
  const change = (members) => onChange({ ...condition, ...members });
  return html`<${Field} id=${opId} label=${name}><select id=${opId} value=${op} disabled=${!isQuery} onChange=${(event) => change({ op: event.target.value })}>${KEY_OPERATORS.map(([id, label]) => html`<option value=${id}>${label}</option>`)}</select><//>
    ${op && html`<div class="wide"><${Field} id=${valueId} label=${op === "between" ? "from" : "value"}><input id=${valueId} value=${value} spellcheck=${false} onInput=${(event) => change({ value: event.target.value })} /><//></div>`}
    ${op === "between" && html`<div class="wide"><${Field} id=${value2Id} label="to"><input id=${value2Id} value=${value2} spellcheck=${false} onInput=${(event) => change({ value2: event.target.value })} /><//></div>`}`;
}

function Filter({ filter, i, onChange }) {
  const id = `filter${i}`;
  const change = (members) => onChange({ ...filter, ...members });
  return html`<div class="form" role="group" aria-label=${`Filter ${i + 1}`}>
    <${Field} id=${`${id}-name`} label="Attribute or path"><input id=${`${id}-name`} value=${filter.name} spellcheck=${false} onInput=${(event) => change({ name: event.target.value })} /><//>
    <${Field} id=${`${id}-op`} label="Operator"><select id=${`${id}-op`} value=${filter.op} onChange=${(event) => change({ op: event.target.value })}>${FILTER_OPERATORS.map(([op, label]) => html`<option value=${op}>${label}</option>`)}</select><//>
    ${!WITHOUT_VALUE.has(filter.op) && !filter.op.startsWith("size") && filter.op !== "type" && html`<${Field} id=${`${id}-type`} label="Type"><select id=${`${id}-type`} value=${filter.type} onChange=${(event) => change({ type: event.target.value })}>${["S", "N", "BOOL", "NULL", "B"].map((type) => html`<option value=${type}>${TYPE_NAMES[type]}</option>`)}</select><//>`}
    ${filter.op === "type" ? html`<${Field} id=${`${id}-value`} label="Type"><select id=${`${id}-value`} value=${filter.value} onChange=${(event) => change({ value: event.target.value })}><option value="">choose</option>${TYPES.map((type) => html`<option value=${type}>${TYPE_NAMES[type]}</option>`)}</select><//>`
      : !WITHOUT_VALUE.has(filter.op) && html`<div class="wide"><${Field} id=${`${id}-value`} label=${filter.op === "in" ? "Values, each on a line" : filter.op === "between" ? "from" : "Value"}>${filter.op === "in"
        ? html`<textarea id=${`${id}-value`} rows="3" spellcheck=${false} value=${filter.value} onInput=${(event) => change({ value: event.target.value })}></textarea>`
        : html`<input id=${`${id}-value`} value=${filter.value} spellcheck=${false} onInput=${(event) => change({ value: event.target.value })} />`}<//></div>`}
    ${filter.op === "between" && html`<div class="wide"><${Field} id=${`${id}-value2`} label="to"><input id=${`${id}-value2`} value=${filter.value2 ?? ""} onInput=${(event) => change({ value2: event.target.value })} /><//></div>`}
    <button type="button" class="small" onClick=${() => onChange(undefined)}>Remove</button>
  </div>`;
}

// ---- by access pattern

const comparison = (key) => (key.comparison === "between" ? `${key.attribute} between ${key.values.join(" and ")}` : key.comparison === "begins_with" ? `${key.attribute} begins with ${key.values[0]}` : `${key.attribute} ${key.comparison} ${key.values[0]}`);

function cost(pattern) {
  const { row_bytes: row, rows_per_page: rows, read_units: units } = pattern.cost;
  return rows === 1 ? `${units} RCU for a row of about ${bytes(row)}` : `at most ${units} RCU for a page of ${count(rows)} rows of about ${bytes(row)}`;
}

function Access({ table, known, address }) {
  const { access: name, run, ...query } = address.query;
  const pattern = known.access.find((one) => one.name === name) ?? known.access[0];
  const given = Object.fromEntries(pattern.parameters.map((parameter) => [parameter.name, query[`p.${parameter.name}`] ?? ""]));
  const id = JSON.stringify([table.TableName, pattern.name, given]);
  const [values, setValues] = useState(given);
  useEffect(() => setValues(given), [id]);
  const bound = useAsked(async () => (run ? administer("explain-access", { model: known.model.name, access: pattern.name, where: given }) : undefined), [run, id]);
  const ready = bound.value && !bound.loading && !bound.error ? bound.value : undefined;
  const asked = {
    id: ready && id, index: pattern.index, isQuestion: !pattern.limit, attributes: () => attributesOf(table, pattern.index), emptyHint: "The access pattern finds no row for these parameters.",
    run: async (start) => {
      const request = { Limit: PAGE, ...ready.request, ReturnConsumedCapacity: "TOTAL" };
      if (ready.operation === "GetItem") {
        const { Limit, ...get } = request;
        const answer = await dynamodb("GetItem", get);
        return { items: answer.Item ? [answer.Item] : [], scanned: 1, units: answer.ConsumedCapacity?.CapacityUnits };
      }
      const answer = await dynamodb(ready.operation, start ? { ...request, ExclusiveStartKey: start } : request);
      return { items: answer.Items, next: answer.LastEvaluatedKey, scanned: answer.ScannedCount, units: answer.ConsumedCapacity?.CapacityUnits };
    },
  };
  const pages = usePages(asked, address);
  const submit = (event) => {
    event.preventDefault();
    const next = { mode: "access", access: pattern.name, ...Object.fromEntries(Object.entries(values).map(([key, value]) => [`p.${key}`, value])), run: "1" };
    const to = link(["items", table.TableName], next);
    if (to === location.hash) pages.reload();
    else go(["items", table.TableName], next);
    remember(to, `${pattern.name}: ${Object.values(values).join(", ")}`);
  };
  return html`<form class="stack" onSubmit=${submit}><fieldset><legend>Access pattern</legend>
    <div class="form">
      <${Field} id="access" label="Pattern"><select id="access" value=${pattern.name} onChange=${(event) => go(["items", table.TableName], { mode: "access", access: event.target.value })}>${known.access.map((one) => html`<option value=${one.name}>${one.name}</option>`)}</select><//>
      ${pattern.parameters.map((parameter) => html`<div class="wide"><${Field} id=${`p-${parameter.name}`} label=${`${parameter.name} (${parameter.kind})`}><input id=${`p-${parameter.name}`} required value=${values[parameter.name] ?? ""} spellcheck=${false} onInput=${(event) => setValues({ ...values, [parameter.name]: event.target.value })} /><//></div>`)}
      <button class="primary" type="submit">Run</button>
    </div>
    ${pattern.about && html`<p>${pattern.about}</p>`}
    <table aria-label="What it does"><tbody>
      <tr><th scope="row">One ${pattern.operation}</th><td>${table.TableName}${pattern.index ? html`, index <code>${pattern.index}</code>` : ""}${pattern.order ? `, ${pattern.order}` : ""}${pattern.limit ? `, at most ${pattern.limit}` : ""}</td></tr>
      ${pattern.key.length > 0 && html`<tr><th scope="row">Key</th><td>${pattern.key.map((key) => html`<code>${comparison(key)}</code> `)}</td></tr>`}
      ${pattern.filter?.length > 0 && html`<tr><th scope="row">Filter</th><td>${pattern.filter.map((one) => html`<code>${one}</code> `)}</td></tr>`}
      <tr><th scope="row">Returns</th><td>${pattern.returns.join(", ")}</td></tr>
      <tr><th scope="row">Cost</th><td>${cost(pattern)}, ${pattern.consistent ? "consistent" : "eventually consistent"}</td></tr>
    </tbody></table></fieldset></form>
  <${Failure} error=${bound.error} />
  ${ready && html`<details><summary>The request: ${ready.operation}</summary><${Json} value=${ready.request} label="Request" /></details>`}
  ${ready?.operation === "Query" && html`<${CollectionButton} key=${id} table=${table} call=${{ model: known.model.name, access: pattern.name, where: given }} open=${address.query.open} />`}
  <${Results} pages=${pages} asked=${asked} table=${table} keys=${keysOf(table, pattern.index)} known=${known} address=${address} label=${`Rows of ${pattern.name}`} />`;
}

// ---- by statement

function Statement({ table, known, address }) {
  const { statement = "" } = address.query;
  const [text, setText] = useState(statement || `SELECT * FROM "${table.TableName}"`);
  // A link must never write: only a SELECT runs from the address. A statement that writes runs once each time its button is pressed.
  // Because it contains the values of a row, it is neither put into the address nor remembered.
  const [pressed, setPressed] = useState();
  useEffect(() => {
    setPressed();
    if (statement) setText(statement);
    if (statement && !isRead(statement)) go(["items", table.TableName], { mode: "partiql" }, true);
  }, [statement]);
  const runs = pressed?.text ?? (isRead(statement) ? statement : undefined);
  const asked = {
    id: runs && JSON.stringify([table.TableName, runs, pressed?.turn]), isWrite: Boolean(pressed), attributes: (found) => Object.keys(found),
    run: async (start) => {
      const answer = await dynamodb("ExecuteStatement", { Statement: runs, ReturnConsumedCapacity: "TOTAL", ...(pressed ? {} : { Limit: PAGE }), ...(start ? { NextToken: start } : {}) });
      return { items: answer.Items ?? [], next: answer.NextToken ?? undefined, units: answer.ConsumedCapacity?.CapacityUnits };
    },
    emptyHint: "The statement was carried out and returned no row.",
  };
  const pages = usePages(asked, address);
  const run = (event) => {
    event.preventDefault();
    if (!isRead(text)) {
      if (may.write) setPressed({ text, turn: (pressed?.turn ?? 0) + 1 });
      return;
    }
    setPressed();
    const query = { mode: "partiql", statement: text };
    const to = link(["items", table.TableName], query);
    if (to !== location.hash) go(["items", table.TableName], query);
    else if (!pressed) pages.reload();
    remember(to, text.slice(0, 80));
  };
  return html`<form class="stack" onSubmit=${run}><${Field} id="statement" label="PartiQL statement"><textarea id="statement" rows="4" spellcheck=${false} value=${text} onInput=${(event) => setText(event.target.value)}
      onKeyDown=${(event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && run(event)}></textarea><//>
    <div class="bar"><button class="primary" type="submit" disabled=${!may.write && !isRead(text)}>Run</button><span class="quiet"><kbd>Ctrl</kbd> <kbd>Enter</kbd> runs it. ${may.write ? "A SELECT without the partition key is a scan." : "You may only read: only a SELECT runs."}</span></div></form>
  <${Results} pages=${pages} asked=${asked} table=${table} keys=${keysOf(table)} known=${known} address=${address} label="Rows of the statement" />`;
}
