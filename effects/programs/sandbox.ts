import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Owner } from '../volumes/ownership.ts';
import type { Bind, ProgramView, SharedFile, ViewedProgram, ViewOptions } from './view.ts';

/** Ids of programs inside the sandbox, and outside by default if the node runs as root. */
export const SANDBOX_IDS: Owner = { uid: 1_000, gid: 1_000 };
const MiB = 1_048_576;
/** Size of /tmp, which is in memory; larger files belong into the workspace. */
const TMP_BYTES = 256 * MiB;
const SHARED_MEMORY_BYTES = 64 * MiB;

/** Opens the filter of system calls, then runs bwrap: `$1` is the filter ('-': none), followed by bwrap and its arguments. */
const OUTSIDE = '[ "$1" = - ] || exec 4<"$1"; shift; exec "$@"';
/**
 * Runs as the program's user: changes to `$1`, which only this user may be able to enter, and executes the program, so that
 * one that cannot be executed ends with 126 or 127. `$2` is `wait` or `-`.
 */
const INSIDE =
  'cd "$1" || exit 126; if [ "$2" = wait ]; then read -r _ || exit 126; shift 2; exec "$@" </dev/null; fi; shift 2; exec "$@"';

/** Files of /etc for libraries, service names and certificates. Nothing specific to the machine. */
const ETC = [
  ...['alternatives', 'ca-certificates', 'java', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime'],
  ...['mime.types', 'nsswitch.conf', 'os-release', 'pki/ca-trust', 'pki/tls/certs', 'protocols', 'services'],
  ...['ssl/cert.pem', 'ssl/certs', 'ssl/openssl.cnf', 'terminfo', 'timezone'],
];
const ETC_WITH_NETWORK = ['hosts', 'resolv.conf'];
/** The devices that bwrap creates, without terminals. */
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
/** Files of the kernel that a process namespace does not hide: keys of the node, memory and timers of the machine. */
const MASKED = ['keys', 'key-users', 'kcore', 'timer_list', 'sched_debug', 'latency_stats'].map(
  (name) => `/proc/${name}`,
);
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/gnu/store'];

/** A path of the host that programs see (`spec.runtime.host_commands.paths`). */
export interface SharedPath extends SharedFile {
  readonly writable: boolean;
}

interface SandboxParts {
  readonly bwrap: string;
  /** Changes the user inside if the node runs as root. Null: the node's own user, mapped to other ids by a user namespace. */
  readonly setpriv: string | null;
  /** Ids outside the sandbox if the node runs as root. */
  readonly ids: Owner;
  /** Directory with `passwd`, `group`, `hosts` and, for known architectures, `seccomp`. */
  readonly files: string;
  readonly filter: string | null;
  readonly network: 'none' | 'host';
  readonly paths: readonly SharedPath[];
  /** Hidden even inside a shared path or a program's directory. */
  readonly hidden: readonly string[];
  /** Directory of agents' programs, read-only. */
  readonly programs: SharedFile | null;
  /** Gives a directory to the program's user. */
  readonly give: (directory: string, ids: Owner) => Promise<void>;
}

/**
 * Starts programs through bubblewrap: namespaces for users, mounts, processes, IPC, names and network; no capabilities and no
 * way to gain privileges; the system's programs read-only; a private /tmp; nothing else of the host except named paths. The
 * started process is bwrap; it dies with the node's launcher, and all processes inside die with it.
 */
export class Sandbox implements ProgramView {
  readonly confines = true;
  readonly hasOwnProcesses = true;
  readonly #parts: SandboxParts;
  readonly #system: readonly string[];
  readonly #masked = MASKED.filter((path) => existsSync(path));

  constructor(parts: SandboxParts) {
    this.#parts = parts;
    this.#system = [...SYSTEM.flatMap(systemPath), ...nodePaths(process.execPath)];
  }

  get network(): 'none' | 'host' {
    return this.#parts.network;
  }

  hides(path: string): boolean {
    return this.#parts.hidden.some((hidden) => isUnder(hidden, path));
  }

  async prepare(directories: readonly string[]): Promise<void> {
    const { setpriv, ids, give } = this.#parts;
    if (setpriv === null) return;
    for (const directory of new Set(directories)) await give(directory, ids);
  }

  through(
    { program, args }: ViewedProgram,
    binds: readonly Bind[],
    directory: string,
    { network = 'none', file, paths = [], waits = false }: ViewOptions = {},
  ): ViewedProgram {
    const { bwrap, filter, setpriv, ids } = this.#parts;
    const inside = ['/bin/sh', '-c', INSIDE, 'svc-sandbox', directory, waits ? 'wait' : '-', program, ...args];
    const become = setpriv === null ? [] : [setpriv, ...setprivArguments(ids)];
    return {
      program: '/bin/sh',
      args: [
        ...['-c', OUTSIDE, 'svc-sandbox', filter ?? '-', bwrap],
        ...this.#namespaces(network),
        ...this.#mounts(binds, network, [
          ...paths,
          ...(file === undefined || isSystem(file.path) ? [] : [{ ...file, writable: false }]),
        ]),
        ...(filter === null ? [] : ['--seccomp', '4']),
        ...['--chdir', '/', '--', ...become, ...inside],
      ],
      sandboxed: true,
    };
  }

  #namespaces(network: 'none' | 'host'): string[] {
    const { setpriv } = this.#parts;
    const { uid, gid } = SANDBOX_IDS;
    const user =
      setpriv === null
        ? ['--unshare-user', '--uid', String(uid), '--gid', String(gid)]
        : ['--cap-drop', 'ALL', ...['SETUID', 'SETGID', 'SETPCAP'].flatMap((name) => ['--cap-add', `CAP_${name}`])];
    return [
      ...user,
      ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--hostname', 'svc'],
      ...(network === 'host' ? [] : ['--unshare-net']),
      ...['--die-with-parent', '--new-session'],
    ];
  }

  /**
   * Without root, the devices are bound one by one: bwrap's own /dev with terminals needs a second user namespace, and the
   * node could then not enter the program's network to open the relay to the gateway.
   */
  #devices(): string[] {
    if (this.#parts.setpriv !== null) return ['--dev', '/dev'];
    return [
      ...['--perms', '0755', '--tmpfs', '/dev'],
      ...DEVICES.flatMap((name) => ['--dev-bind', `/dev/${name}`, `/dev/${name}`]),
      ...['stdin', 'stdout', 'stderr'].flatMap((name, at) => ['--symlink', `/proc/self/fd/${at}`, `/dev/${name}`]),
      ...['--symlink', '/proc/self/fd', '/dev/fd'],
    ];
  }

  #mounts(binds: readonly Bind[], network: 'none' | 'host', own: readonly SharedPath[]): string[] {
    const { files, paths, hidden, programs } = this.#parts;
    const etc = network === 'host' ? [...ETC, ...ETC_WITH_NETWORK] : ETC;
    const made = ['passwd', 'group', ...(network === 'host' ? [] : ['hosts'])];
    const shared = [...paths, ...(programs === null ? [] : [{ ...programs, writable: false }]), ...own].toSorted(
      (a, b) => a.path.length - b.path.length,
    );
    return [
      ...this.#system,
      ...['/etc', '/etc/pki', '/etc/pki/tls', '/etc/ssl'].flatMap(openDirectory),
      ...etc.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
      ...made.flatMap((name) => ['--ro-bind', join(files, name), `/etc/${name}`]),
      ...['--proc', '/proc', ...this.#devices()],
      ...this.#masked.flatMap((path) => ['--ro-bind', '/dev/null', path]),
      ...['--perms', '1777', '--size', String(SHARED_MEMORY_BYTES), '--tmpfs', '/dev/shm'],
      ...['--perms', '1777', '--size', String(TMP_BYTES), '--tmpfs', '/tmp'],
      ...shared.flatMap(({ source, path, writable }) => [
        ...parentsOf(path).flatMap(openDirectory),
        ...[writable ? '--bind' : '--ro-bind', source, path],
      ]),
      ...shared
        .flatMap(({ source, path }) =>
          hidden.filter((one) => isUnder(source, one)).map((one) => `${path}${one.slice(source.length)}`),
        )
        .flatMap((path) => ['--perms', '0000', '--tmpfs', path, '--remount-ro', path]),
      ...binds
        .toSorted((a, b) => a.path.length - b.path.length)
        .flatMap((bind) => [bind.readOnly ? '--ro-bind' : '--bind', bind.directory, bind.path]),
      ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ];
  }
}

