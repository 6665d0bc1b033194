#!/usr/bin/env node
/**
 * The command `code` of a VS Code that lives in a folder: what a person types on the command line.
 *
 *     node code.js FOLDER ARGUMENT...
 */
import { CodeServer } from "./driver/codeServer.js";
import { Processes } from "./driver/processes.js";

const [folder, ...commandArguments] = process.argv.slice(2);
process.stdout.write(await new CodeServer(new Processes(), folder).command(commandArguments));
