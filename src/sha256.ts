/** SHA-256 in hexadecimal digits; of a string its UTF-8 form. */
export function sha256(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}
