/** On a laptop, a tablet and a phone no page is wider than its window, nothing in its head overlaps, and targets are large enough to tap. */

const WIDTHS = [1280, 768, 390];
/** The least height in pixels of what can be tapped, by the width of the window. */
const TAP = { 1280: 0, 768: 30, 390: 36 };

/** Boxes that are wider inside than outside, though they do not scroll by themselves. */
const tooWide = () => [...document.querySelectorAll("body, main, .page, .page > *, .home-body, .panel, .item-body > *, .run-body, .one-side")]
  .filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.className || box.tagName);

/** Pairs of neighbours in the head of a page, or in the navigation, that cover each other. */
const overlapping = () => ["header.top > *", ".item-top .actions > *", ".side .pages > li", ".facts > *"].flatMap((which) => {
  const boxes = [...document.querySelectorAll(which)].map((box) => [box, box.getBoundingClientRect()]).filter(([, area]) => area.width && area.height);
  return boxes.flatMap(([one, a], at) => boxes.slice(at + 1)
    .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
    .map(([other]) => `${one.className || one.tagName} and ${other.className || other.tagName}`));
});

/** What can be tapped in the head, the navigation and the lists, and is lower than it should be. */
const tooSmall = (least) => [...document.querySelectorAll(".side a, .side button, header.top button, header.top select, a.line, a.pairing, a.file-row, .tool-list button, .facet label, .tool-form button, .card, .source > a")]
  .filter((box) => { const { width, height } = box.getBoundingClientRect(); return width && height && height < least; })
  .map((box) => `${box.className || box.tagName} ${Math.round(box.getBoundingClientRect().height)}`);

export default async function ({ page, open, source, assert, until }) {
  const id = await source("before.jsonl"), other = await source("after.jsonl"), run = await source("run"), corpus = await source("corpus/train");
  const views = [
    "", "data", `data/${id}`, `data/${corpus}`, `data/${id}/0`, `data/${corpus}/0`, `compare?left=${id}&right=${other}`, `compare/pair?left=${id}&left_at=0&right=${other}&right_at=0`,
    `runs/${run}`, "servers", "servers/banking", "servers/banking?tool=transfer_funds", "servers/banking?tab=world", "graph/payments", "servers/boat_hire_0_0", "graph/boat_hire_0_0",
  ];
  for (const [view, width] of views.flatMap((one) => WIDTHS.map((width) => [one, width]))) {
    const where = `${view || "home"} at ${width}`;
    await page.setViewportSize({ width, height: 720 });
    if (width === WIDTHS[0]) await open(view);
    await until(`${where} shows something`, async () => (await page.locator("main .say.waiting").count()) === 0 && (await page.locator("main .page").count()) === 1);
    // The page is laid out again after the window has changed, so it is asked until it fits.
    let wrong = [];
    const fits = async () => {
      wrong = [...(await page.evaluate(tooWide)), ...(await page.evaluate(overlapping)), ...(await page.evaluate(tooSmall, TAP[width]))];
      return wrong.length === 0;
    };
    await until(`${where} fits`, fits).catch(() => assert.deepEqual(wrong, [], where));
  }

  await page.setViewportSize({ width: 390, height: 720 });
  await open(`data/${id}`);
  await page.locator("a.line").first().waitFor();
  assert.equal(await page.locator(".facets").isVisible(), false);
  await page.getByRole("button", { name: "Filters" }).click();
  await page.locator(".facet label", { hasText: "multi turn" }).click();
  await page.getByRole("button", { name: "Show the list" }).click();
  await until("the list is filtered", async () => page.url().includes("kind=multi_turn") && (await page.locator("a.line").first().isVisible()));
  assert.ok((await page.getByRole("button", { name: "Filters (1)" }).count()) === 1);

  await open("servers/banking");
  await page.getByRole("button", { name: "transfer_funds" }).click();
  await page.getByRole("button", { name: "Call transfer_funds" }).waitFor();
  assert.equal(await page.locator(".tool-list").isVisible(), false);
  await page.getByRole("button", { name: "All tools" }).click();
  await until("back at the tools", () => page.locator(".tool-list").isVisible());
}
