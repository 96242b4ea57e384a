import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { z } from 'zod';
import { noticesText } from '../../cli/notices.ts';
import { projectFiles } from '../support/tree.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const DEVELOPMENT = 'cdx:npm:package:development';

/** Licences under which a package may be shipped with this one (Apache-2.0). */
const ALLOWED: ReadonlySet<string> = new Set([
  ...['Apache-2.0', 'MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0', 'Unlicense'],
  ...['(AFL-2.1 OR BSD-3-Clause)', '(Apache-2.0 AND BSD-3-Clause)'],
]);

/** 64 bytes in base64. */
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
/** A version, not the address of an archive or a repository. */
const VERSION = /^\d+\.\d+\.\d+/;

const Bom = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      properties: z.array(z.object({ name: z.string() })).default([]),
      licenses: z
        .array(z.object({ license: z.object({ id: z.string() }).optional(), expression: z.string().optional() }))
        .default([]),
    }),
  ),
});
const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({ version: z.string(), integrity: z.string().optional(), link: z.boolean().optional() }),
  ),
});

test('the bill of materials names every package that is shipped, each under a licence that allows it', async () => {
  // A linked node_modules is listed where it stands: npm does not follow the link.
  const installed = dirname(await realpath(join(ROOT, 'node_modules')));
  const options = { cwd: installed, maxBuffer: 64 * 1024 * 1024 };
  // With `--omit dev` npm omits some packages that are shipped, so packages are selected by their mark.
  const { stdout } = await promisify(execFile)('npm', ['sbom', '--sbom-format', 'cyclonedx'], options);
  const all = Bom.parse(JSON.parse(stdout)).components;
  const components = all.filter(({ properties }) => !properties.some(({ name }) => name === DEVELOPMENT));
  const manifest = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
  const named = new Set(components.map(({ name }) => name));
  assert.deepEqual(
    Object.keys(manifest.dependencies).filter((name) => !named.has(name)),
    [],
  );
  const licencesOf = (all: (typeof components)[number]['licenses']): string[] =>
    all.map(({ license, expression }) => license?.id ?? expression ?? 'unknown');
  const others = components.filter(({ licenses }) => {
    const found = licencesOf(licenses);
    return found.length === 0 || found.some((licence) => !ALLOWED.has(licence));
  });
  assert.deepEqual(
    others.map(({ name, version, licenses }) => `${name} ${version}: ${licencesOf(licenses).join(', ')}`),
    [],
  );
});

/** Lock files, and how many packages each has at least. */
const LOCKS = { 'package-lock.json': 300, '.ci/tools/package-lock.json': 20 } as const;

for (const [lock, least] of Object.entries(LOCKS))
  test(`each package of ${lock} has its hash, for every platform, and comes from a registry`, async () => {
    const { packages } = Lock.parse(JSON.parse(await readFile(join(ROOT, lock), 'utf8')));
    const listed = Object.entries(packages).filter(([path]) => path !== '');
    assert.ok(listed.length > least, `${listed.length} packages`);
    assert.deepEqual(
      listed
        .filter(
          ([, { integrity, link, version }]) =>
            link === true || !SHA512.test(integrity ?? '') || !VERSION.test(version),
        )
        .map(([path]) => path),
      [],
    );
  });

/** Images of this project, built where they are used, and the argument of a build, whose default counts. */
const OWN_IMAGE = /^(svc:|localhost\/svc-examples\/|\$\{\w+\}$)/;
const BY_DIGEST = /^[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;

/** Images that a file names: of containers, of the stages of a build, and defaults of its arguments. */
function imagesIn(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const named = [...text.matchAll(/^(?:\s*(?:- )?image:|FROM|ARG \w*IMAGE=) ?(\S+)/gm)].map(([, image = '']) => image);
  return named.filter((image) => !OWN_IMAGE.test(image)).map((image) => `${file} ${image}`);
}

test('each image that is built on or started has its digest', () => {
  const files = projectFiles().filter(
    (file) =>
      /^(deploy|examples)\/.*\.ya?ml$/.test(file) || /(^|\/)(docker-compose\.yml|Containerfile|Dockerfile)$/.test(file),
  );
  const images = files.flatMap(imagesIn);
  assert.ok(images.length >= 4, images.join());
  assert.deepEqual(
    images.filter((named) => !BY_DIGEST.test(named.split(' ')[1] ?? '')),
    [],
  );
});

test('the notices of third parties are those of what is installed', async () => {
  const text = await readFile(join(ROOT, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
  assert.ok(text === noticesText(), 'run "npm run notices"');
  for (const name of ['fastify', 'react', 'elkjs']) assert.match(text, new RegExp(`^${name} \\d`, 'm'));
});
