/** A browser, a page in it, and the few things scenarios do over and over. */

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const PATIENCE = 10_000;

export function start() {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-lcd-text"];
  return chromium.launch({ executablePath: process.env.BROWSER || "/usr/bin/chromium", args });
}

/** A fresh page; whatever it says on its console is kept, and must be nothing. */
export async function visit(browser, url, { folder = "", report = "", expected = [], ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const said = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) said.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (problem) => said.push(`thrown: ${problem.message}`));
  page.on("dialog", (dialog) => {
    said.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const visitor = {
    /** How long to wait for anything. */
    patience: PATIENCE,
    context, page, url, folder, report, assert,
    open: (hash = "") => page.goto(`${url}#/${hash}`),
    /** Wait until something holds; say what, if it never does. */
    async until(what, holds) {
      const end = Date.now() + visitor.patience;
      let last;
      while (Date.now() < end) {
        last = await holds();
        if (last) return last;
        await page.waitForTimeout(40);
      }
      return assert.fail(`never: ${what} (last: ${JSON.stringify(last)}, at ${page.url()})`);
    },
    see: (text) => page.getByText(text).first().waitFor(),
    /** The number of the source whose name ends so. */
    async source(name) {
      const answer = await page.request.get(`${url}api/sources`);
      const { sources } = await answer.json();
      const found = sources.find((one) => one.name.endsWith(name));
      assert.ok(found, `there is no source ${name}`);
      return found.id;
    },
    keys: async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    },
    quiet: () => assert.deepEqual(said.filter((text) => !expected.some((part) => text.includes(part))), []),
  };
  return visitor;
}
