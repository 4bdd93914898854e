// The clock of a server that was started with --virtual-clock: its time changes only when it is set.
import { administer, isNoCall, may } from "../api.js";
import { when } from "../values.js";
import { Empty, Failure, Field, Loading, html, say, useAction, useAsked, useState } from "../ui.js";

const EVERY_MS = 3000;
const STEPS = [["a minute", 60], ["an hour", 3600], ["a day", 86_400]];

export function Clock() {
  const asked = useAsked(() => administer("read-clock"), [], EVERY_MS);
  const moved = useAction();
  const [seconds, setSeconds] = useState("");
  const [time, setTime] = useState("");
  if (asked.error && isNoCall(asked.error)) return html`<${Empty} title="This server follows the real time"><p>${asked.error.message}.</p><p>A test server: <code>trestle serve --in-memory --port 8001 --virtual-clock</code></p><//>`;
  if (!asked.value) return asked.error ? html`<${Failure} error=${asked.error} />` : html`<${Loading} what="the clock" />`;
  const move = (how) => moved.run(async () => {
    const { now } = await administer("move-clock", how);
    say(`It is ${when(1000 * now)}`);
    await asked.reload();
  });
  const advance = (event) => {
    event.preventDefault();
    move({ advance_seconds: Number(seconds) });
  };
  const set = (event) => {
    event.preventDefault();
    move({ set: new Date(time).getTime() / 1000 });
  };
  return html`<section class="card stack" aria-label="Clock"><header><h2>Clock</h2></header>
    <div class="figures-row"><div class="figure"><b>${when(1000 * asked.value.now)}</b><span>is the time of the server</span></div></div>
    <p>It stands still until it is moved. What waits for a time, such as expiry, delayed messages and retries of routes, happens with the next move.</p>
    ${may.change && html`<div class="bar">${STEPS.map(([label, step]) => html`<button type="button" disabled=${moved.busy} onClick=${() => move({ advance_seconds: step })}>Advance ${label}</button>`)}</div>
      <form class="form" onSubmit=${advance}><${Field} id="clock-seconds" label="Seconds"><input id="clock-seconds" type="number" min="0" step="any" required value=${seconds} onInput=${(event) => setSeconds(event.target.value)} /><//><button disabled=${moved.busy}>Advance</button></form>
      <form class="form" onSubmit=${set}><${Field} id="clock-time" label="Date and time, in the time zone of this browser"><input id="clock-time" type="datetime-local" step="1" required value=${time} onInput=${(event) => setTime(event.target.value)} /><//><button disabled=${moved.busy}>Set</button></form>`}
    <${Failure} error=${moved.error ?? asked.error} /></section>`;
}
