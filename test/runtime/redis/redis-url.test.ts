import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { parseRedisUrls } from '../../../runtime/redis/connection.ts';

it('a single server with credentials and database is read', () => {
  assert.deepEqual(parseRedisUrls('rediss://me:p%40ss@cache.example:6380/2'), {
    kind: 'single',
    hosts: [{ host: 'cache.example', port: 6380 }],
    tls: true,
    username: 'me',
    password: 'p@ss',
    db: 2,
    master: undefined,
  });
});

it('a Cluster is named by one URL with several hosts or by a list of URLs', () => {
  const hosts = [
    { host: 'h1', port: 7000 },
    { host: 'h2', port: 6379 },
  ];
  const one = parseRedisUrls('redis+cluster://h1:7000,h2');
  assert.deepEqual([one.kind, one.hosts], ['cluster', hosts]);
  const several = parseRedisUrls(['redis://h1:7000', 'redis://h2']);
  assert.deepEqual([several.kind, several.hosts], ['cluster', hosts]);
});

it('Sentinel hosts come with the name of their master', () => {
  const location = parseRedisUrls('redis+sentinel://s1,s2:26380/main');
  assert.deepEqual(
    [location.kind, location.master, location.hosts.map((host) => host.port)],
    ['sentinel', 'main', [26_379, 26_380]],
  );
});

for (const url of [
  '',
  'http://:secret@h1',
  'redis://:secret@h1,h2',
  'redis+sentinel://:secret@s1',
  'redis+cluster://:secret@h1/1',
  'redis://:secret@h1:99999',
  'redis://:secret%@h1',
  'redis://:secret@h1/x',
]) {
  it(`${url.replace('secret', '***')} is refused with the field's name and without the password`, () => {
    assert.throws(
      () => parseRedisUrls(url),
      (error) =>
        error instanceof SvcError &&
        error.code === 'invalid_config' &&
        error.field === 'spec.stores.redis' &&
        !error.message.includes('secret'),
    );
  });
}
