/** One rollout: words, calls, ground truth, what serves what, the five parts, changes; the link reopens it. */

export default async function ({ page, open, source, assert, until, keys, see }) {
  const id = await source("before.jsonl");
  await open(`data/${id}?server=banking&sort=-reward`);
  await page.locator("a.line").first().click();
  await page.locator(".conversation .said.user").first().waitFor();
  assert.match(page.url(), new RegExp(`#/data/${id}/\\d+\\?`));
  assert.equal(await page.locator(".part").count(), 5);
  await see("Ground truth");
  await see(/^1 of \d+$/);

  const calls = page.locator(".conversation .call"), gold = page.locator(".gold");
  assert.ok((await calls.count()) > 0 && (await gold.count()) > 0);
  assert.ok((await page.locator(".conversation .changes").count()) > 0, "a write shows what it changed");

  await gold.first().hover();
  await until("the call that serves it lights up", async () => (await page.locator(".call.lit").count()) === 1);
  const badge = (box) => box.locator(".badge").first().innerText();
  assert.equal(await badge(page.locator(".call.lit")), await badge(page.locator(".gold.lit")));

  await page.locator(".call-head").first().click();
  await page.locator(".call-body").first().waitFor();
  await page.locator("h1").hover();
  await keys("e");
  await until("all calls unfold", async () => (await page.locator(".call-body").count()) >= (await calls.count()) - 1 && /open=all/.test(page.url()));

  const name = await page.locator(".item-top h1").innerText();
  await keys("n");
  await until("n goes on", async () => (await page.locator(".item-top h1").innerText()) !== name);
  const url = page.url(), next = await page.locator(".item-top h1").innerText();
  await keys("p");
  await until("p goes back", async () => (await page.locator(".item-top h1").innerText()) === name);
  await page.goto("about:blank");
  await page.goto(url);
  await until("the link reopens exactly this", async () => (await page.locator(".item-top h1").count()) && (await page.locator(".item-top h1").innerText()) === next);
  await page.locator(".call-body").first().waitFor();
  await keys("Escape");
  await until("back to the list with its filters", async () => /server=banking/.test(page.url()) && (await page.locator("a.line").count()) > 0);
}
