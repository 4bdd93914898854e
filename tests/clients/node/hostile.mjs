// What a hostile page tries: every request in every way that a browser has to send one.
//
// `attack` runs inside a page, so it uses nothing of this module. It gives what the page could read: the way, the name of the
// request, the status where the page sees one, and the text.
export async function attack({ target, requests, pages }) {
  const PATIENCE = 1500;
  const read = [];
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const note = (way, name, status, text) => read.push({ way, name, status, text });

  /** Sends a request and reads what it can. A request that the browser refuses is nothing read. */
  async function send(way, { name, path, headers, body }, options) {
    try {
      const answer = await fetch(target + path, { method: "POST", headers, body, ...options });
      if (answer.type !== "opaque") note(way, name, answer.status, await answer.text());
    } catch {
      // Refused by the browser.
    }
  }

  async function byXhr({ name, path, headers, body }) {
    const request = new XMLHttpRequest();
    request.open("POST", target + path);
    for (const [header, value] of Object.entries(headers)) request.setRequestHeader(header, value);
    const ended = new Promise((done) => { request.onloadend = done; });
    request.send(body);
    await ended;
    if (request.status !== 0) note("XMLHttpRequest", name, request.status, request.responseText);
  }

  const frames = [];
  function frame() {
    const made = document.createElement("iframe");
    made.name = `frame${frames.length}`;
    document.body.append(made);
    frames.push(made);
    return made;
  }

  /** What a page sees of a frame: the whole document if it is of the page's own origin, otherwise nothing. */
  function look(way, name, made) {
    try {
      const text = made.contentDocument?.documentElement.textContent ?? "";
      if (text !== "") note(way, name, undefined, text);
    } catch {
      // Of another origin.
    }
  }

  /** A form is sent without asking the server first. In text/plain, its body can be any text with an `=` in it. */
  function byForm(way, { name, path, body }, enctype) {
    const form = document.createElement("form");
    const made = frame();
    Object.assign(form, { method: "POST", action: target + path, enctype, target: made.name });
    const [before, ...after] = body.split("=");
    const field = document.createElement("textarea");
    Object.assign(field, { name: before, value: after.join("=") });
    form.append(field);
    document.body.append(form);
    form.submit();
    return () => look(way, name, made);
  }

  /** An element that makes the browser get a page, and perhaps show or run it. */
  function byElement(kind, attribute, path) {
    const made = kind === "iframe" ? frame() : document.createElement(kind);
    if (kind === "link") made.rel = "stylesheet";
    made[attribute] = target + path;
    if (kind !== "iframe") document.body.append(made);
    return () => kind === "iframe" && look("iframe", path, made);
  }

  function bySocket(path) {
    const address = target.replace("http", "ws") + path;
    const socket = new WebSocket(address);
    socket.onopen = () => note("WebSocket", path, undefined, "open");
    socket.onmessage = (message) => note("WebSocket", path, undefined, message.data);
    const events = new EventSource(target + path);
    events.onmessage = (message) => note("EventSource", path, undefined, message.data);
    return () => [socket, events].forEach((opened) => opened.close());
  }

  for (const request of requests) await send("fetch", request, { mode: "cors" });
  for (const request of requests) await byXhr(request);
  for (const request of requests) {
    await send("fetch without headers", { ...request, headers: {} }, { mode: "cors" });
    await send("no-cors", request, { mode: "no-cors" });
    await send("no-cors text/plain", { ...request, headers: { "content-type": "text/plain" } }, { mode: "no-cors" });
    navigator.sendBeacon(target + request.path, request.body);
    navigator.sendBeacon(target + request.path, new Blob([request.body], { type: "application/json" }));
  }
  for (const path of pages) {
    await send("get", { name: path, path }, { method: "GET", mode: "cors" });
    await send("get no-cors", { name: path, path }, { method: "GET", mode: "no-cors" });
  }
  const closings = [
    ...requests.map((request) => byForm("form", request, "text/plain")),
    ...["application/x-www-form-urlencoded", "multipart/form-data"].flatMap((enctype) =>
      requests.filter(({ body }) => body.includes("=")).map((request) => byForm(enctype, request, enctype))),
    ...pages.flatMap((path) => [
      byElement("img", "src", path), byElement("script", "src", path), byElement("link", "href", path),
      byElement("iframe", "src", path), bySocket(path),
    ]),
  ];
  await pause(PATIENCE);
  for (const close of closings) close();
  for (const made of frames) made.remove();
  return read;
}
