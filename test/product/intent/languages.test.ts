import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { BUSYBOX, NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { IntentNode } from './intent-node.ts';

const PYTHON_PATH = '/usr/bin/python3';
const node = process.execPath;

/** Whether this machine has the programs from which the images are made. */
const NEEDS_LANGUAGES = existsSync(PYTHON_PATH) ? {} : { skip: `there is no ${PYTHON_PATH} to make an image of` };

/** Images of this machine's own python and node, since none can be downloaded; the shell is busybox. */
async function languageImages(podman: TestPodman) {
  const [real = '', library = ''] = execFileSync(
    PYTHON_PATH,
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

const PYTHON = `import json, os
inputs = json.loads(os.environ["SVC_INPUTS"])
print(sum(inputs.get("numbers", [6, 7])))`;
const JAVASCRIPT = `import { env } from 'node:process';
const { numbers } = JSON.parse(env.SVC_INPUTS);
console.log(numbers.reduce((sum, one) => sum + one, 0));`;

const said = (contains: readonly string[], reply: string) => ({ match: { contains }, reply });

test('programs in Python and JavaScript are checked and run by their own languages', {
  ...NEEDS_PODMAN,
  ...NEEDS_LANGUAGES,
}, async () => {
  await using podman = await TestPodman.start();
  const images = await languageImages(podman);
  const rules = [
    said(['You write one Python program', 'This was tried'], PYTHON),
    said(['You write one Python program', 'mend'], 'def (:'),
    said(['You write one Python program'], PYTHON),
    said(['You write one JavaScript program', 'This was tried'], JAVASCRIPT),
    said(['You write one JavaScript program', 'mend'], 'const = ;'),
    said(['You write one JavaScript program'], JAVASCRIPT),
  ];
  await using setup = await IntentNode.start(rules, { podman, execute: { images } });
  for (const language of ['python', 'javascript'])
    for (const goal of ['add', 'mend and add']) {
      const ended = await setup.reach(goal, { language, inputs: { numbers: [40, 2] } });
      assert.ok(ended.status === 'completed', `${language}, ${goal}: ${JSON.stringify(ended)}`);
      assert.equal(ended.final_result, '42\n');
    }
  // svc.execute: only a goal.
  const { body } = await setup.node.json('POST', '/v1/execute', { prompt: 'add' });
  const ended = await setup.ended(String(body.pipeline_execution_id));
  assert.equal(ended.status === 'completed' && ended.final_result, '13\n');
});
