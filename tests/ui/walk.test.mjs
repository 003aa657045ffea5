// The walk over every page, in every look and width, on the real core with a task in it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeRepository, startBridge } from "./bridge.mjs";

test("every page in every look and width is accessible and fits", {
  timeout: 900_000,
}, async () => {
  const bridge = await startBridge();
  try {
    const { path } = makeRepository(bridge.folder);
    /** @param {string} name @param {unknown} request */
    const call = async (name, request) => {
      const answer = await fetch(`${bridge.url}/call/${name}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
      assert.ok(answer.ok, await answer.clone().text());
    };
    await call("workspace_add", { title: "app", path });
    await call("task_add", { workspace: "app", branch: "fix/etag" });
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
