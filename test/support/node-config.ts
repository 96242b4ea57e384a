import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

/** A rule of the scripted model (docs/guides/scripted-provider.md). */
export interface Rule {
  readonly match?: object;
  readonly reply: unknown;
}

/** An entry of `spec.llm_providers`: a model under the alias `default` that answers from this file. */
export const scriptedModel = (script: string) => ({
  ...{ name: 'script', type: 'scripted', script },
  models: [{ alias: 'default', model: 'script' }],
});

/** The same, from rules, which it writes to `script.yaml` in the directory. */
export async function writeScriptedModel(directory: string, rules: readonly object[]) {
  const script = join(directory, 'script.yaml');
  await writeFile(script, stringify({ rules }, { aliasDuplicateObjects: false }));
  return scriptedModel(script);
}

/** Writes a node's configuration with these blocks of `spec` to `svc.yaml` in the directory; answers its path. */
export async function writeNodeConfig(directory: string, spec: object): Promise<string> {
  const file = join(directory, 'svc.yaml');
  await writeFile(file, stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec }));
  return file;
}
