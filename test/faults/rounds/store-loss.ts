import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { partitionsOf } from '../../../runtime/address.ts';
import { positionOf } from '../../../runtime/leases.ts';
import { countOf } from '../../../runtime/redis/facts.ts';
import { Keys } from '../../../runtime/redis/keys.ts';
import type { RedisServer } from '../../support/redis.ts';

/** Position of each partition in the store, and the number of grants of its lease. */
type Positions = ReadonlyMap<string, { readonly position: number; readonly epoch: number }>;

/** The writes that a store lost when it came back or was replaced by a replica. */
export interface StoreLoss {
  /** Before the outage. */
  readonly had: Positions;
  /** After the outage. */
  readonly stored: Positions;
  /** Ids of everything that lost a write. */
  readonly ids: ReadonlySet<string>;
}

/** A position of the append-only file, after which writes are lost. */
interface Mark {
  readonly file: string;
  readonly size: number;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/**
 * The part of the append-only file that grows. It contains every call that was answered: Redis writes before it
 * answers, only the sync is late.
 */
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

/** Ids in the bytes after the mark; the file contains names unencoded. */
export async function idsAfter({ file, size }: Mark): Promise<ReadonlySet<string>> {
  const lost = (await readFile(file)).subarray(size).toString('latin1');
  return new Set(lost.match(UUID) ?? []);
}

/** From the store alone. The position of a partition that shares a log is that of the log. */
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

/** Number of results that were handled at the present cursor (`beside_at` of the functions). */
function besideAt(beside: string | null | undefined, cursor: string | null | undefined): number {
  const [at, count] = (beside ?? '').split(' ');
  return at === cursor ? Number(count ?? 0) : 0;
}

/** One log line: a partition was taken over at an earlier position than its node had reached. */
interface Rewind {
  readonly partition: string;
  readonly was: number;
  readonly is: number;
  readonly actors: number;
}

const REWIND = /(\S+) was at entry ([\d.]+), the store is at ([\d.]+); (\d+) actors? went back/g;

export const rewindsIn = (log: string): Rewind[] =>
  [...log.matchAll(REWIND)].map(([, partition = '', was, is, actors]) => ({
    ...{ partition, was: Number(was), is: Number(is), actors: Number(actors) },
  }));

interface Takeovers {
  /** Takeovers of partitions after the loss. */
  readonly count: number;
  /** Of these, takeovers of partitions that lost writes: one log line each. */
  readonly behind: number;
  readonly actors: number;
  /** Violations, a sentence each. */
  readonly wrong: readonly string[];
}

/**
 * Each partition that lost writes was taken over, and one log line reports both positions and the number of rewound
 * actors.
 */
export function takeovers({ had, stored }: StoreLoss, now: Positions, rewinds: readonly Rewind[]): Takeovers {
  const wrong: string[] = [];
  let [count, behind] = [0, 0];
  for (const [partition, { position, epoch }] of stored) {
    const taken = (now.get(partition)?.epoch ?? 0) - epoch;
    count += taken;
    const was = had.get(partition)?.position ?? 0;
    const lines = rewinds.filter((line) => line.partition === partition);
    if (was <= position) {
      if (lines.length > 0 && taken === 0) wrong.push(`${partition} was reported as rewound and was not taken over`);
      continue;
    }
    behind += 1;
    if (taken === 0) wrong.push(`${partition} went back from ${was} to ${position} and was not taken anew`);
    if (lines.length !== 1)
      wrong.push(`${partition} went back from ${was} to ${position}: ${lines.length} lines say so`);
  }
  return { count, behind, actors: rewinds.reduce((sum, line) => sum + line.actors, 0), wrong };
}
