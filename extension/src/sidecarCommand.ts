/** How a sidecar is started: the program, what it gets, and where. */
import * as l10n from "@vscode/l10n";
import { type Children, whyNotStarted } from "./children";
import { SidecarError } from "./errors";

export interface SidecarCommand {
  readonly executable: string;
  readonly arguments: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
}

/** @throws {SidecarError} The system cannot start the program, and says so at once. */
export function spawnSidecar(
  { executable, arguments: given, environment, directory }: SidecarCommand,
  children: Children,
) {
  try {
    return children.spawn(executable, given, { cwd: directory, env: environment });
  } catch (error) {
    const why = whyNotStarted(error);
    throw new SidecarError(l10n.t`Partstream's Python process could not be started: ${executable} (${why}).`, {
      cause: error,
    });
  }
}
