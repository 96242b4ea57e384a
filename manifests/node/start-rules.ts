import { type Problem, pathText, type YamlText } from '../schema-problems.ts';
import { isLoopback } from './network.ts';
import { secretName, type WebhookSettings, webhookSecretReferences, webhooksBySource } from './rate-limits.ts';
import type { NodeConfig } from './schema.ts';

type Spec = NodeConfig['spec'];

/** Rules over several blocks, for the effective settings after flags and environment. */
export function startRules(spec: Spec, yaml: YamlText): Problem[] {
  const problems: Problem[] = [];
  const report = (path: FieldPath, message: string): void => {
    problems.push({ path: pathText(path), ...yaml.locate(path), message });
  };
  storesRule(spec, report);
  bindRule(spec, ['network', 'bind'], spec.network.bind, report);
  bindRule(spec, ['network', 'internal', 'bind'], spec.network.internal.bind, report);
  clusterBindRule(spec, report);
  portsRule(spec, report);
  exemptRule(spec, report);
  localTokenRule(spec, report);
  jwksRule(spec, report);
  webhookSecretsRule(spec, report);
  keyFileRule(spec, report);
  encryptionRule(spec, report);
  sandboxRule(spec, report);
  return problems;
}

type FieldPath = readonly (string | number)[];
type Report = (path: FieldPath, message: string) => void;

function storesRule({ stores }: Spec, report: Report): void {
  if (stores.redis !== undefined && stores.mongodb === undefined)
    report(
      ['spec', 'stores', 'mongodb'],
      'redis is set, so mongodb is needed too: give both, or neither to run embedded',
    );
  if (stores.redis === undefined && stores.mongodb !== undefined)
    report(
      ['spec', 'stores', 'redis'],
      'mongodb is set, so redis is needed too: give both, or neither to run embedded',
    );
}

/** Only loopback is allowed without authentication (S2). */
function bindRule(spec: Spec, path: FieldPath, address: string, report: Report): void {
  if (isLoopback(address)) return;
  if (spec.iam.realms.length === 0)
    report(['spec', ...path], `${address} is not loopback: configure spec.iam.realms, or bind 127.0.0.1`);
  else if (!spec.grpc_auth.enabled)
    report(['spec', ...path], `${address} is not loopback: spec.grpc_auth.enabled must be true, or bind 127.0.0.1`);
}

/**
 * Beyond loopback nodes use mutual TLS: their tokens travel over the cluster port, and an attacker between two nodes could
 * change their calls. Plain text must be allowed explicitly, and then needs a join token against unknown nodes.
 */
function clusterBindRule({ cluster, network }: Spec, report: Report): void {
  const address = cluster.bind ?? network.bind;
  if (!cluster.enabled || cluster.tls.enabled || isLoopback(address)) return;
  const path = ['spec', 'cluster', 'bind'];
  const or = 'set spec.cluster.tls, or bind 127.0.0.1';
  if (!cluster.insecure)
    report(path, `${address} is not loopback: ${or}; spec.cluster.insecure: true allows plain text`);
  else if (cluster.role !== 'worker' && cluster.join_token === undefined && !cluster.require_join_token)
    report(
      path,
      `${address} is not loopback: set spec.cluster.require_join_token or spec.cluster.join_token; or ${or}`,
    );
}

/** Health reveals nothing, and the inner loop checks the execution's token. Every other method must authenticate its caller. */
const EXEMPT_ANYWHERE = ['/svc.v1.InnerLoop/Generate', '/grpc.health.v1.Health/'];

function exemptRule({ network, iam, grpc_auth }: Spec, report: Report): void {
  if (isLoopback(network.bind) && iam.local === 'open') return;
  const why = isLoopback(network.bind) ? 'spec.iam.local is token' : `${network.bind} is not loopback`;
  for (const [index, method] of grpc_auth.exempt_methods.entries()) {
    if (EXEMPT_ANYWHERE.some((known) => method === known || (known.endsWith('/') && method.startsWith(known))))
      continue;
    const text = `${why}: only health and InnerLoop may be exempt there, not ${method}`;
    report(['spec', 'grpc_auth', 'exempt_methods', index], text);
  }
}

/** A token protects only when every call needs it. */
function localTokenRule({ iam, grpc_auth }: Spec, report: Report): void {
  if (iam.local === 'open') return;
  if (iam.realms.length > 0)
    report(['spec', 'iam', 'local'], 'token is for a node without identity providers: remove it, or spec.iam.realms');
  if (!grpc_auth.enabled)
    report(['spec', 'grpc_auth', 'enabled'], 'spec.iam.local is token: must be true, or set spec.iam.local: open');
}

