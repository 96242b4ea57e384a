import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { type NodeSettings, resolveSettings } from '../../manifests/node/settings.ts';
import { NodeProcess } from '../support/node-process.ts';

const FOLDER = 'examples/kubernetes';
const GRACE_S = 30;

const labels = z.record(z.string(), z.string());
const Probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) }).loose();
const Variable = z.union([
  z.strictObject({ name: z.string(), value: z.string() }),
  z.strictObject({
    name: z.string(),
    valueFrom: z.strictObject({
      fieldRef: z.strictObject({ fieldPath: z.enum(['metadata.name', 'status.podIP']) }),
    }),
  }),
]);
const Container = z.looseObject({
  image: z.string(),
  env: z.array(Variable),
  envFrom: z.array(z.strictObject({ secretRef: z.strictObject({ name: z.string() }) })),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.number() })),
  startupProbe: Probe,
  readinessProbe: Probe,
  livenessProbe: Probe,
  lifecycle: z
    .object({ preStop: z.object({ exec: z.object({ command: z.tuple([z.literal('sleep'), z.coerce.number()]) }) }) })
    .optional(),
  resources: z.object({ requests: labels, limits: labels }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
});
const Pod = z.looseObject({
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.looseObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.number().min(1),
    fsGroup: z.number(),
    fsGroupChangePolicy: z.string().optional(),
    seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
  }),
  initContainers: z.tuple([
    z.looseObject({
      command: z.array(z.string()),
      securityContext: Container.shape.securityContext,
      volumeMounts: Container.shape.volumeMounts,
    }),
  ]),
  containers: z.tuple([Container]),
  volumes: z.array(z.looseObject({ name: z.string(), configMap: z.object({ name: z.string() }).optional() })),
});
const Resource = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  // A Kustomization has none.
  metadata: z.looseObject({ name: z.string() }).default({ name: '' }),
});
const Workload = Resource.extend({
  spec: z.looseObject({
    selector: z.object({ matchLabels: labels }),
    template: z.object({ metadata: z.object({ labels }), spec: Pod }),
    volumeClaimTemplates: z.array(z.looseObject({ metadata: z.object({ name: z.string() }) })).default([]),
  }),
});
const ConfigMap = Resource.extend({ data: z.object({ 'node.yaml': z.string() }) });
const Service = Resource.extend({
  spec: z.looseObject({
    selector: labels,
    ports: z.array(z.looseObject({ port: z.number(), targetPort: z.string() })),
  }),
});
const Budget = Resource.extend({
  spec: z.object({ maxUnavailable: z.literal(1), selector: z.object({ matchLabels: labels }) }),
});
const Secret = Resource.extend({ stringData: labels });

const files = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
const texts = new Map(files.map((file) => [file, readFileSync(join(FOLDER, file), 'utf8')] as const));
const resources = [...texts].flatMap(([file, text]) =>
  parseAllDocuments(text).map((document) => {
    assert.deepEqual(document.errors, [], file);
    return Resource.parse(document.toJS());
  }),
);
const ofKind = <T>(kind: string, shape: z.ZodType<T>): T[] =>
  resources.filter((one) => one.kind === kind).map((one) => shape.parse(one));

const workloads = [...ofKind('Deployment', Workload), ...ofKind('StatefulSet', Workload)];
const [secret] = ofKind('Secret', Secret);
const isWithin = (part: Readonly<Record<string, string>>, whole: Readonly<Record<string, string>>): boolean =>
  Object.entries(part).every(([key, value]) => whole[key] === value);

/** What the pod's container starts with. */
function environmentOf({ env }: z.infer<typeof Container>): Record<string, string> {
  const field = { 'metadata.name': 'svc-worker-0', 'status.podIP': '10.1.2.3' };
  return {
    ...secret?.stringData,
    ...Object.fromEntries(
      env.map((one) => [one.name, 'value' in one ? one.value : field[one.valueFrom.fieldRef.fieldPath]]),
    ),
  };
}

function configOf(pod: z.infer<typeof Pod>): string {
  const name = pod.volumes.find((volume) => volume.name === 'config')?.configMap?.name;
  const map = ofKind('ConfigMap', ConfigMap).find((one) => one.metadata.name === name);
  assert.ok(map !== undefined, `there is a ConfigMap ${name}`);
  return map.data['node.yaml'];
}

function settingsOf(pod: z.infer<typeof Pod>): NodeSettings {
  const resolved = resolveSettings({ flags: {}, env: environmentOf(pod.containers[0]), file: configOf(pod) });
  assert.ok(resolved.ok, JSON.stringify(resolved));
  return resolved.settings;
}

test('every manifest is listed for kubectl apply -k', () => {
  const [list] = ofKind('Kustomization', Resource.extend({ resources: z.array(z.string()) }));
  assert.deepEqual(list?.resources.toSorted(), files.filter((file) => file !== 'kustomization.yaml').toSorted());
  assert.deepEqual(
    workloads.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ['Deployment svc-controller', 'StatefulSet svc-worker'],
  );
});

