/** Plays scenarios in one browser, each on a page of its own, and prints what each came to as a line of JSON. */

import { start, visit } from "./page.mjs";

const [url, folder, report, ...names] = process.argv.slice(2);
const browser = await start();
for (const name of names) {
  const began = performance.now();
  let problem = "";
  try {
    const { default: play, expected = [] } = await import(`./scenarios/${name}.mjs`);
    const visitor = await visit(browser, url, { folder, report, expected });
    try {
      await play(visitor);
      visitor.quiet();
    } finally {
      await visitor.context.close();
    }
  } catch (reason) {
    problem = reason?.stack ?? String(reason);
  }
  const seconds = (performance.now() - began) / 1000;
  console.log(JSON.stringify({ name, ok: !problem, seconds, problem }));
}
await browser.close();
