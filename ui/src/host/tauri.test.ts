import { emit } from "@tauri-apps/api/event";
import { clearMocks, mockIPC } from "@tauri-apps/api/mocks";
import { afterEach, expect, test, vi } from "vitest";
import { tauriHost } from "./tauri";
import { Refusal } from "./types";

afterEach(clearMocks);

test("a command is one invoke with its name and request", async () => {
  const seen: unknown[] = [];
  mockIPC((command, args) => {
    seen.push([command, args]);
    return { text: "copied" };
  });
  expect(await tauriHost.call("review_copy", { id: 7 })).toEqual({ text: "copied" });
  expect(seen).toEqual([["call", { name: "review_copy", request: { id: 7 } }]]);
});

test("a refusal keeps its code, message and hint", async () => {
  mockIPC(() => {
    throw { code: "refused", message: "reviews are off", hint: "turn them on" };
  });
  const refused = await tauriHost
    .call("review_start", { task: 1 })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Refusal);
  expect(refused).toMatchObject({
    code: "refused",
    message: "reviews are off",
    hint: "turn them on",
  });
});

test("the token of the HTTP door is copied by the shell, and a refusal keeps its words", async () => {
  const seen: unknown[] = [];
  mockIPC((command) => {
    seen.push(command);
    if (seen.length > 1) throw { code: "config", message: "others may read it", hint: null };
  });
  await tauriHost.copyHttpToken();
  const refused = await tauriHost.copyHttpToken().catch((error: unknown) => error);
  expect(seen).toEqual(["copy_http_token", "copy_http_token"]);
  expect(refused).toMatchObject({ code: "config", message: "others may read it" });
});

test("topics, targets and dropped files are heard until stopped", async () => {
  mockIPC(() => {}, { shouldMockEvents: true });
  const heard: unknown[] = [];
  const stops = [
    tauriHost.onTopic((topic) => heard.push(topic)),
    tauriHost.onOpen((target) => heard.push(target)),
    tauriHost.onDrop((paths) => heard.push(paths)),
  ];
  await Promise.resolve();
  await emit("topic", { topic: "review:7" });
  await emit("open", { target: "review/7" });
  await emit("tauri://drag-drop", { paths: ["/tmp/a.png"] });
  await vi.waitFor(() => expect(heard).toEqual(["review:7", "review/7", ["/tmp/a.png"]]));
  for (const stop of stops) stop();
  await new Promise((done) => setTimeout(done, 0));
  await emit("topic", { topic: "inbox" });
  await new Promise((done) => setTimeout(done, 0));
  expect(heard).toHaveLength(3);
});
