/** What `work` resolves to, or `late` when it has not by `deadline` (milliseconds since 1970). The timer goes with the answer. */
export async function byDeadline<T>(work: Promise<T>, deadline: number, late: T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const alarm = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, deadline - Date.now()), late);
  });
  try {
    return await Promise.race([work, alarm]);
  } finally {
    clearTimeout(timer);
  }
}
