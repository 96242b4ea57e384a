import type { AttackedNode } from './attacked-node.ts';
import type { Attack } from './cases.ts';

interface Measured {
  readonly name: string;
  readonly status: number;
  /** Longest CPU time of one turn of the event loop, ms; the best of the tries. */
  readonly heldMs: number;
}

const TRIES = 3;

/** Each attack three times, one after the other; the best counts, since the machine does other things too. */
export async function measured(node: AttackedNode, attacks: readonly Attack[], within: number): Promise<Measured[]> {
  const rows: Measured[] = [];
  for (const { name, send } of attacks) {
    let status = 0;
    let heldMs = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { longestMs } = await node.watch(async () => {
        status = await send();
      });
      heldMs = Math.min(heldMs, longestMs);
      // Good enough at once.
      if (heldMs <= within) break;
    }
    rows.push({ name, status, heldMs });
  }
  return rows;
}
