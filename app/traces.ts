import { EXECUTIONS, type ExecutionDocument } from '../actors/execution/view.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../actors/workflow/view.ts';
import type { ActorStore } from '../runtime/actor-store.ts';
import type { Partition } from '../runtime/address.ts';
import type { Clock } from '../runtime/clock.ts';
import { LedgerTail } from '../runtime/ledger/ledger-tail.ts';
import { DEAD_LETTERS, type DeadLetter } from '../runtime/ledger/segments.ts';
import type { OpenStores } from '../runtime/open-stores.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { OperationPorts } from '../usecases/operations/operation.ts';
import type { StorageTail } from '../usecases/ports/volumes.ts';
import { createForkApi } from '../usecases/runs/fork-source.ts';
import { type ActorHistoryParts, createActorHistoryApi } from '../usecases/traces/actor-history.ts';
import { createActorReads } from '../usecases/traces/actors.ts';
import { createDeadLetterApi } from '../usecases/traces/dead-letters.ts';
import { createMessageApi } from '../usecases/traces/messages.ts';
import { createRecordingApi, type RecordingApi } from '../usecases/traces/recordings.ts';
import { createTapApi } from '../usecases/traces/tap.ts';
import { keptLedger, type TraceParts } from '../usecases/traces/trace.ts';
import { createTraceApi } from '../usecases/traces/traces.ts';
import { createActorMailboxApi } from '../usecases/traces/waiting-messages.ts';
import { recordedSettings, type TurnSettings } from './product-actors.ts';

/** The store that has actors' timers and effects. */
type WaitStore = Pick<ActorStore, 'openEffects' | 'effectRows' | 'effectBodies' | 'timersDue'>;

interface TracesParts {
  readonly stores: Pick<OpenStores, 'documents' | 'blobs'> & { readonly store: WaitStore };
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly executions: OperationPorts['executions'];
  readonly workflows: NonNullable<OperationPorts['workflows']>['workflows'];
  /** Absent: a tap has no storage events. */
  readonly volumes?: { tail(tenant: string): Promise<StorageTail> };
  /** The members of the fleet. */
  readonly placement: { holderOf(partition: Partition): Promise<string | null> };
}

/** Opens the readers of actors and recorded messages. */
export async function openTraces(parts: TracesParts) {
  const { stores, runtime, clock, executions, workflows, volumes, placement } = parts;
  const { client, recorded } = runtime;
  const { registry, payloads, retry } = recorded;
  const { documents, store } = stores;
  const sight = { client, registry, executions, workflows };
  const letters = await documents.collection<DeadLetter>(DEAD_LETTERS);
  const reading: TraceParts = {
    ...sight,
    documents: {
      executions: await documents.collection<ExecutionDocument>(EXECUTIONS),
      workflows: await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS),
    },
    store,
    payloads,
    clock,
    ledger: runtime.ledger,
  };
  const past: ActorHistoryParts = { ...sight, payloads, retry, ledger: runtime.ledger };
  const tap = createTapApi({
    ...sight,
    clock,
    tail: async (tenant) => {
      keptLedger(reading);
      return LedgerTail.open({ documents, payloads, clock, tenant });
    },
    storage: volumes && ((tenant) => volumes.tail(tenant)),
  });
  return {
    actors: createActorReads({ ...sight, store, payloads, nodeOf: (partition) => placement.holderOf(partition) }),
    actorMailbox: createActorMailboxApi(sight),
    actorHistory: createActorHistoryApi(past),
    forks: createForkApi({ ...past, blobs: stores.blobs }),
    deadLetters: createDeadLetterApi({ ...sight, letters, payloads, clock }),
    traces: createTraceApi(reading),
    messages: createMessageApi(reading),
    tap,
  };
}

interface RecordingParts extends Pick<TracesParts, 'executions' | 'workflows'> {
  readonly store: WaitStore;
  readonly runtime: Runtime;
  readonly settings: TurnSettings;
}

/** Opens the reads for recordings of runs. */
export function openRecordings({ runtime, store, settings, executions, workflows }: RecordingParts): RecordingApi {
  const { client, recorded, ledger } = runtime;
  const { registry, payloads, retry } = recorded;
  return createRecordingApi({
    client,
    registry,
    executions,
    workflows,
    payloads,
    store,
    ledger,
    retry,
    settings: recordedSettings(settings),
  });
}
