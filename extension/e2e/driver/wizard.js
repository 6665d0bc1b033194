/** The pages of *Add Models* as a person has them: read one, choose, write, go back. */
import { isOpaque } from "./opaque.js";
import { patience, until } from "./wait.js";

const WIDGET = ".quick-input-widget:visible";
const PAGE_LIMIT = 30_000;
const CLOSE_LIMIT = 1500;

export class Wizard {
  #page;
  #palette;

  /** `palette` is the palette of commands in the same page. */
  constructor(page, palette) {
    this.#page = page;
    this.#palette = palette;
  }

  async open() {
    await this.#palette.run("Partstream: Add Models…");
    await this.shows("Where are the models?");
  }

  /** Everything that the page says: its title, what is asked, and the rows of its list. */
  async text() {
    const widget = this.#page.locator(WIDGET);
    if ((await widget.count()) === 0) return "";
    const placeholder = await this.#palette.input.getAttribute("placeholder").catch(() => "");
    return `${placeholder}\n${await widget.innerText()}`;
  }

  /** Waits for a page that says `expected`, a text or a regular expression, and gives all that it says. */
  async shows(expected, limit = PAGE_LIMIT) {
    const fits = (text) => (expected instanceof RegExp ? expected.test(text) : text.includes(expected));
    let text;
    await until(`a page of the wizard that shows ${expected}`, async () => fits((text = await this.text())), {
      limit,
      describe: () => this.text(),
    });
    const widget = this.#page.locator(WIDGET);
    await until("the page to be there whole", () => widget.evaluate(isOpaque).catch(() => false), { limit: 5000 });
    return text;
  }

  /** Goes through all pages for a server on this machine that wants a key; takes all its models. */
  async addServer({ address, key, name }) {
    await this.shows("Where are the models?");
    await this.choose("Another server…");
    await this.shows("The address of the server");
    await this.write(address);
    await this.shows("needs an API key");
    await this.choose("Enter a key");
    await this.shows("VS Code keeps it in its secret storage");
    await this.write(key);
    await this.shows("Which models should the picker show?");
    await this.accept();
    await this.shows("Group name shown in the model picker");
    await this.write(name);
  }

  async choose(label, { timeout } = {}) {
    await this.#palette.input.fill(label, { timeout });
    await this.#page.locator(`${WIDGET} .monaco-list-row`, { hasText: label }).first().click({ timeout });
  }

  /** Leaves the rows that hold a text; a long list has no more rows than fit. */
  async filter(text) {
    await this.#palette.input.fill(text);
  }

  async write(text) {
    await this.#palette.input.fill(text);
    await this.#page.keyboard.press("Enter");
  }

  /** Takes the page as it is. */
  async accept() {
    await this.#palette.input.focus();
    await this.#page.keyboard.press("Enter");
  }

  async back() {
    await this.#page.locator(`${WIDGET} .quick-input-titlebar .codicon-quick-input-back`).click();
  }

  /** Closes the page, if one is there: Escape means something else to whatever has the focus without it. */
  async close() {
    const widget = this.#page.locator(WIDGET);
    await until("the page to be gone", async () => {
      if ((await widget.count()) === 0) return true;
      await this.#page.keyboard.press("Escape"); // Between two pages nobody takes it.
      return widget.waitFor({ state: "detached", timeout: patience(CLOSE_LIMIT) }).then(() => true, () => false);
    });
  }
}
