import { z } from 'zod';

/**
 * What members tell each other through the store's signals. A word may be lost and proves nothing: it only makes the
 * others look earlier than they would.
 */
export const FleetWord = z.object({
  /** `joined`, `changed` (tags, draining), `left` and `retired` speak of a member, `freed` of partitions given back, `pooled` of a new pool. */
  fleet: z.enum(['joined', 'changed', 'left', 'retired', 'freed', 'pooled']),
  /** The life that tells it. */
  by: z.string().max(128),
});
export type FleetWord = z.output<typeof FleetWord>;

/** Null for words of others, and of later versions. */
export function parseFleetWord(text: string): FleetWord | null {
  let word: unknown;
  try {
    word = JSON.parse(text);
  } catch {
    // Signals are shared; what is not JSON is somebody else's.
    return null;
  }
  return FleetWord.safeParse(word).data ?? null;
}
