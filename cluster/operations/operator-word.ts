import { z } from 'zod';

/** What an operator tells one node through the store's signals. May be lost; whoever sends it looks whether it worked. */
export const OperatorWord = z.object({
  operator: z.enum(['drain', 'shutdown']),
  reason: z.string().max(1_000),
});
export type OperatorWord = z.output<typeof OperatorWord>;

/** Null for words of others. */
export function parseOperatorWord(text: string): OperatorWord | null {
  try {
    return OperatorWord.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // Signals are shared; what is not JSON is somebody else's.
    return null;
  }
}
