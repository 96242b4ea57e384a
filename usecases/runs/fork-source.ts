import type { z } from 'zod';
import { Start as ExecutionStart } from '../../actors/execution/messages.ts';
import { Start as WorkflowStart } from '../../actors/workflow/messages.ts';
import { isRunning, type RunningWorkflow, WorkflowState } from '../../actors/workflow/state.ts';
import { type Address, parseAddress, tenantOf } from '../../runtime/address.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import type { ActorDefinition } from '../../runtime/define-actor.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import { type ForkPoint, forkPoint, withOwnPayloads } from '../../runtime/recording/fork-point.ts';
import type { ForkedFrom, ForkedWork } from '../../runtime/recording/forked-work.ts';
import type { LedgerLine } from '../../runtime/turns/replay.ts';
import type { ActorHistoryParts } from '../traces/actor-history.ts';
import { actorLines } from '../traces/actor-lines.ts';
import { isoTime } from '../traces/reader-view.ts';
import { runOf } from '../traces/recordings.ts';
import { Sight } from '../traces/sight.ts';
import { keptLedger } from '../traces/trace.ts';

interface Source {
  readonly from: ForkedFrom;
  /** The work with which the fork with this id begins. Copies the payloads of the original that it needs. */
  readonly workOf: (id: string) => Promise<ForkedWork>;
  /** It belongs to one user. */
  readonly isConfidential: boolean;
}

/** A run after one of its messages, according to its record. */
export type ForkSource =
  | (Source & { readonly kind: 'execution'; readonly start: z.output<typeof ExecutionStart> })
  | (Source & {
      readonly kind: 'workflow';
      readonly start: z.output<typeof WorkflowStart>;
      readonly state: RunningWorkflow;
    });

/** Reads from the record the work with which forks of runs begin. */
export interface ForkApi {
  /**
   * The run after a message; by default the last one after which it had not ended. Throws `not_found` for a run that
   * the viewer may not see and for a message that is none of the run's, and `failed_precondition` for a run that had
   * ended at the message, and for one whose record cannot be replayed.
   */
  source(
    viewer: Identity,
    id: string,
    wish: { readonly messageId?: string; readonly reason?: string },
  ): Promise<ForkSource>;
}

/** The starts of children, and the actors that answer later. */
const KEPT = {
  starts: new Set(['agent.start', 'workflow.start']),
  actors: new Set(['judge-panel', 'approval']),
} as const;

export function createForkApi(parts: ActorHistoryParts & { readonly blobs: Pick<Blobs, 'get' | 'put'> }): ForkApi {
  return {
    async source(viewer, id, { messageId, reason }) {
      const ledger = keptLedger(parts);
      const address = await runOf(new Sight(parts, viewer), id);
      const definition = parts.registry.definitionOf(address);
      if (definition === undefined) throw new SvcError('not_found', 'run not found');
      const point = await pointAt(parts, ledger, definition, address, messageId);
      const { state, events, timers, effects, sent } = point;
      const work: ForkedWork = {
        from: { id, message_id: point.messageId, reason },
        version: definition.version,
        state,
        events: [...events],
        timers: [...timers],
        effects: [...effects],
        sent: [...sent],
      };
      const { kind, tenant } = parseAddress(address);
      const workOf = (fork: string): Promise<ForkedWork> =>
        withOwnPayloads(work, { original: address, fork: `${kind}/${tenant}/${fork}` }, parts.blobs);
      return sourceOf(address, point, { from: work.from, workOf });
    },
  };
}

/** A run whose first deliveries are not in the ledger: removed, or not written yet. */
async function unrecorded(ledger: LedgerReader, address: Address): Promise<SvcError> {
  const keptFrom = await ledger.keptFrom(tenantOf(address));
  const since = keptFrom === null ? '' : `: deliveries of the tenant are kept from ${isoTime(keptFrom)} on`;
  return new SvcError('failed_precondition', `the ledger does not hold the first message of the run${since}`);
}

async function pointAt(
  { payloads, retry }: ActorHistoryParts,
  ledger: LedgerReader,
  definition: ActorDefinition,
  address: Address,
  messageId: string | undefined,
): Promise<ForkPoint> {
  const end =
    messageId === undefined ? undefined : ({ last: await placeOf(ledger, address, messageId), side: 'after' } as const);
  const lines = await begun(actorLines({ ledger, payloads }, address, end));
  if (lines === null) throw await unrecorded(ledger, address);
  const point = await forkPoint(definition, address, lines, { retry, kept: KEPT, untilEnd: messageId === undefined });
  if (!point.isDone) return point;
  const field = 'message_id';
  const message = `${field}: the run had ended at this message: fork it at an earlier one`;
  throw new SvcError('failed_precondition', message, { field });
}

async function placeOf(ledger: LedgerReader, address: Address, messageId: string) {
  const field = 'message_id';
  const deliveries = await ledger.message(tenantOf(address), messageId);
  // The last attempt is the one that counted.
  const last = deliveries.findLast((one) => one.message.to === address);
  if (last === undefined)
    throw new SvcError('not_found', `${field}: the run received no message with this id`, { field });
  return last;
}

/** The lines of a run from its first message on; null when the ledger does not have that message. */
async function begun(lines: AsyncGenerator<LedgerLine>): Promise<AsyncIterable<LedgerLine> | null> {
  const first = await lines.next();
  if (first.done === true) return null;
  const { type } = first.value.message;
  if (type !== 'Start' && type !== 'Fork') return null;
  return (async function* () {
    yield first.value;
    yield* lines;
  })();
}

function sourceOf(address: Address, { first, state }: ForkPoint, work: Pick<Source, 'from' | 'workOf'>): ForkSource {
  const owner = typeof state === 'object' && state !== null && 'owner' in state ? state.owner : undefined;
  const source = { ...work, isConfidential: owner !== undefined };
  if (parseAddress(address).kind === 'execution')
    return { ...source, kind: 'execution', start: ExecutionStart.parse(first.payload) };
  const run = WorkflowState.parse(state);
  if (!isRunning(run)) throw new SvcError('failed_precondition', 'the run had not begun at this message');
  return { ...source, kind: 'workflow', start: WorkflowStart.parse(first.payload), state: run };
}
