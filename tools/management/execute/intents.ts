import { pipelineResult, type WorkflowApi, type WorkflowExecution } from '../../../actors/workflow/api.ts';
import type { AgentCatalog, CatalogSearch } from '../../../catalog/api.ts';
import { INTENT_PIPELINE_ID } from '../../../catalog/built-in/api.ts';
import type { VolumeApi } from '../../../effects/volumes/api.ts';
import type { NodePipeline } from '../../../manifests/node/pipeline.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { readerOf } from '../caller.ts';
import type { Starter, Starts } from '../ports.ts';
import type { IntentStarted, IntentStatus } from './answers.ts';
import { fittingAgent, writerName } from './fitting-agent.ts';
import { pipelineFor, programTimeoutMs, tierOf } from './pipeline.ts';
import type { IntentRequest } from './request.ts';

/** Goals that a program reaches (spec 3, svc.execute.*; decided.md "svc.execute and the intent pipeline"). */
export interface IntentApi {
  /**
   * Starts the pipeline under the starter's execution id; the same id again finds what was started. Throws `forbidden` for a
   * volume below tier pro, `not_found` for one the tenant does not have, `failed_precondition` for one that is not
   * persistent, `rate_limited`.
   */
  start(request: IntentRequest, starter: Starter): Promise<IntentStarted>;
  /** Throws `not_found` for what is no run of the pipeline. */
  status(viewer: Identity, pipelineExecutionId: string): Promise<IntentStatus>;
}

export interface IntentParts {
  readonly agents: Pick<AgentCatalog, 'lookup' | 'hasRoom'>;
  readonly search: CatalogSearch;
  readonly starts: Pick<Starts, 'workflow'>;
  readonly runs: Pick<WorkflowApi, 'get'>;
  readonly volumes: Pick<VolumeApi, 'get'>;
  readonly settings: NodePipeline;
}

export function createIntents({ agents, search, starts, runs, volumes, settings }: IntentParts): IntentApi {
  return {
    async start(request, starter) {
      const { identity } = starter;
      const { intent, inputs = {}, language, volume_id } = request;
      if (volume_id !== undefined) await checkVolume(volumes, identity, volume_id);
      const minScore = settings.reuse_min_score;
      const found = await fittingAgent({ agents, search, minScore }, readerOf(identity), request);
      const makesOne = settings.generate && found === null && (await agents.hasRoom(identity));
      const timeoutMs = programTimeoutMs(settings, identity, request);
      const image = settings.images[language];
      const { execution_id } = await starts.workflow(
        {
          workflow: INTENT_PIPELINE_ID,
          intent,
          input: {
            ...{ language, inputs, agent: found?.id ?? '' },
            new_agent: makesOne ? writerName(request) : '',
          },
          pipeline: {
            language,
            workspace_volume_id: volume_id ?? null,
            ...(found?.score === undefined ? {} : { agent_similarity_score: found.score }),
          },
          adapt: (manifest) => pipelineFor(manifest, { image, timeoutMs, volumeId: volume_id }),
        },
        starter,
      );
      return {
        pipeline_execution_id: execution_id,
        status: 'started',
        stream_url: `/v1/workflows/executions/${execution_id}/logs/stream`,
      };
    },

    async status(viewer, id) {
      const run = await runs.get(viewer, id);
      if (run.workflow_id !== INTENT_PIPELINE_ID) throw new SvcError('not_found', 'pipeline execution not found');
      return statusOf(run);
    },
  };
}

/** A volume of the caller's tenant that outlives the run; not for the free tier (spec 3, svc.execute.intent). */
async function checkVolume(volumes: Pick<VolumeApi, 'get'>, identity: Identity, id: string): Promise<void> {
  const field = 'volume_id';
  if (tierOf(identity) === 'free')
    throw new SvcError('forbidden', 'volume_id: volumes are for tier pro and above', { field });
  const { storage_class } = await volumes.get(identity, id);
  if (storage_class === 'persistent') return;
  throw new SvcError('failed_precondition', 'volume_id: expected a persistent volume', { field });
}

/** As spec 3 shows it: a cancelled run failed, and one that waits runs. */
function statusOf(run: WorkflowExecution): IntentStatus {
  const { status, reason, error, current_state, output, started_at, ended_at } = run;
  if (ended_at === null) return { status: 'running' };
  if (status !== 'completed') {
    const said = [reason ?? status, error].filter((text) => text !== null).join(': ');
    return { status: 'failed', reason: said, failed_at_state: current_state };
  }
  return {
    status: 'completed',
    duration_ms: Date.parse(ended_at) - Date.parse(started_at),
    ...pipelineResult(output),
  };
}
