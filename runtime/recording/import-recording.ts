import { type Address, parseAddress, poolOf } from '../address.ts';
import type { Blobs } from '../blobs.ts';
import type { Clock } from '../clock.ts';
import { type ActorDefinition, isArchived } from '../define-actor.ts';
import type { Documents, StoredDocument } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import { KeptFrom } from '../ledger/kept-from.ts';
import { KeyRuns } from '../ledger/key-runs.ts';
import { keysOfTurn } from '../ledger/keys.ts';
import { LedgerWriter, ledgerPart } from '../ledger/writing/ledger-writer.ts';
import type { Message } from '../message.ts';
import { retainedOf } from '../projection/actor-projection.ts';
import { Archive, SEGMENT_EVENTS } from '../projection/archive.ts';
import { openViews, type ProjectedCommit, type Views } from '../projection/views.ts';
import type { Random } from '../random.ts';
import { VERSION } from '../store-formats.ts';
import { decodeMessageText, encodeEvent, encodeMessage } from '../turns/codec.ts';
import { createPayloads, type Payloads } from '../turns/payload.ts';
import { type ActorRecord, decodeRecord, encodeRecord, NewerVersion } from '../turns/record.ts';
import { RecordedWaits } from './recorded-waits.ts';
import type { ActorLine, DeliveryLine, EventLine, RecordingHead } from './recording.ts';
import { type CheckedLine, refusedLine } from './recording-lines.ts';

interface ImportParts {
  /** Empty stores. */
  readonly documents: Documents;
  readonly blobs: Blobs;
  /** Names the writer of the ledger. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
}

interface OpenParts {
  readonly archive: Archive;
  readonly views: Views;
  readonly ledger: LedgerWriter;
  readonly kept: KeptFrom;
  readonly payloads: Payloads;
}

/** An actor of the file that cannot be shown, and why. */
export interface NotShown {
  readonly actor: Address;
  readonly reason: string;
}

/** The actor whose lines are read. */
interface OpenActor {
  readonly line: ActorLine;
  /** Number of its line. */
  readonly number: number;
  /** Null when this version cannot show it. */
  readonly shown: { readonly definition: ActorDefinition; readonly record: ActorRecord; readonly text: string } | null;
  lastEvent: number;
  last: DeliveryLine | null;
}

/** Characters of messages that are in memory until they are written together. */
const MOST_CHARS = 8 * 1024 * 1024;
const MOST_DELIVERIES = 10_000;

/**
 * Writes a recording into empty documents, line by line: its actors as ended ones into the archive and into the lists of
 * their kinds, its deliveries with their keys into the ledger. So every read of a node finds them. Throws
 * `invalid_argument` naming the line for what no node could have recorded.
 */
export class RecordingImport {
  readonly #open: OpenParts;
  readonly #head: RecordingHead;
  readonly #kinds: ReadonlyMap<string, ActorDefinition>;
  readonly #notShown: NotShown[] = [];
  #actor: OpenActor | null = null;
  /** The open work of the actors. */
  readonly waits = new RecordedWaits();
  #events: { seq: number; data: string }[] = [];
  #deliveries: ProjectedCommit[] = [];
  #chars = 0;

  /** `definitions` are the kinds of actors under the settings of the recording. */
  static async open(
    { documents, blobs, node, clock, random }: ImportParts,
    head: RecordingHead,
    definitions: readonly ActorDefinition[],
  ): Promise<RecordingImport> {
    const keys = await KeyRuns.open({ documents, clock });
    const open = {
      archive: await Archive.open(documents),
      views: await openViews(documents, { definitions }),
      ledger: await LedgerWriter.open({ documents, node, clock, random, keys }),
      kept: await KeptFrom.open(documents),
      payloads: createPayloads(blobs),
    };
    return new RecordingImport(open, head, definitions);
  }

  private constructor(open: OpenParts, head: RecordingHead, definitions: readonly ActorDefinition[]) {
    this.#open = open;
    this.#head = head;
    this.#kinds = new Map(definitions.map((definition) => [definition.kind, definition]));
  }

  /** Takes a line behind the head. */
  async take(line: CheckedLine, number: number): Promise<void> {
    try {
      if (line.kind === 'actor') await this.#begin(line.actor, number);
      else if (line.kind === 'event') await this.#event(line.event);
      else if (line.kind === 'delivery') await this.#delivery(line.delivery);
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'invalid_argument' || error.code === 'unavailable') throw error;
      const why = error.row.kind === 'bug' ? 'this is not a line that a node records' : error.message;
      throw refusedLine(number, why, thrown);
    }
  }

  /** Writes the rest. Returns the actors of the file that cannot be shown. */
  async end(): Promise<readonly NotShown[]> {
    await this.#endActor();
    await this.#writeDeliveries();
    const { tenant, kept_from: keptFrom } = this.#head;
    if (keptFrom !== null) await this.#open.kept.note(tenant, Date.parse(keptFrom) - 1);
    return this.#notShown;
  }

