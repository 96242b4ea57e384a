import { CliFailure, EXIT, invalid } from './failure.ts';
import { problemLine } from './findings.ts';
import { isObject, type JsonObject, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';
import { readText, shownFile } from './read-input.ts';

export type ManifestKind = 'agent' | 'workflow';

/** A file as text, not parsed yet. */
interface ManifestText {
  /** Name in messages. */
  readonly file: string;
  readonly text: string;
}

/** A manifest of a file, with its kind and name. */
export interface ManifestFile extends ManifestText {
  readonly kind: ManifestKind;
  readonly name: string;
  readonly version: string;
  /** The document as plain JSON. */
  readonly value: JsonObject;
}

/** Reads a file, or standard input for `-`. Throws for an empty one. */
export async function readManifest(path: string): Promise<ManifestText> {
  const file = shownFile(path);
  const text = await readText(path, 'FILE');
  if (text.trim() === '') throw invalid(`${file}: expected the manifest of an agent or a workflow; it is empty`);
  return { file, text };
}

const KINDS: Readonly<Record<string, ManifestKind>> = { Agent: 'agent', Workflow: 'workflow' };

/** The kind in the text; undefined when it is unreadable or unknown. */
async function kindIn(text: string): Promise<ManifestKind | undefined> {
  return KINDS[textOf(await documentIn(text), 'kind')];
}

/** The document as JSON; empty when it is unreadable: the parser of its kind reports the error more precisely. */
async function documentIn(text: string): Promise<JsonObject> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const value: unknown = document.errors.length > 0 ? null : document.toJS({ maxAliasCount: 50 });
  return isObject(value) ? value : {};
}

/**
 * Whether a YAML file found beside manifests is something else: the configuration of a node, or of another program. A
 * file that cannot be read, or that names our apiVersion or kinds, counts as a manifest, so that its problems are
 * reported.
 */
export async function isOtherYaml({ text }: ManifestText): Promise<boolean> {
  const [{ parseDocument }, { API_GROUP }] = await Promise.all([import('yaml'), import('../manifests/metadata.ts')]);
  if (parseDocument(text).errors.length > 0) return false;
  const value = await documentIn(text);
  const kind = textOf(value, 'kind');
  return kind === 'NodeConfig' || (KINDS[kind] === undefined && !textOf(value, 'apiVersion').startsWith(API_GROUP));
}

/** Checks a manifest without a node. Throws with `FILE:LINE:COLUMN` for each problem. */
export async function checkedManifest(manifest: ManifestText): Promise<ManifestFile> {
  const value = await documentIn(manifest.text);
  const kind = KINDS[textOf(value, 'kind')];
  // Loading the parsers would slow down most commands.
  const [{ parseAgentManifest }, { parseWorkflowManifest }] = await Promise.all([
    import('../manifests/agent/parse.ts'),
    import('../manifests/workflow/parse.ts'),
  ]);
  const parsed = kind === 'workflow' ? parseWorkflowManifest(manifest.text) : parseAgentManifest(manifest.text);
  if (!parsed.ok) {
    const problems = parsed.problems.map((problem) => problemLine(problem, manifest.file));
    throw new CliFailure(EXIT.validation, `${manifest.file}: the manifest is not valid`, problems);
  }
  const { name, version } = parsed.manifest.metadata;
  return { ...manifest, kind: kind ?? 'agent', name, version, value };
}

interface DeployOptions {
  readonly force?: boolean;
  readonly scope?: string;
}

/** Deploys a manifest. A manifest of the other kind is refused with the command that takes it. */
export async function deployManifest(
  client: NodeClient,
  kind: ManifestKind,
  { file, text }: ManifestText,
  { force, scope }: DeployOptions,
): Promise<JsonObject> {
  const found = await kindIn(text);
  if (found !== undefined && found !== kind)
    throw invalid(
      `${file}: it is the manifest of ${found === 'agent' ? 'an agent' : 'a workflow'}: svc ${found} deploy ${file}`,
    );
  return client.json('POST', `/v1/${kind}s`, {
    body: { type: 'application/yaml', text },
    query: { force: force ? 'true' : undefined, scope },
    repeatable: force,
    file,
  });
}
