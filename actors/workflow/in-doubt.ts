import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import { own } from './json-field.ts';

/** What becomes of a command that had started when its node died (design E2). */
export type DoubtPolicy = 'retry' | 'fail' | 'ask';

/** Annotation of a workflow; with `.STATE` behind it, of one state. */
export const ON_IN_DOUBT = 'svc.dev/on-in-doubt';

const POLICIES: readonly DoubtPolicy[] = ['retry', 'fail', 'ask'];
const policyOf = (text: string | undefined): DoubtPolicy | undefined => POLICIES.find((policy) => policy === text);

/** The state's own policy, else the workflow's, else `fail`: never a silent repeat. */
export function doubtPolicy({ metadata }: WorkflowManifest, state: string): DoubtPolicy {
  const { annotations } = metadata;
  return policyOf(own(annotations, `${ON_IN_DOUBT}.${state}`)) ?? policyOf(own(annotations, ON_IN_DOUBT)) ?? 'fail';
}

/** The first annotation of this kind that says something else; null when all are sound. */
export function badDoubtPolicy({ metadata }: WorkflowManifest): string | null {
  const bad = Object.entries(metadata.annotations).find(
    ([key, value]) => (key === ON_IN_DOUBT || key.startsWith(`${ON_IN_DOUBT}.`)) && policyOf(value) === undefined,
  );
  return bad?.[0] ?? null;
}
