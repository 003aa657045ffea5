import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const bridge = process.env.STEWARD_BRIDGE ?? "http://127.0.0.1:4199";

export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [svelte()],
  // Under test the browser build of Svelte is needed, or nothing mounts.
  resolve: mode === "test" ? { conditions: ["browser"] } : {},
  build: {
    target: "es2022",
    // The window's CSP allows fonts and images from its own origin only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    host: "127.0.0.1",
    proxy: { "/call": bridge, "/topics": bridge },
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.ts"],
    setupFiles: ["src/test-setup.ts"],
  },
}));