  async #begin(line: ActorLine, number: number): Promise<void> {
    await this.#endActor();
    const { kind } = parseAddress(line.actor);
    const definition = this.#kinds.get(kind);
    let shown: OpenActor['shown'] = null;
    if (definition !== undefined && isArchived(definition)) {
      shown = this.#shown(definition, line, number);
      this.waits.add(line);
    } else {
      const reason = `svc ${VERSION} keeps no actors of kind ${kind} that have ended`;
      this.#notShown.push({ actor: line.actor, reason });
    }
    this.#actor = { line, number, shown, lastEvent: 0, last: null };
  }

  #shown(definition: ActorDefinition, line: ActorLine, number: number): OpenActor['shown'] {
    const text = encodeRecord(line.version, recordOf(line));
    try {
      return { definition, record: decodeRecord(definition, text), text };
    } catch (thrown) {
      if (thrown instanceof NewerVersion) {
        const written = `version ${line.version} of ${definition.kind}, written by svc ${this.#head.svc}`;
        throw refusedLine(
          number,
          `${written}; this is svc ${VERSION}, which reads versions up to ${definition.version}`,
        );
      }
      throw refusedLine(number, `state: it is not a state of ${definition.kind} in svc ${VERSION}`, thrown);
    }
  }

  async #event({ event: seq, at, name, payload }: EventLine): Promise<void> {
    const actor = this.#actor;
    if (actor === null || actor.shown === null) return;
    const encoded = { name, at, payload: JSON.stringify(payload) };
    const data = await encodeEvent(this.#open.payloads, actor.line.actor, encoded);
    actor.lastEvent = seq;
    this.#events.push({ seq, data });
    if (this.#events.length === SEGMENT_EVENTS) await this.#writeEvents(actor);
  }

  async #writeEvents({ line }: OpenActor): Promise<void> {
    await this.#open.archive.storeEvents(line.actor, this.#events);
    this.#events = [];
  }

  async #delivery(delivery: DeliveryLine): Promise<void> {
    const { delivery: seq, at, epoch, node, partition, row, message } = delivery;
    if (this.#actor !== null) this.#actor.last = delivery;
    const body = await encodeMessage(this.#open.payloads, message);
    const entry = { seq, at, body };
    this.#chars += body.length;
    this.#deliveries.push({
      upTo: seq,
      epoch,
      node,
      entries: [entry],
      targets: [message.to],
      partitions: [partition],
      rows: row === null ? [] : [row],
      keys: [keysOfTurn(message, body, row ?? undefined, drainedOf(delivery))],
    });
    if (this.#chars >= MOST_CHARS || this.#deliveries.length >= MOST_DELIVERIES) await this.#writeDeliveries();
  }

  /** Positions of a segment of the ledger grow, and the lines of actors that share a partition do not. */
  async #writeDeliveries(): Promise<void> {
    const commits = this.#deliveries.sort((one, other) => one.upTo - other.upTo);
    [this.#deliveries, this.#chars] = [[], 0];
    if (commits.length > 0) await this.#open.ledger.write([ledgerPart(null, commits)]);
  }

  async #endActor(): Promise<void> {
    const actor = this.#actor;
    this.#actor = null;
    if (actor === null || actor.shown === null) return;
    const { line, number, shown, last, lastEvent } = actor;
    if (lastEvent < line.last_event) throw refusedLine(number, `it has ${lastEvent} of ${line.last_event} events`);
    await this.#writeEvents(actor);
    const { archive, views, payloads } = this.#open;
    const { tenant, id } = parseAddress(line.actor);
    const { document, retained } = shownAs(this.#head, { line, number, shown, last }, { tenant, id });
    const record = await payloads.pack(line.actor, shown.text);
    const ended = { address: line.actor, record, revision: line.revision, lastEvent: line.last_event, ...retained };
    await archive.storeRecord({ ...ended, bytes: shown.text.length });
    const collection = shown.definition.view?.collection;
    if (document !== null && collection !== undefined) await views.get(collection)?.put(document);
  }
}

/** The record of an actor. Of the messages that it waits with, a recording holds only what is shown. */
function recordOf({ revision, last_event: lastEvent, state, open }: ActorLine): ActorRecord {
  const { timers = [], effects = [], stuck = null } = open ?? {};
  return {
    revision,
    lastEvent,
    timers: Object.fromEntries(timers.map(({ name }) => [name, ''])),
    effects: effects.map(({ id }) => id),
    stuck: stuck && { body: '', type: stuck.message_type, error: stuck.error, attempts: stuck.attempts, behind: [] },
    state,
  };
}

/** The document of an actor in the list of its kind, and what the archive says about it. */
function shownAs(
  { svc }: RecordingHead,
  {
    line,
    number,
    shown,
    last,
  }: Pick<OpenActor, 'line' | 'number' | 'last'> & { shown: NonNullable<OpenActor['shown']> },
  self: { readonly tenant: string; readonly id: string },
): { readonly document: StoredDocument | null; readonly retained: ReturnType<typeof retainedOf> } {
  const { definition, record } = shown;
  try {
    const retained = retainedOf(definition, record.state, self, last?.at ?? 0);
    const view = definition.view?.project(record.state, self) ?? null;
    const isLocated = definition.view?.isLocated === true && last !== null;
    const place = isLocated ? { node: last.node, pool: poolOf(last.partition) } : {};
    return { document: view === null ? null : { ...view, ...place, version: line.revision }, retained };
  } catch (thrown) {
    throw refusedLine(number, `state: svc ${VERSION} cannot list what svc ${svc} recorded`, thrown);
  }
}

/** The messages that a retry handled, by their bodies. */
function drainedOf({ row }: DeliveryLine): ReadonlyMap<string, Message> {
  const bodies = new Map<string, Message>();
  for (const { body } of row?.drained ?? []) {
    if (body !== '{}') bodies.set(body, decodeMessageText(body));
  }
  return bodies;
}
