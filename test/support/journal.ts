import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

/**
 * A file in which commands of many runs leave lines, so it is in no workspace. Commands are in a sandbox: they see it only on
 * nodes that have its `runtime`, and on a node of root they are another user, so everybody may write it.
 */
export interface Journal {
  readonly file: string;
  /** `spec.runtime` of the nodes. */
  readonly runtime: { readonly host_commands: { readonly paths: readonly object[] } };
  /** A configuration of a node that says no more than that. */
  readonly config: string;
  /** Of what was written so far. */
  lines(): Promise<string[]>;
}

export async function makeJournal(parent: string, name = 'journal'): Promise<Journal> {
  // A directory of its own: beside it are the nodes' data and the tests' own files.
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
