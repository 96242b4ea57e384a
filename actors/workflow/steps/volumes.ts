import type { KnownVolume } from '../../../manifests/metadata.ts';
import { own } from '../json-values.ts';
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
