import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { type Json, type JsonObject, jsonField, plainObject } from '../../runtime/json.ts';
import { sleep } from '../../runtime/kit/waits.ts';

/** A registered worker. */
interface Worker {
  readonly nodeId: string;
  /** `host:port`. */
  readonly grpcAddress: string;
}

/** One event of a worker's stream. */
interface WorkerEvent {
  readonly name: string;
  readonly payload: JsonObject;
}

/** Calls of registered workers (G28, G29). Implemented over the registered nodes and the cluster protocol. */
export interface WorkerCalls {
  /** A healthy worker with the tags, round-robin. Throws `unavailable` and `no_capable_worker`, which say why. */
  route(tags: readonly string[]): Promise<Worker>;
  isHealthy(nodeId: string): Promise<boolean>;
  /** Starts the execution on the worker, or finds it there, and returns its events from the first. */
  forward(
    to: Worker,
    run: {
      readonly executionId: string;
      readonly agentId: string;
      readonly manifestYaml: string;
      readonly input: string;
      readonly context: JsonObject;
    },
    options: { readonly tenant: string; readonly signal: AbortSignal },
  ): AsyncIterable<WorkerEvent>;
}

const Input = z.object({
  execution_id: z.string().min(1).max(128),
  agent_id: z.string().min(1).max(128),
  version: z.string(),
  tags: z.array(z.string()).min(1),
  input: z.string(),
  context: z.record(z.string(), jsonField),
  /** Who started the run; absent: the node itself. */
  subject: z.string().optional(),
  /** The worker whose events were received so far, and their number: they are not sent again. */
  known: z.object({ node_id: z.string(), events: z.number().int() }).optional(),
});

type Input = z.output<typeof Input>;

interface ForwardParts {
  readonly workers: WorkerCalls;
  /** The manifest of a version as it was deployed. Throws `not_found`. */
  readonly manifestOf: (
    reader: { readonly tenant: string; readonly subject: string },
    agentId: string,
    version: string,
  ) => Promise<string>;
  readonly clock: Clock;
}

/** Pause before a lost worker is reported, so that a dead one that still counts as healthy is not called at once. */
const PAUSE_MS = 2_000;

/** Time between two checks of the health of a worker that sends nothing. */
const LOOK_EVERY_MS = 5_000;

const FINAL = new Set(['execution_completed', 'execution_failed']);

/**
 * `execution.forward` (once): a registered worker outside of the fleet does a run, and its events are the progress `{node_id,
 * index, name, payload}`. The value is `{ended: true}`, or `{lost: {node_id, message}}` when the stream broke or the worker
 * became unhealthy, so that the outcome on the worker is unknown. Before it calls a worker it throws `no_capable_worker` and
 * `unavailable`, which are tried again, and `not_found`; later the worker's refusal of the run.
 */
export function createForwardExecution(parts: ForwardParts): EffectHandler<typeof Input> {
  const { workers, clock } = parts;
  return defineEffect({
    kind: 'execution.forward',
    input: Input,
    lasting: true,
    async run(input, context): Promise<Json> {
      const { tenant, signal } = context;
      const reader = { tenant, subject: input.subject ?? '' };
      const manifestYaml = await parts.manifestOf(reader, input.agent_id, input.version);
      const worker = await workers.route(input.tags);
      const end = await context.parked(follow(parts, { input, worker, manifestYaml }, context));
      if (end === null) return { ended: true };
      signal.throwIfAborted();
      await context.parked(sleep(clock, PAUSE_MS, signal));
      return { lost: { node_id: worker.nodeId, message: end } };
    },
  });
}

interface Run {
  readonly input: Input;
  readonly worker: Worker;
  readonly manifestYaml: string;
}

/** Passes the events on. Returns null after the last event of the run, else why the worker is lost. */
async function follow(parts: ForwardParts, { input, worker, manifestYaml }: Run, context: EffectContext) {
  const { workers } = parts;
  const { known } = input;
  const skipped = known?.node_id === worker.nodeId ? known.events : 0;
  const lost = new AbortController();
  const stopWatching = watchHealth(parts, worker, () => lost.abort());
  let index = 0;
  try {
    const { execution_id: executionId, agent_id: agentId, input: task, context: values } = input;
    const run = { executionId, agentId, manifestYaml, input: task, context: values };
    const signal = AbortSignal.any([context.signal, lost.signal]);
    for await (const { name, payload } of workers.forward(worker, run, { tenant: context.tenant, signal })) {
      const event = plainObject({ node_id: worker.nodeId, index, name, payload });
      if (index >= skipped && !(await context.progress(event))) return null;
      index += 1;
      if (FINAL.has(name)) return null;
    }
    return 'its stream ended before the run did';
  } catch (thrown) {
    context.signal.throwIfAborted();
    const error = toSvcError(thrown);
    if (lost.signal.aborted) return 'it is no longer healthy';
    // A refusal before the first event: nothing runs there, and another worker would refuse it too.
    const isRefused = index === 0 && (error.row.kind === 'terminal' || error.code === 'unimplemented');
    if (isRefused)
      throw new SvcError(error.code, `worker ${worker.nodeId} refused the run: ${error.message}`, { cause: error });
    return error.message;
  } finally {
    stopWatching();
  }
}

/** Calls back once when the worker is no longer healthy. */
function watchHealth({ workers, clock }: ForwardParts, worker: Worker, onLost: () => void): () => void {
  let isOver = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    // A store that does not answer says nothing about the worker.
    const isHealthy = await workers.isHealthy(worker.nodeId).catch(() => true);
    if (isOver) return;
    if (!isHealthy) return onLost();
    arm();
  };
  const arm = (): void => {
    cancel = clock.after(LOOK_EVERY_MS, () => void look());
  };
  arm();
  return () => {
    isOver = true;
    cancel();
  };
}
