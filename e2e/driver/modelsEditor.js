/** VS Code's editor of models as a person has it: open it, add a group, give it another key, read what it shows. */
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

  /** Chooses Partstream behind *Add Models*, which opens Partstream's own pages. */
  async addModels() {
    await this.#page.locator(`${EDITOR} .monaco-button`, { hasText: "Add Models" }).first().click();
    // The keyboard, because VS Code takes no click on a menu that has just been opened.
    await this.#page.getByRole("menuitem", { name: "Partstream", exact: true }).hover();
    await this.#page.keyboard.press("Enter");
  }

  /** Gives a group another key, at its gear. */
  async updateKey(group, key) {
    const row = this.#page.locator(`${EDITOR} .monaco-list-row`, { hasText: group }).first();
    await row.hover();
    await row.locator(".codicon-gear").click();
    await this.#page.getByRole("menuitem", { name: "Update API Key" }).hover();
    await this.#page.keyboard.press("Enter");
    await this.#palette.input.waitFor();
    await this.#palette.input.fill(key);
    await this.#page.keyboard.press("Enter");
  }
}
