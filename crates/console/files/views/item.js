// One item: its attributes as a form with the model's checks, its JSON, its history. It is written on the condition that it is unchanged
// since it was read.
import { dynamodb, may, session } from "../api.js";
import { eventOf } from "../change.js";
import { historyOf } from "../history.js";
import { STORED, complaint, mayLack, recognise, templateOf } from "../model.js";
import { COMPARED_MAX, createOf, deleteOf, updateOf } from "../requests.js";
import { amend, go } from "../router.js";
import { KeyValue } from "../rows.js";
import { TYPES, TYPE_NAMES, count, differences, editable, parse, plainItem, shown, typeOf, when } from "../values.js";
import { Changed, Preview } from "./preview.js";
import { Confirm, EntityChip, Failure, Json, Loading, html, say, useAction, useAsked, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";

const written = () => window.dispatchEvent(new Event("trestle-written"));

export function ItemDrawer({ table, known, address }) {
  const { item: text, tab, open, ...rest } = address.query;
  const close = () => go(["items", table.TableName], rest);
  const ref = useRef();
  // A layout effect, so that the drawer has the focus before it is painted and gets every key that is pressed afterwards.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    ref.current.focus();
    return () => opener?.focus?.();
  }, []);
  const keys = (event) => event.key === "Escape" && !document.querySelector("dialog[open]") && close();
  return html`<section class="drawer stack" ref=${ref} tabindex="-1" role="dialog" aria-label=${text === "new" ? "New item" : "Item"} onKeyDown=${keys}>
    ${text === "new" ? !may.write ? html`<${NoNewItem} close=${close} />` : html`<${NewItem} table=${table} known=${known} close=${close} />` : html`<${KnownItem} table=${table} known=${known} address=${address} close=${close} />`}
  </section>`;
}

const Top = ({ title, close, children }) => html`<div class="bar"><h2>${title}</h2>${children}<span class="grow"></span><button type="button" class="plain" aria-label="Close" onClick=${close}>✕</button></div>`;

