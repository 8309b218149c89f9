/** Filters count, combine, are in the link, and a long list draws few rows. */

const shown = async (page) => Number((await page.locator(".tally b").innerText()).replaceAll(",", ""));

export default async function ({ page, open, source, assert, until, keys }) {
  const id = await source("many.jsonl");
  await open(`data/${id}`);
  await until("all are listed", async () => (await page.locator(".tally b").count()) && (await shown(page)) === 1000);
  assert.ok((await page.locator("a.line").count()) < 100, "only rows in sight are drawn");

  await page.locator(".virtual").evaluate((box) => (box.scrollTop = box.scrollHeight));
  await page.locator("a.line .at", { hasText: /^1000$/ }).waitFor();

  const banking = page.locator(".facet label", { hasText: "banking" });
  const count = Number(await banking.locator(".count").innerText());
  await banking.click();
  await until("the list holds what the facet counted", async () => (await shown(page)) === count);
  assert.match(page.url(), /server=banking/);

  await page.getByLabel("search", { exact: true }).fill("card");
  await until("the search narrows it", async () => (await shown(page)) < count);
  assert.match(page.url(), /text=card/);
  const narrowed = await shown(page);
  await page.reload();
  await until("the link reopens the same", async () => (await page.locator(".tally b").count()) && (await shown(page)) === narrowed);

  await page.locator("h1").click();
  await keys("x");
  await until("x clears", async () => (await shown(page)) === 1000);
  await page.getByLabel("Reward at most").fill("1.2");
  await page.getByLabel("Reward at most").press("Enter");
  await until("the range narrows it", async () => (await shown(page)) < 1000);
  await page.getByRole("button", { name: /sort by reward/ }).click();
  await until("sorted", async () => /sort=-reward/.test(page.url()));
  const paid = async () => (await page.locator("a.line .figure").allInnerTexts()).map(Number);
  await until("the best of them come first", async () => {
    const rewards = await paid();
    return rewards.length > 5 && rewards.every((one, at) => one <= 1.2 && one <= (rewards[at - 1] ?? 2));
  });

  const held = await page.evaluate(async () => {
    const box = document.querySelector("input[type=search]");
    const type = (text) => {
      box.value = text;
      box.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const replace = history.replaceState;
    const frames = [];
    const replaced = new Promise((done) => {
      history.replaceState = (...link) => {
        history.replaceState = replace;
        replace.apply(history, link);
        done(type("ca"));
      };
    });
    type("c");
    await replaced;
    for (const end = performance.now() + 120; performance.now() < end; await new Promise(requestAnimationFrame)) frames.push(box.value);
    return frames;
  });
  assert.deepEqual([...new Set(held)], ["ca"], "what is typed while the search before it is answered stays");

  await until("that is answered", async () => /text=ca/.test(page.url()));
  await page.evaluate(() => {
    const box = document.querySelector("input[type=search]");
    box.value = "card";
    box.dispatchEvent(new Event("input", { bubbles: true }));
    [...document.querySelectorAll(".facet label")].find((label) => label.textContent.includes("banking")).click();
  });
  await until("a filter chosen before what is typed counts stays", async () => /server=banking/.test(page.url()) && /text=card/.test(page.url()));

  await page.getByLabel("search", { exact: true }).fill("nobody ever says this");
  await page.getByText("Nothing fits these filters").waitFor();
}
