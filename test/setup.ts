// Runs before every test file: no test reads or writes the developer's own home, index, keys or models.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const home = mkdtempSync(join(tmpdir(), "memq-test-home-"));
process.env["HOME"] = home;
process.env["XDG_CONFIG_HOME"] = join(home, "config");
process.env["XDG_CACHE_HOME"] = join(home, "cache");
process.env["XDG_RUNTIME_DIR"] = home;
for (const name of Object.keys(process.env)) {
  if (/(_API_KEY|_TOKEN|_PROXY|_proxy)$/.test(name) || /^(OPENCLAW|QMD|MEMQ(?!_TEST)|AWS)_/.test(name))
    delete process.env[name];
}
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
