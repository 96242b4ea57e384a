import { join } from 'node:path';
import type { ActorStore } from './actor-store.ts';
import { type Blobs, PAYLOAD_LIMIT_BYTES } from './blobs.ts';
import { systemClock } from './clock.ts';
import type { Documents } from './documents.ts';
import type { EffectQueue } from './effect-queue.ts';
import { EncryptedActorStore } from './encryption/encrypted-actor-store.ts';
import { encryptedBlobs } from './encryption/encrypted-blobs.ts';
import { EncryptedDocuments, type SearchFields } from './encryption/encrypted-documents.ts';
import type { PayloadKeys } from './encryption/payload-keys.ts';
import { ADDED_BYTES, TextCipher } from './encryption/text-cipher.ts';
import { counted } from './kit/counted.ts';
import { makeDataDirectory, unusableDirectory } from './kit/data-directory.ts';
import { requirePackages } from './kit/optional-packages.ts';
import { lostLog, refuseOlderDocuments } from './projection/rounds.ts';
import type { RateLimits } from './rate-limits.ts';
import { ownedOnceContracted, StoreFormats, type StoreNames } from './store-formats.ts';

/** The open ports that a node runs on. */
export interface OpenStores {
  readonly store: ActorStore;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly effects: EffectQueue;
  readonly rateLimits: RateLimits;
  /** The format notes of these stores, checked and written when the stores were opened. */
  readonly formats: Pick<StoreFormats, 'contract' | 'isAlone'>;
  /**
   * Small steps of the stores' own upkeep, such as returning free space to the file system. Each returns whether more
   * is left to do, and blocks the process for some milliseconds at most.
   */
  readonly upkeep: readonly (() => Promise<boolean>)[];
  /** Why nothing can be stored at present, such as a full disk; null when it can. */
  readonly refusal: () => string | null;
  /** Sentences about durability (K10) for the start-up log. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

export interface StoreLocation {
  /** Folder of the embedded files. With remote stores it holds only the node id and workspaces. */
  readonly dataDir: string;
  /** Give both or neither. Secrets in the URLs are already resolved. */
  readonly redis?: readonly string[];
  readonly mongodb?: string;
  /** Number of Redis replicas that must have a write before it is acknowledged. */
  readonly waitReplicas?: number;
  /** The confirmation that the error about documents older than the log asks the operator for. */
  readonly acceptOlderDocuments?: string | undefined;
  /** Absent: the stores hold no encrypted payloads. */
  readonly encryption?: PayloadEncryption | undefined;
  readonly warn: (message: string, error: unknown) => void;
}

/** The encryption of the payloads in the stores (docs/operations/payload-encryption.md). */
export interface PayloadEncryption {
  /**
   * Opens the keys, which may be stored in these plain documents, which are checked and open. Null: neither the stored data nor
   * later writes are encrypted.
   */
  open(documents: Documents): Promise<PayloadKeys | null>;
  /** Called before the documents are closed. */
  close(): Promise<void>;
  readonly searchFields: SearchFields;
}

/**
 * Opens SQLite files, or Redis, BullMQ and MongoDB: the two sets of adapters (K9). Throws `invalid_config` for a data directory
 * that cannot be used.
 */
export async function openStores(location: StoreLocation): Promise<OpenStores> {
  const { dataDir, redis, mongodb } = location;
  await makeDataDirectory(dataDir).catch((cause: unknown) => {
    throw unusableDirectory(dataDir, cause, 'choose another for dataDir');
  });
  return redis === undefined || mongodb === undefined
    ? openEmbedded(location)
    : openRemote({ ...location, redis, mongodb });
}

