// The console of endpoints that are not Trestle servers. Moto is one: its answers to calls of the administration are pages of errors.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { browsing, run, until } from "./console.mjs";

const { visit } = browsing();

const MOTO = process.env.MOTO_SERVER ?? "../python/bin/moto_server";
const KEYS = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any", AWS_REGION: "us-east-1" };

const freePort = () => new Promise((found) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => found(port));
  });
});

async function moto(t) {
  assert.ok(existsSync(MOTO), `there is no ${MOTO}: ./test installs it`);
  const port = await freePort();
  const child = spawn(MOTO, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  t.after(() => child.kill());
  const url = `http://127.0.0.1:${port}`;
  await until("moto answers", () => fetch(url).then(() => true, () => false));
  return url;
}

test("a database without an administration is browsed, edited and watched, and views that need one say so", { timeout: 120_000 }, async (t) => {
  const endpoint = await moto(t);
  const { url } = await run(t, ["console", "--endpoint", endpoint], KEYS, /(http:\S+#ticket=\S+)\s/);
  const { page } = await visit(t, url);
  await page.getByText("No table yet").waitFor();
  const token = await page.evaluate(() => sessionStorage.getItem("trestle-session"));
  const call = async (name, body) => {
    const answer = await page.evaluate(async ({ name, body, token }) => (await fetch("../", {
      method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `DynamoDB_20120810.${name}`, "x-trestle-session": token },
    })).json(), { name, body, token });
    assert.equal(answer.__type, undefined, JSON.stringify(answer));
    return answer;
  };
  await call("CreateTable", { TableName: "books", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }] });
  await call("PutItem", { TableName: "books", Item: { pk: { S: "a" }, title: { S: "Emma" } } });
  const to = (hash) => page.goto(url.replace(/#.*/, hash));
  await to("#/overview");
  await page.reload();
  await page.getByRole("region", { name: "Tables" }).getByRole("link", { name: "books" }).waitFor();
  await page.getByText("No migration and no reindex is running.").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await to("#/items/books");
  await page.getByText("1 row, page 1").waitFor();
  await page.locator("button.rowlink").first().click();
  await page.getByLabel("Value of title").fill("Persuasion");
  await page.getByRole("region", { name: "Preview" }).getByText("Derived rows are not known here").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved").waitFor();
  assert.equal((await call("GetItem", { TableName: "books", Key: { pk: { S: "a" } } })).Item.title.S, "Persuasion");
  await to("#/models");
  await page.getByText("No model yet").waitFor();
  await to("#/routes");
  await page.getByRole("alert").getByText("is not a Trestle server").waitFor();
  await to("#/server");
  await page.getByText("This endpoint has no administration").waitFor();
});
