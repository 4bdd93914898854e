// The command palette: all views, everything that has a name, and the actions of the present view.
import { administer, everyPage, may, modelDescriptions, queueName, queueUrls, tableNames } from "./api.js";
import { bookmarks, lastAsked } from "./kept.js";
import { link } from "./router.js";
import { Dialog, html, useEffect, useState } from "./ui.js";

const SHOWN_MAX = 100;

/** An entry that opens an address, where an action may begin. */
const to = (kind, label, parts, query) => ({ kind, label, href: link(parts, query) });
/** Actions that are offered only with a permission. */
const ifMay = (may, ...actions) => (may ? actions : []);

const ofTables = (names) => names.filter((name) => !name.startsWith("_trestle")).flatMap((name) => [
  to("table", `Items of ${name}`, ["items", name]), to("table", `Changes of ${name}`, ["changes", name]),
  ...ifMay(may.write, to("action", `New item in ${name}`, ["items", name], { item: "new" })),
]);

const ofModels = (models) => models.flatMap((model) => [
  to("model", `Model ${model.name}`, ["models", model.name]),
  ...ifMay(may.change, to("action", `Apply a new version of model ${model.name}`, ["models", model.name], { tab: "file" }), to("action", `Audit and repair model ${model.name}`, ["models", model.name], { open: "repair" })),
  ...model.access.map((pattern) => to("access pattern", `${pattern.name} of ${pattern.table}`, ["items", pattern.table], { mode: "access", access: pattern.name })),
]);

const ofQueues = (urls) => urls.map(queueName).flatMap((name) => [
  to("queue", `Queue ${name}`, ["queues", name]), ...ifMay(may.write, to("action", `Send a message to ${name}`, ["queues", name], { open: "send" })),
]);

const ofRoutes = ({ routes, gone = [] }) => [...routes, ...gone].map(({ route }) => to("route", `Route ${route}`, ["routes", route]));
const ofMigrations = ({ migrations }) => migrations.map(({ model }) => to("migration", `Migration of ${model}`, ["migrations", model]));
const ofReindexes = (all) => all.map(({ name }) => to("reindex", `Reindex ${name}`, ["reindexes", name]));

const reindexes = () => everyPage((after) => administer("list-reindexes", { limit: 1000, after }), (page) => page.reindexes, (page) => page.next);

/** The things that have names: the permission to see them, how they are requested, and the entries for each. */
const SOURCES = [
  { ask: tableNames, offer: ofTables },
  { ask: modelDescriptions, offer: ofModels },
  { ask: () => queueUrls(), offer: ofQueues },
  { ask: () => administer("list-routes"), offer: ofRoutes, administration: true },
  { ask: () => administer("list-migrations"), offer: ofMigrations, administration: true },
  { ask: reindexes, offer: ofReindexes, administration: true },
];

/** The things that have names, as far as the server has returned them. A kind that the server does not have is left out. */
function useNamed() {
  const [named, setNamed] = useState({});
  const sources = SOURCES.filter((source) => !source.administration || may.administer);
  useEffect(() => {
    let isOver = false;
    sources.forEach(({ ask, offer }, i) => ask().then(offer, () => []).then((offered) => !isOver && setNamed((before) => ({ ...before, [i]: offered }))));
    return () => { isOver = true; };
  }, []);
  return { places: sources.flatMap((_, i) => named[i] ?? []), isWhole: Object.keys(named).length === sources.length };
}

/** The entries that need no name. */
const general = () => [
  ...ifMay(may.change, to("action", "Apply a new model", ["models", "new"]), to("action", "Plan a migration", ["migrations"], { open: "plan" }), to("action", "Start a reindex", ["reindexes"], { open: "start" }), to("action", "Back up the database", ["server"])),
  ...ifMay(may.administer, to("view", "Route file", ["routes"], { tab: "file" })),
];

const marked = (kind) => (mark) => ({ kind, label: mark.title, href: mark.href });
const isAction = (one) => one.kind === "action";

/** `views`: those that the user may see. `actions`: the actions of the present view, each with `act`. */
export function Palette({ views, actions, onClose }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { places, isWhole } = useNamed();
  const all = [
    ...views.map((view) => to("view", view.label, [view.id])), ...actions.map((one) => ({ kind: "action", ...one })), ...general(), ...bookmarks().map(marked("bookmark")),
    ...places.filter((one) => !isAction(one)), ...places.filter(isAction), ...lastAsked().map(marked("earlier query")),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = all.filter((one) => words.every((word) => `${one.label} ${one.kind}`.toLowerCase().includes(word)));
  const found = fitting.slice(0, SHOWN_MAX);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => document.getElementById(`palette-${chosen}`)?.scrollIntoView({ block: "nearest" }), [chosen, text]);
  const take = (one) => {
    onClose();
    if (one?.act) one.act();
    else if (one) location.hash = one.href;
  };
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, chosen + step)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(found[chosen]);
    }
  };
  return html`<${Dialog} title="Command palette" onClose=${onClose}><div class="palette">
    <input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${found.length ? `palette-${chosen}` : undefined}
      aria-label="View, name or action" autofocus value=${text} onInput=${(event) => { setText(event.target.value); setAt(0); }} onKeyDown=${keys} />
    <ul id="palette-list" role="listbox" aria-label="Places and actions" aria-busy=${!isWhole}>${found.map((one, i) => html`<li id=${`palette-${i}`} role="option" aria-selected=${i === chosen} onClick=${() => take(one)}><span>${one.label}</span><span class="quiet">${one.kind}</span></li>`)}</ul>
    ${!found.length && html`<p class="quiet">No match.</p>`}
    ${fitting.length > found.length && html`<p class="quiet">${fitting.length - found.length} more: type a part of the name.</p>`}
  </div><//>`;
}
