type Reply = { id?: number; result?: unknown; error?: { code: number; message: string } };

/** A gateway's side of `memq rpc`: newline-delimited JSON-RPC over the child's stdio. */
export type RpcClient = {
  call(method: string, params?: Record<string, unknown>): Promise<unknown>;
  /** Resident memory of the child now, in bytes (Linux). */
  residentBytes(): Promise<number>;
  /** Closes its input; resolves with its exit code. */
  end(): Promise<number>;
};

/** Starts `memq rpc` with this environment and nothing else of ours. */
export function startRpc(memq: string, env: Record<string, string>): RpcClient {
  const child = Bun.spawn([memq, "rpc"], { stdin: "pipe", stdout: "pipe", stderr: "ignore", env });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let nextId = 1;
  const reading = (async () => {
    let buffer = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      buffer += decoder.decode(chunk, { stream: true });
      for (let end = buffer.indexOf("\n"); end !== -1; end = buffer.indexOf("\n")) {
        const reply = JSON.parse(buffer.slice(0, end)) as Reply;
        buffer = buffer.slice(end + 1);
        const waiter = reply.id === undefined ? undefined : waiting.get(reply.id);
        if (waiter === undefined || reply.id === undefined) continue;
        waiting.delete(reply.id);
        if (reply.error === undefined) waiter.resolve(reply.result);
        else waiter.reject(new Error(`${reply.error.code}: ${reply.error.message}`));
      }
    }
    for (const waiter of waiting.values()) waiter.reject(new Error("memq rpc ended"));
  })();
  return {
    call(method, params = {}) {
      const id = nextId++;
      const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
      void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      void child.stdin.flush();
      return answer;
    },
    async residentBytes() {
      const status = await Bun.file(`/proc/${child.pid}/status`).text();
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) * 1024;
    },
    async end() {
      await child.stdin.end();
      const code = await child.exited;
      await reading;
      return code;
    },
  };
}
