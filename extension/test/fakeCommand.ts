/** How tests start the fake sidecar, and what they hand to it. */
import { join } from "node:path";
import { type InitializeParams, PROTOCOL_VERSION } from "../src/protocol.generated";
import { Sidecar, type SidecarListener, type SidecarCommand } from "../src/sidecar";

export const PARAMETERS: InitializeParams = {
  protocolVersion: PROTOCOL_VERSION,
  clientInfo: { name: "test", version: "1" },
  vscodeVersion: "1.127.0",
  configuration: { providers: [] },
};

export function fakeCommand(behaviour = "normal"): SidecarCommand {
  return {
    executable: process.execPath,
    arguments: [join(__dirname, "fakeSidecar.cjs"), behaviour],
    environment: process.env,
    directory: __dirname,
  };
}

export const QUIET: SidecarListener = {
  log: () => undefined,
  hearers: {
    "languageModels/didChange": () => undefined,
    "languageModels/tokenCountsDidChange": () => undefined,
    "languageModels/didAnswer": () => undefined,
    "languageModels/didRecord": () => undefined,
    "languageModels/providerDidLoad": () => undefined,
    "ui/budgetsDidChange": () => undefined,
  },
  asked: () => Promise.resolve(null),
};

/** Milliseconds that a fake has to start where a test does not say otherwise. */
export const ENOUGH = 10_000;

export function startFake(behaviour?: string, listener = QUIET, limit = ENOUGH): Promise<Sidecar> {
  return Sidecar.start(fakeCommand(behaviour), PARAMETERS, listener, { limit });
}

/** What a Python prints that is probed. */
export function probed(executable: string, version: string): string {
  return `\npartstream-probe:${executable}\npartstream-probe:${version}\n`;
}
