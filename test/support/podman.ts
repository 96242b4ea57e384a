import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { atEndOfBatch } from './batches.ts';
import { waitUntil } from './wait-until.ts';

/** Image of the tests: a static busybox and nothing else. */
export const BUSYBOX = 'localhost/svc-test-busybox:1';

const has = (program: string): boolean =>
  (process.env.PATH ?? '').split(':').some((directory) => existsSync(join(directory, program)));

/** Path of the init that Podman puts into containers on Debian; it is one of Podman's recommended packages. */
const CATATONIT = '/usr/bin/catatonit';

const missing = ['podman', 'runc', 'busybox'].filter((program) => !has(program));
const reason =
  missing.length > 0
    ? `${missing.join(', ')} is not installed (apt-get install podman runc busybox-static)`
    : process.getuid?.() !== 0
      ? 'a private Podman needs root here'
      : null;

/**
 * Options of tests that need a real container engine. Without one they are skipped, and say so; under `CI` they run
 * and fail.
 */
export const NEEDS_PODMAN: { readonly skip?: string } =
  reason === null || process.env.CI !== undefined ? {} : { skip: `CONTAINERS NOT TESTED: ${reason}` };
if (NEEDS_PODMAN.skip !== undefined) console.error(NEEDS_PODMAN.skip);

interface PodmanOptions {
  /** `host:port` of a registry that is reached by plain HTTP. */
  readonly insecureRegistry?: string;
  /** False: an engine that has no init for containers. Default: the machine's, when it has one. */
  readonly init?: boolean;
  /** True: one of its own also in a batch, for a test that ends or freezes it, or runs a node as a user who enters its directory. */
  readonly own?: boolean;
}

/** What the files of this batch share: to import its image and to start and end it takes a second of processor time. */
let shared: Promise<TestPodman> | null = null;
let users = 0;

async function endShared(): Promise<void> {
  const engine = await shared;
  shared = null;
  await engine?.[Symbol.asyncDispose]();
}

/** Options of tests that need an engine which puts an init into containers. */
export const NEEDS_CATATONIT: { readonly skip?: string } =
  existsSync(CATATONIT) || process.env.CI !== undefined
    ? NEEDS_PODMAN
    : { skip: 'CONTAINERS WITH AN INIT NOT TESTED: catatonit is not installed (apt-get install catatonit)' };

/**
 * A Podman of the tests: storage, runtime directory and API socket are private to it. Files of a batch that ask for no
 * options share one; each has a directory of its own, and finds no container of the file before.
 */
export class TestPodman implements AsyncDisposable {
  /** Removed in the end. */
  readonly directory: string;
  readonly socketPath: string;
  /** Directory of its storage and socket. */
  readonly #home: string;
  readonly docker: Docker;
  readonly #env: NodeJS.ProcessEnv;
  #service: { readonly pid: number; readonly exited: Promise<unknown> } | null = null;

  static async start(options: PodmanOptions = {}): Promise<TestPodman> {
    if (reason !== null) throw new Error(`this test needs a container engine: ${reason}`);
    if (Object.keys(options).length > 0) return TestPodman.#launch(options);
    if (shared === null && atEndOfBatch(endShared)) shared = TestPodman.#launch(options);
    if (shared === null) return TestPodman.#launch(options);
    const engine = await shared;
    // A node that was killed may have asked for one more container.
    if (users === 0) await engine.#empty();
    users += 1;
    return new TestPodman(await mkdtemp(join(tmpdir(), 'svc-podman-user-')), engine.directory);
  }