function keyFrom(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const TABS = ["edit", "json", "history"];

function KnownItem({ table, known, address, close }) {
  const { item: text } = address.query;
  const key = keyFrom(text);
  const asked = useAsked(async () => {
    if (!key) throw new Error("The link does not have a whole key.");
    const { Item } = await dynamodb("GetItem", { TableName: table.TableName, Key: key, ConsistentRead: true });
    return { item: Item };
  }, [text]);
  const tab = TABS.includes(address.query.tab) ? address.query.tab : TABS[0];
  const setTab = (id) => go(["items", table.TableName], { ...address.query, tab: id === TABS[0] ? "" : id }, true);
  if (asked.error) return html`<${Top} title="Item" close=${close} /><${Failure} error=${asked.error} />`;
  if (!asked.value) return html`<${Top} title="Item" close=${close} /><${Loading} what="the item" />`;
  const { item } = asked.value;
  if (!item) return html`<${Top} title="Item" close=${close} /><div class="empty"><h2>The item does not exist</h2><p>It was deleted, or the link belongs to another table.</p></div><${History} table=${table} itemKey=${key} />`;
  const entity = recognise(known, item);
  return html`<${Top} title="Item" close=${close}><${EntityChip} entity=${entity?.name} colour=${entity && known.colours.get(entity.name)} /><//>
    <p>${Object.entries(key).map(([name, value]) => html`<span class="quiet">${name}</span> <${KeyValue} entity=${entity} attribute=${name} value=${value} /> `)}</p>
    ${entity?.of && html`<p class="quiet">The database writes this row: it is derived from rows of ${entity.of}.</p>`}
    <div class="tabs" role="tablist" aria-label="Item">${[["edit", may.write ? "Edit" : "Attributes"], ["json", "JSON"], ["history", "History"]].map(([id, label]) => html`<button type="button" role="tab" class=${tab === id ? "" : "plain"} aria-selected=${tab === id} onClick=${() => setTab(id)}>${label}</button>`)}</div>
    ${tab === "edit" && html`<${Editor} key=${JSON.stringify(item)} table=${table} known=${known} read=${item} reload=${asked.reload} close=${close} open=${address.query.open} />`}
    ${tab === "json" && html`<${Json} value=${plainItem(item)} label="Item as plain JSON" /><details><summary>DynamoDB JSON</summary><${Json} value=${item} label="Item as DynamoDB JSON" /></details>`}
    ${tab === "history" && html`<${History} table=${table} itemKey=${key} />`}`;
}

// ---- the form

const line = (name, value) => ({ name, type: value ? typeOf(value) : "S", text: value ? editable(value) : "" });

/** The item of the lines, and the problem of each line. */
function readLines(lines, entity) {
  const item = {};
  const wrong = {};
  for (const { name, type, text, absent } of lines) {
    if (absent || !name) continue;
    try {
      item[name] = parse(type, text);
    } catch (error) {
      wrong[name] = error.message;
    }
  }
  for (const attribute of entity?.attributes ?? []) {
    const said = !wrong[attribute.name] && complaint(attribute, item[attribute.name]);
    if (said) wrong[attribute.name] = said;
  }
  return { item, wrong };
}

function Lines({ lines, setLines, entity, fixed, wrong, derived }) {
  const change = (i, members) => setLines(lines.map((one, at) => (at === i ? { ...one, ...members } : one)));
  return html`<div class="attributes">${lines.map((one, i) => {
    const attribute = entity?.attributes.find((known) => known.name === one.name);
    const isFixed = fixed.has(one.name);
    const isDerived = derived.has(one.name);
    const id = `attribute-${i}`;
    const label = `Value of ${one.name || "the new attribute"}`;
    const problem = wrong[one.name];
    const common = { id, "aria-label": label, "aria-invalid": Boolean(problem), "aria-describedby": problem ? `${id}-error` : undefined, disabled: isFixed || isDerived || !may.write };
    return html`<div class="attribute" key=${i}>
      <div class="name">${one.added ? html`<input aria-label="Name of the new attribute" value=${one.name} spellcheck=${false} onInput=${(event) => change(i, { name: event.target.value })} />`
        : html`<label for=${id}>${one.name}</label>${isFixed && !isDerived ? html` <span class="quiet">fixed</span>` : ""}${isDerived ? html` <span class="quiet">derived</span>` : ""}`}</div>
      <select aria-label=${`Type of ${one.name || "the new attribute"}`} value=${one.type} disabled=${common.disabled || (attribute && attribute.kind !== "any")} onChange=${(event) => change(i, { type: event.target.value, text: event.target.value === "BOOL" ? "true" : one.text, absent: false })}>${TYPES.map((type) => html`<option value=${type}>${TYPE_NAMES[type]}</option>`)}</select>
      <div class="value">
        ${attribute?.one_of && !common.disabled ? html`<select ...${common} value=${one.absent ? "" : one.text} onChange=${(event) => change(i, { text: event.target.value, absent: event.target.value === "" })}><option value="">absent</option>${attribute.one_of.map((value) => html`<option value=${shown(value)}>${shown(value)}</option>`)}</select>`
          : one.type === "BOOL" ? html`<select ...${common} value=${one.absent ? "" : one.text} onChange=${(event) => change(i, { text: event.target.value, absent: event.target.value === "" })}><option value="">absent</option><option value="true">true</option><option value="false">false</option></select>`
            : one.type === "NULL" ? html`<span class="quiet">null</span>`
              : html`<textarea ...${common} rows=${Math.min(14, Math.max(1, one.text.split("\n").length))} spellcheck=${false} value=${one.text} placeholder=${one.absent ? "absent" : ""} onInput=${(event) => change(i, { text: event.target.value, absent: false })}></textarea>`}
        ${problem && html`<small class="wrong" id=${`${id}-error`}>${one.name} ${problem}</small>`}
      </div>
      ${!common.disabled && may.write && !one.absent ? html`<button type="button" class="small plain" aria-label=${`Remove ${one.name}`} onClick=${() => (one.added ? setLines(lines.filter((_, at) => at !== i)) : change(i, { absent: true, text: "" }))}>✕</button>` : html`<span></span>`}
    </div>`;
  })}</div>`;
}

const keyNames = (table) => table.KeySchema.map((key) => key.AttributeName);

/** Keys that the database derives from other attributes. */
function derivedKeys(table, entity) {
  const names = table.AttributeDefinitions.map((one) => one.AttributeName);
  return new Set(names.filter((name) => templateOf(entity, name) && templateOf(entity, name) !== `{${name}}`));
}

function Editor({ table, known, read, reload, close, open }) {
  const entity = recognise(known, read);
  const derived = derivedKeys(table, entity);
  const optional = entity?.attributes.filter((attribute) => !read[attribute.name]) ?? [];
  const asRead = () => [
    ...Object.keys(read).filter((name) => !derived.has(name)).sort().map((name) => line(name, read[name])),
    ...optional.map((attribute) => ({ name: attribute.name, type: STORED[attribute.kind], text: "", absent: true })),
    ...Object.keys(read).filter((name) => derived.has(name)).sort().map((name) => line(name, read[name])),
  ];
  const [lines, setLines] = useState(asRead);
  const setOpen = (what) => amend({ open: what });
  const action = useAction();
  const fixed = new Set([...keyNames(table), known?.table.entity_attribute, ...(entity?.identity ?? []), ...(entity?.attributes.filter((one) => one.immutable && read[one.name]).map((one) => one.name) ?? [])]);
  const { item, wrong } = readLines(lines, entity);
  const changes = differences(read, item);
  const isLarge = Object.keys(read).length > COMPARED_MAX;
  const conflict = action.error?.code === "ConditionalCheckFailedException";
  const save = () => action.run(async () => {
    await dynamodb("UpdateItem", updateOf(table, read, changes));
    say("Saved");
    written();
    await reload();
  });
  const remove = async () => {
    await dynamodb("DeleteItem", deleteOf(table, read));
    say("Deleted");
    written();
    close();
  };
  return html`<${Lines} lines=${lines} setLines=${setLines} entity=${entity} fixed=${fixed} derived=${derived} wrong=${wrong} />
    ${may.write && html`<div class="bar"><button type="button" class="small" onClick=${() => setLines([...lines, { ...line(""), added: true }])}>Add an attribute</button></div>`}
    ${changes.length > 0 && !Object.keys(wrong).length && html`<${Preview} write=${{ operation: "UpdateItem", request: updateOf(table, read, changes) }} changes=${changes} />`}
    <${Failure} error=${action.error} />
    ${conflict && html`<div class="card"><p>The item was changed since it was read, so nothing was written.</p>${action.error.Item && html`<${Changed} changes=${differences(read, action.error.Item)} />`}<button type="button" onClick=${() => reload()}>Read it again</button></div>`}
    ${may.write && html`<div class="bar">
      <button type="button" class="primary" disabled=${!changes.length || Object.keys(wrong).length > 0 || action.busy} onClick=${save}>Save</button>
      <button type="button" disabled=${!changes.length} onClick=${() => setLines(asRead())}>Undo</button><span class="grow"></span>
      <button type="button" class="danger" onClick=${() => setOpen("delete")}>Delete</button></div>
      <p class="quiet">Written only if ${isLarge ? `the attributes that you change are as they were read: the item has more than ${COMPARED_MAX}` : "no attribute was changed or removed since the item was read"}.</p>`}
    ${open === "delete" && may.write && html`<${Confirm} title="Delete this item" action="Delete" danger onDone=${remove} onClose=${() => setOpen()}><p>It is deleted only if ${isLarge ? `${COMPARED_MAX} of its attributes are` : "every attribute is"} as it was read. This cannot be undone.</p><${Preview} write=${{ operation: "DeleteItem", request: deleteOf(table, read) }} changes=${differences(read)} /><//>`}`;
}

const NoNewItem = ({ close }) => html`<${Top} title="New item" close=${close} /><div class="empty"><h2>This console is read-only for you</h2><p>${session.readOnly ? "The server was started with --console read-only." : `The access key ${session.accessKey} has the role ${session.role}.`}</p></div>`;

function NewItem({ table, known, close }) {
  const writable = known?.entities.filter((entity) => !entity.of) ?? [];
  const [name, setName] = useState(writable[0]?.name ?? "");
  const entity = writable.find((one) => one.name === name);
  const begin = (of) => (of
    ? of.attributes.map((attribute) => ({ name: attribute.name, type: STORED[attribute.kind], text: attribute.default ? editable(attribute.default) : attribute.kind === "boolean" ? "true" : "", absent: mayLack(attribute) }))
    : table.KeySchema.map((key) => ({ name: key.AttributeName, type: table.AttributeDefinitions.find((one) => one.AttributeName === key.AttributeName).AttributeType, text: "" })));
  const [lines, setLines] = useState(() => begin(entity));
  const action = useAction();
  const { item, wrong } = readLines(lines, entity);
  const tag = known?.table.entity_attribute;
  const request = createOf(table, entity && tag ? { ...item, [tag]: { S: entity.tag } } : item);
  const save = () => action.run(async () => {
    await dynamodb("PutItem", request);
    say("Written");
    written();
    close();
  });
  return html`<${Top} title="New item" close=${close} />
    ${writable.length > 0 && html`<div class="field"><label for="new-entity">Entity</label><select id="new-entity" value=${name} onChange=${(event) => { setName(event.target.value); setLines(begin(writable.find((one) => one.name === event.target.value))); }}>${writable.map((one) => html`<option value=${one.name}>${one.name}</option>`)}${(known.table.open) && html`<option value="">no entity</option>`}</select>${entity?.about && html`<small>${entity.about}</small>`}</div>`}
    ${entity && html`<p class="quiet">Keys are derived: ${entity.key.map((key) => html`<code>${key.attribute} = ${key.template}</code> `)}</p>`}
    <${Lines} lines=${lines} setLines=${setLines} entity=${entity} fixed=${new Set()} derived=${new Set()} wrong=${wrong} />
    <div class="bar"><button type="button" class="small" onClick=${() => setLines([...lines, { ...line(""), added: true }])}>Add an attribute</button></div>
    ${!Object.keys(wrong).length && html`<${Preview} write=${{ operation: "PutItem", request }} changes=${differences({}, item)} />`}
    <${Failure} error=${action.error} />
    <div class="bar"><button type="button" class="primary" disabled=${Object.keys(wrong).length > 0 || action.busy} onClick=${save}>Write</button><span class="quiet">Written only if there is no item of this key.</span></div>`;
}

// ---- history

function History({ table, itemKey }) {
  const [state, setState] = useState();
  const stop = useRef(false);
  const end = () => { stop.current = true; };
  useEffect(() => end, []);
  if (!table.LatestStreamArn) return html`<p class="quiet">Table ${table.TableName} has no stream, so there is no log of changes.</p>`;
  const begin = async () => {
    stop.current = false;
    setState({ busy: true, read: 0 });
    try {
      const records = await historyOf(table, itemKey, (read) => setState({ busy: true, read }), () => stop.current);
      setState({ records, isStopped: stop.current });
    } catch (error) {
      setState({ error });
    }
  };
  if (!state) return html`<div class="empty"><h2>Changes of this item</h2><p>Reads the whole change log of the table, within the retention of its stream.</p><button type="button" class="primary" onClick=${begin}>Read the log</button></div>`;
  if (state.error) return html`<${Failure} error=${state.error} />`;
  if (state.busy) return html`<p role="status">${count(state.read)} records read …</p><button type="button" onClick=${end}>Stop</button>`;
  const stopped = state.isStopped && html`<p role="status">Stopped: there may be more changes. <button type="button" onClick=${begin}>Read the whole log</button></p>`;
  if (!state.records.length) return stopped || html`<p>The log has no record of this item: it did not change within the retention of the stream.</p>`;
  return html`${stopped}<ol class="letters" reversed>${state.records.map((record) => html`<li class="card"><header><strong>${eventOf(record)}</strong><span class="quiet">${when(record.dynamodb.ApproximateCreationDateTime * 1000)}</span></header><${Changed} changes=${differences(record.dynamodb.OldImage, record.dynamodb.NewImage)} /></li>`)}</ol>`;
}
