// Rows, grouped by item collection, in the colours of their entities. Keys are shown as the attributes of which they consist.
import { keyParts, recognise, templateOf } from "./model.js";
import { shown } from "./values.js";
import { EntityChip, html } from "./ui.js";

export function KeyValue({ entity, attribute, value }) {
  if (value === undefined) return html`<span class="quiet">–</span>`;
  const parts = keyParts(templateOf(entity, attribute), value);
  return html`<span class="keyparts">${parts.map((part) => (part.field
    ? html`<span class="part"><span class="field-name">${part.field}</span>${part.value}</span>`
    : html`<span class="literal">${part.text}</span>`))}</span>`;
}

/** The attributes that rows have besides their keys, the most frequent first. */
export function columnsOf(items, table, known) {
  const hidden = new Set([...table.AttributeDefinitions.map((one) => one.AttributeName).filter((name) => isDerived(known, name, table)), known?.table.entity_attribute]);
  table.KeySchema.forEach((key) => hidden.add(key.AttributeName));
  const seen = new Map();
  for (const item of items) for (const name of Object.keys(item)) if (!hidden.has(name)) seen.set(name, (seen.get(name) ?? 0) + 1);
  return [...seen.entries()].sort((one, two) => two[1] - one[1]).map(([name]) => name);
}

/** Whether an index key consists of attributes that are already columns. */
function isDerived(known, name) {
  const templates = known?.entities.map((entity) => templateOf(entity, name)).filter(Boolean) ?? [];
  return templates.length > 0 && templates.every((template) => template !== `{${name}}`);
}

function groups(items, hashNames) {
  const found = [];
  for (const item of items) {
    const id = hashNames.map((name) => shown(item[name])).join("\u0000");
    const last = found.at(-1);
    if (last?.id === id) last.items.push(item);
    else found.push({ id, items: [item] });
  }
  return found;
}

/** `keys`: those of the table or index that was read. `onOpen(item)` opens a row; `onCollection(item)` shows its whole partition. */
export function Rows({ items, table, keys, known, columns, onOpen, onCollection, selected, idOf, onSelect, label }) {
  const width = columns.length + 2 + (onSelect ? 1 : 0);
  const hashNames = keys.hash.map((key) => key.name);
  return html`<div class="rows" tabindex="0" role="region" aria-label=${label ?? "Rows"}><table>
    <thead><tr>${onSelect && html`<th scope="col"><input type="checkbox" aria-label="Select all rows of this page" checked=${selected.size === items.length && items.length > 0} onChange=${(event) => onSelect(event.target.checked ? new Set(items.map(idOf)) : new Set())} /></th>`}
      <th scope="col">Entity</th><th scope="col">${keys.range.map((key) => key.name).join(", ") || hashNames.join(", ") || "Row"}</th>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    ${groups(items, hashNames).map((group) => {
      const entities = group.items.map((item) => recognise(known, item));
      return html`<tbody>
        ${keys.range.length > 0 && hashNames.length > 0 && html`<tr class="collection"><th scope="rowgroup" colspan=${width}>
          ${hashNames.map((name) => html`<span class="quiet">${name}</span> <${KeyValue} entity=${entities[0]} attribute=${name} value=${group.items[0][name]} /> `)}
          <span class="count">${group.items.length} ${group.items.length === 1 ? "row" : "rows"} here</span>
          ${onCollection && html` <button type="button" class="link" onClick=${() => onCollection(group.items[0])}>Show the collection</button>`}</th></tr>`}
        ${group.items.map((item, i) => {
          const entity = entities[i];
          const colour = entity && known.colours.get(entity.name);
          const range = keys.range.length ? keys.range : keys.hash;
          return html`<tr class=${`row ${entity ? `c${colour}` : ""}`} onClick=${(event) => !event.target.closest("button, input, a") && onOpen?.(item)}>
            ${onSelect && html`<td class="first"><input type="checkbox" aria-label="Select this row" checked=${selected.has(idOf(item))} onChange=${(event) => { const next = new Set(selected); if (event.target.checked) next.add(idOf(item)); else next.delete(idOf(item)); onSelect(next); }} /></td>`}
            <td class=${onSelect ? "" : "first"}><${EntityChip} entity=${entity?.name} colour=${colour} /></td>
            <td><button type="button" class="rowlink" onClick=${() => onOpen?.(item)}>${range.length ? range.map((key) => html`<${KeyValue} entity=${entity} attribute=${key.name} value=${item[key.name]} /> `) : "open"}</button></td>
            ${columns.map((name) => html`<td class="cell" title=${shown(item[name])}>${item[name] === undefined ? html`<span class="quiet" aria-label="absent">·</span>` : shown(item[name]).slice(0, 200)}</td>`)}
          </tr>`;
        })}
      </tbody>`;
    })}
  </table></div>`;
}
