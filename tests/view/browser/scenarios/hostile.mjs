/** Hostile text is text: in lists, filters, titles, conversations, changes and the ground truth. */

export default async function ({ page, open, source, assert, until, see }) {
  const text = "<script>alert(1)</script>";
  const id = await source("hostile.jsonl");
  await open(`data/${id}`);
  await page.locator("a.line .words", { hasText: text }).waitFor();
  await page.locator("a.line").first().click();
  await until("the title is the text", async () => (await page.locator(".item-top h1").count()) && (await page.locator(".item-top h1").innerText()) === text);
  const talk = await page.locator(".conversation").innerText();
  assert.ok(talk.split(text).length > 8);
  assert.equal(await page.locator("main script, main img").count(), 0);

  await page.keyboard.press("n");
  await see("</script><img src=x onerror=alert(2)>");
  assert.equal(await page.locator("main img").count(), 0);

  await page.keyboard.press("n");
  await until("a long word is wrapped and folded", async () => (await page.locator(".conversation .unfold").count()) > 0);
  const wide = await page.evaluate(() => [...document.querySelectorAll(".talk, .truth, .top, body")].filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.className));
  assert.deepEqual(wide, []);
  await page.locator(".conversation .unfold").first().click();
  await see("show less");

  await page.keyboard.press("n");
  await see("strange to the end");
  assert.equal(await page.locator(".say.problem").count(), 0);
}
