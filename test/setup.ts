// Runs before every test file: no test reads or writes the developer's own home, index, keys or models.
import { afterAll } from "bun:test";
import { join } from "node:path";
import { removeTemporary, temporaryRoot as home } from "./temporary.ts";

process.env["HOME"] = home;
process.env["XDG_CONFIG_HOME"] = join(home, "config");
process.env["XDG_CACHE_HOME"] = join(home, "cache");
process.env["XDG_RUNTIME_DIR"] = home;
for (const name of Object.keys(process.env)) {
  if (/(_API_KEY|_TOKEN|_PROXY|_proxy)$/.test(name) || /^(OPENCLAW|QMD|MEMQ(?!_TEST)|AWS|HF|OLLAMA)_/.test(name))
    delete process.env[name];
}

// When the tests are over, also when some failed, or when they are broken off.
// On a busy machine removing thousands of files takes longer than a hook usually may.
afterAll(removeTemporary, 60_000);
process.on("exit", removeTemporary);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
