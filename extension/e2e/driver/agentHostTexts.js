/**
 * The places in VS Code's bundles at which the tests of the Copilot harness join what code-server leaves apart.
 *
 * Names in bundles change with each release, so each place is found by a text that VS Code's own sources name, and a place
 * that is not there exactly once is a reason to leave the tests out. Knows no process and no browser.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);
const OUT = join(dirname(require.resolve("code-server/package.json")), "lib/vscode/out");

/** The file of the agent host, and the place where it makes the registry of the windows that have models. */
export const AGENT_HOST = {
  file: "vs/platform/agentHost/node/agentHostMain.js",
  /** The name of the class in this release, then the place where its one object is made. */
  find(source) {
    const [, name] = once(source, /\("byokLmBridgeRegistry"\),([\w$]+)=class/g, this.file);
    return once(source, new RegExp(`([\\w$]+)=new ${name.replaceAll("$", "\\$")},`, "g"), this.file);
  },
  /** Hands the registry over as soon as it is made. */
  changed(source) {
    const [whole, registry] = this.find(source);
    return source.replace(whole, () => `${whole}globalThis.joinWindow(${registry}),`);
  },
};

/** The file of the window, and the places where its handler of models is named, and where it can be had. */
export const WINDOW = {
  file: "vs/code/browser/workbench/workbench.js",
  find(source) {
    const [, handler] = once(source, /[^\w$]([\w$]+)=[\w$]+\("agentHostByokLmHandler"\)/g, this.file);
    const [place] = once(source, /this\._authRecovery=this\._instantiationService\.createInstance\([\w$]+\),/g, this.file);
    return { handler, place };
  },
  /** Lets the page have the handler, as `globalThis.modelsOfWindow()`. */
  changed(source) {
    const { handler, place } = this.find(source);
    const given = `globalThis.modelsOfWindow=()=>this._instantiationService.invokeFunction(one=>one.get(${handler})),`;
    return source.replace(place, () => place + given);
  },
};

/** What is not found in this release, in words; empty if the tests can run. */
export function missingTexts() {
  return [AGENT_HOST, WINDOW].flatMap((one) => {
    try {
      one.find(readFileSync(join(OUT, one.file), "utf8"));
      return [];
    } catch (error) {
      return [error.message];
    }
  });
}

function once(source, pattern, file) {
  const found = [...source.matchAll(pattern)];
  if (found.length !== 1) throw new Error(`${file}: found ${pattern} ${found.length} times, expected once`);
  return found[0];
}
