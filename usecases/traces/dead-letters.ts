import type { Address } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { newestFirst, type Page, type PageAsked, pageOf } from '../../runtime/documents/pages.ts';
import type { Collection, Condition } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, tenantOfViewer } from '../../runtime/identity.ts';
import type { Json } from '../../runtime/json.ts';
import type { DeadLetter as DeadLetterRecord } from '../../runtime/ledger/segments.ts';
import type { Message } from '../../runtime/message.ts';
import { derivedUuid } from '../../runtime/random.ts';
import { decodeEntry } from '../../runtime/turns/loading.ts';
import type { Payloads } from '../../runtime/turns/payload.ts';
import { isoTime, shownValue, withoutSecrets } from './reader-view.ts';
import { Sight, type SightParts } from './sight.ts';

export const LETTER_STATUSES = ['open', 'replayed', 'discarded'] as const;

type LetterStatus = (typeof LETTER_STATUSES)[number];

/** An action on a letter: who did it, when and why. */
interface LetterStep {
  /** ISO 8601. */
  readonly at: string;
  readonly by: string;
  readonly reason: string | null;
}

interface Replay extends LetterStep {
  /** The message that was sent. */
  readonly message_id: string;
}

/** A letter as it is stored. Letters of the projector have none of these fields: they are open. */
type StoredLetter = DeadLetterRecord & {
  readonly status?: Exclude<LetterStatus, 'open'>;
  readonly replays?: readonly Replay[];
  readonly discarded?: LetterStep;
};

/** A message or record that its actor could not handle, as readers get it. */
interface DeadLetter {
  readonly id: string;
  readonly address: Address;
  /** `record`: the state of the actor cannot be read. */
  readonly kind: 'message' | 'record';
  /** Null when the message cannot be read, or its payload was removed with its actor. */
  readonly message: {
    readonly message_id: string;
    readonly type: string;
    readonly from: string | null;
    readonly cause_id: string | null;
    readonly trace_id: string;
  } | null;
  readonly error: string;
  readonly at: string;
  readonly status: LetterStatus;
  readonly replays: readonly Replay[];
  readonly discarded: LetterStep | null;
}

/** One letter with the payload of its message. */
interface DeadLetterInFull extends DeadLetter {
  readonly payload: Json;
  readonly payload_chars: number;
  readonly payload_omitted?: true;
}

interface Filter extends PageAsked {
  readonly kind?: string | undefined;
  readonly status?: LetterStatus | undefined;
}

/** Dead letters of a tenant. All calls throw `not_found` for what the reader may not see. */
export interface DeadLetterApi {
  /** Newest first. A page may be shorter than asked for, because it holds only what the reader may see. */
  list(viewer: Identity, filter: Filter): Promise<Page<DeadLetter>>;
  get(viewer: Identity, id: string): Promise<DeadLetterInFull>;
  /**
   * Sends the message to its actor again; resolves when that is durable. Throws `failed_precondition` for a discarded
   * letter and for one without a message, `limit_reached` after `MOST_REPLAYS`.
   */
  replay(viewer: Identity, id: string, reason: string | null): Promise<DeadLetterInFull>;
  /** Marks the letter as settled; it stays as a record. Throws `failed_precondition` when it was discarded before. */
  discard(viewer: Identity, id: string, reason: string): Promise<DeadLetterInFull>;
}

/** How often one letter may be replayed. */
export const MOST_REPLAYS = 5;

/** Attempts to record a replay that was sent. */
const MOST_TRIES = 10;

const NEWEST_FIRST = newestFirst('at');

interface DeadLetterParts extends SightParts {
  readonly client: SightParts['client'] & { repeat(message: Message, id: string): Promise<void> };
  readonly letters: Collection<DeadLetterRecord>;
  readonly payloads: Payloads;
  readonly clock: Pick<Clock, 'now'>;
}

interface Opened {
  readonly letter: StoredLetter;
  readonly message: Message | null;
}

