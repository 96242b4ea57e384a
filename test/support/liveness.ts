import { z } from 'zod';
import type { StoreLocation } from '../../runtime/open-stores.ts';
import { openLooks, type PartitionLook } from './store-looks.ts';

/** When faults stop, everything that was under way ends within this. On a busy machine the next part of it does. */
export const LIVENESS_MS = 30_000;
const LOOK_EVERY_MS = 250;

export interface LivenessOptions {
  /** The actor store: its directory, or the URL of one Redis. */
  readonly location: Pick<StoreLocation, 'dataDir' | 'redis'>;
  /** Base URL of a node, whose lists are compared with the states of the runs. */
  readonly url?: string;
  /** Headers of the callers that read the lists, one for each tenant. Default: one caller without headers. */
  readonly callers?: readonly Readonly<Record<string, string>>[];
  /** Number of runs to compare, from the newest, in each list. */
  readonly mostListed?: number;
  /** Ids of runs that have ended: the actor store holds nothing of them. */
  readonly ended?: readonly string[];
  readonly withinMs?: number;
}

/**
 * What every chaos scenario and every round of faults checks after the faults have stopped: each mailbox is read to the
 * tail it had then, each message owed to another partition is handed over, each effect that was open has ended, each due
 * timer has fired, the journal is projected, lists say what the states say, and nothing of ended runs is left. Returns what
 * does not hold yet, a sentence each.
 */
export async function livenessBroken(options: LivenessOptions): Promise<string[]> {
  const { location, ended = [], withinMs = LIVENESS_MS } = options;
  const ids = new Set(ended);
  const store = openLooks(location);
  try {
    const first = new Map((await store.look()).map((look) => [look.partition, look]));
    if (first.size === 0) return ['the store has no partitions: nothing was looked at'];
    let [deadline, fewest] = [performance.now() + withinMs, Infinity];
    for (;;) {
      const looks = await store.look();
      let broken = looks.flatMap((now) => brokenIn(now, first.get(now.partition)));
      // One after the other: these read much more.
      if (broken.length === 0 && ids.size > 0)
        broken = (await store.leftOf(ids)).map((left) => `of ended runs ${left}`);
      if (broken.length === 0) broken = await listsBroken(options, ids);
      const now = performance.now();
      // What still ends is slow, and not stuck.
      if (broken.length < fewest) [deadline, fewest] = [fewest === Infinity ? deadline : now + withinMs, broken.length];
      if (broken.length === 0 || now > deadline) return broken;
      // A pause between two looks; the looks decide.
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  } finally {
    await store.close();
  }
}

function brokenIn(now: PartitionLook, first: PartitionLook | undefined): string[] {
  if (first === undefined) return [];
  const { partition } = now;
  const effects = now.effects.filter((id) => first.effects.includes(id));
  const timers = now.timers.filter((id) => first.timers.includes(id));
  const postponed = now.postponed.filter((id) => first.postponed.includes(id));
  const unread = now.cursor < first.tail;
  const unprojected = now.journalFrom !== null && now.journalFrom <= first.cursor;
  return [
    ...(unread ? [`${partition} is read to ${now.cursor}, its tail was ${first.tail}`] : []),
    ...(unprojected ? [`${partition}: the journal is not projected from ${now.journalFrom} on`] : []),
    ...(now.outbox > 0 && first.outbox > 0 ? [`${partition} owes ${now.outbox} messages to other partitions`] : []),
    ...postponed.map((id) => `${partition}: message ${id} is postponed`),
    ...effects.map((id) => `${partition}: effect ${id} has not ended`),
    ...timers.map((id) => `${partition}: timer ${id} is overdue`),
  ];
}

const LISTS = ['/v1/executions', '/v1/workflows/executions'] as const;
const APPROVALS = '/v1/human-approvals';
const Listed = z.object({ executions: z.array(z.object({ execution_id: z.string(), status: z.string() })) });
const Asked = z.object({ pending_requests: z.array(z.object({ id: z.string(), execution_id: z.string() })) });
const Status = z.object({ status: z.string() });
const MOST_LISTED = 200;

/** Runs of which a list and their own state differ. */
async function listsBroken(options: LivenessOptions, ended: ReadonlySet<string>): Promise<string[]> {
  const { url, callers = [{}], mostListed = MOST_LISTED } = options;
  if (url === undefined) return [];
  const looks = callers.flatMap((headers) => [
    ...LISTS.map((path) => listBroken(url, path, { headers }, mostListed)),
    approvalsBroken(url, { headers }, ended),
  ]);
  return (await Promise.all(looks)).flat();
}

async function listBroken(url: string, path: string, init: RequestInit, most: number): Promise<string[]> {
  const answer = await fetch(`${url}${path}?limit=${most}`, init);
  if (!answer.ok) return [`${path} answered ${answer.status}`];
  const compared = Listed.parse(await answer.json()).executions.map(async ({ execution_id: id, status }) => {
    const own = await fetch(`${url}${path}/${id}`, init);
    const state = own.ok ? Status.parse(await own.json()).status : `not found (${own.status})`;
    return state === status ? [] : [`${path} lists ${id} as ${status}, its state is ${state}`];
  });
  return (await Promise.all(compared)).flat();
}

async function approvalsBroken(url: string, init: RequestInit, ended: ReadonlySet<string>): Promise<string[]> {
  const answer = await fetch(`${url}${APPROVALS}?limit=${MOST_LISTED}`, init);
  if (!answer.ok) return [`${APPROVALS} answered ${answer.status}`];
  return Asked.parse(await answer.json())
    .pending_requests.filter(({ execution_id }) => ended.has(execution_id))
    .map(({ id, execution_id }) => `${APPROVALS} lists ${id} of ${execution_id}, which has ended`);
}
