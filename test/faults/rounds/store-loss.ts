import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { partitionsOf } from '../../../runtime/address.ts';
import { positionOf } from '../../../runtime/leases.ts';
import { countOf } from '../../../runtime/redis/facts.ts';
import { Keys } from '../../../runtime/redis/keys.ts';
import type { RedisServer } from '../../support/redis.ts';

/** How far each partition has come in the store, and how often its lease was granted. */
export type Positions = ReadonlyMap<string, { readonly position: number; readonly epoch: number }>;

/** The loss of a store that returned, or was replaced by a replica. */
export interface StoreLoss {
  /** Before the store went. */
  readonly had: Positions;
  /** As it came back. */
  readonly stored: Positions;
  /** Ids of whatever it lost a write of. */
  readonly ids: ReadonlySet<string>;
}

/** A position of the append-only file, after which writes are lost. */
export interface Mark {
  readonly file: string;
  readonly size: number;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The part of the log that grows. A call that was answered is in it: Redis writes before it answers, only the sync is late. */
export async function markOf({ url, directory }: RedisServer): Promise<Mark> {
  const admin = new Redis(url);
  try {
    const said = async (setting: 'appenddirname' | 'appendfilename') =>
      String([await admin.config('GET', setting)].flat()[1]);
    const [folder, name] = [await said('appenddirname'), await said('appendfilename')];
    const manifest = await readFile(join(directory, folder, `${name}.manifest`), 'utf8');
    const grows = manifest.match(/(?<=^file )\S+(?= seq \d+ type i)/gm)?.at(-1);
    if (grows === undefined) throw new Error(`no part of the log grows: ${manifest}`);
    const file = join(directory, folder, grows);
    return { file, size: (await stat(file)).size };
  } finally {
    admin.disconnect();
  }
}

/** Ids in what was written behind the mark. The names of things stand in it as they are. */
export async function idsBehind({ file, size }: Mark): Promise<ReadonlySet<string>> {
  const lost = (await readFile(file)).subarray(size).toString('latin1');
  return new Set(lost.match(UUID) ?? []);
}

/** By the store alone. A partition that shares a log is where that is. */
export async function positionsIn(url: string): Promise<Positions> {
  const redis = new Redis(url);
  const keys = new Keys('svc');
  try {
    const pools = Object.entries(await redis.hgetall(keys.pools));
    const partitions = pools.flatMap(([pool, count]) => partitionsOf({ pool, partitions: countOf(count) }));
    const found = await Promise.all(
      partitions.map(async (partition) => {
        const [cursor, beside, epoch, log] = await redis.hmget(
          keys.of(partition).meta,
          ...['cursor', 'beside', 'epoch', 'log'],
        );
        const shared = log?.split('\n')[0] ?? '';
        const [ofLog, besideLog] =
          shared === '' ? [cursor, beside] : await redis.hmget(`{svc:${shared}}:meta`, 'cursor', 'beside');
        const position = positionOf(Number(ofLog ?? 0), besideAt(besideLog, ofLog));
        return [partition, { position, epoch: Number(epoch ?? 0) }] as const;
      }),
    );
    return new Map(found);
  } finally {
    redis.disconnect();
  }
}

/** Results that were handled since the cursor stands where it stands (`beside_at` of the functions). */
function besideAt(beside: string | null | undefined, cursor: string | null | undefined): number {
  const [at, count] = (beside ?? '').split(' ');
  return at === cursor ? Number(count ?? 0) : 0;
}

/** One line of a log: a partition was taken anew behind where its node had been. */
interface Told {
  readonly partition: string;
  readonly was: number;
  readonly is: number;
  readonly actors: number;
}

const TOLD = /(\S+) was at entry ([\d.]+), the store is at ([\d.]+); (\d+) actors? went back/g;

export const toldIn = (log: string): Told[] =>
  [...log.matchAll(TOLD)].map(([, partition = '', was, is, actors]) => ({
    ...{ partition, was: Number(was), is: Number(is), actors: Number(actors) },
  }));

export interface Takeovers {
  /** Of partitions after the loss. */
  readonly count: number;
  /** Of these, of partitions that the store had lost something of: one line each. */
  readonly behind: number;
  readonly actors: number;
  /** What is not as it must be, a sentence each. */
  readonly wrong: readonly string[];
}

/** Each partition that went back was taken anew, and one line says from where to where and how many actors went back. */
export function takeovers({ had, stored }: StoreLoss, now: Positions, told: readonly Told[]): Takeovers {
  const wrong: string[] = [];
  let [count, behind] = [0, 0];
  for (const [partition, { position, epoch }] of stored) {
    const taken = (now.get(partition)?.epoch ?? 0) - epoch;
    count += taken;
    const was = had.get(partition)?.position ?? 0;
    const lines = told.filter((line) => line.partition === partition);
    if (was <= position) {
      if (lines.length > 0 && taken === 0) wrong.push(`${partition} was told to be behind and was not taken anew`);
      continue;
    }
    behind += 1;
    if (taken === 0) wrong.push(`${partition} went back from ${was} to ${position} and was not taken anew`);
    if (lines.length !== 1)
      wrong.push(`${partition} went back from ${was} to ${position}: ${lines.length} lines say so`);
  }
  return { count, behind, actors: told.reduce((sum, line) => sum + line.actors, 0), wrong };
}
