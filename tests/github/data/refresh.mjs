// Cuts GitHub's own descriptions down to what Steward uses. Nothing is edited: operations, schemas and
// fields are kept whole or left out.
//
//   npm pack @octokit/openapi@23.0.2 @octokit/graphql-schema@15.26.1   (unpack each)
//   node refresh.mjs OPENAPI_PACKAGE/generated/api.github.com.json GRAPHQL_PACKAGE/schema.graphql
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [openapi, graphql] = process.argv.slice(2);
const list = (name) =>
  readFileSync(join(here, name), "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line && !line.startsWith("#"));

function cutOpenapi(full) {
  const paths = {};
  for (const line of list("operations.txt")) {
    const [method, path] = line.split(" ");
    const found = full.paths[path]?.[method.toLowerCase()];
    if (!found) throw new Error(`the description has no ${line}`);
    const { operationId, parameters, requestBody, responses } = found;
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = { operationId, parameters, requestBody, responses };
  }
  const components = {};
  const walk = (node) => {
    if (Array.isArray(node)) {
      for (const item of node) walk(item);
      return;
    }
    if (!node || typeof node !== "object") return;
    if (typeof node.description === "string") delete node.description;
    delete node.externalDocs;
    if (typeof node.$ref === "string") {
      const [, , section, name] = node.$ref.split("/");
      components[section] ??= {};
      if (!(name in components[section])) {
        components[section][name] = structuredClone(full.components[section][name]);
        walk(components[section][name]);
      }
    }
    for (const value of Object.values(node)) walk(value);
  };
  walk(paths);
  const source = `npm @octokit/openapi ${full.info.version} generated/api.github.com.json`;
  const info = { title: "GitHub REST API (subset)", version: full.info.version, license: { name: "MIT" }, "x-source": source };
  // One operation or component a line: small enough to keep, and a refresh shows what moved.
  const lines = (object) =>
    Object.entries(object)
      .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
      .join(",\n");
  const sections = Object.entries(components).map(([name, items]) => `${JSON.stringify(name)}:{\n${lines(items)}\n}`);
  return `{"openapi":${JSON.stringify(full.openapi)},"info":${JSON.stringify(info)},"paths":{\n${lines(paths)}\n},"components":{\n${sections.join(",\n")}\n}}\n`;
}

function cutGraphql(full) {
  const plain = full
    .replace(/"""[\s\S]*?"""/g, "")
    .replace(/^\s*#.*$/gm, "")
    .replace(/@deprecated\(reason: "(?:[^"\\]|\\.)*"\)/g, "")
    .replace(/\(([^()]*)\)/g, (_, inner) => `(${inner.trim().split(/\s*\n\s*/).join(", ")})`);
  const blocks = new Map();
  for (const [text, kind, name] of plain.matchAll(/^(type|interface|enum|input|union|scalar) (\w+)[^\n{]*(?:\{[\s\S]*?^\}|(?:\n\s+[|=].*)*)/gm)) {
    if (!blocks.has(name)) blocks.set(name, { kind, text });
  }
  const wanted = new Map(list("fields.txt").map((line) => line.split(/:\s*/)).map(([name, fields]) => [name, fields.split(/\s+/)]));
  const out = [];
  const done = new Set();
  const queue = [...wanted.keys()];
  const types = (text) => [...text.replace(/= (\{[^}]*\}|\[[^\]]*\]|[^\s,)]+)/g, "").matchAll(/[:[]\s*\[?(\w+)/g)].map((match) => match[1]);
  while (queue.length > 0) {
    const name = queue.shift();
    if (done.has(name) || ["String", "Int", "Boolean", "ID", "Float"].includes(name)) continue;
    done.add(name);
    const block = blocks.get(name);
    if (!block) throw new Error(`the schema has no ${name}`);
    if (block.kind === "scalar") out.push(`scalar ${name}`);
    else if (block.kind === "enum") out.push(block.text.replace(/\n\s*\n+/g, "\n"));
    else if (block.kind === "input") {
      out.push(block.text.replace(/\n\s*\n+/g, "\n"));
      queue.push(...types(block.text));
    } else if (block.kind === "union") {
      const members = block.text.split("=")[1].split("|").map((member) => member.trim());
      out.push(`union ${name} = ${members.filter((member) => wanted.has(member)).join(" | ")}`);
    } else {
      const fields = wanted.get(name);
      if (!fields) throw new Error(`fields.txt does not say which fields of ${name} are kept`);
      const kept = fields.map((field) => {
        const line = block.text.split("\n").find((text) => new RegExp(`^\\s+${field}[(:]`).test(text));
        if (!line) throw new Error(`${name} has no field ${field}`);
        queue.push(...types(line.replace(/^\s+\w+/, "")));
        return line.trimEnd();
      });
      const implemented = (block.text.match(/implements ([^{]*)/)?.[1] ?? "").split("&").map((face) => face.trim());
      const faces = implemented.filter((face) => wanted.has(face));
      out.push(`${block.kind} ${name}${faces.length > 0 ? ` implements ${faces.join(" & ")}` : ""} {\n${kept.join("\n")}\n}`);
    }
  }
  return `# GitHub's public GraphQL schema, cut to the fields the double answers.\n# Source: npm @octokit/graphql-schema 15.26.1 schema.graphql, MIT.\n\n${out.join("\n\n")}\n`;
}

writeFileSync(join(here, "openapi.json"), cutOpenapi(JSON.parse(readFileSync(openapi, "utf8"))));
writeFileSync(join(here, "github.graphql"), cutGraphql(readFileSync(graphql, "utf8")));
