/**
 * The executable starts with a compiler that is slow to act, since most commands end before compiled code pays. Whoever has much to do
 * or stays alive calls this: code that runs often is compiled from then on, in the calling thread.
 */
export function expectMuchWork(): void {
  expected = true;
  Bun.unsafe.setJITPolicy(1);
}

let expected = false;

/** Whether this thread has much to do: then it pays to keep what may be needed again. */
export function expectsMuchWork(): boolean {
  return expected;
}
