import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import { own } from './json-field.ts';

/**
 * Annotation of a workflow: with the value `sealed` its containers have no network, a root that cannot be written and no
 * user with rights, whatever the node's settings are.
 */
export const CONTAINERS = 'svc.dev/containers';

export const isSealed = ({ metadata }: Pick<WorkflowManifest, 'metadata'>): boolean =>
  own(metadata.annotations, CONTAINERS) === 'sealed';

/** Whether the annotation says something that would be taken for a wall and is none. */
export const isBadlySealed = ({ metadata }: Pick<WorkflowManifest, 'metadata'>): boolean =>
  (own(metadata.annotations, CONTAINERS) ?? 'sealed') !== 'sealed';
