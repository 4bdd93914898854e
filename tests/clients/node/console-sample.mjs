// Sample data of all applications for the console: the models of all five, the schema's example of manhunt row by row, and rows of
// every other entity made from what its model says.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { folder, serve } from "./console.mjs";

const dataHeaders = (name) => ({ "content-type": "application/x-amz-json-1.0", "x-amz-target": name });

async function post(url, headers, body) {
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const json = JSON.parse((await answer.text()) || "{}");
  return { ok: answer.ok, json };
}

export async function call(server, target, body) {
  const { ok, json } = await post(server.url, dataHeaders(target), body);
  assert.ok(ok, `${target}: ${JSON.stringify(json)}`);
  return json;
}

export async function administer(server, name, body = {}) {
  const { ok, json } = await post(`${server.url}/_trestle/${name}`, { "content-type": "application/json", "x-trestle-admin": "1" }, body);
  assert.ok(ok, `${name}: ${JSON.stringify(json)}`);
  return json;
}

const typed = (item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name,
  typeof value === "number" ? { N: String(value) } : typeof value === "boolean" ? { BOOL: value } : typeof value === "object" ? value : { S: value }]));
export const put = (server, TableName, item) => call(server, "DynamoDB_20120810.PutItem", { TableName, Item: typed(item) });

const PEOPLE = ["Arian Mellor", "Grace Hopper", "Katherine Johnson", "Zavier Curtis"];

/** Contacts with their methods, searches with their attempts. */
export async function manhunt(server) {
  for (const [i, name] of PEOPLE.entries()) {
    const [contactId, domainId, searchId] = [`c0de-${i}`, "mitel", `5ea${i}`];
    await put(server, "manhunt", { entityType: "contact", contactId, domainId, name });
    for (const [j, type] of ["email", "text", "call"].entries()) {
      await put(server, "manhunt", {
        entityType: "contactMethod", contactId, methodId: `a${i}-${j}`, domainId, type, waitSeconds: 300, enabled: j < 2, order: j + 1,
        destination: type === "email" ? `${name.split(" ")[0].toLowerCase()}@example.org` : `+1 555 01${i}${j}`,
      });
    }
    await put(server, "manhunt", {
      entityType: "search", searchId, contactId, domainId, startedDatetime: `2026-11-1${i}T08:00:00Z`, status: i % 2 ? "successful" : "active",
    });
    for (const j of [0, 1]) {
      await put(server, "manhunt", {
        entityType: "searchAttempt", searchId, attemptId: `${searchId}-${j}`, contactId, domainId, methodId: `a${i}-${j}`,
        attemptedAt: `2026-11-1${i}T08:0${5 * j}:00Z`, responded: i % 2 === 1 && j === 1,
      });
    }
  }
}

/** A value that an attribute of a model may have. */
function sample(attribute, number) {
  if (attribute.one_of) return attribute.one_of[number % attribute.one_of.length];
  const digits = String(number + 1);
  switch (attribute.kind) {
    case "integer": case "number": return { N: digits };
    case "epoch-seconds": return { N: String(1_795_000_000 + number) };
    case "boolean": return { BOOL: number % 2 === 0 };
    case "timestamp": return { S: `2026-11-18T08:00:0${number}Z` };
    case "semver": return { S: `1.${number}.0` };
    case "binary": return { B: "AAEC" };
    case "list": return { L: [{ S: "one" }] };
    case "map": return { M: { of: { S: "sample" } } };
    case "string-set": return { SS: ["one", "two"] };
    case "number-set": return { NS: ["1", "2"] };
    case "string": {
      const [least, most] = attribute.length ?? [1, 40];
      const free = !attribute.chars || /a-z/.test(attribute.chars);
      return { S: (free ? `${attribute.name.toLowerCase()}${digits}` : digits).slice(0, most).padEnd(least, "0") };
    }
    default: return { S: `sample ${digits}` };
  }
}

/**
 * Writes rows of every entity that clients write. Rows that need other rows which do not exist are refused, and left out. Returns the
 * tables that have rows now, by model.
 */
export async function generated(server) {
  const { models } = await administer(server, "describe-models");
  const written = new Map();
  for (const model of models.filter((one) => one.name !== "manhunt")) {
    for (const entity of model.entities.filter((one) => one.role === "declared")) {
      const tag = model.tables.find((table) => table.table === entity.table).entity_attribute;
      for (let number = 0; number < 4; number += 1) {
        const given = entity.attributes.filter((attribute) => !attribute.optional && attribute.kind !== "large");
        const item = Object.fromEntries(given.map((attribute) => [attribute.name, sample(attribute, number)]));
        if (tag) item[tag] = { S: entity.tag };
        const { ok } = await post(server.url, dataHeaders("DynamoDB_20120810.PutItem"), { TableName: entity.table, Item: item });
        if (ok) written.set(model.name, (written.get(model.name) ?? new Set()).add(entity.table));
      }
    }
  }
  return written;
}

