/** The graph: evidence of an edge, zoom, the chain of an example, and a file of it. */

import { readFile } from "node:fs/promises";

export default async function ({ page, open, source, assert, until, see, keys }) {
  await open("graph/payments");
  await page.locator("svg.graph .node").first().waitFor();
  assert.equal(await page.locator("svg.graph .node").count(), 10);
  assert.ok((await page.locator("svg.graph .edge.explicit").count()) > 0);
  const [x, y] = await page.locator("svg.graph .edge.explicit path").first().evaluate((path) => {
    const middle = path.getPointAtLength(path.getTotalLength() / 2);
    const on = new DOMPoint(middle.x, middle.y).matrixTransform(path.getScreenCTM());
    return [on.x, on.y];
  });
  await page.mouse.move(x, y);
  await page.locator(".trial.with li.ok").first().waitFor();
  assert.doesNotMatch(page.url(), /edge=/);
  await page.mouse.move(1, 1);
  await page.locator(".trial").first().waitFor({ state: "detached" });

  await page.locator(".edge-row").first().click();
  await page.locator(".trial.with li.ok").first().waitFor();
  await page.locator(".trial.without").first().waitFor();
  assert.match(page.url(), /edge=/);
  await keys("Escape");

  const moved = () => page.locator("g.world").getAttribute("transform");
  const before = await moved();
  await keys("+");
  await until("it zooms", async () => (await moved()) !== before);
  await keys("0");
  await until("it fits again", async () => (await moved()) === before);

  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as SVG" }).click();
  const file = await saving;
  assert.equal(file.suggestedFilename(), "payments.svg");
  assert.match(await readFile(await file.path(), "utf8"), /^<svg[^>]+xmlns="http:\/\/www.w3.org\/2000\/svg"/);

  const id = await source("corpus/train");
  await open(`data/${id}?server=payments&kind=multi_turn`);
  await page.locator("a.line").first().click();
  await page.getByText("In the graph").click();
  await until("its steps are on the tools", async () => (await page.locator("svg.graph .order").count()) > 0);
  await see("The steps of this example, lit up.");
}
