/** The new file of a provider: its name, its contents, and the list of providers that names it. */
import { posix } from "node:path";
import * as l10n from "@vscode/l10n";
import { PYTHON_KEYWORDS, type ProviderTemplate } from "../providerTemplates.generated";

/** Where new files are suggested, below the folder. */
const SUGGESTED_FOLDER = "models";

/** The path that is suggested for a new file. */
export function suggestedPath({ fileStem }: ProviderTemplate, isThere: (path: string) => boolean): string {
  for (let number = 1; ; number++) {
    const path = `${SUGGESTED_FOLDER}/${fileStem}${number === 1 ? "" : `_${number}`}.py`;
    if (!isThere(path)) return path;
  }
}

/** The path as it is kept: with slashes, and without what leads nowhere. */
export function keptPath(text: string): string {
  return posix.normalize(text.trim().replaceAll("\\", "/"));
}

/** Why a new file cannot have this path below the folder; undefined if it can. */
export function wrongPath(text: string, isThere: (path: string) => boolean): string | undefined {
  const path = keptPath(text);
  if (text.trim() === "") return l10n.t("Write the name of the file, such as models/echo.py.");
  if (/^([/~]|[A-Za-z]:)/.test(path)) return l10n.t("Write a path below the folder, such as models/echo.py.");
  if (path.startsWith("..")) return l10n.t("The file must be inside the folder.");
  if (!path.endsWith(".py")) return l10n.t("The name of a Python file ends with .py.");
  const stem = moduleOf(path);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(stem) || PYTHON_KEYWORDS.includes(stem)) {
    return l10n.t("Use letters, digits and _ for the name of a Python file, with a letter first, such as echo.py.");
  }
  // What could not be written into a setting, or be a folder on every system.
  if (!/^[\p{L}\p{M}\p{N}_ .@+()/-]+$/u.test(path))
    return l10n.t("Write the folders with letters, digits, spaces, hyphens and dots.");
  return isThere(path) ? l10n.t("A file of this name already exists: choose another name.") : undefined;
}

/** The name of the module that the file is. */
export function moduleOf(path: string): string {
  return posix.basename(path, ".py");
}

/** The name of the model in the picker, such as `My echo` for `my_echo.py`. */
export function titleOf(path: string): string {
  const words = moduleOf(path).split("_").filter(Boolean).join(" ");
  return words === "" ? l10n.t("Model") : words.charAt(0).toUpperCase() + words.slice(1);
}

/** What the file holds. */
export function sourceOf(template: ProviderTemplate, path: string): string {
  return template.source.replaceAll("$title", titleOf(path)).replaceAll("$module", moduleOf(path));
}

/** The providers with one more; undefined if the setting holds something that is no list. */
export function withProvider(providers: unknown, path: string): readonly unknown[] | undefined {
  if (!Array.isArray(providers)) return undefined;
  const list: readonly unknown[] = providers;
  return list.includes(path) ? list : [...list, path];
}
