/** One part of a multipart body: its headers and its text. */
export type Part = { headers: Record<string, string>; text: string };

/** A multipart body of the given kind (`form-data`, `related`), with the header that announces it. */
export function multipart(kind: string, parts: readonly Part[]): { contentType: string; body: string } {
  const boundary = `memq-${crypto.randomUUID()}`;
  const blocks = parts.map(({ headers, text }) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    return `--${boundary}\r\n${lines.join("\r\n")}\r\n\r\n${text}\r\n`;
  });
  return { contentType: `multipart/${kind}; boundary=${boundary}`, body: `${blocks.join("")}--${boundary}--\r\n` };
}
