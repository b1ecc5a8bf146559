import type { Invocation } from "../parse.ts";
import { flag } from "../parse.ts";
import { surfaceOf } from "./mcp-home.ts";

/** `memq mcp`: over stdin and stdout, ending with its input; with `--http` until it is told to stop. */
export async function run(invocation: Invocation): Promise<void> {
  if (flag(invocation, "http") || flag(invocation, "daemon")) {
    const { runHttp } = await import("./mcp-http.ts");
    return runHttp(invocation);
  }
  const [surface, { serveMcpOverStdio }] = await Promise.all([
    surfaceOf(invocation),
    import("../../gateway/mcp/stdio.ts"),
  ]);
  return serveMcpOverStdio(surface, { name: invocation.program });
}
