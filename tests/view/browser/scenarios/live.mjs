/** Curves and lists grow while a file is written, and one example can be watched over its steps. */

import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

export default async function ({ page, open, source, folder, assert, until, keys }) {
  const metrics = join(folder, "run", "metrics.jsonl");
  await open(`runs/${await source("run")}`);
  const points = async () => Number(await page.locator(".curve").first().getAttribute("data-points"));
  await page.locator(".curve canvas").first().waitFor();
  const before = await points();
  assert.equal(before, 24);
  const titles = (await page.locator(".curve b").allInnerTexts()).join();
  for (const title of ["Reward", "Its parts", "Calls per task", "Tokens per second"]) assert.ok(titles.includes(title), titles);
  const cut = await page.locator(".curve .keys").evaluateAll((all) => all.filter((keys) => keys.scrollWidth > keys.clientWidth).map((keys) => keys.textContent));
  assert.deepEqual(cut, [], "the figures of every curve can be read");

  const last = JSON.parse((await readFile(metrics, "utf8")).trim().split("\n").at(-1));
  for (let step = 25; step <= 27; step++) await appendFile(metrics, `${JSON.stringify({ ...last, step })}\n`);
  await until("the curve has the new steps", async () => (await points()) === 27);

  const lines = async () => Number(await page.locator(".curve").first().getAttribute("data-lines"));
  assert.equal(await lines(), 1);
  await page.getByLabel("another run beside it").selectOption({ index: 1 });
  await until("another run is drawn beside it", async () => (await lines()) === 2);

  await page.locator(".moment").first().click();
  await page.locator(".moment-body .conversation").waitFor();
  assert.match(page.url(), /moment=0/);
  await keys("n");
  await until("n goes to the next step", async () => (await page.locator(".moment").nth(1).getAttribute("aria-pressed")) === "true");

  const rollouts = (await readFile(join(folder, "before.jsonl"), "utf8")).split("\n").slice(0, 7).map((one) => `${one}\n`);
  const file = join(folder, "growing.jsonl");
  await writeFile(file, rollouts.slice(0, 2).join(""));
  const tally = async () => (await page.locator(".tally b").count()) && Number(await page.locator(".tally b").innerText());
  await page.getByRole("navigation", { name: "pages" }).getByText("growing.jsonl").click();
  await until("a new file is listed", async () => (await tally()) === 2);
  await appendFile(file, rollouts.slice(2).join(""));
  await until("new rollouts are listed", async () => (await tally()) === 7);
  await writeFile(file, rollouts.slice(0, 3).reverse().join(""));
  await until("a file written anew is listed anew", async () => (await tally()) === 3 && (await page.locator("a.line").count()) === 3);
}
