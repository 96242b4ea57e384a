import type { Problem } from '../parts/editor.tsx';
import type { JsonSchema } from '../parts/schema-completion.ts';
import { api } from './queries.ts';

export type ManifestKind = 'agent' | 'workflow';

const KEYS = { agent: 'agent/manifest/v1', workflow: 'workflow/manifest/v1' } as const;

/** The JSON Schema of a kind of manifest, as the node serves it. */
export async function manifestSchema(kind: ManifestKind): Promise<JsonSchema> {
  const { structuredContent } = await api.tools.call({ name: 'svc.schema.get', body: { key: KEYS[kind] } });
  return structuredContent ?? {};
}

/** Problems of a manifest, from the checks that a deploy makes. Nothing is deployed. */
export async function manifestProblems(kind: ManifestKind, text: string): Promise<readonly Problem[]> {
  const asked = { body: { manifest_yaml: text } };
  const { findings } = kind === 'workflow' ? await api.workflows.validate(asked) : await api.agents.validate(asked);
  return findings.map((finding) => ({
    ...finding,
    message: finding.path === '' || kind === 'workflow' ? finding.message : `${finding.path}: ${finding.message}`,
  }));
}
