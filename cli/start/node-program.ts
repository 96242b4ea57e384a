import { join } from 'node:path';
import { type KeptScript, keptScript } from './kept-script.ts';

type RunNode = (flags: readonly string[]) => Promise<void>;

interface NodeProgram extends Pick<KeptScript, 'keep' | 'keepAtExit'> {
  readonly runNode: RunNode;
}

/** The program in one script (bundle-script.ts). Only the npm package has it. */
const SCRIPT = join(import.meta.dirname, '..', '..', 'node-script.js');

/**
 * The program of a node. The package has it as a script, since the code that V8 keeps of a script has all functions that ran, and
 * the cache of Node.js has only what is compiled before a module runs: a start compiles 2,400 functions less (decision 0070).
 */
export async function nodeProgram(): Promise<NodeProgram> {
  const script = keptScript(SCRIPT, (specifier) => import.meta.resolve(specifier));
  if (script !== null) return { ...script, runNode: runNodeOf(script.exports) };
  const { runNode } = await import('../../main.ts');
  return { runNode, keep() {}, keepAtExit() {} };
}

function runNodeOf(exported: object): RunNode {
  if (!('runNode' in exported) || typeof exported.runNode !== 'function') throw new Error(`${SCRIPT} has no runNode`);
  const { runNode } = exported;
  return async (flags) => void (await runNode(flags));
}
