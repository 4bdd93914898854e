// A backup of the running server, written to a file of the user while the server sends it.
import { archive, base, isNoCall, may } from "../api.js";
import { WRITES_FILES, openFile } from "../exports.js";
import { read, write } from "../kept.js";
import { bytes, when } from "../values.js";
import { Failure, html, useAction, useEffect, useRef, useState } from "../ui.js";

/** The maximum size of a backup in browsers that offer a file only when it is complete, because they keep it in memory until then. */
const HELD_MAX = 1_000_000_000;
/** The number of this browser's backups that are remembered. */
const REMEMBERED_MAX = 20;
const DRAW_MS = 200;

const nameNow = () => `trestle-${new Date().toISOString().replace(/\.\d+/, "").replaceAll(":", "-")}.backup`;

/** Writes the archive to a file piece by piece. If the download fails or is stopped, the file is discarded. */
async function save(file, signal, onProgress) {
  const most = WRITES_FILES ? Infinity : HELD_MAX;
  let [size, drawn] = [0, 0];
  try {
    const reader = await archive(signal);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > most) {
        await reader.cancel();
        throw new Error(`The backup is larger than ${bytes(most)}, and this browser cannot write a file while it arrives. Use trestle backup.`);
      }
      await file.write(value);
      if (performance.now() - drawn > DRAW_MS) {
        drawn = performance.now();
        onProgress(size);
      }
    }
    await file.close();
    return size;
  } catch (error) {
    await file.abort();
    throw error instanceof TypeError ? new Error("The server ended the connection before the backup was complete. Nothing was kept; its log says why.") : error;
  }
}

const remembered = () => read("backups", []);

/** Takes a backup. If the browser lets users choose a file, they choose it first. */
function useBackup() {
  const action = useAction();
  const [size, setSize] = useState(0);
  const stopping = useRef();
  const stop = () => stopping.current?.abort();
  useEffect(() => stop, []);
  const begin = () => action.run(async () => {
    stopping.current = new AbortController();
    setSize(0);
    const name = nameNow();
    try {
      const file = await openFile(name, "application/octet-stream");
      const done = { name: file.name ?? name, bytes: await save(file, stopping.current.signal, setSize), at: Date.now() };
      write("backups", [done, ...remembered()].slice(0, REMEMBERED_MAX));
      return done;
    } catch (error) {
      if (error.name === "AbortError") return { isStopped: true };
      throw error;
    }
  });
  return { ...action, size, begin, stop };
}

export function Backup({ endpoint }) {
  const backup = useBackup();
  const list = remembered();
  const { done } = backup;
  if (endpoint) return html`<section class="card" aria-label="Backup"><h2>Back up</h2><p>A gateway has no data of its own. Back up <code>${endpoint}</code>: of a Trestle server with <code>trestle backup --endpoint ${endpoint} --to my.backup</code>, of another database with its own tools, or copy the tables with <code>trestle copy</code>.</p></section>`;
  return html`<section class="card stack" aria-label="Backup"><header><h2>Back up</h2></header>
      <p>The file has the database at one moment: each request completely or not at all. Clients read and write meanwhile. One backup runs at a time.</p>
      ${may.change ? html`<div class="bar"><button type="button" class="primary" disabled=${backup.busy} onClick=${backup.begin}>Back up now</button>${backup.busy && html`<button type="button" onClick=${backup.stop}>Stop</button><span role="status">${bytes(backup.size)} received …</span>`}</div>`
        : html`<p class="quiet">A backup has everything that the server stores, and the console is read-only: use <code>trestle backup</code>.</p>`}
      ${done?.isStopped && html`<p role="status">Stopped. Nothing was kept.</p>`}
      ${done?.name && html`<div class="done" role="status"><p>${done.name} is complete, ${bytes(done.bytes)}, ${WRITES_FILES ? "in the folder that you chose" : "among the downloads of this browser"}.</p><p>Restore it, which also verifies it: <code>trestle restore --from ${done.name} --data ./restored</code></p></div>`}
      <${Failure} error=${backup.error} />${backup.error && isNoCall(backup.error) && html`<p>Ask the server itself: <code>trestle backup --endpoint URL --to my.backup</code></p>`}</section>
    <section class="card" aria-label="Backups of this browser"><header><h2>Backups that this browser took</h2></header>
      ${list.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Backups"><table><thead><tr><th scope="col">File</th><th scope="col">Complete since</th><th scope="col" class="number">Size</th></tr></thead><tbody>${list.map((one) => html`<tr><th scope="row">${one.name}</th><td>${when(one.at)}</td><td class="number">${bytes(one.bytes)}</td></tr>`)}</tbody></table></div>` : html`<p class="quiet">None.</p>`}
      <p class="quiet">The server keeps no list: a backup is where its client stored it. To take them regularly, run <code>trestle backup --endpoint ${base.origin} --to FOLDER</code> from cron or a timer; each file is named after its time.</p></section>`;
}
