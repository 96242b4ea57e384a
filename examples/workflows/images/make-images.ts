/**
 * Makes the images of the examples from files of this Linux machine, without a registry.
 *
 * npx node examples/workflows/images/make-images.ts
 *
 * - `localhost/svc-examples/busybox:1`: a static busybox (Debian: busybox-static).
 * - `localhost/svc-examples/node:24`: busybox, the Node that runs this file, and the libraries it loads.
 *
 * Docker or Podman is found in the same way as by a node of svc: DOCKER_HOST, CONTAINER_HOST, then the well-known sockets.
 */
import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Docker from 'dockerode';
import { findEngine } from '../../../effects/containers/engine-error.ts';

export const BUSYBOX_IMAGE = 'localhost/svc-examples/busybox:1';
export const NODE_IMAGE = 'localhost/svc-examples/node:24';

/** Imports both images into the engine. Throws when the machine lacks the required files. */
export async function makeImages(docker: Docker): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-images-'));
  try {
    await layBusybox(directory);
    await importImage(docker, directory, BUSYBOX_IMAGE);
    await layNode(directory);
    await importImage(docker, directory, NODE_IMAGE);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function layBusybox(root: string): Promise<void> {
  for (const name of ['bin', 'tmp', 'etc', 'usr']) await mkdir(join(root, name));
  const busybox = await realpath(execFileSync('sh', ['-c', 'command -v busybox'], { encoding: 'utf8' }).trim());
  if (librariesOf(busybox).length > 0) throw new Error('this busybox is not static (Debian: busybox-static)');
  await copyFile(busybox, join(root, 'bin/busybox'));
  const applets = execFileSync('busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
  for (const applet of applets) if (applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet));
  await symlink('../bin', join(root, 'usr/bin'));
}

async function layNode(root: string): Promise<void> {
  await copyFile(process.execPath, join(root, 'bin/node'));
  for (const library of librariesOf(process.execPath)) {
    await mkdir(dirname(join(root, library)), { recursive: true });
    await copyFile(library, join(root, library));
  }
}

/** Absolute paths of the shared libraries that a program loads, the loader itself among them. */
function librariesOf(program: string): string[] {
  try {
    const listed = execFileSync('ldd', [program], { encoding: 'utf8', stdio: 'pipe' });
    return [...listed.matchAll(/(?:=> |^\s+)(\/\S+)/gm)].map(([, path]) => path ?? '');
  } catch {
    // ldd ends with 1 for a static program.
    return [];
  }
}

async function importImage(docker: Docker, root: string, name: string): Promise<void> {
  const archive = `${root}.tar`;
  try {
    execFileSync('tar', ['-C', root, '-cf', archive, '.']);
    const progress = await docker.importImage(createReadStream(archive), { repo: name });
    await new Promise<void>((done, fail) => {
      docker.modem.followProgress(progress, (error) => (error === null ? done() : fail(error)));
    });
  } finally {
    await rm(archive, { force: true });
  }
}

if (import.meta.main) {
  const location = findEngine({ env: process.env });
  if (location === null) throw new Error('neither Docker nor Podman was found: start one, or set DOCKER_HOST');
  await makeImages(new Docker(location));
  for (const name of [BUSYBOX_IMAGE, NODE_IMAGE]) console.log(name);
}
