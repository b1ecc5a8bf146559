import type { McpSurface } from "../../gateway/mcp/surface.ts";
import type { Invocation } from "../parse.ts";
import { flag } from "../parse.ts";
import { memoryPlace } from "./memory-options.ts";

/** `memq mcp`: ends with its input. */
export async function run(invocation: Invocation): Promise<void> {
  const surface = await surfaceOf(invocation);
  const { serveMcpOverStdio } = await import("../../gateway/mcp/stdio.ts");
  await serveMcpOverStdio(surface, { name: invocation.program });
}

/** The memory of an agent where one is named, else the notes of a qmd home. */
async function surfaceOf(invocation: Invocation): Promise<McpSurface> {
  const [{ memorySurface }, { openMemoryService }] = await Promise.all([
    import("../../gateway/mcp/memory-tools.ts"),
    import("../../memory/service.ts"),
  ]);
  const service = openMemoryService(memoryPlace(invocation), {
    live: true,
    watch: true,
    log: (sentence) => console.error(sentence),
  });
  return memorySurface(service, { allowWrite: flag(invocation, "allow-write") });
}
