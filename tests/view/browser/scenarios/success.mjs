/** Success in its three parts: filters of a list, marks of a rollout, of a pair and of two files. */

export default async function ({ page, open, source, assert, until }) {
  const before = await source("before.jsonl"), after = await source("after.jsonl");
  const facet = (title) => page.locator(".facet", { has: page.locator("legend", { hasText: title }) });
  const shown = async () => Number(await page.locator(".tally b").innerText());

  await open(`data/${before}`);
  await page.locator(".facet input").first().waitFor();
  const boxes = await page.locator(".facet input[type=checkbox]").evaluateAll((all) => all.map((box) => box.getBoundingClientRect().width));
  assert.equal(new Set(boxes).size, 1, "a long label does not squeeze its box");
  const wrong = facet("State").locator("label", { hasText: "wrong" });
  const count = Number(await wrong.locator(".count").innerText());
  assert.ok(count > 0);
  await wrong.click();
  await until("the list holds what the filter counted", async () => (await shown()) === count);
  assert.match(page.url(), /state=0/);
  const marks = await page.locator("a.line .success").evaluateAll((all) => all.map((mark) => ({
    said: mark.getAttribute("aria-label"), letters: mark.textContent, wrong: [...mark.querySelectorAll("i.no")].map((part) => part.textContent).join(""),
  })));
  const names = { S: "state", A: "answer", E: "ended" };
  for (const { said, letters, wrong } of marks) {
    assert.equal(letters, "SAE");
    assert.ok(wrong.startsWith("S"), "only rollouts whose state is wrong are listed");
    assert.equal(said, `failed: ${[...wrong].map((letter) => names[letter]).join(", ")}`);
  }
  assert.ok(new Set(marks.map(({ wrong }) => wrong)).size > 1, "failures are told apart");

  await page.locator("a.line").first().click();
  await page.locator(".facts .success-parts .tick.no").first().waitFor();
  assert.match(await page.locator(".payment .outcome-word").innerText(), /^failed: state/);
  const parts = page.locator(".payment .success-parts li");
  await parts.first().waitFor();
  assert.deepEqual(await parts.locator("b").allInnerTexts(), ["state", "answer", "ended"]);
  assert.match(await parts.first().innerText(), /the final world is wrong, or the evidence for an answer was not seen/);
  assert.match(await parts.last().innerText(), /the conversation came to its end/);

  // No tick for an answer that nobody asked for.
  const none = page.locator(".payment .success-parts li.none-due");
  await open(`data/${before}?kind=multi_turn&answer=1`);
  await page.locator("a.line").first().waitFor();
  for (const address of await page.locator("a.line").evaluateAll((all) => all.map((one) => one.getAttribute("href")))) {
    await open(address.replace(/^#\//, ""));
    await parts.first().waitFor();
    if (await none.count()) break;
  }
  assert.match(await none.innerText(), /none due/);
  assert.equal(await none.locator(".tick").innerText(), "–");

  await open(`compare?left=${before}&right=${after}`);
  await page.locator(".rates").waitFor();
  assert.deepEqual(await page.locator(".rates dt").allInnerTexts(), ["success", "state", "answer", "ended"]);
  assert.match(await page.locator(".rates dd").first().innerText(), /^\d+\.\d % → \d+\.\d %$/);
  await page.locator("a.pairing").first().click();
  await until("both sides have three marks", async () => (await page.locator(".one-side .success-parts li").count()) === 6);
}
