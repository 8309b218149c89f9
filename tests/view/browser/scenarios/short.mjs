/** Charts of runs with one to ten steps: a tick at each step or at every second, no label twice, every point to be seen. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Keeps what is drawn on each canvas since it was last cleared: texts with their places, and circles. */
function watchCanvases() {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype, { arc } = Path2D.prototype;
  window.circles = 0;
  CanvasRenderingContext2D.prototype.clearRect = function (...given) {
    this.canvas.texts = [];
    return clearRect.apply(this, given);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    (this.canvas.texts ??= []).push({ text, x, y });
    return fillText.call(this, text, x, y, ...rest);
  };
  Path2D.prototype.arc = function (...given) {
    window.circles++;
    return arc.apply(this, given);
  };
}

/** The labels of a chart: those in the lowest row belong to the steps, the others to the values. */
const labels = (canvas) => {
  const texts = canvas.texts ?? [];
  const lowest = Math.max(...texts.map(({ y }) => y));
  return { steps: texts.filter(({ y }) => y === lowest).map(({ text }) => text), values: texts.filter(({ y }) => y !== lowest).map(({ text }) => text) };
};

export default async function ({ page, open, folder, source, assert, until }) {
  const [line] = (await readFile(join(folder, "earlier", "metrics.jsonl"), "utf8")).split("\n");
  const sizes = [1, 2, 3, 7, 10];
  for (const size of sizes) {
    await mkdir(join(folder, `short-${size}`), { recursive: true });
    const lines = Array.from({ length: size }, (_, at) => ({ ...JSON.parse(line), step: at + 1, reward: 0.4 + 0.05 * (at % 3) }));
    await writeFile(join(folder, `short-${size}`, "metrics.jsonl"), lines.map((one) => `${JSON.stringify(one)}\n`).join(""));
  }
  await page.addInitScript(watchCanvases);
  await open("runs");
  await page.reload();
  for (const [size, width] of sizes.flatMap((one) => [[one, 1280], [one, 390]])) {
    await page.evaluate(() => (window.circles = 0));
    await page.setViewportSize({ width, height: 800 });
    const id = await until(`a run of ${size}`, () => source(`short-${size}`).catch(() => null).then((found) => (found === null ? null : { found })));
    await open(`runs/${id.found}`);
    await until(`${size} points`, async () => (await page.locator(".curve").first().getAttribute("data-points").catch(() => "")) === String(size));
    await until("points are drawn as dots", () => page.evaluate((least) => window.circles >= least, size));
    await page.waitForTimeout(100);
    for (const { steps, values } of await page.locator(".curve canvas").evaluateAll((all, read) => all.map(new Function(`return (${read})`)()), labels.toString())) {
      const every = size < 10 ? 1 : Number(steps[1]) - 1;
      assert.ok(every === 1 || every === 2, `steps of ${size} at ${width}: ${steps}`);
      assert.deepEqual(steps, Array.from({ length: size }, (_, at) => String(at + 1)).filter((_, at) => at % every === 0), `steps of ${size} at ${width}`);
      assert.equal(new Set(values).size, values.length, `a label stands twice: ${values}`);
      assert.ok(values.length > 1, "the values have a scale");
    }
  }
}
