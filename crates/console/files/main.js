// The frame around the views: login, navigation, themes, keys, the palette, and what to say when the server is gone.
import { render } from "./libraries/preact.js";
import { connection, greet, logIn, logOut, may, session, tableNames, watch } from "./api.js";
import { here, link } from "./router.js";
import { bookmarks, isBookmarked, lastAsked, read, toggleBookmark, write } from "./kept.js";
import { Dialog, Failure, Field, html, say, useAction, useEffect, useRef, useState } from "./ui.js";
import { Overview } from "./views/overview.js";
import { Items } from "./views/items.js";
import { Models } from "./views/models.js";
import { Changes } from "./views/changes.js";
import { Routes } from "./views/routes.js";
import { Queues } from "./views/queues.js";
import { Migrations } from "./views/migrations.js";
import { Reindexes } from "./views/reindexes.js";
import { Metrics } from "./views/metrics.js";

/** Each view: its name, its key after `g`, and who may see it. */
const VIEWS = [
  { id: "overview", label: "Overview", key: "o", part: Overview },
  { id: "items", label: "Items", key: "i", part: Items },
  { id: "models", label: "Models", key: "m", part: Models },
  { id: "changes", label: "Changes", key: "c", part: Changes },
  { id: "routes", label: "Routes", key: "r", part: Routes, administration: true },
  { id: "queues", label: "Queues", key: "q", part: Queues },
  { id: "migrations", label: "Migrations", key: "g", part: Migrations, administration: true },
  { id: "reindexes", label: "Reindexes", key: "x", part: Reindexes, administration: true },
  { id: "metrics", label: "Metrics", key: "t", part: Metrics, administration: true },
];

const SHORTCUTS = [
  ["Ctrl K", "Command palette: any view, table, bookmark or earlier query"],
  ["?", "This list"],
  ["/", "The first field of the view"],
  ["b", "Bookmark this view, or remove the bookmark"],
  ["d", "Dark or light"],
  ...VIEWS.map((view) => [`g ${view.key}`, view.label]),
  ["Enter", "In rows: open the row"],
  ["Esc", "Close what is open"],
];

