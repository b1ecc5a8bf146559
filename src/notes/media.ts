/** How many bytes of a file decide what it is. */
const MEDIA_PROBE_BYTES = 512;

const BRANDS: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(?:heic|heix|hevc|hevx)/, "image/heic"],
  [/^(?:mif1|msf1|heim|heis)/, "image/heif"],
  [/^(?:M4A|M4B)/, "audio/mp4"],
];

/**
 * MIME type of an image or a sound by its first bytes (`MEDIA_PROBE_BYTES` are enough), null for anything else: a name says nothing
 * about a content. JPEG, PNG, WebP, GIF, HEIC, HEIF; MP3, WAV, Ogg, M4A, AAC, FLAC.
 */
export function mediaType(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MEDIA_PROBE_BYTES)).toString(
    "latin1",
  );
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  if (head.startsWith("RIFF")) return riffType(head.slice(8, 12));
  if (head.slice(4, 8) === "ftyp") return BRANDS.find(([brand]) => brand.test(head.slice(8, 12)))?.[1] ?? null;
  if (head.startsWith("OggS")) return "audio/ogg";
  if (head.startsWith("fLaC")) return "audio/flac";
  if (head.startsWith("ID3")) return "audio/mpeg";
  return frameType(head.charCodeAt(0), head.charCodeAt(1));
}

function riffType(form: string): string | null {
  return form === "WEBP" ? "image/webp" : form === "WAVE" ? "audio/wav" : null;
}

/** MPEG audio frames begin with eleven set bits; layer bits 00 are ADTS (AAC), a version of 01 is reserved. */
function frameType(first: number, second: number): string | null {
  if (first !== 0xff || (second & 0xe0) !== 0xe0 || (second & 0x18) === 0x08) return null;
  if ((second & 0xf6) === 0xf0) return "audio/aac";
  return (second & 0x06) === 0 ? null : "audio/mpeg";
}

/** What stands for a picture or a sound among the passages: its one line is this label. */
export function mediaLabel(mimeType: string, path: string): string {
  return `${mimeType.startsWith("image/") ? "Image" : "Audio"} file: ${path}`;
}
