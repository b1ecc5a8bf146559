/** Native files of one purpose, packed into the executable: their bytes one after the other, compressed with zstd. */
export type EmbeddedArchive = {
  /** Where the executable holds the archive (a path inside it). */
  path: string;
  /** Hex digits that stand for the content; also the name of the folder it is unpacked to. */
  hash: string;
  files: { name: string; size: number }[];
};

export type EmbeddedNative = {
  llama: EmbeddedArchive | null;
  vec: EmbeddedArchive | null;
  /** Hex digits that stand for the program's own source and the versions of its packages. */
  build: string;
};

/** The native parts inside the executable; null when running from source. The build puts another module in this one's place. */
export const embedded: EmbeddedNative | null = null as EmbeddedNative | null;
