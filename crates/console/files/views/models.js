// Models: the graph, entities and access patterns; the file with its errors marked; comparing and applying it; auditing and repairing rows.
import { administer, forgetModels, may, modelDescriptions, tableNames } from "../api.js";
import { Editor, lineDifferences } from "../editor.js";
import { amend, go, link } from "../router.js";
import { bytes, count } from "../values.js";
import { Confirm, Dialog, Empty, EntityChip, Failure, Findings, Loading, Tabs, html, isLost, problemOf, say, useAction, useAsked, useEffect, useRetry, useState } from "../ui.js";
import { Audited, disagreements } from "./audit.js";

const TEMPLATE = `model = "shop"
about = "Customers and their orders, in one table."

[table.shop]
key = ["pk", "sk"]
entity_attribute = "entity"
stream = "new-and-old-images"

[entity.customer]
table = "shop"
key = { pk = "customer#{customerId}", sk = "customer" }
attributes = { customerId = "string", name = "string" }

[entity.order]
table = "shop"
key = { pk = "customer#{customerId}", sk = "order#{orderedAt}" }
attributes = { customerId = "string", orderedAt = "timestamp", total = "integer" }

[access.customer_with_orders]
query = "shop"
where = { customerId = "{customerId}" }
returns = ["customer", "order"]
`;

export function Models({ address }) {
  const [name] = address.parts;
  const asked = useAsked(() => modelDescriptions(true), []);
  if (asked.error) return html`<h1>Models</h1><${Failure} error=${asked.error} />`;
  if (!asked.value) return html`<${Loading} what="models" />`;
  if (name === "new") return html`<${NewModel} address=${address} models=${asked.value} onApplied=${asked.reload} />`;
  const model = asked.value.find((one) => one.name === name);
  if (name && !model && !asked.loading) return html`<h1>Models</h1><${Empty} title=${`There is no model ${name}`}><p><a href="#/models">All models</a></p><//>`;
  if (model) return html`<${OneModel} key=${name} model=${model} address=${address} onApplied=${asked.reload} />`;
  return html`<div class="stack"><div class="bar"><h1>Models</h1><span class="grow"></span>${may.change && html`<a class="button" href="#/models/new">New model</a>`}</div>
    ${asked.value.length ? asked.value.map((one) => html`<section class="card"><header><h2><a href=${link(["models", one.name])}>${one.name}</a></h2><span class="quiet">${one.tables.map((table) => table.table).join(", ")}</span></header>
        ${one.about && html`<p>${one.about}</p>`}<p class="quiet">${count(one.entities.length)} entities, ${count(one.access.length)} access patterns</p></section>`)
      : html`<${Empty} title="No model yet"><p>A model says what the rows are: entities, key templates, effects and access patterns. The database enforces it.</p>
        <p>${may.change ? html`<a class="button" href="#/models/new">Write one</a> ` : ""}or let the server propose one from a table's rows: choose the table there.</p><//>`}</div>`;
}

/** A new model: from the template, or as the server infers it from the rows of a table. */
function NewModel({ address, models, onApplied }) {
  const { table = "" } = address.query;
  const tables = useAsked(tableNames, []);
  const modelled = new Set(models.flatMap((one) => one.tables.map((known) => known.table)));
  const inferred = useAsked(async () => (table ? administer("infer-model", { table }) : undefined), [table]);
  const proposal = inferred.loading || inferred.error ? undefined : inferred.value;
  return html`<div class="stack"><div class="bar"><h1>New model</h1></div>
    <div class="form"><div class="field"><label for="infer-table">Infer from the rows of a table</label><select id="infer-table" value=${table} onChange=${(event) => go(["models", "new"], { table: event.target.value })}>
      <option value="">no table: begin with an example</option>${(tables.value ?? []).filter((one) => !one.startsWith("_trestle")).map((one) => html`<option value=${one}>${one}${modelled.has(one) ? " (has a model)" : ""}</option>`)}</select></div></div>
    <${Failure} error=${inferred.error ?? tables.error} />
    ${table && !proposal && !inferred.error && html`<${Loading} what=${`rows of ${table}`} />`}
    ${proposal && html`<section class="card" aria-label="What was found"><p role="status">${count(proposal.rows)} rows read${proposal.complete ? "" : ", which are not all"}. A proposal: the comments say what each line rests on.</p>
      ${proposal.notes.length > 0 && html`<ul class="findings">${proposal.notes.map((note) => html`<li>${note}</li>`)}</ul>`}</section>`}
    ${(!table || proposal) && html`<${ModelFile} key=${table} text=${proposal?.text ?? TEMPLATE} before="" onApplied=${async (name) => { await onApplied(); go(["models", name]); }} />`}</div>`;
}

