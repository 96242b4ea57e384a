import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ensureImage } from '../../../effects/containers/image.ts';
import { refuseRegistry } from '../../../effects/containers/registries.ts';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'registry.example': ['203.0.113.7'],
  'metadata.evil.example': ['203.0.113.7', '169.254.169.254'],
  'azure.evil.example': ['168.63.129.16'],
  'six.evil.example': ['fe80::1%eth0'],
  'aws.evil.example': ['fd00:ec2::254'],
  'mapped.evil.example': ['::ffff:169.254.169.254'],
  'inner.example': ['10.0.0.5'],
};
const resolve = async (name: string): Promise<readonly string[]> => {
  const found = NAMES[name];
  if (found === undefined) throw new Error(`ENOTFOUND ${name}`);
  return found;
};

const refused = async (image: string, allowed?: readonly string[]): Promise<boolean> => {
  try {
    await refuseRegistry(image, { allowed, resolve, signal: new AbortController().signal });
    return false;
  } catch (error) {
    assert.match(String(error), /does not pull from .* \(spec\.runtime\.containers\.registries\)/);
    return true;
  }
};

test('images come from the configured registries, and from no other', async () => {
  const allowed = ['docker.io', 'registry.example:5000', '*.Trusted.example'];
  for (const image of [
    'alpine',
    'alpine:3.20',
    'library/alpine',
    'docker.io/library/alpine',
    'registry.example:5000/team/app:1',
    `a.trusted.example/app@sha256:${'0'.repeat(64)}`,
    'A.B.trusted.example/app',
  ])
    assert.equal(await refused(image, allowed), false, image);
  for (const image of [
    'localhost/app',
    'localhost:6379/a/b',
    '127.0.0.1:2375/a/b',
    '10.0.0.5:9200/a/b',
    'registry.example/app',
    'registry.example:5001/app',
    'trusted.example/app',
    'nottrusted.example/app',
    'docker.io.evil.example/library/alpine',
    '169.254.169.254/latest/meta-data',
  ])
    assert.equal(await refused(image, allowed), true, image);
  assert.equal(await refused('alpine', []), true);
});

const SIX = ['[fe80::1]:80', '[::ffff:169.254.169.254]:80', '[64:ff9b::a9fe:a9fe]', '[fd00:ec2::254]', '168.63.129.16'];

test('without a list any registry may be named but a link-local address, in any notation', async () => {
  for (const image of ['alpine', 'localhost:5000/app', '10.0.0.5/app', 'registry.example/app'])
    assert.equal(await refused(image), false, image);
  for (const host of [
    '169.254.169.254',
    '169.254.169.254:80',
    '2852039166:80',
    '0xa9fea9fe:80',
    '169.16689662:80',
    ...SIX,
  ])
    assert.equal(await refused(`${host}/latest/meta-data`), true, host);
});

test('a name of a link-local address or of a metadata service is refused too; the engine resolves a name that the node cannot', async () => {
  for (const name of ['metadata', 'azure', 'six', 'aws', 'mapped'])
    for (const port of ['', ':80']) assert.equal(await refused(`${name}.evil.example${port}/a/b`), true, name);
  for (const image of ['registry.example/app', 'inner.example:5000/app', 'unknown.example/app', 'alpine'])
    assert.equal(await refused(image), false, image);
  // Named by the operator: allowed.
  assert.equal(await refused('metadata.evil.example/a', ['metadata.evil.example']), false);
});

test('names of registries are resolved before the engine is called', async () => {
  const asked: string[] = [];
  const parts = {
    limits: { alwaysPull: true },
    async resolveRegistry(name: string) {
      asked.push(name);
      return ['169.254.169.254'];
    },
  };
  const input = { image: 'cloud.evil.example/a', image_pull_policy: 'IfNotPresent' };
  await assert.rejects(Reflect.apply(ensureImage, null, [parts, input, 'acme', new AbortController().signal]), {
    code: 'image_unavailable',
    message: /does not pull from cloud\.evil\.example/,
  });
  assert.deepEqual(asked, ['cloud.evil.example']);
});
