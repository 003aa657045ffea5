// Serves the built UI under the window's own CSP and passes commands on to a bridge.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, request } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

export const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self' ipc: http://ipc.localhost",
].join("; ");

/** @type {Record<string, string>} */
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".woff2": "font/woff2",
};
const DIST = fileURLToPath(new URL("../../ui/dist/", import.meta.url));

/**
 * Starts on a free loopback port.
 * @param {string} bridge address of the bridge, e.g. http://127.0.0.1:4199
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function serve(bridge) {
  const server = createServer(async (asked, answer) => {
    const path = new URL(asked.url ?? "/", "http://local").pathname;
    if (path.startsWith("/call/") || path === "/topics") {
      const onward = request(
        new URL(path, bridge),
        { method: asked.method, headers: { "content-type": "application/json" } },
        (got) => {
          answer.writeHead(got.statusCode ?? 502, got.headers);
          got.pipe(answer);
        },
      );
      onward.on("error", () => answer.writeHead(502).end());
      answer.on("close", () => onward.destroy());
      asked.pipe(onward);
      return;
    }
    const file = normalize(join(DIST, path === "/" ? "index.html" : path));
    const known = file.startsWith(DIST) ? await stat(file).catch(() => null) : null;
    if (!known?.isFile()) {
      answer.writeHead(404).end();
      return;
    }
    answer.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-security-policy": CSP,
      "cache-control": "no-store",
    });
    createReadStream(file).pipe(answer);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(undefined)));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("BUG: no port was given");
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