export async function queues(server) {
  const { QueueUrl: dead } = await call(server, "AmazonSQS.CreateQueue", { QueueName: "jobs-given-up" });
  const { Attributes } = await call(server, "AmazonSQS.GetQueueAttributes", { QueueUrl: dead, AttributeNames: ["QueueArn"] });
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: Attributes.QueueArn, maxReceiveCount: 3 });
  const { QueueUrl } = await call(server, "AmazonSQS.CreateQueue", { QueueName: "jobs", Attributes: { RedrivePolicy } });
  for (const number of [1, 2, 3]) await call(server, "AmazonSQS.SendMessage", { QueueUrl, MessageBody: JSON.stringify({ job: number }) });
  await call(server, "AmazonSQS.SendMessage", { QueueUrl: dead, MessageBody: JSON.stringify({ job: 0 }) });
  return { QueueUrl, dead };
}

export const MODELS = process.env.MODELS ?? join(dirname(process.env.TRESTLE ?? ""), "../../models");
export const NAMES = ["klayers", "littlehorse", "manhunt", "reindexer", "warehouse"];

/** A server with the models of all applications, and rows of each. */
export async function sampled(t, ...flags) {
  const server = await serve(t, ...NAMES.flatMap((name) => ["--model", join(MODELS, `${name}.toml`)]), ...flags);
  await manhunt(server);
  return server;
}

/** A server with a key of each role. */
export async function withKeys(t, ...flags) {
  const file = join(folder(t), "trestle.toml");
  const key = (id, role) => `[[auth.keys]]\naccess_key = "${id}"\nsecret_key = "secret of ${id}"\nrole = "${role}"\n`;
  writeFileSync(file, key("READER", "read-only") + key("WRITER", "data") + key("ADMIN", "administration"));
  return serve(t, "--config", file, "--model", join(MODELS, "manhunt.toml"), ...flags);
}

/** A row of `manhunt`, and its address. */
export const CONTACT = { PK: { S: "c0de-1" }, SK: { S: "contact" } };
export const itemLink = (key) => `#/items/manhunt?item=${encodeURIComponent(JSON.stringify(key))}`;

/** A table with a stream, of one key. */
export const streamed = (server, TableName) => call(server, "DynamoDB_20120810.CreateTable", {
  TableName, BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
});

/** Heads, counters and inverses in one table. */
export const EFFECTS = `model = "effects"

[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"

[entity.doc]
table = "rows"
key = { pk = "doc#{name}", sk = "v#{version:04}" }
attributes = { name = "string", version = "integer", shop = { type = "string", optional = true } }

[entity.doc.head]
key.sk = "head"
newest_by = "version"

[entity.doc.counter.docs]
entity = "shop"
attribute = "docs"

[entity.shop]
table = "rows"
key = { pk = "shop", sk = "{shop}" }
attributes = { shop = "string", docs = { type = "integer", default = 0 } }

[entity.person]
table = "rows"
key = { pk = "person", sk = "{person}" }
attributes = { person = "string", clubs = { type = "string-set", optional = true } }

[entity.person.inverse.members]
entity = "club"
of = "clubs"
set = "members"

[entity.club]
table = "rows"
key = { pk = "club", sk = "{club}" }
attributes = { club = "string", members = { type = "string-set", optional = true } }
`;

/** Every view on the sample data: its address, and the content by which it is recognised. */
export const VIEWS = {
  overview: ["#/overview", "heading", "Tables"],
  items: ["#/items/manhunt", "region", "Rows of manhunt"],
  query: ["#/items/manhunt?hash=c0de-1&op=begins_with&value=a", "region", "Rows of manhunt"],
  access: ["#/items/manhunt?mode=access&access=contact_with_methods&p.contactId=c0de-1&run=1", "region", "Rows of contact_with_methods"],
  partiql: [`#/items/manhunt?mode=partiql&statement=${encodeURIComponent(`SELECT * FROM manhunt WHERE PK = 'c0de-1'`)}`, "region", "Rows of the statement"],
  item: [itemLink(CONTACT), "dialog", "Item"],
  "new-item": ["#/items/manhunt?item=new", "dialog", "New item"],
  models: ["#/models", "heading", "Models"],
  model: ["#/models/klayers", "img", /Model klayers/],
  entities: ["#/models/manhunt?tab=entities", "region", "Entity search"],
  patterns: ["#/models/manhunt?tab=access", "region", "Access patterns"],
  file: ["#/models/manhunt?tab=file", "textbox", "Model file"],
  infer: ["#/models/new?table=manhunt", "region", "What was found"],
  changes: ["#/changes/manhunt?from=TRIM_HORIZON", "region", "Changes"],
  pattern: ["#/changes/manhunt?tab=pattern&entities=contact", "region", "Changes that are taken"],
  routes: ["#/routes", "region", "Routes"],
  route: ["#/routes/search-begun", "heading", "Dead letters"],
  "route-file": ["#/routes?tab=file", "textbox", "Route file"],
  queues: ["#/queues", "region", "Queues"],
  queue: ["#/queues/jobs", "region", "Messages"],
  migrations: ["#/migrations", "heading", "Migrations"],
  plan: ["#/migrations?open=plan&model=manhunt", "textbox", "The new version of the model"],
  migration: ["#/migrations/manhunt", "heading", "Migration of manhunt"],
  reindexes: ["#/reindexes", "heading", "Reindexes"],
  "start-reindex": ["#/reindexes?open=start", "combobox", "Table"],
  metrics: ["#/metrics", "heading", /Metrics/],
  server: ["#/server", "button", "Back up now"],
  verify: ["#/server?tab=verify", "button", "Audit all models"],
};
