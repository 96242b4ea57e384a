import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

/**
 * A file to which the commands of many runs append lines; it is in no workspace. Sandboxed commands see it only on nodes
 * with its `runtime` settings. All users may write it, since a node of root runs commands as another user.
 */
export interface Journal {
  readonly file: string;
  /** `spec.runtime` of the nodes. */
  readonly runtime: { readonly host_commands: { readonly paths: readonly object[] } };
  /** Path of a node's configuration with only these settings. */
  readonly config: string;
  /** The lines so far. */
  lines(): Promise<string[]>;
}

export async function makeJournal(parent: string, name = 'journal'): Promise<Journal> {
  // A directory of its own, since the sandbox opens all of it to commands.
  const directory = join(parent, `${name}.d`);
  const file = join(directory, name);
  const config = join(parent, `${name}.yaml`);
  const runtime = { host_commands: { paths: [{ path: directory, writable: true }] } };
  await mkdir(directory);
  await writeFile(file, '');
  await Promise.all([
    chmod(directory, 0o777),
    chmod(file, 0o666),
    writeFile(config, stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec: { runtime } })),
  ]);
  return {
    ...{ file, runtime, config },
    lines: async () => (await readFile(file, 'utf8')).split('\n').filter((line) => line !== ''),
  };
}
