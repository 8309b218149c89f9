/** A report opened from a file: lists, filters, rollouts, comparison, runs and graphs; nothing to try. A graph alone, too. */

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

export default async function ({ page, context, report, assert, until, see, keys }) {
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  const file = pathToFileURL(report).href;
  await page.goto(file);
  await page.locator(".newest .headline").waitFor();
  assert.match(await page.locator(".newest .headline").innerText(), /after\.jsonl gets a reward of \d\.\d\d over \d+ rollouts, \d\.\d\d (?:more|less) than before\.jsonl/);
  assert.deepEqual(await page.locator(".big dt").allInnerTexts(), ["reward", "success", "state", "answer", "ended"]);
  const right = page.locator(".showcase .one-side.right");
  await right.waitFor();
  assert.equal(await right.locator(".tick:not(.no)").count(), 3, "what is shown as right is right in all three");
  assert.equal(await page.locator(".showcase .one-side.left .outcome-word").innerText(), "failed");
  await page.emulateMedia({ colorScheme: "dark" });
  await until("a report is dark where the system is", () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((value) => Number(value) < 64)));
  await page.emulateMedia({ colorScheme: "light" });
  await keys("g", "e");
  await page.locator(".source", { hasText: "before.jsonl" }).click();
  await page.locator("a.line").first().waitFor();
  const all = await page.locator(".tally b").innerText();
  await page.locator(".facet label", { hasText: "multi turn" }).click();
  await until("filters work", async () => (await page.locator(".tally b").innerText()) !== all);
  await page.locator("a.line").first().click();
  await page.locator(".conversation .said.user").first().waitFor();
  await see("Ground truth");
  await keys("n");
  await see(/^2 of \d+$/);

  await keys("g", "c");
  await page.locator("a.pairing").first().click();
  await page.locator(".one-side").first().waitFor();
  await keys("g", "r");
  await page.locator(".curve canvas").first().waitFor();
  await keys("g", "s");
  await page.locator(".card").first().click();
  await page.getByRole("navigation", { name: "tools" }).getByRole("button").nth(1).click();
  assert.equal(await page.locator("form").count(), 0, "nothing can be tried");
  await keys("g", "g");
  await page.locator("svg.graph .node").first().waitFor();

  await page.goto(`${file}#/data`);
  await page.locator(".source", { hasText: "hostile.jsonl" }).click();
  await page.locator("a.line .words", { hasText: "<script>alert(1)</script>" }).waitFor();

  await page.goto(pathToFileURL(join(dirname(report), "graph.html")).href);
  await page.locator("svg.graph .node").first().waitFor();
  assert.match(page.url(), /#\/graph\/payments$/);
  await page.locator(".edge-row").first().click();
  await page.locator(".trial.without").first().waitFor();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as SVG" }).click();
  assert.match(await readFile(await (await saving).path(), "utf8"), /^<svg[^>]+xmlns=/);
  await keys("g", "e");
  await see("This report holds no examples and no rollouts.");
  assert.deepEqual(asked.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), []);
}
