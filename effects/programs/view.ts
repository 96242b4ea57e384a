/** Where programs find their workspace when the node can give each a view of its own. */
export const WORKSPACE = '/workspace';

/** A host directory and where a program finds it. */
export interface Bind {
  readonly directory: string;
  /** At or under `/workspace`. */
  readonly path: string;
  readonly readOnly: boolean;
}

export interface ViewedProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** True: it leads a session of its own below the process that is started, and that one says how it ended. */
  readonly sandboxed?: boolean;
}

export interface ViewOptions {
  /** It sees its own processes only, and all of them end with it, where the node may do that. */
  readonly ownProcesses?: boolean;
  /** `host`: the host's network, where the node's settings let commands have it. Default `none`. */
  readonly network?: 'none' | 'host';
  /** The program itself, when it is a file of the host outside of the system's directories. */
  readonly file?: SharedFile;
  /** Of this program alone, beside what all programs see; a path is where it is on the host and inside. */
  readonly paths?: readonly (SharedFile & { readonly writable: boolean })[];
  /** It begins once a line comes on its standard input, and has no input then. */
  readonly waits?: boolean;
}

/** A file or directory of the host, and where a program finds it. */
export interface SharedFile {
  readonly source: string;
  readonly path: string;
}

/**
 * How programs of this host see the host. Implemented by `Sandbox` (namespaces, an unprivileged user: it confines) and
 * `WorkspaceView` (only `/workspace`, for convenience: it does not).
 */
export interface ProgramView {
  /** True: it confines, so rules for network and files of a manifest hold. */
  readonly confines: boolean;
  readonly hasOwnProcesses: boolean;
  /** What `spec.runtime.host_commands.network` lets commands have at most. */
  readonly network: 'none' | 'host';
  /** Whether a real path of the host is one that no program may see. */
  hides(path: string): boolean;
  /** Lets the program's user work in these directories; before it is started. */
  prepare(directories: readonly string[]): Promise<void>;
  /** The same program, started through the view; binds are put in order, outer ones first. */
  through(program: ViewedProgram, binds: readonly Bind[], directory: string, options?: ViewOptions): ViewedProgram;
}