function OneModel({ model, address, onApplied }) {
  const tab = address.query.tab ?? "graph";
  const to = (id, label, number) => ({ id, label, count: number, href: link(["models", model.name], id === "graph" ? {} : { tab: id }) });
  const colour = (entity) => model.entities.filter((one) => one.role === "declared").findIndex((one) => one.name === (entity.of ?? entity.name)) % 8;
  return html`<div class="stack"><div class="bar"><h1>Model ${model.name}</h1><span class="grow"></span>${may.change && html`<${ModelActions} model=${model} open=${address.query.open} onApplied=${onApplied} />`}</div>
    ${model.about && html`<p>${model.about}</p>`}
    <${Tabs} label="Model" current=${tab} tabs=${[to("graph", "Graph"), to("entities", "Entities", model.entities.length), to("access", "Access patterns", model.access.length), ...(may.administer ? [to("file", "File")] : [])]} />
    ${tab === "graph" && html`<${Graph} model=${model} colour=${colour} />`}
    ${tab === "entities" && html`<${Entities} model=${model} colour=${colour} />`}
    ${tab === "access" && html`<${Patterns} model=${model} />`}
    ${tab === "file" && html`<${StoredFile} model=${model} onApplied=${onApplied} />`}</div>`;
}

// ---- the graph

const WIDTH = 230;
const LINE = 16;

