import { checkWorkflow, type Known } from '../manifests/workflow/check/check-workflow.ts';
import { agentsNamedIn, childrenNamedIn } from '../manifests/workflow/finding.ts';
import { parseWorkflowManifest, readWorkflow } from '../manifests/workflow/parse.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import { type CheckedWorkflow, validateWorkflow } from '../manifests/workflow/validate.ts';
import { SvcError } from '../runtime/errors.ts';
import type { AgentCatalog } from './api.ts';
import { invalidManifest } from './changes.ts';
import type { CatalogReader, Finding } from './workflow-api.ts';

/** Looking further down than children may go finds nothing more; wider than this the checker says nothing of the rest. */
const MAX_CHILDREN = 200;

/** Looks a workflow up as the reader would; null when there is none. */
export type FindManifest = (reader: CatalogReader, idOrName: string) => Promise<WorkflowManifest | null>;

/** Checks manifests with what is deployed in sight. */
export class WorkflowChecks {
  readonly #find: FindManifest;
  readonly #agents: Pick<AgentCatalog, 'get'>;

  constructor(find: FindManifest, agents: Pick<AgentCatalog, 'get'>) {
    this.#find = find;
    this.#agents = agents;
  }

  async check(reader: CatalogReader, manifestYaml: string): Promise<CheckedWorkflow> {
    const read = readWorkflow(manifestYaml);
    if (!read.ok) return validateWorkflow(manifestYaml);
    const { manifest, yaml } = read;
    return { manifest, findings: checkWorkflow(manifest, yaml.locate, await this.#knownTo(reader, manifest)) };
  }

  async #knownTo(reader: CatalogReader, manifest: WorkflowManifest): Promise<Known> {
    const agents = new Set<string>();
    for (const name of new Set(agentsNamedIn(manifest).map((named) => named.name)))
      if (await this.#isAgent(reader, name)) agents.add(name);
    const { found, isWhole } = await this.#children(reader, manifest);
    return { agents: (name) => agents.has(name), ...(isWhole ? { workflows: (name) => found.get(name) } : {}) };
  }

  async #isAgent(reader: CatalogReader, name: string): Promise<boolean> {
    try {
      await this.#agents.get(reader, name);
      return true;
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'not_found') return false;
      throw thrown;
    }
  }

  /** Children, their children and so on, by the name they are started with. */
  async #children(
    reader: CatalogReader,
    manifest: WorkflowManifest,
  ): Promise<{ found: ReadonlyMap<string, WorkflowManifest>; isWhole: boolean }> {
    const found = new Map<string, WorkflowManifest>();
    const asked = new Set([manifest.metadata.name]);
    const waiting = [manifest];
    for (const parent of waiting)
      for (const { name } of childrenNamedIn(parent)) {
        if (asked.has(name)) continue;
        if (asked.size > MAX_CHILDREN) return { found, isWhole: false };
        asked.add(name);
        const child = await this.#find(reader, name);
        if (child === null) continue;
        found.set(name, child);
        waiting.push(child);
      }
    return { found, isWhole: true };
  }
}

export const errorsOf = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ severity }) => severity === 'error');

/** Throws `invalid_manifest` with every error; warnings never refuse (decided.md "Workflows"). */
export function checkedManifest({ manifest, findings }: CheckedWorkflow): WorkflowManifest {
  const errors = errorsOf(findings);
  if (manifest === null || errors.length > 0) throw invalidManifest(errors);
  return manifest;
}

/** Of a text that was deployed. */
export function readWorkflowManifest(manifestYaml: string): WorkflowManifest {
  const parsed = parseWorkflowManifest(manifestYaml);
  if (parsed.ok) return parsed.manifest;
  throw invalidManifest(parsed.problems);
}
