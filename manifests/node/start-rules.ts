import { type Problem, pathText } from '../problem.ts';
import type { YamlText } from '../yaml.ts';
import { isLoopback } from './network.ts';
import type { NodeConfig } from './schema.ts';

type Spec = NodeConfig['spec'];

/** Rules between blocks, judged over what is in force after flags and environment. */
export function startRules(spec: Spec, yaml: YamlText): Problem[] {
  const problems: Problem[] = [];
  const report = (path: readonly string[], message: string): void => {
    problems.push({ path: pathText(path), ...yaml.locate(path), message });
  };
  storesRule(spec, report);
  bindRule(spec, ['network', 'bind'], spec.network.bind, report);
  bindRule(spec, ['network', 'internal', 'bind'], spec.network.internal.bind, report);
  clusterBindRule(spec, report);
  portsRule(spec, report);
  return problems;
}

type Report = (path: readonly string[], message: string) => void;

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

/** Design S2: only loopback may be without authentication. */
function bindRule(spec: Spec, path: readonly string[], address: string, report: Report): void {
  if (isLoopback(address)) return;
  if (spec.iam.realms.length === 0)
    report(['spec', ...path], `${address} is not loopback: configure spec.iam.realms, or bind 127.0.0.1`);
  else if (!spec.grpc_auth.enabled)
    report(['spec', ...path], `${address} is not loopback: spec.grpc_auth.enabled must be true, or bind 127.0.0.1`);
}

/** Whoever reaches the cluster port may ask to be attested: beyond loopback something must hold strangers off. */
function clusterBindRule({ cluster, network }: Spec, report: Report): void {
  const address = cluster.bind ?? network.bind;
  if (!cluster.enabled || cluster.role === 'worker' || isLoopback(address)) return;
  if (cluster.tls.enabled || cluster.join_token !== undefined) return;
  const text = `${address} is not loopback: set spec.cluster.join_token or spec.cluster.tls, or bind 127.0.0.1`;
  report(['spec', 'cluster', 'bind'], text);
}

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
