/** Drawn worlds of a corpus: some of many on the list, found by a search, with tools, admission, spec and graph. */

export default async function ({ page, open, assert, until, see }) {
  await open("");
  await page.getByRole("link", { name: "30 drawn worlds" }).click();
  const drawn = page.locator(".card.drawn");
  await until("some of the worlds", async () => (await drawn.count()) === 24);
  await page.getByRole("button", { name: "6 more" }).click();
  await until("all of them", async () => (await drawn.count()) === 30);
  await page.getByLabel("search", { exact: true }).fill("0-17 boats");
  await until("the search leaves one", async () => (await page.locator(".card").count()) === 1);
  await drawn.first().click();

  await see("Admitted.");
  await see("hire_boat: the [boat name] is [boat status], so it cannot be hired");
  assert.match(await page.locator(".figures").innerText(), /mutants\s*\d/);
  await page.locator("summary", { hasText: "Spec" }).click();
  await page.locator("details[open] pre", { hasText: '"boat_hire_0_17"' }).waitFor();

  await page.getByRole("button", { name: "find_boats" }).click();
  await page.getByRole("button", { name: "Call find_boats" }).click();
  await page.locator(".log .call").first().waitFor();
  await page.getByRole("tab", { name: "World" }).click();
  await page.locator("tbody tr").first().waitFor();

  await page.getByRole("link", { name: "Graph" }).last().click();
  await page.locator(".node").first().waitFor();
  assert.equal(await page.locator("select[aria-label=server] option", { hasText: "boat_hire" }).count(), 1);
  await page.locator(".edge-row").first().click();
  await see("A world file keeps the call that worked.");
}
