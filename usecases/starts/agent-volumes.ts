import type { StartExecution } from '../../actors/execution/messages.ts';
import type { Mount } from '../../actors/execution/plan.ts';
import { callerVariables } from '../../actors/execution/prompt.ts';
import { plainPath } from '../../actors/workflow/steps/volumes.ts';
import { type AgentVolume, MOST_AGENT_VOLUMES, volumeFaults } from '../../manifests/agent/volumes.ts';
import { pathText } from '../../manifests/schema-problems.ts';
import { renderWith } from '../../manifests/template/rendering.ts';
import { TemplateError } from '../../manifests/template/tree.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { jsonObjectIn } from '../../runtime/json.ts';
import type { ExecutionVolumes } from '../ports/volumes.ts';
import { requireVolumeTier } from './volume-tier.ts';

type Start = Pick<StartExecution, 'executionId' | 'manifest' | 'input' | 'context' | 'identity' | 'mounts'>;

/**
 * The mounts of an execution: those of its workflow's state, and those of the agent's manifest at other paths. Creates the
 * ephemeral volumes of the manifest. A fork gets new ones, since its mounts are those of the original. Throws `not_found`,
 * `forbidden`, `failed_precondition` or `invalid_argument` naming the field of the manifest, `unimplemented` for a type of
 * volume that the node does not have, and `quota_exceeded`.
 */
export async function mountsOfStart(
  volumes: ExecutionVolumes | undefined,
  start: Start,
): Promise<readonly Mount[] | undefined> {
  const given = start.mounts?.filter(({ of_manifest }) => of_manifest !== true);
  const named = start.manifest.spec.volumes
    .map((volume, index) => ({ volume, index }))
    .filter(({ volume }) => !given?.some(({ mount_path }) => plainPath(mount_path) === plainPath(volume.mount_path)));
  if (named.length === 0) return given;
  refuseFaults(start);
  if (volumes === undefined) throw unserved('spec.volumes', 'this node has no volumes');
  const count = named.length + (given?.length ?? 0);
  if (count > MOST_AGENT_VOLUMES)
    throw invalidField('spec.volumes', `expected at most ${MOST_AGENT_VOLUMES} mounts, got ${count}`);
  const mounts: Mount[] = [...(given ?? [])];
  // Volumes that may be refused come first, so that a refused start creates nothing.
  for (const { volume, index } of named.toSorted((a, b) => order(a.volume) - order(b.volume))) {
    const volume_id = await idOf(volumes, start, volume, index);
    const { mount_path, access_mode } = volume;
    mounts.push({ volume_id, mount_path, read_only: access_mode === 'read-only', of_manifest: true });
  }
  return mounts;
}

const order = ({ storage_class }: AgentVolume): number => (storage_class === 'persistent' ? 0 : 1);

/** Manifests that were deployed before deploys refused such volumes. */
function refuseFaults({ manifest }: Start): void {
  const [fault] = volumeFaults(manifest.spec.volumes);
  if (fault !== undefined) throw unserved(pathText(fault.path), fault.message);
}

const unserved = (field: string, message: string): SvcError =>
  new SvcError('unimplemented', `${field}: ${message}`, { field });

async function idOf(volumes: ExecutionVolumes, start: Start, volume: AgentVolume, index: number): Promise<string> {
  const { identity, executionId } = start;
  const { name, ttl_hours = 24, size_limit_bytes, source } = volume;
  if (volume.storage_class === 'ephemeral')
    return volumes.make(identity, executionId, { name, ttlHours: ttl_hours, sizeLimitBytes: size_limit_bytes });
  const field = `spec.volumes[${index}].source.volume_id`;
  requireVolumeTier(identity, field);
  return volumes.use(identity, executionId, rendered(source?.volume_id ?? '', start, field), field);
}

/** Longer than any id. */
const MOST_CHARS = 200;

/** `{{input}}` or `{{input.KEY}}` of an input that is a JSON object, `{{context.KEY}}`, and `{{KEY}}` of the context. */
function rendered(template: string, { input, context = {} }: Start, field: string): string {
  const values = callerVariables(context);
  try {
    const scope = { ...values, context: values, input: jsonObjectIn(input) ?? input };
    const id = renderWith(template, scope, () => '', { maxChars: MOST_CHARS }).trim();
    if (id !== '') return id;
    throw invalidField(field, `${template} has no value in this start`);
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown;
    throw invalidField(field, `cannot be rendered: ${thrown.message}`);
  }
}
