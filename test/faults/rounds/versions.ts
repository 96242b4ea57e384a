import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { stringify } from 'yaml';
import { FORMAT } from '../../../runtime/store-formats.ts';
import type { StoreKind } from '../../kill/stores.ts';
import { seeded } from '../../support/faulty-store.ts';
import { startMongo } from '../../support/ferretdb.ts';
import { type Journal, makeJournal } from '../../support/journal.ts';
import type { LivenessOptions } from '../../support/liveness.ts';
import { NodeProcess } from '../../support/node-process.ts';
import { FORMAT_1, FORMAT_2, FORMAT_3, mainOfVersion } from '../../support/old-version.ts';
import { startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { WorkflowCalls } from '../../support/workflow-kill-calls.ts';
import { journalCounts } from '../../support/workflow-kill-marks.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { stillUnderWay, timeLeftMs } from './quiet.ts';

const ROUND_MS = 10 * 60_000;
const RUNS = 4;

const workflow = (name: string, journal: string, states: object): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0' },
    spec: { initial_state: Object.keys(states)[0], states: { ...states, ...ending(journal) } },
  });

const step = (journal: string, target: string) => ({
  ...{ kind: 'System', timeout: '60s' },
  command: `echo "$SVC_EXECUTION_ID $SVC_STATE" >> '${journal}'; sleep 0.2`,
  transitions: [{ condition: 'on_success', target }],
});

const ending = (journal: string) => ({
  LAST: step(journal, 'DONE'),
  DONE: { kind: 'System', command: 'finalize', env: { outcome: 'done' }, transitions: [] },
});

const steps = (name: string, journal: string) =>
  workflow(name, journal, { FIRST: step(journal, 'SECOND'), SECOND: step(journal, 'LAST') });

const gate = (name: string, journal: string) =>
  workflow(name, journal, {
    GATE: {
      ...{ kind: 'Human', prompt: 'Go on?', timeout: '1h' },
      transitions: [{ condition: 'input_equals_yes', target: 'LAST' }],
    },
  });

/** The stores of one round, for nodes of both versions; each node has a data directory of its own where there are servers. */
interface Shared {
  argsOf(node: string): readonly string[];
  readonly location: LivenessOptions['location'];
  /** Resolves when programs of the older format are refused; at once where the data file alone refuses them. */
  contracted(): Promise<void>;
}

interface Older {
  /** Its entry file. */
  readonly main: string;
  /** Its error at a store of the newer version. */
  readonly refusal: RegExp;
}

const BY_NAME = /has format \d+, written by svc \S+, and this is svc \S+, which reads/;
const OF_FORMAT_1 = /the data file has version \d+, this program reads version 1|An internal error occurred/;

class VersionRound {
  readonly #shared: Shared;
  readonly #journal: Journal;
  readonly #older: Older;
  readonly #random: () => number;
  readonly #signal = AbortSignal.timeout(ROUND_MS);
  readonly #started = new Map<string, 'steps' | 'gate'>();
  readonly #nodes: NodeProcess[] = [];
  readonly notes: string[] = [];
  lost = 0;
  nodesEnded = 0;

  constructor(shared: Shared, journal: Journal, older: Older, seed: number) {
    this.#shared = shared;
    this.#journal = journal;
    this.#older = older;
    this.#random = seeded(seed);
  }

