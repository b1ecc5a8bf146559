// Preloaded into a child: when it ends, writes the paths of the modules it loaded to the file that MODULES_FILE names.
import { writeFileSync } from "node:fs";

process.on("exit", () => writeFileSync(process.env["MODULES_FILE"] ?? "", Object.keys(require.cache).join("\n")));
