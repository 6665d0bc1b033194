/** The walkthrough of the extension as a person has it: open a step, press its button, see its mark. */
import { patience, until } from "./wait.js";

/** VS Code's own page of welcome slides over the steps, which stay in the same container, and cannot be clicked then. */
const CONTAINER = '.gettingStarted.showDetails:visible:has-text("Connect a model server")';
/** Milliseconds after which what was to be seen or clicked is gone. */
const LOOK_LIMIT = 5000;
/** Milliseconds for a mark: at its first start the extension looks for Python before it marks the first step. */
const MARK_LIMIT = 60_000;

export class Walkthrough {
  #page;
  #palette;
  #wizard;

  /** `palette` and `wizard` are those of the same page. */
  constructor(page, palette, wizard) {
    this.#page = page;
    this.#palette = palette;
    this.#wizard = wizard;
  }

  /** Opens a step, until its button or its picture, or whatever else `part` chooses in the walkthrough, is there. */
  async openStep(name, part) {
    await this.#inIt(`the step ${name}`, (steps, limit) => this.#openStep(steps, name, part, limit));
  }

  /** Presses the button of a step; calls `prepare` before it, with the step open. */
  async press(name, button, prepare = async () => {}) {
    const part = `.getting-started-step .monaco-button:has-text("${button}")`;
    await this.#inIt(`the button ${button}`, async (steps, limit) => {
      await this.#openStep(steps, name, part, limit);
      await prepare();
      await this.#page.locator(CONTAINER).locator(part).first().click(limit);
    });
  }

  /** Waits until a step has its mark. */
  async isMarked(name) {
    await this.#inIt(`the mark of ${name}`, async (steps, limit) => {
      await steps.filter({ hasText: name }).locator(".codicon-getting-started-step-checked").waitFor(limit);
    });
  }

  /**
   * Tries `act` until it succeeds, which gets the steps and the time that each of its waits may take.
   *
   * VS Code closes the walkthrough, or what leads to it, when a chat that was just opened takes the focus, and takes
   * Escape as the way back to its own page of welcome: then a person opens the walkthrough again.
   */
  async #inIt(what, act) {
    const container = this.#page.locator(CONTAINER);
    let last;
    await until(
      what,
      async () => {
        const limit = { timeout: patience(LOOK_LIMIT) };
        try {
          if ((await container.count()) === 0) {
            await this.#palette.run("Partstream: Help…");
            await this.#wizard.choose("Get Started", limit);
          }
          await act(container.locator(".getting-started-step"), limit);
          return true;
        } catch (error) {
          last = error;
          return false;
        }
      },
      { limit: MARK_LIMIT, describe: () => last },
    );
  }

  /** A step that is open already is not clicked: there may be a button under the mouse. */
  async #openStep(steps, name, part, limit) {
    const shown = this.#page.locator(CONTAINER).locator(part).first();
    if (!(await shown.isVisible())) await steps.filter({ hasText: name }).first().click(limit);
    await shown.waitFor(limit);
  }
}