/** A realm's keys decide which tokens are valid, so they must not be fetched over plain http from another machine. */
function jwksRule({ iam }: Spec, report: Report): void {
  for (const [index, { jwks_uri, insecure }] of iam.realms.entries()) {
    const url = URL.parse(jwks_uri);
    if (url === null || url.protocol === 'https:' || insecure) continue;
    if (isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) continue;
    const text = `${url.hostname} is not loopback: expected an https URL, or insecure: true of the realm`;
    report(['spec', 'iam', 'realms', index, 'jwks_uri'], text);
  }
}

/** A sender that knows a secret can sign for every source that uses it. */
function webhookSecretsRule({ stimulus }: Spec, report: Report): void {
  const { webhooks, routes } = stimulus;
  const named = [
    ...webhooks.map(({ source }, index) => ({ source, entry: ['webhooks', index] })),
    ...routes.map(({ source }, index) => ({ source, entry: ['routes', index] })),
  ];
  const settingsOf = webhooksBySource(webhooks);
  const known = new Set<string>();
  const owners = new Map<string, WebhookSettings>();
  for (const { source, entry } of named) {
    const path = ['spec', 'stimulus', ...entry, 'source'];
    const isKnown = known.has(source.toLowerCase());
    if (isKnown && entry[0] === 'webhooks')
      report(path, `${source} is named twice: expected one entry for each source`);
    if (isKnown) continue;
    known.add(source.toLowerCase());
    const settings = settingsOf(source);
    for (const reference of webhookSecretReferences(settings)) {
      const other = owners.get(reference);
      if (other === undefined || other.source.toLowerCase() === source.toLowerCase()) owners.set(reference, settings);
      else {
        const cure = settings.secrets === undefined && other.secrets === undefined ? 'rename one of the sources' : OWN;
        report(path, `${source} would share the secret of ${other.source}, ${secretName(reference)}: ${cure}`);
      }
    }
  }
}

/** A file in the data directory would differ between nodes. */
function keyFileRule({ stores, secrets: { keys } }: Spec, report: Report): void {
  if (stores.redis === undefined || keys === undefined || keys.backend !== 'file' || keys.file !== undefined) return;
  report(['spec', 'secrets', 'keys', 'file'], 'required when the nodes share their store: the same file on every node');
}

/** Data that one node encrypts must be readable by the others. */
function encryptionRule({ stores, secrets: { keys }, encryption }: Spec, report: Report): void {
  if (stores.redis === undefined || keys !== undefined || encryption.payloads.tenants.length === 0) return;
  report(['spec', 'secrets', 'keys'], 'required for spec.encryption.payloads when the nodes share their store');
}

/** Commands of one tenant must not read data of another, or of the node. */
function sandboxRule({ iam, runtime, mcp_servers: servers }: Spec, report: Report): void {
  const { sandbox, allow, network } = runtime.host_commands;
  // With the host's network a command reaches the node's API, where a call from loopback counts as the operator's.
  const isOpen = iam.realms.length === 0 && iam.local === 'open';
  const asOperator = (who: string) =>
    `host: ${who} would call the API of this node as its operator: set spec.iam.local: token, or expected none`;
  if (network === 'host' && isOpen) report(['spec', 'runtime', 'host_commands', 'network'], asOperator('commands'));
  for (const [index, { network: wanted, enabled }] of servers.entries())
    if (wanted === 'host' && enabled && isOpen)
      report(['spec', 'mcp_servers', index, 'network'], asOperator('the server'));
  if (sandbox !== 'off') return;
  const path = ['spec', 'runtime', 'host_commands', 'sandbox'];
  if (iam.realms.length > 0) report(path, 'off is for a node without identity providers: expected auto or required');
  else if (allow.length > 1) report(path, `off with ${allow.length} tenants in allow: expected auto or required`);
}

const OWN = 'give each source its own';

function portsRule({ network, cluster }: Spec, report: Report): void {
  const ports: [path: string, port: number][] = [
    ['spec.network.port', network.port],
    ['spec.network.grpc_port', network.grpc_port],
    ['spec.network.internal.port', network.internal.port],
    ['spec.network.internal.grpc_port', network.internal.grpc_port],
    ...(cluster.enabled ? [['spec.cluster.cluster_grpc_port', cluster.cluster_grpc_port] as [string, number]] : []),
  ];
  for (const [index, [path, port]] of ports.entries()) {
    const taken = ports.slice(0, index).find(([, other]) => port !== 0 && other === port);
    if (taken !== undefined) report(path.split('.'), `port ${port} is already ${taken[0]}`);
  }
}