function themeOf() {
  return read("theme", undefined) ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function useTheme() {
  const [theme, setTheme] = useState(themeOf);
  useEffect(() => { document.documentElement.dataset.theme = theme; }, [theme]);
  return [theme, () => {
    const next = theme === "dark" ? "light" : "dark";
    write("theme", next);
    setTheme(next);
  }];
}

const isTyping = (event) => /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;

function useKeys(keys) {
  const waiting = useRef();
  useEffect(() => {
    const pressed = (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        keys.palette();
        return;
      }
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (waiting.current) {
        waiting.current = undefined;
        const view = VIEWS.find((view) => view.key === event.key);
        if (view) location.hash = link([view.id]);
        return;
      }
      const act = { g: () => { waiting.current = true; setTimeout(() => { waiting.current = undefined; }, 1200); }, "?": keys.help, b: keys.bookmark, d: keys.theme,
        "/": () => document.querySelector("main input, main select, main textarea")?.focus() }[event.key];
      if (act) {
        event.preventDefault();
        act();
      }
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  });
}

function Palette({ onClose }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [tables, setTables] = useState([]);
  useEffect(() => { tableNames().then(setTables, () => {}); }, []);
  const all = [
    ...VIEWS.map((view) => ({ label: view.label, kind: "view", href: link([view.id]) })),
    ...tables.map((name) => ({ label: `Items of ${name}`, kind: "table", href: link(["items", name]) })),
    ...bookmarks().map((mark) => ({ label: mark.title, kind: "bookmark", href: mark.href })),
    ...lastAsked().map((mark) => ({ label: mark.title, kind: "earlier query", href: mark.href })),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((one) => words.every((word) => one.label.toLowerCase().includes(word))).slice(0, 40);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => document.getElementById(`palette-${chosen}`)?.scrollIntoView({ block: "nearest" }), [chosen, text]);
  const take = (one) => {
    onClose();
    if (one) location.hash = one.href;
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
  return html`<${Dialog} title="Go to" onClose=${onClose}><div class="palette">
    <input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${found.length ? `palette-${chosen}` : undefined}
      aria-label="View, table or bookmark" autofocus value=${text} onInput=${(event) => { setText(event.target.value); setAt(0); }} onKeyDown=${keys} />
    <ul id="palette-list" role="listbox" aria-label="Places">${found.map((one, i) => html`<li id=${`palette-${i}`} role="option" aria-selected=${i === chosen} onClick=${() => take(one)}><span>${one.label}</span><span class="quiet">${one.kind}</span></li>`)}</ul>
    ${!found.length && html`<p class="quiet">No match.</p>`}
  </div><//>`;
}

const Help = ({ onClose }) => html`<${Dialog} title="Keys" onClose=${onClose}><table><tbody>
  ${SHORTCUTS.map(([keys, what]) => html`<tr><th scope="row">${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</th><td>${what}</td></tr>`)}
</tbody></table><//>`;

function Login() {
  const [key, setKey] = useState("");
  const [secret, setSecret] = useState("");
  const action = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const given = secret;
    setSecret("");
    await action.run(() => logIn(key.trim(), given));
  };
  return html`<main class="login stack">
    <h1>Log in to ${location.host}</h1>
    <p class="quiet">The secret signs this login here in the browser. It is neither sent nor kept.</p>
    <form onSubmit=${submit}>
      <${Field} id="login-key" label="Access key"><input id="login-key" autocomplete="username" required value=${key} onInput=${(event) => setKey(event.target.value)} /><//>
      <${Field} id="login-secret" label="Secret key"><input id="login-secret" type="password" autocomplete="current-password" required value=${secret} onInput=${(event) => setSecret(event.target.value)} /><//>
      <button class="primary" disabled=${action.busy}>${action.busy ? "Checking …" : "Log in"}</button>
      <${Failure} error=${action.error} />
    </form>
  </main>`;
}

function useAddress() {
  const [address, setAddress] = useState(here);
  useEffect(() => {
    const changed = () => setAddress(here());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return address;
}

/** Asks again until the server is back. */
function useReturn() {
  useEffect(() => {
    if (!connection.lost) return undefined;
    const timer = setInterval(() => greet().catch(() => {}), 1500);
    return () => clearInterval(timer);
  }, [connection.lost]);
}

function App() {
  const [, setTurn] = useState(0);
  useEffect(() => watch(() => setTurn((turn) => turn + 1)), []);
  const address = useAddress();
  const [open, setOpen] = useState();
  // A dialog tells of its end a moment later, when another may be open already.
  const close = (what) => setOpen((now) => (now === what ? undefined : now));
  const [toast, setToast] = useState("");
  const [theme, turnTheme] = useTheme();
  useReturn();
  useEffect(() => {
    let timer;
    const heard = ({ detail }) => {
      setToast(detail);
      clearTimeout(timer);
      timer = setTimeout(() => setToast(""), 4000);
    };
    window.addEventListener("trestle-say", heard);
    return () => window.removeEventListener("trestle-say", heard);
  }, []);
  const view = VIEWS.find((view) => view.id === address.view) ?? VIEWS[0];
  const title = [view.label, ...address.parts].join(" · ");
  useEffect(() => { document.title = `${title} – Trestle`; }, [title]);
  const bookmark = () => {
    toggleBookmark(location.hash || "#/overview", title);
    say(isBookmarked(location.hash || "#/overview") ? "Bookmarked" : "Bookmark removed");
  };
  useKeys({ palette: () => setOpen("palette"), help: () => setOpen("help"), bookmark, theme: turnTheme });
  if (!session.ready) {
    if (connection.lost) return html`<main class="login"><h1>No answer from ${location.host}</h1><p role="status">The console tries again until the server is back.</p></main>`;
    return session.login ? html`<${Login} />` : html`<p class="starting" role="status">Loading the console …</p>`;
  }
  const seen = VIEWS.filter((view) => !view.administration || may.administer);
  const allowed = seen.includes(view);
  return html`<div>
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>Skip to the view</a>
    <div class="frame">
      <nav class="side" aria-label="Views">
        <a class="brand" href="#/overview"><img src="icon.svg" alt="" /><span>Trestle</span></a>
        ${seen.map((one) => html`<a class="nav" href=${link([one.id])} aria-current=${one === view ? "page" : undefined}>${one.label}</a>`)}
        <div class="foot">
          <button type="button" class="small" onClick=${() => setOpen("palette")}>Go to <kbd>Ctrl K</kbd></button>
          <button type="button" class="small" aria-pressed=${theme === "dark"} onClick=${turnTheme}>Dark</button>
          <button type="button" class="small" onClick=${() => setOpen("help")}>Keys</button>
          ${session.accessKey && html`<button type="button" class="small" onClick=${logOut}>Log out ${session.accessKey}</button>`}
          <span class="version">${session.readOnly ? "Read-only. " : ""}${session.accessKey ? `Role ${session.role}. ` : ""}Version ${session.version}</span>
        </div>
      </nav>
      <div>
        ${connection.lost && html`<div class="banner" role="status">No answer from ${location.host}. The console tries again until the server is back.</div>`}
        <main class="main" id="main" tabindex="-1">
          ${allowed ? html`<${view.part} key=${view.id} address=${address} bookmark=${bookmark} />`
            : html`<div class="empty"><h1>${view.label}</h1><p>The access key ${session.accessKey} has the role ${session.role}. This view needs the role administration.</p></div>`}
        </main>
      </div>
    </div>
    ${open === "palette" && html`<${Palette} onClose=${() => close("palette")} />`}
    ${open === "help" && html`<${Help} onClose=${() => close("help")} />`}
    <div class=${toast ? "toast" : "sr"} role="status" aria-live="polite">${toast}</div>
  </div>`;
}

document.documentElement.dataset.theme = themeOf();

/** `trestle console` prints a link with a key that is made for this run; it is used once and leaves the address. */
async function begin() {
  const ticket = /^#ticket=([^:]+):(.+)$/.exec(location.hash);
  if (ticket) {
    history.replaceState(null, "", `${location.pathname}#/overview`);
    await greet();
    await logIn(ticket[1], ticket[2]);
  } else {
    await greet();
  }
}
render(html`<${App} />`, document.getElementById("app"));
begin().catch((error) => say(error.message));
