// The address is the state of a view: `#/items/orders?index=by-day&hash=2026`. Every view can be shared as a link.

export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { view: parts[0] ?? "overview", parts: parts.slice(1), query: Object.fromEntries(new URLSearchParams(query)) };
}

export function link(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  const text = new URLSearchParams(given).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export function go(parts, query, replace = false) {
  const to = link(parts, query);
  if (to === location.hash) return;
  if (replace) {
    history.replaceState(null, "", to);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = to;
  }
}

/** Changes members of the present address, such as which dialog is open, without a new entry in the browser's history. */
export function amend(members) {
  const { view, parts, query } = here();
  go([view, ...parts], { ...query, ...members }, true);
}
