/** The pages that ask for the key of a server. */
import * as l10n from "@vscode/l10n";
import { type Answers, type Key, serverName, withKey } from "./answers";
import type { Button } from "./dialog";
import { type Move, type Step, type StepContext, then, to } from "./step";

const FROM_VARIABLE: Button = {
  name: "variable",
  icon: "symbol-variable",
  tooltip: () => l10n.t("Read it from an environment variable"),
};
const FROM_FILE: Button = { name: "file", icon: "file", tooltip: () => l10n.t("Read it from a file") };
const OPEN_PAGE: Button = {
  name: "page",
  icon: "link-external",
  tooltip: () => l10n.t("Open the page for API keys"),
};

export const key: Step = {
  isPlace: true,
  async run(context) {
    const { answers, heading, dialog } = context;
    const name = serverName(answers);
    const isNeeded = answers.preset?.needsKey ?? false;
    const keysPage = answers.preset?.keysPage ?? "";
    const reply = await dialog.ask({
      ...heading(2),
      prompt: isNeeded
        ? l10n.t`API key of ${name}. VS Code keeps it in its secret storage.`
        : l10n.t`API key of ${name}. VS Code keeps it in its secret storage. Leave it empty if the server needs none.`,
      placeholder: "",
      value: answers.key.from === "person" ? answers.key.text : "",
      isSecret: true,
      buttons: [...(keysPage === "" ? [] : [OPEN_PAGE]), FROM_VARIABLE, FROM_FILE],
      refuse: (text) => wrongKey(text, isNeeded, name),
    });
    return then(reply, (given) => afterKey(context, given));
  },
};

function afterKey({ answers, world }: StepContext, given: string | Button): Move {
  if (typeof given === "string") return to("trial", withKey(answers, keyOf(given.trim())));
  if (given === FROM_VARIABLE) return to("variable", answers);
  if (given === FROM_FILE) return to("file", answers);
  world.openPage(answers.preset?.keysPage ?? "");
  return to("key", answers);
}

function keyOf(text: string): Key {
  return text === "" ? { from: "nowhere" } : { from: "person", text };
}

function wrongKey(text: string, isNeeded: boolean, name: string): string | undefined {
  const written = text.trim();
  if (written === "") return isNeeded ? l10n.t`${name} needs a key.` : undefined;
  // What a header of HTTP cannot hold; a key that was copied with its line, for the most part.
  return /[^\x21-\x7e]/.test(written) ? l10n.t("A key has no spaces or line breaks: copy only the key.") : undefined;
}

export const variable: Step = {
  isPlace: true,
  async run({ answers, heading, dialog, world }) {
    const usual = answers.preset?.keyVariables ?? [];
    const present = usual.find((name) => world.hasVariable(name)) ?? usual[0] ?? "";
    const reply = await dialog.ask({
      ...heading(2),
      prompt: l10n.t`The environment variable with the key of ${serverName(answers)}`,
      placeholder: "EXAMPLE_API_KEY",
      value: answers.key.from === "variable" ? answers.key.name : present,
      isSecret: false,
      buttons: [],
      refuse: (text) => wrongVariable(text.trim(), world.hasVariable),
    });
    return then(reply, (name) => afterSource(answers, { from: "variable", name: (name as string).trim() }));
  },
};

function wrongVariable(name: string, hasVariable: (name: string) => boolean): string | undefined {
  // A key that was pasted here must not be repeated.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return l10n.t("Write the name of a variable: letters, digits and _.");
  return hasVariable(name)
    ? undefined
    : l10n.t("VS Code was started without such a variable: set it and start VS Code again.");
}

export const file: Step = {
  isPlace: true,
  async run({ answers, heading, dialog }) {
    const reply = await dialog.ask({
      ...heading(2),
      prompt: l10n.t`The file that holds the key of ${serverName(answers)} and nothing else`,
      placeholder: "~/keys/example.txt",
      value: answers.key.from === "file" ? answers.key.path : "",
      isSecret: false,
      buttons: [],
      refuse: (text) =>
        /^(~?[/\\]|[A-Za-z]:[/\\])/.test(text.trim())
          ? undefined
          : l10n.t("Write the full path, starting with / or ~/."),
    });
    return then(reply, (path) => afterSource(answers, { from: "file", path: (path as string).trim() }));
  },
};

function afterSource(answers: Answers, source: Key): Move {
  return to("trial", withKey(answers, source));
}
