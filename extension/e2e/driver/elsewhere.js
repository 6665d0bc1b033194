/** Another machine, as far as a program can tell: a Python of its own with the built package, and an empty environment. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./session.js";
import { bound } from "./wait.js";

const UV = join(ROOT, ".venv/bin/uv");
const LIMIT = 60_000;

export class Elsewhere {
  #folder;

  constructor(folder) {
    this.#folder = folder;
    mkdirSync(join(folder, "home"), { recursive: true });
  }

  /** Builds the wheels of the core and of what looks into recordings, and installs them with what they need. */
  async install() {
    const wheels = join(this.#folder, "wheels");
    for (const name of ["partstream", "partstream-devtools"])
      await perform(UV, ["build", "--quiet", "--wheel", "--out-dir", wheels, join(ROOT, "packages", name)], process.env);
    await perform(UV, ["venv", "--quiet", join(this.#folder, "venv")], process.env);
    const built = readdirSync(wheels).filter((name) => name.endsWith(".whl"));
    const python = join(this.#folder, "venv/bin/python");
    const files = built.map((name) => join(wheels, name));
    await perform(UV, ["pip", "install", "--quiet", "--python", python, ...files], process.env);
  }

  /** Runs a command of the package to its end: its status and what it printed. */
  async partstream(...words) {
    const environment = { HOME: join(this.#folder, "home"), PATH: "/usr/bin:/bin", PYTHONUTF8: "1", COLUMNS: "200" };
    return perform(join(this.#folder, "venv/bin/partstream"), words, environment, { mayFail: true });
  }

  /** Everything in a file of recordings, each of its entries unpacked. */
  async contents(file) {
    const program =
      "import sys, zipfile; archive = zipfile.ZipFile(sys.argv[1]); " +
      "sys.stdout.buffer.write(b''.join(archive.read(name) for name in archive.namelist()))";
    return (await perform(join(this.#folder, "venv/bin/python"), ["-c", program, file], {})).output;
  }
}

function perform(program, words, environment, { mayFail = false } = {}) {
  return new Promise((resolve, reject) => {
    const options = { env: environment, timeout: bound(LIMIT), maxBuffer: 64 * 1024 * 1024 };
    execFile(program, words, options, (error, output, errors) => {
      if (error && !(mayFail && typeof error.code === "number")) reject(new Error(`${program}: ${error.message}\n${errors}`));
      else resolve({ status: error?.code ?? 0, output, errors });
    });
  });
}
