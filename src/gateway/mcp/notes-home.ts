import type { EmbeddingProvider } from "../../embed/types.ts";
import { MemqError, messageOf } from "../../errors.ts";
import { inodeOf, stampOf as fileStamp } from "../../home/file-stamp.ts";
import { qmdPlaces, readQmdHome, type QmdPlaces } from "../../home/qmd-home.ts";
import { notice } from "../../output.ts";
import { openQmd, type OpenQmd } from "../../qmd/open.ts";
import { isDamage, isDiskFault, reportDamage } from "../../store/damage.ts";
import { isBehindFile } from "../../store/open.ts";
import { servingIdentity } from "../../store/identity.ts";
import { removeJournal } from "../../store/maintenance.ts";
import { keepVectorCodes } from "../../store/vector-codes.ts";
import { startSync, syncsEnded } from "../../sync/client.ts";
import type { Program } from "../../version.ts";

/** A qmd home that a server keeps open: what it holds follows the configuration and the index file. */
export type NotesHome = {
  /** Lends the home for work that may wait in between; its index stays open until the work is done. */
  lend<T>(work: (open: OpenQmd) => Promise<T> | T): Promise<T>;
  /** The same for work that reads no other index: where this one turns out to be damaged, it is done with an empty one and rebuilt. */
  lendAlone<T>(work: (open: OpenQmd) => Promise<T> | T): Promise<T>;
  /** The provider that embeds questions; null, with the reason if one was wanted, when there is none. */
  provider(open: OpenQmd): Promise<{ provider: EmbeddingProvider | null; reason?: string }>;
  /** Brings the index up to date in the background: at once when it was seen to be behind, else now and then. */
  refresh(isBehind: boolean): void;
  /** Work that nobody waits for, but the end of the process. */
  later(work: Promise<void>): void;
  close(): Promise<void>;
};

type Held = { open: OpenQmd; stamp: string; users: number; retired: boolean };
type Opening = Promise<{ provider: EmbeddingProvider | null; reason?: string }>;

// Of both, a clock that was set back must not make the pause longer.
/** Between two looks at the disk that searches cause. */
const REFRESH_MS = 60_000;
/** A provider that could not be set up is tried again after this time. */
const PROVIDER_RETRY_MS = 60_000;

/** What a server has of its home. */
type Kept = {
  /** The files that make the home. */
  places: () => QmdPlaces;
  /** Opens the home as its files are now. */
  open: () => Promise<OpenQmd>;
  held: Held | null;
  opening: Promise<Held> | null;
  /** By their settings; `at` is when they were set up, in milliseconds since 1970. */
  providers: Map<string, { opening: Opening; at: number }>;
  /** Ends syncs in the background. */
  closed: AbortController;
  pending: Set<Promise<void>>;
  refreshedAt: number;
};

/** Opens the home of an index, the default one when undefined, when it is first used, and again when its files are others. */
export function keepNotesHome(index: string | undefined, program: Program): NotesHome {
  const kept: Kept = {
    places: () => qmdPlaces({ index, env: process.env, cwd: process.cwd() }),
    open: () => openQmd(index, { program, notice }),
    held: null,
    opening: null,
    providers: new Map(),
    closed: new AbortController(),
    pending: new Set(),
    refreshedAt: 0,
  };
  return {
    lend: (work) => lend(kept, work),
    async lendAlone(work) {
      for (const isFresh of [false, true]) {
        try {
          return await lend(kept, work, (own, error) => giveUpDamaged(kept, own, error, isFresh));
        } catch (error) {
          if (!isDamage(error) && !isDiskFault(error)) throw error;
        }
      }
      return lend(kept, work);
    },
    provider: (open) => providerOf(kept, open),
    refresh: (isBehind) => refresh(kept, isBehind),
    later(work) {
      const { pending } = kept;
      const task = work.catch((error: unknown) => console.error(messageOf(error))).finally(() => pending.delete(task));
      pending.add(task);
    },
    close: () => close(kept),
  };
}

async function lend<T>(
  kept: Kept,
  work: (open: OpenQmd) => Promise<T> | T,
  onFault: (own: Held, error: unknown) => void = () => {},
): Promise<T> {
  const own = await borrowed(kept);
  try {
    return await work(own.open);
  } catch (error) {
    onFault(own, error);
    throw error;
  } finally {
    own.users -= 1;
    if (own.retired && own.users === 0) own.open.index.close();
  }
}

/**
 * The index is opened again: files that were taken away under a connection look like damage to it. What a fresh one meets is some, and
 * the file counts as damaged from then on, until a writer has rebuilt it.
 */
