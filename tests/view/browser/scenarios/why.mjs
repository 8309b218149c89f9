/** Where nothing is to be called, the page says why, and names the tool that was hidden. */

export default async function ({ page, open, source, assert }) {
  const corpus = await source("corpus/train"), rollouts = await source("before.jsonl");
  for (const id of [corpus, rollouts]) {
    await open(`data/${id}?kind=clarification`);
    await page.locator("a.line").first().click();
    const why = page.locator(".golds .why-none");
    await why.first().waitFor();
    assert.match(await why.first().innerText(), /The request needs the tool \w+\s?, which was taken away\. The right reply says that it cannot be done here, and calls nothing\./);
    await page.getByText("Where it comes from").click();
    const hidden = await page.locator(".origin dl div", { hasText: "hidden tools" }).locator("dd").innerText();
    assert.ok(hidden.includes((await why.first().locator("code").innerText()).trim()), hidden);
  }
  await open(`data/${corpus}?kind=irrelevance`);
  await page.locator("a.line").first().click();
  const said = page.locator(".conversation .why-none");
  await said.waitFor();
  assert.match(await said.innerText(), /No tool|small talk|knowledge|is for the server/);

  await open(`data/${rollouts}?kind=abstention`);
  await page.locator("a.line").first().click();
  assert.match(await page.locator(".payment .success-parts li").first().innerText(), /nothing was to be called/);
}
