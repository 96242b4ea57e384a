/** Where one setting may come from besides the file: flags win over environment, environment over the file. */
export interface SettingSource {
  /** Long flag without the dashes. */
  readonly flag: string;
  readonly env: string | null;
  /** Place in the file. */
  readonly path: readonly string[];
  readonly form: 'text' | 'whole number' | 'comma list';
}

const source = (
  flag: string,
  env: string | null,
  path: string,
  form: SettingSource['form'] = 'text',
): SettingSource => ({ flag, env, path: path.split('.'), form });

/** decided.md "Names", and what differs from pod to pod of one configuration: id and address. */
export const SETTING_SOURCES: readonly SettingSource[] = [
  source('data', 'SVC_DATA', 'spec.stores.data_dir'),
  source('http-port', 'SVC_HTTP_PORT', 'spec.network.port', 'whole number'),
  source('grpc-port', 'SVC_GRPC_PORT', 'spec.network.grpc_port', 'whole number'),
  source('cluster-port', 'SVC_CLUSTER_PORT', 'spec.cluster.cluster_grpc_port', 'whole number'),
  source('internal-port', 'SVC_INTERNAL_PORT', 'spec.network.internal.port', 'whole number'),
  source('internal-grpc-port', 'SVC_INTERNAL_GRPC_PORT', 'spec.network.internal.grpc_port', 'whole number'),
  source('bind', 'SVC_BIND', 'spec.network.bind'),
  source('redis', 'REDIS_URL', 'spec.stores.redis'),
  source('mongodb', 'MONGODB_URI', 'spec.stores.mongodb'),
  source('accept-older-documents', 'SVC_ACCEPT_OLDER_DOCUMENTS', 'spec.stores.accept_older_documents'),
  source('node-id', 'SVC_NODE_ID', 'spec.node.id'),
  source('advertise-host', 'SVC_ADVERTISE_HOST', 'spec.cluster.advertise_host'),
  source('role', null, 'spec.cluster.role'),
  source('tags', null, 'spec.node.tags', 'comma list'),
];

/** The file itself: `--config`, else `SVC_CONFIG`, else `./svc.yaml` when it is there. */
export const CONFIG_FILE = { flag: 'config', env: 'SVC_CONFIG', path: './svc.yaml' } as const;
