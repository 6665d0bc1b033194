/** The chat panel as a person has it: choose a model, write, read, open what is collapsed, press Stop. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { chromium } from "playwright-core";
import { isOpaque } from "./opaque.js";
import { bound, patience, until } from "./wait.js";

const PANEL = ".interactive-session";
const RESPONSE = ".interactive-item-container.interactive-response";
const ANSWER = `${PANEL} ${RESPONSE}`;
const QUESTION = `${PANEL} .interactive-request`;
const ROW = `${PANEL} .monaco-list-row`;
const STOP = `${PANEL} .chat-input-toolbars .codicon-stop-circle, ${PANEL} .chat-input-toolbars .codicon-debug-stop`;
const LOADING = `${PANEL} .chat-response-loading`;
const USAGE_ITEM = '.part.statusbar .statusbar-item[id$="partstream.usage"]';
const WAITING_ITEM = '.part.statusbar .statusbar-item[id$="partstream.waiting"]';
const HUB_ITEM = '.part.statusbar .statusbar-item[id$="partstream.hub"]';
const COMPLETIONS_ITEM = '.part.statusbar .statusbar-item[id$="partstream.completions"]';
/** Without movement, as a person may ask for it: drawing it keeps a processor busy where there is no graphics card. */
const WINDOW = { viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" };
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-quic",
  "--disable-sync",
  "--no-first-run",
];
/** Milliseconds for VS Code to come up in the browser on a slow machine. */
const OPEN_LIMIT = 90_000;
const CLICK_LIMIT = 15_000;
const ANSWER_LIMIT = 45_000;
/** Milliseconds after which a choice in the picker was forgotten. */
const CHOICE_LIMIT = 4_000;

export class ChatPanel {
  #browser;
  #page;

