import type { Cutting } from "../notes/types.ts";
import type { Collection, Home } from "./types.ts";

/** How a document is cut: as its home says, and the curated root files of an agent's workspace per entry. */
export function documentCutting(home: Home, { pathPrefix }: Collection, path: string): Cutting {
  const { cutting } = home;
  const isCurated = pathPrefix === "" && (path === "MEMORY.md" || path === "USER.md");
  return home.kind === "agent" && cutting.kind === "lines" && isCurated ? { ...cutting, kind: "entries" } : cutting;
}
