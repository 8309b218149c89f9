/** Two files over the same examples: a verdict, the largest difference first, both rollouts side by side. */

export default async function ({ page, open, source, assert, until, see, keys }) {
  const [left, right] = [await source("before.jsonl"), await source("after.jsonl")];
  await open(`compare?left=${left}&right=${right}`);
  await page.locator("a.pairing").first().waitFor();
  const wins = await page.locator(".wins").getAttribute("aria-label");
  const [, lost, , won] = wins.match(/left wins (\d+), ties (\d+), right wins (\d+)/).map(Number);
  assert.ok(won > lost, wins);
  const swings = (await page.locator("a.pairing .swing .figure").allInnerTexts()).map((text) => Math.abs(Number(text.replace("−", "-"))));
  assert.deepEqual(swings, [...swings].sort((one, other) => other - one));

  await page.getByLabel("sort").selectOption("difference");
  await until("the left's best first", async () => (await page.locator("a.pairing .swing").first().getAttribute("class"))?.includes("down"));
  await page.getByLabel("sort").selectOption("-difference");
  await until("the right's best first", async () => (await page.locator("a.pairing .swing").first().getAttribute("class"))?.includes("up"));
  await keys("Escape");
  await page.locator("h1").click();
  await keys("j", "Enter");
  await page.locator(".one-side.right .conversation").waitFor();
  assert.equal(await page.locator(".one-side").count(), 2);
  await see("from here they differ");
  await keys("Escape");
  await page.locator("a.pairing").first().waitFor();

  const id = left;
  await open(`data/${id}/0`);
  await page.getByText("Compare with").click();
  await page.locator(".menu-list a").first().click();
  await page.locator(".one-side").first().waitFor();
}
