// Small components and hooks that all views use.
import { h } from "./libraries/preact.js";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "./libraries/hooks.js";
import htm from "./libraries/htm.js";
import { connection, onReturn } from "./api.js";

export const html = htm.bind(h);
export { useCallback, useEffect, useLayoutEffect, useRef, useState };

export const isLost = (error) => error?.code === "Unreachable";

/** The time after which a request that the server could not answer is repeated. */
const RETRY_MS = 5000;

/** Repeats a failed request: once the server responds again if there was no response, after RETRY_MS if it answered with an error. */
export function useRetry(error, again) {
  if (error) error.isAskedAgain = true;
  const latest = useRef();
  latest.current = { error, again };
  useEffect(() => onReturn(() => isLost(latest.current.error) && latest.current.again()), []);
  useEffect(() => {
    // The server may respond again before the error is drawn.
    const isBack = isLost(error) && !connection.lost;
    if (!isBack && !(error?.status >= 500)) return undefined;
    const timer = setTimeout(() => latest.current.again(), isBack ? 0 : RETRY_MS);
    return () => clearTimeout(timer);
  }, [error]);
}

/** Sends a request when the view is shown, when a dependency changes, and every `everyMs`. A failed request is repeated. */
export function useAsked(ask, dependencies = [], everyMs) {
  const [state, setState] = useState({ loading: true });
  const asked = useRef(0);
  const open = useRef(0);
  const reload = useCallback(async () => {
    asked.current += 1;
    const turn = asked.current;
    open.current = turn;
    try {
      const value = await ask();
      if (turn === asked.current) setState({ value });
    } catch (error) {
      if (turn === asked.current) setState((before) => ({ value: before.value, error }));
    } finally {
      if (turn === open.current) open.current = 0;
    }
  }, dependencies);
  useEffect(() => {
    setState((before) => ({ ...before, loading: true, error: undefined }));
    reload();
    // Not while a request is open: if it were repeated, a response that takes longer than the interval would never be shown.
    const timer = everyMs && setInterval(() => document.visibilityState === "visible" && !open.current && reload(), everyMs);
    return () => {
      asked.current += 1;
      clearInterval(timer);
    };
  }, dependencies);
  useRetry(state.error, reload);
  return { ...state, reload };
}

const NOT_KNOWN = "It is not known whether the request was carried out: look before you repeat it.";
/** An error of an action of the user, which is not repeated automatically. */
export const ofAction = (error) => Object.assign(error, { isOfAction: true });

/** An error with the server's message and findings. */
export function Failure({ error }) {
  if (!error) return null;
  if (isLost(error)) return html`<div class="failure" role="alert"><strong>No answer</strong><p>${error.message} ${error.isOfAction ? NOT_KNOWN : error.isAskedAgain ? "The console tries again until the server is back." : ""}</p></div>`;
  const report = error.report ?? (error.problems && { problems: error.problems });
  return html`<div class="failure" role="alert">
    <strong>${error.code && error.code !== "Error" ? error.code : "Not done"}</strong>
    ${!error.problems?.length && html`<p>${error.message}</p>`}
    ${error.CancellationReasons && html`<ul>${error.CancellationReasons.filter((reason) => reason.Code !== "None").map((reason) => html`<li>${reason.Code}: ${reason.Message}</li>`)}</ul>`}
    ${report && html`<${Findings} report=${report} />`}
  </div>`;
}

/** Parses a problem of a file, which the server writes as `12:3: error: …`. */
export function problemOf(text) {
  const [, line, severity, message] = /^(\d+):\d+: (error|warning): ([^]*)$/.exec(text) ?? [];
  return line ? { line: Number(line), severity, message } : { severity: "error", message: text };
}

/** Problems of a file, and the obstacles or rows that prevent an action. */
export function Findings({ report }) {
  const { problems = [], obstacles = [], rows = [], hindrances = [] } = report;
  const misfits = rows.flatMap((table) => table.misfits?.map((misfit) => ({ ...misfit, table: table.table })) ?? []);
  return html`<ul class="findings">
    ${problems.map(problemOf).map((problem) => html`<li class=${problem.severity}>${problem.line ? html`<b>line ${problem.line}</b>: ` : ""}${problem.message}</li>`)}
    ${obstacles.map((one) => html`<li>${one.table}: ${one.what} is ${one.there}, and the model wants ${one.wanted}. ${one.way_out}</li>`)}
    ${misfits.map((one) => html`<li>${one.table}: ${one.rows} rows: ${one.reason}, such as ${one.example}</li>`)}
    ${hindrances.map((one) => html`<li>${one.entity}: ${one.message}. ${one.help}</li>`)}
  </ul>`;
}

