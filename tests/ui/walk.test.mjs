// The walk over every page, in every look and width, on the real core with a task in it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CHANGES, makeRepository, makeReviewer, startBridge } from "./bridge.mjs";

const ACCEPTED = { verdict: "ACCEPTED", summary: "As it should be." };

test("every page in every look and width is accessible and fits", {
  timeout: 900_000,
}, async () => {
  const bridge = await startBridge();
  try {
    const { path, git } = makeRepository(bridge.folder);
    const { call } = bridge;
    /** @param {string} branch @param {unknown} submission */
    const reviewed = async (branch, submission) => {
      makeReviewer(bridge.folder, submission);
      const task = await call("task_add", { workspace: "app", branch });
      const { review } = await call("review_start", { task: task.id });
      const until = Date.now() + 60_000;
      for (;;) {
        const { state } = await call("review_show", { id: review });
        if (state === "published" || state === "ended") return;
        assert.ok(Date.now() < until, `review ${review} of ${branch} is still ${state}`);
        await new Promise((next) => setTimeout(next, 100));
      }
    };
    await call("workspace_add", { title: "app", path });
    await call("review_enable", { on: true });
    // One review of each kind that a script can make: changes, accepted, no valid verdict, stale.
    await reviewed("fix/etag", CHANGES);
    for (const branch of ["feat/clean", "feat/silent", "feat/moved"]) {
      git("switch", "-qc", branch, "main");
      git("commit", "-q", "--allow-empty", "-m", `feat: ${branch}`);
      await reviewed(branch, branch === "feat/silent" ? { verdict: "MAYBE" } : ACCEPTED);
    }
    git("commit", "-q", "--allow-empty", "-m", "feat: moved on");
    const walk = spawn(process.execPath, [fileURLToPath(new URL("walk.mjs", import.meta.url))], {
      env: { ...process.env, STEWARD_BRIDGE: bridge.url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    walk.stdout.on("data", (part) => (said += part));
    walk.stderr.on("data", (part) => (said += part));
    const code = await new Promise((done) => walk.once("exit", done));
    assert.equal(code, 0, said);
  } finally {
    await bridge.close();
  }
});
