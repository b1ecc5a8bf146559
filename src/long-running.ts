/**
 * The executable starts with a compiler that is slow to act, since most commands end before compiled code pays. Whoever has much to do
 * or stays alive calls this: code that runs often is compiled from then on, in the calling thread.
 */
export function expectMuchWork(): void {
  Bun.unsafe.setJITPolicy(1);
}