export const Loading = ({ what = "" }) => html`<p class="quiet" role="status">Loading ${what} …</p>`;

/** The message of an empty view: the reason, and the next step. */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

export const Chip = ({ kind = "", children }) => html`<span class=${`chip ${kind}`}>${children}</span>`;

export const EntityChip = ({ entity, colour }) =>
  (entity ? html`<span class=${`chip entity e${colour ?? 0}`}>${entity}</span>` : html`<span class="chip">no entity</span>`);

export function Field({ label, hint, error, children, id }) {
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children}
    ${hint && html`<small id=${`${id}-hint`}>${hint}</small>`}
    ${error && html`<small class="wrong" id=${`${id}-error`} role="alert">${error}</small>`}
  </div>`;
}

let dialogs = 0;
/** A native dialog of the browser: it keeps the focus, and Escape closes it. */
export function Dialog({ title, onClose, children, wide }) {
  const ref = useRef();
  const isShown = useRef(true);
  const [id] = useState(() => `dialog-${(dialogs += 1)}`);
  // A layout effect, so that the dialog has the focus before it is painted and gets every key that is pressed afterwards.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    ref.current.showModal();
    return () => {
      isShown.current = false;
      opener?.focus?.();
    };
  }, []);
  // The browser reports the end of a dialog later, when the dialog may have been removed, or opened again.
  const ended = () => isShown.current && onClose();
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-labelledby=${id} onClose=${ended}
      onClick=${(event) => event.target === ref.current && ref.current.close()}>
    <div class="dialog">
      <header><h2 id=${id}>${title}</h2><button type="button" class="plain" aria-label="Close" onClick=${() => ref.current.close()}>✕</button></header>
      ${children}
    </div>
  </dialog>`;
}

/** Asks for confirmation of an action that cannot be undone. */
export function Confirm({ title, children, action = "Confirm", danger, onDone, onClose }) {
  const [state, setState] = useState({});
  const act = async () => {
    setState({ busy: true });
    try {
      await onDone();
      onClose();
    } catch (error) {
      setState({ error: ofAction(error) });
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <div class="dialog-body">${children}<${Failure} error=${state.error} /></div>
    <footer><button type="button" onClick=${onClose}>Cancel</button>
      <button type="button" class=${danger ? "danger" : "primary"} disabled=${state.busy} onClick=${act}>${state.busy ? "Working …" : action}</button></footer>
  <//>`;
}

/**
 * An action and its result. Only the result of the latest one is shown, and none after it was cleared. `isRead`: the action changes
 * nothing, so it may be repeated.
 */
export function useAction({ isRead } = {}) {
  const [state, setState] = useState({});
  const turn = useRef(0);
  const begin = (next) => {
    turn.current += 1;
    setState(next);
    return turn.current;
  };
  const run = async (act) => {
    const mine = begin({ busy: true });
    const end = (how) => mine === turn.current && setState(how);
    try {
      const done = await act();
      end({ done });
      return done;
    } catch (error) {
      end({ error: isRead ? error : ofAction(error) });
      return undefined;
    }
  };
  return { ...state, run, clear: () => begin({}) };
}

/** Tabs of a view, as links: each has an address. */
export const Tabs = ({ label, tabs, current }) => html`<nav class="tabs" aria-label=${label}>
  ${tabs.map((tab) => html`<a href=${tab.href} aria-current=${tab.id === current ? "page" : undefined}>${tab.label}${tab.count !== undefined ? html` <span class="count">${tab.count}</span>` : ""}</a>`)}
</nav>`;

export const Json = ({ value, label }) => html`<pre class="code" tabindex="0" aria-label=${label}>${JSON.stringify(value, null, 2)}</pre>`;

/** Offers bytes as a file. */
export function download(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const anchor = Object.assign(document.createElement("a"), { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Announces a message to a screen reader, and shows it for a moment. */
export function say(text) {
  window.dispatchEvent(new CustomEvent("trestle-say", { detail: text }));
}
