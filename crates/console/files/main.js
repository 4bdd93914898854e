// The frame around the views: login, navigation, themes, keys, the palette, and the message when the server does not respond.
import { render } from "./libraries/preact.js";
import { connection, greet, logIn, logOut, may, session, watch } from "./api.js";
import { amend, here, link } from "./router.js";
import { isBookmarked, read, toggleBookmark, write } from "./kept.js";
import { Login } from "./login.js";
import { Palette } from "./palette.js";
import { Dialog, html, say, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";
import { Overview } from "./views/overview.js";
import { Items } from "./views/items.js";
import { Models } from "./views/models.js";
import { Changes } from "./views/changes.js";
import { Routes } from "./views/routes.js";
import { Queues } from "./views/queues.js";
import { Migrations } from "./views/migrations.js";
import { Reindexes } from "./views/reindexes.js";
import { Metrics } from "./views/metrics.js";
import { Server } from "./views/server.js";

/** Each view: its name, its key after `g`, and the permission that it needs. */
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
  { id: "server", label: "Server", key: "s", part: Server, administration: true },
];

const SHORTCUTS = [
  ["Ctrl K", "Command palette: any view, anything that has a name, actions, bookmarks and earlier queries"],
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

/** Whether a field is in a dialog that was just closed: it has the focus until the browser draws again. */
const isGone = (field) => Boolean(field.closest("dialog:not([open])"));
const isTyping = ({ target }) => (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable) && !isGone(target);

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

const Help = ({ onClose }) => html`<${Dialog} title="Keys" onClose=${onClose}><table><tbody>
  ${SHORTCUTS.map(([keys, what]) => html`<tr><th scope="row">${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</th><td>${what}</td></tr>`)}
</tbody></table><//>`;

function useAddress() {
  const [address, setAddress] = useState(here);
  useLayoutEffect(() => {
    const changed = () => setAddress(here());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return address;
}

/** The time between requests to a server that does not respond; and between checks of one that has sent nothing for some time. */
const ASK_MS = 1500;
const QUIET_MS = 4000;

function useHeartbeat() {
  const isAsking = useRef(false);
  useEffect(() => {
    const timer = setInterval(async () => {
      const isDue = connection.lost || (document.visibilityState === "visible" && Date.now() - connection.at > QUIET_MS);
      if (!isDue || isAsking.current) return;
      isAsking.current = true;
      await greet().catch(() => {});
      isAsking.current = false;
    }, ASK_MS);
    return () => clearInterval(timer);
  }, []);
}

const retry = () => greet().catch(() => {});

const Away = () => html`No answer from ${location.host}. The console tries again until the server is back. <button type="button" class="small" onClick=${retry}>Try again now</button>`;

/** The actions of the palette for the present view. */
function actionsHere({ address, theme, turnTheme, bookmark, help }) {
  const isPaused = Boolean(address.query.paused);
  const isLive = address.view === "changes" && address.parts.length > 0 && (address.query.tab ?? "live") === "live";
  return [
    ...(isLive ? [{ label: isPaused ? "Resume live changes" : "Pause live changes", act: () => amend({ paused: isPaused ? "" : "1" }) }] : []),
    { label: theme === "dark" ? "Light theme" : "Dark theme", act: turnTheme },
    { label: isBookmarked(location.hash || "#/overview") ? "Remove the bookmark of this view" : "Bookmark this view", act: bookmark },
    { label: "List of keyboard shortcuts", act: help },
    ...(session.accessKey ? [{ label: `Log out ${session.accessKey}`, act: logOut }] : []),
  ];
}

function App() {
  const [, setTurn] = useState(0);
  // A layout effect, so that it runs before a response can arrive: other effects run only after the browser draws, which may be late.
  useLayoutEffect(() => watch(() => setTurn((turn) => turn + 1)), []);
  const address = useAddress();
  const [open, setOpen] = useState();
  // A dialog reports its end a moment later, when another one may be open already.
  const close = (what) => setOpen((now) => (now === what ? undefined : now));
  const [toast, setToast] = useState("");
  const [theme, turnTheme] = useTheme();
  useHeartbeat();
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
  const help = () => setOpen("help");
  useKeys({ palette: () => setOpen("palette"), help, bookmark, theme: turnTheme });
  if (!session.ready) {
    if (connection.lost) return html`<main class="login"><h1>No answer</h1><p role="status"><${Away} /></p></main>`;
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
          <button type="button" class="small" onClick=${help}>Keys</button>
          ${session.accessKey && html`<button type="button" class="small" onClick=${logOut}>Log out ${session.accessKey}</button>`}
          <span class="version">${session.readOnly ? "Read-only. " : ""}${session.accessKey ? `Role ${session.role}. ` : ""}Version ${session.version}</span>
        </div>
      </nav>
      <div>
        ${connection.lost && html`<div class="banner" role="status"><${Away} /></div>`}
        <main class="main" id="main" tabindex="-1">
          ${allowed ? html`<${view.part} key=${view.id} address=${address} bookmark=${bookmark} />`
            : html`<div class="empty"><h1>${view.label}</h1><p>The access key ${session.accessKey} has the role ${session.role}. This view needs the role administration.</p></div>`}
        </main>
      </div>
    </div>
    ${open === "palette" && html`<${Palette} views=${seen} actions=${actionsHere({ address, theme, turnTheme, bookmark, help })} onClose=${() => close("palette")} />`}
    ${open === "help" && html`<${Help} onClose=${() => close("help")} />`}
    <div class=${toast ? "toast" : "sr"} role="status" aria-live="polite">${toast}</div>
  </div>`;
}

document.documentElement.dataset.theme = themeOf();

/** `trestle console` prints a link with a key for this run. The key is used once and then removed from the address. */
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
