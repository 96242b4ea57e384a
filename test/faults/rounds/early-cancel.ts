import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import { openNodeOnStores } from '../../kill/node-on-stores.ts';
import { SeededRandom } from '../../kill/random.ts';
import type { StoreKind } from '../../kill/stores.ts';
import { objectOf } from '../../product/product-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { processesWith } from '../../support/workflow-kill-marks.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { stillUnderWay } from './quiet.ts';

const CLIENTS = 12;
const LATEST_CANCEL_MS = 60;
const RECOVERY_MS = 30_000;
/** Time until the command of a cancelled run is gone; without the cancel it would sleep for longer. */
const KILLED_MS = 12_000;
const ENDED = new Set(['completed', 'failed', 'cancelled']);

/** Half of the cancels are sent at most this long before or after the usual begin of a command. */
const AROUND_BEGIN_MS = { before: 60, behind: 10 };
const LATEST_BEGIN_MS = 2_000;

/** Its command writes its run and the time to MARKS, then sleeps. */
const workflow = (marks: string): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'sleeper', version: '1.0.0', description: 'sleeps' },
    spec: {
      initial_state: 'SLEEP',
      states: {
        SLEEP: {
          kind: 'System',
          command: 'echo "$SVC_EXECUTION_ID $(date +%s%3N)" >> "$MARKS"; exec sleep 20',
          env: { MARKS: marks },
          timeout: '30s',
          transitions: [{ condition: 'always', target: 'END' }],
        },
        END: { kind: 'System', command: 'finalize', env: {}, transitions: [] },
      },
    },
  });

/**
 * Found a defect: a cancel while a command was being started rejected a promise without a handler, which ended the
 * node.
 */
export const earlyCancel: FaultCase = {
  name: 'early-cancel',
  title:
    'Twelve clients cancel commands 0 to 60 ms after their start: the node stays up, no run hangs, no process is left',
  stores: ['sqlite', 'redis'],
  open,
};

async function open(kind: StoreKind): Promise<FaultStores> {
  await using opened = new AsyncDisposableStack();
  const { node, journal: marks, location } = opened.use(await openNodeOnStores(kind));
  const post = async (path: string, body?: string, type = 'application/json'): Promise<Response> =>
    fetch(`${await node.url}${path}`, {
      method: 'POST',
      ...(body === undefined ? {} : { body, headers: { 'content-type': type } }),
    });
  node.spawn();
  const deployed = await post('/v1/workflows', workflow(marks.file), 'application/yaml');
  if (!deployed.ok) throw new Error(`deploy: ${await deployed.text()}`);

  /** Time from the answer to the begin of a command, from the last rounds: on a busy machine that is much later. */
  let beginsAfterMs = LATEST_CANCEL_MS;
  const startedAt = new Map<string, number>();

  /** Starts a run, cancels it after `afterMs` and returns its id; null when the node did not answer. */
  async function startAndCancel(afterMs: number): Promise<string | null> {
    try {
      const started = await post('/v1/workflows/sleeper/run', '{}');
      if (!started.ok) return null;
      const id = String(objectOf(await started.text()).execution_id);
      startedAt.set(id, Date.now());
      await pause(afterMs);
      await post(`/v1/workflows/executions/${id}/cancel`).catch(() => null);
      return id;
    } catch {
      return null;
    }
  }

  const statusOf = async (id: string): Promise<string> => {
    try {
      const answer = await fetch(`${await node.url}/v1/workflows/executions/${id}`);
      return String(objectOf(await answer.text()).status);
    } catch {
      return 'unanswered';
    }
  };

  async function round(seed: number): Promise<RoundOutcome> {
    const random = new SeededRandom(seed);
    const { before, behind } = AROUND_BEGIN_MS;
    const delays = Array.from({ length: CLIENTS }, (_client, at) =>
      at % 2 === 0 ? random.between(0, LATEST_CANCEL_MS) : Math.max(0, beginsAfterMs + random.between(-before, behind)),
    );
    const ids = (await Promise.all(delays.map(startAndCancel))).filter((id) => id !== null);
    const since = performance.now();
    const statuses = new Map<string, string>();
    const look = async (): Promise<boolean> => {
      for (const id of ids) if (!ENDED.has(statuses.get(id) ?? '')) statuses.set(id, await statusOf(id));
      return node.crashed || ids.every((id) => ENDED.has(statuses.get(id) ?? ''));
    };
    await waitUntil('all runs end', look, RECOVERY_MS).catch(() => undefined);
    const nodesEnded = node.crashed ? 1 : 0;
    if (nodesEnded > 0) {
      node.spawn();
      await node.url;
      await waitUntil('all runs end', look, RECOVERY_MS).catch(() => undefined);
    }
    const begun = (await marks.lines()).map((line) => line.split(' '));
    const later = begun.flatMap(([id = '', at = '']) =>
      ids.includes(id) ? [Number(at) - (startedAt.get(id) ?? 0)] : [],
    );
    // When no command began before its cancel, the next cancels are sent later.
    beginsAfterMs =
      later.length === 0 ? beginsAfterMs + LATEST_CANCEL_MS : (later.sort((a, b) => a - b)[later.length >> 1] ?? 0);
    beginsAfterMs = Math.min(beginsAfterMs, LATEST_BEGIN_MS);
    // Counted by their environment: in a sandbox a command has a process id of its own.
    const leftNow = async (): Promise<number> => (await processesWith(marks.file, new Set())).length;
    // A run is cancelled when the cancel is written; its command is killed right after that.
    await waitUntil('the commands are killed', async () => (await leftNow()) === 0, KILLED_MS).catch(() => undefined);
    const left = await leftNow();
    const broken = await stillUnderWay(since, { location, url: await node.url, ended: ids });
    const recoveryMs = performance.now() - since;
    const hung = broken.length + ids.filter((id) => !ENDED.has(statuses.get(id) ?? '')).length;
    const lost = ids.filter((id) => statuses.get(id) === 'failed').length;
    return {
      ...{ runs: ids.length, hung, nodesEnded, lost: lost + left, recoveryMs },
      repeated: ids.filter((id) => begun.filter(([of]) => of === id).length > 1).length,
      notes: [...broken, ...(left === 0 ? [] : [`${left} processes were left`])],
    };
  }

  const all = opened.move();
  return { round, close: () => all.disposeAsync() };
}
