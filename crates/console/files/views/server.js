// The server itself: backups, audits, and the faults and the clock of tests.
import { administer, base, isNoCall, may, session } from "../api.js";
import { link } from "../router.js";
import { duration } from "../values.js";
import { Empty, Failure, Tabs, html, useAsked } from "../ui.js";
import { Backup } from "./backup.js";
import { Clock } from "./clock.js";
import { Faults } from "./faults.js";
import { Verify } from "./verify.js";

const TABS = [["backup", "Backup", Backup], ["verify", "Verify", Verify], ["faults", "Faults", Faults], ["clock", "Clock", Clock]];

/** Information that an endpoint may not have is requested only when its tab is opened. */
export function Server({ address }) {
  // Only the uptime is needed, so no samples are requested.
  const asked = useAsked(() => administer("read-metrics", { after: Math.floor(Date.now() / 1000) }), [], 10_000);
  const gateway = useAsked(() => administer("read-gateway"), []);
  const [current, , Part] = TABS.find(([id]) => id === address.query.tab) ?? TABS[0];
  const endpoint = gateway.value?.endpoint;
  if (asked.error && isNoCall(asked.error)) return html`<h1>Server</h1><${Empty} title="This endpoint has no administration"><p>${asked.error.message}</p><//>`;
  return html`<div class="stack"><div class="bar"><h1>Server</h1><span class="grow"></span><span class="quiet">Version ${session.version}${asked.value ? `, up for ${duration(asked.value.uptime_seconds * 1000)}` : ""}</span></div>
    <p>${base.host}${endpoint ? html`, a gateway: everything is stored at <code>${endpoint}</code>` : ""}. ${session.login ? "It has access keys." : "It has no access keys: every client may do everything."} ${may.change ? "" : "This console is read-only."}</p>
    <${Tabs} label="Server" current=${current} tabs=${TABS.map(([id, label], i) => ({ id, label, href: link(["server"], i ? { tab: id } : {}) }))} />
    <${Failure} error=${asked.error ?? gateway.error} />
    <${Part} key=${current} endpoint=${endpoint} /></div>`;
}
