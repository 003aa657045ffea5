import { render, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";
import type { AgentView } from "../../api/generated/AgentView";
import { script } from "../../testing/host";
import { status } from "../../testing/views";
import Reviews from "./Reviews.svelte";

const READY: AgentView = {
  role: "reviewer",
  adapter: "claude",
  program: "/usr/bin/claude",
  version: "2.1",
  boundary: "bubblewrap",
  boundaryChecks: [],
  risk: null,
  credential: "ready",
  credentialHint: null,
  ready: true,
  problem: null,
};

test("what was read of the agent and cannot be read again is shown with its age", async () => {
  const host = script({ agent_report: () => READY });
  render(Reviews, { status: status() });
  expect((await screen.findByTestId("agent-ready")).textContent).toContain("READY");
  expect(screen.queryByText(/Shown as of/)).toBeNull();
  host.answers.agent_report = () => {
    throw new Error("the boundary is gone");
  };
  host.say("config");
  expect(await screen.findByText(/Shown as of just now: the boundary is gone/)).toBeTruthy();
  expect(screen.getByTestId("agent-ready").textContent).toContain("READY");
});
