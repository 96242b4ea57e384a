import type { ActorStore } from '../actor-store.ts';
import { type Address, type Partition, tenantOf } from '../address.ts';
import { type ActorDefinition, isArchived, type Registry } from '../define-actor.ts';
import { KEY_AWAY, KEY_MISSING } from '../encryption/payload-keys.ts';
import { SvcError, toSvcError } from '../errors.ts';
import type { WaitBudget } from '../kit/waits.ts';
import type { MailboxEntry, Message } from '../message.ts';
import type { Archive } from '../projection/archive.ts';
import type { ActorCache } from './actor-cache.ts';
import { type Activation, MOST_BEHIND, RETRY_TIMER } from './actor-draft.ts';
import { decodeMessage, decodeMessageText } from './codec.ts';
import { isOwned, type Payloads } from './payload.ts';
import { type ActorRecord, decodeRecord, frozen } from './record.ts';

/** Address used for the recipient of an entry that could not be decoded. */
export const UNREADABLE: Address = 'unreadable/svc-system/unknown';

/** The parts that a batch needs to decode its messages and load its actors. */
interface LoadingParts {
  readonly store: Pick<ActorStore, 'load'>;
  readonly registry: Registry;
  readonly payloads: Payloads;
  readonly archive: Archive;
  readonly cache: ActorCache;
}

/**
 * Decodes an entry. An entry that cannot be read must not stop those behind it: its error takes its place and it is
 * dead-lettered. Returns a promise only when the body is in Blobs, because awaiting each message of a large batch costs
 * more than decoding it.
 */
export function decodeEntry(payloads: Payloads, body: string): Message | SvcError | Promise<Message | SvcError> {
  if (body.startsWith('@')) return decodeMessage(payloads, body).catch(unreadable);
  try {
    return decodeMessageText(body);
  } catch (thrown) {
    return unreadable(thrown);
  }
}

interface Loaded {
  readonly activations: Map<Address, Activation | SvcError>;
  /** Late actors whose record is encrypted with a key that cannot be had. */
  readonly locked: ReadonlySet<Address>;
  /** Actors that were not loaded in time. */
  readonly late: ReadonlySet<Address>;
}

const NONE: ReadonlySet<Address> = new Set();

/**
 * Loads the actors of a batch by address, each from its partition. An error stands for one that cannot be read. Actors in
 * `isNew` are looked for nowhere: neither store nor archive can know an id that was just created, and the store may be busy
 * with the commit before this batch.
 *
 * With `patience`, actors that archive or blobs do not return in time, or cannot return now, are reported as late.
 */
export async function loadActivations(
  parts: LoadingParts,
  actors: ReadonlyMap<Address, Partition>,
  isNew: ReadonlySet<Address>,
  patience: WaitBudget | null,
): Promise<Loaded> {
  const { store, registry, cache } = parts;
  const activations = new Map<Address, Activation | SvcError>();
  const missing: { address: Address; partition: Partition; term: number; definition: ActorDefinition }[] = [];
  for (const [address, partition] of actors) {
    const definition = registry.definitionOf(address);
    if (definition === undefined) continue;
    const cached = cache.get(address);
    // An actor that was cached in another partition was placed there, or is another actor with the same address.
    if (cached?.partition === partition) activations.set(address, cached);
    else {
      const self = { address, partition, term: cache.termOf(partition), definition };
      if (isNew.has(address)) activations.set(address, newActor(self));
      else missing.push(self);
    }
  }
  if (missing.length === 0) return { activations, late: NONE, locked: NONE };
  const locked = new Set<Address>();
  // In parallel: actors that are not in the store are read from the archive, and each of these reads may be slow.
  await Promise.all(
    [...Map.groupBy(missing, ({ partition }) => partition)].map(async ([partition, some]) => {
      const texts = await textsOf(
        store,
        partition,
        some.map(({ address }) => address),
      );
      const loads = some.map(async (self, index) => {
        const { address, definition } = self;
        const text = texts[index] ?? null;
        if (text instanceof SvcError && text.code === 'unavailable') {
          if (patience === null) throw text;
          locked.add(address);
          return;
        }
        const activation = text instanceof SvcError ? text : activate(parts, self, text, isArchived(definition));
        activations.set(address, activation instanceof SvcError ? activation : await activation.catch(unreadable));
      });
      await (patience === null ? Promise.all(loads) : patience.for(loads));
    }),
  );
  const late = new Set(missing.map(({ address }) => address).filter((address) => !activations.has(address)));
  return { activations, late, locked };
}