const isSystem = (path: string): boolean => SYSTEM.some((directory) => isUnder(directory, path));

/** Changes the user and drops all capabilities, also from the bounding set, so that no file gives one back. */
const setprivArguments = ({ uid, gid }: Owner): string[] => [
  ...['--reuid', String(uid), '--regid', String(gid), '--clear-groups'],
  ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--no-new-privs'],
];

/** bwrap would create missing parents of a mount for its own user only. */
const openDirectory = (path: string): string[] => ['--perms', '0755', '--dir', path];

/** The parents of a path from the top down, without `/`. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === '/' ? [] : [...parentsOf(parent), parent];
}

/** `/bin` is a link to `usr/bin` on most systems. */
function systemPath(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** The node's own `node`, with npm if it is beside it. Nothing else of its directory, which may be a home directory. */
function nodePaths(executable: string): string[] {
  if (isSystem(executable)) return [];
  const npm = resolve(dirname(executable), '../lib/node_modules/npm');
  const bin = dirname(executable);
  const links = ['npm', 'npx'].flatMap((name) => ['--symlink', join(npm, 'bin', `${name}-cli.js`), join(bin, name)]);
  return [
    ...parentsOf(executable).flatMap(openDirectory),
    ...['--ro-bind', executable, executable],
    ...(lstatSync(npm, { throwIfNoEntry: false })?.isDirectory() === true
      ? [...parentsOf(npm).flatMap(openDirectory), '--ro-bind', npm, npm, ...links]
      : []),
  ];
}

/** Whether a path is another or below it. */
export const isUnder = (directory: string, path: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
