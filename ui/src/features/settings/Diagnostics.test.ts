import { render, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";
import App from "../../App.svelte";
import { parse, router } from "../../lib/route.svelte";
import { script } from "../../testing/host";
import { inboxPage, status } from "../../testing/views";

test("what is well and has a next step is a warning, what fails is not well", async () => {
  script({
    status: () => status(),
    inbox_list: () => inboxPage([]),
    doctor: () => ({
      healthy: false,
      checks: [
        { name: "git", ok: true, detail: "2.47.3", hint: null },
        { name: "disk", ok: true, detail: "700 MB are free", hint: "free some space" },
        { name: "audit", ok: false, detail: "the chain is broken", hint: "steward log verify" },
      ],
    }),
    listen_show: () => ({
      on: false,
      port: 7437,
      address: null,
      problem: null,
      tokenFile: "~/http-token",
    }),
  });
  router.show(parse("settings/diagnostics"));
  render(App);
  const said = async (name: string) => (await screen.findByTestId(`check-${name}`)).textContent;
  expect(await said("git")).toMatch(/^\s*OK/);
  expect(await said("disk")).toMatch(/^\s*WARNS.*free some space/s);
  expect(await said("audit")).toMatch(/^\s*FAILS.*steward log verify/s);
});
