/** The settings of all windows, as an offer reads and writes them; without logic of its own. */
import * as vscode from "vscode";
import type { UserSettings } from "./settingsOffer";

export const USER_SETTINGS: UserSettings = {
  read: (key) => vscode.workspace.getConfiguration().inspect(key)?.globalValue,
  write: async (key, value) =>
    vscode.workspace.getConfiguration().update(key, value, vscode.ConfigurationTarget.Global),
};
