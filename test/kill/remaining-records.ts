import { isDeepStrictEqual } from 'node:util';
import { addressOf, partitionOf, partitionsOf } from '../../runtime/address.ts';
import type { OpenStores } from '../../runtime/open-stores.ts';
import type { NodeProcess } from '../support/node-process.ts';

/** Records of ended executions that are left in the actor store; they should be only in the documents (K8). */
export interface Left {
  readonly effects: number;
  readonly records: number;
  /** Journal lines that the projector did not copy. */
  readonly lines: number;
}

export async function leftIn({ store }: OpenStores, executions: readonly { readonly id: string }[]): Promise<Left> {
  // The given number is not used, since the pool exists.
  const layout = { pool: 'default', partitions: await store.definePool('default', 1) };
  const left = { effects: 0, records: 0, lines: 0 };
  for (const partition of partitionsOf(layout)) {
    left.effects += (await store.openEffects(partition)).length;
    left.lines += (await store.readJournal(partition, 0, 100)).length;
  }
  for (const { id } of executions) {
    const address = addressOf('execution', 'svc-system', id);
    const [record] = await store.load(partitionOf(address, layout), [address]);
    if (record !== null) left.records += 1;
  }
  return left;
}

export const NOTHING_LEFT: Left = { effects: 0, records: 0, lines: 0 };

/**
 * A node that stops waits 5 s for slow documents and leaves the rest to the next holder, so at most this many restarts
 * follow.
 */
const FURTHER_LIVES = 5;

/** Stops the node and reads the store; restarts and stops it again while records are left, as an operator would. */
export async function leftAtLast(node: NodeProcess, look: () => Promise<Left>): Promise<Left> {
  for (let life = 0; ; life += 1) {
    await node.kill('SIGTERM');
    const left = await look();
    if (life === FURTHER_LIVES || isDeepStrictEqual(left, NOTHING_LEFT)) {
      await node.stop();
      return left;
    }
    console.log(`records that the node left for its next start: ${JSON.stringify(left)}`);
    node.spawn();
    await node.url;
  }
}
