/** On a small laptop and on a phone no page is wider than its window, and no line of it is cut off unseen. */

export default async function ({ page, open, source, assert, until }) {
  const id = await source("before.jsonl"), other = await source("after.jsonl"), run = await source("run");
  const views = ["", `data/${id}`, `data/${id}/0`, `compare?left=${id}&right=${other}`, `compare/pair?left=${id}&left_at=0&right=${other}&right_at=0`, `runs/${run}`, "servers", "servers/banking?tool=transfer_funds", "servers/banking?tab=world", "graph/payments", "servers/boat_hire_0_0", "graph/boat_hire_0_0"];
  for (const [view, width] of views.flatMap((one) => [[one, 1280], [one, 390]])) {
    await page.setViewportSize({ width, height: 720 });
    await open(view);
    await until(`${view} shows something`, async () => (await page.locator("main .say.waiting").count()) === 0 && (await page.locator("main .page").count()) === 1);
    const wide = await page.evaluate(() => [...document.querySelectorAll("body, main, .page, .page > *")].filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.className || box.tagName));
    assert.deepEqual(wide, [], `${view} at ${width}`);
  }
}
