/** Dark as the system says, or as one chooses; the choice stays. */

const light = (page) => page.evaluate(() => {
  const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
  return (red + green + blue) / 3 > 128;
});

export default async function ({ page, open, assert, until, see }) {
  await page.emulateMedia({ colorScheme: "dark" });
  await open("servers");
  await see("Finance");
  assert.equal(await light(page), false);
  await page.emulateMedia({ colorScheme: "light" });
  await until("it follows the system", () => light(page));
  await page.locator("#theme").click();
  await until("the switch wins", async () => !(await light(page)));
  await page.reload();
  await see("Finance");
  assert.equal(await light(page), false, "the choice stays");
  await page.keyboard.press("t");
  await until("t goes on to light", () => light(page));
}
