import { createHash } from 'node:crypto';
import type { AgentCatalog, CatalogReader, CatalogSearch } from '../catalog/api.ts';
import { AGENT_AUTHOR_ID, INTENT_PIPELINE_ID, WORKFLOW_AUTHOR_ID } from '../catalog/built-in/api.ts';
import type { NodePipeline } from '../manifests/node/models.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { IntentRequest, IntentStatus } from './intent-request.ts';
import {
  type AuthorApi,
  type IntentApi,
  readerOf,
  type Started,
  type Starter,
  type Starts,
  unless,
} from './management.ts';
import type { VolumeApi } from './ports/volumes.ts';
import { requireVolumeTier, tierOf } from './starts/volume-tier.ts';
import { pipelineResult, type WorkflowApi, type WorkflowExecution } from './workflow-runs.ts';

interface IntentParts {
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
            language,
            inputs,
            agent: found?.id ?? '',
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

/**
 * Checks that the volume belongs to the caller's tenant and outlives the run. Throws `forbidden` for the free tier
 * (W40), `not_found`, and `failed_precondition` for a volume that is not persistent.
 */
async function checkVolume(volumes: Pick<VolumeApi, 'get'>, identity: Identity, id: string): Promise<void> {
  const field = 'volume_id';
  requireVolumeTier(identity, field);
  const { storage_class } = await volumes.get(identity, id);
  if (storage_class === 'persistent') return;
  throw new SvcError('failed_precondition', 'volume_id: expected a persistent volume', { field });
}

/** The status that svc.execute.status returns (W40): a cancelled run counts as failed, a waiting run as running. */
function statusOf(run: WorkflowExecution): IntentStatus {
  const { status, reason, error, current_state, output, started_at, ended_at } = run;
  if (ended_at === null) return { status: 'running' };
  if (status !== 'completed') {
    const text = status === 'failed' ? error?.message : undefined;
    const said = [reason ?? status, text].filter((part) => part !== undefined).join(': ');
    return { status: 'failed', reason: said, failed_at_state: current_state };
  }
  return {
    status: 'completed',
    duration_ms: Date.parse(ended_at) - Date.parse(started_at),
    ...pipelineResult(output),
  };
}

/** Name of the state that runs the program. */
const PROGRAM = 'EXECUTE_CODE';

/** Name that the run gives the caller's volume. */
const VOLUME = 'data';

/**
 * Extra time for the start of the container, ms: an image may have to be pulled before the container's own time begins.
 */
const START_MS = 10 * 60_000;

/** How long the program may run, ms: the requested time, capped by the tier. */
export function programTimeoutMs(
  settings: NodePipeline,
  identity: Identity,
  { timeout_seconds }: IntentRequest,
): number {
  const cap = settings.tier_timeouts[tierOf(identity)];
  return Math.min(timeout_seconds ?? cap, cap) * 1_000;
}

/**
 * Adapts the pipeline to one call. Sets the image, time and volume of its containers directly, because a caller could
 * fill a template with its own values.
 */
export function pipelineFor(
  { spec, ...manifest }: WorkflowManifest,
  call: { readonly image: string; readonly timeoutMs: number; readonly volumeId?: string | undefined },
): WorkflowManifest {
  const { image, timeoutMs, volumeId } = call;
  const states = Object.fromEntries(
    Object.entries(spec.states).map(([name, state]) => {
      if (state.kind !== 'ContainerRun') return [name, state];
      if (name !== PROGRAM) return [name, { ...state, image }];
      const resources = { ...state.resources, timeout_ms: timeoutMs };
      const volumes = volumeId === undefined ? [] : [{ name: VOLUME, mount_path: '/workspace', read_only: true }];
      return [name, { ...state, image, resources, volumes, timeout_ms: timeoutMs + START_MS }];
    }),
  );
  const given = { name: VOLUME, storage_class: 'persistent' as const, volume_id: volumeId };
  const shared_volumes = volumeId === undefined ? [] : [given];
  return { ...manifest, spec: { ...spec, states, storage: { ...spec.storage, shared_volumes } } };
}

/**
 * Label of the agents that write programs for one kind of goal; its value is the language. Only agents with this label
 * are reused.
 */
export const WRITES_LABEL = 'svc.dev/writes';

const SLUG_CHARS = 45;

const HASH_CHARS = 8;

/**
 * Name of the agent that is created for a goal. The same goal always gives the same name, so the agent is found again whatever
 * the search returns.
 */
export function writerName({ intent, language }: Pick<IntentRequest, 'intent' | 'language'>): string {
  const words = intent.trim().toLowerCase();
  const slug = words
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_CHARS)
    .replace(/^-+|-+$/g, '');
  const hash = createHash('sha256')
    .update(JSON.stringify([language, words]))
    .digest('hex');
  return `${slug === '' ? 'program' : slug}-${hash.slice(0, HASH_CHARS)}`;
}

interface FittingAgent {
  readonly id: string;
  /** Similarity to the goal, 0 to 1. Absent: the agent was created for exactly this goal. */
  readonly score?: number;
}

/**
 * Finds an agent that writes programs for such a goal: the one that was created for it, else the best match of the search with
 * at least `minScore`. Null when there is none; without a search index only the name counts.
 */
export async function fittingAgent(
  ports: { readonly agents: Pick<AgentCatalog, 'lookup'>; readonly search: CatalogSearch; readonly minScore: number },
  reader: CatalogReader,
  request: Pick<IntentRequest, 'intent' | 'language'>,
): Promise<FittingAgent | null> {
  const { agents, search, minScore } = ports;
  const { intent, language } = request;
  const made = await unless('not_found', agents.lookup(reader, writerName(request)));
  if (made?.labels[WRITES_LABEL] === language && made.status === 'deployed') return { id: made.agent_id };
  const asked = { query: intent, limit: 1, minScore, labels: { [WRITES_LABEL]: language }, status: 'deployed' };
  const [best] = (await unless('cortex_not_configured', search.agents(reader, asked))) ?? [];
  return best === undefined ? null : { id: best.id, score: best.score };
}

/**
 * Starts the authoring agents by id, so that agents which a tenant deploys under the same names are never used instead.
 */
export function createAuthors({ starts }: { readonly starts: Pick<Starts, 'agent'> }): AuthorApi {
  const ask = async (agent: string, input: string, starter: Starter): Promise<Started> => {
    const { execution_id } = await starts.agent({ agent, input }, starter);
    return { execution_id, status: 'started' };
  };
  return {
    agent: (input, starter) => ask(AGENT_AUTHOR_ID, input, starter),
    workflow: (input, starter) => ask(WORKFLOW_AUTHOR_ID, input, starter),
  };
}
