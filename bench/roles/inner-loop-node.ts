import { randomUUID } from 'node:crypto';
import { executionActor } from '../../actors/execution/definition.ts';
import { toolSessionActor } from '../../actors/tool-session/definition.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import { createExecutionApi, EXECUTIONS, type ExecutionDocument } from '../../usecases/executions.ts';
import { IDENTITY, manifest, TENANT, type Variant } from '../inner-loop/agent.ts';
import { openLoopParts } from '../inner-loop/loop-parts.ts';
import { type LoopTimes, Marks } from '../inner-loop/marks.ts';
import type { LoopAnswer, LoopQuestion } from '../inner-loop/measure.ts';
import { plainLoop } from '../inner-loop/plain-loop.ts';
import { sizesOf } from '../inner-loop/sizes.ts';
import { closedLoop } from '../load.ts';
import { serveProfiled } from '../profile.ts';
import { roleOptions } from '../role.ts';

/** A node with the parts of the inner loop: durable loops and plain ones run over the very same handlers. */
const { url, uri, directory } = roleOptions<{ url?: string; uri?: string; directory: string }>();
const warn = (message: string, error: unknown): void => console.error(message, error);
const remote = url === undefined || uri === undefined ? {} : { redis: [url], mongodb: uri };
const ports = await openStores({ dataDir: directory, warn, ...remote });
const parts = await openLoopParts(ports, directory);
const marks = new Marks();
const handlers = parts.handlers.map((handler) => marks.over(handler));
const { policy } = parts;
const runtime = await startRuntime({
  ...{ ...ports, warn, node: 'bench', handlers },
  definitions: [executionActor({ policy }), toolSessionActor({ policy })],
  settings: { partitions: remote.redis === undefined ? 64 : 256 },
});
const executions = createExecutionApi({
  client: runtime.client,
  executions: await ports.documents.collection<ExecutionDocument>(EXECUTIONS),
  removals: runtime.removals,
});
const agent = manifest();
const agentId = randomUUID();
const HEARTBEAT_MS = 5_000;

async function durable(executionId: string, variant: Variant): Promise<void> {
  await executions.start({ executionId, agentId, manifest: agent, input: variant, identity: IDENTITY });
  const options = { signal: new AbortController().signal, heartbeatMs: HEARTBEAT_MS };
  let last = '';
  for await (const event of executions.follow(TENANT, executionId, 0, options)) {
    if (event !== null) last = event.name;
  }
  if (last !== 'execution_completed') throw new Error(`an execution ended with ${last}`);
}

const WAYS = { durable, plain: (id: string, variant: Variant) => plainLoop(handlers, policy, id, variant) };

async function measure({ way, variant, plan }: Exclude<LoopQuestion, { readonly sizes: true }>): Promise<LoopAnswer> {
  const times: { at: number; loop: LoopTimes }[] = [];
  const measured = await closedLoop(plan, async () => {
    const id = randomUUID();
    await WAYS[way](id, variant);
    times.push({ at: performance.now(), loop: marks.timesOf(id, variant) });
  });
  const since = performance.now() - plan.runMs;
  const counted = times.filter(({ at }) => at >= since).map(({ loop }) => loop);
  const all = (pick: (loop: LoopTimes) => readonly number[]): number[] => counted.flatMap(pick).sort((a, b) => a - b);
  return {
    ...{ measured, calls: all(({ calls }) => calls), tools: all(({ tools }) => tools) },
    ...{
      models: all(({ models }) => models),
      toModel: all(({ toModel }) => toModel),
      toTool: all(({ toTool }) => toTool),
    },
  };
}

const loopToMeasure = (): Promise<void> => durable(randomUUID(), 'rounds');

await serveProfiled(
  async (question: LoopQuestion) =>
    'sizes' in question ? sizesOf(ports.store, marks, loopToMeasure) : measure(question),
  async () => {
    await runtime.stop();
    await parts.close();
    await ports.close();
  },
);