/** Entities that clients write in the first column, entities derived from them in the next, indexes in the last. */
function Graph({ model, colour }) {
  const declared = model.entities.filter((entity) => !entity.of);
  const following = model.entities.filter((entity) => entity.of);
  const indexes = model.tables.flatMap((table) => table.indexes.map((index) => ({ ...index, table: table.table })));
  const nodes = new Map();
  const place = (list, x, id, lines) => {
    let y = 20;
    for (const one of list) {
      const texts = lines(one);
      const height = 26 + texts.length * LINE;
      // A derived entity is beside the entity from which it is derived, if there is room.
      y = Math.max(y, nodes.get(one.of)?.y ?? 0);
      nodes.set(id(one), { x, y, height, one, texts });
      y += height + 18;
    }
    return y;
  };
  const columns = [20, 20 + WIDTH + 120, ...(following.length ? [20 + 2 * (WIDTH + 120)] : [])];
  const heights = [
    place(declared, columns[0], (entity) => entity.name, (entity) => entity.key.map((key) => `${key.attribute} = ${key.template}`)),
    following.length ? place(following, columns[1], (entity) => entity.name, (entity) => entity.key.map((key) => `${key.attribute} = ${key.template}`)) : 0,
    place(indexes, columns.at(-1), (index) => `index ${index.table} ${index.name}`, (index) => [[...index.key.hash, ...index.key.range].join(", ")]),
  ];
  const edges = [];
  for (const entity of model.entities) {
    for (const effect of entity.effects) if (nodes.has(effect.entity)) edges.push({ from: entity.name, to: effect.entity, label: effect.name ? `${effect.kind} ${effect.name}` : effect.kind });
  }
  for (const entity of declared) {
    for (const index of indexes) {
      if (index.table === entity.table && index.key.hash.every((name) => entity.index_keys.some((key) => key.attribute === name) || entity.attributes.some((attribute) => attribute.name === name))) edges.push({ from: entity.name, to: `index ${index.table} ${index.name}`, label: "", faint: true });
    }
  }
  const width = Math.max(...columns) + WIDTH + 30;
  const height = Math.max(...heights, 120);
  const cut = (text, most = 34) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  return html`<div class="graph" tabindex="0" role="region" aria-label="Graph of the model"><svg width=${width} height=${height} role="img" aria-label=${`Model ${model.name}: ${declared.map((entity) => entity.name).join(", ")}`}>
    ${edges.map((edge) => {
      const [a, b] = [nodes.get(edge.from), nodes.get(edge.to)];
      const same = a.x === b.x;
      const [x1, y1] = [a.x + WIDTH, a.y + a.height / 2];
      const [x2, y2] = [same ? b.x + WIDTH : b.x, b.y + b.height / 2];
      const bend = same ? 60 : (x2 - x1) / 2;
      return html`<g><path class="edge" opacity=${edge.faint ? 0.35 : 1} stroke-dasharray=${edge.faint ? "3 3" : undefined} d=${`M${x1} ${y1} C${x1 + bend} ${y1} ${same ? x2 + bend : x2 - bend} ${y2} ${x2} ${y2}`} />
        ${edge.label && html`<text class="small" x=${same ? x1 + 48 : (x1 + x2) / 2} y=${(y1 + y2) / 2 + (same ? 4 : -4)} text-anchor=${same ? "start" : "middle"}>${edge.label}</text>`}</g>`;
    })}
    ${[...nodes.entries()].map(([id, node]) => {
      const isIndex = id.startsWith("index ");
      return html`<g><rect class=${`node ${isIndex ? "index" : `g${Math.max(0, colour(node.one))}`}`} fill=${isIndex ? "none" : undefined} stroke=${isIndex ? "currentColor" : undefined} x=${node.x} y=${node.y} width=${WIDTH} height=${node.height} rx="7" />
        <text class="head" x=${node.x + 10} y=${node.y + 19}>${cut(isIndex ? node.one.name : id, 27)}</text>
        ${node.texts.map((text, i) => html`<text class="small" x=${node.x + 10} y=${node.y + 35 + i * LINE}>${cut(text)}</text>`)}</g>`;
    })}
  </svg></div>
  <p class="quiet">Left: entities that clients write. ${following.length ? "Middle: rows that the database writes. " : ""}Right: indexes. A line says what follows from a write; <a href=${link(["models", model.name], { tab: "entities" })}>Entities</a> lists the same as text.</p>`;
}

