/** Takes a picture of every page, each in a state worth seeing; the main pages also dark, on a tablet and on a phone. */

import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { start, visit } from "./page.mjs";

const [url, folder, out] = process.argv.slice(2);
const SIZES = { 1280: { width: 1280, height: 800 }, 768: { width: 768, height: 1024 }, 390: { width: 390, height: 844 } };
const browser = await start();

/** A page on a laptop, in light and dark, on a tablet and on a phone. */
async function takeAll(name, act) {
  await take(name, act);
  await take(`${name}-dark`, act, { colorScheme: "dark" });
  await take(`${name}-768`, act, { viewport: SIZES[768] });
  await take(`${name}-390`, act, { viewport: SIZES[390] });
}

async function take(name, act, options = {}) {
  const visitor = await visit(browser, url, { folder, viewport: SIZES[1280], colorScheme: "light", ...options });
  visitor.patience = 60_000;
  await act(visitor);
  await visitor.page.mouse.move(visitor.page.viewportSize().width - 2, 2);
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

await takeAll("home", async ({ page, open }) => {
  await open();
  await page.locator(".showcase .conversation").first().waitFor();
  await page.locator(".last-run canvas").waitFor();
});
await takeAll("list", async ({ page, open, source, until }) => {
  const id = await source("many.jsonl");
  await open(`data/${id}`);
  await until("all is read", async () => (await page.locator(".tally b").count()) === 1 && (await page.locator(".tally .growing").count()) === 0);
  await open(`data/${id}?kind=multi_turn&least=0.5`);
  await page.locator("a.line").first().waitFor();
  for (let times = 0; times < 4; times++) await page.keyboard.press("j");
});
await takeAll("rollout", rollout);
await take("lit", async (visitor) => {
  await rollout(visitor);
  await visitor.page.locator(".gold").nth(1).hover();
  await visitor.page.waitForTimeout(300);
  visitor.page.mouse.move = async () => undefined;
});
await take("why", async ({ page, open, source }) => {
  await open(`data/${await source("before.jsonl")}?kind=clarification`);
  await page.locator("a.line").first().click();
  await page.locator(".why-none").waitFor();
});
await takeAll("compare", async ({ page, open, source }) => {
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
await takeAll("runs", async ({ page, open, source }) => {
  const metrics = join(folder, "run", "metrics.jsonl");
  const last = JSON.parse((await readFile(metrics, "utf8")).trim().split("\n").at(-1));
  await appendFile(metrics, `${JSON.stringify({ ...last, step: last.step + 1 })}\n`);
  await open(`runs/${await source("run")}`);
  await page.locator(".moment-body .conversation").waitFor();
});
await takeAll("servers", async ({ page, open }) => {
  await open("servers");
  await page.locator(".card").first().waitFor();
});
await takeAll("try", async ({ page, open }) => {
  const world = await (await page.request.get(`${url}api/world?server=banking&seed=7`)).json();
  const accounts = world.tables.find((table) => table.name === "accounts");
  const [source, target] = accounts.rows.filter((row) => row.includes("USD") && row.includes("checking")).map((row) => row[0]);
  await open("servers/banking?seed=7&tool=list_accounts");
  await page.getByRole("button", { name: "Call list_accounts" }).click();
  await page.locator(".log .call").first().waitFor();
  const back = page.getByRole("button", { name: "All tools" });
  if (await back.isVisible()) await back.click();
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
