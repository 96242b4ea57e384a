import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SETTING_SOURCES } from '../../manifests/node/managed.ts';
import { type NodeSettings, resolveSettings, type SettingInput } from '../../manifests/node/settings.ts';

const head = 'apiVersion: svc.dev/v1\nkind: NodeConfig\n';
const realm =
  '{slug: acme, issuer_url: "https://idp/acme", jwks_uri: "https://idp/acme/keys", audience: svc, kind: tenant}';
const NOTHING_ASKED_OF_NODES = { insecure: false, require_join_token: false, require_proof: false };
const none: SettingInput = { flags: {}, env: {}, file: null };

function settings(input: Partial<SettingInput>): NodeSettings {
  const resolved = resolveSettings({ ...none, ...input });
  assert.ok(resolved.ok, JSON.stringify(resolved));
  return resolved.settings;
}

function problems(input: Partial<SettingInput>): string[] {
  const resolved = resolveSettings({ ...none, ...input });
  assert.ok(!resolved.ok, 'expected problems');
  return resolved.problems.map(({ path, line, message }) => `${path}@${line}: ${message}`);
}

describe('settings', () => {
  it('without any input are an embedded node on loopback at the specified ports', () => {
    const { network, stores, cluster, kernel, grpc_auth } = settings({});
    assert.deepEqual(network, {
      bind: '127.0.0.1',
      port: 8080,
      grpc_port: 50_051,
      tls: { enabled: false, min_version: '1.2' },
      trust_proxy: [],
      cors: { allow: [] },
      internal: { bind: '127.0.0.1', port: 8081, grpc_port: 50_052 },
    });
    assert.deepEqual(stores, { data_dir: './data' });
    assert.equal(cluster.cluster_grpc_port, 50_056);
    const { insecure, require_join_token, require_proof } = cluster;
    assert.deepEqual({ insecure, require_join_token, require_proof }, NOTHING_ASKED_OF_NODES);
    assert.equal(kernel.partitions, 64);
    assert.deepEqual(grpc_auth, { enabled: true, exempt_methods: ['/svc.v1.InnerLoop/Generate'] });
  });

  it('flags win over environment, environment over the file', () => {
    const file = `${head}spec: {network: {port: 1}, stores: {data_dir: file}}\n`;
    const env = { SVC_HTTP_PORT: '2', SVC_DATA: 'env' };
    assert.equal(settings({ file }).network.port, 1);
    assert.equal(settings({ file, env }).network.port, 2);
    assert.equal(settings({ file, env, flags: { 'http-port': '3' } }).network.port, 3);
    assert.equal(settings({ file, env, flags: { 'http-port': '3' } }).stores.data_dir, 'env');
  });

  it('require TLS between nodes beyond loopback, or a setting that says it is not needed', () => {
    const auth = `iam: {realms: [${realm}]}`;
    const cluster = (text: string) => ({ file: `${head}spec: {${auth}, cluster: {enabled: true, ${text}}}\n` });
    const tls = 'tls: {enabled: true, cert_path: a, key_path: b, ca_cert: c}';
    const rows: readonly (readonly [string, RegExp])[] = [
      ['bind: 10.0.0.1', /^spec\.cluster\.bind@3: 10\.0\.0\.1 is not loopback: set spec\.cluster\.tls/],
      ['bind: 10.0.0.1, role: worker', /^spec\.cluster\.bind@3: 10\.0\.0\.1 is not loopback: set spec\.cluster\.tls/],
      ['bind: 10.0.0.1, join_token: x', /spec\.cluster\.insecure: true allows plain text/],
      ['bind: 10.0.0.1, insecure: true', /set spec\.cluster\.require_join_token or spec\.cluster\.join_token/],
    ];
    for (const [text, expected] of rows) assert.match(problems(cluster(text))[0] ?? '', expected, text);
    const fine = [
      `bind: 10.0.0.1, ${tls}`,
      'bind: 127.0.0.1',
      'bind: 10.0.0.1, insecure: true, require_join_token: true',
      'bind: 10.0.0.1, insecure: true, join_token: x',
      'bind: 10.0.0.1, insecure: true, role: worker',
    ];
    for (const text of fine) settings(cluster(text));
  });

  it('name the field of TLS, proxies and the public URL that cannot be', () => {
    const network = (text: string) => problems({ file: `${head}spec: {network: ${text}}\n` })[0] ?? '';
    const rows: readonly (readonly [string, RegExp])[] = [
      ['{tls: {enabled: true, cert_path: a}}', /^spec\.network\.tls\.key_path@\d+: required when tls is enabled/],
      ['{tls: {min_version: "1.1"}}', /^spec\.network\.tls\.min_version@\d+: /],
      ['{trust_proxy: [10.0.0.0/99]}', /^spec\.network\.trust_proxy\[0\]@\d+: expected an IP address or a network/],
      ['{trust_proxy: [proxy.internal]}', /^spec\.network\.trust_proxy\[0\]@\d+: expected an IP address/],
      ['{public_url: "https://svc.example.org/path"}', /^spec\.network\.public_url@\d+: expected a URL/],
    ];
    for (const [text, expected] of rows) assert.match(network(text), expected, text);
    const file = `${head}spec: {network: {trust_proxy: [10.0.0.0/8, "2001:db8::/32", 192.0.2.7]}}\n`;
    assert.equal(settings({ file }).network.trust_proxy.length, 3);
  });

  it('name the field of a rule of retention that cannot be kept', () => {
    const retention = (text: string) => problems({ file: `${head}spec: {retention: ${text}}\n` });
    const [short = ''] = retention('{runs: {retention_ms: 10}}');
    assert.match(short, /^spec\.retention\.runs\.retention_ms@\d+: expected milliseconds from 1000 to \d+, or -1/);
    const [day = ''] = retention('{stimuli: {retention_ms: 3600000}}');
    assert.match(day, /^spec\.retention\.stimuli\.retention_ms@\d+: expected milliseconds from 86400000/);
    const [bytes = ''] = retention('{tenants: {acme: {ledger: {retention_bytes: 0}}}}');
    assert.match(bytes, /^spec\.retention\.tenants\.acme\.ledger\.retention_bytes@\d+: expected bytes/);
    const [unknown = ''] = retention('{logs: {}}');
    assert.match(unknown, /logs/);
    const file = `${head}spec: {retention: {runs: {retention_bytes: 4096}, tenants: {acme: {runs: {retention_ms: -1}}}}}\n`;
    const { runs, tenants } = settings({ file }).retention;
    assert.deepEqual(
      [runs, tenants],
      [{ retention_ms: 2_592_000_000, retention_bytes: 4_096 }, { acme: { runs: { retention_ms: -1 } } }],
    );
  });

  it('have the flags and variables of the specification and two for pods, each at its place', () => {
    assert.deepEqual(
      SETTING_SOURCES.map(({ flag, env }) => [flag, env]),
      [
        ['data', 'SVC_DATA'],
        ['http-port', 'SVC_HTTP_PORT'],
        ['grpc-port', 'SVC_GRPC_PORT'],
        ['cluster-port', 'SVC_CLUSTER_PORT'],
        ['internal-port', 'SVC_INTERNAL_PORT'],
        ['internal-grpc-port', 'SVC_INTERNAL_GRPC_PORT'],
        ['bind', 'SVC_BIND'],
        ['redis', 'REDIS_URL'],
        ['mongodb', 'MONGODB_URI'],
        ['accept-older-documents', 'SVC_ACCEPT_OLDER_DOCUMENTS'],
        ['node-id', 'SVC_NODE_ID'],
        ['advertise-host', 'SVC_ADVERTISE_HOST'],
        ['role', null],
        ['tags', null],
      ],
    );
    const flags = {
      data: 'd',
      'http-port': '1',
      'grpc-port': '2',
      'cluster-port': '3',
      'internal-port': '4',
      'internal-grpc-port': '5',
      bind: '127.0.0.2',
      redis: 'redis://127.0.0.1:6379',
      mongodb: 'mongodb://127.0.0.1:27017/svc',
      'node-id': 'pod-0',
      'advertise-host': '10.0.0.7',
      role: 'worker',
      tags: 'gpu, zone:eu',
    };
    const found = settings({ flags });
    assert.deepEqual(found.network, {
      bind: '127.0.0.2',
      port: 1,
      grpc_port: 2,
      tls: { enabled: false, min_version: '1.2' },
      trust_proxy: [],
      cors: { allow: [] },
      internal: { bind: '127.0.0.1', port: 4, grpc_port: 5 },
    });
    assert.deepEqual(found.stores, { data_dir: 'd', redis: [flags.redis], mongodb: flags.mongodb });
    assert.deepEqual([found.cluster.cluster_grpc_port, found.cluster.role], [3, 'worker']);
    assert.deepEqual([found.node.id, found.cluster.advertise_host], ['pod-0', '10.0.0.7']);
    assert.deepEqual(found.node.tags, ['gpu', 'zone:eu']);
    assert.equal(found.kernel.partitions, 256);
  });

  it('take port 0 everywhere, many times', () => {
    const env = { SVC_HTTP_PORT: '0', SVC_GRPC_PORT: '0', SVC_INTERNAL_PORT: '0', SVC_INTERNAL_GRPC_PORT: '0' };
    assert.equal(settings({ env }).network.internal.grpc_port, 0);
  });

  it('take an empty variable as not set', () => {
    assert.equal(settings({ env: { SVC_HTTP_PORT: '', REDIS_URL: '' } }).network.port, 8080);
  });

  it('keep secrets as references', () => {
    const file = `${head}spec:\n  stores: {redis: env:R, mongodb: secret:db/uri}\n  cluster: {controller: {endpoint: c:1, token: env:T}}\n`;
    const found = settings({ file });
    assert.deepEqual([found.stores.redis, found.stores.mongodb], [['env:R'], 'secret:db/uri']);
    assert.equal(found.cluster.controller?.token, 'env:T');
  });

  it('take Redis as one URL of any kind or as a list', () => {
    for (const url of ['redis://h', 'rediss://u:p@h:1/0', 'redis+cluster://h1:1,h2:2', 'redis+sentinel://h1,h2/master'])
      assert.deepEqual(settings({ flags: { redis: url, mongodb: 'mongodb://h' } }).stores.redis, [url]);
    const file = `${head}spec: {stores: {redis: ["redis://a", "redis://b"], mongodb: "mongodb+srv://c"}}\n`;
    assert.deepEqual(settings({ file }).stores.redis, ['redis://a', 'redis://b']);
  });

  it('turn the older form of builtin_dispatchers into the list', () => {
    const file = `${head}spec: {builtin_dispatchers: {cmd: {default_timeout_secs: 5}}, mcp_servers: [{name: s, executable: x, capabilities: [a]}]}\n`;
    const found = settings({ file });
    assert.equal(found.builtin_dispatchers[0]?.name, 'cmd');
    assert.equal(found.builtin_dispatchers[0]?.default_timeout_secs, 5);
    assert.deepEqual(found.mcp_servers[0]?.capabilities, [{ name: 'a', skip_judge: false }]);
    const { sandbox, network, paths } = found.mcp_servers[0] ?? {};
    assert.deepEqual({ sandbox, network, paths }, { sandbox: 'auto', network: 'none', paths: [] });
  });
});

