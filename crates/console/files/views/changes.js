// The live changes of a table, filtered by entity, event and attribute. The view can be paused. At a high rate, it shows a sample and
// labels it as one.
import { Component } from "../libraries/preact.js";
import { describeTable, destination, failed, may, modelDescriptions, tableNames } from "../api.js";
import { fits, isFilter } from "../change.js";
import { tableModel } from "../model.js";
import { go, link } from "../router.js";
import { KeyValue } from "../rows.js";
import { count, shown } from "../values.js";
import { noAnswer } from "../wire.js";
import { Chip, Empty, EntityChip, Failure, Loading, Tabs, html, useAsked, useEffect, useRef, useRetry, useState } from "../ui.js";
import { Changed } from "./preview.js";
import { TryPattern } from "./pattern.js";

/** The maximum number of rows that are shown. */
const SHOWN_MAX = 100;

export function Changes({ address }) {
  const [name] = address.parts;
  const tables = useAsked(async () => {
    const names = (await tableNames()).filter((one) => !one.startsWith("_trestle"));
    const all = await Promise.all(names.slice(0, 200).map((one) => describeTable(one)));
    return all.filter((table) => table.LatestStreamArn && table.StreamSpecification?.StreamEnabled);
  }, []);
  useEffect(() => {
    if (!name && tables.value?.length) go(["changes", tables.value[0].TableName], {}, true);
  }, [name, tables.value]);
  if (tables.error) return html`<h1>Changes</h1><${Failure} error=${tables.error} />`;
  if (!tables.value) return html`<${Loading} what="tables" />`;
  if (!tables.value.length) return html`<h1>Changes</h1><${Empty} title="No table has a stream"><p>Give a table one: <code>stream = "new-and-old-images"</code> in its model, or <code>StreamSpecification</code> with any AWS SDK.</p><//>`;
  const table = tables.value.find((one) => one.TableName === name);
  const { tab = "live" } = address.query;
  return html`<div class="stack"><div class="bar"><h1>Changes</h1><label class="sr" for="changes-table">Table</label><select id="changes-table" value=${name} onChange=${(event) => go(["changes", event.target.value])}>${tables.value.map((one) => html`<option value=${one.TableName}>${one.TableName}</option>`)}</select></div>
    ${table && may.administer && html`<${Tabs} label="Changes" current=${tab} tabs=${[{ id: "live", label: "Live", href: link(["changes", name]) }, { id: "pattern", label: "Try a pattern", href: link(["changes", name], { tab: "pattern" }) }]} />`}
    ${table ? tab === "pattern" && may.administer ? html`<${TryPattern} key=${name} table=${table} address=${address} />` : html`<${Live} key=${name} table=${table} address=${address} />` : name && html`<p class="quiet">Table ${name} has no stream.</p>`}</div>`;
}

/** The only script that may run as a worker. */
const workers = window.trustedTypes?.createPolicy("trestle-follow", { createScriptURL: () => new URL("../follow.js", import.meta.url).href });
const startFollowing = () => new Worker(workers ? workers.createScriptURL("") : new URL("../follow.js", import.meta.url), { type: "module" });

const NOTHING = { rows: [], total: 0, fit: 0, rate: 0, left: 0 };

/** Follows a table: the newest changes to show, the number of all changes, of those that match the filter, and of those left out. */
function useLive({ table, known, from, filter, isPaused }) {
  const [live, setLive] = useState(NOTHING);
  const worker = useRef();
  const turn = useRef(0);
  const id = JSON.stringify(filter);
  // If the log was read from its beginning, a new filter reads it from there again.
  const beginning = from === "LATEST" ? "" : id;
  // If the server does not respond, the script of the worker cannot be loaded either.
  const [broken, setBroken] = useState();
  useRetry(broken, () => setBroken());
  useEffect(() => {
    if (broken) return undefined;
    setLive(NOTHING);
    const follower = startFollowing();
    worker.current = follower;
    follower.onmessage = ({ data: { turn: of, changes, count: number, fit, left, rate, error, lost } }) => {
      if (error) failed(error);
      if (of !== turn.current) return;
      const rows = changes.map((change) => ({ ...change, entity: known?.entities.find((one) => one.name === change.entity) }));
      setLive((before) => ({ rows: rows.length ? [...rows.reverse(), ...before.rows].slice(0, SHOWN_MAX) : before.rows, total: before.total + number, fit: before.fit + fit, rate, left: left || (fit ? 0 : before.left), error, lost }));
    };
    follower.onerror = () => {
      const error = noAnswer(destination());
      failed(error);
      setBroken(error);
    };
    follower.postMessage({ begin: { to: destination(), table: table.TableName, from, known, hidden: derivedOf(table, known) }, isPaused, filter, turn: turn.current });
    return () => follower.terminate();
  }, [table.TableName, from, beginning, Boolean(broken)]);
  useEffect(() => {
    turn.current += 1;
    worker.current.postMessage({ isPaused, filter, turn: turn.current });
    setLive((before) => ({ ...NOTHING, rows: before.rows.filter((row) => fits({ ...row, entity: row.entity?.name }, filter)), lost: before.lost }));
  }, [id]);
  useEffect(() => worker.current.postMessage({ isPaused, filter, turn: turn.current }), [isPaused]);
  const error = broken ?? live.error;
  // After an error, the worker continues where it was. If its script could not be loaded, a new worker is started.
  return { ...live, error: error && { code: error.code, message: error.message, isAskedAgain: true } };
}

