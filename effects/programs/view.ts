import type { ProgramRules } from '../../manifests/tool/contract.ts';
import { SvcError } from '../../runtime/errors.ts';

/** Path of the workspace in a view. */
export const WORKSPACE = '/workspace';

/** A host directory and its path in a view. */
export interface Bind {
  readonly directory: string;
  /** At or under `/workspace`. */
  readonly path: string;
  readonly readOnly: boolean;
}

export interface ViewedProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** True: the started process is the sandbox, which returns the program's exit code; the program leads its own session below. */
  readonly sandboxed?: boolean;
}

export interface ViewOptions {
  /** It sees only its own processes, and all of them end with it, if the node can do that. */
  readonly ownProcesses?: boolean;
  /** `host`: the host's network, if the node's settings allow it. Default `none`. */
  readonly network?: 'none' | 'host';
  /** The program, if it is a file outside the system's directories. */
  readonly file?: SharedFile;
  /** Paths that only this program sees, the same on the host and in the view. */
  readonly paths?: readonly (SharedFile & { readonly writable: boolean })[];
  /** It starts after one line on its standard input, which is closed then. */
  readonly waits?: boolean;
}

/** A file or directory of the host and its path in a view. */
export interface SharedFile {
  readonly source: string;
  readonly path: string;
}

/**
 * The programs' view of the host. Implemented by `Sandbox` (namespaces and an unprivileged user, confines) and `WorkspaceView`
 * (only adds `/workspace`, does not confine).
 */
export interface ProgramView {
  /** True: the rules of a manifest for network and files are enforced. */
  readonly confines: boolean;
  readonly hasOwnProcesses: boolean;
  /** The most that `spec.runtime.host_commands.network` allows. */
  readonly network: 'none' | 'host';
  /** Whether programs must not see a real path of the host. */
  hides(path: string): boolean;
  /** Gives these directories to the program's user, before the start. */
  prepare(directories: readonly string[]): Promise<void>;
  /** The command that starts the program in the view. Outer binds are mounted first. */
  through(program: ViewedProgram, binds: readonly Bind[], directory: string, options?: ViewOptions): ViewedProgram;
}

/** Null: none. It is a promise because a node tests its view while the rest of it starts. */
export type LateView = ProgramView | null | Promise<ProgramView | null>;

/** Applies the rules of a manifest. Throws `unsupported_isolation` for a rule that this node cannot enforce: rules are never ignored. */
export function confined(
  view: ProgramView | null,
  { network, read_only }: ProgramRules,
): { readonly network: 'none' | 'host'; readonly readOnly: boolean } {
  if (view?.confines !== true) {
    if (network === 'none') throw unenforced('network', 'mode none');
    if (read_only) throw unenforced('filesystem', 'read_only');
    return { network: 'host', readOnly: false };
  }
  return { network: network === 'open' ? view.network : 'none', readOnly: read_only };
}

function unenforced(field: 'network' | 'filesystem', rule: string): SvcError {
  const text = `spec.security.${field}: this node cannot enforce ${rule} for commands: it has no sandbox (install bubblewrap)`;
  return new SvcError('unsupported_isolation', text, { field: `spec.security.${field}` });
}
