import type { Address } from '../address.ts';
import type { ActorDefinition } from '../define-actor.ts';
import { type Json, jsonDifferences, plainJson } from '../json.ts';
import { eventsIn } from '../turns/digest.ts';
import { decidedIn, type LedgerLine, type ReplayDifference, replayActor } from '../turns/replay.ts';
import type { DeliveryLine, RecordedActor, Recording } from './recording.ts';

/** The outcome of a replay. */
export interface ReplayReport {
  readonly equal: boolean;
  /** Actors that were replayed. */
  readonly actors: number;
  readonly messages: number;
  /** Turns whose decisions the recording contains. Of older turns only events, sends and the end are compared. */
  readonly compared: number;
  /** Actors that could not be replayed, or not to their end, and why. */
  readonly skipped: readonly { readonly actor: Address; readonly reason: string }[];
  readonly difference: FoundDifference | null;
}

/** The first message that came out differently. */
interface FoundDifference {
  readonly actor: Address;
  readonly message_id: string;
  readonly message_type: string;
  readonly at: string;
  readonly parts: ReplayDifference['parts'];
  readonly recorded: { readonly outcome: string; readonly error?: string | undefined };
  readonly replayed: { readonly outcome: string; readonly error?: string | undefined };
  /** Changes that the turn makes in the state with this code. */
  readonly changes: readonly Difference[];
  /** The states at the end, when both are known. */
  readonly final: readonly Difference[];
  readonly events: { readonly recorded: readonly Json[]; readonly replayed: readonly Json[] };
  readonly messages: { readonly recorded: readonly Json[]; readonly replayed: readonly Json[] };
  /** Requests are recorded as checksums only. */
  readonly effects: { readonly replayed: readonly Json[] };
  readonly timers: { readonly replayed: readonly Json[] };
}

interface Found {
  readonly at: number;
  readonly difference: FoundDifference;
}

/**
 * Replays each actor of a recording with the given definitions and returns the first message, by time, whose turn came
 * out differently: in its outcome, the state after it, its events, effects, messages or timers.
 */
export async function replayRecording(
  { head, actors }: Recording,
  definitions: readonly ActorDefinition[],
  options: {
    /** Id of the last message to replay. */
    readonly until?: string | undefined;
  } = {},
): Promise<ReplayReport> {
  const kinds = new Map(definitions.map((definition) => [definition.kind, definition]));
  const sent = Map.groupBy(
    actors.flatMap(({ deliveries }) => deliveries),
    ({ message }) => `${message.from} ${message.cause}`,
  );
  const last = lastOf(actors, options.until);
  const skipped: { actor: Address; reason: string }[] = [];
  const found: Found[] = [];
  let [replayed, messages, compared] = [0, 0, 0];
  for (const actor of actors) {
    const { line } = actor;
    const definition = kinds.get(line.actor.split('/')[0] ?? '');
    const reason = definition === undefined ? 'this version has no such kind of actor' : reasonToSkip(actor);
    if (definition === undefined || reason !== null) {
      skipped.push({ actor: line.actor, reason: reason ?? '' });
      continue;
    }
    const masked = actor.deliveries.findIndex((one) => one.masked === true && (last === null || isUpTo(one, last)));
    if (masked >= 0) skipped.push({ actor: line.actor, reason: reasonOfMask(actor.deliveries[masked]) });
    if (masked === 0) continue;
    const outcome = await replayOne({ definition, actor, retry: head.retry, sent, last, masked });
    replayed += 1;
    messages += outcome.handled;
    compared += outcome.compared;
    if (outcome.found !== null) found.push(outcome.found);
    else if (outcome.missing > 0) {
      skipped.push({
        actor: line.actor,
        reason: `its last ${outcome.missing === 1 ? 'turn is' : `${outcome.missing} turns are`} not recorded yet`,
      });
    }
  }
  found.sort((one, other) => one.at - other.at);
  const difference = found[0]?.difference ?? null;
  return { equal: difference === null, actors: replayed, messages, compared, skipped, difference };
}

function lastOf(actors: readonly RecordedActor[], until: string | undefined): DeliveryLine | null {
  if (until === undefined) return null;
  const found = actors.flatMap(({ deliveries }) => deliveries).find(({ message }) => message.id === until);
  if (found === undefined) throw new RangeError(`no message ${until} in the recording`);
  return found;
}

function reasonToSkip({ hidden, deliveries, line }: RecordedActor): string | null {
  if (deliveries.length === 0) return 'no deliveries of it are recorded';
  if (hidden > 0) return `${hidden} of its deliveries may not be seen`;
  if (deliveries.some(({ row }) => row === null)) return 'a node that keeps no ledger handled its messages';
  const turns = deliveries.filter(({ row }) => row !== null && row.outcome !== 'refused').length;
  return turns === 0 && line.revision > 0 ? 'its first deliveries were removed' : null;
}

/** Turns decide by the whole message, and the state after it holds what was taken out. */
function reasonOfMask(delivery: DeliveryLine | undefined): string {
  const { id, type } = delivery?.message ?? {};
  return `from message ${id} (${type}) on: a secret was taken out of that message`;
}

interface OneReplay {
  readonly definition: ActorDefinition;
  readonly actor: RecordedActor;
  readonly retry: Recording['head']['retry'];
  /** Deliveries by sender and cause. */
  readonly sent: ReadonlyMap<string, readonly DeliveryLine[]>;
  readonly last: DeliveryLine | null;
  /** Place of the first delivery without all of its message, which cannot be replayed; -1: all are whole. */
  readonly masked: number;
}