/** Implements `DeadLetterApi` over the collection that the projector writes. */
export function createDeadLetterApi(parts: DeadLetterParts): DeadLetterApi {
  const { letters, client, payloads, clock } = parts;

  async function opened(letter: StoredLetter): Promise<Opened> {
    const decoded = await decodeEntry(payloads, letter.body);
    return { letter, message: decoded instanceof SvcError ? null : decoded };
  }

  async function sees(sight: Sight, { letter, message }: Opened): Promise<boolean> {
    return message === null ? sight.sees(letter.address) : sight.seesMessage(message);
  }

  async function open(viewer: Identity, id: string): Promise<Opened> {
    const found = await letters.get(tenantOfViewer(viewer), id);
    const letter = found === null ? null : await opened(found);
    if (letter === null || !(await sees(new Sight(parts, viewer), letter))) throw notFound();
    return letter;
  }

  /** Changes a letter, unless another call changed it since it was read. */
  async function change({ letter, message }: Opened, fields: Partial<StoredLetter>): Promise<DeadLetterInFull> {
    const changed: StoredLetter = { ...letter, ...fields, version: letter.version + 1 };
    if (await letters.replace(changed, letter.version)) return inFull({ letter: changed, message });
    throw changedMeanwhile();
  }

  /** Records a message that was sent, also in a letter that was discarded meanwhile. */
  async function record(sent: Opened, replay: Replay): Promise<DeadLetterInFull> {
    for (let tries = 1; ; tries += 1) {
      const now = await letters.get(sent.letter.tenant, sent.letter.id);
      const letter: StoredLetter = now ?? sent.letter;
      const { status = 'replayed', replays = [] } = letter;
      // Another call sent the same message and recorded it.
      if (replays.some(({ message_id }) => message_id === replay.message_id)) throw changedMeanwhile();
      try {
        return await change({ ...sent, letter }, { status, replays: [...replays, replay] });
      } catch (thrown) {
        // The message was sent, so it must be recorded, whatever else changes the letter.
        if (!(thrown instanceof SvcError) || thrown.code !== 'conflict' || tries === MOST_TRIES) throw thrown;
      }
    }
  }

  const stepOf = (viewer: Identity, reason: string | null): LetterStep => ({
    at: isoTime(clock.now()),
    by: viewer.subject,
    reason,
  });

  return {
    async list(viewer, { kind, status, ...page }) {
      const where: Record<string, Condition> = {};
      if (status !== undefined) where.status = status === 'open' ? null : status;
      if (kind !== undefined) where.address = { gte: `${kind}/`, lt: `${kind}0` };
      const query = { tenant: tenantOfViewer(viewer), where, sort: NEWEST_FIRST };
      const { items, ...next } = await pageOf<StoredLetter>(letters, 'dead letters', query, page);
      const sight = new Sight(parts, viewer);
      const all = await Promise.all(items.map(opened));
      const seen = await Promise.all(all.map((one) => sees(sight, one)));
      return { items: all.filter((_one, index) => seen[index]).map(shown), ...next };
    },

    async get(viewer, id) {
      return inFull(await open(viewer, id));
    },

    async replay(viewer, id, reason) {
      const found = await open(viewer, id);
      const { letter, message } = found;
      const { replays = [] } = letter;
      if (letter.discarded !== undefined) throw refused('the letter was discarded');
      if (message === null) throw refused('the letter holds no message that can be read');
      if (replays.length >= MOST_REPLAYS)
        throw new SvcError('limit_reached', `the letter was replayed ${MOST_REPLAYS} times, the maximum: discard it`);
      // The id is the same for a repeat of this call, so that the message is handled once however often the call is made.
      const message_id = derivedUuid('svc/dead-letter/replay', letter.tenant, id, String(replays.length));
      await client.repeat(message, message_id);
      return record(found, { ...stepOf(viewer, reason), message_id });
    },

    async discard(viewer, id, reason) {
      const found = await open(viewer, id);
      if (found.letter.discarded !== undefined) throw refused('the letter was discarded before');
      return change(found, { status: 'discarded', discarded: stepOf(viewer, reason) });
    },
  };
}

function shown({ letter, message }: Opened): DeadLetter {
  const { id, address, error, at, status = 'open', replays = [], discarded = null } = letter;
  return {
    id,
    address,
    kind: id.endsWith('.record') ? 'record' : 'message',
    message: message && {
      message_id: message.id,
      type: message.type,
      from: message.from,
      cause_id: message.cause,
      trace_id: message.trace,
    },
    error: withoutSecrets(error),
    at: isoTime(at),
    status,
    replays,
    discarded,
  };
}

function inFull(opened: Opened): DeadLetterInFull {
  const { value, chars, omitted } = shownValue(opened.message?.payload ?? null);
  return {
    ...shown(opened),
    payload: value,
    payload_chars: chars,
    ...(omitted === undefined ? {} : { payload_omitted: omitted }),
  };
}

const notFound = (): SvcError => new SvcError('not_found', 'dead letter not found');

const changedMeanwhile = (): SvcError =>
  new SvcError('conflict', 'the letter was changed by another call: read it again');

const refused = (why: string): SvcError => new SvcError('failed_precondition', why);
