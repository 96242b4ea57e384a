/** Throws the first failure, but not before all have ended: nothing of a run goes on beside the next one. */
export async function allDone(work: Iterable<Promise<unknown>>): Promise<void> {
  for (const done of await Promise.allSettled(work)) if (done.status === 'rejected') throw done.reason;
}
