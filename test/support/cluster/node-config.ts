interface NodeConfigParts {
  readonly node: string;
  readonly dataDir: string;
  readonly redis: string;
  readonly mongodb: string;
  readonly partitions: number;
  readonly tags: readonly string[];
  /** False: the node advertises an address where it does not listen, so the others know only its lease. */
  readonly watched: boolean;
  /** Overrides of the sections of `spec`, one level deep. */
  readonly over: Readonly<Record<string, object>>;
}

/** Nodes whose number is even, or that have none, share logs. */
const sharesLog = (node: string): boolean => Number(/\d+$/.exec(node)?.[0] ?? 0) % 2 === 0;

/** A node's `NodeConfig` document on free loopback ports. */
export function nodeConfig(parts: NodeConfigParts): object {
  const { node, dataDir, redis, mongodb, partitions, tags, watched, over } = parts;
  const spec: Record<string, object> = {
    node: { id: node, tags },
    network: { bind: '127.0.0.1', port: 0, grpc_port: 0, internal: { port: 0, grpc_port: 0 } },
    cluster: { cluster_grpc_port: 0, ...(watched ? {} : { advertise_host: '127.0.0.2' }) },
    stores: { data_dir: dataDir, redis, mongodb },
    // Each fleet has nodes of both kinds: each reads what the other has written.
    kernel: { partitions, shared_logs: sharesLog(node) },
    observability: { logging: { level: 'warn' } },
  };
  for (const [section, values] of Object.entries(over)) {
    spec[section] = Array.isArray(values) ? values : { ...spec[section], ...values };
  }
  return { apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec };
}
