/** Starts the Python process of a plan, with what the extension brings. No VS Code. */
import { join } from "node:path";
import type { Children } from "./children";
import { inFolderThatExists, type Plan, sidecarCommand } from "./launch";
import type { Log } from "./log";
import { type InitializeParams, type LogLevel, PROTOCOL_VERSION } from "./protocol.generated";
import { Sidecar, type SidecarListener } from "./sidecar";
import type { Start } from "./supervisor";

export interface SidecarSurroundings {
  /** The folder of the extension. */
  readonly folder: string;
  /** The version of the extension, and that of VS Code. */
  readonly version: string;
  readonly vscodeVersion: string;
  readonly log: Log;
  readonly children: Children;
  readonly listener: SidecarListener;
  /** Tells which messages the log shows, now and whenever that changes. */
  readonly followLogLevel: (tell: (level: LogLevel) => void) => { dispose(): unknown };
}

/** Rejects if the process cannot be started. */
export async function startSidecar(
  plan: Plan,
  { limit, abandoned }: Start,
  { folder, version, vscodeVersion, log, children, listener, followLogLevel }: SidecarSurroundings,
): Promise<Sidecar> {
  const { executable, version: ofPython, source } = plan.python;
  log.info(`starting Python ${ofPython} at ${executable} (${source})`);
  const libraries = join(folder, "bundled", "libs");
  const command = inFolderThatExists(sidecarCommand(plan, libraries, process.env), libraries, log.warning);
  const parameters: InitializeParams = {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "partstream-vscode", version },
    vscodeVersion,
    configuration: plan.configuration,
  };
  const sidecar = await Sidecar.start(command, parameters, listener, { limit, abandoned, children });
  const following = followLogLevel((level) => sidecar.notify("setLogLevel", { level }));
  void sidecar.ended.then(() => void following.dispose());
  return sidecar;
}
