import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SecurityPolicy } from '../../../actors/execution/plan.ts';
import { planExecution } from '../../../actors/execution/plan-execution.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { manifestOf } from './driven-execution.ts';

const planned = (security: JsonObject, policy: JsonObject) =>
  planExecution(manifestOf({ security, tools: ['fs.*'] }), SecurityPolicy.parse(policy)).tools;

const NETWORKS: readonly (readonly [string, JsonObject, JsonObject, JsonObject])[] = [
  [
    'blocked domains come on top',
    { denylist: ['a.org'] },
    { blocked_domains: ['b.org', 'a.org'] },
    { mode: 'deny', allowlist: [], denylist: ['a.org', 'b.org'] },
  ],
  [
    'everything narrows to what is given',
    { mode: 'allow' },
    { allowed_domains: ['a.org'] },
    { mode: 'deny', allowlist: ['a.org'], denylist: [] },
  ],
  [
    'the narrower of two counts',
    { mode: 'allow', allowlist: ['a.org', 'x.b.org'] },
    { allowed_domains: ['api.a.org', 'b.org'] },
    { mode: 'deny', allowlist: ['api.a.org', 'x.b.org'], denylist: [] },
  ],
  [
    'what only the policy names is not allowed',
    { mode: 'deny', allowlist: ['a.org'] },
    { allowed_domains: ['evila.org', 'b.org'] },
    { mode: 'deny', allowlist: [], denylist: [] },
  ],
  [
    'a wildcard does not cover its own apex',
    { allowlist: ['*.a.org'] },
    { allowed_domains: ['a.org'] },
    { mode: 'deny', allowlist: ['*.a.org'], denylist: [] },
  ],
  ['none stays none', { mode: 'none' }, { allowed_domains: ['a.org'] }, { mode: 'none', allowlist: [], denylist: [] }],
];
for (const [title, network, network_policy, expected] of NETWORKS) {
  test(`a policy never widens the network: ${title}`, () => {
    assert.deepEqual(planned({ network }, { network_policy }).network, expected);
  });
}

const FILES: readonly (readonly [string, JsonObject, JsonObject, readonly string[]])[] = [
  ['nothing given leaves the manifest', { read: ['/workspace/**'] }, {}, ['/workspace/**']],
  ['no list of the manifest takes the policy', {}, { read_paths: ['/workspace/a/**'] }, ['/workspace/a/**']],
  ['the narrower counts', { read: ['/workspace/**'] }, { read_paths: ['/workspace/a/**'] }, ['/workspace/a/**']],
  [
    'nothing in common is nothing',
    { read: ['/workspace/b/**'] },
    { read_paths: ['/workspace/a/**'] },
    ['/.nothing-is-allowed'],
  ],
  [
    'a name that only begins alike is another',
    { read: ['/workspace/a/**'] },
    { read_paths: ['/workspace/ab'] },
    ['/.nothing-is-allowed'],
  ],
];
for (const [title, filesystem, filesystem_policy, expected] of FILES) {
  test(`a policy never widens the readable paths: ${title}`, () => {
    assert.deepEqual(planned({ filesystem }, { filesystem_policy }).filesystem?.read, expected);
  });
}

const NETWORK_OF_CONTAINERS: readonly (readonly [JsonObject, JsonObject, string])[] = [
  [{}, {}, 'none'],
  [{ mode: 'allow' }, {}, 'open'],
  [{ mode: 'allow', allowlist: ['a.org'] }, {}, 'none'],
  [{ mode: 'allow' }, { blocked_domains: ['a.org'] }, 'none'],
];
test('a container has a network only where everything is allowed', () => {
  for (const [network, network_policy, expected] of NETWORK_OF_CONTAINERS) {
    const manifest = manifestOf({ security: { network }, runtime: { isolation: 'docker' } });
    const { container } = planExecution(manifest, SecurityPolicy.parse({ network_policy }));
    assert.equal(container?.network, expected);
  }
});

test('rules that nothing would enforce on an agent’s own bootstrap are refused', () => {
  const own = (isolation: string) => manifestOf({ runtime: { isolation }, advanced: { bootstrap_path: '/b.sh' } });
  const files = SecurityPolicy.parse({ filesystem_policy: { read_paths: ['/workspace/a'] } });
  for (const isolation of ['process', 'docker']) {
    assert.throws(() => planExecution(own(isolation), files), /filesystem_policy: isolation .* cannot enforce it/);
  }
  const network = SecurityPolicy.parse({ network_policy: { blocked_domains: ['a.org'] } });
  assert.throws(() => planExecution(own('process'), network), /network_policy/);
  assert.equal(planExecution(own('docker'), network).container?.network, 'none');
});
