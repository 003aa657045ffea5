import { render, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";
import { script } from "../testing/host";
import { status } from "../testing/views";
import Foot from "./Foot.svelte";

const MINUTE = 60_000;

test.each([
  [1, "Running"],
  [5, "No answer"],
])("what was read %s min ago is shown as %s, though no call has failed", (minutes, word) => {
  script({});
  const at = Date.now() - minutes * MINUTE;
  render(Foot, { status: status(), error: null, at, retry: () => {} });
  const foot = screen.getByRole("region", { name: "Runtime" }).textContent ?? "";
  expect(foot).toContain(word);
  expect(foot.includes("Running")).toBe(word === "Running");
});
