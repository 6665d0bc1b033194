// Bundles the extension into dist/extension.js, or with --tests every test module into build/test/.
import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const common = {
  bundle: true,
  platform: "node",
  target: "node20",
  logLevel: "warning",
};

if (process.argv.includes("--tests")) {
  rmSync("build/test", { recursive: true, force: true });
  await build({
    ...common,
    entryPoints: readdirSync("test", { recursive: true })
      .filter((name) => /\.test\.ts$|^fakeSidecar\.ts$/.test(name))
      .map((name) => `test/${name}`),
    outdir: "build/test",
    outExtension: { ".js": ".cjs" },
    format: "cjs",
    sourcemap: "inline",
    // fast-check and the JSON-RPC library load faster from their own files.
    packages: "external",
    alias: { vscode: "./test/vscodeModule.ts" },
  });
} else {
  await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    format: "cjs",
    external: ["vscode"],
    minify: true,
    legalComments: "eof",
  });
}
