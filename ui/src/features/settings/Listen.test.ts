import { fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import App from "../../App.svelte";
import type { ListenView } from "../../api/generated/ListenView";
import { Refusal } from "../../host";
import { parse, router } from "../../lib/route.svelte";
import { type Script, script } from "../../testing/host";
import { inboxPage, status } from "../../testing/views";

let door: ListenView;
let host: Script;

beforeEach(() => {
  door = { on: false, port: 7437, address: null, problem: null, tokenFile: "~/http-token" };
  host = script({
    status: () => status(),
    inbox_list: () => inboxPage([]),
    doctor: () => ({ checks: [], healthy: true }),
    listen_show: () => door,
    listen_set: ({ on, port }) => {
      door = { ...door, on, port, address: on ? `http://127.0.0.1:${port}` : null };
      return door;
    },
    listen_token_renew: () => ({ message: "a new token stands in the file" }),
  });
  router.show(parse("settings/diagnostics"));
  render(App);
});

test("the door is shut at first, opens at the chosen port, and says where it answers", async () => {
  const shut = await screen.findByTestId("listen-switch");
  expect(shut.getAttribute("aria-checked")).toBe("false");
  expect(screen.queryByTestId("listen-address")).toBeNull();
  await fireEvent.input(screen.getByTestId("listen-port"), { target: { value: "8123" } });
  await fireEvent.click(shut);
  expect((await screen.findByTestId("listen-address")).textContent).toBe("http://127.0.0.1:8123");
  expect(host.asked("listen_set")).toEqual([{ on: true, port: 8123 }]);
  await fireEvent.click(screen.getByTestId("listen-switch"));
  await vi.waitFor(() => expect(screen.queryByTestId("listen-address")).toBeNull());
});

test.each(["", "x", "70000", "1.5", "-1"])("a port of %j is refused at its field", async (text) => {
  const shut = await screen.findByTestId("listen-switch");
  const port = screen.getByTestId("listen-port");
  await fireEvent.input(port, { target: { value: text } });
  const says = screen.getByTestId("listen-port-says");
  expect(says.textContent).toContain("a whole number from 0 to 65535");
  expect(port.getAttribute("aria-invalid")).toBe("true");
  await fireEvent.click(shut);
  expect(host.asked("listen_set")).toEqual([]);
  expect(document.activeElement).toBe(port);
  await fireEvent.input(port, { target: { value: "0" } });
  expect(says.textContent).not.toContain("whole number");
  await fireEvent.click(shut);
  await vi.waitFor(() => expect(host.asked("listen_set")).toEqual([{ on: true, port: 0 }]));
});

test("the token is copied by the shell alone, and a new one is asked about", async () => {
  await fireEvent.click(await screen.findByTestId("token-copy"));
  await vi.waitFor(() => expect(host.tokensCopied).toBe(1));
  expect(host.copied).toEqual([]);
  await fireEvent.click(screen.getByTestId("token-renew"));
  expect(host.asked("listen_token_renew")).toEqual([]);
  await fireEvent.click(await screen.findByTestId("confirm-ok"));
  await vi.waitFor(() => expect(host.asked("listen_token_renew")).toEqual([{}]));
});

test("a door that cannot open says why, and one of another process says who answers", async () => {
  await screen.findByTestId("listen-switch");
  door = { ...door, on: true, problem: { code: "listen", message: "port taken", hint: null } };
  host.say("listen");
  expect((await screen.findByTestId("problem")).textContent).toContain("port taken");
  door = { ...door, problem: null };
  host.say("listen");
  expect((await screen.findByTestId("listen-elsewhere")).textContent).toContain("--listen");
  host.answers.listen_set = () => {
    throw new Refusal({ code: "store", message: "the disk is full", hint: null });
  };
  await fireEvent.click(screen.getByTestId("listen-switch"));
  expect(await screen.findAllByText(/Not changed: the disk is full/)).not.toHaveLength(0);
});
