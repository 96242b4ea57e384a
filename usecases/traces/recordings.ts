import { type Address, addressOf, parseAddress } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import {
  type RecordedFor,
  type RecordedPage,
  type RecordParts,
  recordActor,
} from '../../runtime/recording/record-actor.ts';
import { RECORDING_VERSION, type RecordingHead } from '../../runtime/recording/recording.ts';
import { VERSION } from '../../runtime/store-formats.ts';
import { type RetrySettings, timerId } from '../../runtime/turns/actor-draft.ts';
import { nextTrace } from '../../runtime/turns/trace-count.ts';
import type { ActorReadParts } from './actors.ts';
import { actorEffectRows } from './open-effects.ts';
import { isoTime, shownValue, withoutSecrets } from './reader-view.ts';
import { Sight, type SightParts } from './sight.ts';
import { keptLedger } from './trace.ts';

/** What a recording of a run consists of: its first line, and the actors whose lines follow. */
interface RunRecording {
  readonly head: RecordingHead;
  readonly actors: readonly Address[];
}

/** Reads what a recording keeps of runs and actors, as one reader may see it. Throws `not_found` for the rest. */
export interface RecordingApi {
  /** The run with the actors of its trace. */
  run(viewer: Identity, id: string): Promise<RunRecording>;
  /** A part of an actor's lines. Throws `invalid_argument` naming `next`. */
  actor(viewer: Identity, kind: string, id: string, next: string | undefined): Promise<RecordedPage>;
}

interface RecordingApiParts extends SightParts {
  readonly client: SightParts['client'] & RecordParts['client'] & Pick<ActorReadParts['client'], 'partitionOf'>;
  readonly registry: SightParts['registry'] & RecordParts['registry'];
  readonly payloads: RecordParts['payloads'];
  readonly store: ActorReadParts['store'];
  /** Null on a node that keeps no ledger. */
  readonly ledger: LedgerReader | null;
  readonly retry: RetrySettings;
  /** Settings that decide in turns, without secrets. */
  readonly settings: JsonObject;
}

/** Kinds that outlive runs: their deliveries belong to many traces. */
const SHARED_KINDS = new Set(['node-peer', 'node-challenge', 'fleet']);

const RUN_KINDS = ['execution', 'workflow'] as const;

/** Most deliveries of a trace that are searched for its actors. */
const MOST_DELIVERIES = 20_000;

const PAGE = 1_000;

export function createRecordingApi(parts: RecordingApiParts): RecordingApi {
  return {
    async run(viewer, id) {
      const ledger = keptLedger(parts);
      const sight = new Sight(parts, viewer);
      const address = await runOf(sight, id);
      const trace = await traceOf(ledger, address);
      const keptFrom = await ledger.keptFrom(sight.tenant);
      const head: RecordingHead = {
        format: 'svc-recording',
        version: RECORDING_VERSION,
        svc: VERSION,
        tenant: sight.tenant,
        run: { kind: parseAddress(address).kind, id, trace_id: trace },
        settings: parts.settings,
        retry: parts.retry,
        kept_from: keptFrom === null ? null : isoTime(keptFrom),
      };
      return { head, actors: await actorsOf(parts, ledger, sight, address, trace) };
    },

    async actor(viewer, kind, id, next) {
      const ledger = keptLedger(parts);
      const sight = new Sight(parts, viewer);
      const address = addressOf(kind, sight.tenant, id);
      if (!(await sight.mayOpen(address))) throw new SvcError('not_found', 'actor not found');
      return recordActor({ ...parts, ledger, open: openOf(parts) }, address, next, viewOf(sight));
    },
  };
}

/** Reads the timers and effects of an actor as a recording keeps them. */
const openOf =
  ({ client, store, payloads }: RecordingApiParts): NonNullable<RecordParts['open']> =>
  async ({ address, timers: names, effects = [] }) => {
    const partition = await client.partitionOf(address);
    const [due, rows] = await Promise.all([
      store.timersDue(
        partition,
        names.map((name) => timerId(address, name)),
      ),
      actorEffectRows({ store, payloads }, partition, effects),
    ]);
    return {
      timers: names.map((name, index) => ({ name, due_at: due[index] ?? null })),
      effects: rows.map(({ row, request }) => ({
        id: row.id,
        queue: row.queue,
        mode: row.mode,
        status: row.status,
        attempt: row.attempt,
        runner: row.runner,
        until: row.until,
        last_error: row.lastError,
        request,
      })),
    };
  };

/** Masks texts that look like secrets, as every reader's view does. */
const viewOf = (sight: Sight): RecordedFor => ({
  mask(value) {
    const { value: shown } = shownValue(value, Number.POSITIVE_INFINITY);
    return JSON.stringify(shown) === JSON.stringify(value) ? value : shown;
  },
  maskText: withoutSecrets,
  sees: (message) => sight.seesMessage(message),
});

/** An id names an execution of an agent, else a workflow run. Throws `not_found`. */
export async function runOf(sight: Sight, id: string): Promise<Address> {
  for (const kind of RUN_KINDS) {
    const address = addressOf(kind, sight.tenant, id);
    if (await sight.mayOpen(address)) return address;
  }
  throw new SvcError('not_found', 'run not found');
}

async function traceOf(ledger: LedgerReader, address: Address): Promise<string | null> {
  const { deliveries } = await ledger.actor(address, { limit: 1 });
  return deliveries[0]?.message.trace ?? null;
}

/** Receivers of the messages of a trace, and of the traces in which it continues. */
async function recipientsOf(ledger: LedgerReader, tenant: string, first: string | null): Promise<ReadonlySet<Address>> {
  const named = new Set<Address>();
  let read = 0;
  let trace = first;
  for (let after: string | undefined; trace !== null && read < MOST_DELIVERIES; ) {
    const page = await ledger.trace(tenant, trace, { limit: PAGE, after });
    for (const { message } of page.deliveries) named.add(message.to);
    read += page.deliveries.length;
    // A trace without deliveries does not exist.
    if (page.next === null) trace = page.deliveries.length === 0 ? null : nextTrace(trace);
    after = page.next ?? undefined;
  }
  return named;
}

/** The run first, then the other actors of its trace in the order of their first delivery. */
async function actorsOf(
  { registry, client }: RecordingApiParts,
  ledger: LedgerReader,
  sight: Sight,
  run: Address,
  trace: string | null,
): Promise<readonly Address[]> {
  const actors: Address[] = [];
  for (const address of new Set([run, ...(await recipientsOf(ledger, sight.tenant, trace))])) {
    const { kind, tenant } = parseAddress(address);
    if (tenant !== sight.tenant || SHARED_KINDS.has(kind) || registry.definitionOf(address) === undefined) continue;
    if ((await sight.mayOpen(address)) && (await client.read(address)) !== null) actors.push(address);
  }
  return actors;
}
