import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execution } from '../../actors/execution/definition.ts';
import { createModelEffect } from '../../effects/models/model-effect.ts';
import { ModelSelection, ProviderConfigs } from '../../manifests/node/models.ts';
import type { Identity } from '../../runtime/identity.ts';
import { createExecutionApi, EXECUTIONS, type ExecutionDocument } from '../../usecases/executions.ts';
import { startEmbedded } from '../embedded.ts';
import { closedLoop, type Measured, medianOf } from '../load.ts';
import { oneShotAgent } from '../one-shot-agent.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const SCRIPT = 'rules:\n  - reply: { text: done }\n';

/** Whole executions: start, one call of the scripted model through the effect queue, last event read by a follower. */
export async function executionRate(plan: Plan): Promise<Section> {
  const rows: string[][] = [];
  for (const inFlight of plan.inFlight.filter((count) => count <= 64)) {
    const runs: Measured[] = [];
    for (let round = 0; round < plan.repetitions; round += 1) runs.push(await measure(plan, inFlight));
    const median = medianOf(runs);
    rows.push([
      `${inFlight}`,
      whole(median.perSecond),
      `${whole(median.low)}–${whole(median.high)}`,
      median.p50Ms.toFixed(1),
      median.p99Ms.toFixed(1),
    ]);
  }
  return {
    title: 'Executions with the scripted model, embedded store',
    text: table(['in flight', 'executions/s', 'low–high', 'p50 ms', 'p99 ms'], rows),
  };
}

async function measure(plan: Plan, inFlight: number): Promise<Measured> {
  const manifest = oneShotAgent();
  const script = join(process.env.TMPDIR ?? '/tmp', `svc-bench-${randomUUID()}.yaml`);
  await writeFile(script, SCRIPT);
  const providers = ProviderConfigs.parse([
    { name: 'scripted', type: 'scripted', script, models: [{ alias: 'default', model: 'scripted' }] },
  ]);
  const model = createModelEffect({
    providers,
    selection: ModelSelection.parse({}),
    secrets: { resolve: async (_tenant, reference) => reference },
  });
  const node = await startEmbedded([execution], [model], { effectConcurrency: 64 });
  const executions = createExecutionApi({
    client: node.runtime.client,
    executions: await node.ports.documents.collection<ExecutionDocument>(EXECUTIONS),
    removals: node.runtime.removals,
  });
  const identity: Identity = { kind: 'local', subject: 'bench', tenant: 'bench', roles: [], tier: 'enterprise' };
  const agentId = randomUUID();
  const measured = await closedLoop({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs }, async () => {
    const executionId = randomUUID();
    // As a start without an id of the caller has it.
    await executions.start({ executionId, agentId, manifest, input: 'go', identity }, { isFirst: true });
    const end = new AbortController();
    let last = '';
    for await (const event of executions.follow('bench', executionId, 0, { signal: end.signal, heartbeatMs: 5_000 })) {
      if (event !== null) last = event.name;
    }
    if (last !== 'execution_completed') throw new Error(`an execution ended with ${last}`);
  });
  await node.stop();
  return measured;
}
