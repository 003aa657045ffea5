import { cleanup, fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { RepositoryOffer } from "../../api/generated/RepositoryOffer";
import { Refusal } from "../../host";
import { notices } from "../../lib/notices.svelte";
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
    repository_add: ({ name }) => repository(name.replace(/^https:\/\/[^/]+\//, "")),
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
  expect(screen.getByTestId("offer-octo/site").closest("label")?.textContent).not.toContain(
    "github.com",
  );
  expect((screen.getByTestId("offer-octo/app") as HTMLInputElement).disabled).toBe(true);
  expect(screen.getByText("nobody is signed in to x")).toBeTruthy();
});

test("a clone becomes a workspace too, unless the person says no", async () => {
  await fireEvent.click(await screen.findByTestId("offer-octo/tools"));
  await watch();
  await vi.waitFor(() => expect(onadded).toHaveBeenCalledWith("octo/tools"));
  expect(host.asked("repository_add")).toEqual([
    {
      name: "https://github.com/octo/tools",
      preset: "code-app",
      workspacePath: "/src/tools",
    },
  ]);
});

test.each([
  ["lin/other", "lin/other"],
  ["https://github.com/lin/other/pull/3", "https://github.com/lin/other"],
  ["git@ghe.example:lin/other.git", "https://ghe.example/lin/other"],
  // The offer of that name is another host's.
  ["https://ghe.example/octo/site", "https://ghe.example/octo/site"],
])("%s is watched as %s", async (text, asked) => {
  await screen.findByTestId("offer-octo/site");
  await write(text);
  expect(screen.getByTestId("free-name").textContent).toMatch(/lin\/other|octo\/site/);
  await watch();
  await vi.waitFor(() =>
    expect(host.asked("repository_add")).toEqual([{ name: asked, preset: "code-app" }]),
  );
});

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

describe("with an account on each of two hosts", () => {
  beforeEach(() => {
    const ghe = { host: "ghe.example" };
    host.answers.repository_offers = () => ({
      clones: [],
      account: [
        offer("octo/app"),
        offer("octo/app", ghe),
        offer("octo/docs", ghe),
        // Two accounts there share it.
        offer("octo/docs", ghe),
      ],
      problems: [{ code: "account", message: "octo@github.com cannot be listed", hint: null }],
    });
    host.answers.account_list = () => ({
      accounts: [account(), account(ghe), account({ ...ghe, login: "cat" })],
      gh: [],
      keyring: null,
      budgets: [],
    });
    cleanup();
    render(AddRepository, { onclose: vi.fn(), onadded });
  });

  const accounts = (): string[] =>
    [...screen.getByTestId<HTMLSelectElement>("repository-account").options].map((one) =>
      one.textContent.trim(),
    );

  test("the second one's offer is watched on its host, and says which that is", async () => {
    const [, second] = await screen.findAllByTestId("offer-octo/app");
    expect(second?.closest("label")?.textContent).toContain("ghe.example");
    expect(screen.getAllByTestId("offer-octo/docs")).toHaveLength(1);
    await fireEvent.click(second as HTMLElement);
    expect(screen.getByTestId("repository-confirm").textContent).toContain("ghe.example/octo/app");
    await watch();
    await vi.waitFor(() =>
      expect(host.asked("repository_add")).toEqual([
        { name: "https://ghe.example/octo/app", preset: "code-app" },
      ]),
    );
  });

  test("an account is named with its host, and only those that can read it are offered", async () => {
    const [first, second] = await screen.findAllByTestId("offer-octo/app");
    await fireEvent.click(second as HTMLElement);
    expect(accounts().slice(1)).toEqual(["octo on ghe.example", "cat on ghe.example"]);
    const select = screen.getByTestId<HTMLSelectElement>("repository-account");
    await fireEvent.change(select, { target: { value: "octo@ghe.example" } });
    await watch();
    await vi.waitFor(() =>
      expect(host.asked("repository_add")).toEqual([
        { name: "https://ghe.example/octo/app", preset: "code-app", account: "octo@ghe.example" },
      ]),
    );
    // What cannot read the next one is not sent with it.
    await fireEvent.click(first as HTMLElement);
    await watch();
    await vi.waitFor(() =>
      expect(host.asked("repository_add")[1]).toEqual({
        name: "https://github.com/octo/app",
        preset: "code-app",
      }),
    );
  });

  test("a name that both have is chosen by a click, not by typing", async () => {
    await screen.findAllByTestId("offer-octo/app");
    await write("octo/app");
    expect((screen.getByTestId("repository-confirm") as HTMLButtonElement).disabled).toBe(true);
    await write("https://ghe.example/octo/app");
    expect(screen.getAllByTestId("offer-octo/app")).toHaveLength(1);
    await watch();
    await vi.waitFor(() =>
      expect(host.asked("repository_add")).toEqual([
        { name: "https://ghe.example/octo/app", preset: "code-app" },
      ]),
    );
  });

  test("what could not be offered is looked for again when the person asks", async () => {
    await screen.findByText("octo@github.com cannot be listed");
    host.answers.repository_offers = () => {
      throw new Error("the line broke");
    };
    await fireEvent.click(screen.getByTestId("offers-again"));
    expect(await screen.findByText(/Shown as of just now: the line broke/)).toBeTruthy();
    expect(screen.getAllByTestId("offer-octo/app")).toHaveLength(2);
    host.answers.repository_offers = () => ({
      clones: [],
      account: [offer("octo/new")],
      problems: [],
    });
    await fireEvent.click(screen.getByText("Try again"));
    expect(await screen.findByTestId("offer-octo/new")).toBeTruthy();
  });
});

test("offers that cannot be read at all can be asked for again", async () => {
  host.answers.repository_offers = () => {
    throw new Error("the line broke");
  };
  cleanup();
  render(AddRepository, { onclose: vi.fn(), onadded });
  await screen.findByText(/the line broke/);
  host.answers.repository_offers = () => ({
    clones: [],
    account: [offer("octo/new")],
    problems: [],
  });
  await fireEvent.click(screen.getByText("Try again"));
  expect(await screen.findByTestId("offer-octo/new")).toBeTruthy();
});

test("an answer that comes after the dialog was closed is said, and goes nowhere", async () => {
  let answer = (): void => undefined;
  host.answers.repository_add = () =>
    new Promise((done) => {
      answer = () => done(repository("octo/site"));
    }) as never;
  await fireEvent.click(await screen.findByTestId("offer-octo/site"));
  await watch();
  cleanup();
  answer();
  await vi.waitFor(() => expect(notices.toasts.at(-1)?.text).toBe("octo/site is watched"));
  expect(onadded).not.toHaveBeenCalled();
});
