import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { createAgentCatalog } from '../../catalog/agent-catalog.ts';
import { createWorkflowCatalog } from '../../catalog/workflow-catalog.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import type { Identity } from '../../runtime/identity.ts';
import { type OpenStores, openStores } from '../../runtime/open-stores.ts';
import { systemRandom } from '../../runtime/random.ts';
import { type NotShown, RecordingImport } from '../../runtime/recording/import-recording.ts';
import type { RecordedWaits } from '../../runtime/recording/recorded-waits.ts';
import type { RecordingHead } from '../../runtime/recording/recording.ts';
import { refusedLine } from '../../runtime/recording/recording-lines.ts';
import { createRuntime, type Runtime } from '../../runtime/runtime.ts';
import { VERSION } from '../../runtime/store-formats.ts';
import type { Authenticator } from '../../security/api.ts';
import { createRestServer } from '../../transport/rest/server.ts';
import { createApprovalApi } from '../../usecases/approvals.ts';
import { createExecutionApi } from '../../usecases/executions.ts';
import { createFeedApi } from '../../usecases/feed/feed.ts';
import type { OperationPorts } from '../../usecases/operations/operation.ts';
import type { ClusterStatus } from '../../usecases/ports/cluster.ts';
import { createRunsApi } from '../../usecases/runs/list-runs.ts';
import { createWorkflowApi } from '../../usecases/workflow-runs.ts';
import { openLists } from '../areas.ts';
import { standardErrorLog } from '../log/log-output.ts';
import { productActors, TurnSettings } from '../product-actors.ts';
import { DASHBOARD } from '../servers.ts';
import { openRecordings, openTraces } from '../traces.ts';
import { openWhy, waitsOf } from '../workflow-areas.ts';
import { recordedLines } from './recording-file.ts';

/** The node that shows a recording. */
export interface RecordedNode {
  readonly url: string;
  readonly head: RecordingHead;
  /** Actors of the file that this version cannot show. */
  readonly notShown: readonly NotShown[];
  /** Ends it and removes its temporary files. */
  stop(): Promise<void>;
}

/** Names this process in the data that it writes. It joins no fleet. */
const NODE = 'recording';

const NO_FLEET: ClusterStatus = { members: [], pools: [] };

/**
 * Shows a recorded run on loopback, read-only: the file is copied into stores in a temporary directory, and the API and the
 * dashboard read them. Nothing serves the actors: no lease is taken, no turn and no effect runs, no timer fires. Throws
 * `invalid_argument` naming the line of an invalid file.
 */
export async function openRecordedNode(file: string, port: number): Promise<RecordedNode> {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'svc-open-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const logger = pino({ level: 'warn', base: null }, standardErrorLog());
  const warn = (message: string, error: unknown): void => logger.warn({ err: error }, message);
  const stores = await openStores({ dataDir: directory, warn });
  opened.defer(() => stores.close());
  const { head, settings, waits: store, notShown } = await imported(file, stores);
  const runtime = await createRuntime({
    store: stores.store,
    documents: stores.documents,
    blobs: stores.blobs,
    effects: stores.effects,
    definitions: productActors(settings),
    handlers: [],
    node: NODE,
    settings: { retry: head.retry },
    warn,
  });
  opened.defer(() => runtime.stop());
  const rest = await openReader({
    documents: stores.documents,
    blobs: stores.blobs,
    store,
    runtime,
    head,
    settings,
    clock: clockOf(head),
    logger,
    warn,
  });
  opened.defer(() => rest.close());
  const url = await rest.listen({ host: '127.0.0.1', port });
  const running = opened.move();
  return { url, head, notShown, stop: () => running.disposeAsync() };
}