async function openEmbedded({ dataDir, acceptOlderDocuments, encryption, warn }: StoreLocation): Promise<OpenStores> {
  const { SqliteActorStore } = await import('./sqlite/actor-store.ts');
  const { SqliteDocuments } = await import('./sqlite/documents.ts');
  const { FileBlobs } = await import('./sqlite/blobs.ts');
  const { DiskWatch, tryingIn } = await import('./sqlite/disk-watch.ts');
  const { EmbeddedEffectQueue } = await import('./effects/embedded-effect-queue.ts');
  const { SqliteRateLimits } = await import('./sqlite/rate-limits.ts');
  const { refuseUnreadableFile } = await import('./sqlite/actor-store-schema.ts');
  const onFailed = (): void => disk.failed();
  const store = new SqliteActorStore({ directory: dataDir, onFailed, warn });
  const documents = new SqliteDocuments({ directory: dataDir, warn, onFailed });
  const blobs = new FileBlobs({ directory: dataDir, mostBytes: mostBlobBytes(encryption), onFailed });
  const disk = new DiskWatch({ clock: systemClock, tryToWrite: tryingIn(blobs.incoming, store.touch), warn });
  const rateLimits = new SqliteRateLimits({ directory: dataDir });
  const ports = encryptedPorts({ store, documents, blobs }, encryption);
  const effects = new EmbeddedEffectQueue({
    ledger: ports.store,
    clock: systemClock,
    onFault: (error, job) => warn(`effect ${job.id} could not be run; the sweep queues it again`, error),
  });
  const notes = [`data in ${dataDir}, every answer is on disk before it is given (fsync per commit group)`];
  const names = { store: join(dataDir, 'actors.db'), documents: join(dataDir, 'documents.db') };
  const formats = new StoreFormats({ names, dataDir, store, documents });
  // Opening the actor store writes, so everything else is checked first.
  const parts = [
    step(() => formats.checkDataDirectory()),
    step(async () => refuseUnreadableFile(names.store)),
    documents,
    step(() => formats.checkDocuments()),
    step(async () => documents.rewriteWhenSmall()),
    store,
    step(() => refuseOlderDocuments({ store, documents, names, accepted: acceptOlderDocuments })),
    ports.keys(formats),
    ...[blobs, effects, rateLimits],
    step(() => formats.note()),
    // One process: no other version can be running beside it.
    step(() => formats.contract()),
    { open: async () => {}, close: async () => disk.close() },
  ];
  const upkeep = [() => documents.upkeep(), () => store.upkeep()];
  const refusal = () => disk.refusal;
  const opened = await openAll(parts, { ...ports.opened, effects, rateLimits, formats, upkeep, refusal, notes });
  return withLostLog(opened, { store, documents, names, warn });
}

async function openRemote(
  location: StoreLocation & { redis: readonly string[]; mongodb: string },
): Promise<OpenStores> {
  requirePackages('stores', 'spec.stores.redis with spec.stores.mongodb');
  const { RedisActorStore } = await import('./redis/redis-actor-store.ts');
  const { BullmqEffectQueue } = await import('./redis/bullmq-effect-queue.ts');
  const { MongoDocuments } = await import('./mongo/documents.ts');
  const { MongoBlobs } = await import('./mongo/blobs.ts');
  const { RedisRateLimits } = await import('./redis/rate-limits.ts');
  const { lockDirectory } = await import('./sqlite/database.ts');
  const { redis: urls, mongodb: uri, dataDir, waitReplicas = 0, acceptOlderDocuments, encryption } = location;
  const warn = warnSeldom(location.warn, () => performance.now());
  const store = new RedisActorStore({
    urls,
    waitReplicas,
    packs: () => formats.isAlone(3),
    eventPacks: () => formats.isAlone(6),
    leaseThread: true,
    warn: (text) => warn(text, undefined),
  });
  const documents = new MongoDocuments({ uri });
  const rateLimits = new RedisRateLimits({ urls, warn: (text) => warn(text, undefined) });
  // The data directory holds the node's id: two processes with one id would keep taking each other's leases.
  const lock = lockOn(dataDir, lockDirectory);
  const names: StoreNames = { store: 'Redis', documents: 'MongoDB' };
  const formats = new StoreFormats({ names, dataDir, store, documents });
  const blobs = ownedOnceContracted(new MongoBlobs({ uri, mostBytes: mostBlobBytes(encryption) }), formats);
  const ports = encryptedPorts({ store, documents, blobs }, encryption);
  const onFault = (error: unknown): void => warn('the effect queue (BullMQ) reported an error', error);
  const effects = new BullmqEffectQueue({ urls, ledger: ports.store, onFault });
  const parts = [
    lock,
    step(() => formats.checkDataDirectory()),
    ...[store, step(() => formats.checkStore())],
    ...[documents, step(() => formats.checkDocuments())],
    step(() => refuseOlderDocuments({ store, documents, names, accepted: acceptOlderDocuments })),
    ports.keys(formats),
    ...[blobs, effects, rateLimits],
    step(() => formats.note()),
  ];
  const upkeep = [() => documents.upkeep()];
  const opened = await openAll(parts, {
    ...ports.opened,
    effects,
    rateLimits,
    formats,
    upkeep,
    refusal: () => null,
    notes: [],
  });
  const warnings = await store.durability();
  const notes = warnings.length === 0 ? ['Redis writes every commit to disk (appendfsync always)'] : warnings;
  return withLostLog({ ...opened, notes }, { store, documents, names, warn });
}

