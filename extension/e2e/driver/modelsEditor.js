/** VS Code's editor of models as a person has it: open it, add a group, give it another key, read what it shows. */
import { bound, until } from "./wait.js";

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
    await this.#page.locator(EDITOR).waitFor({ timeout: bound(OPEN_LIMIT) });
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

  /** Chooses Partstream behind *Add Models*: VS Code asks for a name, an address, a protocol and a key. */
  async addModels({ name, address, key }) {
    await this.#page.locator(`${EDITOR} .monaco-button`, { hasText: "Add Models" }).first().click();
    // The keyboard, because VS Code takes no click on a menu that has just been opened.
    await this.#page.getByRole("menuitem", { name: "Partstream", exact: true }).hover();
    await this.#page.keyboard.press("Enter");
    await this.#write(name);
    await this.#write(address);
    await this.#palette.answer("Auto");
    await this.#write(key);
  }

  /** Gives a group another key, at its gear. */
  async updateKey(group, key) {
    await this.#chooseAtGear(group, "Update API Key");
    await this.#write(key);
  }

  /** Gives a group another name, at its gear. */
  async rename(group, name) {
    await this.#chooseAtGear(group, "Rename");
    await this.#write(name);
  }

  /** Begins to delete a group, at its gear: VS Code asks before it does. */
  async delete(group) {
    await this.#chooseAtGear(group, "Delete");
  }

  /** Opens the menu of a group's gear, and gives what can be chosen there, after `look`. */
  async gearOf(group, look) {
    await this.#openGear(group);
    return this.#menu(look);
  }

  async #menu(look) {
    await this.#page.getByRole("menuitem").first().waitFor();
    await look();
    const items = await this.#page.getByRole("menuitem").allInnerTexts();
    await this.#page.keyboard.press("Escape");
    return items.map((item) => item.trim()).filter((item) => item !== "");
  }

  /** Opens the menu behind the right button of the mouse on a row, and gives what can be chosen there, after `look`. */
  async menuOf(row, look) {
    await this.#row(row).click({ button: "right" });
    return this.#menu(look);
  }

  async #chooseAtGear(group, item) {
    await this.#openGear(group);
    await this.#page.getByRole("menuitem", { name: item }).hover();
    await this.#page.keyboard.press("Enter");
  }

  async #openGear(group) {
    const row = this.#row(group);
    await row.hover();
    await row.locator(".codicon-gear").click();
  }

  #row(group) {
    return this.#page.locator(`${EDITOR} .monaco-list-row`, { hasText: group }).first();
  }

  async #write(text) {
    await this.#palette.input.waitFor();
    await this.#palette.input.fill(text);
    await this.#page.keyboard.press("Enter");
  }
}
