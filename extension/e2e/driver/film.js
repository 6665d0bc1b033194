/** A film of the window, a picture at a time: each is shown as long as the story wants, however long the machine took. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./wait.js";

export class Film {
  #panel;
  #folder;
  #frames = [];

  /** `folder` gets the pictures and `frames.json`, which says for how many milliseconds each is shown. */
  constructor(panel, folder) {
    this.#panel = panel;
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Shows the window as it is now. */
  async show(milliseconds) {
    const file = `${String(this.#frames.length).padStart(3, "0")}.png`;
    await this.#panel.screenshot(join(this.#folder, file));
    this.#frames.push({ file, milliseconds });
    writeFileSync(join(this.#folder, "frames.json"), JSON.stringify(this.#frames, undefined, 2));
  }

  /** Shows the window each time that what it shows, as `look` reads it, is another; until `isDone` of that. */
  async follow(what, look, isDone, milliseconds) {
    let last = await look();
    for (let seen = last; !isDone(seen); last = seen) {
      await until(what, async () => (seen = await look()) !== last, { describe: () => last });
      await this.show(milliseconds);
    }
  }
}
