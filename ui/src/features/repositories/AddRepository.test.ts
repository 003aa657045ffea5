import { fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import type { RepositoryOffer } from "../../api/generated/RepositoryOffer";
import { Refusal } from "../../host";
import { type Script, script } from "../../testing/host";
import { account, repository } from "../../testing/views";
import AddRepository from "./AddRepository.svelte";

let host: Script;
const onadded = vi.fn();

function offer(name: string, change: Partial<RepositoryOffer> = {}): RepositoryOffer {
  return {
    host: "github.com",
    name,
    path: null,
    private: false,
    archived: false,
    activeAt: null,
    watched: false,
    ...change,
  };
}

beforeEach(() => {
  onadded.mockClear();
  host = script({
    repository_offers: () => ({
      clones: [offer("octo/tools", { path: "/src/tools" })],
      account: [offer("octo/site"), offer("octo/app", { watched: true }), offer("octo/tools")],
      problems: [{ code: "signed_out", message: "nobody is signed in to x", hint: null }],
    }),
    account_list: () => ({ accounts: [account()], gh: [], keyring: null, budgets: [] }),
    repository_add: ({ name }) => repository(name),
  });
  render(AddRepository, { onclose: vi.fn(), onadded });
});

const write = (text: string): Promise<boolean> =>
  fireEvent.input(screen.getByTestId("repository-name"), { target: { value: text } });
const watch = async (): Promise<void> => {
  const confirm = screen.getByTestId("repository-confirm");
  await vi.waitFor(() => expect((confirm as HTMLButtonElement).disabled).toBe(false));
  await fireEvent.click(confirm);
};

test("offers what is cloned here and what the account has, each once, and says what it could not read", async () => {
  expect(await screen.findByTestId("offer-octo/site")).toBeTruthy();
  expect(screen.getAllByTestId("offer-octo/tools")).toHaveLength(1);
  expect((screen.getByTestId("offer-octo/app") as HTMLInputElement).disabled).toBe(true);
  expect(screen.getByText("nobody is signed in to x")).toBeTruthy();
});

test("a clone becomes a workspace too, unless the person says no", async () => {
  await fireEvent.click(await screen.findByTestId("offer-octo/tools"));
  await watch();
  await vi.waitFor(() => expect(onadded).toHaveBeenCalledWith("octo/tools"));
  expect(host.asked("repository_add")).toEqual([
    { name: "octo/tools", preset: "code-app", workspacePath: "/src/tools" },
  ]);
});

test.each(["lin/other", "https://github.com/lin/other/pull/3"])(
  "%s is watched by its name",
  async (text) => {
    await screen.findByTestId("offer-octo/site");
    await write(text);
    expect(screen.getByTestId("free-name").textContent).toContain("lin/other");
    await watch();
    await vi.waitFor(() =>
      expect(host.asked("repository_add")).toEqual([{ name: "lin/other", preset: "code-app" }]),
    );
  },
);

test("half a name watches nothing", async () => {
  await screen.findByTestId("offer-octo/site");
  await write("nowhere");
  expect((screen.getByTestId("repository-confirm") as HTMLButtonElement).disabled).toBe(true);
});

test("a refusal keeps what was chosen and says why", async () => {
  host.answers.repository_add = () => {
    throw new Refusal({ code: "not_found", message: "GitHub knows no octo/site", hint: null });
  };
  await fireEvent.click(await screen.findByTestId("offer-octo/site"));
  await watch();
  expect((await screen.findByTestId("problem")).textContent).toContain("GitHub knows no octo/site");
  expect(onadded).not.toHaveBeenCalled();
});
