import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, threadModules } from '../../../cli/bundle.ts';
import { bundleScript } from '../../../cli/bundle-script.ts';
import { addNodeFiles } from '../built-programs.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The program of a fleet's nodes as the npm package has it: one script, with the code that V8 keeps of it (decision 0070). */
export interface PackagedNode extends Disposable {
  readonly script: string;
  /** Environment in which its compiled code is kept beside it. */
  readonly env: NodeJS.ProcessEnv;
}

/** Builds the script of a source file that exports `runNode`. Its directory is below `node_modules`' and removed at the end. */
export async function packNode(entry: string): Promise<PackagedNode> {
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const directory = mkdtempSync(join(ROOT, '.cache', 'packed-'));
  const [node, script] = [process.versions.node, join(directory, 'node-script.js')];
  await bundle({ entries: threadModules(), into: directory, node, packages: false });
  await bundleScript({ entry, file: script, node });
  await addNodeFiles(directory);
  return {
    script,
    env: { NODE_COMPILE_CACHE: join(directory, 'compiled') },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}
