/** The list of files shows what is in the folders, and says what cannot be read. */

export default async function ({ page, open, see, assert, until }) {
  await open("data");
  await see("Examples & rollouts");
  await until("every file is read", async () => (await page.locator(".growing").count()) === 0 && (await page.locator(".source").count()) > 5);
  const text = await page.locator(".sources").innerText();
  for (const name of ["before.jsonl", "after.jsonl", "corpus/train", "run"]) assert.match(text, new RegExp(name));
  const foreign = page.locator(".source.problem", { hasText: "foreign.jsonl" });
  assert.ok((await foreign.locator(".reason").innerText()).length > 10);
  const cut = page.locator(".source", { hasText: "cut.jsonl" });
  assert.match(await cut.locator(".reason").innerText(), /line 2/);
  assert.equal(await page.locator("[style*='javascript']").count(), 0);
}
