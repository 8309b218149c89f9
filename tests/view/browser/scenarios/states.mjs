/** Nothing is ever blank: wrong links, an answer that fails, a server that is gone. */

export const expected = ["Failed to load resource"];

export default async function ({ page, open, source, see, until }) {
  await open("nowhere");
  await see("There is no page of that name");
  await open("data/9999");
  await see("There is no source 9999 here");
  await open(`data/${await source("before.jsonl")}/999999`);
  await until("a sentence", async () => (await page.locator(".say.problem").count()) === 1);
  await open("servers/no_such_server");
  await until("a sentence", async () => (await page.locator(".say.problem").count()) === 1);
  await open(`data/${await source("foreign.jsonl")}`);
  await until("a sentence", async () => (await page.locator(".say.problem").count()) === 1);
  await open(`data/${await source("cut.jsonl")}`);
  await page.locator(".notice").waitFor();
  await until("what can be read is there", async () => (await page.locator("a.line").count()) === 1);

  await page.route("**/api/servers", (route) => route.fulfill({ status: 500, json: { error: "Something broke; try again." } }));
  await open("servers");
  await see("Something broke; try again.");
  await page.route("**/api/**", (route) => route.abort());
  await open(`compare`);
  await until("it says that the server is gone", async () => /does not answer/.test(await page.locator("main").innerText()));
}