function giveUpDamaged(kept: Kept, own: Held, error: unknown, isFresh: boolean): void {
  if (own.open.index.state !== "ready" || (!isDamage(error) && !isDiskFault(error))) return;
  if (isFresh && isDamage(error) && !isBehindFile(own.open.index))
    reportDamage(own.open.index.path, own.open.index.inode);
  if (kept.held === own) retire(kept);
}

/** What is open, counted as in use before anybody else can close it. */
async function borrowed(kept: Kept): Promise<Held> {
  for (;;) {
    const { held } = kept;
    const isCurrent = held !== null && isCurrentIndex(held.open.index) && stampOf(held.open.qmd.places) === held.stamp;
    const own = isCurrent ? held : await (kept.opening ??= reopen(kept));
    if (own.retired) continue;
    own.users += 1;
    return own;
  }
}

function isCurrentIndex(index: OpenQmd["index"]): boolean {
  return index.state === "ready" && !isBehindFile(index);
}

async function reopen(kept: Kept): Promise<Held> {
  try {
    // Before they are read: whoever changes one of them meanwhile makes it another.
    const written = writtenStamp(kept.places());
    const open = await kept.open();
    if (open.index.state === "ready") keepVectorCodes(open.index);
    retire(kept);
    return (kept.held = {
      open,
      stamp: joinedStamp(written, open.index.inode, open.qmd.places.indexPath),
      users: 0,
      retired: false,
    });
  } finally {
    kept.opening = null;
  }
}

/** Closes what is open, as soon as nobody uses it any more. */
function retire(kept: Kept): void {
  const { held } = kept;
  if (held === null) return;
  held.retired = true;
  if (held.users === 0) held.open.index.close();
  kept.held = null;
}

function providerOf({ providers }: Kept, { qmd, index }: OpenQmd): Opening {
  // Without vectors there is nothing that a question could be compared with.
  if (servingIdentity(index) === null) return Promise.resolve({ provider: null });
  const key = JSON.stringify(qmd.home.embedding);
  const known = providers.get(key);
  if (known !== undefined && Math.abs(Date.now() - known.at) < PROVIDER_RETRY_MS) return known.opening;
  const opening = reopened(known?.opening, async () => {
    const [{ openProvider }, { withCooldown }] = await Promise.all([
      import("../../embed/registry.ts"),
      import("../../embed/cooldown.ts"),
    ]);
    const { provider, reason } = await openProvider(qmd.home.embedding, { kind: "qmd", env: process.env });
    const asked = provider === undefined ? null : withCooldown(provider);
    return { provider: asked, ...(reason === undefined ? {} : { reason }) };
  });
  providers.set(key, { opening, at: Date.now() });
  return opening;
}

function refresh(kept: Kept, isBehind: boolean): void {
  const { signal } = kept.closed;
  const qmd = kept.held?.open.qmd;
  if (qmd === undefined || qmd.home.collections.length === 0 || signal.aborted) return;
  if (!isBehind && Math.abs(Date.now() - kept.refreshedAt) < REFRESH_MS) return;
  kept.refreshedAt = Date.now();
  // Who held the lock before may have removed or renamed a collection, which would come back, or died while renaming one.
  const reread = async () => {
    const { home, config } = await readQmdHome(qmd.places, { env: process.env, cwd: process.cwd() });
    return { home, configured: config.collections.map(({ name }) => name) };
  };
  startSync(qmd.home, { embed: false, joins: !isBehind, signal, reread }).catch((error: unknown) => {
    if (error instanceof MemqError && error.code === "SYNC_CANCELLED") return;
    console.error(`A sync in the background failed: ${messageOf(error)}`);
  });
}

async function close(kept: Kept): Promise<void> {
  kept.closed.abort();
  await Promise.all(kept.pending);
  const home = kept.held?.open.qmd.home;
  for (const { opening } of kept.providers.values()) {
    const { provider } = await opening.catch(() => ({ provider: null }));
    await provider?.close();
  }
  if (home !== undefined) await syncsEnded(home.indexPath);
  retire(kept);
  if (home !== undefined) removeJournal(home.indexPath);
}

/** What was opened before, when that is a provider; else the outcome of another attempt. */
async function reopened(before: Opening | undefined, open: () => Opening): Opening {
  const last = await before?.catch(() => null);
  return last?.provider ? last : open();
}

/** Changes when the configuration, what is trusted, the index or its journal is another file. */
function stampOf(places: QmdPlaces): string {
  return joinedStamp(writtenStamp(places), inodeOf(places.indexPath), places.indexPath);
}

function writtenStamp({ configPath, trustFile }: QmdPlaces): string {
  return [configPath, trustFile].map((path) => fileStamp(path).stamp).join(" ");
}

function joinedStamp(written: string, inode: number, indexPath: string): string {
  return [written, inode, inodeOf(`${indexPath}-wal`)].join(" ");
}
