/** Every page and list by keys alone, with the focus always to be seen. */

export default async function ({ page, open, source, assert, until, keys, see }) {
  await open("data");
  await page.locator(".source").first().waitFor();
  const at = (part) => until(`at ${part}`, async () => page.url().includes(part));
  for (const [key, part] of [["h", "#/"], ["s", "#/servers"], ["g", "#/graph"], ["c", "#/compare"], ["r", "#/runs"], ["e", "#/data"]]) {
    await keys("g", key);
    await at(part);
  }
  await page.locator(".sources").waitFor();
  await keys("?");
  await page.locator("dialog[open]").waitFor();
  await keys("Escape");
  await until("the sheet closes", async () => (await page.locator("dialog[open]").count()) === 0);

  const id = await source("before.jsonl");
  await open(`data/${id}`);
  await page.locator("a.line").first().waitFor();
  await keys("j", "j", "ArrowDown", "k");
  const cursor = page.locator("a.line.cursor .at");
  await until("the second row is chosen", async () => (await cursor.count()) === 1 && (await cursor.innerText()) === "2");
  await keys("Enter");
  await at(`#/data/${id}/1`);
  await page.locator(".conversation").waitFor();
  await keys("n");
  await at(`#/data/${id}/2`);
  await keys("u");
  await page.locator("a.line").first().waitFor();
  await page.locator("a.line").nth(4).focus();
  await keys("Enter");
  await at(`#/data/${id}/4`);
  await page.locator(".conversation").waitFor();
  await keys("u");
  await page.locator("a.line").first().waitFor();
  await keys("/");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
  await page.keyboard.type("gjk");
  assert.equal(await page.locator("input[type=search]").inputValue(), "gjk");
  await keys("Escape");
  assert.notEqual(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");

  await at("text=gjk");
  await page.addInitScript(() => addEventListener("hashchange", (event) => window.held && event.stopImmediatePropagation()));
  await page.reload();
  await page.locator("input[type=search]").fill("gj");
  await page.evaluate(() => {
    window.held = true;
    location.hash = "#/servers";
  });
  await page.waitForTimeout(400);
  assert.ok(page.url().endsWith("#/servers"), `a search came back from the page it was left for: ${page.url()}`);
  await page.evaluate(() => {
    window.held = false;
    dispatchEvent(new HashChangeEvent("hashchange"));
  });
  await page.locator(".card").first().waitFor();

  await page.evaluate((at) => {
    new MutationObserver((_, watch) => {
      if (!document.querySelector(".conversation")) return;
      watch.disconnect();
      dispatchEvent(new KeyboardEvent("keydown", { key: "n" }));
    }).observe(document.body, { childList: true, subtree: true });
    location.hash = at;
  }, `#/data/${id}/1`);
  await at(`#/data/${id}/2`);

  await open("servers/payments");
  await see("About this world");
  await keys("j", "j");
  await at("tool=");
  await keys("Tab");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid");
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, a[href], input, select")].filter((box) => !(box.getAttribute("aria-label") || box.textContent?.trim() || box.labels?.length)).map((box) => box.outerHTML.slice(0, 80)));
  assert.deepEqual(unnamed, []);
}
