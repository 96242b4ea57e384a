import type { NodePipeline } from '../../../manifests/node/pipeline.ts';
import type { WorkflowManifest } from '../../../manifests/workflow/schema.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { IntentRequest } from './request.ts';

/** The state that runs the program. */
const PROGRAM = 'EXECUTE_CODE';
/** Name of the caller's volume among those of the run. */
const VOLUME = 'data';
/** An image may have to be pulled before the container's own time begins. */
const START_MS = 10 * 60_000;

/** Kinds of callers that no tier binds (decided.md "Limits"). */
const UNBOUND: readonly Identity['kind'][] = ['local', 'operator', 'service_account'];

export const tierOf = ({ kind, tier }: Identity): Identity['tier'] => (UNBOUND.includes(kind) ? 'enterprise' : tier);

/** How long the program may run: what was asked for, at most what the tier allows. Milliseconds. */
export function programTimeoutMs(
  settings: NodePipeline,
  identity: Identity,
  { timeout_seconds }: IntentRequest,
): number {
  const cap = settings.tier_timeouts[tierOf(identity)];
  return Math.min(timeout_seconds ?? cap, cap) * 1_000;
}

/** The pipeline for one call: image, time and volume of its containers are not for templates, which a caller could fill. */
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
