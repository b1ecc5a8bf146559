import { createHash } from "node:crypto";

// Mach-O (mach-o/loader.h) is little endian here, code signatures (xnu's cs_blobs.h) are big endian.
const MAGIC_64 = 0xfeedfacf;
const SEGMENT_64 = 0x19;
const CODE_SIGNATURE_COMMAND = 0x1d;
const EMBEDDED_SIGNATURE = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const CODE_DIRECTORY_VERSION = 0x20400;
/** CS_ADHOC | CS_LINKER_SIGNED: as linkers sign; no identity. */
const AD_HOC_FLAGS = 0x20002;
const MAIN_BINARY = 1n;
const PAGE_SIZE = 4096;
const HASH_SIZE = 32;
const SHA256_TYPE = 2;
const DIRECTORY_HEADER = 88;
const SUPER_BLOB_HEADER = 20;

type Layout = {
  /** File offset of the LC_CODE_SIGNATURE command, of the signature, and of the __LINKEDIT segment's command. */
  command: number;
  signature: number;
  linkEdit: number;
  /** File offset and size of the __TEXT segment. */
  text: { offset: bigint; size: bigint };
};

/**
 * The executable with an ad hoc signature in place of the one it has, as `codesign --force --sign -` would give it: the kernel
 * of macOS ends programs whose pages don't match their signature, and Bun's own is broken by what was appended. Only thin
 * 64-bit files that are signed already.
 */
export function adHocSigned(executable: Uint8Array, identifier: string): Uint8Array {
  const layout = layoutOf(executable);
  const pages = Math.ceil(layout.signature / PAGE_SIZE);
  const name = Buffer.from(`${identifier}\0`);
  const hashes = DIRECTORY_HEADER + name.length;
  const directoryLength = hashes + pages * HASH_SIZE;
  const blobLength = SUPER_BLOB_HEADER + directoryLength;
  const room = Math.ceil(blobLength / 16) * 16;

  const signed = Buffer.alloc(layout.signature + room);
  signed.set(executable.subarray(0, layout.signature));
  // These stand in pages that are hashed below.
  signed.writeUInt32LE(room, layout.command + 12);
  const linkEditSize = signed.length - Number(signed.readBigUInt64LE(layout.linkEdit + 40));
  signed.writeBigUInt64LE(BigInt(linkEditSize), layout.linkEdit + 48);
  signed.writeBigUInt64LE(BigInt(Math.ceil(linkEditSize / 16384) * 16384), layout.linkEdit + 32);

  const blob = signed.subarray(layout.signature);
  writeUint32s(blob, [EMBEDDED_SIGNATURE, blobLength, 1, 0, SUPER_BLOB_HEADER]);
  const directory = blob.subarray(SUPER_BLOB_HEADER);
  writeUint32s(directory, [
    CODE_DIRECTORY,
    directoryLength,
    CODE_DIRECTORY_VERSION,
    AD_HOC_FLAGS,
    hashes,
    DIRECTORY_HEADER,
    0,
    pages,
    layout.signature,
  ]);
  directory.set([HASH_SIZE, SHA256_TYPE, 0, Math.log2(PAGE_SIZE)], 36);
  directory.writeBigUInt64BE(layout.text.offset, 64);
  directory.writeBigUInt64BE(layout.text.size, 72);
  directory.writeBigUInt64BE(MAIN_BINARY, 80);
  directory.set(name, DIRECTORY_HEADER);
  for (let page = 0; page < pages; page++) {
    directory.set(pageHash(signed, page, layout.signature), hashes + page * HASH_SIZE);
  }
  return signed;
}

/** Number of pages that the file's signature covers, and of those whose content differs from their hash. */
export function signatureFaults(executable: Uint8Array): { pages: number; wrong: number; adHoc: boolean } {
  const { signature } = layoutOf(executable);
  const file = Buffer.from(executable.buffer, executable.byteOffset, executable.byteLength);
  const directory = file.subarray(signature + file.readUInt32BE(signature + 16));
  if (directory.readUInt32BE(0) !== CODE_DIRECTORY) throw new Error("no code directory");
  const hashes = directory.readUInt32BE(16);
  const pages = directory.readUInt32BE(28);
  const limit = directory.readUInt32BE(32);
  let wrong = 0;
  for (let page = 0; page < pages; page++) {
    const expected = directory.subarray(hashes + page * HASH_SIZE, hashes + (page + 1) * HASH_SIZE);
    if (!pageHash(file, page, limit).equals(expected)) wrong++;
  }
  const missing = Math.ceil(signature / PAGE_SIZE) - pages;
  return { pages, wrong: wrong + Math.max(0, missing), adHoc: (directory.readUInt32BE(12) & 2) !== 0 };
}

function layoutOf(executable: Uint8Array): Layout {
  const file = Buffer.from(executable.buffer, executable.byteOffset, executable.byteLength);
  if (file.length < 32 || file.readUInt32LE(0) !== MAGIC_64) throw new Error("not a thin 64-bit Mach-O file");
  const found: Partial<Layout> = {};
  let at = 32;
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    const kind = file.readUInt32LE(at);
    if (kind === CODE_SIGNATURE_COMMAND) Object.assign(found, { command: at, signature: file.readUInt32LE(at + 8) });
    const name = kind === SEGMENT_64 ? file.toString("latin1", at + 8, at + 24).replace(/\0+$/, "") : "";
    if (name === "__LINKEDIT") found.linkEdit = at;
    if (name === "__TEXT") found.text = { offset: file.readBigUInt64LE(at + 40), size: file.readBigUInt64LE(at + 48) };
    at += file.readUInt32LE(at + 4);
  }
  const { command, signature, linkEdit, text } = found;
  if (command === undefined || signature === undefined || linkEdit === undefined || text === undefined) {
    throw new Error("a Mach-O file without signature, __TEXT or __LINKEDIT");
  }
  return { command, signature, linkEdit, text };
}

function pageHash(file: Buffer, page: number, limit: number): Buffer {
  return createHash("sha256")
    .update(file.subarray(page * PAGE_SIZE, Math.min((page + 1) * PAGE_SIZE, limit)))
    .digest();
}

function writeUint32s(target: Buffer, values: number[]): void {
  for (const [index, value] of values.entries()) target.writeUInt32BE(value, index * 4);
}
