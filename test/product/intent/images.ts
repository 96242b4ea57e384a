import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BUSYBOX, type TestPodman } from '../../support/podman.ts';

const PYTHON = '/usr/bin/python3';
const node = process.execPath;

/** Whether this machine has the programs from which the images are made. */
export const NEEDS_LANGUAGES = existsSync(PYTHON) ? {} : { skip: `there is no ${PYTHON} to make an image of` };

/** Images of this machine's own python and node, since none can be downloaded; the shell is busybox. */
export async function languageImages(podman: TestPodman) {
  const [real = '', library = ''] = execFileSync(
    PYTHON,
    ['-c', 'import os,sys; print(os.path.realpath(sys.executable)); print(os.__file__)'],
    {
      encoding: 'utf8',
    },
  ).split('\n');
  const python = 'localhost/svc-test-python:1';
  const javascript = 'localhost/svc-test-node:1';
  await imageOf(podman, python, { program: real, as: 'python3', directories: [dirname(library)] });
  await imageOf(podman, javascript, { program: node, as: 'node', directories: [] });
  return { python, javascript, bash: BUSYBOX };
}

interface Program {
  readonly program: string;
  readonly as: string;
  /** Paths that are copied to the same place. */
  readonly directories: readonly string[];
}

async function imageOf(podman: TestPodman, name: string, { program, as, directories }: Program): Promise<void> {
  const root = join(podman.directory, `image-of-${as}`);
  const put = async (path: string): Promise<void> => {
    await mkdir(join(root, dirname(path)), { recursive: true });
    await cp(path, join(root, path), { recursive: true, dereference: true, filter: isWanted });
  };
  await mkdir(join(root, 'bin'), { recursive: true });
  await mkdir(join(root, 'tmp'));
  await chmod(join(root, 'tmp'), 0o1777);
  for (const path of [...librariesOf(program), ...directories]) await put(path);
  await mkdir(join(root, 'usr/bin'), { recursive: true });
  await cp(program, join(root, 'usr/bin', as), { dereference: true });
  await cp(execFileSync('which', ['busybox'], { encoding: 'utf8' }).trim(), join(root, 'bin/busybox'));
  for (const applet of ['sh', 'ls', 'cat']) await symlink('busybox', join(root, 'bin', applet));
  execFileSync('tar', ['-C', root, '-cf', `${root}.tar`, '.']);
  await rm(root, { recursive: true });
  podman.podman('import', `${root}.tar`, name);
  await rm(`${root}.tar`);
}

/** Without caches, packages and link libraries. */
const isWanted = (path: string): boolean =>
  !/\/(__pycache__|config-[^/]*|dist-packages|site-packages|test|ensurepip)$/.test(path);

/** Shared libraries and the loader, at the paths where the program looks for them. */
const librariesOf = (program: string): string[] =>
  execFileSync('ldd', [program], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => /(?:=>\s*)?(\/\S+)\s+\(0x/.exec(line)?.[1] ?? []);
