import type { Known } from '../../../manifests/workflow/check/check-workflow.ts';
import { parseWorkflowManifest } from '../../../manifests/workflow/parse.ts';
import type { WorkflowManifest } from '../../../manifests/workflow/schema.ts';
import { STATES, workflowText } from './document.ts';

/** What is deployed: children without any of their own, one that leads back to `flow`, and a chain of eleven. */
const DEPLOYED: ReadonlyMap<string, WorkflowManifest> = new Map(
  [
    named('child', null),
    named('build', null),
    named('starts-flow', 'flow'),
    named('depth-1', null),
    ...Array.from({ length: 10 }, (_, index) => named(`depth-${index + 2}`, `depth-${index + 1}`)),
  ].map((manifest) => [manifest.metadata.name, manifest]),
);

const AGENTS = new Set(['writer', 'editor', 'coder', 'tester', 'judge-a', 'judge-b', 'judge-c', 'a', 'planner']);

export const known: Known = {
  agents: (name) => AGENTS.has(name),
  workflows: (name) => DEPLOYED.get(name),
  storage: { maxSizeLimitMb: 10_000, enforcesSize: true },
};

function named(name: string, childName: string | null): WorkflowManifest {
  const state = childName === null ? STATES.System : { ...STATES.Subworkflow, workflow_id: childName };
  const parsed = parseWorkflowManifest(workflowText({ s: state }, {}, { name }));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}
