/** What is left when VS Code ends; to be run last. */
import { until } from "../driver/wait.js";
import { SIDECAR } from "./configuration.js";

export const ENDING_CHECKS = [
  {
    name: "ending: the sidecar ends with VS Code",
    async run({ server, processes, panel }) {
      await panel.close();
      server.stop();
      await until("the sidecar to end", () => processes.find(SIDECAR).length === 0, { limit: 15_000 });
    },
  },
];
