/** Finds the packed extension that `make vsix` built. */
import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT } from "./session.js";

/** The file that was asked for, or else the newest in dist/. */
export function findPackage(asked) {
  if (asked) return resolve(asked);
  const folder = join(ROOT, "dist");
  const [newest] = readdirSync(folder)
    .filter((name) => /^partstream-.*\.vsix$/.test(name))
    .map((name) => join(folder, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  if (!newest) throw new Error(`there is no partstream-*.vsix in ${folder}; make vsix builds it`);
  return newest;
}
