import { fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { AccountView } from "../../api/generated/AccountView";
import type { GhView } from "../../api/generated/GhView";
import { Refusal } from "../../host";
import { asking } from "../../lib/ask.svelte";
import { notices } from "../../lib/notices.svelte";
import { type Script, script } from "../../testing/host";
import { account } from "../../testing/views";
import Accounts from "./Accounts.svelte";

let host: Script;
let accounts: AccountView[];
let gh: GhView[];

beforeEach(() => {
  for (const toast of notices.toasts) notices.dismiss(toast.id);
  accounts = [account()];
  gh = [];
  host = script({
    account_list: () => ({ accounts, gh, keyring: null, budgets: [] }),
    account_check: () => account(),
    account_from_gh: ({ host: name }) => account({ host: name, login: "cat" }),
    account_sign_out: () => ({ message: "octo is signed out" }),
  });
});

const toast = (): string | undefined => notices.toasts.at(-1)?.text;

describe("an account", () => {
  test("shows its scopes as required or recommended, granted or missing", async () => {
    render(Accounts);
    const required = (await screen.findByTestId("scope-public_repo")).textContent ?? "";
    for (const word of ["required", "GRANTED", "Review seat"]) expect(required).toContain(word);
    const more = screen.getByTestId("scope-repo").textContent ?? "";
    for (const word of ["recommended", "NOT GRANTED"]) expect(more).toContain(word);
  });

  test.each([
    ["missing", "SIGNED OUT"],
    ["environment", "FROM THE ENVIRONMENT"],
    ["unreadable", "KEYRING UNREADABLE"],
    ["keyring", "IN THE KEYRING"],
  ] as const)("whose token is %s says so", async (token, word) => {
    accounts = [account({ token })];
    render(Accounts);
    expect((await screen.findByTestId("token-place")).textContent).toContain(word);
    expect(screen.queryByTestId("account-sign-out") !== null).toBe(
      token === "keyring" || token === "unreadable",
    );
  });

  test("warns before its token ends, and of scopes nobody needs", async () => {
    accounts = [
      account({
        expiresAt: new Date(Date.now() + 3 * 86_400_000).toISOString(),
        expiresSoon: true,
        unneeded: ["delete_repo"],
        problem: { code: "token", message: "the token was revoked", hint: "sign in again" },
      }),
    ];
    render(Accounts);
    expect((await screen.findByTestId("token-expiry")).textContent).toContain("in 3 d");
    expect(screen.getByTestId("unneeded").textContent).toContain("delete_repo");
    expect(screen.getByTestId("problem").textContent).toContain("the token was revoked");
  });

  test("is signed out only after a question that says what goes", async () => {
    render(Accounts);
    await fireEvent.click(await screen.findByTestId("account-sign-out"));
    expect(asking.question?.body).toContain("leaves the keyring");
    expect(host.asked("account_sign_out")).toEqual([]);
    asking.answer(true);
    await vi.waitFor(() =>
      expect(host.asked("account_sign_out")).toEqual([{ host: "github.com", login: "octo" }]),
    );
  });
});

describe("signing in", () => {
  test("from gh asks the core, and the window gets a login, not a token", async () => {
    gh = [{ host: "github.com", login: "cat", watched: false }];
    render(Accounts);
    await fireEvent.click(await screen.findByTestId("from-gh-github.com"));
    await vi.waitFor(() => expect(toast()).toBe("Signed in as cat on github.com"));
    expect(host.asked("account_from_gh")).toEqual([{ host: "github.com" }]);
  });

  test("from the clipboard is the shell's: the page has no field for a token", async () => {
    host.signIn = (name) => account({ host: name });
    render(Accounts);
    await fireEvent.click(await screen.findByTestId("sign-in"));
    const dialog = await screen.findByTestId("sign-in-dialog");
    expect(dialog.querySelectorAll("input, textarea")).toHaveLength(1);
    await fireEvent.input(screen.getByTestId("sign-in-host"), {
      target: { value: "github.example.org" },
    });
    await fireEvent.click(screen.getByTestId("sign-in-clipboard"));
    await vi.waitFor(() => expect(toast()).toBe("Signed in as octo on github.example.org"));
    expect(host.signedIn).toEqual(["github.example.org"]);
    expect(screen.queryByTestId("sign-in-dialog")).toBeNull();
  });

  test("whose answer comes after Esc closes no later dialog, and is said", async () => {
    let signed = (): void => undefined;
    host.signIn = (name) =>
      new Promise((done) => {
        signed = () => done(account({ host: name }));
      }) as never;
    render(Accounts);
    await fireEvent.click(await screen.findByTestId("sign-in"));
    await fireEvent.click(await screen.findByTestId("sign-in-clipboard"));
    await fireEvent.click(screen.getByText("Cancel"));
    await fireEvent.click(screen.getByTestId("sign-in"));
    await screen.findByTestId("sign-in-dialog");
    const before = host.asked("account_list").length;
    signed();
    await vi.waitFor(() => expect(toast()).toBe("Signed in as octo on github.com"));
    expect(screen.getByTestId("sign-in-dialog")).toBeTruthy();
    await vi.waitFor(() => expect(host.asked("account_list").length).toBeGreaterThan(before));
  });

  test("that fails stays open and says the next step", async () => {
    host.signIn = () => {
      throw new Refusal({
        code: "refused",
        message: "the clipboard holds no token",
        hint: "copy it again",
      });
    };
    render(Accounts);
    await fireEvent.click(await screen.findByTestId("sign-in"));
    await fireEvent.click(await screen.findByTestId("sign-in-clipboard"));
    const problem = (await screen.findByTestId("problem")).textContent ?? "";
    expect(problem).toContain("the clipboard holds no token");
    expect(problem).toContain("copy it again");
  });

  test("opens GitHub's own form with the least scopes chosen", async () => {
    render(Accounts);
    await fireEvent.click(await screen.findByTestId("sign-in"));
    await fireEvent.click(await screen.findByTestId("make-token"));
    expect(host.opened).toEqual([
      "https://github.com/settings/tokens/new?description=Steward&scopes=public_repo",
    ]);
  });
});

test("nobody signed in, no keyring and an unreadable page look different", async () => {
  accounts = [];
  host.answers.account_list = () => ({
    accounts,
    gh,
    keyring: { code: "keyring", message: "there is no keyring here", hint: "start one" },
    budgets: [],
  });
  const empty = render(Accounts);
  expect(await screen.findByText("Nobody is signed in")).toBeTruthy();
  expect(screen.getByTestId("keyring-problem").textContent).toContain("there is no keyring here");
  empty.unmount();
  host.answers.account_list = () => {
    throw new Error("the database is locked");
  };
  render(Accounts);
  expect(await screen.findByText("The accounts cannot be read")).toBeTruthy();
});
