// All requests of the console to a server: operations of DynamoDB and SQS, and administration calls. The console calls nothing else.
import { signature } from "./sha256.js";
import { STREAMS, ServerError, TABLES, operation, post as postTo, send } from "./wire.js";

/** The address of the server: one level above the console, so that it is also correct behind a proxy that adds a path. */
export const base = new URL("../", document.baseURI);

const TOKEN = "trestle-session";
/** Tabs of one browser share a session: a new tab requests it from the others. Nothing is written to disk. */
const tabs = "BroadcastChannel" in window ? new BroadcastChannel("trestle-session") : undefined;

/** The session: facts about the server and the user. */
export const session = { version: "", login: false, readOnly: false, role: "administration", accessKey: undefined, ready: false };

const watchers = new Set();
/** Calls back when the session, or the connection, changes. */
export function watch(callback) {
  watchers.add(callback);
  return () => watchers.delete(callback);
}
const tell = () => watchers.forEach((callback) => callback());

/** Whether the server answered the last request, and when. */
export const connection = { lost: false, at: 0 };
const returns = new Set();
/** Calls back when the server answers again after it did not. */
export function onReturn(callback) {
  returns.add(callback);
  return () => returns.delete(callback);
}
function heard(lost) {
  connection.at = Date.now();
  if (connection.lost === lost) return;
  connection.lost = lost;
  tell();
  if (!lost) returns.forEach((callback) => callback());
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

/** The address for requests, and the token that they carry. */
export function destination() {
  const token = session.login && sessionStorage.getItem(TOKEN);
  return { base: base.href, ...(token ? { token } : {}) };
}

/** Updates the state of the connection and of the session after an error. */
export function failed(error) {
  heard(error.code === "Unreachable");
  if (session.login && sessionStorage.getItem(TOKEN) && error.code === "UnrecognizedClientException") end();
}

async function told(sending) {
  try {
    const answer = await sending;
    heard(false);
    return answer;
  } catch (error) {
    if (error instanceof ServerError) failed(error);
    throw error;
  }
}

const post = (path, headers, body, signal) => told(postTo(destination(), path, headers, body, signal));
const asks = (service) => (name, body = {}, signal) => told(operation(destination(), service, name, body, signal));

export const dynamodb = asks(TABLES);
export const streams = asks(STREAMS);
export const queues = asks("AmazonSQS");
const ADMINISTRATION = { "content-type": "application/json", "x-trestle-admin": "1" };
export const administer = (name, body = {}, signal) => post(`_trestle/${name}`, ADMINISTRATION, body, signal);
/** The whole database as an archive, which is read while the server sends it. */
export const archive = async (signal) => (await told(send(destination(), "_trestle/backup", ADMINISTRATION, {}, signal))).body.getReader();

/** Whether the user may write rows and queues, use the administration, and change something there. */
export const may = {
  get write() { return !session.readOnly && session.role !== "read-only"; },
  get administer() { return session.role === "administration"; },
  get change() { return may.administer && !session.readOnly; },
};

/** The time limit for the response to a greeting. */
const GREETING_MS = 10_000;

/** Asks the server for its version and for the user's identity. */
export async function greet() {
  const token = sessionStorage.getItem(TOKEN);
  let answer;
  let said;
  try {
    answer = await fetch(new URL("session", document.baseURI), { headers: token ? { "x-trestle-session": token } : {}, credentials: "omit", signal: AbortSignal.timeout(GREETING_MS) });
    // A proxy whose server does not respond answers with its own page.
    said = await answer.json();
  } catch {
    heard(true);
    throw new ServerError("Unreachable", `No answer from ${base.host}.`, 0);
  }
  if (!answer.ok) {
    heard(false);
    throw new ServerError(said.__type, said.message, answer.status);
  }
  const known = !said.login || Boolean(said.caller);
  if (!known && token) sessionStorage.removeItem(TOKEN);
  if (!known && !token) tabs?.postMessage("ask");
  learn({
    version: said.version, login: said.login, readOnly: said.read_only, ready: known,
    accessKey: said.caller?.access_key, role: said.login ? said.caller?.role : "administration",
  });
  heard(false);
}

/** Updates the session, and calls the watchers if something has changed. */
function learn(members) {
  const isKnown = Object.entries(members).every(([name, value]) => session[name] === value);
  Object.assign(session, members);
  if (!isKnown) tell();
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

const pageOfQueues = (page) => page.QueueUrls ?? page.queueUrls;
/** The URLs of all queues that an operation lists. */
export const queueUrls = (name = "ListQueues", request = {}) =>
  everyPage((after) => queues(name, { ...request, MaxResults: 1000, ...(after ? { NextToken: after } : {}) }), pageOfQueues, (page) => page.NextToken);
export const queueName = (url) => url.split("/").pop();

export const tableNames = () =>
  everyPage((after) => dynamodb("ListTables", after ? { ExclusiveStartTableName: after } : {}), (page) => page.TableNames, (page) => page.LastEvaluatedTableName);

const described = new Map();
/** The result of DescribeTable, cached for a moment. */
export async function describeTable(name, fresh = false) {
  const known = described.get(name);
  if (known && !fresh && Date.now() - known.at < 15_000) return known.table;
  const { Table } = await dynamodb("DescribeTable", { TableName: name });
  described.set(name, { at: Date.now(), table: Table });
  return Table;
}

/** Error codes of calls that do not exist: the endpoint is another database or a gateway, or a proxy blocks administration calls. */
const NO_CALL = new Set(["no-administration", "not-found", "no-answer", "HTTP 404"]);
export const isNoCall = (error) => NO_CALL.has(error.code);

let models;
/** The descriptions of the applied models; none if the server has no administration. */
export async function modelDescriptions(fresh = false) {
  if (models && !fresh && Date.now() - models.at < 15_000) return models.list;
  try {
    const { models: list } = await administer("describe-models");
    models = { at: Date.now(), list };
    return list;
  } catch (error) {
    if (isNoCall(error)) return [];
    throw error;
  }
}
export const forgetModels = () => { models = undefined; };
