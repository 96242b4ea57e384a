import type { ActorStore } from '../../runtime/actor-store.ts';
import { countCommits } from './commit-bytes.ts';
import type { Marks } from './marks.ts';
import type { LoopSizes } from './measure.ts';

/** Bytes that one durable loop writes; nothing else may run meanwhile. */
export async function sizesOf(store: ActorStore, marks: Marks, loop: () => Promise<void>): Promise<LoopSizes> {
  const counted = countCommits(store);
  const inputs = marks.keepInputs();
  await loop();
  const commits = counted();
  return { commits, ...inputs() };
}