  /**
   * Opens VS Code with a folder in a browser of its own.
   *
   * `isEnabled` keeps Copilot's own extension enabled from the start; without it, the first message enables it. `prepare`
   * gets the page before it loads anything.
   */
  async open(url, workspace, executable, { window = WINDOW, isEnabled = true, prepare = async () => {} } = {}) {
    this.#browser = await chromium.launch({ executablePath: executable, args: FLAGS });
    this.#page = await this.#browser.newPage(window);
    this.renewLimits();
    await prepare(this.#page);
    if (isEnabled) await this.#enableChat(url);
    await this.#page.goto(`${url}/?folder=${encodeURIComponent(workspace)}`, { timeout: bound(OPEN_LIMIT) });
    await this.#input.waitFor({ timeout: bound(OPEN_LIMIT) });
  }

  /** Gives the browser driver the time that it needs at the load of this moment. */
  renewLimits() {
    this.#page.setDefaultTimeout(bound(CLICK_LIMIT));
  }

  /** Drags the panel's left side until the panel is so many pixels wide, as near as the window lets it. */
  async widen(pixels) {
    const part = this.#page.locator(".part.auxiliarybar");
    const { x, width } = await part.boundingBox();
    const sashes = await Promise.all((await this.#page.locator(".monaco-sash.vertical").all()).map((one) => one.boundingBox()));
    const away = (sash) => Math.abs(sash.x + sash.width / 2 - x);
    const [sash] = sashes.filter((one) => one?.height > 0).sort((one, other) => away(one) - away(other));
    const from = { x: sash.x + sash.width / 2, y: sash.y + sash.height / 3 };
    await this.#page.mouse.move(from.x, from.y);
    await this.#page.mouse.down();
    await this.#page.mouse.move(from.x + width - pixels, from.y, { steps: 10 });
    await this.#page.mouse.up();
    await until("the panel to be wider", async () => (await part.boundingBox()).width > width, {
      limit: 5000,
      describe: () => JSON.stringify(sashes),
    });
  }

  /** Loads the window anew, by VS Code's own command, which `palette` runs: VS Code first writes down what is open. */
  async reload(palette) {
    const loaded = this.#page.waitForEvent("load", { timeout: bound(OPEN_LIMIT) });
    await palette.run("Developer: Reload Window");
    await loaded;
    await this.#input.waitFor({ timeout: bound(OPEN_LIMIT) });
  }

  async close() {
    await this.#browser?.close();
  }

  get page() {
    return this.#page;
  }

  /** Opens the picker and narrows it to a model, which the list shows when this returns; `group` as in `pickModel`. */
  async openPicker(name, group) {
    await until(
      `the model ${name} in the picker`,
      async () => {
        await this.#pickerButton.click();
        await this.#page.locator(".action-widget").first().waitFor();
        await this.#page.keyboard.insertText(name);
        try {
          await until("the row", () => this.#pickerRow(name, group), { limit: 2000, within: patience });
          return true;
        } catch {
          await this.#page.keyboard.press("Escape"); // Not there yet: the list is the one of the moment it was opened.
          return false;
        }
      },
      { limit: OPEN_LIMIT, describe: () => this.#page.locator(".action-widget").allInnerTexts() },
    );
  }

  /** What the opened picker says in the row of a model. */
  async rowInPicker(name, group) {
    return (await this.#pickerRow(name, group)).innerText();
  }

  /** Opens the picker with all models, also those that VS Code puts behind another row. */
  async openWholePicker() {
    await this.openPicker("");
    const others = this.#page.locator(".action-widget .monaco-list-row", { hasText: "Other Models" });
    const rows = this.#page.locator(".action-widget .monaco-list-row");
    const before = await rows.count();
    await others.click();
    await until("the other models", async () => (await rows.count()) > before);
  }

  /**
   * Chooses a model in the picker, and waits until the picker shows it.
   *
   * VS Code forgets a choice that is made while a new chat is still being set up: a person would choose again.
   * Several groups may have a model of this name: `group` is the one that is meant.
   */
  async pickModel(name, group) {
    const shows = async () => (await this.#pickerButton.innerText()).includes(name);
    await until(
      `the picker to show ${name}`,
      async () => {
        await this.openPicker(name, group);
        // At its beginning: at the end of a row under the mouse is a button that pins the model.
        // A chat that opens meanwhile takes the focus, and with it the list.
        const place = { position: { x: 40, y: 8 }, timeout: patience(CHOICE_LIMIT) };
        const isClicked = async () => (await this.#pickerRow(name, group)).click(place).then(() => true);
        if (!(await isClicked().catch(() => false))) return false;
        return until(`the choice of ${name} to be taken`, shows, { limit: CHOICE_LIMIT, within: patience }).catch(async () => {
          await this.#page.keyboard.press("Escape");
          return false;
        });
      },
      { limit: OPEN_LIMIT, describe: () => this.#pickerButton.innerText() },
    );
  }

  /** Chooses how hard the model thinks, beside its name, and waits until that is shown. */
  async pickEffort(name) {
    const button = this.#page.locator(`${PANEL} .model-picker-config`).first();
    await button.click();
    await this.#page.locator(".action-widget .monaco-list-row", { hasText: name }).first().click();
    await this.#page.keyboard.press("Escape"); // It stays open for a second look.
    await until(`the effort ${name} to be shown`, async () => (await button.innerText()).includes(name));
  }

  /** Writes the last message anew and sends it; what came after it is gone. */
  async editLast(text) {
    await this.#page.locator(`${PANEL} .interactive-request .value`).last().click();
    const editor = this.#page.locator(`${PANEL} .interactive-request .interactive-input-editor .monaco-editor`).last();
    await editor.click();
    await this.#page.keyboard.press("ControlOrMeta+A");
    await this.#page.keyboard.insertText(text);
    await this.#page.keyboard.press("Enter");
  }

  /** What the button of the picker says. */
  async chosenModel() {
    return this.#pickerButton.innerText();
  }

  /** Waits until the picker shows a model by itself. */
  async showsModel(name, limit = OPEN_LIMIT) {
    const shown = () => this.#pickerButton.innerText();
    await until(`the picker to show ${name}`, async () => (await shown()).includes(name), { limit, describe: shown });
  }

  /** Sends a message and returns as soon as its answer has begun to be waited for. */
  async send(text) {
    await this.write(text);
    await this.sendWritten();
  }

  /**
   * Writes a message in place of what is there, and does not send it.
   *
   * A chat that opens meanwhile takes the focus: what a person typed into the picker may stand there then, and what was
   * written may be gone.
   */
  async write(text) {
    const bare = (one) => one.replaceAll(/\s/g, ""); // Lines are wrapped, and their spaces do not break.
    const shown = async () => (await this.#input.locator(".view-line").allInnerTexts()).map(bare).filter(Boolean);
    await until(
      "the message in its box",
      async () => {
        await this.#input.click();
        await this.#page.keyboard.press("ControlOrMeta+A");
        await this.#page.keyboard.insertText(text);
        const lines = await shown();
        return lines.length > 0 && lines.every((line) => bare(text).includes(line));
      },
      { describe: shown },
    );
  }

  /** Sends what was written. */
  async sendWritten() {
    const before = await this.#lastRow();
    await this.#page.keyboard.press("Enter");
    await until("the question to be taken", async () => (await this.#lastRow()) > before, {
      describe: async () => `row ${await this.#lastRow()} after row ${before}, and the input says ${await this.#input.innerText()}`,
    });
  }

  /**
   * Sends a message in a window that was just loaded, and waits until its answer shows `expected`, a regular expression.
   *
   * VS Code may restore the chat of the last window, or not, and late: that chat then takes the place of the one that was
   * begun, with what was written or asked in it. A person would write it again.
   */
  async showsInNextWindow(text, expected) {
    let before;
    await until(
      `the next window to answer ${text}`,
      async () => {
        const isTaken = async () => (await this.hasQuestion(text)) && (await this.#lastRow()) > before;
        if (!(await this.hasQuestion(text))) {
          before = await this.#lastRow();
          await this.write(text);
          await this.#page.keyboard.press("Enter");
          await until("the question to be taken", isTaken, { limit: CHOICE_LIMIT, within: patience }).catch(() => false);
        }
        return (await isTaken()) && expected.test(await this.text());
      },
      { limit: OPEN_LIMIT, describe: () => this.text() },
    );
  }

  /** Sends a message and gives the answer's text when it is whole. */
  async ask(text) {
    await this.send(text);
    return this.answer();
  }

  /** The text of the last answer, once VS Code no longer waits for more. */
  async answer(limit = ANSWER_LIMIT) {
    await until("the answer to be whole", async () => !(await this.isBusy()), { limit, describe: () => this.text() });
    return this.text();
  }

  async isBusy() {
    return (await this.#page.locator(`${STOP}, ${LOADING}`).count()) > 0;
  }

  /** What the last answer shows at this moment. */
  async text() {
    const answers = await this.#page.locator(ANSWER).all();
    // While a paragraph is being rendered, VS Code holds its words together with spaces that do not break.
    return answers.length ? (await answers.at(-1).innerText()).replaceAll("\u00a0", " ") : "";
  }

  /** Waits until the last answer shows `expected`, a text or a regular expression. */
  async shows(expected, limit = ANSWER_LIMIT) {
    const fits = (text) => (expected instanceof RegExp ? expected.test(text) : text.includes(expected));
    await until(`the answer to show ${expected}`, async () => fits(await this.text()), {
      limit,
      describe: () => this.text(),
    });
  }

  /** Whether the chat shows a question that a person has asked. */
  async hasQuestion(text) {
    return (await this.#page.locator(QUESTION, { hasText: text }).count()) > 0;
  }

  /** Opens the row of completed steps and the thinking in it, as far as the last answer has them closed. */
  async openSteps() {
    const answer = this.#page.locator(ANSWER).last();
    for (const closed of [
      "details:not([open]) > summary",
      ".chat-used-context-collapsed > .chat-used-context-label a",
    ]) {
      const label = answer.locator(closed).first();
      if (await label.count()) await label.click();
    }
  }

  /** What the thinking blocks of the last answer show, as far as they are open. */
  async thinking() {
    return (await this.#page.locator(ANSWER).last().locator(".chat-thinking-box").allInnerTexts()).join("\n");
  }

  /** What the widget of the context window says when it is clicked. */
  async contextWindow() {
    const details = this.#page.locator(".chat-context-usage-details");
    await this.#page.locator(".chat-context-usage-widget").click();
    await details.waitFor();
    await until("the details to be there whole", () => details.evaluate(isOpaque), { limit: 5000 });
    return details.innerText();
  }

  async closeHover() {
    await this.#page.keyboard.press("Escape");
    await this.#page.locator(".chat-context-usage-details").waitFor({ state: "detached" });
  }

  /** What our item of the status bar says; nothing while it is hidden. */
  async tokenUsage() {
    return (await this.#page.locator(USAGE_ITEM).allInnerTexts()).join("");
  }

  /** What our item of the status bar says of an answer that does not begin; nothing while it is hidden. */
  async waiting() {
    return (await this.#page.locator(WAITING_ITEM).allInnerTexts()).join("");
  }

  /** What our item of the status bar says of the budget at a hub; nothing while it is hidden. */
  async hubBudget() {
    return (await this.#page.locator(HUB_ITEM).allInnerTexts()).join("");
  }

  /** The classes of that item, which say its colour. */
  async hubBudgetClasses() {
    return (await this.#page.locator(HUB_ITEM).getAttribute("class")) ?? "";
  }

  /** Clicks the item that says what an answer waits for, once it says `text`; gives all that it says. */
  async clickWaiting(text, look = async () => {}) {
    const item = this.#page.locator(WAITING_ITEM, { hasText: text });
    await item.waitFor();
    await look();
    const said = await item.innerText();
    await item.locator("a").click();
    return said.trim();
  }

  /** Gives what the tooltip of that item says, after `look`. */
  async tooltipOfBudget(look) {
    return this.#tooltipOf(HUB_ITEM, "Open the Hub's Page", look);
  }

  /** Gives what the tooltip of the item of token usage says, after `look`. */
  async tooltipOfUsage(look) {
    return this.#tooltipOf(USAGE_ITEM, "Show Token Usage", look);
  }

  /** Gives what the tooltip of the item of completions says, once it says `text`, after `look`. */
  async tooltipOfCompletions(text, look) {
    return this.#tooltipOf(COMPLETIONS_ITEM, text, look);
  }

  /** A tooltip covers the chat as long as the mouse is there. */
  async #tooltipOf(item, text, look) {
    await this.#page.locator(item).hover();
    const said = await this.#hovered(".workbench-hover", text, look);
    await this.#page.mouse.move(700, 300);
    await this.#page.locator(".workbench-hover:visible").waitFor({ state: "detached" });
    return said;
  }

  /**
   * Gives what the picker says of a model when the mouse rests on it, after `look`.
   *
   * The picker shows the models as they were when it was opened: it is opened anew until it says `text`.
   */
  async tooltipInPicker(name, group, text, look) {
    const hover = this.#page.locator(".chat-model-hover:visible", { hasText: text });
    await until(`the picker to say ${text} of ${name}`, async () => {
      await this.openPicker(name, group);
      await (await this.#pickerRow(name, group)).hover();
      try {
        await hover.waitFor({ timeout: patience(CHOICE_LIMIT) });
        return true;
      } catch {
        await this.#page.keyboard.press("Escape");
        return false;
      }
    });
    const said = await this.#hovered(".chat-model-hover", text, look);
    await this.#page.keyboard.press("Escape");
    return said;
  }

  async #hovered(selector, text, look) {
    const hover = this.#page.locator(`${selector}:visible`, { hasText: text }).first();
    await hover.waitFor();
    await until("the tooltip to be there whole", () => hover.evaluate(isOpaque), { limit: 5000 });
    await look();
    return hover.innerText();
  }

  /** Clicks the item of token usage, which opens a page. */
  async openTokenUsage() {
    await this.#page.locator(`${USAGE_ITEM} a`).click();
  }

  async closeEditors() {
    const tabs = this.#page.locator(".part.editor .tab");
    for (const tab of await tabs.all()) await tab.click({ button: "middle" });
    await until("no editor to be open", async () => (await tabs.count()) === 0, { limit: 5000 });
  }

  /** Presses Stop and gives how many milliseconds the panel took to be ready again. */
  async stop() {
    const begin = performance.now();
    await this.#page.locator(STOP).first().click();
    await until("the panel to be ready again", async () => !(await this.isBusy()), { limit: 10_000, interval: 10 });
    return performance.now() - begin;
  }

  /** Gives a function that says whether the box for messages has had the focus since, though it may have lost it again. */
  async watchFocus() {
    const seen = await this.#page.evaluateHandle((box) => {
      const watched = { focus: false };
      document.addEventListener("focusin", ({ target }) => {
        if (target.closest(box)) watched.focus = true;
      });
      return watched;
    }, `${PANEL} .interactive-input-part`);
    return () => seen.evaluate(({ focus }) => focus);
  }

  /** Begins a chat, unless one lies there empty: VS Code would set that up anew, over what is written by then. */
  async newChat() {
    if ((await this.#page.locator(ANSWER).count()) === 0) return;
    await this.#page.locator('.part.auxiliarybar [aria-label^="New Chat"]').first().click();
    await until("an empty chat", async () => (await this.#page.locator(ANSWER).count()) === 0);
  }

  /** The notifications that are shown at this moment. */
  async notifications() {
    return this.#page.locator(".notifications-toasts .notification-list-item-message").allInnerTexts();
  }

  /** Waits for a notification that shows `text`. */
  async notification(text, limit = CLICK_LIMIT) {
    const notification = this.#page.locator(".notifications-toasts .notification-list-item", { hasText: text }).first();
    await notification.waitFor({ timeout: bound(limit) });
    return notification;
  }

  /** Waits for a notification that shows `text`, and clicks its button. */
  async answerNotification(text, button, limit = CLICK_LIMIT) {
    const notification = await this.notification(text, limit);
    await notification.locator(".monaco-button", { hasText: button }).click();
  }

  /**
   * Trusts the folder, which a window opens restricted.
   *
   * In a browser VS Code says so in a banner that leads to a page; on a desktop a dialog asks, and one click answers it.
   */
  async trustFolder() {
    await this.#page.locator(".part.banner a", { hasText: "Manage" }).click();
    await this.#page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).first().click();
    await this.#page.locator(".workspace-trust-editor", { hasText: "You trust this folder" }).waitFor();
    const page = this.#page.locator(".monaco-modal-editor-block");
    await until("the page of trust to be gone", async () => {
      if ((await page.count()) === 0) return true;
      // It may go by itself meanwhile.
      await page.locator(".codicon-close:visible").last().click({ timeout: patience(CHOICE_LIMIT) }).catch(() => undefined);
      return false;
    });
  }

  /** Waits until the status bar says that the chat needs no account. */
  async isSetUp() {
    await this.statusItem("The chat needs no account").waitFor({ timeout: bound(OPEN_LIMIT) });
  }

  /** Clicks a button of VS Code's dialog that waits, after `look`; gives what the dialog says. */
  async answerDialog(text, button, look = async () => {}) {
    const dialog = this.#page.locator(".monaco-dialog-box", { hasText: text });
    await dialog.waitFor();
    await look();
    const said = await dialog.innerText();
    await dialog.locator(".monaco-button", { hasText: button }).click();
    return said;
  }

  /** The item of the status bar that says `text`, if there is one. */
  statusItem(text) {
    return this.#page.locator(".statusbar-item:visible", { hasText: text });
  }

  /** Waits until the status bar has an item of ours that says `text`. */
  async showsInStatusBar(text) {
    await this.statusItem(text).waitFor();
  }

  /** What a screen reader says of our items of the status bar. */
  async heardInStatusBar() {
    const items = this.#page.locator('.part.statusbar .statusbar-item[id*="partstream."]:visible a');
    return items.evaluateAll((links) => links.map((link) => link.getAttribute("aria-label") ?? ""));
  }

  /** How many errors VS Code counts among its problems. */
  async problems() {
    const label = await this.#page.locator('.statusbar-item[id="status.problems"] a').getAttribute("aria-label");
    return Number(/Errors: (\d+)/.exec(label ?? "")?.[1] ?? 0);
  }

  async screenshot(file, clip) {
    mkdirSync(dirname(file), { recursive: true });
    await this.#page.screenshot({ path: file, clip });
  }

  /**
   * The number of the last answer's row in the chat, -1 in an empty one.
   *
   * The list holds only the rows that are in view: how many there are does not grow with each answer.
   */
  async #lastRow() {
    const rows = this.#page.locator(ROW, { has: this.#page.locator(RESPONSE) });
    return rows.evaluateAll((elements) => Math.max(-1, ...elements.map((row) => Number(row.dataset.index))));
  }

  get #input() {
    return this.#page.locator(`${PANEL} .interactive-input-editor .monaco-editor`).first();
  }

  /** The row of a model; nothing if it is not there. The rows of a group stand behind its name. */
  async #pickerRow(name, group) {
    const rows = this.#page.locator(".action-widget .monaco-list-row");
    const texts = await rows.allInnerTexts();
    const begin = group === undefined ? 0 : texts.findIndex((text) => text.trim() === group);
    const index = texts.findIndex((text, row) => row >= begin && text.includes(name));
    return begin >= 0 && index >= 0 ? rows.nth(index) : undefined;
  }

  get #pickerButton() {
    return this.#page.locator(`${PANEL} .model-picker-item`).first();
  }

  /**
   * Keeps Copilot's own extension enabled: on a fresh profile VS Code disables it once, until somebody signs in.
   *
   * The web workbench keeps its state in the browser, which has to have it before the workbench loads.
   */
  async #enableChat(url) {
    await this.#page.goto(`${url}/healthz`);
    await this.#page.evaluate(
      (items) =>
        new Promise((resolve, reject) => {
          const opening = indexedDB.open("vscode-web-state-db-global");
          opening.onupgradeneeded = () => opening.result.createObjectStore("ItemTable");
          opening.onerror = () => reject(opening.error);
          opening.onsuccess = () => {
            const transaction = opening.result.transaction("ItemTable", "readwrite");
            for (const [key, value] of Object.entries(items)) transaction.objectStore("ItemTable").put(value, key);
            transaction.onerror = () => reject(transaction.error);
            transaction.oncomplete = () => {
              opening.result.close();
              resolve();
            };
          };
        }),
      { builtinChatExtensionEnablementMigration: "true" },
    );
  }
}
