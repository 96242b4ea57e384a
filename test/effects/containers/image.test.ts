import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseRegistry } from '../../../effects/containers/image.ts';

const refused = (image: string, allowed?: readonly string[]): boolean => {
  try {
    refuseRegistry(image, allowed);
    return false;
  } catch (error) {
    assert.match(String(error), /does not pull from .* \(spec\.runtime\.containers\.registries\)/);
    return true;
  }
};

test('images come from the registries that are named, and from no other', () => {
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
    assert.equal(refused(image, allowed), false, image);
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
    assert.equal(refused(image, allowed), true, image);
  assert.equal(refused('alpine', []), true);
});

test('without a list any may be named but a link-local address, however it is written', () => {
  for (const image of ['alpine', 'localhost:5000/app', '10.0.0.5/app', 'registry.example/app'])
    assert.equal(refused(image), false, image);
  for (const host of ['169.254.169.254', '169.254.169.254:80', '2852039166:80', '0xa9fea9fe:80', '169.16689662:80'])
    assert.equal(refused(`${host}/latest/meta-data`), true, host);
});
