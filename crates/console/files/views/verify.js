// Verify: an audit of all data that models derive, while the server runs; and how to verify the files.
import { administer, may } from "../api.js";
import { link } from "../router.js";
import { count, duration } from "../values.js";
import { Empty, Failure, html, isLost, useAction, useEffect, useRetry, useState } from "../ui.js";
import { Audited, disagreements } from "./audit.js";

/** The time since an action began. */
function Elapsed({ since }) {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTurn((turn) => turn + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<span role="status">Reading every row of every model, for ${duration(Date.now() - since)} …</span>`;
}

function Result({ report }) {
  if (!report.models.length) return html`<${Empty} title="No model is applied"><p>Nothing is derived, so there is nothing to audit.</p><//>`;
  const wrong = disagreements(report);
  return html`<p class=${wrong ? "failure" : "done"} role="status">${wrong ? `Derived facts that disagree with the rows that they follow from: ${count(wrong)}.` : "Everything that could be checked agrees."}</p>
    ${report.models.map((one) => html`<h3><a href=${link(["models", one.model])}>${one.model}</a></h3><${Audited} audited=${one} />
      ${may.change && one.left_total > 0 && html`<p><a href=${link(["models", one.model], { open: "repair" })}>Repair ${one.model}</a></p>`}`)}`;
}

export function Verify({ endpoint }) {
  const audit = useAction({ isRead: true });
  const [since, setSince] = useState();
  const begin = () => {
    setSince(Date.now());
    audit.run(() => administer("repair-models", { dry_run: true }));
  };
  useRetry(isLost(audit.error) ? audit.error : undefined, begin);
  return html`<section class="card stack" aria-label="Audit"><header><h2>What models derive</h2></header>
      <p>Each key, head, inverse, counter, unique value, entry and copy is compared with the rows that it follows from. Rows are read and not changed; the server says nothing until it has read them all.</p>
      ${may.change ? html`<div class="bar"><button type="button" class="primary" disabled=${audit.busy} onClick=${begin}>Audit all models</button>${audit.busy && html`<${Elapsed} since=${since} />`}</div>` : html`<p class="quiet">The console is read-only: use <code>trestle model repair --dry-run</code>.</p>`}
      <${Failure} error=${audit.error} />${audit.done && html`<${Result} report=${audit.done} />`}</section>
    ${!endpoint && html`<section class="card" aria-label="Files"><header><h2>Files and storage</h2></header>
      <p>Checksums of files, indexes, expiry, change records and counts are verified on the command line, because no process may have the data directory open:</p>
      <ul class="findings"><li>when the server is stopped: <code>trestle verify DIR</code></li><li>while it runs: take a <a href="#/server">backup</a>, then <code>trestle restore --from FILE --data ./restored</code>, which verifies what it restored</li></ul></section>`}`;
}
