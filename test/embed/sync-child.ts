// A sync in a process of its own, to be killed. Arguments: the home as JSON.
import type { Home } from "../../src/home/types.ts";
import { syncIndex } from "../../src/sync/sync.ts";

await syncIndex(JSON.parse(process.argv[2] ?? "{}") as Home);
