import type { KnownVolume } from '../../../manifests/metadata.ts';
import { hasRules } from '../../run-rules.ts';
import { own } from '../json-values.ts';
import type { Render } from '../scope.ts';
import type { IdleWorkflow } from '../state.ts';
import { StepFailure } from './step.ts';

/** Name of the workspace among the volumes of a workflow. */
const WORKSPACE = 'workspace';

/** Id of a volume by its name in the manifest. Throws a StepFailure `volume_not_found`. */
export function volumeNamed(run: IdleWorkflow, name: string): string {
  const id = own(run.storage.shared, name) ?? (name === WORKSPACE ? run.storage.workspace : undefined);
  if (id === undefined) throw new StepFailure('volume_not_found', `the workflow has no volume ${name}`);
  return id;
}

/**
 * Mounts of a state with the run's workspace at /workspace, unless the state opts out, mounts another volume there, or mounts
 * the workspace at another path.
 */
export function withRunWorkspace<Mount extends { readonly volume_id: string; readonly mount_path: string }>(
  run: IdleWorkflow,
  workspace: 'shared' | 'none' | undefined,
  mounts: readonly Mount[],
  mounted: (at: { readonly volume_id: string; readonly mount_path: string }) => Mount,
): readonly Mount[] {
  const volume_id = run.storage.workspace;
  const isCovered = mounts.some((one) => one.volume_id === volume_id || plainPath(one.mount_path) === WORKSPACE_PATH);
  if (!hasRules(run, 1) || workspace === 'none' || isCovered || mounts.length >= MOST_MOUNTS) return mounts;
  return [mounted({ volume_id, mount_path: WORKSPACE_PATH }), ...mounts];
}

/** The rendered files of a step, as a member of an effect's input. */
export function renderedFiles(
  render: Render,
  files: Readonly<Record<string, string>> = {},
): { readonly files?: { readonly path: string; readonly content: string }[] } {
  const rendered = Object.entries(files).map(([path, content]) => ({ path, content: render(content) }));
  return rendered.length === 0 ? {} : { files: rendered };
}

const WORKSPACE_PATH = '/workspace';

/** Mounts of one effect. */
const MOST_MOUNTS = 50;

/** A path without slashes at its end. */
export const plainPath = (path: string): string => path.replace(/\/+$/, '');

/** The run's record of a volume, as a member of an effect's input. */
export function knownVolume(run: IdleWorkflow, volumeId: string): { readonly known?: KnownVolume } {
  const known = own(run.storage.known ?? {}, volumeId);
  return known === undefined ? {} : { known };
}

/** Volume of an agent's mount: `{{workflow.storage…}}` renders an id; a name is accepted too. */
export function volumeIdOf(run: IdleWorkflow, rendered: string): string {
  const text = rendered.trim();
  const ids = [run.storage.workspace, ...Object.values(run.storage.shared)];
  return ids.includes(text) ? text : volumeNamed(run, text);
}
