// What a person does with questions, on the real core and real panes: switch them on, see who is watched,
// allow a prompt, answer a waiting command word for word, and send again what came back.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeFolder, startBridge } from "./bridge.mjs";
import { launch } from "./browser.mjs";
import { DEAF, EDITOR, IDLE, prompting, startTmux } from "./panes.mjs";
import { serve } from "./serve.mjs";

const STEWARD = fileURLToPath(
  new URL(`${process.env.CARGO_TARGET_DIR ?? "../../target"}/debug/steward`, import.meta.url),
);
const SEEN_WITHIN_MS = 60_000;
const WORDS = 'B, but keep the old files: "*.wal" & $HOME, <b>é</b> too';

/** @type {string} */
let folder;
/** @type {import("./panes.mjs").Panes} */
let panes;
/** @type {Record<"coord" | "idle" | "brain" | "deaf", string>} */
let pane;
/** @type {import("./bridge.mjs").Bridge} */
let bridge;
/** @type {Awaited<ReturnType<typeof serve>>} */
let served;
/** @type {Awaited<ReturnType<typeof launch>>} */
let browser;
/** @type {import("playwright-core").Page} */
let page;
/** @type {string[]} */
const complaints = [];

before(async () => {
  folder = makeFolder();
  panes = startTmux(folder);
  pane = {
    coord: panes.script(prompting(join(panes.home, "key"))),
    idle: panes.script(IDLE),
    brain: panes.script(EDITOR),
    deaf: panes.script(DEAF),
  };
  bridge = await startBridge({ folder, tmux: panes.address });
  served = await serve(bridge.url);
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(20_000);
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
  panes?.close();
  await bridge?.close();
});

/** @param {string} name */
const text = async (name) => (await page.getByTestId(name).textContent()) ?? "";
/** @param {string} name @param {string | RegExp} words */
const says = (name, words) =>
  page.getByTestId(name).filter({ hasText: words }).waitFor({ timeout: SEEN_WITHIN_MS });

/**
 * Waits until something outside the page is so.
 * @param {string} what @param {() => boolean} holds
 */
async function until(what, holds) {
  const late = Date.now() + SEEN_WITHIN_MS;
  while (!holds()) {
    assert.ok(Date.now() < late, `${what} did not come`);
    await page.waitForTimeout(50);
  }
}

test("switched off, the page says how to switch on, and follows when that is done", async () => {
  await page.goto(served.url);
  await page.keyboard.press("5");
  assert.match(await text("roster-off"), /enabled: true/);
  writeFileSync(
    join(folder, "home", "config.yaml"),
    `questions:
  enabled: true
  owner: leon
  keys: true
  roster:
    - {agent: coord, project: app, pane: "${pane.coord}", adapter: claude}
    - {agent: idler, project: app, pane: "${pane.idle}", adapter: claude}
    - {agent: brain, project: ideas, pane: "${pane.brain}"}
    - {agent: deaf, project: site, pane: "${pane.deaf}"}
    - {agent: lost, project: site, pane: "%99"}
    - {agent: night, project: site, pane: "%98", declaredAbsent: sleeping}
`,
  );
  // Keys into panes are a power: they hold once the person confirmed them.
  const { change } = await bridge.call("power_show", {});
  await bridge.call("power_confirm", { change });
  await says("member-coord", "WAITING");
  await says("member-idler", "IDLE");
  await says("member-lost", "FLAGGED: CAPTURE FAILED: there is no pane %99");
  await says("roster-tick", "(2 capture-failed)");
  await says("foot-roster", "CAPTURE FAILED: 1");
  const night = await text("member-night");
  assert.match(night, /UNWATCHABLE/);
  assert.match(night, /declared sleeping/);
  assert.doesNotMatch(night, /FLAGGED/);
});

test("a member's screen is read as text", async () => {
  await page.getByTestId("member-coord").click();
  await says("capture", "Make the file <b>built</b>");
  assert.equal(await page.getByTestId("capture").locator("b").count(), 0);
});

test("the prompt in its pane stands first in the inbox and is allowed once, by one key", async () => {
  await page.keyboard.press("1");
  const row = page.getByRole("row").filter({ hasText: "PROMPT" });
  await row.waitFor({ timeout: SEEN_WITHIN_MS });
  assert.match((await row.textContent()) ?? "", /\[pane-judged\] app · coord@/);
  await row.click();
  await says("question-judged", "PANE-JUDGED");
  await says("prompt-subject", "touch built");
  await page.getByTestId("prompt-allow").click();
  assert.match(await text("confirm"), /touch built/);
  await page.getByTestId("confirm-ok").click();
  await says("answer-stands", "sent, and seen taken");
  assert.equal(readFileSync(join(panes.home, "key"), "utf8"), "1");
  assert.match(panes.shows(pane.coord), /it went on/);
});

