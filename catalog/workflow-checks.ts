import { parseWorkflowManifest } from '../manifests/workflow/parse.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import type { AgentCatalog } from './api.ts';
import { invalidManifest } from './invalid-manifest.ts';
import type { CatalogReader, Finding } from './workflow-api.ts';
import type { WorkflowShelf } from './workflow-shelf.ts';

/** What a manifest is, as far as it is one, and all that was found. */
export interface Checked {
  /** Null when it breaks a rule of the format. */
  readonly manifest: WorkflowManifest | null;
  readonly findings: readonly Finding[];
}

/** Checks manifests with what is deployed in sight. */
export class WorkflowChecks {
  readonly #shelf: WorkflowShelf;
  readonly #agents: Pick<AgentCatalog, 'get'>;

  constructor(shelf: WorkflowShelf, agents: Pick<AgentCatalog, 'get'>) {
    this.#shelf = shelf;
    this.#agents = agents;
  }

  async check(_reader: CatalogReader, manifestYaml: string): Promise<Checked> {
    const parsed = parseWorkflowManifest(manifestYaml);
    if (parsed.ok) return { manifest: parsed.manifest, findings: [] };
    const findings = parsed.problems.map((problem) => ({
      ...problem,
      rule: 'manifest_rule',
      severity: 'error' as const,
      cure: problem.message,
    }));
    return { manifest: null, findings };
  }
}

export const errorsOf = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ severity }) => severity === 'error');

/** Throws `invalid_manifest` with every error; warnings never refuse (decided.md "Workflows"). */
export function checkedManifest({ manifest, findings }: Checked): WorkflowManifest {
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
