import { z } from 'zod';
import type { ExecutionWord } from '../../../actors/execution/word.ts';
import { stimulusActor } from '../../../actors/stimulus/definition.ts';
import { createStimulusApi, type StimulusSettings } from '../../../actors/stimulus/stimuli.ts';
import { STIMULI, type StimulusDocument } from '../../../actors/stimulus/view.ts';
import {
  type ConfiguredRoute,
  createStimulusRoutes,
  STIMULUS_ROUTES,
  type StimulusRouteDocument,
} from '../../../catalog/stimulus-routes.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { defineEffect } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { Identity } from '../../../runtime/identity.ts';
import { Notify } from '../../../runtime/notify.ts';
import type { AreaKernel, AreaParts } from '../../transport/rest/area-kernel.ts';

const WorkflowStart = z.strictObject({
  execution_id: z.guid(),
  workflow: z.string(),
  intent: z.string(),
  input: z.record(z.string(), z.json()),
  blackboard: z.record(z.string(), z.json()),
  ancestors: z.array(z.never()),
  identity: Identity,
});
export type WorkflowStart = z.output<typeof WorkflowStart>;

const AgentStart = z.strictObject({
  execution_id: z.guid(),
  agent: z.string(),
  input: z.string(),
  notify: Notify,
  identity: Identity,
});
export type AgentStart = z.output<typeof AgentStart>;

/** What the router agent does: says a text, ends in another way, or stays silent. */
export type RouterScript = string | Pick<ExecutionWord, 'status' | 'reason'> | 'silent' | 'unknown';

export interface StimulusNodeOptions {
  readonly start: (parts: AreaParts) => Promise<AreaKernel>;
  readonly configured?: readonly ConfiguredRoute[];
  readonly settings?: Partial<StimulusSettings>;
}

/**
 * The stimulus area on a real kernel. The effects that start workflows and agents are recorded: `strict` refuses every
 * input, `broken` cannot be started, `absent` is not deployed, everything else starts.
 */
export async function stimulusNode({ start, configured = [], settings = {} }: StimulusNodeOptions) {
  const started: WorkflowStart[] = [];
  const asked: AgentStart[] = [];
  const router: { says: RouterScript } = { says: 'silent' };
  const startWorkflow = defineEffect({
    kind: 'workflow.start',
    input: WorkflowStart,
    async run(input) {
      if (input.workflow === 'strict') throw new SvcError('validation_failed', 'input.amount: expected a number');
      if (input.workflow === 'broken') throw new SvcError('container_failed', 'no engine');
      if (input.workflow === 'absent') throw new SvcError('not_found', 'workflow not found');
      if (!started.some(({ execution_id }) => execution_id === input.execution_id)) started.push(input);
      return { workflow_id: `id-of-${input.workflow}`, name: input.workflow };
    },
  });
  const startAgent = defineEffect({
    kind: 'agent.start',
    input: AgentStart,
    async run(input) {
      asked.push(input);
      if (router.says === 'unknown') throw new SvcError('not_found', 'agent not found');
      if (router.says !== 'silent') await say(input, router.says);
      return { agent_id: 'router-id' };
    },
  });
  const kernel: AreaKernel = await start({ definitions: [stimulusActor], handlers: [startWorkflow, startAgent] });
  const { client } = kernel.runtime;

  async function say({ execution_id, notify }: AgentStart, script: Exclude<RouterScript, 'silent' | 'unknown'>) {
    const word: ExecutionWord = {
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
  return { kernel, stimuli, routes, started, asked, router, say, stop: () => kernel.stop() };
}
