/** Asks the data layer of the page over a running server and over a report, and prints a line of JSON per question. */

import { readFileSync } from "node:fs";
import { answers } from "../../frontend/src/data/answers.ts";
import { frozen } from "../../frontend/src/data/frozen.ts";
import { live } from "../../frontend/src/data/live.ts";

const { url, report, questions } = JSON.parse(readFileSync(0, "utf8"));
const fetched = globalThis.fetch;
globalThis.fetch = (path, options) => fetched(new URL(path, url), options);

async function ask(data, [name, ...given]) {
  try {
    return await data[name](...given);
  } catch (problem) {
    return { error: problem.message };
  }
}

const isRead = async () => (await live.sources()).sources.every((source) => source.done);
while (url && !(await isRead())) await new Promise((wake) => setTimeout(wake, 100));
const stores = { live: answers(live), report: answers(frozen(report)) };
for (const question of questions) {
  const told = {};
  for (const [name, data] of Object.entries(stores)) told[name] = await ask(data, question);
  console.log(JSON.stringify(told));
}
