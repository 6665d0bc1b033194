/** Where a Partstream of the run keeps things: what the machine's own remembers stays out of the run, and the run out of it. */
import { join } from "node:path";

/** The environment variables for a Partstream whose folders are inside `folder`. */
export function ownFolders(folder) {
  return { PARTSTREAM_DATA: join(folder, "partstream-data"), PARTSTREAM_CACHE: join(folder, "partstream-cache") };
}