async function replayOne(replay: OneReplay) {
  const { definition, actor, retry, last, masked } = replay;
  const { line } = actor;
  const whole = masked < 0 ? actor.deliveries : actor.deliveries.slice(0, masked);
  const lines = whole.filter((one) => last === null || isUpTo(one, last)).map(ledgerLine);
  const decided = new Map<string, ReplayDifference['decided']>();
  const outcome = await replayActor(definition, actor.line.actor, lines, {
    retry,
    onWrites: (line, writes) => void decided.set(line.message.id, decidedIn(writes)),
  });
  const { handled, compared, difference } = outcome;
  const isWhole = last === null && masked < 0 && outcome.record.revision === line.revision && line.masked !== true;
  const final = isWhole ? differences(line.state, outcome.record.state) : [];
  const late = difference === null ? laterDifference(replay, lines, { ...outcome, decided, final }) : null;
  const first = difference ?? late;
  const found = first === null ? null : { at: first.at, difference: shown(replay, first, final) };
  const missing = last === null && masked < 0 ? line.revision - outcome.record.revision : 0;
  return { handled, compared, found, missing };
}

const isUpTo = (line: DeliveryLine, last: DeliveryLine): boolean =>
  line.partition === last.partition ? line.delivery <= last.delivery : line.at <= last.at;

function ledgerLine({ delivery, at, epoch, row, message }: DeliveryLine): LedgerLine {
  return { seq: delivery, at, epoch, row, body: JSON.stringify(message), message };
}

/**
 * Compares the data that older rows have: the deliveries that each turn caused, the events, and the state at the end. The
 * message of an event is the one whose turn has its number.
 */
function laterDifference(
  { actor, sent }: OneReplay,
  lines: readonly LedgerLine[],
  replayed: {
    readonly record: { readonly state: unknown };
    readonly events: readonly { readonly seq: number; readonly name: string; readonly payload: unknown }[];
    readonly decided: ReadonlyMap<string, ReplayDifference['decided']>;
    readonly final: readonly Difference[];
  },
): ReplayDifference | null {
  let lastEvent = 0;
  for (const line of lines) {
    const decided = replayed.decided.get(line.message.id) ?? NOTHING;
    const count = decided.events.length;
    const recorded = actor.events.slice(lastEvent, lastEvent + count);
    const parts: ReplayDifference['parts'][number][] = [];
    if (recorded.some((event, index) => event.masked !== true && !isSameEvent(event, decided.events[index])))
      parts.push('events');
    const made = new Set(decided.messages.map(({ id }) => id));
    const caused = sent.get(`${actor.line.actor} ${line.message.id}`) ?? [];
    if (caused.some(({ message }) => message.origin === 'actor' && !made.has(message.id))) parts.push('messages');
    if (line === lines.at(-1) && parts.length === 0) {
      if (actor.events.length > lastEvent + count && replayed.final.length > 0) parts.push('events');
      if (replayed.final.length > 0) parts.push('state');
    }
    if (parts.length > 0) return differenceAt(line, parts, { lastEvent, decided, after: replayed.record.state });
    lastEvent += count;
  }
  return null;
}

const NOTHING: ReplayDifference['decided'] = { events: [], effects: [], messages: [], timers: [] };

function differenceAt(
  { seq, at, row, message }: LedgerLine,
  parts: ReplayDifference['parts'],
  rest: Pick<ReplayDifference, 'lastEvent' | 'decided' | 'after'>,
): ReplayDifference {
  const line = { outcome: row?.outcome ?? 'done', error: row?.error } as const;
  return { seq, at, message, parts, recorded: line, replayed: line, before: rest.after, ...rest };
}

const isSameEvent = (
  recorded: { readonly name: string; readonly payload: Json },
  replayed: { readonly name: string; readonly payload: unknown } | undefined,
): boolean =>
  replayed !== undefined &&
  recorded.name === replayed.name &&
  differences(recorded.payload, replayed.payload).length === 0;

function shown(
  { actor, sent }: OneReplay,
  difference: ReplayDifference,
  final: readonly Difference[],
): FoundDifference {
  const { message, at, parts, recorded, replayed, before, after, lastEvent, decided } = difference;
  const line = actor.deliveries.find(({ delivery }) => delivery === difference.seq);
  const events = eventsIn(line?.row?.digest, actor.events.slice(lastEvent), line?.row?.now);
  const caused = sent.get(`${actor.line.actor} ${message.id}`) ?? [];
  return {
    actor: actor.line.actor,
    message_id: message.id,
    message_type: message.type,
    at: new Date(at).toISOString(),
    parts,
    recorded,
    replayed,
    changes: differences(before, after),
    final,
    events: {
      recorded: events.map(({ name, payload }) => ({ name, payload })),
      replayed: decided.events.map((event) => plainJson(event)),
    },
    messages: {
      recorded: caused.map(({ message: { id, to, type, payload } }) => ({ id, to, type, payload })),
      replayed: decided.messages.map((one) => plainJson(one)),
    },
    effects: { replayed: decided.effects.map((effect) => plainJson(effect)) },
    timers: { replayed: decided.timers.map((timer) => plainJson(timer)) },
  };
}

/** A place at which two values differ. An absent value has no member. */
interface Difference {
  /** Such as `iterations.2.status`; empty for the whole. */
  readonly path: string;
  readonly recorded?: Json;
  readonly replayed?: Json;
}

const MOST_DIFFERENCES = 20;

/** The places at which two JSON values differ, up to 20. */
function differences(recorded: unknown, replayed: unknown): readonly Difference[] {
  const found: Difference[] = [];
  for (const { path, before, after } of jsonDifferences(plainJson(recorded), plainJson(replayed))) {
    if (found.length === MOST_DIFFERENCES) break;
    found.push({
      path: path.join('.'),
      ...(before === undefined ? {} : { recorded: before }),
      ...(after === undefined ? {} : { replayed: after }),
    });
  }
  return found;
}
