/** The home page: figures of the newest rollouts, what changed since those before, a showcase, the last run; commands where nothing is. */

const PARTS = ["state", "answer", "ended"];

/** Mean reward and shares of success of a file, computed here from its columns. */
async function measure(page, url, source) {
  const { columns } = await (await page.request.get(`${url}api/columns?source=${source}&generation=0&after=0`)).json();
  const all = (column) => column.codes.map((code) => column.values[code]);
  const verdicts = all(columns.verdict), rewards = all(columns.reward);
  const share = (holds) => `${Math.round((100 * verdicts.filter((one) => one && holds(one)).length) / verdicts.length)} %`;
  const reward = (rewards.reduce((sum, one) => sum + (one ?? 0), 0) / rewards.length).toFixed(2);
  return [reward, share((one) => PARTS.every((part) => one[part])), ...PARTS.map((part) => share((one) => one[part]))];
}

export default async function ({ page, open, source, url, assert, until, see, keys }) {
  const before = await source("before.jsonl"), after = await source("after.jsonl");
  await open();
  const newest = page.locator(".newest");
  await until("the newest file is told", async () => (await newest.locator(".big").count()) === 5);
  assert.match(await newest.locator(".headline").innerText(), /^after\.jsonl gets a reward of \d\.\d\d over \d+ rollouts, \d\.\d\d (?:more|less) than before\.jsonl over the same examples\. It succeeds in \d+ % of them; before\.jsonl in \d+ %\.$/);
  assert.deepEqual(await newest.locator(".big .value").allInnerTexts(), await measure(page, url, after));
  const old = (await newest.locator(".big small").allInnerTexts()).map((text) => text.replace("before ", ""));
  assert.deepEqual(old, await measure(page, url, before));

  const left = newest.locator(".one-side.left"), right = newest.locator(".one-side.right");
  await right.locator(".said.user").first().waitFor();
  assert.equal(await right.locator(".tick:not(.no)").count(), 3);
  assert.equal(await right.locator(".outcome-word").innerText(), "succeeded");
  assert.ok((await left.locator(".tick.no").count()) > 0);
  assert.equal(await right.locator(".said.user").first().innerText(), await left.locator(".said.user").first().innerText());

  const run = page.locator(".last-run");
  assert.match(await run.locator(".headline").innerText(), /after \d+ steps of 60\.$/);
  assert.deepEqual(await run.locator(".moved:not(.runs-table) tbody td:first-child").allInnerTexts(), ["reward", "success", ...PARTS]);
  assert.equal(await run.locator(".runs-table tbody tr").count(), 2);
  assert.match(await page.locator(".corpus .kinds").innerText(), /multi turn/);
  const rows = page.locator(".newest-files a.file-row");
  assert.match(await rows.first().innerText(), /after\.jsonl[\s\S]*state \d+ % · answer \d+ % · ended \d+ %/);

  await newest.getByText("Compare them example by example").click();
  await until("the two are compared", async () => page.url().includes(`left=${before}&right=${after}`));
  await keys("g", "h");
  await newest.getByText("See where they differ").click();
  await page.locator(".pair-page .one-side").first().waitFor();

  await page.route("**/api/sources", (route) => route.fulfill({ json: { sources: [], worlds: 0, version: "0" } }));
  await open("servers");
  await page.reload();
  await open();
  await see("Where to start");
  const commands = (await page.locator(".start pre").allInnerTexts()).join("\n");
  for (const command of ["provegym demo", "provegym synth --size 40 --out corpus", "provegym rollout --policy oracle --data corpus"]) assert.ok(commands.includes(command), commands);
}