/** With the note that the log of earlier nodes is not there, if that is so. */
async function withLostLog(
  opened: OpenStores,
  { warn, ...parts }: Parameters<typeof lostLog>[0] & Pick<StoreLocation, 'warn'>,
): Promise<OpenStores> {
  const lost = await lostLog(parts);
  if (lost === null) return opened;
  warn(lost, undefined);
  return { ...opened, notes: [lost, ...opened.notes] };
}

const SAME_EVERY_MS = 10_000;
const MOST_TEXTS = 100;

/**
 * Passes on each text once in 10 s, with the number that was skipped: each connection retries several times a second while
 * Redis is unavailable.
 */
export function warnSeldom(warn: StoreLocation['warn'], now: () => number): StoreLocation['warn'] {
  const texts = new Map<string, { until: number; skipped: number }>();
  return (message, error) => {
    const text = error instanceof Error ? `${message}: ${error.message}` : message;
    const last = texts.get(text);
    if (last !== undefined && now() < last.until) {
      last.skipped += 1;
      return;
    }
    if (texts.size >= MOST_TEXTS) texts.clear();
    texts.set(text, { until: now() + SAME_EVERY_MS, skipped: 0 });
    const more =
      last === undefined || last.skipped === 0 ? '' : ` (and ${counted(last.skipped, 'time')} since the last line)`;
    warn(`${message}${more}`, error);
  };
}

type DataPorts = Pick<OpenStores, 'store' | 'documents' | 'blobs'>;

/** The ports over data that may be encrypted, and the step of the opening that gives them their keys. */
function encryptedPorts(
  plain: DataPorts,
  encryption: PayloadEncryption | undefined,
): {
  readonly store: ActorStore;
  readonly opened: DataPorts;
  keys(formats: Pick<StoreFormats, 'noteEncrypted'>): Openable;
} {
  if (encryption === undefined) return { store: plain.store, opened: plain, keys: () => step(async () => {}) };
  const cipher = new TextCipher();
  const store = new EncryptedActorStore(plain.store, cipher);
  return {
    store,
    opened: {
      store,
      documents: new EncryptedDocuments(plain.documents, cipher, encryption.searchFields),
      blobs: encryptedBlobs(plain.blobs, cipher),
    },
    keys: (formats) => ({
      async open() {
        const keys = await encryption.open(plain.documents);
        if (keys === null) return;
        if (keys.encryptsAny) await formats.noteEncrypted();
        cipher.use(keys);
      },
      close: () => encryption.close(),
    }),
  };
}

const mostBlobBytes = (encryption: PayloadEncryption | undefined): number =>
  PAYLOAD_LIMIT_BYTES + (encryption === undefined ? 0 : ADDED_BYTES);

function lockOn(directory: string, take: (directory: string) => () => void): Openable {
  let release = (): void => {};
  return {
    async open() {
      release = take(directory);
    },
    async close() {
      release();
    },
  };
}

/** A step to run at this place of the opening, with nothing to close. */
const step = (open: () => Promise<void>): Openable => ({ open, close: async () => {} });

interface Openable {
  open(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the parts in order. When one fails, those already open are closed again. Closing runs in reverse order, and a part that
 * cannot be closed does not keep the others open.
 */
async function openAll(parts: readonly Openable[], ports: Omit<OpenStores, 'close'>): Promise<OpenStores> {
  await using opened = new AsyncDisposableStack();
  for (const part of parts) {
    await part.open();
    opened.defer(() => part.close());
  }
  const open = opened.move();
  return { ...ports, close: () => open.disposeAsync() };
}