const isKeyAway = ({ code, reason }: SvcError): boolean =>
  code === 'unavailable' && (reason === KEY_AWAY || reason === KEY_MISSING);

/**
 * The records of actors. When the store has a damaged one, or one whose key cannot be had, each is read alone: an error stands
 * for that one.
 */
async function textsOf(
  store: Pick<ActorStore, 'load'>,
  partition: Partition,
  addresses: readonly Address[],
): Promise<(string | SvcError | null)[]> {
  try {
    return await store.load(partition, addresses);
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (!isKeyAway(error) && unreadable(error).store === undefined) throw error;
    if (addresses.length === 1) return [error];
    return (await Promise.all(addresses.map((address) => textsOf(store, partition, [address])))).flat();
  }
}

type Self = Pick<Activation, 'address' | 'partition' | 'term' | 'definition'>;

/** An actor before its first message. */
function newActor(self: Self): Activation | SvcError {
  const { address, definition } = self;
  const [, tenant = '', id = ''] = address.split('/');
  try {
    const record = initialRecord(definition, { address, tenant, id });
    return { ...self, tenant, record, text: null, owned: false, size: 0 };
  } catch (thrown) {
    return unreadable(thrown);
  }
}

async function activate(
  parts: LoadingParts,
  self: Self,
  stored: string | null,
  mayHaveEnded: boolean,
): Promise<Activation | SvcError> {
  const { payloads, archive } = parts;
  const { address, definition } = self;
  // An actor that has ended stays in the archive: a late message finds its final state, not an empty new actor.
  const text = stored ?? (mayHaveEnded ? await archive.loadRecord(address) : null);
  if (text === null) return newActor(self);
  const plain = await payloads.unpack(text);
  const record = decodeRecord(definition, plain);
  frozen(record.state);
  // The store must not delete what the archive refers to.
  return {
    ...self,
    tenant: tenantOf(address),
    record,
    text,
    owned: text === stored && isOwned(text, plain),
    size: plain.length,
  };
}

/** Decodes the messages that a retry in this batch will drain. */
export async function decodeDeferred(
  parts: LoadingParts,
  entries: readonly MailboxEntry[],
  messages: readonly (Message | SvcError | null)[],
  activations: ReadonlyMap<Address, Activation | SvcError>,
  drainLimit: number,
): Promise<ReadonlyMap<string, Message>> {
  const bodies = new Map<string, Message>();
  const readable = messages.filter(isReadable);
  const waiting: string[] = [];
  let drains = messages.length >= MOST_BEHIND;
  for (const message of readable) {
    const activation = activations.get(message.to);
    if (activation === undefined || activation instanceof SvcError || activation.record.stuck === null) continue;
    const { body, behind } = activation.record.stuck;
    if (message.timer !== RETRY_TIMER && behind.length + messages.length < MOST_BEHIND) continue;
    drains = true;
    // One more than is drained: the next retry begins with it.
    if (!waiting.includes(body)) waiting.push(body, ...behind.slice(0, drainLimit * messages.length));
  }
  if (!drains) return bodies;
  // Entries of this very batch may be deferred before the retry drains them.
  for (const [index, message] of messages.entries()) {
    const body = entries[index]?.body;
    if (body !== undefined && isReadable(message)) bodies.set(body, message);
  }
  for (const body of waiting) if (!bodies.has(body)) bodies.set(body, await decodeMessage(parts.payloads, body));
  return bodies;
}

export const isReadable = (message: Message | SvcError | null): message is Message =>
  message !== null && !(message instanceof SvcError);

/**
 * Returns the error when only one message or actor is unreadable. Throws when a store or archive is unavailable, which
 * stops the batch.
 */
function unreadable(thrown: unknown): SvcError {
  const error = toSvcError(thrown);
  if (error.code === 'unavailable') throw error;
  return error;
}

/** The record of an actor before its first message. */
export function initialRecord(
  definition: ActorDefinition,
  self: { readonly address: Address; readonly tenant: string; readonly id: string },
): ActorRecord {
  const state = definition.state.safeParse(definition.initial(self));
  if (!state.success) throw new SvcError('internal', `${definition.kind}: its initial state breaks its own schema`);
  return { revision: 0, lastEvent: 0, timers: {}, effects: [], stuck: null, state: frozen(state.data) };
}
