import { readFile } from 'node:fs/promises';
import { type ChannelCredentials, type ClientOptions, credentials } from '@grpc/grpc-js';
import type { NodeSettings } from '../../manifests/node/settings.ts';
import { NodeClusterServiceClient } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../runtime/errors.ts';

const ADDRESS = /^(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253}):\d{1,5}$/;

/**
 * Options of every connection between nodes. One that has gone silent is noticed by pings within 15 s, a peer that came
 * back is tried again within 5 s, and a name that did not resolve is looked up again as often.
 */
const CHANNEL: Partial<ClientOptions> = {
  // 16 MiB of payload (design K7) and what surrounds it.
  'grpc.max_receive_message_length': 16 * 1024 * 1024 + 64 * 1024,
  'grpc.max_send_message_length': 16 * 1024 * 1024 + 64 * 1024,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 250,
  'grpc.max_reconnect_backoff_ms': 5_000,
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
  'grpc.service_config_disable_resolution': 1,
  // Nodes reach each other directly, whatever proxy the environment names for the web.
  'grpc.enable_http_proxy': 0,
  // Heartbeats are further apart than the library keeps an idle connection by default.
  'grpc.client_idle_timeout_ms': 24 * 3_600_000,
  'grpc.use_local_subchannel_pool': 1,
};

/** A client of the NodeClusterService at `host:port`. Connects with its first call; throws `invalid_argument`. */
export function clusterClient(address: string, channel: ChannelCredentials): NodeClusterServiceClient {
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  if (!ADDRESS.test(address) || port < 1 || port > 65_535) {
    throw new SvcError('invalid_argument', 'the address of a node: expected host:port', { field: 'address' });
  }
  // With its scheme written out no host name can be taken for another kind of address.
  return new NodeClusterServiceClient(`dns:${address}`, channel, CHANNEL);
}

/**
 * What a node shows and expects on connections to other nodes: mutual TLS with `spec.cluster.tls`, else plain text.
 * Throws `invalid_config` naming the setting whose file cannot be read.
 */
export async function clusterCredentials(tls: NodeSettings['cluster']['tls']): Promise<ChannelCredentials> {
  if (!tls.enabled) return credentials.createInsecure();
  const [ca, key, cert] = await Promise.all([
    pem('ca_cert', tls.ca_cert),
    pem('key_path', tls.key_path),
    pem('cert_path', tls.cert_path),
  ]);
  try {
    return credentials.createSsl(ca, key, cert);
  } catch (cause) {
    throw new SvcError('invalid_config', 'spec.cluster.tls: the files are no certificate, key and CA in PEM', {
      cause,
    });
  }
}

async function pem(setting: string, path: string | undefined): Promise<Buffer> {
  const field = `spec.cluster.tls.${setting}`;
  if (path === undefined) throw new SvcError('invalid_config', `${field}: expected a path`, { field });
  return await readFile(path).catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw new SvcError('invalid_config', `${field}: the file cannot be read (${code})`, { field, cause });
  });
}
