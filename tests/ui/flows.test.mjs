// What a person does first, on the real core: add a workspace, add a task, read its gates, be asked
// before money is spent.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeRepository, startBridge } from "./bridge.mjs";
import { launch } from "./browser.mjs";
import { serve } from "./serve.mjs";

/** @type {import("./bridge.mjs").Bridge} */
let bridge;
/** @type {Awaited<ReturnType<typeof serve>>} */
let served;
/** @type {Awaited<ReturnType<typeof launch>>} */
let browser;
/** @type {import("playwright-core").Page} */
let page;
/** @type {ReturnType<typeof makeRepository>} */
let repository;
/** @type {string[]} */
const complaints = [];

before(async () => {
  bridge = await startBridge();
  repository = makeRepository(bridge.folder);
  served = await serve(bridge.url);
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // A refused command answers with an error status, which Chromium notes as well.
    if (message.type() === "error" && !message.text().includes("status of"))
      complaints.push(message.text());
  });
});

after(async () => {
  await browser?.close();
  served?.close();
  await bridge?.close();
});

test("an empty home offers the first steps", async () => {
  await page.goto(served.url);
  await page.getByTestId("first-workspace").waitFor();
});

test("a folder that is no repository is refused with the next step, and nothing is lost", async () => {
  await page.getByTestId("first-workspace").click();
  await page.getByTestId("add-workspace").click();
  await page.getByTestId("workspace-path").fill(bridge.folder);
  await page.getByTestId("problem").waitFor();
  assert.equal(await page.getByTestId("workspace-path").inputValue(), bridge.folder);
});

test("a git folder shows what it would be, and becomes a workspace", async () => {
  await page.getByTestId("workspace-path").fill(repository.path);
  await page.getByTestId("workspace-preview").getByText("fix/etag").waitFor();
  assert.equal(await page.getByTestId("workspace-title").inputValue(), "app");
  await page.getByTestId("workspace-confirm").click();
  await page.getByTestId("workspace-app").waitFor();
});

test("a branch becomes a task, and its gates stand failed first", async () => {
  await page.keyboard.press("2");
  await page.getByTestId("add-first-task").click();
  await page.getByTestId("branch-fix/etag").check();
  await page.getByTestId("task-confirm").click();
  await page.getByTestId("gate-no_churn").waitFor();
  assert.equal(await page.getByTestId("gate-no_churn").getAttribute("data-state"), "fail");
  const first = await page.locator("tr[data-state]").first().getAttribute("data-testid");
  assert.equal(first, "gate-no_churn");
  await page.getByTestId("evidence-no_churn").click();
  await page.locator("#evidence-no_churn").getByText("package-lock.json").first().waitFor();
});

test("a review asks first and is refused while reviews are off", async () => {
  await page.getByTestId("review-start").click();
  const asked = (await page.getByTestId("confirm").textContent()) ?? "";
  assert.match(asked, /fix: key the cache by id|fix\/etag/);
  assert.match(
    asked,
    new RegExp(repository.git("rev-parse", "--short=7", "fix/etag").toString().trim()),
  );
  assert.match(asked, /at most \$1\.50/);
  await page.getByTestId("confirm-ok").click();
  await page.getByTestId("toast").getByText("The review did not start").waitFor();
});

test("the place in the window survives a restart", async () => {
  const hash = new URL(page.url()).hash;
  assert.match(hash, /^#\/task\/\d+$/);
  await page.goto(served.url);
  await page.getByTestId("gate-no_churn").waitFor();
  assert.equal(new URL(page.url()).hash, hash);
});

test("the window never complained, nor broke its own CSP", () => {
  assert.deepEqual(complaints, []);
});
