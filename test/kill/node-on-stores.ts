import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenStores } from '../../runtime/open-stores.ts';
import { type Journal, makeJournal } from '../support/journal.ts';
import { writeNodeConfig } from '../support/node-config.ts';
import { NodeProcess } from '../support/node-process.ts';
import { type KillStores, readStores, type StoreKind, startStores } from './stores.ts';

/**
 * A node in a separate process, not started yet, with its configuration, a journal and stores, which outlive its kills.
 */
export interface NodeOnStores extends AsyncDisposable {
  readonly node: NodeProcess;
  /** Location of the stores, to read them while the node runs. */
  readonly location: KillStores['location'];
  /** Directory for files of the test. */
  readonly directory: string;
  readonly journal: Journal;
  /** Opens the node's stores; only while it is stopped. */
  withStores<T>(read: (stores: OpenStores) => Promise<T>): Promise<T>;
}

interface NodeOnStoresOptions {
  /** Blocks of `spec`. Default: `runtime` of the journal. */
  readonly spec?: (at: Pick<NodeOnStores, 'directory' | 'journal'>) => object | Promise<object>;
  readonly env?: NodeJS.ProcessEnv;
  /** Entry point of another version of the product. */
  readonly main?: string | undefined;
}

export async function openNodeOnStores(
  kind: StoreKind,
  { spec = ({ journal: { runtime } }) => ({ runtime }), env = {}, main }: NodeOnStoresOptions = {},
): Promise<NodeOnStores> {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'svc-kill-'));
  opened.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const stores = await startStores(kind);
  opened.defer(() => stores.destroy());
  const journal = await makeJournal(directory);
  const config = await writeNodeConfig(directory, await spec({ directory, journal }));
  const node = new NodeProcess([...stores.args, '--config', config], env, 'pipe', main);
  opened.defer(() => node.kill());
  const all = opened.move();
  return {
    ...{ node, location: stores.location, directory, journal },
    withStores: (read) => readStores(stores.location, read),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
