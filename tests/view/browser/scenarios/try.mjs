/** A tool tried from its form: a refusal, a change in the world, undone and reset. */

export default async function ({ page, open, assert, until, see }) {
  await open("servers");
  const servers = await page.evaluate(async () => (await (await fetch("api/servers")).json()).filter((one) => !one.drawn).length);
  await until("a card per server", async () => (await page.locator(".card:not(.drawn)").count()) === servers);
  await page.locator(".card", { hasText: "Banking" }).first().click();
  await page.getByRole("button", { name: "open_account" }).click();
  assert.equal(await page.locator("#arg-kind").evaluate((box) => box.tagName), "SELECT");

  await page.getByRole("button", { name: "Call open_account" }).click();
  await page.locator(".call.failed").first().waitFor();
  await see("invalid_argument");

  await page.fill("#arg-name", "Rainy Day");
  await page.selectOption("#arg-kind", "savings");
  await page.getByRole("button", { name: "Call open_account" }).click();
  await page.locator(".log .change.made", { hasText: "Rainy Day" }).waitFor();
  await see("1 record changed");

  await page.getByRole("tab", { name: "World" }).click();
  await page.locator("tr.made", { hasText: "Rainy Day" }).waitFor();
  await page.getByLabel("search", { exact: true }).fill("rainy");
  await until("the search leaves one", async () => (await page.locator("tbody tr").count()) === 1);

  await page.getByRole("button", { name: "Undo" }).click();
  await see("unchanged");
  await until("the record is gone", async () => (await page.locator("tbody tr").count()) === 0);

  await page.getByRole("tab", { name: "Tools" }).click();
  await page.fill("#arg-name", "Second Try");
  await page.selectOption("#arg-kind", "checking");
  await page.getByRole("button", { name: "Call open_account" }).click();
  await see("1 record changed");
  await page.getByRole("button", { name: "Reset" }).click();
  await see("unchanged");
}
