import type { Parsed } from '../problem.ts';
import { checkDocument } from '../schema-problems.ts';
import { parseYaml } from '../yaml.ts';
import { type AgentManifest, AgentManifestSchema } from './schema.ts';

/** An agent manifest from its YAML, or every problem with path, line and column. Never throws. */
export function parseAgentManifest(text: string): Parsed<AgentManifest> {
  const parsed = parseYaml(text);
  return parsed.ok ? checkDocument(AgentManifestSchema, parsed.yaml) : parsed;
}
