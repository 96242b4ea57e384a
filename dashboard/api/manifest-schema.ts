import type { Problem } from '../parts/editor.tsx';
import { isObject, type JsonSchema } from '../parts/schema-completion.ts';
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
  if (kind === 'workflow') return (await api.workflows.validate({ body: { manifest_yaml: text } })).findings;
  const body = { kind, manifest_yaml: text };
  const { structuredContent } = await api.tools.call({ name: 'svc.schema.validate', body });
  const errors: unknown = structuredContent?.errors;
  return Array.isArray(errors) ? errors.flatMap(problemOf) : [];
}

function problemOf(error: unknown): Problem[] {
  if (!isObject(error)) return [];
  const { path, line, column, message } = error;
  const where = typeof path === 'string' && path !== '' ? `${path}: ` : '';
  return [{ line: Number(line), column: Number(column), message: `${where}${String(message)}`, severity: 'error' }];
}
