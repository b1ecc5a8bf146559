/*
 * Folders as the operating system names them. `node:os` is looked up when asked for: the environment mostly says where home is, and
 * loading the module takes longer than reading a configuration.
 */

/** The user's home folder. */
export function systemHome(): string {
  return system().homedir();
}

/** The folder for temporary files. */
export function systemTemp(): string {
  return system().tmpdir();
}

function system(): typeof import("node:os") {
  return require("node:os") as typeof import("node:os");
}
