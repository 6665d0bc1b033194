/**
 * Writes l10n/bundle.l10n.json: the texts in the code that a translation has to have; `--check` only says whether it is
 * stale. Those of the manifest are in package.nls.json.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getL10nJson } from "@vscode/l10n-dev";

const BUNDLE = "l10n/bundle.l10n.json";

const sources = readdirSync("src", { recursive: true }).filter((name) => name.endsWith(".ts"));
const texts = await getL10nJson(
  sources.map((name) => ({ extension: ".ts", contents: readFileSync(join("src", name), "utf8") })),
);
// Sorted, so that a new text is one new line wherever its file stands.
const sorted = Object.fromEntries(Object.entries(texts).sort(([one], [other]) => (one < other ? -1 : 1)));
const bundle = JSON.stringify(sorted, null, 2) + "\n";

if (!process.argv.includes("--check")) {
  writeFileSync(BUNDLE, bundle);
} else if (readFileSync(BUNDLE, "utf8") !== bundle) {
  console.error(`${BUNDLE} is stale: run npm run l10n`);
  process.exitCode = 1;
}