describe('a node does not start with', () => {
  it('only one of the two stores', () => {
    assert.deepEqual(problems({ env: { REDIS_URL: 'redis://h' } }), [
      'spec.stores.mongodb@0: redis is set, so mongodb is needed too: give both, or neither to run embedded',
    ]);
    const file = `${head}spec:\n  stores:\n    mongodb: mongodb://h\n`;
    assert.deepEqual(problems({ file }), [
      'spec.stores.redis@4: mongodb is set, so redis is needed too: give both, or neither to run embedded',
    ]);
    settings({ file, env: { REDIS_URL: 'redis://h' } });
  });

  it('an open address and no identity provider', () => {
    for (const bind of ['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.evil.example', '::ffff:127.0.0.1'])
      assert.match(
        problems({ flags: { bind } })[0] ?? '',
        /^--bind@0: .* is not loopback: configure spec\.iam\.realms/,
      );
    for (const bind of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) settings({ flags: { bind } });
    const file = `${head}spec: {network: {internal: {bind: 0.0.0.0}}}\n`;
    assert.match(problems({ file })[0] ?? '', /^spec\.network\.internal\.bind@3: 0\.0\.0\.0 is not loopback/);
  });

  it('an open address and gRPC without authentication', () => {
    settings({ flags: { bind: '0.0.0.0' }, file: `${head}spec: {iam: {realms: [${realm}]}}\n` });
    const file = `${head}spec: {iam: {realms: [${realm}]}, grpc_auth: {enabled: false}}\n`;
    assert.match(problems({ flags: { bind: '0.0.0.0' }, file })[0] ?? '', /spec\.grpc_auth\.enabled must be true/);
  });

  it('an open address and a method without a caller, but for health and the inner loop', () => {
    const file = (methods: string): string =>
      `${head}spec: {iam: {realms: [${realm}]}, grpc_auth: {exempt_methods: [${methods}]}}\n`;
    const shell = '/svc.runtime.v1.SvcRuntime/ExecuteSystemCommand';
    const open = { bind: '0.0.0.0' };
    assert.deepEqual(problems({ flags: open, file: file(`/svc.v1.InnerLoop/Generate, ${shell}`) }), [
      `spec.grpc_auth.exempt_methods[1]@3: 0.0.0.0 is not loopback: only health and InnerLoop may be exempt there, not ${shell}`,
    ]);
    assert.equal(problems({ flags: open, file: file('/grpc.health.v1.HealthX/Check') }).length, 1);
    settings({ flags: open, file: file('/svc.v1.InnerLoop/Generate, /grpc.health.v1.Health/Watch') });
    settings({ file: file(shell) });
  });

  it('a local token that some calls would not need, or that no call would need', () => {
    const file = (more: string): string => `${head}spec: {iam: {local: token}, grpc_auth: {${more}}}\n`;
    settings({ file: file('') });
    assert.match(
      problems({ file: file('enabled: false') })[0] ?? '',
      /^spec\.grpc_auth\.enabled@3: spec\.iam\.local is/,
    );
    const exempt = 'exempt_methods: [/svc.runtime.v1.SvcRuntime/ExecuteAgent]';
    assert.match(problems({ file: file(exempt) })[0] ?? '', /exempt_methods\[0\]@3: spec\.iam\.local is token: only/);
    const both = `${head}spec: {iam: {local: token, realms: [${realm}]}}\n`;
    assert.match(problems({ file: both })[0] ?? '', /^spec\.iam\.local@3: token is for a node without/);
  });

  it('keys of a realm over plain http from another machine, unless it says insecure', () => {
    const file = (uri: string, more = ''): string =>
      `${head}spec: {iam: {realms: [${realm.replace(/jwks_uri: [^,}]+/, `jwks_uri: "${uri}"${more}`)}]}}\n`;
    for (const uri of [
      'http://192.0.2.1/k',
      'http://idp.example/k',
      'http://localhost.evil.example/k',
      'http://[::2]/k',
    ])
      assert.match(
        problems({ file: file(uri) })[0] ?? '',
        /^spec\.iam\.realms\[0\]\.jwks_uri@3: .* is not loopback/,
        uri,
      );
    for (const uri of ['https://idp.example/k', 'http://127.0.0.1:8/k', 'http://localhost/k', 'http://[::1]/k'])
      settings({ file: file(uri) });
    settings({ file: file('http://192.0.2.1/k', ', insecure: true') });
  });

  it('two sources of webhooks that would share one secret', () => {
    const file = (...sources: string[]): string =>
      `${head}spec: {stimulus: {routes: [${sources.map((source) => `{source: ${source}, workflow: w}`).join(', ')}]}}\n`;
    assert.deepEqual(problems({ file: file('git-hub', 'other', 'Git_Hub') }), [
      'spec.stimulus.routes[2].source@3: Git_Hub would share the secret of git-hub, SVC_WEBHOOK_SECRET_GIT_HUB: rename one of the sources',
    ]);
    settings({ file: file('git-hub', 'GIT-HUB') });
  });

  it('the host network for commands where a call from this machine is the operator’s', () => {
    const file = (spec: string): string => `${head}spec: {runtime: {host_commands: {network: host}}${spec}}\n`;
    assert.match(
      problems({ file: file('') }).join(),
      /^spec\.runtime\.host_commands\.network@3: host: .* set spec\.iam\.local: token/,
    );
    settings({ file: file(', iam: {local: token}') });
    settings({ file: file(`, iam: {realms: [${realm}]}`) });
    const servers = (more: string, spec = ''): string =>
      `${head}spec: {mcp_servers: [{name: a, url: "http://h"}, {name: s, ${more}}]${spec}}\n`;
    assert.match(
      problems({ file: servers('executable: x, network: host') }).join(),
      /^spec\.mcp_servers\[1\]\.network@3: host: the server would call/,
    );
    settings({ file: servers('executable: x, network: host', ', iam: {local: token}') });
    settings({ file: servers('executable: x, network: host, enabled: false') });
    for (const field of ['sandbox: off', 'network: host', 'paths: [{path: /opt}]'])
      assert.match(
        problems({ file: servers(`url: "http://i", ${field}`, ', iam: {local: token}') }).join(),
        /^spec\.mcp_servers\[1\]\.(sandbox|network|paths)@3: only a server with an executable runs on this host: remove the field$/,
      );
  });

  it('networks of containers that reach the listeners of the node', () => {
    const file = (runtime: string): string => `${head}spec: {runtime: ${runtime}}\n`;
    const shared = ['host', 'default', 'private', 'container:abc', 'ns:/proc/1/ns/net', 'slirp4netns', 'pasta'];
    for (const mode of [...shared, 'slirp4netns:allow_host_loopback=true', 'pasta:--map-gw', '']) {
      const said = problems({
        file: file(`{container_network_mode: "${mode}", containers: {agent_network: "${mode}"}}`),
      });
      assert.deepEqual(
        said.map((line) => line.slice(0, line.indexOf('@'))),
        ['spec.runtime.container_network_mode', 'spec.runtime.containers.agent_network'],
        mode,
      );
      assert.match(said[0] ?? '', /expected none, bridge or the name of a network of the engine/);
    }
    for (const mode of ['none', 'bridge', 'agents_net-1.x'])
      settings({ file: file(`{container_network_mode: ${mode}}`) });
  });

  it('webhooks whose sources share a secret, are named twice, or ask for what their scheme does not have', () => {
    const file = (webhooks: string, routes = ''): string =>
      `${head}spec: {stimulus: {webhooks: [${webhooks}], routes: [${routes}]}}\n`;
    const messages = (webhooks: string, routes?: string): string[] => problems({ file: file(webhooks, routes) });
    assert.deepEqual(messages('{source: a, scheme: stripe, secrets: [env:X, env:Y]}, {source: b, secrets: [env:Y]}'), [
      'spec.stimulus.webhooks[1].source@3: b would share the secret of a, Y: give each source its own',
    ]);
    assert.deepEqual(messages('{source: a, secrets: [env:SVC_WEBHOOK_SECRET_B]}', '{source: B, workflow: w}'), [
      'spec.stimulus.routes[0].source@3: B would share the secret of a, SVC_WEBHOOK_SECRET_B: give each source its own',
    ]);
    const hidden = messages('{source: a, secrets: [literal:s3cret]}, {source: b, secrets: [s3cret]}');
    assert.deepEqual(hidden, [
      'spec.stimulus.webhooks[1].source@3: b would share the secret of a, a value in the settings: give each source its own',
    ]);
    assert.deepEqual(messages('{source: a}, {source: A, scheme: slack}'), [
      'spec.stimulus.webhooks[1].source@3: A is named twice: expected one entry for each source',
    ]);
    for (const scheme of ['standard-webhooks', 'stripe', 'slack'])
      assert.deepEqual(messages(`{source: a, scheme: ${scheme}, repeat: digest}`), [
        `spec.stimulus.webhooks[0].repeat@3: expected key: ${scheme} signs the time of a delivery, so that each try has another signature`,
      ]);
    assert.match(messages('{source: a, scheme: Stripe}').join(), /webhooks\[0\]\.scheme@3: expected one of .*stripe/);
    assert.equal(messages('{source: a, secrets: []}').length, 1);
    assert.equal(messages('{source: a, secrets: [a, b, c, d, e]}').length, 1);
    assert.match(messages('{source: a, secret: x}').join(), /unknown key "secret"/);
    settings({
      file: file('{source: a-b, secrets: [env:X, env:X]}, {source: a_b, repeat: digest}', '{source: A-B, workflow: w}'),
    });
  });

  it('one port twice', () => {
    const flags = { 'grpc-port': '8080' };
    assert.deepEqual(problems({ flags }), ['--grpc-port@0: port 8080 is already spec.network.port']);
    settings({ flags: { 'cluster-port': '8080' } });
    const file = `${head}spec: {cluster: {enabled: true}}\n`;
    assert.equal(problems({ file, flags: { 'cluster-port': '8080' } }).length, 1);
  });

  it('unknown keys, each named with its line', () => {
    const file = `${head}spec:\n  netwrk: {}\n  network:\n    prot: 1\nother: 1\n`;
    assert.deepEqual(problems({ file }), [
      'spec.netwrk@4: unknown key "netwrk"; did you mean "network"?',
      'spec.network.prot@6: unknown key "prot"; did you mean "port"?',
      'other@7: unknown key "other"',
    ]);
  });

  it('a flag or variable that is wrong, named as it was given', () => {
    assert.deepEqual(problems({ flags: { 'http-port': '65536' }, env: { SVC_GRPC_PORT: 'many' } }), [
      '--http-port@0: expected at most 65535, got 65536',
      'SVC_GRPC_PORT@0: expected a number, got text',
    ]);
    assert.match(
      problems({ flags: { role: 'boss' } })[0] ?? '',
      /^--role@0: expected one of controller, worker, hybrid, got "boss"$/,
    );
    assert.match(problems({ flags: { tags: 'ok,not ok' } })[0] ?? '', /^--tags@0: expected a tag/);
  });

  it('a fault in the file that a flag hides', () => {
    const file = `${head}spec: {network: {port: x}}\n`;
    assert.deepEqual(problems({ file, flags: { 'http-port': '0' } }), [
      'spec.network.port@3: expected a number, got text',
    ]);
  });

  it('a wrong URL of a store, and does not show its password', () => {
    for (const redis of ['http://u:hunter2@h', 'redis:hunter2', 'redis://'])
      for (const message of problems({ flags: { redis, mongodb: 'mongodb://h' } })) {
        assert.match(message, /^--redis@0: expected/);
        assert.doesNotMatch(message, /hunter2/);
      }
  });

  it('two realms of one issuer, or a lease renewed too late', () => {
    const file = `${head}spec: {iam: {realms: [${realm}, ${realm.replace('slug: acme', 'slug: b')}]}, kernel: {lease_ttl_ms: 2000}}\n`;
    assert.deepEqual(problems({ file }), [
      'spec.iam.realms[1].issuer_url@3: already used by realms[0]',
      'spec.kernel.lease_renew_ms@3: expected at most half of lease_ttl_ms (2000), got 2000',
    ]);
  });

  it('text that is no configuration; it never throws', () => {
    assert.match(problems({ file: '' })[0] ?? '', /^@1: expected a map, got nothing$/);
    fc.assert(
      fc.property(fc.string(), fc.string(), (flag, body) => {
        const flags = Object.fromEntries(SETTING_SOURCES.map((source) => [source.flag, flag]));
        resolveSettings({ flags, env: {}, file: body });
        resolveSettings({ flags, env: {}, file: null });
      }),
      { numRuns: 200 },
    );
  });
});