  static async #launch(options: PodmanOptions): Promise<TestPodman> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-podman-'));
    const podman = new TestPodman(directory);
    await writeConfiguration(directory, options);
    await podman.#importBusybox();
    await podman.up();
    return podman;
  }

  private constructor(directory: string, home = directory) {
    this.directory = directory;
    this.#home = home;
    this.socketPath = join(home, 'api.sock');
    this.docker = new Docker({ socketPath: this.socketPath });
    this.#env = {
      PATH: process.env.PATH,
      HOME: home,
      CONTAINERS_CONF: join(home, 'containers.conf'),
      CONTAINERS_REGISTRIES_CONF: join(home, 'registries.conf'),
    };
  }

  /** Starts the API; containers that run already go on. */
  async up(): Promise<void> {
    if (this.#home !== this.directory) throw new Error('a shared Podman is up: ask for one of your own');
    const args = [...this.#storage(), 'system', 'service', '--time=0', `unix://${this.socketPath}`];
    const child = spawn('podman', args, { cwd: this.directory, env: this.#env, stdio: 'ignore' });
    if (child.pid === undefined) throw new Error('podman could not be started');
    this.#service = { pid: child.pid, exited: once(child, 'exit') };
    await waitUntil('the API of podman to answer', () => this.docker.ping().catch(() => null));
  }

  /** SIGKILL for the API; containers run on. */
  async down(): Promise<void> {
    if (this.#service === null) return;
    process.kill(this.#service.pid, 'SIGKILL');
    await this.#service.exited;
    this.#service = null;
  }

  /** SIGSTOP: the API accepts connections and does not answer. */
  freeze(): void {
    if (this.#service !== null) process.kill(this.#service.pid, 'SIGSTOP');
  }

  thaw(): void {
    if (this.#service !== null) process.kill(this.#service.pid, 'SIGCONT');
  }

  /** Runs the command line on the same storage. */
  podman(...args: string[]): string {
    return execFileSync('podman', [...this.#storage(), ...args], {
      cwd: this.directory,
      env: this.#env,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#home !== this.directory) return this.#leave();
    try {
      this.podman('rm', '--all', '--force', '--time', '0');
    } finally {
      await this.down();
      // Monitors of commands that ended stay for minutes and then start a clean-up, which mounts the storage again.
      await waitUntil('the last program on the storage to end', async () => {
        const programs = await programsNaming(this.directory);
        for (const id of programs) killIfThere(id);
        return programs.length === 0;
      });
      for (const mounted of await mountsBelow(this.directory)) {
        execFileSync('umount', ['--lazy', mounted], { stdio: 'pipe' });
      }
      await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  async #empty(): Promise<void> {
    const containers = await this.docker.listContainers({ all: true });
    if (containers.length > 0) this.podman('rm', '--all', '--force', '--time', '0');
  }

  /** Leaves the shared one as it was found. */
  async #leave(): Promise<void> {
    users -= 1;
    if (users === 0) await this.#empty();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  #storage(): string[] {
    const at = (name: string) => join(this.#home, name);
    return ['--root', at('root'), '--runroot', at('run'), '--tmpdir', at('tmp')];
  }

  async #importBusybox(): Promise<void> {
    const image = join(this.directory, 'image');
    for (const name of ['bin', 'tmp', 'etc']) await mkdir(join(image, name), { recursive: true });
    // As in any image: Podman gives it to the tmpfs that is mounted there.
    await chmod(join(image, 'tmp'), 0o1777);
    const busybox = execFileSync('which', ['busybox'], { encoding: 'utf8' }).trim();
    await cp(busybox, join(image, 'bin/busybox'));
    const applets = execFileSync('busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
    for (const applet of applets) {
      if (applet !== 'busybox') await symlink('busybox', join(image, 'bin', applet));
    }
    execFileSync('tar', ['-C', image, '-cf', `${image}.tar`, '.']);
    this.podman('import', `${image}.tar`, BUSYBOX);
  }
}

/** Ids of the programs that have the directory in their arguments. */
async function programsNaming(directory: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const id of await readdir('/proc')) {
    if (!/^\d+$/.test(id)) continue;
    // A program that ended meanwhile has no arguments.
    const line = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(`${directory}/`)) found.push(Number(id));
  }
  return found;
}

function killIfThere(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** Every mount below the directory, the last one first: two programs may have mounted the same place. */
async function mountsBelow(directory: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).trimEnd().split('\n');
  const places = lines.map((line) => line.split(' ')[4] ?? '');
  return places.filter((place) => place.startsWith(`${directory}/`)).reverse();
}

async function writeConfiguration(directory: string, { insecureRegistry, init = true }: PodmanOptions): Promise<void> {
  const initPath = init ? CATATONIT : join(directory, 'no-init');
  const engine = `[engine]\ninit_path="${initPath}"\nruntime="runc"\ncgroup_manager="cgroupfs"\nevents_logger="file"\nlock_type="file"\n`;
  const containers = '[containers]\ndefault_ulimits=["nofile=1024:4096","nproc=1024:4096"]\n';
  await writeFile(join(directory, 'containers.conf'), engine + containers);
  const registry =
    insecureRegistry === undefined ? '' : `[[registry]]\nlocation="${insecureRegistry}"\ninsecure=true\n`;
  await writeFile(join(directory, 'registries.conf'), `unqualified-search-registries=[]\n${registry}`);
}
