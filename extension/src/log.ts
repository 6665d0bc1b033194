/** Writes to the output channel, with the keys removed from every line. */
import type { LogOutputChannel } from "vscode";
import type { LogLevel } from "./protocol.generated";
import type { Redactor } from "./redaction";

export class Log {
  constructor(
    private readonly channel: Pick<LogOutputChannel, "trace" | "debug" | "info" | "warn" | "error">,
    private readonly redactor: Redactor,
  ) {}

  /** One line (or a traceback) from `source`: a provider, the Python process, or this extension. */
  add(level: LogLevel, source: string, message: string): void {
    this.channel[level === "warning" ? "warn" : level](this.redactor.redact(`[${source}] ${message}`));
  }

  // Arrow functions, because other modules get the function alone.
  readonly debug = (message: string): void => this.add("debug", "extension", message);
  readonly info = (message: string): void => this.add("info", "extension", message);
  readonly warning = (message: string): void => this.add("warning", "extension", message);
}