test("a command that waits prints exactly the words that were typed here", async () => {
  const words = ["need", "WAL or rollback?", "--topic", "storage", "--project", "app"];
  const asked = spawn(
    STEWARD,
    [...words, "--option", "WAL", "--option", "rollback", "--agent", "shell", "--wait"],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { PATH: process.env.PATH, HOME: folder, STEWARD_HOME: join(folder, "home") },
    },
  );
  let printed = "";
  asked.stdout.setEncoding("utf8");
  asked.stdout.on("data", (part) => {
    printed += part;
  });
  const ended = new Promise((done) => asked.once("exit", done));
  await page.keyboard.press("1");
  await page
    .getByRole("row")
    .filter({ hasText: "WAL or rollback?" })
    .click({ timeout: SEEN_WITHIN_MS });
  await page.getByTestId("option-B").click();
  assert.equal(await page.getByTestId("answer-field").inputValue(), "B) rollback");
  await page.getByTestId("answer-field").fill(WORDS);
  await page.keyboard.press("Control+Enter");
  assert.equal(await ended, 0);
  assert.equal(printed, `${WORDS}\n`);
  await says("answer-stands", "the asker has it");
  await says("question-state", "ANSWERED");
});

/** @param {string} topic @param {string} where */
async function raise(topic, where) {
  const { id } = await bridge.call("need_raise", {
    source: "mcp",
    who: { pane: where },
    topic,
    question: `What of ${topic}?`,
    options: [],
  });
  await page.goto(`${served.url}/?${topic}#/question/${id}`);
  await page.getByTestId("answer-field").fill(WORDS);
  await page.getByTestId("answer-send").click();
  await says("answer-stands", "the asker has not fetched it yet");
}

test("an answer that nobody fetched is typed into its pane when the person says so", async () => {
  await raise("typing", pane.brain);
  await page.getByTestId("answer-type").click();
  assert.match(await text("confirm"), /keep the old files/);
  await page.getByTestId("confirm-ok").click();
  await says("answer-stands", "sent, and seen taken");
  const script = panes.tmux("display-message", "-p", "-t", pane.brain, "#{pane_start_command}");
  const got = `${script.split(" ").at(-1)?.replaceAll('"', "")}.got`;
  await until("the line in the pane", () => existsSync(got));
  assert.match(
    readFileSync(got, "utf8"),
    /^\[ideas\] leon answers brain@\S+ \(NEED \[typing\]\): B, /,
  );
  assert.ok(readFileSync(got, "utf8").trimEnd().endsWith(WORDS));
});

test("an answer that could not be typed comes back with its reason, and is sent again as it was", async () => {
  await raise("deafness", pane.deaf);
  await page.getByTestId("answer-type").click();
  await page.getByTestId("confirm-ok").click();
  await page.getByTestId("answer-returned").waitFor({ timeout: SEEN_WITHIN_MS });
  await says("question-state", "UNDELIVERED");
  const row = page.getByRole("row").filter({ hasText: "What of deafness?" });
  assert.match((await row.textContent()) ?? "", /UNDELIVERED/);
  await page.getByTestId("answer-again").click();
  await says("answer-stands", "the asker has not fetched it yet");
  assert.equal(await text("answer-words"), WORDS);
});

test("an answer that nobody fetched is undone from its toast, and its words are in the field again", async () => {
  await raise("regret", pane.idle);
  await page.getByTestId("toast-undo").last().click();
  await page.getByTestId("answer-field").waitFor();
  assert.equal(await page.getByTestId("answer-field").inputValue(), WORDS);
  await page.getByTestId("question-drop").click();
  await page.getByTestId("confirm-ok").click();
  await says("question-state", "PUT AWAY");
});

test("a question is put away unanswered, and says so afterwards", async () => {
  const { id } = await bridge.call("need_raise", {
    source: "mcp",
    who: { pane: pane.idle },
    topic: "tea",
    question: "Tea?",
    options: [],
  });
  await page.goto(`${served.url}/?tea#/question/${id}`);
  await page.getByTestId("question-drop").click();
  await page.getByTestId("confirm-ok").click();
  await says("question-state", "PUT AWAY");
  await page.keyboard.press("5");
  await says(`need-${id}`, "PUT AWAY");
});

test("the window never complained, nor broke its own CSP", () => {
  assert.deepEqual(complaints, []);
});
