/** Takes a picture of every page, each in a state worth seeing. */

import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { start, visit } from "./page.mjs";

const [url, folder, out] = process.argv.slice(2);
const SIZE = { width: 1280, height: 800 };
const browser = await start();

async function take(name, act, options = {}) {
  const visitor = await visit(browser, url, { folder, viewport: SIZE, colorScheme: "light", ...options });
  visitor.patience = 60_000;
  await act(visitor);
  await visitor.page.mouse.move(640, 790);
  await visitor.page.waitForTimeout(400);
  await visitor.page.screenshot({ path: join(out, `${name}.png`) });
  visitor.quiet();
  await visitor.context.close();
  console.log(`${name}.png`);
}

async function rollout({ page, open, source }) {
  await open(`data/${await source("before.jsonl")}?kind=multi_turn&least=0.7&most=1.25&calls_least=4&calls_most=6&sort=-calls`);
  await page.locator("a.line").first().click();
  await page.locator(".conversation .call").first().waitFor();
}

await take("list", async ({ page, open, source, until }) => {
  const id = await source("many.jsonl");
  await open(`data/${id}`);
  await until("all is read", async () => (await page.locator(".tally b").count()) === 1 && (await page.locator(".tally .growing").count()) === 0);
  await open(`data/${id}?kind=multi_turn&least=0.5`);
  await page.locator("a.line").first().waitFor();
  for (let times = 0; times < 4; times++) await page.keyboard.press("j");
});
await take("rollout", rollout);
await take("rollout-dark", async (visitor) => {
  await rollout(visitor);
  await visitor.page.locator(".gold").nth(1).hover();
  await visitor.page.waitForTimeout(300);
  visitor.page.mouse.move = async () => undefined;
}, { colorScheme: "dark" });
await take("compare", async ({ page, open, source }) => {
  await open(`compare?left=${await source("before.jsonl")}&right=${await source("after.jsonl")}`);
  await page.locator("a.pairing").first().waitFor();
});
await take("pair", async ({ page, open, source, until }) => {
  await open(`compare?left=${await source("before.jsonl")}&right=${await source("after.jsonl")}&sort=-difference`);
  await until("a pair that both tried", async () => (await page.locator("a.pairing").count()) > 20);
  const rewards = await page.locator("a.pairing").evaluateAll((rows) => rows.map((row) => Number(row.querySelector(".num")?.textContent?.replace(/[^\d.]/g, ""))));
  await page.locator("a.pairing").nth(Math.max(0, rewards.findIndex((reward) => reward > 0.2))).click();
  await page.locator(".one-side .call").first().waitFor();
});
await take("runs", async ({ page, open, source }) => {
  const metrics = join(folder, "run", "metrics.jsonl");
  const last = JSON.parse((await readFile(metrics, "utf8")).trim().split("\n").at(-1));
  await appendFile(metrics, `${JSON.stringify({ ...last, step: last.step + 1 })}\n`);
  await open(`runs/${await source("run")}`);
  await page.locator(".moment-body .conversation").waitFor();
});
await take("servers", async ({ page, open }) => {
  await open("servers");
  await page.locator(".card").first().waitFor();
});
await take("try", async ({ page, open }) => {
  const world = await (await page.request.get(`${url}api/world?server=banking&seed=7`)).json();
  const accounts = world.tables.find((table) => table.name === "accounts");
  const [source, target] = accounts.rows.filter((row) => row.includes("USD") && row.includes("checking")).map((row) => row[0]);
  await open("servers/banking?seed=7&tool=list_accounts");
  await page.getByRole("button", { name: "Call list_accounts" }).click();
  await page.locator(".log .call").first().waitFor();
  await page.getByRole("button", { name: "transfer_funds" }).first().click();
  await page.fill("#arg-source_id", source);
  await page.fill("#arg-target_id", target);
  await page.fill("#arg-amount", "25");
  await page.getByRole("button", { name: "Call transfer_funds" }).click();
  await page.locator(".log .call").nth(1).waitFor();
});
await take("world", async ({ page, open }) => {
  await open("servers/banking?seed=7&tool=open_account");
  await page.fill("#arg-name", "Rainy Day");
  await page.selectOption("#arg-kind", "savings");
  await page.getByRole("button", { name: "Call open_account" }).click();
  await page.locator(".log .change").first().waitFor();
  await page.getByRole("tab", { name: "World" }).click();
  await page.locator("tr.made").waitFor();
});
await take("graph", async ({ page, open }) => {
  await open("graph/calendar");
  await page.locator(".node").first().waitFor({ timeout: 60_000 });
  await page.locator(".edge-row.implicit").first().click();
  await page.locator(".trial").first().waitFor();
});
await take("chain-dark", async ({ page, open, source }) => {
  const id = await source("corpus/train");
  await open(`data/${id}?server=banking&kind=multi_turn&sort=-calls`);
  await page.locator("a.line").first().click();
  await page.getByText("In the graph").click();
  await page.locator(".order").first().waitFor({ timeout: 60_000 });
}, { colorScheme: "dark" });
await browser.close();
