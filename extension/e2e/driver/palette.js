/** The palette of commands as a person has it. */
import { patience, until } from "./wait.js";

const BOX_LIMIT = 5000;
const LOOK_LIMIT = 1500;
const COMMAND_LIMIT = 60_000;

export class Palette {
  #page;

  constructor(page) {
    this.#page = page;
  }

  /** The box in which VS Code asks for a command, or for anything else. */
  get input() {
    return this.#page
      .locator(".quick-input-widget:visible input[type=text], .quick-input-widget:visible input[type=password]")
      .first();
  }

  /** Runs the command with this title; one of an extension is there only once VS Code has found the extension. */
  async run(title) {
    const row = this.#page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first();
    await until(
      `the command ${title} in the palette`,
      async () => {
        await this.#page.keyboard.press("F1");
        try {
          // VS Code closes the box when something else takes the focus: then a person opens it again.
          await this.input.fill(`>${title}`, { timeout: patience(BOX_LIMIT) });
          await row.waitFor({ timeout: patience(LOOK_LIMIT) });
          await row.click({ timeout: patience(BOX_LIMIT) });
          return true;
        } catch {
          await this.#page.keyboard.press("Escape"); // Not there yet: the list is that of the moment it was opened.
          return false;
        }
      },
      { limit: COMMAND_LIMIT },
    );
  }

  /** Opens a file of the folder by its name, in an editor. */
  async open(name) {
    await this.#page.keyboard.press("Control+p");
    await this.input.waitFor();
    await this.answer(name);
    await this.#page.locator(".part.editor .tab", { hasText: name }).first().waitFor();
  }

  /** Takes away the notifications that are shown: they lie over the box in which a message is written. */
  async clearNotifications() {
    await this.run("Notifications: Clear All Notifications");
    await this.#page.locator(".notifications-toasts .notification-list-item").first().waitFor({ state: "detached" });
  }

  /** Answers what VS Code asks in the same box: a text, or the first of its choices that fits. */
  async answer(text) {
    await this.input.waitFor();
    const row = this.#page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
    await until(`the box to hold ${text}`, async () => {
      await this.input.fill(text);
      await row.waitFor({ timeout: patience(LOOK_LIMIT) }).catch(() => undefined); // A text of the person's own is no choice.
      return (await this.input.inputValue()) === text;
    });
    await this.#page.keyboard.press("Enter");
  }

  /** Answers a dialog for files with a path. It writes the `proposed` name over whatever was typed before it was there. */
  async answerWithPath(path, proposed) {
    await this.input.waitFor();
    await until(`the proposed name ${proposed}`, async () => (await this.input.inputValue()).endsWith(proposed));
    await this.answer(path);
  }
}
