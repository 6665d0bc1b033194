/** The pages of extensions, which VS Code shows in frames: what they show, and what they did that they must not. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { until } from "./wait.js";

/** After a reload VS Code starts the extension first, and that starts Python. */
const FRAME_LIMIT = 60_000;
const POLICY = /Content Security Policy/i;

export class Webviews {
  #page;
  #python;
  /** What pages asked for, and what their policies kept them from, from the beginning of this window on. */
  offences = [];

  /** `python` is one that has axe-playwright-python, which brings axe. */
  constructor(page, python) {
    this.#page = page;
    this.#python = python;
    page.on("request", (request) => {
      // The page itself is a document inside VS Code's own frame; everything else that it loads comes with the same name.
      const isOfAPage = request.frame().url().includes("/fake.html");
      if (isOfAPage && !request.isNavigationRequest()) this.offences.push(`request to ${request.url()}`);
    });
    page.on("console", (message) => {
      if (POLICY.test(message.text())) this.offences.push(message.text());
    });
  }

  /** The frame whose document has this title. */
  async frame(title) {
    let found;
    await until(
      `a page with the title ${title}`,
      async () => {
        const frames = this.#page.frames().filter((frame) => !frame.isDetached());
        const titles = await Promise.all(frames.map((frame) => frame.title().catch(() => "")));
        const index = titles.findIndex((one) => title.test(one));
        found = frames[index];
        return found !== undefined;
      },
      { limit: FRAME_LIMIT, describe: async () => this.#page.frames().map((frame) => frame.url()).join("\n") },
    );
    return found;
  }

  /** The frame that shows an element with this text. */
  async frameWith(selector, text) {
    const shows = (frame) => frame.locator(selector, { hasText: text }).first().isVisible().catch(() => false);
    let found;
    await until(
      `a page with ${selector} ${text}`,
      async () => {
        const frames = this.#page.frames().filter((frame) => !frame.isDetached());
        const shown = await Promise.all(frames.map(shows));
        found = frames[shown.indexOf(true)];
        return found !== undefined;
      },
      { limit: FRAME_LIMIT, describe: async () => this.#page.frames().map((frame) => frame.url()).join("\n") },
    );
    return found;
  }

  /** What axe finds in a frame: nothing, if it is accessible. */
  async axe(frame) {
    const program = "from axe_playwright_python.base import AXE_FILE_PATH; print(AXE_FILE_PATH)";
    const file = execFileSync(this.#python, ["-c", program], { encoding: "utf8" }).trim();
    await frame.evaluate(readFileSync(file, "utf8"));
    const { violations } = await frame.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }
}