function Entities({ model, colour }) {
  return html`${model.entities.map((entity) => html`<section class="card"><header><h2><${EntityChip} entity=${entity.name} colour=${Math.max(0, colour(entity))} /></h2><span class="quiet">${entity.role === "declared" ? entity.table : `${entity.role} of ${entity.of}`}</span></header>
    ${entity.about && html`<p>${entity.about}</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label=${`Entity ${entity.name}`}><table><thead><tr><th scope="col">Key</th><th scope="col">Template</th></tr></thead><tbody>${[...entity.key, ...entity.index_keys].map((key) => html`<tr><th scope="row">${key.attribute}</th><td><code>${key.template}</code></td></tr>`)}</tbody></table>
    <table><thead><tr><th scope="col">Attribute</th><th scope="col">Type</th><th scope="col">Rules</th></tr></thead><tbody>${entity.attributes.map((one) => html`<tr><th scope="row">${one.name}</th><td>${one.kind}</td><td class="quiet">${[one.optional && "optional", one.immutable && "immutable", one.default && "has a default", one.time && `the time at which the row was ${one.time}`, one.one_of && `one of ${one.one_of.map((value) => Object.values(value)[0]).join(", ")}`, one.length && `${one.length[0]} to ${one.length[1]} characters`, one.chars && `characters ${one.chars}`].filter(Boolean).join("; ")}</td></tr>`)}</tbody></table></div>
    ${entity.effects.length > 0 && html`<${Effects} effects=${entity.effects} />`}</section>`)}`;
}

const EFFECTS = {
  head: (effect) => `${effect.attributes.length ? `the newest row by ${effect.attributes.join(", ")}` : "the row that another row names"} is kept as ${effect.entity}`,
  inverse: (effect) => `the other direction of the relation is kept in rows of ${effect.entity}`,
  counter: (effect) => `is counted in ${effect.attributes.join(", ")} of ${effect.entity}`,
  unique: (effect) => `${effect.attributes.join(", ")} is unique, by rows of ${effect.entity}`,
  copy: (effect) => `has ${effect.attributes.join(", ")} copied from ${effect.entity}`,
  entries: (effect) => `each member of ${effect.attributes.join(", ")} has a row of ${effect.entity}`,
  history: (effect) => `earlier values${effect.attributes.length ? ` of ${effect.attributes.join(", ")}` : ""} are kept as ${effect.entity}`,
};

/** The effects of a write in words, because the graph only draws them. */
const Effects = ({ effects }) => html`<h3>What follows from a write</h3><ul class="findings">${effects.map((effect) => html`<li><b>${effect.kind}${effect.name ? ` ${effect.name}` : ""}</b>: ${EFFECTS[effect.kind](effect)}</li>`)}</ul>`;

function Patterns({ model }) {
  if (!model.access.length) return html`<${Empty} title="No access pattern"><p>Add <code>[access.name]</code> to the file: each is one Get or one Query, and becomes a form here.</p><//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Access patterns"><table><thead><tr><th scope="col">Pattern</th><th scope="col">Operation</th><th scope="col">Index</th><th scope="col">Returns</th><th scope="col" class="number">Cost of a page</th></tr></thead>
    <tbody>${model.access.map((one) => html`<tr><th scope="row"><a href=${link(["items", one.table], { mode: "access", access: one.name })}>${one.name}</a>${one.about && html`<br /><span class="quiet">${one.about}</span>`}</th><td>${one.operation}</td><td>${one.index ?? one.table}</td><td>${one.returns.join(", ")}</td><td class="number">${one.cost.read_units} RCU, ${bytes(one.cost.row_bytes)} a row</td></tr>`)}</tbody></table></div>`;
}

// ---- the file

function StoredFile({ model, onApplied }) {
  const asked = useAsked(() => administer("read-model", { name: model.name }), [model.name]);
  if (asked.error) return html`<${Failure} error=${asked.error} />`;
  if (!asked.value) return html`<${Loading} what="the file" />`;
  return html`<${ModelFile} key=${asked.value.text} text=${asked.value.text} before=${asked.value.text} onApplied=${async () => { await onApplied(); await asked.reload(); }} />`;
}

function Applied({ report }) {
  return html`<div class="done" role="status"><strong>${report.outcome}</strong>${report.version ? `, version ${report.version}` : ""}
    <ul class="findings">${report.steps?.map((step) => html`<li>${typeof step === "string" ? step : Object.entries(step).map(([key, value]) => `${key}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ")}</li>`)}${report.notes?.map((note) => html`<li>${note}</li>`)}
    ${report.rows?.map((rows) => html`<li>${rows.table}: ${count(rows.looked_at)} rows checked, ${count(rows.to_fill_in)} to fill in, ${count(rows.to_move)} to move</li>`)}</ul><${Findings} report=${report} /></div>`;
}

/** The options for applying a model. */
const CHOICES = [["fill", "fill in what existing rows lack"], ["delete_indexes", "delete indexes that the model does not have"], ["adopt", "the rows were copied from a database with this model"]];

function ModelFile({ text: given, before, onApplied }) {
  const [text, setText] = useState(given);
  const [choices, setChoices] = useState({ fill: false, delete_indexes: false, adopt: false });
  const checked = useAction({ isRead: true });
  const applied = useAction();
  const check = () => may.administer && may.change && text.trim() && checked.run(() => administer("apply-model", { text, dry_run: true, ...choices }));
  // While the user types, the server parses the file and returns its errors.
  useEffect(() => {
    const timer = setTimeout(check, 600);
    return () => clearTimeout(timer);
  }, [text, choices]);
  useRetry(checked.error, check);
  const problems = (checked.error?.problems ?? []).map(problemOf);
  const changed = lineDifferences(before, text);
  const apply = () => applied.run(async () => {
    const report = await administer("apply-model", { text, ...choices });
    forgetModels();
    say(`Model ${report.model}: ${report.outcome}`);
    await onApplied(report.model);
    return report;
  });
  return html`<div class="stack">
    <${Editor} id="model-file" label="Model file" text=${text} onChange=${setText} problems=${problems} disabled=${!may.change} />
    ${checked.error && html`<${Failure} error=${checked.error} />`}
    ${checked.done && html`<details><summary>The file is sound: ${checked.done.outcome}</summary><${Applied} report=${checked.done} /></details>`}
    ${changed.some((line) => line.kind !== "same") && before && html`<section><h3>Compared with the applied model</h3><div class="diff" tabindex="0" role="region" aria-label="Differences">${changed.filter((line, i, all) => line.kind !== "same" || all.slice(Math.max(0, i - 2), i + 3).some((near) => near.kind !== "same")).map((line) => html`<div class=${`diff-${line.kind}`}>${line.text}</div>`)}</div></section>`}
    ${may.change && html`<div class="bar"><button type="button" class="primary" disabled=${applied.busy || problems.some((problem) => problem.severity !== "warning") || !text.trim()} onClick=${apply}>${applied.busy ? "Applying …" : "Apply"}</button>
      ${CHOICES.map(([name, label]) => html`<label class="check"><input type="checkbox" checked=${choices[name]} onChange=${(event) => setChoices({ ...choices, [name]: event.target.checked })} />${label}</label>`)}
      <span class="quiet">Other keys for existing rows are a <a href="#/migrations">migration</a>.</span></div>`}
    <${Failure} error=${applied.error} />${applied.done && html`<${Applied} report=${applied.done} />`}
  </div>`;
}

// ---- repair and removal

function ModelActions({ model, open, onApplied }) {
  // The address contains the open dialog, so that a link opens it.
  const setOpen = (what) => amend({ open: what });
  return html`<button type="button" onClick=${() => setOpen("repair")}>Audit and repair</button><button type="button" class="danger" onClick=${() => setOpen("remove")}>Remove</button>
    ${open === "repair" && html`<${Repair} model=${model} onClose=${() => setOpen()} />`}
    ${open === "remove" && html`<${Confirm} title=${`Remove model ${model.name}`} action="Remove" danger onClose=${() => setOpen()} onDone=${async () => { await administer("remove-model", { name: model.name }); forgetModels(); go(["models"]); await onApplied(); }}><p>Tables and rows stay. Nothing is enforced there afterwards.</p><//>`}`;
}

function Repair({ model, onClose }) {
  const audit = useAction({ isRead: true });
  const repair = useAction();
  const look = () => audit.run(() => administer("repair-models", { name: model.name, dry_run: true }));
  useEffect(() => { look(); }, []);
  useRetry(isLost(audit.error) ? audit.error : undefined, look);
  const report = repair.done ?? audit.done;
  const wrong = report && disagreements(report);
  return html`<${Dialog} title=${`Audit of ${model.name}`} onClose=${onClose} wide><div class="dialog-body">
    ${(audit.busy || repair.busy) && html`<p role="status">Checking every row …</p>`}
    <${Failure} error=${audit.error ?? repair.error} />
    ${report?.models.map((one) => html`<${Audited} audited=${one} />`)}</div>
    <footer><button type="button" onClick=${onClose}>Close</button>${wrong > 0 && !repair.done && html`<button type="button" class="primary" disabled=${repair.busy} onClick=${() => repair.run(() => administer("repair-models", { name: model.name }))}>Repair</button>`}</footer><//>`;
}
