import { readFileSync } from 'node:fs';
import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import type { Parsed } from '../../manifests/schema-problems.ts';
import { parseWorkflowManifest } from '../../manifests/workflow/parse.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { DeployedAgent, DeployedWorkflow } from '../api.ts';
import { BUILT_IN_AGENTS, BUILT_IN_WORKFLOWS, type BuiltIns, builtInId } from './api.ts';

/** Built-ins have no time of deployment, so they get a fixed one. */
const SHIPPED_AT = '1970-01-01T00:00:00.000Z';

const shipped = {
  status: 'deployed',
  scope: 'global',
  owner: null,
  deployed_at: SHIPPED_AT,
} as const;

/** The built-ins, from the manifests beside this file; read and parsed at the first use. */
export function createBuiltIns(): BuiltIns {
  let agents: readonly DeployedAgent[] | undefined;
  let workflows: readonly DeployedWorkflow[] | undefined;
  return {
    get agents() {
      agents ??= BUILT_IN_AGENTS.map(agentNamed);
      return agents;
    },
    get workflows() {
      workflows ??= BUILT_IN_WORKFLOWS.map(workflowNamed);
      return workflows;
    },
  };
}

function agentNamed(name: string): DeployedAgent {
  const { manifest, manifest_yaml } = read(name, parseAgentManifest);
  const { version, description, labels } = manifest.metadata;
  const said = { name, version, description, labels };
  return { agent_id: builtInId('agent', name), tenant_id: SYSTEM_TENANT, ...said, ...shipped, manifest, manifest_yaml };
}

function workflowNamed(name: string): DeployedWorkflow {
  const { manifest, manifest_yaml } = read(name, parseWorkflowManifest);
  const { version, description, labels } = manifest.metadata;
  const said = { name, version, description, labels, initial_state: manifest.spec.initial_state };
  return { id: builtInId('workflow', name), ...said, ...shipped, manifest, manifest_yaml };
}

function read<Manifest>(
  name: string,
  parse: (text: string) => Parsed<Manifest>,
): { readonly manifest: Manifest; readonly manifest_yaml: string } {
  const manifest_yaml = readFileSync(new URL(`./manifests/${name}.yaml`, import.meta.url), 'utf8');
  const parsed = parse(manifest_yaml);
  if (!parsed.ok) throw new Error(`the manifest ${name} that ships with the product is broken`);
  return { manifest: parsed.manifest, manifest_yaml };
}
