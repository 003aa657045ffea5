import { flushSync } from "svelte";
import { afterEach, expect, test } from "vitest";
import { script } from "../testing/host";
import { type Resource, resourceOf } from "./resource.svelte";

let end: (() => void) | undefined;
afterEach(() => end?.());

function inRoot<T>(make: () => T): T {
  let made: T | undefined;
  end = $effect.root(() => {
    made = make();
  });
  flushSync();
  return made as T;
}

const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 0));

test("a topic fetches again, another topic does not", async () => {
  const host = script({});
  let n = 0;
  const view = inRoot(() =>
    resourceOf(
      () => 1,
      async () => ++n,
      (topic) => topic === "inbox",
    ),
  );
  await settle();
  expect(view.data).toBe(1);
  host.say("tasks");
  await settle();
  expect(view.data).toBe(1);
  host.say("inbox");
  await settle();
  expect(view.data).toBe(2);
});

test("a failure keeps the last good answer and says why", async () => {
  const host = script({});
  let fail = false;
  const view = inRoot(() =>
    resourceOf(
      () => 1,
      async () => {
        if (fail) throw new Error("the disk is gone");
        return "good";
      },
      () => true,
    ),
  );
  await settle();
  fail = true;
  host.say("any");
  await settle();
  expect([view.data, view.error?.message]).toEqual(["good", "the disk is gone"]);
  fail = false;
  host.say("any");
  await settle();
  expect(view.error).toBeNull();
});

test("an answer to an older question is dropped", async () => {
  script({});
  const waiting = new Map<number, (answer: string) => void>();
  let key = $state(1);
  const view: Resource<string> = inRoot(() =>
    resourceOf(
      () => key,
      (wanted) => new Promise<string>((answer) => waiting.set(wanted, answer)),
      () => false,
    ),
  );
  key = 2;
  flushSync();
  waiting.get(1)?.("old");
  await settle();
  expect(view.data).toBeUndefined();
  waiting.get(2)?.("new");
  await settle();
  expect(view.data).toBe("new");
});

test("topics heard while a fetch is under way make one more fetch, not many", async () => {
  const host = script({});
  const waiting: (() => void)[] = [];
  inRoot(() =>
    resourceOf(
      () => 1,
      () => new Promise<number>((answer) => waiting.push(() => answer(waiting.length))),
      () => true,
    ),
  );
  host.say("a");
  host.say("b");
  host.say("c");
  expect(waiting.length).toBe(1);
  waiting[0]?.();
  await settle();
  expect(waiting.length).toBe(2);
  waiting[1]?.();
  await settle();
  expect(waiting.length).toBe(2);
});

test("one whose page has gone asks nothing more, not even on its way out", async () => {
  const host = script({});
  let asked = 0;
  let open: { id: number } | undefined = { id: 1 };
  const waiting: (() => void)[] = [];
  const view: Resource<number> = inRoot(() =>
    resourceOf(
      () => (open as { id: number }).id,
      () => {
        asked += 1;
        return new Promise<number>((answer) => waiting.push(() => answer(asked)));
      },
      () => true,
    ),
  );
  host.say("any");
  open = undefined;
  end?.();
  waiting[0]?.();
  await settle();
  await view.refetch();
  expect(asked).toBe(1);
});
