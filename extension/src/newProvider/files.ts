/** Writes a new file below a folder, and nowhere else. */
import { existsSync, lstatSync, realpathSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import * as l10n from "@vscode/l10n";

/** Whether a new file cannot be at a path below the folder: something is there, or in the way. */
export function isThere(folder: string, path: string): boolean {
  try {
    // Also where a link leads nowhere.
    lstatSync(join(folder, path));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

/**
 * Writes a file that is not there yet, and its folders; gives its whole path.
 *
 * Rejects if a link leads out of the folder, or if the file is there; nothing is written then.
 */
export async function writeNewFile(folder: string, path: string, content: string): Promise<string> {
  const file = join(folder, path);
  const way = relative(realpathSync(folder), realpathSync(existing(dirname(file))));
  if (way === ".." || way.startsWith(`..${sep}`)) {
    throw new Error(l10n.t`${path} was not written: a link in its path leads out of the folder ${folder}.`);
  }
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content, { flag: "wx" });
  return file;
}

/** The innermost folder of this path that is there. */
function existing(path: string): string {
  return existsSync(path) ? path : existing(dirname(path));
}
