// Tables whose writes are paused: for a moment while they are copied to another database, or until they are resumed.
import { administer, may } from "../api.js";
import { amend } from "../router.js";
import { when } from "../values.js";
import { Confirm, html, say } from "../ui.js";

/** How long writes to a table are paused, in words. */
export const pauseOf = ({ table, until_ms: until }) => (until
  ? `Writes to table ${table} are paused until ${when(until)}, while it is copied.`
  : `Writes to table ${table} are paused until you resume them: it was copied to another database.`);

/** The address contains the tables of the confirmation. */
const ask = (tables) => amend({ open: tables && "resume", tables: tables?.join(",") });

export function PausedTables({ tables, address, onResumed }) {
  if (!tables.length) return null;
  const all = tables.map((one) => one.table);
  const { open, tables: named = "" } = address.query;
  const chosen = open === "resume" && may.change ? named.split(",").filter((name) => all.includes(name)) : [];
  const resume = async () => {
    await administer("resume-writes", { tables: chosen });
    say(`Writes are resumed: ${chosen.join(", ")}`);
    await onResumed();
  };
  return html`<section class="card" aria-label="Paused tables"><header><h2>Tables whose writes are paused</h2>
      ${may.change && tables.length > 1 && html`<button type="button" onClick=${() => ask(all)}>Resume all</button>`}</header>
    <ul class="letters">${tables.map((one) => html`<li>${pauseOf(one)} ${may.change && html`<button type="button" class="small" aria-label=${`Resume writes to ${one.table}`} onClick=${() => ask([one.table])}>Resume</button>`}</li>`)}</ul>
    ${chosen.length > 0 && html`<${Confirm} title="Resume writes" action="Resume" onDone=${resume} onClose=${() => ask()}>
      <p>Clients can write ${chosen.join(", ")} here again. If another database has taken over, what they write here is not there.</p><//>`}</section>`;
}