/** Copies the file into empty stores. */
async function imported(file: string, { documents, blobs }: Pick<OpenStores, 'documents' | 'blobs'>) {
  const parts = { documents, blobs, node: NODE, clock: systemClock, random: systemRandom };
  let reading: { head: RecordingHead; settings: TurnSettings; into: RecordingImport } | null = null;
  for await (const { line, number } of recordedLines(file)) {
    if (line.kind !== 'head') await reading?.into.take(line, number);
    else {
      const { head } = line;
      const settings = settingsOf(head);
      reading = { head, settings, into: await RecordingImport.open(parts, head, productActors(settings)) };
    }
  }
  if (reading === null) throw refusedLine(1, 'the file is empty');
  const { head, settings, into } = reading;
  return { head, settings, notShown: await into.end(), waits: into.waits };
}

function settingsOf({ settings, svc }: RecordingHead): TurnSettings {
  const read = TurnSettings.safeParse(settings);
  if (read.success) return read.data;
  throw refusedLine(1, `settings: svc ${svc} wrote them, and svc ${VERSION} cannot use them`, read.error);
}

/** The clock stands at the time of the recording, so waits do not grow. */
function clockOf({ recorded_at: at }: RecordingHead): Clock {
  if (at === undefined) return systemClock;
  const now = Date.parse(at);
  return { now: () => now, monotonic: () => systemClock.monotonic(), after: (ms, wake) => systemClock.after(ms, wake) };
}

interface ReaderParts {
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly store: RecordedWaits;
  readonly runtime: Runtime;
  readonly head: RecordingHead;
  readonly settings: TurnSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly warn: (message: string, error: unknown) => void;
}

async function openReader(parts: ReaderParts) {
  const { runtime, head, clock, logger, warn } = parts;
  const { ports, lists } = await openPorts(parts);
  return createRestServer({
    ...ports,
    authenticator: readerOf(head.tenant),
    logger,
    version: VERSION,
    health: { ready: async () => ({ ready: true }) },
    feed: createFeedApi({
      log: runtime.changes,
      clock,
      client: runtime.client,
      executions: ports.executions,
      workflows: ports.workflows.workflows,
      cluster: { status: async () => NO_FLEET },
      lists,
      warn,
    }),
    recording: { svc: head.svc, recorded_at: head.recorded_at ?? null, run: head.run },
    dashboard: { directory: DASHBOARD, signIn: 'none', roleClaim: '' },
  });
}

/** The use cases that read. Data that the file does not have (volumes, keys, the fleet) is not served. */
async function openPorts({ documents, blobs, store, runtime, settings, clock }: ReaderParts) {
  const { client, changes } = runtime;
  const lists = await openLists(documents);
  const waits = waitsOf(runtime, store);
  const executions = createExecutionApi({ client, executions: lists.executions, changes, waits });
  const approvals = createApprovalApi({ client, approvals: lists.approvals });
  const workflows = createWorkflowApi({
    client,
    changes,
    approvals,
    waits,
    agents: executions,
    executions: lists.workflows,
  });
  const agents = await createAgentCatalog({ documents, clock, random: systemRandom });
  const catalog = await createWorkflowCatalog({ documents, clock, random: systemRandom, agents });
  const fleet = { view: async () => NO_FLEET, holderOf: async () => null, isLive: () => true };
  const traces = await openTraces({
    stores: { documents, blobs, store },
    runtime,
    clock,
    executions,
    workflows,
    placement: fleet,
  });
  const ports = {
    agents,
    executions,
    workflows: { catalog, workflows },
    approvals,
    runs: createRunsApi({ executions: lists.executions, workflows: lists.workflows, client }),
    why: await openWhy({ runtime, documents, waits, fleet, clock }),
    recordings: openRecordings({ runtime, store, settings, executions, workflows }),
    actors: traces.actors,
    actorMailbox: traces.actorMailbox,
    actorHistory: traces.actorHistory,
    deadLetters: traces.deadLetters,
    traces: traces.traces,
    messages: traces.messages,
    tap: traces.tap,
    isReadOnly: true,
  } satisfies OperationPorts;
  return { ports, lists };
}

/** Every caller reads the tenant of the recording, as the operator who recorded it could. */
function readerOf(tenant: string): Authenticator {
  const reader: Identity = { kind: 'local', subject: 'reader', tenant, roles: [], tier: 'enterprise' };
  return { required: false, authenticate: async () => reader };
}
