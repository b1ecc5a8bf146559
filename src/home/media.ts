const MEDIA: Record<string, readonly string[]> = {
  image: [".jpg", ".jpeg", ".png", ".webp", ".gif", ".heic", ".heif"],
  audio: [".mp3", ".wav", ".ogg", ".opus", ".m4a", ".aac", ".flac"],
};

/** Which image and audio files a collection takes beside text: by extension, in lower case with the dot, and by size. */
export type MediaRule = { extensions: string[]; maxFileBytes: number };

/** File extensions of the modalities asked for (`image`, `audio`, `all`; none: both). */
export function mediaExtensions(modalities: readonly string[]): string[] {
  const all = modalities.length === 0 || modalities.includes("all");
  return Object.entries(MEDIA).flatMap(([kind, extensions]) => (all || modalities.includes(kind) ? extensions : []));
}

/** Whether the name of a file makes it an image or a sound by this rule. */
export function isMediaPath(path: string, media: MediaRule | null | undefined): boolean {
  if (!media) return false;
  const name = path.toLowerCase();
  return media.extensions.some((extension) => name.endsWith(extension));
}
