import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SvcError } from '../../runtime/errors.ts';
import { SEARCH_PATH } from '../programs/environment.ts';
import type { SharedPath } from '../programs/sandbox.ts';
import { type ProgramView, type ViewedProgram, WORKSPACE } from '../programs/view.ts';
import type { McpServerSettings } from './settings.ts';

export interface ServerProgram extends ViewedProgram {
  /** Before what its settings give it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Variables of the node's own environment that a server outside of the sandbox sees; all else it must be given. */
const INHERITED = ['PATH', 'HOME', 'LANG'];

/**
 * How a server is started. In the sandbox of commands it sees its own directory as its workspace, its program, and what its `paths`
 * name; nothing of the node, and no network unless its settings say so. Throws `failed_precondition` for a path that no program may see.
 */
export async function serverProgram(
  settings: McpServerSettings & { readonly executable: string },
  directory: string,
  view: ProgramView | null,
): Promise<ServerProgram> {
  const { executable, args, sandbox, network } = settings;
  const isFile = executable.includes('/');
  const program = isFile ? resolve(executable) : executable;
  if (sandbox === 'off' || view?.confines !== true) return { program, args, environment: inherited() };
  await view.prepare([directory]);
  const file = isFile ? await shared(view, { path: program, writable: false }) : null;
  const paths = await Promise.all(settings.paths.map((path) => shared(view, path)));
  const bind = { directory, path: WORKSPACE, readOnly: false };
  const how = { network, paths, ...(file === null ? {} : { file }) };
  return {
    ...view.through({ program, args }, [bind], WORKSPACE, how),
    environment: { PATH: SEARCH_PATH, HOME: WORKSPACE, TMPDIR: '/tmp', LANG: 'C.UTF-8' },
  };
}

async function shared(view: ProgramView, { path, writable }: Omit<SharedPath, 'source'>): Promise<SharedPath> {
  const source = await realpath(path).catch(() => null);
  if (source === null) throw new SvcError('failed_precondition', `${path} does not exist on this node`);
  if (view.hides(source))
    throw new SvcError('failed_precondition', `${path} is in a directory of the node that no program may see`);
  return { source, path, writable };
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