/** Attributes without information of their own: keys, which are shown separately, and derived attributes. */
const derivedOf = (table, known) => [...table.KeySchema.map((key) => key.AttributeName), known?.table.entity_attribute, ...(known?.entities ?? []).flatMap((one) => one.index_keys.filter((key) => key.template !== `{${key.attribute}}`).map((key) => key.attribute))];

function Live({ table, address }) {
  const models = useAsked(modelDescriptions, []);
  if (models.loading) return html`<${Loading} what="models" />`;
  return html`<${Failure} error=${models.error} /><${Following} table=${table} address=${address} models=${models.value ?? []} />`;
}

function Following({ table, address, models }) {
  const { current: known } = useRef(tableModel(models, table.TableName));
  const [open, setOpen] = useState();
  const { entity = "", event = "", attribute = "", from = "LATEST" } = address.query;
  const paused = Boolean(address.query.paused);
  const filter = { entity, event, attribute };
  const live = useLive({ table, known, from, filter, isPaused: paused });
  const change = (members) => go(["changes", table.TableName], { ...address.query, ...members }, true);
  return html`<div class="form">
      <div class="field"><label for="change-entity">Entity</label><select id="change-entity" value=${entity} onChange=${(event) => change({ entity: event.target.value })}><option value="">any</option>${known?.entities.map((one) => html`<option value=${one.name}>${one.name}</option>`)}</select></div>
      <div class="field"><label for="change-event">Event</label><select id="change-event" value=${event} onChange=${(event) => change({ event: event.target.value })}><option value="">any</option>${["insert", "modify", "remove", "expire"].map((one) => html`<option value=${one}>${one}</option>`)}</select></div>
      <div class="field"><label for="change-attribute">Changed attribute</label><input id="change-attribute" value=${attribute} placeholder="any" spellcheck=${false} onInput=${(event) => change({ attribute: event.target.value })} /></div>
      <div class="field"><label for="change-from">Begin</label><select id="change-from" value=${from} onChange=${(event) => change({ from: event.target.value === "LATEST" ? "" : event.target.value })}><option value="LATEST">now</option><option value="TRIM_HORIZON">with the oldest in the log</option></select></div>
      <button type="button" class="primary" aria-pressed=${paused} onClick=${() => change({ paused: paused ? "" : "1" })}>${paused ? "Resume" : "Pause"}</button>
    </div>
    <${Counted} live=${live} paused=${paused} isFiltered=${isFilter(filter)} />
    <${Failure} error=${live.error} />${live.lost && html`<p class="wrong" role="alert">Changes are missing here. ${live.lost}</p>`}
    ${live.rows.length ? html`<div class="rows changes" tabindex="0" role="region" aria-label="Changes"><table><thead><tr><th scope="col">Time</th><th scope="col">Event</th><th scope="col">Entity</th><th scope="col">Key</th><th scope="col">Changed</th></tr></thead>
      <tbody>${live.rows.map((row) => html`<${ChangeRow} key=${row.id} row=${row} known=${known} tableName=${table.TableName} isOpen=${open === row.id} onToggle=${setOpen} />`)}</tbody></table></div>`
      : html`<${Empty} title=${paused ? "Paused" : "Waiting for changes"}><p>${paused || live.fit ? "Changes that come while the view is paused are counted and not shown." : live.total ? "None of those that came fits the filter." : `Each write to the table${isFilter(filter) ? " that fits the filter" : ""} appears here within a second.`}</p><//>`}`;
}

function Counted({ live, paused, isFiltered }) {
  return html`<p role="status" class="quiet">${paused ? "Paused. " : ""}${count(live.total)} changes since ${isFiltered ? "the filter was set" : "this view was opened"}, ${count(Math.round(live.rate))} in a second.${isFiltered ? ` ${count(live.fit)} fit the filter.` : ""}${live.left ? html` <${Chip} kind="warn">a sample is shown<//> ${count(live.left)} of the last moment${isFiltered ? " that fit the filter" : ""} are left out.` : ""}</p>`;
}

/** A row is drawn only once, because with thousands of changes per second most rows only move down. */
class ChangeRow extends Component {
  shouldComponentUpdate(next) {
    return next.row !== this.props.row || next.isOpen !== this.props.isOpen || next.known !== this.props.known;
  }

  render({ row, known, tableName, isOpen, onToggle }) {
    const colour = row.entity && known?.colours.get(row.entity.name);
    return html`<tr class=${`row ${row.entity ? `c${colour}` : ""}`} onClick=${(event) => !event.target.closest("a, button") && onToggle(isOpen ? undefined : row.id)}><td class="first">${new Date(row.at).toLocaleTimeString()}</td><td><${Chip} kind=${{ insert: "good", remove: "bad", expire: "bad" }[row.event] ?? ""}>${row.event}<//></td><td><${EntityChip} entity=${row.entity?.name} colour=${colour} /></td>
      <td><a class="quietlink" href=${link(["items", tableName], { item: JSON.stringify(row.keys) })}>${Object.entries(row.keys).map(([name, value]) => html`<${KeyValue} entity=${row.entity} attribute=${name} value=${value} /> `)}</a></td>
      <td class="cell"><button type="button" class="link" aria-expanded=${isOpen} onClick=${() => onToggle(isOpen ? undefined : row.id)}>all</button> ${row.changes.slice(0, 4).map((one) => `${one.name}: ${shown(one.before).slice(0, 20) || "–"} → ${shown(one.after).slice(0, 20) || "–"}`).join("; ")}</td></tr>
      ${isOpen && html`<tr><td colspan="5"><${Changed} changes=${row.changes} /></td></tr>`}`;
  }
}
