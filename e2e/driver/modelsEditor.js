/** VS Code's editor of models as a person has it: open it, add a group through its dialog, read what it shows. */
import { until } from "./wait.js";

const EDITOR = ".models-widget";
const OPEN_LIMIT = 30_000;

export class ModelsEditor {
  #page;
  #palette;

  /** `palette` is the palette of commands in the same page. */
  constructor(page, palette) {
    this.#page = page;
    this.#palette = palette;
  }

  async open() {
    await this.#palette.run("Partstream: Manage Models");
    await this.#page.locator(EDITOR).waitFor({ timeout: OPEN_LIMIT });
  }

  async close() {
    await this.#page.locator(".modal-editor-action-container .codicon-close").first().click();
    await this.#page.locator(EDITOR).waitFor({ state: "detached" });
  }

  /** Everything that the table shows at this moment. */
  async text() {
    return this.#page.locator(`${EDITOR} .models-table-container`).innerText();
  }

  /** Waits until the table shows `expected`, a text or a regular expression, and gives what it shows. */
  async shows(expected, limit = OPEN_LIMIT) {
    const fits = (text) => (expected instanceof RegExp ? expected.test(text) : text.includes(expected));
    let text;
    await until(`the table of models to show ${expected}`, async () => fits((text = await this.text())), {
      limit,
      describe: () => this.text(),
    });
    return text;
  }

  /**
   * Adds a group of Partstream through VS Code's dialog, and gives the titles of the questions that it asked.
   *
   * `answers` are the name of the group and what is written into each box by its title; a box without an answer stays
   * as it is. A list is answered by choosing the entry with that text.
   */
  async addGroup(name, answers, screenshot = async () => {}) {
    await this.#page.locator(`${EDITOR} .monaco-button`, { hasText: "Add Models" }).first().click();
    // The keyboard, because VS Code takes no click on a menu that has just been opened.
    await this.#page.getByRole("menuitem", { name: "Partstream", exact: true }).hover();
    await this.#page.keyboard.press("Enter");
    const questions = [];
    let answer = name;
    for (;;) {
      const title = await this.#nextQuestion(questions.at(-1));
      if (title === undefined) return questions;
      questions.push(title);
      const [, setting] = /: (.*)$/.exec(title) ?? [];
      if (setting !== undefined) answer = answers[setting];
      await screenshot(`dialog-${questions.length}`);
      if (answer !== undefined) await this.#palette.input.fill(answer);
      await this.#page.keyboard.press("Enter");
    }
  }

  /** The title of the question after `last`; undefined once there is none. */
  async #nextQuestion(last) {
    const widget = this.#page.locator(".quick-input-widget:visible");
    const title = widget.locator(".quick-input-title");
    let next;
    await until(
      "the next question or the end of the dialog",
      async () => {
        if (last !== undefined && (await widget.count()) === 0) return true;
        next = (await title.allInnerTexts())[0] || undefined;
        return next !== undefined && next !== last;
      },
      { limit: OPEN_LIMIT, describe: () => widget.allInnerTexts() },
    );
    return next === last ? undefined : next;
  }
}
