// Everything that the console asks a server: DynamoDB's operations, SQS's, and the administration. Nothing else is called.
import { signature } from "./sha256.js";

/** The server, wherever a proxy puts it: one level above the console. */
export const base = new URL("../", document.baseURI);

const TOKEN = "trestle-session";
/** Tabs of one browser share a session: a new tab asks the others for it. Nothing is written to disk. */
const tabs = "BroadcastChannel" in window ? new BroadcastChannel("trestle-session") : undefined;

/** What is known of the server and of the visitor. */
export const session = { version: "", login: false, readOnly: false, role: "administration", accessKey: undefined, ready: false };

const watchers = new Set();
/** Calls back when the session, or the connection, changes. */
export function watch(callback) {
  watchers.add(callback);
  return () => watchers.delete(callback);
}
const tell = () => watchers.forEach((callback) => callback());

/** Whether the server answered last time. */
export const connection = { lost: false };
function heard(lost) {
  if (connection.lost !== lost) {
    connection.lost = lost;
    tell();
  }
}

tabs?.addEventListener("message", ({ data }) => {
  const token = sessionStorage.getItem(TOKEN);
  if (data === "ask" && token) tabs.postMessage({ token });
  if (data?.token && !token) {
    sessionStorage.setItem(TOKEN, data.token);
    greet().catch(() => {});
  }
  if (data === "end" && token) end();
});

/** An error in the server's own words. */
export class ServerError extends Error {
  constructor(code, message, status, more = {}) {
    super(message);
    this.code = code;
    this.status = status;
    Object.assign(this, more);
  }
}

async function post(path, headers, body, signal) {
  const token = sessionStorage.getItem(TOKEN);
  const all = { ...headers, ...(token && session.login ? { "x-trestle-session": token } : {}) };
  let answer;
  try {
    answer = await fetch(new URL(path, base), { method: "POST", headers: all, body: JSON.stringify(body), signal, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    heard(true);
    throw new ServerError("Unreachable", `No answer from ${base.host}. The console tries again.`, 0);
  }
  heard(false);
  const text = await answer.text();
  let json = {};
  try {
    json = JSON.parse(text || "{}");
  } catch {
    json = { message: text };
  }
  if (answer.ok) return json;
  const code = (json.__type ?? json.code ?? `HTTP ${answer.status}`).split("#").pop();
  if (session.login && token && code === "UnrecognizedClientException") end();
  const { message, Message, __type, code: _, ...more } = json;
  throw new ServerError(code, message ?? Message ?? text, answer.status, more);
}

const target = (service, name, body, signal) =>
  post("./", { "content-type": "application/x-amz-json-1.0", "x-amz-target": `${service}.${name}` }, body, signal);

export const dynamodb = (name, body = {}, signal) => target("DynamoDB_20120810", name, body, signal);
export const streams = (name, body = {}, signal) => target("DynamoDBStreams_20120810", name, body, signal);
export const queues = (name, body = {}, signal) => target("AmazonSQS", name, body, signal);
export const administer = (name, body = {}, signal) =>
  post(`_trestle/${name}`, { "content-type": "application/json", "x-trestle-admin": "1" }, body, signal);

/** Whether the visitor may write rows and queues; whether it may use the administration, and change something there. */
export const may = {
  get write() { return !session.readOnly && session.role !== "read-only"; },
  get administer() { return session.role === "administration"; },
  get change() { return may.administer && !session.readOnly; },
};

/** Asks the server who it is and who we are. */
export async function greet() {
  const token = sessionStorage.getItem(TOKEN);
  let answer;
  try {
    answer = await fetch(new URL("session", document.baseURI), { headers: token ? { "x-trestle-session": token } : {}, credentials: "omit" });
  } catch {
    heard(true);
    throw new ServerError("Unreachable", `No answer from ${base.host}.`, 0);
  }
  heard(false);
  const said = await answer.json();
  if (!answer.ok) throw new ServerError(said.__type, said.message, answer.status);
  const known = !said.login || Boolean(said.caller);
  if (!known && token) sessionStorage.removeItem(TOKEN);
  if (!known && !token) tabs?.postMessage("ask");
  Object.assign(session, {
    version: said.version, login: said.login, readOnly: said.read_only, ready: known,
    accessKey: said.caller?.access_key, role: said.login ? said.caller?.role : "administration",
  });
  tell();
}

/** Logs in: the secret signs the time and is forgotten; only the session's token is kept, for this tab. */
export async function logIn(accessKey, secret) {
  const at = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = { date: at.slice(0, 8), region: "console", service: "trestle", terminator: "trestle_login" };
  const proof = signature(secret, scope, `${at}\n${accessKey}`);
  sessionStorage.removeItem(TOKEN);
  const begun = await post("console/session", { "content-type": "application/json" }, { access_key: accessKey, at, proof });
  sessionStorage.setItem(TOKEN, begun.token);
  await greet();
}

function end() {
  sessionStorage.removeItem(TOKEN);
  Object.assign(session, { ready: false, accessKey: undefined });
  tell();
}

export function logOut() {
  end();
  tabs?.postMessage("end");
}

/** All pages of a list, one after another. */
export async function everyPage(ask, items, next) {
  const all = [];
  let after;
  do {
    const page = await ask(after);
    all.push(...(items(page) ?? []));
    after = next(page);
  } while (after);
  return all;
}

export const tableNames = () =>
  everyPage((after) => dynamodb("ListTables", after ? { ExclusiveStartTableName: after } : {}), (page) => page.TableNames, (page) => page.LastEvaluatedTableName);

const described = new Map();
/** What DescribeTable says, remembered for a moment. */
export async function describeTable(name, fresh = false) {
  const known = described.get(name);
  if (known && !fresh && Date.now() - known.at < 15_000) return known.table;
  const { Table } = await dynamodb("DescribeTable", { TableName: name });
  described.set(name, { at: Date.now(), table: Table });
  return Table;
}

let models;
/** The models in force, described; none where the server has no administration. */
export async function modelDescriptions(fresh = false) {
  if (models && !fresh && Date.now() - models.at < 15_000) return models.list;
  try {
    const { models: list } = await administer("describe-models");
    models = { at: Date.now(), list };
    return list;
  } catch (error) {
    if (["not-found", "no-answer", "HTTP 404"].includes(error.code)) return [];
    throw error;
  }
}
export const forgetModels = () => { models = undefined; };
