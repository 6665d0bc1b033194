import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { getL10nPseudoLocalized } from "@vscode/l10n-dev";
import { models, OLD, start } from "./applicationWorld";
import { keysIn, localised, TEXTS } from "./localised";
import { nextBox } from "./vscodeBoxes";
import { set, world } from "./vscodeModule";

const MANIFEST = JSON.parse(readFileSync("package.json", "utf8")) as {
  contributes: { commands: { command: string; title: string }[] };
};
const BUNDLE = JSON.parse(readFileSync("l10n/bundle.l10n.json", "utf8")) as Record<string, string>;
/** What VS Code shows a person of. */
const SHOWN = /^(title|.*[dD]escription|label)$/;
const PLACEHOLDER = /\{\d\}/g;

/** A translation into a language in which every letter is another one. */
function pseudo(texts: Readonly<Record<string, string>>): Record<string, string> {
  return getL10nPseudoLocalized({ ...texts }) as Record<string, string>;
}

/** The texts of a part of the manifest that stand there as they are shown, but for our name. */
function written(part: unknown, name = ""): string[] {
  if (typeof part === "string") return SHOWN.test(name) && !/^(%.+%|Partstream)$/.test(part) ? [part] : [];
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([inner, value]) => written(value, Array.isArray(part) ? name : inner));
}

test("every text of the manifest has a key, every key a text, and no text is left over", () => {
  assert.deepEqual(written(MANIFEST), []);
  assert.deepEqual([...new Set(keysIn(MANIFEST))].sort(), Object.keys(TEXTS).sort());
});

test("in another language the palette has the translated titles of all commands", () => {
  const texts = pseudo(TEXTS);
  const { contributes } = localised(MANIFEST, texts) as typeof MANIFEST;
  for (const { command, title } of contributes.commands) {
    assert.equal(title, texts[`command.${command.replace("partstream.", "")}`]);
    assert.doesNotMatch(title, /[A-Za-z]{2}/);
  }
});

test("in another language the pages and notifications of the extension are translated, with the same values in them", async () => {
  world.translations = pseudo(BUNDLE);
  set("python", OLD);
  const provider = start();
  const help = world.commands.get("partstream.help")?.() as Promise<void>;
  const box = await nextBox();
  for (const shown of [box.title, box.placeholder, ...box.items.map(({ label }) => label)]) {
    assert.doesNotMatch(shown.replace("Partstream", ""), /[A-Za-z]{2}/);
  }
  box.hide();
  await help;
  set("python", OLD);
  assert.deepEqual(await models(provider), []);
  const [notification = ""] = world.errors;
  const translated = world.translations["Partstream needs Python {0} or newer, and found none. Tried: {1}."] ?? "";
  const [beginning = "", middle = ""] = translated.split(PLACEHOLDER);
  assert.ok(notification.startsWith(`${beginning}3.11${middle}`), notification);
  assert.ok(notification.includes(OLD));
  assert.deepEqual(world.buttons, [world.translations["Choose Python"], world.translations["Show Log"]]);
});
