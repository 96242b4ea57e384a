import type { Parsed } from '../problem.ts';
import { checkDocument } from '../schema-problems.ts';
import { parseYaml } from '../yaml.ts';
import { type WorkflowManifest, WorkflowManifestSchema } from './schema.ts';

/** A workflow manifest from its YAML, or every problem with path, line and column. Never throws. */
export function parseWorkflowManifest(text: string): Parsed<WorkflowManifest> {
  const parsed = parseYaml(text);
  return parsed.ok ? checkDocument(WorkflowManifestSchema, parsed.yaml) : parsed;
}