  async run(beside: boolean): Promise<RoundOutcome> {
    const older = this.#node('older', true);
    older.spawn();
    const before = this.#calls(older);
    for (const manifest of [steps('steps', this.#journal.file), gate('gate', this.#journal.file)])
      await before.deploy(manifest);
    await this.#start(before, 'on the older one');

    const newer = this.#node('newer', false);
    const after = this.#calls(newer);
    if (beside) {
      newer.spawn();
      await newer.url;
      // Programs deployed on either node are found on both.
      await after.deploy(steps('later', this.#journal.file));
      await Promise.all([before, after].map((calls) => this.#start(calls, 'side by side', ['steps', 'gate', 'later'])));
    }
    await this.#end(older);
    if (!beside) newer.spawn();
    await newer.url;
    await this.#start(after, 'on the newer one');
    await this.#shared.contracted();

    const beganAtMs = performance.now();
    await this.#refusedBack(newer, beside);
    if (newer.crashed) this.nodesEnded += 1;
    if (!beside) newer.spawn();
    else if (this.#random() < 0.5) {
      await this.#end(newer);
      newer.spawn();
    }
    await newer.url;
    const backAtMs = performance.now();
    const open = await this.#settle(after, backAtMs);
    const { location } = this.#shared;
    const ended = [...this.#started.keys()].filter((id) => !open.has(id));
    const broken = await stillUnderWay(backAtMs, { location, url: await newer.url, ended });
    this.notes.push(...broken);
    const hung = open.size + broken.length;
    return {
      ...{ runs: this.#started.size, hung, nodesEnded: this.nodesEnded, lost: this.lost, notes: this.notes },
      ...{ repeated: await this.#repeated(), recoveryMs: performance.now() - beganAtMs },
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.kill()));
  }

  #node(name: string, isOld: boolean): NodeProcess {
    // The older versions have no sandbox, and refuse the setting that allows commands outside of it.
    const args = [...this.#shared.argsOf(name), ...(isOld ? [] : ['--config', this.#journal.config])];
    const node = new NodeProcess(args, {}, 'pipe', isOld ? this.#older.main : undefined);
    this.#nodes.push(node);
    return node;
  }

  readonly #calls = (node: NodeProcess): WorkflowCalls => new WorkflowCalls(node, this.#signal);

  async #start(calls: WorkflowCalls, where: string, names: readonly string[] = ['steps', 'gate']): Promise<void> {
    const starts = Array.from({ length: RUNS }, (_, n) => names[n % names.length] ?? 'steps');
    await Promise.all(
      starts.map(async (name) => {
        try {
          const id = await calls.run(name, {}, randomUUID());
          this.#started.set(id, name === 'gate' ? 'gate' : 'steps');
        } catch (error) {
          if (this.#signal.aborted) throw error;
          this.lost += 1;
          this.notes.push(`a start of ${name} ${where} was refused: ${String(error)}`);
        }
      }),
    );
  }

  /** The seed decides the moment and the way. */
  async #end(node: NodeProcess): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#random() * 800));
    if (node.crashed) this.nodesEnded += 1;
    await node.kill(this.#random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
  }

  /** The older version on a store of the newer one exits at its start and serves no call. */
  async #refusedBack(newer: NodeProcess, beside: boolean): Promise<void> {
    if (!beside) await this.#end(newer);
    const back = this.#node(beside ? 'back' : 'newer', true);
    back.spawn();
    const said = await back.url.then(
      () => null,
      (error: unknown) => String(error),
    );
    if (said === null || back.exitCode !== 1) {
      this.lost += 1;
      this.notes.push(`the older version started on the format of the newer one: ${said}`);
    } else if (!this.#older.refusal.test(said)) {
      this.lost += 1;
      this.notes.push(`the older version does not report why it exits: ${said}`);
    }
    await back.kill();
  }

  /** Answers approvals and waits until all runs have ended; returns those that have not. */
  async #settle(calls: WorkflowCalls, sinceMs: number): Promise<ReadonlySet<string>> {
    const open = new Set(this.#started.keys());
    const look = async (): Promise<boolean> => {
      for (const id of [...open]) {
        const { status, waiting_for: waiting } = await calls.get(id);
        if (waiting?.approval_id !== undefined) await calls.answer(waiting.approval_id, { approve: 'yes' });
        if (status === 'completed') open.delete(id);
        if (status !== 'failed' && status !== 'cancelled') continue;
        open.delete(id);
        // A command that was under way when its node ended reports that it is in doubt and is not run again.
        if (JSON.stringify(await calls.log(id)).includes('in_doubt')) this.notes.push('a run was in doubt');
        else {
          this.lost += 1;
          this.notes.push(`run ${id} is ${status} without a reason of ours`);
        }
      }
      return open.size === 0;
    };
    await waitUntil('all runs to end', look, timeLeftMs(sinceMs)).catch((error: unknown) =>
      this.notes.push(String(error)),
    );
    return open;
  }

  async #repeated(): Promise<number> {
    const counts = await journalCounts(this.#journal.file);
    return [...counts.values()].reduce((sum, count) => sum + count - 1, 0);
  }
}

/**
 * On the embedded store one version follows the other; on servers they also run side by side. Rounds use the older
 * versions in turn.
 */
export const versions: FaultCase = {
  name: 'versions',
  title:
    'an older version is followed by this one, on servers also beside it; its restart on the new format is refused, and nothing is lost',
  stores: ['sqlite', 'redis'],
  open: (kind) => openVersions(kind, [FORMAT_1, FORMAT_2, FORMAT_3]),
};

export async function openVersions(kind: StoreKind, commits: readonly string[]): Promise<FaultStores> {
  const olders = await Promise.all(
    commits.map(async (commit) => ({
      main: await mainOfVersion(commit),
      // Programs of format 1 do not know the record of formats.
      refusal: commit === FORMAT_1 ? OF_FORMAT_1 : BY_NAME,
    })),
  );
  const stores = await openStoresOf(kind);
  return {
    async round(seed) {
      const older = olders[seed % olders.length];
      if (older === undefined) throw new Error('no older version is given');
      const directory = await mkdtemp(join(tmpdir(), 'svc-versions-'));
      const journal = await makeJournal(directory);
      const round = new VersionRound(await stores.fresh(directory), journal, older, seed);
      try {
        return await round.run(kind === 'redis');
      } finally {
        await round.close();
        await rm(directory, { recursive: true, force: true, maxRetries: 5 });
      }
    },
    close: stores.close,
  };
}

interface RoundStores {
  fresh(directory: string): Promise<Shared>;
  close(): Promise<void>;
}

async function openStoresOf(kind: StoreKind): Promise<RoundStores> {
  if (kind === 'sqlite') {
    return {
      fresh: async (directory) => ({
        argsOf: () => ['--data', join(directory, 'data')],
        location: { dataDir: join(directory, 'data') },
        contracted: async () => {},
      }),
      close: async () => {},
    };
  }
  const [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
  const client = new Redis(redis.url);
  const documents = new MongoClient(mongo.uri);
  return {
    async fresh(directory) {
      await Promise.all([client.flushall(), documents.db('svc').dropDatabase()]);
      return {
        argsOf: (node) => ['--data', join(directory, node), '--redis', redis.url, '--mongodb', mongo.uri],
        location: { dataDir: '', redis: [redis.url] },
        async contracted() {
          const isMarked = async (): Promise<boolean> =>
            (await client.hget('svc:pools', 'default'))?.includes(`format=${FORMAT}`) ?? false;
          await waitUntil('the newer version to refuse the older one from now on', isMarked, 60_000);
        },
      };
    },
    async close() {
      client.disconnect();
      await documents.close();
      await Promise.all([redis.stop(), mongo.stop()]);
    },
  };
}
