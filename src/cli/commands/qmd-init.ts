import { existsSync } from "node:fs";
import { join } from "node:path";
import { MemqError } from "../../errors.ts";
import { createIndexYml } from "../../home/index-yml-edit.ts";
import { realPath, userHome } from "../../home/paths.ts";
import { writeOut } from "../../output.ts";
import { openIndex } from "../../store/open.ts";
import { withWriterLock } from "../../store/lock.ts";
import type { Invocation } from "../parse.ts";
import { shellFolder } from "../qmd/home.ts";
import { doctorHint } from "../qmd/words.ts";

/** `init`: gives the current folder an index of its own. */
export async function run({ program }: Invocation): Promise<void> {
  const folder = shellFolder();
  if (realPath(folder) === realPath(userHome(process.env))) {
    throw new MemqError(
      "INIT_HOME",
      `Refusing to initialize a local index in $HOME. It would hide your own index; '${program} collection add <path>' adds to that.`,
      { hint: `Run '${program} init' inside a project folder.\n${doctorHint(program)}` },
    );
  }
  const place = join(folder, ".qmd");
  const indexPath = join(place, "index.sqlite");
  const isNew = await withWriterLock(indexPath, () => {
    openIndex(indexPath, { mode: "write" }).close();
    // What makes the folder a project comes last.
    return existsSync(join(place, "index.yaml")) ? false : createIndexYml(join(place, "index.yml"));
  });
  writeOut(isNew ? "ready to go with new local index\n" : `ready to go with the local index in ${place}\n`);
}