for (const { kind, metadata, spec } of workloads) {
  const pod = spec.template.spec;
  const [container] = pod.containers;
  describe(`${kind} ${metadata.name}`, () => {
    test('starts with its configuration, under the name and the address of its pod', () => {
      const { node, cluster, network, stores } = settingsOf(pod);
      assert.deepEqual([node.id, cluster.advertise_host], ['svc-worker-0', '10.1.2.3']);
      assert.equal(network.bind, '0.0.0.0');
      assert.equal(cluster.role, metadata.name.replace('svc-', ''));
      assert.ok(stores.data_dir.startsWith('/data/'), 'not the root of the volume, whose mode is not the node to say');
      assert.ok(
        container.volumeMounts.some((one) => one.mountPath === '/data') &&
          container.volumeMounts.some((one) => one.mountPath === '/tmp'),
      );
    });

    test('does not start without an identity provider', () => {
      const file = configOf(pod).replace(/iam:[\s\S]*?audience: svc\n/, '');
      const resolved = resolveSettings({ flags: {}, env: environmentOf(container), file });
      assert.ok(!resolved.ok && resolved.problems.some(({ message }) => message.includes('spec.iam.realms')));
    });

    test('takes every secret from the environment, and the Secret has it', () => {
      const names = [...configOf(pod).matchAll(/env:([A-Z_]+)/g)].map((match) => match[1] ?? '');
      assert.deepEqual(names.toSorted(), ['JOIN_TOKEN', 'MONGO_SECRET_URI', 'REDIS_SECRET_URL']);
      assert.deepEqual(Object.keys(secret?.stringData ?? {}).toSorted(), names.toSorted());
      assert.deepEqual(container.envFrom, [{ secretRef: { name: secret?.metadata.name } }]);
    });

    test('listens where its ports, probes, Service and disruption budget look for it', () => {
      const { network, cluster } = settingsOf(pod);
      const ports = new Map(container.ports.map((port) => [port.name, port.containerPort]));
      const expected = { rest: network.port, grpc: network.grpc_port, cluster: cluster.cluster_grpc_port };
      assert.deepEqual(Object.fromEntries(ports), expected);
      for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
        assert.equal(probe.httpGet.port, 'rest');
      }
      const podLabels = spec.template.metadata.labels;
      assert.ok(isWithin(spec.selector.matchLabels, podLabels));
      const service = ofKind('Service', Service).find((one) => one.metadata.name === metadata.name);
      assert.ok(service !== undefined && isWithin(service.spec.selector, podLabels));
      for (const { port, targetPort } of service.spec.ports) assert.equal(port, ports.get(targetPort));
      const budget = ofKind('PodDisruptionBudget', Budget).find((one) => one.metadata.name === metadata.name);
      assert.ok(budget !== undefined && isWithin(budget.spec.selector.matchLabels, podLabels));
    });

    test('reads the key of secrets from a copy that only the node can read', () => {
      const [copies] = pod.initContainers;
      const { secrets } = settingsOf(pod);
      assert.deepEqual(copies.command.slice(0, 3), ['install', '-m', '0600']);
      assert.equal(copies.command.at(-1), secrets.keys?.file);
      const at = (mounts: typeof copies.volumeMounts, path: string) =>
        mounts.find((one) => path.startsWith(`${one.mountPath}/`))?.name;
      assert.equal(at(copies.volumeMounts, copies.command[3] ?? ''), 'secret-keys');
      assert.equal(at(copies.volumeMounts, copies.command[4] ?? ''), 'keys');
      assert.equal(at(container.volumeMounts, copies.command[4] ?? ''), 'keys');
      assert.ok(
        texts.get('secret.yaml')?.includes('create secret generic svc-secret-keys --from-file=secret-keys.json'),
      );
    });

    test('has 30 s to end, and uses few of them for waiting', () => {
      assert.equal(pod.terminationGracePeriodSeconds, GRACE_S);
      assert.ok((container.lifecycle?.preStop.exec.command[1] ?? 0) <= 5);
    });
  });
}

test('workers register with the Service of the controllers', () => {
  const [worker] = ofKind('StatefulSet', Workload);
  assert.ok(worker !== undefined);
  const { cluster } = settingsOf(worker.spec.template.spec);
  const [host, port] = cluster.controller?.endpoint[0]?.split(':') ?? [];
  const service = ofKind('Service', Service).find((one) => one.metadata.name === host);
  assert.ok(service?.spec.ports.some((one) => one.port === Number(port) && one.targetPort === 'cluster'));
});

test('a worker keeps its data over restarts, and its key readable for itself alone', () => {
  const [worker] = ofKind('StatefulSet', Workload);
  assert.deepEqual(
    worker?.spec.volumeClaimTemplates.map((claim) => claim.metadata.name),
    ['data'],
  );
  assert.equal(worker?.spec.template.spec.securityContext.fsGroupChangePolicy, 'OnRootMismatch');
});

describe('probes', () => {
  let directory = '';
  let node: NodeProcess;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-kubernetes-'));
    node = new NodeProcess(['--data', directory]);
    node.spawn();
    await node.url;
  });
  after(async () => {
    await node.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('ask for paths that the node serves without a token', async () => {
    const url = await node.url;
    const Document = z.looseObject({
      paths: z.record(z.string(), z.looseObject({ get: z.looseObject({}).optional() })),
    });
    const { paths } = Document.parse(await (await fetch(`${url}/v1/openapi.json`)).json());
    const asked = workloads.flatMap(({ spec }) => {
      const [{ startupProbe, readinessProbe, livenessProbe }] = spec.template.spec.containers;
      return [startupProbe, readinessProbe, livenessProbe].map((probe) => probe.httpGet.path);
    });
    assert.deepEqual([...new Set(asked)].toSorted(), ['/health/live', '/health/ready']);
    for (const path of asked) {
      assert.deepEqual(paths[path]?.get?.security, [], path);
      assert.equal((await fetch(`${url}${path}`)).status, 200, path);
    }
  });
});
