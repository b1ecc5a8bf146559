/**
 * The path whose writer lock a sync holds: that of the index, or, where no collection is to be looked at and so nothing is done but
 * embedding, one of its own. Others may index and search meanwhile, since vectors arrive in short transactions and one whose passage
 * is gone by then is only cached.
 */
export function lockedPath(indexPath: string, collections?: readonly string[]): string {
  return collections?.length === 0 ? `${indexPath}.embed` : indexPath;
}
