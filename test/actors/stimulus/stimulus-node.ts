import type { ExecutionUpdate } from '../../../actors/execution/update.ts';
import { stimulusActor } from '../../../actors/stimulus/definition.ts';
import { STIMULI, type StimulusDocument } from '../../../actors/stimulus/view.ts';
import {
  type ConfiguredRoute,
  createStimulusRoutes,
  STIMULUS_ROUTES,
  type StimulusRouteDocument,
} from '../../../catalog/stimulus-routes.ts';
import {
  type AgentStartInput,
  createAgentStart,
  createWorkflowStart,
  type WorkflowStartInput,
} from '../../../effects/starts/child-start.ts';
import type { Address } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { defineEffect } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { createStimulusApi, type StimulusSettings } from '../../../usecases/stimuli.ts';
import type { AreaKernel, AreaParts } from '../../transport/rest/area-kernel.ts';

/** Behaviour of the router agent: it answers a text, ends in another way, or stays silent. */
type RouterScript = string | Pick<ExecutionUpdate, 'status' | 'reason'> | 'silent' | 'unknown';

interface StimulusNodeOptions {
  readonly start: (parts: AreaParts) => Promise<AreaKernel>;
  readonly configured?: readonly ConfiguredRoute[];
  readonly settings?: Partial<StimulusSettings>;
}

/**
 * The stimulus area on a real kernel. What the effects start is recorded only: `strict` refuses every input, `broken`
 * cannot be started, `absent` is not deployed, everything else starts, once `hold.start` lets it.
 */
export async function stimulusNode({ start, configured = [], settings = {} }: StimulusNodeOptions) {
  const started: WorkflowStartInput[] = [];
  const asked: AgentStartInput[] = [];
  const cancel = async (): Promise<void> => {};
  const router: { says: RouterScript } = { says: 'silent' };
  const hold: { start: Promise<void> } = { start: Promise.resolve() };
  const attempts: { readonly address: Address; readonly input: WorkflowStartInput }[] = [];
  const starts = createWorkflowStart({
    cancel,
    async start(input) {
      await hold.start;
      if (input.workflow === 'strict') throw new SvcError('validation_failed', 'input.amount: expected a number');
      if (input.workflow === 'broken') throw new SvcError('container_failed', 'no engine');
      if (input.workflow === 'absent') throw new SvcError('not_found', 'workflow not found');
      if (!started.some(({ execution_id }) => execution_id === input.execution_id)) started.push(input);
      return { workflow_id: `id-of-${input.workflow}`, name: input.workflow };
    },
  });
  const startWorkflow = defineEffect({
    ...starts,
    run(input, context) {
      attempts.push({ address: context.address, input });
      return starts.run(input, context);
    },
  });
  const startAgent = createAgentStart({
    cancel,
    async start(input) {
      asked.push(input);
      if (router.says === 'unknown') throw new SvcError('not_found', 'agent not found');
      if (router.says !== 'silent') await say(input, router.says);
      return { agent_id: 'router-id' };
    },
  });
  const kernel: AreaKernel = await start({ definitions: [stimulusActor], handlers: [startWorkflow, startAgent] });
  const { client } = kernel.runtime;

  async function say({ execution_id, notify }: AgentStartInput, script: Exclude<RouterScript, 'silent' | 'unknown'>) {
    const word: ExecutionUpdate = {
      execution_id,
      agent_id: 'router-id',
      ...(typeof script === 'string'
        ? { status: 'completed', output: script, reason: null }
        : { output: null, ...script }),
      error: null,
      iterations: 1,
      score: 1,
      context: notify.context,
    };
    await client.tell(notify.to, notify.as, word);
  }

  const routes = createStimulusRoutes({
    documents: await kernel.documents.collection<StimulusRouteDocument>(STIMULUS_ROUTES),
    configured,
    clock: systemClock,
  });
  const stimuli = createStimulusApi({
    client,
    stimuli: await kernel.documents.collection<StimulusDocument>(STIMULI),
    routes,
    settings: { classification_confidence_threshold: 0.7, classification_timeout_secs: 30, ...settings },
  });
  return { kernel, stimuli, routes, started, attempts, hold, asked, router, say, stop: () => kernel.stop() };
}
