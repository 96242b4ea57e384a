import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import { MongoClient } from 'mongodb';
import { z } from 'zod';
import type { RawJournal } from './raw-journal.ts';

/** One delivery, as the files contain it. */
export interface RawDelivery {
  readonly partition: string;
  /** A whole number for an entry of the mailbox, a fraction for a result handled beside it. */
  readonly seq: number;
  readonly at: number;
  readonly id: string;
  readonly cause: string | null;
  readonly trace: string;
  readonly tenant: string;
  readonly to: string;
  readonly type: string;
  readonly outcome: string;
  /** Reference of a message in Blobs. */
  readonly reference?: string;
}

export interface RawLedger {
  readonly deliveries: readonly RawDelivery[];
  /**
   * On SQLite by partition the number of the last entry that was handled. Entries are numbered 1, 2, 3 … as they are
   * appended.
   */
  readonly appended?: ReadonlyMap<string, number>;
  /** On Redis the appended messages and their handling. */
  readonly journal?: RawJournal;
}

const Envelope = z.looseObject({
  id: z.string(),
  cause: z.string().nullable(),
  trace: z.string(),
  to: z.string(),
  type: z.string(),
});

const Line = z
  .tuple([
    z.number(),
    z.number(),
    z.number(),
    z.looseObject({ outcome: z.string(), envelope: Envelope.optional() }),
    z.union([Envelope, z.string()]),
  ])
  .rest(z.number());

const Segment = z.looseObject({ partition: z.string(), lines: z.string() });

/**
 * Reads the ledger of stopped nodes from a MongoDB, with a separate parser, together with the entries that a follower
 * read from Redis.
 */
export async function readRawMongo(uri: string, journal: RawJournal): Promise<RawLedger> {
  const client = await MongoClient.connect(uri);
  try {
    const rows = await client.db('svc').collection('ledger').find({}).toArray();
    return {
      deliveries: rows.flatMap(({ tenant, restJson, ...fields }) =>
        deliveriesOf(String(tenant), fields, String(restJson)),
      ),
      journal,
    };
  } finally {
    await client.close();
  }
}

/**
 * Reads the ledger of a stopped node from its SQLite files, with its own parser, so that the checks use no code of the product.
 */
export function readRawLedger(directory: string): RawLedger {
  const documents = new DatabaseSync(join(directory, 'documents.db'), { readOnly: true });
  const actors = new DatabaseSync(join(directory, 'actors.db'), { readOnly: true });
  try {
    const tables = documents.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all();
    const table = tables.map(({ name }) => String(name)).find((name) => /(^|_)ledger$/.test(name));
    if (table === undefined)
      throw new Error(`no table of the ledger among ${tables.map(({ name }) => name).join(', ')}`);
    const deliveries = documents
      .prepare(`SELECT tenant, fields, rest FROM "${table}"`)
      .all()
      .flatMap(({ tenant, fields, rest }) => deliveriesOf(String(tenant), JSON.parse(String(fields)), String(rest)));
    const appended = actors
      .prepare('SELECT name, cursor FROM partitions')
      .all()
      .map(({ name, cursor }): [string, number] => [String(name), Number(cursor)]);
    return { deliveries, appended: new Map(appended) };
  } finally {
    documents.close();
    actors.close();
  }
}

function deliveriesOf(tenant: string, fields: object, rest: string): RawDelivery[] {
  const segment = Segment.parse({ ...fields, ...JSON.parse(rest) });
  return linesOf(segment.lines).map((line) => deliveryOf(tenant, segment.partition, Line.parse(line)));
}

function linesOf(packed: string): unknown[] {
  const text = packed.startsWith('~')
    ? zstdDecompressSync(Buffer.from(packed.slice(1), 'base64')).toString('utf8')
    : packed;
  return z.array(z.unknown()).parse(JSON.parse(text));
}

/** Lines of partitions that share a log end with the number of their partition; the segment names their group. */
function deliveryOf(tenant: string, place: string, [seq, at, , row, body, number]: z.output<typeof Line>): RawDelivery {
  const partition = number === undefined ? place : `${place.slice(0, place.lastIndexOf('~'))}:${number}`;
  const message = row.envelope ?? body;
  if (typeof message === 'string') throw new Error(`${partition} ${seq}: a reference without an envelope`);
  const { id, cause, trace, to, type } = message;
  const delivery = { partition, seq, at, id, cause, trace, tenant, to, type, outcome: row.outcome };
  return typeof body === 'string' ? { ...delivery, reference: body } : delivery;
}
