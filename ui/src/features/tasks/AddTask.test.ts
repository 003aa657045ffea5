import { cleanup, fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import { Refusal } from "../../host";
import { notices } from "../../lib/notices.svelte";
import { type Script, script } from "../../testing/host";
import { task } from "../../testing/views";
import AddTask from "./AddTask.svelte";

let host: Script;
const onadded = vi.fn();

beforeEach(async () => {
  onadded.mockClear();
  host = script({
    workspace_list: () => ({ workspaces: [] }),
    task_add: () => task(9),
  });
  render(AddTask, { onclose: vi.fn(), onadded });
  await fireEvent.click(screen.getByTestId("task-from-pull"));
});

const write = (text: string): Promise<boolean> =>
  fireEvent.input(screen.getByTestId("task-pull"), { target: { value: text } });
const confirm = (): HTMLButtonElement => screen.getByTestId("task-pull-confirm");

test("a pull request becomes a task by what the person pasted", async () => {
  await write("https://github.com/octo/app/pull/12");
  expect(screen.getByRole("status").textContent).toContain("#12 of octo/app");
  await fireEvent.click(confirm());
  await vi.waitFor(() => expect(onadded).toHaveBeenCalledWith(9));
  expect(host.asked("task_add")).toEqual([{ pull: "https://github.com/octo/app/pull/12" }]);
});

test("what names no pull request is asked of nobody", async () => {
  expect(confirm().disabled).toBe(true);
  await write("octo/app");
  expect(confirm().disabled).toBe(true);
  expect(screen.getByRole("status").textContent).toContain("no pull request yet");
});

test("a refusal stays with what was written", async () => {
  host.answers.task_add = () => {
    throw new Refusal({ code: "refused", message: "octo/app#12 is not there", hint: null });
  };
  await write("octo/app#12");
  await fireEvent.click(confirm());
  expect((await screen.findByTestId("problem")).textContent).toContain("octo/app#12 is not there");
  expect(onadded).not.toHaveBeenCalled();
});

test("a refusal that comes after the dialog was closed is said in passing", async () => {
  let refuse = (): void => undefined;
  host.answers.task_add = () =>
    new Promise((_, no) => {
      refuse = () => no(new Refusal({ code: "refused", message: "it is not there", hint: null }));
    }) as never;
  await write("octo/app#12");
  await fireEvent.click(confirm());
  cleanup();
  refuse();
  await vi.waitFor(() =>
    expect(notices.toasts.at(-1)?.text).toBe("The task was not added: it is not there"),
  );
  expect(onadded).not.toHaveBeenCalled();
});
