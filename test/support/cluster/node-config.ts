interface NodeConfigParts {
  readonly node: string;
  readonly dataDir: string;
  readonly redis: string;
  readonly mongodb: string;
  readonly partitions: number;
  readonly tags: readonly string[];
  /** False: the address it tells others leads nowhere, so that they can only go by its lease. */
  readonly watched: boolean;
  /** Laid over the sections of `spec`, one level deep. */
  readonly over: Readonly<Record<string, object>>;
}

/** Nodes with an even number, and those without one. */
const sharesLog = (node: string): boolean => Number(/\d+$/.exec(node)?.[0] ?? 0) % 2 === 0;

/** A node's `NodeConfig` document on free loopback ports. */
export function nodeConfig(parts: NodeConfigParts): object {
  const { node, dataDir, redis, mongodb, partitions, tags, watched, over } = parts;
  const spec: Record<string, object> = {
    node: { id: node, tags },
    network: { bind: '127.0.0.1', port: 0, grpc_port: 0, internal: { port: 0, grpc_port: 0 } },
    cluster: { cluster_grpc_port: 0, ...(watched ? {} : { advertise_host: '127.0.0.2' }) },
    stores: { data_dir: dataDir, redis, mongodb },
    // Nodes of both kinds are in each fleet: what one leaves the other reads.
    kernel: { partitions, shared_logs: sharesLog(node) },
    observability: { logging: { level: 'warn' } },
  };
  for (const [section, values] of Object.entries(over)) {
    spec[section] = Array.isArray(values) ? values : { ...spec[section], ...values };
  }
  return { apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec };
}
